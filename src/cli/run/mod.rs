//! `octoswarm run`: a described feature, from the plan to the review.

pub mod args;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use tokio_util::sync::CancellationToken;

use super::interrupt::{Interrupt, Interrupts};
use super::plan::{folder, read_text};
use super::{EXIT_PARTIAL, Exit, Failure, report};
use crate::app::local::{self, Chosen, Ran, Running, Where};
use crate::domain::Class;

/// Settings of agents are a few lines.
const MAX_CONFIGS: u64 = 1 << 20;

pub async fn cmd_run(args: args::Run) -> Exit {
    let json = args.json;
    let path = args.path.clone();
    let (wish, running) = running(args).map_err(Failure::Usage)?;
    folder(&path)?;
    let mut interrupts = Interrupts::catch()?;
    let cancel = CancellationToken::new();
    let to = running.to.clone();
    let work = local::run(&path, &wish, running, cancel.clone(), report::told);
    tokio::pin!(work);
    let (done, interrupt) = tokio::select! {
        done = &mut work => (done, None),
        interrupt = interrupts.next() => {
            report::note("stopping; what has ended is kept");
            cancel.cancel();
            (work.await, Some(interrupt))
        }
    };
    let ran = match (done, interrupt) {
        (Ok(ran), _) => ran,
        // Stopped before there was anything to keep.
        (Err(error), Some(interrupt)) if error.class() == Class::Cancelled => return Ok(interrupt.exit()),
        (Err(error), _) if error.is_usage() => return Err(Failure::Usage(error.into())),
        (Err(error), _) => return Err(Failure::Failed(error.into())),
    };
    ran.warnings.iter().for_each(|text| report::warning(text));
    if json {
        report::raw(&(serde_json::to_string_pretty(&ran.result)? + "\n"));
        if let Some(change) = ran.change.as_ref().filter(|change| change.checks.is_some()) {
            report::checked(change);
        }
    } else {
        report::ran(&ran, &to);
    }
    Ok(code(&ran, interrupt.filter(|_| ran.cancelled)))
}

fn code(ran: &Ran, interrupt: Option<Interrupt>) -> ExitCode {
    match interrupt {
        Some(interrupt) => interrupt.exit(),
        None if ran.result.success => ExitCode::SUCCESS,
        None => ExitCode::from(EXIT_PARTIAL),
    }
}

fn running(args: args::Run) -> anyhow::Result<(String, Running)> {
    let agents = match &args.agents {
        Some(names) => Chosen::parse(names)?,
        None => Chosen::default(),
    };
    let wish = match args.feature {
        Some(given) => read_text(given, "run")?,
        None if agents.makes() => bail!("say what should be done: `octoswarm run PATH \"what should change\"`"),
        None => String::new(),
    };
    let configs = match &args.agent_configs {
        Some(file) => local::configs(&read_configs(file)?).map_err(|error| {
            // One line a fault.
            anyhow::anyhow!("{} cannot be used:\n{error}", file.display())
        })?,
        None => Default::default(),
    };
    let to = match (args.target.branch, args.target.apply) {
        (Some(name), _) => Where::Branch(name),
        (None, true) => Where::WorkTree,
        (None, false) => Where::Diff,
    };
    let running = Running {
        agents,
        parallel: args.parallel,
        fail_fast: args.fail_fast,
        force: args.force,
        configs,
        output_dir: args.output_dir,
        message_dir: args.message_dir,
        outside: args.outside,
        to,
        obey: !args.no_config,
        checks: args.checks,
    };
    Ok((wish, running))
}

fn read_configs(path: &Path) -> anyhow::Result<String> {
    use std::io::Read;
    let cannot = || format!("cannot read {}", path.display());
    let mut text = String::new();
    let file = std::fs::File::open(path).with_context(cannot)?;
    file.take(MAX_CONFIGS + 1).read_to_string(&mut text).with_context(cannot)?;
    if text.len() as u64 > MAX_CONFIGS {
        bail!("{} is longer than {MAX_CONFIGS} bytes", path.display());
    }
    Ok(text)
}
