//! What a repository is: the manager's snapshot that every other agent starts from (S1.11), and the larger model with its
//! module graph.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The manager's result, `context.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectContext {
    pub project: ProjectIdentity,
    pub analysis: ProjectAnalysis,
    /// ISO 8601, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub generated_at: String,
    /// The whole model; only where it was computed (A1.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Project>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectIdentity {
    pub name: String,
    /// Where the repository is; `owner/name` for one that has no work tree.
    pub root_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectAnalysis {
    /// By share of lines, or of bytes where lines were not counted; largest first.
    pub languages: Vec<String>,
    pub file_count: u64,
    /// Lines that are not blank, of the languages that are known; absent when they were not counted.
    #[serde(default, rename = "totalLOC", skip_serializing_if = "Option::is_none")]
    pub total_loc: Option<u64>,
    /// Names of direct dependencies, as the manifests say.
    pub dependencies: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frameworks: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goals: Option<Vec<String>>,
}

/// Modules, how they depend on each other, and how the code is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    pub name: String,
    pub root_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// ISO 8601, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub analyzed_at: String,
    pub modules: Vec<Module>,
    pub dependencies: DependencyGraph,
    pub code_patterns: CodePatterns,
    pub metadata: ProjectMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Module {
    pub name: String,
    /// Relative to the root, with `/`.
    pub path: String,
    #[serde(rename = "type")]
    pub kind: ModuleKind,
    pub exports: Vec<String>,
    /// Names of other modules.
    pub dependencies: Vec<String>,
    #[serde(rename = "estimatedLOC")]
    pub estimated_loc: u64,
    pub risk_level: Level,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModuleKind {
    Core,
    Feature,
    Library,
    Test,
    Config,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Low,
    Medium,
    High,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependencyGraph {
    /// Names of modules.
    pub nodes: Vec<String>,
    pub edges: Vec<DependencyEdge>,
    /// Each the names of modules that depend on each other in a circle.
    pub cycles: Vec<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct DependencyEdge {
    pub from: String,
    pub to: String,
    #[serde(rename = "type")]
    pub kind: EdgeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EdgeKind {
    Import,
    Extends,
    Implements,
}

/// Measured from the sources, not from what a configuration file claims.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodePatterns {
    pub naming: NamingPatterns,
    /// For instance `exceptions`, `result types`, `error returns`.
    pub error_handling: String,
    /// For instance `src/ with tests/ beside it`.
    pub structure: String,
    pub comments: CommentPatterns,
    /// For instance `tests/test_*.py`.
    pub test_organization: String,
}

/// Regular expressions that most names of that kind match; empty where there are too few to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamingPatterns {
    pub functions: String,
    pub types: String,
    pub constants: String,
    pub files: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommentPatterns {
    /// For instance `docstrings`, `///`, `JSDoc`.
    pub format: String,
    /// Share of public declarations that are documented, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub coverage: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectMetadata {
    #[serde(rename = "totalLOC")]
    pub total_loc: u64,
    pub file_count: u64,
    pub languages: Vec<String>,
    /// What the repository asks of whoever changes it, one sentence each.
    pub conventions: Vec<String>,
}
