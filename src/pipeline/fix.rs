//! The fix flow: a review, and then the coder applies the fixes that it proved.

use super::flow::{Flow, RunOptions, Step};
use super::{Error, Journal, review};
use crate::agent::{Context, Role};
use crate::artifact::swarm::CodeChanges;
use crate::artifact::{Document, ReviewReport};

pub const FIX: Flow = Flow { name: "fix", steps: STEPS };

const STEPS: &[Step] = {
    const LAST: Step = Step::new(Role::Coder, &[Role::Master]);
    const R: &[Step] = review::STEPS;
    &[R[0], R[1], R[2], R[3], R[4], R[5], LAST]
};

/// What is left to fix, and the change that fixes it.
pub struct Fixed {
    pub report: ReviewReport,
    pub changes: Document<CodeChanges>,
}

/// Runs the flow over the facts in `cx`; what the review of the same trees has done already is not done again.
///
/// # Errors
/// The first step that failed; finished steps are kept and not repeated.
pub async fn run(cx: &Context, journal: &Journal) -> Result<Fixed, Error> {
    let facts = &cx.reviewing().map_err(|source| Error::Agent { role: FIX.name, source })?.facts;
    let outputs = FIX.run(cx, journal, &**facts, &RunOptions::default()).await?.reached(Role::Coder)?;
    Ok(Fixed { report: outputs.get(Role::Master)?, changes: outputs.get(Role::Coder)? })
}
