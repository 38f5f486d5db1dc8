//! Runs of a flow and the lines they say while they work.

use serde::Serialize;
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::row::{self, stored_enum};
use super::{Error, Store};
use crate::domain::{JobId, Millis, PullNumber, RepoName, RepositoryId, RunId, Sha};

stored_enum!(
    RunState, "run" {
        Running => "running",
        /// Came to an outcome, whatever it says.
        Finished => "finished",
        Failed => "failed",
        Cancelled => "cancelled",
    }
);

#[derive(Debug, Clone)]
pub struct NewRun {
    /// The flow's name, such as `review`.
    pub kind: String,
    /// Absent where GitHub is not involved.
    pub repository: Option<RepositoryId>,
    pub repo: RepoName,
    pub number: Option<PullNumber>,
    pub head: Option<Sha>,
    pub job: Option<JobId>,
}

#[derive(Debug, Clone, Serialize)]
pub struct RunRow {
    pub id: RunId,
    pub kind: String,
    pub repository: Option<RepositoryId>,
    pub repo: RepoName,
    pub number: Option<PullNumber>,
    pub head: Option<Sha>,
    pub job: Option<JobId>,
    pub state: RunState,
    pub outcome: Option<Value>,
    pub detail: Option<String>,
    pub started_at: Millis,
    pub finished_at: Option<Millis>,
}

/// Which runs to list. Empty means all.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    pub state: Option<RunState>,
    /// Whatever case its letters have: GitHub's names know none.
    pub repo: Option<RepoName>,
}

/// One line of a run's progress; `seq` counts from 1 within the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProgressRow {
    pub seq: i64,
    pub at: Millis,
    pub text: String,
}

impl Store {
    /// Begins a run. One that an earlier attempt at the same job left behind will not go on, and is ended.
    ///
    /// # Errors
    /// The database failed.
    pub async fn start_run(&self, new: NewRun) -> Result<RunId, Error> {
        let id = RunId(uuid::Uuid::now_v7());
        let now = self.now();
        {
            let mut tx = self.begin().await?;
            if let Some(job) = new.job {
                end_running(&mut tx, Some(job), "the attempt ended in the middle of it; another one began", now)
                    .await?;
            }
            sqlx::query(
                "INSERT INTO run (id, kind, repository, repo, number, head, job, state, started_at)
                 VALUES (?, ?, ?, ?, ?, ?, ?, 'running', ?)",
            )
            .bind(id.to_string())
            .bind(&new.kind)
            .bind(new.repository.map(|id| id.0.cast_signed()))
            .bind(new.repo.to_string())
            .bind(new.number.map(|number| number.0.cast_signed()))
            .bind(new.head.as_ref().map(Sha::as_str))
            .bind(new.job.map(|job| job.0))
            .bind(now)
            .execute(&mut *tx)
            .await?;
            tx.commit().await?;
        }
        self.bell().ring_progress();
        Ok(id)
    }

    /// Ends a run, and the steps in it that did not come to an end. A second end replaces the first: a resumed run may come
    /// to another outcome.
    ///
    /// # Errors
    /// No such run, or the database failed.
    pub async fn finish_run(
        &self,
        run: RunId,
        state: RunState,
        outcome: Option<&Value>,
        detail: Option<&str>,
    ) -> Result<(), Error> {
        let outcome = outcome.map(serde_json::to_string).transpose()?;
        let finished_at = (state != RunState::Running).then(|| self.now());
        let done = {
            let mut tx = self.begin().await?;
            let done = sqlx::query("UPDATE run SET state = ?, outcome = ?, detail = ?, finished_at = ? WHERE id = ?")
                .bind(state.as_str())
                .bind(outcome)
                .bind(detail)
                .bind(finished_at)
                .bind(run.to_string())
                .execute(&mut *tx)
                .await?;
            if let Some(at) = finished_at {
                let sql = "UPDATE step SET state = 'cancelled', finished_at = ? WHERE run = ? AND state = 'running'";
                sqlx::query(sql).bind(at).bind(run.to_string()).execute(&mut *tx).await?;
            }
            tx.commit().await?;
            done
        };
        if done.rows_affected() == 0 {
            return Err(Error::NotFound { what: "run", id: run.to_string() });
        }
        self.bell().ring_progress();
        Ok(())
    }

    /// The runs that a former life was in the middle of when it ended, however it ended; to be asked for before any is begun.
    ///
    /// # Errors
    /// The database failed.
    pub async fn interrupted_runs(&self) -> Result<Vec<RunId>, Error> {
        let ids: Vec<String> = sqlx::query_scalar("SELECT id FROM run WHERE state = 'running'")
            .fetch_all(&mut *self.reader().await?)
            .await?;
        Ok(ids.iter().filter_map(|id| RunId::parse(id)).collect())
    }

    /// Ends those runs, and says in each why: nobody else would, and what never ends is never pruned.
    ///
    /// # Errors
    /// The database failed.
    pub async fn end_interrupted_runs(&self, why: &str) -> Result<(), Error> {
        let now = self.now();
        let mut tx = self.begin().await?;
        end_running(&mut tx, None, why, now).await?;
        tx.commit().await
    }

    /// # Errors
    /// The database failed or the row is damaged.
    pub async fn run(&self, id: RunId) -> Result<Option<RunRow>, Error> {
        let row = sqlx::query("SELECT * FROM run WHERE id = ?")
            .bind(id.to_string())
            .fetch_optional(&mut *self.reader().await?)
            .await?;
        row.as_ref().map(load).transpose()
    }

    /// Newest first.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn runs(&self, limit: usize) -> Result<Vec<RunRow>, Error> {
        let rows = sqlx::query("SELECT * FROM run ORDER BY started_at DESC, id DESC LIMIT ?")
            .bind(row::limit(limit))
            .fetch_all(&mut *self.reader().await?)
            .await?;
        rows.iter().map(load).collect()
    }

    /// The same of those that fit.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn runs_where(&self, filter: &RunFilter, limit: usize) -> Result<Vec<RunRow>, Error> {
        let rows = sqlx::query(
            "SELECT * FROM run WHERE (?1 IS NULL OR state = ?1) AND (?2 IS NULL OR repo = ?2 COLLATE NOCASE)
             ORDER BY started_at DESC, id DESC LIMIT ?3",
        )
        .bind(filter.state.map(RunState::as_str))
        .bind(filter.repo.as_ref().map(ToString::to_string))
        .bind(row::limit(limit))
        .fetch_all(&mut *self.reader().await?)
        .await?;
        rows.iter().map(load).collect()
    }

    /// The runs whose ids begin so, newest first.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn runs_beginning(&self, prefix: &str, limit: usize) -> Result<Vec<RunRow>, Error> {
        let sql = "SELECT * FROM run WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 ORDER BY id DESC LIMIT ?2";
        let rows = sqlx::query(sql)
            .bind(prefix.to_lowercase())
            .bind(row::limit(limit))
            .fetch_all(&mut *self.reader().await?)
            .await?;
        rows.iter().map(load).collect()
    }

    /// The latest runs about one issue or pull request, newest first.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn runs_about(
        &self,
        repository: RepositoryId,
        number: PullNumber,
        limit: usize,
    ) -> Result<Vec<RunRow>, Error> {
        let rows = sqlx::query(
            "SELECT * FROM run WHERE repository = ? AND number = ? ORDER BY started_at DESC, id DESC LIMIT ?",
        )
        .bind(repository.0.cast_signed())
        .bind(number.0.cast_signed())
        .bind(row::limit(limit))
        .fetch_all(&mut *self.reader().await?)
        .await?;
        rows.iter().map(load).collect()
    }

    /// Oldest first: one for each attempt that began anew.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn runs_of_job(&self, job: JobId) -> Result<Vec<RunRow>, Error> {
        let rows = sqlx::query("SELECT * FROM run WHERE job = ? ORDER BY started_at, id")
            .bind(job.0)
            .fetch_all(&mut *self.reader().await?)
            .await?;
        rows.iter().map(load).collect()
    }

    /// Appends a line for whoever watches the run; answers its number.
    ///
    /// # Errors
    /// No such run, or the database failed.
    pub async fn add_progress(&self, run: RunId, text: &str) -> Result<i64, Error> {
        let seq = {
            let mut tx = self.begin_one().await?;
            let seq = sqlx::query_scalar(
                "INSERT INTO progress (run, seq, at, text)
                 SELECT id, (SELECT coalesce(max(seq), 0) + 1 FROM progress WHERE run = ?1), ?2, ?3 FROM run WHERE id = ?1
                 RETURNING seq",
            )
            .bind(run.to_string())
            .bind(self.now())
            .bind(text)
            .fetch_optional(&mut *tx)
            .await?;
            tx.commit().await?;
            seq
        };
        self.bell().ring_progress();
        seq.ok_or_else(|| Error::NotFound { what: "run", id: run.to_string() })
    }

    /// Lines after `seq` (0 for all), oldest first.
    ///
    /// # Errors
    /// The database failed.
    pub async fn progress_since(&self, run: RunId, seq: i64, limit: usize) -> Result<Vec<ProgressRow>, Error> {
        let rows = sqlx::query("SELECT seq, at, text FROM progress WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?")
            .bind(run.to_string())
            .bind(seq)
            .bind(row::limit(limit))
            .fetch_all(&mut *self.reader().await?)
            .await?;
        rows.iter()
            .map(|row| Ok(ProgressRow { seq: row.try_get("seq")?, at: row.try_get("at")?, text: row.try_get("text")? }))
            .collect()
    }
}

/// Of one job, or of all.
async fn end_running(conn: &mut SqliteConnection, job: Option<JobId>, why: &str, now: Millis) -> Result<(), Error> {
    let job = job.map(|job| job.0);
    sqlx::query(
        "UPDATE step SET state = 'cancelled', finished_at = ?1
         WHERE state = 'running' AND run IN (SELECT id FROM run WHERE state = 'running' AND (?2 IS NULL OR job = ?2))",
    )
    .bind(now)
    .bind(job)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "UPDATE run SET state = 'cancelled', detail = ?3, finished_at = ?1
         WHERE state = 'running' AND (?2 IS NULL OR job = ?2)",
    )
    .bind(now)
    .bind(job)
    .bind(why)
    .execute(conn)
    .await?;
    Ok(())
}

fn load(row: &SqliteRow) -> Result<RunRow, Error> {
    let repo: String = row.try_get("repo")?;
    let head: Option<String> = row.try_get("head")?;
    let repository: Option<i64> = row.try_get("repository")?;
    let number: Option<i64> = row.try_get("number")?;
    let job: Option<i64> = row.try_get("job")?;
    Ok(RunRow {
        id: row::required(row::run_id(row, "id")?, "run")?,
        kind: row.try_get("kind")?,
        repository: repository.map(|id| RepositoryId(id.cast_unsigned())),
        repo: repo.parse().map_err(|_| row::damaged("repository name", &repo))?,
        number: number.map(|number| PullNumber(number.cast_unsigned())),
        head: head.map(|head| Sha::parse(&head).ok_or_else(|| row::damaged("object id", &head))).transpose()?,
        job: job.map(JobId),
        state: RunState::load(row)?,
        outcome: row::json(row, "outcome", "outcome")?,
        detail: row.try_get("detail")?,
        started_at: row.try_get("started_at")?,
        finished_at: row.try_get("finished_at")?,
    })
}
