//! `octoswarm agents`: who does the work, from the table of roles.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::report::table;
use super::{Exit, args, report};
use crate::app::{AgentInfo, agents};
use crate::stdx::text::count;

pub fn cmd_agents(args: &args::Agents) -> Exit {
    let agents = agents();
    if args.json {
        let document = json!({ "version": env!("CARGO_PKG_VERSION"), "agents": agents });
        report::line(&serde_json::to_string_pretty(&document)?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![
        ["AGENT", "VERSION", "RETRIES", "DEADLINE", "DOCUMENT", "TASKS", "ALSO CALLED", "ABOUT"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(agents.iter().map(row));
    table(&rows).iter().for_each(|line| report::line(line));
    report::note(&format!("{}; every role has one", count(agents.len(), "agent")));
    Ok(ExitCode::SUCCESS)
}

fn row(agent: &AgentInfo) -> Vec<String> {
    let or_none = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    let tasks: Vec<String> = agent.tasks.iter().map(|kind| json!(kind)).filter_map(|kind| word(&kind)).collect();
    vec![
        agent.id.to_owned(),
        agent.version.to_owned(),
        format!("{} {}", agent.retries, agent.retried),
        format!("{} min", agent.deadline_seconds / 60),
        or_none(agent.document.unwrap_or_default().to_owned()),
        or_none(tasks.join(", ")),
        or_none(agent.aliases.join(", ")),
        agent.about.to_owned(),
    ]
}

fn word(kind: &Value) -> Option<String> {
    kind.as_str().map(str::to_owned)
}
