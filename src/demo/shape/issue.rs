//! Issues, their comments, labels and history as GitHub's JSON.

use serde_json::{Value, json};

use super::{association, node, time, user};
use crate::demo::refusal::Refusal;
use crate::demo::state::{IssueEvent, Repo, World};

pub fn label(world: &World, repo: u64, name: &str) -> Result<Value, Refusal> {
    let r = world.repo(repo)?;
    let label = r.label(name).ok_or_else(Refusal::not_found)?;
    Ok(json!({
        "id": label.id,
        "node_id": node("LA", label.id),
        "url": format!("{}/repos/{}/labels/{}", world.api(), r.full_name(), label.name.replace(' ', "%20")),
        "name": label.name,
        "color": label.color,
        "default": label.default,
        "description": label.description,
    }))
}

pub fn labels(world: &World, repo: &Repo, names: &[String]) -> Vec<Value> {
    names.iter().filter_map(|name| label(world, repo.id, name).ok()).collect()
}

pub fn issue(world: &World, repo: u64, number: u64) -> Result<Value, Refusal> {
    let r = world.repo(repo)?;
    let i = world.issue(repo, number)?;
    let api = format!("{}/repos/{}", world.api(), r.full_name());
    let url = format!("{api}/issues/{number}");
    let is_pull = r.pulls.contains_key(&number);
    let word = if is_pull { "pull" } else { "issues" };
    let html = format!("{}/{}/{word}/{number}", world.web, r.full_name());
    let mut value = json!({
        "url": url,
        "repository_url": api,
        "labels_url": format!("{url}/labels{{/name}}"),
        "comments_url": format!("{url}/comments"),
        "events_url": format!("{url}/events"),
        "timeline_url": format!("{url}/timeline"),
        "html_url": html,
        "id": i.id,
        "node_id": node(if is_pull { "PR" } else { "I" }, i.id),
        "number": number,
        "title": i.title,
        "user": user(world, &i.author),
        "labels": labels(world, r, &i.labels),
        "state": i.state,
        "state_reason": i.state_reason,
        "locked": i.locked,
        "active_lock_reason": null,
        "assignee": null,
        "assignees": [],
        "milestone": null,
        "comments": r.comments.values().filter(|c| c.number == number).count(),
        "created_at": time(i.created_at),
        "updated_at": time(i.updated_at),
        "closed_at": i.closed_at.map(time),
        "closed_by": i.closed_by.as_deref().map_or(Value::Null, |login| user(world, login)),
        "author_association": association(r, &i.author),
        "body": i.body,
        "performed_via_github_app": null,
        "reactions": reactions(&url, r, &format!("issue/{number}")),
    });
    if let Some(p) = r.pulls.get(&number) {
        value["draft"] = json!(p.draft);
        value["pull_request"] = json!({
            "url": format!("{api}/pulls/{number}"),
            "html_url": html,
            "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"),
            "merged_at": p.merged_by.as_ref().and(p.closed_at).map(time),
        });
    }
    Ok(value)
}

pub fn issue_comment(world: &World, repo: u64, id: u64) -> Result<Value, Refusal> {
    let r = world.repo(repo)?;
    let one = r.comments.get(&id).ok_or_else(Refusal::not_found)?;
    let api = format!("{}/repos/{}", world.api(), r.full_name());
    let url = format!("{api}/issues/comments/{id}");
    let word = if r.pulls.contains_key(&one.number) { "pull" } else { "issues" };
    let by_app = one.author == world.bot();
    Ok(json!({
        "id": id,
        "node_id": node("IC", id),
        "url": url,
        "html_url": format!("{}/{}/{word}/{}#issuecomment-{id}", world.web, r.full_name(), one.number),
        "issue_url": format!("{api}/issues/{}", one.number),
        "body": one.body,
        "user": user(world, &one.author),
        "created_at": time(one.created_at),
        "updated_at": time(one.updated_at),
        "author_association": association(r, &one.author),
        "performed_via_github_app": if by_app { super::app(world, world.app_id) } else { Value::Null },
        "reactions": reactions(&url, r, &format!("comment/{id}")),
    }))
}

pub fn reactions(url: &str, repo: &Repo, subject: &str) -> Value {
    let mut value = json!({"url": format!("{url}/reactions")});
    let here: Vec<_> = repo.reactions.iter().filter(|r| r.subject == subject).collect();
    value["total_count"] = json!(here.len());
    for content in ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"] {
        value[content] = json!(here.iter().filter(|r| r.content == content).count());
    }
    value
}

/// A line of an issue's history; which keys it has depends on what happened.
pub fn issue_event(world: &World, repo: &Repo, one: &IssueEvent) -> Value {
    let api = format!("{}/repos/{}", world.api(), repo.full_name());
    let by_app = one.actor == world.bot();
    let mut value = json!({
        "id": one.id,
        "node_id": node("EV", one.id),
        "url": format!("{api}/issues/events/{}", one.id),
        "actor": user(world, &one.actor),
        "event": one.event,
        "commit_id": one.commit_id,
        "commit_url": one.commit_id.as_ref().map(|sha| format!("{api}/commits/{sha}")),
        "created_at": time(one.created_at),
        "performed_via_github_app": if by_app { super::app(world, world.app_id) } else { Value::Null },
    });
    if let Some(name) = &one.label {
        let color = repo.label(name).map_or("ededed", |label| label.color.as_str());
        value["label"] = json!({"name": name, "color": color});
    }
    if one.event == "closed" {
        value["state_reason"] = Value::Null;
    }
    if one.event == "locked" {
        value["lock_reason"] = Value::Null;
    }
    value
}
