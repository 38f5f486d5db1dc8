//! `octoswarm runs`: what the server did and does, for its operator, from beside it.

mod act;
pub mod args;
mod list;
mod show;
mod watch;
pub mod words;

use std::path::PathBuf;

use self::args::{Runs, RunsVerb};
use super::{Exit, Failure};
use crate::app;
use crate::config::{self, Overrides};

pub async fn cmd_runs(args: Runs) -> Exit {
    match args.verb {
        None => list::list(args.list).await,
        Some(RunsVerb::List(args)) => list::list(args).await,
        Some(RunsVerb::Show(args)) => show::show(args).await,
        Some(RunsVerb::Watch(args)) => watch::watch(args).await,
        Some(RunsVerb::Cancel(args)) => act::cancel(args).await,
        Some(RunsVerb::Retry(args)) => act::retry(args).await,
    }
}

/// The folder that the server works on.
pub fn state(place: args::Place) -> Result<(PathBuf, Overrides), Failure> {
    let overrides: Overrides = place.into();
    let state = config::state_of_server(&overrides).map_err(|error| Failure::Usage(error.into()))?;
    Ok((state, overrides))
}

/// What the user can correct is told from what cannot be done.
pub fn failure(error: app::Error) -> Failure {
    if error.is_usage() { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) }
}
