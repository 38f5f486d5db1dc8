//! The only source of wall-clock time. Rows, leases and JWTs take it as a value; tests hold the hands of a manual one.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Milliseconds since the Unix epoch, UTC.
pub type Millis = i64;

#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that moves only when told to.
    pub fn manual(start: Millis) -> Self {
        Self(Source::Manual(Arc::new(AtomicI64::new(start))))
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that asks the system for the time")]
    pub fn now(&self) -> Millis {
        match &self.0 {
            Source::System => chrono::Utc::now().timestamp_millis(),
            Source::Manual(now) => now.load(Ordering::SeqCst),
        }
    }

    /// Moves a manual clock; a system clock moves by itself and ignores this.
    pub fn advance(&self, by: Millis) {
        if let Source::Manual(now) = &self.0 {
            now.fetch_add(by, Ordering::SeqCst);
        }
    }
}
