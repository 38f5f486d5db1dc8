//! What this room asks workers, and answers as one.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::engine::Engine;
use super::outline::{self, Outline};
use super::tree::parse;
use super::{Language, Names, fix, matches};
use crate::stdx::workers::{self, Here};

pub(super) const OUTLINE: &str = "analysis.outline";
pub(super) const DECLARATIONS: &str = "analysis.declarations";
pub(super) const IMPORTS: &str = "analysis.imports";
pub(super) const NAMES: &str = "analysis.names";
pub(super) const ERRORS: &str = "analysis.errors";

/// A question about one text of a language.
#[derive(Serialize, Deserialize)]
pub(super) struct Code<'a> {
    pub(super) language: Language,
    pub(super) text: Cow<'a, str>,
    /// Also what lies in tests is told by its path.
    #[serde(default)]
    pub(super) is_test: bool,
}

impl<'a> Code<'a> {
    pub(super) fn new(language: Language, text: &'a str) -> Self {
        Self { language, text: text.into(), is_test: false }
    }
}

/// An answer of this room's, as a worker; none to a question of another.
pub fn answer(here: &Here, name: &str, question: &RawValue) -> Option<Vec<u8>> {
    match name {
        matches::NAME => {
            let engine = Engine::embedded().ok()?;
            told(question, |question| matches::find(here, &engine, &question))
        }
        OUTLINE => told(question, |code| Outline::of(here, &code)),
        DECLARATIONS => told(question, |code| outline::declared::of(here, &code)),
        IMPORTS => told(question, |code| outline::statements::of(here, &code)),
        NAMES => told(question, |code| Names::of(here, &code)),
        ERRORS => told(question, |code| fix::errors_of(here, &code)),
        _ => None,
    }
}

fn told<Q: DeserializeOwned, A: Serialize>(question: &RawValue, answer: impl FnOnce(Q) -> A) -> Option<Vec<u8>> {
    serde_json::to_vec(&answer(serde_json::from_str(question.get()).ok()?)).ok()
}

/// Reads the rules and one small file, so that nothing is left to be read or set up later.
///
/// # Errors
/// The rules are at fault.
pub fn prepare(here: &Here) -> Result<(), super::Error> {
    Engine::embedded()?;
    // Its C code is all in memory then.
    let _tree = parse(here, Language::Rust, "fn main() {}\n");
    Ok(())
}

/// Asks about a text; none when there is no answer, which is then told to whoever reads the log.
pub(super) fn ask<A: DeserializeOwned>(
    name: &str,
    code: &Code<'_>,
    here: impl FnOnce(&Here) -> A,
    holds: impl Fn(&A) -> bool,
) -> Option<A> {
    workers::ask(name, code, here, holds)
        .inspect_err(|failure| tracing::debug!(name, "a text is not understood: {}", failure.of("the parser")))
        .ok()
}

/// What may stand in an answer about a text: it is made of the text's own words, and every line that it names is there.
///
/// Otherwise a worker that one text has taken over could tell of another that it saw before, and that may be somebody else's.
pub(super) struct Bounds<'t> {
    words: HashSet<&'t str>,
    lines: u32,
    bytes: usize,
}

/// What the room itself puts into answers.
const OWN: &str = "self";

impl<'t> Bounds<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self::with(text, OWN)
    }

    /// Of a text and what a rule puts into it.
    pub(super) fn with(text: &'t str, own: &'t str) -> Self {
        let lines = u32::try_from(text.split('\n').count()).unwrap_or(u32::MAX);
        Self { words: words(text).chain(words(own)).collect(), lines, bytes: text.len().saturating_add(own.len()) }
    }

    pub(super) fn line(&self, line: u32) -> bool {
        (1..=self.lines).contains(&line)
    }

    pub(super) fn count(&self, number: usize) -> bool {
        number <= self.bytes
    }

    /// The last word may have been cut off; a word of a literal may have lost the letter of an escape before it.
    pub(super) fn says(&self, said: &str) -> bool {
        said.len() <= self.bytes.saturating_mul(2).saturating_add(64)
            && words(said).all(|word| self.words.contains(word) || self.words.iter().any(|known| known.contains(word)))
    }

    pub(super) fn all<'s>(&self, said: impl IntoIterator<Item = &'s String>) -> bool {
        let mut total = 0_usize;
        said.into_iter().all(|said| {
            total = total.saturating_add(1);
            self.count(total) && self.says(said)
        })
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}
