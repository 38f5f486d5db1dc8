//! Documentation: what the pages say against what is there. Without a model: links to files that do not exist.

use super::{Lens, faults};
use crate::agent::{Agent, Context, Error, Role};
use crate::artifact::{AgentFindings, FilePlan};
use crate::domain::Category;

pub struct Documentation;

impl Agent for Documentation {
    const VERSION: &'static str = "1";
    type Input = FilePlan;
    type Output = AgentFindings;

    fn role(&self) -> Role {
        Role::Documentation
    }

    async fn run(&self, cx: &Context, plan: FilePlan) -> Result<AgentFindings, Error> {
        Lens(Category::Documentation).run(cx, plan).await
    }

    fn faults(&self, cx: &Context, output: &AgentFindings) -> Vec<String> {
        faults(cx, output)
    }
}
