//! Turns: work that the server takes up by itself, so much a day, and each thing once as long as it stays as it is.
//!
//! What was taken up is written together with its job: a crash loses both or neither.

use super::job::insert;
use super::{Enqueued, Error, NewJob, Store};
use crate::domain::{Job, JobId, Millis};

/// What is to be taken up.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Turns are counted by series, such as one repository's: a path without wildcards.
    pub series: String,
    /// Which thing it is, within the series.
    pub item: String,
    /// What it looks like: taken up once, it is not taken up again while this is the same.
    pub looks: String,
    /// So many turns may be taken within the time.
    pub most: u64,
    pub within: Millis,
    /// How long it is known what was taken up.
    pub kept: Millis,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    New(JobId),
    /// It was taken up before, and looks as it did then.
    Before,
    /// Somebody else's job is at it.
    Busy,
    /// The series has had its turns.
    Full,
}

/// The end of a range of names that begin alike.
const BEYOND: &str = "\u{10ffff}";

impl Store {
    /// Takes a turn and puts its job in, both or neither.
    ///
    /// # Errors
    /// The database failed; nothing was taken then.
    pub async fn take_turn(&self, job: &Job, new: NewJob, turn: &Turn) -> Result<Taken, Error> {
        let now = self.now();
        let (seen, turns) = (seen_name(&turn.series, &turn.item), turns_name(&turn.series));
        let taken = {
            let mut tx = self.begin().await?;
            for (names, before) in [(&turns, now - turn.within), (&seen_name(&turn.series, ""), now - turn.kept)] {
                sqlx::query("DELETE FROM cursor WHERE name >= ?1 AND name < ?1 || ?2 AND updated_at <= ?3")
                    .bind(names)
                    .bind(BEYOND)
                    .bind(before)
                    .execute(&mut *tx)
                    .await?;
            }
            let looked: Option<String> = sqlx::query_scalar("SELECT value FROM cursor WHERE name = ?")
                .bind(&seen)
                .fetch_optional(&mut *tx)
                .await?;
            let had: i64 = sqlx::query_scalar("SELECT count(*) FROM cursor WHERE name >= ?1 AND name < ?1 || ?2")
                .bind(&turns)
                .bind(BEYOND)
                .fetch_one(&mut *tx)
                .await?;
            if looked.as_ref() == Some(&turn.looks) {
                return Ok(Taken::Before);
            }
            if had.cast_unsigned() >= turn.most {
                return Ok(Taken::Full);
            }
            match insert(&mut tx, job, &new, now).await? {
                Enqueued::Existing(_) => Taken::Busy,
                Enqueued::New(id) => {
                    for (name, value) in [(&seen, &turn.looks), (&format!("{turns}{id}"), &turn.item)] {
                        sqlx::query(
                            "INSERT INTO cursor (name, value, updated_at) VALUES (?1, ?2, ?3)
                             ON CONFLICT (name) DO UPDATE SET value = ?2, updated_at = ?3",
                        )
                        .bind(name)
                        .bind(value)
                        .bind(now)
                        .execute(&mut *tx)
                        .await?;
                    }
                    tx.commit().await?;
                    Taken::New(id)
                }
            }
        };
        if matches!(taken, Taken::New(_)) {
            self.bell().ring_jobs();
        }
        Ok(taken)
    }

    /// How many turns of a series were taken since then.
    ///
    /// # Errors
    /// The database failed.
    pub async fn turns_since(&self, series: &str, since: Millis) -> Result<u64, Error> {
        let had: i64 =
            sqlx::query_scalar("SELECT count(*) FROM cursor WHERE name >= ?1 AND name < ?1 || ?2 AND updated_at > ?3")
                .bind(turns_name(series))
                .bind(BEYOND)
                .bind(since)
                .fetch_one(&mut *self.reader().await?)
                .await?;
        Ok(had.cast_unsigned())
    }

    /// What a thing looked like when it was taken up last.
    ///
    /// # Errors
    /// The database failed.
    pub async fn turn_taken(&self, series: &str, item: &str) -> Result<Option<String>, Error> {
        self.get_cursor(&seen_name(series, item)).await
    }

    /// The turn of that job counts no more: nothing was done in it.
    ///
    /// # Errors
    /// The database failed.
    pub async fn give_turn_back(&self, series: &str, item: &str, job: JobId) -> Result<(), Error> {
        let mut tx = self.begin().await?;
        for name in [seen_name(series, item), format!("{}{job}", turns_name(series))] {
            sqlx::query("DELETE FROM cursor WHERE name = ?").bind(name).execute(&mut *tx).await?;
        }
        tx.commit().await
    }
}

fn seen_name(series: &str, item: &str) -> String {
    format!("taken/{series}/{item}")
}

fn turns_name(series: &str) -> String {
    format!("turn/{series}/")
}
