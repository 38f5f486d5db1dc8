//! What the four documents have in common: the frontmatter, the normal form of texts, and the check of what was read.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Error;
use crate::artifact::{Fault, Form, Typed};

/// How often a document was written, and when first and last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Head {
    /// 1 for one that was never revised.
    pub version: u64,
    /// ISO 8601, UTC.
    pub created_at: String,
    /// ISO 8601, UTC.
    pub updated_at: String,
}

/// The same as it is read: somebody else may have written it.
#[derive(Deserialize)]
struct HeadWire {
    version: Option<Value>,
    created_at: Option<String>,
    updated_at: Option<String>,
}

/// A document that was read, and valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Document<T> {
    /// Below the root, for instance `agentd/changes/x/proposal.md`.
    pub path: String,
    #[serde(flatten)]
    pub head: Head,
    pub content: T,
    /// As it stands on the disk.
    pub markdown: String,
}

/// Frontmatter with its marks.
pub(super) fn front<T: Serialize>(fields: &T) -> Result<String, Error> {
    let yaml = serde_saphyr::to_string(fields).map_err(|error| Error::Yaml(error.to_string()))?;
    Ok(format!("---\n{}\n---\n", yaml.trim_end()))
}

/// The fields of the frontmatter.
pub(super) fn read_front<T: DeserializeOwned>(yaml: &str) -> Result<(T, Head), Vec<Fault>> {
    let told =
        |error: serde_saphyr::Error| vec![Fault::error(String::new(), format!("its frontmatter: {}", plain(&error)))];
    let fields = serde_saphyr::from_str(yaml).map_err(told)?;
    let head: HeadWire = serde_saphyr::from_str(yaml).map_err(told)?;
    let created_at = head.created_at.unwrap_or_default();
    let updated_at = head.updated_at.unwrap_or_else(|| created_at.clone());
    let version = head.version.and_then(|version| version.as_u64()).unwrap_or(1);
    Ok((fields, Head { version, created_at, updated_at }))
}

/// The message without the excerpt of the text.
pub(super) fn plain(error: &serde_saphyr::Error) -> String {
    error.without_snippet().to_string()
}

/// The frontmatter has to be there.
pub(super) fn required<'a>((front, body): (Option<&'a str>, &'a str)) -> Result<(&'a str, &'a str), Vec<Fault>> {
    match front {
        Some(front) => Ok((front, body)),
        None => Err(missing("has no frontmatter between two lines `---`")),
    }
}

pub(super) fn missing(what: &str) -> Vec<Fault> {
    vec![Fault::error(String::new(), what)]
}

/// Whether an id that a document says of itself is that of its place.
pub(super) fn same(field: &str, said: &str, place: &str) -> Result<(), Vec<Fault>> {
    if said == place {
        return Ok(());
    }
    let shown = crate::stdx::text::truncate_chars(&crate::stdx::text::visible_line(said), 60);
    Err(vec![Fault::error(field.to_owned(), format!("is `{shown}`, but the document lies where `{place}` does"))])
}

/// What was read is held to the rules of what is written.
pub(super) fn valid<T: Typed>(content: T) -> Result<T, Vec<Fault>> {
    let value = serde_json::to_value(&content).map_err(|error| missing(&error.to_string()))?;
    let mut faults = Form::of::<T>().check_own(&value);
    faults.retain(Fault::is_error);
    if faults.is_empty() { Ok(content) } else { Err(faults) }
}

/// A text without the whitespace around it, its lines ended as on Unix.
pub(super) fn normal(text: &mut String) {
    *text = text.replace("\r\n", "\n").replace('\r', "\n").trim().to_owned();
}

pub(super) fn normal_option(text: &mut Option<String>) {
    text.iter_mut().for_each(normal);
}
