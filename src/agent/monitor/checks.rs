//! The checks of the head as one state, and how that state has changed.

use serde_json::{Value, json};

use crate::artifact::MonitorFacts;
use crate::artifact::activity::{Activity, ActivityKind, CiEntry};
use crate::artifact::facts::CheckState;
use crate::artifact::swarm::CiState;
use crate::domain::Millis;
use crate::stdx::text::{iso8601, truncate_chars};

/// Changes of state that are kept, the newest.
const KEPT: usize = 200;
/// Failed checks that are named.
const NAMED: usize = 20;
/// Characters of a name that its App chose.
const NAME: usize = 100;

pub(super) struct Checks {
    pub state: CiState,
    /// Since when it has been so.
    pub since: Millis,
    pub failing: Vec<String>,
    passed: u64,
    failed: u64,
}

impl Checks {
    /// One failure is a failure, whatever still runs; nothing at all is pending (A2.9).
    pub fn of(facts: &MonitorFacts) -> Self {
        let those = |state| facts.checks.iter().filter(move |check| check.state == state);
        let (passed, failed) = (those(CheckState::Passed).count(), those(CheckState::Failed).count());
        let times = |state| those(state).filter_map(|check| check.at).map(|at| at.min(facts.now));
        let (state, since) = if failed > 0 {
            (CiState::Failure, times(CheckState::Failed).min().unwrap_or(facts.now))
        } else if passed > 0 && passed == facts.checks.len() {
            (CiState::Success, times(CheckState::Passed).max().unwrap_or(facts.now))
        } else if facts.earlier.is_none() {
            (CiState::Pending, facts.pull.created_at)
        } else {
            (CiState::Pending, facts.now)
        };
        let failing = those(CheckState::Failed).take(NAMED).map(|check| truncate_chars(&check.name, NAME)).collect();
        Self { state, since, failing, passed: passed as u64, failed: failed as u64 }
    }

    /// The history with this state, if it is another one than the last or that of another head; and the change itself.
    pub fn history(&self, facts: &MonitorFacts) -> (Vec<CiEntry>, Option<Activity>) {
        let (mut history, last_head) = match &facts.earlier {
            Some(earlier) => (earlier.ci_history.clone(), last_head(&earlier.activity)),
            None => (Vec::new(), None),
        };
        let head = facts.pull.head.as_str();
        if history.last().is_some_and(|last| last.status == self.state) && last_head == Some(head) {
            return (history, None);
        }
        // What was seen later is not told as if it had come before.
        let timestamp = history.last().map_or_else(String::new, |last| last.timestamp.clone()).max(iso8601(self.since));
        history.push(CiEntry {
            timestamp: timestamp.clone(),
            status: self.state,
            checks_passed: self.passed,
            checks_failed: self.failed,
        });
        history.drain(..history.len().saturating_sub(KEPT));
        let details = json!({
            "head": head,
            "status": self.state,
            "checks_passed": self.passed,
            "checks_failed": self.failed,
            "failing": self.failing,
        });
        let Value::Object(details) = details else { return (history, None) };
        (history, Some(Activity { timestamp, kind: ActivityKind::CiStatusChange, details }))
    }
}

fn last_head(activity: &[Activity]) -> Option<&str> {
    let changes = activity.iter().filter(|item| item.kind == ActivityKind::CiStatusChange);
    changes.filter_map(|item| item.details.get("head")?.as_str()).next_back()
}
