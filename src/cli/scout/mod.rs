//! `octoswarm scout`: which open issues of a repository to work on.

pub mod args;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};

use super::{EXIT_NOTHING, EXIT_USAGE, Exit, Failure, config, report};
use crate::app::Error;
use crate::app::scout::{self, Scouted, Search};
use crate::config::Resolution;
use crate::domain::RepoName;

/// GitHub's longest page of a hundred issues, with every comment of each, is smaller.
const MAX_FILE: u64 = 64 << 20;

/// What the one argument names.
enum Target {
    Listing(Vec<u8>),
    Repository(RepoName),
}

pub async fn cmd_scout(args: args::Scout) -> Exit {
    let search = Search { labels: args.labels, most: args.limit };
    let scouted = match target(&args.target).map_err(Failure::Usage)? {
        Target::Listing(bytes) => scout::listing(&bytes, &search).await.map_err(|error| {
            let error = anyhow!("`{}` is no list of issues: {error}", args.target);
            Failure::Usage(error)
        })?,
        Target::Repository(name) => {
            let resolution = Resolution::load(&args.server.into());
            let Some(start) = resolution.start else {
                config::tell(&resolution.faults);
                return Ok(ExitCode::from(EXIT_USAGE));
            };
            scout::repository(&name, &search, &start).await.map_err(|error| failure(&name, error))?
        }
    };
    Ok(print(&scouted, args.json, search.most)?)
}

fn print(scouted: &Scouted, json: bool, most: usize) -> anyhow::Result<ExitCode> {
    if json {
        report::line(&serde_json::to_string_pretty(&scouted.document)?);
    } else {
        report::scouted(scouted, most);
    }
    scouted.notes.iter().for_each(|text| report::note(text));
    Ok(if scouted.document.outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NOTHING) })
}

/// What is a file is read; else the text names a repository.
fn target(text: &str) -> anyhow::Result<Target> {
    if text == "-" {
        return Ok(Target::Listing(bounded(std::io::stdin(), "standard input")?));
    }
    let path = PathBuf::from(text);
    if path.is_file() {
        let file = std::fs::File::open(&path).with_context(|| format!("cannot read {text}"))?;
        return Ok(Target::Listing(bounded(file, text)?));
    }
    match text.parse::<RepoName>() {
        Ok(name) if !is_json(&path) => Ok(Target::Repository(name)),
        _ => bail!("there is no file `{text}`, and it is not a repository's name like octo/calc"),
    }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

fn bounded(from: impl Read, name: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_FILE + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > MAX_FILE {
        bail!("{name} is larger than {} MiB: list fewer issues", MAX_FILE >> 20);
    }
    Ok(bytes)
}

/// Nobody waits here for another attempt, as a job does.
fn failure(name: &RepoName, error: Error) -> Failure {
    if error.is_usage() {
        return Failure::Usage(error.into());
    }
    Failure::Failed(match scout::advice(&error) {
        Some(advice) => anyhow!("{name} could not be searched: {}; {advice}", error.chain()),
        None => anyhow!("{name} could not be searched: {}", error.chain()),
    })
}
