//! `octoswarm runs cancel` and `octoswarm runs retry`.

use std::process::ExitCode;

use super::args::RunsAct;
use super::{failure, state, words};
use crate::app::runs::{self, Cancelled, Retry};
use crate::cli::{EXIT_REFUSED, Exit, report};

/// When something asked of a job takes effect.
fn when(served: bool) -> &'static str {
    if served { "within seconds" } else { "when a server starts on this state" }
}

pub async fn cancel(args: RunsAct) -> Exit {
    let (state, _) = state(args.place)?;
    match runs::cancel(&state, &args.run).await.map_err(failure)? {
        Cancelled::Asked { run, job, served } => {
            let (kind, about, when) = (&run.kind, words::about(&run), when(served));
            report::line(&format!("asked job {job}, the {kind} of {about}, to stop: it does so {when}"));
        }
        Cancelled::Gone { run, job } => {
            report::line(&format!("cancelled job {job}, the {} of {}: it had not begun", run.kind, words::about(&run)));
        }
        Cancelled::Already { job, served, .. } => {
            report::line(&format!("job {job} was asked to stop already: it does so {}", when(served)));
        }
        Cancelled::Over { why, .. } => {
            report::error(&why);
            report::hint("there is nothing to cancel; `octoswarm runs list --state-of running` shows what goes on");
            return Ok(ExitCode::from(EXIT_REFUSED));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub async fn retry(args: RunsAct) -> Exit {
    let (state, _) = state(args.place)?;
    match runs::retry(&state, &args.run).await.map_err(failure)? {
        Retry::Queued { run, job, served } => {
            let (kind, about) = (&run.kind, words::about(&run));
            report::line(&format!("queued job {job}, the {kind} of {about}: it begins {}", when(served)));
            Ok(ExitCode::SUCCESS)
        }
        Retry::Refused { why, hint, .. } => {
            report::error(&why);
            report::hint(&hint);
            Ok(ExitCode::from(EXIT_REFUSED))
        }
    }
}
