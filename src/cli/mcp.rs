//! `octoswarm mcp`: the tools for other agents, on standard input and output.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::interrupt::Interrupts;
use super::runs::args::Place;
use super::{Exit, Failure, start_logging};
use crate::config::LogFormat;
use crate::mcp::{Host, Roots, Server, serve};

#[derive(Debug, ClapArgs)]
#[command(after_help = "An MCP host starts this: see docs/mcp.md for what to write into its configuration.")]
pub struct Mcp {
    /// A folder that the tools may read and write; may be given more than once, and relative paths begin at the first
    /// [default: the working directory]
    #[arg(long = "root", value_name = "DIR")]
    pub roots: Vec<PathBuf>,
    #[command(flatten)]
    pub place: Place,
}

/// Standard error is shown to people by most hosts, or kept: only what they should know.
const LOG_FILTER: &str = "warn,rmcp=error";

pub async fn cmd_mcp(args: Mcp) -> Exit {
    start_logging(LogFormat::Text, LOG_FILTER);
    let roots = if args.roots.is_empty() { vec![PathBuf::from(".")] } else { args.roots };
    let roots = Roots::new(&roots).map_err(|error| Failure::Usage(error.into()))?;
    let state = crate::config::state_of_server(&args.place.into()).map_err(|error| Failure::Usage(error.into()))?;
    let host = Host::alone(roots, state);
    let mut interrupts = Interrupts::catch()?;
    let code = tokio::select! {
        served = serve(Server::new(host.clone()), tokio::io::stdin(), tokio::io::stdout()) => {
            served?;
            0
        }
        interrupt = interrupts.next() => interrupt.code(),
    };
    host.close();
    // Standard input is read on a thread that nothing can wake: whoever closed our output may have left it open.
    std::process::exit(code.into());
}
