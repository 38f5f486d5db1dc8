//! The controls of another terminal: it comments, pushes, opens, reviews, merges, files issues and labels them. Guarded,
//! since any page in a browser reaches loopback.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};

use super::http::plain;
use super::people::{Change, OpenPull, People};
use super::{Error, Shared, inspect};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Comment {
    repo: String,
    number: u64,
    #[serde(rename = "as")]
    who: String,
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Push {
    repo: String,
    branch: String,
    #[serde(rename = "as")]
    who: String,
    path: String,
    content: String,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    repo: String,
    branch: String,
    #[serde(rename = "as")]
    who: String,
    title: String,
    base: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Issue {
    repo: String,
    #[serde(rename = "as")]
    who: String,
    title: String,
    #[serde(default)]
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Label {
    repo: String,
    number: u64,
    #[serde(rename = "as")]
    who: String,
    label: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Review {
    repo: String,
    number: u64,
    #[serde(rename = "as")]
    who: String,
    /// `APPROVE`, `REQUEST_CHANGES` or `COMMENT`.
    verdict: String,
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Merge {
    repo: String,
    number: u64,
    #[serde(rename = "as")]
    who: String,
}

pub async fn serve(shared: &Arc<Shared>, method: &str, what: &str, headers: &HeaderMap, body: &[u8]) -> Response {
    let told = headers.get("x-box-token").map(HeaderValue::as_bytes).unwrap_or_default();
    if told != shared.control_token.as_bytes() {
        return plain(403, "the control token is missing or wrong: send it as X-Box-Token");
    }
    let people = People::new(shared.clone());
    let answer = match (method, what) {
        ("GET", "state") => Ok(inspect::state(&shared.world())),
        ("POST", "comment") => comment(&people, body).await,
        ("POST", "push") => push(&people, body).await,
        ("POST", "open") => open(&people, body).await,
        ("POST", "issue") => issue(&people, body).await,
        ("POST", "label") => label(&people, body).await,
        ("POST", "review") => review(&people, body).await,
        ("POST", "merge") => merge(&people, body).await,
        _ => {
            return plain(404, "there is no such control: state, comment, push, open, issue, label, review, merge");
        }
    };
    match answer {
        Ok(value) => {
            let mut response = Response::new(Body::from(value.to_string()));
            response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
            response
        }
        Err(Error::Refused { status, reason }) => plain(status, &reason),
        Err(error) => plain(500, &error.to_string()),
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(body)
        .map_err(|e| Error::Refused { status: 422, reason: format!("the request does not parse: {e}") })
}

async fn comment(people: &People, body: &[u8]) -> Result<Value, Error> {
    let wish: Comment = parse(body)?;
    let id = people.comment(&wish.who, &wish.repo, wish.number, &wish.body).await?;
    Ok(json!({"id": id}))
}

async fn push(people: &People, body: &[u8]) -> Result<Value, Error> {
    let wish: Push = parse(body)?;
    let change = Change::new().write(&wish.path, &wish.content);
    let sha = people.push(&wish.who, &wish.repo, &wish.branch, &wish.message, change).await?;
    Ok(json!({"sha": sha}))
}

async fn open(people: &People, body: &[u8]) -> Result<Value, Error> {
    let wish: Open = parse(body)?;
    let mut pull = OpenPull::new(&wish.who, &wish.branch, &wish.title, Change::new());
    if let Some(base) = wish.base {
        pull.base = base;
    }
    let number = people.open_pull(&wish.repo, pull).await?;
    Ok(json!({"number": number}))
}

async fn issue(people: &People, body: &[u8]) -> Result<Value, Error> {
    let wish: Issue = parse(body)?;
    let number = people.open_issue(&wish.who, &wish.repo, &wish.title, &wish.body).await?;
    Ok(json!({"number": number}))
}

async fn label(people: &People, body: &[u8]) -> Result<Value, Error> {
    let wish: Label = parse(body)?;
    people.label(&wish.who, &wish.repo, wish.number, &wish.label).await?;
    Ok(json!({"number": wish.number}))
}

async fn review(people: &People, body: &[u8]) -> Result<Value, Error> {
    let wish: Review = parse(body)?;
    let id = people.review(&wish.who, &wish.repo, wish.number, &wish.verdict, &wish.body).await?;
    Ok(json!({"id": id}))
}

async fn merge(people: &People, body: &[u8]) -> Result<Value, Error> {
    let wish: Merge = parse(body)?;
    let sha = people.merge_pull(&wish.who, &wish.repo, wish.number).await?;
    Ok(json!({"sha": sha}))
}
