//! Check runs over REST.

use serde_json::{Value, json};

use super::{Ctx, Reply};
use crate::demo::refusal::Refusal;
use crate::demo::state::{CheckChange, CheckRun, World};
use crate::demo::{repo, shape};

pub fn create(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let repo = ctx.repo(world)?;
    let new: CheckChange = ctx.body()?;
    let id = world.create_check(repo, new)?;
    Reply::created(shape::check_run(world, repo, id)?)
}

pub fn get(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    Reply::ok(shape::check_run(world, ctx.repo(world)?, ctx.number("id")?)?)
}

pub fn edit(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, id) = (ctx.repo(world)?, ctx.number("id")?);
    let new: CheckChange = ctx.body()?;
    world.update_check(repo, id, new)?;
    Reply::ok(shape::check_run(world, repo, id)?)
}

pub fn annotations(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let repo = ctx.repo(world)?;
    let run = world.check(repo, ctx.number("id")?)?;
    let r = world.repo(repo)?;
    let all = run.annotations.iter().map(|a| shape::annotation(world, r, &run.head_sha, a)).collect();
    ctx.page(world, all)
}

pub fn rerequest(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, id) = (ctx.repo(world)?, ctx.number("id")?);
    if world.check(repo, id)?.app_id != world.app_id {
        return Err(Refusal::new(
            403,
            "Forbidden if the check run is not rerequestable or doesn't belong to the authenticated GitHub App",
        ));
    }
    let bot = world.bot();
    world.check_event(repo, id, "rerequested", &bot)?;
    Ok(Reply { status: 201, body: Some(json!({})), headers: Vec::new() })
}

/// `filter` is `latest` unless told: the newest run of each name and App.
pub fn list(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let name = ctx.param("ref");
    let sha = repo::resolve(&world.git(id)?, name)
        .ok_or_else(|| Refusal::new(422, format!("No commit found for SHA: {name}")))?;
    let fits = |run: &&CheckRun| {
        run.head_sha == sha
            && ctx.query.get("app_id").is_none_or(|app| *app == run.app_id.to_string())
            && ctx.query.get("check_name").is_none_or(|name| *name == run.name)
            && ctx.query.get("status").is_none_or(|status| *status == run.status)
    };
    let all = ctx.query.get("filter").is_some_and(|filter| filter == "all");
    let runs: Vec<&CheckRun> = world.repo(id)?.checks.values().filter(fits).collect();
    let newest = |run: &&&CheckRun| {
        all || !runs.iter().any(|other| other.id > run.id && other.name == run.name && other.app_id == run.app_id)
    };
    let shown = runs.iter().filter(newest).rev();
    let shown = shown.map(|run| shape::check_run(world, id, run.id)).collect::<Result<Vec<Value>, _>>()?;
    ctx.page_in(world, "check_runs", shown, json!({}))
}
