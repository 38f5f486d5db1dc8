//! `octoswarm replay`: a run's agents once more, and what they make of it now.

use std::process::ExitCode;

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::interrupt::Interrupts;
use super::runs::{args, failure, state, words};
use super::{EXIT_DIFFERS, Exit, report};
use crate::app::runs::{self, Archive, Replay, StepReplay, Verdict};
use crate::stdx::difference::Difference;
use crate::stdx::text::{count, truncate_chars, visible_line};

/// Differences of one step that people are shown; `--json` has more.
const SHOWN: usize = 10;
/// Characters of a value that people are shown.
const VALUE: usize = 160;

pub async fn cmd_replay(args: args::Replay) -> Exit {
    let (state, _) = state(args.place)?;
    let archive = Archive::open(&state).await.map_err(failure)?;
    let run = archive.find(&args.run).await.map_err(failure)?;
    let (cancel, mut interrupts) = (CancellationToken::new(), Interrupts::catch()?);
    let replay = tokio::select! {
        replay = runs::replay(&archive, run, args.path.as_deref(), &cancel) => replay.map_err(failure)?,
        told = interrupts.next() => {
            cancel.cancel();
            return Ok(told.exit());
        }
    };
    let same = replay.is_same();
    if args.json {
        let run = &replay.run;
        let document = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "run": run.id,
            "kind": run.kind,
            "repo": run.repo,
            "number": run.number,
            "same": same,
            "steps": replay.steps,
        });
        report::line(&serde_json::to_string_pretty(&document)?);
    } else {
        text(&replay);
    }
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::from(EXIT_DIFFERS) })
}

fn text(replay: &Replay) {
    let run = &replay.run;
    report::line(&format!(
        "{} {} {}",
        "run".bold(),
        run.id.bold(),
        format!("{} of {}", run.kind, words::about(run)).dimmed()
    ));
    let several = replay.steps.iter().any(|step| step.flow != replay.steps[0].flow);
    // What a local run made, and its review, each have a manager.
    let name = |step: &StepReplay| if several { format!("{}/{}", step.flow, step.name) } else { step.name.to_owned() };
    let width = replay.steps.iter().map(|step| name(step).len()).max().unwrap_or_default();
    for step in &replay.steps {
        let other = if step.other_maker { "  (agent, rules or settings are others now)" } else { "" };
        report::line(&format!("  {:width$}  {}{}", name(step), verdict(&step.verdict), other.yellow()));
        detail(step).iter().for_each(|line| report::line(line));
    }
    let count_of = |wanted: fn(&Verdict) -> bool| replay.steps.iter().filter(|step| wanted(&step.verdict)).count();
    let same = count_of(|verdict| *verdict == Verdict::Same);
    let left_out = count_of(|verdict| matches!(verdict, Verdict::NotCompared(_)));
    let differ = replay.steps.len() - same - left_out;
    let left_out = if left_out > 0 { format!(", {left_out} not compared") } else { String::new() };
    let sum = format!("{}: {same} the same, {differ} differ{left_out}", count(replay.steps.len(), "step"));
    report::line(&format!("\n{}", sum.bold()));
}

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Same => "same".green().to_string(),
        Verdict::Differs(found) => format!("differs in {}", count(found.len(), "place")).red().to_string(),
        Verdict::FailedOtherwise { .. } => "fails otherwise".red().to_string(),
        Verdict::NotCompared(why) => format!("not compared: {}", visible_line(why)).dimmed().to_string(),
    }
}

fn detail(step: &StepReplay) -> Vec<String> {
    let mut lines = Vec::new();
    match &step.verdict {
        Verdict::Same | Verdict::NotCompared(_) => {}
        Verdict::Differs(found) => {
            for Difference { path, old, new } in found.iter().take(SHOWN) {
                let path = if path.is_empty() { "(the whole)" } else { path };
                lines.push(format!("    {}", visible_line(&truncate_chars(path, VALUE)).bold()));
                lines.extend(old.as_ref().map(|old| format!("      {} {}", "-".red(), value(old))));
                lines.extend(new.as_ref().map(|new| format!("      {} {}", "+".green(), value(new))));
            }
            if found.len() > SHOWN {
                lines.push(format!("    and {} more; `--json` tells them", found.len() - SHOWN));
            }
        }
        Verdict::FailedOtherwise { then, now } => {
            let told = |why: &Option<String>| visible_line(why.as_deref().unwrap_or("a result"));
            lines.push(format!("      {} {}", "-".red(), told(then)));
            lines.push(format!("      {} {}", "+".green(), told(now)));
        }
    }
    lines
}

fn value(value: &Value) -> String {
    visible_line(&truncate_chars(&value.to_string(), VALUE))
}
