//! What the review agents hand to each other.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::project::ProjectContext;
use crate::domain::{Category, Coverage, Finding, Fingerprint, NotRead, Outcome};

/// The manager's result: what the repository is and, in a review, what of the change is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    #[serde(flatten)]
    pub context: ProjectContext,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<FilePlan>,
}

/// The manager's plan: which changed files are read, in which language, and which are not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlan {
    pub read: Vec<PlannedFile>,
    pub not_read: Vec<NotRead>,
    /// Watched paths outside the change.
    pub watched: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFile {
    pub path: String,
    /// Path on the old side, when the file existed there.
    pub old_path: Option<String>,
    /// Display name of the language; absent when only text checks apply.
    pub language: Option<String>,
}

/// What one review agent found on the lines that the change wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFindings {
    pub category: Category,
    pub findings: Vec<Finding>,
}

/// The master's merged report: ranked, without duplicates, every fix proven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewReport {
    /// On changed lines, most important first.
    pub findings: Vec<Finding>,
    /// Every fingerprint present anywhere in a file that was read: a thread is settled only when its finding is not here.
    pub present: BTreeSet<Fingerprint>,
    /// Paths that were read in full or are gone: only their threads may be settled.
    pub settled_paths: BTreeSet<String>,
    /// Linters that have not said all this time: what they found before may still be there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub silent: BTreeSet<String>,
    pub coverage: Coverage,
    pub outcome: Outcome,
}
