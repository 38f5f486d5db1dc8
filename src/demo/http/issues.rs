//! Issues, their comments, labels and reactions, for pull requests too.

use serde::Deserialize;
use serde_json::Value;

use super::{Actor, Ctx, Reply, allows, who};
use crate::demo::refusal::Refusal;
use crate::demo::shape;
use crate::demo::state::{Issue, Level, NewLabel, World};

/// `pull_requests` opens pull requests only; a plain issue asks for `issues`.
fn subject(world: &World, ctx: &Ctx, repo: u64, number: u64, level: Level) -> Result<(), Refusal> {
    world.issue(repo, number)?;
    let is_pull = world.repo(repo)?.pulls.contains_key(&number);
    match &ctx.actor {
        Actor::Installation(token) if !is_pull && !allows(&token.permissions, "issues", level) => {
            Err(Refusal::forbidden())
        }
        _ => Ok(()),
    }
}

fn numbered(world: &World, ctx: &Ctx, level: Level) -> Result<(u64, u64), Refusal> {
    let (repo, number) = (ctx.repo(world)?, ctx.number("n")?);
    subject(world, ctx, repo, number, level)?;
    Ok((repo, number))
}

fn commented(world: &World, ctx: &Ctx, level: Level) -> Result<(u64, u64), Refusal> {
    let (repo, id) = (ctx.repo(world)?, ctx.number("id")?);
    let number = world.repo(repo)?.comments.get(&id).ok_or_else(Refusal::not_found)?.number;
    subject(world, ctx, repo, number, level)?;
    Ok((repo, id))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    body: String,
}

pub fn get(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = numbered(world, ctx, Level::Read)?;
    Reply::ok(shape::issue(world, repo, number)?)
}

/// Pull requests are issues here, told apart by their key `pull_request`.
pub fn list(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.repo(world)?;
    let r = world.repo(id)?;
    let state = ctx.choice("state", &["open", "closed", "all"])?;
    let sort = ctx.choice("sort", &["created", "updated", "comments"])?;
    let direction = ctx.choice("direction", &["desc", "asc"])?;
    let since = ctx.since()?;
    let labels: Vec<&str> = ctx
        .query
        .get("labels")
        .into_iter()
        .flat_map(|text| text.split(','))
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let all = r.issues.values().chain(r.pulls.values().map(|pull| &pull.issue));
    let mut found: Vec<&Issue> = all
        .filter(|i| state == "all" || i.state == state)
        .filter(|i| labels.iter().all(|want| i.labels.iter().any(|label| label.eq_ignore_ascii_case(want))))
        .filter(|i| ctx.query.get("creator").is_none_or(|login| *login == i.author))
        .filter(|i| i.updated_at / 1000 >= since)
        .collect();
    found.sort_by_key(|i| {
        let weight = match sort {
            "updated" => i.updated_at,
            "comments" => r.comments.values().filter(|c| c.number == i.number).count().try_into().unwrap_or(i64::MAX),
            _ => i.created_at,
        };
        (weight, i.number)
    });
    if direction == "desc" {
        found.reverse();
    }
    let issues = found.iter().map(|i| shape::issue(world, id, i.number)).collect::<Result<Vec<Value>, _>>()?;
    ctx.page(world, issues)
}

/// The history of one issue, the oldest line first.
pub fn events(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = numbered(world, ctx, Level::Read)?;
    let r = world.repo(repo)?;
    let events = r.events.iter().filter(|e| e.number == number).map(|e| shape::issue_event(world, r, e)).collect();
    ctx.page(world, events)
}

pub fn repo_labels(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let repo = ctx.repo(world)?;
    let names = world.repo(repo)?.labels.iter().map(|label| shape::label(world, repo, &label.name));
    let labels = names.collect::<Result<Vec<Value>, _>>()?;
    ctx.page(world, labels)
}

pub fn repo_label(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let repo = ctx.repo(world)?;
    Reply::ok(shape::label(world, repo, ctx.param("name"))?)
}

pub fn create_label(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let repo = ctx.repo(world)?;
    let new: NewLabel = ctx.body()?;
    let name = world.create_label(repo, new)?;
    Reply::created(shape::label(world, repo, &name)?)
}

pub fn comments(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = numbered(world, ctx, Level::Read)?;
    let since = ctx.since()?;
    let here = world.repo(repo)?.comments.values().filter(|c| c.number == number && c.updated_at / 1000 >= since);
    let all = here.map(|c| shape::issue_comment(world, repo, c.id)).collect::<Result<Vec<Value>, _>>()?;
    ctx.page(world, all)
}

/// A locked conversation is open to those who may write; of the App, `issues: write` makes one of them.
pub fn create_comment(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = numbered(world, ctx, Level::Write)?;
    let (text, author): (Text, _) = (ctx.body()?, who(world, ctx));
    let writer = matches!(&ctx.actor, Actor::Installation(token) if allows(&token.permissions, "issues", Level::Write));
    if world.issue(repo, number)?.locked && !writer {
        return Err(Refusal::new(403, "Unable to create comment because issue is locked."));
    }
    let id = world.comment(repo, number, &author, &text.body)?;
    Reply::created(shape::issue_comment(world, repo, id)?)
}

pub fn comment(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, id) = commented(world, ctx, Level::Read)?;
    Reply::ok(shape::issue_comment(world, repo, id)?)
}

pub fn edit_comment(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, id) = commented(world, ctx, Level::Write)?;
    let (text, author): (Text, _) = (ctx.body()?, who(world, ctx));
    world.edit_comment(repo, id, &author, &text.body)?;
    Reply::ok(shape::issue_comment(world, repo, id)?)
}

pub fn delete_comment(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, id) = commented(world, ctx, Level::Write)?;
    let author = who(world, ctx);
    world.delete_comment(repo, id, &author)?;
    Reply::empty(204)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    content: String,
}

pub fn react_to(world: &mut World, ctx: &Ctx, repo: u64, subject: &str) -> Result<Reply, Refusal> {
    let (wish, author): (Content, _) = (ctx.body()?, who(world, ctx));
    let (id, new) = world.react(repo, subject, &author, &wish.content)?;
    let made = world.repo(repo)?.reactions.iter().find(|r| r.id == id).ok_or_else(Refusal::not_found)?;
    let value = shape::reaction(world, made);
    if new { Reply::created(value) } else { Reply::ok(value) }
}

pub fn react(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = numbered(world, ctx, Level::Write)?;
    react_to(world, ctx, repo, &format!("issue/{number}"))
}

pub fn react_to_comment(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, id) = commented(world, ctx, Level::Write)?;
    react_to(world, ctx, repo, &format!("comment/{id}"))
}

fn label_list(world: &World, ctx: &Ctx, repo: u64, number: u64) -> Result<Reply, Refusal> {
    let names = &world.issue(repo, number)?.labels;
    let labels = names.iter().map(|name| shape::label(world, repo, name)).collect::<Result<Vec<Value>, _>>()?;
    ctx.page(world, labels)
}

pub fn labels(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = numbered(world, ctx, Level::Read)?;
    label_list(world, ctx, repo, number)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Labels {
    labels: Vec<String>,
}

pub fn add_labels(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = numbered(world, ctx, Level::Write)?;
    let (wish, author): (Labels, _) = (ctx.body()?, who(world, ctx));
    world.add_labels(repo, number, &wish.labels, &author)?;
    label_list(world, ctx, repo, number)
}

pub fn remove_label(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = numbered(world, ctx, Level::Write)?;
    let author = who(world, ctx);
    world.remove_label(repo, number, ctx.param("name"), &author)?;
    label_list(world, ctx, repo, number)
}
