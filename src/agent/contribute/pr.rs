//! Writes the pull request: its branch, title and message, what was changed, how it was checked and what was not.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::assembly::assemble;
use super::convention;
use super::survey;
use super::words;
use crate::agent::{Agent, Context, Error, Role};
use crate::artifact::draft::{ChangeNote, CheckNote, CheckOutcome};
use crate::artifact::exchange::Absent;
use crate::artifact::swarm::{CodeChanges, CodebaseMap, CurrentIssue, FileChange, IssueAnalysis, Kind, Validation};
use crate::artifact::{ContributeFacts, Document, Documented, Proposal, PullDraft, Tested};
use crate::stdx::text::count;

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

/// What the line about the repository's own checks is called, which only a sandbox can tell more about.
pub const REPOSITORY_CHECKS: &str = "tests, linters and builds";

#[derive(Debug, Deserialize)]
pub struct PrInput {
    facts: ContributeFacts,
    scout: Document<CurrentIssue>,
    analyst: Document<IssueAnalysis>,
    explorer: Document<CodebaseMap>,
    coder: Document<CodeChanges>,
    /// None where the flow leaves tests and documentation to people.
    #[serde(default)]
    tester: Option<Tested>,
    #[serde(default)]
    docs: Option<Documented>,
    /// Those of the two that failed, or were not asked.
    #[serde(default)]
    absent: Vec<Absent>,
}

impl Agent for Pr {
    const VERSION: &'static str = "2";
    type Input = PrInput;
    type Output = Proposal;

    fn role(&self) -> Role {
        Role::Pr
    }

    async fn run(&self, cx: &Context, input: PrInput) -> Result<Proposal, Error> {
        let Some(coder) = input.coder.outcome.as_ref().ok().filter(|changes| changes.commit_ready) else {
            return Ok(Proposal { draft: draft(&input, None, Vec::new()), commit: None });
        };
        let mut beside: Vec<FileChange> = Vec::new();
        beside.extend(input.tester.iter().flat_map(|tester| tester.edits.iter().cloned()));
        beside.extend(input.docs.iter().flat_map(|docs| docs.edits.iter().cloned()));
        let assembled = assemble(cx, coder, &beside).await?;
        let draft = draft(&input, Some(&assembled.changes), assembled.dropped);
        Ok(Proposal { draft, commit: Some(assembled.changes) })
    }

    fn faults(&self, _cx: &Context, proposal: &Proposal) -> Vec<String> {
        let draft = &proposal.draft;
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

    fn line(&self, proposal: &Proposal) -> Option<String> {
        let draft = &proposal.draft;
        Some(match draft.changes.len() {
            0 => "nothing to propose".to_owned(),
            n => format!("{} in {}", words::line(&draft.title, WIDTH), count(n, "file")),
        })
    }
}

/// `changes` is what will be committed, and `dropped` what was left out of it.
fn draft(input: &PrInput, changes: Option<&CodeChanges>, dropped: Vec<String>) -> PullDraft {
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
        notes: notes(input, &changed, dropped),
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
        several => format!("This changes {}.", count(several.len(), "file")),
    };
    let mut parts = vec![words::line(&format!("The issue: {asked} {done}"), MAX_SUMMARY)];
    if !changed.is_empty() {
        parts.extend(beside(input, changed));
    }
    parts.join("\n\n")
}

/// What became of tests and documentation, each in a paragraph of its own.
fn beside(input: &PrInput, changed: &[ChangeNote]) -> Vec<String> {
    let files = |is: fn(&str) -> bool| -> Vec<String> {
        let own = changed.iter().filter(|change| is(&change.path)).take(MAX_IN_MESSAGE);
        own.map(|change| format!("`{}`", change.path)).collect()
    };
    // The lines about what did not run are among the checks.
    let why = |reason: &str| reason.lines().next().unwrap_or_default().trim_end_matches(['.', ' ']).to_owned();
    let mut parts = Vec::new();
    if let Some(Ok(tests)) = input.tester.as_ref().map(|tester| &tester.document.outcome) {
        let names = tests.test_files.iter().flat_map(|file| &file.tests_added).map(|test| format!("`{}`", test.name));
        let names: Vec<String> = names.take(MAX_IN_MESSAGE).collect();
        let paths = files(survey::is_test);
        let mut text = format!("Tests: {}.", why(&tests.reason));
        if !paths.is_empty() {
            text.push_str(&format!(" Changed: {}.", paths.join(", ")));
        }
        if !names.is_empty() {
            text.push_str(&format!(" Added: {}.", names.join(", ")));
        }
        parts.push(words::line(&text, MAX_SUMMARY));
    }
    if let Some(Ok(docs)) = input.docs.as_ref().map(|docs| &docs.document.outcome) {
        let paths = files(survey::is_docs);
        let mut text = format!("Documentation: {}.", why(&docs.reason));
        if !paths.is_empty() {
            text.push_str(&format!(" Changed: {}.", paths.join(", ")));
        }
        parts.push(words::line(&text, MAX_SUMMARY));
    }
    parts
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
        lines.push(format!("- and {}", count(changed.len() - MAX_IN_MESSAGE, "other file")));
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
        let what = format!("no more than {} and {}", files(settings.max_files), count(settings.max_lines, "line"));
        let why = format!("{} and {lines} lines", files(changed.len()));
        checks.push(check(what, if within { CheckOutcome::Passed } else { CheckOutcome::Failed { why } }));
    }
    checks.extend(input.absent.iter().filter(|absent| absent.was_asked()).map(|absent| {
        let what = match absent.agent.as_str() {
            "tester" => "the tests that belong to the change".to_owned(),
            "docs" => "the documentation that belongs to the change".to_owned(),
            agent => format!("what the {agent} agent would have added"),
        };
        let why = format!("the {} agent failed: {} ({})", absent.agent, absent.error.message, absent.error.code);
        check(what, CheckOutcome::NotRun { why: words::line(&why, MAX_NOTE) })
    }));
    let run = validation.is_some_and(|v| v.lint_passed && v.typecheck_passed && v.build_passed && v.tests_passed);
    if run {
        checks.push(check(REPOSITORY_CHECKS.to_owned(), CheckOutcome::Passed));
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
    checks.push(check(REPOSITORY_CHECKS.to_owned(), CheckOutcome::NotRun { why }));
    checks
}

/// What the reader should know: what was not done, what was warned of, what is missing.
fn notes(input: &PrInput, changed: &[ChangeNote], dropped: Vec<String>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if let Ok(changes) = &input.coder.outcome {
        let undone =
            changes.validation.errors.iter().filter(|text| !text.trim_start().to_lowercase().starts_with(NOT_RUN));
        notes.extend(undone.cloned());
    }
    if let Ok(analysis) = &input.analyst.outcome {
        notes.extend(analysis.blockers.iter().map(|blocker| format!("open question: {blocker}")));
        notes.extend(analysis.warnings.iter().cloned());
    }
    if !changed.is_empty() && lacks_test(input, changed) {
        notes.push("no test was added".to_owned());
    }
    notes.extend(dropped);
    notes.extend(input.tester.iter().flat_map(|tester| tester.notes.iter().cloned()));
    notes.extend(input.docs.iter().flat_map(|docs| docs.notes.iter().cloned()));
    let mut seen = BTreeSet::new();
    let mut notes: Vec<String> = notes.into_iter().map(|note| words::line(&note, MAX_NOTE)).collect();
    notes.retain(|note| !note.is_empty() && seen.insert(note.clone()));
    notes.truncate(MAX_NOTES);
    notes
}

/// Whether the change wants a test and brings none.
fn lacks_test(input: &PrInput, changed: &[ChangeNote]) -> bool {
    match input.tester.as_ref().map(|tester| &tester.document.outcome) {
        Some(Ok(tests)) => tests.tests_required && tests.summary.tests_added == 0 && tests.test_files.is_empty(),
        Some(Err(_)) | None => {
            let wanted = input.analyst.outcome.as_ref().is_ok_and(|analysis| analysis.analysis.tests_required);
            let any = |is: fn(&str) -> bool| changed.iter().any(|change| is(&change.path));
            wanted && any(survey::is_code) && !any(survey::is_test)
        }
    }
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
    count(n, "file")
}
