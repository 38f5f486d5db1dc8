//! What a pull request of ours says about itself.

use super::reply::{items, sentence};
use super::{FOOTER, close};
use crate::artifact::PullIntent;
use crate::artifact::draft::{ChangeNote, CheckNote, CheckOutcome};
use crate::publish::neutral::{code, history, paragraphs, without_ci_words};
use crate::stdx::text::truncate_chars;

/// GitHub takes 256 characters.
const TITLE: usize = 200;
/// So many files are named; a change of ours touches fewer.
const FILES: usize = 100;
const LISTED: usize = 30;
const SUMMARY: usize = 6_000;
/// Whoever finds a pull request that nobody asked for wants to know how it came, and how to have no more of them.
const SWEPT: &str = "Nobody asked for this pull request: octoswarm chose the issue by itself, because this repository's \
                     configuration has the scout's sweeps on (`scout` in `.github/octoswarm.yml`). It stays a draft until \
                     somebody has looked at it.";

/// On one line, without markup.
pub(in crate::publish) fn title(intent: &PullIntent) -> String {
    let title = history(&intent.draft.title, Some(intent.issue.0));
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() { format!("Change for issue #{}", intent.issue) } else { truncate_chars(&title, TITLE) }
}

/// The body, with the marker at its very end.
pub(in crate::publish) fn body(intent: &PullIntent, marker: &str) -> String {
    let draft = &intent.draft;
    let mut blocks = vec![paragraphs(&truncate_chars(draft.summary.trim(), SUMMARY))];
    let mut part = |title: &str, list: String| {
        if !list.is_empty() {
            blocks.push(format!("### {title}"));
            blocks.push(list);
        }
    };
    part("What changed", items(&draft.changes.iter().map(change).collect::<Vec<_>>(), FILES));
    let (run, not_run): (Vec<_>, Vec<_>) =
        draft.checks.iter().partition(|check| !matches!(check.outcome, CheckOutcome::NotRun { .. }));
    let checks = |checks: &[&CheckNote]| items(&checks.iter().map(|one| check(one)).collect::<Vec<_>>(), LISTED);
    part("How it was checked", checks(&run));
    part("What was not checked", checks(&not_run));
    part("Before you merge", items(&draft.notes.iter().map(|note| sentence(note)).collect::<Vec<_>>(), LISTED));
    // The only reference in this body: whatever others wrote of issues stands in code spans.
    let keyword = if intent.closes_issue { "Fixes" } else { "Refs" };
    blocks.push(format!("{keyword} #{}", intent.issue));
    let asked = match &intent.asked_by {
        Some(login) => format!("asked for by {}", code(&truncate_chars(login, 100))),
        None => {
            blocks.push(SWEPT.to_owned());
            "chosen by a scheduled sweep".to_owned()
        }
    };
    blocks.push(format!("{FOOTER}Made by octoswarm, {asked} · run {}</sub>", intent.run));
    // A repository may make this body the message of the commit that merges it.
    let blocks = blocks.iter().map(|block| without_ci_words(block)).collect();
    close(blocks, &[marker.to_owned()])
}

fn change(change: &ChangeNote) -> String {
    let lines = format!("(+{} −{})", change.added, change.removed);
    let description = sentence(&change.description);
    let colon = if description.is_empty() { "" } else { ": " };
    format!("{} {lines}{colon}{description}", code(&truncate_chars(&change.path, 500)))
}

fn check(check: &CheckNote) -> String {
    let what = sentence(&check.what);
    match &check.outcome {
        CheckOutcome::Passed => format!("✅ {what}"),
        CheckOutcome::Failed { why } => format!("❌ {what}: {}", sentence(why)),
        CheckOutcome::NotRun { why } => format!("⚪ {what}: {}", sentence(why)),
    }
}

#[cfg(test)]
#[path = "pull_tests.rs"]
mod tests;
