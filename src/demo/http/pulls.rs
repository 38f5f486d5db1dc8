//! Pull requests over REST.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ctx, Reply, who};
use crate::demo::refusal::Refusal;
use crate::demo::state::{NewPull, Pull, World};
use crate::demo::{repo, shape};

pub fn list(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let state = ctx.choice("state", &["open", "closed", "all"])?;
    let sort = ctx.choice("sort", &["created", "updated"])?;
    let direction = ctx.choice("direction", &["desc", "asc"])?;
    // GitHub takes a branch without its owner and then filters nothing.
    if ctx.query.get("head").is_some_and(|head| !head.contains(':')) {
        return Err(Refusal::invalid("PullRequest", "head", "invalid", "head is owner:branch"));
    }
    let fits = |p: &&Pull| {
        (state == "all" || p.state == state)
            && ctx.query.get("base").is_none_or(|base| *base == p.base_ref)
            && ctx.query.get("head").is_none_or(|head| *head == format!("{}:{}", p.head_owner, p.head_ref))
    };
    let mut found: Vec<&Pull> = world.repo(id)?.pulls.values().filter(fits).collect();
    found.sort_by_key(|p| (if sort == "updated" { p.updated_at } else { p.created_at }, p.number));
    if direction == "desc" {
        found.reverse();
    }
    let numbers: Vec<u64> = found.iter().map(|p| p.number).collect();
    let pulls = numbers.iter().map(|n| shape::pull(world, id, *n, false)).collect::<Result<Vec<Value>, _>>()?;
    ctx.page(world, pulls)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    title: String,
    head: String,
    base: String,
    body: Option<String>,
    #[serde(default)]
    draft: bool,
    #[serde(default, rename = "maintainer_can_modify")]
    _maintainer_can_modify: bool,
}

pub fn create(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let new: Create = ctx.body()?;
    crate::demo::state::check_length("PullRequest", new.body.as_deref().unwrap_or_default())?;
    let name = world.repo(id)?.name.clone();
    let (head_repo, head_ref) = match new.head.split_once(':') {
        Some((owner, branch)) => {
            let fork = world
                .find_repo(owner, &name)
                .ok_or_else(|| Refusal::invalid("PullRequest", "head", "invalid", "head is invalid"))?;
            (fork, branch.to_owned())
        }
        None => (id, new.head),
    };
    let (title, body, base_ref, draft) = (new.title, new.body, new.base, new.draft);
    let author = who(world, ctx);
    let number = world.open_pull(id, &author, NewPull { head_repo, head_ref, base_ref, title, body, draft })?;
    Reply::created(shape::pull(world, id, number, true)?)
}

pub fn get(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    Reply::ok(shape::pull(world, ctx.repo(world)?, ctx.number("n")?, true)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    title: Option<String>,
    body: Option<String>,
    state: Option<String>,
    base: Option<String>,
}

pub fn edit(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, number) = (ctx.repo(world)?, ctx.number("n")?);
    let edit: Edit = ctx.body()?;
    crate::demo::state::check_length("PullRequest", edit.body.as_deref().unwrap_or_default())?;
    let author = who(world, ctx);
    world.pull(id, number)?;
    if edit.state.as_deref().is_some_and(|state| !["open", "closed"].contains(&state)) {
        return Err(Refusal::invalid("PullRequest", "state", "invalid", "state is open or closed"));
    }
    if edit.title.is_some() || edit.body.is_some() || edit.base.is_some() {
        world.edit_pull(id, number, edit.title, edit.body, edit.base, &author)?;
    }
    if let Some(state) = edit.state {
        world.set_pull_state(id, number, &state, &author)?;
    }
    Reply::ok(shape::pull(world, id, number, true)?)
}

pub fn files(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let pull = world.pull(id, ctx.number("n")?)?;
    let r = world.repo(id)?;
    let files = world.changes(id, pull, &pull.head_sha)?;
    let files = files.iter().map(|f| shape::file(world, r, &pull.head_sha, f)).collect();
    ctx.page(world, files)
}

pub fn commits(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let pull = world.pull(id, ctx.number("n")?)?;
    let shas = repo::commits(&world.git(id)?, &pull.base_sha, &pull.head_sha)?;
    let commits = shas.iter().map(|sha| shape::commit(world, id, sha)).collect::<Result<Vec<Value>, _>>()?;
    // GitHub shows 250 at most here, whatever the paging says.
    ctx.page(world, commits.into_iter().take(250).map(|c| json!(c)).collect())
}
