//! A flow as data: which role needs whose output. The runner does every step as soon as what it needs is there.

use std::collections::BTreeMap;

use futures::stream::{FuturesUnordered, StreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Error, Journal};
use crate::agent::{Context, Role};
use crate::artifact::AgentError;
use crate::artifact::exchange::{AgentInput, AgentOutput, OutputStatus};
use crate::artifact::status::AgentState;

/// Steps in any order; what they need decides when they run.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    pub name: &'static str,
    pub steps: &'static [Step],
}

#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub role: Role,
    /// Whose outputs it is given, under their names, beside `facts`.
    pub needs: &'static [Role],
}

/// What the steps of a flow left behind.
#[derive(Debug, Default)]
pub struct Outputs {
    done: BTreeMap<Role, AgentOutput>,
    /// The step whose document says that it failed: the flow went no further.
    pub stopped: Option<Stopped>,
}

/// A document with `status: failed` (S2.25 to S2.27).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    pub role: Role,
    pub faults: Vec<AgentError>,
}

impl Outputs {
    /// A role's output.
    ///
    /// # Errors
    /// The role had no step or its step was never reached, or the document does not have that form.
    pub fn get<T: DeserializeOwned>(&self, role: Role) -> Result<T, Error> {
        let output = self.done.get(&role).ok_or(Error::NotReached { role: role.name() })?;
        T::deserialize(&output.result).map_err(|source| Error::Document { role: role.name(), source })
    }
}

impl Flow {
    /// Runs the steps over the facts; those that need nothing of each other run side by side.
    ///
    /// # Errors
    /// The first step that failed; finished steps are kept and not repeated.
    pub async fn run(&self, cx: &Context, journal: &Journal, facts: &impl Serialize) -> Result<Outputs, Error> {
        let facts = serde_json::to_value(facts).map_err(|source| Error::Document { role: "facts", source })?;
        let mut outputs = Outputs::default();
        let mut waiting: Vec<&Step> = self.steps.iter().collect();
        let mut running = FuturesUnordered::new();
        loop {
            let (ready, later) = waiting
                .into_iter()
                .partition(|step: &&Step| step.needs.iter().all(|role| outputs.done.contains_key(role)));
            waiting = later;
            let ready: Vec<&Step> = ready;
            for step in &ready {
                // Whoever needs only what is there and what is being made is as good as called (A2.1).
                let there = |role: &Role| outputs.done.contains_key(role) || *role == step.role;
                for next in waiting.iter().filter(|next| next.needs.iter().all(there)) {
                    journal.show(next.role, AgentState::Waiting).await?;
                }
            }
            for step in ready {
                let input = input(&facts, step, &outputs.done);
                running.push(async move { (step.role, journal.step(cx, step.role, input).await) });
            }
            let Some((role, output)) = running.next().await else { return Ok(outputs) };
            let output = output?;
            let failed = (output.status == OutputStatus::Failed).then(|| output.metadata.errors.clone());
            outputs.done.insert(role, output);
            if let Some(faults) = failed {
                outputs.stopped = Some(Stopped { role, faults: faults.unwrap_or_default() });
                return Ok(outputs);
            }
        }
    }
}

pub(super) fn input(facts: &Value, step: &Step, done: &BTreeMap<Role, AgentOutput>) -> AgentInput {
    let history = step.needs.iter().filter_map(|role| done.get(role).cloned()).collect();
    AgentInput { history, facts: facts.clone(), ..AgentInput::default() }
}

#[cfg(test)]
mod tests {
    use super::super::FLOWS;
    use std::collections::BTreeSet;

    #[test]
    fn every_step_can_be_reached() {
        for flow in FLOWS {
            let (mut done, mut left) = (BTreeSet::new(), flow.steps.to_vec());
            while !left.is_empty() {
                let before = left.len();
                left.retain(|step| {
                    let ready = step.needs.iter().all(|role| done.contains(role.name()));
                    if ready {
                        done.insert(step.role.name());
                    }
                    !ready
                });
                assert!(left.len() < before, "{}: {left:?} need each other, or nobody", flow.name);
            }
            assert_eq!(done.len(), flow.steps.len(), "{}: a role has two steps", flow.name);
        }
    }
}
