//! What a review looks like on standard output, in each format.

mod fix;
mod plan;
mod text;
mod workflow;

pub use fix::{fixed, not_fixed};
pub use plan::{not_planned, plan};

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use owo_colors::OwoColorize;
use serde_json::json;

use super::args::{Format, Output};
use super::{EXIT_FAILED, EXIT_FINDINGS, Exit};
use crate::app::local::{self, Checked};
use crate::domain::{Coverage, Finding, Outcome};
use crate::stdx::text::{count as counted, visible, visible_line};

/// Source lines by path, for the snippets.
type Sources = BTreeMap<String, Arc<str>>;

/// Prints the result in the asked format and tells the exit code.
pub fn print(checked: &Checked, output: &Output) -> Exit {
    let Checked { findings, coverage, outcome, sources, .. } = checked;
    match output.format {
        Format::Text => text::print(findings, coverage, outcome, sources),
        Format::Json => line(&serde_json::to_string_pretty(&document(checked))?),
        Format::Sarif => line(&serde_json::to_string_pretty(&local::sarif(findings)?)?),
        Format::Markdown => line(&local::markdown(findings, coverage, outcome)),
        Format::Github => workflow::print(findings, coverage, outcome),
    }
    let at_bar = output.fail_on.bar().is_some_and(|bar| findings.iter().any(|finding| finding.severity >= bar));
    Ok(match outcome {
        _ if at_bar => ExitCode::from(EXIT_FINDINGS),
        Outcome::CouldNotReview { .. } => ExitCode::from(EXIT_FAILED),
        Outcome::Clean | Outcome::Findings { .. } => ExitCode::SUCCESS,
    })
}

fn document(checked: &Checked) -> serde_json::Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "base": checked.base,
        "head": checked.head,
        "outcome": checked.outcome,
        "coverage": checked.coverage,
        "findings": checked.findings,
    })
}

/// More reasons than this fill the screen; the rest is counted.
const REASONS: usize = 8;

/// `12 files read; not read: 2 (binary), 1 (no rules for .css)`, most frequent reasons first.
fn coverage_line(coverage: &Coverage) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for skipped in &coverage.not_read {
        *reasons.entry(&skipped.reason).or_default() += 1;
    }
    let mut text = format!("read {} of {}", coverage.read, counted(coverage.total, "file"));
    let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest = reasons.split_off(reasons.len().min(REASONS));
    let shown = |(reason, count): &(&str, usize)| format!("{count} ({})", visible_line(reason));
    let mut list: Vec<String> = reasons.iter().map(shown).collect();
    if !rest.is_empty() {
        let files: usize = rest.iter().map(|(_, count)| count).sum();
        list.push(format!("{files} for {} other reasons (`--format json` names each file)", rest.len()));
    }
    if !list.is_empty() {
        text.push_str(&format!("; not read: {}", list.join(", ")));
    }
    text
}

fn outcome_line(findings: &[Finding], outcome: &Outcome) -> String {
    match outcome {
        Outcome::Clean => "clean".into(),
        Outcome::CouldNotReview { reason } => format!("could not review: {}", visible_line(reason)),
        Outcome::Findings { count } => {
            let by = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
            use crate::domain::Severity::{High, Low, Medium};
            format!("{}: {} high, {} medium, {} low", counted(*count, "finding"), by(High), by(Medium), by(Low))
        }
    }
}

/// One line on standard output. A reader that went away (`| head`) ends the output, not the program.
pub fn line(text: &str) {
    use std::io::Write;
    let _reader_gone = writeln!(anstream::stdout(), "{text}");
}

/// Text that another program reads, byte for byte; on a terminal nothing in it may steer.
pub fn raw(text: &str) {
    use std::io::{IsTerminal, Write};
    let stdout = std::io::stdout();
    let text = if stdout.is_terminal() { visible(text) } else { text.to_owned() };
    let _reader_gone = stdout.lock().write_all(text.as_bytes());
}

/// A title and its lines, where there are any.
fn list(title: &str, lines: &[String]) {
    if !lines.is_empty() {
        note(title);
        lines.iter().for_each(|line| note(&format!("  - {}", visible_line(line))));
    }
}

/// What a person is told beside the output that a program reads.
pub fn note(text: &str) {
    use std::io::Write;
    let _reader_gone = writeln!(anstream::stderr(), "{}", visible(text));
}

pub fn error(text: &str) {
    use std::io::Write;
    let _reader_gone = writeln!(anstream::stderr(), "{} {}", "error:".red().bold(), visible(text));
}

pub fn warning(text: &str) {
    use std::io::Write;
    let _reader_gone = writeln!(anstream::stderr(), "{} {}", "warning:".yellow().bold(), visible(text));
}

pub fn hint(text: &str) {
    use std::io::Write;
    let _reader_gone = writeln!(anstream::stderr(), "{} {}", "hint:".cyan().bold(), visible(text));
}
