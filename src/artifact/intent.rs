//! What a flow wants done in the world. `publish` turns it into calls and proofs.

use serde::{Deserialize, Serialize};

use super::ReviewReport;
use crate::domain::{FileDiff, OnUnreviewed, ReviewTarget, RunId, Severity, Sha};

/// A review of a pull request at one head: comments, threads, check run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewIntent {
    pub target: ReviewTarget,
    pub run: RunId,
    /// The merge base that the anchors were computed against.
    pub base: Sha,
    pub files: Vec<FileDiff>,
    pub report: ReviewReport,
    /// Sentences the reader must know, for instance "the configuration file is invalid: defaults were used".
    pub notices: Vec<String>,
    /// A finding at or above this makes the check fail; `None` never fails it.
    pub fail_on: Option<Severity>,
    pub on_unreviewed: OnUnreviewed,
}
