//! What the box remembers as GraphQL's objects, in full.

use serde_json::{Value, json};

use super::Outcome;
use super::project::list;
use crate::demo::refusal::Refusal;
use crate::demo::shape;
use crate::demo::state::{Issue, Repo, ReviewComment, World};

/// GraphQL names a bot without the `[bot]` that REST puts behind it.
pub fn author(world: &World, login: &str) -> Value {
    let kind = world.users.get(login).map_or("User", |u| u.kind.as_str());
    json!({
        "__typename": kind,
        "login": login.trim_end_matches("[bot]"),
        "url": format!("{}/{login}", world.web),
    })
}

pub fn repository_value(world: &World, repo: u64) -> Outcome<Value> {
    let r = world.repo(repo)?;
    Ok(json!({
        "__typename": "Repository",
        "id": shape::node("R", repo),
        "databaseId": repo,
        "name": r.name,
        "nameWithOwner": r.full_name(),
        "url": format!("{}/{}", world.web, r.full_name()),
        "isArchived": r.archived,
        "isPrivate": r.private,
    }))
}

pub fn issue_value(world: &World, repo: u64, issue: &Issue) -> Value {
    let name = world.repos.get(&repo).map(Repo::full_name).unwrap_or_default();
    json!({
        "__typename": "Issue",
        "id": shape::node("I", issue.id),
        "databaseId": issue.id,
        "number": issue.number,
        "title": issue.title,
        "body": issue.body.clone().unwrap_or_default(),
        "state": issue.state.to_uppercase(),
        "locked": issue.locked,
        "url": format!("{}/{name}/issues/{}", world.web, issue.number),
        "author": author(world, &issue.author),
        "createdAt": shape::time(issue.created_at),
        "updatedAt": shape::time(issue.updated_at),
    })
}

pub fn pull_value(world: &World, repo: u64, number: u64) -> Outcome<Value> {
    let r = world.repo(repo)?;
    let pull = world.pull(repo, number)?;
    let threads = r.threads.values().filter(|t| t.pull == number).map(|t| thread_value(world, repo, t.id));
    let reviews = r.reviews.values().filter(|x| x.pull == number).map(|x| {
        json!({
            "__typename": "PullRequestReview",
            "id": shape::node("PRR", x.id),
            "databaseId": x.id,
            "author": author(world, &x.author),
            "body": x.body,
            "state": x.state,
            "isMinimized": x.minimized.is_some(),
            "submittedAt": shape::time(x.submitted_at),
        })
    });
    Ok(json!({
        "__typename": "PullRequest",
        "id": shape::node("PR", pull.id),
        "databaseId": pull.id,
        "number": number,
        "title": pull.title,
        "body": pull.body.clone().unwrap_or_default(),
        "url": format!("{}/{}/pull/{number}", world.web, r.full_name()),
        "state": if pull.merged_by.is_some() { "MERGED".to_owned() } else { pull.state.to_uppercase() },
        "merged": pull.merged_by.is_some(),
        "isDraft": pull.draft,
        "headRefOid": pull.head_sha,
        "headRefName": pull.head_ref,
        "baseRefOid": pull.base_sha,
        "baseRefName": pull.base_ref,
        "createdAt": shape::time(pull.created_at),
        "updatedAt": shape::time(pull.updated_at),
        "author": author(world, &pull.author),
        "repository": repository_value(world, repo)?,
        "reviews": list(reviews.collect()),
        "reviewThreads": list(threads.collect::<Outcome<Vec<_>>>()?),
    }))
}

pub fn comment_value(world: &World, c: &ReviewComment) -> Value {
    json!({
        "__typename": "PullRequestReviewComment",
        "id": shape::node("PRRC", c.id),
        "databaseId": c.id,
        "fullDatabaseId": c.id.to_string(),
        "author": author(world, &c.author),
        "body": c.body,
        "path": c.path,
        "line": c.line,
        "startLine": c.start_line,
        "originalLine": c.original_line,
        "originalStartLine": c.original_start_line,
        "outdated": c.line.is_none(),
        "isMinimized": c.minimized.is_some(),
        "minimizedReason": c.minimized.as_ref().map(|reason| reason.to_lowercase()),
        "createdAt": shape::time(c.created_at),
        "updatedAt": shape::time(c.updated_at),
        "viewerDidAuthor": c.author == world.bot(),
        "pullRequestReview": {
            "__typename": "PullRequestReview",
            "id": shape::node("PRR", c.review),
            "databaseId": c.review,
        },
        "replyTo": c.in_reply_to.map(|id| json!({
            "__typename": "PullRequestReviewComment", "id": shape::node("PRRC", id), "databaseId": id,
        })),
    })
}

pub fn thread_value(world: &World, repo: u64, id: u64) -> Outcome<Value> {
    let r = world.repo(repo)?;
    let thread = r.threads.get(&id).ok_or_else(Refusal::not_found)?;
    let comments: Vec<&ReviewComment> = thread.comments.iter().filter_map(|c| r.review_comments.get(c)).collect();
    let first = *comments.first().ok_or_else(Refusal::not_found)?;
    Ok(json!({
        "__typename": "PullRequestReviewThread",
        "id": thread.node_id,
        "isResolved": thread.resolved_by.is_some(),
        "isOutdated": thread.outdated,
        "isCollapsed": thread.resolved_by.is_some() || thread.outdated,
        "path": first.path,
        "line": first.line,
        "startLine": first.start_line,
        "originalLine": first.original_line,
        "originalStartLine": first.original_start_line,
        "diffSide": first.side,
        "startDiffSide": first.start_side,
        "subjectType": "LINE",
        "viewerCanResolve": thread.resolved_by.is_none(),
        "viewerCanUnresolve": thread.resolved_by.is_some(),
        "viewerCanReply": true,
        "resolvedBy": thread.resolved_by.as_ref().map(|login| author(world, login)),
        "comments": list(comments.iter().map(|c| comment_value(world, c)).collect()),
    }))
}
