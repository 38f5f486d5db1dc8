//! Where a change is to be made: paths and languages that the text names.

use std::sync::LazyLock;

use regex::Regex;

use super::text::{CODE_END, CODE_START};
use crate::analysis::Language;

/// Empty: the whole tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Files or folders as the text names them; the end of a path is enough.
    pub paths: Vec<String>,
    pub languages: Vec<Language>,
    /// Prose only: Markdown, reStructuredText, plain text.
    pub documentation: bool,
}

impl Scope {
    pub fn is_whole_tree(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a path of the tree lies within.
    pub fn covers(&self, path: &str) -> bool {
        let named = self.paths.is_empty() || self.paths.iter().any(|named| names(named, path));
        let spoken = self.languages.is_empty() || Language::of_path(path).is_some_and(|l| self.languages.contains(&l));
        named && spoken && (!self.documentation || is_documentation(path))
    }

    /// Named paths that are nothing in this tree.
    pub fn missing<'a>(&'a self, paths: &[String]) -> Vec<&'a str> {
        let there = |named: &&String| !paths.iter().any(|path| names(named, path));
        self.paths.iter().filter(there).map(String::as_str).collect()
    }

    /// ` in a.md and b/`, or nothing.
    pub fn describe(&self) -> String {
        let mut parts: Vec<String> = self.paths.iter().map(|path| format!("`{path}`")).collect();
        parts.extend(self.languages.iter().map(|language| format!("{} code", title(*language))));
        if self.documentation {
            parts.push("the documentation".to_owned());
        }
        if parts.is_empty() { String::new() } else { format!(" in {}", parts.join(" and ")) }
    }

    /// What a piece of prose names; `taken` are the texts that are to be replaced, which may look like paths.
    pub(super) fn read(text: &str, taken: &[&str]) -> Self {
        let mut scope = Self::default();
        // The parts of `s/from/to/` are no paths.
        let command = taken.join("/");
        let text = &if taken.len() == 2 { text.replace(&format!("s/{command}/"), " ") } else { text.to_owned() };
        for token in tokens(text) {
            let known = scope.paths.contains(&token.to_owned());
            if !taken.contains(&token) && !known {
                scope.paths.push(token.to_owned());
            }
        }
        let plain = text.to_lowercase();
        for (pattern, languages) in SPOKEN.iter() {
            if pattern.is_match(&plain) {
                scope.languages.extend(languages.iter());
            }
        }
        scope.documentation = DOCUMENTATION.is_match(&plain) && scope.paths.is_empty();
        scope
    }

    /// Whether the text says that more is meant than the places it names.
    pub(super) fn says_more(text: &str) -> bool {
        MORE.is_match(text)
    }

    /// Whether the text says that all of the tree is meant.
    pub(super) fn says_everywhere(text: &str) -> bool {
        EVERYWHERE.is_match(text)
    }
}

pub(super) fn is_documentation(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    [".md", ".markdown", ".rst", ".txt", ".adoc"].iter().any(|end| name.ends_with(end)) || name == "readme"
}

fn title(language: Language) -> &'static str {
    match language {
        Language::Rust => "Rust",
        Language::Python => "Python",
        Language::JavaScript => "JavaScript",
        Language::TypeScript => "TypeScript",
        Language::Tsx => "TSX",
        Language::Go => "Go",
        Language::Java => "Java",
    }
}

/// A name covers itself, what lies below it, and every path that ends in it. `README` is the README of any format.
fn names(named: &str, path: &str) -> bool {
    let named = named.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
    if named.is_empty() {
        return false;
    }
    let stem = path.strip_suffix(".md").or_else(|| path.strip_suffix(".rst")).unwrap_or(path);
    if !named.contains(['/', '.']) && stem.eq_ignore_ascii_case(named) {
        return true;
    }
    let inside = |path: &str| path == named || path.starts_with(&format!("{named}/"));
    inside(path) || path.ends_with(&format!("/{named}"))
}

/// What looks like a path. An address or a product with a file's ending is none.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    const PRODUCTS: [&str; 9] =
        ["node.js", "next.js", "vue.js", "react.js", "express.js", "d3.js", "three.js", "nuxt.js", "electron.js"];
    let separators = |c: char| {
        c.is_whitespace() || matches!(c, CODE_START | CODE_END | '"' | '“' | '”' | '(' | ')' | ',' | ';' | '\'')
    };
    text.split(separators).filter_map(|word| {
        let word = word.trim_end_matches([':', '.', '!', '?']);
        let address = word.contains("://") || word.starts_with("www.") || word.contains('@');
        let path = PATH.is_match(word) && !address && !PRODUCTS.contains(&word.to_lowercase().as_str());
        path.then_some(word)
    })
}

#[expect(clippy::expect_used, reason = "literal patterns; the tests of this room compile them")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

static PATH: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^(
        [\w.@+-]*(/[\w.@+-]+)*\.(md|rst|txt|adoc|pyi?|rs|go|java|kt|[cm]?[jt]sx?|toml|ya?ml|json|html?|css|scss|sh|cfg|ini|xml|c|h|cc|cpp|hpp|rb|php|cs|sql|gradle|properties|vue|proto)
        | ([\w.@+-]{2,}/)+
        | (?i:readme|changelog|contributing|makefile|dockerfile)
        )$",
    )
});
static EVERYWHERE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(everywhere|throughout|all (the )?(files|places|occurrences|usages|uses|callers|call sites)|whole (tree|repo|repository|project|code ?base)|entire (repo|repository|project|code ?base)|across the|every (file|place|occurrence))\b",
    )
});
static MORE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix)\b(everywhere|elsewhere|throughout|anywhere|across|whole|entire|others|them\s+all|all\s+of\s+(them|these|those|it)
        |(all|every|each|any|both|several|other|few|more|many|similar|these|those|the\s+same)(\s+\S+){0,2}\s+(places?|files?|modules?|occurrences?|calls?|uses?|usages?|spots?|statements?|ones?|functions?|lines?|scripts?|tests?)
        |for\s+(example|instance)|e\.g|etc)\b",
    )
});
static DOCUMENTATION: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"\b(in|throughout|across) (all )?(the |our )?(docs|documentation|markdown files|guides)\b")
});
static SPOKEN: LazyLock<Vec<(Regex, &[Language])>> = LazyLock::new(|| {
    let spoken =
        |name: &str| regex(&format!(r"\b(in|across) (all )?(the |our )?({name})( code| files| sources| part| side)\b"));
    vec![
        (spoken("rust"), &[Language::Rust][..]),
        (spoken("python"), &[Language::Python]),
        (spoken("go|golang"), &[Language::Go]),
        (spoken("java"), &[Language::Java]),
        (spoken("javascript|js"), &[Language::JavaScript]),
        (spoken("typescript|ts"), &[Language::TypeScript, Language::Tsx]),
    ]
});

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        assert_eq!(Scope::read(text, &[]).paths, want, "{text}");
    }

    #[test]
    fn paths_are_told_from_words_and_addresses() {
        check("in \u{2}docs/a.md\u{3}, and api/x.py:", &["docs/a.md", "api/x.py"]);
        check("see https://a.example/b.md and/or node.js", &[]);
        check("everything below src/ and the README.", &["src/", "README"]);
    }

    #[test]
    fn a_name_covers_what_ends_in_it() {
        let scope = |text| Scope::read(text, &[]);
        assert!(scope("in ops.md").covers("docs/ops.md") && !scope("in ops.md").covers("docs/devops.md"));
        assert!(scope("the readme").covers("README.md") && !scope("the readme").covers("a/README.md.bak"));
        assert!(scope("in src/").covers("src/a/b.rs") && !scope("in src/").covers("srcs/a.rs"));
        assert!(scope("in the Python code").covers("a.py") && !scope("in the Python code").covers("a.md"));
        assert!(scope("in the docs").covers("a.md") && !scope("in the docs").covers("a.py"));
        assert_eq!(scope("in a.md").missing(&["b.md".to_owned()]), ["a.md"]);
    }
}
