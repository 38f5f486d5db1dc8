//! Uploaded codebases and their reviews: received, asked for, watched, cancelled. The API and the MCP server serve the same desk.
//!
//! Promise: what was answered is on the disk. A codebase whose id was told is there whole until it dies a day later, a review whose
//! id was told comes to an end, across restarts, and keeps its result as long as runs are kept.
//! Never: nothing of an upload is run, and no link of it followed; no GitHub.

mod arrival;
mod keep;
mod private;
mod review;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Error, handle, parsers};
use crate::artifact::server::Aggregate;
use crate::artifact::{AgentError, ErrorCode, Form, Shelf, Typed, shelf};
use crate::domain::{AuditTarget, Class, Clock, CodebaseId, Job, Millis, Ready, ReviewId, audit_key};
use crate::queue::{self, Leased, Queue};
use crate::store::{self, JobFilter, JobRow, JobState, NewJob, Store};

pub use crate::workspace::archive::{Refusal, UnpackLimits, Unpacked};
pub use arrival::{Arrival, Taken};
pub use private::Private;
pub use watch::{Said, Watch};

/// Uploads that are received or unpacked at once.
pub const UPLOADS: usize = 4;
/// Codebases that are read at once: each may hold a quarter of a gigabyte of text.
const REVIEWS: usize = 2;
/// An upload dies after that.
pub const UPLOAD_LIVES: Duration = Duration::from_secs(24 * 60 * 60);
/// A review that kills its server does so a few times, not for ever.
const ATTEMPTS: u32 = 3;
/// Pull requests go first.
const PRIORITY: i32 = 10;
/// A job of an App's, met by a server without one.
const NOT_OURS: Duration = Duration::from_secs(10 * 60);
/// Anybody may ask whether a write works, and each proof is a write to the disk: one serves this long.
const FRESH: Duration = Duration::from_secs(1);
/// In the folder of a review's run.
const AGGREGATE: &str = "review-aggregate.json";

/// What a desk keeps and takes.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of one archive as it is sent: S0's 500 MB, in powers of two (A0.4).
    pub upload: u64,
    pub unpack: UnpackLimits,
    /// How long one agent may take.
    pub agent: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { upload: 500 << 20, unpack: UnpackLimits::default(), agent: Duration::from_secs(600) }
    }
}

/// Where codebases come in and reviews go out. Clones share it.
#[derive(Clone)]
pub struct Desk(Arc<Inner>);

struct Inner {
    store: Store,
    queue: Arc<Queue>,
    /// `<state>/uploads` and `<state>/runs`.
    uploads: PathBuf,
    runs: PathBuf,
    limits: Limits,
    retention: Duration,
    arriving: Arc<Semaphore>,
    reviewing: Arc<Semaphore>,
    /// When a write last worked.
    written: Mutex<Option<Instant>>,
}

/// What a review has come to.
#[derive(Debug, Clone)]
pub enum Review {
    /// It waits for its turn or goes on.
    Running,
    Done(Box<Aggregate>),
    /// For good.
    Failed(AgentError),
    Cancelled,
}

/// Why the desk does not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("there is no codebase `{0}`: its id is wrong, or it was uploaded more than a day ago")]
    NoCodebase(CodebaseId),
    #[error("there is no review `{0}`: its id is wrong, or it is not kept any more")]
    NoReview(ReviewId),
    #[error("the upload is larger than the limit of {0} bytes")]
    TooLarge(u64),
    #[error(transparent)]
    Refused(Refusal),
    #[error("{UPLOADS} uploads are being received already")]
    Busy,
    #[error("there is not enough room on the disk for another upload")]
    NoRoom,
    #[error(transparent)]
    Failed(#[from] Error),
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoRoom => Self::NoRoom,
            refusal => Self::Refused(refusal),
        }
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl Desk {
    /// A desk of its own over a state folder, for a server without a GitHub App.
    ///
    /// # Errors
    /// When the state cannot be opened or is in use.
    pub async fn open(state: &Path, workers: usize, retention: Duration, limits: Limits) -> Result<Self, Error> {
        parsers::install().map_err(Error::Parsers)?;
        let store = Store::open(state, Clock::system()).await?;
        for run in store.interrupted_runs().await? {
            // Litter is no reason not to start.
            if let Err(error) = Shelf::new(state.join("runs").join(run.to_string())).remove_unfinished() {
                tracing::warn!("what run {run} left unfinished could not be removed: {error}");
            }
        }
        store.end_interrupted_runs("the server stopped in the middle of it").await?;
        let queue = Queue::new(store.clone(), queue::Options { workers, ..queue::Options::default() });
        Ok(Self::over(store, Arc::new(queue), retention, limits))
    }

    /// The desk of a server that has store and queue already; both are in the folder that the store lies in. What a former life
    /// was receiving is removed.
    pub(super) fn over(store: Store, queue: Arc<Queue>, retention: Duration, limits: Limits) -> Self {
        let state = store.path().parent().map(Path::to_owned).unwrap_or_default();
        let (uploads, runs) = (state.join("uploads"), state.join("runs"));
        if let Err(error) = keep::remove_arriving(&uploads) {
            tracing::warn!("uploads that were never finished could not be removed: {error}");
        }
        let (arriving, reviewing) = (Arc::new(Semaphore::new(UPLOADS)), Arc::new(Semaphore::new(REVIEWS)));
        let written = Mutex::default();
        Self(Arc::new(Inner { store, queue, uploads, runs, limits, retention, arriving, reviewing, written }))
    }

    /// Reviews what is asked for until told to stop, where no App does.
    pub async fn work(&self, shutdown: CancellationToken) {
        let desk = self.clone();
        let jobs = self.0.queue.run(
            move |leased| {
                let desk = desk.clone();
                async move { desk.handle(leased).await }
            },
            shutdown.clone(),
        );
        tokio::join!(jobs, self.tidy_up(shutdown));
    }

    async fn handle(&self, leased: Leased) -> Result<(), queue::Failure> {
        let Job::Audit(target) = &leased.job else {
            // The state is that of a server with an App, which will go on with it.
            let message = "this server runs without a GitHub App; a server with one goes on with it";
            return Err(queue::Failure::new(Class::Snooze(NOT_OURS), message));
        };
        let done = self.review(target, &leased).await;
        done.map_err(|error| handle::failure(error.class(), &error, &leased))
    }

    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// A write works: whatever is asked for now can be kept.
    pub async fn ready(&self) -> Ready {
        let mut written = self.0.written.lock().await;
        let mut ready = Ready { ready: true, waits_for_set_up: false, reason: None, trouble: None };
        if written.is_some_and(|at| at.elapsed() < FRESH) {
            return ready;
        }
        match self.0.store.ping().await {
            Ok(()) => *written = Some(Instant::now()),
            Err(error) => (ready.ready, ready.reason) = (false, Some(error.to_string())),
        }
        ready
    }

    /// Asks for a review; it is a row before the answer.
    ///
    /// # Errors
    /// There is no such codebase any more, or the row cannot be written.
    pub async fn trigger(&self, codebase: &CodebaseId) -> Result<ReviewId, Problem> {
        let upload = self.upload(codebase).await?.ok_or_else(|| Problem::NoCodebase(codebase.clone()))?;
        if upload.is_over(self.now()) {
            return Err(Problem::NoCodebase(codebase.clone()));
        }
        let review = ReviewId::fresh();
        let job = Job::Audit(AuditTarget { codebase: codebase.clone(), review: review.clone() });
        let new = NewJob { max_attempts: ATTEMPTS, priority: PRIORITY, ..NewJob::at(self.now()) };
        self.0.store.enqueue(&job, new).await?;
        tracing::info!(codebase.id = %codebase, review.id = %review, "a review was asked for");
        Ok(review)
    }

    /// Whether there is a codebase of that id, and for a while yet.
    ///
    /// # Errors
    /// What is kept of it cannot be read.
    pub async fn has(&self, codebase: &CodebaseId) -> Result<bool, Problem> {
        Ok(self.upload(codebase).await?.is_some_and(|upload| !upload.is_over(self.now())))
    }

    /// What has become of a review; nothing where there is none of that id, or its result is not kept any more.
    ///
    /// # Errors
    /// Rows or result cannot be read.
    pub async fn result(&self, review: &ReviewId) -> Result<Option<Review>, Problem> {
        let Some(job) = self.job(review).await? else { return Ok(None) };
        self.came_to(&job).await
    }

    async fn came_to(&self, job: &JobRow) -> Result<Option<Review>, Problem> {
        match job.state {
            JobState::Available | JobState::Scheduled | JobState::Running | JobState::Retryable => {
                Ok(Some(Review::Running))
            }
            JobState::Cancelled => Ok(Some(Review::Cancelled)),
            JobState::Discarded => {
                let why = job.last_error.as_deref().unwrap_or("nobody knows why");
                let why = self.without_paths(why);
                Ok(Some(Review::Failed(ErrorCode::ReviewAnalysisFailed.error("master", why))))
            }
            JobState::Completed => {
                let Some(run) = self.0.store.runs_of_job(job.id).await?.pop() else { return Ok(None) };
                let shelf = Shelf::new(self.0.runs.join(run.id.to_string()));
                let read = move || shelf.read::<Aggregate>(AGGREGATE);
                let read = tokio::task::spawn_blocking(read).await.map_err(Error::died("reading a review"))?;
                Ok(read.map_err(Error::Shelf)?.map(|aggregate| Review::Done(Box::new(aggregate))))
            }
        }
    }

    /// Stops a review. Says whether there was anything to stop: it is not over, and nobody had asked for that before.
    ///
    /// # Errors
    /// There is no such review, or the row cannot be written.
    pub async fn cancel(&self, review: &ReviewId) -> Result<bool, Problem> {
        let job = self.job(review).await?.ok_or_else(|| Problem::NoReview(review.clone()))?;
        let stopped = self.0.store.cancel_job(job.id, "cancelled by whoever asked for it").await?;
        tracing::info!(review.id = %review, stopped, "a review was cancelled");
        Ok(stopped)
    }

    /// Follows a review from behind that line of its progress; 0 is from the beginning.
    ///
    /// # Errors
    /// There is no such review, or the rows cannot be read.
    pub async fn watch(&self, review: &ReviewId, after: i64) -> Result<Watch, Problem> {
        let job = self.job(review).await?.ok_or_else(|| Problem::NoReview(review.clone()))?;
        Ok(Watch::new(self.clone(), job.id, after))
    }

    async fn job(&self, review: &ReviewId) -> Result<Option<JobRow>, Problem> {
        let filter = JobFilter { unique_key: Some(audit_key(review)), limit: Some(1), ..JobFilter::default() };
        Ok(self.0.store.jobs(&filter).await?.pop())
    }

    fn now(&self) -> Millis {
        self.0.store.clock().now()
    }

    /// Where this server keeps its things is nobody else's business.
    fn without_paths(&self, text: &str) -> String {
        match self.0.uploads.parent().filter(|home| home.is_absolute()) {
            Some(home) => text.replace(&home.display().to_string(), "<state>"),
            None => text.to_owned(),
        }
    }
}

/// Puts a document onto a run's shelf, on a thread that may wait for the disk.
async fn put<T: Typed + Send + 'static>(shelf: &Shelf, file: String, document: T) -> Result<T, Error> {
    let shelf = shelf.clone();
    let write = move || shelf.write(&file, &document).map(|()| document);
    let written: Result<T, shelf::Error> =
        tokio::task::spawn_blocking(write).await.map_err(Error::died("writing a document"))?;
    Ok(written?)
}

/// The form of what a review comes to.
pub fn aggregate_form() -> &'static Form {
    Form::of::<Aggregate>()
}
