//! What the box remembers, as plain values: the same structs are kept, inspected by tests and shown by `/_box/state`.

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::Serialize;
use serde_json::Value;

use crate::domain::clock::Millis;

/// How much of a permission a token holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Read,
    Write,
    Admin,
}

pub type Permissions = BTreeMap<String, Level>;

/// How the App's webhook is set up, beside its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hook {
    /// `application/json`, not `application/x-www-form-urlencoded`.
    pub json: bool,
    pub checks_certificates: bool,
    pub signed: bool,
}

impl Default for Hook {
    fn default() -> Self {
        Self { json: true, checks_certificates: true, signed: true }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct User {
    pub id: u64,
    pub login: String,
    /// `User`, `Bot` or `Organization`.
    pub kind: String,
    pub created_at: Millis,
}

#[derive(Debug, Clone, Serialize)]
pub struct Repo {
    pub id: u64,
    pub owner: String,
    pub name: String,
    pub private: bool,
    pub default_branch: String,
    /// The repository this one was forked from.
    pub parent: Option<u64>,
    /// Login to role name (`read`, `triage`, `write`, `maintain`, `admin`, or one of `custom_roles`).
    pub collaborators: BTreeMap<String, String>,
    /// Custom role to the role it was made from.
    pub custom_roles: BTreeMap<String, String>,
    pub language: Option<String>,
    pub stars: u64,
    /// SPDX id.
    pub license: Option<String>,
    pub archived: bool,
    /// Whether draft pull requests are offered here: not every plan has them.
    pub drafts: bool,
    /// Whether the App may rewrite branches; off until somebody allows it.
    pub force_pushes: bool,
    /// Patterns of branches that nobody may push to.
    pub protected: Vec<String>,
    /// Patterns of branches that take signed commits only.
    pub signatures: Vec<String>,
    pub labels: Vec<Label>,
    pub events: Vec<IssueEvent>,
    pub created_at: Millis,
    pub pushed_at: Millis,
    pub last_number: u64,
    pub issues: BTreeMap<u64, Issue>,
    pub pulls: BTreeMap<u64, Pull>,
    pub reviews: BTreeMap<u64, Review>,
    pub review_comments: BTreeMap<u64, ReviewComment>,
    pub threads: BTreeMap<u64, Thread>,
    pub comments: BTreeMap<u64, IssueComment>,
    pub suites: BTreeMap<u64, CheckSuite>,
    pub checks: BTreeMap<u64, CheckRun>,
    pub reactions: Vec<Reaction>,
}

impl Repo {
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

impl Repo {
    /// What a role amounts to among the five that every repository has.
    pub fn base_role(&self, login: &str) -> Option<&str> {
        let role = self.collaborators.get(login)?;
        Some(self.custom_roles.get(role).unwrap_or(role).as_str())
    }

    pub fn writes(&self, login: &str) -> bool {
        matches!(self.base_role(login), Some("write" | "maintain" | "admin"))
    }

    /// Labels are told apart without regard to case.
    pub fn label(&self, name: &str) -> Option<&Label> {
        self.labels.iter().find(|label| label.name.eq_ignore_ascii_case(name))
    }
}

/// A label that the repository offers.
#[derive(Debug, Clone, Serialize)]
pub struct Label {
    pub id: u64,
    pub name: String,
    /// Six hexadecimal digits.
    pub color: String,
    pub description: Option<String>,
    /// Whether every new repository has it.
    pub default: bool,
}

/// One line of an issue's history.
#[derive(Debug, Clone, Serialize)]
pub struct IssueEvent {
    pub id: u64,
    pub number: u64,
    pub actor: String,
    /// `labeled`, `unlabeled`, `closed`, `reopened`, `locked`, `unlocked`, `merged`, `renamed`.
    pub event: String,
    pub label: Option<String>,
    /// The commit that closed it or was merged.
    pub commit_id: Option<String>,
    pub created_at: Millis,
}

#[derive(Debug, Clone, Serialize)]
pub struct Issue {
    pub id: u64,
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub author: String,
    /// `open` or `closed`.
    pub state: String,
    /// `completed`, `not_planned` or `reopened`, once it was closed.
    pub state_reason: Option<String>,
    pub locked: bool,
    pub labels: Vec<String>,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub closed_at: Option<Millis>,
    pub closed_by: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Pull {
    #[serde(flatten)]
    pub issue: Issue,
    pub draft: bool,
    pub merged_by: Option<String>,
    /// Absent once the fork was deleted.
    pub head_repo: Option<u64>,
    pub head_owner: String,
    pub head_ref: String,
    pub head_sha: String,
    pub base_ref: String,
    pub base_sha: String,
    /// The test merge, kept at `refs/pull/N/merge`; absent on a conflict.
    pub merge_sha: Option<String>,
}

impl Deref for Pull {
    type Target = Issue;

    fn deref(&self) -> &Issue {
        &self.issue
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Review {
    pub id: u64,
    pub pull: u64,
    pub author: String,
    pub body: String,
    /// `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`, `DISMISSED`.
    pub state: String,
    pub commit_id: String,
    pub submitted_at: Millis,
    pub updated_at: Millis,
    /// Bodies this review had before its current one.
    pub former_bodies: Vec<String>,
    /// Whether a test has looked at it.
    pub read: bool,
    pub minimized: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ReviewComment {
    pub id: u64,
    pub pull: u64,
    pub review: u64,
    pub thread: u64,
    pub in_reply_to: Option<u64>,
    pub author: String,
    pub body: String,
    pub path: String,
    /// `LEFT` or `RIGHT`.
    pub side: String,
    /// Absent once the comment is outdated.
    pub line: Option<u32>,
    pub start_line: Option<u32>,
    pub start_side: Option<String>,
    pub original_line: u32,
    pub original_start_line: Option<u32>,
    pub commit_id: String,
    pub original_commit_id: String,
    pub diff_hunk: String,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub read: bool,
    pub minimized: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Thread {
    pub id: u64,
    pub node_id: String,
    pub pull: u64,
    pub resolved_by: Option<String>,
    pub outdated: bool,
    /// Ids of its review comments, the first one first.
    pub comments: Vec<u64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct IssueComment {
    pub id: u64,
    pub number: u64,
    pub author: String,
    pub body: String,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub read: bool,
    pub minimized: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CheckSuite {
    pub id: u64,
    /// The App whose runs it holds.
    pub app_id: u64,
    /// Who pushed the commit: the sender of what GitHub tells of the suite, whichever App it is of.
    pub pushed_by: Option<String>,
    pub head_sha: String,
    pub head_branch: Option<String>,
    pub before: Option<String>,
    pub created_at: Millis,
}

#[derive(Debug, Clone, Serialize)]
pub struct CheckRun {
    pub id: u64,
    pub suite: u64,
    /// The App that made it; only that App may change it.
    pub app_id: u64,
    pub name: String,
    pub head_sha: String,
    pub status: String,
    pub conclusion: Option<String>,
    pub external_id: Option<String>,
    pub details_url: Option<String>,
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: Vec<Annotation>,
    pub actions: Vec<Value>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Annotation {
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    pub start_column: Option<u32>,
    pub end_column: Option<u32>,
    pub annotation_level: String,
    pub message: String,
    pub title: Option<String>,
    pub raw_details: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Reaction {
    pub id: u64,
    /// `issue/7`, `comment/12` or `review-comment/13`.
    pub subject: String,
    pub author: String,
    pub content: String,
    pub created_at: Millis,
}

/// One line of the App's delivery log.
#[derive(Debug, Clone, Serialize)]
pub struct Delivery {
    pub id: u64,
    pub guid: String,
    pub delivered_at: Millis,
    pub redelivery: bool,
    /// Seconds.
    pub duration: f64,
    pub status: String,
    pub status_code: u16,
    pub event: String,
    pub action: Option<String>,
    pub installation_id: Option<u64>,
    pub repository_id: Option<u64>,
    pub request_headers: BTreeMap<String, String>,
    /// The exact body that was signed.
    pub payload: String,
    pub response_headers: BTreeMap<String, String>,
    pub response_body: String,
}

/// One request that reached the box's REST or GraphQL API.
#[derive(Debug, Clone, Serialize)]
pub struct Call {
    pub method: String,
    /// Without the `/api/v3` prefix and the query.
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub body: Value,
    /// What the box decided, before any scripted fault changed the answer.
    pub status: u16,
    /// Why it was refused, when it was.
    pub refused: Option<String>,
    /// `app`, `installation` or `none`.
    pub auth: String,
    pub at: Millis,
    /// The scripted fault that hit this call.
    pub fault: Option<String>,
}

/// One branch or tag that somebody moved over git, or tried to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Push {
    pub repo: String,
    /// `refs/heads/…`.
    pub reference: String,
    pub by: String,
    /// What it should become; absent for a deletion.
    pub after: Option<String>,
    /// Why it was declined, when it was.
    pub refused: Option<String>,
}

/// A commit of a branch, as a test looks at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    pub sha: String,
    pub message: String,
    pub author_name: String,
    pub author_email: String,
    pub committer_name: String,
    pub committer_email: String,
    /// Whether GitHub would show it as verified.
    pub verified: bool,
    pub parents: Vec<String>,
    /// Paths that differ from its first parent, sorted.
    pub files: Vec<String>,
}

/// A text the App wrote, whatever carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Posted {
    /// `review`, `review-comment` or `comment`.
    pub kind: String,
    pub repo: String,
    pub number: u64,
    pub id: u64,
    pub body: String,
    pub path: Option<String>,
    pub line: Option<u32>,
}

/// What an installation token may do.
#[derive(Debug, Clone, Serialize)]
pub struct Token {
    #[serde(skip)]
    pub secret: String,
    pub expires_at: Millis,
    /// Absent: every repository of the installation.
    pub repositories: Option<Vec<u64>>,
    pub permissions: Permissions,
}
