//! `octoswarm scan`: whole files and folders, changed or not, or what another program writes.

use std::fs::FileType;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::{Context, anyhow};

use super::{Exit, Failure, args, report};
use crate::app::local::{self, Scanning};

/// What to do with whatever is no file.
const PIPE_IT: &str = "`octoswarm scan - --stdin-filename NAME` reads standard input, and NAME tells the language";

pub async fn cmd_scan(args: args::Scan) -> Exit {
    let obey = !args.output.no_config;
    let checked = match standard_input(&args).map_err(Failure::Usage)? {
        Some(name) => {
            // One that cannot be read is no wrong usage.
            let stdin = std::io::stdin().lock();
            local::scan_text(name, stdin, obey).context("cannot read standard input")?
        }
        None => {
            args.paths.iter().try_for_each(|path| readable(path)).map_err(Failure::Usage)?;
            local::scan(Scanning { paths: args.paths, obey, ..Scanning::default() }).await?
        }
    };
    report::print(&checked, &args.output)
}

/// What standard input is called, if that is what is to be scanned. A file of the name `-` is `./-`.
fn standard_input(args: &args::Scan) -> anyhow::Result<Option<&Path>> {
    let dash = args.paths.iter().any(|path| path == Path::new("-"));
    match (dash, &args.stdin_filename) {
        (false, None) => Ok(None),
        (false, Some(_)) => Err(anyhow!("`--stdin-filename` names standard input, which only `-` as the path reads")),
        (true, None) => Err(anyhow!("`-` has no name that would tell its language: {PIPE_IT}")),
        (true, Some(_)) if args.paths.len() > 1 => {
            Err(anyhow!("`-` stands alone: scan files and folders in another call"))
        }
        (true, Some(name)) if name.file_name().is_none() => Err(anyhow!("`{}` is no file's name", name.display())),
        (true, Some(name)) => Ok(Some(name)),
    }
}

/// # Errors
/// Why a path cannot be scanned at all.
fn readable(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    // They lead to what this process has open, be it a file, and mean nothing to anybody else.
    if ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|open| path.starts_with(open)) {
        return Err(anyhow!("`{shown}` is what this process has open, not a file by its own name: {PIPE_IT}"));
    }
    let kind = match std::fs::metadata(path) {
        Ok(meta) => meta.file_type(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(anyhow!("there is no `{shown}`")),
        Err(error) => return Err(anyhow!("cannot read `{shown}`: {error}")),
    };
    match what(kind) {
        None => Ok(()),
        Some(what) => Err(anyhow!("`{shown}` is {what}, not a regular file or a folder: {PIPE_IT}")),
    }
}

/// What is neither a file nor a folder.
fn what(kind: FileType) -> Option<&'static str> {
    match () {
        () if kind.is_file() || kind.is_dir() => None,
        () if kind.is_fifo() => Some("a pipe"),
        () if kind.is_socket() => Some("a socket"),
        () => Some("a device"),
    }
}
