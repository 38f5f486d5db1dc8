//! How it ended, or that nobody comes any more.
//!
//! Merged and closed are GitHub's word. While it is open, two things end the watch until something happens again:
//! - *escalated*: somebody who may write to the repository asked for changes, or its checks fail, and for `stale_pr_days`
//!   nobody reacted: no commit, no review, no comment of another person. The mechanics that made the change cannot answer.
//!   Where a person has put commits on the branch, the pull request is theirs, and nothing is escalated;
//! - *abandoned*: for `max_review_wait_days` no person did anything.

use super::checks::Checks;
use super::standing;
use crate::artifact::MonitorFacts;
use crate::artifact::activity::{FinalOutcome, FinalResult, WatchedState};
use crate::artifact::facts::{ReviewState, Who};
use crate::artifact::reply::Stalled;
use crate::artifact::swarm::CiState;
use crate::domain::Millis;
use crate::stdx::text::iso8601;

const DAY: Millis = 24 * 3_600_000;

pub(super) struct Ending {
    pub outcome: Option<FinalOutcome>,
    pub stalled: Vec<Stalled>,
}

pub(super) fn of(facts: &MonitorFacts, checks: &Checks) -> Ending {
    let ended = |result| FinalOutcome {
        result: Some(result),
        timestamp: facts.pull.ended_at.map(iso8601),
        merged_by: None,
        merge_commit: None,
    };
    match facts.pull.state {
        WatchedState::Merged => {
            let merged_by = facts.pull.merged_by.clone();
            let merge_commit = facts.pull.merge_commit.as_ref().map(ToString::to_string);
            over(FinalOutcome { merged_by, merge_commit, ..ended(FinalResult::Merged) })
        }
        WatchedState::Closed => over(ended(FinalResult::Closed)),
        WatchedState::Open => waited_for(facts, checks),
    }
}

fn over(outcome: FinalOutcome) -> Ending {
    Ending { outcome: Some(outcome), stalled: Vec::new() }
}

fn waited_for(facts: &MonitorFacts, checks: &Checks) -> Ending {
    let since = |result, at: Millis| FinalOutcome {
        result: Some(result),
        timestamp: Some(iso8601(at)),
        merged_by: None,
        merge_commit: None,
    };
    let patience = Millis::from(facts.settings.stale_pr_days) * DAY;
    let stalled: Vec<(Millis, Stalled)> = if taken_over(facts) {
        Vec::new()
    } else {
        let due = |(at, _): &(Millis, Stalled)| facts.now - at >= patience;
        unanswered(facts).into_iter().chain(failing(facts, checks)).filter(due).collect()
    };
    if let Some(first) = stalled.iter().map(|(at, _)| *at).min() {
        let stalled = stalled.into_iter().map(|(_, what)| what).collect();
        return Ending { outcome: Some(since(FinalResult::Escalated, first + patience)), stalled };
    }
    let end = last_sign_of_life(facts) + Millis::from(facts.settings.max_review_wait_days) * DAY;
    let outcome = (facts.now >= end).then(|| since(FinalResult::Abandoned, end));
    Ending { outcome, stalled: Vec::new() }
}

fn taken_over(facts: &MonitorFacts) -> bool {
    facts.commits.iter().any(|commit| commit.who != Who::Ours)
}

/// When people other than `but` did something, commits of anybody among it.
fn deeds<'a>(facts: &'a MonitorFacts, but: &'a str) -> impl Iterator<Item = Millis> + 'a {
    let person = move |who: Who, by: &str| who == Who::Person && by != but;
    let said = facts.threads.iter().flat_map(|thread| &thread.comments).chain(&facts.comments);
    let said = said.filter(move |said| person(said.who, &said.by)).map(|said| said.at);
    let reviews = facts.reviews.iter().filter(move |review| person(review.who, &review.by)).map(|review| review.at);
    said.chain(reviews).chain(facts.commits.iter().map(|commit| commit.at)).map(|at| at.min(facts.now))
}

fn unanswered(facts: &MonitorFacts) -> Vec<(Millis, Stalled)> {
    let requests = standing(facts).into_iter().filter(|review| review.state == ReviewState::ChangesRequested);
    let open = requests.filter(|review| deeds(facts, &review.by).all(|at| at <= review.at));
    open.map(|review| (review.at, Stalled::ChangesRequested { by: review.by.clone(), since: iso8601(review.at) }))
        .collect()
}

fn failing(facts: &MonitorFacts, checks: &Checks) -> Option<(Millis, Stalled)> {
    let unnoticed = checks.state == CiState::Failure && deeds(facts, "").all(|at| at <= checks.since);
    let what = || Stalled::ChecksFailed { checks: checks.failing.clone(), since: iso8601(checks.since) };
    unnoticed.then(|| (checks.since, what()))
}

fn last_sign_of_life(facts: &MonitorFacts) -> Millis {
    deeds(facts, "").max().unwrap_or_default().max(facts.pull.created_at)
}
