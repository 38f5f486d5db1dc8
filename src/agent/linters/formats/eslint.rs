//! `eslint --format json`: columns and ranges count UTF-16 units.

use serde::Deserialize;

use super::{Answer, From, region, told};
use crate::analysis::told::{Edit, Place, Told, Unit};
use crate::domain::Severity;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    file_path: String,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    /// Missing where the file cannot be parsed, or is not to be looked at.
    rule_id: Option<String>,
    #[serde(default)]
    fatal: bool,
    severity: u8,
    message: String,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
    fix: Option<Fix>,
}

#[derive(Deserialize)]
struct Fix {
    range: (usize, usize),
    text: String,
}

pub(super) fn read(text: &str, from: From<'_>) -> Result<Answer, serde_json::Error> {
    let files: Vec<File> = serde_json::from_str(text)?;
    let mut all = Vec::new();
    for file in files {
        let Some(path) = from.path(&file.file_path) else { continue };
        all.extend(file.messages.into_iter().filter_map(|message| of(message, path.clone())));
    }
    Ok(Answer { told: all, ..Answer::default() })
}

fn of(message: Message, path: String) -> Option<Told> {
    let rule = match &message.rule_id {
        Some(rule) => rule.as_str(),
        None if message.fatal => "parsing-error",
        // That a file is left alone is nobody's defect.
        None => return None,
    };
    let number = |n: Option<u32>| n.unwrap_or(0);
    let at = (number(message.line), number(message.column));
    let end = (number(message.end_line), number(message.end_column));
    let edit = |fix: &Fix| Edit { at: Place::Utf16(fix.range.0, fix.range.1), text: fix.text.clone() };
    Some(Told {
        severity: if message.severity >= 2 { Severity::High } else { Severity::Medium },
        region: region(at, end, Unit::Utf16),
        help: help(rule),
        edits: message.fix.iter().map(edit).collect(),
        ..told("eslint", rule, path, message.message)
    })
}

/// Rules of its own have a page each; those of others lie elsewhere.
fn help(rule: &str) -> Option<String> {
    let own = rule != "parsing-error" && rule.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    if own {
        return Some(format!("https://eslint.org/docs/latest/rules/{rule}"));
    }
    let rule = rule.strip_prefix("@typescript-eslint/")?;
    Some(format!("https://typescript-eslint.io/rules/{rule}"))
}
