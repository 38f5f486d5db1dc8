//! `octoswarm doctor`: what is right, what is not, and what to do about it.

use std::process::ExitCode;

use owo_colors::OwoColorize;
use serde_json::json;

use super::args::{self, PlainFormat};
use super::{EXIT_FINDINGS, Exit, report};
use crate::app::doctor::{self, Check, Door, Outcome};
use crate::config::Overrides;
use crate::stdx::text::visible_line;
use crate::webhook::{self, Neighbour};

/// Names are padded to this width; longer ones push what follows.
const NAMES: usize = 16;

pub async fn cmd_doctor(args: args::Doctor) -> Exit {
    let overrides = Overrides { file: args.config, listen: args.listen, state: args.state, poll: args.poll };
    let text = args.format == PlainFormat::Text;
    let mut group = "";
    let mut tell = |check: &Check| {
        if text {
            if group != check.group {
                let gap = if group.is_empty() { "" } else { "\n" };
                report::line(&format!("{gap}{}", check.group.bold()));
                group = check.group;
            }
            report::line(&shown(check));
        }
    };
    let options = doctor::Options { overrides, offline: args.offline };
    let report = doctor::examine(options, &mut tell, async |address| {
        match webhook::who_listens(address, doctor::PATIENCE).await {
            Neighbour::Nobody => Door::Free,
            Neighbour::Ourselves { ready, reason } => Door::Ours { ready, reason },
            Neighbour::Stranger => Door::Taken,
            Neighbour::Unusable(error) => Door::Unusable(error),
        }
    })
    .await;
    let count = |outcome| report.count(outcome);
    let (passed, warned) = (count(Outcome::Pass), count(Outcome::Warn));
    let (failed, skipped) = (count(Outcome::Fail), count(Outcome::Skipped));
    if text {
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

/// `  ✓ name             what was seen`, and below it what to do.
fn shown(check: &Check) -> String {
    let (name, seen) = (visible_line(&check.name), visible_line(&check.seen));
    let name = format!("{name:NAMES$}");
    let mut text = match check.outcome {
        Outcome::Pass => format!("  {} {name} {seen}", "ok  ".green()),
        Outcome::Warn => format!("  {} {name} {seen}", "warn".yellow().bold()),
        Outcome::Fail => format!("  {} {name} {seen}", "FAIL".red().bold()),
        Outcome::Skipped => format!("  {} {name} {}", "skip".dimmed(), format!("skipped: {seen}").dimmed()),
    };
    if let Some(advice) = &check.advice {
        let indent = " ".repeat(8 + NAMES);
        text.push_str(&format!("\n{indent}{} {}", "->".cyan(), visible_line(advice)));
    }
    text
}
