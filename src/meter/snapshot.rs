//! What is not counted but read when somebody asks: rows, files, the process.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;

use super::{RateLimit, lock, millis};
use crate::domain::{Job, Millis};

#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub at: Millis,
    pub started_at: Millis,
    /// Jobs that are not over, and those that were given up, by kind and state.
    pub jobs: Vec<(&'static str, &'static str, u64)>,
    /// How long the job that is due and waits longest has waited; nothing is due without it.
    pub oldest_due: Option<Duration>,
    /// The rows could not be read: their figures are left out rather than shown as nothing.
    pub unread: bool,
    /// The database's file, and its write-ahead log.
    pub database_bytes: [(&'static str, u64); 2],
    pub process: Process,
    /// Filled by the meter: what GitHub said last about each account.
    pub limits: Vec<((u64, &'static str), RateLimit)>,
}

/// What the system says of this process; Linux only.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Process {
    pub cpu: Option<f64>,
    pub resident_bytes: Option<u64>,
    pub open_fds: Option<u64>,
    pub max_fds: Option<u64>,
}

/// The latest one, where the registry finds it.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Snapshot>>);

impl Shared {
    pub(super) fn set(&self, snapshot: Snapshot) {
        *lock(&self.0) = snapshot;
    }
}

impl Collector for Shared {
    fn encode(&self, encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let now = lock(&self.0).clone();
        let mut out = Out(encoder);
        let build =
            [("version", env!("CARGO_PKG_VERSION")), ("os", std::env::consts::OS), ("arch", std::env::consts::ARCH)];
        out.gauges("octoswarm_build_info", "Always 1; the labels tell which build this is", [(build, 1_u64)])?;
        if !now.unread {
            let jobs = Job::KINDS.iter().flat_map(|kind| STATES.iter().map(|state| (*kind, *state)));
            let count = |(kind, state)| {
                let found = now.jobs.iter().find(|(k, s, _)| (*k, *s) == (kind, state));
                ([("kind", kind), ("state", state)], found.map_or(0, |(_, _, count)| *count))
            };
            out.gauges("octoswarm_jobs", "Jobs that are not over, and those that were given up", jobs.map(count))?;
            let oldest = now.oldest_due.unwrap_or_default().as_secs_f64();
            out.gauge(
                "octoswarm_jobs_oldest_due_seconds",
                "How long the job that is due and waits longest has waited",
                oldest,
            )?;
        }
        let files = now.database_bytes.map(|(file, bytes)| ([("file", file)], bytes));
        out.gauges("octoswarm_database_bytes", "Size of the database's file and of its write-ahead log", files)?;

        type Figure = fn(&RateLimit) -> u64;
        let limits: [(&str, &str, Figure); 3] = [
            ("octoswarm_github_rate_limit", "Requests that an installation has per hour", |limit| limit.limit),
            ("octoswarm_github_rate_limit_remaining", "Requests that are left until the reset", |limit| limit.left),
            ("octoswarm_github_rate_limit_reset_timestamp_seconds", "When the account is full again", |l| l.reset_at),
        ];
        for (name, help, figure) in limits {
            let rows = now.limits.iter().map(|((installation, resource), limit)| {
                let labels = vec![("installation", installation.to_string()), ("resource", (*resource).to_owned())];
                (labels, figure(limit))
            });
            out.gauges(name, help, rows)?;
        }

        out.gauge("process_start_time_seconds", "When the process started", millis(now.started_at))?;
        if let Some(cpu) = now.process.cpu {
            let help = "Processor time that the process has taken";
            let metric = out.0.encode_descriptor("process_cpu_seconds", help, None, MetricType::Counter)?;
            ConstCounter::new(cpu).encode(metric)?;
        }
        let figures = [
            ("process_resident_memory_bytes", "Memory of the process that is in RAM", now.process.resident_bytes),
            ("process_open_fds", "File descriptors that are open", now.process.open_fds),
            ("process_max_fds", "File descriptors that may be open", now.process.max_fds),
        ];
        for (name, help, figure) in figures {
            if let Some(figure) = figure {
                out.gauge(name, help, figure)?;
            }
        }
        Ok(())
    }
}

const STATES: [&str; 5] = ["available", "scheduled", "running", "retryable", "discarded"];

struct Out<'a>(DescriptorEncoder<'a>);

impl Out<'_> {
    fn gauges<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in rows {
            metric.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl EncodeGaugeValue) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
    }
}
