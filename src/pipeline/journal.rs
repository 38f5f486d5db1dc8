//! The record of a run: its steps with their artifacts, and progress for whoever watches.

use std::sync::{Arc, LazyLock};

use serde_json::Value;
use tokio::time::Instant;

use super::{Cycle, Error};
use crate::agent::{self, Context, DynAgent, Registry, Role};
use crate::artifact::exchange::{AgentInput, AgentOutput, OutputMetadata, OutputStatus};
use crate::artifact::status::AgentState;
use crate::artifact::{Shelf, shelf};
use crate::domain::RunId;
use crate::stdx::hash;
use crate::store::{MAX_ARTIFACT, StepState, Store};

/// Where steps are kept. Work without GitHub keeps none: it is over before anything could be lost.
#[derive(Clone)]
pub enum Journal {
    Kept {
        store: Store,
        run: RunId,
        shelf: Shelf,
        /// Where a contribution shows how far it is.
        cycle: Option<Arc<Cycle>>,
    },
    Unkept,
}

impl Journal {
    /// Shows in a repository's swarm how far the flow is.
    #[must_use]
    pub fn showing(mut self, swarm: &Arc<Cycle>) -> Self {
        if let Self::Kept { cycle, .. } = &mut self {
            *cycle = Some(swarm.clone());
        }
        self
    }

    fn agents(&self) -> &'static Registry {
        static OURS: LazyLock<Registry> = LazyLock::new(Registry::builtin);
        &OURS
    }

    /// Runs the role's agent on `input`, or takes the result that the same agent made of the same input before.
    ///
    /// # Errors
    /// The agent's, the store's or the disk's; a failed step stays visible in the run.
    pub(super) async fn step(&self, cx: &Context, role: Role, input: AgentInput) -> Result<AgentOutput, Error> {
        let name = role.name();
        let agent = self.agents().get(role);
        let failed = |source| Error::Agent { role: name, source };
        let Self::Kept { store, run, .. } = self else {
            return execute(agent, cx, &input).await.map_err(failed);
        };
        let key = step_key(cx, name, agent.version(), &input);
        let step = store.start_step(*run, name, &key).await?;
        let began = Instant::now();
        let known = store.step_by_key(&key).await?.and_then(|known| known.artifact);
        self.show(role, AgentState::Running).await?;
        let output = match known {
            Some(result) => {
                store.finish_step(step, StepState::Skipped, Some(&result), None).await?;
                store.meter().step(name, "known", None);
                known_output(cx, role, result, key)
            }
            None => match execute(agent, cx, &input).await {
                Ok(output) => {
                    // A document that says it failed is no answer for the next attempt.
                    let ended = output.status != OutputStatus::Failed;
                    let state = if ended { StepState::Done } else { StepState::Failed };
                    let detail =
                        output.metadata.errors.as_ref().filter(|_| !ended).map(|errors| {
                            errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; ")
                        });
                    store.meter().step(name, if ended { "done" } else { "stopped" }, Some(began.elapsed()));
                    store.finish_step(step, state, kept(&output.result), detail.as_deref()).await?;
                    output
                }
                Err(source) => {
                    store.meter().step(name, "failed", Some(began.elapsed()));
                    store.finish_step(step, StepState::Failed, None, Some(&source.to_string())).await?;
                    self.show(role, AgentState::Failed).await?;
                    return Err(failed(source));
                }
            },
        };
        let failed = output.status == OutputStatus::Failed;
        self.show(role, if failed { AgentState::Failed } else { AgentState::Completed }).await?;
        if let Some(file) = role.file() {
            self.shelve(file, role.document(&output.result)).await?;
        }
        if let Some(line) = agent.line(&output.result) {
            self.say(&line).await?;
        }
        Ok(output)
    }

    /// Puts a document into the run's folder.
    ///
    /// # Errors
    /// The document does not have its form, or the disk's.
    pub async fn shelve(&self, file: &'static str, document: &Value) -> Result<(), Error> {
        let Self::Kept { shelf, cycle, .. } = self else { return Ok(()) };
        let (shelf, cycle, document) = (shelf.clone(), cycle.clone(), document.clone());
        let written = tokio::task::spawn_blocking(move || {
            shelf.put(file, &document)?;
            cycle.map_or(Ok(()), |cycle| cycle.put(file, &document))
        });
        Ok(written.await.map_err(|error| shelf::Error::Disk(std::io::Error::other(error)))??)
    }

    /// Says in the swarm's status what a role is doing.
    pub(super) async fn show(&self, role: Role, state: AgentState) -> Result<(), Error> {
        let Self::Kept { cycle: Some(cycle), .. } = self else { return Ok(()) };
        let cycle = cycle.clone();
        let written = tokio::task::spawn_blocking(move || cycle.set(role, state)).await;
        Ok(written.map_err(|error| shelf::Error::Disk(std::io::Error::other(error)))??)
    }

    /// One line of progress.
    ///
    /// # Errors
    /// The store's.
    pub async fn say(&self, line: &str) -> Result<(), Error> {
        if let Self::Kept { store, run, .. } = self {
            store.add_progress(*run, line).await?;
        }
        Ok(())
    }
}

/// The output of an agent, validated.
pub(super) async fn execute(
    agent: &Arc<dyn DynAgent>,
    cx: &Context,
    input: &AgentInput,
) -> Result<AgentOutput, agent::Error> {
    let output = agent.execute(cx, input).await?;
    let verdict = agent.validate(cx, &output).await;
    if verdict.is_valid {
        return Ok(output);
    }
    let faults: Vec<String> = verdict.issues.into_iter().map(|issue| issue.message).collect();
    Err(agent::Error::Invalid { role: agent.role().name(), faults: faults.join("; ") })
}

/// A result that was made before.
pub(super) fn known_output(cx: &Context, role: Role, result: Value, key: String) -> AgentOutput {
    AgentOutput {
        agent_name: role.name().to_owned(),
        timestamp: cx.timestamp(),
        status: OutputStatus::Success,
        result,
        metadata: OutputMetadata { cache_hit: Some(true), cache_key: Some(key), ..OutputMetadata::default() },
    }
}

/// An artifact beyond the limit is not kept: its step is done again when it is needed again.
fn kept(artifact: &Value) -> Option<&Value> {
    (artifact.to_string().len() <= MAX_ARTIFACT).then_some(artifact)
}

/// Agent, version, rules, input and trees: whatever may change the output.
pub(super) fn step_key(cx: &Context, role: &str, version: &str, input: &AgentInput) -> String {
    let [base, tree] = cx.trees();
    hash::sha256_parts([role, version, cx.engine.digest(), base, tree, &Value::Object(input.fields()).to_string()])
}
