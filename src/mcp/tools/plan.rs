//! `plan_issue`: the tasks that an issue comes to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::yes;
use crate::app::local::{self, Planned, Planning};
use crate::artifact::plan::Plan;
use crate::mcp::call::{Answer, Call, Trouble};
use crate::mcp::table::{Effect, Tool};

pub(in crate::mcp) struct PlanIssue;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The issue's title: what should be there that is not, or what should change.
    #[schemars(length(min = 1, max = 1000))]
    title: String,
    /// Its text. Acceptance criteria as a task list, names of files and functions help.
    #[serde(default)]
    #[schemars(length(max = 262_144))]
    body: String,
    /// The repository; the first root where none is named.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    path: Option<String>,
    /// Whether the repository's own `.github/octoswarm.yml` holds.
    #[serde(default = "yes")]
    obey_config: bool,
}

/// A plan, or what is missing for one.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Answered {
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Plan>,
    /// Questions to answer first; there is no plan then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    questions: Vec<String>,
    /// What could be better about the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Tool for PlanIssue {
    const NAME: &'static str = "plan_issue";
    const TITLE: &'static str = "Plan an issue";
    const ABOUT: &'static str = "Plans the work that an issue asks for in a local git repository: the analyst, explorer and planner agents read the \
        issue and the code, and answer milestones of tasks with files, dependencies, effort and acceptance criteria, or the questions that \
        have to be answered first. Nothing is changed.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Answered;

    async fn run(input: Input, call: &Call) -> Result<Answer, Trouble> {
        let (path, _) = call.repository(input.path.as_deref())?;
        if [&input.title, &input.body].iter().any(|text| text.contains('\0')) {
            return Err(Trouble::new("the issue holds a NUL: it is no text"));
        }
        if input.title.trim().is_empty() {
            return Err(
                Trouble::new("the title is empty").hint("say what should be there that is not, or what should change")
            );
        }
        let _turn = call.turn().await?;
        let text = format!("{}\n{}", input.title.trim(), input.body);
        let Planned { planning, mut warnings } =
            local::plan(&path, &text, input.obey_config, None, &call.watch()).await?;
        let (answered, text) = match planning {
            Planning::Planned { plan, validation, .. } => {
                warnings.extend(validation.warnings);
                let text = local::plan_markdown(&plan);
                (Answered { plan: Some(*plan), questions: Vec::new(), warnings }, text)
            }
            Planning::Unplanned(unplanned) => {
                let asked = unplanned.clarifications.iter().map(|question| format!("- {question}\n"));
                let text = format!("There is no plan yet. To be answered first:\n\n{}", asked.collect::<String>());
                (Answered { plan: None, questions: unplanned.clarifications, warnings }, text)
            }
        };
        Answer::new(&answered, text)
    }
}
