//! The agents of a run that is over once more, each from what it was given then.

use std::collections::BTreeMap;

use serde_json::Value;

use super::flow::{Flow, input};
use super::journal::{execute, known_output, step_key};
use crate::agent::{self, Context, Registry, Role};
use crate::artifact::exchange::AgentOutput;
use crate::store::StepRow;

/// What an agent made of the same input now.
#[derive(Debug)]
pub struct Replayed {
    pub role: Role,
    /// As it was then; the last one where the run has several of that role.
    pub recorded: StepRow,
    pub now: Now,
}

#[derive(Debug)]
pub enum Now {
    Made {
        result: Value,
        /// Agent, rules or settings are not those of then: the step has another key.
        other_maker: bool,
    },
    Failed {
        error: agent::Error,
        other_maker: bool,
    },
    /// The result of a role that it needs was neither kept nor could it be made again.
    Unreached {
        needs: &'static str,
    },
}

/// Runs every step of the flow that the run began, in the order of the flow, on the facts and the results that were recorded.
/// Where a result was not kept, since it was too large, the one that was made now stands in for it. Keeps nothing.
pub async fn replay(flow: &Flow, cx: &Context, facts: &Value, steps: Vec<StepRow>) -> Vec<Replayed> {
    let agents = Registry::builtin();
    let mut recorded: BTreeMap<String, StepRow> = steps.into_iter().map(|row| (row.name.clone(), row)).collect();
    let (mut given, mut replayed): (BTreeMap<Role, AgentOutput>, _) = (BTreeMap::new(), Vec::new());
    for step in flow.steps {
        let role = step.role;
        let Some(recorded) = recorded.remove(role.name()) else { continue };
        let known = recorded.artifact.clone();
        let now = match step.needs.iter().find(|role| !given.contains_key(role)) {
            Some(missing) => Now::Unreached { needs: missing.name() },
            None => {
                let (input, agent) = (input(facts, step, &given), agents.get(role));
                let other_maker = step_key(cx, role.name(), agent.version(), &input) != recorded.key;
                match execute(agent, cx, &input).await {
                    Ok(output) => Now::Made { result: output.result, other_maker },
                    Err(error) => Now::Failed { error, other_maker },
                }
            }
        };
        let made = match &now {
            Now::Made { result, .. } => Some(result.clone()),
            Now::Failed { .. } | Now::Unreached { .. } => None,
        };
        if let Some(result) = known.or(made) {
            given.insert(role, known_output(cx, role, result, recorded.key.clone()));
        }
        replayed.push(Replayed { role, recorded, now });
    }
    replayed
}
