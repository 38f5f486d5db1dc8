//! Whoever waits for local work: they may stop it, and are told how far it is.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::pipeline::Tell;

/// A way to stop, and somebody who listens. The default never stops and hears nothing.
#[derive(Clone)]
pub struct Watch {
    pub cancel: CancellationToken,
    tell: Tell,
}

impl Watch {
    /// `tell` is given one short line at a time, from any thread; it must not block.
    pub fn new(cancel: CancellationToken, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { cancel, tell: Arc::new(tell) }
    }

    /// Tells one line.
    pub fn say(&self, line: &str) {
        (self.tell)(line);
    }

    pub(super) fn tell(&self) -> Tell {
        Arc::clone(&self.tell)
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new(CancellationToken::new(), |_| {})
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("cancelled", &self.cancel.is_cancelled()).finish_non_exhaustive()
    }
}
