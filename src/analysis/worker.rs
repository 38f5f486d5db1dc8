//! What this room asks workers, and answers as one.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;

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
    workers::ask_about(&code.text, name, code, here, holds)
        .inspect_err(|failure| tracing::debug!(name, "a text is not understood: {}", failure.of("the parser")))
        .ok()
}

/// What may stand in an answer about a text: it is made of the text's own words, and every line that it names is there.
///
/// Otherwise a worker that one text has taken over could tell of another that it saw before, and that may be somebody else's.
pub(super) struct Bounds<'t> {
    words: BTreeSet<&'t str>,
    lines: u32,
    bytes: usize,
    /// How many words may still be looked for within others, which takes its time.
    searches: Cell<usize>,
}

/// Words of an answer that are none of the text's, but stand in one: those of literals that lost the letter of an escape before them.
const MAX_SEARCHES: usize = 1_000;

impl<'t> Bounds<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let lines = u32::try_from(text.split('\n').count()).unwrap_or(u32::MAX);
        // What the room itself puts into answers.
        let words = words(text).chain(["self"]).collect();
        Self { words, lines, bytes: text.len(), searches: Cell::new(MAX_SEARCHES) }
    }

    pub(super) fn line(&self, line: u32) -> bool {
        (1..=self.lines).contains(&line)
    }

    pub(super) fn count(&self, number: usize) -> bool {
        number <= self.bytes
    }

    pub(super) fn says(&self, said: &str) -> bool {
        self.says_with(said, "")
    }

    /// What a rule may put into the text beside the text's own words.
    pub(super) fn says_with(&self, said: &str, rules: &str) -> bool {
        said.len() <= self.bytes.saturating_mul(2).saturating_add(4096)
            && words(said).all(|word| self.knows(word) || rules.contains(word) || self.searched(word))
    }

    /// The last word may have been cut off.
    fn knows(&self, word: &str) -> bool {
        self.words.range(word..).next().is_some_and(|known| known.starts_with(word))
    }

    fn searched(&self, word: &str) -> bool {
        let left = self.searches.get();
        self.searches.set(left.saturating_sub(1));
        left > 0 && self.words.iter().any(|known| known.contains(word))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{declarations, imports};
    use crate::domain::Reading;
    use crate::stdx::workers::told::with_answer;

    const PATH: &str = "a.py";
    const TEXT: &str = "import os\n\n\ndef is_gone(x):\n    return x == None\n";

    #[track_caller]
    fn scan(answer: &str, believed: bool) {
        let engine = Engine::embedded().unwrap();
        let scan = with_answer(answer, || engine.scan(PATH, TEXT));
        let lie = Reading::Failed("the parser answered what cannot be".to_owned());
        assert_eq!(scan.reading != lie, believed, "{answer}: {:?}", scan.reading);
        assert_eq!(scan.findings.is_empty(), !believed, "{answer}");
    }

    #[test]
    fn a_match_that_cannot_be_costs_the_file() {
        let place = |rule: &str, range: (usize, usize), edit: &str| {
            let (start, end) = range;
            format!(
                r#"{{"syntax_errors":false,"stopped":null,"places":[{{"rule":"{rule}","start":{start},"end":{end},"edit":{edit}}}]}}"#
            )
        };
        let edit = |range: (usize, usize), text: &str| {
            format!(r#"{{"start":{},"end":{},"inserted":"{text}"}}"#, range.0, range.1)
        };
        let at = TEXT.find("x ==").map(|start| (start, start + "x == None".len())).unwrap();
        scan(&place("compare-to-none", at, "null"), true);
        scan(&place("compare-to-none", at, &edit(at, "x is None")), true);
        // Places outside the text, rules that are not there or do not speak this language, fixes of rules that have none.
        scan(&place("compare-to-none", (at.0, 4_700), "null"), false);
        scan(&place("compare-to-none", (at.1, at.0), "null"), false);
        scan(&place("no-such-rule", at, "null"), false);
        scan(&place("dbg-macro", at, "null"), false);
        scan(&place("eval-of-data", at, &edit(at, "x is None")), false);
        scan(&place("compare-to-none", at, &edit((at.0, 4_700), "x")), false);
        // Words that stand neither in the text nor in the rule: somebody else's, perhaps.
        scan(&place("compare-to-none", at, &edit(at, "hunter2")), false);
        scan(&place("compare-to-none", at, &edit(at, &"x ".repeat(4_000))), false);
        scan(r#"{"syntax_errors":false,"stopped":"no_rules","places":[]}"#, false);
        scan(r#"{"syntax_errors":false,"stopped":"weary","places":[]}"#, false);
        scan("null", false);
        scan("", false);
    }

    #[test]
    fn an_outline_that_cannot_be_is_none() {
        let read = |answer: &str| with_answer(answer, || Outline::read(PATH, TEXT));
        let outline = |items: &str| {
            format!(r#"{{"language":"Python","items":[{items}],"imports":[],"routes":[],"mounts":[],"extents":[]}}"#)
        };
        let item = |kind: &str, name: &str, line: u32| {
            outline(&format!(
                r#"{{"kind":"{kind}","name":"{name}","signature":"def {name}(x)","doc":null,"line":{line}}}"#
            ))
        };
        assert_eq!(read(&item("function", "is_gone", 4)).unwrap().items.len(), 1);
        for lie in [
            item("function", "is_gone", 0),
            item("function", "is_gone", 400),
            item("secret", "is_gone", 4),
            item("function", "hunter2", 4),
            outline("").replace("Python", "Rust"),
            outline(&vec![r#"{"kind":"function","name":"x","signature":"x","doc":null,"line":1}"#; 100].join(",")),
            "{}".to_owned(),
        ] {
            assert!(read(&lie).is_none(), "{lie}");
        }
    }

    #[test]
    fn names_declarations_and_imports_are_of_the_text_or_are_none() {
        let names = |texts: &str, used: &str| {
            let answer = format!(r#"{{"texts":{texts},"used":["{used}"],"defined":[],"bound":[]}}"#);
            with_answer(&answer, || Names::read(PATH, TEXT)).is_some()
        };
        assert!(names(r#"[{"start":0,"end":6}]"#, "x"));
        assert!(!names(r#"[{"start":0,"end":6}]"#, "hunter2"));
        assert!(!names(r#"[{"start":0,"end":600}]"#, "x"));
        assert!(!names(r#"[{"start":6,"end":0}]"#, "x"));
        assert!(!names(r#"[{"start":4,"end":6},{"start":5,"end":7}]"#, "x"));

        let declared = |name: &str| {
            let answer = format!(r#"[{{"name":"{name}","kind":"Function","public":true,"documented":false}}]"#);
            with_answer(&answer, || declarations(PATH, TEXT)).is_some()
        };
        assert!(declared("is_gone"));
        assert!(!declared("hunter2"));

        let imported = |from: &str| {
            let answer = format!(r#"[{{"from":"{from}","names":["os"],"members":[],"part":false}}]"#);
            with_answer(&answer, || imports(PATH, TEXT)).len()
        };
        assert_eq!((imported("os"), imported("hunter2")), (1, 0));
    }

    #[test]
    fn a_file_that_nobody_could_count_parses_worse_than_any() {
        assert_eq!(with_answer("no JSON", || fix::syntax_errors(PATH, TEXT)), usize::MAX);
    }
}
