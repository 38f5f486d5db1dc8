//! What the box remembers as GitHub's JSON, with every field a client may rely on.

mod git;
mod issue;
mod pull;

use serde_json::{Value, json};

pub use git::{commit, git_commit, tree};
pub use issue::{issue, issue_comment, issue_event, label};
pub use pull::{pull, pull_minimal, review, review_comment};

use super::refusal::Refusal;
use super::repo as git_repo;
use super::state::{Annotation, Delivery, Reaction, Repo, World};
use crate::domain::clock::Millis;

/// RFC 3339 in whole seconds, as GitHub writes times.
/// As the `Date` header says it.
pub fn http_date(millis: Millis) -> String {
    let time = chrono::DateTime::from_timestamp_millis(millis).unwrap_or_default();
    time.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

pub fn time(at: Millis) -> String {
    chrono::DateTime::from_timestamp_millis(at)
        .map(|t| t.to_rfc3339_opts(chrono::SecondsFormat::Secs, true))
        .unwrap_or_default()
}

/// An opaque GraphQL id; only the box reads it back.
pub fn node(kind: &str, id: u64) -> String {
    format!("{kind}_kwDO{id:010x}")
}

pub fn user(world: &World, login: &str) -> Value {
    let (id, kind) = world.users.get(login).map_or((0, "User"), |u| (u.id, u.kind.as_str()));
    let api = format!("{}/users/{}", world.api(), login.replace('[', "%5B").replace(']', "%5D"));
    let html = match login.strip_suffix("[bot]") {
        Some(app) => format!("{}/apps/{app}", world.web),
        None => format!("{}/{login}", world.web),
    };
    let prefix = match kind {
        "Bot" => "BOT",
        "Organization" => "O",
        _ => "U",
    };
    json!({
        "login": login,
        "id": id,
        "node_id": node(prefix, id),
        "avatar_url": format!("{}/avatars/u/{id}", world.web),
        "gravatar_id": "",
        "url": api,
        "html_url": html,
        "followers_url": format!("{api}/followers"),
        "following_url": format!("{api}/following{{/other_user}}"),
        "gists_url": format!("{api}/gists{{/gist_id}}"),
        "starred_url": format!("{api}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{api}/subscriptions"),
        "organizations_url": format!("{api}/orgs"),
        "repos_url": format!("{api}/repos"),
        "events_url": format!("{api}/events{{/privacy}}"),
        "received_events_url": format!("{api}/received_events"),
        "type": kind,
        "user_view_type": "public",
        "site_admin": false,
    })
}

/// `OWNER`, `COLLABORATOR` and so on, from the author's role.
pub fn association(repo: &Repo, login: &str) -> &'static str {
    if repo.owner == login {
        return "OWNER";
    }
    if repo.writes(login) { "COLLABORATOR" } else { "NONE" }
}

const REPOSITORY_LINKS: [(&str, &str); 36] = [
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
];

pub fn repository(world: &World, repo: &Repo) -> Value {
    let full = repo.full_name();
    let api = format!("{}/repos/{full}", world.api());
    let html = format!("{}/{full}", world.web);
    let forks = world.repos.values().filter(|r| r.parent == Some(repo.id)).count();
    let open = repo.pulls.values().filter(|p| p.state == "open").count()
        + repo.issues.values().filter(|i| i.state == "open").count();
    let mut value = json!({
        "id": repo.id,
        "node_id": node("R", repo.id),
        "name": repo.name,
        "full_name": full,
        "private": repo.private,
        "owner": user(world, &repo.owner),
        "html_url": html,
        "description": null,
        "fork": repo.parent.is_some(),
        "url": api,
        "clone_url": format!("{html}.git"),
        "git_url": format!("{}.git", html.replacen("http", "git", 1)),
        "ssh_url": format!("git@127.0.0.1:{full}.git"),
        "svn_url": html,
        "mirror_url": null,
        "homepage": null,
        "language": repo.language,
        "default_branch": repo.default_branch,
        "visibility": if repo.private { "private" } else { "public" },
        "created_at": time(repo.created_at),
        "updated_at": time(repo.pushed_at),
        "pushed_at": time(repo.pushed_at),
        "size": 1,
        "forks": forks,
        "forks_count": forks,
        "stargazers_count": repo.stars,
        "watchers": repo.stars,
        "watchers_count": repo.stars,
        "open_issues": open,
        "open_issues_count": open,
        "archived": repo.archived,
        "license": repo.license.as_ref().map(|id| json!({
            "key": id.to_lowercase(),
            "name": id,
            "spdx_id": id,
            "url": format!("{}/licenses/{}", world.api(), id.to_lowercase()),
            "node_id": format!("LIC_{}", id.to_lowercase()),
        })),
        "topics": [],
    });
    for key in ["disabled", "is_template", "web_commit_signoff_required", "has_projects", "has_wiki"] {
        value[key] = json!(false);
    }
    for key in ["has_pages", "has_discussions"] {
        value[key] = json!(false);
    }
    for key in ["allow_forking", "has_downloads", "has_issues"] {
        value[key] = json!(true);
    }
    for (key, path) in REPOSITORY_LINKS {
        value[key] = json!(format!("{api}{path}"));
    }
    value
}

/// As installation events list it.
pub fn short_repository(repo: &Repo) -> Value {
    json!({
        "id": repo.id,
        "node_id": node("R", repo.id),
        "name": repo.name,
        "full_name": repo.full_name(),
        "private": repo.private,
    })
}

pub fn full_repository(world: &World, repo: &Repo) -> Value {
    let mut value = repository(world, repo);
    value["network_count"] = value["forks_count"].clone();
    value["subscribers_count"] = json!(1);
    value["permissions"] = json!({"admin": false, "maintain": false, "push": true, "triage": true, "pull": true});
    if let Some(parent) = repo.parent.and_then(|id| world.repos.get(&id)) {
        value["parent"] = repository(world, parent);
        value["source"] = repository(world, parent);
    }
    value
}

/// The App as `GET /app` and check runs show it; another id is somebody else's App.
pub fn app(world: &World, id: u64) -> Value {
    let ours = id == world.app_id;
    let slug = if ours { world.app_slug.as_str() } else { "somebody-elses-ci" };
    let name = if ours { world.manifest.name.as_str() } else { "somebody else's CI" };
    json!({
        "id": id,
        "client_id": format!("Iv23li{id:014}"),
        "slug": slug,
        "node_id": node("A", id),
        "owner": user(world, &world.app_owner),
        "name": name,
        "description": world.manifest.description,
        "external_url": world.manifest.url,
        "html_url": format!("{}/apps/{slug}", world.web),
        "created_at": time(world.created_at),
        "updated_at": time(world.created_at),
        "permissions": world.app_permissions(),
        "events": world.manifest.default_events,
        "installations_count": u8::from(!world.uninstalled),
    })
}

pub fn installation(world: &World) -> Value {
    let id = world.installation_id;
    let account = user(world, &world.account);
    json!({
        "id": id,
        "node_id": node("MDIz", id),
        "account": account,
        "access_tokens_url": format!("{}/app/installations/{id}/access_tokens", world.api()),
        "repositories_url": format!("{}/installation/repositories", world.api()),
        "html_url": format!("{}/organizations/{}/settings/installations/{id}", world.web, world.account),
        "app_id": world.app_id,
        "app_slug": world.app_slug,
        "client_id": format!("Iv23li{:014}", world.app_id),
        "target_id": account["id"],
        "target_type": world.users.get(&world.account).map_or("Organization", |user| user.kind.as_str()),
        "repository_selection": "selected",
        "permissions": world.granted_permissions(),
        "events": world.manifest.default_events,
        "created_at": time(world.created_at),
        "updated_at": time(world.created_at),
        "single_file_name": null,
        "has_multiple_single_files": false,
        "single_file_paths": [],
        "suspended_by": world.suspended_at.map(|_| account.clone()),
        "suspended_at": world.suspended_at.map(time),
    })
}

pub fn check_run(world: &World, repo: u64, id: u64) -> Result<Value, Refusal> {
    let run = world.check(repo, id)?;
    let r = world.repo(repo)?;
    let api = format!("{}/repos/{}", world.api(), r.full_name());
    let html = format!("{}/{}/runs/{id}", world.web, r.full_name());
    Ok(json!({
        "id": id,
        "node_id": node("CR", id),
        "head_sha": run.head_sha,
        "name": run.name,
        "external_id": run.external_id.clone().unwrap_or_default(),
        "url": format!("{api}/check-runs/{id}"),
        "html_url": html,
        "details_url": run.details_url.clone().unwrap_or(html),
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": run.annotations.len(),
            "annotations_url": format!("{api}/check-runs/{id}/annotations"),
        },
        "check_suite": {"id": run.suite},
        "app": app(world, run.app_id),
        "pull_requests": pulls_at(world, r, &run.head_sha),
    }))
}

/// Only pull requests from the repository itself: GitHub lists none from forks.
fn pulls_at(world: &World, repo: &Repo, sha: &str) -> Vec<Value> {
    let here = |p: &&super::state::Pull| p.head_sha == sha && p.state == "open" && p.head_repo == Some(repo.id);
    repo.pulls.values().filter(here).map(|p| pull_minimal(world, repo, p)).collect()
}

pub fn check_suite(world: &World, repo: u64, id: u64) -> Result<Value, Refusal> {
    let r = world.repo(repo)?;
    let suite = r.suites.get(&id).ok_or_else(Refusal::not_found)?;
    let runs: Vec<_> = r.checks.values().filter(|c| c.suite == id).collect();
    let done = !runs.is_empty() && runs.iter().all(|c| c.status == "completed");
    // What is worst says how the suite ended.
    let failed =
        runs.iter().find(|c| !matches!(c.conclusion.as_deref(), Some("success" | "neutral" | "skipped") | None));
    let conclusion = done.then(|| failed.or(runs.first()).and_then(|c| c.conclusion.clone())).flatten();
    let api = format!("{}/repos/{}/check-suites/{id}", world.api(), r.full_name());
    Ok(json!({
        "id": id,
        "node_id": node("CS", id),
        "head_branch": suite.head_branch,
        "head_sha": suite.head_sha,
        "status": if done { "completed" } else { "queued" },
        "conclusion": conclusion,
        "url": api,
        "before": suite.before,
        "after": suite.head_sha,
        "created_at": time(suite.created_at),
        "updated_at": time(suite.created_at),
        "app": app(world, suite.app_id),
        "head_commit": commit(world, repo, &suite.head_sha)?["commit"].clone(),
        "latest_check_runs_count": runs.len(),
        "check_runs_url": format!("{api}/check-runs"),
        "pull_requests": pulls_at(world, r, &suite.head_sha),
        "rerequestable": true,
        "runs_rerequestable": true,
    }))
}

pub fn annotation(world: &World, repo: &Repo, sha: &str, one: &Annotation) -> Value {
    json!({
        "path": one.path,
        "blob_href": format!("{}/{}/blob/{sha}/{}", world.web, repo.full_name(), one.path),
        "start_line": one.start_line,
        "end_line": one.end_line,
        "start_column": one.start_column,
        "end_column": one.end_column,
        "annotation_level": one.annotation_level,
        "message": one.message,
        "title": one.title,
        "raw_details": one.raw_details,
    })
}

pub fn reaction(world: &World, one: &Reaction) -> Value {
    json!({
        "id": one.id,
        "node_id": node("REA", one.id),
        "user": user(world, &one.author),
        "content": one.content,
        "created_at": time(one.created_at),
    })
}

/// A line of the delivery log; `full` adds what was sent and answered.
pub fn delivery(world: &World, one: &Delivery, full: bool) -> Value {
    let mut value = json!({
        "id": one.id,
        "guid": one.guid,
        "delivered_at": time(one.delivered_at),
        "redelivery": one.redelivery,
        "duration": one.duration,
        "status": one.status,
        "status_code": one.status_code,
        "event": one.event,
        "action": one.action,
        "installation_id": one.installation_id,
        "repository_id": one.repository_id,
        "throttled_at": null,
    });
    if full {
        value["url"] = json!(world.webhook_url.clone().unwrap_or_default());
        value["request"] = json!({
            "headers": one.request_headers,
            "payload": serde_json::from_str::<Value>(&one.payload).unwrap_or(Value::Null),
        });
        value["response"] = json!({"headers": one.response_headers, "payload": one.response_body});
    }
    value
}

pub fn file(world: &World, repo: &Repo, sha: &str, one: &super::diff::FileChange) -> Value {
    let html = format!("{}/{}", world.web, repo.full_name());
    let api = format!("{}/repos/{}", world.api(), repo.full_name());
    let mut value = json!({
        "sha": one.blob,
        "filename": one.path,
        "status": one.status,
        "additions": one.additions,
        "deletions": one.deletions,
        "changes": one.additions + one.deletions,
        "blob_url": format!("{html}/blob/{sha}/{}", one.path),
        "raw_url": format!("{html}/raw/{sha}/{}", one.path),
        "contents_url": format!("{api}/contents/{}?ref={sha}", one.path),
    });
    if let Some(patch) = one.patch() {
        value["patch"] = json!(patch);
    }
    if let Some(previous) = &one.previous {
        value["previous_filename"] = json!(previous);
    }
    value
}

/// How many commits and which lines a pull request carries.
pub fn size(world: &World, repo: u64, pull: &super::state::Pull) -> Result<(usize, usize, usize, usize), Refusal> {
    let commits = git_repo::commits(&world.git(repo)?, &pull.base_sha, &pull.head_sha)?.len();
    let files = world.changes(repo, pull, &pull.head_sha)?;
    let added = files.iter().map(|f| f.additions).sum();
    let deleted = files.iter().map(|f| f.deletions).sum();
    Ok((commits, files.len(), added, deleted))
}
