//! Comments on issues and on the conversation of pull requests, and reactions.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use super::client;
use super::error::Error;
use super::user::{User, UserWire};
use super::{Repo, endpoint};
use crate::domain::{CommentId, IssueNumber, Millis};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    pub id: CommentId,
    pub author: User,
    pub body: String,
    pub created_at: Millis,
    pub updated_at: Millis,
    /// Where people find it.
    pub url: String,
}

/// All that GitHub knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    PlusOne,
    MinusOne,
    Laugh,
    Confused,
    Heart,
    Hooray,
    Rocket,
    Eyes,
}

#[derive(Deserialize)]
struct CommentWire {
    id: CommentId,
    user: Option<UserWire>,
    body: Option<String>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    html_url: String,
}

impl Reaction {
    /// As GitHub spells it.
    pub fn content(self) -> &'static str {
        match self {
            Self::PlusOne => "+1",
            Self::MinusOne => "-1",
            Self::Laugh => "laugh",
            Self::Confused => "confused",
            Self::Heart => "heart",
            Self::Hooray => "hooray",
            Self::Rocket => "rocket",
            Self::Eyes => "eyes",
        }
    }
}

impl From<CommentWire> for Comment {
    fn from(wire: CommentWire) -> Self {
        Self {
            id: wire.id,
            author: User::of(wire.user),
            body: wire.body.unwrap_or_default(),
            created_at: wire.created_at.timestamp_millis(),
            updated_at: wire.updated_at.timestamp_millis(),
            url: wire.html_url,
        }
    }
}

impl Repo {
    /// All comments, oldest first. Review comments are not among them.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn comments(&self, number: IssueNumber) -> Result<Vec<Comment>, Error> {
        let call = self.call(&endpoint::LIST_COMMENTS, &[&number.to_string()]);
        self.all(call, |page: Vec<CommentWire>| page.into_iter().map(Comment::from).collect()).await
    }

    /// The comment as it reads now; `None` when it was deleted.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn comment(&self, comment: CommentId) -> Result<Option<Comment>, Error> {
        let call = self.call(&endpoint::GET_COMMENT, &[&comment.to_string()]);
        let Some(answer) = self.find(&call).await? else { return Ok(None) };
        client::decode::<CommentWire>(&call, &answer.body).map(|wire| Some(wire.into()))
    }

    /// Sent once; after an error that leaves its fate open, look before calling again.
    ///
    /// # Errors
    /// As [`Error`] says; `Forbidden` in a locked conversation or an archived repository.
    pub async fn create_comment(&self, number: IssueNumber, body: &str) -> Result<Comment, Error> {
        let call = self.call(&endpoint::CREATE_COMMENT, &[&number.to_string()]).body(json!({ "body": body }));
        self.json::<CommentWire>(&call).await.map(Comment::from)
    }

    /// Replaces the body.
    ///
    /// # Errors
    /// As [`Error`] says; `NotFound` when the comment was deleted.
    pub async fn update_comment(&self, comment: CommentId, body: &str) -> Result<Comment, Error> {
        let call = self.call(&endpoint::UPDATE_COMMENT, &[&comment.to_string()]).body(json!({ "body": body }));
        self.json::<CommentWire>(&call).await.map(Comment::from)
    }

    /// On an issue or a pull request. Reacting twice the same way is harmless.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn react_to_issue(&self, number: IssueNumber, reaction: Reaction) -> Result<(), Error> {
        let call = self.call(&endpoint::REACT_TO_ISSUE, &[&number.to_string()]);
        self.send(&call.body(json!({ "content": reaction.content() }))).await.map(drop)
    }

    /// Reacting twice the same way is harmless.
    ///
    /// # Errors
    /// As [`Error`] says; `NotFound` when the comment was deleted.
    pub async fn react_to_comment(&self, comment: CommentId, reaction: Reaction) -> Result<(), Error> {
        let call = self.call(&endpoint::REACT_TO_COMMENT, &[&comment.to_string()]);
        self.send(&call.body(json!({ "content": reaction.content() }))).await.map(drop)
    }
}
