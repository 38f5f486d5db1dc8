//! What must still happen after GitHub has been answered. Stored as JSON in the job's row, so old shapes must stay readable.

use serde::{Deserialize, Serialize};

use super::ids::{DeliveryId, InstallationId, PullNumber, RepoName, RepositoryId, Sha};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Job {
    /// Read a stored delivery and decide what it asks for.
    Delivery { guid: DeliveryId },
    /// Review a pull request at one head commit.
    Review(ReviewTarget),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewTarget {
    pub installation: InstallationId,
    pub repository: RepositoryId,
    pub repo: RepoName,
    pub number: PullNumber,
    pub head: Sha,
    pub base_ref: String,
    /// Asked for by a person ("Re-run"): done even if this head was reviewed before.
    #[serde(default)]
    pub forced: bool,
}

impl Job {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Delivery { .. } => "delivery",
            Self::Review(_) => "review",
        }
    }

    /// Two unfinished jobs with one key cannot exist; the database refuses the second.
    pub fn unique_key(&self) -> String {
        match self {
            Self::Delivery { guid } => format!("delivery/{guid}"),
            Self::Review(target) => target.key(),
        }
    }

    /// Jobs of one group never run at the same time: a pull request is reviewed by one worker.
    pub fn group_key(&self) -> Option<String> {
        match self {
            Self::Delivery { .. } => None,
            Self::Review(target) => Some(target.group()),
        }
    }
}

impl ReviewTarget {
    /// `review/<repository id>/<number>@<head>`; also the check run's `external_id` and the root of effect keys.
    pub fn key(&self) -> String {
        format!("review/{}/{}@{}", self.repository, self.number, self.head)
    }

    /// `pull/<repository id>/<number>`.
    pub fn group(&self) -> String {
        format!("pull/{}/{}", self.repository, self.number)
    }
}

/// What the queue does about a failure: the only question it asks of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Trying again cannot help.
    Discard,
    /// Try again with backoff.
    Retry,
    /// Try again no sooner than this; GitHub said so.
    RetryAfter(std::time::Duration),
    /// The job was cancelled or overtaken; not a failure.
    Cancelled,
    /// Not yet: wait this long; uses up no attempt.
    Snooze(std::time::Duration),
}
