//! The planner's result (S1.12): milestones of tasks that build on each other without a circle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::project::{Level, ProjectContext};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// `P-1`, `P-2` …
    #[schemars(regex(pattern = r"^P-[0-9]+$"))]
    pub id: String,
    #[schemars(length(min = 1))]
    pub title: String,
    pub description: String,
    #[schemars(length(min = 1))]
    pub milestones: Vec<Milestone>,
    /// Questions that whoever asked should answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarifications: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_context: Option<ProjectContext>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Milestone {
    #[schemars(length(min = 1))]
    pub id: String,
    #[schemars(length(min = 1))]
    pub title: String,
    pub description: String,
    /// Days.
    #[schemars(range(min = 0.0))]
    pub duration: f64,
    #[schemars(length(min = 1))]
    pub tasks: Vec<Task>,
    pub success_criteria: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Unique in its plan, for instance `1.2`: the second task of the first milestone; `PR-7` for a pull request (A1.11).
    #[schemars(length(min = 1))]
    pub id: String,
    #[schemars(length(min = 1))]
    pub title: String,
    pub description: String,
    #[serde(rename = "type")]
    pub kind: TaskKind,
    /// Hours.
    #[schemars(range(min = 0.0))]
    pub estimated_effort: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort_breakdown: Option<EffortBreakdown>,
    pub acceptance_criteria: Vec<String>,
    /// Ids of tasks that must be done before.
    pub input_dependencies: Vec<String>,
    /// Ids of tasks that wait for this one.
    pub output_dependencies: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_module: Option<String>,
    /// Paths, relative to the root.
    pub affected_modules: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_approach: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub technical_notes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_factors: Option<Vec<RiskFactor>>,
    pub status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blockers: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskKind {
    Feature,
    Refactor,
    Bugfix,
    Test,
    Documentation,
    Infrastructure,
}

impl TaskKind {
    pub const ALL: [Self; 6] =
        [Self::Feature, Self::Refactor, Self::Bugfix, Self::Test, Self::Documentation, Self::Infrastructure];
}

/// Hours each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EffortBreakdown {
    #[schemars(range(min = 0.0))]
    pub analysis: f64,
    #[schemars(range(min = 0.0))]
    pub implementation: f64,
    #[schemars(range(min = 0.0))]
    pub testing: f64,
    #[schemars(range(min = 0.0))]
    pub documentation: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RiskFactor {
    pub description: String,
    pub likelihood: Level,
    pub impact: Level,
    pub mitigation: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskStatus {
    Planned,
    InProgress,
    Blocked,
    Completed,
    Deferred,
}

impl Task {
    /// The task that a title and a text come to where nobody made a plan (A1.11): its kind from the prefix of a conventional
    /// commit, a feature without one; what it has to hold from the boxes of a task list.
    pub fn of(id: &str, title: &str, description: &str, affected_modules: Vec<String>) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            description: description.to_owned(),
            kind: TaskKind::of_title(title),
            estimated_effort: 0.0,
            effort_breakdown: None,
            acceptance_criteria: boxes(description),
            input_dependencies: Vec::new(),
            output_dependencies: Vec::new(),
            target_module: None,
            affected_modules,
            suggested_approach: None,
            technical_notes: None,
            risk_factors: None,
            status: TaskStatus::InProgress,
            blockers: None,
        }
    }
}

impl TaskKind {
    /// Of `fix(parser): …` and its like.
    fn of_title(title: &str) -> Self {
        let prefix = title.split_once(':').map_or("", |(prefix, _)| prefix);
        match prefix.split(['(', '!']).next().unwrap_or_default() {
            "fix" => Self::Bugfix,
            "refactor" | "perf" | "style" => Self::Refactor,
            "test" => Self::Test,
            "docs" => Self::Documentation,
            "build" | "ci" | "chore" => Self::Infrastructure,
            _ => Self::Feature,
        }
    }
}

/// The texts of `- [ ] …` and `- [x] …`.
fn boxes(text: &str) -> Vec<String> {
    let item = |line: &str| {
        let item = line.trim_start().strip_prefix(['-', '*', '+'])?.trim_start();
        let item = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| item.strip_prefix(mark))?.trim();
        (!item.is_empty()).then(|| item.to_owned())
    };
    text.lines().filter_map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a1_11_a_text_becomes_a_task() {
        let task = Task::of("RUN", "fix(cart): round once", "why\n- [ ] one cent\n * [x] tests\n- plain", Vec::new());
        assert_eq!((task.kind, task.acceptance_criteria), (TaskKind::Bugfix, vec!["one cent".into(), "tests".into()]));
        assert_eq!(Task::of("RUN", "Add a thing: now", "", Vec::new()).kind, TaskKind::Feature);
    }
}
