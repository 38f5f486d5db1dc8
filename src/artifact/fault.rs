//! What is wrong with a document, and where; the validator's findings in our own words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::exchange::IssueSeverity;
use crate::stdx::text::{nearest, parse_iso8601, truncate_chars};

/// Characters of a value that a message shows.
const SHOWN: usize = 60;

/// One thing that is wrong with a document, or could be better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub severity: IssueSeverity,
    /// For instance `milestones[0].tasks[2].id`; empty for the document as a whole.
    pub path: String,
    /// What stands there, and what was expected.
    pub message: String,
    /// What was probably meant.
    pub suggestion: Option<String>,
    /// Nothing stands where something has to.
    pub(super) missing: bool,
}

impl Fault {
    pub fn error(path: String, message: impl Into<String>) -> Self {
        Self { severity: IssueSeverity::Error, path, message: message.into(), suggestion: None, missing: false }
    }

    pub fn warning(path: String, message: impl Into<String>) -> Self {
        Self { severity: IssueSeverity::Warning, ..Self::error(path, message) }
    }

    pub fn is_error(&self) -> bool {
        self.severity == IssueSeverity::Error
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "the document" } else { &self.path };
        write!(f, "{place}: {}", self.message)?;
        match &self.suggestion {
            Some(meant) => write!(f, "; did you mean `{meant}`?"),
            None => Ok(()),
        }
    }
}

/// Whether it is an instant as the schemas want it: RFC 3339, which is ISO 8601 with date, time and offset.
pub(super) fn is_time(text: &str) -> bool {
    text.as_bytes().get(10).is_some_and(|byte| byte.eq_ignore_ascii_case(&b't')) && parse_iso8601(text).is_some()
}

/// Everything that the schema has against the document. A field that it does not name is told with `unknown`.
pub(super) fn faults(validator: &jsonschema::Validator, document: &Value, unknown: IssueSeverity) -> Vec<Fault> {
    let mut faults = Vec::new();
    for error in validator.iter_errors(document) {
        translate(&error, unknown, &mut faults);
    }
    // The frame and the form of a document may both ask for the same field.
    let mut told: Vec<Fault> = Vec::with_capacity(faults.len());
    let mut seen = BTreeSet::new();
    for fault in faults {
        if seen.insert((fault.path.clone(), fault.message.clone())) {
            told.push(fault);
        }
    }
    misspelt(&mut told);
    told
}

fn translate(error: &ValidationError<'_>, unknown: IssueSeverity, faults: &mut Vec<Fault>) {
    let path = path(error.instance_path());
    let stands = shown(error.instance());
    let expected = |what: String| Fault::error(path.clone(), format!("is {stands}, expected {what}"));
    let fault = match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            return nearest_form(error, context, unknown, faults);
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            faults.extend(unexpected.iter().map(|field| {
                let mut path = path.clone();
                step(&mut path, field);
                Fault { severity: unknown, ..Fault::error(path, "is no field that is known") }
            }));
            return;
        }
        Kind::Required { property } => {
            let mut path = path;
            step(&mut path, property.as_str().unwrap_or_default());
            Fault { missing: true, ..Fault::error(path, "is missing") }
        }
        Kind::Type { kind } => {
            let mut fault = expected(one_of(&kinds(kind)));
            fault.missing = error.instance().is_null();
            fault
        }
        Kind::Enum { options } => word(expected, error.instance(), options.as_array().map_or(&[][..], Vec::as_slice)),
        Kind::Constant { expected_value } => word(expected, error.instance(), std::slice::from_ref(&**expected_value)),
        Kind::Format { .. } => expected("a time such as `2026-11-21T10:15:35Z`".to_owned()),
        Kind::Pattern { pattern } => expected(format!("a text of the form `{pattern}`")),
        Kind::MinLength { limit: 1 } if error.instance().as_str() == Some("") => {
            Fault::error(path, "is empty, expected a text")
        }
        Kind::MinLength { limit } => expected(format!("at least {limit} characters")),
        Kind::MaxLength { limit } => expected(format!("at most {limit} characters")),
        Kind::MinItems { limit } => {
            let count = error.instance().as_array().map_or(0, Vec::len);
            Fault::error(path, format!("has {count} entries, expected at least {limit}"))
        }
        Kind::Minimum { limit } => expected(format!("at least {}", number(limit))),
        Kind::Maximum { limit } => expected(format!("at most {}", number(limit))),
        Kind::PropertyNames { error } => {
            let key = error.instance().as_str().unwrap_or_default();
            let mut path = path;
            step(&mut path, key);
            let expected =
                |what: String| Fault::error(path.clone(), format!("is no key that is known, expected {what}"));
            match error.kind() {
                Kind::Enum { options } => {
                    word(expected, error.instance(), options.as_array().map_or(&[][..], Vec::as_slice))
                }
                _ => expected(error.to_string()),
            }
        }
        // None of our schemas asks for more; what a later one asks for is told in the validator's words.
        _ => Fault::error(path, error.to_string()),
    };
    faults.push(fault);
}

/// A word that is none of those that are known.
fn word(expected: impl Fn(String) -> Fault, stands: &Value, options: &[Value]) -> Fault {
    let words: Vec<String> = options.iter().map(shown).collect();
    let known = options.iter().filter_map(Value::as_str);
    let meant = stands.as_str().and_then(|word| nearest(word, known)).map(str::to_owned);
    // Of one word, it is plain what is meant.
    Fault { suggestion: meant.filter(|_| options.len() > 1), ..expected(one_of(&words)) }
}

/// None of several forms fits: the faults of the one that was most probably meant.
fn nearest_form(
    error: &ValidationError<'_>,
    forms: &[Vec<ValidationError<'static>>],
    unknown: IssueSeverity,
    faults: &mut Vec<Fault>,
) {
    let here = error.instance_path();
    let other_type = |form: &Vec<ValidationError<'static>>| {
        form.iter().find_map(|fault| match fault.kind() {
            Kind::Type { kind } if fault.instance_path() == here => Some(kinds(kind)),
            _ => None,
        })
    };
    // What a form that was meant would hardly lack.
    let distance = |form: &&Vec<ValidationError<'static>>| -> usize {
        let cost = |fault: &ValidationError<'static>| match fault.kind() {
            Kind::Constant { .. } => 100,
            Kind::AdditionalProperties { unexpected } if fault.instance_path() == here => 5 * unexpected.len(),
            _ if depth(fault.instance_path()) <= depth(here) + 1 => 10,
            _ => 1,
        };
        form.iter().map(cost).sum()
    };
    match forms.iter().filter(|form| other_type(form).is_none()).min_by_key(distance) {
        Some(form) => form.iter().for_each(|fault| translate(fault, unknown, faults)),
        None => {
            let mut types: Vec<String> = Vec::new();
            for kind in forms.iter().filter_map(other_type).flatten() {
                if !types.contains(&kind) {
                    types.push(kind);
                }
            }
            let message = format!("is {}, expected {}", shown(error.instance()), one_of(&types));
            faults.push(Fault::error(path(here), message));
        }
    }
}

fn depth(location: &Location) -> usize {
    location.into_iter().count()
}

/// A field that is not known, beside one that is missing and is called much the same.
fn misspelt(faults: &mut [Fault]) {
    fn split(path: &str) -> (&str, &str) {
        path.split_at(path.rfind(['.', '[']).unwrap_or_default())
    }
    let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for fault in faults.iter().filter(|fault| fault.missing) {
        let (parent, name) = split(&fault.path);
        missing.entry(parent.to_owned()).or_default().push(name.trim_start_matches('.').to_owned());
    }
    for fault in faults.iter_mut().filter(|fault| fault.message == "is no field that is known") {
        let (parent, name) = split(&fault.path);
        let beside = missing.get(parent).into_iter().flatten().map(String::as_str);
        fault.suggestion = nearest(name.trim_start_matches('.'), beside).map(str::to_owned);
    }
}

fn path(location: &Location) -> String {
    let mut path = String::new();
    for segment in location {
        match segment {
            LocationSegment::Property(name) => step(&mut path, &name),
            LocationSegment::Index(at) => path.push_str(&format!("[{at}]")),
        }
    }
    path
}

/// One field further: `.name`, or `["1-scout"]` for what is no plain name.
pub(super) fn step(path: &mut String, field: &str) {
    let plain = !field.starts_with(|c: char| c.is_ascii_digit())
        && !field.is_empty()
        && field.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if !plain {
        path.push_str(&format!("[{}]", Value::from(truncate_chars(field, SHOWN))));
        return;
    }
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(field);
}

/// A value in a message.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) => format!("`{}`", truncate_chars(text, SHOWN)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// `2` of 2.0.
fn number(limit: &Value) -> String {
    limit.as_f64().map_or_else(|| limit.to_string(), |limit| limit.to_string())
}

fn kinds(kind: &TypeKind) -> Vec<String> {
    let name = |kind: JsonType| {
        match kind {
            JsonType::Array => "a list",
            JsonType::Boolean => "true or false",
            JsonType::Integer => "a whole number",
            JsonType::Null => "null",
            JsonType::Number => "a number",
            JsonType::Object => "an object",
            JsonType::String => "a text",
        }
        .to_owned()
    };
    match kind {
        TypeKind::Single(kind) => vec![name(*kind)],
        TypeKind::Multiple(kinds) => kinds.iter().map(name).collect(),
    }
}

/// `a`, `a or b`, `a, b or c`.
fn one_of(words: &[String]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [several @ .., last] => format!("{} or {last}", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_written_as_one_would_reach_for_it() {
        let mut path = String::new();
        for (field, want) in [
            ("milestones", "milestones"),
            ("x-y", "milestones.x-y"),
            ("1-scout", "milestones.x-y[\"1-scout\"]"),
            ("a.b", "milestones.x-y[\"1-scout\"][\"a.b\"]"),
            ("", "milestones.x-y[\"1-scout\"][\"a.b\"][\"\"]"),
        ] {
            step(&mut path, field);
            assert_eq!(path, want);
        }
    }

    #[test]
    fn a_value_is_shown_short() {
        let long = "x".repeat(100);
        for (value, want) in [
            (json!("a"), "`a`".to_owned()),
            (json!(long), format!("`{}…`", &long[..59])),
            (json!({ "a": 1 }), "an object".to_owned()),
            (json!([1]), "a list".to_owned()),
            (json!(1.5), "1.5".to_owned()),
            (json!(null), "null".to_owned()),
        ] {
            assert_eq!(shown(&value), want);
        }
        assert_eq!(one_of(&["a".into(), "b".into(), "c".into()]), "a, b or c");
    }

    #[test]
    fn the_form_that_was_probably_meant_is_the_one_that_faults_are_told_of() {
        let forms = json!({ "anyOf": [
            { "type": "null" },
            { "type": "object", "required": ["a", "b"], "properties": { "a": { "type": "integer" } } },
            { "type": "object", "additionalProperties": { "type": "string" } },
        ] });
        let validator = jsonschema::validator_for(&forms).unwrap();
        let told = |value: Value| -> Vec<String> {
            faults(&validator, &value, IssueSeverity::Error).iter().map(Fault::to_string).collect()
        };
        assert_eq!(told(json!({ "a": 1, "c": [], "d": 2 })), ["b: is missing"]);
        assert_eq!(told(json!({ "c": 5 })), ["c: is 5, expected a text"]);
        assert_eq!(told(json!(7)), ["the document: is 7, expected null or an object"]);
    }
}
