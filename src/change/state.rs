//! `STATE.yaml`: how far a change is, and which of its documents were found valid as they stand.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Error;
use super::document::{missing, plain, same};
use crate::artifact::Fault;

/// The form that we write.
const SCHEMA: &str = "2.0";
/// Entries of the history; the oldest go first.
const MAX_VALIDATIONS: usize = 100;
/// Rounds of mending that a review may ask for (S4.5); after them a person decides.
pub const MAX_ITERATIONS: u32 = 2;

/// How far a change is (A4.7), in the order of the way. Names of an older form are read as the last three say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Clarifying,
    /// There is a proposal, and a spec that it lists is missing.
    #[serde(alias = "proposed")]
    Drafting,
    /// Every spec that the proposal lists is there.
    SpecsGenerated,
    TasksGenerated,
    #[serde(alias = "challenged")]
    Planned,
    Implementing,
    Testing,
    CodeReviewing,
    /// A review approved it.
    #[serde(alias = "complete")]
    Implemented,
    Merging,
    Archived,
    /// A review found major issues: a person decides.
    Rejected,
}

impl Phase {
    /// As the state spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Clarifying => "clarifying",
            Self::Drafting => "drafting",
            Self::SpecsGenerated => "specs_generated",
            Self::TasksGenerated => "tasks_generated",
            Self::Planned => "planned",
            Self::Implementing => "implementing",
            Self::Testing => "testing",
            Self::CodeReviewing => "code_reviewing",
            Self::Implemented => "implemented",
            Self::Merging => "merging",
            Self::Archived => "archived",
            Self::Rejected => "rejected",
        }
    }

    /// No proposal, spec or list of tasks is taken any more.
    pub fn is_closed(self) -> bool {
        self >= Self::Implemented
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub change_id: String,
    #[serde(default = "schema")]
    pub schema_version: String,
    #[serde(default)]
    pub created_at: String,
    #[serde(default)]
    pub updated_at: String,
    pub phase: Phase,
    /// Rounds of mending that reviews asked for.
    #[serde(default)]
    pub iteration: u32,
    #[serde(default)]
    pub last_action: String,
    /// Another program's, kept as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// By the document's path in the change's folder.
    #[serde(default)]
    pub checksums: BTreeMap<String, Checksum>,
    #[serde(default)]
    pub validations: Vec<Validation>,
    /// Another program's, kept as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<Value>,
}

fn schema() -> String {
    SCHEMA.to_owned()
}

/// A document as it was when it was found valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    /// `sha256:` and 64 digits.
    pub hash: String,
    /// ISO 8601, UTC.
    #[serde(default)]
    pub validated_at: String,
}

/// One document that was checked and written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validation {
    /// The tool's name.
    pub step: String,
    #[serde(default)]
    pub timestamp: String,
    pub result: Counts,
}

/// Warnings count as low; of a review, its issues count by their severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub valid: bool,
    #[serde(default)]
    pub high: usize,
    #[serde(default)]
    pub medium: usize,
    #[serde(default)]
    pub low: usize,
}

impl State {
    pub(super) fn new(change_id: &str, created_at: &str) -> Self {
        Self {
            change_id: change_id.to_owned(),
            schema_version: schema(),
            created_at: created_at.to_owned(),
            updated_at: created_at.to_owned(),
            phase: Phase::Clarifying,
            iteration: 0,
            last_action: String::new(),
            session_id: None,
            checksums: BTreeMap::new(),
            validations: Vec::new(),
            telemetry: None,
        }
    }

    pub(super) fn validated(&mut self, step: &str, timestamp: &str, result: Counts) {
        self.validations.push(Validation { step: step.to_owned(), timestamp: timestamp.to_owned(), result });
        let over = self.validations.len().saturating_sub(MAX_VALIDATIONS);
        self.validations.drain(..over);
    }

    pub(super) fn write(&self) -> Result<String, Error> {
        let mut text = serde_saphyr::to_string(self).map_err(|error| Error::Yaml(error.to_string()))?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }

    pub(super) fn read(text: &str, change_id: &str) -> Result<Self, Vec<Fault>> {
        let state: Self = serde_saphyr::from_str(text).map_err(|error| missing(&plain(&error)))?;
        same("change_id", &state.change_id, change_id)?;
        Ok(state)
    }
}
