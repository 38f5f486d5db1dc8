//! Review threads. Only GraphQL knows whether one is resolved, and only GraphQL resolves one.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use super::client::PAGE_CAP;
use super::error::Error;
use super::graphql::{AuthorWire, Page, next};
use super::{Repo, endpoint};
use crate::domain::{Millis, PullNumber};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// GraphQL node id.
    pub id: String,
    pub resolved: bool,
    /// Who resolved it, where GitHub says so.
    pub resolved_by: Option<String>,
    /// The lines it stood on are no longer in the diff.
    pub outdated: bool,
    pub path: String,
    pub line: Option<u32>,
    /// All of them, oldest first.
    pub comments: Vec<ThreadComment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadComment {
    /// The id that REST uses.
    pub database_id: Option<u64>,
    /// As GraphQL spells it: an App's login comes without `[bot]`.
    pub login: String,
    /// The author is an App (GraphQL type `Bot`).
    pub bot: bool,
    pub body: String,
    pub created_at: Millis,
}

pub(super) const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved isOutdated path line
          resolvedBy { login }
          comments(first: 100) {
            pageInfo { hasNextPage endCursor }
            nodes { databaseId body createdAt author { __typename login } }
          }
        }
      }
    }
  }
}";

pub(super) const COMMENTS: &str = "query($id: ID!, $after: String) {
  node(id: $id) {
    ... on PullRequestReviewThread {
      comments(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { databaseId body createdAt author { __typename login } }
      }
    }
  }
}";

pub(super) const RESOLVE: &str = "mutation($id: ID!) {
  resolveReviewThread(input: { threadId: $id }) { thread { id isResolved } }
}";

#[derive(Deserialize)]
struct ThreadsData {
    repository: Option<RepositoryData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RepositoryData {
    pull_request: Option<PullData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullData {
    review_threads: Page<ThreadWire>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadWire {
    id: String,
    is_resolved: bool,
    resolved_by: Option<LoginWire>,
    is_outdated: bool,
    path: String,
    line: Option<u32>,
    comments: Page<CommentWire>,
}

#[derive(Deserialize)]
struct LoginWire {
    login: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommentWire {
    database_id: Option<u64>,
    body: String,
    created_at: DateTime<Utc>,
    author: Option<AuthorWire>,
}

#[derive(Deserialize)]
struct NodeData {
    node: Option<NodeWire>,
}

#[derive(Deserialize)]
struct NodeWire {
    comments: Option<Page<CommentWire>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResolveData {
    resolve_review_thread: Option<ResolvedWire>,
}

#[derive(Deserialize)]
struct ResolvedWire {
    thread: Option<ResolvedThread>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResolvedThread {
    is_resolved: bool,
}

impl From<CommentWire> for ThreadComment {
    fn from(wire: CommentWire) -> Self {
        let (login, bot) = match wire.author {
            Some(author) => (author.login, author.kind == "Bot"),
            None => ("ghost".to_owned(), false),
        };
        Self {
            database_id: wire.database_id,
            login,
            bot,
            body: wire.body,
            created_at: wire.created_at.timestamp_millis(),
        }
    }
}

impl Repo {
    /// All review threads with all their comments.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn threads(&self, number: PullNumber) -> Result<Vec<Thread>, Error> {
        let mut threads = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..PAGE_CAP {
            let variables = json!({
                "owner": self.name.owner(), "name": self.name.name(), "number": number, "after": after,
            });
            let data: ThreadsData = self.graphql(&endpoint::LIST_THREADS, THREADS, variables).await?;
            let page = data
                .repository
                .and_then(|repository| repository.pull_request)
                .ok_or_else(|| Error::NotFound { call: format!("pull request {}#{number}", self.name) })?
                .review_threads;
            for wire in page.nodes.into_iter().flatten() {
                threads.push(self.whole(wire).await?);
            }
            match next(page.page_info) {
                Some(cursor) => after = Some(cursor),
                None => return Ok(threads),
            }
        }
        Err(Error::TooLarge { what: "the list of review threads".to_owned(), limit: format!("{PAGE_CAP} pages") })
    }

    /// Marks a thread as resolved; resolving twice is harmless.
    ///
    /// # Errors
    /// `Forbidden` when the App lacks `contents: write`, else as [`Error`] says.
    pub async fn resolve_thread(&self, id: &str) -> Result<(), Error> {
        let data: ResolveData = self.graphql(&endpoint::RESOLVE_THREAD, RESOLVE, json!({ "id": id })).await?;
        let resolved = data.resolve_review_thread.and_then(|r| r.thread).is_some_and(|thread| thread.is_resolved);
        if resolved {
            Ok(())
        } else {
            Err(Error::Graphql { call: "RESOLVE_THREAD".to_owned(), message: "the thread is still open".to_owned() })
        }
    }

    async fn whole(&self, wire: ThreadWire) -> Result<Thread, Error> {
        let mut comments: Vec<ThreadComment> = wire.comments.nodes.into_iter().flatten().map(Into::into).collect();
        let mut after = next(wire.comments.page_info);
        for _ in 0..PAGE_CAP {
            let Some(cursor) = after else { break };
            let variables = json!({ "id": wire.id, "after": cursor });
            let data: NodeData = self.graphql(&endpoint::LIST_THREAD_COMMENTS, COMMENTS, variables).await?;
            let Some(page) = data.node.and_then(|node| node.comments) else { break };
            comments.extend(page.nodes.into_iter().flatten().map(ThreadComment::from));
            after = next(page.page_info);
        }
        Ok(Thread {
            id: wire.id,
            resolved: wire.is_resolved,
            resolved_by: wire.resolved_by.map(|by| by.login),
            outdated: wire.is_outdated,
            path: wire.path,
            line: wire.line,
            comments,
        })
    }
}
