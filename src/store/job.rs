//! Jobs as rows: put in, looked at, cancelled, brought back. Who runs them is `lease`'s business.

use std::collections::BTreeMap;

use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::row::{self, stored_enum};
use super::{Error, Store};
use crate::domain::{DeliveryId, InstallationId, Job, JobId, Millis, RepositoryId};

stored_enum!(
    JobState, "job" {
        Available => "available",
        /// Waits for its time.
        Scheduled => "scheduled",
        Running => "running",
        /// Failed, and waits for its next attempt.
        Retryable => "retryable",
        Completed => "completed",
        /// The dead letter: gave up, for the reason in `last_error`.
        Discarded => "discarded",
        Cancelled => "cancelled",
    }
);

/// How to run a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    pub run_at: Millis,
    pub max_attempts: u32,
    /// Lower runs first.
    pub priority: i32,
    pub cause: Option<DeliveryId>,
}

impl NewJob {
    pub const MAX_ATTEMPTS: u32 = 8;

    /// Due at that time, with the usual attempts and priority.
    pub fn at(run_at: Millis) -> Self {
        Self { run_at, max_attempts: Self::MAX_ATTEMPTS, priority: 0, cause: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    New(JobId),
    /// An unfinished job with the same unique key was there.
    Existing(JobId),
}

impl Enqueued {
    pub fn id(self) -> JobId {
        match self {
            Self::New(id) | Self::Existing(id) => id,
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct JobRow {
    pub id: JobId,
    pub kind: String,
    pub unique_key: String,
    pub group_key: Option<String>,
    /// Absent when the stored JSON cannot be read by this version; `payload` still has it.
    pub job: Option<Job>,
    #[serde(skip)]
    pub payload: String,
    pub state: JobState,
    pub priority: i32,
    /// How often it was claimed and counted.
    pub attempt: u32,
    pub max_attempts: u32,
    pub run_at: Millis,
    pub cause: Option<DeliveryId>,
    pub lease_node: Option<String>,
    pub lease_until: Option<Millis>,
    pub cancel_requested_at: Option<Millis>,
    pub last_error: Option<String>,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub started_at: Option<Millis>,
    pub finished_at: Option<Millis>,
}

/// Which jobs to list. Empty means all.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    pub states: Vec<JobState>,
    pub kind: Option<String>,
    pub unique_key: Option<String>,
    /// Only ids below this, to page on.
    pub before: Option<JobId>,
    /// 100 when absent.
    pub limit: Option<usize>,
}

/// A comment says that the job is under way, and waits for its outcome.
const OWES_AN_ANSWER: &str = "kind IN ('fix', 'test', 'contribute') AND json_extract(payload, '$.comment') IS NOT NULL";

impl Store {
    /// Puts a job in, unless an unfinished one with its unique key is there. The database decides, also among callers at once.
    ///
    /// # Errors
    /// The database failed.
    pub async fn enqueue(&self, job: &Job, new: NewJob) -> Result<Enqueued, Error> {
        let now = self.now();
        let enqueued = {
            let mut tx = self.begin_one().await?;
            let enqueued = insert(&mut tx, job, &new, now).await?;
            tx.commit().await?;
            enqueued
        };
        self.bell().ring_jobs();
        Ok(enqueued)
    }

    /// The job of that group which was done last: tells whether this head is what was reviewed last.
    ///
    /// # Errors
    /// The database failed or the row is damaged.
    pub async fn last_completed(&self, group_key: &str) -> Result<Option<JobRow>, Error> {
        let row = sqlx::query(
            "SELECT * FROM job WHERE group_key = ? AND state = 'completed' ORDER BY finished_at DESC, id DESC LIMIT 1",
        )
        .bind(group_key)
        .fetch_optional(&mut *self.reader().await?)
        .await?;
        row.as_ref().map(load).transpose()
    }

    /// Cancels what waits in a group and asks what runs there to stop. What waits after an attempt has left something
    /// behind, and what a comment asked for has left a word there: it is claimed once more, at once, told to stop, so that
    /// it can clear up. Says how many jobs were touched.
    ///
    /// # Errors
    /// The database failed.
    pub async fn cancel_group(
        &self,
        group_key: &str,
        except_unique_key: Option<&str>,
        reason: &str,
    ) -> Result<u64, Error> {
        let except = except_unique_key.unwrap_or_default();
        self.cancel("group_key = ?3 AND unique_key <> ?4", OWES_AN_ANSWER, group_key, except, reason).await
    }

    /// The same for one job. Says whether it was touched: it was unfinished, and nobody had asked for that before.
    ///
    /// # Errors
    /// The database failed.
    pub async fn cancel_job(&self, id: JobId, reason: &str) -> Result<bool, Error> {
        Ok(self.cancel("id = CAST(?3 AS INTEGER) AND ?4 = ''", OWES_AN_ANSWER, &id.to_string(), "", reason).await? > 0)
    }

    /// The same for all that concerns a repository: it was taken from us.
    ///
    /// # Errors
    /// The database failed.
    pub async fn cancel_repository(&self, repository: RepositoryId, reason: &str) -> Result<u64, Error> {
        self.cancel("group_key GLOB ?3 AND ?4 = ''", "FALSE", &format!("*/{repository}/*"), "", reason).await
    }

    /// The same for all that an installation asked for: it was suspended or removed.
    ///
    /// # Errors
    /// The database failed.
    pub async fn cancel_installation(&self, installation: InstallationId, reason: &str) -> Result<u64, Error> {
        let of_it = "coalesce(json_extract(payload, '$.installation'), json_extract(payload, '$.place.installation'))
                         = CAST(?3 AS INTEGER) AND ?4 = ''";
        self.cancel(of_it, "FALSE", &installation.to_string(), "", reason).await
    }

    /// The repositories that jobs of an installation were about.
    ///
    /// # Errors
    /// The database failed.
    pub async fn repositories_of(&self, installation: InstallationId) -> Result<Vec<RepositoryId>, Error> {
        let rows: Vec<i64> = sqlx::query_scalar(
            "SELECT DISTINCT coalesce(json_extract(payload, '$.repository'), json_extract(payload, '$.place.repository'))
             FROM job WHERE kind <> 'delivery' AND
                 coalesce(json_extract(payload, '$.installation'), json_extract(payload, '$.place.installation')) = ?",
        )
        .bind(installation.0.cast_signed())
        .fetch_all(&mut *self.reader().await?)
        .await?;
        Ok(rows.into_iter().map(|id| RepositoryId(id.cast_unsigned())).collect())
    }

    /// `which` is a condition over `?3` and `?4`; where `owes` holds, a job that never began is claimed once all the same.
    async fn cancel(
        &self,
        which: &'static str,
        owes: &'static str,
        third: &str,
        fourth: &str,
        reason: &str,
    ) -> Result<u64, Error> {
        let now = self.now();
        let touched = {
            let mut tx = self.begin().await?;
            let never_began = format!("started_at IS NULL AND NOT ({owes})");
            let sql = format!(
                "UPDATE job SET
                     cancel_requested_at = coalesce(cancel_requested_at, ?1),
                     finished_at = CASE WHEN {never_began} THEN ?1 END,
                     state = CASE WHEN {never_began} THEN 'cancelled' ELSE state END,
                     run_at = CASE WHEN state = 'running' THEN run_at ELSE ?1 END,
                     last_error = ?2, updated_at = ?1
                 WHERE state IN ('available', 'scheduled', 'running', 'retryable')
                   AND cancel_requested_at IS NULL AND {which}"
            );
            let done = sqlx::query(sqlx::AssertSqlSafe(sql))
                .bind(now)
                .bind(reason)
                .bind(third)
                .bind(fourth)
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
            done.rows_affected()
        };
        if touched > 0 {
            self.bell().ring_cancels();
            self.bell().ring_jobs();
        }
        Ok(touched)
    }

    /// The jobs of a group, newest first.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn group_jobs(&self, group_key: &str, limit: usize) -> Result<Vec<JobRow>, Error> {
        let rows = sqlx::query("SELECT * FROM job WHERE group_key = ? ORDER BY id DESC LIMIT ?")
            .bind(group_key)
            .bind(row::limit(limit))
            .fetch_all(&mut *self.reader().await?)
            .await?;
        rows.iter().map(load).collect()
    }

    /// How many jobs of a group were put in since then.
    ///
    /// # Errors
    /// The database failed.
    pub async fn jobs_since(&self, group_key: &str, since: Millis) -> Result<u64, Error> {
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM job WHERE group_key = ? AND created_at >= ?")
            .bind(group_key)
            .bind(since)
            .fetch_one(&mut *self.reader().await?)
            .await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Whether a job with that key was ever put in, in whatever state it is.
    ///
    /// # Errors
    /// The database failed.
    pub async fn knows_job(&self, unique_key: &str) -> Result<bool, Error> {
        let found: Option<i64> = sqlx::query_scalar("SELECT 1 FROM job WHERE unique_key = ? LIMIT 1")
            .bind(unique_key)
            .fetch_optional(&mut *self.reader().await?)
            .await?;
        Ok(found.is_some())
    }

    /// Brings a job back from the dead letter with all its attempts.
    ///
    /// # Errors
    /// No such job, it is not discarded, or an unfinished one took its unique key meanwhile.
    pub async fn redrive(&self, id: JobId) -> Result<(), Error> {
        let now = self.now();
        {
            let mut tx = self.begin().await?;
            let found: Option<(String, String)> = sqlx::query_as("SELECT state, unique_key FROM job WHERE id = ?")
                .bind(id.0)
                .fetch_optional(&mut *tx)
                .await?;
            let Some((state, key)) = found else {
                return Err(Error::NotFound { what: "job", id: id.to_string() });
            };
            if state != JobState::Discarded.as_str() {
                return Err(Error::Conflict { what: "job", id: id.to_string(), state });
            }
            if let Some(other) = unfinished(&mut tx, &key).await? {
                let state = format!("already queued again as job {other}");
                return Err(Error::Conflict { what: "job", id: id.to_string(), state });
            }
            revive(&mut tx, id.0, now).await?;
            tx.commit().await?;
        }
        self.bell().ring_jobs();
        Ok(())
    }

    /// # Errors
    /// The database failed or the row is damaged.
    pub async fn job(&self, id: JobId) -> Result<Option<JobRow>, Error> {
        let row =
            sqlx::query("SELECT * FROM job WHERE id = ?").bind(id.0).fetch_optional(&mut *self.reader().await?).await?;
        row.as_ref().map(load).transpose()
    }

    /// Newest first.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn jobs(&self, filter: &JobFilter) -> Result<Vec<JobRow>, Error> {
        let states = match &filter.states[..] {
            [] => None,
            states => Some(serde_json::to_string(states)?),
        };
        let rows = sqlx::query(
            "SELECT * FROM job
             WHERE (?1 IS NULL OR state IN (SELECT value FROM json_each(?1)))
               AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR unique_key = ?3) AND id < ?4
             ORDER BY id DESC LIMIT ?5",
        )
        .bind(states)
        .bind(&filter.kind)
        .bind(&filter.unique_key)
        .bind(filter.before.map_or(i64::MAX, |id| id.0))
        .bind(row::limit(filter.limit.unwrap_or(100)))
        .fetch_all(&mut *self.reader().await?)
        .await?;
        rows.iter().map(load).collect()
    }

    /// Everything that still has to come to an end, oldest first.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn unfinished_jobs(&self) -> Result<Vec<JobRow>, Error> {
        let rows = sqlx::query(
            "SELECT * FROM job WHERE state IN ('available', 'scheduled', 'running', 'retryable') ORDER BY id",
        )
        .fetch_all(&mut *self.reader().await?)
        .await?;
        rows.iter().map(load).collect()
    }

    /// How many jobs stand in each state; states without jobs are there with 0.
    ///
    /// # Errors
    /// The database failed.
    pub async fn job_counts(&self) -> Result<BTreeMap<JobState, u64>, Error> {
        let rows: Vec<(String, i64)> = sqlx::query_as("SELECT state, count(*) FROM job GROUP BY state")
            .fetch_all(&mut *self.reader().await?)
            .await?;
        let mut counts: BTreeMap<_, _> = JobState::ALL.iter().map(|&state| (state, 0)).collect();
        for (text, count) in rows {
            let state = JobState::parse(&text).ok_or_else(|| row::damaged("job", &text))?;
            counts.insert(state, count.cast_unsigned());
        }
        Ok(counts)
    }

    /// How many jobs of each kind and state are not over or were given up. Read through the index by state: rows of jobs
    /// that ended well, nearly all of them, are not touched.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn open_job_counts(&self) -> Result<Vec<(String, JobState, u64)>, Error> {
        let rows: Vec<(String, String, i64)> = sqlx::query_as(
            "SELECT kind, state, count(*) FROM job
             WHERE state IN ('available', 'scheduled', 'running', 'retryable', 'discarded') GROUP BY state, kind",
        )
        .fetch_all(&mut *self.reader().await?)
        .await?;
        let count = |(kind, text, count): (String, String, i64)| {
            let state = JobState::parse(&text).ok_or_else(|| row::damaged("job", &text))?;
            Ok((kind, state, count.cast_unsigned()))
        };
        rows.into_iter().map(count).collect()
    }

    /// How long the job that is due and waits longest has waited, in milliseconds.
    ///
    /// # Errors
    /// The database failed.
    pub async fn oldest_wait(&self) -> Result<Option<Millis>, Error> {
        let now = self.now();
        let oldest: Option<Millis> = sqlx::query_scalar(
            "SELECT min(run_at) FROM job WHERE state IN ('available', 'scheduled', 'retryable') AND run_at <= ?",
        )
        .bind(now)
        .fetch_one(&mut *self.reader().await?)
        .await?;
        Ok(oldest.map(|run_at| now - run_at))
    }

    /// When the next waiting job is due; in the past when one is due already.
    ///
    /// # Errors
    /// The database failed.
    pub async fn next_due(&self) -> Result<Option<Millis>, Error> {
        Ok(sqlx::query_scalar("SELECT min(run_at) FROM job WHERE state IN ('available', 'scheduled', 'retryable')")
            .fetch_one(&mut *self.reader().await?)
            .await?)
    }
}

pub(super) async fn insert(
    conn: &mut SqliteConnection,
    job: &Job,
    new: &NewJob,
    now: Millis,
) -> Result<Enqueued, Error> {
    let key = job.unique_key();
    let state = if new.run_at <= now { JobState::Available } else { JobState::Scheduled };
    let id: Option<i64> = sqlx::query_scalar(
        "INSERT INTO job (kind, unique_key, group_key, payload, state, priority, max_attempts, run_at, cause, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10)
         ON CONFLICT (unique_key)
             WHERE state IN ('available', 'scheduled', 'running', 'retryable') AND cancel_requested_at IS NULL DO NOTHING
         RETURNING id",
    )
    .bind(job.kind())
    .bind(&key)
    .bind(job.group_key())
    .bind(serde_json::to_string(job)?)
    .bind(state.as_str())
    .bind(new.priority)
    .bind(new.max_attempts.max(1))
    .bind(new.run_at)
    .bind(new.cause.as_ref().map(DeliveryId::as_str))
    .bind(now)
    .fetch_optional(&mut *conn)
    .await?;
    if let Some(id) = id {
        return Ok(Enqueued::New(JobId(id)));
    }
    let id = row::required(unfinished(conn, &key).await?, "job")?;
    Ok(Enqueued::Existing(JobId(id)))
}

pub(super) async fn unfinished(conn: &mut SqliteConnection, key: &str) -> Result<Option<i64>, Error> {
    Ok(sqlx::query_scalar(
        "SELECT id FROM job
         WHERE unique_key = ? AND state IN ('available', 'scheduled', 'running', 'retryable') AND cancel_requested_at IS NULL",
    )
    .bind(key)
    .fetch_optional(conn)
    .await?)
}

/// A discarded job becomes available with all its attempts; why it died stays readable until it dies again.
pub(super) async fn revive(conn: &mut SqliteConnection, id: i64, now: Millis) -> Result<(), Error> {
    sqlx::query(
        "UPDATE job SET state = 'available', attempt = 0, run_at = ?1, finished_at = NULL, cancel_requested_at = NULL, updated_at = ?1
         WHERE id = ?2 AND state = 'discarded'",
    )
    .bind(now)
    .bind(id)
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) fn load(row: &SqliteRow) -> Result<JobRow, Error> {
    let payload: String = row.try_get("payload")?;
    Ok(JobRow {
        id: JobId(row.try_get("id")?),
        kind: row.try_get("kind")?,
        unique_key: row.try_get("unique_key")?,
        group_key: row.try_get("group_key")?,
        job: serde_json::from_str(&payload).ok(),
        payload,
        state: JobState::load(row)?,
        priority: row.try_get("priority")?,
        attempt: row.try_get("attempt")?,
        max_attempts: row.try_get("max_attempts")?,
        run_at: row.try_get("run_at")?,
        cause: row::delivery_id(row, "cause")?,
        lease_node: row.try_get("lease_node")?,
        lease_until: row.try_get("lease_until")?,
        cancel_requested_at: row.try_get("cancel_requested_at")?,
        last_error: row.try_get("last_error")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
        started_at: row.try_get("started_at")?,
        finished_at: row.try_get("finished_at")?,
    })
}
