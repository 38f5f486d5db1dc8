//! The record of a run: its steps with their artifacts, and progress for whoever watches.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Error;
use crate::agent::{self, Context, Role};
use crate::domain::RunId;
use crate::stdx::hash;
use crate::store::{MAX_ARTIFACT, StepState, Store};

/// Where steps are kept. Work without GitHub keeps none: it is over before anything could be lost.
#[derive(Clone)]
pub enum Journal {
    Kept { store: Store, run: RunId },
    Unkept,
}

impl Journal {
    /// Runs the role's agent on `input`, or takes the artifact that the same agent made of the same input before.
    ///
    /// # Errors
    /// The agent's, or the store's; a failed step stays visible in the run.
    pub async fn step<T>(&self, cx: &Context, role: Role, input: &impl Serialize) -> Result<T, Error>
    where
        T: DeserializeOwned,
    {
        let name = role.name();
        let document = |source| Error::Document { role: name, source };
        let input = serde_json::to_value(input).map_err(document)?;
        let agent = agent::find(role);
        let Self::Kept { store, run } = self else {
            let output = agent.execute(cx, input).await.map_err(|source| Error::Agent { role: name, source })?;
            return serde_json::from_value(output).map_err(document);
        };
        let key = step_key(cx, name, agent.version(), &input);
        let step = store.start_step(*run, name, &key).await?;
        if let Some(artifact) = store.step_by_key(&key).await?.and_then(|known| known.artifact)
            && let Ok(output) = serde_json::from_value(artifact.clone())
        {
            store.finish_step(step, StepState::Skipped, Some(&artifact), None).await?;
            return Ok(output);
        }
        match agent.execute(cx, input).await {
            Ok(artifact) => {
                store.finish_step(step, StepState::Done, kept(&artifact), None).await?;
                serde_json::from_value(artifact).map_err(document)
            }
            Err(source) => {
                store.finish_step(step, StepState::Failed, None, Some(&source.to_string())).await?;
                Err(Error::Agent { role: name, source })
            }
        }
    }

    /// One line of progress.
    ///
    /// # Errors
    /// The store's.
    pub async fn say(&self, line: &str) -> Result<(), Error> {
        if let Self::Kept { store, run } = self {
            store.add_progress(*run, line).await?;
        }
        Ok(())
    }
}

/// An artifact beyond the limit is not kept: its step is done again when it is needed again.
fn kept(artifact: &serde_json::Value) -> Option<&serde_json::Value> {
    (artifact.to_string().len() <= MAX_ARTIFACT).then_some(artifact)
}

/// Agent, version, rules, input and trees: whatever may change the output.
fn step_key(cx: &Context, role: &str, version: &str, input: &serde_json::Value) -> String {
    hash::sha256_parts([
        role,
        version,
        cx.engine.digest(),
        cx.facts.base.as_str(),
        // A work tree has no commit of its own, but it has a tree.
        cx.change.tree.as_str(),
        &input.to_string(),
    ])
}
