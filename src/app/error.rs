//! Why a use case failed, and what the queue should do about it.

use std::time::Duration;

use crate::domain::Class;
use crate::stdx::text::count;
use crate::{agent, analysis, config, github, mailbox, pipeline, publish, store, workspace};

/// How soon a contribution asks again for its turn.
const BUSY: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Config(#[from] config::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Github(#[from] github::Error),
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    #[error(transparent)]
    Analysis(#[from] analysis::Error),
    #[error("the workers that read files cannot be had")]
    Parsers(#[source] std::io::Error),
    #[error(transparent)]
    Pipeline(#[from] pipeline::Error),
    #[error(transparent)]
    Publish(#[from] publish::Error),
    #[error(transparent)]
    Mailbox(#[from] mailbox::Error),
    /// The plan could not be kept as the documents of a change.
    #[error(transparent)]
    Change(#[from] super::change::Written),
    #[error("the repository's own checks could not be tried")]
    Trial(#[from] agent::trial::Error),
    /// The pull request moved on, was closed, or the job was cancelled: nothing failed.
    #[error("{0}")]
    Overtaken(String),
    /// The repository's swarm is at another issue.
    #[error("another issue of this repository is being worked on")]
    Busy,
    /// As many codebases are under review as may be at once.
    #[error("other codebases are being reviewed; this one waits for its turn")]
    Queued,
    /// Every attempt but the last one failed or died; the last one is for saying so.
    #[error("octoswarm gave up after {}: {last}", count(*.attempts, "attempt"))]
    GivenUp { attempts: usize, last: String },
    #[error("the private key cannot be used")]
    Key(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Runs(#[from] super::runs::Problem),
    /// A defect of ours: a part of the work died on its thread.
    #[error("{what} stopped unexpectedly")]
    Died { what: &'static str, source: tokio::task::JoinError },
    /// What a run would leave cannot be kept.
    #[error(transparent)]
    Shelf(#[from] crate::artifact::shelf::Error),
    #[error("{0}")]
    Path(String),
}

impl Error {
    /// For whoever waits for a thread.
    pub(super) fn died(what: &'static str) -> impl FnOnce(tokio::task::JoinError) -> Self {
        move |source| Self::Died { what, source }
    }

    pub fn class(&self) -> Class {
        match self {
            Self::Github(e) => e.class(),
            Self::Publish(e) => e.class(),
            Self::Workspace(workspace::Error::Cancelled) => Class::Cancelled,
            // A token may have been revoked since it was made; the next attempt asks for another.
            Self::Workspace(workspace::Error::Unauthorized { .. }) => Class::Retry,
            Self::Workspace(e) if e.is_transient() => Class::Retry,
            Self::Store(e) => e.class(),
            Self::Trial(agent::trial::Error::Cancelled) => Class::Cancelled,
            Self::Trial(agent::trial::Error::Workspace(e)) if e.is_transient() => Class::Retry,
            // Room on a disk comes and goes.
            Self::Trial(agent::trial::Error::Disk(_)) => Class::Retry,
            // The disk's; a document that is not valid is part of the review's outcome.
            Self::Shelf(_) => Class::Retry,
            Self::Overtaken(_) => Class::Cancelled,
            Self::Busy | Self::Queued => Class::Snooze(BUSY),
            Self::Pipeline(e) if e.is_cancelled() => Class::Cancelled,
            Self::Pipeline(pipeline::Error::Store(e)) => e.class(),
            Self::Pipeline(pipeline::Error::Agent { source, .. }) if may_pass(source) => Class::Retry,
            Self::Config(_)
            | Self::Workspace(_)
            | Self::Trial(_)
            | Self::Analysis(_)
            | Self::Pipeline(_)
            | Self::Mailbox(_)
            | Self::Change(_)
            | Self::GivenUp { .. }
            | Self::Key(_)
            | Self::Runs(_)
            | Self::Died { .. }
            | Self::Parsers(_)
            | Self::Path(_) => Class::Discard,
        }
    }

    /// GitHub is away, or does not know us for the moment: nothing that this job could do better.
    pub fn is_outage(&self) -> bool {
        use workspace::Error as Git;
        match self {
            Self::Github(error) | Self::Publish(publish::Error::Github(error)) => matches!(
                error.root(),
                github::Error::Unauthorized { .. }
                    | github::Error::Server { .. }
                    | github::Error::Network { .. }
                    | github::Error::Timeout { .. }
            ),
            Self::Workspace(error) | Self::Publish(publish::Error::Workspace(error)) => match error {
                Git::Network { .. } | Git::Stalled { .. } => true,
                Git::Status { status, .. } => *status >= 500,
                _ => false,
            },
            _ => false,
        }
    }

    /// GitHub does not know what we ask for: gone, hidden, or not there yet.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Github(error) | Self::Publish(publish::Error::Github(error)) => {
                matches!(error.root(), github::Error::NotFound { .. })
            }
            _ => false,
        }
    }

    /// What to do about it, for whoever reads the message.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Config(e) => e.hint().map(str::to_owned),
            Self::Github(e) => e.hint().map(|hint| hint.to_string()),
            Self::Workspace(e) => e.hint().map(|hint| hint.to_string()),
            Self::Store(e) => e.hint().map(str::to_owned),
            Self::Publish(e) => e.hint(),
            Self::Runs(e) => e.hint(),
            Self::Mailbox(e) => e.hint().map(str::to_owned),
            Self::Change(e) => e.hint(),
            _ => None,
        }
    }

    /// The user asked for something that is not there: a path, a revision, a repository.
    pub fn is_usage(&self) -> bool {
        use workspace::Error as Git;
        match self {
            Self::Runs(e) => e.is_usage(),
            Self::Change(e) => e.is_usage(),
            Self::Config(_) | Self::Path(_) | Self::Key(_) | Self::Github(github::Error::PrivateKey(_)) => true,
            Self::Workspace(e) => matches!(
                e,
                Git::NoSuchPath { .. }
                    | Git::NotARepository { .. }
                    | Git::Bare { .. }
                    | Git::Unborn { .. }
                    | Git::UnknownRevision { .. }
                    | Git::NoMergeBase { .. }
                    | Git::BranchName { .. }
                    | Git::BranchExists { .. }
            ),
            _ => false,
        }
    }

    /// The whole chain in one line: message, then each source.
    pub fn chain(&self) -> String {
        crate::stdx::error::chain(self)
    }
}

/// The step was tried as often as its agent's policy allows; the other attempts at the job come later, and that may help.
fn may_pass(error: &agent::Error) -> bool {
    match error {
        // A scanner that died once may have met a loaded machine.
        agent::Error::Scanner { .. } => true,
        agent::Error::Reported(error) => error.recoverable,
        error => error.is_transient(),
    }
}
