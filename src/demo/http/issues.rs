//! Issues, their comments, labels and reactions, for pull requests too.

use serde::Deserialize;
use serde_json::Value;

use super::{Actor, Ctx, Reply, allows, who};
use crate::demo::refusal::Refusal;
use crate::demo::shape;
use crate::demo::state::{Level, World};

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

pub fn comments(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = numbered(world, ctx, Level::Read)?;
    let here = world.repo(repo)?.comments.values().filter(|c| c.number == number);
    let all = here.map(|c| shape::issue_comment(world, repo, c.id)).collect::<Result<Vec<Value>, _>>()?;
    ctx.page(world, all)
}

pub fn create_comment(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = numbered(world, ctx, Level::Write)?;
    let (text, author): (Text, _) = (ctx.body()?, who(world, ctx));
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
    let comments = &mut world.repo_mut(repo)?.comments;
    if comments.get(&id).is_some_and(|c| c.author != author) {
        return Err(Refusal::forbidden());
    }
    comments.remove(&id);
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
    let labels = &mut world.issue_mut(repo, number)?.labels;
    let before = labels.len();
    labels.retain(|label| label != ctx.param("name"));
    if labels.len() == before {
        return Err(Refusal::new(404, "Label does not exist"));
    }
    label_list(world, ctx, repo, number)
}
