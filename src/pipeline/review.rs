//! The review flow: manager, then the four reviewers side by side, then master.

use super::flow::{Flow, Step};
use super::{Error, Journal};
use crate::agent::{Context, Role};
use crate::artifact::ReviewReport;

pub const REVIEW: Flow = Flow { name: "review", steps: STEPS };

pub(super) const STEPS: &[Step] = &[
    Step { role: Role::Manager, needs: &[] },
    Step { role: Role::Documentation, needs: &[Role::Manager] },
    Step { role: Role::Debt, needs: &[Role::Manager] },
    Step { role: Role::Improvement, needs: &[Role::Manager] },
    Step { role: Role::Critical, needs: &[Role::Manager] },
    Step {
        role: Role::Master,
        needs: &[Role::Manager, Role::Documentation, Role::Debt, Role::Improvement, Role::Critical],
    },
];

/// Runs the flow over the facts in `cx`.
///
/// # Errors
/// The first step that failed; finished steps are kept and not repeated.
pub async fn run(cx: &Context, journal: &Journal) -> Result<ReviewReport, Error> {
    let facts = &cx.reviewing().map_err(|source| Error::Agent { role: REVIEW.name, source })?.facts;
    REVIEW.run(cx, journal, &**facts).await?.get(Role::Master)
}
