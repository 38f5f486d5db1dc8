//! What we answer people, as data. `publish::render` makes the Markdown of it.

use serde::{Deserialize, Serialize};

use crate::domain::{CommentId, Conversation, IssueNumber, PullNumber, RunId, Untrusted, Verb};

/// One thing said in a conversation, in a comment of ours that is edited in place when there is more to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyIntent {
    pub number: IssueNumber,
    pub about: About,
    /// The run that speaks; absent where there was none.
    pub run: Option<RunId>,
    pub reply: Reply,
}

/// What a comment of ours is about: one comment each, found again by its marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "kebab-case")]
pub enum About {
    /// The answer to a comment's commands: one section a topic, in order of first mention.
    Comment { comment: CommentId, topic: String },
    /// The contribution to this issue.
    Contribution,
    /// A person who asked for what they may not: told once a conversation and verb.
    Refusal { actor: u64, verb: String },
    /// Too many commands in this conversation.
    Breaker { hour: i64 },
    /// Our pull request waits for people, and nobody came: told once a pull request.
    Escalation,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    Help {
        /// Rows of versions that listed everything everywhere do not say it.
        #[serde(default)]
        on: Conversation,
    },
    /// `nearest` is what was probably meant.
    Unknown {
        word: String,
        nearest: Option<Verb>,
    },
    /// The asker may not. `needs` is what they would need, `has` what GitHub says they have.
    Refused {
        login: String,
        what: String,
        has: String,
    },
    /// Too many commands; the next ones are answered after this many minutes.
    TooMany {
        minutes: u64,
    },
    /// The verb makes no sense here, and why.
    NotHere {
        verb: Verb,
        why: String,
    },
    Status(Status),
    Cancelled {
        jobs: u64,
    },
    Retried {
        what: String,
    },
    NothingToRetry,
    ReviewAsked {
        head: String,
        already: bool,
    },
    /// Under way; replaced by the outcome.
    Working {
        what: String,
    },
    /// A commit with mechanical fixes was pushed.
    Fixed {
        commit: String,
        files: usize,
        fixes: Vec<FixNote>,
        left: usize,
    },
    NothingToFix {
        why: String,
    },
    /// Nothing was run: a fork's head, or another commit than the one that was named, is run only by its name.
    NameTheHead {
        /// Whole.
        head: String,
        named: Option<String>,
        fork: bool,
    },
    /// The repository's own checks over a pull request's head; none where there are none.
    Tested {
        head: String,
        /// What the head is by now, where it has moved.
        moved: Option<String>,
        checks: Vec<TestedCheck>,
    },
    /// The issue has its pull request.
    PullOpened {
        number: PullNumber,
        adopted: bool,
        draft: bool,
    },
    /// Somebody's open pull request addresses the issue already.
    AlreadyAddressed {
        number: PullNumber,
        author: String,
    },
    /// No mechanic of ours solves the issue: what was understood, how it could be done, what would help.
    CannotSolve {
        understood: Vec<String>,
        plan: Vec<String>,
        files: Vec<String>,
        why: Vec<String>,
    },
    /// The issue is not worked on: locked, or the like.
    Declined {
        why: String,
    },
    /// Our pull request waits for what only people can do.
    Escalated {
        stalled: Vec<Stalled>,
        /// For so many days nobody reacted.
        days: u32,
    },
    /// It was tried and did not work out; the hint says what a person can do.
    Failed {
        what: String,
        why: String,
        hint: Option<String>,
    },
}

/// What nobody has reacted to. Times are ISO 8601, UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stalled", rename_all = "kebab-case")]
pub enum Stalled {
    /// Somebody who may write to the repository asked for changes.
    ChangesRequested { by: String, since: String },
    /// These checks fail on the pull request's head.
    ChecksFailed { checks: Vec<String>, since: String },
}

/// One command and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestedCheck {
    /// `format`, `lint`, `build`, `test`.
    pub kind: String,
    pub command: String,
    /// The folder; empty for the root.
    pub dir: String,
    pub outcome: TestedOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum TestedOutcome {
    /// `numbers` is `3 passed, 1 skipped`, or nothing where nobody counted.
    Passed {
        numbers: String,
        millis: u64,
    },
    Failed {
        why: String,
        numbers: String,
        millis: u64,
        /// Tests or files, and how many more there are.
        names: Vec<String>,
        more: usize,
        /// The end of what it printed.
        tail: Untrusted,
        /// The same failed before the change.
        before: bool,
    },
    NotRun {
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixNote {
    pub rule: String,
    pub path: String,
    pub line: u32,
}

/// What was done here and what runs, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub running: Vec<StatusLine>,
    pub recent: Vec<StatusLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusLine {
    /// `review`, `fix`, `test`, `contribute`.
    pub what: String,
    /// Abbreviated commit, where there is one.
    pub head: Option<String>,
    /// `running`, `waiting`, `finished`, `failed`, `cancelled`.
    pub state: String,
    /// One line: the outcome, or why it failed.
    pub detail: String,
    /// ISO 8601, UTC, to the minute.
    pub at: String,
}
