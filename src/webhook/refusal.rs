//! Answers that are no: a status, what happened, what to do.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    /// One of [`crate::meter::REFUSALS`], for the count.
    pub(super) reason: &'static str,
    error: String,
    hint: &'static str,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(super) fn new(reason: &'static str, status: StatusCode, error: &str, hint: &'static str) -> Self {
        Self { status, reason, error: error.to_owned(), hint, headers: Vec::new() }
    }

    pub(super) fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.error, "hint": self.hint }))).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}
