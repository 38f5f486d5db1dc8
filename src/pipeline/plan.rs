//! The plan flow: scout, manager, analyst, explorer, planner.

use super::contribute;
use super::flow::{Flow, Outputs, RunOptions, Step};
use super::{Error, Journal};
use crate::agent::{Context, Role};

pub const PLAN: Flow = Flow { name: "plan", steps: STEPS };

const STEPS: &[Step] = {
    const C: &[Step] = contribute::STEPS;
    &[C[0], C[1], C[2], C[3], C[4]]
};

/// Runs the flow over the facts in `cx`. It may end early, at a document that says it failed.
///
/// # Errors
/// The first step that failed; finished steps are kept and not repeated.
pub async fn run(cx: &Context, journal: &Journal) -> Result<Outputs, Error> {
    let facts = &cx.contributing().map_err(|source| Error::Agent { role: PLAN.name, source })?.facts;
    PLAN.run(cx, journal, &**facts, &RunOptions::default()).await?.reached(Role::Planner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_what_a_contribution_begins_with() {
        let roles: Vec<Role> = PLAN.steps.iter().map(|step| step.role).collect();
        assert_eq!(roles, [Role::Scout, Role::Manager, Role::Analyst, Role::Explorer, Role::Planner]);
    }
}
