//! The review flow: manager, then the four reviewers side by side, then master.

use crate::agent::{Context, MasterInput, Role};
use crate::artifact::{AgentFindings, FilePlan, ReviewReport};
use crate::pipeline::{Error, Journal};
use crate::stdx::text::count;

/// The four lenses, all over one fact pack.
const REVIEWERS: [Role; 4] = [Role::Documentation, Role::Debt, Role::Improvement, Role::Critical];

/// Runs the flow over the facts in `cx`.
///
/// # Errors
/// The first step that failed; finished steps are kept and not repeated.
pub async fn run(cx: &Context, journal: &Journal) -> Result<ReviewReport, Error> {
    let plan: FilePlan = journal.step(cx, Role::Manager, &*cx.facts).await?;
    let total = count(plan.read.len() + plan.not_read.len(), "changed file");
    journal.say(&format!("reading {} of {total}", plan.read.len())).await?;
    let reviews: Vec<AgentFindings> =
        futures::future::try_join_all(REVIEWERS.map(|role| journal.step(cx, role, &plan))).await?;
    let input = MasterInput { plan, reviews };
    let report: ReviewReport = journal.step(cx, Role::Master, &input).await?;
    let (findings, files) = (report.findings.len(), report.coverage.read);
    journal.say(&format!("{} in {} read", count(findings, "finding"), count(files, "file"))).await?;
    Ok(report)
}
