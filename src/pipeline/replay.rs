//! The agents of a run that is over once more, each from what it was given then.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::crew::{Crew, Occasion, Order, Progress, Settings};
use super::flow::{Flow, Outputs, RunOptions, StepEnd, input, why_not};
use super::journal::{Told, facts_key, known_output, step_key};
use crate::agent::{self, Context, Registry, Role};
use crate::artifact::AgentError;
use crate::artifact::exchange::AgentConfig;
use crate::artifact::plan::Task;
use crate::stdx::backoff::Backoff;
use crate::store::{StepRow, StepState};

/// The member of the recorded facts that tells what the run was asked to be. Absent where nothing special was asked.
const ASKED: &str = "run";

/// What a flow started from, as its row keeps it.
#[derive(Debug)]
pub struct Beginning {
    pub flow: &'static Flow,
    pub facts: Value,
    /// As far as the agents see any of it.
    pub options: RunOptions,
    key: String,
}

/// The options that an agent's input depends on.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Asked {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    only: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    configs: BTreeMap<String, AgentConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_input: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<Task>,
}

impl Beginning {
    /// What the row keeps.
    pub(super) fn artifact(facts: &Value, options: &RunOptions) -> Value {
        let RunOptions { only, configs, user_input, task, .. } = options;
        let asked = Asked {
            only: only.as_ref().map(|roles| roles.iter().map(|role| role.name().to_owned()).collect()),
            configs: configs.iter().map(|(role, config)| (role.name().to_owned(), config.clone())).collect(),
            user_input: user_input.clone(),
            task: task.clone(),
        };
        let mut artifact = facts.clone();
        if let (Value::Object(fields), true, Ok(asked)) =
            (&mut artifact, asked != Asked::default(), serde_json::to_value(&asked))
        {
            fields.insert(ASKED.to_owned(), asked);
        }
        artifact
    }

    /// What a row tells, of a run of that kind; nothing where its facts were not kept, or where there is no such flow.
    pub fn of(row: &StepRow, kind: &str) -> Option<Self> {
        let flow = row.detail.as_deref().and_then(Flow::named).or_else(|| Flow::named(kind))?;
        let mut facts = row.artifact.clone()?;
        let asked = facts.as_object_mut().and_then(|fields| fields.remove(ASKED));
        let asked: Asked = asked.and_then(|asked| serde_json::from_value(asked).ok()).unwrap_or_default();
        let role = |name: &String| Role::parse(name);
        let options = RunOptions {
            only: asked.only.map(|names| names.iter().filter_map(role).collect()),
            configs: asked.configs.into_iter().filter_map(|(name, config)| Some((role(&name)?, config))).collect(),
            user_input: asked.user_input,
            task: asked.task,
            ..RunOptions::default()
        };
        Some(Self { flow, facts, options, key: row.key.clone() })
    }

    /// Whether these are the very trees that the flow worked on.
    pub fn is_on(&self, cx: &Context) -> bool {
        facts_key(cx, self.flow, &self.facts) == self.key
    }
}

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
pub async fn replay(cx: &Context, began: &Beginning, steps: Vec<StepRow>) -> Vec<Replayed> {
    let at_once = Backoff { base: Duration::ZERO, max: Duration::ZERO, jitter: false };
    let crew = Crew::direct_with(Registry::builtin(), Settings { backoff: at_once, ..Settings::default() });
    let Beginning { flow, facts, options, .. } = began;
    let mut recorded: BTreeMap<String, StepRow> = steps.into_iter().map(|row| (row.name.clone(), row)).collect();
    let (mut given, mut replayed) = (Outputs::default(), Vec::new());
    for step in flow.steps {
        let role = step.role;
        let Some(recorded) = recorded.remove(role.name()) else {
            // Whoever went on without it was told why.
            let why = why_not(step, true, options, &given).or_else(|| why_not(step, false, options, &given));
            given.end(role, StepEnd::Skipped(why.unwrap_or_default()));
            continue;
        };
        if let Some(missing) = step.needs.iter().find(|role| !given.has(**role)) {
            replayed.push(Replayed { role, recorded, now: Now::Unreached { needs: missing.name() } });
            continue;
        }
        // What the agent is told of it; how long it may take and how often it is asked is ours.
        let config = AgentConfig { enabled: None, timeout: None, retries: None, ..options.config(role) };
        let mut input = input(cx, facts, step, &given, options);
        input.config = crew.told(role, &config);
        let other_maker = step_key(cx, role.name(), &crew.version(role), &input) != recorded.key;
        let order = Order { role, input, config, occasion: Occasion::default(), progress: Progress::default() };
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
