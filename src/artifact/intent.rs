//! What a flow wants done in the world. `publish` turns it into calls and proofs.

use serde::{Deserialize, Serialize};

use super::{PullDraft, ReviewReport};
use crate::domain::{FileDiff, IssueNumber, OnUnreviewed, ReviewTarget, RunId, Severity, Sha};

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

/// A commit that should stand at the tip of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushIntent {
    /// Whose work it is: `contribute/7/3` or `fix/7/12@<head>`. Also the value of the commit's `Octoswarm-Task` trailer,
    /// by which a branch that is there already is known as ours.
    pub key: String,
    pub run: RunId,
    pub branch: String,
    /// What the branch points to before; `None`: it does not exist.
    pub expected: Option<Sha>,
    /// The commit's only parent.
    pub parent: Sha,
    /// Without trailers.
    pub message: String,
    /// Milliseconds since the epoch, the same at every attempt, so that the same work is the same commit.
    pub at: i64,
}

/// A pull request that should be open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullIntent {
    /// `contribute/<repository id>/<issue>`.
    pub key: String,
    pub run: RunId,
    pub issue: IssueNumber,
    pub issue_url: String,
    /// Login of who asked; `None` when a sweep chose the issue.
    pub asked_by: Option<String>,
    pub base_branch: String,
    /// Merging closes the issue: only where the base is the default branch.
    pub closes_issue: bool,
    pub head: Sha,
    pub draft: PullDraft,
}

impl PullIntent {
    /// Under which the pull request of a contribution is written down.
    pub fn effect_key(contribution: &str) -> String {
        format!("pull/{contribution}")
    }
}
