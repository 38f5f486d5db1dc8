//! What an agent is: typed where it is written, erased once by the registry (S1.1 to S1.4).

use std::future::Future;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Context, Error, RetryPolicy, Role};
use crate::artifact::document::faults_of;
use crate::artifact::exchange::{
    AgentInput, AgentOutput, MoreMetadata, OutputMetadata, OutputStatus, ValidationResult,
};
use crate::artifact::plan::Task;
use crate::artifact::{AgentError, Fault, Form};

/// One agent, as whoever writes it sees it.
pub trait Agent: Send + Sync + 'static {
    /// Part of every step key: raise it when the same input may give another output.
    const VERSION: &'static str;
    /// Read from [`AgentInput::fields`]: the flow's `facts` and, under the name of its role, the result of each step that
    /// this one needs.
    type Input: DeserializeOwned + Send;
    type Output: Serialize + DeserializeOwned + Send + Sync;

    fn role(&self) -> Role;

    fn run(&self, cx: &Context, input: Self::Input) -> impl Future<Output = Result<Self::Output, Error>> + Send;

    /// What is wrong with an output beyond its form; nothing when it may be used.
    fn faults(&self, _cx: &Context, _output: &Self::Output) -> Vec<String> {
        Vec::new()
    }

    /// What of it there is to tell beside the result itself.
    fn told(&self, _output: &Self::Output) -> Told {
        Told::default()
    }

    /// One line for whoever watches.
    fn line(&self, _output: &Self::Output) -> Option<String> {
        None
    }

    /// The result as S1.6 spells it, where the form that goes from step to step is another one.
    fn present(
        &self,
        _cx: &Context,
        _input: &AgentInput,
        output: &AgentOutput,
    ) -> impl Future<Output = Result<Value, Error>> + Send {
        std::future::ready(Ok(output.result.clone()))
    }

    /// What a program that takes this agent's place finds under `facts`: by default what the flow starts from.
    fn brief(&self, _cx: &Context, input: &AgentInput) -> impl Future<Output = Result<Value, Error>> + Send {
        std::future::ready(Ok(input.facts.clone()))
    }

    /// The output that this agent would have made of what such a program answered: by default the same form.
    fn adopt(
        &self,
        _cx: &Context,
        _input: &AgentInput,
        result: Value,
    ) -> impl Future<Output = Result<Self::Output, Error>> + Send {
        let role = Agent::role(self).name();
        std::future::ready(Self::Output::deserialize(result).map_err(|source| Error::Input { role, source }))
    }
}

/// What an agent tells of its output (S1.7, S1.11 to S1.15).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// Something of what was asked is missing.
    pub partial: bool,
    pub warnings: Vec<String>,
    /// What went wrong, where a part of the work was done all the same.
    pub errors: Vec<AgentError>,
    pub more: MoreMetadata,
}

/// An agent as the pipeline sees it.
pub trait DynAgent: Send + Sync {
    /// Its role's name is its id.
    fn role(&self) -> Role;

    fn version(&self) -> &'static str;

    fn retry_policy(&self) -> RetryPolicy {
        self.role().retry_policy()
    }

    /// Whether it can work on a task of a plan.
    fn can_handle(&self, task: &Task) -> bool {
        self.role().can_handle(task)
    }

    /// Does the work. What comes out is not validated yet.
    fn execute<'a>(&'a self, cx: &'a Context, input: &'a AgentInput) -> BoxFuture<'a, Result<AgentOutput, Error>>;

    /// What is wrong with an output, its own or another program's, and how good it is.
    fn validate<'a>(&'a self, cx: &'a Context, output: &'a AgentOutput) -> BoxFuture<'a, ValidationResult>;

    /// See [`Agent::present`].
    fn present<'a>(
        &'a self,
        cx: &'a Context,
        input: &'a AgentInput,
        output: &'a AgentOutput,
    ) -> BoxFuture<'a, Result<Value, Error>>;

    /// See [`Agent::brief`].
    fn brief<'a>(&'a self, cx: &'a Context, input: &'a AgentInput) -> BoxFuture<'a, Result<Value, Error>>;

    /// See [`Agent::adopt`]. The status is what the program says; an output that says `failed` is handed on as it is.
    fn adopt<'a>(
        &'a self,
        cx: &'a Context,
        input: &'a AgentInput,
        output: AgentOutput,
    ) -> BoxFuture<'a, Result<AgentOutput, Error>>;

    /// One line about a result, for whoever watches.
    fn line(&self, result: &Value) -> Option<String>;
}

impl<A: Agent> DynAgent for A {
    fn role(&self) -> Role {
        Agent::role(self)
    }

    fn version(&self) -> &'static str {
        A::VERSION
    }

    fn execute<'a>(&'a self, cx: &'a Context, input: &'a AgentInput) -> BoxFuture<'a, Result<AgentOutput, Error>> {
        Box::pin(async move {
            let role = Agent::role(self);
            let unread = |source| Error::Input { role: role.name(), source };
            let typed = A::Input::deserialize(Value::Object(input.fields())).map_err(unread)?;
            if cx.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let began = Instant::now();
            let output = self.run(cx, typed).await?;
            wrap(self, cx, &output, began.elapsed())
        })
    }

    fn validate<'a>(&'a self, cx: &'a Context, output: &'a AgentOutput) -> BoxFuture<'a, ValidationResult> {
        Box::pin(std::future::ready(ValidationResult::of(&faults(self, cx, output))))
    }

    fn present<'a>(
        &'a self,
        cx: &'a Context,
        input: &'a AgentInput,
        output: &'a AgentOutput,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(Agent::present(self, cx, input, output))
    }

    fn brief<'a>(&'a self, cx: &'a Context, input: &'a AgentInput) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(Agent::brief(self, cx, input))
    }

    fn adopt<'a>(
        &'a self,
        cx: &'a Context,
        input: &'a AgentInput,
        output: AgentOutput,
    ) -> BoxFuture<'a, Result<AgentOutput, Error>> {
        Box::pin(async move {
            if output.status == OutputStatus::Failed {
                return Ok(output);
            }
            let AgentOutput { status, result, metadata, timestamp, .. } = output;
            let adopted = Agent::adopt(self, cx, input, result).await?;
            let ours = wrap(self, cx, &adopted, Duration::from_millis(metadata.duration_ms))?;
            let status = if ours.status == OutputStatus::Success { status } else { ours.status };
            Ok(AgentOutput { status, metadata, timestamp, ..ours })
        })
    }

    fn line(&self, result: &Value) -> Option<String> {
        Agent::line(self, &A::Output::deserialize(result).ok()?)
    }
}

fn wrap<A: Agent>(agent: &A, cx: &Context, output: &A::Output, took: Duration) -> Result<AgentOutput, Error> {
    let role = Agent::role(agent);
    let result = serde_json::to_value(output).map_err(|source| Error::Input { role: role.name(), source })?;
    let Told { partial, warnings, errors: told, more } = agent.told(output);
    let errors = role.document(&result).and_then(|document| faults_of(&document));
    let status = match (&errors, partial) {
        (Some(_), _) => OutputStatus::Failed,
        (None, true) => OutputStatus::Partial,
        (None, false) => OutputStatus::Success,
    };
    Ok(AgentOutput {
        agent_name: role.name().to_owned(),
        timestamp: cx.timestamp(),
        status,
        result,
        metadata: OutputMetadata {
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            errors: errors.or_else(|| (!told.is_empty()).then_some(told)),
            warnings: (!warnings.is_empty()).then_some(warnings),
            more,
            ..OutputMetadata::default()
        },
    })
}

fn faults<A: Agent>(agent: &A, cx: &Context, output: &AgentOutput) -> Vec<Fault> {
    let role = Agent::role(agent);
    if Role::parse(&output.agent_name) != Some(role) {
        let message = format!("`{}` is not the {} agent", output.agent_name, role.name());
        return vec![Fault::error("agentName".to_owned(), message)];
    }
    if output.status == OutputStatus::Failed && output.result.is_null() {
        return Vec::new();
    }
    let form = role.file().and_then(Form::of_file).zip(role.document(&output.result));
    let mut found = form.map_or_else(Vec::new, |(form, document)| form.check_own(&document));
    if found.iter().any(Fault::is_error) {
        return found;
    }
    match A::Output::deserialize(&output.result) {
        Err(error) => found.push(Fault::error(String::new(), format!("cannot be read: {error}"))),
        Ok(typed) => {
            found.extend(agent.faults(cx, &typed).into_iter().map(|fault| Fault::error("result".to_owned(), fault)));
        }
    }
    found
}
