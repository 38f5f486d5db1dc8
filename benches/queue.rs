//! How many jobs a second go through the store: put in, and claimed and completed by 1, 4 and 16 workers, beside what a
//! bare SQLite commit takes. `cargo bench --bench queue [-- --seconds 3]`; `benches/README.md` says more.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark: it tells the time, prints, and stops where it stands when something fails"
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use octoswarm::domain::{Clock, DeliveryId, Job};
use octoswarm::queue::{Options, Queue};
use octoswarm::store::{NewJob, Store};
use tokio_util::sync::CancellationToken;

use support::table::{Page, rate, ratio};
use support::{limit, scratch, seconds};

const WORKERS: [usize; 3] = [1, 4, 16];
const CALLERS: [usize; 3] = [1, 16, 64];

#[tokio::main]
async fn main() {
    let measured = seconds("seconds", 3.0);
    let mut page = Page::new("queue");
    let commits = limit::sqlite_commits(scratch().path(), measured.min(Duration::from_secs(2))).await;
    page.line("");
    page.line(&format!("- SQLite alone, one small update to a synced commit: {} a second.", rate(commits)));
    page.line("");
    page.head(&["what", "how many at once", "a second", "÷ bare commits"]);
    let mut row = |what: &str, at_once: usize, per_second: f64| {
        page.row(&[what.to_owned(), at_once.to_string(), rate(per_second), ratio(per_second, commits)]);
    };
    for callers in CALLERS {
        row("put in", callers, put_in(callers, measured).await);
    }
    for workers in WORKERS {
        row("claimed and completed", workers, worked(workers, measured).await);
    }
    page.keep();
}

fn job(n: u64) -> Job {
    Job::Delivery { guid: DeliveryId::parse(&format!("job-{n}")).expect("an id") }
}

/// Each caller puts its next job in when the last is on the disk.
async fn put_in(callers: usize, measured: Duration) -> f64 {
    let dir = scratch();
    let store = Store::open(dir.path(), Clock::system()).await.expect("a store");
    let (next, began) = (AtomicU64::new(0), Instant::now());
    join_all((0..callers).map(async |_| {
        while began.elapsed() < measured {
            let n = next.fetch_add(1, Ordering::Relaxed);
            store.enqueue(&job(n), NewJob::at(0)).await.expect("a job is put in");
        }
    }))
    .await;
    next.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}

/// A handler that does nothing: what is left is claiming, beating and completing.
async fn worked(workers: usize, measured: Duration) -> f64 {
    let dir = scratch();
    let store = Store::open(dir.path(), Clock::system()).await.expect("a store");
    // More than can be done in the time, so that a queue of a usual length is worked on to the end.
    let waiting = (measured.as_secs_f64() * 8_000.0) as u64;
    for from in (0..waiting).step_by(500) {
        let new = || NewJob::at(0);
        let put = (from..waiting.min(from + 500)).map(async |n| store.enqueue(&job(n), new()).await);
        for put in join_all(put).await {
            put.expect("a job is put in");
        }
    }
    let done = Arc::new(AtomicU64::new(0));
    let shutdown = CancellationToken::new();
    let queue = Queue::new(store, Options { workers, ..Options::default() });
    let counter = done.clone();
    let handler = move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }
    };
    let began = Instant::now();
    let work = queue.run(handler, shutdown.clone());
    let watch = async {
        while began.elapsed() < measured && done.load(Ordering::Relaxed) < waiting {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        shutdown.cancel();
    };
    tokio::join!(work, watch);
    done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}
