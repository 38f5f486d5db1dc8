//! What happens to a pull request between its opening and its end: `pull_request_review`, `pull_request_review_comment`,
//! `pull_request_review_thread`, and `check_suite` when it is completed.

use super::json::{Json, Stop, ignored, short};
use crate::domain::{Event, PullActivity, PullNumber};

pub(super) fn review(json: Json<'_>) -> Result<Event, Stop> {
    told(json, "review", "pull_request_review", &["submitted", "edited", "dismissed"])
}

pub(super) fn review_comment(json: Json<'_>) -> Result<Event, Stop> {
    told(json, "comment", "pull_request_review_comment", &["created", "edited", "deleted"])
}

pub(super) fn review_thread(json: Json<'_>) -> Result<Event, Stop> {
    told(json, "thread", "pull_request_review_thread", &["resolved", "unresolved"])
}

/// What the object says is not read: whoever follows the pull request asks GitHub.
fn told(json: Json<'_>, object: &str, event: &str, actions: &[&str]) -> Result<Event, Stop> {
    let action = json.action(object, &["pull_request"])?;
    json.object("/pull_request")?;
    if !actions.contains(&action) {
        return Err(ignored(format!("action `{}` of `{event}`", short(action))));
    }
    Ok(Event::Activity(PullActivity {
        place: json.place()?,
        number: PullNumber(json.number("/pull_request/number")?),
        author: Some(json.sender("/pull_request/user")?),
        checks_of: None,
        sender: json.sender("/sender")?,
    }))
}

pub(super) fn suite_completed(json: Json<'_>) -> Result<Vec<Event>, Stop> {
    let place = json.place()?;
    let pulls = json.pulls("/check_suite/pull_requests", place.repository)?;
    if pulls.is_empty() {
        return Err(ignored("a check suite that belongs to no pull request"));
    }
    // An App that was deleted is nobody's.
    let app = if json.get("/check_suite/app").is_some() { json.number("/check_suite/app/id")? } else { 0 };
    let sender = json.sender("/sender")?;
    let told = |number| {
        Event::Activity(PullActivity {
            place: place.clone(),
            number,
            author: None,
            checks_of: Some(app),
            sender: sender.clone(),
        })
    };
    Ok(pulls.into_iter().map(told).collect())
}
