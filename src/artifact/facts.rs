//! What a flow needs to know before it starts, fetched once and handed to every agent.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::activity::{ReviewActivity, WatchedState};
use super::swarm::{Alternative, SearchStats};
use crate::domain::{FileDiff, Finding, Fingerprint, LinterRun, Millis, NotRead, Severity, Sha, Untrusted};

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
    /// What other people's linters say of the new side.
    #[serde(default, skip_serializing_if = "Linted::is_empty")]
    pub linted: Linted,
}

/// What came of asking other people's linters, before it is compared with what our own rules find.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linted {
    /// What the change brought, each told by one linter alone.
    pub fresh: Vec<Foreign>,
    /// Whatever they find in the files that they read, wherever it stands.
    pub present: BTreeSet<Fingerprint>,
    /// Those that were asked, or were to be.
    pub runs: Vec<LinterRun>,
    /// Linters that have not said all: what they said before may still hold.
    pub silent: BTreeSet<String>,
}

impl Linted {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A finding of another tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreign {
    pub finding: Finding,
    /// Numbers of the weaknesses that its rule is about.
    pub cwes: Vec<u32>,
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

/// Everything that a contribution starts from, beside the tree itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContributeFacts {
    pub repository: RepositoryFacts,
    /// The commit that the work is based on.
    pub base: Sha,
    pub issue: IssueFacts,
    /// Login of who asked; `None` when a sweep chose the issue.
    pub asked_by: Option<String>,
    /// What the sweep found that chose the issue.
    #[serde(default)]
    pub swept: Option<Swept>,
    /// Other open issues that carry the trigger label.
    pub candidates: Vec<Candidate>,
    /// Open pull requests that address the issue.
    pub linked: Vec<LinkedPull>,
    pub settings: ContributeSettings,
    /// What could not be learned, and what was assumed instead.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryFacts {
    /// `local` when there is no GitHub.
    pub owner: String,
    pub name: String,
    pub url: String,
    pub default_branch: String,
    /// GitHub's name of the main language.
    pub language: Option<String>,
    pub stars: u64,
    /// SPDX id.
    pub license: Option<String>,
    /// Where its work tree lies on this machine, if it has one there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_tree: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueFacts {
    /// 0 for an issue that is only a text file.
    pub number: u64,
    pub url: String,
    pub title: Untrusted,
    pub body: Untrusted,
    pub labels: Vec<String>,
    pub author: String,
    /// ISO 8601.
    pub created_at: String,
    pub comments: u64,
    pub locked: bool,
    pub is_pull: bool,
}

/// A search for issues to work on, as it stood when the work began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    pub search: SearchStats,
    /// The next best first.
    pub others: Vec<Alternative>,
    /// Why the issue may not be taken up after all; each a sentence without its full stop.
    pub obstacles: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub number: u64,
    pub url: String,
    pub title: Untrusted,
    pub labels: Vec<String>,
    pub created_at: String,
    pub comments: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedPull {
    pub number: u64,
    pub url: String,
    pub author: String,
    /// Our App opened it for this very issue.
    pub ours: bool,
}

/// The part of the repository's configuration that bounds a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContributeSettings {
    /// Files that one change may touch.
    pub max_files: usize,
    /// Added and removed lines of one change, together.
    pub max_lines: usize,
    /// Globs of paths that no change may touch, beside those that none ever may.
    pub protected: Vec<String>,
    /// Globs of paths that are left alone, and rules that are switched off, as in reviews.
    pub ignore: Vec<String>,
    pub disable: Vec<String>,
}

impl Default for ContributeSettings {
    fn default() -> Self {
        Self { max_files: 10, max_lines: 300, protected: Vec::new(), ignore: Vec::new(), disable: Vec::new() }
    }
}

/// Everything that is known of a pull request of ours after it was opened. Texts are not among it: nothing is decided by
/// what people write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorFacts {
    /// When GitHub was asked.
    pub now: Millis,
    pub pull: PullFacts,
    /// Oldest first.
    pub commits: Vec<CommitFacts>,
    /// Those that were submitted, oldest first.
    pub reviews: Vec<GivenReview>,
    /// Threads on the diff.
    pub threads: Vec<ThreadFacts>,
    /// The conversation.
    pub comments: Vec<Said>,
    /// The newest check run of each name and App on the head, but for our own.
    pub checks: Vec<CheckFacts>,
    /// What the last look found.
    pub earlier: Option<ReviewActivity>,
    pub settings: MonitorSettings,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullFacts {
    pub url: String,
    pub number: u64,
    pub state: WatchedState,
    pub head: Sha,
    pub created_at: Millis,
    /// When it was merged or closed.
    pub ended_at: Option<Millis>,
    pub merged_by: Option<String>,
    pub merge_commit: Option<Sha>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// Our App.
    Ours,
    /// Another App.
    Bot,
    Person,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitFacts {
    pub sha: Sha,
    /// The author's login, or the name in the commit where GitHub knows no account.
    pub by: String,
    pub who: Who,
    pub at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenReview {
    pub id: u64,
    pub by: String,
    pub who: Who,
    pub state: ReviewState,
    /// The author may write to the repository, by GitHub's own word. Without that their verdict blocks nothing.
    pub writes: bool,
    pub at: Millis,
    pub url: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    Commented,
    Approved,
    ChangesRequested,
    Dismissed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadFacts {
    pub resolved: bool,
    /// Oldest first.
    pub comments: Vec<Said>,
}

/// A comment without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub id: u64,
    pub by: String,
    pub who: Who,
    pub at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFacts {
    pub name: String,
    pub state: CheckState,
    /// When it was completed.
    pub at: Option<Millis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// Queued or at work.
    Pending,
    /// `success`, and `neutral` and `skipped`, which block nothing.
    Passed,
    Failed,
}

/// How long a pull request may wait for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorSettings {
    /// Days after which something that needs a person, and that nobody reacted to, is handed to the maintainers.
    pub stale_pr_days: u32,
    /// Days of silence after which a pull request counts as abandoned.
    pub max_review_wait_days: u32,
}

impl Default for MonitorSettings {
    fn default() -> Self {
        Self { stale_pr_days: 7, max_review_wait_days: 14 }
    }
}
