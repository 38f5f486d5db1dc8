//! What the repository's own checks say of a change of ours, before anybody sees it.

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::bench::Bench;
use super::{App, Error};
use crate::agent::REPOSITORY_CHECKS;
use crate::agent::checks::{Check, checks};
use crate::agent::trial::{self, Outcome, Subject, Tried, numbers};
use crate::artifact::PullDraft;
use crate::artifact::draft::{CheckNote, CheckOutcome};
use crate::artifact::reply::{TestedCheck, TestedOutcome};
use crate::config::RepoConfig;
use crate::domain::Checks;
use crate::pipeline::Journal;
use crate::sandbox::Trust;
use crate::stdx::text::count;
use crate::workspace::Tree;

/// Names that are told of one check.
const NAMES: usize = 20;

/// What came of them.
pub(super) struct Checked {
    pub(super) draft: PullDraft,
    /// They have to pass and do not: one reason each.
    pub(super) against: Vec<String>,
}

impl App {
    /// Runs them over `new` and writes what they say into the draft. Which there are is read from `base`, where no change of a
    /// stranger's can have added any.
    pub(super) async fn checked(
        &self,
        repository: &str,
        (base, new): (&Tree, &Tree),
        config: &RepoConfig,
        draft: PullDraft,
        journal: &Journal,
        cancel: &CancellationToken,
    ) -> Result<Checked, Error> {
        let notes = match config.checks {
            Checks::Off => vec![not_run("this repository's configuration has switched them off")],
            Checks::Auto | Checks::Require => {
                let all = checks(base, &config.commands).await.map_err(super::contribute::of_agent)?;
                let subject = Subject { repository, tree: new, base: Some(base), trust: Trust::Default };
                let tried = tried(&self.bench, subject, &all, None, cancel).await?;
                journal.say(&said(&tried)).await?;
                if tried.is_empty() {
                    vec![not_run("none were found in this repository")]
                } else {
                    trial::notes(&tried)
                }
            }
        };
        let against = match config.checks {
            Checks::Require => notes.iter().filter_map(against).collect(),
            Checks::Auto | Checks::Off => Vec::new(),
        };
        Ok(Checked { draft: with(draft, notes), against })
    }
}

pub(super) async fn tried(
    bench: &Bench,
    subject: Subject<'_>,
    all: &[Check],
    told: Option<&UnboundedSender<String>>,
    cancel: &CancellationToken,
) -> Result<Vec<Tried>, Error> {
    let at = trial::Bench { sandbox: bench.sandbox().await, limits: bench.limits(), cache: bench.cache(), told };
    Ok(trial::trial(at, subject, all, cancel).await?)
}

/// As it is told.
pub(super) fn tested(Tried { check, outcome }: &Tried) -> TestedCheck {
    let numbers = |counts| numbers(counts).trim_start_matches(": ").to_owned();
    let millis = |took: std::time::Duration| u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let outcome = match outcome {
        Outcome::Passed { counts, took } => {
            TestedOutcome::Passed { numbers: numbers(counts.as_ref()), millis: millis(*took) }
        }
        Outcome::Failed(failure) => TestedOutcome::Failed {
            why: failure.why.clone(),
            numbers: numbers(failure.counts.as_ref()),
            millis: millis(failure.took),
            names: failure.names.iter().take(NAMES).cloned().collect(),
            more: failure.names.len().saturating_sub(NAMES),
            tail: failure.tail.clone(),
            before: failure.before,
        },
        Outcome::NotRun { why } => TestedOutcome::NotRun { why: why.clone() },
    };
    TestedCheck { kind: check.kind.name().to_owned(), command: check.line.clone(), dir: check.dir.clone(), outcome }
}

fn not_run(why: &str) -> CheckNote {
    CheckNote { what: REPOSITORY_CHECKS.to_owned(), outcome: CheckOutcome::NotRun { why: why.to_owned() } }
}

/// The pr agent runs nothing and says so; what was run takes that line's place.
fn with(mut draft: PullDraft, notes: Vec<CheckNote>) -> PullDraft {
    let ran = notes.iter().any(|note| note.what != REPOSITORY_CHECKS);
    let told = draft.checks.len();
    draft.checks.retain(|check| check.what != REPOSITORY_CHECKS);
    // A program that writes pull requests in its own way need not speak of what does not exist.
    if ran || draft.checks.len() < told {
        draft.checks.extend(notes);
    }
    if ran {
        draft.draft = draft.checks.iter().any(|check| check.outcome != CheckOutcome::Passed);
    }
    draft
}

fn against(note: &CheckNote) -> Option<String> {
    match &note.outcome {
        CheckOutcome::Passed => None,
        CheckOutcome::Failed { why } => Some(format!("{}: {why}", note.what)),
        CheckOutcome::NotRun { why } => Some(format!("{}: not run, {why}", note.what)),
    }
}

pub(super) fn said(tried: &[Tried]) -> String {
    if tried.is_empty() {
        return "the repository has no checks of its own".to_owned();
    }
    let passed = tried.iter().filter(|one| one.outcome.is_passed()).count();
    format!("{passed} of {} of the repository's own passed", count(tried.len(), "check"))
}
