//! `octoswarm config check`: every setting with where it comes from, and every fault at once.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use owo_colors::OwoColorize;

use super::{EXIT_USAGE, Exit, Failure, args, report};
use crate::app::local;
use crate::config::{Error, Remark, RepoConfig, Resolution, Source, Start};
use crate::stdx::text::{count, visible_line};

pub fn cmd_config(args: args::Config) -> Exit {
    let args::ConfigVerb::Check(check) = args.verb;
    match &check.path {
        Some(path) => repository(path),
        None => Ok(server(&Resolution::load(&check.server.into()))),
    }
}

fn server(resolution: &Resolution) -> ExitCode {
    let names = resolution.settings.iter().map(|setting| setting.name.len()).max().unwrap_or_default();
    let values =
        resolution.settings.iter().map(|setting| setting.value.chars().count()).max().unwrap_or_default().min(48);
    let file = resolution.file.as_ref().map(|file| file.display().to_string());
    for setting in &resolution.settings {
        let source = match &setting.source {
            Source::Flag(flag) => (*flag).to_owned(),
            Source::Variable(name) => (*name).to_owned(),
            Source::File => file.clone().unwrap_or_default(),
            Source::Registered => "registered by set-up".to_owned(),
            Source::Default => "default".to_owned(),
            // The value says it.
            Source::Unset => String::new(),
        };
        let (value, source) = (visible_line(&setting.value), visible_line(&source));
        let row = format!("{:names$}  {value:values$}  {}", setting.name, source.dimmed());
        report::line(&row);
    }
    for warning in &resolution.warnings {
        report::warning(&warning.text);
    }
    tell(&resolution.faults);
    match (&resolution.start, resolution.faults.len()) {
        (Some(Start::Configured(_)), _) => report::note("valid"),
        (Some(Start::SetUp(_)), _) => {
            report::note("valid, but no App is named: `octoswarm serve` begins by registering one from the browser");
        }
        (None, faults) => {
            report::note(&format!("invalid: {}", count(faults, "fault")));
            return ExitCode::from(EXIT_USAGE);
        }
    }
    ExitCode::SUCCESS
}

/// Every fault with its way out.
pub fn tell(faults: &[Error]) {
    for fault in faults {
        report::error(&fault.to_string());
        if let Some(hint) = fault.hint() {
            report::hint(hint);
        }
    }
}

fn repository(path: &Path) -> Exit {
    let text = std::fs::read(path)
        .with_context(|| format!("cannot read {}", path.display()))
        .and_then(|bytes| String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", path.display())))
        .map_err(Failure::Usage)?;
    let remarks = RepoConfig::remarks(&text, &local::rule_ids()?);
    let place = |remark: &Remark| format!("{}:{}:{}: {}", path.display(), remark.line, remark.column, remark.text);
    remarks.warnings.iter().for_each(|remark| report::warning(&place(remark)));
    remarks.faults.iter().for_each(|remark| report::error(&place(remark)));
    if remarks.faults.is_empty() {
        let warnings = match remarks.warnings.len() {
            0 => String::new(),
            warnings => format!(", {}", count(warnings, "warning")),
        };
        report::note(&format!("valid{warnings}; it takes effect from the default branch"));
        return Ok(ExitCode::SUCCESS);
    }
    report::note(&format!("invalid: {}", count(remarks.faults.len(), "fault")));
    Ok(ExitCode::from(EXIT_USAGE))
}
