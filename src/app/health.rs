//! Whether the server can do its work now.

use std::time::Duration;

use tokio::time::Instant;

use super::App;
use crate::domain::Ready;

/// Anybody may ask, and each proof is a write to the disk: one serves this long.
const FRESH: Duration = Duration::from_secs(1);

impl App {
    fn trouble(&self) -> Option<String> {
        self.crew.trouble().map(|trouble| self.without_paths(&trouble))
    }

    /// A delivery can be stored: the only thing that GitHub must be told at once.
    pub async fn ready(&self) -> Ready {
        let mut written = self.written.lock().await;
        if written.is_some_and(|at| at.elapsed() < FRESH) {
            return Ready { ready: true, waits_for_set_up: false, reason: None, trouble: self.trouble() };
        }
        match self.store.ping().await {
            Ok(()) => {
                *written = Some(Instant::now());
                Ready { ready: true, waits_for_set_up: false, reason: None, trouble: self.trouble() }
            }
            Err(error) => Ready {
                ready: false,
                waits_for_set_up: false,
                reason: Some(error.to_string()),
                trouble: self.trouble(),
            },
        }
    }
}
