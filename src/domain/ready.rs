//! What `/readyz` answers: written by the server, read by `octoswarm health`, by the doctor and by whoever wants its address.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// A delivery could be stored now.
    pub ready: bool,
    /// A person is due: there is no App yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_set_up: bool,
    /// Why it is not ready, for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What does not work although deliveries can be stored: jobs wait for it, or fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}
