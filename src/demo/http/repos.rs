//! Repositories, their content and their people.

use base64::Engine;
use serde_json::{Value, json};

use super::{Actor, Ctx, Reply, reaches};
use crate::demo::refusal::Refusal;
use crate::demo::state::World;
use crate::demo::{diff, repo, shape};

pub fn list(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let Actor::Installation(token) = &ctx.actor else { return Err(Refusal::forbidden()) };
    let seen: Vec<Value> =
        world.repos.values().filter(|r| reaches(world, token, r.id)).map(|r| shape::repository(world, r)).collect();
    ctx.page_in(world, "repositories", seen, json!({"repository_selection": "selected"}))
}

pub fn get(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    Reply::ok(shape::full_repository(world, world.repo(ctx.repo(world)?)?))
}

pub fn user(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let login = ctx.param("username");
    let created = world.users.get(login).ok_or_else(Refusal::not_found)?.created_at;
    let mut value = shape::user(world, login);
    for key in ["name", "company", "location", "email", "hireable", "bio", "twitter_username"] {
        value[key] = Value::Null;
    }
    value["blog"] = json!("");
    for key in ["public_repos", "public_gists", "followers", "following"] {
        value[key] = json!(0);
    }
    value["created_at"] = json!(shape::time(created));
    value["updated_at"] = json!(shape::time(created));
    Reply::ok(value)
}

/// Of a public repository everybody may read.
pub fn permission(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let r = world.repo(ctx.repo(world)?)?;
    let login = ctx.param("username");
    if !world.users.contains_key(login) {
        return Err(Refusal::not_found());
    }
    let role = r.collaborators.get(login).map_or(if r.private { "none" } else { "read" }, String::as_str);
    let permission = match role {
        "triage" => "read",
        "maintain" => "write",
        other => other,
    };
    let mut user = shape::user(world, login);
    user["role_name"] = json!(role);
    Reply::ok(json!({"permission": permission, "role_name": role, "user": user}))
}

fn at(world: &World, ctx: &Ctx) -> Result<(u64, String), Refusal> {
    let id = ctx.repo(world)?;
    let default = world.repo(id)?.default_branch.clone();
    let name = ctx.query.get("ref").unwrap_or(&default);
    let sha = repo::resolve(&world.git(id)?, name)
        .ok_or_else(|| Refusal::new(404, format!("No commit found for the ref {name}")))?;
    Ok((id, sha))
}

pub fn contents(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, sha) = at(world, ctx)?;
    let git = world.git(id)?;
    let path = ctx.param("path");
    let tree = git.find_commit(git2::Oid::from_str(&sha)?)?.tree()?;
    let entry = tree.get_path(std::path::Path::new(path)).map_err(|_| Refusal::not_found())?;
    let full = world.repo(id)?.full_name();
    let describe = |path: &str, kind: &str, oid: git2::Oid, size: usize| {
        let api = format!("{}/repos/{full}", world.api());
        let (url, kind_path) =
            (format!("{api}/contents/{path}?ref={sha}"), if kind == "dir" { "trees" } else { "blobs" });
        let html = format!("{}/{full}/blob/{sha}/{path}", world.web);
        let git_url = format!("{api}/git/{kind_path}/{oid}");
        json!({
            "name": path.rsplit('/').next().unwrap_or(path),
            "path": path,
            "sha": oid.to_string(),
            "size": size,
            "url": url,
            "html_url": html,
            "git_url": git_url,
            "download_url": format!("{}/{full}/raw/{sha}/{path}", world.web),
            "type": kind,
            "_links": {"self": url, "git": git_url, "html": html},
        })
    };
    if let Ok(blob) = git.find_blob(entry.id()) {
        let mut value = describe(path, "file", entry.id(), blob.content().len());
        let encoded = base64::engine::general_purpose::STANDARD.encode(blob.content());
        // GitHub wraps the lines, and a client has to cope with that.
        let lines: Vec<&str> = encoded.as_bytes().chunks(60).filter_map(|c| std::str::from_utf8(c).ok()).collect();
        value["content"] = json!(format!("{}\n", lines.join("\n")));
        value["encoding"] = json!("base64");
        return Reply::ok(value);
    }
    let dir = git.find_tree(entry.id()).map_err(|_| Refusal::not_found())?;
    let entries = dir
        .iter()
        .map(|e| {
            let name = format!("{path}/{}", String::from_utf8_lossy(e.name_bytes()));
            let size = git.find_blob(e.id()).map_or(0, |b| b.size());
            let kind = if e.kind() == Some(git2::ObjectType::Tree) { "dir" } else { "file" };
            describe(&name, kind, e.id(), size)
        })
        .collect();
    Reply::ok(Value::Array(entries))
}

pub fn git_ref(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let name = format!("refs/{}", ctx.param("ref"));
    let git = world.git(id)?;
    let target = git.find_reference(&name).ok().and_then(|r| r.target()).ok_or_else(Refusal::not_found)?.to_string();
    let api = format!("{}/repos/{}", world.api(), world.repo(id)?.full_name());
    Reply::ok(json!({
        "ref": name,
        "node_id": format!("REF_{}", hex::encode(&name)),
        "url": format!("{api}/git/{name}"),
        "object": {"type": "commit", "sha": target, "url": format!("{api}/git/commits/{target}")},
    }))
}

pub fn branch(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let name = ctx.param("branch");
    let sha = repo::branch(&world.git(id)?, name).ok_or_else(|| Refusal::new(404, "Branch not found"))?;
    let api = format!("{}/repos/{}/branches/{name}", world.api(), world.repo(id)?.full_name());
    Reply::ok(json!({
        "name": name,
        "commit": shape::commit(world, id, &sha)?,
        "_links": {"self": api, "html": api},
        "protected": false,
        "protection": {"enabled": false, "required_status_checks": {"enforcement_level": "off", "contexts": [], "checks": []}},
        "protection_url": format!("{api}/protection"),
    }))
}

pub fn commit(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let name = ctx.param("ref");
    let git = world.git(id)?;
    let sha = repo::resolve(&git, name).ok_or_else(|| Refusal::new(422, format!("No commit found for SHA: {name}")))?;
    let mut value = shape::commit(world, id, &sha)?;
    let parent = git.find_commit(git2::Oid::from_str(&sha)?)?.parent_ids().next();
    let files = match parent {
        Some(parent) => diff::between(&git, parent, git2::Oid::from_str(&sha)?)?,
        None => Vec::new(),
    };
    let r = world.repo(id)?;
    value["files"] = files.iter().map(|f| shape::file(world, r, &sha, f)).collect();
    Reply::ok(value)
}

pub fn compare(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let (base, head) = ctx.param("basehead").split_once("...").ok_or_else(Refusal::not_found)?;
    let git = world.git(id)?;
    let find = |name: &str| {
        // `owner:branch` names a fork, whose commits are here when a pull request brought them.
        let branch = name.rsplit_once(':').map_or(name, |(_, branch)| branch);
        repo::resolve(&git, branch).ok_or_else(Refusal::not_found)
    };
    let (base_sha, head_sha) = (find(base)?, find(head)?);
    let merge_base = repo::merge_base(&git, &base_sha, &head_sha).ok_or_else(Refusal::not_found)?;
    let ahead = repo::commits(&git, &base_sha, &head_sha)?;
    let behind = repo::commits(&git, &head_sha, &base_sha)?.len();
    let status = match (ahead.len(), behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let r = world.repo(id)?;
    let html = format!("{}/{}/compare/{base}...{head}", world.web, r.full_name());
    let files: Vec<Value> =
        diff::three_dot(&git, &base_sha, &head_sha)?.iter().map(|f| shape::file(world, r, &head_sha, f)).collect();
    let commits = ahead.iter().map(|sha| shape::commit(world, id, sha)).collect::<Result<Vec<_>, _>>()?;
    Reply::ok(json!({
        "url": format!("{}/repos/{}/compare/{base}...{head}", world.api(), r.full_name()),
        "html_url": html,
        "permalink_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "base_commit": shape::commit(world, id, &base_sha)?,
        "merge_base_commit": shape::commit(world, id, &merge_base)?,
        "status": status,
        "ahead_by": ahead.len(),
        "behind_by": behind,
        "total_commits": ahead.len(),
        "commits": commits,
        "files": files,
    }))
}
