//! The HTTP API: upload a codebase, ask for its review, watch it, fetch what came of it (S0, 0b); and the guard of this server's
//! doors for programs.
//!
//! Promise: who does not know the token is told so before a byte of a body is read; every answer is JSON, every refusal says what to do.
//! Never: nothing is decided here about codebases or reviews; `app::Desk` does. No token and no content in a log.

mod events;
mod guard;
mod openapi;
mod refusal;
mod reviews;
mod uploads;

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, header};
use axum::routing::{MethodRouter, get, post};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::app::Desk;

pub use guard::Guard;
pub use openapi::document as openapi;
use refusal::Refusal;

/// Paths whose bodies take as long as they take, and how long they may be silent.
pub const PATIENT: [(&str, Duration); 1] = [(uploads::PATH, Duration::from_secs(30))];
/// Reviews that are followed at once.
const WATCHERS: usize = 64;

/// What the routes work with.
#[derive(Clone)]
struct Door {
    desk: Desk,
    /// Streams end with the server.
    shutdown: CancellationToken,
    watchers: Arc<Semaphore>,
}

/// An upload that was taken in.
#[derive(Debug, Serialize, JsonSchema)]
struct Uploaded {
    /// `uploaded`.
    status: &'static str,
    /// Of the codebase: `cb_` and 32 digits.
    id: String,
    /// Files that came out of the archive.
    files: usize,
    /// Entries that were left out because they are git's own.
    left_out: usize,
}

/// A review that was begun, or goes on.
#[derive(Debug, Serialize, JsonSchema)]
struct Pending {
    /// `review_started` or `review_running`.
    status: &'static str,
    /// Of the review: `rv_` and 32 digits.
    id: String,
}

/// The routes of the API, behind the guard.
pub fn router(desk: Desk, guard: &Guard, shutdown: CancellationToken) -> Router {
    let door = Door { desk, shutdown, watchers: Arc::new(Semaphore::new(WATCHERS)) };
    // The desk has its own limit, which is larger than what a body may usually have.
    let upload = only(post(uploads::upload), "POST").layer(DefaultBodyLimit::disable());
    let router = Router::new()
        .route(uploads::PATH, upload)
        .route("/trigger_review", only(post(reviews::trigger), "POST"))
        .route("/get_results", only(get(reviews::results), "GET, HEAD"))
        .route("/reviews/{id}/events", only(get(events::follow), "GET, HEAD"))
        .route("/reviews/{id}", axum::routing::any(nothing_here))
        .route("/openapi.json", only(get(described), "GET, HEAD"))
        .with_state(door);
    guard.protect(router)
}

/// What a server answers to everything that it does not know, where it is an API and nothing else.
pub fn nothing_else(router: Router, guard: &Guard) -> Router {
    router.merge(guard.protect(Router::new().fallback(nothing_here)))
}

fn only(methods: MethodRouter<Door>, allowed: &'static str) -> MethodRouter<Door> {
    methods.fallback(move || async move {
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("only {allowed} is served here"))
            .with(header::ALLOW, allowed)
    })
}

async fn nothing_here() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "there is nothing here: `GET /openapi.json` tells what there is")
}

async fn described() -> Json<serde_json::Value> {
    Json(openapi())
}
