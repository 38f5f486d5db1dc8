//! The documents of the review server (S0.1 to S0.14): what its agents are asked, and what they answer.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exchange::AgentError;

/// The master's input (S0.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRequest {
    /// Of the codebase.
    #[schemars(length(min = 1))]
    pub id: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Value>,
}

/// The master's output (S0.2). An agent that failed leaves its part empty and an entry in `errors` (A0.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Aggregate {
    pub documentation: DocumentationMap,
    pub debt: Vec<DebtItem>,
    pub improvement: Vec<ImprovementItem>,
    pub critical: Vec<CriticalItem>,
    /// By the agent's id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, AgentError>,
}

/// The documentation agent's input (S0.5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentationInput {
    pub codebase: Codebase,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Codebase {
    pub files: Vec<CodeFile>,
    pub metadata: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeFile {
    #[schemars(length(min = 1))]
    pub path: String,
    pub content: String,
}

/// The documentation agent's output (S0.6): file name → content. Markdown, YAML and SVG as text, PNG in base64.
pub type DocumentationMap = BTreeMap<String, String>;

/// The input of the debt, improvement and critical agents (S0.9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChecklistInput {
    pub files: Vec<CodeFile>,
    pub checklist: Vec<ChecklistItem>,
}

/// One question that a reviewer answers for every file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChecklistItem {
    /// `DEBT-01` …, `IMPR-01` …, `CRIT-01` … (A0.7).
    #[schemars(length(min = 1))]
    pub id: String,
    pub title: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ItemSeverity {
    Low,
    Medium,
    High,
}

/// A debt that the code carries (S0.10).
pub type DebtItem = AdviceItem<DebtType>;

/// Something that could be better (S0.11).
pub type ImprovementItem = AdviceItem<ImprovementType>;

/// What is said of a place in the code, with what could be done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Item")]
pub struct AdviceItem<T> {
    #[serde(rename = "type")]
    pub kind: T,
    pub severity: ItemSeverity,
    #[schemars(length(min = 1))]
    pub description: String,
    #[schemars(length(min = 1))]
    pub file: String,
    #[schemars(range(min = 1))]
    pub line: u32,
    pub suggestion: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Debt")]
pub enum DebtType {
    Debt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Improvement")]
pub enum ImprovementType {
    Improvement,
}

/// Something that has to be mended before all else (S0.12): always `high`, and with a remediation instead of a suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CriticalItem {
    #[serde(rename = "type")]
    pub kind: CriticalType,
    pub severity: CriticalSeverity,
    #[schemars(length(min = 1))]
    pub description: String,
    #[schemars(length(min = 1))]
    pub file: String,
    #[schemars(range(min = 1))]
    pub line: u32,
    pub remediation: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CriticalType {
    Critical,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CriticalSeverity {
    High,
}
