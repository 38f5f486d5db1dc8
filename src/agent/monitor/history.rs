//! What happened, each thing once, oldest first.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::artifact::MonitorFacts;
use crate::artifact::activity::{Activity, ActivityKind};
use crate::artifact::facts::{Said, Who};
use crate::domain::Millis;
use crate::stdx::text::iso8601;

/// Entries that are kept, the newest. How many others there were before them stands in the first one's details, as `left_out`.
const KEPT: usize = 500;
const LEFT_OUT: &str = "left_out";

/// The last look's entries and GitHub's of now, which know better: a review may have been dismissed since. What was deleted
/// meanwhile has happened all the same.
pub(super) fn of(facts: &MonitorFacts, change: Option<Activity>) -> Vec<Activity> {
    let mut all: BTreeMap<String, (usize, Activity)> = BTreeMap::new();
    let mut known_left_out = 0;
    for (nth, mut item) in facts.earlier.iter().flat_map(|earlier| earlier.activity.clone()).enumerate() {
        known_left_out = item.details.remove(LEFT_OUT).and_then(|n| n.as_u64()).unwrap_or(known_left_out);
        all.insert(key(&item).unwrap_or_else(|| format!("earlier/{nth:06}")), (nth, item));
    }
    let now = given(facts).into_iter().chain(change);
    all.extend(now.filter_map(|item| Some((key(&item)?, (usize::MAX, item)))));
    let mut all: Vec<(String, (usize, Activity))> = all.into_iter().collect();
    // Within a second: checks change their state after what caused it, and in the order in which that was seen.
    all.sort_by_cached_key(|(key, (nth, item))| {
        let seen = (item.kind == ActivityKind::CiStatusChange).then_some(*nth);
        (item.timestamp.clone(), seen, key.clone())
    });
    let more = all.len().saturating_sub(KEPT);
    // The last change of the checks stays, however old: the next look compares with it.
    let change = all.iter().rposition(|(_, (_, item))| item.kind == ActivityKind::CiStatusChange);
    let old = change.filter(|at| *at < more);
    let newest = more + usize::from(old.is_some());
    let kept = all.into_iter().enumerate().filter(|(at, _)| *at >= newest || Some(*at) == old);
    let mut kept: Vec<Activity> = kept.map(|(_, (_, (_, item)))| item).collect();
    // Those that were left out before are among GitHub's again, but for what is gone from there.
    let left_out = known_left_out.max(more as u64);
    if let Some(first) = kept.first_mut().filter(|_| left_out > 0) {
        first.details.insert(LEFT_OUT.to_owned(), left_out.into());
    }
    kept
}

/// What tells an entry from all others.
fn key(item: &Activity) -> Option<String> {
    let of = |name: &str| item.details.get(name);
    Some(match item.kind {
        ActivityKind::ReviewReceived => format!("review/{:020}", of("id")?.as_u64()?),
        ActivityKind::CommentReplied => format!("{}/{:020}", of("where")?.as_str()?, of("id")?.as_u64()?),
        ActivityKind::ChangesMade => format!("commit/{}", of("commit")?.as_str()?),
        ActivityKind::CiStatusChange => {
            format!("checks/{}/{}/{}", item.timestamp, of("head")?.as_str()?, of("status")?.as_str()?)
        }
    })
}

fn given(facts: &MonitorFacts) -> Vec<Activity> {
    // A commit's time is whatever its author's clock said.
    let item = |at: Millis, kind, details: Value| {
        let details = match details {
            Value::Object(details) => details,
            _ => Map::new(),
        };
        Activity { timestamp: iso8601(at.min(facts.now)), kind, details }
    };
    let said = |said: &Said, place: &str| {
        let details = json!({ "id": said.id, "by": said.by, "who": said.who, "where": place });
        item(said.at, ActivityKind::CommentReplied, details)
    };
    let reviews = facts.reviews.iter().map(|review| {
        let details = json!({
            "id": review.id, "by": review.by, "who": review.who, "state": review.state, "url": review.url,
        });
        item(review.at, ActivityKind::ReviewReceived, details)
    });
    // The commits that it was opened with are no changes to it.
    let later = facts.commits.iter().filter(|commit| commit.who != Who::Ours || commit.at > facts.pull.created_at);
    let commits = later.map(|commit| {
        let details = json!({ "commit": commit.sha, "by": commit.by, "who": commit.who });
        item(commit.at, ActivityKind::ChangesMade, details)
    });
    let threads = facts.threads.iter().flat_map(|thread| &thread.comments).map(|comment| said(comment, "diff"));
    let comments = facts.comments.iter().map(|comment| said(comment, "conversation"));
    reviews.chain(commits).chain(threads).chain(comments).collect()
}
