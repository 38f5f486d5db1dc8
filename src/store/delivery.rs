//! Deliveries: the raw bodies that GitHub was told we have.

use bytes::Bytes;
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::body::Packed;
use super::row::{self, stored_enum};
use super::{Error, JobState, NewJob, Store, job};
use crate::domain::{DeliveryId, Job, Millis};

/// A verified body and what came with it. The headers are unsigned: only the body is proved.
#[derive(Debug, Clone)]
pub struct NewDelivery {
    pub guid: DeliveryId,
    pub event: String,
    pub body: Bytes,
    pub target: Target,
    pub received_at: Millis,
}

/// Which hook sent it, as its headers say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Target {
    /// `X-GitHub-Hook-ID`.
    pub hook: Option<String>,
    /// `X-GitHub-Hook-Installation-Target-Type`.
    pub kind: Option<String>,
    /// `X-GitHub-Hook-Installation-Target-ID`.
    pub id: Option<String>,
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    New,
    /// The GUID was there already, and so is its job or what it led to.
    Known,
    /// The GUID was there, but nothing was being done about it any more: its job had been discarded, or it had been ignored. It runs again.
    Revived,
    /// A new GUID with the body and event of an older delivery. It gets its job: two honest deliveries can be byte-identical.
    Replay {
        of: DeliveryId,
    },
}

stored_enum!(
    DeliveryState, "delivery" {
        /// Its job has not come to a verdict.
        Received => "received",
        Handled => "handled",
        /// Nothing to do, for the reason given.
        Ignored => "ignored",
        /// Not what it claims to be, or not readable; kept for a person to see.
        Quarantined => "quarantined",
    }
);

#[derive(Debug, Clone, Serialize)]
pub struct DeliveryRow {
    pub guid: DeliveryId,
    pub event: String,
    #[serde(skip)]
    pub body: Bytes,
    pub body_hash: String,
    pub target: Target,
    pub state: DeliveryState,
    pub reason: Option<String>,
    pub replay_of: Option<DeliveryId>,
    pub received_at: Millis,
    pub settled_at: Option<Millis>,
    /// How often the same GUID came again.
    pub redeliveries: u32,
    pub redelivered_at: Option<Millis>,
}

impl Store {
    /// Stores a delivery and the job that will read it. Answers only after both are on the disk; neighbours share the commit.
    ///
    /// # Errors
    /// `Busy` when too many wait; else whatever kept the row from the disk. Nothing was stored then.
    pub async fn accept(&self, new: NewDelivery) -> Result<Accepted, Error> {
        self.writing()?.inbox.send(new, None).await
    }

    /// Stores a delivery that asks for nothing, with the reason; no job.
    ///
    /// # Errors
    /// As `accept`.
    pub async fn accept_ignored(&self, new: NewDelivery, reason: &str) -> Result<Accepted, Error> {
        self.writing()?.inbox.send(new, Some(reason.to_owned())).await
    }

    /// How many commits carried deliveries so far: with many at once, far fewer than deliveries.
    ///
    /// # Errors
    /// The store only looks on.
    pub fn inbox_commits(&self) -> Result<u64, Error> {
        Ok(self.writing()?.inbox.commits())
    }

    /// # Errors
    /// The database failed or the row is damaged.
    pub async fn delivery(&self, guid: &DeliveryId) -> Result<Option<DeliveryRow>, Error> {
        let row = sqlx::query("SELECT * FROM delivery WHERE guid = ?")
            .bind(guid.as_str())
            .fetch_optional(&mut *self.reader().await?)
            .await?;
        row.as_ref().map(load).transpose()
    }

    /// Whether that delivery is stored, without reading its body.
    ///
    /// # Errors
    /// The database failed.
    pub async fn has_delivery(&self, guid: &DeliveryId) -> Result<bool, Error> {
        let found: Option<i64> = sqlx::query_scalar("SELECT 1 FROM delivery WHERE guid = ?")
            .bind(guid.as_str())
            .fetch_optional(&mut *self.reader().await?)
            .await?;
        Ok(found.is_some())
    }

    /// Newest first; `before` pages on (rows received earlier than that). Bodies are left out: `delivery` has them.
    ///
    /// # Errors
    /// The database failed or a row is damaged.
    pub async fn deliveries(&self, limit: usize, before: Option<Millis>) -> Result<Vec<DeliveryRow>, Error> {
        let rows = sqlx::query(
            "SELECT guid, event, x'' AS body, 0 AS packed, body_hash, hook, target_kind, target, state, reason, replay_of, received_at,
                    settled_at, redeliveries, redelivered_at
             FROM delivery WHERE received_at < ? ORDER BY received_at DESC, rowid DESC LIMIT ?",
        )
        .bind(before.unwrap_or(i64::MAX))
        .bind(row::limit(limit))
        .fetch_all(&mut *self.reader().await?)
        .await?;
        rows.iter().map(load).collect()
    }

    /// Writes down what a delivery led to.
    ///
    /// # Errors
    /// No such delivery, or the database failed.
    pub async fn settle_delivery(
        &self,
        guid: &DeliveryId,
        state: DeliveryState,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        self.settle(guid, state, reason, false).await
    }

    /// Settles a delivery as ignored and lets its body go, which nobody will read. The hash stays, and with it the row's
    /// part in telling a replay.
    ///
    /// # Errors
    /// As `settle_delivery`.
    pub async fn dismiss_delivery(&self, guid: &DeliveryId, reason: &str) -> Result<(), Error> {
        self.settle(guid, DeliveryState::Ignored, Some(reason), true).await
    }

    async fn settle(
        &self,
        guid: &DeliveryId,
        state: DeliveryState,
        reason: Option<&str>,
        dismiss: bool,
    ) -> Result<(), Error> {
        let mut tx = self.begin_one().await?;
        let done = sqlx::query(
            "UPDATE delivery SET state = ?1, reason = ?2, settled_at = ?3, body = CASE WHEN ?4 THEN x'' ELSE body END,
                    packed = CASE WHEN ?4 THEN 0 ELSE packed END
             WHERE guid = ?5",
        )
        .bind(state.as_str())
        .bind(reason)
        .bind((state != DeliveryState::Received).then(|| self.now()))
        .bind(dismiss)
        .bind(guid.as_str())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        if done.rows_affected() == 0 {
            return Err(Error::NotFound { what: "delivery", id: guid.to_string() });
        }
        Ok(())
    }
}

/// A delivery on its way into its row.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) new: NewDelivery,
    /// Of the body as it was received.
    pub(super) body_hash: String,
    pub(super) body: Packed,
    /// Why nothing is to be done about it.
    pub(super) ignored: Option<String>,
}

/// One delivery within the inbox's transaction.
pub(super) async fn insert(conn: &mut SqliteConnection, arrival: &Arrival, now: Millis) -> Result<Accepted, Error> {
    let Arrival { new, body_hash, body, ignored } = arrival;
    let state = if ignored.is_some() { DeliveryState::Ignored } else { DeliveryState::Received };
    let inserted: Option<Option<String>> = sqlx::query_scalar(
        "INSERT INTO delivery (guid, event, body, body_hash, hook, target_kind, target, state, reason, replay_of, received_at, settled_at, packed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
             (SELECT guid FROM delivery WHERE body_hash = ?4 AND event = ?2 AND guid <> ?1 ORDER BY received_at, rowid LIMIT 1),
             ?10, ?11, ?12)
         ON CONFLICT (guid) DO NOTHING RETURNING replay_of",
    )
    .bind(new.guid.as_str())
    .bind(&new.event)
    .bind(&body.bytes[..])
    .bind(body_hash)
    .bind(&new.target.hook)
    .bind(&new.target.kind)
    .bind(&new.target.id)
    .bind(state.as_str())
    .bind(ignored)
    .bind(new.received_at)
    .bind(ignored.as_ref().map(|_| now))
    .bind(body.packed)
    .fetch_optional(&mut *conn)
    .await?;
    let Some(original) = inserted else { return again(conn, arrival, now).await };
    if ignored.is_none() {
        insert_job(conn, &new.guid, now).await?;
    }
    match original {
        None => Ok(Accepted::New),
        Some(text) => {
            let of = DeliveryId::parse(&text).ok_or_else(|| row::damaged("delivery id", &text))?;
            Ok(Accepted::Replay { of })
        }
    }
}

/// A GUID that is there already.
async fn again(conn: &mut SqliteConnection, arrival: &Arrival, now: Millis) -> Result<Accepted, Error> {
    let state: String = sqlx::query_scalar(
        "UPDATE delivery SET redeliveries = redeliveries + 1, redelivered_at = ? WHERE guid = ? RETURNING state",
    )
    .bind(now)
    .bind(arrival.new.guid.as_str())
    .fetch_one(&mut *conn)
    .await?;
    if arrival.ignored.is_none() { revive(conn, arrival, &state, now).await } else { Ok(Accepted::Known) }
}

/// A redelivery brings a dead job back; a job that lives, or that came to its end, is left alone.
async fn revive(conn: &mut SqliteConnection, arrival: &Arrival, state: &str, now: Millis) -> Result<Accepted, Error> {
    let Arrival { new, body, .. } = arrival;
    let key = Job::Delivery { guid: new.guid.clone() }.unique_key();
    let last: Option<(i64, String)> =
        sqlx::query_as("SELECT id, state FROM job WHERE unique_key = ? ORDER BY id DESC LIMIT 1")
            .bind(&key)
            .fetch_optional(&mut *conn)
            .await?;
    match last {
        Some((id, job_state)) if job_state == JobState::Discarded.as_str() => {
            job::revive(conn, id, now).await?;
        }
        // Ignored on arrival as an unknown event, and now one that is known.
        None if state == DeliveryState::Ignored.as_str() => {
            insert_job(conn, &new.guid, now).await?;
        }
        Some(_) | None => return Ok(Accepted::Known),
    }
    // A body that was let go is there again.
    sqlx::query(
        "UPDATE delivery SET event = ?1, body = CASE WHEN length(body) = 0 THEN ?2 ELSE body END,
                packed = CASE WHEN length(body) = 0 THEN ?3 ELSE packed END, state = 'received', reason = NULL,
                settled_at = NULL
         WHERE guid = ?4",
    )
    .bind(&new.event)
    .bind(&body.bytes[..])
    .bind(body.packed)
    .bind(new.guid.as_str())
    .execute(&mut *conn)
    .await?;
    Ok(Accepted::Revived)
}

async fn insert_job(conn: &mut SqliteConnection, guid: &DeliveryId, now: Millis) -> Result<(), Error> {
    let job = Job::Delivery { guid: guid.clone() };
    // Before waiting reviews: a delivery takes milliseconds and may say that one of them is no longer wanted.
    let new = NewJob { cause: Some(guid.clone()), priority: -10, ..NewJob::at(now) };
    job::insert(conn, &job, &new, now).await?;
    Ok(())
}

fn load(row: &SqliteRow) -> Result<DeliveryRow, Error> {
    let bytes: Vec<u8> = row.try_get("body")?;
    let body = Packed { bytes: Bytes::from(bytes), packed: row.try_get("packed")? }.unpack()?;
    Ok(DeliveryRow {
        guid: row::required(row::delivery_id(row, "guid")?, "delivery")?,
        event: row.try_get("event")?,
        body,
        body_hash: row.try_get("body_hash")?,
        target: Target { hook: row.try_get("hook")?, kind: row.try_get("target_kind")?, id: row.try_get("target")? },
        state: DeliveryState::load(row)?,
        reason: row.try_get("reason")?,
        replay_of: row::delivery_id(row, "replay_of")?,
        received_at: row.try_get("received_at")?,
        settled_at: row.try_get("settled_at")?,
        redeliveries: row.try_get("redeliveries")?,
        redelivered_at: row.try_get("redelivered_at")?,
    })
}
