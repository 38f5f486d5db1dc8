//! The one connection that writes, and its transactions.
//!
//! They are begun and ended in plain SQL: on a full disk SQLite rolls a transaction back by itself, and a driver that counts
//! its transactions would never find out of that one again.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sqlx::SqliteConnection;
use tokio::sync::{Mutex, MutexGuard};

use super::Error;

/// Waiting for it is in memory and in order, so SQLite never sees two writers of ours.
#[derive(Debug, Clone)]
pub(super) struct Writer(Arc<Mutex<Desk>>);

#[derive(Debug)]
pub(super) struct Desk {
    conn: SqliteConnection,
    /// A transaction was begun and not seen to end: it failed, or whoever waited for it went away.
    unsettled: bool,
}

/// Lives for one method; what is not committed is rolled back before anything else is written.
pub(super) struct Tx<'a>(&'a mut Desk);

impl Writer {
    pub(super) fn new(conn: SqliteConnection) -> Self {
        Self(Arc::new(Mutex::new(Desk { conn, unsettled: false })))
    }

    pub(super) async fn lock(&self) -> MutexGuard<'_, Desk> {
        let mut desk = self.0.lock().await;
        desk.settle().await;
        desk
    }
}

impl Desk {
    pub(super) async fn begin(&mut self) -> Result<Tx<'_>, Error> {
        self.settle().await;
        self.unsettled = true;
        sqlx::query("BEGIN IMMEDIATE").execute(&mut self.conn).await?;
        Ok(Tx(self))
    }

    async fn settle(&mut self) {
        if !self.unsettled {
            return;
        }
        // Fails where SQLite rolled back already. If it fails otherwise, the next `BEGIN` does too and says why.
        let _ = sqlx::query("ROLLBACK").execute(&mut self.conn).await;
        self.unsettled = false;
    }
}

impl Tx<'_> {
    pub(super) async fn commit(self) -> Result<(), Error> {
        sqlx::query("COMMIT").execute(&mut self.0.conn).await?;
        self.0.unsettled = false;
        Ok(())
    }
}

impl Deref for Desk {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.conn
    }
}

impl DerefMut for Desk {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.conn
    }
}

impl Deref for Tx<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.0.conn
    }
}

impl DerefMut for Tx<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.0.conn
    }
}
