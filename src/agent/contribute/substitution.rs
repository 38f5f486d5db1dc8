//! What a change put in the place of something else: names, literals, values and paths, read off its own lines.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::changed::{Changed, Stretch, Touched};
use super::survey::{Class, Listed};
use super::words;
use crate::agent::mechanic::{is_name, places};
use crate::agent::{Context, Error};
use crate::analysis::Names;

/// One thing for another, wherever the change met it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Substitution {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) what: What,
    /// The file that says so.
    pub(super) path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A function, type, constant or method that the file defines.
    Name,
    /// The content of a string literal.
    Text,
    /// The value of a constant of this name.
    Value(String),
    /// A file that was moved.
    Path,
}

/// Literals shorter than this stand for too many things.
const SHORTEST_TEXT: usize = 4;
/// More of them is no mechanical change.
const MOST: usize = 20;

/// What the change replaced for certain: the old name or text is nowhere in the code any more that is shipped.
///
/// # Errors
/// When the tree cannot be read, or the work is cancelled.
pub(super) async fn find(cx: &Context, changed: &Changed) -> Result<Vec<Substitution>, Error> {
    let mut found: Vec<Substitution> = Vec::new();
    for file in changed.of_class(Class::Source) {
        found.extend(names(file));
        found.extend(texts(file));
    }
    found.extend(paths(changed));
    let mut seen = BTreeSet::new();
    found.retain(|one| one.from != one.to && seen.insert((one.from.clone(), one.to.clone())));
    // Something that became two things is no replacement.
    let several: Vec<String> =
        found.iter().filter(|one| found.iter().any(|o| o.from == one.from && o.to != one.to)).map(key).collect();
    found.retain(|one| !several.contains(&key(one)));
    found.truncate(MOST);
    let wanted: Vec<Substitution> = found.iter().filter(|one| one.what != What::Path).cloned().collect();
    if wanted.is_empty() {
        return Ok(found);
    }
    let is_source = |file: &Listed| matches!(file.class, Class::Source | Class::Aside) && file.language.is_some();
    let left = changed
        .read(cx, is_source, move |path, text| {
            let still: Vec<String> = wanted.iter().filter(|one| one.stands_in(path, text)).map(key).collect();
            (!still.is_empty()).then_some(still)
        })
        .await?;
    let left: BTreeSet<String> = left.into_values().flatten().collect();
    found.retain(|one| !left.contains(&key(one)));
    Ok(found)
}

fn key(one: &Substitution) -> String {
    format!("{}\0{:?}", one.from, one.what)
}

impl Substitution {
    /// Whether the old one is still in the code of a file.
    fn stands_in(&self, path: &str, text: &str) -> bool {
        match &self.what {
            What::Name => {
                text.contains(&self.from)
                    && Names::read(path, text).map_or_else(
                        || !places(text, &self.from, false).is_empty(),
                        |names| names.used.contains(&self.from),
                    )
            }
            What::Text => literals(text).any(|literal| literal == self.from),
            What::Value(name) => text.lines().any(|line| constant(line) == Some((name, &self.from))),
            What::Path => false,
        }
    }

    /// As a clause of a sentence.
    pub(super) fn told(&self) -> String {
        let (from, to) = (&self.from, &self.to);
        match &self.what {
            What::Name => format!("`{from}` is now called `{to}`"),
            What::Text => format!("the text \"{from}\" is now \"{to}\""),
            What::Value(name) => format!("`{name}` is now `{to}` instead of `{from}`"),
            What::Path => format!("`{from}` is now `{to}`"),
        }
    }
}

/// Names whose line of definition differs in them alone.
fn names(file: &Touched) -> Vec<Substitution> {
    let (Some(old), Some(new)) = (&file.old, &file.new) else { return Vec::new() };
    let (Some(before), Some(after)) = (Names::read(&file.path, old), Names::read(&file.path, new)) else {
        return Vec::new();
    };
    let all = |names: &Names| names.defined.iter().chain(&names.bound).cloned().collect::<BTreeSet<String>>();
    // What is bound within a function is nobody else's; a constant in capitals is.
    let outer = |name: &&String, names: &Names| names.defined.contains(name) || is_constant(name);
    let (was, is) = (all(&before), all(&after));
    let gone: Vec<&String> =
        was.difference(&is).filter(|name| outer(name, &before) && !after.used.contains(*name)).collect();
    let came: Vec<&String> =
        is.difference(&was).filter(|name| outer(name, &after) && !before.used.contains(*name)).collect();
    let stretches = file.stretches();
    let mut found = Vec::new();
    for from in gone {
        let becomes = |to: &&&String| stretches.iter().any(|stretch| is_same_but_for(stretch, from, to));
        let mut becoming = came.iter().filter(becomes);
        if let (Some(to), None) = (becoming.next(), becoming.next()) {
            let (from, to) = (from.clone(), (*to).clone());
            found.push(Substitution { from, to, what: What::Name, path: file.path.clone() });
        }
    }
    found
}

fn is_same_but_for(stretch: &Stretch, from: &str, to: &str) -> bool {
    stretch.removed.iter().any(|line| {
        let at = places(line, from, false);
        !at.is_empty() && stretch.added.contains(&replaced(line, &at, from.len(), to))
    })
}

/// The text with something else at each of these places, which are in order and do not overlap.
pub(super) fn replaced(text: &str, at: &[usize], len: usize, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut next = 0;
    for place in at {
        out.push_str(text.get(next..*place).unwrap_or_default());
        out.push_str(to);
        next = place + len;
    }
    out.push_str(text.get(next..).unwrap_or_default());
    out
}

/// Literals and values of lines that differ in nothing else.
fn texts(file: &Touched) -> Vec<Substitution> {
    let mut found = Vec::new();
    for stretch in file.stretches().iter().filter(|stretch| stretch.removed.len() == stretch.added.len()) {
        for (old, new) in stretch.removed.iter().zip(&stretch.added) {
            if let (Some((name, from)), Some((same, to))) = (constant(old), constant(new))
                && name == same
            {
                let what = What::Value(name.to_owned());
                let path = file.path.clone();
                found.push(Substitution { from: from.to_owned(), to: to.to_owned(), what, path });
                continue;
            }
            let (before, after): (Vec<&str>, Vec<&str>) = (literals(old).collect(), literals(new).collect());
            let blank = |line: &str| LITERAL.replace_all(line, "\"\"").into_owned();
            if before.len() != after.len() || blank(old) != blank(new) {
                continue;
            }
            for (from, to) in before.iter().zip(&after).filter(|(from, to)| from != to) {
                let plain = |text: &str| {
                    text.chars().count() >= SHORTEST_TEXT
                        && text.chars().any(char::is_alphabetic)
                        && !text.contains(['\\', '{', '}', '$', '%', '\'', '"', '`'])
                };
                if plain(from) && plain(to) {
                    let (from, to) = ((*from).to_owned(), (*to).to_owned());
                    found.push(Substitution { from, to, what: What::Text, path: file.path.clone() });
                }
            }
        }
    }
    found
}

/// A file that is gone, and one with the same text elsewhere.
fn paths(changed: &Changed) -> Vec<Substitution> {
    let gone = changed.files.iter().filter(|file| file.new.is_none());
    let came = |old: &Touched| {
        let mut alike = changed.files.iter().filter(|file| file.old.is_none() && file.new == old.old);
        alike.next().filter(|_| alike.next().is_none())
    };
    gone.filter_map(|old| {
        let new = came(old)?;
        let (from, to) = (old.path.clone(), new.path.clone());
        Some(Substitution { path: to.clone(), from, to, what: What::Path })
    })
    .collect()
}

/// The contents of the string literals of a line or a text.
pub(super) fn literals(text: &str) -> impl Iterator<Item = &str> {
    LITERAL.find_iter(text).filter_map(|found| found.as_str().get(1..found.len() - 1))
}

pub(super) static LITERAL: LazyLock<Regex> =
    LazyLock::new(|| words::regex(r#""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\\n]|\\.)*`"#));

/// Name and value of a constant in capitals that is given a number.
pub(super) fn constant(line: &str) -> Option<(&str, &str)> {
    static CONSTANT: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"^\s*(?:(?:export|public|private|protected|internal|static|final|pub(?:\([a-z]+\))?|const|let|var|int|long|double|float)\s+)*([A-Z][A-Z0-9_]{2,})\s*(?::\s*[A-Za-z0-9_]+\s*)?=\s*(-?[0-9][0-9_.]*)\s*[;,]?\s*(?:(?:#|//).*)?$",
        )
    });
    let found = CONSTANT.captures(line)?;
    Some((found.get(1)?.as_str(), found.get(2)?.as_str()))
}

fn is_constant(name: &str) -> bool {
    name.len() > 2 && is_name(name) && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, old: &str, new: &str) -> Touched {
        Touched { path: path.to_owned(), old: Some(old.to_owned()), new: Some(new.to_owned()) }
    }

    #[track_caller]
    fn check(path: &str, old: &str, new: &str, want: &[(&str, &str)]) {
        let file = file(path, old, new);
        let found: Vec<Substitution> = names(&file).into_iter().chain(texts(&file)).collect();
        let found: Vec<(&str, &str)> = found.iter().map(|one| (one.from.as_str(), one.to.as_str())).collect();
        assert_eq!(found, want, "{old:?} {new:?}");
    }

    #[test]
    fn a_name_is_replaced_where_its_definition_differs_in_nothing_else() {
        check("a.py", "def load(path):\n    pass\n", "def read(path):\n    pass\n", &[("load", "read")]);
        check("a.rs", "pub fn load() {}\n", "pub fn read() {}\n", &[("load", "read")]);
        check("a.ts", "export function load() {}\n", "export function read() {}\n", &[("load", "read")]);
        check("a.go", "package a\n\nfunc Load() {}\n", "package a\n\nfunc Read() {}\n", &[("Load", "Read")]);
        check("A.java", "class A { void load() {} }\n", "class A { void read() {} }\n", &[("load", "read")]);
        check("a.py", "def load(path):\n    pass\n", "def read(path, mode):\n    pass\n", &[]);
        check("a.py", "def load():\n    x = 1\n", "def load():\n    y = 1\n", &[]);
        check("a.py", "def load():\n    pass\n", "def load():\n    pass\n\ndef read():\n    pass\n", &[]);
    }

    #[test]
    fn a_literal_is_replaced_where_its_line_differs_in_nothing_else() {
        check("a.py", "raise E('not found')\n", "raise E('no such file')\n", &[("not found", "no such file")]);
        check("a.py", "raise E('not found')\n", "raise F('no such file')\n", &[]);
        check("a.py", "x = f('a {b}')\n", "x = f('c {b}')\n", &[]);
        check("a.py", "x = 'ab'\n", "x = 'cd'\n", &[]);
        check("a.py", "PORT = 8080\n", "PORT = 9090\n", &[("8080", "9090")]);
        check("a.py", "port = 8080\n", "port = 9090\n", &[]);
    }

    #[test]
    fn a_constant_is_read_in_every_language() {
        for line in [
            "PORT = 80",
            "pub const PORT: u16 = 80;",
            "export const PORT = 80;",
            "    public static final int PORT = 80;",
            "PORT = 80  # the usual",
        ] {
            assert_eq!(constant(line), Some(("PORT", "80")), "{line}");
        }
        for line in ["PORT == 80", "port = 80", "f(PORT = 80)", "PORT = 80 + 1"] {
            assert_eq!(constant(line), None, "{line}");
        }
    }
}
