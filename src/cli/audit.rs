//! `octoswarm audit`: the review server's crew over a whole folder.

use std::process::ExitCode;

use super::args::PlainFormat;
use super::{EXIT_FAILED, Exit, Failure, args, report};
use crate::app::local;

pub async fn cmd_audit(args: args::Audit) -> Exit {
    let args::Audit { path, output, force, format } = args;
    if !path.is_dir() {
        let what = if path.exists() { "is no folder" } else { "is not there" };
        return Err(Failure::Usage(anyhow::anyhow!("`{}` {what}: an audit takes a folder", path.display())));
    }
    let audited = local::audit(path, output.clone(), local::Watch::default()).await?;
    let written = match &output {
        None => None,
        Some(dir) => Some((dir, local::write(&audited.aggregate, dir, force).map_err(|e| Failure::Usage(e.into()))?)),
    };
    match format {
        PlainFormat::Json => {
            report::line(&serde_json::to_string_pretty(&audited.aggregate)?);
            report::note(&report::coverage_line(&audited.coverage));
        }
        PlainFormat::Text => report::audited(&audited, &local::unanswered()),
    }
    if let Some((dir, names)) = written {
        report::note(&format!("written to `{}`: {}", dir.display(), names.join(", ")));
    }
    let failed = !audited.aggregate.errors.is_empty() || audited.coverage.read == 0;
    Ok(if failed { ExitCode::from(EXIT_FAILED) } else { ExitCode::SUCCESS })
}
