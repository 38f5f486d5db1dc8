//! Reviews and review comments over REST.

use serde::Deserialize;
use serde_json::Value;

use super::{Ctx, Reply, who};
use crate::demo::refusal::Refusal;
use crate::demo::shape;
use crate::demo::state::{NewComment, NewReview, World};

/// Only a review of this very pull request.
fn review_of(world: &World, ctx: &Ctx) -> Result<(u64, u64), Refusal> {
    let (repo, number, id) = (ctx.repo(world)?, ctx.number("n")?, ctx.number("id")?);
    let review = world.repo(repo)?.reviews.get(&id).ok_or_else(Refusal::not_found)?;
    if review.pull != number {
        return Err(Refusal::not_found());
    }
    Ok((repo, id))
}

pub fn list(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = (ctx.repo(world)?, ctx.number("n")?);
    world.pull(repo, number)?;
    let ids = world.repo(repo)?.reviews.values().filter(|r| r.pull == number);
    let reviews = ids.map(|r| shape::review(world, repo, r.id, false)).collect::<Result<Vec<Value>, _>>()?;
    ctx.page(world, reviews)
}

pub fn get(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, id) = review_of(world, ctx)?;
    Reply::ok(shape::review(world, repo, id, false)?)
}

pub fn create(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = (ctx.repo(world)?, ctx.number("n")?);
    world.pull(repo, number)?;
    let new: NewReview = ctx.body()?;
    let author = who(world, ctx);
    let id = world.create_review(repo, number, &author, new)?;
    // A made review is answered with 200, not 201: so does GitHub.
    Reply::ok(shape::review(world, repo, id, false)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    body: String,
}

pub fn edit(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, id) = review_of(world, ctx)?;
    let text: Text = ctx.body()?;
    let author = who(world, ctx);
    world.edit_review(repo, id, &author, &text.body)?;
    Reply::ok(shape::review(world, repo, id, false)?)
}

fn listed(world: &World, ctx: &Ctx, repo: u64, mut ids: Vec<u64>) -> Result<Reply, Refusal> {
    if ctx.query.get("direction").is_some_and(|d| d == "desc") {
        ids.reverse();
    }
    let all = ids.iter().map(|id| shape::review_comment(world, repo, *id)).collect::<Result<Vec<Value>, _>>()?;
    ctx.page(world, all)
}

pub fn comments_of(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, review) = review_of(world, ctx)?;
    let ids = world.repo(repo)?.review_comments.values().filter(|c| c.review == review).map(|c| c.id).collect();
    listed(world, ctx, repo, ids)
}

pub fn comments(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = (ctx.repo(world)?, ctx.number("n")?);
    world.pull(repo, number)?;
    let ids = world.repo(repo)?.review_comments.values().filter(|c| c.pull == number).map(|c| c.id).collect();
    listed(world, ctx, repo, ids)
}

pub fn comment(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    Reply::ok(shape::review_comment(world, ctx.repo(world)?, ctx.number("id")?)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    body: String,
    commit_id: String,
    path: String,
    line: u32,
    side: Option<String>,
    start_line: Option<u32>,
    start_side: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateReply {
    body: String,
    in_reply_to: u64,
}

pub fn create_comment(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, number) = (ctx.repo(world)?, ctx.number("n")?);
    world.pull(repo, number)?;
    let author = who(world, ctx);
    if ctx.body.get("in_reply_to").is_some() {
        let new: CreateReply = ctx.body()?;
        return answer(world, repo, number, new.in_reply_to, &author, &new.body);
    }
    let Create { body, commit_id, path, line, side, start_line, start_side } = ctx.body()?;
    let comment = NewComment { path, body, line, side, start_line, start_side };
    let review = NewReview {
        commit_id: Some(commit_id),
        body: None,
        event: Some("COMMENT".to_owned()),
        comments: vec![comment],
    };
    let review = world.create_review(repo, number, &author, review)?;
    if let Some(made) = world.repo_mut(repo)?.reviews.get_mut(&review) {
        // The review around a single comment has no text: there is nothing to read in it.
        made.read = true;
    }
    let made = world.repo(repo)?.review_comments.values().find(|c| c.review == review).map(|c| c.id);
    Reply::created(shape::review_comment(world, repo, made.ok_or_else(Refusal::not_found)?)?)
}

fn answer(world: &mut World, repo: u64, number: u64, to: u64, author: &str, body: &str) -> Result<Reply, Refusal> {
    if world.review_comment(repo, to)?.pull != number {
        return Err(Refusal::not_found());
    }
    let id = world.reply(repo, to, author, body)?;
    Reply::created(shape::review_comment(world, repo, id)?)
}

pub fn reply(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let text: Text = ctx.body()?;
    let author = who(world, ctx);
    let (repo, number, to) = (ctx.repo(world)?, ctx.number("n")?, ctx.number("id")?);
    answer(world, repo, number, to, &author, &text.body)
}

pub fn edit_comment(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, id) = (ctx.repo(world)?, ctx.number("id")?);
    let text: Text = ctx.body()?;
    let author = who(world, ctx);
    world.edit_review_comment(repo, id, &author, &text.body)?;
    Reply::ok(shape::review_comment(world, repo, id)?)
}

pub fn delete_comment(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, id, author) = (ctx.repo(world)?, ctx.number("id")?, who(world, ctx));
    world.delete_review_comment(repo, id, &author)?;
    Reply::empty(204)
}

pub fn react(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (repo, id) = (ctx.repo(world)?, ctx.number("id")?);
    world.review_comment(repo, id)?;
    super::issues::react_to(world, ctx, repo, &format!("review-comment/{id}"))
}
