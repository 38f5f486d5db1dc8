//! `[agents.<name>]`: one agent's settings (S1.19), and whether a program outside plays its role.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Table, Value};

use super::Error;
use super::reader::{Reader, Source};
use super::server::{Overrides, env};
use crate::stdx::text::{did_you_mean, nearest};

/// Whoever may be set here: all mailboxes but those of the orchestrator's side.
pub const AGENTS: [&str; 17] = [
    "research_agent_1",
    "research_agent_2",
    "manager",
    "scout",
    "analyst",
    "explorer",
    "planner",
    "coder",
    "tester",
    "docs",
    "pr",
    "reviews",
    "master",
    "documentation",
    "debt",
    "improvement",
    "critical",
];

const KEYS: [&str; 7] = ["outside", "enabled", "model", "temperature", "max_tokens", "timeout_ms", "retries"];

/// In milliseconds: a day. Whoever waits longer waits for nobody.
const MAX_TIMEOUT: i64 = 86_400_000;
/// An agent that failed so often fails again.
const MAX_RETRIES: i64 = 20;

/// What an operator says of one agent; what is absent is the agent's own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agent {
    /// A program beside the server serves its mailbox.
    pub outside: bool,
    /// Off: its step is skipped.
    pub enabled: Option<bool>,
    pub model: Option<String>,
    /// 0 to 2.
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    pub timeout_ms: Option<u64>,
    pub retries: Option<u32>,
}

/// The part of the file that is about agents.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AgentsWire {
    agents: Table,
}

/// What the operator says of agents, whatever else is configured.
///
/// # Errors
/// The file cannot be read, or says of agents what cannot be.
pub fn agents_of_server(overrides: &Overrides) -> Result<BTreeMap<String, Agent>, Error> {
    let mut reader = Reader::new(&env);
    let file: AgentsWire = reader.read_file(overrides);
    let agents = read(&mut reader, &file.agents);
    reader.faults.into_iter().next().map_or(Ok(agents), Err)
}

/// Reads every table, and tells every fault.
pub(super) fn read(reader: &mut Reader, file: &Table) -> BTreeMap<String, Agent> {
    let mut agents = BTreeMap::new();
    let mut faults = Vec::new();
    for (name, value) in file {
        if !AGENTS.contains(&name.as_str()) {
            let near = did_you_mean(nearest(name, AGENTS.iter().copied()));
            faults.push(format!("there is no agent `{name}`{near}"));
            continue;
        }
        let Value::Table(table) = value else {
            faults.push(format!("`{name}` is not a table of settings, like [agents.{name}]"));
            continue;
        };
        agents.insert(name.clone(), one(name, table, &mut faults));
    }
    for fault in faults {
        reader.refuse("agents", &Source::File, fault);
    }
    if !agents.is_empty() {
        let shown: Vec<String> = agents.iter().map(|(name, agent)| shown(name, agent)).collect();
        reader.show("agents", shown.join(", "), Source::File);
    }
    agents
}

fn one(name: &str, table: &Table, faults: &mut Vec<String>) -> Agent {
    let mut agent = Agent::default();
    for (key, value) in table {
        let at = format!("{name}.{key}");
        let mut number = |least: i64, most: i64| match value.as_integer() {
            Some(number) if (least..=most).contains(&number) => u64::try_from(number).ok(),
            Some(number) => {
                faults.push(format!("`{at}`: {number} is not between {least} and {most}"));
                None
            }
            None => {
                faults.push(format!("`{at}`: {value} is not a whole number"));
                None
            }
        };
        match key.as_str() {
            "max_tokens" => agent.max_tokens = number(1, i64::from(u32::MAX)),
            "timeout_ms" => agent.timeout_ms = number(1, MAX_TIMEOUT),
            "retries" => agent.retries = number(0, MAX_RETRIES).and_then(|retries| u32::try_from(retries).ok()),
            "outside" | "enabled" => match value.as_bool() {
                Some(on) if key == "outside" => agent.outside = on,
                Some(on) => agent.enabled = Some(on),
                None => faults.push(format!("`{at}`: {value} is not true or false")),
            },
            "model" => match value.as_str().filter(|model| !model.trim().is_empty()) {
                Some(model) => agent.model = Some(model.to_owned()),
                None => faults.push(format!("`{at}`: {value} is not the name of a model")),
            },
            "temperature" => {
                let given = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
                match given.filter(|given| (0.0..=2.0).contains(given)) {
                    Some(given) => agent.temperature = Some(given),
                    None => faults.push(format!("`{at}`: {value} is not between 0 and 2")),
                }
            }
            other => {
                let near = did_you_mean(nearest(other, KEYS.iter().copied()));
                faults.push(format!("`{name}` has no setting `{other}`{near}"));
            }
        }
    }
    agent
}

/// `coder (outside)`, `debt (off)`.
fn shown(name: &str, agent: &Agent) -> String {
    match agent {
        Agent { enabled: Some(false), .. } => format!("{name} (off)"),
        Agent { outside: true, .. } => format!("{name} (outside)"),
        Agent { .. } => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolved;

    #[test]
    fn every_fault_of_every_agent_is_told_with_what_was_probably_meant() {
        let text = "[agents.codr]\noutside = true\n[agents.coder]\noutsid = true\nretries = 21\ntemperature = 3\n\
                    [agents.docs]\nenabled = 1\ntimeout_ms = 0\nmodel = ' '\nmax_tokens = 'many'\n";
        let told: Vec<String> = resolved(text).faults.iter().map(ToString::to_string).collect();
        for want in [
            "there is no agent `codr`; did you mean `coder`?",
            "`coder` has no setting `outsid`; did you mean `outside`?",
            "`coder.retries`: 21 is not between 0 and 20",
            "`coder.temperature`: 3 is not between 0 and 2",
            "`docs.enabled`: 1 is not true or false",
            "`docs.timeout_ms`: 0 is not between 1 and 86400000",
            "is not the name of a model",
            "`docs.max_tokens`: \"many\" is not a whole number",
        ] {
            assert!(told.iter().any(|fault| fault.contains(want)), "{want}: {told:#?}");
        }
        assert_eq!(told.iter().filter(|fault| fault.contains("agents")).count(), 8, "{told:#?}");
    }

    #[test]
    fn what_is_set_is_shown() {
        let resolution =
            resolved("[agents.coder]\noutside = true\n[agents.debt]\nenabled = false\n[agents.docs]\nretries = 0\n");
        let row = resolution.settings.iter().find(|setting| setting.name == "agents").unwrap();
        assert_eq!(row.value, "coder (outside), debt (off), docs");
    }
}
