//! `octoswarm doctor`: what is right, what is not, and what to do about it.

use std::process::ExitCode;

use owo_colors::OwoColorize;
use serde_json::json;

use super::args::{self, PlainFormat};
use super::interrupt::Interrupts;
use super::{EXIT_FINDINGS, Exit, report};
use crate::app::doctor::{self, Check, Door, Outcome};
use crate::domain::Ready;
use crate::stdx::text::visible_line;
use crate::webhook::{self, Neighbour};

/// Names are padded to this width; longer ones push what follows.
const NAMES: usize = 16;
/// Where what was seen begins.
const INDENT: usize = 8 + NAMES;
const WIDTH: usize = 110;

pub async fn cmd_doctor(args: args::Doctor) -> Exit {
    let text = args.format == PlainFormat::Text;
    let mut view = View::default();
    let mut tell = |check: &Check| {
        if text {
            view.show(check);
        }
    };
    let options = doctor::Options { overrides: args.server.into(), offline: args.offline };
    let examined = doctor::examine(options, &mut tell, async |address| {
        match webhook::who_listens(address, doctor::PATIENCE).await {
            Neighbour::Nobody => Door::Free,
            Neighbour::Ourselves(Ready { waits_for_set_up: true, .. }) => Door::WaitsForSetUp,
            Neighbour::Ourselves(Ready { ready, waits_for_set_up: false, reason, trouble }) => {
                Door::Ours { ready, reason: reason.or(trouble) }
            }
            Neighbour::Stranger => Door::Taken,
            Neighbour::Unusable(error) => Door::Unusable(error),
        }
    });
    let mut interrupts = Interrupts::catch()?;
    // Whoever is impatient leaves no copy of the database behind: what is open is dropped, not cut off.
    let report = tokio::select! {
        report = examined => report,
        told = interrupts.next() => return Ok(told.exit()),
    };
    let count = |outcome| report.count(outcome);
    let (passed, warned) = (count(Outcome::Pass), count(Outcome::Warn));
    let (failed, skipped) = (count(Outcome::Fail), count(Outcome::Skipped));
    if text {
        view.flush();
        let sum = format!("{passed} passed, {warned} to look at, {failed} failed, {skipped} skipped");
        report::line(&format!("\n{}", sum.bold()));
    } else {
        let document = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "config": report.file,
            "checks": report.checks,
            "passed": passed,
            "warned": warned,
            "failed": failed,
            "skipped": skipped,
        });
        report::line(&serde_json::to_string_pretty(&document)?);
    }
    Ok(if failed > 0 { ExitCode::from(EXIT_FINDINGS) } else { ExitCode::SUCCESS })
}

/// Prints checks as they come; skipped ones with one reason share a line.
#[derive(Default)]
struct View {
    group: &'static str,
    skipped: Option<(String, String)>,
}

impl View {
    fn show(&mut self, check: &Check) {
        if self.group != check.group {
            self.flush();
            let gap = if self.group.is_empty() { "" } else { "\n" };
            report::line(&format!("{gap}{}", check.group.bold()));
            self.group = check.group;
        }
        if check.outcome == Outcome::Skipped {
            match &mut self.skipped {
                Some((names, why)) if *why == check.seen => names.push_str(&format!(", {}", check.name)),
                _ => {
                    self.flush();
                    self.skipped = Some((check.name.clone(), check.seen.clone()));
                }
            }
            return;
        }
        self.flush();
        let (name, seen) = (visible_line(&check.name), visible_line(&check.seen));
        let mark = match check.outcome {
            Outcome::Pass => "ok  ".green().to_string(),
            Outcome::Warn => "warn".yellow().bold().to_string(),
            Outcome::Fail => "FAIL".red().bold().to_string(),
            Outcome::Skipped => "skip".dimmed().to_string(),
        };
        report::line(&format!("  {mark} {name:NAMES$} {}", laid_out(&seen, INDENT)));
        if let Some(advice) = &check.advice {
            let advice = laid_out(&visible_line(advice), INDENT + 3);
            report::line(&format!("{:INDENT$}{} {advice}", "", "->".cyan()));
        }
    }

    fn flush(&mut self) {
        if let Some((names, why)) = self.skipped.take() {
            let text = visible_line(&format!("{names}: {why}"));
            report::line(&format!("  {} {}", "skip".dimmed(), laid_out(&text, 7).dimmed()));
        }
    }
}

/// On a terminal, broken between words where a line would be longer than most are wide; a program gets it in one piece.
fn laid_out(text: &str, indent: usize) -> String {
    use std::io::IsTerminal;
    if std::io::stdout().is_terminal() { wrapped(text, indent) } else { text.to_owned() }
}

fn wrapped(text: &str, indent: usize) -> String {
    let (mut out, mut column) = (String::new(), indent);
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > indent && column + 1 + width > WIDTH {
            out.push_str(&format!("\n{:indent$}", ""));
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn long_lines_break_between_words_and_stay_in_their_column() {
        let text = wrapped(&"word ".repeat(40), 24);
        assert!(text.lines().count() > 1 && text.lines().all(|line| line.chars().count() <= 110), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with(&" ".repeat(24))));
        assert_eq!(wrapped("short", 24), "short");
    }
}
