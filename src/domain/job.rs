//! What must still happen after GitHub has been answered. Stored as JSON in the job's row, so old shapes must stay readable.

use serde::{Deserialize, Serialize};

use super::clock::Millis;
use super::event::{Issue, Place, Sender};
use super::ids::{
    CodebaseId, CommentId, DeliveryId, InstallationId, IssueNumber, PullNumber, RepoName, RepositoryId, ReviewId, Sha,
};
use super::verb::Verb;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Job {
    /// Read a stored delivery and decide what it asks for.
    Delivery { guid: DeliveryId },
    /// Review a pull request at one head commit.
    Review(ReviewTarget),
    /// Obey the commands of one comment.
    Command(Box<CommandTarget>),
    /// Commit the mechanical fixes that remain in a pull request.
    Fix(FixTarget),
    /// Run the repository's own checks over a pull request's head.
    Test(TestTarget),
    /// Make the change that an issue asks for, and open a pull request with it.
    Contribute(Box<ContributeTarget>),
    /// Look at what has become of a pull request that we opened for an issue.
    Monitor(MonitorTarget),
    /// Review an uploaded codebase.
    Audit(AuditTarget),
}

/// One review of an uploaded codebase; the same codebase may have several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditTarget {
    pub codebase: CodebaseId,
    pub review: ReviewId,
}

/// The commands of one comment, by one person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandTarget {
    pub place: Place,
    pub issue: Issue,
    /// The pull request's head and base when the command was given; absent on an issue.
    pub pinned: Option<Pinned>,
    pub comment: CommentId,
    /// SHA-256 of the comment's text: an edited comment is another request.
    pub text: String,
    pub verbs: Vec<Verb>,
    /// The commit that `test` names, as it was written in lower case: 7 hex digits or more.
    #[serde(default)]
    pub commit: Option<String>,
    pub unknown: Vec<UnknownWord>,
    pub by: Sender,
}

/// The first word after the prefix that is no verb.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownWord {
    /// As it was written.
    pub word: String,
    /// What was probably meant.
    pub nearest: Option<Verb>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    pub head: Sha,
    pub base_ref: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixTarget {
    pub place: Place,
    pub number: PullNumber,
    /// The head when the command was given; nothing is pushed onto another one.
    pub head: Sha,
    pub base_ref: String,
    /// Where the answer goes.
    pub comment: CommentId,
    pub by: Sender,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestTarget {
    pub place: Place,
    pub number: PullNumber,
    /// The head when the command was obeyed; no other commit is run.
    pub head: Sha,
    /// The asker named this commit. A fork's is not run without.
    pub named: bool,
    /// Where the answer goes.
    pub comment: CommentId,
    pub by: Sender,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContributeTarget {
    pub place: Place,
    pub issue: Issue,
    pub by: Asker,
    /// The command's comment, where the answer goes; absent for a label and for a sweep.
    pub comment: Option<CommentId>,
}

/// On whose word a contribution is made. What has to hold when the work begins differs: a person must still be allowed to
/// write, and for a sweep the repository must still want it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Asker {
    /// Who set the label or gave the command.
    Person(Sender),
    /// Nobody: the scout chose the issue, because the repository's configuration has its sweeps on.
    Sweep { swept_at: Millis },
}

impl Asker {
    /// `None` for a sweep.
    pub fn person(&self) -> Option<&Sender> {
        match self {
            Self::Person(sender) => Some(sender),
            Self::Sweep { .. } => None,
        }
    }

    pub fn is_sweep(&self) -> bool {
        self.person().is_none()
    }
}

/// A pull request that is followed until it is merged or closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorTarget {
    pub place: Place,
    pub number: PullNumber,
    /// Asked for while the other one of the two was running: what that one has read may be older than the event.
    #[serde(default)]
    pub again: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewTarget {
    pub installation: InstallationId,
    pub repository: RepositoryId,
    pub repo: RepoName,
    pub number: PullNumber,
    pub head: Sha,
    pub base_ref: String,
    /// Asked for by a person ("Re-run"): done even if this head was reviewed before.
    #[serde(default)]
    pub forced: bool,
}

impl Job {
    /// Every `kind` there is.
    pub const KINDS: [&'static str; 8] =
        ["delivery", "review", "command", "fix", "test", "contribute", "monitor", "audit"];

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Delivery { .. } => "delivery",
            Self::Review(_) => "review",
            Self::Command(_) => "command",
            Self::Fix(_) => "fix",
            Self::Test(_) => "test",
            Self::Contribute(_) => "contribute",
            Self::Monitor(_) => "monitor",
            Self::Audit(_) => "audit",
        }
    }

    /// Two unfinished jobs with one key cannot exist; the database refuses the second.
    pub fn unique_key(&self) -> String {
        match self {
            Self::Delivery { guid } => format!("delivery/{guid}"),
            Self::Review(target) => target.key(),
            Self::Command(target) => target.key(),
            Self::Fix(target) => target.key(),
            Self::Test(target) => target.key(),
            Self::Contribute(target) => target.key(),
            Self::Monitor(target) => target.key(),
            Self::Audit(target) => target.key(),
        }
    }

    /// Jobs of one group never run at the same time: a pull request is reviewed by one worker.
    pub fn group_key(&self) -> Option<String> {
        match self {
            Self::Delivery { .. } | Self::Audit(_) => None,
            Self::Review(target) => Some(target.group()),
            Self::Command(target) => Some(target.group()),
            Self::Fix(target) => Some(target.group()),
            Self::Test(target) => Some(target.group()),
            Self::Contribute(target) => Some(target.group()),
            Self::Monitor(target) => Some(target.group()),
        }
    }
}

impl ReviewTarget {
    /// `review/<repository id>/<number>@<head>`; also the check run's `external_id` and the root of effect keys.
    pub fn key(&self) -> String {
        format!("review/{}/{}@{}", self.repository, self.number, self.head)
    }

    /// `pull/<repository id>/<number>`.
    pub fn group(&self) -> String {
        format!("pull/{}/{}", self.repository, self.number)
    }
}

impl CommandTarget {
    /// `command/<repository id>/<comment id>@<text>`.
    pub fn key(&self) -> String {
        format!("command/{}/{}@{}", self.place.repository, self.comment, &self.text[..self.text.len().min(16)])
    }

    /// Commands of one conversation are obeyed in their order.
    pub fn group(&self) -> String {
        command_group(self.place.repository, self.issue.number)
    }
}

impl FixTarget {
    /// `fix/<repository id>/<number>@<head>`.
    pub fn key(&self) -> String {
        format!("fix/{}/{}@{}", self.place.repository, self.number, self.head)
    }

    /// Its own: the push that a fix makes must not end the fix, as it ends reviews of the older head.
    pub fn group(&self) -> String {
        fix_group(self.place.repository, self.number)
    }

    /// The review of the same head.
    pub fn review(&self) -> ReviewTarget {
        ReviewTarget {
            installation: self.place.installation,
            repository: self.place.repository,
            repo: self.place.repo.clone(),
            number: self.number,
            head: self.head.clone(),
            base_ref: self.base_ref.clone(),
            forced: false,
        }
    }
}

impl TestTarget {
    /// `test/<repository id>/<number>@<head>`.
    pub fn key(&self) -> String {
        format!("{}@{}", self.group(), self.head)
    }

    /// Its own: a review need not wait for it.
    pub fn group(&self) -> String {
        test_group(self.place.repository, self.number)
    }
}

impl ContributeTarget {
    /// `contribute/<repository id>/<issue>`: also what marks the branch's commit and the pull request.
    pub fn key(&self) -> String {
        contribution_key(self.place.repository, self.issue.number)
    }

    /// `issue/<repository id>/<number>`.
    pub fn group(&self) -> String {
        issue_group(self.place.repository, self.issue.number)
    }
}

impl MonitorTarget {
    /// `monitor/<repository id>/<number>`, and the same with `@again`: at most one waits while at most one runs, however many
    /// events come.
    pub fn key(&self) -> String {
        let group = self.group();
        if self.again { format!("{group}@again") } else { group }
    }

    /// `monitor/<repository id>/<number>`.
    pub fn group(&self) -> String {
        format!("monitor/{}/{}", self.place.repository, self.number)
    }
}

impl AuditTarget {
    /// `audit/<review id>`: by it the review is found again.
    pub fn key(&self) -> String {
        audit_key(&self.review)
    }
}

/// `audit/<review id>`.
pub fn audit_key(review: &ReviewId) -> String {
    format!("audit/{review}")
}

/// `contribute/<repository id>/<issue>`.
pub fn contribution_key(repository: RepositoryId, issue: IssueNumber) -> String {
    format!("contribute/{repository}/{issue}")
}

/// `fix/<repository id>/<number>`.
pub fn fix_group(repository: RepositoryId, pull: PullNumber) -> String {
    format!("fix/{repository}/{pull}")
}

/// `test/<repository id>/<number>`.
pub fn test_group(repository: RepositoryId, pull: PullNumber) -> String {
    format!("test/{repository}/{pull}")
}

/// `command/<repository id>/<number>`.
pub fn command_group(repository: RepositoryId, number: IssueNumber) -> String {
    format!("command/{repository}/{number}")
}

/// `issue/<repository id>/<number>`.
pub fn issue_group(repository: RepositoryId, issue: IssueNumber) -> String {
    format!("issue/{repository}/{issue}")
}

/// What the queue does about a failure: the only question it asks of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Trying again cannot help.
    Discard,
    /// Try again with backoff.
    Retry,
    /// Try again no sooner than this; GitHub said so.
    RetryAfter(std::time::Duration),
    /// The job was cancelled or overtaken; not a failure.
    Cancelled,
    /// Not yet: wait this long; uses up no attempt.
    Snooze(std::time::Duration),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asked_is_read_from_rows_of_earlier_versions_too() {
        let person = Asker::Person(Sender { id: 7, login: "ada".into(), bot: false });
        let row = r#"{"id":7,"login":"ada","bot":false}"#;
        assert_eq!(serde_json::from_str::<Asker>(row).unwrap(), person);
        assert_eq!(serde_json::to_string(&person).unwrap(), row);
        let sweep = Asker::Sweep { swept_at: 12 };
        assert_eq!(serde_json::from_str::<Asker>(&serde_json::to_string(&sweep).unwrap()).unwrap(), sweep);
    }
}
