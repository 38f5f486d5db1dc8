//! One agent called by hand, as the pipeline calls it: its output counts when it is valid.

use octoswarm::agent::{Context, Error, Registry, Role};
use octoswarm::artifact::exchange::{AgentInput, AgentOutput, OutputMetadata, OutputStatus};
use serde_json::Value;

/// The result of an agent over `facts` and, under their names, the results of others.
pub async fn play(role: Role, cx: &Context, input: Value) -> Result<Value, Error> {
    let agent = Registry::builtin().get(role).clone();
    let output = agent.execute(cx, &given(input)).await?;
    let verdict = agent.validate(cx, &output).await;
    if verdict.is_valid {
        return Ok(output.result);
    }
    let faults: Vec<String> = verdict.issues.into_iter().map(|issue| issue.message).collect();
    Err(Error::Invalid { role: role.name(), faults: faults.join("; ") })
}

/// An agent's input out of one object.
pub fn given(input: Value) -> AgentInput {
    let Value::Object(mut fields) = input else { panic!("an object") };
    let facts = fields.remove("facts").unwrap_or_default();
    let history = fields.into_iter().map(|(agent_name, result)| AgentOutput {
        agent_name,
        timestamp: "2026-11-21T10:00:00Z".to_owned(),
        status: OutputStatus::Success,
        result,
        metadata: OutputMetadata::default(),
    });
    AgentInput { history: history.collect(), facts, ..AgentInput::default() }
}
