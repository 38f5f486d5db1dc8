//! How a review ended. Three outcomes that never mix, and an account of what was read.

use serde::{Deserialize, Serialize};

/// Clean, findings, or could not review. The last is never shown as either of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    Clean,
    Findings {
        count: usize,
    },
    /// Nothing, or not enough, could be read: the reason is written for the reader of the pull request.
    CouldNotReview {
        reason: String,
    },
}

/// What was read and what was not, and why. No silent truncation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Changed files whose new side was parsed and checked by rules of its language.
    pub read: usize,
    /// Changed files that had a new side to read.
    pub total: usize,
    pub not_read: Vec<NotRead>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRead {
    pub path: String,
    /// "binary", "generated", "larger than 1 MiB", "no rules for .xyz" …
    pub reason: String,
}

/// The check's conclusion when the change could not be reviewed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnreviewed {
    /// Satisfies a required check on GitHub.
    #[default]
    Neutral,
    ActionRequired,
    Failure,
}
