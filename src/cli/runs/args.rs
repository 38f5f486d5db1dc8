//! The arguments of `octoswarm runs`, `replay` and `agents`; their documentation is the help.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use crate::app::runs::RunState;
use crate::config::Overrides;
use crate::domain::RepoName;

#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Without a command, the runs are listed. RUN is a run's id, the beginning of one, or `latest`.\n\n\
                  Whoever can read the state folder may look; whoever can write it may cancel and retry.\n\n\
                  Exit code: 0 done, 2 wrong usage or no such run, 3 could not be done; `watch` and the others tell theirs."
)]
pub struct Runs {
    #[command(subcommand)]
    pub verb: Option<RunsVerb>,
    #[command(flatten)]
    pub list: RunsList,
}

#[derive(Debug, Subcommand)]
pub enum RunsVerb {
    /// List the runs that are kept, newest first
    List(RunsList),
    /// Show a run: its steps, what it said, its documents, what was posted
    Show(RunsShow),
    /// Follow a run, or whatever runs, until it ends; Ctrl-C ends the watching, not the run
    Watch(RunsWatch),
    /// Stop a run's job, also one that waits for another attempt; a running server honours it within seconds
    Cancel(RunsAct),
    /// Put the job of a failed or cancelled run into the queue again
    Retry(RunsAct),
}

// What several verbs take; a documentation comment here would replace the verb's own.
#[derive(Debug, ClapArgs)]
pub struct Place {
    /// Configuration file that names the state folder [default: octoswarm.toml, if it exists; env: OCTOSWARM_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder that the server works on [default: the platform's state directory; env: OCTOSWARM_STATE]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
}

impl From<Place> for Overrides {
    fn from(Place { config: file, state }: Place) -> Self {
        Self { file, state, ..Self::default() }
    }
}

#[derive(Debug, ClapArgs)]
pub struct RunsList {
    #[command(flatten)]
    pub place: Place,
    /// Only runs about this repository
    #[arg(long, value_name = "OWNER/NAME", value_parser = repository)]
    pub repo: Option<RepoName>,
    /// Only runs in this state
    #[arg(long, value_enum, value_name = "STATE")]
    pub state_of: Option<StateOf>,
    /// So many at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// One JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct RunsShow {
    /// Id of the run, the beginning of one, or `latest`
    pub run: String,
    #[command(flatten)]
    pub place: Place,
    /// One JSON document, with the run's documents byte for byte as they stand on the disk
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "The database is looked at four times a second.\n\n\
                        Exit code: 0 what was watched finished, 1 it failed or was cancelled, 2 wrong usage or no such run, \
                        3 it cannot go on without a server, or could not be read, 130 by Ctrl-C.")]
pub struct RunsWatch {
    /// Id of the run, the beginning of one, or `latest`; without it, whatever runs, or the next run that begins
    pub run: Option<String>,
    #[command(flatten)]
    pub place: Place,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 0 done, 1 refused (standard error says why), 2 wrong usage or no such run, 3 could not be done."
)]
pub struct RunsAct {
    /// Id of the run, the beginning of one, or `latest`
    pub run: String,
    #[command(flatten)]
    pub place: Place,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Nothing is fetched, posted or kept: every agent works once more on what it was given then, and what it makes \
                        is compared with what it made; times and durations do not count.\n\n\
                        Exit code: 0 the same, 1 something differs, 2 wrong usage or no such run, 3 could not be replayed."
)]
pub struct Replay {
    /// Id of the run, the beginning of one, or `latest`
    pub run: String,
    /// Of a run of `octoswarm run`: the path that it was given [default: the folder that the state folder lies in]
    #[arg(long, value_name = "PATH")]
    pub path: Option<PathBuf>,
    #[command(flatten)]
    pub place: Place,
    /// One JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "BY tells who does an agent's tasks: octoswarm, a program outside, or nobody, since the agent is off.\n\n\
                        Exit code: 0 told, 2 the configuration file cannot be read, or says of agents what cannot be."
)]
pub struct Agents {
    /// Configuration file that sets agents [default: octoswarm.toml, if it exists; env: OCTOSWARM_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StateOf {
    Running,
    /// Came to an outcome, whatever it says
    Finished,
    Failed,
    Cancelled,
}

impl From<StateOf> for RunState {
    fn from(state: StateOf) -> Self {
        match state {
            StateOf::Running => Self::Running,
            StateOf::Finished => Self::Finished,
            StateOf::Failed => Self::Failed,
            StateOf::Cancelled => Self::Cancelled,
        }
    }
}

fn repository(text: &str) -> Result<RepoName, &'static str> {
    text.parse().map_err(|_| "it is not a repository, like octo/calc")
}
