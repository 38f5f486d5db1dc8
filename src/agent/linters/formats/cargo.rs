//! `cargo clippy --message-format=json`: one message a line, some of which are the compiler's.

use std::collections::HashSet;

use serde::Deserialize;

use super::{Answer, From, region, told};
use crate::analysis::told::{Edit, Place, Told, Unit};
use crate::domain::Severity;

#[derive(Deserialize)]
struct Line {
    reason: String,
    message: Option<Diagnostic>,
    success: Option<bool>,
}

#[derive(Deserialize)]
struct Diagnostic {
    message: String,
    code: Option<Code>,
    level: String,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u32,
    line_end: u32,
    column_start: u32,
    column_end: u32,
    is_primary: bool,
    suggested_replacement: Option<String>,
    suggestion_applicability: Option<String>,
}

pub(super) fn read(text: &str, from: From<'_>) -> Result<Answer, serde_json::Error> {
    let mut answer = Answer::default();
    // A file that belongs to several targets is looked at for each.
    let mut seen = HashSet::new();
    let (mut last, mut finished) = (None, false);
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let line: Line = match serde_json::from_str(line) {
            Ok(line) => line,
            Err(error) => {
                last = Some(error);
                continue;
            }
        };
        if line.reason == "build-finished" {
            finished = true;
            let broken = line.success == Some(false);
            answer.failed = broken.then(|| "not everything could be built".to_owned());
        }
        let Some(told) = line.message.filter(|_| line.reason == "compiler-message").and_then(|one| of(&one, from))
        else {
            continue;
        };
        if seen.insert((told.rule.clone(), told.path.clone(), told.region.map(|r| (r.start_line, r.start_column)))) {
            answer.told.push(told);
        }
    }
    match last {
        // Where clippy is not installed, cargo says so in words and ends as it does for a finding.
        _ if finished => Ok(answer),
        Some(error) => Err(error),
        None => Err(serde::de::Error::custom("it does not say that the build is over")),
    }
}

fn of(one: &Diagnostic, from: From<'_>) -> Option<Told> {
    let primary = one.spans.iter().find(|span| span.is_primary)?;
    let code = one.code.as_ref()?;
    let rule = code.code.strip_prefix("clippy::").unwrap_or(&code.code);
    let help = one.children.iter().find_map(|child| address(&child.message));
    let edits = one.children.iter().find_map(|child| edits(child, &primary.file_name)).unwrap_or_default();
    Some(Told {
        severity: match one.level.as_str() {
            "error" => Severity::High,
            "warning" => Severity::Medium,
            _ => Severity::Low,
        },
        region: place(primary),
        help: help.or_else(|| is_error(rule).then(|| format!("https://doc.rust-lang.org/error_codes/{rule}.html"))),
        edits,
        ..told("clippy", rule, from.path(&primary.file_name)?, one.message.clone())
    })
}

fn place(span: &Span) -> Option<crate::analysis::told::Region> {
    region((span.line_start, span.column_start), (span.line_end, span.column_end), Unit::Character)
}

/// All that a suggestion changes, if it is for a machine and stays in the file.
fn edits(child: &Diagnostic, file: &str) -> Option<Vec<Edit>> {
    let fits =
        |span: &Span| span.file_name == file && span.suggestion_applicability.as_deref() == Some("MachineApplicable");
    let edit = |span: &Span| Some(Edit { at: Place::Region(place(span)?), text: span.suggested_replacement.clone()? });
    (!child.spans.is_empty() && child.spans.iter().all(fits)).then(|| child.spans.iter().map(edit).collect())?
}

/// `for further information visit https://…`.
fn address(text: &str) -> Option<String> {
    let at = text.find("https://rust-lang.github.io/rust-clippy/")?;
    text[at..].split_whitespace().next().map(str::to_owned)
}

/// `E0308`.
fn is_error(rule: &str) -> bool {
    rule.strip_prefix('E').is_some_and(|rest| rest.len() == 4 && rest.bytes().all(|b| b.is_ascii_digit()))
}
