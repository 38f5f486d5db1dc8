//! The reviewer's result in the words of S1.15; the master's report projected onto them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::project::Level;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeReview {
    #[schemars(length(min = 1))]
    pub task_id: String,
    /// ISO 8601, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub timestamp: String,
    pub reviewer: String,
    pub findings: Vec<ReviewFinding>,
    pub summary: ReviewSummary,
    pub categories: ReviewCategories,
    pub overall_assessment: Assessment,
    pub metadata: ReviewMetadata,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewFinding {
    /// Unique in its review.
    #[schemars(length(min = 1))]
    pub id: String,
    pub severity: ReviewSeverity,
    pub category: ReviewCategory,
    /// For instance `SEC-001`: the category, and a number of its own for each rule in this review.
    pub code: String,
    pub title: String,
    pub description: String,
    pub location: Location,
    pub recommendation: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example_improvement: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub references: Option<Vec<String>>,
    pub impact: Impact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReviewSeverity {
    Critical,
    Major,
    Minor,
    Suggestion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReviewCategory {
    Architecture,
    Performance,
    Security,
    Maintainability,
    Testing,
    Documentation,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Location {
    pub file: String,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub line: Option<u32>,
    /// From 1, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub column: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Impact {
    pub likelihood: Level,
    pub scope: Scope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Local,
    Module,
    System,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewSummary {
    pub total_findings: u64,
    pub critical_findings: u64,
    pub major_findings: u64,
    pub minor_findings: u64,
    pub suggestions: u64,
    pub strengths: Vec<String>,
    pub concerns: Vec<String>,
    pub recommendations: Vec<String>,
}

/// The same findings, by category.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewCategories {
    pub architecture: Vec<ReviewFinding>,
    pub performance: Vec<ReviewFinding>,
    pub security: Vec<ReviewFinding>,
    pub maintainability: Vec<ReviewFinding>,
    pub testing: Vec<ReviewFinding>,
    pub documentation: Vec<ReviewFinding>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assessment {
    pub readiness: Readiness,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    /// Hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub estimated_fix_time: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Readiness {
    Approved,
    NeedsRevision,
    RequiresDiscussion,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewMetadata {
    pub review_duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_used: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub files_reviewed: u64,
}
