//! `pull_request`, `check_run` and `check_suite`.

use serde_json::Value;

use super::activity;
use super::json::{Json, Stop, ignored, malformed, short};
use crate::domain::{Action, Event, PullEvent, PullNumber, RepositoryId, Sha};

pub(super) fn pull_request(json: Json<'_>) -> Result<PullEvent, Stop> {
    let name = json.action("pull_request", &[])?;
    json.object("/pull_request")?;
    // Reviews and their comments carry a pull request too, under other event names; none of them has `number`.
    let number = json.number("/number")?;
    if number != json.number("/pull_request/number")? {
        return Err(malformed("`number` and `pull_request.number` differ"));
    }
    let action = match name {
        "opened" => Action::Opened,
        "reopened" => Action::Reopened,
        "ready_for_review" => Action::ReadyForReview,
        "synchronize" => Action::Pushed,
        "edited" if json.get("/changes/base").is_some_and(Value::is_object) => Action::BaseChanged,
        "edited" => return Err(ignored("`edited` without another base")),
        "closed" => Action::Closed,
        "converted_to_draft" => Action::ConvertedToDraft,
        other => return Err(ignored(format!("action `{}` of `pull_request`", short(other)))),
    };
    Ok(PullEvent {
        action,
        installation: json.installation()?,
        repository: json.repository("/pull_request/base/repo/id")?,
        repo: json.repo()?,
        default_branch: json.text("/repository/default_branch")?.to_owned(),
        number: PullNumber(number),
        head: json.sha("/pull_request/head/sha")?,
        base_ref: json.text("/pull_request/base/ref")?.to_owned(),
        // A draft is the only state that keeps a review away, so a missing flag means "not a draft".
        draft: json.get("/pull_request/draft").and_then(Value::as_bool).unwrap_or(false),
        author: json.sender("/pull_request/user")?,
        sender: json.sender("/sender")?,
    })
}

pub(super) fn check_run(json: Json<'_>) -> Result<Event, Stop> {
    let action = json.action("check_run", &[])?;
    json.object("/check_run")?;
    if action != "rerequested" {
        return Err(ignored(format!("action `{}` of `check_run`", short(action))));
    }
    let repository = json.repository("")?;
    let head = json.sha("/check_run/head_sha")?;
    let external = json.get("/check_run/external_id").and_then(Value::as_str).unwrap_or_default();
    let (pull, head) = match parse_external_id(external) {
        Some((of, pull, sha)) if of == repository => (pull, sha),
        Some(_) => return Err(malformed("`check_run.external_id` names another repository")),
        None => {
            let pulls = json.pulls("/check_run/pull_requests", repository)?;
            let first = pulls.first().ok_or_else(|| ignored("a check run that belongs to no pull request"))?;
            (*first, head)
        }
    };
    json.rerequested(repository, pull, head)
}

pub(super) fn check_suite(json: Json<'_>) -> Result<Vec<Event>, Stop> {
    let action = json.action("check_suite", &[])?;
    json.object("/check_suite")?;
    match action {
        "rerequested" => {}
        "completed" => return activity::suite_completed(json),
        other => return Err(ignored(format!("action `{}` of `check_suite`", short(other)))),
    }
    let repository = json.repository("")?;
    let head = json.sha("/check_suite/head_sha")?;
    let pulls = json.pulls("/check_suite/pull_requests", repository)?;
    if pulls.is_empty() {
        return Err(ignored("a check suite that belongs to no pull request"));
    }
    pulls.into_iter().map(|pull| json.rerequested(repository, pull, head.clone())).collect()
}

/// Reads `review/<repository id>/<number>@<head>`.
fn parse_external_id(text: &str) -> Option<(RepositoryId, PullNumber, Sha)> {
    let (repository, rest) = text.strip_prefix("review/")?.split_once('/')?;
    let (number, sha) = rest.split_once('@')?;
    Some((RepositoryId(repository.parse().ok()?), PullNumber(number.parse().ok()?), Sha::parse(sha)?))
}
