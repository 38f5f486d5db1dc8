//! Pull requests, reviews and review comments as GitHub's JSON.

use serde_json::{Value, json};

use super::issue::{labels, reactions};
use super::{association, node, repository, size, time, user};
use crate::demo::refusal::Refusal;
use crate::demo::state::{Pull, Repo, World};

/// `full` adds what only a single pull request shows: counts, mergeability.
pub fn pull(world: &World, repo: u64, number: u64, full: bool) -> Result<Value, Refusal> {
    let r = world.repo(repo)?;
    let p = world.pull(repo, number)?;
    let api = format!("{}/repos/{}", world.api(), r.full_name());
    let (url, html) = (format!("{api}/pulls/{number}"), format!("{}/{}/pull/{number}", world.web, r.full_name()));
    let link = |path: &str| json!({"href": path});
    let side = |repo: Option<&Repo>, owner: &str, branch: &str, sha: &str| {
        json!({
            "label": format!("{owner}:{branch}"),
            "ref": branch,
            "sha": sha,
            "user": user(world, owner),
            "repo": repo.map(|repo| repository(world, repo)),
        })
    };
    let head = p.head_repo.and_then(|id| world.repos.get(&id));
    let mut value = json!({
        "url": url,
        "id": p.id,
        "node_id": node("PR", p.id),
        "html_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "issue_url": format!("{api}/issues/{number}"),
        "commits_url": format!("{url}/commits"),
        "review_comments_url": format!("{url}/comments"),
        "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
        "comments_url": format!("{api}/issues/{number}/comments"),
        "statuses_url": format!("{api}/statuses/{}", p.head_sha),
        "number": number,
        "state": p.state,
        "locked": p.locked,
        "active_lock_reason": null,
        "title": p.title,
        "user": user(world, &p.author),
        "body": p.body,
        "labels": labels(world, r, &p.labels),
        "milestone": null,
        "created_at": time(p.created_at),
        "updated_at": time(p.updated_at),
        "closed_at": p.closed_at.map(time),
        "merged_at": p.merged_by.as_ref().and(p.closed_at).map(time),
        "merge_commit_sha": p.merge_sha,
        "assignee": null,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "head": side(head, &p.head_owner, &p.head_ref, &p.head_sha),
        "base": side(Some(r), &r.owner, &p.base_ref, &p.base_sha),
        "author_association": association(r, &p.author),
        "auto_merge": null,
        "draft": p.draft,
    });
    value["_links"] = json!({
        "self": link(&url),
        "html": link(&html),
        "issue": link(&format!("{api}/issues/{number}")),
        "comments": link(&format!("{api}/issues/{number}/comments")),
        "review_comments": link(&format!("{url}/comments")),
        "review_comment": link(&format!("{api}/pulls/comments{{/number}}")),
        "commits": link(&format!("{url}/commits")),
        "statuses": link(&format!("{api}/statuses/{}", p.head_sha)),
    });
    if full {
        let (commits, changed, added, deleted) = size(world, repo, p)?;
        value["merged"] = json!(p.merged_by.is_some());
        value["mergeable"] = json!(p.merge_sha.is_some());
        value["rebaseable"] = json!(p.merge_sha.is_some());
        value["mergeable_state"] = json!(if p.merge_sha.is_some() { "clean" } else { "dirty" });
        value["merged_by"] = p.merged_by.as_deref().map_or(Value::Null, |login| user(world, login));
        value["comments"] = json!(r.comments.values().filter(|c| c.number == number).count());
        value["review_comments"] = json!(r.review_comments.values().filter(|c| c.pull == number).count());
        value["maintainer_can_modify"] = json!(false);
        value["commits"] = json!(commits);
        value["additions"] = json!(added);
        value["deletions"] = json!(deleted);
        value["changed_files"] = json!(changed);
    }
    Ok(value)
}

/// As check runs and suites list it.
pub fn pull_minimal(world: &World, repo: &Repo, p: &Pull) -> Value {
    let api = format!("{}/repos/{}", world.api(), repo.full_name());
    let short = json!({"id": repo.id, "url": api, "name": repo.name});
    json!({
        "id": p.id,
        "number": p.number,
        "url": format!("{api}/pulls/{}", p.number),
        "head": {"ref": p.head_ref, "sha": p.head_sha, "repo": short},
        "base": {"ref": p.base_ref, "sha": p.base_sha, "repo": short},
    })
}

/// Webhooks write the state in lower case, REST in upper case.
pub fn review(world: &World, repo: u64, id: u64, webhook: bool) -> Result<Value, Refusal> {
    let r = world.repo(repo)?;
    let one = r.reviews.get(&id).ok_or_else(Refusal::not_found)?;
    let pull_url = format!("{}/repos/{}/pulls/{}", world.api(), r.full_name(), one.pull);
    let html = format!("{}/{}/pull/{}#pullrequestreview-{id}", world.web, r.full_name(), one.pull);
    Ok(json!({
        "id": id,
        "node_id": node("PRR", id),
        "user": user(world, &one.author),
        "body": one.body,
        "state": if webhook { one.state.to_lowercase() } else { one.state.clone() },
        "html_url": html,
        "pull_request_url": pull_url,
        "author_association": association(r, &one.author),
        "_links": {"html": {"href": html}, "pull_request": {"href": pull_url}},
        "submitted_at": time(one.submitted_at),
        "updated_at": time(one.updated_at),
        "commit_id": one.commit_id,
    }))
}

pub fn review_comment(world: &World, repo: u64, id: u64) -> Result<Value, Refusal> {
    let r = world.repo(repo)?;
    let one = world.review_comment(repo, id)?;
    let api = format!("{}/repos/{}", world.api(), r.full_name());
    let (url, pull_url) = (format!("{api}/pulls/comments/{id}"), format!("{api}/pulls/{}", one.pull));
    let html = format!("{}/{}/pull/{}#discussion_r{id}", world.web, r.full_name(), one.pull);
    let position = one.diff_hunk.lines().count().saturating_sub(1).max(1);
    let mut value = json!({
        "url": url,
        "pull_request_review_id": one.review,
        "id": id,
        "node_id": node("PRRC", id),
        "diff_hunk": one.diff_hunk,
        "path": one.path,
        "commit_id": one.commit_id,
        "original_commit_id": one.original_commit_id,
        "user": user(world, &one.author),
        "body": one.body,
        "created_at": time(one.created_at),
        "updated_at": time(one.updated_at),
        "html_url": html,
        "pull_request_url": pull_url,
        "author_association": association(r, &one.author),
        "_links": {"self": {"href": url}, "html": {"href": html}, "pull_request": {"href": pull_url}},
        "reactions": reactions(&url, r, &format!("review-comment/{id}")),
        "start_line": one.start_line,
        "original_start_line": one.original_start_line,
        "start_side": one.start_side,
        "line": one.line,
        "original_line": one.original_line,
        "side": one.side,
        "original_position": position,
        "position": one.line.map(|_| position),
        "subject_type": "line",
    });
    if let Some(to) = one.in_reply_to {
        value["in_reply_to_id"] = json!(to);
    }
    Ok(value)
}
