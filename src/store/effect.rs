//! The ledger of what we say to the world: intended, sent, proved. After a crash it tells what to look for before saying it again.

use serde::Serialize;
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::row::{self, stored_enum};
use super::{Error, Store};
use crate::domain::{Millis, PullNumber, RunId};

stored_enum!(
    EffectState, "effect" {
        /// Nothing has left yet.
        Intended => "intended",
        /// A request may have left; whether it took effect is unknown.
        Sent => "sent",
        Proved => "proved",
        Failed => "failed",
    }
);

#[derive(Debug, Clone, Serialize)]
pub struct EffectRow {
    pub key: String,
    /// Absent once its run was pruned, and where no run spoke.
    pub run: Option<RunId>,
    pub kind: String,
    pub intent: Value,
    pub state: EffectState,
    /// How often a request was about to leave.
    pub attempts: u32,
    /// When the latest request left.
    pub sent_at: Option<Millis>,
    pub proof: Option<Value>,
    /// Why it failed.
    pub reason: Option<String>,
    pub created_at: Millis,
    pub updated_at: Millis,
}

impl Store {
    /// Writes down what is going to be said, or returns the row that is there: one key, one effect.
    ///
    /// # Errors
    /// The database failed or the row is damaged.
    pub async fn intend(
        &self,
        key: &str,
        run: impl Into<Option<RunId>>,
        kind: &str,
        intent: &Value,
    ) -> Result<EffectRow, Error> {
        let mut tx = self.begin().await?;
        insert(&mut tx, key, run.into(), kind, intent, self.now()).await?;
        let row = sqlx::query("SELECT * FROM effect WHERE key = ?").bind(key).fetch_one(&mut *tx).await?;
        tx.commit().await?;
        load(&row)
    }

    /// Writes down what is going to be said instead of what was, or for the first time: `amend` makes the new intent of the
    /// one that stands, and nobody else amends it meanwhile. An intent that changed is open again, with the proof of what was
    /// said before as the trace to it, and stays `sent` if a request may have left. One that is the same keeps its state.
    ///
    /// # Errors
    /// The database failed or the row is damaged; the intent is as it was then.
    pub async fn amend_effect(
        &self,
        key: &str,
        run: impl Into<Option<RunId>>,
        kind: &str,
        amend: impl FnOnce(Option<&Value>) -> Value,
    ) -> Result<EffectRow, Error> {
        let (run, now) = (run.into(), self.now());
        let mut tx = self.begin().await?;
        let found = sqlx::query("SELECT * FROM effect WHERE key = ?").bind(key).fetch_optional(&mut *tx).await?;
        match found.as_ref().map(load).transpose()? {
            None => insert(&mut tx, key, run, kind, &amend(None), now).await?,
            Some(row) => {
                let intent = amend(Some(&row.intent));
                if intent == row.intent {
                    tx.commit().await?;
                    return Ok(row);
                }
                sqlx::query(
                    "UPDATE effect SET intent = ?1, state = CASE state WHEN 'sent' THEN 'sent' ELSE 'intended' END,
                         reason = NULL, updated_at = ?2, run = coalesce((SELECT id FROM run WHERE id = ?3), run)
                     WHERE key = ?4",
                )
                .bind(serde_json::to_string(&intent)?)
                .bind(now)
                .bind(run.map(|run| run.to_string()))
                .bind(key)
                .execute(&mut *tx)
                .await?;
            }
        }
        let row = sqlx::query("SELECT * FROM effect WHERE key = ?").bind(key).fetch_one(&mut *tx).await?;
        tx.commit().await?;
        load(&row)
    }

    /// Right before the request leaves: from here on it may have taken effect.
    ///
    /// # Errors
    /// No such effect, it is proved already, or the database failed: do not send then.
    pub async fn mark_sent(&self, key: &str, at: Millis) -> Result<(), Error> {
        let mut tx = self.begin_one().await?;
        let done = sqlx::query(
            "UPDATE effect SET state = 'sent', sent_at = ?1, attempts = attempts + 1, reason = NULL, updated_at = ?2
             WHERE key = ?3 AND state <> 'proved'",
        )
        .bind(at)
        .bind(self.now())
        .bind(key)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        self.touched(done.rows_affected(), key).await
    }

    /// It took effect, and this shows it. Answers the effect's kind.
    ///
    /// # Errors
    /// No such effect, or the database failed.
    pub async fn prove(&self, key: &str, proof: &Value) -> Result<String, Error> {
        let mut tx = self.begin_one().await?;
        let kind: Option<String> = sqlx::query_scalar(
            "UPDATE effect SET state = 'proved', proof = ?, reason = NULL, updated_at = ? WHERE key = ? RETURNING kind",
        )
        .bind(serde_json::to_string(proof)?)
        .bind(self.now())
        .bind(key)
        .fetch_optional(&mut *tx)
        .await?;
        tx.commit().await?;
        self.bell().ring_progress();
        kind.ok_or_else(|| Error::NotFound { what: "effect", id: key.to_owned() })
    }

    /// The same for all effects whose keys begin so and of which it is not known whether they arrived.
    ///
    /// # Errors
    /// The database failed.
    pub async fn prove_sent(&self, prefix: &str, proof: &Value) -> Result<(), Error> {
        let mut tx = self.begin_one().await?;
        sqlx::query(
            "UPDATE effect SET state = 'proved', proof = ?1, reason = NULL, updated_at = ?2
             WHERE key >= ?3 AND key < ?3 || char(1114111) AND state = 'sent'",
        )
        .bind(serde_json::to_string(proof)?)
        .bind(self.now())
        .bind(prefix)
        .execute(&mut *tx)
        .await?;
        tx.commit().await
    }

    /// It was refused for good. A later `mark_sent` may try again.
    ///
    /// # Errors
    /// No such effect, it is proved already, or the database failed.
    pub async fn fail_effect(&self, key: &str, reason: &str) -> Result<(), Error> {
        let mut tx = self.begin_one().await?;
        let done = sqlx::query(
            "UPDATE effect SET state = 'failed', reason = ?, updated_at = ? WHERE key = ? AND state <> 'proved'",
        )
        .bind(reason)
        .bind(self.now())
        .bind(key)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        self.touched(done.rows_affected(), key).await
    }

    /// # Errors
    /// The database failed or the row is damaged.
    pub async fn effect(&self, key: &str) -> Result<Option<EffectRow>, Error> {
        let row = sqlx::query("SELECT * FROM effect WHERE key = ?")
            .bind(key)
            .fetch_optional(&mut *self.reader().await?)
            .await?;
        row.as_ref().map(load).transpose()
    }

    /// Whether an effect whose key begins so was proved by that pull request.
    ///
    /// # Errors
    /// The database failed.
    pub async fn proves_pull(&self, prefix: &str, pull: PullNumber) -> Result<bool, Error> {
        let found: Option<i64> = sqlx::query_scalar(
            "SELECT 1 FROM effect
             WHERE key >= ?1 AND key < ?1 || '~' AND state = 'proved' AND json_extract(proof, '$.pull') = ?2 LIMIT 1",
        )
        .bind(prefix)
        .bind(pull.0.cast_signed())
        .fetch_optional(&mut *self.reader().await?)
        .await?;
        Ok(found.is_some())
    }

    /// In the order they were intended.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn effects(&self, run: RunId) -> Result<Vec<EffectRow>, Error> {
        let rows = sqlx::query("SELECT * FROM effect WHERE run = ? ORDER BY created_at, rowid")
            .bind(run.to_string())
            .fetch_all(&mut *self.reader().await?)
            .await?;
        rows.iter().map(load).collect()
    }

    async fn touched(&self, rows: u64, key: &str) -> Result<(), Error> {
        if rows > 0 {
            self.bell().ring_progress();
            return Ok(());
        }
        Err(match self.effect(key).await? {
            None => Error::NotFound { what: "effect", id: key.to_owned() },
            Some(row) => Error::Conflict { what: "effect", id: key.to_owned(), state: row.state.to_string() },
        })
    }
}

/// Leaves a row that is there as it is.
async fn insert(
    conn: &mut SqliteConnection,
    key: &str,
    run: Option<RunId>,
    kind: &str,
    intent: &Value,
    now: Millis,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO effect (key, run, kind, intent, state, created_at, updated_at)
         VALUES (?1, (SELECT id FROM run WHERE id = ?2), ?3, ?4, 'intended', ?5, ?5) ON CONFLICT (key) DO NOTHING",
    )
    .bind(key)
    .bind(run.map(|run| run.to_string()))
    .bind(kind)
    .bind(serde_json::to_string(intent)?)
    .bind(now)
    .execute(conn)
    .await?;
    Ok(())
}

fn load(row: &SqliteRow) -> Result<EffectRow, Error> {
    Ok(EffectRow {
        key: row.try_get("key")?,
        run: row::run_id(row, "run")?,
        kind: row.try_get("kind")?,
        intent: row::required(row::json(row, "intent", "intent")?, "effect")?,
        state: EffectState::load(row)?,
        attempts: row.try_get("attempts")?,
        sent_at: row.try_get("sent_at")?,
        proof: row::json(row, "proof", "proof")?,
        reason: row.try_get("reason")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}
