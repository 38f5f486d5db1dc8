//! How soon a message arrives and is handled at 100 a second, and how many a second can be sent and handled, beside what the
//! disk's folders can do. `cargo bench --bench mailbox [-- --seconds 3]`; `benches/README.md` says more.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark: it tells the time, prints, writes bare files, and stops where it stands when something fails"
)]

mod support;

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use octoswarm::domain::Clock;
use octoswarm::mailbox::content::TaskAssignment;
use octoswarm::mailbox::{AgentName, Bus, Draft, MessageId, Options, Timestamp};
use tokio::sync::mpsc;

use support::table::{Page, milliseconds, rate, ratio};
use support::{scratch, seconds};

const CODER: AgentName = AgentName::Coder;
/// A second.
const STEADY: u32 = 100;
/// As many as wait when messages are sent and handled in turns: half of what an inbox takes.
const BATCH: usize = 500;
/// Characters of free text; the rest of a message takes half a kilobyte.
const SIZES: [usize; 2] = [100, 64 * 1024];

#[tokio::main]
async fn main() {
    let measured = seconds("seconds", 3.0);
    let mut page = Page::new("mailbox");
    page.head(&["at 100 a second, woken by", "messages", "delivery p50", "p99", "longest", "handling p50", "p99"]);
    for (how, same, watch) in [
        ("the sender, in this process", true, true),
        ("the system, as from another process", false, true),
        ("looking every 250 ms", false, false),
    ] {
        let seen = steady(same, watch, measured).await;
        page.row(&[
            how.to_owned(),
            seen.delivery.len().to_string(),
            milliseconds(quantile(&seen.delivery, 0.5)),
            milliseconds(quantile(&seen.delivery, 0.99)),
            milliseconds(quantile(&seen.delivery, 1.0)),
            milliseconds(quantile(&seen.handling, 0.5)),
            milliseconds(quantile(&seen.handling, 0.99)),
        ]);
    }
    page.line("");
    page.head(&["flat out", "bytes", "a second", "beside it", "a second", "÷"]);
    for size in SIZES {
        let flat = flat_out(size, measured).await;
        let written = bare(flat.bytes, measured, |staged, path, bytes| {
            std::fs::write(staged, bytes).expect("a file");
            std::fs::rename(staged, path).expect("a rename");
        });
        let mut there = false;
        let renamed = bare(flat.bytes, measured, |one, other, bytes| {
            if !there {
                std::fs::write(one, bytes).expect("a file");
                there = true;
            }
            std::fs::rename(one, other).expect("a rename");
            std::fs::rename(other, one).expect("a rename back");
        });
        let mut row = |what: &str, ours: f64, beside: &str, limit: f64| {
            let bytes = flat.bytes.to_string();
            page.row(&[what.to_owned(), bytes, rate(ours), beside.to_owned(), rate(limit), ratio(ours, limit)]);
        };
        row("sent", flat.sent, "written and renamed", written);
        row("claimed and acknowledged", flat.handled, "renamed twice", renamed);
        row("received", flat.received, "renamed twice", renamed);
    }
    page.keep();
}

fn task(size: usize) -> Draft {
    let content = TaskAssignment {
        task_type: "code_changes".into(),
        focus_area: "octo/calc#7".into(),
        target_pairs: vec!["src/lib.rs".into()],
        timeframe: "main".into(),
        data_sources: vec!["codebase-map.json".into()],
        deadline: Timestamp::from_millis(Clock::system().now()),
        output_format: "code-changes.json".into(),
        special_instructions: Some("x".repeat(size)),
    };
    Draft::new(AgentName::ProductManager, CODER, content)
}

fn quantile(sorted: &[Duration], q: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * q).round() as usize).copied().unwrap_or_default()
}

/// Sorted.
struct Seen {
    /// From before it was sent until it was claimed.
    delivery: Vec<Duration>,
    /// From the claim's beginning until it was acknowledged.
    handling: Vec<Duration>,
}

/// A sender that sends every 10 ms, and a reader that waits.
async fn steady(same: bool, watch: bool, measured: Duration) -> Seen {
    let dir = scratch();
    let open = |watch| Bus::open(dir.path(), Clock::system(), Options { watch, ..Options::default() }).expect("a bus");
    let reader = open(watch);
    // A bus of its own shares nothing with the reader's but the files.
    let sender = if same { reader.clone() } else { open(false) };
    let mut mailbox = reader.mailbox(CODER).await.expect("a mailbox");
    let messages = (measured.as_secs_f64() * f64::from(STEADY)).max(1.0) as usize;
    let (tell, mut told) = mpsc::unbounded_channel::<(MessageId, Instant)>();
    let sending = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / STEADY);
        for _ in 0..messages {
            ticks.tick().await;
            let began = Instant::now();
            let sent = sender.send(task(SIZES[0])).await.expect("a message is sent");
            tell.send((sent.message_id, began)).expect("somebody listens");
        }
    });
    let (mut claimed, mut handling) = (Vec::new(), Vec::new());
    while claimed.len() < messages {
        mailbox.wait().await;
        loop {
            let began = Instant::now();
            let Some(claim) = mailbox.claim().await.expect("a claim") else { break };
            claimed.push((claim.envelope().message_id.clone(), Instant::now()));
            claim.ack().await.expect("an acknowledgement");
            handling.push(began.elapsed());
        }
    }
    sending.await.expect("the sender");
    let mut sent = HashMap::new();
    while let Ok((id, began)) = told.try_recv() {
        sent.insert(id, began);
    }
    let mut delivery: Vec<Duration> = claimed.iter().map(|(id, at)| at.duration_since(sent[id])).collect();
    delivery.sort_unstable();
    handling.sort_unstable();
    Seen { delivery, handling }
}

/// Messages a second.
struct Flat {
    bytes: usize,
    sent: f64,
    handled: f64,
    received: f64,
}

/// Batches are sent, claimed and acknowledged one by one, sent again, and received at once.
async fn flat_out(size: usize, measured: Duration) -> Flat {
    let dir = scratch();
    let bus = Bus::open(dir.path(), Clock::system(), Options::default()).expect("a bus");
    let (mut sent, mut handled, mut received) = (Timed::default(), Timed::default(), Timed::default());
    let mut bytes = 0;
    while sent.spent + handled.spent + received.spent < measured {
        for one_by_one in [true, false] {
            let began = Instant::now();
            for _ in 0..BATCH {
                bus.send(task(size)).await.expect("a message is sent");
            }
            sent.add(BATCH, began);
            bytes = size_of_one(&dir.path().join("inbox/coder"));
            let began = Instant::now();
            if one_by_one {
                while let Some(claim) = bus.claim(CODER).await.expect("a claim") {
                    claim.ack().await.expect("an acknowledgement");
                }
                handled.add(BATCH, began);
            } else {
                let all = bus.receive(CODER).await.expect("all that waits");
                received.add(all.len(), began);
            }
        }
    }
    Flat { bytes, sent: sent.per_second(), handled: handled.per_second(), received: received.per_second() }
}

#[derive(Default)]
struct Timed {
    count: usize,
    spent: Duration,
}

impl Timed {
    fn add(&mut self, count: usize, began: Instant) {
        self.count += count;
        self.spent += began.elapsed();
    }

    fn per_second(&self) -> f64 {
        self.count as f64 / self.spent.as_secs_f64()
    }
}

fn size_of_one(folder: &Path) -> usize {
    let entry = std::fs::read_dir(folder).expect("an inbox").next().expect("a message").expect("an entry");
    usize::try_from(entry.metadata().expect("its size").len()).expect("a small file")
}

/// The same work on bare files: how many times a second, given a first name, a second name and the bytes.
fn bare(bytes: usize, measured: Duration, mut work: impl FnMut(&Path, &Path, &[u8])) -> f64 {
    let dir = scratch();
    let bytes = vec![b'x'; bytes];
    let staged = dir.path().join("staged.tmp");
    let (began, mut count) = (Instant::now(), 0_u32);
    while began.elapsed() < measured {
        work(&staged, &dir.path().join(format!("{}.json", count % 1000)), &bytes);
        count += 1;
    }
    f64::from(count) / began.elapsed().as_secs_f64()
}
