//! What a repository's own checks said of a pull request's head. Names and output are whatever somebody's code printed.

use super::reply::{command, commit, items, name, sentence};
use crate::artifact::reply::{TestedCheck, TestedOutcome};
use crate::domain::Verb;
use crate::publish::neutral::{code, output};
use crate::stdx::text::{count, truncate_chars};

/// Checks that are listed, and names of one check.
const LISTED: usize = 40;
const NAMES: usize = 20;
const COMMAND: usize = 120;
/// Characters of all output together, and of one check's.
const OUTPUT: usize = 40_000;
const OUTPUT_OF_ONE: usize = 4_000;

pub(super) fn name_the_head(head: &str, named: Option<&str>, fork: bool) -> String {
    let why = match (named, fork) {
        (Some(named), true) if head.starts_with(named) => format!(
            "{} is only the beginning of a commit's id, and other commits can be made that begin alike: of a fork it has to be named whole.",
            name(named)
        ),
        (Some(named), _) => format!("{} is not the head of this pull request.", name(named)),
        (None, _) => {
            "This pull request comes from a fork, so only a commit is run that somebody who may write here has \
                      read and named."
                .to_owned()
        }
    };
    let ask = code(&format!("/swarm {} {head}", Verb::Test));
    let plain = if fork { String::new() } else { format!(", or {} alone", command(Verb::Test)) };
    format!("**Nothing was run.** {why} The head is {} now. Read it, then write {ask}{plain}.", name(head))
}

pub(super) fn tested(head: &str, moved: Option<&str>, checks: &[TestedCheck]) -> Vec<String> {
    let mut blocks = vec![verdict(head, checks)];
    blocks.extend(moved.map(|now| format!("The head has moved since: it is {} now.", commit(now))));
    blocks.push(items(&checks.iter().map(line).collect::<Vec<_>>(), LISTED));
    let failed = checks.iter().filter(|check| matches!(check.outcome, TestedOutcome::Failed { .. })).count();
    let most = (OUTPUT / failed.max(1)).min(OUTPUT_OF_ONE);
    for check in checks {
        if let TestedOutcome::Failed { names, more, tail, .. } = &check.outcome {
            blocks.extend(failing(check, names, *more));
            blocks.extend(printed(check, tail.open(), most));
        }
    }
    blocks
}

fn verdict(head: &str, checks: &[TestedCheck]) -> String {
    if checks.is_empty() {
        return format!("**Nothing was run** at {}: no commands were found in this repository.", commit(head));
    }
    let of = |wanted: fn(&TestedOutcome) -> bool| checks.iter().filter(|check| wanted(&check.outcome)).count();
    let passed = of(|outcome| matches!(outcome, TestedOutcome::Passed { .. }));
    let failed = of(|outcome| matches!(outcome, TestedOutcome::Failed { .. }));
    let not_run = checks.len() - passed - failed;
    let mut parts = Vec::new();
    for (n, word) in [(passed, "passed"), (failed, "failed"), (not_run, "not run")] {
        if n > 0 {
            parts.push(format!("{n} {word}"));
        }
    }
    format!("**{} at {}:** {}.", count(checks.len(), "check"), commit(head), parts.join(", "))
}

fn line(check: &TestedCheck) -> String {
    let what = format!("{} · {}", sentence(&check.kind), called(check));
    let of = |numbers: &str, millis: u64| {
        let numbers = if numbers.is_empty() { String::new() } else { format!(", {}", sentence(numbers)) };
        format!("{numbers} ({}.{} s)", millis / 1000, millis % 1000 / 100)
    };
    match &check.outcome {
        TestedOutcome::Passed { numbers, millis } => format!("✅ {what}: passed{}", of(numbers, *millis)),
        TestedOutcome::Failed { why, numbers, millis, before, .. } => {
            let before = if *before { "; the same fails without the change" } else { "" };
            format!("❌ {what}: failed{}; {}{before}", of(numbers, *millis), sentence(why))
        }
        TestedOutcome::NotRun { why } => format!("⚪ {what}: not run; {}", sentence(why)),
    }
}

/// The command, and the folder where that is not the root.
fn called(check: &TestedCheck) -> String {
    let command = code(&truncate_chars(check.command.trim(), COMMAND));
    let dir = check.dir.trim();
    if dir.is_empty() { command } else { format!("{command} in {}", code(&truncate_chars(dir, COMMAND))) }
}

fn failing(check: &TestedCheck, names: &[String], more: usize) -> Option<String> {
    let mut lines: Vec<String> = names.iter().take(NAMES).map(|one| name(one)).filter(|one| !one.is_empty()).collect();
    if lines.is_empty() {
        return None;
    }
    let more = more + names.len().saturating_sub(NAMES);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    Some(format!("What {} names:\n\n{}", called(check), items(&lines, NAMES + 1)))
}

fn printed(check: &TestedCheck, tail: &str, most: usize) -> Option<String> {
    if tail.trim().is_empty() {
        return None;
    }
    // A summary is HTML: no text of others goes there.
    let kind = ["format", "lint", "build", "test"].into_iter().find(|kind| *kind == check.kind).unwrap_or("check");
    let block = output(tail, most);
    Some(format!("<details><summary>The end of what {kind} printed</summary>\n\n{block}\n\n</details>"))
}

#[cfg(test)]
#[path = "tested_tests.rs"]
mod tests;
