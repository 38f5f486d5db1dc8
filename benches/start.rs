//! How soon the server is there and what it takes while nothing happens. `cargo bench --bench start`; `benches/README.md`
//! says more.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark: it starts processes, tells the time, prints, and stops where it stands when something fails"
)]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::future::join_all;
use octoswarm::domain::{Clock, DeliveryId};
use octoswarm::store::{NewDelivery, Store, Target};
use sqlx::ConnectOptions;

use support::load::Plan;
use support::process::{Serve, Server, Usage, write_key};
use support::table::{Page, megabytes, milliseconds};
use support::{option, scratch, seconds};

fn main() {
    let starts = option("starts", 11.0) as usize;
    let rows = option("rows", 100_000.0) as u64;
    let mut page = Page::new("start");
    page.head(&["state", "starts", "listening after, median", "slowest", "/readyz after, median", "slowest"]);
    let empty = scratch();
    let bench = Bench::new(empty.path());
    bench.started(&mut page, "empty", empty.path(), starts);
    let full = scratch();
    fill(full.path(), rows);
    bench.started(&mut page, &format!("{rows} deliveries and their jobs, {}", size(full.path())), full.path(), starts);

    page.line("");
    page.head(&["server", "resident", "not shared", "peak", "threads", "CPU"]);
    let idle = seconds("idle", 30.0);
    let server = bench.serve(empty.path()).start();
    ready(server.address);
    std::thread::sleep(Duration::from_secs(2));
    account(&mut page, "idle", &server, idle);
    let load = seconds("seconds", 3.0);
    let plan = Plan {
        address: server.address,
        path: "/webhook",
        event: "pull_request",
        action: "labeled",
        connections: 64,
        warm_up: Duration::from_millis(200),
        measured: load,
    };
    let seen = plan.run(|| ());
    std::thread::sleep(Duration::from_secs(10));
    let after = format!("10 s after {} deliveries at 64 connections", seen.answered);
    account(&mut page, &after, &server, Duration::from_secs(5));
    server.stop();
    page.keep();
}

struct Bench {
    key: PathBuf,
    api: String,
}

impl Bench {
    fn new(dir: &Path) -> Self {
        let key = dir.join("app.pem");
        write_key(&key);
        Self { key, api: Serve::nobody() }
    }

    fn serve<'a>(&'a self, state: &'a Path) -> Serve<'a> {
        Serve { state, key: &self.key, api: self.api.clone(), variables: Vec::new() }
    }

    /// Starts it again and again; the first is left out, since it makes the database and reads the program from the disk.
    fn started(&self, page: &mut Page, name: &str, state: &Path, starts: usize) {
        let (mut listening, mut readied) = (Vec::new(), Vec::new());
        for _ in 0..=starts {
            let began = Instant::now();
            let server = self.serve(state).start();
            ready(server.address);
            readied.push(began.elapsed());
            listening.push(server.listening_after);
            server.stop();
        }
        let mut cells = vec![name.to_owned(), starts.to_string()];
        for times in [&mut listening, &mut readied] {
            times.remove(0);
            times.sort_unstable();
            cells.push(milliseconds(times[times.len() / 2]));
            cells.push(milliseconds(times[times.len() - 1]));
        }
        page.row(&cells);
    }
}

/// Returns once `/readyz` says yes.
fn ready(address: SocketAddr) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while Instant::now() < deadline {
        let mut stream = TcpStream::connect(address).expect("the server takes connections");
        let head = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers");
        if answer.starts_with("HTTP/1.1 200") {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the server does not get ready");
}

/// What it takes over that time.
fn account(page: &mut Page, name: &str, server: &Server, over: Duration) {
    let before: Usage = server.usage();
    std::thread::sleep(over);
    let after = server.usage();
    let cpu = after.cpu.saturating_sub(before.cpu);
    page.row(&[
        name.to_owned(),
        megabytes(after.resident),
        megabytes(after.anonymous),
        megabytes(after.peak),
        after.threads.to_string(),
        format!("{} in {} s", milliseconds(cpu), over.as_secs()),
    ]);
}

/// A state with a past: deliveries of 2 KB and their jobs, all done.
fn fill(dir: &Path, rows: u64) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open(dir, Clock::system()).await.expect("a store");
        for from in (0..rows).step_by(1000) {
            let taken = (from..rows.min(from + 1000)).map(|n| store.accept(delivery(n, store.clock().now())));
            for taken in join_all(taken).await {
                taken.expect("a delivery is stored");
            }
        }
    });
    drop(runtime);
    // Handling them one by one is for the other benchmarks.
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let path = dir.join("octoswarm.db");
        let mut conn = sqlx::sqlite::SqliteConnectOptions::new().filename(path).connect().await.expect("the database");
        for sql in [
            "UPDATE delivery SET state = 'ignored', reason = 'asks for nothing', settled_at = received_at + 9",
            "UPDATE job SET state = 'completed', attempt = 1, started_at = created_at + 5, finished_at = created_at + 9",
        ] {
            sqlx::query(sql).execute(&mut conn).await.expect("an update");
        }
    });
}

fn delivery(n: u64, now: i64) -> NewDelivery {
    NewDelivery {
        guid: DeliveryId::parse(&format!("{:08x}-6b1f-11f0-9a53-{n:012x}", n.wrapping_mul(0x9e37_79b9) & 0xffff_ffff))
            .expect("an id"),
        event: "pull_request".to_owned(),
        body: format!("{{\"n\":{n},\"text\":\"{}\"}}", "a word and another ".repeat(105)).into(),
        target: Target::default(),
        received_at: now,
    }
}

fn size(dir: &Path) -> String {
    let bytes = std::fs::metadata(dir.join("octoswarm.db")).map_or(0, |meta| meta.len());
    format!("{} MB", bytes / 1_000_000)
}
