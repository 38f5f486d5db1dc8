//! Pace and blocks, per installation: what one account's limits say never holds up another account.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;

use crate::domain::Millis;

/// GitHub's least wait after a secondary limit that came without a header.
const UNSTATED: Duration = Duration::from_secs(60);
/// No answer of GitHub's makes us wait longer in one piece; the job asks again then.
const LONGEST: Duration = Duration::from_secs(2 * 3600);

/// REST and GraphQL count on separate accounts; a secondary limit closes both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Resource {
    Rest,
    Graphql,
}

#[derive(Debug, Default)]
pub(super) struct Limits {
    lanes: Mutex<HashMap<u64, Arc<Lane>>>,
}

/// One installation's way out; lane 0 is the App's own.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Held while a write is under way, so that writes are serial; the value is when the last one ended.
    pub(super) writing: tokio::sync::Mutex<Option<Instant>>,
    pub(super) installation: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    all: Option<Instant>,
    rest: Option<Instant>,
    graphql: Option<Instant>,
    /// Secondary limits in a row without a stated time.
    strikes: u32,
}

impl Resource {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Graphql => "graphql",
        }
    }
}

impl Limits {
    pub(super) fn lane(&self, installation: u64) -> Arc<Lane> {
        let lane = || Arc::new(Lane { installation, ..Lane::default() });
        Arc::clone(lock(&self.lanes).entry(installation).or_insert_with(lane))
    }
}

impl Lane {
    /// How long calls of this kind must still wait, if GitHub said so.
    pub(super) fn blocked(&self, resource: Resource) -> Option<Duration> {
        let state = lock(&self.state);
        let own = match resource {
            Resource::Rest => state.rest,
            Resource::Graphql => state.graphql,
        };
        let until = state.all.max(own)?;
        let left = until.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// GitHub refused because of a limit: remembers until when, and says so.
    pub(super) fn refused(&self, resource: Resource, headers: &HeaderMap, now: Millis) -> Duration {
        let mut state = lock(&self.state);
        if let Some(wait) = number(headers, "retry-after").map(|seconds| Duration::from_secs(seconds).min(LONGEST)) {
            state.all = Some(Instant::now() + wait);
            return wait;
        }
        if number(headers, "x-ratelimit-remaining") == Some(0) {
            let wait = until_reset(headers, now).unwrap_or(UNSTATED);
            *state.of(resource) = Some(Instant::now() + wait);
            return wait;
        }
        let wait = UNSTATED * 2u32.pow(state.strikes.min(4));
        state.strikes += 1;
        state.all = Some(Instant::now() + wait);
        wait
    }

    /// A call went through. If it was the last one of the hour, the next one does not even go out.
    pub(super) fn passed(&self, resource: Resource, headers: &HeaderMap, now: Millis) {
        let mut state = lock(&self.state);
        state.strikes = 0;
        if number(headers, "x-ratelimit-remaining") == Some(0)
            && let Some(wait) = until_reset(headers, now)
        {
            *state.of(resource) = Some(Instant::now() + wait);
        }
    }
}

impl State {
    fn of(&mut self, resource: Resource) -> &mut Option<Instant> {
        match resource {
            Resource::Rest => &mut self.rest,
            Resource::Graphql => &mut self.graphql,
        }
    }
}

/// Whether a refusal is a limit rather than a lack of permission.
pub(super) fn is_limit(status: u16, headers: &HeaderMap, message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let says_so = message.contains("secondary rate limit")
        || message.contains("abuse detection")
        || message.contains("submitted too quickly");
    match status {
        429 => true,
        403 => {
            says_so
                || headers.contains_key("retry-after")
                || number(headers, "x-ratelimit-remaining") == Some(0)
                || message.contains("rate limit exceeded")
        }
        422 => says_so,
        _ => false,
    }
}

fn until_reset(headers: &HeaderMap, now: Millis) -> Option<Duration> {
    let reset = number(headers, "x-ratelimit-reset")?;
    let now = u64::try_from(now).unwrap_or_default() / 1000;
    Some(Duration::from_secs(reset.saturating_sub(now).max(1)).min(LONGEST))
}

pub(super) fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_stated_wait_is_kept_exactly_and_closes_both_resources() {
        let lane = Lane::default();
        let wait = lane.refused(Resource::Rest, &headers(&[("retry-after", "7")]), 0);
        assert_eq!(wait, Duration::from_secs(7));
        assert_eq!(lane.blocked(Resource::Graphql), Some(Duration::from_secs(7)));
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(lane.blocked(Resource::Rest), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_empty_account_waits_for_its_reset_and_leaves_the_other_resource_open() {
        let lane = Lane::default();
        let empty = headers(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1030")]);
        lane.passed(Resource::Rest, &empty, 1_000_000);
        assert_eq!(lane.blocked(Resource::Rest), Some(Duration::from_secs(30)));
        assert_eq!(lane.blocked(Resource::Graphql), None);
    }

    #[tokio::test(start_paused = true)]
    async fn unstated_secondary_limits_wait_a_minute_and_then_longer() {
        let lane = Lane::default();
        let seconds: Vec<_> = (0..6).map(|_| lane.refused(Resource::Rest, &HeaderMap::new(), 0).as_secs()).collect();
        assert_eq!(seconds, [60, 120, 240, 480, 960, 960]);
    }

    #[test]
    fn a_missing_permission_is_no_limit() {
        let rich = headers(&[("x-ratelimit-remaining", "4000")]);
        assert!(!is_limit(403, &rich, "Resource not accessible by integration"));
        assert!(is_limit(403, &rich, "You have exceeded a secondary rate limit."));
        assert!(is_limit(422, &rich, "was submitted too quickly"));
        assert!(!is_limit(422, &rich, "Validation Failed"));
    }
}
