//! The one connection that writes, and group commit: whoever writes adds to the transaction that is open, and waits for
//! its commit, which one task makes for all that have gathered. While it syncs, the next ones gather.
//!
//! Transactions are begun and ended in plain SQL: on a full disk SQLite rolls a transaction back by itself, and a driver that
//! counts its transactions would never find out of that one again.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use sqlx::SqliteConnection;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};

use super::Error;

/// Waiting for it is in memory and in order, so SQLite never sees two writers of ours.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    desk: Arc<Mutex<Desk>>,
    /// Tells the committer that something was written. It holds one word: more of them would say the same.
    bell: mpsc::Sender<()>,
    commits: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Desk {
    conn: SqliteConnection,
    state: State,
    /// Who has written into the open transaction and waits for its commit.
    waiting: Vec<oneshot::Sender<Result<(), Error>>>,
    commits: Arc<AtomicU64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No transaction is open.
    Closed,
    /// One is open, and all that stands in it is whole.
    Whole,
    /// A single statement was begun and not seen to end. SQLite takes a failed one back by itself, and perhaps, on a full disk,
    /// everything else: a commit will tell.
    Doubtful,
    /// Several were begun and not seen to end: one failed, or whoever made them went away. They go before anything else happens.
    Torn,
}

/// One write. What is not committed is rolled back before anything else is written; its neighbours' writes stay.
pub(super) struct Tx {
    /// Absent only once it was committed.
    desk: Option<OwnedMutexGuard<Desk>>,
    bell: mpsc::Sender<()>,
}

impl Writer {
    /// Starts the committer; it ends when the last writer goes.
    pub(super) fn start(conn: SqliteConnection) -> Self {
        let commits = Arc::new(AtomicU64::new(0));
        let desk = Desk { conn, state: State::Closed, waiting: Vec::new(), commits: commits.clone() };
        let desk = Arc::new(Mutex::new(desk));
        let (bell, rung) = mpsc::channel(1);
        tokio::spawn(commit_when_rung(Arc::downgrade(&desk), rung));
        Self { desk, bell, commits }
    }

    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// For several statements.
    pub(super) async fn begin(&self) -> Result<Tx, Error> {
        self.enter(State::Torn).await
    }

    /// For one statement: it is whole or nothing without further ado.
    pub(super) async fn begin_one(&self) -> Result<Tx, Error> {
        self.enter(State::Doubtful).await
    }

    async fn enter(&self, until_committed: State) -> Result<Tx, Error> {
        // From here on its drop calls the committer, however this ends.
        let mut tx = Tx { desk: Some(self.desk.clone().lock_owned().await), bell: self.bell.clone() };
        if let Some(desk) = &mut tx.desk {
            desk.begin(until_committed).await?;
        }
        Ok(tx)
    }
}

/// The lock is handed on in order: whoever waited for it before the committer writes first and shares the commit.
async fn commit_when_rung(desk: Weak<Mutex<Desk>>, mut rung: mpsc::Receiver<()>) {
    while rung.recv().await.is_some() {
        let Some(desk) = desk.upgrade() else { return };
        desk.lock().await.commit().await;
    }
}

impl Desk {
    async fn begin(&mut self, until_committed: State) -> Result<(), Error> {
        self.mend().await;
        // One savepoint is always there; each write of several statements moves it to where it begins.
        let sql = match (self.state, until_committed) {
            (State::Closed, _) => Some("BEGIN IMMEDIATE; SAVEPOINT one"),
            (_, State::Torn) => Some("RELEASE one; SAVEPOINT one"),
            _ => None,
        };
        self.state = until_committed;
        match sql {
            Some(sql) => self.run(sql).await,
            None => Ok(()),
        }
    }

    /// Takes back what was begun and not ended. Where SQLite has rolled everything back already, those who wait are told.
    async fn mend(&mut self) {
        match self.state {
            State::Closed | State::Whole => {}
            State::Doubtful => self.finish().await,
            State::Torn => match self.run("ROLLBACK TO one").await {
                Ok(()) => self.state = State::Whole,
                Err(error) => self.fall(error).await,
            },
        }
    }

    async fn commit(&mut self) {
        self.mend().await;
        if self.state != State::Closed {
            self.finish().await;
        }
    }

    async fn finish(&mut self) {
        match self.run("COMMIT").await {
            Ok(()) => {
                self.state = State::Closed;
                self.commits.fetch_add(1, Ordering::Relaxed);
                for waiting in self.waiting.drain(..) {
                    // Nobody waits any more when the caller went away; the write stays all the same.
                    let _ = waiting.send(Ok(()));
                }
            }
            Err(error) => self.fall(error).await,
        }
    }

    /// Nothing of the open transaction stays.
    async fn fall(&mut self, why: Error) {
        let why = Arc::new(why);
        // Fails where SQLite rolled back already. If it fails otherwise, the next `BEGIN` does too and says why.
        let _ = self.run("ROLLBACK").await;
        self.state = State::Closed;
        for waiting in self.waiting.drain(..) {
            let _ = waiting.send(Err(Error::Fell(why.clone())));
        }
    }

    async fn run(&mut self, sql: &'static str) -> Result<(), Error> {
        sqlx::query(sql).execute(&mut self.conn).await?;
        Ok(())
    }
}

impl Tx {
    /// Returns once it is on the disk.
    pub(super) async fn commit(mut self) -> Result<(), Error> {
        let Some(mut desk) = self.desk.take() else { return Err(Error::Closed) };
        let (done, committed) = oneshot::channel();
        desk.state = State::Whole;
        desk.waiting.push(done);
        drop(desk);
        drop(self);
        committed.await.map_err(|_| Error::Closed)?
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        self.desk = None;
        // Full means that the committer has not looked yet.
        let _ = self.bell.try_send(());
    }
}

#[expect(clippy::expect_used, reason = "the desk leaves only in commit and drop")]
impl Deref for Tx {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.desk.as_ref().expect("there until the commit").conn
    }
}

#[expect(clippy::expect_used, reason = "the desk leaves only in commit and drop")]
impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.desk.as_mut().expect("there until the commit").conn
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use super::*;
    use crate::domain::Clock;
    use crate::store::Store;

    async fn note(tx: &mut Tx, name: &'static str) {
        sqlx::query("INSERT INTO cursor (name, value, updated_at) VALUES (?, '', 0)")
            .bind(name)
            .execute(&mut **tx)
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn writes_that_gather_share_one_commit() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Clock::manual(0)).await.unwrap();
        let before = store.commits().unwrap();
        let first = store.begin().await.unwrap();
        let gather = join_all((0..50).map(async |n| store.set_cursor(&format!("note-{n}"), "").await.unwrap()));
        let (committed, _) = tokio::join!(first.commit(), gather);
        committed.unwrap();
        let commits = store.commits().unwrap() - before;
        assert!(commits <= 2, "{commits} commits for 51 writes");
    }

    #[tokio::test]
    async fn a_write_that_is_given_up_goes_alone() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Clock::manual(0)).await.unwrap();
        let mut whole = store.begin().await.unwrap();
        note(&mut whole, "whole").await;
        let given_up = async {
            let mut torn = store.begin().await.unwrap();
            note(&mut torn, "torn").await;
        };
        let after = store.set_cursor("after", "");
        let (committed, (), written) = tokio::join!(whole.commit(), given_up, after);
        committed.unwrap();
        written.unwrap();
        for (name, there) in [("whole", true), ("torn", false), ("after", true)] {
            assert_eq!(store.get_cursor(name).await.unwrap().is_some(), there, "{name}");
        }
    }

    #[tokio::test]
    async fn one_statement_that_fails_leaves_its_neighbours_alone() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Clock::manual(0)).await.unwrap();
        let mut whole = store.begin_one().await.unwrap();
        note(&mut whole, "whole").await;
        let fails = async {
            let mut fails = store.begin_one().await.unwrap();
            let sql = "INSERT INTO cursor (name, value, updated_at) VALUES ('new', '', 0), ('whole', '', 0)";
            sqlx::query(sql).execute(&mut *fails).await.unwrap_err();
        };
        let (committed, (), written) = tokio::join!(whole.commit(), fails, store.set_cursor("after", ""));
        committed.unwrap();
        written.unwrap();
        for (name, there) in [("whole", true), ("new", false), ("after", true)] {
            assert_eq!(store.get_cursor(name).await.unwrap().is_some(), there, "{name}");
        }
    }

    #[tokio::test]
    async fn whoever_shared_a_commit_that_fell_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Clock::manual(0)).await.unwrap();
        let mut first = store.begin().await.unwrap();
        note(&mut first, "first").await;
        let fell = async {
            let mut second = store.begin().await.unwrap();
            // As SQLite does by itself on a full disk.
            sqlx::query("ROLLBACK").execute(&mut *second).await.unwrap();
        };
        let (committed, ()) = tokio::join!(first.commit(), fell);
        assert!(matches!(committed, Err(Error::Fell(_))), "{committed:?}");
        assert_eq!(store.get_cursor("first").await.unwrap(), None);
        store.set_cursor("third", "").await.unwrap();
    }
}
