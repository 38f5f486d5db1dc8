//! What lies between the agents: where in a dispatch the server dies, and what it left there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Between two messages of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// An assignment lies in its inbox, and nobody has accepted it.
    Unaccepted,
    /// A result lies in the orchestrator's inbox, and is not acknowledged.
    Unacknowledged,
}

/// A message in a gap: its file without its ending.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hanging(PathBuf);

impl Gap {
    /// What lies in it now.
    pub fn look(self, state: &Path) -> BTreeSet<Hanging> {
        let inbox = state.join("messages/inbox");
        let (folders, kind) = match self {
            Self::Unaccepted => (entries(&inbox), "task_assignment"),
            Self::Unacknowledged => (vec![inbox.join("product_manager")], "research_result"),
        };
        let files = folders.iter().flat_map(|folder| entries(folder));
        let is_one = |path: &PathBuf| {
            let waits = path.extension().is_some_and(|ending| ending == "json" || ending == "claimed");
            waits && read(path).is_some_and(|message| message["type"] == kind && message["from"] != "webhook")
        };
        files.filter(is_one).map(|path| Hanging(path.with_extension(""))).collect()
    }

    /// Whether a dead server left it there.
    pub fn holds(self, state: &Path, hanging: &Hanging) -> bool {
        let is_left = ["json", "claimed"].iter().any(|ending| hanging.0.with_extension(ending).exists());
        let (Some(id), Some(agent)) = (hanging.0.file_name(), hanging.0.parent().and_then(Path::file_name)) else {
            return false;
        };
        let answers = || sent(&state.join("messages/outbox").join(agent), "task_acceptance");
        is_left && (self == Self::Unacknowledged || answers().iter().all(|said| id != said.as_str()))
    }
}

/// A task has at most one result, whatever was killed in the middle of it.
pub fn problems(state: &Path) -> Vec<String> {
    let mut results = BTreeMap::<String, usize>::new();
    for folder in entries(&state.join("messages/outbox")) {
        for task in sent(&folder, "research_result") {
            *results.entry(task).or_default() += 1;
        }
    }
    let twice = results.into_iter().filter(|(_, count)| *count > 1);
    twice.map(|(task, count)| format!("the task {task} has {count} results")).collect()
}

/// The tasks of all messages of that type which an agent has sent.
fn sent(outbox: &Path, kind: &str) -> Vec<String> {
    let messages = entries(outbox).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let messages = messages.filter_map(|path| read(&path)).filter(|message| message["type"] == kind);
    messages.filter_map(|message| Some(message["content"]["task_id"].as_str()?.to_owned())).collect()
}

/// What is moved away meanwhile is not there any more.
fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
