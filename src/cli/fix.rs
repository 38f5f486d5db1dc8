//! `octoswarm fix`: a local change from an issue's text.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};

use super::{EXIT_NOTHING, Exit, Failure, args, report};
use crate::app::local::{self, Fixed, Fixing, Where};

/// Longer texts are no issues; GitHub allows 65,536 characters.
const MAX_ISSUE: u64 = 1 << 20;

pub async fn cmd_fix(args: args::Fix) -> Exit {
    let text = read_issue(&args.issue).map_err(Failure::Usage)?;
    let to = match (args.target.branch, args.target.apply) {
        (Some(name), _) => Where::Branch(name),
        (None, true) => Where::WorkTree,
        (None, false) => Where::Diff,
    };
    super::plan::folder(&args.path)?;
    let Fixed { fixing, warnings } = local::fix(&args.path, &text, to.clone(), !args.no_config, args.checks)
        .await
        .map_err(|error| if error.is_usage() { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) })?;
    warnings.iter().for_each(|text| report::warning(text));
    match fixing {
        Fixing::Done(done) => {
            match &to {
                Where::Diff => report::raw(&done.diff),
                Where::Branch(name) => {
                    let commit = done.commit.as_deref().unwrap_or_default();
                    report::line(&format!("branch {name} at {commit}"));
                }
                Where::WorkTree => done.files.iter().for_each(|file| report::line(&file.path)),
            }
            report::fixed(&done);
            Ok(ExitCode::SUCCESS)
        }
        Fixing::Nothing(nothing) => {
            report::not_fixed(&nothing);
            Ok(ExitCode::from(EXIT_NOTHING))
        }
    }
}

fn read_issue(path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().take(MAX_ISSUE + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        file.take(MAX_ISSUE + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
    }
    if bytes.len() as u64 > MAX_ISSUE {
        bail!("the issue is longer than {MAX_ISSUE} bytes");
    }
    let text = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("the issue is not UTF-8 text"))?;
    if text.trim().is_empty() {
        bail!("the issue is empty: give its title on the first line, then its text");
    }
    Ok(text)
}
