//! Documentation, debt, improvement, critical: the same reading, four questions.

use serde::Deserialize;
use serde_json::Value;

use super::{faults, outside};
use crate::agent::{Agent, Context, Error, Reviewing, Role};
use crate::artifact::exchange::AgentInput;
use crate::artifact::{AgentFindings, FilePlan, Snapshot};
use crate::domain::Category;

/// A reviewer for one category of what the static engine finds.
pub struct Lens(pub Category);

#[derive(Debug, Deserialize)]
pub struct LensInput {
    manager: Snapshot,
}

impl Agent for Lens {
    const VERSION: &'static str = "2";
    type Input = LensInput;
    type Output = AgentFindings;

    fn role(&self) -> Role {
        outside::role(self.0)
    }

    async fn run(&self, cx: &Context, input: LensInput) -> Result<AgentFindings, Error> {
        let Reviewing { facts, pack, .. } = cx.reviewing()?;
        let plan = input.manager.reading.ok_or(Error::Scene("a review"))?;
        let files = pack.read(cx, &plan).await?;
        let findings = files
            .values()
            .flat_map(|file| &file.fresh)
            .filter(|finding| finding.category == self.0 && finding.severity >= facts.settings.min_severity)
            .cloned()
            .collect();
        Ok(AgentFindings { category: self.0, findings })
    }

    fn faults(&self, cx: &Context, output: &AgentFindings) -> Vec<String> {
        faults(cx, output)
    }

    async fn brief(&self, cx: &Context, input: &AgentInput) -> Result<Value, Error> {
        outside::brief(cx, self.0, &plan(input)?).await
    }

    async fn adopt(&self, cx: &Context, input: &AgentInput, result: Value) -> Result<AgentFindings, Error> {
        outside::adopt(cx, self.0, &plan(input)?, result).await
    }
}

fn plan(input: &AgentInput) -> Result<FilePlan, Error> {
    let input = LensInput::deserialize(Value::Object(input.fields()));
    let manager = input.map_err(|source| Error::Input { role: Role::Manager.name(), source })?.manager;
    manager.reading.ok_or(Error::Scene("a review"))
}
