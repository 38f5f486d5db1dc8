//! A flow as data: which role needs whose output. The runner does every step as soon as what it needs is there.

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{FuturesUnordered, StreamExt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Error, Journal, result};
use crate::agent::{self, Context, Role};
use crate::artifact::AgentError;
use crate::artifact::exchange::{Absent, AgentConfig, AgentInput, AgentOutput, OutputMetadata, OutputStatus};
use crate::artifact::plan::{Plan, Task};
use crate::artifact::project::ProjectContext;
use crate::artifact::status::AgentState;

/// Steps in the order in which they run when nothing runs side by side; what they need decides when they may.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    pub name: &'static str,
    pub steps: &'static [Step],
}

#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub role: Role,
    /// Whose outputs it is given, under their names, beside `facts`. It is not done without any of them.
    pub needs: &'static [Role],
    /// Whose outputs it is given as far as there are any. It waits until each is there, or is known not to come.
    pub wants: &'static [Role],
    /// How many of those have to be there.
    pub at_least: usize,
}

impl Step {
    /// A step that cannot do without any of these.
    pub const fn new(role: Role, needs: &'static [Role]) -> Self {
        Self { role, needs, wants: &[], at_least: 0 }
    }

    /// And that takes the outputs of these, if at least so many of them are there.
    pub const fn taking(self, wants: &'static [Role], at_least: usize) -> Self {
        Self { wants, at_least, ..self }
    }
}

/// How a flow is run (S1.18, S1.19).
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Steps that need nothing of each other run side by side.
    pub parallel: bool,
    /// The first failure of any step ends the run; else whoever needs that step is skipped, and the others go on (A1.6).
    pub fail_fast: bool,
    /// No result of an earlier run is taken.
    pub force: bool,
    /// The steps to be done; the others are skipped, and with them whoever needs them ([`Flow::with_needs`]).
    pub only: Option<Vec<Role>>,
    /// They stand over the crew's own settings.
    pub configs: BTreeMap<Role, AgentConfig>,
    /// What somebody asked for, in their own words.
    pub user_input: Option<String>,
    /// The same as a task (A1.11).
    pub task: Option<Task>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            parallel: true,
            fail_fast: false,
            force: false,
            only: None,
            configs: BTreeMap::new(),
            user_input: None,
            task: None,
        }
    }
}

impl RunOptions {
    /// What the run says of a role's settings.
    pub(super) fn config(&self, role: Role) -> AgentConfig {
        self.configs.get(&role).cloned().unwrap_or_default()
    }
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepEnd {
    /// There is an output; its document may still say `status: failed`.
    Done,
    /// Its agent failed for good.
    Failed(AgentError),
    /// It was not tried: switched off, not asked for, or without what it needs.
    Skipped(String),
}

/// What the steps of a flow left behind.
#[derive(Debug, Default)]
pub struct Outputs {
    done: BTreeMap<Role, AgentOutput>,
    ends: BTreeMap<Role, StepEnd>,
    /// In the order in which they ended.
    order: Vec<Role>,
    /// The first failure of a step, as it was.
    failure: Option<(Role, agent::Error)>,
    /// The step whose document says that it failed: whoever needs it was skipped. With [`RunOptions::fail_fast`] the run ended
    /// there.
    pub stopped: Option<Stopped>,
    /// The outputs with their published documents, in the order in which the steps ended.
    pub results: Vec<AgentOutput>,
}

/// A flow that was run as a part of a run.
#[derive(Debug)]
pub struct Part {
    pub outputs: Outputs,
    /// What ended it before its end.
    pub error: Option<Error>,
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

    /// How each step ended that did.
    pub fn ends(&self) -> &BTreeMap<Role, StepEnd> {
        &self.ends
    }

    /// The outputs, in the order in which the steps ended.
    pub fn in_order(&self) -> impl Iterator<Item = (Role, &AgentOutput)> {
        self.order.iter().filter_map(|role| Some((*role, self.done.get(role)?)))
    }

    /// Nothing, if that role's step left an output or was stopped by a document.
    ///
    /// # Errors
    /// Else the first failure of the run.
    pub fn reached(mut self, role: Role) -> Result<Self, Error> {
        if self.done.contains_key(&role) || self.stopped.is_some() {
            return Ok(self);
        }
        match self.failure.take() {
            Some((failed, source)) => Err(Error::Agent { role: failed.name(), source }),
            None => Ok(self),
        }
    }

    pub(super) fn has(&self, role: Role) -> bool {
        self.done.contains_key(&role)
    }

    /// What a step came to.
    pub(super) fn put(&mut self, role: Role, came: Result<AgentOutput, AgentError>) {
        match came {
            Ok(output) => {
                self.done.insert(role, output);
                self.end(role, StepEnd::Done);
            }
            Err(error) => self.end(role, StepEnd::Failed(error)),
        }
    }

    pub(super) fn end(&mut self, role: Role, end: StepEnd) {
        self.order.push(role);
        self.ends.insert(role, end);
    }
}

impl Flow {
    /// Runs the steps over the facts.
    ///
    /// # Errors
    /// The run was cancelled, the store or the disk failed, or, with [`RunOptions::fail_fast`], the first failure. Finished
    /// steps are kept and not repeated. Every other failure stands in the outputs.
    pub async fn run(
        &self,
        cx: &Context,
        journal: &Journal,
        facts: &impl Serialize,
        options: &RunOptions,
    ) -> Result<Outputs, Error> {
        let part = self.part(cx, journal, facts, options).await?;
        let closed = journal.close(cx, &[&part], Vec::new()).await;
        // What ended the run comes before what kept us from writing that down.
        if let Some(error) = part.error {
            return Err(error);
        }
        closed?;
        Ok(part.outputs)
    }

    /// Runs the steps as one part of a run that has several; [`Journal::close`] tells what they came to together.
    ///
    /// # Errors
    /// The store's or the disk's, before the first step.
    pub async fn part(
        &self,
        cx: &Context,
        journal: &Journal,
        facts: &impl Serialize,
        options: &RunOptions,
    ) -> Result<Part, Error> {
        let facts = serde_json::to_value(facts).map_err(|source| Error::Document { role: "facts", source })?;
        journal.begin(cx, self, &facts, options).await?;
        let mut outputs = Outputs::default();
        let error = self.steps(cx, journal, &facts, options, &mut outputs).await.err();
        let mut results = Vec::new();
        for (role, output) in outputs.in_order() {
            let Some(step) = self.steps.iter().find(|step| step.role == role) else { continue };
            let input = input(cx, &facts, step, &outputs, options);
            results.extend(result::published(cx, journal.crew().agent(role).as_ref(), &input, output).await);
        }
        outputs.results = results;
        Ok(Part { outputs, error })
    }

    async fn steps(
        &self,
        cx: &Context,
        journal: &Journal,
        facts: &Value,
        options: &RunOptions,
        outputs: &mut Outputs,
    ) -> Result<(), Error> {
        let mut waiting: Vec<&Step> = self.steps.iter().collect();
        let mut running = FuturesUnordered::new();
        loop {
            waiting = self.skip(waiting, journal, options, outputs);
            let slots = if options.parallel { usize::MAX } else { 1 - running.len().min(1) };
            let (mut ready, mut later) = (Vec::new(), Vec::new());
            for step in waiting {
                if ready.len() < slots && is_ready(step, outputs) { ready.push(step) } else { later.push(step) }
            }
            waiting = later;
            for step in &ready {
                // Whoever needs only what is there and what is being made is as good as called (A2.1).
                let there = |role: &Role| outputs.ends.contains_key(role) || *role == step.role;
                for next in waiting.iter().filter(|next| next.needs.iter().chain(next.wants).all(there)) {
                    journal.show(next.role, AgentState::Waiting).await?;
                }
            }
            for step in ready {
                let input = input(cx, facts, step, outputs, options);
                let config = options.config(step.role);
                let force = options.force;
                running.push(async move { (step.role, journal.step(cx, step.role, input, config, force).await) });
            }
            let Some((role, done)) = running.next().await else { return Ok(()) };
            let output = match done {
                Ok(output) => output,
                Err(Error::Agent { role: name, source }) => {
                    let wanted = is_wanted(self, role);
                    // What another attempt at the whole may do better is left to it: our own disk, and who was cancelled.
                    let ours = matches!(&source, agent::Error::Workspace(_)) && source.is_transient();
                    if matches!(source, agent::Error::Cancelled) || options.fail_fast || (wanted && ours) {
                        outputs.end(role, StepEnd::Failed(source.report(role)));
                        return Err(Error::Agent { role: name, source });
                    }
                    outputs.end(role, StepEnd::Failed(source.report(role)));
                    outputs.failure.get_or_insert((role, source));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let failed = match output.status {
                OutputStatus::Failed => Some(output.metadata.errors.clone().unwrap_or_default()),
                // Who can do without it goes on, unless the first failure is to be the end of it.
                _ => role.shortfall(&output.result).filter(|_| options.fail_fast),
            };
            outputs.done.insert(role, output);
            outputs.end(role, StepEnd::Done);
            if let Some(faults) = failed.filter(|_| options.fail_fast || !is_wanted(self, role)) {
                outputs.stopped.get_or_insert(Stopped { role, faults });
                if options.fail_fast {
                    return Ok(());
                }
            }
        }
    }

    /// Takes out the steps that will not be done, until none is left of which that is known.
    fn skip<'a>(
        &self,
        mut waiting: Vec<&'a Step>,
        journal: &Journal,
        options: &RunOptions,
        outputs: &mut Outputs,
    ) -> Vec<&'a Step> {
        loop {
            let before = waiting.len();
            let on = |role: Role| journal.crew().is_enabled(role, &options.config(role));
            waiting.retain(|step| match why_not(step, on(step.role), options, outputs) {
                Some(why) => {
                    outputs.end(step.role, StepEnd::Skipped(why));
                    false
                }
                None => true,
            });
            if waiting.len() == before {
                return waiting;
            }
        }
    }

    /// The flow of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        super::FLOWS.iter().find(|flow| flow.name == name)
    }

    /// These roles and all that they need, for [`RunOptions::only`].
    pub fn with_needs(&self, roles: &[Role]) -> Vec<Role> {
        let mut all: BTreeSet<Role> = roles.iter().copied().collect();
        loop {
            let needed = self.steps.iter().filter(|step| all.contains(&step.role)).flat_map(|step| step.needs);
            let more: Vec<Role> = needed.copied().filter(|role| !all.contains(role)).collect();
            if more.is_empty() {
                return self.steps.iter().map(|step| step.role).filter(|role| all.contains(role)).collect();
            }
            all.extend(more);
        }
    }
}

/// Some step takes it if it is there, and none needs it.
fn is_wanted(flow: &Flow, role: Role) -> bool {
    flow.steps.iter().any(|step| step.wants.contains(&role))
        && !flow.steps.iter().any(|step| step.needs.contains(&role))
}

fn is_there(role: Role, outputs: &Outputs) -> bool {
    outputs.done.contains_key(&role) && outputs.stopped.as_ref().is_none_or(|stopped| stopped.role != role)
}

fn is_ready(step: &Step, outputs: &Outputs) -> bool {
    step.needs.iter().all(|role| is_there(*role, outputs))
        && step.wants.iter().all(|role| outputs.ends.contains_key(role))
}

/// Why a step will never be done; nothing as long as it may be.
pub(super) fn why_not(step: &Step, on: bool, options: &RunOptions, outputs: &Outputs) -> Option<String> {
    if options.only.as_ref().is_some_and(|only| !only.contains(&step.role)) {
        return Some("it was not asked for".to_owned());
    }
    if !on {
        return Some("it is switched off".to_owned());
    }
    let gone = |role: &&Role| outputs.ends.contains_key(role) && !is_there(**role, outputs);
    if let Some(role) = step.needs.iter().find(gone) {
        return Some(format!("it needs what the {} agent did not deliver", role.name()));
    }
    let left = step.wants.iter().filter(|role| !gone(role)).count();
    (left < step.at_least).then(|| "none of those whose work it takes has delivered".to_owned())
}

pub(super) fn input(cx: &Context, facts: &Value, step: &Step, outputs: &Outputs, options: &RunOptions) -> AgentInput {
    let there = step.needs.iter().chain(step.wants).filter_map(|role| outputs.done.get(role).cloned());
    let absent = step.wants.iter().filter_map(|role| match outputs.ends.get(role)? {
        StepEnd::Done => None,
        StepEnd::Failed(error) => Some(without_result(cx, *role, error.clone())),
        StepEnd::Skipped(why) => Some(without_result(
            cx,
            *role,
            AgentError {
                message: why.clone(),
                code: Absent::NOT_ASKED.to_owned(),
                agent_name: role.name().to_owned(),
                recoverable: false,
            },
        )),
    });
    let history = there.chain(absent).collect();
    let made = |role: Role| {
        let output = outputs.done.get(&role).filter(|_| step.needs.contains(&role) || step.wants.contains(&role))?;
        role.document(&output.result)
    };
    AgentInput {
        project_context: made(Role::Manager).and_then(|document| ProjectContext::deserialize(&*document).ok()),
        plan: made(Role::Planner).and_then(|document| Plan::deserialize(&*document).ok()),
        // A task is given to those who work on its kind; to the others the wish says the same.
        task: options.task.clone().filter(|task| step.role.can_handle(task)),
        user_input: options.user_input.clone(),
        history,
        facts: facts.clone(),
        force: options.force.then_some(true),
        ..AgentInput::default()
    }
}

/// How whoever takes an output learns that there is none.
fn without_result(cx: &Context, role: Role, error: AgentError) -> AgentOutput {
    AgentOutput {
        agent_name: role.name().to_owned(),
        timestamp: cx.timestamp(),
        status: OutputStatus::Failed,
        result: Value::Null,
        metadata: OutputMetadata { errors: Some(vec![error]), ..OutputMetadata::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::super::FLOWS;
    use super::*;

    #[test]
    fn every_step_can_be_reached() {
        for flow in FLOWS {
            let (mut done, mut left) = (BTreeSet::new(), flow.steps.to_vec());
            while !left.is_empty() {
                let before = left.len();
                left.retain(|step| {
                    let ready = step.needs.iter().chain(step.wants).all(|role| done.contains(role.name()));
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

    #[test]
    fn what_a_step_needs_comes_before_it() {
        for flow in FLOWS {
            let mut before = BTreeSet::new();
            for step in flow.steps {
                assert!(step.needs.iter().chain(step.wants).all(|role| before.contains(role)), "{}", flow.name);
                assert!(step.at_least <= step.wants.len(), "{}", flow.name);
                before.insert(step.role);
            }
        }
        let needed = super::super::contribute::CONTRIBUTE.with_needs(&[Role::Explorer]);
        assert_eq!(needed, [Role::Scout, Role::Manager, Role::Analyst, Role::Explorer]);
    }
}
