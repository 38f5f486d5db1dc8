//! The memory: deliveries, jobs, runs, steps, progress and effects in one SQLite file.
//!
//! Promise: what a method has answered is on the disk; a second daemon, a damaged file or a newer schema is refused and left as it was.
//! Never: nothing here knows what a job means or what GitHub is; no transaction outlives one method; no SQL elsewhere.
//!
//! The public face is methods and plain rows: no caller sees SQL, a pool or a transaction.

mod bell;
mod body;
mod cursor;
mod delivery;
mod desk;
mod effect;
mod error;
mod inbox;
mod job;
mod lease;
mod lock;
mod look;
mod open;
mod prune;
mod readers;
mod retry;
mod row;
mod run;
mod step;
mod turn;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::domain::{Clock, Millis};
use crate::meter::Meter;

pub use bell::{Bell, Ear};
pub use delivery::{Accepted, DeliveryRow, DeliveryState, NewDelivery, Target};
pub use effect::{EffectRow, EffectState};
pub use error::Error;
pub use job::{Enqueued, JobFilter, JobRow, JobState, NewJob};
pub use lease::{Beat, Claimed, Fail, Lease};
pub use lock::Lock;
pub use look::{Figures, Look, Sight};
pub use prune::Pruned;
pub use retry::Retried;
pub use run::{NewRun, ProgressRow, RunFilter, RunRow, RunState};
pub use step::{Left, MAX_ARTIFACT, StepId, StepRow, StepState};
pub use turn::{Taken, Turn};

/// A handle on the memory. Clones share it; the last one to go frees the lock.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

/// What an operator or a test may want otherwise.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many deliveries may wait for their commit before `accept` answers `Busy`.
    pub inbox: usize,
    /// How long SQLite waits for another process that holds the database.
    pub busy_timeout: Duration,
    pub readers: usize,
    /// Counts for whoever works with the rows; it is handed on with the store.
    pub meter: Arc<Meter>,
}

impl Default for Options {
    fn default() -> Self {
        Self { inbox: 1024, busy_timeout: Duration::from_secs(5), readers: 4, meter: Arc::default() }
    }
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    clock: Clock,
    meter: Arc<Meter>,
    node: String,
    bell: Arc<Bell>,
    /// Absent in a store that only looks on.
    writing: Option<Writing>,
    readers: readers::Readers,
    /// Where what is looked at lies, when it is a copy.
    #[expect(dead_code, reason = "removed when the store goes")]
    copy: Option<tempfile::TempDir>,
    /// The latest time this process wrote a lease by: an earlier one means that the clock was set back.
    seen: AtomicI64,
}

#[derive(Debug)]
struct Writing {
    writer: desk::Writer,
    inbox: inbox::Inbox,
    /// Absent in a store that writes beside a daemon.
    #[expect(dead_code, reason = "held until the store goes")]
    lock: Option<lock::Lock>,
}

impl Store {
    /// Opens `dir/octoswarm.db`, creating what is missing, and takes the lock beside it.
    /// Leases that a former life of this node held are free afterwards: under the lock nobody else can hold them.
    ///
    /// # Errors
    /// Another daemon holds the lock, the file is damaged, its schema is newer, or it cannot be written.
    pub async fn open(dir: &Path, clock: Clock) -> Result<Self, Error> {
        Self::open_with(dir, clock, Options::default()).await
    }

    /// As `open`, with other options.
    ///
    /// # Errors
    /// As `open`.
    pub async fn open_with(dir: &Path, clock: Clock, options: Options) -> Result<Self, Error> {
        open::writing(dir, clock, &options).await
    }

    /// Opens the file without the lock, for another process that looks on while the daemon works. The bell stays silent there: poll.
    ///
    /// # Errors
    /// There is no such file, it is damaged, or its schema is not exactly this version's.
    pub async fn open_read_only(dir: &Path, clock: Clock) -> Result<Self, Error> {
        open::looking_on(dir, clock, &Options::default()).await
    }

    /// Opens the file to write a row or two beside the daemon that works on it, or while there is none: without the lock,
    /// and without what a daemon does when it starts. The daemon's bell does not ring for that; it looks at the rows every
    /// second.
    ///
    /// # Errors
    /// There is no such file, it is damaged, its schema is not exactly this version's, or it cannot be written.
    pub async fn open_beside(dir: &Path, clock: Clock) -> Result<Self, Error> {
        open::beside(dir, clock, &Options::default()).await
    }

    pub fn bell(&self) -> &Bell {
        &self.0.bell
    }

    /// This machine's name in leases; stable across restarts.
    pub fn node(&self) -> &str {
        &self.0.node
    }

    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Where what happens is counted.
    pub fn meter(&self) -> &Meter {
        &self.0.meter
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Proves that a durable write works, for `/readyz`.
    ///
    /// # Errors
    /// It does not: the disk is full, the file is gone or held by somebody else.
    pub async fn ping(&self) -> Result<(), Error> {
        self.set_cursor("ping", &self.now().to_string()).await
    }

    /// How many commits this process has made: with many writers at once, far fewer than writes.
    ///
    /// # Errors
    /// The store only looks on.
    pub fn commits(&self) -> Result<u64, Error> {
        Ok(self.writing()?.writer.commits())
    }

    fn now(&self) -> Millis {
        self.0.clock.now()
    }

    fn writing(&self) -> Result<&Writing, Error> {
        self.0.writing.as_ref().ok_or(Error::ReadOnly)
    }

    /// A write of several statements.
    async fn begin(&self) -> Result<desk::Tx, Error> {
        self.writing()?.writer.begin().await
    }

    /// A write of one statement.
    async fn begin_one(&self) -> Result<desk::Tx, Error> {
        self.writing()?.writer.begin_one().await
    }

    async fn reader(&self) -> Result<readers::Reader<'_>, Error> {
        self.0.readers.lend().await
    }

    /// Whether the clock was set back since the last call; notes the time.
    fn clock_went_back(&self, now: Millis) -> bool {
        let before = self.0.seen.swap(now, Ordering::Relaxed);
        now + 1_000 < before
    }
}
