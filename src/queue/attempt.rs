//! One attempt at one job: run the handler, beat beside it, write down how it ended.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::pool::Held;
use super::{Failure, Leased, Options, millis};
use crate::domain::Class;
use crate::store::{self, Beat, Claimed, Ear, Fail, JobState, Lease, Store};

pub(super) struct Attempt {
    pub(super) store: Store,
    pub(super) options: Arc<Options>,
    pub(super) held: Held,
    pub(super) stop: CancellationToken,
    pub(super) claimed: Claimed,
    /// Heard every ring since before the claim.
    pub(super) ear: Ear,
}

/// How often to try to write an ending down before the lease is left to run out.
const SETTLE_TRIES: u32 = 5;

impl Attempt {
    pub(super) async fn run<H, F>(self, handler: &H)
    where
        H: Fn(Leased) -> F,
        F: Future<Output = Result<(), Failure>>,
    {
        let row = &self.claimed.row;
        let cancel = self.stop.child_token();
        // Cancelled while it waited for this attempt: it is here only to clear up.
        let asked = Arc::new(AtomicBool::new(row.cancel_requested_at.is_some()));
        if row.cancel_requested_at.is_some() {
            cancel.cancel();
        }
        let leased = Leased {
            id: row.id,
            job: self.claimed.job.clone(),
            attempt: row.attempt,
            max_attempts: row.max_attempts,
            cancel: cancel.clone(),
            cause: row.cause.clone(),
            last_error: row.last_error.clone(),
            created_at: row.created_at,
            lease: self.claimed.lease.clone(),
        };
        let beating = Heart {
            store: self.store.clone(),
            lease: self.claimed.lease.clone(),
            options: self.options.clone(),
            cancel,
            asked: asked.clone(),
            ear: self.ear.clone(),
        };
        // A task of its own: a handler that computes for long must not keep the heart from beating.
        let heart = AbortOnDropHandle::new(tokio::spawn(beating.run()));

        let began = Instant::now();
        let work = AssertUnwindSafe(async { handler(leased).await }).catch_unwind();
        let result = match timeout(self.options.attempt, work).await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => Err(Failure::new(Class::Retry, format!("panicked: {}", panic_text(panic.as_ref())))),
            Err(_) => {
                let limit = self.options.attempt.as_secs();
                Err(Failure::new(Class::Retry, format!("the attempt took longer than {limit} s")))
            }
        };
        self.settle(result, asked.load(Ordering::SeqCst), began.elapsed()).await;
        drop(heart);
        self.held.remove(row.id);
    }

    async fn settle(&self, result: Result<(), Failure>, cancel_asked: bool, took: Duration) {
        let row = &self.claimed.row;
        for tries in 1.. {
            match self.write(&result, cancel_asked).await {
                Ok(state) => {
                    self.report(state, &result, took);
                    return;
                }
                Err(error) if tries < SETTLE_TRIES => {
                    tracing::warn!(job.id = row.id.0, error = %error, "cannot write down how a job ended, trying again");
                    sleep(self.options.poll).await;
                }
                Err(error) => {
                    tracing::error!(job.id = row.id.0, error = %error, "cannot write down how a job ended; it will run again");
                    return;
                }
            }
        }
    }

    async fn write(&self, result: &Result<(), Failure>, cancel_asked: bool) -> Result<Option<JobState>, store::Error> {
        let (store, lease, row) = (&self.store, &self.claimed.lease, &self.claimed.row);
        let failure = match result {
            Ok(()) => return store.complete(lease).await,
            Err(failure) => failure,
        };
        if cancel_asked {
            return store.fail(lease, Fail::Cancel, &failure.message).await;
        }
        // Stopped by us, not by itself: neither a failure nor an attempt.
        if self.stop.is_cancelled() && !matches!(failure.class, Class::Discard) {
            return store.release(lease).await;
        }
        let now = store.clock().now();
        let message = &failure.message;
        match failure.class {
            Class::Discard => store.fail(lease, Fail::Discard, message).await,
            Class::Cancelled => store.fail(lease, Fail::Cancel, message).await,
            Class::Retry => {
                let at = now.saturating_add(millis(self.options.backoff.after(row.attempt)));
                store.fail(lease, Fail::Retry { at }, message).await
            }
            Class::RetryAfter(wait) => {
                let at = now.saturating_add(millis(wait));
                store.fail(lease, Fail::Retry { at }, message).await
            }
            Class::Snooze(wait) => store.snooze(lease, now.saturating_add(millis(wait)), message).await,
        }
    }

    fn report(&self, state: Option<JobState>, result: &Result<(), Failure>, took: Duration) {
        let row = &self.claimed.row;
        let (id, kind, attempt) = (row.id.0, row.kind.as_str(), row.attempt);
        let duration_ms = millis(took);
        self.store.meter().attempt(self.claimed.job.kind(), outcome(state), took);
        let reason = result.as_ref().err().map(|failure| failure.message.as_str()).unwrap_or_default();
        match state {
            None => tracing::warn!(
                job.id = id,
                job.kind = kind,
                "a job's lease was lost; what this worker did last was refused"
            ),
            Some(JobState::Completed) => {
                tracing::info!(job.id = id, job.kind = kind, attempt, duration_ms, "a job is done")
            }
            Some(JobState::Discarded) => {
                tracing::error!(
                    job.id = id,
                    job.kind = kind,
                    attempt,
                    reason,
                    "a job was given up; it can be redriven"
                );
            }
            Some(state) => tracing::info!(job.id = id, job.kind = kind, attempt, reason, %state, "a job stopped"),
        }
    }
}

/// How an attempt is counted.
fn outcome(state: Option<JobState>) -> &'static str {
    match state {
        None => "lease-lost",
        Some(JobState::Completed) => "completed",
        Some(JobState::Discarded) => "discarded",
        Some(JobState::Cancelled) => "cancelled",
        Some(JobState::Retryable) => "retried",
        // Snoozed, or given back by a server that stops.
        Some(JobState::Available | JobState::Scheduled | JobState::Running) => "postponed",
    }
}

/// Says that the worker lives, and hears when it should not go on.
struct Heart {
    store: Store,
    lease: Lease,
    options: Arc<Options>,
    cancel: CancellationToken,
    /// Somebody cancelled the job, as opposed to a lost lease or a shutdown.
    asked: Arc<AtomicBool>,
    ear: Ear,
}

impl Heart {
    async fn run(mut self) {
        let period = self.options.heartbeat.max(Duration::from_millis(1));
        let mut ticks = interval_at(Instant::now() + period, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Another process that cancels a job cannot ring here.
        let pause = self.options.poll.max(Duration::from_millis(1));
        let mut looks = interval_at(Instant::now() + pause, pause);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let beat = tokio::select! {
                _ = ticks.tick() => self.store.heartbeat(&self.lease, millis(self.options.lease)).await,
                _ = looks.tick() => self.store.lease_state(&self.lease).await,
                () = self.ear.heard() => self.store.lease_state(&self.lease).await,
            };
            match beat {
                Ok(Beat::Alive) => {}
                Ok(Beat::CancelRequested) => {
                    self.asked.store(true, Ordering::SeqCst);
                    self.cancel.cancel();
                }
                Ok(Beat::Lost) => {
                    self.cancel.cancel();
                    return;
                }
                Err(error) => tracing::warn!(job.id = self.lease.job.0, error = %error, "a heartbeat failed"),
            }
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "without a message".to_owned()
    }
}
