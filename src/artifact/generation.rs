//! What the coder and the tester want written (S1.13, S1.14). What git shows once it was applied are the swarm's
//! `code-changes.json` and `test-changes.json` (A1.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The coder's result: whole files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeGeneration {
    #[schemars(length(min = 1))]
    pub task_id: String,
    pub language: String,
    /// ISO 8601, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub timestamp: String,
    pub generated_files: Vec<GeneratedFile>,
    pub summary: GenerationSummary,
    pub quality: GenerationQuality,
    pub metadata: GenerationMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratedFile {
    /// Relative to the root; never absolute, never with `..`.
    #[schemars(length(min = 1))]
    pub path: String,
    #[schemars(length(min = 1))]
    pub content: String,
    pub language: String,
    pub purpose: FilePurpose,
    pub dependencies: FileDependencies,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FilePurpose {
    Implementation,
    Export,
    Helper,
    TypeDefinition,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDependencies {
    /// Paths in the repository.
    pub internal: Vec<String>,
    /// Names of packages.
    pub external: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GenerationSummary {
    #[serde(rename = "totalLOC")]
    pub total_loc: u64,
    pub files_created: u64,
    pub files_modified: u64,
    pub new_dependencies: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GenerationQuality {
    pub syntax_valid: bool,
    /// Percent; absent when nothing was measured (A1.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub estimated_coverage: Option<f64>,
    pub linting_issues: Vec<LintingIssue>,
    pub suggested_improvements: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LintingIssue {
    pub rule: String,
    pub severity: LintSeverity,
    pub message: String,
    pub line: u32,
    pub column: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LintSeverity {
    Error,
    Warning,
    Info,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GenerationMetadata {
    pub generation_duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_used: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
}

/// The tester's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestSuite {
    #[schemars(length(min = 1))]
    pub task_id: String,
    pub language: String,
    pub test_framework: String,
    /// ISO 8601, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub timestamp: String,
    pub test_files: Vec<TestFile>,
    /// Absent when nothing was measured (A1.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<SuiteCoverage>,
    pub summary: SuiteSummary,
    pub metadata: SuiteMetadata,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestFile {
    #[schemars(length(min = 1))]
    pub path: String,
    #[schemars(length(min = 1))]
    pub content: String,
    pub test_count: u64,
    pub test_names: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<FileCoverage>,
    pub categories: TestCategories,
}

/// Percent each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileCoverage {
    #[schemars(range(min = 0.0, max = 100.0))]
    pub statements: f64,
    #[schemars(range(min = 0.0, max = 100.0))]
    pub branches: f64,
    #[schemars(range(min = 0.0, max = 100.0))]
    pub functions: f64,
    #[schemars(range(min = 0.0, max = 100.0))]
    pub lines: f64,
}

/// How many of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestCategories {
    pub unit_tests: u64,
    pub integration_tests: u64,
    pub edge_case_tests: u64,
    pub error_path_tests: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuiteCoverage {
    /// Percent.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub overall: f64,
    pub by_type: FileCoverage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_module: Option<std::collections::BTreeMap<String, f64>>,
}

/// Passing and failing count only tests that ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuiteSummary {
    pub total_tests: u64,
    pub passing_tests: u64,
    pub failing_tests: u64,
    pub skipped_tests: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_duration_ms: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuiteMetadata {
    pub generation_duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_used: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_setup: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_limitations: Option<Vec<String>>,
}
