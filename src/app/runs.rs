//! What happened: deliveries, their jobs, the runs' steps and effects, for whoever watches; and what an operator may do
//! about it.

mod act;
mod archive;
mod detail;
mod ground;
mod replay;

use std::path::Path;

use serde::Serialize;

use super::Error;
use crate::domain::{Clock, RunId};
use crate::store::{DeliveryRow, EffectRow, JobFilter, JobRow, ProgressRow, RunRow, StepRow, Store};

pub use crate::store::{
    DeliveryState, EffectState, JobRow as Job, JobState, ProgressRow as Progress, RunFilter, RunRow as Run, RunState,
    StepRow as Step, StepState,
};
pub use act::{Cancelled, Retry, cancel, retry};
pub use archive::{Archive, Problem};
pub use detail::{Detail, Document, Posted, Unreadable};
pub use replay::{Replay, StepReplay, Verdict, replay};

/// The rows of another process's server, looked at without touching them.
pub struct Observer(Store);

/// One delivery and all that came of it.
#[derive(Debug, Clone, Serialize)]
pub struct Timeline {
    pub delivery: DeliveryRow,
    pub jobs: Vec<TimelineJob>,
}

#[derive(Debug, Clone, Serialize)]
pub struct TimelineJob {
    pub job: JobRow,
    pub runs: Vec<TimelineRun>,
}

#[derive(Debug, Clone, Serialize)]
pub struct TimelineRun {
    pub run: RunRow,
    pub steps: Vec<StepRow>,
    pub effects: Vec<EffectRow>,
}

impl Observer {
    /// # Errors
    /// When there is no database yet, or it is of another version.
    pub async fn open(state: &Path) -> Result<Self, Error> {
        Ok(Self(Store::open_read_only(state, Clock::system()).await?))
    }

    /// Nothing waits and nothing runs.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub async fn is_idle(&self) -> Result<bool, Error> {
        Ok(self.0.unfinished_jobs().await?.is_empty())
    }

    /// Progress of a run after `seq`, oldest first.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub async fn progress(&self, run: RunId, seq: i64) -> Result<Vec<ProgressRow>, Error> {
        Ok(self.0.progress_since(run, seq, 200).await?)
    }

    /// The latest runs, newest first.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub async fn runs(&self, limit: usize) -> Result<Vec<RunRow>, Error> {
        Ok(self.0.runs(limit).await?)
    }

    /// The latest deliveries, oldest first, with everything that followed.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub async fn timelines(&self, limit: usize) -> Result<Vec<Timeline>, Error> {
        let all = self.0.jobs(&JobFilter { limit: Some(10 * limit), ..JobFilter::default() }).await?;
        let mut timelines = Vec::new();
        for delivery in self.0.deliveries(limit, None).await?.into_iter().rev() {
            let mut jobs = Vec::new();
            for job in all.iter().rev().filter(|job| job.cause.as_ref() == Some(&delivery.guid)) {
                let mut runs = Vec::new();
                for run in self.0.runs_of_job(job.id).await? {
                    let (steps, effects) = (self.0.steps(run.id).await?, self.0.effects(run.id).await?);
                    runs.push(TimelineRun { run, steps, effects });
                }
                jobs.push(TimelineJob { job: job.clone(), runs });
            }
            timelines.push(Timeline { delivery, jobs });
        }
        Ok(timelines)
    }
}
