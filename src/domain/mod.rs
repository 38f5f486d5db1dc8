//! The words every room shares: ids, events, jobs, diffs, findings, outcomes, the clock, secrets.
//!
//! Promise: a value of these types is already checked; nobody checks it again.
//! Never: no I/O, no SQL, no HTTP, no wire format of somebody else. `domain` imports only `stdx`.

pub mod checks;
pub mod clock;
pub mod credential;
pub mod diff;
pub mod event;
pub mod finding;
pub mod ids;
pub mod job;
pub mod linters;
pub mod outcome;
pub mod ready;
pub mod redact;
pub mod secret;
pub mod untrusted;
pub mod verb;

pub use checks::{Checks, Commands};
pub use clock::{Clock, Millis};
pub use credential::{Credential, Identity};
pub use diff::{ChangeKind, DiffLine, FileDiff, Hunk, LineKind};
pub use event::{
    Action, CommentAction, CommentEvent, Event, InstallationAction, InstallationEvent, Issue, IssueAction, IssueEvent,
    Place, PullActivity, PullEvent, Sender,
};
pub use finding::{Category, Finding, Fingerprint, Fix, RuleId, Severity, Span};
pub use ids::{
    CodebaseId, CommentId, DeliveryId, InstallationId, IssueNumber, JobId, PullNumber, RepoName, RepositoryId,
    ReviewId, RunId, Sha,
};
pub use job::{
    Asker, AuditTarget, Class, CommandTarget, ContributeTarget, FixTarget, Job, MonitorTarget, Pinned, ReviewTarget,
    TestTarget, UnknownWord, audit_key, command_group, contribution_key, fix_group, issue_group, test_group,
};
pub use linters::{LINTERS, LinterRun, Linters};
pub use outcome::{AbsentReviewer, Coverage, NotRead, OnUnreviewed, Outcome, Reading, Subject};
pub use ready::Ready;
pub use redact::redact;
pub use secret::Secret;
pub use untrusted::Untrusted;
pub use verb::{Conversation, Verb};
