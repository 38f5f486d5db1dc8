//! The reviews agent: from what GitHub tells of our pull request to the document about it (S2.18). No text of anybody is
//! read, nothing is judged: the same facts always give the same document.

mod checks;
mod ending;
mod history;

use serde::Deserialize;

use super::{Agent, Context, Error, Role};
use crate::artifact::activity::{FinalOutcome, FinalResult, ReviewActivity, ReviewStatus, WatchedPull, WatchedState};
use crate::artifact::facts::{GivenReview, ReviewState, Who};
use crate::artifact::swarm::CiState;
use crate::artifact::{Document, MonitorFacts, Monitored};
use crate::stdx::text::{count, iso8601};

pub(super) struct Reviews;

#[derive(Deserialize)]
pub(super) struct Input {
    facts: MonitorFacts,
}

impl Agent for Reviews {
    const VERSION: &'static str = "1";
    type Input = Input;
    type Output = Monitored;

    fn role(&self) -> Role {
        Role::Reviews
    }

    async fn run(&self, _cx: &Context, Input { facts }: Input) -> Result<Monitored, Error> {
        let checks = checks::Checks::of(&facts);
        let (ci_history, change) = checks.history(&facts);
        let ending = ending::of(&facts, &checks);
        let activity = ReviewActivity {
            pr: WatchedPull { url: facts.pull.url.clone(), number: facts.pull.number, state: facts.pull.state },
            activity: history::of(&facts, change),
            ci_history,
            current_status: status(&facts, checks.state),
            final_outcome: ending.outcome,
        };
        Ok(Monitored { document: Document::completed(iso8601(facts.now), activity), stalled: ending.stalled })
    }

    fn faults(&self, _cx: &Context, output: &Monitored) -> Vec<String> {
        let Ok(activity) = &output.document.outcome else { return Vec::new() };
        let mut faults = Vec::new();
        let ended = activity.pr.state != WatchedState::Open;
        if ended && activity.final_outcome.is_none() {
            faults.push("the pull request has ended, and there is no final outcome".to_owned());
        }
        let escalated = result(activity.final_outcome.as_ref()) == Some(FinalResult::Escalated);
        if escalated == output.stalled.is_empty() {
            faults.push("what is escalated names what it waits for, and nothing else does".to_owned());
        }
        faults
    }

    fn line(&self, output: &Monitored) -> Option<String> {
        output.document.outcome.as_ref().ok().map(line)
    }
}

fn result(outcome: Option<&FinalOutcome>) -> Option<FinalResult> {
    outcome?.result
}

/// "open: 2 reviews, 1 approval, checks fail".
fn line(activity: &ReviewActivity) -> String {
    let now = &activity.current_status;
    let ended = match (result(activity.final_outcome.as_ref()), activity.pr.state) {
        (Some(FinalResult::Merged), _) | (None, WatchedState::Merged) => "merged",
        (Some(FinalResult::Closed), _) | (None, WatchedState::Closed) => "closed",
        (Some(FinalResult::Abandoned), _) => "abandoned",
        (Some(FinalResult::Escalated), _) => "escalated",
        (None, WatchedState::Open) => "open",
    };
    let number = |n: u64, noun: &str| count(usize::try_from(n).unwrap_or(usize::MAX), noun);
    let checks = match now.ci_status {
        CiState::Pending => "checks pending",
        CiState::Success => "checks pass",
        CiState::Failure => "checks fail",
    };
    let (reviews, approvals) = (number(now.reviews_received, "review"), number(now.approvals, "approval"));
    format!("{ended}: {reviews}, {approvals}, {checks}")
}

fn status(facts: &MonitorFacts, ci_status: CiState) -> ReviewStatus {
    let standing = standing(facts);
    let of = |state| standing.iter().filter(|review| review.state == state).count() as u64;
    // Whoever spoke last in a thread waits for the other side.
    let waits = |thread: &&crate::artifact::facts::ThreadFacts| {
        !thread.resolved && thread.comments.last().is_some_and(|last| last.who == Who::Person)
    };
    ReviewStatus {
        reviews_received: facts.reviews.iter().filter(|review| review.who != Who::Ours).count() as u64,
        approvals: of(ReviewState::Approved),
        changes_requested: of(ReviewState::ChangesRequested),
        comments_pending: facts.threads.iter().filter(waits).count() as u64,
        ci_status,
    }
}

/// The last verdict of each person who may write to the repository, as GitHub itself counts them: a mere comment takes
/// none back, a dismissed one is none.
fn standing(facts: &MonitorFacts) -> Vec<&GivenReview> {
    let mut last: Vec<&GivenReview> = Vec::new();
    for review in &facts.reviews {
        if review.who != Who::Person || !review.writes || review.state == ReviewState::Commented {
            continue;
        }
        last.retain(|other| other.by != review.by);
        last.push(review);
    }
    last.retain(|review| review.state != ReviewState::Dismissed);
    last
}
