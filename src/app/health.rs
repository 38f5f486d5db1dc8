//! Whether the server can do its work now.

use serde::Serialize;

use super::App;

/// The answer of `/readyz`.
#[derive(Debug, Clone, Serialize)]
pub struct Ready {
    pub ready: bool,
    /// Why not, for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl App {
    /// A delivery can be stored: the only thing that GitHub must be told at once.
    pub async fn ready(&self) -> Ready {
        match self.store.ping().await {
            Ok(()) => Ready { ready: true, reason: None },
            Err(error) => Ready { ready: false, reason: Some(error.to_string()) },
        }
    }
}
