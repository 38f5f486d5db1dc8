//! `octoswarm runs list`.

use std::process::ExitCode;

use owo_colors::OwoColorize;
use serde_json::json;

use super::args::RunsList;
use super::{failure, state, words};
use crate::app::runs::{Archive, Run, RunFilter, RunState};
use crate::cli::Exit;
use crate::cli::report::{self, table};
use crate::domain::Millis;
use crate::stdx::text::count;

pub async fn list(args: RunsList) -> Exit {
    let (state, _) = state(args.place)?;
    let archive = Archive::open(&state).await.map_err(failure)?;
    let filter = RunFilter { state: args.state_of.map(RunState::from), repo: args.repo };
    let limit = usize::try_from(args.limit)?;
    // One more tells whether that is all.
    let mut runs = archive.list(&filter, limit + 1).await.map_err(failure)?;
    let more = runs.len() > limit;
    runs.truncate(limit);
    let served = archive.is_served().map_err(failure)?;
    if args.json {
        let document = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "state": state,
            "served": served,
            "runs": runs,
            "more": more,
        });
        report::line(&serde_json::to_string_pretty(&document)?);
        return Ok(ExitCode::SUCCESS);
    }
    if runs.is_empty() {
        let all = filter.state.is_none() && filter.repo.is_none();
        report::note(if all { "no runs yet" } else { "no run fits" });
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["RUN", "KIND", "ABOUT", "STATE", "AGE", "TOOK", "OUTCOME"].map(str::to_owned).to_vec()];
    let now = archive.now();
    rows.extend(runs.iter().map(|run| row(run, &runs, now)));
    for (nth, line) in table(&rows).into_iter().enumerate() {
        report::line(&if nth == 0 { line.dimmed().to_string() } else { line });
    }
    if more {
        report::note(&format!("and more than these {}: `--limit` shows them", count(runs.len(), "run")));
    }
    if !served && runs.iter().any(|run| run.state == RunState::Running) {
        report::note("no server works on this state: what is said to be running was left behind by one");
    }
    Ok(ExitCode::SUCCESS)
}

fn row(run: &Run, all: &[Run], now: Millis) -> Vec<String> {
    let short = words::short(run);
    let alike = all.iter().filter(|other| words::short(other) == short).count();
    vec![
        if alike > 1 { run.id.to_string() } else { short },
        run.kind.clone(),
        words::about(run),
        run.state.to_string(),
        words::ago(run.started_at, now),
        words::took(run.started_at, run.finished_at.unwrap_or(now)),
        words::outcome_cell(run),
    ]
}
