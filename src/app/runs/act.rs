//! What an operator may do about a run from beside the server: whoever can write the state folder may.

use std::path::Path;

use super::super::Error;
use super::archive::{find, is_there};
use crate::domain::{Clock, JobId, RunId};
use crate::store::{JobFilter, JobState, Retried, RunRow, RunState, Store};

/// What a job that an operator stopped says of its end.
const REASON: &str = "cancelled by the operator";

/// What became of the wish to cancel a run.
#[derive(Debug)]
pub enum Cancelled {
    /// Its job stops: at once where a server works on the state, else when the next one starts.
    Asked { run: RunRow, job: JobId, served: bool },
    /// Nothing of it had begun: it is over.
    Gone { run: RunRow, job: JobId },
    /// It was asked for before, and goes on.
    Already { run: RunRow, job: JobId, served: bool },
    /// There is nothing that could be cancelled, and why.
    Over { run: RunRow, why: String },
}

/// What became of the wish to have a run's job done again.
#[derive(Debug)]
pub enum Retry {
    Queued {
        run: RunRow,
        job: JobId,
        served: bool,
    },
    /// Not now, or not this way.
    Refused {
        run: RunRow,
        why: String,
        hint: String,
    },
}

/// Asks the job of a run to stop, durably.
///
/// # Errors
/// There is no such run or no state, or it cannot be written.
pub async fn cancel(state: &Path, typed: &str) -> Result<Cancelled, Error> {
    let (store, run) = open(state, typed).await?;
    let over = |run: RunRow, why: &str| Cancelled::Over { why: format!("run {} {why}", run.id), run };
    let Some(id) = run.job else { return Ok(over(run, "belongs to no job")) };
    let Some(mut job) = store.job(id).await? else {
        return Ok(over(run, "is over, and its job is not kept any more"));
    };
    // One that was cancelled and is tried again goes on under another number.
    if job.state == JobState::Cancelled {
        let same = JobFilter { unique_key: Some(job.unique_key.clone()), limit: Some(1), ..JobFilter::default() };
        job = store.jobs(&same).await?.pop().unwrap_or(job);
    }
    if is_over(job.state) {
        let why = format!("is over: its job is {}", job.state);
        return Ok(over(run, &why));
    }
    let id = job.id;
    let served = Store::holder(state)?.is_some();
    if !store.cancel_job(id, REASON).await? {
        return Ok(match store.job(id).await? {
            Some(job) if !is_over(job.state) => Cancelled::Already { run, job: id, served },
            _ => over(run, "came to its end just now"),
        });
    }
    let ended = store.job(id).await?.is_some_and(|job| is_over(job.state));
    Ok(if ended { Cancelled::Gone { run, job: id } } else { Cancelled::Asked { run, job: id, served } })
}

/// Queues the job of a run again, under the same unique key.
///
/// # Errors
/// There is no such run or no state, or it cannot be written.
pub async fn retry(state: &Path, typed: &str) -> Result<Retry, Error> {
    const ANEW: &str = "comment `/swarm review` on the pull request, or label the issue again: that makes a new job";
    const AGAIN: &str = "ask for another review of the codebase: `POST /trigger_review` makes a new job";
    let (store, run) = open(state, typed).await?;
    let anew = if run.kind == "audit" { AGAIN } else { ANEW };
    let refused = |run: RunRow, why: String, hint: &str| {
        let why = format!("run {} {why}", run.id);
        Ok(Retry::Refused { run, why, hint: hint.to_owned() })
    };
    let Some(id) = run.job else { return refused(run, "belongs to no job".into(), anew) };
    if store.job(id).await?.is_none() {
        return refused(run, "is kept, but its job is not any more".into(), anew);
    }
    // An issue that came to nothing may come to something the next time; a review that was made is made.
    let completed = run.kind == "contribute" && run.state != RunState::Running;
    let wait = format!("`octoswarm runs watch {}` follows it, `octoswarm runs cancel {0}` stops it", run.id);
    match store.retry_job(id, completed).await? {
        Retried::Queued(job) => {
            let served = Store::holder(state)?.is_some();
            Ok(Retry::Queued { run, job, served })
        }
        Retried::Unfinished { cancelling: true, .. } => {
            let hint = "try again when it has stopped; without a server it stops at the next start";
            refused(run, "is being cancelled".into(), hint)
        }
        Retried::Unfinished { state: JobState::Running, .. } => refused(run, "is going on".into(), &wait),
        Retried::Unfinished { .. } => refused(run, "is not over: its job waits for another attempt".into(), &wait),
        Retried::Taken(other) => refused(run, format!("is queued again already, as job {other}"), &wait),
        Retried::Completed => {
            let why = match last(&store, id, run.id).await? {
                Some(later) => format!("was followed by run {later}, which came to its end"),
                None => "came to its end: there is nothing to try again".to_owned(),
            };
            refused(run, why, anew)
        }
    }
}

async fn open(state: &Path, typed: &str) -> Result<(Store, RunRow), Error> {
    is_there(state)?;
    let store = Store::open_beside(state, Clock::system()).await?;
    let run = find(&store, typed).await?;
    Ok((store, run))
}

/// The latest run of a job, where that is another one.
async fn last(store: &Store, job: JobId, run: RunId) -> Result<Option<RunId>, Error> {
    Ok(store.runs_of_job(job).await?.last().map(|last| last.id).filter(|last| *last != run))
}

fn is_over(state: JobState) -> bool {
    matches!(state, JobState::Completed | JobState::Discarded | JobState::Cancelled)
}
