//! `octoswarm agents`: who does the work, from the table of roles.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::report::table;
use super::{Exit, Failure, args, report};
use crate::app::{AgentInfo, agents};
use crate::config::{self, Overrides};
use crate::stdx::text::count;

pub fn cmd_agents(args: args::Agents) -> Exit {
    let overrides = Overrides { file: args.config, ..Overrides::default() };
    let said = config::agents_of_server(&overrides).map_err(|error| Failure::Usage(error.into()))?;
    let agents = agents(&said);
    if args.json {
        let document = json!({ "version": env!("CARGO_PKG_VERSION"), "agents": agents });
        report::line(&serde_json::to_string_pretty(&document)?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![
        ["AGENT", "VERSION", "BY", "RETRIES", "DEADLINE", "DOCUMENT", "TASKS", "ALSO CALLED", "ABOUT"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(agents.iter().map(row));
    table(&rows).iter().for_each(|line| report::line(line));
    let off = agents.iter().filter(|agent| !agent.enabled).count();
    let outside = agents.iter().filter(|agent| agent.mailboxes.iter().any(|mailbox| mailbox.outside)).count();
    report::note(&format!(
        "{}; every role has one; {outside} by programs outside, {off} off",
        count(agents.len(), "agent")
    ));
    Ok(ExitCode::SUCCESS)
}

fn row(agent: &AgentInfo) -> Vec<String> {
    let or_none = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    let tasks: Vec<String> = agent.tasks.iter().map(|kind| json!(kind)).filter_map(|kind| word(&kind)).collect();
    vec![
        agent.id.to_owned(),
        agent.version.to_owned(),
        by(agent),
        format!("{} {}", agent.retries, agent.retried),
        deadline(agent.deadline_seconds),
        or_none(agent.document.unwrap_or_default().to_owned()),
        or_none(tasks.join(", ")),
        or_none(agent.aliases.join(", ")),
        agent.about.to_owned(),
    ]
}

/// Who does its tasks.
fn by(agent: &AgentInfo) -> String {
    let outside: Vec<&str> = agent.mailboxes.iter().filter(|one| one.outside).map(|one| one.name).collect();
    match outside.len() {
        _ if !agent.enabled => "off".to_owned(),
        0 => "octoswarm".to_owned(),
        all if all == agent.mailboxes.len() => "outside".to_owned(),
        _ => format!("octoswarm; outside: {}", outside.join(", ")),
    }
}

fn deadline(seconds: u64) -> String {
    if seconds.is_multiple_of(60) { format!("{} min", seconds / 60) } else { format!("{seconds} s") }
}

fn word(kind: &Value) -> Option<String> {
    kind.as_str().map(str::to_owned)
}
