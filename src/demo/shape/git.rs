//! Commits and trees as GitHub's JSON, and whose commits they are.

use serde_json::{Value, json};

use super::{time, user};
use crate::demo::refusal::Refusal;
use crate::demo::state::World;

/// Who wrote a commit: GitHub goes by the address, never by the name.
fn account(world: &World, signature: &git2::Signature<'_>) -> Option<String> {
    let email = signature.email().ok()?;
    let (local, domain) = email.split_once('@')?;
    if domain != "users.noreply.github.com" && domain != format!("users.noreply.{}", world.host()) {
        return None;
    }
    match local.split_once('+') {
        Some((id, login)) => world.users.get(login).filter(|known| known.id.to_string() == id).map(|u| u.login.clone()),
        // Accounts made before 2017 have no number in front; people of the box are that old, bots are not.
        None => world.users.get(local).filter(|known| known.kind != "Bot").map(|u| u.login.clone()),
    }
}

fn verification(world: &World, git: &git2::Repository, sha: &str) -> Value {
    if !world.signed.contains(sha) {
        return json!({
            "verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null,
        });
    }
    let parts = git2::Oid::from_str(sha).and_then(|oid| git.extract_signature(&oid, None));
    let text = |part: &git2::Buf| String::from_utf8_lossy(part).into_owned();
    let (signature, payload) = parts.map(|(s, p)| (text(&s), text(&p))).unwrap_or_default();
    json!({
        "verified": true, "reason": "valid", "signature": signature, "payload": payload,
        "verified_at": time(world.now()),
    })
}

pub fn commit(world: &World, repo: u64, sha: &str) -> Result<Value, Refusal> {
    let git = world.git(repo)?;
    let found = git2::Oid::from_str(sha).and_then(|oid| git.find_commit(oid)).map_err(|_| Refusal::not_found())?;
    let api = format!("{}/repos/{}", world.api(), world.repo(repo)?.full_name());
    let html = format!("{}/{}/commit", world.web, world.repo(repo)?.full_name());
    let who = |s: &git2::Signature<'_>| {
        json!({
            "name": s.name().unwrap_or_default(),
            "email": s.email().unwrap_or_default(),
            "date": time(s.when().seconds() * 1000),
        })
    };
    let account = |s: &git2::Signature<'_>| account(world, s).map_or(Value::Null, |login| user(world, &login));
    let parents: Vec<Value> = found
        .parent_ids()
        .map(|id| json!({"sha": id.to_string(), "url": format!("{api}/commits/{id}"), "html_url": format!("{html}/{id}")}))
        .collect();
    Ok(json!({
        "sha": sha,
        "node_id": format!("C_kwDO{sha}"),
        "url": format!("{api}/commits/{sha}"),
        "html_url": format!("{html}/{sha}"),
        "comments_url": format!("{api}/commits/{sha}/comments"),
        "commit": {
            "id": sha,
            "tree_id": found.tree_id().to_string(),
            "timestamp": time(found.time().seconds() * 1000),
            "url": format!("{api}/git/commits/{sha}"),
            "author": who(&found.author()),
            "committer": who(&found.committer()),
            "message": found.message().unwrap_or_default(),
            "tree": {"sha": found.tree_id().to_string(), "url": format!("{api}/git/trees/{}", found.tree_id())},
            "comment_count": 0,
            "verification": verification(world, &git, sha),
        },
        "author": account(&found.author()),
        "committer": account(&found.committer()),
        "parents": parents,
    }))
}

/// As the git data API shows a commit.
pub fn git_commit(world: &World, repo: u64, sha: &str) -> Result<Value, Refusal> {
    let full = commit(world, repo, sha)?;
    let api = format!("{}/repos/{}/git/commits", world.api(), world.repo(repo)?.full_name());
    let mut value = json!({
        "sha": sha,
        "node_id": full["node_id"],
        "url": format!("{api}/{sha}"),
        "html_url": full["html_url"],
        "parents": full["parents"],
    });
    for key in ["author", "committer", "tree", "message", "verification"] {
        value[key] = full["commit"][key].clone();
    }
    Ok(value)
}

/// One level of a tree.
pub fn tree(world: &World, repo: u64, tree: &git2::Tree<'_>) -> Result<Value, Refusal> {
    let api = format!("{}/repos/{}/git", world.api(), world.repo(repo)?.full_name());
    let entries: Vec<Value> = tree
        .iter()
        .map(|entry| {
            let kind = entry.kind().map_or("commit", |kind| kind.str());
            json!({
                "path": String::from_utf8_lossy(entry.name_bytes()),
                "mode": format!("{:06o}", entry.filemode()),
                "type": kind,
                "sha": entry.id().to_string(),
                "url": format!("{api}/{kind}s/{}", entry.id()),
            })
        })
        .collect();
    Ok(json!({
        "sha": tree.id().to_string(),
        "url": format!("{api}/trees/{}", tree.id()),
        "tree": entries,
        "truncated": false,
    }))
}
