//! Whether the server can do its work now.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::App;

/// Anybody may ask, and each proof is a write to the disk: one serves this long.
const FRESH: Duration = Duration::from_secs(1);

/// The answer of `/readyz`.
#[derive(Debug, Clone, Serialize)]
pub struct Ready {
    pub ready: bool,
    /// Why not, for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What does not work although deliveries can be stored: jobs wait for it, or fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

impl App {
    fn trouble(&self) -> Option<String> {
        self.crew.trouble().map(|trouble| self.without_paths(&trouble))
    }

    /// A delivery can be stored: the only thing that GitHub must be told at once.
    pub async fn ready(&self) -> Ready {
        let mut written = self.written.lock().await;
        if written.is_some_and(|at| at.elapsed() < FRESH) {
            return Ready { ready: true, reason: None, trouble: self.trouble() };
        }
        match self.store.ping().await {
            Ok(()) => {
                *written = Some(Instant::now());
                Ready { ready: true, reason: None, trouble: self.trouble() }
            }
            Err(error) => Ready { ready: false, reason: Some(error.to_string()), trouble: self.trouble() },
        }
    }
}
