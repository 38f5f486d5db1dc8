//! What tester, docs and reviews hand on inside a flow: the document that they leave (S2.15, S2.16, S2.18), and what it
//! tells of.

use serde::{Deserialize, Serialize};

use super::Document;
use super::activity::ReviewActivity;
use super::generation::TestSuite;
use super::reply::Stalled;
use super::swarm::{DocsChanges, FileChange, TestChanges};

/// The tester's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// `test-changes.json`.
    pub document: Document<TestChanges>,
    /// Diffs against the tree as the coder leaves it, one a file; test files only.
    pub edits: Vec<FileChange>,
    /// The test files of the change as a whole (S1.14); None when there are none.
    pub suite: Option<TestSuite>,
    /// What was not done, and what the reader should know, as sentences.
    pub notes: Vec<String>,
}

/// The docs agent's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Documented {
    /// `docs-changes.json`.
    pub document: Document<DocsChanges>,
    /// Diffs against the tree as the coder leaves it, one a file; documentation only.
    pub edits: Vec<FileChange>,
    /// What was not done, and what the reader should know, as sentences.
    pub notes: Vec<String>,
}

/// The reviews agent's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Monitored {
    /// `review-activity.json`.
    pub document: Document<ReviewActivity>,
    /// Why it was escalated; empty when it was not.
    pub stalled: Vec<Stalled>,
}
