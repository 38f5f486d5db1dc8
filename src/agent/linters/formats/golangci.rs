//! `golangci-lint run` as JSON, of its first and its second version: columns count bytes.

use serde::Deserialize;

use super::{Answer, From, region, told};
use crate::analysis::told::{Told, Unit};
use crate::domain::Severity;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Log {
    issues: Option<Vec<Issue>>,
    report: Option<Report>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Report {
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Issue {
    from_linter: String,
    text: String,
    #[serde(default)]
    severity: String,
    pos: Pos,
    line_range: Option<Range>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Pos {
    filename: String,
    line: u32,
    #[serde(default)]
    column: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Range {
    to: u32,
}

pub(super) fn read(text: &str, from: From<'_>) -> Result<Answer, serde_json::Error> {
    // Statistics may follow.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Log>();
    let Some(log) = values.next() else { return Err(serde::de::Error::custom("it is empty")) };
    let log = log?;
    if log.issues.is_none() && log.report.is_none() {
        return Err(serde::de::Error::custom("it has neither `Issues` nor `Report`"));
    }
    let failed = log.report.and_then(|report| report.error).filter(|error| !error.is_empty());
    let told = log.issues.unwrap_or_default().into_iter().filter_map(|issue| of(issue, from)).collect();
    Ok(Answer { told, failed, ..Answer::default() })
}

fn of(issue: Issue, from: From<'_>) -> Option<Told> {
    let (code, message) = parts(&issue.text);
    let rule = code.map_or_else(|| issue.from_linter.clone(), |code| format!("{}/{code}", issue.from_linter));
    // A point; only of several lines the last one is known.
    let end = issue.line_range.map_or(issue.pos.line, |range| range.to.max(issue.pos.line));
    let end = if end > issue.pos.line { (end, 0) } else { (issue.pos.line, issue.pos.column) };
    Some(Told {
        severity: match issue.severity.to_ascii_lowercase().as_str() {
            "error" | "high" => Severity::High,
            "info" | "note" | "low" => Severity::Low,
            _ => Severity::Medium,
        },
        region: region((issue.pos.line, issue.pos.column), end, Unit::Byte),
        help: help(&issue.from_linter, code),
        ..told("golangci-lint", &rule, from.path(&issue.pos.filename)?, message.to_owned())
    })
}

/// `G401: Use of weak …`: the code that linters within put before their words.
fn parts(text: &str) -> (Option<&str>, &str) {
    let Some((code, message)) = text.split_once(": ") else { return (None, text) };
    let fits = code.len() <= 60
        && code.starts_with(|c: char| c.is_ascii_alphabetic())
        && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && (code.bytes().any(|b| b.is_ascii_digit() || b == b'-'));
    if fits { (Some(code), message) } else { (None, text) }
}

fn help(linter: &str, code: Option<&str>) -> Option<String> {
    match (linter, code) {
        ("staticcheck" | "gosimple" | "stylecheck", Some(code)) => {
            Some(format!("https://staticcheck.dev/docs/checks/#{code}"))
        }
        (linter, _) if linter.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) => {
            Some(format!("https://golangci-lint.run/docs/linters/configuration/#{linter}"))
        }
        _ => None,
    }
}
