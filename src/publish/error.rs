//! Why something was not said.

use crate::domain::{Class, Sha};
use crate::{github, store, workspace};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Github(#[from] github::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// The pull request was closed or got another head: what we had to say is about something that is past.
    #[error("nothing was posted: {0}")]
    Superseded(String),
    /// A branch of that name is there, and its tip is not our work.
    #[error("the branch `{branch}` exists already and its latest commit is not octoswarm's work on this")]
    Taken { branch: String },
    /// A protected branch, a rule, a missing permission: in GitHub's own words.
    #[error("GitHub did not take the commit on `{branch}`: {reason}")]
    Rejected { branch: String, reason: String },
    /// The same, because the commit is not signed: GitHub signs what its API makes.
    #[error("GitHub takes only signed commits on `{branch}`: {reason}")]
    SignatureRequired { branch: String, reason: String },
    /// GitHub made another tree of our edits than we did.
    #[error("GitHub made the tree {theirs} of the change, not {ours}")]
    OtherTree { ours: Sha, theirs: Sha },
    #[error("there is nothing to open a pull request with: `{base}` has all commits of `{branch}`")]
    NoCommits { branch: String, base: String },
}

impl Error {
    /// The only question the queue ever asks of an error.
    pub fn class(&self) -> Class {
        match self {
            Self::Github(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Workspace(workspace::Error::Cancelled) | Self::Superseded(_) => Class::Cancelled,
            // A token may have been revoked since it was made; the next attempt asks for another.
            Self::Workspace(workspace::Error::Unauthorized { .. }) => Class::Retry,
            Self::Workspace(error) if error.is_transient() => Class::Retry,
            Self::Workspace(_)
            | Self::Taken { .. }
            | Self::Rejected { .. }
            | Self::SignatureRequired { .. }
            | Self::OtherTree { .. }
            | Self::NoCommits { .. } => Class::Discard,
        }
    }

    /// What the reader can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Github(error) => error.hint(),
            Self::Store(error) => error.hint().map(str::to_owned),
            Self::Workspace(error) => error.hint().map(str::to_owned),
            Self::Superseded(_) => None,
            Self::Taken { .. } => {
                Some("delete or rename the branch, then ask again; nothing was written to it".to_owned())
            }
            Self::Rejected { branch, reason } => Some(rejected(branch, reason)),
            Self::SignatureRequired { .. } => Some(
                "set `commits: api` in `.github/octoswarm.yml`, so that GitHub makes the commit and signs it"
                    .to_owned(),
            ),
            Self::OtherTree { .. } => Some("nothing was pushed; ask again, and report this if it stays".to_owned()),
            Self::NoCommits { .. } => {
                Some("the change is there already; close the issue, or say what is still missing".to_owned())
            }
        }
    }
}

/// What mends a refused push, as far as GitHub's words tell.
fn rejected(branch: &str, reason: &str) -> String {
    let reason = reason.to_ascii_lowercase();
    if reason.contains("workflow") {
        return "octoswarm never has the permission to change workflows; make that part of the change by hand"
            .to_owned();
    }
    if reason.contains("secret") {
        return "take the secret out of the change; GitHub's push protection names the place".to_owned();
    }
    if ["protected", "rule", "gh006", "gh013"].iter().any(|word| reason.contains(word)) {
        return format!(
            "let the App bypass the rule for branches like `{branch}`, in the repository's rules or branch protection"
        );
    }
    if ["reference update failed", "cannot lock ref", "failed to update ref"].iter().any(|word| reason.contains(word)) {
        return format!(
            "a branch may stand in the way whose name begins or ends where `{branch}` has a `/`: rename that one"
        );
    }
    "check that the App may write contents here and that the repository is not archived; nothing was pushed".to_owned()
}
