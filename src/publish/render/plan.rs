//! A plan as Markdown.

use super::neutral::{code, prose};
use crate::artifact::plan::{Milestone, Plan, RiskFactor, Task, TaskKind};
use crate::artifact::project::Level;
use crate::stdx::text::count;

/// The whole plan; what the text's author wrote is shown and does nothing else.
pub fn plan(plan: &Plan) -> String {
    let tasks: Vec<&Task> = plan.milestones.iter().flat_map(|milestone| &milestone.tasks).collect();
    let hours: f64 = tasks.iter().map(|task| task.estimated_effort).sum();
    let size = format!(
        "{}: {} in {}, {hours} hours",
        plan.id,
        count(tasks.len(), "task"),
        count(plan.milestones.len(), "milestone")
    );
    let mut blocks = vec![format!("# {}", prose(&plan.title)), prose(&plan.description), size];
    if let Some(questions) = &plan.clarifications {
        blocks.push("## Open questions".to_owned());
        blocks.push(list(questions));
    }
    for (at, milestone) in plan.milestones.iter().enumerate() {
        blocks.extend(chapter(at + 1, milestone));
    }
    blocks.join("\n\n") + "\n"
}

fn chapter(number: usize, milestone: &Milestone) -> Vec<String> {
    let Milestone { title, description, duration, tasks, success_criteria, .. } = milestone;
    let days = if *duration == 1.0 { "1 day".to_owned() } else { format!("{duration} days") };
    let mut blocks = vec![format!("## Milestone {number}: {} ({days})", prose(title)), prose(description)];
    blocks.extend(tasks.iter().flat_map(section));
    if !success_criteria.is_empty() {
        blocks.push(format!("The milestone is reached when:\n\n{}", list(success_criteria)));
    }
    blocks
}

fn section(task: &Task) -> Vec<String> {
    let kind = kind_name(task.kind);
    let mut blocks = vec![format!("### {} {}", task.id, prose(&task.title))];
    let mut facts = vec![format!("- kind: {kind}, {} hours", task.estimated_effort)];
    let files: Vec<String> = task.affected_modules.iter().map(|path| code(path)).collect();
    facts.push(format!("- files: {}", if files.is_empty() { "none".to_owned() } else { files.join(", ") }));
    if !task.input_dependencies.is_empty() {
        facts.push(format!("- after: {}", task.input_dependencies.join(", ")));
    }
    if let Some(approach) = &task.suggested_approach {
        facts.push(format!("- approach: {}", prose(approach)));
    }
    if let Some(notes) = &task.technical_notes {
        facts.push(format!("- notes: {}", prose(notes)));
    }
    facts.extend(task.risk_factors.iter().flatten().map(|risk| format!("- risk: {}", prose(&told(risk)))));
    blocks.push(facts.join("\n"));
    blocks.push(
        task.acceptance_criteria.iter().map(|text| format!("- [ ] {}", prose(text))).collect::<Vec<_>>().join("\n"),
    );
    blocks
}

fn told(risk: &RiskFactor) -> String {
    let level = |level: Level| match level {
        Level::Low => "low",
        Level::Medium => "medium",
        Level::High => "high",
    };
    let RiskFactor { description, likelihood, impact, mitigation } = risk;
    format!("{description} (likelihood {}, impact {}): {mitigation}", level(*likelihood), level(*impact))
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {}", prose(line))).collect::<Vec<_>>().join("\n")
}

/// As it stands in the plan's JSON.
pub fn kind_name(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::Feature => "feature",
        TaskKind::Refactor => "refactor",
        TaskKind::Bugfix => "bugfix",
        TaskKind::Test => "test",
        TaskKind::Documentation => "documentation",
        TaskKind::Infrastructure => "infrastructure",
    }
}
