//! `shellcheck --format=json1`: columns count characters, a tab as one.

use serde::Deserialize;

use super::{Answer, From, region, told};
use crate::analysis::told::{Edit, Place, Told, Unit};
use crate::domain::Severity;

#[derive(Deserialize)]
struct Comments {
    comments: Vec<Comment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comment {
    file: String,
    line: u32,
    end_line: u32,
    column: u32,
    end_column: u32,
    level: String,
    code: u32,
    message: String,
    fix: Option<Fix>,
}

#[derive(Deserialize)]
struct Fix {
    replacements: Vec<Replacement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    line: u32,
    end_line: u32,
    column: u32,
    end_column: u32,
    #[serde(default)]
    precedence: i64,
    replacement: String,
}

pub(super) fn read(text: &str, from: From<'_>) -> Result<Answer, serde_json::Error> {
    // Files of several calls come one after the other.
    let mut all = Vec::new();
    if text.trim().is_empty() {
        return Err(serde::de::Error::custom("it is empty"));
    }
    for comments in serde_json::Deserializer::from_str(text).into_iter::<Comments>() {
        all.extend(comments?.comments.into_iter().filter_map(|comment| of(comment, from)));
    }
    Ok(Answer { told: all, ..Answer::default() })
}

fn of(comment: Comment, from: From<'_>) -> Option<Told> {
    let rule = format!("SC{:04}", comment.code);
    let mut replacements = comment.fix.map(|fix| fix.replacements).unwrap_or_default();
    // Of two at one place, the one that binds closer is the inner one.
    replacements.sort_by_key(|one| std::cmp::Reverse(one.precedence));
    let edit = |one: &Replacement| {
        let at = region((one.line, one.column), (one.end_line, one.end_column), Unit::Character)?;
        Some(Edit { at: Place::Region(at), text: one.replacement.clone() })
    };
    Some(Told {
        severity: match comment.level.as_str() {
            "error" => Severity::High,
            "warning" => Severity::Medium,
            _ => Severity::Low,
        },
        region: region((comment.line, comment.column), (comment.end_line, comment.end_column), Unit::Character),
        help: Some(format!("https://www.shellcheck.net/wiki/{rule}")),
        edits: replacements.iter().map(edit).collect::<Option<_>>().unwrap_or_default(),
        ..told("shellcheck", &rule, from.path(&comment.file)?, comment.message)
    })
}
