//! Leases: who runs a job, until when, and how a run ends. Every write here names the lease's token, so that a worker
//! whose lease went to another can change nothing any more.

use sqlx::SqliteConnection;

use super::{Error, JobRow, JobState, Store, job};
use crate::domain::{Job, JobId, Millis};

/// The right to run one job, as long as nobody else has claimed it since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub job: JobId,
    token: String,
}

/// A job that was claimed.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub lease: Lease,
    pub job: Job,
    pub row: JobRow,
}

/// What a heartbeat learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    Alive,
    /// The lease holds, and somebody wants the job to stop.
    CancelRequested,
    /// The lease went to another, or the job ended without us.
    Lost,
}

/// What a failed attempt leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fail {
    /// Again at that time, if attempts are left; else discarded.
    Retry {
        at: Millis,
    },
    Discard,
    Cancel,
}

impl Store {
    /// Claims the job that is due and comes first, if any; as `claim_some`.
    ///
    /// # Errors
    /// The database failed.
    pub async fn claim(&self, node: &str, lease_ms: Millis, held: &[JobId]) -> Result<Option<Claimed>, Error> {
        Ok(self.claim_some(node, lease_ms, held, 1).await?.pop())
    }

    /// Claims the jobs that are due and come first, at most so many, for `lease_ms` each, in one commit. The attempt counts
    /// from here, so that a worker that dies uses it up. `held` are the jobs that the caller is running: a late heartbeat
    /// must not make it claim its own.
    ///
    /// A lease that ran out is claimed first; a job whose last attempt ended that way goes to the dead letter,
    /// and so does one whose payload this version cannot read.
    ///
    /// # Errors
    /// The database failed; none was claimed then.
    pub async fn claim_some(
        &self,
        node: &str,
        lease_ms: Millis,
        held: &[JobId],
        most: usize,
    ) -> Result<Vec<Claimed>, Error> {
        let now = self.now();
        if self.clock_went_back(now) {
            self.mend_times().await?;
        }
        let held = serde_json::to_string(held)?;
        let mut claimed = Vec::new();
        let mut tx = self.begin().await?;
        bury_expired(&mut tx, &held, now).await?;
        let mut expired = true;
        while claimed.len() < most {
            let token = uuid::Uuid::new_v4().to_string();
            // Once no lease has run out, none will before the commit.
            let which = if expired { EXPIRED } else { NEXT };
            let row = sqlx::query(sqlx::AssertSqlSafe(format!(
                "UPDATE job SET state = 'running', attempt = attempt + 1, lease_token = ?3, lease_node = ?4, lease_until = ?5,
                     started_at = ?1, updated_at = ?1
                 WHERE id = ({which}) RETURNING *"
            )))
            .bind(now)
            .bind(&held)
            .bind(&token)
            .bind(node)
            .bind(now + lease_ms)
            .fetch_optional(&mut *tx)
            .await?;
            let row = match row {
                Some(row) => row,
                None if expired => {
                    expired = false;
                    continue;
                }
                None => break,
            };
            let row = job::load(&row)?;
            match serde_json::from_str::<Job>(&row.payload) {
                Ok(job) => claimed.push(Claimed { lease: Lease { job: row.id, token }, job, row }),
                Err(error) => {
                    tracing::error!(job.id = row.id.0, error = %error, "a stored job cannot be read; it was discarded");
                    let reason = format!("the stored job cannot be read: {error}");
                    finish(&mut tx, &token, JobState::Discarded, Some(&reason), now).await?;
                }
            }
        }
        tx.commit().await?;
        Ok(claimed)
    }

    /// Says that the worker lives and extends the lease.
    ///
    /// # Errors
    /// The database failed: the lease may still hold.
    pub async fn heartbeat(&self, lease: &Lease, lease_ms: Millis) -> Result<Beat, Error> {
        let now = self.now();
        let mut tx = self.begin_one().await?;
        let found: Option<Option<Millis>> = sqlx::query_scalar(
            "UPDATE job SET lease_until = ?1, updated_at = ?2 WHERE lease_token = ?3 RETURNING cancel_requested_at",
        )
        .bind(now + lease_ms)
        .bind(now)
        .bind(&lease.token)
        .fetch_optional(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(beat(found))
    }

    /// As `heartbeat`, but only looks: right before a write to the world, and when somebody rang for a cancellation.
    ///
    /// # Errors
    /// The database failed.
    pub async fn lease_state(&self, lease: &Lease) -> Result<Beat, Error> {
        let found: Option<Option<Millis>> =
            sqlx::query_scalar("SELECT cancel_requested_at FROM job WHERE lease_token = ?")
                .bind(&lease.token)
                .fetch_optional(&mut *self.reader().await?)
                .await?;
        Ok(beat(found))
    }

    /// The job is done. Answers the state it stands in now, `None` when the lease was lost.
    ///
    /// # Errors
    /// The database failed.
    pub async fn complete(&self, lease: &Lease) -> Result<Option<JobState>, Error> {
        let now = self.now();
        let state = {
            let mut tx = self.begin_one().await?;
            let state = finish(&mut tx, &lease.token, JobState::Completed, None, now).await?;
            tx.commit().await?;
            state
        };
        self.bell().ring_jobs();
        Ok(state)
    }

    /// The attempt failed. Answers what the job became, `None` when the lease was lost.
    ///
    /// # Errors
    /// The database failed.
    pub async fn fail(&self, lease: &Lease, fail: Fail, error: &str) -> Result<Option<JobState>, Error> {
        let now = self.now();
        let state = {
            let mut tx = self.begin_one().await?;
            let state = match fail {
                Fail::Discard => finish(&mut tx, &lease.token, JobState::Discarded, Some(error), now).await?,
                Fail::Cancel => finish(&mut tx, &lease.token, JobState::Cancelled, Some(error), now).await?,
                Fail::Retry { at } => retry(&mut tx, &lease.token, at, error, now).await?,
            };
            tx.commit().await?;
            state
        };
        self.bell().ring_jobs();
        Ok(state)
    }

    /// Not yet: the job waits until then and gets its attempt back. `None` when the lease was lost.
    ///
    /// # Errors
    /// The database failed.
    pub async fn snooze(&self, lease: &Lease, until: Millis, reason: &str) -> Result<Option<JobState>, Error> {
        let mut tx = self.begin_one().await?;
        let state = put_back(&mut tx, &lease.token, JobState::Scheduled, until, Some(reason), self.now()).await?;
        tx.commit().await?;
        Ok(state)
    }

    /// Gives the job back untouched, for anyone to claim at once: this worker is shutting down.
    ///
    /// # Errors
    /// The database failed.
    pub async fn release(&self, lease: &Lease) -> Result<Option<JobState>, Error> {
        let now = self.now();
        let state = {
            let mut tx = self.begin_one().await?;
            let state = put_back(&mut tx, &lease.token, JobState::Available, now, None, now).await?;
            tx.commit().await?;
            state
        };
        self.bell().ring_jobs();
        Ok(state)
    }

    /// Frees the leases that a former life of this node left behind, so that recovery takes seconds. Attempts stay counted.
    ///
    /// # Errors
    /// The database failed.
    pub async fn release_node_leases(&self, node: &str) -> Result<u64, Error> {
        let now = self.now();
        let freed = {
            let mut tx = self.begin().await?;
            sqlx::query("UPDATE job SET lease_until = ?1 WHERE state = 'running' AND lease_node = ?2")
                .bind(now)
                .bind(node)
                .execute(&mut *tx)
                .await?;
            let buried = bury_expired(&mut tx, "[]", now).await?;
            let freed = sqlx::query(
                "UPDATE job SET state = 'available', run_at = ?1, lease_token = NULL, lease_node = NULL, lease_until = NULL, updated_at = ?1
                 WHERE state = 'running' AND lease_node = ?2",
            )
            .bind(now)
            .bind(node)
            .execute(&mut *tx)
            .await?
            .rows_affected();
            tx.commit().await?;
            buried + freed
        };
        if freed > 0 {
            tracing::info!(jobs = freed, "freed the jobs of a former life");
            self.bell().ring_jobs();
        }
        Ok(freed)
    }

    /// After the clock was set back, times in rows lie too far ahead: what was left of a wait or a lease when it was
    /// written is left of it now.
    ///
    /// # Errors
    /// The database failed.
    pub(super) async fn mend_times(&self) -> Result<(), Error> {
        let now = self.now();
        let mut tx = self.begin_one().await?;
        let mended = sqlx::query(
            "UPDATE job SET run_at = CASE WHEN run_at > ?1 THEN max(?1, ?1 + run_at - updated_at) ELSE run_at END,
                 lease_until = ?1 + lease_until - updated_at, updated_at = ?1
             WHERE state IN ('available', 'scheduled', 'running', 'retryable') AND updated_at > ?1 + 1000",
        )
        .bind(now)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        tx.commit().await?;
        if mended > 0 {
            tracing::warn!(jobs = mended, "the clock was set back; waiting times were moved along");
        }
        Ok(())
    }
}

fn beat(found: Option<Option<Millis>>) -> Beat {
    match found {
        Some(None) => Beat::Alive,
        Some(Some(_)) => Beat::CancelRequested,
        None => Beat::Lost,
    }
}

/// The job that is due and comes first: for each priority that waits, one look at where its due jobs begin in the index. In any
/// other order SQLite would sort all that is due, or walk over all that is not, for every claim; a backlog has many of both.
const NEXT: &str = "
    WITH RECURSIVE level (priority) AS (
        SELECT * FROM (SELECT priority FROM job INDEXED BY job_due
            WHERE state IN ('available', 'scheduled', 'retryable') ORDER BY priority LIMIT 1)
        UNION ALL
        SELECT (SELECT priority FROM job INDEXED BY job_due
            WHERE state IN ('available', 'scheduled', 'retryable') AND priority > level.priority ORDER BY priority LIMIT 1)
        FROM level WHERE level.priority IS NOT NULL)
    SELECT first FROM (
        SELECT (SELECT id FROM job AS waiting INDEXED BY job_due
            WHERE state IN ('available', 'scheduled', 'retryable') AND priority = level.priority AND run_at <= ?1
              AND (group_key IS NULL OR NOT EXISTS (
                   SELECT 1 FROM job AS other WHERE other.group_key = waiting.group_key AND other.state = 'running'))
            ORDER BY run_at, id LIMIT 1) AS first
        FROM level WHERE level.priority IS NOT NULL)
    WHERE first IS NOT NULL LIMIT 1";

/// The job whose lease ran out first, but for those that the caller runs.
const EXPIRED: &str = "
    SELECT id FROM job WHERE state = 'running' AND lease_until <= ?1 AND id NOT IN (SELECT value FROM json_each(?2))
    ORDER BY lease_until, id LIMIT 1";

/// Expired leases that nobody may claim again: no attempt is left. A job that was to stop gets its next attempt to clear up.
async fn bury_expired(conn: &mut SqliteConnection, held: &str, now: Millis) -> Result<u64, Error> {
    let buried = sqlx::query(
        "UPDATE job SET
             state = CASE WHEN cancel_requested_at IS NULL THEN 'discarded' ELSE 'cancelled' END,
             last_error = CASE WHEN cancel_requested_at IS NULL
                 THEN 'the worker died or hung in attempt ' || attempt || ' of ' || max_attempts ELSE last_error END,
             finished_at = ?1, updated_at = ?1, lease_token = NULL, lease_node = NULL, lease_until = NULL
         WHERE state = 'running' AND lease_until <= ?1 AND id NOT IN (SELECT value FROM json_each(?2))
           AND attempt >= max_attempts",
    )
    .bind(now)
    .bind(held)
    .execute(conn)
    .await?;
    Ok(buried.rows_affected())
}

async fn finish(
    conn: &mut SqliteConnection,
    token: &str,
    state: JobState,
    error: Option<&str>,
    now: Millis,
) -> Result<Option<JobState>, Error> {
    let done = sqlx::query(
        "UPDATE job SET state = ?1,
             last_error = CASE WHEN ?1 = 'cancelled' AND cancel_requested_at IS NOT NULL
                 THEN last_error ELSE coalesce(?2, last_error) END,
             finished_at = ?3, updated_at = ?3,
             lease_token = NULL, lease_node = NULL, lease_until = NULL
         WHERE lease_token = ?4",
    )
    .bind(state.as_str())
    .bind(error)
    .bind(now)
    .bind(token)
    .execute(conn)
    .await?;
    Ok((done.rows_affected() > 0).then_some(state))
}

async fn retry(
    conn: &mut SqliteConnection,
    token: &str,
    at: Millis,
    error: &str,
    now: Millis,
) -> Result<Option<JobState>, Error> {
    let row = sqlx::query(
        "UPDATE job SET
             state = CASE WHEN attempt < max_attempts THEN 'retryable'
                          WHEN cancel_requested_at IS NOT NULL THEN 'cancelled' ELSE 'discarded' END,
             finished_at = CASE WHEN attempt >= max_attempts THEN ?1 END,
             run_at = CASE WHEN cancel_requested_at IS NULL THEN ?2 ELSE ?1 END, last_error = CASE WHEN cancel_requested_at IS NOT NULL THEN last_error ELSE ?3 END, updated_at = ?1,
             lease_token = NULL, lease_node = NULL, lease_until = NULL
         WHERE lease_token = ?4 RETURNING state",
    )
    .bind(now)
    .bind(at)
    .bind(error)
    .bind(token)
    .fetch_optional(conn)
    .await?;
    row.as_ref().map(JobState::load).transpose()
}

/// Back into the queue with the attempt returned; a job that was to stop is due at once, to clear up.
async fn put_back(
    conn: &mut SqliteConnection,
    token: &str,
    state: JobState,
    run_at: Millis,
    reason: Option<&str>,
    now: Millis,
) -> Result<Option<JobState>, Error> {
    let row = sqlx::query(
        "UPDATE job SET
             state = ?1, attempt = max(attempt - 1, 0), run_at = CASE WHEN cancel_requested_at IS NULL THEN ?3 ELSE ?2 END,
             last_error = CASE WHEN cancel_requested_at IS NOT NULL THEN last_error ELSE coalesce(?4, last_error) END, updated_at = ?2,
             lease_token = NULL, lease_node = NULL, lease_until = NULL
         WHERE lease_token = ?5 RETURNING state",
    )
    .bind(state.as_str())
    .bind(now)
    .bind(run_at)
    .bind(reason)
    .bind(token)
    .fetch_optional(conn)
    .await?;
    row.as_ref().map(JobState::load).transpose()
}

#[cfg(test)]
mod tests {
    use crate::domain::Clock;
    use crate::store::Store;

    #[tokio::test]
    async fn a_claim_neither_sorts_nor_walks_over_a_backlog() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Clock::manual(0)).await.unwrap();
        let sql = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", super::NEXT));
        let plan: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(sql).bind(0_i64).fetch_all(&mut *store.reader().await.unwrap()).await.unwrap();
        let plan: Vec<String> = plan.into_iter().map(|(_, _, _, step)| step).collect();
        assert!(plan.iter().any(|step| step.contains("job_due (priority=? AND run_at<?)")), "{plan:#?}");
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}");
    }
}
