//! What a flow needs to know before it starts, fetched once and handed to every agent.

use serde::{Deserialize, Serialize};

use crate::domain::{FileDiff, NotRead, Severity, Sha};

/// Everything that a review starts from, beside the two trees themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFacts {
    /// `owner/name`; owner `local` when there is no GitHub.
    pub repo: String,
    /// Merge base, the old side.
    pub base: Sha,
    pub head: Sha,
    pub files: Vec<FileDiff>,
    /// What git could not show: too large, binary, beyond the limits.
    pub not_read: Vec<NotRead>,
    /// Paths that left the change since earlier comments were made on them: read again, to know whether those are settled.
    pub watched: Vec<String>,
    pub settings: ReviewSettings,
}

/// The part of the repository's configuration that decides what is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewSettings {
    /// Findings below this are dropped.
    pub min_severity: Severity,
    /// Globs of paths that are not reviewed.
    pub ignore: Vec<String>,
    /// Rules switched off by id.
    pub disable: Vec<String>,
}

impl Default for ReviewSettings {
    fn default() -> Self {
        Self { min_severity: Severity::Low, ignore: Vec::new(), disable: Vec::new() }
    }
}
