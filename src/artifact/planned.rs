//! The planner's answer: a plan, or what is missing for one.

use serde::{Deserialize, Serialize};

use super::exchange::AgentError;
use super::plan::Plan;

/// Exactly the plan where there is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Planned {
    Plan(Box<Plan>),
    Unplanned(Unplanned),
}

/// Why there is no plan: PLAN_003 (S1.21), with the questions whose answers would make one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unplanned {
    pub errors: Vec<AgentError>,
    pub clarifications: Vec<String>,
}
