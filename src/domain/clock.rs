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
    /// The system's, ahead by so much.
    Ahead(Arc<AtomicI64>),
}

impl Clock {
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that moves only when told to.
    pub fn manual(start: Millis) -> Self {
        Self(Source::Manual(Arc::new(AtomicI64::new(start))))
    }

    /// The system's clock, which can be put ahead, for work that waits for days.
    pub fn ahead() -> Self {
        Self(Source::Ahead(Arc::default()))
    }

    pub fn now(&self) -> Millis {
        match &self.0 {
            Source::System => system(),
            Source::Manual(now) => now.load(Ordering::SeqCst),
            Source::Ahead(by) => system() + by.load(Ordering::SeqCst),
        }
    }

    /// Moves a manual clock, or puts one further ahead; a system clock moves by itself and ignores this.
    pub fn advance(&self, by: Millis) {
        if let Source::Manual(moved) | Source::Ahead(moved) = &self.0 {
            moved.fetch_add(by, Ordering::SeqCst);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks the system for the time")]
fn system() -> Millis {
    chrono::Utc::now().timestamp_millis()
}
