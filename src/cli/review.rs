//! `octoswarm review`: the change between two revisions of any local repository.

use std::io::Read;
use std::path::Path;

use super::{Exit, Failure, args, report};
use crate::app::local::{self, Given, Reviewing};
use crate::config::{Sandboxing, sandbox_of_server};
use crate::stdx::error::chain;
use crate::stdx::text::binary_size;

/// Larger logs are not read.
const MAX_LOG: u64 = 64 << 20;

pub async fn cmd_review(args: args::Review) -> Exit {
    if !args.path.exists() {
        return Err(Failure::Usage(anyhow::anyhow!("there is no `{}`", args.path.display())));
    }
    if args.sarif.iter().filter(|file| is_stdin(file)).count() > 1 {
        return Err(Failure::Usage(anyhow::anyhow!("`--sarif -` can be given once: there is one standard input")));
    }
    let logs = args.sarif.iter().map(|file| log(file)).collect::<Result<Vec<_>, _>>()?;
    let logs: Vec<Given<'_>> = logs.iter().map(|(name, text)| Given { name, text }).collect();
    let sandbox = sandbox_of_server(None).unwrap_or_else(|fault| {
        report::warning(&format!("{}; the sandbox is set up without it", chain(&fault)));
        Sandboxing::default()
    });
    let asked = Reviewing {
        base: args.base.as_deref(),
        head: args.head.as_deref(),
        obey: !args.output.no_config,
        logs: &logs,
        sandbox,
        ..Reviewing::default()
    };
    let reviewed = local::review(&args.path, asked)
        .await
        .map_err(|error| if error.is_usage() { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) })?;
    report::print(&reviewed, &args.output)
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// A log's name for messages, and its text.
fn log(file: &Path) -> Result<(String, String), Failure> {
    let name = if is_stdin(file) { "standard input".to_owned() } else { file.display().to_string() };
    let advice = local::HOW_TO_WRITE_A_LOG;
    let unusable =
        |why: String| Failure::Usage(anyhow::anyhow!("`{name}` cannot be used as a SARIF log: {why}; {advice}"));
    let mut bytes = Vec::new();
    let read = if is_stdin(file) {
        std::io::stdin().lock().take(MAX_LOG + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(MAX_LOG + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| unusable(error.to_string()))?;
    if bytes.len() as u64 > MAX_LOG {
        return Err(unusable(format!("it has more than {}", binary_size(MAX_LOG))));
    }
    let text = String::from_utf8(bytes).map_err(|_| unusable("it is not UTF-8".to_owned()))?;
    Ok((name, text))
}
