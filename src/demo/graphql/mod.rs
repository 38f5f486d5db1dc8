//! The part of GraphQL that REST lacks: review threads, resolving them, hiding comments, the pull requests that close an issue.
//!
//! Every answer is HTTP 200, as on GitHub: what went wrong stands under `errors`.

mod mutation;
mod project;
mod value;

use serde_json::{Value, json};

use super::Shared;
use super::http::{Actor, Reply, allows, reaches};
use super::refusal::Refusal;
use super::selection::{self, Field};
use super::shape;
use super::state::{Level, Token, World};
use mutation::mutate;
use project::{leaf, list, project};
use value::{issue_value, pull_value, repository_value, thread_value};

/// Something under `errors`, with GitHub's `type`.
struct Problem {
    kind: Option<&'static str>,
    message: String,
}

type Outcome<T> = Result<T, Problem>;

fn problem<T>(kind: &'static str, message: impl Into<String>) -> Outcome<T> {
    Err(Problem { kind: Some(kind), message: message.into() })
}

fn malformed<T>(message: impl Into<String>) -> Outcome<T> {
    Err(Problem { kind: None, message: message.into() })
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal.status {
            403 => "FORBIDDEN",
            404 => "NOT_FOUND",
            _ => "UNPROCESSABLE",
        };
        Self { kind: Some(kind), message: refusal.text() }
    }
}

pub fn answer(shared: &Shared, world: &mut World, method: &str, actor: &Actor, body: &Value) -> Result<Reply, Refusal> {
    if method != "POST" {
        return Err(Refusal::not_found());
    }
    let Actor::Installation(token) = actor else {
        return Err(Refusal::unauthorized("This endpoint requires you to be authenticated."));
    };
    let known = ["query", "variables", "operationName"];
    if let Some(key) = body.as_object().into_iter().flat_map(|map| map.keys()).find(|k| !known.contains(&k.as_str())) {
        return Err(Refusal::invalid("Request", key, "unknown", format!("unknown key `{key}`")));
    }
    let Some(text) = body["query"].as_str() else {
        return Err(Refusal::new(400, "A query attribute must be specified and must be a string."));
    };
    let empty = json!({});
    let variables = if body["variables"].is_null() { &empty } else { &body["variables"] };
    let document = match selection::parse(text, variables) {
        Ok(document) => document,
        Err(message) => return Reply::ok(json!({"errors": [{"message": message}]})),
    };
    if document.mutation {
        shared.pace(world)?;
    }
    let mut data = json!({});
    let mut errors = Vec::new();
    for field in &document.fields {
        let done = if document.mutation { mutate(world, token, field) } else { query(world, token, field) };
        match done {
            Ok(value) => data[field.key()] = value,
            Err(Problem { kind: None, message }) => {
                // A document that does not fit the schema is not run at all.
                return Reply::ok(json!({"errors": [{"message": message, "path": [field.key()]}]}));
            }
            Err(Problem { kind: Some(kind), message }) => {
                data[field.key()] = Value::Null;
                errors.push(json!({
                    "type": kind,
                    "path": [field.key()],
                    "locations": [{"line": 1, "column": 1}],
                    "message": message,
                }));
            }
        }
    }
    let mut answer = json!({"data": data});
    if !errors.is_empty() {
        // With nothing left to show, GitHub's `data` is null.
        if answer["data"].as_object().is_some_and(|map| map.values().all(Value::is_null)) && document.mutation {
            answer["data"] = Value::Null;
        }
        answer["errors"] = Value::Array(errors);
    }
    Reply::ok(answer)
}

fn query(world: &World, token: &Token, field: &Field) -> Outcome<Value> {
    match field.name.as_str() {
        "rateLimit" => project(
            &json!({"__typename": "RateLimit", "limit": world.hourly, "cost": 1, "remaining": world.requests_left,
                "resetAt": shape::time(world.now() + 3_600_000)}),
            field,
        ),
        "repository" => {
            arguments(field, &["owner", "name"])?;
            let (owner, name) = (text(field, "owner")?, text(field, "name")?);
            let known = world.find_repo(&owner, &name).or_else(|| world.moved_to(&owner, &name));
            let found = known.filter(|id| reaches(world, token, *id));
            let Some(repo) = found else {
                return problem(
                    "NOT_FOUND",
                    format!("Could not resolve to a Repository with the name '{owner}/{name}'."),
                );
            };
            repository(world, token, repo, field)
        }
        "node" => {
            arguments(field, &["id"])?;
            let id = text(field, "id")?;
            let Some((repo, thread)) = thread_of(world, token, &id) else {
                return problem("NOT_FOUND", format!("Could not resolve to a node with the global id of '{id}'"));
            };
            project(&thread_value(world, repo, thread)?, field)
        }
        other => malformed(format!("Field '{other}' doesn't exist on type 'Query'")),
    }
}

fn repository(world: &World, token: &Token, repo: u64, field: &Field) -> Outcome<Value> {
    let mut out = json!({});
    for inner in &field.fields {
        out[inner.key()] = match inner.name.as_str() {
            "pullRequest" => {
                let number = numbered(inner)?;
                permitted(token, "pull_requests")?;
                if world.pull(repo, number).is_err() {
                    return problem(
                        "NOT_FOUND",
                        format!("Could not resolve to a PullRequest with the number of {number}."),
                    );
                }
                project(&pull_value(world, repo, number)?, inner)?
            }
            "issue" => issue(world, token, repo, inner)?,
            _ => leaf(&repository_value(world, repo)?, inner)?,
        };
    }
    Ok(out)
}

fn issue(world: &World, token: &Token, repo: u64, field: &Field) -> Outcome<Value> {
    let number = numbered(field)?;
    permitted(token, "issues")?;
    let Some(issue) = world.repo(repo)?.issues.get(&number) else {
        return problem("NOT_FOUND", format!("Could not resolve to an Issue with the number of {number}."));
    };
    let mut out = json!({});
    for inner in &field.fields {
        if inner.name != "closedByPullRequestsReferences" {
            out[inner.key()] = leaf(&issue_value(world, repo, issue), inner)?;
            continue;
        }
        permitted(token, "pull_requests")?;
        let mut inner = inner.clone();
        let closed = match inner.arguments.remove("includeClosedPrs") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(closed)) => closed,
            Some(other) => {
                return malformed(format!(
                    "Argument 'includeClosedPrs' on Field '{}' has an invalid value ({other}). Expected type 'Boolean'.",
                    inner.name
                ));
            }
        };
        // What the token does not reach does not exist for it.
        let seen = world.pulls_closing(repo, number).into_iter().filter(|(other, _)| reaches(world, token, *other));
        let mut pulls = Vec::new();
        for (other, pull) in seen {
            if closed || world.pull(other, pull)?.state == "open" {
                pulls.push(pull_value(world, other, pull)?);
            }
        }
        out[inner.key()] = project(&list(pulls), &inner)?;
    }
    Ok(out)
}

fn numbered(field: &Field) -> Outcome<u64> {
    arguments(field, &["number"])?;
    match field.arguments.get("number").and_then(Value::as_u64) {
        Some(number) => Ok(number),
        None => malformed(format!("Field '{}' is missing required arguments: number", field.name)),
    }
}

fn permitted(token: &Token, permission: &str) -> Outcome<()> {
    if allows(&token.permissions, permission, Level::Read) {
        return Ok(());
    }
    problem("FORBIDDEN", "Resource not accessible by integration")
}

fn arguments(field: &Field, known: &[&str]) -> Outcome<()> {
    match field.arguments.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => malformed(format!("Field '{}' doesn't accept argument '{key}'", field.name)),
        None => Ok(()),
    }
}

fn text(field: &Field, name: &str) -> Outcome<String> {
    match field.arguments.get(name).and_then(Value::as_str) {
        Some(text) => Ok(text.to_owned()),
        None => malformed(format!("Field '{}' is missing required arguments: {name}", field.name)),
    }
}

fn thread_of(world: &World, token: &Token, node: &str) -> Option<(u64, u64)> {
    world
        .repos
        .values()
        .filter(|r| reaches(world, token, r.id))
        .flat_map(|r| r.threads.values().map(move |t| (r.id, t)))
        .find(|(_, t)| t.node_id == node)
        .map(|(repo, t)| (repo, t.id))
}
