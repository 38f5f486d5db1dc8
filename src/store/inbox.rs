//! Group commit: one task takes whatever deliveries wait and writes them in one transaction. While it syncs, the next ones gather.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::{Connection, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use super::{Accepted, Bell, Error, NewDelivery, Writer, delivery};
use crate::domain::Clock;

/// At most so many rows in one commit, so that the first of them does not wait for ever.
const BATCH: usize = 128;
/// At most so many bytes of bodies in one commit, beyond the first.
const BATCH_BYTES: usize = 32 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Inbox {
    queue: mpsc::Sender<Letter>,
    commits: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Letter {
    new: NewDelivery,
    ignored: Option<String>,
    answer: oneshot::Sender<Result<Accepted, Error>>,
}

struct Task {
    conn: Writer,
    clock: Clock,
    bell: Arc<Bell>,
    commits: Arc<AtomicU64>,
}

impl Inbox {
    /// The task ends when the store that holds this goes.
    pub(super) fn start(conn: Writer, clock: Clock, bell: Arc<Bell>, capacity: usize) -> Self {
        let (queue, letters) = mpsc::channel(capacity.max(1));
        let commits = Arc::new(AtomicU64::new(0));
        let task = Task { conn, clock, bell, commits: commits.clone() };
        tokio::spawn(task.run(letters));
        Self { queue, commits }
    }

    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    pub(super) async fn send(&self, new: NewDelivery, ignored: Option<String>) -> Result<Accepted, Error> {
        let (answer, answered) = oneshot::channel();
        self.queue.try_send(Letter { new, ignored, answer }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Error::Busy,
            mpsc::error::TrySendError::Closed(_) => Error::Closed,
        })?;
        answered.await.map_err(|_| Error::Closed)?
    }
}

impl Task {
    async fn run(self, mut letters: mpsc::Receiver<Letter>) {
        while let Some(first) = letters.recv().await {
            // Waiting for the connection is time in which neighbours arrive.
            let mut conn = self.conn.lock().await;
            let mut bytes = 0;
            let mut batch = vec![first];
            while batch.len() < BATCH && bytes < BATCH_BYTES {
                let Ok(next) = letters.try_recv() else { break };
                bytes += next.new.body.len();
                batch.push(next);
            }
            self.store(&mut conn, batch).await;
        }
    }

    async fn store(&self, conn: &mut SqliteConnection, batch: Vec<Letter>) {
        let several = batch.len() > 1;
        match self.commit(conn, &batch).await {
            Ok(results) => {
                for (letter, result) in batch.into_iter().zip(results) {
                    // Nobody waits any more when the sender hung up; the row stays all the same.
                    let _ = letter.answer.send(result);
                }
            }
            // The transaction as a whole fell, perhaps over one row: each gets a chance of its own.
            Err(error) if several => {
                tracing::warn!(error = %error, rows = batch.len(), "storing deliveries together failed, trying one by one");
                for letter in batch {
                    let single = std::slice::from_ref(&letter);
                    let result = self
                        .commit(conn, single)
                        .await
                        .and_then(|mut results| results.pop().unwrap_or(Err(Error::Closed)));
                    let _ = letter.answer.send(result);
                }
            }
            Err(error) => {
                if let Some(letter) = batch.into_iter().next() {
                    let _ = letter.answer.send(Err(error));
                }
            }
        }
        self.bell.ring_jobs();
    }

    /// Each row stands in a savepoint, so that a refused one leaves its neighbours alone.
    async fn commit(
        &self,
        conn: &mut SqliteConnection,
        batch: &[Letter],
    ) -> Result<Vec<Result<Accepted, Error>>, Error> {
        let now = self.clock.now();
        let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
        let mut results = Vec::with_capacity(batch.len());
        for letter in batch {
            let mut point = tx.begin().await?;
            let result = delivery::insert(&mut point, &letter.new, letter.ignored.as_deref(), now).await;
            if result.is_ok() {
                point.commit().await?;
            } else {
                point.rollback().await?;
            }
            results.push(result);
        }
        tx.commit().await?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(results)
    }
}
