//! The reviews agent's document (S2.18): what happened to a pull request after it was opened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::document::Content;
use super::swarm::CiState;

/// `review-activity.json`. Its status is `monitoring` until `final_outcome` is there (A2.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewActivity {
    pub pr: WatchedPull,
    /// Oldest first.
    pub activity: Vec<Activity>,
    pub ci_history: Vec<CiEntry>,
    pub current_status: ReviewStatus,
    pub final_outcome: Option<FinalOutcome>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedPull {
    pub url: String,
    pub number: u64,
    pub state: WatchedState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WatchedState {
    Open,
    Merged,
    Closed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// ISO 8601, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub timestamp: String,
    #[serde(rename = "type")]
    pub kind: ActivityKind,
    pub details: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivityKind {
    ReviewReceived,
    ChangesMade,
    CommentReplied,
    CiStatusChange,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CiEntry {
    /// ISO 8601, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub timestamp: String,
    pub status: CiState,
    pub checks_passed: u64,
    pub checks_failed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewStatus {
    pub reviews_received: u64,
    pub approvals: u64,
    pub changes_requested: u64,
    pub comments_pending: u64,
    pub ci_status: CiState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinalOutcome {
    pub result: Option<FinalResult>,
    /// ISO 8601, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub timestamp: Option<String>,
    pub merged_by: Option<String>,
    pub merge_commit: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FinalResult {
    Merged,
    Closed,
    Abandoned,
    Escalated,
}

impl Content for ReviewActivity {
    const AGENT: &'static str = "agent-8-reviews";
    const FILE: &'static str = "review-activity.json";
    const STATUSES: &'static [&'static str] = &["monitoring", "completed"];

    fn status(&self) -> &'static str {
        if self.final_outcome.is_some() { "completed" } else { "monitoring" }
    }

    fn condition() -> Option<Value> {
        Some(json!({
            "if": { "properties": { "status": { "const": "completed" } } },
            "then": { "properties": { "final_outcome": { "type": "object" } } },
            "else": { "properties": { "final_outcome": { "type": "null" } } },
        }))
    }
}
