//! `octoswarm plan`: the tasks that a described feature comes to in a local repository.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};

use super::args::{self, PlanFormat};
use super::{EXIT_NOTHING, Exit, Failure, report};
use crate::app::Error;
use crate::app::local::{self, Planned, Planning, Watch};
use crate::stdx::file;

/// Longer texts describe no feature.
const MAX_TEXT: u64 = 1 << 20;

pub async fn cmd_plan(args: args::Plan) -> Exit {
    let text = read_text(args.feature, "plan").map_err(Failure::Usage)?;
    folder(&args.path)?;
    let Planned { planning, warnings } =
        local::plan(&args.path, &text, !args.no_config, args.change_id.as_deref(), &Watch::default())
            .await
            .map_err(failure)?;
    warnings.iter().for_each(|text| report::warning(text));
    let (plan, validation, documents) = match planning {
        Planning::Planned { plan, validation, documents } => (plan, validation, documents),
        Planning::Unplanned(unplanned) => {
            report::not_planned(&unplanned);
            return Ok(ExitCode::from(EXIT_NOTHING));
        }
    };
    let shown = match args.format {
        PlanFormat::Text => report::plan(&plan),
        PlanFormat::Json => serde_json::to_string_pretty(&plan)? + "\n",
        PlanFormat::Markdown => local::plan_markdown(&plan),
    };
    // Before anything is printed: what cannot be kept ends with an error alone.
    let left_out = documents.left_out.clone();
    let kept = match args.dry_run {
        true => Vec::new(),
        false => local::keep(&args.path, *documents).await.map_err(failure)?,
    };
    match args.output {
        Some(path) => {
            file::write_atomic(&path, shown.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
            report::note(&format!("The plan is in {}.", path.display()));
        }
        None => report::raw(&shown),
    }
    validation.warnings.iter().for_each(|warning| report::warning(warning));
    for made in &kept {
        report::note(&made.message);
        made.warnings.iter().for_each(|warning| report::warning(warning));
    }
    if !kept.is_empty() {
        left_out.iter().for_each(|what| report::warning(&format!("the documents do not hold {what}")));
    }
    Ok(ExitCode::SUCCESS)
}

fn failure(error: Error) -> Failure {
    if error.is_usage() { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) }
}

/// Whether there is such a folder.
///
/// # Errors
/// There is none of that name, or it is a file.
pub(super) fn folder(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    match path.metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(anyhow::anyhow!("`{shown}` is a file: name the repository, or a folder in it")),
        Err(_) => Err(anyhow::anyhow!("there is no `{shown}`")),
    }
    .map_err(Failure::Usage)
}

/// The text of a feature, or standard input for `-`.
///
/// # Errors
/// It is too long, empty, no text, or an option of `verb` that there is none of.
pub(super) fn read_text(given: String, verb: &str) -> anyhow::Result<String> {
    let text = if given == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().take(MAX_TEXT + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
        String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("the text is not UTF-8"))?
    } else if given.starts_with("--") && !given.contains(char::is_whitespace) {
        // A list begins with a hyphen, and so does an option that there is none of.
        bail!("`{given}` is no option of {verb}: see `octoswarm {verb} --help`");
    } else {
        given
    };
    if text.len() as u64 > MAX_TEXT {
        bail!("the text is longer than {MAX_TEXT} bytes");
    }
    if text.contains('\0') {
        bail!("the text holds a NUL: it is no text");
    }
    if text.trim().is_empty() {
        bail!("the text is empty: say what should be there that is not, or what should change");
    }
    Ok(text)
}
