//! Makes the change, as diffs: what an issue asks for, or the fixes that a review proved. What it cannot do for certain it
//! declines.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{convention, generation};
use crate::agent::mechanic::{self, Work, carry_out};
use crate::agent::{Agent, Context, Error, Role, Told, gate};
use crate::analysis::{Engine, fix};
use crate::artifact::exchange::{AgentInput, AgentOutput, MoreMetadata};
use crate::artifact::generation::CodeGeneration;
use crate::artifact::swarm::{
    ChangeSummary, CodeChanges, CodebaseMap, CurrentIssue, FileAction, FileChange, IssueAnalysis, LinesChanged,
    Validation,
};
use crate::artifact::{ContributeFacts, Document, Form, ReviewReport};
use crate::domain::Finding;
use crate::stdx::text::{count, truncate_chars};
use crate::workspace::{Side, Tree, patch};

pub struct Coder;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum CoderInput {
    /// On an issue.
    Contribution(Box<Contribution>),
    /// On a pull request.
    Fix { master: Box<ReviewReport> },
}

#[derive(Debug, Deserialize)]
pub struct Contribution {
    facts: ContributeFacts,
    /// Its content is in the facts too; here it says whether the issue may be worked on.
    scout: Document<CurrentIssue>,
    analyst: Document<IssueAnalysis>,
    explorer: Document<CodebaseMap>,
}

/// Longest subject line of a commit.
const SUBJECT: usize = 72;

pub(super) const NOT_RUN: [&str; 4] = [
    "not run: lint (commands of the repository are not executed)",
    "not run: type check (commands of the repository are not executed)",
    "not run: build (commands of the repository are not executed)",
    "not run: tests (commands of the repository are not executed)",
];

impl Agent for Coder {
    const VERSION: &'static str = "1";
    type Input = CoderInput;
    type Output = Document<CodeChanges>;

    fn role(&self) -> Role {
        Role::Coder
    }

    async fn run(&self, cx: &Context, input: CoderInput) -> Result<Document<CodeChanges>, Error> {
        let changes = match input {
            CoderInput::Contribution(input) => contribution(cx, *input).await?,
            CoderInput::Fix { master } => {
                let head = cx.reviewing()?.change.head_tree();
                fixes(&cx.engine, &head, &master.findings, &cx.cancel).await?.changes
            }
        };
        Ok(Document::completed(cx.timestamp(), changes))
    }

    fn faults(&self, _cx: &Context, output: &Document<CodeChanges>) -> Vec<String> {
        let Ok(changes) = &output.outcome else { return Vec::new() };
        let mut faults: Vec<String> = Vec::new();
        if changes.commit_ready == changes.changes.is_empty() {
            faults.push("ready to be committed without a change, or the other way round".to_owned());
        }
        for change in &changes.changes {
            let whole =
                patch::parse(&change.diff).is_ok_and(|files| files.len() == 1 && files[0].path() == change.file);
            if !whole {
                faults.push(format!("{}: its diff is not one of this file", change.file));
            }
        }
        faults
    }

    fn told(&self, output: &Document<CodeChanges>) -> Told {
        let Ok(changes) = &output.outcome else { return Told::default() };
        let left = generation::not_done(changes);
        let more = MoreMetadata {
            files_generated: Some(changes.summary.total_files_changed),
            total_loc: Some(changes.summary.total_additions),
            ..MoreMetadata::default()
        };
        Told { partial: changes.commit_ready && !left.is_empty(), warnings: left, more, ..Told::default() }
    }

    async fn present(&self, cx: &Context, input: &AgentInput, output: &AgentOutput) -> Result<Value, Error> {
        let unread = |source| Error::Input { role: Role::Coder.name(), source };
        let document = Document::<CodeChanges>::deserialize(&output.result).map_err(unread)?;
        let Ok(changes) = document.outcome else { return Ok(Value::Null) };
        let number = input.facts["issue"]["number"].as_u64();
        let issue = || number.map_or("fix".to_owned(), |n| format!("ISSUE-{n}"));
        let task = input.task.as_ref().map_or_else(issue, |task| task.id.clone());
        let made = generation::generation(cx, &changes, task, output.metadata.duration_ms).await?;
        serde_json::to_value(made).map_err(unread)
    }

    /// Whole files (S1.13), or the diffs of S2.14.
    async fn adopt(&self, cx: &Context, input: &AgentInput, result: Value) -> Result<Document<CodeChanges>, Error> {
        if result.get("generatedFiles").is_none() {
            return generation::read(Role::Coder, Form::of::<Document<CodeChanges>>().name, result);
        }
        let made: CodeGeneration = generation::read(Role::Coder, Form::of::<CodeGeneration>().name, result)?;
        let map = input.history.iter().find(|output| output.agent_name == Role::Explorer.name());
        let branch = map.and_then(|map| map.result["repository"]["branch"].as_str()).unwrap_or_default();
        let changes = generation::changes(cx, &made, branch.to_owned()).await?;
        Ok(Document::completed(cx.timestamp(), changes))
    }

    fn line(&self, output: &Document<CodeChanges>) -> Option<String> {
        let changes = output.outcome.as_ref().ok()?;
        let summary = changes.summary;
        Some(match changes.commit_ready {
            true => format!(
                "+{} -{} in {}",
                summary.total_additions,
                summary.total_deletions,
                count(changes.changes.len(), "file")
            ),
            false => "declined".to_owned(),
        })
    }
}

async fn contribution(cx: &Context, input: Contribution) -> Result<CodeChanges, Error> {
    let scene = cx.contributing()?;
    let branch = input.explorer.outcome.map(|map| map.repository.branch).unwrap_or_default();
    let faults = input.scout.outcome.err().unwrap_or_default();
    let mut blockers: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
    let analysis = input.analyst.outcome.ok();
    let naming =
        analysis.as_ref().map(|analysis| analysis.repository_context.branch_naming.clone()).unwrap_or_default();
    blockers.extend(analysis.map(|analysis| analysis.blockers).unwrap_or_default());
    if !blockers.is_empty() {
        return Ok(declined(branch, blockers));
    }
    let issue = &input.facts.issue;
    let understanding = mechanic::understand(issue.title.open(), issue.body.open());
    let work = carry_out(&cx.engine, &scene.tree, &input.facts, cx.clock.now(), &understanding, &cx.cancel).await?;
    if work.files.is_empty() {
        return Ok(declined(branch, work.left));
    }
    let branch = convention::agreeing(&branch, &message(&work), &naming);
    Ok(changes(branch, work))
}

/// The fixes of some findings as one change.
pub struct ProvedFixes {
    pub changes: CodeChanges,
    /// Those whose fix is part of it.
    pub findings: Vec<Finding>,
}

/// The change that every fix of these findings comes to, proved again together with the others of its file.
///
/// # Errors
/// When the tree cannot be read, or the work was cancelled.
pub async fn fixes(
    engine: &Arc<Engine>,
    tree: &Tree,
    findings: &[Finding],
    cancel: &CancellationToken,
) -> Result<ProvedFixes, Error> {
    let none = gate::globs(&[])?;
    let mut by_path: BTreeMap<&str, Vec<Finding>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.fix.is_some()) {
        by_path.entry(&finding.path).or_default().push(finding.clone());
    }
    let mut work = Work::default();
    let mut kept = Vec::new();
    for (path, findings) in by_path {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if let Some(why) = gate::protection(path, &none) {
            work.left.push(format!("`{path}`: {why}"));
            continue;
        }
        let Side::Text(text) = tree.read(path).await? else {
            work.left.push(format!("`{path}` is no text that can be changed"));
            continue;
        };
        let (engine, owned) = (Arc::clone(engine), path.to_owned());
        let proved = tokio::task::spawn_blocking(move || prove(&engine, &owned, text, findings))
            .await
            .map_err(|_| Error::Scanner { path: path.to_owned() })?;
        kept.extend(proved.findings);
        work.left.extend(proved.left);
        if let Some(done) = proved.done {
            work.files.insert(path.to_owned(), done);
        }
    }
    if work.files.is_empty() {
        work.left.push("nothing was found that has a proven fix".to_owned());
        return Ok(ProvedFixes { changes: declined(String::new(), work.left), findings: Vec::new() });
    }
    let total = kept.len();
    work.subjects.push(match work.files.first_key_value() {
        Some((path, done)) if work.files.len() == 1 && done.descriptions.len() == 1 && is_plain(path) => {
            format!("fix: apply {} to {path}", number_of_fixes(total))
        }
        _ => format!("fix: apply {} of the review", number_of_fixes(total)),
    });
    // On a pull request the branch is the author's; who pushes knows it.
    Ok(ProvedFixes { changes: changes(String::new(), work), findings: kept })
}

fn number_of_fixes(n: usize) -> String {
    if n == 1 { "1 proven fix".to_owned() } else { format!("{n} proven fixes") }
}

struct Proved {
    findings: Vec<Finding>,
    done: Option<mechanic::Done>,
    left: Vec<String>,
}

fn prove(engine: &Engine, path: &str, text: String, mut findings: Vec<Finding>) -> Proved {
    let offered = findings.clone();
    fix::prove(engine, path, &text, &mut findings);
    let left = offered.iter().zip(&findings).filter(|(_, now)| now.fix.is_none());
    let left = left
        .map(|(was, _)| {
            format!(
                "`{path}`, line {}: the fix of `{}` does not hold together with the others",
                was.span.start_line, was.rule
            )
        })
        .collect();
    let fixes: Vec<_> = findings.iter().filter_map(|finding| finding.fix.as_ref()).collect();
    let new = fix::apply(&text, &fixes).ok().filter(|new| *new != text);
    let done = new.map(|new| {
        let mut by_rule: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
        for finding in findings.iter().filter(|finding| finding.fix.is_some()) {
            by_rule.entry(&finding.rule.0).or_insert((0, finding.message.trim_end_matches('.'))).0 += 1;
        }
        let told = |(rule, (n, message)): (&&str, &(usize, &str))| {
            format!("{} repaired (`{rule}`: {message})", count(*n, "place"))
        };
        mechanic::Done { descriptions: by_rule.iter().map(told).collect(), old: Some(text.clone()), new: Some(new) }
    });
    findings.retain(|finding| finding.fix.is_some() && done.is_some());
    Proved { findings, done, left }
}

fn declined(branch: String, reasons: Vec<String>) -> CodeChanges {
    CodeChanges {
        branch,
        changes: Vec::new(),
        validation: Validation { errors: reasons, ..Validation::default() },
        summary: ChangeSummary::default(),
        commit_ready: false,
        suggested_commit_message: String::new(),
    }
}

fn changes(branch: String, work: Work) -> CodeChanges {
    let mut summary = ChangeSummary::default();
    let mut changes = Vec::new();
    for (path, done) in &work.files {
        let (old, new) = (done.old.as_deref(), done.new.as_deref());
        let side = |text: Option<&str>| text.map(|_| path.as_str());
        let diff = patch::diff(side(old), side(new), old.unwrap_or_default(), new.unwrap_or_default());
        let (added, removed) =
            patch::parse(&diff).ok().and_then(|files| Some(files.first()?.count())).unwrap_or_default();
        let lines_changed = LinesChanged { added: added as u64, removed: removed as u64 };
        summary.total_files_changed += 1;
        summary.total_additions += lines_changed.added;
        summary.total_deletions += lines_changed.removed;
        let action = match (old, new) {
            (None, _) => FileAction::Created,
            (_, None) => FileAction::Deleted,
            (Some(_), Some(_)) => FileAction::Modified,
        };
        changes.push(FileChange {
            file: path.clone(),
            action,
            diff,
            lines_changed,
            description: sentences(&done.descriptions),
        });
    }
    let mut errors: Vec<String> = NOT_RUN.iter().map(|line| (*line).to_owned()).collect();
    errors.extend(work.left.iter().map(|line| format!("not done: {line}")));
    CodeChanges {
        branch,
        suggested_commit_message: message(&work),
        changes,
        validation: Validation { errors, ..Validation::default() },
        summary,
        commit_ready: true,
    }
}

fn sentences(descriptions: &[String]) -> String {
    let capital = |text: &String| {
        let mut chars = text.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>() + ".").unwrap_or_default()
    };
    descriptions.iter().map(capital).collect::<Vec<_>>().join(" ")
}

/// A conventional message. Words of the issue reach it only where they can neither close, mention nor skip anything.
fn message(work: &Work) -> String {
    let subjects: Vec<&str> = work.subjects.iter().map(String::as_str).collect();
    let kinds: Vec<&str> = subjects.iter().filter_map(|subject| subject.split(':').next()).collect();
    let kind = ["fix", "refactor", "docs", "chore"].into_iter().find(|kind| kinds.contains(kind)).unwrap_or("fix");
    let safe = |subject: &str| is_plain(subject) && subject.chars().count() <= SUBJECT;
    match subjects.as_slice() {
        [one] if safe(one) => (*one).to_owned(),
        [_] => format!("{kind}: make the change that the issue asks for in {}", count(work.files.len(), "file")),
        several => {
            let listed: Vec<String> = several
                .iter()
                .filter(|s| is_plain(s))
                .map(|s| format!("- {}", truncate_chars(s.split_once(": ").map_or(*s, |(_, rest)| rest), 100)))
                .collect();
            let subject = format!("{kind}: make {} changes that the issue asks for", several.len());
            if listed.is_empty() { subject } else { format!("{subject}\n\n{}", listed.join("\n")) }
        }
    }
}

/// A reference that GitHub would act upon needs `#`, `@`, an address, `GH-`, or brackets.
fn is_plain(text: &str) -> bool {
    let acts = text.contains("://") || text.to_lowercase().contains("gh-");
    !acts && text.chars().all(|c| c.is_alphanumeric() || " _-.:/()'\"<>=+,!*&;{}".contains(c))
}
