//! What the pr agent wants a pull request to say. `publish::render` makes the Markdown of it.

use serde::{Deserialize, Serialize};

use super::swarm::CodeChanges;

/// What the pr agent hands on: the words, and what is to be committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    #[serde(flatten)]
    pub draft: PullDraft,
    /// The coder's change together with what tester and docs add to it; None when there is nothing to commit.
    pub commit: Option<CodeChanges>,
}

/// A pull request that does not exist yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullDraft {
    /// `fix/issue-7-unsafe-yaml` (A2.8).
    pub branch: String,
    pub title: String,
    /// Subject line and body; trailers are added by who commits.
    pub commit_message: String,
    /// What the issue asked for and what was done about it, in a few sentences.
    pub summary: String,
    pub changes: Vec<ChangeNote>,
    /// How it was checked, and what was not.
    pub checks: Vec<CheckNote>,
    /// What the reader should know before merging.
    pub notes: Vec<String>,
    /// Opened as a draft, since something that should have been checked was not (A2.4).
    pub draft: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeNote {
    pub path: String,
    pub added: u64,
    pub removed: u64,
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckNote {
    /// For instance "every changed file was parsed again".
    pub what: String,
    pub outcome: CheckOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum CheckOutcome {
    Passed,
    Failed { why: String },
    NotRun { why: String },
}
