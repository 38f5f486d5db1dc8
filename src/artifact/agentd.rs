//! What the four tools take that keep a change's documents: proposal, spec, tasks, review (S4.1 to S4.7).
//!
//! Closed, unlike what we read elsewhere: a field that is not named, or a word that is none of those that are known, refuses
//! the whole call. Lengths are counted in Unicode scalar values, without the whitespace around a text (A4.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::project::Level;

/// Characters of an id.
pub const MAX_ID: usize = 64;
/// Characters of what stands on one line: titles, names, paths.
pub const MAX_LINE: usize = 300;
/// Characters of a text of several lines.
pub const MAX_TEXT: usize = 20_000;
/// Specs of one change.
pub const MAX_SPECS: usize = 200;
/// Tasks of one change.
pub const MAX_TASKS: usize = 2_000;
/// Entries of every other list.
pub const MAX_ENTRIES: usize = 500;

/// What a change is for, and what it touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProposal {
    /// The change's id, which is its folder's name too: lower-case words joined by hyphens.
    #[schemars(length(max = MAX_ID), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    pub change_id: String,
    /// What is to be done, in a sentence or two.
    #[schemars(length(min = 10, max = MAX_TEXT))]
    pub summary: String,
    /// Why it is to be done.
    #[schemars(length(min = 50, max = MAX_TEXT))]
    pub why: String,
    /// What will be different, point by point.
    #[schemars(length(min = 1, max = MAX_ENTRIES), inner(length(min = 1, max = MAX_TEXT)))]
    pub what_changes: Vec<String>,
    /// How far it reaches: scope, files, the specs that it needs.
    pub impact: Impact,
}

/// How far a change reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impact {
    pub scope: Scope,
    /// How many files are changed, made or removed.
    #[schemars(range(min = 1))]
    pub affected_files: u32,
    /// How many of them are new.
    #[serde(default)]
    pub new_files: u32,
    /// The specs that the change needs. Where none is listed, tasks may be made at once.
    #[serde(default)]
    #[schemars(length(max = MAX_SPECS))]
    pub affected_specs: Vec<AffectedSpec>,
    /// Paths of files and folders, relative to the root.
    #[serde(default)]
    #[schemars(length(max = MAX_ENTRIES), inner(length(min = 1, max = MAX_LINE)))]
    pub affected_code: Vec<String>,
    /// What stops working for whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub breaking_changes: Option<String>,
}

/// As a version number would count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Patch,
    Minor,
    Major,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AffectedSpec {
    #[schemars(length(max = MAX_ID), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    pub id: String,
    /// Ids of specs of this list that have to be written before.
    #[serde(default)]
    #[schemars(length(max = MAX_SPECS), inner(length(max = MAX_ID), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$")))]
    pub depends: Vec<String>,
}

/// What has to hold once the change is made, and how one sees that it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSpec {
    /// Of the change, whose proposal is there already.
    #[schemars(length(max = MAX_ID), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    pub change_id: String,
    /// The spec's id, which is its file's name too; one of those that the proposal lists, if it lists any.
    #[schemars(length(max = MAX_ID), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    pub spec_id: String,
    /// In a few words.
    #[schemars(length(min = 1, max = MAX_LINE))]
    pub title: String,
    /// What it is about, and why it is needed.
    #[schemars(length(min = 50, max = MAX_TEXT))]
    pub overview: String,
    /// What has to hold.
    #[schemars(length(min = 1, max = MAX_ENTRIES))]
    pub requirements: Vec<Requirement>,
    /// How one sees that it does.
    #[schemars(length(min = 1, max = MAX_ENTRIES))]
    pub scenarios: Vec<Scenario>,
    /// A diagram in Mermaid's notation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub flow_diagram: Option<String>,
    /// The data that this is about, for instance as a JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub data_model: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// `R1`, or with the initials of its spec, `MS-R1`.
    #[schemars(length(max = MAX_ID), regex(pattern = r"^([A-Z]{1,8}-)?R[0-9]+$"))]
    pub id: String,
    #[schemars(length(min = 1, max = MAX_LINE))]
    pub title: String,
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub description: String,
    #[serde(default = "medium")]
    pub priority: Level,
}

fn medium() -> Level {
    Level::Medium
}

/// How one sees that a requirement holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    #[schemars(length(min = 1, max = MAX_LINE))]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub given: Option<String>,
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub when: String,
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub then: String,
}

/// Which steps a change is made in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTasks {
    /// Of the change, whose proposal is there already.
    #[schemars(length(max = MAX_ID), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    pub change_id: String,
    /// The steps, in any order.
    #[schemars(length(min = 1, max = MAX_TASKS))]
    pub tasks: Vec<LayerTask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayerTask {
    pub layer: Layer,
    /// Counted within its layer. The task's id is both numbers: `2.1` is the first task of the second layer.
    #[schemars(range(min = 1, max = 9999))]
    pub number: u32,
    #[schemars(length(min = 1, max = MAX_LINE))]
    pub title: String,
    pub file: TaskFile,
    /// The spec that asks for it, alone or with one of its requirements: `mcp-tools` or `mcp-tools:R2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 2 * MAX_ID),
        regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*(:([A-Z]{1,8}-)?R[0-9]+)?$")
    )]
    pub spec_ref: Option<String>,
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub description: String,
    /// Ids of tasks that have to be done before.
    #[serde(default)]
    #[schemars(length(max = MAX_ENTRIES), inner(regex(pattern = r"^[1-4]\.[1-9][0-9]{0,3}$")))]
    pub depends: Vec<String>,
}

impl LayerTask {
    /// `2.1`.
    pub fn id(&self) -> String {
        format!("{}.{}", self.layer.number(), self.number)
    }
}

/// In the order in which they are worked on: each builds on those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    Data,
    Logic,
    Integration,
    Testing,
}

impl Layer {
    pub const ALL: [Self; 4] = [Self::Data, Self::Logic, Self::Integration, Self::Testing];

    /// 1 to 4.
    pub fn number(self) -> u32 {
        match self {
            Self::Data => 1,
            Self::Logic => 2,
            Self::Integration => 3,
            Self::Testing => 4,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Logic => "logic",
            Self::Integration => "integration",
            Self::Testing => "testing",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskFile {
    /// Relative to the root, with `/` between its parts.
    #[schemars(length(min = 1, max = MAX_LINE))]
    pub path: String,
    pub action: FileAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum FileAction {
    Create,
    Modify,
    Delete,
}

/// What a reviewer says of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateReview {
    /// Of the change, whose proposal is there already.
    #[schemars(length(max = MAX_ID), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    pub change_id: String,
    /// What follows from the review.
    pub verdict: Verdict,
    /// What was looked at, and how it is.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub summary: String,
    /// What was found, in any order.
    #[serde(default)]
    #[schemars(length(max = MAX_ENTRIES))]
    pub issues: Vec<ReviewIssue>,
    /// What running the tests came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_results: Option<TestResults>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// The change is done.
    Approved,
    /// It can be mended, and is reviewed again.
    NeedsFix,
    /// A person has to decide.
    MajorIssues,
}

impl Verdict {
    /// As the documents spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approved => "APPROVED",
            Self::NeedsFix => "NEEDS_FIX",
            Self::MajorIssues => "MAJOR_ISSUES",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewIssue {
    #[schemars(length(min = 1, max = MAX_LINE))]
    pub title: String,
    pub severity: IssueSeverity,
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_LINE))]
    pub category: Option<String>,
    /// Relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_LINE))]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub line: Option<u32>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub recommendation: Option<String>,
}

/// From the worst to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum IssueSeverity {
    High,
    Medium,
    Low,
}

impl IssueSeverity {
    pub const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    /// As the documents spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::High => "High",
            Self::Medium => "Medium",
            Self::Low => "Low",
        }
    }
}

/// What running the tests came to. Those that did not run count in the total alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestResults {
    pub passed: u32,
    pub failed: u32,
    pub total: u32,
}
