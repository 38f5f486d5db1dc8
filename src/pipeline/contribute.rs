//! The contribution flow: scout, manager, analyst, explorer, planner, coder, then tester and docs side by side, then pr.

use super::flow::{Flow, Outputs, RunOptions, Step};
use super::{Error, Journal};
use crate::agent::{Context, Role};

pub const CONTRIBUTE: Flow = Flow { name: "contribute", steps: STEPS };

pub(super) const STEPS: &[Step] = &[
    Step::new(Role::Scout, &[]),
    Step::new(Role::Manager, &[Role::Scout]),
    Step::new(Role::Analyst, &[Role::Scout, Role::Manager]),
    Step::new(Role::Explorer, &[Role::Scout, Role::Analyst]),
    Step::new(Role::Planner, &[Role::Scout, Role::Manager, Role::Analyst, Role::Explorer]),
    // What can be done mechanically is done without a plan too.
    Step::new(Role::Coder, &[Role::Scout, Role::Analyst, Role::Explorer]).taking(&[Role::Planner], 0),
    Step::new(Role::Tester, AFTER_CODE),
    Step::new(Role::Docs, AFTER_CODE),
    // Without tests or documentation it is a draft that says so.
    Step::new(Role::Pr, &[Role::Scout, Role::Analyst, Role::Explorer, Role::Coder])
        .taking(&[Role::Tester, Role::Docs], 0),
];

/// Tests and documentation are about what the coder did (A2.1).
pub(super) const AFTER_CODE: &[Role] = &[Role::Analyst, Role::Explorer, Role::Coder];

/// Runs the flow over the facts in `cx`. It may end early, at a document that says it failed.
///
/// # Errors
/// The first step that failed and that a pull request cannot do without; finished steps are kept and not repeated.
pub async fn run(cx: &Context, journal: &Journal) -> Result<Outputs, Error> {
    run_with(cx, journal, &RunOptions::default()).await?.reached(Role::Pr)
}

/// The same as somebody wants it run.
///
/// # Errors
/// As [`Flow::run`].
pub async fn run_with(cx: &Context, journal: &Journal, options: &RunOptions) -> Result<Outputs, Error> {
    let facts = &cx.contributing().map_err(|source| Error::Agent { role: CONTRIBUTE.name, source })?.facts;
    CONTRIBUTE.run(cx, journal, &**facts, options).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_1_to_s2_6_each_document_goes_to_those_who_build_on_it() {
        let gets = |role: Role| {
            let step = STEPS.iter().find(|step| step.role == role).unwrap();
            step.needs.iter().chain(step.wants).copied().collect::<Vec<_>>()
        };
        assert!(gets(Role::Analyst).contains(&Role::Scout));
        assert!(gets(Role::Explorer).contains(&Role::Analyst));
        for role in [Role::Coder, Role::Tester, Role::Docs] {
            assert!(gets(role).contains(&Role::Explorer), "{}", role.name());
        }
        for role in [Role::Coder, Role::Tester, Role::Docs] {
            assert!(gets(Role::Pr).contains(&role), "{}", role.name());
            assert!(role.file().is_some());
        }
    }
}
