//! The review flow: manager, then the four reviewers side by side, then master. A reviewer that failed for good leaves its part
//! out, and the report says so.

use super::flow::{Flow, Outputs, RunOptions, Step};
use super::{Error, Journal};
use crate::agent::{Context, Role};
use crate::artifact::ReviewReport;

pub const REVIEW: Flow = Flow { name: "review", steps: STEPS };

pub(super) const STEPS: &[Step] = &[
    Step::new(Role::Manager, &[]),
    Step::new(Role::Documentation, &[Role::Manager]),
    Step::new(Role::Debt, &[Role::Manager]),
    Step::new(Role::Improvement, &[Role::Manager]),
    Step::new(Role::Critical, &[Role::Manager]),
    Step::new(Role::Master, &[Role::Manager]).taking(REVIEWERS, 1),
];

const REVIEWERS: &[Role] = &[Role::Documentation, Role::Debt, Role::Improvement, Role::Critical];

/// Runs the flow over the facts in `cx`.
///
/// # Errors
/// The first step that failed and that the report cannot do without; finished steps are kept and not repeated.
pub async fn run(cx: &Context, journal: &Journal) -> Result<ReviewReport, Error> {
    run_with(cx, journal, &RunOptions::default()).await?.reached(Role::Master)?.get(Role::Master)
}

/// The same as somebody wants it run.
///
/// # Errors
/// As [`Flow::run`].
pub async fn run_with(cx: &Context, journal: &Journal, options: &RunOptions) -> Result<Outputs, Error> {
    let facts = &cx.reviewing().map_err(|source| Error::Agent { role: REVIEW.name, source })?.facts;
    REVIEW.run(cx, journal, &**facts, options).await
}
