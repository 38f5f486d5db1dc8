//! `octoswarm checks`: a repository's own formatter, linter, build and tests, in the sandbox.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args as ClapArgs, ValueEnum};
use owo_colors::OwoColorize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::args::PlainFormat;
use super::interrupt::Interrupts;
use super::plan::folder;
use super::{EXIT_FAILED, EXIT_FINDINGS, Exit, Failure, report};
use crate::app::local::{Check, Commands, Kind, TestedCheck, TestedOutcome};
use crate::config::{sandbox_of_server, state_of_machine};
use crate::domain::Class;
use crate::stdx::text::{count, visible, visible_line};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "The commands are those that the repository's files show, or its `commands` (docs/checks.md). They run over a copy of \
                  the work tree, with what is not committed, and change nothing of it (docs/sandbox.md).\n\
                  Exit code: 0 all passed, or there are none, 1 one failed, 2 wrong usage, 3 none failed and one could not be \
                  run, or nothing could be done. Ended before that: 130 by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP."
)]
pub struct Checks {
    /// Repository, or a folder in it
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// Show the commands and run none
    #[arg(long)]
    pub list: bool,
    /// Which to run; several with commas [default: all]
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',')]
    pub only: Vec<Only>,
    #[arg(long, value_enum, default_value_t = PlainFormat::Text)]
    pub format: PlainFormat,
    /// Leave the repository's `.github/octoswarm.yml` out; by default its `checks` and `commands` hold
    #[arg(long)]
    pub no_config: bool,
    /// The server's configuration file, whose `[sandbox]` holds; never the one in the folder by itself [env: OCTOSWARM_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder whose `local` keeps dependencies for the next time [default: the platform's state directory; env: OCTOSWARM_STATE]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Only {
    Format,
    Lint,
    Build,
    Test,
}

impl From<Only> for Kind {
    fn from(only: Only) -> Self {
        match only {
            Only::Format => Self::Format,
            Only::Lint => Self::Lint,
            Only::Build => Self::Build,
            Only::Test => Self::Test,
        }
    }
}

pub async fn cmd_checks(args: Checks) -> Exit {
    folder(&args.path)?;
    let sandbox = sandbox_of_server(args.config).map_err(|fault| Failure::Usage(fault.into()))?;
    let state = state_of_machine(args.state);
    let commands = Commands::read(&args.path, !args.no_config)
        .await
        .map_err(|error| if error.is_usage() { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) })?;
    commands.warnings.iter().for_each(|text| report::warning(text));
    let json = args.format == PlainFormat::Json;
    if args.list {
        match json {
            true => report::raw(&(serde_json::to_string_pretty(&commands.all)? + "\n")),
            false if commands.all.is_empty() => report::note(NONE),
            false => commands.all.iter().for_each(|check| report::line(&listed(check))),
        }
        return Ok(ExitCode::SUCCESS);
    }
    if commands.off {
        report::note(
            "Nothing was run: the repository's configuration says `checks: off`. `--no-config` leaves it out.",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let kinds: Vec<Kind> = args.only.into_iter().map(Kind::from).collect();
    let mut interrupts = Interrupts::catch()?;
    let cancel = CancellationToken::new();
    let (told, mut lines) = mpsc::unbounded_channel();
    let work = commands.run(&args.path, &kinds, (&sandbox, state), told, &cancel);
    tokio::pin!(work);
    let mut interrupted = None;
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            Some(line) = lines.recv() => report::note(&line),
            interrupt = interrupts.next(), if interrupted.is_none() => {
                cancel.cancel();
                interrupted = Some(interrupt);
            }
        }
    };
    let done = match (done, interrupted) {
        (Err(error), Some(interrupt)) if error.class() == Class::Cancelled => return Ok(interrupt.exit()),
        (done, _) => done?,
    };
    match json {
        true => report::raw(&(serde_json::to_string_pretty(&done)? + "\n")),
        false if done.is_empty() => report::note(NONE),
        false => show(&done),
    }
    Ok(code(&done))
}

const NONE: &str =
    "The repository shows no commands that it is checked with; `commands` in its `.github/octoswarm.yml` names them.";

fn code(done: &[TestedCheck]) -> ExitCode {
    let any = |wanted: fn(&TestedOutcome) -> bool| done.iter().any(|check| wanted(&check.outcome));
    if any(|outcome| matches!(outcome, TestedOutcome::Failed { .. })) {
        ExitCode::from(EXIT_FINDINGS)
    } else if any(|outcome| matches!(outcome, TestedOutcome::NotRun { .. })) {
        ExitCode::from(EXIT_FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

fn listed(check: &Check) -> String {
    let place = if check.dir.is_empty() { String::new() } else { format!("  (in {})", visible_line(&check.dir)) };
    format!("{:<8}{}{place}", check.kind.name(), visible_line(&check.line))
}

fn show(done: &[TestedCheck]) {
    let (mut passed, mut failed, mut not_run) = (0, 0, 0);
    for check in done {
        let place = if check.dir.is_empty() { String::new() } else { format!(" in {}", visible_line(&check.dir)) };
        let what = format!("{:<7} {}{place}", check.kind, visible_line(&check.command).bold());
        match &check.outcome {
            TestedOutcome::Passed { numbers, millis } => {
                passed += 1;
                report::line(&format!("{} {what}: {}", "pass".green(), facts(numbers, *millis)));
            }
            TestedOutcome::Failed { why, numbers, millis, names, more, tail, .. } => {
                failed += 1;
                report::line(&format!(
                    "{} {what}: {}, {}",
                    "FAIL".red().bold(),
                    visible_line(why),
                    facts(numbers, *millis)
                ));
                names.iter().for_each(|name| report::line(&format!("       {}", visible_line(name))));
                if *more > 0 {
                    report::line(&format!("       and {more} more"));
                }
                visible(tail.open()).lines().for_each(|line| report::line(&format!("     {} {line}", "|".dimmed())));
            }
            TestedOutcome::NotRun { why } => {
                not_run += 1;
                report::line(&format!("{} {what}: not run: {}", "skip".yellow(), visible_line(why)));
            }
        }
    }
    let sum = format!("{}: {passed} passed, {failed} failed, {not_run} not run", count(done.len(), "check"));
    report::line(&sum.bold().to_string());
}

fn facts(numbers: &str, millis: u64) -> String {
    let seconds = format!("{}.{} s", millis / 1000, millis % 1000 / 100);
    if numbers.is_empty() { seconds } else { format!("{numbers}, {seconds}") }
}
