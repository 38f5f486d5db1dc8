//! Documentation, debt, improvement, critical: the same reading, four questions.

use serde::Deserialize;

use super::faults;
use crate::agent::{Agent, Context, Error, Reviewing, Role};
use crate::artifact::{AgentFindings, Snapshot};
use crate::domain::Category;

/// A reviewer for one category of what the static engine finds.
pub struct Lens(pub Category);

#[derive(Debug, Deserialize)]
pub struct LensInput {
    manager: Snapshot,
}

impl Agent for Lens {
    const VERSION: &'static str = "1";
    type Input = LensInput;
    type Output = AgentFindings;

    fn role(&self) -> Role {
        match self.0 {
            Category::Critical => Role::Critical,
            Category::Improvement => Role::Improvement,
            Category::Debt => Role::Debt,
            Category::Documentation => Role::Documentation,
        }
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
}
