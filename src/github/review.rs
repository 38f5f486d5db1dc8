//! Reviews of a pull request.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::Error;
use super::user::{User, UserWire};
use super::{Repo, endpoint};
use crate::domain::{Millis, PullNumber, Sha};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub id: u64,
    pub author: User,
    pub body: String,
    /// `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`, `DISMISSED`, `PENDING`.
    pub state: String,
    /// Absent when the commit is gone.
    pub commit_id: Option<Sha>,
    /// Absent while it is pending.
    pub submitted_at: Option<Millis>,
    /// Where people find it.
    pub url: String,
}

/// A review to write. There is no field for the event: it is always COMMENT, we neither approve nor block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReview {
    pub commit_id: Sha,
    pub body: String,
    pub comments: Vec<NewComment>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewComment {
    pub path: String,
    /// The last line of the range.
    pub line: u32,
    pub side: Side,
    /// Set only when the comment spans several lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_side: Option<Side>,
    pub body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Side {
    Left,
    Right,
}

#[derive(Deserialize)]
struct ReviewWire {
    id: u64,
    user: Option<UserWire>,
    body: Option<String>,
    state: String,
    commit_id: Option<Sha>,
    submitted_at: Option<DateTime<Utc>>,
    #[serde(default)]
    html_url: String,
}

impl From<ReviewWire> for Review {
    fn from(wire: ReviewWire) -> Self {
        Self {
            id: wire.id,
            author: User::of(wire.user),
            body: wire.body.unwrap_or_default(),
            state: wire.state,
            commit_id: wire.commit_id,
            submitted_at: wire.submitted_at.map(|at| at.timestamp_millis()),
            url: wire.html_url,
        }
    }
}

impl Repo {
    /// All reviews, oldest first.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn reviews(&self, number: PullNumber) -> Result<Vec<Review>, Error> {
        let call = self.call(&endpoint::LIST_REVIEWS, &[&number.to_string()]);
        self.all(call, |page: Vec<ReviewWire>| page.into_iter().map(Review::from).collect()).await
    }

    /// Sent once; after an error that leaves its fate open, look before calling again.
    ///
    /// # Errors
    /// As [`Error`] says; `Validation` when one anchor lies outside the diff.
    pub async fn create_review(&self, number: PullNumber, review: &NewReview) -> Result<Review, Error> {
        let mut body: Value = json!({ "commit_id": review.commit_id, "event": "COMMENT", "body": review.body });
        if !review.comments.is_empty() {
            body["comments"] = json!(review.comments);
        }
        let call = self.call(&endpoint::CREATE_REVIEW, &[&number.to_string()]).body(body);
        self.json::<ReviewWire>(&call).await.map(Review::from)
    }

    /// Replaces the body of a review.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn update_review(&self, number: PullNumber, review: u64, body: &str) -> Result<Review, Error> {
        let call = self
            .call(&endpoint::UPDATE_REVIEW, &[&number.to_string(), &review.to_string()])
            .body(json!({ "body": body }));
        self.json::<ReviewWire>(&call).await.map(Review::from)
    }
}
