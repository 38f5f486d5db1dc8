//! `octoswarm schema`: what the documents look like that agents hand to each other, and whether one of them does.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::Value;

use super::{EXIT_INVALID, Exit, Failure, args, report};
use crate::api;
use crate::artifact::exchange::ValidationResult;
use crate::artifact::{FORMS, Form};
use crate::stdx::text::{count, nearest, visible_line};

/// The description of the HTTP API: no document that agents hand to each other.
const OPENAPI: &str = "openapi";
/// No document of ours is longer.
const MAX_DOCUMENT: u64 = 64 << 20;

pub fn cmd_schema(args: args::Schema) -> Exit {
    match (&args.name, &args.verb) {
        (_, Some(args::SchemaVerb::Check(check))) => return check_document(form(&check.name)?, &check.file),
        (Some(name), None) if name == OPENAPI => report::line(&serde_json::to_string_pretty(&api::openapi())?),
        (Some(name), None) => report::line(&serde_json::to_string_pretty(form(name)?.schema())?),
        (None, None) => FORMS.iter().for_each(|form| report::line(&format!("{:19} {}", form.name, form.about))),
    }
    Ok(ExitCode::SUCCESS)
}

fn form(name: &str) -> Result<&'static Form, Failure> {
    Form::find(name).ok_or_else(|| {
        let near = nearest(name, FORMS.iter().map(|form| form.name));
        let near =
            near.map_or_else(|| "`octoswarm schema` lists them".to_owned(), |near| format!("did you mean `{near}`?"));
        Failure::Usage(anyhow::anyhow!("no document is called `{name}`; {near}"))
    })
}

fn check_document(form: &Form, file: &Path) -> Exit {
    let bytes = read(file).map_err(Failure::Usage)?;
    let document: Value = match serde_json::from_slice(&bytes) {
        Ok(document) => document,
        Err(error) => {
            report::error(&format!("{} is not JSON: {error}", file.display()));
            return Ok(ExitCode::from(EXIT_INVALID));
        }
    };
    let faults = form.check(&document);
    for fault in &faults {
        let kind = if fault.is_error() { "error" } else { "warning" };
        report::line(&visible_line(&format!("{kind}: {fault}")));
    }
    let verdict = ValidationResult::of(&faults);
    let warnings = match verdict.warnings.len() {
        0 => String::new(),
        warnings => format!(", {}", count(warnings, "warning")),
    };
    let score = verdict.quality_score;
    if verdict.is_valid {
        report::note(&format!("valid{warnings}"));
        return Ok(ExitCode::SUCCESS);
    }
    let errors = count(faults.len() - verdict.warnings.len(), "error");
    report::note(&format!("invalid: {errors}{warnings}; quality {score} of 100"));
    Ok(ExitCode::from(EXIT_INVALID))
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().take(MAX_DOCUMENT + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        file.take(MAX_DOCUMENT + 1)
            .read_to_end(&mut bytes)
            .with_context(|| format!("cannot read {}", path.display()))?;
    }
    if bytes.len() as u64 > MAX_DOCUMENT {
        bail!("the document is longer than {MAX_DOCUMENT} bytes");
    }
    Ok(bytes)
}
