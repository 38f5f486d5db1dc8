//! The run flow: manager, scout, analyst, explorer, planner, coder, then tester and docs side by side, then pr. The review of
//! what they made is a flow of its own over the change.

use super::contribute::AFTER_CODE;
use super::flow::{Flow, Step};
use crate::agent::Role;

pub const RUN: Flow = Flow {
    name: "run",
    steps: &[
        // Whatever is chosen, it is the precondition (A1.2).
        Step::new(Role::Manager, &[]),
        Step::new(Role::Scout, &[Role::Manager]),
        Step::new(Role::Analyst, &[Role::Scout, Role::Manager]),
        Step::new(Role::Explorer, &[Role::Scout, Role::Analyst]),
        Step::new(Role::Planner, &[Role::Scout, Role::Manager, Role::Analyst, Role::Explorer]),
        Step::new(Role::Coder, &[Role::Scout, Role::Analyst, Role::Explorer])
            .taking(&[Role::Planner, Role::Manager], 0),
        Step::new(Role::Tester, AFTER_CODE).taking(&[Role::Planner, Role::Manager], 0),
        Step::new(Role::Docs, AFTER_CODE).taking(&[Role::Manager], 0),
        Step::new(Role::Pr, &[Role::Scout, Role::Analyst, Role::Explorer, Role::Coder])
            .taking(&[Role::Tester, Role::Docs], 0),
    ],
};
