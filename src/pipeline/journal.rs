//! The record of a run: its steps with their artifacts, and progress for whoever watches.

use serde_json::Value;
use tokio::time::Instant;

use super::Error;
use crate::agent::{self, Context, Role};
use crate::artifact::Shelf;
use crate::artifact::document::faults_of;
use crate::domain::RunId;
use crate::stdx::hash;
use crate::store::{MAX_ARTIFACT, StepState, Store};

/// Where steps are kept. Work without GitHub keeps none: it is over before anything could be lost.
#[derive(Clone)]
pub enum Journal {
    Kept { store: Store, run: RunId, shelf: Shelf },
    Unkept,
}

impl Journal {
    /// Runs the role's agent on `input`, or takes the document that the same agent made of the same input before.
    ///
    /// # Errors
    /// The agent's, the store's or the disk's; a failed step stays visible in the run.
    pub(super) async fn step(&self, cx: &Context, role: Role, input: Value) -> Result<Value, Error> {
        let (name, agent) = (role.name(), agent::find(role));
        let failed = |source| Error::Agent { role: name, source };
        let Self::Kept { store, run, .. } = self else {
            return agent.execute(cx, input).await.map_err(failed);
        };
        let key = step_key(cx, name, agent.version(), &input);
        let step = store.start_step(*run, name, &key).await?;
        let began = Instant::now();
        let known = store.step_by_key(&key).await?.and_then(|known| known.artifact);
        let output = match known {
            Some(document) => {
                store.finish_step(step, StepState::Skipped, Some(&document), None).await?;
                store.meter().step(name, "known", None);
                document
            }
            None => match agent.execute(cx, input).await {
                Ok(document) => {
                    let faults = faults_of(&document);
                    // A document that says it failed is no answer for the next attempt.
                    let state = if faults.is_some() { StepState::Failed } else { StepState::Done };
                    let detail = faults
                        .map(|faults| faults.into_iter().map(|fault| fault.message).collect::<Vec<_>>().join("; "));
                    let outcome = if state == StepState::Done { "done" } else { "stopped" };
                    store.meter().step(name, outcome, Some(began.elapsed()));
                    store.finish_step(step, state, kept(&document), detail.as_deref()).await?;
                    document
                }
                Err(source) => {
                    store.meter().step(name, "failed", Some(began.elapsed()));
                    store.finish_step(step, StepState::Failed, None, Some(&source.to_string())).await?;
                    return Err(failed(source));
                }
            },
        };
        if let Some(file) = role.file() {
            self.shelve(file, role.document(&output)).await?;
        }
        if let Some(line) = agent.line(&output) {
            self.say(&line).await?;
        }
        Ok(output)
    }

    /// Puts a document into the run's folder.
    ///
    /// # Errors
    /// The disk's.
    pub async fn shelve(&self, file: &'static str, document: &Value) -> Result<(), Error> {
        let Self::Kept { shelf, .. } = self else { return Ok(()) };
        let (shelf, document) = (shelf.clone(), document.clone());
        let written = tokio::task::spawn_blocking(move || shelf.put(file, &document)).await;
        Ok(written.map_err(std::io::Error::other)??)
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

/// An artifact beyond the limit is not kept: its step is done again when it is needed again.
fn kept(artifact: &Value) -> Option<&Value> {
    (artifact.to_string().len() <= MAX_ARTIFACT).then_some(artifact)
}

/// Agent, version, rules, input and trees: whatever may change the output.
fn step_key(cx: &Context, role: &str, version: &str, input: &Value) -> String {
    let [base, tree] = cx.trees();
    hash::sha256_parts([role, version, cx.engine.digest(), base, tree, &input.to_string()])
}
