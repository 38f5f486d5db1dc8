//! `POST /trigger_review` and `GET /get_results` (S0.1 to S0.3, A0.3).

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::refusal::Refusal;
use super::{Door, Pending};
use crate::app::desk::{Problem, Review};
use crate::artifact::server::ReviewRequest;
use crate::domain::{CodebaseId, ReviewId};
use crate::stdx::text::{truncate_chars, visible_line};

/// Bytes of a request for a review: an id and a few parameters.
const MAX_REQUEST: usize = 64 << 10;
/// Characters of what was sent that an error repeats.
const REPEATED: usize = 100;

pub(super) async fn trigger(State(door): State<Door>, request: Request) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let bytes = small(&head.headers, body).await?;
    is_json(&head.headers)?;
    let not_one = |error: serde_json::Error| {
        let why = visible_line(&truncate_chars(&error.to_string(), REPEATED));
        Refusal::bad(format!("the body is not a request for a review: {why}; send {{\"id\": \"cb_…\"}}"))
    };
    let asked: ReviewRequest = serde_json::from_slice(&bytes).map_err(not_one)?;
    let codebase = CodebaseId::parse(&asked.id).ok_or_else(|| {
        let id = shown(&asked.id);
        Refusal::bad(format!("`{id}` is not the id of a codebase: `POST /upload_codebase` answers with one, cb_…"))
    })?;
    let review = door.desk.trigger(&codebase).await?;
    let pending = Pending { status: "review_started", id: review.to_string() };
    Ok((StatusCode::ACCEPTED, Json(pending)).into_response())
}

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    id: Option<String>,
}

pub(super) async fn results(
    State(door): State<Door>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(asked) = asked.map_err(|_| Refusal::bad("the query cannot be read: ask for `/get_results?id=rv_…`"))?;
    let id = asked.id.ok_or_else(|| Refusal::bad("no id is given: ask for `/get_results?id=rv_…`"))?;
    let review = review_id(&id)?;
    match door.desk.result(&review).await? {
        None => Err(Problem::NoReview(review).into()),
        Some(Review::Running) => {
            let pending = Pending { status: "review_running", id: review.to_string() };
            Ok((StatusCode::ACCEPTED, Json(pending)).into_response())
        }
        Some(Review::Done(aggregate)) => Ok(Json(*aggregate).into_response()),
        Some(Review::Failed(error)) => Err(Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the review failed: {}; ask for another one", error.message),
        )),
        Some(Review::Cancelled) => {
            Err(Refusal::new(StatusCode::NOT_FOUND, "the review was cancelled, and has no result: ask for another one"))
        }
    }
}

/// Read strictly: it becomes part of a key.
pub(super) fn review_id(text: &str) -> Result<ReviewId, Refusal> {
    ReviewId::parse(text).ok_or_else(|| {
        let id = shown(text);
        Refusal::bad(format!("`{id}` is not the id of a review: `POST /trigger_review` answers with one, rv_…"))
    })
}

fn shown(id: &str) -> String {
    visible_line(&truncate_chars(id, REPEATED))
}

async fn small(headers: &HeaderMap, body: Body) -> Result<axum::body::Bytes, Refusal> {
    let large = || {
        let why = format!("the body is larger than {MAX_REQUEST} bytes: send an id and a few parameters");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    if announced(headers).is_some_and(|length| length > MAX_REQUEST as u64) {
        return Err(large());
    }
    to_bytes(body, MAX_REQUEST).await.map_err(|error| {
        let mut source: Option<&dyn std::error::Error> = Some(&error);
        while let Some(cause) = source {
            if cause.is::<http_body_util::LengthLimitError>() {
                return large();
            }
            source = cause.source();
        }
        Refusal::bad("the body broke off or did not arrive in time: send it again")
    })
}

/// How long the sender says the body is.
pub(super) fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Refusal::bad("the body is not JSON by its type: send it with `Content-Type: application/json`"))
}
