//! What came of checks, in the words of a pull request.

use std::time::Duration;

use super::{Outcome, Tried};
use crate::agent::checks::Counts;
use crate::artifact::draft::{CheckNote, CheckOutcome};
use crate::stdx::text::{self, count};

const MAX_NAMES: usize = 5;
const MAX_LINE: usize = 120;

/// For a pull request: a line each.
pub fn notes(tried: &[Tried]) -> Vec<CheckNote> {
    tried.iter().map(note).collect()
}

fn note(Tried { check, outcome }: &Tried) -> CheckNote {
    let at = if check.dir.is_empty() { String::new() } else { format!(" in `{}`", check.dir) };
    let command = format!("{}{at}", shown(&check.line));
    let (what, outcome) = match outcome {
        Outcome::Passed { counts, took } => {
            (format!("{command}{} ({})", numbers(counts.as_ref()), seconds(*took)), CheckOutcome::Passed)
        }
        Outcome::Failed(failure) => {
            let mut why = failure.why.clone();
            if let Some(first) = failure.names.first() {
                let more = failure.names.len().saturating_sub(MAX_NAMES);
                let named: Vec<&str> = failure.names.iter().take(MAX_NAMES).map(String::as_str).collect();
                let named = if more == 0 { named.join(", ") } else { format!("{} and {more} more", named.join(", ")) };
                why.push_str(if first.is_empty() { "" } else { ": " });
                why.push_str(&named);
            }
            if failure.before {
                why.push_str("; the same fails without the change");
            }
            let what = format!("{command}{} ({})", numbers(failure.counts.as_ref()), seconds(failure.took));
            (what, CheckOutcome::Failed { why })
        }
        Outcome::NotRun { why } => (command, CheckOutcome::NotRun { why: why.clone() }),
    };
    CheckNote { what, outcome }
}

/// A command in a sentence. A repository may write anything there.
pub fn shown(line: &str) -> String {
    let line = text::visible_line(line).replace('`', "'");
    format!("`{}`", text::truncate_chars(line.trim(), MAX_LINE))
}

/// `: 3 passed, 1 failed`; nothing where nobody counted.
pub fn numbers(counts: Option<&Counts>) -> String {
    let Some(counts) = counts else { return String::new() };
    let mut parts = vec![format!("{} passed", counts.passed)];
    if counts.failed > 0 {
        parts.push(format!("{} failed", counts.failed));
    }
    if counts.skipped > 0 {
        parts.push(format!("{} skipped", counts.skipped));
    }
    if counts.passed + counts.failed == 0 {
        return format!(": no test was run, {}", count(usize::try_from(counts.skipped).unwrap_or(usize::MAX), "skip"));
    }
    format!(": {}", parts.join(", "))
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}
