//! Signs of life: heartbeats, the state of this process, and the hourly sweep of the folders (S3.13, S3.28, S3.31, A3.7).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use crate::agent;
use crate::artifact::exchange::AgentOutput;
use crate::domain::{Clock, Millis};
use crate::mailbox::content::{AgentStatus, Heartbeat, SystemStatus, Version};
use crate::mailbox::{AgentName, Amount, Draft, Fraction, Timestamp};
use crate::stdx::error::chain;
use crate::stdx::process;

const HEARTBEAT: Duration = Duration::from_secs(30);
const STATUS: Duration = Duration::from_secs(5 * 60);
const SWEEP: Duration = Duration::from_secs(60 * 60);
const A_DAY: Millis = 24 * 60 * 60 * 1000;
/// Who speaks for the process: no program outside ever has this mailbox.
const SPEAKER: AgentName = AgentName::ValidatorAgent;

/// What the agents of this process have done.
#[derive(Debug, Default)]
pub(super) struct Stats(Mutex<Counts>);

#[derive(Debug, Clone, Default)]
struct Counts {
    /// Days since the epoch, UTC.
    day: Millis,
    completed: u64,
    failed: u64,
    last: Option<Millis>,
    last_success: Option<Millis>,
}

impl Stats {
    pub(super) fn ended(&self, done: &Result<AgentOutput, agent::Error>, clock: &Clock) {
        let now = clock.now();
        let mut counts = self.today(now);
        counts.last = Some(now);
        match done {
            Ok(_) => {
                counts.completed += 1;
                counts.last_success = Some(now);
            }
            Err(agent::Error::Cancelled) => {}
            Err(_) => counts.failed += 1,
        }
    }

    fn today(&self, now: Millis) -> MutexGuard<'_, Counts> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.day != now.div_euclid(A_DAY) {
            (counts.day, counts.completed, counts.failed) = (now.div_euclid(A_DAY), 0, 0);
        }
        counts
    }
}

/// Beats until told to stop.
pub(super) async fn beat(desk: Arc<Desk>, stop: CancellationToken) {
    let (began, since) = (Instant::now(), desk.bus.clock().now());
    let every = |period| {
        let mut ticks = interval_at(began + period, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    };
    let (mut beats, mut statuses, mut sweeps) = (every(HEARTBEAT), every(STATUS), every(SWEEP));
    let mut measured = (began, process::cpu_seconds());
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = beats.tick() => {
                let counts = desk.stats.today(desk.bus.clock().now()).clone();
                let beat = heartbeat(&counts, began.elapsed(), since, desk.trouble().is_none());
                desk.send_or_tell(Draft::new(SPEAKER, AgentName::ProductManager, beat)).await;
            }
            _ = statuses.tick() => {
                let cpu = process::cpu_seconds();
                let share = match (measured.1, cpu) {
                    (Some(before), Some(now)) => 100.0 * (now - before) / measured.0.elapsed().as_secs_f64().max(1.0),
                    _ => 0.0,
                };
                measured = (Instant::now(), cpu);
                let counts = desk.stats.today(desk.bus.clock().now()).clone();
                let status = status(&desk, &counts, share, since);
                desk.send_or_tell(Draft::new(SPEAKER, AgentName::ProductManager, status)).await;
            }
            _ = sweeps.tick() => match desk.bus.sweep().await {
                Ok(swept) => tracing::debug!(?swept, "old messages were removed"),
                Err(error) => tracing::warn!(error = %chain(&error), "old messages could not be removed"),
            }
        }
    }
}

fn heartbeat(counts: &Counts, up: Duration, since: Millis, well: bool) -> Heartbeat {
    Heartbeat {
        agent_version: Version(env!("CARGO_PKG_VERSION").to_owned()),
        uptime_seconds: Amount::new(up.as_secs_f64().floor()).unwrap_or(Amount::ZERO),
        last_activity: Timestamp::from_millis(counts.last.unwrap_or(since)),
        health_score: Fraction::new(health(counts, well)).unwrap_or(Fraction::ZERO),
    }
}

/// The share of today's tasks that did not fail; half of it while messages do not get through.
fn health(counts: &Counts, well: bool) -> f64 {
    let all = counts.completed + counts.failed;
    let share = if all == 0 { 1.0 } else { counts.completed as f64 / all as f64 };
    if well { share } else { share / 2.0 }
}

fn status(desk: &Desk, counts: &Counts, cpu_percent: f64, since: Millis) -> SystemStatus {
    let well = desk.trouble().is_none();
    let memory = process::resident_bytes().map_or(0.0, |bytes| bytes as f64 / 1e6);
    SystemStatus {
        agent_status: if well { AgentStatus::Healthy } else { AgentStatus::Degraded },
        cpu_usage_percent: Amount::new((cpu_percent * 10.0).round() / 10.0).unwrap_or(Amount::ZERO),
        memory_usage_mb: Amount::new(memory.round()).unwrap_or(Amount::ZERO),
        active_tasks: desk.table.len() as u64,
        completed_tasks_today: counts.completed,
        error_count_today: counts.failed,
        last_successful_operation: Timestamp::from_millis(counts.last_success.unwrap_or(since)),
        performance_metrics: BTreeMap::from([("capacity_taken".to_owned(), desk.load().get())]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_counts_begin_anew_at_midnight() {
        let (stats, clock) = (Stats::default(), Clock::manual(A_DAY - 1));
        let failed = || Err(agent::Error::Scene("a review"));
        stats.ended(&failed(), &clock);
        assert_eq!((stats.today(clock.now()).failed, health(&stats.today(clock.now()).clone(), true)), (1, 0.0));
        clock.advance(2);
        let counts = stats.today(clock.now()).clone();
        assert_eq!((counts.failed, counts.last, health(&counts, false)), (0, Some(A_DAY - 1), 0.5));
    }
}
