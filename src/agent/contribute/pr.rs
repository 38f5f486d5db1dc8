//! Writes the pull request: its branch, title and message, what was changed, how it was checked and what was not.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::convention;
use super::survey;
use super::words;
use crate::agent::{Agent, Context, Error, Role};
use crate::artifact::draft::{ChangeNote, CheckNote, CheckOutcome};
use crate::artifact::swarm::{CodeChanges, CodebaseMap, CurrentIssue, IssueAnalysis, Kind, Validation};
use crate::artifact::{ContributeFacts, Document, PullDraft};

const MAX_CHANGES: usize = 300;
const MAX_NOTES: usize = 30;
const MAX_NOTE: usize = 500;
const MAX_SUMMARY: usize = 1_500;
/// Files that the commit message tells of.
const MAX_IN_MESSAGE: usize = 20;
/// Where lines of a commit message are broken.
const WIDTH: usize = 72;
/// How the coder begins the line about a check that did not run (A2.4).
const NOT_RUN: &str = "not run";

pub struct Pr;

#[derive(Debug, Deserialize)]
pub struct PrInput {
    facts: ContributeFacts,
    scout: Document<CurrentIssue>,
    analyst: Document<IssueAnalysis>,
    explorer: Document<CodebaseMap>,
    coder: Document<CodeChanges>,
}

impl Agent for Pr {
    const VERSION: &'static str = "1";
    type Input = PrInput;
    type Output = PullDraft;

    fn role(&self) -> Role {
        Role::Pr
    }

    async fn run(&self, _cx: &Context, input: PrInput) -> Result<PullDraft, Error> {
        Ok(draft(&input))
    }

    fn faults(&self, _cx: &Context, draft: &PullDraft) -> Vec<String> {
        let mut faults = Vec::new();
        if !is_branch(&draft.branch) {
            faults.push(format!("branch: `{}` is no name of a branch", words::line(&draft.branch, 100)));
        }
        if draft.title.is_empty() || draft.title.chars().count() > WIDTH || draft.title.contains('\n') {
            faults.push("title: not one line of at most 72 characters".to_owned());
        }
        if draft.commit_message.lines().next() != Some(draft.title.as_str()) {
            faults.push("commit_message: does not begin with the title".to_owned());
        }
        let mut seen = BTreeSet::new();
        for change in &draft.changes {
            if !survey::is_inside(&change.path) || !seen.insert(&change.path) {
                faults.push(format!("changes: `{}` is no path, or there twice", words::line(&change.path, 200)));
            }
        }
        let unchecked = draft.checks.iter().any(|check| check.outcome != CheckOutcome::Passed);
        if unchecked && !draft.draft {
            faults.push("draft: something was not checked, so it has to be a draft".to_owned());
        }
        faults
    }

    fn line(&self, draft: &PullDraft) -> Option<String> {
        Some(match draft.changes.len() {
            0 => "nothing to propose".to_owned(),
            n => format!("{} in {}", words::line(&draft.title, WIDTH), crate::stdx::text::count(n, "file")),
        })
    }
}

fn draft(input: &PrInput) -> PullDraft {
    let issue = &input.facts.issue;
    let analysis = input.analyst.outcome.as_ref().ok();
    let kind = analysis
        .map(|analysis| analysis.analysis.kind)
        .or_else(|| input.scout.outcome.as_ref().ok().map(|issue| issue.selected_issue.kind))
        .unwrap_or(Kind::BugFix);
    let title = input
        .scout
        .outcome
        .as_ref()
        .map_or_else(|_| words::line(issue.title.open(), 300), |i| i.selected_issue.title.clone());
    let naming = analysis.map_or("", |analysis| analysis.repository_context.branch_naming.as_str());
    let changes = input.coder.outcome.as_ref().ok().filter(|changes| changes.commit_ready);
    let suggested = changes.and_then(|changes| changes.suggested_commit_message.lines().next());
    let suggested = suggested.filter(|line| line.chars().any(char::is_alphanumeric));
    let subject = convention::subject(kind, suggested.unwrap_or(&title));
    let notes_of = |changes: &CodeChanges| -> Vec<ChangeNote> {
        let all = changes.changes.iter().take(MAX_CHANGES);
        all.map(|change| ChangeNote {
            path: change.file.clone(),
            added: change.lines_changed.added,
            removed: change.lines_changed.removed,
            description: words::line(&change.description, MAX_NOTE),
        })
        .collect()
    };
    let changed = changes.map(notes_of).unwrap_or_default();
    let validation = changes.map(|changes| &changes.validation);
    let checks = checks(input, &changed, validation);
    // What was done names the branch, as it does the title.
    let word = suggested.and_then(convention::word_of).unwrap_or(convention::commit_type(kind));
    PullDraft {
        branch: convention::branch(word, issue.number, &title, naming),
        commit_message: message(&subject, &changed),
        title: subject,
        summary: summary(input, &changed),
        notes: notes(input, &changed),
        draft: checks.iter().any(|check| check.outcome != CheckOutcome::Passed),
        changes: changed,
        checks,
    }
}

/// What was asked for and what was done, in two sentences.
fn summary(input: &PrInput, changed: &[ChangeNote]) -> String {
    let asked = input.analyst.outcome.as_ref().map_or("", |analysis| analysis.analysis.summary.as_str());
    let asked = words::line(asked, 600);
    // With more files, each says for itself what was done in it.
    let done = match changed {
        [] => "Nothing was changed.".to_owned(),
        [one] if !one.description.is_empty() => {
            format!("This changes 1 file: {}.", one.description.trim_end_matches(['.', ' ']))
        }
        several => format!("This changes {}.", crate::stdx::text::count(several.len(), "file")),
    };
    words::line(&format!("The issue: {asked} {done}"), MAX_SUMMARY)
}

fn message(subject: &str, changed: &[ChangeNote]) -> String {
    let mut message = subject.to_owned();
    let shown = changed.iter().take(MAX_IN_MESSAGE);
    let mut lines: Vec<String> = Vec::new();
    for change in shown {
        let text = convention::tame(&change.description);
        let path = convention::tame(&change.path);
        let line = if text.is_empty() { format!("- {path}") } else { format!("- {path}: {text}") };
        wrap(&line, &mut lines);
    }
    if changed.len() > MAX_IN_MESSAGE {
        lines.push(format!("- and {}", crate::stdx::text::count(changed.len() - MAX_IN_MESSAGE, "other file")));
    }
    if !lines.is_empty() {
        message.push_str("\n\n");
        message.push_str(&lines.join("\n"));
    }
    message
}

/// Breaks a line between words; what follows is indented, so that no line of it can be read as a trailer.
fn wrap(line: &str, into: &mut Vec<String>) {
    let mut current = String::new();
    for word in line.split(' ') {
        if !current.trim().is_empty() && current.chars().count() + 1 + word.chars().count() > WIDTH {
            into.push(std::mem::replace(&mut current, " ".to_owned()));
        }
        if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(word);
    }
    into.push(current);
}

fn checks(input: &PrInput, changed: &[ChangeNote], validation: Option<&Validation>) -> Vec<CheckNote> {
    let check = |what: String, outcome: CheckOutcome| CheckNote { what, outcome };
    let mut checks = Vec::new();
    if !changed.is_empty() {
        for what in [
            "every changed file was parsed again: no syntax error that was not there before",
            "every changed file was scanned again: no finding that was not there before",
            "what was added holds no secret",
        ] {
            checks.push(check(what.to_owned(), CheckOutcome::Passed));
        }
        let settings = &input.facts.settings;
        let lines: u64 =
            changed.iter().map(|change| change.added.saturating_add(change.removed)).fold(0, u64::saturating_add);
        let within = changed.len() <= settings.max_files && lines <= settings.max_lines as u64;
        let what = format!(
            "no more than {} and {}",
            files(settings.max_files),
            crate::stdx::text::count(settings.max_lines, "line")
        );
        let why = format!("{} and {lines} lines", files(changed.len()));
        checks.push(check(what, if within { CheckOutcome::Passed } else { CheckOutcome::Failed { why } }));
    }
    let run = validation.is_some_and(|v| v.lint_passed && v.typecheck_passed && v.build_passed && v.tests_passed);
    if run {
        checks.push(check("tests, linters and builds".to_owned(), CheckOutcome::Passed));
        return checks;
    }
    let commands = input.explorer.outcome.as_ref().ok().map(|map| &map.build_commands);
    let known: Vec<&str> = commands
        .into_iter()
        .flat_map(|commands| [&commands.build, &commands.test, &commands.lint])
        .map(String::as_str)
        .filter(|command| !command.is_empty())
        .collect();
    let how = if known.is_empty() { String::new() } else { format!(" Here they are: {}.", known.join("; ")) };
    let why = words::line(
        &format!("no command of a repository is run here; this repository's own checks have to tell.{how}"),
        MAX_NOTE,
    );
    checks.push(check("tests, linters and builds".to_owned(), CheckOutcome::NotRun { why }));
    checks
}

/// What the reader should know: what was not done, what was warned of, what is missing.
fn notes(input: &PrInput, changed: &[ChangeNote]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if let Ok(changes) = &input.coder.outcome {
        let undone =
            changes.validation.errors.iter().filter(|text| !text.trim_start().to_lowercase().starts_with(NOT_RUN));
        notes.extend(undone.cloned());
    }
    if let Ok(analysis) = &input.analyst.outcome {
        notes.extend(analysis.blockers.iter().map(|blocker| format!("open question: {blocker}")));
        notes.extend(analysis.warnings.iter().cloned());
        let is_test = |change: &ChangeNote| survey::is_test(&change.path);
        let is_code = |change: &ChangeNote| survey::is_code(&change.path);
        if analysis.analysis.tests_required && changed.iter().any(is_code) && !changed.iter().any(is_test) {
            notes.push("no test was added".to_owned());
        }
    }
    let mut seen = BTreeSet::new();
    let mut notes: Vec<String> = notes.into_iter().map(|note| words::line(&note, MAX_NOTE)).collect();
    notes.retain(|note| !note.is_empty() && seen.insert(note.clone()));
    notes.truncate(MAX_NOTES);
    notes
}

/// What `git check-ref-format --branch` would let pass, and a little less.
fn is_branch(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with(['.', '-']) && !part.ends_with(".lock")
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'_' | b'.');
    name.len() <= 200 && name.bytes().all(plain) && !name.contains("..") && name.split('/').all(part)
}

fn files(n: usize) -> String {
    crate::stdx::text::count(n, "file")
}
