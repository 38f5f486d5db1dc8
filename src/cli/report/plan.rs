//! A plan, for the person at the terminal.

use super::{list, note};
use crate::app::local::kind_name;
use crate::artifact::Unplanned;
use crate::artifact::plan::{Plan, Task};
use crate::stdx::text::{count, visible_line};

/// The plan as text, one task a paragraph.
pub fn plan(plan: &Plan) -> String {
    let tasks: Vec<&Task> = plan.milestones.iter().flat_map(|milestone| &milestone.tasks).collect();
    let hours: f64 = tasks.iter().map(|task| task.estimated_effort).sum();
    let mut lines = vec![
        format!("{}: {}", plan.id, visible_line(&plan.title)),
        format!("{} in {}, {hours} hours", count(tasks.len(), "task"), count(plan.milestones.len(), "milestone")),
    ];
    for milestone in &plan.milestones {
        let days = if milestone.duration == 1.0 { "1 day".to_owned() } else { format!("{} days", milestone.duration) };
        lines.push(String::new());
        lines.push(format!("Milestone {}: {} ({days})", milestone.id, visible_line(&milestone.title)));
        for task in &milestone.tasks {
            lines.push(String::new());
            lines.extend(task_lines(task));
        }
    }
    if let Some(questions) = &plan.clarifications {
        lines.push(String::new());
        lines.push("Open questions:".to_owned());
        lines.extend(questions.iter().map(|question| format!("  - {}", visible_line(question))));
    }
    lines.join("\n") + "\n"
}

fn task_lines(task: &Task) -> Vec<String> {
    let mut lines = vec![
        format!("  {} {}", task.id, visible_line(&task.title)),
        format!("      {}, {} hours", kind_name(task.kind), task.estimated_effort),
    ];
    let mut say = |what: &str, text: &str| lines.push(format!("      {what}: {}", visible_line(text)));
    if !task.affected_modules.is_empty() {
        say("files", &task.affected_modules.join(", "));
    }
    if !task.input_dependencies.is_empty() {
        say("after", &task.input_dependencies.join(", "));
    }
    if let Some(approach) = &task.suggested_approach {
        say("approach", approach);
    }
    for risk in task.risk_factors.iter().flatten() {
        say("risk", &format!("{}: {}", risk.description, risk.mitigation));
    }
    for criterion in &task.acceptance_criteria {
        say("done when", criterion);
    }
    lines
}

/// Why there is no plan, and what has to be answered first.
pub fn not_planned(unplanned: &Unplanned) {
    for error in &unplanned.errors {
        note(&format!("{}: {}", error.code, visible_line(&error.message)));
    }
    list("To be answered:", &unplanned.clarifications);
}
