//! The command line: one file a verb.
//!
//! Promise: exit codes mean what the help says; what a program reads goes to standard output, what a person is told to standard error.
//! Never: no decision about code or GitHub is made here; verbs call `app`.

mod agents;
mod args;
mod audit;
mod calls;
mod checks;
mod config;
mod demo;
mod doctor;
mod fix;
mod health;
mod interrupt;
mod mcp;
mod metrics;
mod plan;
mod replay;
mod report;
mod review;
mod rules;
mod run;
mod runs;
mod scan;
mod schema;
mod scout;
mod serve;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Verb};

use crate::stdx::error::chain;

/// Findings at or above the bar.
const EXIT_FINDINGS: u8 = 1;
/// A document that does not have its form.
const EXIT_INVALID: u8 = 1;
/// Not every agent came through.
const EXIT_PARTIAL: u8 = 1;
/// No mechanic of ours solves it, or the text is too thin to plan from.
const EXIT_NOTHING: u8 = 1;
/// What an operator asked for cannot be done to this run.
const EXIT_REFUSED: u8 = 1;
/// What was watched failed or was cancelled.
const EXIT_UNFINISHED: u8 = 1;
/// A run is not what it was.
const EXIT_DIFFERS: u8 = 1;
/// Wrong use or configuration; clap exits with it too.
const EXIT_USAGE: u8 = 2;
/// The work itself could not be done.
const EXIT_FAILED: u8 = 3;

/// Why a verb ended without success.
enum Failure {
    /// The user can correct it: exit 2.
    Usage(anyhow::Error),
    /// It could not be done: exit 3.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

type Exit = Result<ExitCode, Failure>;

/// Reads the arguments, runs the verb, tells the exit code.
pub fn main() -> ExitCode {
    // Before anything is begun: a helper of the sandbox has one thread and knows nothing.
    if let Some(code) = crate::app::sandbox_helper(std::env::args_os()) {
        return code;
    }
    // One crypto provider in the whole program, chosen before anyone asks for the default.
    let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(answer) => return answered(&answer),
    };
    // Whose files they are makes no difference; a worker is started when the first one is read.
    if let Err(error) = crate::app::parsers::install() {
        return tell(&Failure::Failed(error.into()));
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return tell(&Failure::Failed(error.into())),
    };
    let exit = runtime.block_on(async {
        match args.verb {
            Verb::Serve(args) => serve::cmd_serve(args).await,
            Verb::Health(args) => health::cmd_health(args).await,
            Verb::Demo(args) => demo::cmd_demo(args).await,
            Verb::Review(args) => review::cmd_review(args).await,
            Verb::Scan(args) => scan::cmd_scan(args).await,
            Verb::Checks(args) => checks::cmd_checks(args).await,
            Verb::Audit(args) => audit::cmd_audit(args).await,
            Verb::Fix(args) => fix::cmd_fix(args).await,
            Verb::Runs(args) => runs::cmd_runs(args).await,
            Verb::Replay(args) => replay::cmd_replay(args).await,
            Verb::Agents(args) => agents::cmd_agents(args),
            Verb::Plan(args) => plan::cmd_plan(args).await,
            Verb::Scout(args) => scout::cmd_scout(args).await,
            Verb::Run(args) => run::cmd_run(args).await,
            Verb::Rules(args) => rules::cmd_rules(&args),
            Verb::Schema(args) => schema::cmd_schema(args),
            Verb::Doctor(args) => doctor::cmd_doctor(args).await,
            Verb::Config(args) => config::cmd_config(args),
            Verb::Mcp(args) => mcp::cmd_mcp(args).await,
            Verb::Calls => calls::cmd_calls(),
        }
    });
    let exit = exit.unwrap_or_else(|failure| tell(&failure));
    match report::written() {
        Ok(()) => exit,
        Err(error) => tell(&Failure::Failed(unwritten(error))),
    }
}

fn unwritten(error: &std::io::Error) -> anyhow::Error {
    let text = error.to_string();
    // The system's word for it, without its number.
    let why = text.split(" (os error").next().unwrap_or(&text);
    anyhow::anyhow!("cannot write to standard output: {why}")
}

/// Whether the program takes these arguments, for those who check what documents tell people to type.
///
/// # Errors
/// What it would say instead of beginning.
pub fn parses<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Result<(), String> {
    let typed = std::iter::once("octoswarm".into()).chain(arguments.iter().map(|word| word.as_ref().to_owned()));
    match Args::try_parse_from(typed) {
        // `--help` and `--version` are answers, not mistakes.
        Err(error) if error.use_stderr() => Err(error.to_string()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Prints help, version or what is wrong with the arguments.
fn answered(answer: &clap::Error) -> ExitCode {
    match answer.print() {
        Err(error) if !answer.use_stderr() && error.kind() != std::io::ErrorKind::BrokenPipe => {
            tell(&Failure::Failed(unwritten(&error)))
        }
        Ok(()) | Err(_) => ExitCode::from(if answer.use_stderr() { EXIT_USAGE } else { 0 }),
    }
}

fn tell(failure: &Failure) -> ExitCode {
    let (error, code) = match failure {
        Failure::Usage(error) => (error, EXIT_USAGE),
        Failure::Failed(error) => (error, EXIT_FAILED),
    };
    report::error(&chain(error.as_ref()));
    if let Some(hint) = hint(error) {
        report::hint(&hint);
    }
    ExitCode::from(code)
}

fn hint(error: &anyhow::Error) -> Option<String> {
    error
        .downcast_ref::<crate::app::Error>()
        .and_then(crate::app::Error::hint)
        .or_else(|| error.downcast_ref::<crate::config::Error>().and_then(|e| e.hint().map(str::to_owned)))
}

/// Log lines go to standard error; `OCTOSWARM_LOG` sets the filter.
fn start_logging(format: crate::config::LogFormat, default_filter: &str) {
    let filter = crate::config::log_filter().unwrap_or_else(|| default_filter.to_owned());
    let filter = tracing_subscriber::EnvFilter::new(filter);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    match format {
        crate::config::LogFormat::Text => {
            builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init()
        }
        crate::config::LogFormat::Json => builder.json().init(),
    }
}
