//! The contribution flow: scout, manager, analyst, explorer, planner, coder, then tester and docs side by side, then pr.

use super::flow::{Flow, Outputs, Step};
use super::{Error, Journal};
use crate::agent::{Context, Role};

pub const CONTRIBUTE: Flow = Flow { name: "contribute", steps: STEPS };

pub(super) const STEPS: &[Step] = &[
    Step { role: Role::Scout, needs: &[] },
    Step { role: Role::Manager, needs: &[Role::Scout] },
    Step { role: Role::Analyst, needs: &[Role::Scout, Role::Manager] },
    Step { role: Role::Explorer, needs: &[Role::Scout, Role::Analyst] },
    Step { role: Role::Planner, needs: &[Role::Scout, Role::Manager, Role::Analyst, Role::Explorer] },
    Step { role: Role::Coder, needs: &[Role::Scout, Role::Analyst, Role::Explorer, Role::Planner] },
    Step { role: Role::Tester, needs: AFTER_CODE },
    Step { role: Role::Docs, needs: AFTER_CODE },
    Step {
        role: Role::Pr,
        needs: &[Role::Scout, Role::Analyst, Role::Explorer, Role::Coder, Role::Tester, Role::Docs],
    },
];

/// Tests and documentation are about what the coder did (A2.1).
const AFTER_CODE: &[Role] = &[Role::Analyst, Role::Explorer, Role::Coder];

/// Runs the flow over the facts in `cx`. It may end early, at a document that says it failed.
///
/// # Errors
/// The first step that failed; finished steps are kept and not repeated.
pub async fn run(cx: &Context, journal: &Journal) -> Result<Outputs, Error> {
    let facts = &cx.contributing().map_err(|source| Error::Agent { role: CONTRIBUTE.name, source })?.facts;
    CONTRIBUTE.run(cx, journal, &**facts).await
}
