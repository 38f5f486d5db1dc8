//! The runs of a state folder, read beside the server that works on it or without one; nothing is touched.

use std::path::{Path, PathBuf};

use super::super::Error;
use crate::domain::{Clock, JobId, Millis, RunId};
use crate::pipeline::FACTS;
use crate::stdx::text::{count, did_you_mean, nearest};
use crate::store::{JobRow, ProgressRow, RunFilter, RunRow, RunState, StepRow, Store};

/// The word for the newest run.
const LATEST: &str = "latest";
/// Runs among whose ids a mistyped one is looked for.
const NEAR: usize = 500;
/// Ids that an ambiguous one is told to begin.
const TOLD: usize = 4;
/// More at once nobody asks for: the workers of a server are fewer.
const AT_ONCE: usize = 100;

/// Runs, for whoever looks.
pub struct Archive {
    pub(super) store: Store,
    pub(super) state: PathBuf,
    /// No server worked on the state when it was opened: what is seen does not move.
    frozen: bool,
}

/// Why a run was not found, or cannot be used as asked.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("there is no octoswarm state in `{}`", .0.display())]
    NoState(PathBuf),
    #[error("no run's id begins with `{typed}`{}", did_you_mean(.nearest.as_deref()))]
    Unknown { typed: String, nearest: Option<String> },
    #[error("`{typed}` is where the ids of {many} begin: {}", .some.join(", "))]
    Ambiguous { typed: String, many: String, some: Vec<String> },
    #[error("there are no runs yet")]
    None,
    #[error("run {run} cannot be replayed: {why}")]
    NotReplayable { run: RunId, why: String, hint: &'static str },
}

impl Problem {
    pub fn is_usage(&self) -> bool {
        match self {
            Self::NoState(_) | Self::Unknown { .. } | Self::Ambiguous { .. } | Self::None => true,
            Self::NotReplayable { .. } => false,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoState(_) => {
                "name the folder that the server works on with --state; `octoswarm config check` shows which one it is"
            }
            Self::Unknown { .. } | Self::None => "`octoswarm runs list` shows the runs that are kept",
            Self::Ambiguous { .. } => "type more of it, or `latest`",
            Self::NotReplayable { hint, .. } => hint,
        };
        Some(hint.to_owned())
    }
}

/// There is a database, whatever it holds.
pub(super) fn is_there(state: &Path) -> Result<(), Problem> {
    let database = state.join("octoswarm.db");
    if database.exists() { Ok(()) } else { Err(Problem::NoState(state.to_owned())) }
}

impl Archive {
    /// # Errors
    /// There is no state in that folder, it is of another version, damaged, or cannot be read.
    pub async fn open(state: &Path) -> Result<Self, Error> {
        is_there(state)?;
        let frozen = Store::holder(state)?.is_none();
        let store = Store::open_untouched(state, Clock::system()).await?;
        Ok(Self { store, state: state.to_owned(), frozen })
    }

    /// Looks again where what is seen could have been left behind: a server has begun to work on it.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub async fn refresh(&mut self) -> Result<(), Error> {
        if self.frozen && self.is_served()? {
            *self = Self::open(&self.state).await?;
        }
        Ok(())
    }

    /// Whether a server works on the state now.
    ///
    /// # Errors
    /// The lock cannot be read.
    pub fn is_served(&self) -> Result<bool, Error> {
        Ok(Store::holder(&self.state)?.is_some())
    }

    pub fn now(&self) -> Millis {
        self.store.clock().now()
    }

    /// Newest first.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub async fn list(&self, filter: &RunFilter, limit: usize) -> Result<Vec<RunRow>, Error> {
        Ok(self.store.runs_where(filter, limit).await?)
    }

    /// Those that go on, oldest first.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub async fn running(&self) -> Result<Vec<RunRow>, Error> {
        let filter = RunFilter { state: Some(RunState::Running), ..RunFilter::default() };
        let mut running = self.store.runs_where(&filter, AT_ONCE).await?;
        running.reverse();
        Ok(running)
    }

    /// The run of that id, or whose id alone begins so; `latest` is the newest.
    ///
    /// # Errors
    /// There is none, or there are several; the rows cannot be read.
    pub async fn find(&self, typed: &str) -> Result<RunRow, Error> {
        find(&self.store, typed).await
    }

    /// # Errors
    /// The row cannot be read.
    pub async fn run(&self, id: RunId) -> Result<Option<RunRow>, Error> {
        Ok(self.store.run(id).await?)
    }

    /// # Errors
    /// The row cannot be read.
    pub async fn job(&self, id: JobId) -> Result<Option<JobRow>, Error> {
        Ok(self.store.job(id).await?)
    }

    /// The agents' steps, in the order they began.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub async fn steps(&self, run: RunId) -> Result<Vec<StepRow>, Error> {
        let mut steps = self.store.steps(run).await?;
        steps.retain(|step| step.name != FACTS);
        Ok(steps)
    }

    /// What a run said after its line `seq`, oldest first; at most so many lines.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub async fn progress(&self, run: RunId, seq: i64, limit: usize) -> Result<Vec<ProgressRow>, Error> {
        Ok(self.store.progress_since(run, seq, limit).await?)
    }
}

pub(super) async fn find(store: &Store, typed: &str) -> Result<RunRow, Error> {
    if typed == LATEST {
        return Ok(store.runs(1).await?.pop().ok_or(Problem::None)?);
    }
    let is_beginning = !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let mut found = if is_beginning { store.runs_beginning(typed, AT_ONCE).await? } else { Vec::new() };
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let runs = store.runs(NEAR).await?;
            if runs.is_empty() {
                return Err(Problem::None.into());
            }
            Err(Problem::Unknown { typed: typed.to_owned(), nearest: near(typed, &runs) }.into())
        }
        many => {
            let some = found.iter().take(TOLD).map(|run| run.id.to_string());
            let more = (many > TOLD).then(|| "…".to_owned());
            let many = if many == AT_ONCE { format!("{many} runs or more") } else { count(many, "run") };
            Err(Problem::Ambiguous { typed: typed.to_owned(), many, some: some.chain(more).collect() }.into())
        }
    }
}

/// The run that was probably meant: as much of each id is compared as was typed.
fn near(typed: &str, runs: &[RunRow]) -> Option<String> {
    let length = typed.chars().count();
    let begins: Vec<(String, String)> = runs
        .iter()
        .map(|run| run.id.to_string())
        .chain([LATEST.to_owned()])
        .map(|id| (id.chars().take(length).collect(), id))
        .collect();
    let meant = nearest(typed, begins.iter().map(|(begin, _)| begin.as_str()))?;
    begins.iter().find(|(begin, _)| begin == meant).map(|(_, id)| id.clone())
}
