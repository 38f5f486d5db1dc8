//! `ruff check --output-format json`: columns count characters, and each change says whether it is safe.

use serde::Deserialize;

use super::{Answer, From, region, told};
use crate::analysis::told::{Edit, Place, Told, Unit};

#[derive(Deserialize)]
struct Diagnostic {
    filename: String,
    /// Missing where the file cannot be parsed.
    code: Option<String>,
    message: String,
    url: Option<String>,
    location: Point,
    end_location: Point,
    fix: Option<Fix>,
    /// Of a notebook, in which lines are counted anew.
    cell: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Point {
    row: u32,
    column: u32,
}

#[derive(Deserialize)]
struct Fix {
    applicability: Option<String>,
    edits: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    content: Option<String>,
    location: Point,
    end_location: Point,
}

pub(super) fn read(text: &str, from: From<'_>) -> Result<Answer, serde_json::Error> {
    let all: Vec<Diagnostic> = serde_json::from_str(text)?;
    Ok(Answer { told: all.into_iter().filter_map(|one| of(one, from)).collect(), ..Answer::default() })
}

fn of(one: Diagnostic, from: From<'_>) -> Option<Told> {
    if one.cell.is_some() {
        return None;
    }
    let place = |start: &Point, end: &Point| region((start.row, start.column), (end.row, end.column), Unit::Character);
    let edit = |change: &Change| {
        let at = Place::Region(place(&change.location, &change.end_location)?);
        Some(Edit { at, text: change.content.clone().unwrap_or_default() })
    };
    let safe = one.fix.as_ref().filter(|fix| fix.applicability.as_deref() == Some("safe"));
    let edits = safe.and_then(|fix| fix.edits.iter().map(edit).collect()).unwrap_or_default();
    let code = one.code.as_deref().unwrap_or("invalid-syntax");
    Some(Told {
        region: place(&one.location, &one.end_location),
        help: one.url.clone(),
        edits,
        ..told("ruff", code, from.path(&one.filename)?, one.message)
    })
}
