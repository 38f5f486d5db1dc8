//! Scripted misfortune: what goes wrong, on which call, how often.

use std::time::Duration;

/// Which calls a fault hits: all parts must fit, an empty part fits everything.
#[derive(Debug, Clone)]
pub struct Fault {
    /// `GET`, `POST`, …; empty for any.
    pub method: String,
    /// Part of the path, as in `/pulls/7/reviews` or `/graphql`.
    pub path: String,
    pub kind: FaultKind,
    /// How many calls it hits before it is used up.
    pub times: u32,
}

#[derive(Debug, Clone)]
pub enum FaultKind {
    /// Answers so, without any effect.
    Status { status: u16, message: String, retry_after: Option<u64> },
    /// Takes effect and answers only the first half of the JSON.
    Truncate,
    /// A page for people instead of JSON, status 502 without effect.
    Html,
    /// Takes effect and keeps the answer back until [`super::GitHubBox::release_withheld`] or the end of the box.
    Withhold,
    /// Takes effect, sends the first half of the answer and keeps the rest back as `Withhold` does.
    WithholdHalf,
    /// Takes effect and answers with this status all the same.
    RejectAfterEffect { status: u16 },
    /// 403, `x-ratelimit-remaining: 0`, reset in so many seconds; no effect.
    RateLimit { reset_in: u64 },
    /// Answers properly, but late.
    Slow(Duration),
    /// 307 to this URL; no effect.
    Redirect(String),
}

impl Fault {
    pub fn once(method: &str, path: &str, kind: FaultKind) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), kind, times: 1 }
    }

    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// 500, 502, 503 and the like.
    pub fn status(method: &str, path: &str, status: u16) -> Self {
        let kind = FaultKind::Status { status, message: "Server Error".to_owned(), retry_after: None };
        Self::once(method, path, kind)
    }

    /// GitHub's secondary rate limit: 403 with Retry-After in seconds.
    pub fn secondary_limit(method: &str, path: &str, retry_after: u64) -> Self {
        let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
        let kind = FaultKind::Status { status: 403, message: message.to_owned(), retry_after: Some(retry_after) };
        Self::once(method, path, kind)
    }

    pub fn withhold(method: &str, path: &str) -> Self {
        Self::once(method, path, FaultKind::Withhold)
    }

    pub(super) fn hits(&self, method: &str, path: &str) -> bool {
        self.times > 0 && (self.method.is_empty() || self.method == method) && path.contains(&self.path)
    }
}
