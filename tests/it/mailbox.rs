//! The message bus over real folders, beside other processes: nothing lost, nothing overwritten, nothing handled by two.

mod bus;
mod docs;
mod failing;
mod process;

use std::path::{Path, PathBuf};
use std::time::Duration;

use octoswarm::domain::{Clock, Millis};
use octoswarm::mailbox::content::{ErrorReport, Level, TaskAssignment};
use octoswarm::mailbox::{AgentName, Bus, Claim, Content, Draft, Envelope, Options, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;

const START: Millis = 1_800_000_000_000;
const SECOND: Millis = 1000;
const DAY: Millis = 24 * 60 * 60 * SECOND;
const PM: AgentName = AgentName::ProductManager;
const CODER: AgentName = AgentName::Coder;

/// A bus on a folder of its own, with a clock that stands still.
struct Post {
    dir: TempDir,
    clock: Clock,
    bus: Bus,
}

impl Post {
    fn new() -> Self {
        Self::at(START)
    }

    fn at(now: Millis) -> Self {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Clock::manual(now));
        let bus = Bus::open(dir.path().join("messages"), clock.clone(), still()).unwrap();
        Self { dir, clock, bus }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join("messages").join(path)
    }

    /// As a program of somebody else does it: written beside, then renamed.
    fn drop_in(&self, to: AgentName, name: &str, text: &str) {
        drop_in(&self.dir.path().join("messages"), to, name, text);
    }

    /// The names in a folder, sorted.
    fn names(&self, folder: &str) -> Vec<String> {
        names(&self.path(folder))
    }

    fn json(&self, path: &str) -> Value {
        let path = self.path(path);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap()
    }

    async fn claim(&self, agent: AgentName) -> Claim {
        self.bus.claim(agent).await.unwrap().expect("a message")
    }

    async fn nothing_for(&self, agent: AgentName) {
        let claim = self.bus.claim(agent).await.unwrap();
        assert!(claim.is_none(), "{:?}", claim.unwrap().envelope());
    }

    async fn send(&self, draft: Draft) -> Envelope {
        self.bus.send(draft).await.unwrap()
    }

    /// The one report that an agent gets.
    async fn report_to(&self, agent: AgentName) -> ErrorReport {
        let claim = self.claim(agent).await;
        let Content::ErrorReport(report) = claim.content().clone() else { panic!("{:?}", claim.envelope()) };
        assert_eq!(claim.envelope().reply_to, report.related_task_id);
        claim.ack().await.unwrap();
        self.nothing_for(agent).await;
        report
    }
}

/// Nothing happens by the passing of time or by the system's word unless a test says so.
fn still() -> Options {
    let hour = Duration::from_secs(3600);
    Options { node: "node-a".into(), retry_wait: Duration::from_secs(10), poll: hour, watch: false }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn drop_in(messages: &Path, to: AgentName, name: &str, text: &str) {
    let inbox = messages.join("inbox").join(to.as_str());
    std::fs::create_dir_all(&inbox).unwrap();
    std::fs::write(inbox.join(format!("{name}.tmp")), text).unwrap();
    std::fs::rename(inbox.join(format!("{name}.tmp")), inbox.join(name)).unwrap();
}

fn assignment(text: &str) -> TaskAssignment {
    TaskAssignment {
        task_type: "code_changes".into(),
        focus_area: "octo/calc#7".into(),
        target_pairs: vec!["src/lib.rs".into()],
        timeframe: "main".into(),
        data_sources: vec!["codebase-map.json".into()],
        deadline: Timestamp::from_millis(START + DAY),
        output_format: "code-changes.json".into(),
        special_instructions: Some(text.into()),
    }
}

fn task(text: &str) -> Draft {
    Draft::new(PM, CODER, assignment(text))
}

fn report(text: &str) -> ErrorReport {
    ErrorReport {
        error_type: "api_failure".into(),
        error_message: text.into(),
        context: serde_json::Map::new(),
        stack_trace: None,
        recovery_action: None,
        impact_level: Level::Low,
        related_task_id: None,
    }
}

/// What tells the messages of a test apart.
fn text_of(envelope: &Envelope) -> String {
    envelope.content["special_instructions"].as_str().unwrap_or_default().to_owned()
}

/// A sound message as a file; `change` spoils it.
fn file(id: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut message = json!({
        "message_id": id, "from": "product_manager", "to": "coder", "type": "task_assignment",
        "timestamp": "2027-01-15T08:00:00Z", "content": assignment("from outside"),
    });
    change(&mut message);
    message.to_string()
}
