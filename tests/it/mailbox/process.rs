//! Several processes on one folder: killed in the middle, sending at once, and one whose system watches nothing for it.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use octoswarm::domain::Clock;
use octoswarm::mailbox::{Bus, Options};

use super::*;

/// One of the ignored tests below, in a process of its own that works on `messages`.
fn child(name: &str, messages: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([&format!("mailbox::process::{name}"), "--exact", "--ignored", "--nocapture"])
        .env("OCTOSWARM_TEST_DIR", messages)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// The rest of the next line that begins so.
fn told(child: &mut Child, beginning: &str) -> String {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let found = lines.into_iter().find_map(|line| line.strip_prefix(beginning).map(str::to_owned));
    found.unwrap_or_else(|| panic!("the child ended without a line that begins with {beginning:?}"))
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").unwrap();
    out.flush().unwrap();
}

fn here() -> PathBuf {
    PathBuf::from(std::env::var("OCTOSWARM_TEST_DIR").expect("started by another test"))
}

#[tokio::test]
#[ignore = "runs in a child process that is killed"]
async fn child_that_claims_and_waits_to_be_killed() {
    let bus = Bus::open(here(), Clock::manual(START), Options { node: "node-b".into(), ..still() }).unwrap();
    let claim = bus.claim(CODER).await.unwrap().expect("a message");
    say(&format!("claimed {} {}", claim.attempt(), claim.envelope().message_id));
    std::future::pending::<()>().await;
    drop(claim);
}

#[tokio::test]
async fn s3_30_what_a_killed_process_held_comes_back_and_counts_as_an_attempt() {
    let post = Post::new();
    let id = post.send(task("poison")).await.message_id;
    for attempt in 1..=4 {
        let mut child = child("child_that_claims_and_waits_to_be_killed", &post.path("")).spawn().unwrap();
        assert_eq!(told(&mut child, "claimed "), format!("{attempt} {id}"));
        post.nothing_for(CODER).await;
        if attempt == 2 {
            // Retention and expiry leave what somebody holds alone.
            post.bus.sweep().await.unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if attempt == 3 {
            // This process could have it as well.
            let claim = post.claim(CODER).await;
            assert_eq!(claim.attempt(), 4);
            claim.ack().await.unwrap();
            post.nothing_for(CODER).await;
            assert_eq!((post.names("processed").len(), post.names("inbox/coder").len()), (1, 0));
            return;
        }
    }
}

#[tokio::test]
async fn s3_30_a_message_that_kills_whoever_handles_it_ends_in_failed() {
    let post = Post::new();
    let id = post.send(task("poison")).await.message_id;
    let mut last = 0;
    for _ in 0..4 {
        let mut child = child("child_that_claims_and_waits_to_be_killed", &post.path("")).spawn().unwrap();
        told(&mut child, "claimed ");
        last = child.id();
        child.kill().unwrap();
        child.wait().unwrap();
    }
    post.nothing_for(CODER).await;
    let reason = post.json(&format!("failed/{id}.error.json"))["reason"].clone();
    assert_eq!(reason, format!("process {last} on node-b ended while it handled the message"));
    assert_eq!(post.report_to(PM).await.error_type, "handling_failed");
}

#[tokio::test]
#[ignore = "runs in a child process"]
async fn child_that_sends() {
    let bus = Bus::open(here(), Clock::manual(START), still()).unwrap();
    let life = std::process::id();
    for n in 0..150 {
        let sent = bus.send(task(&format!("{life}-{n}"))).await.unwrap();
        say(&format!("sent {} {life}-{n}", sent.message_id));
    }
}

#[tokio::test]
async fn s3_02_processes_that_send_at_once_never_overwrite_each_other() {
    let post = Post::new();
    let children: Vec<Child> = (0..3).map(|_| child("child_that_sends", &post.path("")).spawn().unwrap()).collect();
    let mut sent = Vec::new();
    for mut child in children {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        sent.extend(lines.filter_map(|line| line.strip_prefix("sent ").map(str::to_owned)));
        assert!(child.wait().unwrap().success());
    }
    let ids: HashSet<&str> = sent.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!((sent.len(), ids.len()), (450, 450));
    let received = post.bus.receive(CODER).await.unwrap();
    let arrived: HashSet<String> =
        received.iter().map(|envelope| format!("{} {}", envelope.message_id, text_of(envelope))).collect();
    assert_eq!(arrived, sent.into_iter().collect());
    assert_eq!(post.names("outbox/product_manager").len(), 450);
    assert!(post.names("inbox/coder").is_empty());
}

/// What is logged, as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
#[ignore = "runs in a child process that may open few files"]
async fn child_whose_system_watches_nothing() {
    let messages = here();
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt().with_writer(move || writer.clone()).init();
    let options = Options { watch: true, poll: Duration::from_millis(20), ..still() };
    let bus = Bus::open(&messages, Clock::manual(START), options).unwrap();
    // The thread that looks at files is there before the last descriptor is taken.
    assert!(bus.claim(CODER).await.unwrap().is_none());
    let mut taken = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        taken.push(file);
    }
    let mut mailbox = bus.mailbox(CODER).await.unwrap();
    let _other = bus.mailbox(AgentName::Tester).await.unwrap();
    drop(taken);
    mailbox.wait().await;
    let id = "pm_20270115_080000_001";
    drop_in(&messages, CODER, &format!("{id}.json"), &file(id, |_| ()));
    mailbox.wait().await;
    mailbox.claim().await.unwrap().unwrap().ack().await.unwrap();
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    say(&format!("warned {} times", log.matches("the system does not watch the inboxes").count()));
}

#[test]
fn s3_24_without_a_watch_messages_are_found_by_looking_and_the_log_says_so_once() {
    let dir = tempfile::tempdir().unwrap();
    let inner = child("child_whose_system_watches_nothing", dir.path());
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
    let output = limited.env("OCTOSWARM_TEST_DIR", dir.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("\nwarned 1 times"), "{text}");
}
