//! The agents of this version, for whoever wants to know them.

use serde::Serialize;

use crate::agent::{Registry, Retry, Role};
use crate::artifact::plan::TaskKind;

/// What there is to know of an agent before it has done anything.
#[derive(Debug, Clone, Serialize)]
pub struct AgentInfo {
    pub id: &'static str,
    /// Part of every step's key.
    pub version: &'static str,
    /// The other names under which it is found.
    pub aliases: &'static [&'static str],
    /// Its document in a run's folder, for those that leave one.
    pub document: Option<&'static str>,
    /// Further attempts after the first.
    pub retries: u32,
    /// Which failures are tried again: `recoverable`, `transient`, or `simplified` for recoverable ones with less asked.
    pub retried: &'static str,
    /// Of one attempt.
    pub deadline_seconds: u64,
    /// The kinds of tasks of a plan that it can work on.
    pub tasks: Vec<TaskKind>,
    pub about: &'static str,
}

/// Every agent, in the order of the table of roles.
pub fn agents() -> Vec<AgentInfo> {
    let registry = Registry::builtin();
    Role::all()
        .map(|role| {
            let (agent, policy) = (registry.get(role), registry.get(role).retry_policy());
            AgentInfo {
                id: role.name(),
                version: agent.version(),
                aliases: role.aliases(),
                document: role.file(),
                retries: policy.retries,
                retried: match policy.retry {
                    Retry::Recoverable => "recoverable",
                    Retry::Transient => "transient",
                    Retry::Simplified => "simplified",
                },
                deadline_seconds: policy.deadline.as_secs(),
                tasks: TaskKind::ALL.into_iter().filter(|kind| role.takes(*kind)).collect(),
                about: role.about(),
            }
        })
        .collect()
}
