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
    let known = world.users.values().find(|user| user.login.eq_ignore_ascii_case(login));
    let (login, created) = known.map(|u| (u.login.as_str(), u.created_at)).ok_or_else(Refusal::not_found)?;
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

/// Of a public repository everybody may read. Apps' bots are no users here.
pub fn permission(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let r = world.repo(ctx.repo(world)?)?;
    let login = ctx.param("username");
    let known = world.users.values().find(|user| user.login.eq_ignore_ascii_case(login) && user.kind == "User");
    let login = known.ok_or_else(|| Refusal::new(404, format!("{login} is not a user")))?.login.as_str();
    let nobody = if r.private { "none" } else { "read" };
    let role = r.collaborators.get(login).map_or(nobody, String::as_str);
    let base = r.base_role(login).unwrap_or(nobody);
    let permission = match base {
        "triage" => "read",
        "maintain" => "write",
        other => other,
    };
    let rank = ["none", "read", "triage", "write", "maintain", "admin"].iter().position(|known| *known == base);
    let holds = |least: usize| rank.is_some_and(|rank| rank >= least);
    let mut user = shape::user(world, login);
    user["role_name"] = json!(role);
    user["permissions"] = json!({
        "pull": holds(1), "triage": holds(2), "push": holds(3), "maintain": holds(4), "admin": holds(5),
    });
    Reply::ok(json!({"permission": permission, "role_name": role, "user": user}))
}

fn at(world: &World, ctx: &Ctx) -> Result<(u64, String), Refusal> {
    let id = ctx.repo(world)?;
    let default = world.repo(id)?.default_branch.clone();
    let name = ctx.query.get("ref").unwrap_or(&default);
    if repo::is_empty(&world.git(id)?) {
        return Err(Refusal::new(404, "This repository is empty."));
    }
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

pub fn commit(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let name = ctx.param("ref");
    let (_, git) = super::objects::opened(world, ctx)?;
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
