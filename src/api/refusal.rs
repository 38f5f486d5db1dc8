//! Answers that are no: a status, and `{"error": …}` with what happened and what to do.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::desk::{Problem, Refusal as Archive};

/// The body of every refusal.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Told {
    /// What happened, why, and what to do next.
    pub(super) error: String,
}

#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    error: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), headers: Vec::new() }
    }

    pub(super) fn bad(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(super) fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// Full for now: it can be sent again.
    pub(super) fn later(error: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error).with(header::RETRY_AFTER, "30")
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let said = problem.to_string();
        match problem {
            Problem::NoCodebase(_) | Problem::NoReview(_) => Self::new(StatusCode::NOT_FOUND, said),
            Problem::TooLarge(_) | Problem::Refused(Archive::TooLarge(_)) => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, said)
            }
            Problem::Refused(ref refusal) if refusal.is_the_senders() => Self::bad(said),
            Problem::Busy => Self::later(format!("{said}: send it again in half a minute")),
            Problem::NoRoom => {
                Self::later(format!("{said}: the operator has to make some, or uploads die after a day"))
            }
            Problem::Refused(refusal) => inside(&crate::stdx::error::chain(&refusal)),
            Problem::Failed(error) => inside(&error.chain()),
        }
    }
}

/// Ours: the log says more.
fn inside(error: &str) -> Refusal {
    tracing::error!(error, "the API could not do what it was asked");
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "something went wrong inside; the server's log says what")
}

/// Laid beside an answer for whoever logs it.
#[derive(Debug, Clone)]
pub(super) struct Why(pub(super) String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let why = Why(self.error.clone());
        let mut response = (self.status, Json(Told { error: self.error })).into_response();
        response.headers_mut().extend(self.headers);
        response.extensions_mut().insert(why);
        response
    }
}
