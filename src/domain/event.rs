//! What a delivery means to us, after GitHub's JSON has been left behind in `github::payload`.

use serde::{Deserialize, Serialize};

use super::clock::Millis;
use super::ids::{CommentId, InstallationId, IssueNumber, PullNumber, RepoName, RepositoryId, Sha};
use super::untrusted::Untrusted;

/// A closed list: a new event is a new variant, and the compiler lists the places that must decide about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// `pull_request` with an action that can ask for a review or end one.
    Pull(PullEvent),
    /// "Re-run" pressed on our check run, or on the whole suite: review again what `external_id` or the pull names.
    Rerequested {
        installation: InstallationId,
        repository: RepositoryId,
        repo: RepoName,
        sender: Sender,
        pull: PullNumber,
        head: Sha,
    },
    Issue(IssueEvent),
    Comment(CommentEvent),
    Activity(PullActivity),
    Installation(InstallationEvent),
}

/// Something happened to a pull request that asks nothing of us, but that its follower wants to know: a review, a comment
/// on the diff, a thread resolved, a check suite completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullActivity {
    pub place: Place,
    pub number: PullNumber,
    /// Who opened the pull request, where the payload tells; a check suite's does not.
    pub author: Option<Sender>,
    /// The App whose checks were completed. The sender of a suite is whoever pushed the commit, which may be us.
    pub checks_of: Option<u64>,
    pub sender: Sender,
}

/// Where something happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub installation: InstallationId,
    pub repository: RepositoryId,
    pub repo: RepoName,
    pub default_branch: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueEvent {
    pub action: IssueAction,
    pub place: Place,
    pub issue: Issue,
    pub sender: Sender,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssueAction {
    Labeled { label: String },
    Unlabeled { label: String },
    Closed,
    Reopened,
}

/// An issue, or a pull request's conversation, as the signed payload showed it. Work goes by this text: what is edited
/// afterwards was not what the asker saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub number: IssueNumber,
    pub title: Untrusted,
    pub body: Untrusted,
    pub labels: Vec<String>,
    pub author: Sender,
    /// ISO 8601, as GitHub gives it.
    pub created_at: String,
    pub comments: u64,
    pub open: bool,
    pub locked: bool,
    /// The number is a pull request's.
    pub pull: bool,
    /// Where people find it.
    pub url: String,
}

/// `issue_comment`: on an issue or on a pull request's conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentEvent {
    pub action: CommentAction,
    pub place: Place,
    pub issue: Issue,
    pub comment: CommentId,
    pub body: Untrusted,
    /// Who wrote the comment; `sender` may be somebody else who edited it.
    pub author: Sender,
    pub sender: Sender,
    /// When it was written, or edited last.
    pub written_at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommentAction {
    Created,
    /// The text before the edit; absent when only something else changed.
    Edited {
        before: Option<Untrusted>,
    },
}

/// `installation` and `installation_repositories`: what we may see has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallationEvent {
    pub action: InstallationAction,
    pub installation: InstallationId,
    /// The account that has the App.
    pub account: String,
    pub sender: Sender,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallationAction {
    Created,
    /// With the repositories that GitHub names.
    Deleted {
        repositories: Vec<RepositoryId>,
    },
    Suspended,
    Unsuspended,
    PermissionsAccepted,
    Added {
        repositories: Vec<RepoName>,
    },
    Removed {
        repositories: Vec<RepositoryId>,
    },
}

/// Why the pull request event came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Opened,
    Reopened,
    ReadyForReview,
    /// New commits on the head (`synchronize`).
    Pushed,
    /// `edited` with another base branch.
    BaseChanged,
    Closed,
    ConvertedToDraft,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullEvent {
    pub action: Action,
    pub installation: InstallationId,
    pub repository: RepositoryId,
    pub repo: RepoName,
    pub default_branch: String,
    pub number: PullNumber,
    pub head: Sha,
    pub base_ref: String,
    pub draft: bool,
    /// The account that opened the pull request.
    pub author: Sender,
    pub sender: Sender,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    pub id: u64,
    pub login: String,
    /// GitHub's `type` is `Bot`. A name that ends in `[bot]` proves nothing either way.
    pub bot: bool,
}
