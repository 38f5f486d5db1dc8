//! A job that came to its end is put in once more, as it was.

use super::job::{self, NewJob, insert, revive, unfinished};
use super::{Error, JobState, Store};
use crate::domain::{JobId, Millis};

/// What became of the wish to have a job done again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retried {
    /// It is due now, with all its attempts: the same row out of the dead letter, or a new one like it.
    Queued(JobId),
    /// It has not come to its end.
    Unfinished { state: JobState, run_at: Millis, cancelling: bool },
    /// An unfinished job has its unique key.
    Taken(JobId),
    /// It did what it was for.
    Completed,
}

impl Store {
    /// Queues a discarded or cancelled job again under the same unique key; with `completed`, a completed one too.
    ///
    /// # Errors
    /// No such job, this version cannot read it, or the database failed; nothing has changed then.
    pub async fn retry_job(&self, id: JobId, completed: bool) -> Result<Retried, Error> {
        let now = self.now();
        let queued = {
            let mut tx = self.begin().await?;
            let row = sqlx::query("SELECT * FROM job WHERE id = ?").bind(id.0).fetch_optional(&mut *tx).await?;
            let row = row.ok_or_else(|| Error::NotFound { what: "job", id: id.to_string() })?;
            let row = job::load(&row)?;
            match row.state {
                JobState::Available | JobState::Scheduled | JobState::Running | JobState::Retryable => {
                    let cancelling = row.cancel_requested_at.is_some();
                    return Ok(Retried::Unfinished { state: row.state, run_at: row.run_at, cancelling });
                }
                JobState::Completed if !completed => return Ok(Retried::Completed),
                JobState::Completed | JobState::Discarded | JobState::Cancelled => {}
            }
            if let Some(other) = unfinished(&mut tx, &row.unique_key).await? {
                return Ok(Retried::Taken(JobId(other)));
            }
            let queued = if row.state == JobState::Discarded {
                revive(&mut tx, id.0, now).await?;
                id
            } else {
                let detail = || "this version does not know such a job".to_owned();
                let job = row.job.ok_or_else(|| Error::Damaged { what: "job", detail: detail() })?;
                let new = NewJob {
                    run_at: now,
                    max_attempts: row.max_attempts,
                    priority: row.priority,
                    cause: row.cause.clone(),
                };
                insert(&mut tx, &job, &new, now).await?.id()
            };
            tx.commit().await?;
            queued
        };
        self.bell().ring_jobs();
        Ok(Retried::Queued(queued))
    }
}
