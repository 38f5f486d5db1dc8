//! What goes into an agent and comes out of it, whichever agent it is (S1.5 to S1.10), and its settings (S1.19).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::code_review::Readiness;
use super::plan::{Plan, Task};
use super::project::ProjectContext;

/// All that an agent is given. One that runs outside reads it as a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInput {
    /// Absent only for the manager, which makes it.
    #[serde(default)]
    pub project_context: Option<ProjectContext>,
    #[serde(default)]
    pub plan: Option<Plan>,
    #[serde(default)]
    pub task: Option<Task>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_input: Option<String>,
    /// Outputs of the agents that this one builds on, in the order in which they ended. One that failed, and that this one
    /// can do without, has no result but its `errors`.
    pub history: Vec<AgentOutput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<BTreeMap<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_cache: Option<bool>,
    /// Nothing is taken from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// What the flow starts from: the issue or the change, and the settings that bound the work. An addition of ours.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub facts: Value,
}

impl AgentInput {
    /// What an agent's own input is read from, and all that its output may depend on: `facts`, what was asked, and under the
    /// name of each agent the result that it had; under `absent` those that have none ([`Absent`]). No times and durations, so
    /// that equal inputs are equal.
    pub fn fields(&self) -> Map<String, Value> {
        fn add<T: Serialize>(fields: &mut Map<String, Value>, name: &str, part: Option<&T>) {
            if let Some(value) = part.and_then(|part| serde_json::to_value(part).ok()) {
                fields.insert(name.to_owned(), value);
            }
        }
        let mut fields = Map::from_iter([("facts".to_owned(), self.facts.clone())]);
        add(&mut fields, "plan", self.plan.as_ref());
        add(&mut fields, "task", self.task.as_ref());
        add(&mut fields, "userInput", self.user_input.as_ref());
        add(&mut fields, "config", self.config.as_ref());
        let (absent, there): (Vec<_>, Vec<_>) = self.history.iter().partition(|output| output.result.is_null());
        fields.extend(there.into_iter().map(|output| (output.agent_name.clone(), output.result.clone())));
        let absent: Vec<Absent> = absent.into_iter().map(Absent::of).collect();
        add(&mut fields, "absent", (!absent.is_empty()).then_some(&absent));
        fields
    }
}

/// An agent whose result is missing, though another one would have taken it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    pub agent: String,
    /// Why; its code is [`Absent::NOT_ASKED`] for one that nobody called.
    pub error: AgentError,
}

impl Absent {
    /// It is switched off, was not among those asked for, or lacks what it needs.
    pub const NOT_ASKED: &'static str = "not-asked";

    fn of(output: &AgentOutput) -> Self {
        let agent = output.agent_name.clone();
        let first = output.metadata.errors.iter().flatten().next().cloned();
        let error = first.unwrap_or_else(|| AgentError {
            message: "it did not say why".to_owned(),
            code: "unknown".to_owned(),
            agent_name: agent.clone(),
            recoverable: false,
        });
        Self { agent, error }
    }

    pub fn was_asked(&self) -> bool {
        self.error.code != Self::NOT_ASKED
    }
}

/// What an agent made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentOutput {
    /// The registry's id; readers accept the role's name and every alias (A1.13).
    pub agent_name: String,
    /// ISO 8601, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub timestamp: String,
    pub status: OutputStatus,
    /// The agent's document; null when it failed before there was one.
    #[schemars(schema_with = "super::form::any_result")]
    pub result: Value,
    pub metadata: OutputMetadata,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputStatus {
    Success,
    Partial,
    Failed,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputMetadata {
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<AgentError>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_hit: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_key: Option<String>,
    /// What only this kind of agent tells.
    #[serde(flatten)]
    pub more: MoreMetadata,
}

/// What one kind of agent adds to its metadata (S1.11 to S1.15).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MoreMetadata {
    /// Manager: where the context was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_path: Option<String>,
    /// Planner: how often the plan was made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_clarifications: Option<bool>,
    /// Coder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_generated: Option<u64>,
    #[serde(default, rename = "totalLOC", skip_serializing_if = "Option::is_none")]
    pub total_loc: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntax_errors: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linting_issues: Option<u64>,
    /// Tester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_executed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_results: Option<ExecutionResults>,
    /// Percent; absent when nothing was measured (A1.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub coverage_achieved: Option<f64>,
    /// Reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings_count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_severity: Option<BySeverity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Readiness>,
    /// Of the prompt that a model was given (A1.10). An addition of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_version: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionResults {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BySeverity {
    pub critical: u64,
    pub major: u64,
    pub minor: u64,
    pub suggestion: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    pub input: u64,
    pub output: u64,
    pub total: u64,
}

/// What is wrong with an output, or could be better (S1.8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidationResult {
    /// No issue is an error.
    pub is_valid: bool,
    pub issues: Vec<ValidationIssue>,
    pub warnings: Vec<String>,
    /// 100, less 25 for each missing top-level field and 5 for each defect in an item; never below 0.
    #[schemars(range(max = 100))]
    pub quality_score: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationIssue {
    pub severity: IssueSeverity,
    pub message: String,
    /// The path, for instance `milestones[0].tasks[2].id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IssueSeverity {
    Error,
    Warning,
}

/// Why an agent has no output, or not all of it (S1.10). Also an entry of `errors` in a failed document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{message} ({code}, {agent_name})")]
pub struct AgentError {
    pub message: String,
    /// See [`ErrorCode`]; documents of the swarm may carry finer words of ours, for instance `locked`.
    #[schemars(length(min = 1))]
    pub code: String,
    pub agent_name: String,
    /// Whether trying again may help.
    #[serde(default)]
    pub recoverable: bool,
}

/// The codes of S1.21 to S1.25, and those for git (A1.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorCode {
    PlanParseError,
    PlanInvalidDependencies,
    PlanInsufficientContext,
    CodeSyntaxError,
    CodeInvalidLanguage,
    CodeModuleNotFound,
    CodeCircularDependency,
    TestGenerationFailed,
    TestExecutionFailed,
    TestCoverageInsufficient,
    ReviewAnalysisFailed,
    ApiTimeout,
    ApiRateLimit,
    ApiAuthenticationFailed,
    InvalidInput,
    OutputValidationFailed,
    CacheError,
    /// Clone or fetch.
    GitFetch,
    /// Commit or push.
    GitPush,
    /// A limit or a policy refused the change.
    GitRefused,
}

impl ErrorCode {
    pub const ALL: &'static [Self] = &[
        Self::PlanParseError,
        Self::PlanInvalidDependencies,
        Self::PlanInsufficientContext,
        Self::CodeSyntaxError,
        Self::CodeInvalidLanguage,
        Self::CodeModuleNotFound,
        Self::CodeCircularDependency,
        Self::TestGenerationFailed,
        Self::TestExecutionFailed,
        Self::TestCoverageInsufficient,
        Self::ReviewAnalysisFailed,
        Self::ApiTimeout,
        Self::ApiRateLimit,
        Self::ApiAuthenticationFailed,
        Self::InvalidInput,
        Self::OutputValidationFailed,
        Self::CacheError,
        Self::GitFetch,
        Self::GitPush,
        Self::GitRefused,
    ];

    /// As it goes on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PlanParseError => "PLAN_001",
            Self::PlanInvalidDependencies => "PLAN_002",
            Self::PlanInsufficientContext => "PLAN_003",
            Self::CodeSyntaxError => "CODE_001",
            Self::CodeInvalidLanguage => "CODE_002",
            Self::CodeModuleNotFound => "CODE_003",
            Self::CodeCircularDependency => "CODE_004",
            Self::TestGenerationFailed => "TEST_001",
            Self::TestExecutionFailed => "TEST_002",
            Self::TestCoverageInsufficient => "TEST_003",
            Self::ReviewAnalysisFailed => "REVIEW_001",
            Self::ApiTimeout => "API_001",
            Self::ApiRateLimit => "API_002",
            Self::ApiAuthenticationFailed => "API_003",
            Self::InvalidInput => "ERR_001",
            Self::OutputValidationFailed => "ERR_002",
            Self::CacheError => "ERR_003",
            Self::GitFetch => "GIT_001",
            Self::GitPush => "GIT_002",
            Self::GitRefused => "GIT_003",
        }
    }

    /// Whether trying again may help (A1.8).
    pub fn recoverable(self) -> bool {
        matches!(
            self,
            Self::CodeSyntaxError
                | Self::CodeModuleNotFound
                | Self::TestGenerationFailed
                | Self::TestExecutionFailed
                | Self::ReviewAnalysisFailed
                | Self::ApiTimeout
                | Self::ApiRateLimit
                | Self::OutputValidationFailed
                | Self::CacheError
        )
    }

    /// An error of that code, recoverable as its code is.
    pub fn error(self, agent_name: impl Into<String>, message: impl Into<String>) -> AgentError {
        AgentError {
            message: message.into(),
            code: self.as_str().to_owned(),
            agent_name: agent_name.into(),
            recoverable: self.recoverable(),
        }
    }
}

/// Settings of one agent (S1.19). What is absent is the agent's own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentConfig {
    /// Off: the agent's step is skipped, and with it whoever cannot do without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub timeout: Option<u64>,
    /// How often a failed run is done again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}

/// How a pipeline runs (S1.18).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PipelineOptions {
    /// Which agents, in this order; all when absent. The manager always runs first (A1.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<PipelineAgent>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_dir: Option<String>,
    /// Agents that need nothing of each other run side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<bool>,
    /// The first failure ends the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_fast: Option<bool>,
    /// By the agents' ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_configs: Option<BTreeMap<String, AgentConfig>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PipelineAgent {
    Planner,
    Coder,
    Tester,
    Reviewer,
}

/// What a run came to (S1.20), `result.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PipelineResult {
    pub success: bool,
    /// ISO 8601, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    #[schemars(extend("format" = "date-time"))]
    pub ended_at: String,
    pub duration_ms: u64,
    /// In the order in which they ended.
    pub results: Vec<AgentOutput>,
    pub summary: PipelineSummary,
    pub errors: Vec<AgentError>,
    pub outputs: PipelineOutputs,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PipelineSummary {
    pub plan_generated: bool,
    pub code_generated: bool,
    pub tests_generated: bool,
    pub review_completed: bool,
    #[serde(default, rename = "totalLOC", skip_serializing_if = "Option::is_none")]
    pub total_loc: Option<u64>,
    #[serde(default, rename = "totalTestLOC", skip_serializing_if = "Option::is_none")]
    pub total_test_loc: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings_count: Option<u64>,
}

/// Paths of what was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineOutputs {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
}
