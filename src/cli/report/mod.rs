//! What a review looks like on standard output, in each format.

mod audit;
mod fix;
mod plan;
mod run;
mod scout;
mod table;
mod text;
mod workflow;

pub use audit::audited;
pub use fix::{checked, fixed, not_fixed};
pub use plan::{not_planned, plan};
pub use run::{ran, told};
pub use scout::scouted;
pub use table::table;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::OnceLock;

use owo_colors::OwoColorize;
use serde_json::json;

use super::args::{FailOn, Format, Output};
use super::{EXIT_FAILED, EXIT_FINDINGS, Exit};
use crate::app::local::{self, Checked, Compared};
use crate::domain::{Coverage, Outcome, Severity, Subject};
use crate::stdx::text::{count as counted, visible, visible_line};

/// Prints the result in the asked format and tells the exit code.
pub fn print(checked: &Checked, output: &Output) -> Exit {
    checked.warnings.iter().for_each(|text| warning(text));
    match output.format {
        Format::Text => text::print(checked),
        Format::Json => exact(&serde_json::to_string_pretty(&document(checked))?),
        Format::Sarif => exact(&serde_json::to_string_pretty(&local::sarif(checked)?)?),
        Format::Markdown => exact(&local::markdown(checked)),
        Format::Github => workflow::print(checked),
    }
    Ok(ExitCode::from(code(checked, output.fail_on.map_or(checked.fail_on, FailOn::bar))))
}

fn code(Checked { findings, outcome, coverage, .. }: &Checked, bar: Option<Severity>) -> u8 {
    let at_bar = bar.is_some_and(|bar| findings.iter().any(|finding| finding.severity >= bar));
    match outcome {
        _ if at_bar => EXIT_FINDINGS,
        Outcome::CouldNotReview { .. } => EXIT_FAILED,
        _ if coverage.is_incomplete() => EXIT_FAILED,
        Outcome::Clean | Outcome::Findings { .. } | Outcome::NothingToReview { .. } => 0,
    }
}

fn document(checked: &Checked) -> serde_json::Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "base": checked.compared.as_ref().map(|compared| &compared.base),
        "head": checked.compared.as_ref().map(|compared| &compared.head),
        "outcome": checked.outcome,
        "coverage": checked.coverage,
        "findings": checked.findings,
    })
}

/// More reasons than this fill the screen; the rest is counted.
const REASONS: usize = 8;

/// `read 12 of 15 files; read for secrets and merge markers only: 1 (.css); not read: 2 (binary)`, most frequent first.
pub fn coverage_line(coverage: &Coverage) -> String {
    let mut text = format!("read {} of {}", coverage.read, counted(coverage.total, "file"));
    if !coverage.text_only.is_empty() {
        text.push_str(&format!("; read for secrets and merge markers only: {}", tally(coverage.text_only_kinds())));
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for skipped in &coverage.not_read {
        *reasons.entry(&skipped.reason).or_default() += 1;
    }
    if !reasons.is_empty() {
        let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        text.push_str(&format!("; not read: {}", tally(reasons)));
    }
    text
}

/// `2 (binary), 1 (generated)`.
fn tally(mut counts: Vec<(&str, usize)>) -> String {
    let rest = counts.split_off(counts.len().min(REASONS));
    let shown = |(what, count): &(&str, usize)| format!("{count} ({})", visible_line(what));
    let mut list: Vec<String> = counts.iter().map(shown).collect();
    if !rest.is_empty() {
        let files: usize = rest.iter().map(|(_, count)| count).sum();
        list.push(format!("{files} (and {} others; `--format json` names each file)", rest.len()));
    }
    list.join(", ")
}

/// Which linters were asked.
fn linted_line(coverage: &Coverage) -> Option<String> {
    let linted: Vec<String> = coverage.linted().iter().map(|clause| visible_line(clause)).collect();
    (!linted.is_empty()).then(|| format!("linters asked: {}", linted.join(", ")))
}

/// Which should have been and were not.
fn unlinted_lines(coverage: &Coverage) -> Vec<String> {
    coverage.unlinted().iter().map(|clause| format!("linter not asked: {}", visible_line(clause))).collect()
}

/// Which reviewers' parts are missing.
fn absent_lines(coverage: &Coverage) -> Vec<String> {
    coverage.unreviewed().iter().map(|clause| visible_line(clause)).collect()
}

/// Which files the parser did not understand; none when it understood all.
fn misread_line(coverage: &Coverage) -> Option<String> {
    let sentence = coverage.misread()?;
    let named: Vec<String> = coverage.syntax_errors.iter().take(REASONS).map(|path| visible_line(path)).collect();
    let more = coverage.syntax_errors.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{sentence}: {}{more}", named.join(", ")))
}

fn outcome_line(checked: &Checked) -> String {
    let Checked { findings, outcome, compared, .. } = checked;
    match outcome {
        Outcome::Clean => match compared {
            Some(Compared { nothing: true, since, .. }) => {
                format!("nothing has changed since `{}`", visible_line(since))
            }
            Some(_) | None => "clean".into(),
        },
        Outcome::NothingToReview { reason } => visible_line(reason),
        Outcome::CouldNotReview { reason } => format!("{}: {}", could_not(checked), visible_line(reason)),
        Outcome::Findings { count } => {
            let by = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
            use Severity::{High, Low, Medium};
            format!("{}: {} high, {} medium, {} low", counted(*count, "finding"), by(High), by(Medium), by(Low))
        }
    }
}

fn could_not(checked: &Checked) -> &'static str {
    match checked.subject() {
        Subject::Change => "could not review",
        Subject::Files => "could not scan",
    }
}

/// The first error of standard output that is more than a reader's going away.
static UNWRITTEN: OnceLock<std::io::Error> = OnceLock::new();

fn wrote(result: std::io::Result<()>) {
    // A reader that went away (`| head`) ends the output, not the program.
    if let Err(error) = result
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        let _an_earlier_one_is_told = UNWRITTEN.set(error);
    }
}

/// Whether all that was said on standard output has arrived, as far as the system knows.
///
/// # Errors
/// What kept it from being written: a full disk, for instance.
pub fn written() -> Result<(), &'static std::io::Error> {
    use std::io::Write;
    wrote(std::io::stdout().flush());
    UNWRITTEN.get().map_or(Ok(()), Err)
}

/// For people, on standard output: one line or several, none of which ends in blanks. What goes wrong is told by [`written`].
pub fn line(text: &str) {
    exact(&trimmed(text));
}

/// A document that a program reads, on standard output: in Markdown and in a suggestion blanks at the end have a meaning.
pub fn exact(text: &str) {
    use std::io::Write;
    wrote(writeln!(anstream::stdout(), "{text}"));
}

/// Without blanks at the end of any line; colours stay, also those that nothing is shown in.
fn trimmed(text: &str) -> String {
    text.split('\n').map(trimmed_line).collect::<Vec<_>>().join("\n")
}

fn trimmed_line(line: &str) -> String {
    let (mut rest, mut codes) = (line, Vec::new());
    loop {
        rest = rest.trim_end_matches([' ', '\t']);
        let Some((before, code)) = last_code(rest) else { break };
        codes.push(code);
        rest = before;
    }
    codes.push(rest);
    codes.into_iter().rev().collect()
}

/// The colour code at the end of a line, `ESC [ numbers m`, and what stands before it.
fn last_code(line: &str) -> Option<(&str, &str)> {
    let numbers = line.strip_suffix('m')?.trim_end_matches(|c: char| c.is_ascii_digit() || c == ';');
    let before = numbers.strip_suffix("\u{1b}[")?;
    Some((before, &line[before.len()..]))
}

/// Text that another program reads, byte for byte; on a terminal nothing in it may steer.
pub fn raw(text: &str) {
    use std::io::{IsTerminal, Write};
    let stdout = std::io::stdout();
    let text = if stdout.is_terminal() { visible(text) } else { text.to_owned() };
    wrote(stdout.lock().write_all(text.as_bytes()));
}

/// For a terminal alone: text that was made visible, and codes of ours that draw it in its place.
pub fn steer(text: &str) {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    wrote(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
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
    let _reader_gone = writeln!(anstream::stderr(), "{}", trimmed(&visible(text)));
}

pub fn error(text: &str) {
    use std::io::Write;
    let _reader_gone = writeln!(anstream::stderr(), "{} {}", "error:".red().bold(), trimmed(&visible(text)));
}

pub fn warning(text: &str) {
    use std::io::Write;
    let _reader_gone = writeln!(anstream::stderr(), "{} {}", "warning:".yellow().bold(), trimmed(&visible(text)));
}

pub fn hint(text: &str) {
    use std::io::Write;
    let _reader_gone = writeln!(anstream::stderr(), "{} {}", "hint:".cyan().bold(), trimmed(&visible(text)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AbsentReviewer;

    /// A review that the debt reviewer has no part in.
    pub(super) fn incomplete() -> Checked {
        let absent = AbsentReviewer {
            reviewer: "debt".into(),
            code: "API_001".into(),
            reason: "50% of it".into(),
            left_out: false,
        };
        let coverage = Coverage { read: 1, total: 1, absent: vec![absent], ..Coverage::default() };
        let outcome = Outcome::Findings { count: 0 };
        let (findings, sources, warnings) = (Vec::new(), BTreeMap::new(), Vec::new());
        Checked { compared: None, findings, coverage, outcome, sources, fail_on: None, warnings }
    }

    #[test]
    fn a_review_without_one_of_its_reviewers_is_a_failure_whatever_the_others_found() {
        assert_eq!(code(&incomplete(), None), EXIT_FAILED);
        let whole = Checked { coverage: Coverage::default(), ..incomplete() };
        assert_eq!(code(&whole, None), 0);
    }

    #[test]
    fn no_line_ends_in_blanks_whatever_is_coloured() {
        for (text, want) in [
            ("plain", "plain"),
            ("", ""),
            ("  a  \n\n b\t\n   ", "  a\n\n b\n"),
            ("not set  \u{1b}[2m\u{1b}[0m", "not set\u{1b}[2m\u{1b}[0m"),
            ("a \u{1b}[1;32m  \u{1b}[0m  ", "a\u{1b}[1;32m\u{1b}[0m"),
            ("\u{1b}[31mred \u{1b}[0m", "\u{1b}[31mred\u{1b}[0m"),
            ("[12m and 5m", "[12m and 5m"),
        ] {
            assert_eq!(trimmed(text), want, "{text:?}");
        }
    }
}
