//! Durable jobs at work: claims what is due, beats while it runs, retries with backoff, gives up visibly.
//!
//! Promise: an accepted job runs at least once, across restarts; a worker that lost its lease changes nothing any more.
//! Never: nothing here knows what a job means; the handler does. No state but the rows: a queue can die at any line.

mod attempt;
mod pool;

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::{Class, DeliveryId, Job, JobId, Millis};
use crate::store::{self, Lease, Store};

pub use crate::stdx::backoff::Backoff;

/// Runs the store's jobs. Rows are its only memory, so any number of them may come and go.
#[derive(Debug, Clone)]
pub struct Queue {
    store: Store,
    options: Options,
}

#[derive(Debug, Clone)]
pub struct Options {
    /// How many jobs run at once.
    pub workers: usize,
    /// How long a silent worker keeps its job.
    pub lease: Duration,
    /// How often a live worker says so; several must fit into a lease.
    pub heartbeat: Duration,
    /// How often to look without having been woken: for what is due, and for what another process cancelled.
    pub poll: Duration,
    /// How long one attempt may take, however alive its worker is.
    pub attempt: Duration,
    /// How long running jobs may go on after shutdown was asked for; then their tokens fire, and after as long again they are dropped.
    pub grace: Duration,
    pub backoff: Backoff,
    /// Another name in leases than the store's node: for two pools that stand for two machines.
    pub node: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            workers: 4,
            lease: Duration::from_secs(60),
            heartbeat: Duration::from_secs(15),
            poll: Duration::from_secs(1),
            attempt: Duration::from_secs(30 * 60),
            grace: Duration::from_secs(10),
            backoff: Backoff::default(),
            node: None,
        }
    }
}

/// What a handler gets: the job and the right to run it.
#[derive(Debug, Clone)]
pub struct Leased {
    pub id: JobId,
    pub job: Job,
    /// Counts from 1.
    pub attempt: u32,
    pub max_attempts: u32,
    /// Fires when the job was cancelled, its lease was lost or the process stops: come to an end soon, write nothing more.
    pub cancel: CancellationToken,
    pub cause: Option<DeliveryId>,
    /// What the attempt before came to, if it could still say so.
    pub last_error: Option<String>,
    pub created_at: Millis,
    /// `Store::lease_state` tells right before a write whether the job is still ours.
    pub lease: Lease,
}

/// Why an attempt did not succeed, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub class: Class,
    pub message: String,
}

impl Failure {
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Self { class: error.class(), message: crate::stdx::error::chain(&error) }
    }
}

/// What `run_until_idle` leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// How many attempts it ran.
    pub ran: usize,
    /// When the next waiting job is due, if one waits.
    pub next_due: Option<Millis>,
}

impl Queue {
    pub fn new(store: Store, options: Options) -> Self {
        Self { store, options }
    }

    /// Works until `shutdown` fires, then stops claiming and lets running jobs finish within the grace period;
    /// what does not finish is claimable at once and keeps its attempt.
    pub async fn run<H, F>(&self, handler: H, shutdown: CancellationToken)
    where
        H: Fn(Leased) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        pool::Pool::new(self.store.clone(), self.options.clone(), handler).run(shutdown).await;
    }

    /// Runs everything that is due, and what that makes due, then returns. It does not wait for jobs of the future:
    /// move a manual clock to `next_due` and call again.
    ///
    /// # Errors
    /// The store failed; jobs that ran have been settled.
    pub async fn run_until_idle<H, F>(&self, handler: H) -> Result<Idle, store::Error>
    where
        H: Fn(Leased) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        let ran = pool::Pool::new(self.store.clone(), self.options.clone(), handler).run_until_idle().await?;
        Ok(Idle { ran, next_due: self.store.next_due().await? })
    }
}

/// Durations as rows count them.
fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX / 4)
}
