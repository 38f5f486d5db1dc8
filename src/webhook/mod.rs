//! `POST /webhook`: cap, verify, dedupe, persist, answer, no more.
//!
//! Promise: a 2xx means that the raw body is on the disk; a body whose sender did not know the secret leaves no trace.
//! Never: nothing here reads the body, knows an event's meaning or calls GitHub; `store` is the only other room it reaches.

mod body;
mod neighbour;
mod refusal;
mod serve;
pub mod signature;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::json;
use tokio::time::Instant;

use crate::domain::{DeliveryId, Secret};
use crate::store::{Accepted, NewDelivery, Store, Target};

use body::Buffers;
pub use neighbour::{Neighbour, ask, who_listens};
use refusal::Refusal;
pub use serve::{Limits, serve_http};
pub use signature::{Verified, verify};

/// GitHub never sends a larger payload: its "25 MB".
pub const MAX_BODY: usize = 25 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("no webhook secret is configured: without one anybody could send deliveries")]
    NoSecret,
    #[error("webhook secret number {0} is empty: it would let anybody send deliveries")]
    EmptySecret(usize),
}

/// What one body, and all of them together, may take.
#[derive(Debug, Clone)]
pub struct Caps {
    pub body: usize,
    /// Up to here a body is buffered without asking; nearly every delivery fits.
    pub free: usize,
    /// How many larger bodies are buffered at once; the others wait in their sockets.
    pub large: usize,
    /// Until when a body must have arrived, so that the answer still reaches GitHub within its 10 s.
    pub deadline: Duration,
}

impl Default for Caps {
    fn default() -> Self {
        Self { body: MAX_BODY, free: 256 * 1024, large: 6, deadline: Duration::from_secs(8) }
    }
}

/// What the door needs.
#[derive(Debug, Clone)]
pub struct State(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    secrets: Vec<Secret>,
    known_events: &'static [&'static str],
    buffers: Buffers,
}

impl State {
    /// Several secrets count during a rotation: the current one first, then the old.
    ///
    /// # Errors
    /// There is no secret, or one is empty.
    pub fn new(store: Store, secrets: Vec<Secret>, known_events: &'static [&'static str]) -> Result<Self, Error> {
        Self::with_caps(store, secrets, known_events, Caps::default())
    }

    /// As `new`, with other caps.
    ///
    /// # Errors
    /// As `new`.
    pub fn with_caps(
        store: Store,
        secrets: Vec<Secret>,
        known_events: &'static [&'static str],
        caps: Caps,
    ) -> Result<Self, Error> {
        if secrets.is_empty() {
            return Err(Error::NoSecret);
        }
        if let Some(n) = secrets.iter().position(Secret::is_empty) {
            return Err(Error::EmptySecret(n + 1));
        }
        Ok(Self(Arc::new(Inner { store, secrets, known_events, buffers: Buffers::new(caps) })))
    }

    /// The most bytes of bodies that were in memory at one time.
    pub fn peak_buffered(&self) -> usize {
        self.0.buffers.peak()
    }
}

pub fn router(state: State) -> Router {
    Router::new().route("/webhook", post(receive).fallback(other_method)).with_state(state)
}

async fn other_method(axum::extract::State(state): axum::extract::State<State>) -> Refusal {
    let refusal = Refusal::new(
        "method",
        StatusCode::METHOD_NOT_ALLOWED,
        "only POST is served here",
        "point the App's webhook URL here and let GitHub call it",
    )
    .with(header::ALLOW, "POST");
    state.0.store.meter().refused(refusal.reason);
    refusal
}

async fn receive(axum::extract::State(state): axum::extract::State<State>, request: Request) -> Response {
    match state.0.take(request).await {
        Ok((status, answer)) => (status, Json(answer)).into_response(),
        Err(refusal) => {
            state.0.store.meter().refused(refusal.reason);
            refusal.into_response()
        }
    }
}

impl Inner {
    async fn take(&self, request: Request) -> Result<(StatusCode, serde_json::Value), Refusal> {
        let began = Instant::now();
        let (head, body) = request.into_parts();
        self.buffers.check_length(&head.headers)?;
        let mac = signature::header(&head.headers).ok_or_else(unsigned)?;
        let buffered = self.buffers.read(body, &head.headers).await?;
        let verified = signature::verify_mac(&self.secrets, &mac, buffered.bytes()).ok_or_else(unsigned)?;
        if verified.secret() > 0 {
            tracing::info!(secret = verified.secret() + 1, "a delivery was signed with an old webhook secret");
        }

        content_type(&head.headers)?;
        let (guid, event) = identity(&head.headers)?;
        let named = self.known_events.iter().find(|name| **name == event);
        let known = named.is_some();
        let new = delivery(&verified, guid.clone(), event, &head.headers, self.store.clock().now());
        let accepted = if known {
            self.store.accept(new).await
        } else {
            self.store.accept_ignored(new, &format!("the event `{event}` is not one that this App acts on")).await
        };
        let accepted = accepted.map_err(|error| {
            tracing::error!(delivery = %guid, error = %error, "a delivery could not be stored; GitHub was told so");
            unavailable(&error)
        })?;
        let (status, word) = match (&accepted, known) {
            (Accepted::Known, _) => (StatusCode::OK, "known"),
            (_, false) => (StatusCode::ACCEPTED, "ignored"),
            (Accepted::New, true) => (StatusCode::ACCEPTED, "accepted"),
            (Accepted::Revived, true) => (StatusCode::ACCEPTED, "revived"),
            (Accepted::Replay { .. }, true) => (StatusCode::ACCEPTED, "replay"),
        };
        self.store.meter().received(named.copied().unwrap_or("other"), word, began.elapsed());
        tracing::info!(delivery = %guid, event, status = word, bytes = verified.body().len(), "delivery stored");
        Ok((status, json!({ "status": word, "delivery": guid })))
    }
}

/// The only way from a request to a row: it takes a body that was verified.
fn delivery(verified: &Verified<'_>, guid: DeliveryId, event: &str, headers: &HeaderMap, now: i64) -> NewDelivery {
    let text = |name: &str| one(headers, name).filter(|text| text.len() <= 100).map(str::to_owned);
    NewDelivery {
        guid,
        event: event.to_owned(),
        body: verified.body().clone(),
        target: Target {
            hook: text("x-github-hook-id"),
            kind: text("x-github-hook-installation-target-type"),
            id: text("x-github-hook-installation-target-id"),
        },
        received_at: now,
    }
}

/// GitHub sends `application/json`; a charset, where given, must be UTF-8, and nothing may be compressed.
fn content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let plain = match headers.get(header::CONTENT_ENCODING) {
        None => true,
        Some(encoding) => encoding.as_bytes().eq_ignore_ascii_case(b"identity"),
    };
    let json = one(headers, header::CONTENT_TYPE.as_str()).is_some_and(|value| {
        let mut parts = value.split(';').map(str::trim);
        parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
            && parts.all(|part| {
                part.eq_ignore_ascii_case("charset=utf-8") || part.eq_ignore_ascii_case("charset=\"utf-8\"")
            })
    });
    if plain && json {
        return Ok(());
    }
    tracing::warn!(content_type = ?headers.get(header::CONTENT_TYPE), "a signed delivery is not plain JSON");
    Err(Refusal::new(
        "content-type",
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "the body is not plain application/json",
        "set the webhook's content type to application/json",
    ))
}

fn identity(headers: &HeaderMap) -> Result<(DeliveryId, &str), Refusal> {
    let bad = |error: &str| {
        Refusal::new(
            "malformed",
            StatusCode::BAD_REQUEST,
            error,
            "GitHub sends it; check what stands between GitHub and this server",
        )
    };
    let guid = one(headers, "x-github-delivery")
        .and_then(DeliveryId::parse)
        .ok_or_else(|| bad("X-GitHub-Delivery is missing, repeated or malformed"))?;
    let event = one(headers, "x-github-event")
        .filter(|event| {
            (1..=64).contains(&event.len())
                && event.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        })
        .ok_or_else(|| bad("X-GitHub-Event is missing, repeated or malformed"))?;
    Ok((guid, event))
}

/// A header that stands there exactly once, as text.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then_some(value)?.to_str().ok()
}

fn unsigned() -> Refusal {
    Refusal::new(
        "unsigned",
        StatusCode::UNAUTHORIZED,
        "the signature is missing or does not match",
        "the App's webhook secret and this server's must be the same; GitHub then sends X-Hub-Signature-256",
    )
}

fn unavailable(error: &crate::store::Error) -> Refusal {
    let hint = error.hint().unwrap_or("the server's log says more; the delivery can be sent again");
    Refusal::new("not-stored", StatusCode::SERVICE_UNAVAILABLE, "the delivery could not be stored", hint)
        .with(header::RETRY_AFTER, "10")
}
