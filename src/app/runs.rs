//! What happened: deliveries, their jobs, the runs' steps and effects, for whoever watches.

use std::path::Path;

use serde::Serialize;

use super::Error;
use crate::domain::{Clock, RunId};
use crate::store::{DeliveryRow, EffectRow, JobRow, ProgressRow, RunRow, StepRow, Store};

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

    /// Progress after `seq`, over all runs, oldest first.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub async fn progress(&self, after: i64) -> Result<Vec<ProgressRow>, Error> {
        Ok(self.0.progress_after(after, 200).await?)
    }

    /// The latest deliveries, oldest first, with everything that followed.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub async fn timelines(&self, limit: u32) -> Result<Vec<Timeline>, Error> {
        let mut timelines = Vec::new();
        for delivery in self.0.deliveries(limit).await?.into_iter().rev() {
            let mut jobs = Vec::new();
            for job in self.0.jobs_of(&delivery.guid).await? {
                let mut runs = Vec::new();
                for run in self.0.runs_of_job(job.id).await? {
                    runs.push(self.run(run.id, run).await?);
                }
                jobs.push(TimelineJob { job, runs });
            }
            timelines.push(Timeline { delivery, jobs });
        }
        Ok(timelines)
    }

    async fn run(&self, id: RunId, run: RunRow) -> Result<TimelineRun, Error> {
        Ok(TimelineRun { run, steps: self.0.steps(id).await?, effects: self.0.effects(id).await? })
    }
}
