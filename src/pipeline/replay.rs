//! The agents of a run that is over once more, each from what it was given then.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::crew::{Crew, Occasion, Order, Progress, Settings};
use super::flow::{Flow, Outputs, RunOptions, input};
use super::journal::{Told, known_output, step_key};
use crate::agent::{self, Context, Registry, Role};
use crate::artifact::AgentError;
use crate::artifact::exchange::AgentConfig;
use crate::stdx::backoff::Backoff;
use crate::store::{StepRow, StepState};

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

/// Has our own agents do every step that the run began, in the order of the flow, on the facts and the results that were
/// recorded. Where a result was not kept, since it was too large, the one that was made now stands in for it. Keeps nothing.
pub async fn replay(flow: &Flow, cx: &Context, facts: &Value, steps: Vec<StepRow>) -> Vec<Replayed> {
    let at_once = Backoff { base: Duration::ZERO, max: Duration::ZERO, jitter: false };
    let crew = Crew::direct_with(Registry::builtin(), Settings { backoff: at_once, ..Settings::default() });
    let (options, config) = (RunOptions::default(), AgentConfig::default());
    let mut recorded: BTreeMap<String, StepRow> = steps.into_iter().map(|row| (row.name.clone(), row)).collect();
    let (mut given, mut replayed) = (Outputs::default(), Vec::new());
    for step in flow.steps {
        let role = step.role;
        let Some(recorded) = recorded.remove(role.name()) else { continue };
        if let Some(missing) = step.needs.iter().find(|role| !given.has(**role)) {
            replayed.push(Replayed { role, recorded, now: Now::Unreached { needs: missing.name() } });
            continue;
        }
        let mut input = input(cx, facts, step, &given, &options);
        input.config = crew.told(role, &config);
        let other_maker = step_key(cx, role.name(), &crew.version(role), &input) != recorded.key;
        let (config, occasion) = (config.clone(), Occasion::default());
        let order = Order { role, input, config, occasion, progress: Progress::default() };
        let now = match crew.ask(cx, order).await.result {
            Ok(output) => Now::Made { result: output.result, other_maker },
            Err(error) => Now::Failed { error, other_maker },
        };
        let came = match (&recorded.artifact, &now) {
            (Some(result), _) => Ok(result.clone()),
            (None, Now::Made { result, .. }) if recorded.state != StepState::Failed => Ok(result.clone()),
            (None, Now::Failed { error, .. }) => Err(error.report(role)),
            (None, _) => Err(failure(role, &recorded)),
        };
        given.put(
            role,
            came.map(|result| known_output(cx, role, result, recorded.key.clone(), Told::of_row(&recorded))),
        );
        replayed.push(Replayed { role, recorded, now });
    }
    replayed
}

/// A failure of which the row has but the sentence.
fn failure(role: Role, recorded: &StepRow) -> AgentError {
    AgentError {
        message: recorded.detail.clone().unwrap_or_default(),
        code: "recorded".to_owned(),
        agent_name: role.name().to_owned(),
        recoverable: false,
    }
}
