//! A few connections that only read, beside the writer.
//!
//! Nobody waits here by the clock: a driver's pool gives up after a time-out, and under a paused clock that is at once.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Error;

#[derive(Debug)]
pub(super) struct Readers {
    options: SqliteConnectOptions,
    room: Semaphore,
    idle: Mutex<Vec<SqliteConnection>>,
}

/// A connection on loan.
pub(super) struct Reader<'a> {
    readers: &'a Readers,
    /// Absent only while it is being dropped.
    conn: Option<SqliteConnection>,
    _place: SemaphorePermit<'a>,
}

impl Readers {
    pub(super) fn new(options: SqliteConnectOptions, count: usize) -> Self {
        Self { options: options.pragma("query_only", "ON"), room: Semaphore::new(count.max(1)), idle: Mutex::default() }
    }

    pub(super) async fn lend(&self) -> Result<Reader<'_>, Error> {
        let place = self.room.acquire().await.map_err(|_| Error::Closed)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = match idle {
            Some(conn) => conn,
            None => self.options.connect().await?,
        };
        Ok(Reader { readers: self, conn: Some(conn), _place: place })
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if let Some(conn) = self.conn.take() {
            self.readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
        }
    }
}

#[expect(clippy::expect_used, reason = "the connection leaves only in drop")]
impl Deref for Reader<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        self.conn.as_ref().expect("there until drop")
    }
}

#[expect(clippy::expect_used, reason = "the connection leaves only in drop")]
impl DerefMut for Reader<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.conn.as_mut().expect("there until drop")
    }
}
