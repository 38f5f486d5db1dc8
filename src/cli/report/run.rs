//! A run, while it works and when it is over, for the person at the terminal.

use super::{checked, line, list, not_fixed, note};
use crate::app::local::{End, Ran, Told, Where};
use crate::domain::Finding;
use crate::stdx::text::{count, visible_line};

/// Findings that are shown; the documents have all of them.
const FINDINGS: usize = 20;

/// One line for each thing that happens.
pub fn told(told: Told) {
    match told {
        Told::Asked { agent } => note(&format!("{agent:<14} asked; a program outside plays it")),
        Told::Ended { agent, end, took_ms, line } => {
            let how = match end {
                End::Done => format!("{:.1} s", took_ms as f64 / 1000.0),
                End::Known => "known".to_owned(),
                End::Failed => "failed".to_owned(),
                End::Cancelled => "cancelled".to_owned(),
            };
            note(&format!("{agent:<14} {how:<9}  {}", visible_line(&line.unwrap_or_default())));
        }
    }
}

/// What was planned, changed, tested and found, and where it all lies.
pub fn ran(ran: &Ran, to: &Where) {
    if let Some(plan) = &ran.plan {
        let tasks: usize = plan.milestones.iter().map(|milestone| milestone.tasks.len()).sum();
        line(&format!("Planned: {}, {}", visible_line(&plan.title), count(tasks, "task")));
        for task in plan.milestones.iter().flat_map(|milestone| &milestone.tasks) {
            line(&format!("  {} {}", task.id, visible_line(&task.title)));
        }
    }
    if let Some(change) = &ran.change {
        let (added, removed) = change.files.iter().fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
        line(&format!("Changed: {}, +{added} \u{2212}{removed}", count(change.files.len(), "file")));
        for file in &change.files {
            line(&format!("  {}: {}", visible_line(&file.path), visible_line(&file.description)));
        }
        match to {
            Where::Branch(name) => {
                let commit = change.commit.as_deref().unwrap_or_default();
                line(&format!("  branch {} at {commit}", visible_line(name)));
            }
            Where::WorkTree => line("  written into the work tree"),
            Where::Diff => line("  nothing of the repository was touched: the change is in change.diff"),
        }
    }
    if let Some(tests) = ran.tests.as_ref().filter(|_| ran.change.is_some()) {
        line(&format!("Tested: {}", visible_line(tests.lines().next().unwrap_or_default())));
    }
    if let Some(review) = &ran.review {
        line(&format!("Found: {}", count(review.findings.len(), "finding")));
        review.findings.iter().take(FINDINGS).for_each(|finding| line(&found(finding)));
        if review.findings.len() > FINDINGS {
            line(&format!("  and {} more", review.findings.len() - FINDINGS));
        }
        review.coverage.unreviewed().iter().for_each(|clause| line(&format!("  {}", visible_line(clause))));
    }
    line(&format!("All of it: {}", visible_line(&ran.folder.display().to_string())));
    if let Some(change) = &ran.change {
        checked(change);
        list("Note:", &change.notes);
    }
    if let Some(nothing) = &ran.unchanged {
        not_fixed(nothing);
    }
    let errors: Vec<String> = ran.result.errors.iter().map(ToString::to_string).collect();
    list("Not all of it was done:", &errors);
}

fn found(finding: &Finding) -> String {
    let place = format!("{}:{}", finding.path, finding.span.start_line);
    format!("  {} {}: {}", finding.severity.name(), visible_line(&place), visible_line(&finding.message))
}
