//! What an audit looks like on a terminal.

use owo_colors::OwoColorize;

use super::{coverage_line, line};
use crate::app::local::Audited;
use crate::artifact::server::ItemSeverity;
use crate::stdx::text::{count, visible_line};

/// Items of one part that are shown; the rest is counted.
const SHOWN: usize = 20;

/// The parts in their order, then who failed, what is not looked for, and what was read.
pub fn audited(audited: &Audited, unanswered: &[&str]) {
    let aggregate = &audited.aggregate;
    let names: Vec<&str> = aggregate.documentation.keys().map(String::as_str).collect();
    heading("documentation", &if names.is_empty() { "none".to_owned() } else { names.join(", ") });
    let debt = aggregate.debt.iter().map(|i| (severity(i.severity), i.file.as_str(), i.line, i.description.as_str()));
    part("debt", debt.collect());
    let better =
        aggregate.improvement.iter().map(|i| (severity(i.severity), i.file.as_str(), i.line, i.description.as_str()));
    part("improvement", better.collect());
    part(
        "critical",
        aggregate.critical.iter().map(|i| ("high", i.file.as_str(), i.line, i.description.as_str())).collect(),
    );
    for (agent, error) in &aggregate.errors {
        line(&format!("{} {agent} failed ({}): {}", "error:".red().bold(), error.code, visible_line(&error.message)));
    }
    line(&format!("not answered without a model: {}", unanswered.join(", ")));
    line(&coverage_line(&audited.coverage));
}

fn heading(name: &str, said: &str) {
    line(&format!("{}: {}", name.bold(), visible_line(said)));
}

/// The most severe first.
fn part(name: &str, mut items: Vec<(&str, &str, u32, &str)>) {
    heading(name, &count(items.len(), "item"));
    items.sort_by_key(|(severity, ..)| ["high", "medium", "low"].iter().position(|known| known == severity));
    for (severity, file, at, said) in items.iter().take(SHOWN) {
        line(&format!("  {severity:<6} {}:{at} {}", visible_line(file), visible_line(said)));
    }
    if items.len() > SHOWN {
        line(&format!("  and {} more (`--format json` names each)", items.len() - SHOWN));
    }
}

fn severity(severity: ItemSeverity) -> &'static str {
    match severity {
        ItemSeverity::Low => "low",
        ItemSeverity::Medium => "medium",
        ItemSeverity::High => "high",
    }
}
