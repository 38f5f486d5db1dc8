//! Steps: the durable journal of a run, and the cache: a key whose step is done needs no second one.

use serde::Serialize;
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::row::{self, stored_enum};
use super::{Error, Store};
use crate::domain::{Millis, RunId};

/// Larger artifacts stay in the run's folder only and are made again on another node.
pub const MAX_ARTIFACT: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct StepId(pub i64);

stored_enum!(
    StepState, "step" {
        Running => "running",
        Done => "done",
        Failed => "failed",
        Skipped => "skipped",
        Cancelled => "cancelled",
    }
);

#[derive(Debug, Clone, Serialize)]
pub struct StepRow {
    pub id: StepId,
    pub run: RunId,
    /// The agent's name.
    pub name: String,
    pub key: String,
    pub state: StepState,
    pub artifact: Option<Value>,
    /// What its maker said of the artifact: status, errors, warnings.
    pub told: Option<Value>,
    pub detail: Option<String>,
    pub started_at: Millis,
    pub finished_at: Option<Millis>,
}

/// What a step leaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Left<'a> {
    pub artifact: Option<&'a Value>,
    /// See [`StepRow::told`].
    pub told: Option<&'a Value>,
    pub detail: Option<&'a str>,
}

impl Store {
    /// # Errors
    /// No such run, or the database failed.
    pub async fn start_step(&self, run: RunId, name: &str, key: &str) -> Result<StepId, Error> {
        let id: Option<i64> = {
            let mut tx = self.begin_one().await?;
            let id = sqlx::query_scalar(
                "INSERT INTO step (run, name, key, state, started_at)
                 SELECT id, ?, ?, 'running', ? FROM run WHERE id = ? RETURNING id",
            )
            .bind(name)
            .bind(key)
            .bind(self.now())
            .bind(run.to_string())
            .fetch_optional(&mut *tx)
            .await?;
            tx.commit().await?;
            id
        };
        self.bell().ring_progress();
        id.map(StepId).ok_or_else(|| Error::NotFound { what: "run", id: run.to_string() })
    }

    /// [`Store::end_step`] for a step of which nothing more is told.
    ///
    /// # Errors
    /// As there.
    pub async fn finish_step(
        &self,
        id: StepId,
        state: StepState,
        artifact: Option<&Value>,
        detail: Option<&str>,
    ) -> Result<(), Error> {
        self.end_step(id, state, Left { artifact, told: None, detail }).await
    }

    /// # Errors
    /// `TooLarge` when the artifact, or what is told of it, exceeds [`MAX_ARTIFACT`] (the step then stays as it was); no such
    /// step; the database failed.
    pub async fn end_step(&self, id: StepId, state: StepState, left: Left<'_>) -> Result<(), Error> {
        let artifact = json("artifact", left.artifact)?;
        let told = json("account of an artifact", left.told)?;
        let finished_at = (state != StepState::Running).then(|| self.now());
        let done = {
            let mut tx = self.begin_one().await?;
            let done = sqlx::query(
                "UPDATE step SET state = ?, artifact = ?, told = ?, detail = ?, finished_at = ? WHERE id = ?",
            )
            .bind(state.as_str())
            .bind(artifact)
            .bind(told)
            .bind(left.detail)
            .bind(finished_at)
            .bind(id.0)
            .execute(&mut *tx)
            .await?;
            tx.commit().await?;
            done
        };
        if done.rows_affected() == 0 {
            return Err(Error::NotFound { what: "step", id: id.0.to_string() });
        }
        self.bell().ring_progress();
        Ok(())
    }

    /// The latest finished step of that key which kept its artifact. A damaged artifact counts as none: the step is made again.
    ///
    /// # Errors
    /// The database failed.
    pub async fn step_by_key(&self, key: &str) -> Result<Option<StepRow>, Error> {
        let row = sqlx::query(
            "SELECT * FROM step WHERE key = ? AND state = 'done' AND artifact IS NOT NULL ORDER BY id DESC LIMIT 1",
        )
        .bind(key)
        .fetch_optional(&mut *self.reader().await?)
        .await?;
        match row.as_ref().map(load).transpose() {
            Err(error @ Error::Damaged { .. }) => {
                tracing::warn!(step.key = key, error = %error, "a cached step is damaged and will be made again");
                Ok(None)
            }
            other => other,
        }
    }

    /// In the order they began.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn steps(&self, run: RunId) -> Result<Vec<StepRow>, Error> {
        let rows = sqlx::query("SELECT * FROM step WHERE run = ? ORDER BY id")
            .bind(run.to_string())
            .fetch_all(&mut *self.reader().await?)
            .await?;
        rows.iter().map(load).collect()
    }
}

fn json(what: &'static str, value: Option<&Value>) -> Result<Option<String>, Error> {
    let text = value.map(serde_json::to_string).transpose()?;
    match text.as_ref().map(String::len).filter(|&size| size > MAX_ARTIFACT) {
        Some(size) => Err(Error::TooLarge { what, size, limit: MAX_ARTIFACT }),
        None => Ok(text),
    }
}

fn load(row: &SqliteRow) -> Result<StepRow, Error> {
    Ok(StepRow {
        id: StepId(row.try_get("id")?),
        run: row::required(row::run_id(row, "run")?, "step")?,
        name: row.try_get("name")?,
        key: row.try_get("key")?,
        state: StepState::load(row)?,
        artifact: row::json(row, "artifact", "artifact")?,
        told: row::json(row, "told", "account of an artifact")?,
        detail: row.try_get("detail")?,
        started_at: row.try_get("started_at")?,
        finished_at: row.try_get("finished_at")?,
    })
}
