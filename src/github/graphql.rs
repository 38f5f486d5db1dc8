//! GraphQL: the documents this room sends, and what its answers have in common.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client::{self, Call};
use super::endpoint::Endpoint;
use super::error::Error;
use super::{Repo, linked, thread};
use crate::domain::redact;

/// The documents this room sends, by endpoint name.
pub const DOCUMENTS: [(&str, &str); 4] = [
    ("LIST_THREADS", thread::THREADS),
    ("LIST_THREAD_COMMENTS", thread::COMMENTS),
    ("RESOLVE_THREAD", thread::RESOLVE),
    ("LIST_LINKED_PULLS", linked::LINKED),
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page<T> {
    pub(super) page_info: PageInfo,
    pub(super) nodes: Vec<Option<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct AuthorWire {
    #[serde(rename = "__typename")]
    pub(super) kind: String,
    pub(super) login: String,
}

#[derive(Deserialize)]
struct Reply<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<Problem>,
}

#[derive(Deserialize)]
struct Problem {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    path: Option<Vec<Value>>,
}

impl Problem {
    /// One linked pull request is hidden from us; it stands as `null` among the others. A hidden thread is no such trifle:
    /// what we said in it would be said again.
    fn hides_a_node(&self) -> bool {
        matches!(self.kind.as_deref(), Some("NOT_FOUND" | "FORBIDDEN"))
            && self.path.as_ref().is_some_and(|path| {
                path.iter().any(|part| part == linked::FIELD) && path.iter().any(|part| part == "nodes")
            })
    }
}

impl Repo {
    pub(super) async fn graphql<T: DeserializeOwned>(
        &self,
        endpoint: &'static Endpoint,
        document: &str,
        variables: Value,
    ) -> Result<T, Error> {
        let call: Call =
            self.github.client.call(endpoint, &[]).body(json!({ "query": document, "variables": variables }));
        let answer = self.send(&call).await?;
        let reply: Reply<T> = client::decode(&call, &answer.body)?;
        if let Some(problem) = reply.errors.iter().find(|problem| !problem.hides_a_node()) {
            let message = redact(&problem.message, &[]);
            let name = call.text();
            return Err(match problem.kind.as_deref() {
                Some("NOT_FOUND") => Error::NotFound { call: name },
                Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => {
                    Error::Forbidden { call: name, message, needs: endpoint.needs_text() }
                }
                Some("RATE_LIMITED" | "RATE_LIMIT") => {
                    self.github.client.graphql_limited(self.installation.0, &answer.headers)
                }
                _ => Error::Graphql { call: name, message },
            });
        }
        reply.data.ok_or_else(|| Error::Graphql { call: call.text(), message: "no data".to_owned() })
    }
}

/// Where the next page begins, if there is one.
pub(super) fn next(info: PageInfo) -> Option<String> {
    info.end_cursor.filter(|_| info.has_next_page)
}
