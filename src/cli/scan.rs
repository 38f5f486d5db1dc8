//! `octoswarm scan`: whole files and folders, changed or not.

use std::path::Path;

use super::{Exit, Failure, args, report};
use crate::app::local;

pub async fn cmd_scan(args: args::Scan) -> Exit {
    if let Some(wrong) = args.paths.iter().find_map(|path| unreadable(path)) {
        return Err(Failure::Usage(wrong));
    }
    report::print(&local::scan(args.paths, !args.output.no_config).await?, &args.output)
}

/// Why a path cannot be scanned at all.
fn unreadable(path: &Path) -> Option<anyhow::Error> {
    let kind = match std::fs::metadata(path) {
        Ok(meta) => meta.file_type(),
        Err(_) if path == Path::new("-") => {
            return Some(anyhow::anyhow!(
                "there is no `-`: a scan reads files and folders, not standard input; save the text to a file first"
            ));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Some(anyhow::anyhow!("there is no `{}`", path.display()));
        }
        Err(error) => return Some(anyhow::anyhow!("cannot read `{}`: {error}", path.display())),
    };
    let other = !kind.is_file() && !kind.is_dir();
    other.then(|| anyhow::anyhow!("`{}` is not a regular file: a scan reads files and folders", path.display()))
}
