//! What documentation says in code of something that the change replaced: followed where it is certain.

use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use crate::agent::contribute::substitution::{Substitution, What, replaced};
use crate::agent::contribute::{survey, words};
use crate::agent::mechanic::places;

/// What became of one document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Update {
    /// None: there is nothing to do, or nothing is certain.
    pub(super) text: Option<String>,
    /// What was done, as clauses.
    pub(super) told: Vec<String>,
    /// What was left, as sentences.
    pub(super) notes: Vec<String>,
}

/// Whether a document tells how things are now, so that it has to follow; history and licences do not.
pub(super) fn tells_of_now(path: &str) -> bool {
    static PAST: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)(^|/)(change(s|log)?|history|news|releases?|release[-_]?notes|upgrad\w*|migrat\w*|whats[-_]?new|authors|licen[cs]e|copying|notice|third[-_]?party)([-_.][^/]*)?$|(^|/)(changelogs?|blog|posts|news|newsfragments|changes|changelog\.d|adrs?|rfcs?|decisions|versioned_docs|migrations?|releases?|release[-_]?notes|archive|\.changeset)/",
        )
    });
    let lower = path.to_ascii_lowercase();
    let form = [".md", ".markdown", ".rst"].iter().any(|end| lower.ends_with(end));
    form && survey::is_docs(path) && !PAST.is_match(path)
}

/// Brings a document up to date.
pub(super) fn update(path: &str, text: &str, all: &[Substitution]) -> Update {
    let mut update = Update::default();
    let mut current = text.to_owned();
    for one in all {
        let mut at = found(path, &current, one);
        at.sort_unstable();
        at.dedup();
        if at.is_empty() {
            continue;
        }
        // Where both are told of, one of them may be told of as what was.
        let both = match one.what {
            What::Value(_) => false,
            What::Name | What::Text | What::Path => !places(&current, &one.to, true).is_empty(),
        };
        if both || at.iter().any(|at| tells_of_then(&line_of(&current, *at).replace(&one.from, ""))) {
            update.notes.push(format!("`{path}` still has `{}`: it may be told of there as what was", one.from));
            continue;
        }
        current = replaced(&current, &at, one.from.len(), &one.to);
        update.told.push(one.told());
    }
    update.text = Some(current).filter(|new| new != text);
    update
}

fn found(path: &str, text: &str, one: &Substitution) -> Vec<usize> {
    let markdown = !path.to_ascii_lowercase().ends_with(".rst");
    let (spans, blocks) = if markdown { in_markdown(text) } else { in_rst(text) };
    let within = |range: &Range<usize>, from: &str, joined: bool| -> Vec<usize> {
        let inner = text.get(range.clone()).unwrap_or_default();
        places(inner, from, joined).into_iter().map(|at| range.start + at).collect()
    };
    match &one.what {
        What::Name => {
            // A plain word in a block of code may be anything; in a span of its own it is the name.
            let called = |range: &Range<usize>| {
                let inner = text.get(range.clone()).unwrap_or_default().trim();
                let bare = inner.split('(').next().unwrap_or_default();
                bare == one.from || [".", "::", "->"].iter().any(|sep| bare.ends_with(&format!("{sep}{}", one.from)))
            };
            let distinct = words::looks_like_code(&one.from);
            let in_spans =
                spans.iter().filter(|range| distinct || called(range)).flat_map(|r| within(r, &one.from, true));
            let in_blocks = blocks.iter().filter(|_| distinct).flat_map(|range| within(range, &one.from, false));
            in_spans.chain(in_blocks).collect()
        }
        What::Text => {
            // A flag or a message: the whole of a span, or a flag in a block.
            let flag = one.from.starts_with("--");
            let whole = |range: &&Range<usize>| {
                let inner = text.get((*range).clone()).unwrap_or_default();
                inner == one.from || flag && !places(inner, &one.from, true).is_empty()
            };
            let in_spans = spans.iter().filter(whole).flat_map(|range| within(range, &one.from, true));
            let in_blocks = blocks.iter().filter(|_| flag).flat_map(|range| within(range, &one.from, true));
            in_spans.chain(in_blocks).collect()
        }
        What::Value(name) => {
            let mut all = Vec::new();
            let mut start = 0;
            for line in text.split_inclusive('\n') {
                let here = start..start + line.len();
                let of_line = |whole: &str| -> Vec<&Range<usize>> {
                    let own = |range: &&Range<usize>| {
                        here.contains(&range.start) && text.get((*range).clone()) == Some(whole)
                    };
                    spans.iter().filter(own).collect()
                };
                if let ([_], [value]) = (of_line(name).as_slice(), of_line(&one.from).as_slice()) {
                    all.push(value.start);
                }
                start += line.len();
            }
            all
        }
        What::Path => {
            let named = one.from.contains('/');
            let in_code = spans.iter().chain(&blocks).filter(|_| named);
            in_code
                .flat_map(|range| within(range, &one.from, true))
                .filter(|at| is_whole_path(text, *at, one.from.len()))
                .collect()
        }
    }
}

fn is_whole_path(text: &str, at: usize, len: usize) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    let before = text.get(..at).and_then(|t| t.chars().next_back());
    let after = text.get(at + len..).unwrap_or_default();
    !before.is_some_and(part) && !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_'))
}

fn line_of(text: &str, at: usize) -> &str {
    let start = text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    text.get(start..).unwrap_or_default().lines().next().unwrap_or_default()
}

fn tells_of_then(line: &str) -> bool {
    static THEN: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)\b(renamed|deprecated|formerly|previously|no longer|used to|removed|replaced|was called|until|before v?\d|legacy|old)\b",
        )
    });
    THEN.is_match(line)
}

/// Spans and blocks of code, without their fences.
fn in_markdown(text: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (mut spans, mut blocks, mut inside) = (Vec::new(), Vec::new(), false);
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Code(_) => {
                let whole = text.get(range.clone()).unwrap_or_default();
                let ticks = whole.bytes().take_while(|b| *b == b'`').count();
                spans.push(range.start + ticks..range.end.saturating_sub(ticks));
            }
            Event::Start(Tag::CodeBlock(_)) => inside = true,
            Event::End(TagEnd::CodeBlock) => inside = false,
            Event::Text(_) if inside => blocks.push(range),
            _ => {}
        }
    }
    (spans, blocks)
}

/// Inline literals, and what is indented below `::` or a directive for code.
fn in_rst(text: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    static SPAN: LazyLock<Regex> = LazyLock::new(|| words::regex(r"``([^`\n]+)``"));
    let spans = SPAN.captures_iter(text).filter_map(|found| found.get(1)).map(|inner| inner.range()).collect();
    let (mut blocks, mut start, mut inside) = (Vec::new(), 0, false);
    for line in text.split_inclusive('\n') {
        let plain = line.trim_end();
        let indented = line.starts_with([' ', '\t']);
        if inside && indented {
            blocks.push(start..start + line.len());
        } else if !plain.is_empty() {
            let directive = plain.trim_start().starts_with(".. code");
            inside = directive || plain.ends_with("::") && !plain.trim_start().starts_with("..");
        }
        start += line.len();
    }
    (spans, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(what: What, from: &str, to: &str) -> Substitution {
        Substitution { from: from.into(), to: to.into(), what, path: "src/a.py".into() }
    }

    #[track_caller]
    fn check(what: What, from_to: (&str, &str), path: &str, old: &str, want: &str) {
        let found = update(path, old, &[one(what, from_to.0, from_to.1)]);
        assert_eq!(found.text.as_deref().unwrap_or(old), want);
    }

    #[test]
    fn code_in_documents_follows_and_prose_does_not() {
        let name = ("load_all", "read_all");
        let old =
            "Call `load_all(x)` or `a.load_all`; load_all is quick.\n\n```python\nload_all(1)\nreload_all(2)\n```\n";
        let new =
            "Call `read_all(x)` or `a.read_all`; load_all is quick.\n\n```python\nread_all(1)\nreload_all(2)\n```\n";
        check(What::Name, name, "docs/a.md", old, new);
        let rst = "Call ``load_all()``, `load_all`::\n\n    load_all(1)\n\nload_all\n";
        check(
            What::Name,
            name,
            "docs/a.rst",
            rst,
            "Call ``read_all()``, `load_all`::\n\n    read_all(1)\n\nload_all\n",
        );
        let plain = "Use `load` or `x.load()`, `load balancer`.\n\n```\nload\n```\n";
        check(
            What::Name,
            ("load", "read"),
            "a.md",
            plain,
            "Use `read` or `x.read()`, `load balancer`.\n\n```\nload\n```\n",
        );
        check(What::Text, ("--old", "--new"), "a.md", "`x --old` --old `--old-er`\n", "`x --new` --old `--old-er`\n");
        let value = What::Value("PORT".into());
        check(value, ("80", "81"), "a.md", "`PORT` is `80`.\nOr `80`.\n", "`PORT` is `81`.\nOr `80`.\n");
        check(
            What::Path,
            ("src/a.py", "src/b.py"),
            "a.md",
            "`src/a.py` `x/src/a.py` `src/a.pyi`\n",
            "`src/b.py` `x/src/a.py` `src/a.pyi`\n",
        );
    }

    #[test]
    fn what_may_be_history_is_left_and_said() {
        for old in ["`load_all` was renamed.\n", "`load_all`, now `read_all`\n"] {
            let found = update("docs/a.md", old, &[one(What::Name, "load_all", "read_all")]);
            assert!(found.text.is_none() && found.notes.len() == 1, "{old}: {found:?}");
        }
        for path in
            ["CHANGELOG.md", "docs/migration.md", "docs/release-notes/1.md", "HISTORY.rst", "a.py", "docs/x.html"]
        {
            assert!(!tells_of_now(path), "{path}");
        }
        assert!(tells_of_now("README.md") && tells_of_now("docs/guide/start.rst"));
    }
}
