//! The arguments of `octoswarm run`; their documentation is the help.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 0 all agents came through, whatever the review found, 1 one came out with an error or not all of \
                  it was done (the result says what), 2 wrong usage, 3 could not be done. Ended before that: 130 by Ctrl-C, \
                  143 by SIGTERM, 129 by SIGHUP; what had ended is kept, and the same command goes on from there."
)]
pub struct Run {
    /// Repository, or a folder in it
    pub path: PathBuf,
    /// What should be there that is not, or what should change; `-` reads standard input. Only a review needs none
    #[arg(allow_hyphen_values = true)]
    pub feature: Option<String>,
    /// Which of planner, coder, tester and reviewer work, in that order; the manager always comes first [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub agents: Option<Vec<String>>,
    /// Agents that need nothing of each other work side by side
    #[arg(long)]
    pub parallel: bool,
    /// The first failure ends the run; by default those who can do without the one that failed go on
    #[arg(long)]
    pub fail_fast: bool,
    /// Take no result of an earlier run
    #[arg(long)]
    pub force: bool,
    /// Folder for database, documents and results [default: .octoswarm in PATH]
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Settings of agents as a JSON object, by their names
    #[arg(long, value_name = "FILE")]
    pub agent_configs: Option<PathBuf>,
    #[command(flatten)]
    pub target: RunTarget,
    /// Folder of messages [default: messages in the folder of --output-dir]
    #[arg(long, value_name = "DIR")]
    pub message_dir: Option<PathBuf>,
    /// Agent that a program outside plays (docs/agent-protocol.md)
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    pub outside: Vec<String>,
    /// Run the repository's own formatter, linter, build and tests over the change, in the sandbox (docs/checks.md)
    #[arg(long)]
    pub checks: bool,
    /// Leave the repository's `.github/octoswarm.yml` out; by default its limits and paths hold
    #[arg(long)]
    pub no_config: bool,
    /// Print the result as JSON and nothing else on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
#[group(multiple = false)]
pub struct RunTarget {
    /// Make the change on HEAD, without what is not committed, as a new branch; the work tree stays as it is
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// Write the change into the work tree
    #[arg(long)]
    pub apply: bool,
}
