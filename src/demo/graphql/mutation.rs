//! Mutations: checked against what was asked for before they take effect.

use serde_json::{Value, json};

use super::project::project;
use super::value::{comment_value, thread_value};
use super::{Outcome, arguments, malformed, problem, thread_of};
use crate::demo::http::{allows, reaches};
use crate::demo::refusal::Refusal;
use crate::demo::selection::Field;
use crate::demo::shape;
use crate::demo::state::{Level, Repo, Token, World};

pub fn mutate(world: &mut World, token: &Token, field: &Field) -> Outcome<Value> {
    arguments(field, &["input"])?;
    let input = field.arguments.get("input").cloned().unwrap_or(Value::Null);
    let known: &[&str] = match field.name.as_str() {
        "resolveReviewThread" | "unresolveReviewThread" => &["threadId"],
        "addPullRequestReviewThreadReply" => &["pullRequestReviewThreadId", "body"],
        "minimizeComment" => &["subjectId", "classifier"],
        other => return malformed(format!("Field '{other}' doesn't exist on type 'Mutation'")),
    };
    for key in input.as_object().into_iter().flat_map(|map| map.keys()) {
        if !known.contains(&key.as_str()) && key != "clientMutationId" {
            return malformed(format!("InputObject doesn't accept argument '{key}'"));
        }
    }
    let mut given = Vec::new();
    for key in known {
        match input[*key].as_str() {
            Some(text) => given.push(text.to_owned()),
            None => return malformed(format!("Argument '{key}' on InputObject is required")),
        }
    }
    let (Some(id), second) = (given.first(), given.get(1)) else { return malformed("input is missing") };
    let missing = || problem("NOT_FOUND", format!("Could not resolve to a node with the global id of '{id}'"));
    // Resolving asks for `contents: write` on top; the others for `pull_requests: write`.
    let resolving = field.name.ends_with("solveReviewThread");
    let permitted = allows(&token.permissions, "pull_requests", Level::Write)
        && (!resolving || allows(&token.permissions, "contents", Level::Write));
    let forbidden = || problem("FORBIDDEN", "Resource not accessible by integration");
    let bot = world.bot();
    let mut out = json!({"__typename": "Payload", "clientMutationId": input["clientMutationId"]});
    if field.name == "minimizeComment" {
        let reason = second.cloned().unwrap_or_default();
        if !["SPAM", "ABUSE", "OFF_TOPIC", "OUTDATED", "DUPLICATE", "RESOLVED"].contains(&reason.as_str()) {
            return malformed(format!("Argument 'classifier' has an invalid value ({reason})"));
        }
        let found = world.repos.values().find_map(|r| has_subject(r, id).then_some(r.id));
        let Some(repo) = found.filter(|repo| reaches(world, token, *repo)) else { return missing() };
        if !permitted {
            return forbidden();
        }
        out["minimizedComment"] = json!({
            "__typename": "Minimizable", "isMinimized": true, "minimizedReason": reason.to_lowercase(),
        });
        let answer = project(&out, field)?;
        minimize(world, repo, id, &reason)?;
        return Ok(answer);
    }
    let Some((repo, thread)) = thread_of(world, token, id) else { return missing() };
    if !permitted {
        return forbidden();
    }
    let known = thread_value(world, repo, thread)?;
    let first = world.repo(repo)?.threads.get(&thread).and_then(|t| t.comments.first().copied());
    let first = first.ok_or_else(Refusal::not_found)?;
    if resolving {
        out["thread"] = known;
        // What was asked for has to fit before anything takes effect.
        project(&out, field)?;
        world.set_resolved(repo, thread, &bot, field.name.starts_with("resolve"))?;
        out["thread"] = thread_value(world, repo, thread)?;
    } else {
        out["comment"] = comment_value(world, world.review_comment(repo, first)?);
        project(&out, field)?;
        let body = second.cloned().unwrap_or_default();
        let made = world.reply(repo, first, &bot, &body)?;
        out["comment"] = comment_value(world, world.review_comment(repo, made)?);
    }
    project(&out, field)
}

fn has_subject(r: &Repo, id: &str) -> bool {
    r.comments.keys().any(|c| shape::node("IC", *c) == id)
        || r.review_comments.keys().any(|c| shape::node("PRRC", *c) == id)
        || r.reviews.keys().any(|c| shape::node("PRR", *c) == id)
}

fn minimize(world: &mut World, repo: u64, id: &str, reason: &str) -> Result<(), Refusal> {
    let r = world.repo_mut(repo)?;
    for (key, comment) in &mut r.comments {
        if shape::node("IC", *key) == id {
            comment.minimized = Some(reason.to_owned());
        }
    }
    for (key, comment) in &mut r.review_comments {
        if shape::node("PRRC", *key) == id {
            comment.minimized = Some(reason.to_owned());
        }
    }
    for (key, review) in &mut r.reviews {
        if shape::node("PRR", *key) == id {
            review.minimized = Some(reason.to_owned());
        }
    }
    Ok(())
}
