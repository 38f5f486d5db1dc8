//! Branches and tags over REST: read, created, moved, deleted, and the rules that say who may.

use serde::Deserialize;
use serde_json::{Value, json};

use super::objects::{full_sha, opened};
use super::{Actor, Ctx, Reply, who};
use crate::demo::refusal::Refusal;
use crate::demo::state::{RefChange, World};
use crate::demo::{repo, shape};

fn shown(world: &World, repo: u64, name: &str, target: &str) -> Result<Value, Refusal> {
    let api = format!("{}/repos/{}", world.api(), world.repo(repo)?.full_name());
    Ok(json!({
        "ref": name,
        "node_id": format!("REF_{}", hex::encode(name)),
        "url": format!("{api}/git/{name}"),
        "object": {"type": "commit", "sha": target, "url": format!("{api}/git/commits/{target}")},
    }))
}

fn target(git: &git2::Repository, name: &str) -> Option<String> {
    git.find_reference(name).ok()?.target().map(|oid| oid.to_string())
}

pub fn get(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, git) = opened(world, ctx)?;
    let name = format!("refs/{}", ctx.param("ref"));
    let sha = target(&git, &name).ok_or_else(Refusal::not_found)?;
    Reply::ok(shown(world, id, &name, &sha)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
}

/// Only branches and tags may be written.
fn writable(name: &str) -> Result<(), Refusal> {
    let wrong = || Refusal::new(422, format!("{name} is not a valid ref name."));
    let known = name.starts_with("refs/heads/") || name.starts_with("refs/tags/");
    if known && git2::Reference::is_valid_name(name) { Ok(()) } else { Err(wrong()) }
}

fn commit(git: &git2::Repository, sha: &str) -> Result<String, Refusal> {
    let found = full_sha(sha).and_then(|oid| git.find_commit(oid).ok());
    found.map(|commit| commit.id().to_string()).ok_or_else(|| Refusal::new(422, "Object does not exist"))
}

/// Proves a change against the repository's rules.
fn allowed(
    world: &World,
    ctx: &Ctx,
    id: u64,
    git: &git2::Repository,
    change: &RefChange,
    force: bool,
) -> Result<(), Refusal> {
    let Actor::Installation(token) = &ctx.actor else { return Err(Refusal::forbidden()) };
    // Here the wire tells a forced update from another: nothing of it is left to prove when it was asked for.
    let change = if force { RefChange { before: None, ..change.clone() } } else { change.clone() };
    match world.verdict(id, git, &change, Some(&token.permissions))? {
        None => Ok(()),
        Some(decline) => Err(decline.refusal()),
    }
}

pub fn create(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, git) = opened(world, ctx)?;
    let new: Create = ctx.body()?;
    writable(&new.name)?;
    let sha = commit(&git, &new.sha)?;
    if target(&git, &new.name).is_some() {
        return Err(Refusal::new(422, "Reference already exists"));
    }
    let change = RefChange { name: new.name, before: None, after: Some(sha.clone()) };
    allowed(world, ctx, id, &git, &change, false)?;
    // A branch `a` and a branch `a/b` cannot be at once.
    repo::set_ref(&git, &change.name, &sha).map_err(|_| Refusal::new(422, "Reference update failed"))?;
    told(world, ctx, id, &change)?;
    Reply::created(shown(world, id, &change.name, &sha)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    sha: String,
    #[serde(default)]
    force: bool,
}

pub fn update(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, git) = opened(world, ctx)?;
    let new: Update = ctx.body()?;
    let name = format!("refs/{}", ctx.param("ref"));
    writable(&name)?;
    let before = target(&git, &name).ok_or_else(|| Refusal::new(422, "Reference does not exist"))?;
    let sha = commit(&git, &new.sha)?;
    let (from, to) = (git2::Oid::from_str(&before)?, git2::Oid::from_str(&sha)?);
    if !new.force && from != to && !git.graph_descendant_of(to, from)? {
        return Err(Refusal::new(422, "Update is not a fast forward"));
    }
    let change = RefChange { name, before: Some(before), after: Some(sha.clone()) };
    allowed(world, ctx, id, &git, &change, new.force)?;
    repo::set_ref(&git, &change.name, &sha)?;
    told(world, ctx, id, &change)?;
    Reply::ok(shown(world, id, &change.name, &sha)?)
}

pub fn delete(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, git) = opened(world, ctx)?;
    let name = format!("refs/{}", ctx.param("ref"));
    writable(&name)?;
    let before = target(&git, &name).ok_or_else(|| Refusal::new(422, "Reference does not exist"))?;
    let change = RefChange { name, before: Some(before), after: None };
    if change.branch() == Some(world.repo(id)?.default_branch.as_str()) {
        return Err(Refusal::new(422, "Cannot delete the default branch"));
    }
    allowed(world, ctx, id, &git, &change, true)?;
    git.find_reference(&change.name)?.delete()?;
    told(world, ctx, id, &change)?;
    Reply::empty(204)
}

/// Pull requests follow, and the push is told.
fn told(world: &mut World, ctx: &Ctx, id: u64, change: &RefChange) -> Result<(), Refusal> {
    let by = who(world, ctx);
    match change.branch() {
        Some(branch) => world.pushed(id, branch, change.before.as_deref(), &by),
        None => Ok(()),
    }
}

pub fn branch(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let name = ctx.param("branch");
    let sha = repo::branch(&world.git(id)?, name).ok_or_else(|| Refusal::new(404, "Branch not found"))?;
    let api = format!("{}/repos/{}/branches/{name}", world.api(), world.repo(id)?.full_name());
    let protected = world.is_protected(id, name);
    Reply::ok(json!({
        "name": name,
        "commit": shape::commit(world, id, &sha)?,
        "_links": {"self": api, "html": api},
        "protected": protected,
        "protection": {"enabled": protected, "required_status_checks": {"enforcement_level": "off", "contexts": [], "checks": []}},
        "protection_url": format!("{api}/protection"),
    }))
}

/// The rules that would hold for a branch, whether it exists or not.
pub fn rules(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let rules = world.branch_rules(ctx.repo(world)?, ctx.param("branch"))?;
    ctx.page(world, rules)
}
