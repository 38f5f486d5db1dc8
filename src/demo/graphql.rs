//! The part of GraphQL that REST lacks: review threads, resolving them, hiding comments.
//!
//! Every answer is HTTP 200, as on GitHub: what went wrong stands under `errors`.

use serde_json::{Value, json};

use super::Shared;
use super::http::{Actor, Reply, allows, reaches};
use super::refusal::Refusal;
use super::selection::{self, Field};
use super::shape;
use super::state::{Level, ReviewComment, Token, World};

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

/// A value in full; what was asked for is cut out of it by [`project`].
fn list(nodes: Vec<Value>) -> Value {
    json!({"__connection": nodes})
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
            let found = world.find_repo(&owner, &name).filter(|id| reaches(world, token, *id));
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
    let r = world.repo(repo)?;
    let mut out = json!({});
    for inner in &field.fields {
        if inner.name != "pullRequest" {
            let value = json!({
                "__typename": "Repository",
                "id": shape::node("R", repo),
                "databaseId": repo,
                "name": r.name,
                "nameWithOwner": r.full_name(),
            });
            out[inner.key()] = leaf(&value, inner)?;
            continue;
        }
        arguments(inner, &["number"])?;
        let Some(number) = inner.arguments.get("number").and_then(Value::as_u64) else {
            return malformed("Field 'pullRequest' is missing required arguments: number");
        };
        if !allows(&token.permissions, "pull_requests", Level::Read) {
            return problem("FORBIDDEN", "Resource not accessible by integration");
        }
        let Ok(pull) = world.pull(repo, number) else {
            return problem("NOT_FOUND", format!("Could not resolve to a PullRequest with the number of {number}."));
        };
        let threads = r.threads.values().filter(|t| t.pull == number).map(|t| thread_value(world, repo, t.id));
        let reviews = r.reviews.values().filter(|x| x.pull == number).map(|x| {
            json!({
                "__typename": "PullRequestReview",
                "id": shape::node("PRR", x.id),
                "databaseId": x.id,
                "author": author(world, &x.author),
                "body": x.body,
                "state": x.state,
                "isMinimized": x.minimized.is_some(),
                "submittedAt": shape::time(x.submitted_at),
            })
        });
        let value = json!({
            "__typename": "PullRequest",
            "id": shape::node("PR", pull.id),
            "databaseId": pull.id,
            "number": number,
            "title": pull.title,
            "body": pull.body.clone().unwrap_or_default(),
            "state": pull.state.to_uppercase(),
            "isDraft": pull.draft,
            "headRefOid": pull.head_sha,
            "headRefName": pull.head_ref,
            "baseRefOid": pull.base_sha,
            "baseRefName": pull.base_ref,
            "author": author(world, &pull.author),
            "reviews": list(reviews.collect()),
            "reviewThreads": list(threads.collect::<Outcome<Vec<_>>>()?),
        });
        out[inner.key()] = project(&value, inner)?;
    }
    Ok(out)
}

/// GraphQL names a bot without the `[bot]` that REST puts behind it.
fn author(world: &World, login: &str) -> Value {
    let kind = world.users.get(login).map_or("User", |u| u.kind.as_str());
    json!({
        "__typename": kind,
        "login": login.trim_end_matches("[bot]"),
        "url": format!("{}/{login}", world.web),
    })
}

fn comment_value(world: &World, c: &ReviewComment) -> Value {
    json!({
        "__typename": "PullRequestReviewComment",
        "id": shape::node("PRRC", c.id),
        "databaseId": c.id,
        "fullDatabaseId": c.id.to_string(),
        "author": author(world, &c.author),
        "body": c.body,
        "path": c.path,
        "line": c.line,
        "startLine": c.start_line,
        "originalLine": c.original_line,
        "originalStartLine": c.original_start_line,
        "outdated": c.line.is_none(),
        "isMinimized": c.minimized.is_some(),
        "minimizedReason": c.minimized.as_ref().map(|reason| reason.to_lowercase()),
        "createdAt": shape::time(c.created_at),
        "updatedAt": shape::time(c.updated_at),
        "viewerDidAuthor": c.author == world.bot(),
        "pullRequestReview": {
            "__typename": "PullRequestReview",
            "id": shape::node("PRR", c.review),
            "databaseId": c.review,
        },
        "replyTo": c.in_reply_to.map(|id| json!({
            "__typename": "PullRequestReviewComment", "id": shape::node("PRRC", id), "databaseId": id,
        })),
    })
}

fn thread_value(world: &World, repo: u64, id: u64) -> Outcome<Value> {
    let r = world.repo(repo)?;
    let thread = r.threads.get(&id).ok_or_else(Refusal::not_found)?;
    let comments: Vec<&ReviewComment> = thread.comments.iter().filter_map(|c| r.review_comments.get(c)).collect();
    let first = *comments.first().ok_or_else(Refusal::not_found)?;
    Ok(json!({
        "__typename": "PullRequestReviewThread",
        "id": thread.node_id,
        "isResolved": thread.resolved_by.is_some(),
        "isOutdated": thread.outdated,
        "isCollapsed": thread.resolved_by.is_some() || thread.outdated,
        "path": first.path,
        "line": first.line,
        "startLine": first.start_line,
        "originalLine": first.original_line,
        "originalStartLine": first.original_start_line,
        "diffSide": first.side,
        "startDiffSide": first.start_side,
        "subjectType": "LINE",
        "viewerCanResolve": thread.resolved_by.is_none(),
        "viewerCanUnresolve": thread.resolved_by.is_some(),
        "viewerCanReply": true,
        "resolvedBy": thread.resolved_by.as_ref().map(|login| author(world, login)),
        "comments": list(comments.iter().map(|c| comment_value(world, c)).collect()),
    }))
}

/// Cuts out of a full value what was asked for, and refuses what is not there.
fn project(value: &Value, field: &Field) -> Outcome<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if let Some(nodes) = value.get("__connection").and_then(Value::as_array) {
        return connection(nodes, field);
    }
    if value.is_object() && field.fields.is_empty() {
        return malformed(format!("Field '{}' must have selections", field.name));
    }
    let mut out = json!({});
    for inner in &field.fields {
        if let Some(on) = &inner.on {
            let interface = on == "Node" || on == "Actor" || on == "Minimizable";
            if interface || value["__typename"] == on.as_str() {
                let part = project(value, inner)?;
                for (key, value) in part.as_object().into_iter().flatten() {
                    out[key] = value.clone();
                }
            }
            continue;
        }
        out[inner.key()] = leaf(value, inner)?;
    }
    Ok(out)
}

fn leaf(value: &Value, field: &Field) -> Outcome<Value> {
    let Some(found) = value.get(&field.name) else {
        let kind = value["__typename"].as_str().unwrap_or("Object");
        return malformed(format!("Field '{}' doesn't exist on type '{kind}'", field.name));
    };
    if found.get("__connection").is_none() {
        arguments(field, &[])?;
    }
    if found.is_object() {
        return project(found, field);
    }
    if !found.is_null() && !field.fields.is_empty() {
        return malformed(format!("Selections can't be made on scalars (field '{}')", field.name));
    }
    Ok(found.clone())
}

fn connection(nodes: &[Value], field: &Field) -> Outcome<Value> {
    arguments(field, &["first", "last", "after", "before"])?;
    let count = |name: &str| field.arguments.get(name).filter(|v| !v.is_null());
    let size = match (count("first"), count("last")) {
        (None, None) => {
            return problem(
                "MISSING_PAGINATION_BOUNDARIES",
                format!(
                    "You must provide a `first` or `last` value to properly paginate the `{}` connection.",
                    field.name
                ),
            );
        }
        (Some(n), _) | (None, Some(n)) => n.as_u64().filter(|n| (1..=100).contains(n)),
    };
    let Some(size) = size.and_then(|n| usize::try_from(n).ok()) else {
        return problem(
            "EXCESSIVE_PAGINATION",
            format!("Requesting records on the `{}` connection takes between 1 and 100.", field.name),
        );
    };
    let place = |name: &str| -> Outcome<Option<usize>> {
        match field.arguments.get(name).filter(|v| !v.is_null()) {
            None => Ok(None),
            Some(cursor) => {
                match cursor.as_str().and_then(|c| c.strip_prefix("cursor:")).and_then(|n| n.parse().ok()) {
                    Some(at) => Ok(Some(at)),
                    None => {
                        problem("INVALID_CURSOR_ARGUMENTS", format!("`{cursor}` does not appear to be a valid cursor."))
                    }
                }
            }
        }
    };
    let low = place("after")?.unwrap_or(0);
    let high =
        place("before")?.map_or(nodes.len(), |at| at.saturating_sub(1)).min(nodes.len()).max(low.min(nodes.len()));
    let low = low.min(high);
    let (start, end) = if count("first").is_some() {
        (low, (low + size).min(high))
    } else {
        (high.saturating_sub(size).max(low), high)
    };
    let cursor = |at: usize| json!(format!("cursor:{at}"));
    let shown = &nodes[start..end];
    let mut out = json!({});
    for inner in &field.fields {
        out[inner.key()] = match inner.name.as_str() {
            "totalCount" => json!(nodes.len()),
            "nodes" => Value::Array(shown.iter().map(|node| project(node, inner)).collect::<Outcome<_>>()?),
            "edges" => {
                let edge = |(index, node): (usize, &Value)| {
                    let whole = json!({"__typename": "Edge", "node": node, "cursor": cursor(start + index + 1)});
                    project(&whole, inner)
                };
                Value::Array(shown.iter().enumerate().map(edge).collect::<Outcome<_>>()?)
            }
            "pageInfo" => {
                let info = json!({
                    "__typename": "PageInfo",
                    "hasNextPage": end < nodes.len(),
                    "hasPreviousPage": start > 0,
                    "startCursor": if shown.is_empty() { Value::Null } else { cursor(start + 1) },
                    "endCursor": if shown.is_empty() { Value::Null } else { cursor(end) },
                });
                project(&info, inner)?
            }
            other => return malformed(format!("Field '{other}' doesn't exist on the connection '{}'", field.name)),
        };
    }
    Ok(out)
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

fn mutate(world: &mut World, token: &Token, field: &Field) -> Outcome<Value> {
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

fn has_subject(r: &super::state::Repo, id: &str) -> bool {
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
