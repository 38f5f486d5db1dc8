//! The tools.

mod changes;
mod codebases;
pub(super) mod explain_rule;
mod fix;
mod plan;
mod review;
pub(super) mod runs;
mod scan;

use super::call::Trouble;
use super::table::Definition;
use crate::app::local::Checked;
use crate::domain::Finding;
use crate::stdx::text::{count, visible_line};

/// Every tool there is, in the order in which they are listed.
pub(super) static TOOLS: [Definition; 17] = [
    Definition::of::<review::ReviewDiff>(),
    Definition::of::<review::ReviewRepository>(),
    Definition::of::<scan::Scan>(),
    Definition::of::<explain_rule::ExplainRule>(),
    Definition::of::<fix::ApplyFix>(),
    Definition::of::<plan::PlanIssue>(),
    Definition::judged_by_whoever_works(changes::PROPOSAL),
    Definition::judged_by_whoever_works(changes::SPEC),
    Definition::judged_by_whoever_works(changes::TASKS),
    Definition::judged_by_whoever_works(changes::REVIEW),
    Definition::of::<changes::ListChanges>(),
    Definition::of::<changes::ReadChange>(),
    Definition::of::<codebases::Upload>(),
    Definition::of::<codebases::Trigger>(),
    Definition::of::<codebases::Results>(),
    Definition::of::<runs::RunStatus>(),
    Definition::of::<runs::CancelRun>(),
];

/// Findings on a page, where nobody says how many.
const PAGE: usize = 50;

fn page_size() -> u32 {
    50
}

fn yes() -> bool {
    true
}

/// Where a page begins: how many came before it.
///
/// # Errors
/// The cursor is none of ours.
fn begins(cursor: Option<&str>) -> Result<usize, Trouble> {
    let Some(cursor) = cursor else { return Ok(0) };
    cursor.parse().map_err(|_| {
        Trouble::new(format!("`{}` is no cursor", super::roots::shown(cursor)))
            .hint("take `next_cursor` of the page before, or leave it out for the first one")
    })
}

/// A page of findings for people, and for models that are shown text alone.
fn page_text(checked: &Checked, from: usize, most: usize) -> String {
    let coverage = &checked.coverage;
    let all = checked.findings.len();
    let mut text = match &checked.outcome {
        crate::domain::Outcome::CouldNotReview { reason } => format!("Could not review: {reason}."),
        crate::domain::Outcome::NothingToReview { reason } => format!("Nothing to review: {reason}."),
        crate::domain::Outcome::Clean => "Nothing found.".to_owned(),
        crate::domain::Outcome::Findings { .. } => format!("{}.", count(all, "finding")),
    };
    text.push_str(&format!(
        " {} of {} read by the rules of their language.\n",
        coverage.read,
        count(coverage.total, "file")
    ));
    for finding in checked.findings.iter().skip(from).take(most) {
        text.push_str(&line(finding));
    }
    let next = from.saturating_add(most);
    if next < all {
        text.push_str(&format!("\n{} more: call again with cursor \"{next}\".\n", all - next));
    }
    for warning in &checked.warnings {
        text.push_str(&format!("\nWarning: {}\n", visible_line(warning)));
    }
    text
}

fn line(finding: &Finding) -> String {
    let fix = if finding.fix.is_some() { ", has a proven fix" } else { "" };
    format!(
        "\n- [{} {}] `{}` at {}:{}:{}: {} ({}{fix})",
        finding.severity,
        finding.category,
        finding.rule,
        visible_line(&finding.path),
        finding.span.start_line,
        finding.span.start_column,
        visible_line(&finding.message),
        finding.fingerprint.as_str(),
    )
}
