//! Counts what happens, for `/metrics`: one meter for one `App`, handed on with its store and its GitHub client.
//!
//! Promise: the number of series is bounded whatever strangers send; counting never waits and never fails.
//! Never: no repository, login, path or text of anybody's; nothing is decided by a count.
//!
//! `prometheus-client` rather than the `metrics` facade: its registry is a value, so several Apps in one process (every
//! test has one) count apart from each other, where the facade has one recorder for the whole process.

mod render;
mod snapshot;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::domain::{Category, Job, Severity};

pub use render::Format;
pub use snapshot::{Process, Snapshot};

/// Values of labels are known when the program is built: what strangers send cannot become one.
type Labels<const N: usize> = [(&'static str, &'static str); N];
type Counters<const N: usize> = Family<Labels<N>, Counter>;
type Seconds<const N: usize> = Family<Labels<N>, Counter<f64, std::sync::atomic::AtomicU64>>;
type Histograms<const N: usize> = Family<Labels<N>, Histogram, Buckets>;

/// An answer to GitHub; a durable commit takes a few milliseconds, and GitHub hangs up after ten seconds.
const QUICK: Buckets = Buckets(&[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]);
/// A request to GitHub; ours end after thirty seconds.
const CALL: Buckets = Buckets(&[0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0]);
/// Work, up to the half hour that an attempt may take.
const WORK: Buckets = Buckets(&[0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0]);

/// How the door answers what it does not take.
pub const REFUSALS: [&str; 9] =
    ["unsigned", "too-large", "too-slow", "crowded", "broken-off", "content-type", "malformed", "method", "not-stored"];
/// How an attempt at a job ends.
const ATTEMPTS: [&str; 6] = ["completed", "retried", "postponed", "discarded", "cancelled", "lease-lost"];
const FLOWS: [&str; 6] = ["review", "fix", "test", "contribute", "monitor", "audit"];
const RUN_OUTCOMES: [&str; 17] = [
    "clean",
    "findings",
    "nothing-to-review",
    "could-not-review",
    "changed",
    "declined",
    "nothing-to-do",
    "passed",
    "checks-failed",
    "not-run",
    "watched",
    "merged",
    "closed",
    "abandoned",
    "escalated",
    "failed",
    "cancelled",
];
const EFFECTS: [&str; 8] =
    ["check", "check-update", "comment", "pull-request", "push", "resolve", "review", "review-body"];
const CATCH_UP: [&str; 3] = ["redelivered", "taken", "lost"];
/// Installations whose limits are shown; the App works on with more.
const INSTALLATIONS: usize = 200;

/// What one App has counted since it started.
#[derive(Debug)]
pub struct Meter {
    registry: Registry,
    snapshot: snapshot::Shared,
    received: Counters<2>,
    refused: Counters<1>,
    acknowledged: Histogram,
    settled: Counters<2>,
    lag: Histogram,
    attempts: Counters<2>,
    attempt_seconds: Histograms<1>,
    runs: Counters<2>,
    steps: Counters<2>,
    step_seconds: Histograms<1>,
    step_retries: Counters<1>,
    findings: Counters<2>,
    effects: Counters<2>,
    requests: Counters<2>,
    request_seconds: Histograms<1>,
    limited: Counters<1>,
    waits: Seconds<1>,
    caught_up: Counters<1>,
    catch_up_passes: Counters<1>,
    caught_up_at: Gauge<f64, std::sync::atomic::AtomicU64>,
    limits: Mutex<HashMap<(u64, &'static str), RateLimit>>,
}

/// What GitHub's headers said last about one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    pub limit: u64,
    pub left: u64,
    /// Seconds since the epoch.
    pub reset_at: u64,
}

#[derive(Debug, Clone)]
struct Buckets(&'static [f64]);

impl Buckets {
    fn one(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        self.one()
    }
}

impl Default for Meter {
    fn default() -> Self {
        let meter = Self {
            registry: Registry::default(),
            snapshot: snapshot::Shared::default(),
            received: Family::default(),
            refused: Family::default(),
            acknowledged: QUICK.one(),
            settled: Family::default(),
            lag: WORK.one(),
            attempts: Family::default(),
            attempt_seconds: Family::new_with_constructor(WORK),
            runs: Family::default(),
            steps: Family::default(),
            step_seconds: Family::new_with_constructor(WORK),
            step_retries: Family::default(),
            findings: Family::default(),
            effects: Family::default(),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(CALL),
            limited: Family::default(),
            waits: Family::default(),
            caught_up: Family::default(),
            catch_up_passes: Family::default(),
            caught_up_at: Gauge::default(),
            limits: Mutex::default(),
        };
        meter.begin_at_zero();
        meter.registered()
    }
}

impl Meter {
    /// A counter that appears with its first event shows no increase for it: those that alerts stand on are there from the start.
    fn begin_at_zero(&self) {
        for reason in REFUSALS {
            let _ = self.refused.get_or_create(&[("reason", reason)]);
        }
        for kind in Job::KINDS {
            for outcome in ATTEMPTS {
                let _ = self.attempts.get_or_create(&[("kind", kind), ("outcome", outcome)]);
            }
        }
        for action in CATCH_UP {
            let _ = self.caught_up.get_or_create(&[("action", action)]);
        }
        for outcome in ["done", "failed"] {
            let _ = self.catch_up_passes.get_or_create(&[("outcome", outcome)]);
        }
        for flow in FLOWS {
            for outcome in ["failed", "cancelled"] {
                let _ = self.runs.get_or_create(&[("flow", flow), ("outcome", outcome)]);
            }
        }
        for resource in ["rest", "graphql"] {
            let _ = self.limited.get_or_create(&[("resource", resource)]);
        }
        for cause in ["pace", "limit"] {
            let _ = self.waits.get_or_create(&[("cause", cause)]);
        }
    }

    fn registered(mut self) -> Self {
        macro_rules! register {
            ($($name:literal, $field:ident, $help:literal;)*) => {
                $(self.registry.register($name, $help, self.$field.clone());)*
            };
        }
        register! {
            "octoswarm_deliveries_received", received, "Deliveries with a valid signature, by what the door did with them";
            "octoswarm_webhook_refused", refused, "Requests to the webhook that were refused; nothing of them was kept";
            "octoswarm_webhook_ack_seconds", acknowledged, "From a delivery's head to its acknowledgement, body and commit included";
            "octoswarm_deliveries_settled", settled, "Deliveries that were read, by what they led to";
            "octoswarm_delivery_lag_seconds", lag, "From a delivery's receipt until it was read and routed";
            "octoswarm_job_attempts", attempts, "Attempts at jobs, by how they ended";
            "octoswarm_job_attempt_duration_seconds", attempt_seconds, "How long an attempt at a job ran";
            "octoswarm_runs", runs, "Runs of a flow, by what they came to";
            "octoswarm_steps", steps, "Steps of runs, by how they ended";
            "octoswarm_step_duration_seconds", step_seconds, "How long an agent worked on a step";
            "octoswarm_step_retries", step_retries, "Attempts at steps beyond the first, after one that failed";
            "octoswarm_findings", findings, "Findings of finished reviews; each review of a pull request counts its own";
            "octoswarm_effects", effects, "What was said to GitHub, by how it was proved";
            "octoswarm_github_requests", requests, "Requests to GitHub's API, by the class of the answer";
            "octoswarm_github_request_duration_seconds", request_seconds, "From sending a request to GitHub to the last byte of its answer";
            "octoswarm_github_limited", limited, "Answers of GitHub that refused a request because of a limit";
            "octoswarm_github_wait_seconds", waits, "Time that requests waited for their pace, and that GitHub's limits asked for";
            "octoswarm_catch_up_deliveries", caught_up, "Deliveries that were missed and found in the App's delivery log";
            "octoswarm_catch_up_passes", catch_up_passes, "Passes over the App's delivery log";
            "octoswarm_catch_up_last_success_timestamp_seconds", caught_up_at, "When a pass over the App's delivery log last came to its end";
        }
        self.registry.register_collector(Box::new(self.snapshot.clone()));
        self
    }

    /// A delivery was stored, or known: its signature was verified.
    pub fn received(&self, event: &'static str, outcome: &'static str, took: Duration) {
        self.received.get_or_create(&[("event", event), ("outcome", outcome)]).inc();
        self.acknowledged.observe(took.as_secs_f64());
    }

    /// The door said no, for one of [`REFUSALS`].
    pub fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&[("reason", reason)]).inc();
    }

    /// A delivery was read, so many milliseconds after it came.
    pub fn settled(&self, event: &'static str, state: &'static str, lag_ms: i64) {
        self.settled.get_or_create(&[("event", event), ("state", state)]).inc();
        self.lag.observe(millis(lag_ms));
    }

    pub fn attempt(&self, kind: &'static str, outcome: &'static str, took: Duration) {
        self.attempts.get_or_create(&[("kind", kind), ("outcome", outcome)]).inc();
        self.attempt_seconds.get_or_create(&[("kind", kind)]).observe(took.as_secs_f64());
    }

    pub fn run(&self, flow: &'static str, outcome: &'static str) {
        debug_assert!(RUN_OUTCOMES.contains(&outcome), "{outcome}");
        self.runs.get_or_create(&[("flow", flow), ("outcome", outcome)]).inc();
    }

    /// So many attempts at a step came after one that failed.
    pub fn retries(&self, role: &'static str, more: u64) {
        self.step_retries.get_or_create(&[("role", role)]).inc_by(more);
    }

    /// `took` is absent where nobody worked: the document was known.
    pub fn step(&self, role: &'static str, outcome: &'static str, took: Option<Duration>) {
        self.steps.get_or_create(&[("role", role), ("outcome", outcome)]).inc();
        if let Some(took) = took {
            self.step_seconds.get_or_create(&[("role", role)]).observe(took.as_secs_f64());
        }
    }

    pub fn finding(&self, category: Category, severity: Severity) {
        self.findings.get_or_create(&[("category", category.name()), ("severity", severity.name())]).inc();
    }

    /// `posted` by this process, `found` there although nothing had been noted, or `refused`.
    pub fn effect(&self, kind: &str, outcome: &'static str) {
        let kind = EFFECTS.into_iter().find(|known| *known == kind).unwrap_or("other");
        self.effects.get_or_create(&[("kind", kind), ("outcome", outcome)]).inc();
    }

    /// `status` is absent where no answer came.
    pub fn request(&self, endpoint: &'static str, status: Option<u16>, took: Duration) {
        let class = match status {
            Some(200..300) => "2xx",
            Some(300..400) => "3xx",
            Some(400..500) => "4xx",
            Some(_) => "5xx",
            None => "none",
        };
        self.requests.get_or_create(&[("endpoint", endpoint), ("status", class)]).inc();
        self.request_seconds.get_or_create(&[("endpoint", endpoint)]).observe(took.as_secs_f64());
    }

    /// GitHub asked for a wait.
    pub fn limited(&self, resource: &'static str, wait: Duration) {
        self.limited.get_or_create(&[("resource", resource)]).inc();
        self.waits.get_or_create(&[("cause", "limit")]).inc_by(wait.as_secs_f64());
    }

    /// A write waited for its turn.
    pub fn paced(&self, waited: Duration) {
        self.waits.get_or_create(&[("cause", "pace")]).inc_by(waited.as_secs_f64());
    }

    /// What GitHub's headers say about an installation's account; 0 is the App itself.
    pub fn rate_limit(&self, installation: u64, resource: &'static str, limit: RateLimit) {
        let mut limits = lock(&self.limits);
        let known = limits.contains_key(&(installation, resource));
        if known || limits.len() < 2 * INSTALLATIONS {
            limits.insert((installation, resource), limit);
        }
    }

    pub fn caught_up(&self, action: &'static str, count: usize) {
        self.caught_up.get_or_create(&[("action", action)]).inc_by(count as u64);
    }

    /// A pass over the delivery log ended; `at` is in milliseconds since the epoch.
    pub fn caught_up_pass(&self, done: bool, at: i64) {
        self.catch_up_passes.get_or_create(&[("outcome", if done { "done" } else { "failed" })]).inc();
        if done {
            self.caught_up_at.set(millis(at));
        }
    }

    /// All of it as text, with what was read for this answer. An hour that is over says nothing about the account any more.
    ///
    /// # Errors
    /// None in practice: a string takes all that is written to it.
    pub fn render(&self, mut now: Snapshot, format: Format) -> Result<String, std::fmt::Error> {
        let second = u64::try_from(now.at / 1_000).unwrap_or_default();
        {
            let mut limits = lock(&self.limits);
            limits.retain(|_, limit| limit.reset_at >= second);
            now.limits = limits.iter().map(|(key, limit)| (*key, *limit)).collect();
        }
        now.limits.sort_unstable_by_key(|(key, _)| *key);
        self.snapshot.set(now);
        render::text(&self.registry, format)
    }
}

fn millis(ms: i64) -> f64 {
    // Exact up to 2^53 ms, which is the year 287396.
    #[expect(clippy::cast_precision_loss, reason = "see above")]
    let seconds = ms as f64 / 1_000.0;
    seconds.max(0.0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
