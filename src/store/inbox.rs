//! Group commit: one task takes whatever deliveries wait and writes them in one transaction. While it syncs, the next ones gather.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::SqliteConnection;
use tokio::sync::{mpsc, oneshot};

use super::body::Packed;
use super::delivery::{self, Arrival};
use super::desk::Writer;
use super::{Accepted, Bell, Error, NewDelivery};
use crate::domain::Clock;
use crate::stdx::hash;

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
    arrival: Arrival,
    answer: oneshot::Sender<Result<Accepted, Error>>,
}

struct Task {
    writer: Writer,
    clock: Clock,
    bell: Arc<Bell>,
    commits: Arc<AtomicU64>,
}

impl Inbox {
    /// The task ends when the store that holds this goes.
    pub(super) fn start(writer: Writer, clock: Clock, bell: Arc<Bell>, capacity: usize) -> Self {
        let (queue, letters) = mpsc::channel(capacity.max(1));
        let commits = Arc::new(AtomicU64::new(0));
        let task = Task { writer, clock, bell, commits: commits.clone() };
        tokio::spawn(task.run(letters));
        Self { queue, commits }
    }

    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    pub(super) async fn send(&self, new: NewDelivery, ignored: Option<String>) -> Result<Accepted, Error> {
        let (answer, answered) = oneshot::channel();
        // Here, where each sender has a task of its own: the one that writes has the less to do.
        let (body_hash, body) = (hash::sha256(&new.body), Packed::new(&new.body));
        let arrival = Arrival { new, body_hash, body, ignored };
        self.queue.try_send(Letter { arrival, answer }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Error::Busy,
            mpsc::error::TrySendError::Closed(_) => Error::Closed,
        })?;
        answered.await.map_err(|_| Error::Closed)?
    }
}

impl Task {
    async fn run(self, mut letters: mpsc::Receiver<Letter>) {
        while let Some(first) = letters.recv().await {
            let mut bytes = 0;
            let mut batch = vec![first];
            while batch.len() < BATCH && bytes < BATCH_BYTES {
                let Ok(next) = letters.try_recv() else { break };
                bytes += next.arrival.body.bytes.len();
                batch.push(next);
            }
            self.store(batch).await;
        }
    }

    async fn store(&self, batch: Vec<Letter>) {
        let several = batch.len() > 1;
        let results = match self.commit(&batch, false).await {
            Err(error) if several => {
                tracing::warn!(error = %error, rows = batch.len(), "storing deliveries together failed, trying each by itself");
                self.commit(&batch, true).await
            }
            results => results,
        };
        match results {
            Ok(results) => {
                for (letter, result) in batch.into_iter().zip(results) {
                    // Nobody waits any more when the sender hung up; the row stays all the same.
                    let _ = letter.answer.send(result);
                }
            }
            // The transaction as a whole fell, perhaps over one row: each gets one of its own.
            Err(_) if several => {
                for letter in batch {
                    let single = std::slice::from_ref(&letter);
                    let result = self
                        .commit(single, false)
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

    /// All rows or none; or, `apart`, each in a savepoint, so that a refused one leaves its neighbours alone.
    async fn commit(&self, batch: &[Letter], apart: bool) -> Result<Vec<Result<Accepted, Error>>, Error> {
        let now = self.clock.now();
        let mut tx = self.writer.begin().await?;
        let mut results = Vec::with_capacity(batch.len());
        for letter in batch {
            let insert = delivery::insert;
            if !apart {
                results.push(Ok(insert(&mut tx, &letter.arrival, now).await?));
                continue;
            }
            savepoint(&mut tx, "SAVEPOINT delivery").await?;
            let result = insert(&mut tx, &letter.arrival, now).await;
            if let Err(error) = result {
                // A full disk takes the whole transaction with it, savepoints and all: the row's error is the one to tell.
                if savepoint(&mut tx, "ROLLBACK TO delivery").await.is_err() {
                    return Err(error);
                }
                results.push(Err(error));
            } else {
                results.push(result);
            }
            savepoint(&mut tx, "RELEASE delivery").await?;
        }
        tx.commit().await?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(results)
    }
}

async fn savepoint(conn: &mut SqliteConnection, sql: &'static str) -> Result<(), Error> {
    sqlx::query(sql).execute(conn).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use crate::domain::DeliveryId;
    use crate::store::{Accepted, Error, NewDelivery, Store, Target};

    use super::*;

    fn delivery(guid: &str, size: usize) -> NewDelivery {
        NewDelivery {
            guid: DeliveryId::parse(guid).unwrap(),
            event: "push".to_owned(),
            // Nothing that packing could make smaller.
            body: (0..size as u64)
                .map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57) as u8 ^ (n >> 7) as u8)
                .collect(),
            target: Target::default(),
            received_at: 0,
        }
    }

    async fn pages(store: &Store, more: i64) {
        let mut tx = store.begin().await.unwrap();
        let now: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut *tx).await.unwrap();
        let sql = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {}", now + more));
        sqlx::query(sql).execute(&mut *tx).await.unwrap();
    }

    #[tokio::test]
    async fn on_a_full_disk_what_does_not_fit_is_refused_and_the_rest_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Clock::manual(0)).await.unwrap();
        pages(&store, 20).await;
        // One of them cannot fit; whether the others share its commit or not, they are stored.
        let sizes = [100, 100, 1_000_000, 100];
        let answers =
            join_all(sizes.iter().enumerate().map(|(n, size)| store.accept(delivery(&format!("g-{n}"), *size + n))))
                .await;
        assert!(matches!(answers[2], Err(Error::Full(_))), "{answers:?}");
        for n in [0, 1, 3] {
            assert!(matches!(answers[n], Ok(Accepted::New)), "{answers:?}");
        }
        // Nothing fits any more, for several rounds.
        for n in 0..5 {
            let answer = store.accept(delivery(&format!("no-{n}"), 500_000)).await;
            assert!(matches!(answer, Err(Error::Full(_))), "{answer:?}");
        }
        assert_eq!(store.deliveries(100, None).await.unwrap().len(), 3);
        pages(&store, 10_000).await;
        assert!(matches!(store.accept(delivery("g-2", 1_000_000)).await, Ok(Accepted::New)), "space came back");
        store.ping().await.unwrap();
    }
}
