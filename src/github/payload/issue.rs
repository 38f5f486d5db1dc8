//! `issues` and `issue_comment`.

use super::json::{Json, Stop, ignored, malformed, short};
use crate::domain::{
    CommentAction, CommentEvent, CommentId, Issue, IssueAction, IssueEvent, IssueNumber, Millis, Untrusted,
};

pub(super) fn issues(json: Json<'_>) -> Result<IssueEvent, Stop> {
    let action = match json.action("issue", &[])? {
        "labeled" => IssueAction::Labeled { label: label(json, "labeled")? },
        "unlabeled" => IssueAction::Unlabeled { label: label(json, "unlabeled")? },
        "closed" => IssueAction::Closed,
        "reopened" => IssueAction::Reopened,
        other => return Err(ignored(format!("action `{}` of `issues`", short(other)))),
    };
    Ok(IssueEvent { action, place: json.place()?, issue: issue(json)?, sender: json.sender("/sender")? })
}

pub(super) fn issue_comment(json: Json<'_>) -> Result<CommentEvent, Stop> {
    let action = json.action("issue", &["comment"])?;
    json.object("/comment")?;
    let action = match action {
        "created" => CommentAction::Created,
        "edited" => {
            let before = json.words("/changes/body/from")?;
            let changed = json.get("/changes/body/from").is_some();
            CommentAction::Edited { before: changed.then(|| Untrusted::new(before)) }
        }
        other => return Err(ignored(format!("action `{}` of `issue_comment`", short(other)))),
    };
    Ok(CommentEvent {
        action,
        place: json.place()?,
        issue: issue(json)?,
        comment: CommentId(json.number("/comment/id")?),
        body: Untrusted::new(json.words("/comment/body")?),
        author: json.sender("/comment/user")?,
        sender: json.sender("/sender")?,
        written_at: written_at(json)?,
    })
}

/// GitHub leaves the label out when it was deleted meanwhile: then nobody can tell what was asked for.
fn label(json: Json<'_>, action: &str) -> Result<String, Stop> {
    if json.get("/label").is_none() {
        return Err(ignored(format!("`{action}` without a label")));
    }
    json.text("/label/name").map(str::to_owned)
}

/// `author_association` is not read: who may command is asked of GitHub when it matters.
fn issue(json: Json<'_>) -> Result<Issue, Stop> {
    Ok(Issue {
        number: IssueNumber(json.number("/issue/number")?),
        title: Untrusted::new(json.words("/issue/title")?),
        body: Untrusted::new(json.words("/issue/body")?),
        labels: labels(json)?,
        author: json.sender("/issue/user")?,
        created_at: json.words("/issue/created_at")?.to_owned(),
        comments: match json.get("/issue/comments") {
            None => 0,
            Some(_) => json.number("/issue/comments")?,
        },
        open: match json.text("/issue/state")? {
            "open" => true,
            "closed" => false,
            other => return Err(malformed(format!("`issue.state` is `{}`", short(other)))),
        },
        locked: json.flag("/issue/locked")?,
        pull: json.get("/issue/pull_request").is_some(),
        url: json.words("/issue/html_url")?.to_owned(),
    })
}

fn labels(json: Json<'_>) -> Result<Vec<String>, Stop> {
    let name = |index| json.text(&format!("/issue/labels/{index}/name")).map(str::to_owned);
    (0..json.list("/issue/labels")?.len()).map(name).collect()
}

fn written_at(json: Json<'_>) -> Result<Millis, Stop> {
    let field = if json.get("/comment/updated_at").is_some() { "/comment/updated_at" } else { "/comment/created_at" };
    chrono::DateTime::parse_from_rfc3339(json.text(field)?)
        .map(|time| time.timestamp_millis())
        .map_err(|_| malformed("`comment.updated_at` is not a time"))
}
