//! `octoswarm mcp`: the tools for other agents, on standard input and output.

use std::path::PathBuf;

use super::interrupt::Interrupts;
use super::{Exit, Failure, args, start_logging};
use crate::config::LogFormat;
use crate::mcp::{Host, Roots, Server, serve};

/// Standard error is shown to people by most hosts, or kept: only what they should know.
const LOG_FILTER: &str = "warn,rmcp=error";

pub async fn cmd_mcp(args: args::Mcp) -> Exit {
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
