//! The agents of this version, as a server's configuration sets them, for whoever wants to know them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::wire;
use crate::agent::{Registry, Retry, Role};
use crate::artifact::plan::TaskKind;
use crate::config;
use crate::pipeline::Settings;

/// What there is to know of an agent before it has done anything.
#[derive(Debug, Clone, Serialize)]
pub struct AgentInfo {
    pub id: &'static str,
    /// Part of every step's key.
    pub version: &'static str,
    /// The other names under which it is found.
    pub aliases: &'static [&'static str],
    /// Off: its step is skipped.
    pub enabled: bool,
    /// Where its tasks go.
    pub mailboxes: Vec<Mailbox>,
    /// Its document in a run's folder, for those that leave one.
    pub document: Option<&'static str>,
    /// Further attempts after the first.
    pub retries: u32,
    /// Which failures are tried again: `recoverable`, `transient`, or `simplified` for recoverable ones with less asked.
    pub retried: &'static str,
    /// Of one attempt; begun seconds count.
    pub deadline_seconds: u64,
    /// The kinds of tasks of a plan that it can work on.
    pub tasks: Vec<TaskKind>,
    pub about: &'static str,
}

#[derive(Debug, Clone, Serialize)]
pub struct Mailbox {
    pub name: &'static str,
    /// A program beside the server serves it.
    pub outside: bool,
}

/// Every agent, in the order of the table of roles; `said` is the operator's.
pub fn agents(said: &BTreeMap<String, config::Agent>) -> Vec<AgentInfo> {
    let registry = Registry::builtin();
    let settings = Settings { agents: wire::agents(said), ..Settings::default() };
    let mailboxes = |role: Role| {
        let names = settings.mailboxes(role).into_iter();
        names.map(|name| Mailbox { name: name.as_str(), outside: settings.is_outside(name) }).collect()
    };
    Role::all()
        .map(|role| {
            let (agent, policy) = (registry.get(role), registry.get(role).retry_policy());
            let config = settings.of(role);
            AgentInfo {
                id: role.name(),
                version: agent.version(),
                aliases: role.aliases(),
                enabled: config.enabled != Some(false),
                mailboxes: mailboxes(role),
                document: role.file(),
                retries: config.retries.unwrap_or(policy.retries),
                retried: match policy.retry {
                    Retry::Recoverable => "recoverable",
                    Retry::Transient => "transient",
                    Retry::Simplified => "simplified",
                },
                deadline_seconds: config.timeout.map_or(policy.deadline.as_secs(), |ms| ms.div_ceil(1000)),
                tasks: TaskKind::ALL.into_iter().filter(|kind| role.takes(*kind)).collect(),
                about: role.about(),
            }
        })
        .collect()
}
