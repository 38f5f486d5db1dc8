//! `octoswarm runs show`.

use std::process::ExitCode;

use owo_colors::OwoColorize;
use serde::Serialize;

use super::args::RunsShow;
use super::{failure, state, words};
use crate::app::runs::{Archive, Detail, EffectState, Job, Posted, Run};
use crate::cli::Exit;
use crate::cli::report::{self, table};
use crate::config::{Overrides, Resolution, Start};
use crate::domain::Millis;
use crate::stdx::text::{iso8601, size, visible_line};

#[derive(Serialize)]
struct Shown<'a> {
    version: &'a str,
    #[serde(flatten)]
    detail: &'a Detail,
}

pub async fn show(args: RunsShow) -> Exit {
    let (state, overrides) = state(args.place)?;
    let archive = Archive::open(&state).await.map_err(failure)?;
    let run = archive.find(&args.run).await.map_err(failure)?;
    let web_url = web_url(Overrides { state: Some(state), ..overrides });
    let detail = archive.detail(run, web_url.as_deref()).await.map_err(failure)?;
    if args.json {
        let shown = Shown { version: env!("CARGO_PKG_VERSION"), detail: &detail };
        // Blanks at the end of a line in a document are the document's.
        report::exact(&serde_json::to_string_pretty(&shown)?);
    } else {
        text(&detail, archive.now());
    }
    Ok(ExitCode::SUCCESS)
}

/// Where GitHub's pages are, where the configuration of the server can be read here.
fn web_url(overrides: Overrides) -> Option<String> {
    match Resolution::load(&overrides).start {
        Some(Start::Configured(config)) => Some(config.web_url),
        Some(Start::SetUp(_)) | None => None,
    }
}

fn text(detail: &Detail, now: Millis) {
    let run = &detail.run;
    report::line(&format!("{} {}", "run".bold(), run.id.bold()));
    facts(run, detail.job.as_ref(), detail.facts, now).iter().for_each(|line| report::line(&format!("  {line}")));
    let steps = detail.steps.iter().map(|step| {
        let why = visible_line(step.detail.as_deref().unwrap_or_default());
        vec![visible_line(&step.name), words::step_state(step).to_owned(), words::step_took(step), why]
    });
    section("steps", steps.collect());
    let lines = detail.progress.iter().map(|line| vec![iso8601(line.at), visible_line(&line.text)]);
    section("progress", lines.collect());
    let documents = detail.documents.iter().map(|document| vec![visible_line(&document.file), size(document.bytes)]);
    section("documents", documents.collect());
    section("on GitHub", detail.effects.iter().map(posted).collect());
    let errors = detail.errors.iter().map(|error| vec![visible_line(&error.file), visible_line(&error.why)]);
    section("could not be read", errors.collect());
}

fn section(title: &str, rows: Vec<Vec<String>>) {
    if !rows.is_empty() {
        report::line(&format!("\n{}", title.bold()));
        table(&rows).iter().for_each(|line| report::line(&format!("  {line}")));
    }
}

fn facts(run: &Run, job: Option<&Job>, kept: bool, now: Millis) -> Vec<String> {
    let head = run.head.as_ref().map_or_else(String::new, |head| format!(" at {}", head.short()));
    let outcome = match words::outcome(run) {
        outcome if outcome.is_empty() => String::new(),
        outcome => format!(": {outcome}"),
    };
    let took = match run.finished_at {
        Some(at) => format!(", took {}", words::took(run.started_at, at)),
        None => ", goes on".to_owned(),
    };
    let mut rows = vec![
        vec!["about".to_owned(), format!("{} of {}{head}", run.kind, words::about(run))],
        vec!["state".to_owned(), format!("{}{outcome}", run.state)],
        vec!["began".to_owned(), format!("{}, {} ago{took}", iso8601(run.started_at), words::ago(run.started_at, now))],
    ];
    match (job, run.job) {
        (Some(job), _) => {
            let asked = if job.cancel_requested_at.is_some() { ", asked to stop" } else { "" };
            let attempts = format!("attempt {} of {}", job.attempt, job.max_attempts);
            rows.push(vec!["job".to_owned(), format!("{}: {}, {attempts}{asked}", job.id, job.state)]);
            if let Some(error) = &job.last_error {
                rows.push(vec!["last error".to_owned(), visible_line(error)]);
            }
        }
        (None, Some(id)) => rows.push(vec!["job".to_owned(), format!("{id}, which is not kept any more")]),
        (None, None) => {}
    }
    if !kept {
        let what = "cannot be replayed: what it started from was not kept";
        rows.push(vec!["replay".to_owned(), what.to_owned()]);
    }
    table(&rows)
}

fn posted(posted: &Posted) -> Vec<String> {
    let effect = &posted.effect;
    let state = match effect.state {
        EffectState::Intended => "not sent",
        EffectState::Sent => "sent, not known whether it arrived",
        EffectState::Proved => "done",
        EffectState::Failed => "refused",
    };
    let reason = effect.reason.clone().or_else(|| posted.link.clone()).unwrap_or_else(|| effect.key.clone());
    vec![visible_line(&effect.kind), state.to_owned(), visible_line(&reason)]
}
