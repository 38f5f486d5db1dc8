//! What a delivery means to us, after GitHub's JSON has been left behind in `github::payload`.

use super::ids::{InstallationId, PullNumber, RepoName, RepositoryId, Sha};

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    pub id: u64,
    pub login: String,
    /// GitHub's `type` is `Bot`. A name that ends in `[bot]` proves nothing either way.
    pub bot: bool,
}
