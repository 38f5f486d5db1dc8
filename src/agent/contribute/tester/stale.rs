//! Tests that still hold fast what the change replaced: brought up to date where every place is certain.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::refs::refers;
use crate::agent::contribute::substitution::{LITERAL, Substitution, What, replaced};
use crate::agent::contribute::{survey, words};
use crate::agent::mechanic::places;
use crate::analysis::{Names, fix};

/// What became of one test file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Update {
    /// None: nothing in it is certain, or nothing has to be done.
    pub(super) text: Option<String>,
    /// What was done, as clauses.
    pub(super) told: Vec<String>,
    /// What was left, as sentences.
    pub(super) notes: Vec<String>,
}

/// Brings a test file up to date.
pub(super) fn update(path: &str, text: &str, all: &[Substitution]) -> Update {
    let mut update = Update::default();
    let mut current = text.to_owned();
    for one in all {
        let found = match &one.what {
            What::Name => name(path, &current, one),
            What::Text => literal(path, &current, one),
            What::Value(constant) => value(path, &current, one, constant),
            What::Path => moved(&current, one),
        };
        let ranges = match found {
            Ok(ranges) => ranges,
            Err(why) => {
                update.notes.push(format!("`{path}` still has `{}`: {why}", one.from));
                continue;
            }
        };
        if ranges.is_empty() {
            continue;
        }
        let at: Vec<usize> = ranges.iter().map(|range| range.start).collect();
        let new = replaced(&current, &at, one.from.len(), &one.to);
        if fix::syntax_errors(path, &new) > fix::syntax_errors(path, &current) {
            update.notes.push(format!("`{path}` still has `{}`: without it, it could not be parsed", one.from));
            continue;
        }
        current = new;
        update.told.push(one.told());
    }
    update.text = Some(current).filter(|new| new != text);
    update
}

type Places = Result<Vec<Range<usize>>, &'static str>;

fn ranges(at: Vec<usize>, len: usize) -> Vec<Range<usize>> {
    at.into_iter().map(|start| start..start + len).collect()
}

/// Uses of a name in the code, and where a string names it by its module, as for a mock.
fn name(path: &str, text: &str, one: &Substitution) -> Places {
    let (from, to) = (one.from.as_str(), one.to.as_str());
    let Some(names) = Names::read(path, text) else { return Ok(Vec::new()) };
    let at = places(text, from, false);
    let module = survey::name(&one.path).split('.').next().unwrap_or_default();
    let dotted = |at: &usize| text.get(..*at).is_some_and(|before| before.ends_with(&format!("{module}.")));
    let (code, told): (Vec<usize>, Vec<usize>) = at.into_iter().partition(|at| !names.is_text(*at) || dotted(at));
    let alone = |at: &usize| {
        let quote = |c: Option<char>| c.is_some_and(|c| matches!(c, '"' | '\'' | '`'));
        quote(text.get(..*at).and_then(|t| t.chars().next_back()))
            && quote(text.get(at + from.len()..).and_then(|t| t.chars().next()))
    };
    if code.is_empty() && !told.iter().any(alone) {
        return Ok(Vec::new());
    }
    if !refers(path, text, &one.path) {
        return Err("nothing shows that it is what was renamed");
    }
    if told.iter().any(alone) {
        return Err("it stands there as a text, which may mean something else");
    }
    if names.defined.iter().any(|name| name == from || name == to) || names.bound.contains(from) {
        return Err("the test defines that name itself");
    }
    if names.used.contains(to) || names.bound.contains(to) {
        return Err("the new name is used there for something already");
    }
    Ok(ranges(code, from.len()))
}

/// Whole literals on lines that assert something.
fn literal(path: &str, text: &str, one: &Substitution) -> Places {
    let mut found = Vec::new();
    let inside = |range: &Range<usize>| range.start + 1..range.end.saturating_sub(1);
    for literal in LITERAL.find_iter(text) {
        let range = inside(&literal.range());
        let content = text.get(range.clone()).unwrap_or_default();
        if !content.contains(&one.from) {
            continue;
        }
        if content != one.from {
            return Err("it is a part of a longer text there");
        }
        let line = line_of(text, range.start);
        if !asserts(line) {
            return Err("the line does not assert it");
        }
        if line.contains("match") && one.to.contains(['.', '(', ')', '[', ']', '*', '+', '?', '^', '|']) {
            return Err("it is a pattern there");
        }
        found.push(range);
    }
    if !found.is_empty() && !refers(path, text, &one.path) {
        return Err("nothing shows that it comes from what was changed");
    }
    Ok(found)
}

/// A number on a line that asserts it of the constant.
fn value(path: &str, text: &str, one: &Substitution, constant: &str) -> Places {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = places(line, &one.from, false);
        let at: Vec<usize> =
            at.into_iter().filter(|at| !line.get(..*at).is_some_and(|b| b.ends_with(['.', '-']))).collect();
        if let ([at], true, true) = (at.as_slice(), asserts(line), places(line, constant, false).len() == 1) {
            let after = line.get(at + one.from.len()..).unwrap_or_default();
            if !after.starts_with('.') && !line.contains(['+', '*', '/']) {
                found.push(start + at..start + at + one.from.len());
            }
        }
        start += line.len();
    }
    if !found.is_empty() && !refers(path, text, &one.path) {
        return Err("nothing shows that the constant is what was changed");
    }
    Ok(found)
}

/// A literal that is the path of the file that was moved.
fn moved(text: &str, one: &Substitution) -> Places {
    if !one.from.contains('/') {
        return Ok(Vec::new());
    }
    let inside = LITERAL.find_iter(text).map(|literal| literal.start() + 1..literal.end() - 1);
    Ok(inside.filter(|range| text.get(range.clone()) == Some(one.from.as_str())).collect())
}

fn line_of(text: &str, at: usize) -> &str {
    let start = text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    text.get(start..).unwrap_or_default().lines().next().unwrap_or_default()
}

fn asserts(line: &str) -> bool {
    static ASSERTS: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)\bassert|\bexpect\w*\(|\bshould\b|\.to(?:Be|Equal|Throw|Contain|Match)|raises|\bthrows|equals?\(|_eq!|\bwant\b|!= ",
        )
    });
    ASSERTS.is_match(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(what: What, from: &str, to: &str, path: &str) -> Substitution {
        Substitution { from: from.into(), to: to.into(), what, path: path.into() }
    }

    #[track_caller]
    fn check(what: What, source: &str, from_to: (&str, &str), test: &str, old: &str, want: &str) {
        let found = update(test, old, &[one(what, from_to.0, from_to.1, source)]);
        assert_eq!(found.text.as_deref().unwrap_or(old), want, "{:?}", found.notes);
    }

    #[test]
    fn a_renamed_name_is_followed_in_code_only() {
        let old = "from shop.cart import load\n\n\ndef test_load():\n    # load it\n    assert load('load it') == 1\n";
        let new = old.replace("import load", "import read").replace("assert load", "assert read");
        check(What::Name, "shop/cart.py", ("load", "read"), "tests/test_cart.py", old, &new);
        let mocked = "import shop.cart\nmock.patch('shop.cart.load')\n";
        check(
            What::Name,
            "shop/cart.py",
            ("load", "read"),
            "tests/test_cart.py",
            mocked,
            &mocked.replace("load", "read"),
        );
        let go = "package a\n\nfunc TestLoad(t *testing.T) { Load() }\n";
        check(What::Name, "a/a.go", ("Load", "Read"), "a/a_test.go", go, &go.replace(" Load()", " Read()"));
        let rust = "use depot::price::gross;\n#[test]\nfn a() { gross(1); }\n";
        check(What::Name, "src/price.rs", ("gross", "total"), "tests/it.rs", rust, &rust.replace("gross", "total"));
    }

    #[test]
    fn what_is_not_certain_is_left_and_said() {
        for text in [
            "from other import load\nload()\n",
            "from shop.cart import load\n\ndef load():\n    pass\n",
            "from shop.cart import load\nread = load()\n",
            "import shop.cart\ngetattr(shop.cart, 'load')\n",
        ] {
            let found = update("tests/test_cart.py", text, &[one(What::Name, "load", "read", "shop/cart.py")]);
            assert!(found.text.is_none() && found.notes.len() == 1, "{text}: {found:?}");
        }
        let text = "from shop.cart import x\nassert x() == 'not found: a'\n";
        let found = update("tests/test_cart.py", text, &[one(What::Text, "not found", "gone", "shop/cart.py")]);
        assert!(found.text.is_none() && found.notes[0].contains("longer"), "{found:?}");
        let text = "from shop.cart import x\nx('not found')\n";
        assert!(
            update("tests/test_cart.py", text, &[one(What::Text, "not found", "gone", "shop/cart.py")]).text.is_none()
        );
    }

    #[test]
    fn an_asserted_text_value_or_path_is_followed() {
        let python = "from shop.cart import x, PORT\nassert x() == 'not found'\nassert PORT == 80\ny = 80\n";
        let text = python.replace("not found", "gone");
        check(What::Text, "shop/cart.py", ("not found", "gone"), "tests/test_cart.py", python, &text);
        let value = What::Value("PORT".into());
        let want = python.replace("PORT == 80", "PORT == 81");
        check(value, "shop/cart.py", ("80", "81"), "tests/test_cart.py", python, &want);
        let script = "import { f } from './a';\nexpect(f()).toBe(\"not found\");\n";
        check(
            What::Text,
            "web/a.ts",
            ("not found", "gone"),
            "web/a.test.ts",
            script,
            &script.replace("not found", "gone"),
        );
        let path = "open('data/a.json')\n";
        check(
            What::Path,
            "data/b.json",
            ("data/a.json", "data/b.json"),
            "tests/test_a.py",
            path,
            "open('data/b.json')\n",
        );
    }
}
