//! `swarm-status.json` (S2.19): what a repository's swarm is at, and what it has done so far. It has no author (A2.2).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The keys that `agents` may have.
pub const AGENT_KEYS: [&str; 8] =
    ["1-scout", "2-analyst", "3-explorer", "4-coder", "5-tester", "6-docs", "7-pr", "8-reviews"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwarmStatus {
    /// `owner/name` (A2.6).
    pub swarm_id: String,
    /// Counts runs, from 1.
    pub cycle: u64,
    /// When this cycle began: ISO 8601, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    pub current_phase: Phase,
    /// `1-scout` to `8-reviews`.
    #[schemars(extend("propertyNames" = {"enum": AGENT_KEYS}))]
    pub agents: BTreeMap<String, AgentStatus>,
    /// Its URL.
    pub current_issue: Option<String>,
    /// Its URL.
    pub current_pr: Option<String>,
    pub stats: SwarmStats,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Idle,
    Discovery,
    Analysis,
    Exploration,
    Development,
    PrCreation,
    ReviewMonitoring,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStatus {
    pub status: AgentState,
    /// ISO 8601, UTC (A2.9).
    #[schemars(extend("format" = "date-time"))]
    pub last_run: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentState {
    Idle,
    Running,
    Completed,
    Failed,
    /// For the coder's changes: the tester and the docs agent (A2.1).
    Waiting,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwarmStats {
    pub cycles_completed: u64,
    pub prs_created: u64,
    pub prs_merged: u64,
    /// URLs of issues, appended when their pull request is made (A2.9).
    pub issues_contributed: Vec<String>,
}
