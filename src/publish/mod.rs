//! The only writer to GitHub: intents become reviews, resolved threads, check runs, comments, commits and pull requests.
//!
//! Promise: what is said is said once. Each write is a row before it leaves, is looked for on GitHub before it is sent
//! again, and is held back when the pull request has moved on.
//! Never: no finding is made or judged here, no code is read, and nothing is ever approved.
mod anchor;
mod check;
mod error;
mod guard;
mod label;
mod ledger;
mod marker;
mod neutral;
mod pull;
mod push;
pub mod render;
mod reply;
mod review;
mod thread;

use std::collections::BTreeSet;
use std::time::Duration;

pub use error::Error;
pub use pull::{Opened, contribution_of};
pub use push::{CommitMode, Pushed};
pub use reply::ReactTo;
pub use thread::OpenThread;

use ledger::Ledger;

use crate::domain::{Clock, Fingerprint};
use crate::stdx::text::count;
use crate::store::{Lease, Store};

/// Inline comments in one review; further findings are listed in its body.
pub const INLINE_PER_REVIEW: usize = 30;

/// Speaks for the App. Cheap to clone.
#[derive(Clone)]
pub struct Publisher {
    ledger: Ledger,
}

/// What a review came to on GitHub.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Published {
    /// The review that was written, updated or found; `None` when there was nothing to say.
    pub review_id: Option<u64>,
    /// Comments that this call wrote.
    pub inline: usize,
    /// The body of an earlier review was replaced.
    pub updated: bool,
    /// Threads that this call resolved.
    pub resolved: usize,
    /// Findings that have a comment of their own, new or from before: the check run does not repeat them.
    pub commented: BTreeSet<Fingerprint>,
    /// What the reader should know, for instance a permission that is missing.
    pub notes: Vec<String>,
}

impl Publisher {
    /// `settle` is how long GitHub may take to show what it has accepted; ten seconds are safe.
    pub fn new(store: Store, settle: Duration, clock: Clock) -> Self {
        Self { ledger: Ledger::new(store, clock, settle) }
    }

    /// The same, speaking for one job only as long as it holds its lease.
    #[must_use]
    pub fn under(&self, lease: &Lease) -> Self {
        Self { ledger: self.ledger.under(lease) }
    }
}

impl Published {
    /// One line for the timeline.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        if self.inline > 0 {
            parts.push(format!("{} posted", count(self.inline, "comment")));
        }
        if self.updated {
            parts.push("summary updated".to_owned());
        }
        if self.resolved > 0 {
            parts.push(format!("{} resolved", count(self.resolved, "thread")));
        }
        if parts.is_empty() { "nothing new to say".to_owned() } else { parts.join(", ") }
    }
}
