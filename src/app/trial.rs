//! What the repository's own checks say of a change of ours, before anybody sees it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::Error;
use super::bench::Bench;
use super::contribute::{of_agent, settings};
use crate::agent::checks::{Check, checks};
use crate::agent::gate::{self, Gated};
use crate::agent::trial::{self, Outcome, Reformatted, Subject, Trial, Tried, numbers};
use crate::agent::{REPOSITORY_CHECKS, rewritten};
use crate::analysis::Engine;
use crate::artifact::PullDraft;
use crate::artifact::draft::{CheckNote, CheckOutcome};
use crate::artifact::reply::{TestedCheck, TestedOutcome};
use crate::artifact::swarm::CodeChanges;
use crate::config::RepoConfig;
use crate::domain::Checks;
use crate::pipeline::Journal;
use crate::sandbox::Trust;
use crate::stdx::text::count;
use crate::workspace::{Edit, Tree};

/// Names that are told of one check.
const NAMES: usize = 20;

/// A change of ours that the gate let pass, and what is to be said of it.
pub(super) struct Proposed {
    pub(super) changes: CodeChanges,
    pub(super) gated: Gated,
    pub(super) draft: PullDraft,
}

/// The same after the checks, in the repository's own form as far as its formatter was needed.
pub(super) struct Checked {
    pub(super) proposed: Proposed,
    pub(super) new: Tree,
    /// What came of each.
    pub(super) notes: Vec<CheckNote>,
    /// That files were formatted, and by what.
    pub(super) formatted: Option<String>,
    /// They have to pass and do not: one reason each.
    pub(super) against: Vec<String>,
}

/// Where and how a change is checked.
pub(super) struct Checking<'a> {
    pub(super) bench: &'a Bench,
    pub(super) engine: &'a Arc<Engine>,
    pub(super) repository: &'a str,
    pub(super) config: &'a RepoConfig,
    pub(super) journal: &'a Journal,
    pub(super) cancel: &'a CancellationToken,
}

impl Checking<'_> {
    /// Runs the repository's checks over a change to `base` and writes what they say into the draft. Which there are is read from
    /// `base`, where no change of a stranger's can have added any. What they find badly formatted is formatted, if the gate
    /// lets that pass too.
    pub(super) async fn of(&self, base: &Tree, mut proposed: Proposed) -> Result<Checked, Error> {
        let mut new = base.with(&proposed.gated.edits).await?;
        let mut formatted = None;
        let notes = match self.config.checks {
            Checks::Off => vec![not_run("this repository's configuration has switched them off")],
            Checks::Auto | Checks::Require => {
                let all = checks(base, &self.config.commands).await.map_err(of_agent)?;
                let laid_out = new.clone();
                let subject =
                    Subject { repository: self.repository, tree: &laid_out, base: Some(base), trust: Trust::Default };
                let sandbox = self.bench.sandbox().await;
                let mut trial = Trial::begin(self.bench.around(&sandbox, None), subject, &all, self.cancel).await?;
                let reformatted = trial.reformatted(&texts(&proposed.gated.edits)).await?;
                formatted = self.take(reformatted, base, &mut proposed, &mut new).await?;
                let tried = trial.run(&new).await?;
                self.journal.say(&said(&tried)).await?;
                if tried.is_empty() {
                    vec![not_run("none were found in this repository")]
                } else {
                    trial::notes(&tried)
                }
            }
        };
        let against = match self.config.checks {
            Checks::Require => notes.iter().filter_map(against).collect(),
            Checks::Auto | Checks::Off => Vec::new(),
        };
        proposed.draft = with(proposed.draft, &notes);
        Ok(Checked { proposed, new, notes, formatted, against })
    }

    /// Makes what the formatter wrote part of the change, and says so; or says why not.
    async fn take(
        &self,
        reformatted: Reformatted,
        base: &Tree,
        proposed: &mut Proposed,
        new: &mut Tree,
    ) -> Result<Option<String>, Error> {
        let Reformatted { by, texts, mut left } = reformatted;
        let mut formatted = None;
        let by: Vec<String> = by.iter().map(|line| trial::shown(line)).collect();
        let by = by.join(" and ");
        if !texts.is_empty() {
            let changes = rewritten(base, &proposed.changes, &texts).await.map_err(of_agent)?;
            match gate::check(self.engine, base, &changes, &settings(self.config)).await.map_err(of_agent)? {
                Ok(gated) => {
                    *new = base.with(&gated.edits).await?;
                    for note in &mut proposed.draft.changes {
                        if let Some(file) = gated.files.iter().find(|file| file.path == note.path) {
                            (note.added, note.removed) = (file.added as u64, file.removed as u64);
                        }
                    }
                    let paths: Vec<String> = texts.keys().map(|path| format!("`{path}`")).collect();
                    let line = format!("Formatting: {} by {by}.", paths.join(", "));
                    self.journal.say(&format!("{} formatted", count(texts.len(), "file"))).await?;
                    proposed.draft.summary.push_str(&format!("\n\n{line}"));
                    (proposed.changes, proposed.gated, formatted) = (changes, gated, Some(line));
                }
                Err(reasons) => left.push(format!("what {by} made of it cannot be committed: {}", reasons.join("; "))),
            }
        }
        if !left.is_empty() {
            proposed.draft.notes.push(format!("not everything is formatted: {}", left.join("; ")));
        }
        Ok(formatted)
    }
}

/// What a change writes, by path.
fn texts(edits: &[Edit]) -> BTreeMap<String, String> {
    let written = edits.iter().filter_map(|edit| match edit {
        Edit::Write { path, text, .. } => Some((path.clone(), String::from_utf8(text.clone()).ok()?)),
        Edit::Delete { .. } => None,
    });
    written.collect()
}

pub(super) async fn tried(
    bench: &Bench,
    subject: Subject<'_>,
    all: &[Check],
    told: Option<&UnboundedSender<String>>,
    cancel: &CancellationToken,
) -> Result<Vec<Tried>, Error> {
    let sandbox = bench.sandbox().await;
    Ok(trial::trial(bench.around(&sandbox, told), subject, all, cancel).await?)
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
fn with(mut draft: PullDraft, notes: &[CheckNote]) -> PullDraft {
    let ran = notes.iter().any(|note| note.what != REPOSITORY_CHECKS);
    let told = draft.checks.len();
    draft.checks.retain(|check| check.what != REPOSITORY_CHECKS);
    // A program that writes pull requests in its own way need not speak of what does not exist.
    if ran || draft.checks.len() < told {
        draft.checks.extend(notes.iter().cloned());
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
