//! What can go wrong with git, and whether waiting helps.

use std::path::PathBuf;
use std::time::Duration;

use crate::domain::Sha;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    // The git server.
    #[error("`{url}` is not an address to fetch from: {why}")]
    Address { url: String, why: &'static str },
    #[error("{origin} refused the credentials for this repository")]
    Unauthorized { origin: String },
    #[error("{origin} has no such repository, or does not show it to us")]
    RepositoryGone { origin: String },
    #[error("{origin} answered with a redirect to {to}, which is not followed")]
    Redirected { origin: String, to: String },
    #[error("{origin} answered with status {status}")]
    Status { origin: String, status: u16 },
    #[error("{origin} did not speak git's protocol: {why}")]
    Protocol { origin: String, why: String },
    #[error("{origin} could not be reached")]
    Network {
        origin: String,
        #[source]
        source: reqwest::Error,
    },
    #[error("{origin} was silent for {after:?}")]
    Stalled { origin: String, after: Duration },
    #[error("bringing the repository from {origin} took longer than {after:?}")]
    Timeout { origin: String, after: Duration },
    #[error("the branch `{branch}` does not exist on the server")]
    BaseGone { branch: String },
    #[error("the pull request's head is {}, not {wanted}", now.as_ref().map_or("gone", Sha::as_str))]
    HeadMoved { wanted: Sha, now: Option<Sha> },
    #[error("the repository on {origin} has no commit yet")]
    Empty { origin: String },
    #[error("the branch `{branch}` is {} on the server, which is not what was expected", now.as_ref().map_or("absent", Sha::as_str))]
    BranchMoved { branch: String, now: Option<Sha> },
    #[error("the server did not take the push to `{branch}`: {reason}")]
    PushRejected { branch: String, reason: String },
    #[error("cancelled")]
    Cancelled,

    // What we write.
    #[error("`{path}` is not written: {why}")]
    Refused { path: String, why: String },
    #[error("`{branch}` is not a name for a branch")]
    BranchName { branch: String },

    // Any repository.
    #[error("{what} is more than the limit of {limit}")]
    TooLarge { what: &'static str, limit: String },
    #[error("`{base}` and `{head}` have no common ancestor{}", if *shallow { " in this shallow clone" } else { "" })]
    NoMergeBase { base: String, head: String, shallow: bool },
    #[error("{doing} failed: {}", source.message())]
    Git {
        doing: &'static str,
        #[source]
        source: git2::Error,
    },
    #[error("`{path}` could not be used")]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{0}")]
    Unsupported(&'static str),
    #[error("reading the repository was interrupted")]
    Interrupted,

    // What a mirror still holds.
    #[error("there is no mirror that can be read in `{folder}`")]
    NoMirror { folder: PathBuf },
    #[error("the mirror does not hold the commit {commit} any more")]
    CommitGone { commit: Sha },

    // A local repository.
    #[error("`{path}` does not exist")]
    NoSuchPath { path: PathBuf },
    #[error("`{path}` is not inside a git repository")]
    NotARepository { path: PathBuf },
    #[error("`{path}` belongs to another user, so git does not trust it")]
    ForeignOwner { path: PathBuf },
    #[error("`{path}` is a bare repository: it has no work tree")]
    Bare { path: PathBuf },
    #[error("`{path}` has no commit yet")]
    Unborn { path: PathBuf },
    #[error("the branch `{branch}` exists already")]
    BranchExists { branch: String },
    #[error("`{path}` was changed since it was read")]
    FileChanged { path: String },
    #[error("`{revision}` is not a commit here{}", nearest(nearest_names))]
    UnknownRevision { revision: String, nearest_names: Vec<String> },
}

impl Error {
    /// Whether the same call may succeed later, with nothing changed by us.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Network { .. }
            | Self::Stalled { .. }
            | Self::Timeout { .. }
            | Self::Protocol { .. }
            | Self::Interrupted
            | Self::Git { .. }
            | Self::Io { .. }
            // GitHub moves `refs/pull/N/head` some moments after it sends the event.
            | Self::HeadMoved { .. } => true,
            Self::Status { status, .. } => *status == 429 || *status == 408 || *status >= 500,
            // Unless the token was old: who mints tokens may try once more with a new one.
            Self::Unauthorized { .. }
            | Self::Address { .. }
            | Self::RepositoryGone { .. }
            | Self::Redirected { .. }
            | Self::BaseGone { .. }
            | Self::Empty { .. }
            | Self::BranchMoved { .. }
            | Self::PushRejected { .. }
            | Self::Refused { .. }
            | Self::BranchName { .. }
            | Self::BranchExists { .. }
            | Self::FileChanged { .. }
            | Self::Cancelled
            | Self::TooLarge { .. }
            | Self::NoMergeBase { .. }
            | Self::Unsupported(_)
            | Self::NoMirror { .. }
            | Self::CommitGone { .. }
            | Self::NoSuchPath { .. }
            | Self::NotARepository { .. }
            | Self::ForeignOwner { .. }
            | Self::Bare { .. }
            | Self::Unborn { .. }
            | Self::UnknownRevision { .. } => false,
        }
    }

    /// What the reader can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unauthorized { .. } => Some(
                "check that the App is installed on the repository and may read its contents, and write them to push",
            ),
            Self::RepositoryGone { .. } => {
                Some("check the repository's name and that the App is installed on it with read access to contents")
            }
            Self::Redirected { .. } => Some("configure the address that the server redirects to, if you trust it"),
            Self::BaseGone { .. } => Some("the branch was deleted or renamed: point the pull request at another base"),
            Self::Empty { .. } => Some("push a first commit to the default branch"),
            Self::BranchMoved { .. } => Some("somebody else wrote to the branch: look at it, then try again"),
            Self::PushRejected { .. } => {
                Some("look at the branch's protection rules and at what the App may write, then try again")
            }
            Self::Refused { .. } => Some("leave this path out of the change"),
            Self::BranchName { .. } => Some("use letters, digits, `-`, `_`, `.` and `/`"),
            Self::BranchExists { .. } => Some("choose another name, or delete the branch"),
            Self::FileChanged { .. } => Some("nothing was written: run it again on the files as they are now"),
            Self::HeadMoved { .. } => Some("a newer push is reviewed in its own run"),
            Self::TooLarge { .. } => Some("review a smaller part, or raise the limit"),
            Self::NoMergeBase { shallow: true, .. } => {
                Some("fetch more history: `git fetch --unshallow`, or `fetch-depth: 0` in actions/checkout")
            }
            Self::NoMergeBase { shallow: false, .. } => Some("the two histories are unrelated: choose another base"),
            Self::NotARepository { .. } => {
                Some("run it inside a git repository; only `octoswarm scan` reads files without git")
            }
            Self::ForeignOwner { .. } => Some("run as the owner of the files, or make the files yours with chown"),
            Self::Bare { .. } => {
                Some("clone it and work there; `octoswarm review` can also name both sides: --base main --head topic")
            }
            Self::Unborn { .. } => Some("commit something first; only `octoswarm scan` reads files without a commit"),
            Self::UnknownRevision { .. } => Some("name a branch, a tag or a commit id; `git branch -a` lists branches"),
            Self::NoMirror { .. } | Self::CommitGone { .. } => {
                Some("the server fetches what it needs when it works on the repository the next time")
            }
            Self::Address { .. } => Some("use https, or http on a loopback address"),
            Self::Status { .. }
            | Self::Protocol { .. }
            | Self::Network { .. }
            | Self::Stalled { .. }
            | Self::Timeout { .. } => Some("check that the git server is up and reachable from here"),
            Self::Cancelled
            | Self::Git { .. }
            | Self::Io { .. }
            | Self::Unsupported(_)
            | Self::Interrupted
            | Self::NoSuchPath { .. } => None,
        }
    }

    /// The repository on disk itself seems damaged: reading it again cannot help, having it anew can.
    pub(super) fn blames_the_disk(&self) -> bool {
        match self {
            Self::Git { source, .. } => source.class() != git2::ErrorClass::Net,
            Self::Io { .. } => true,
            _ => false,
        }
    }
}

fn nearest(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("; near to it: {}", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// Says what was being done when libgit2 failed.
pub(super) trait Doing<T> {
    fn doing(self, what: &'static str) -> Result<T, Error>;
}

impl<T> Doing<T> for Result<T, git2::Error> {
    fn doing(self, what: &'static str) -> Result<T, Error> {
        self.map_err(|source| Error::Git { doing: what, source })
    }
}

/// Says which path an I/O error is about.
pub(super) trait AtPath<T> {
    fn at(self, path: impl Into<PathBuf>) -> Result<T, Error>;
}

impl<T> AtPath<T> for std::io::Result<T> {
    fn at(self, path: impl Into<PathBuf>) -> Result<T, Error> {
        self.map_err(|source| Error::Io { path: path.into(), source })
    }
}
