//! What `.gitattributes` of the head says about a file: made by a program, or not for reading.

use globset::{GlobBuilder, GlobMatcher};

/// What we ask of a file's attributes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    /// `linguist-generated`.
    pub(super) generated: bool,
    /// `-diff` or `binary`.
    pub(super) binary: bool,
}

/// One `.gitattributes` file.
#[derive(Debug, Default)]
pub(super) struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    matcher: GlobMatcher,
    /// Without a slash the pattern is about the name alone, in any folder below.
    name_only: bool,
    generated: Option<bool>,
    binary: Option<bool>,
}

impl Rules {
    /// Lines that git would not understand are skipped, as git does.
    pub(super) fn parse(text: &str) -> Self {
        /// More lines than any real file has.
        const LINES: usize = 2_000;
        Self(text.lines().take(LINES).filter_map(rule).collect())
    }

    /// Applies the rules to a path relative to their folder; later lines win.
    pub(super) fn apply(&self, path: &str, to: &mut Attributes) {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        for rule in &self.0 {
            if rule.matcher.is_match(if rule.name_only { name } else { path }) {
                to.generated = rule.generated.unwrap_or(to.generated);
                to.binary = rule.binary.unwrap_or(to.binary);
            }
        }
    }
}

fn rule(line: &str) -> Option<Rule> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', '!', '[']) {
        return None;
    }
    let (pattern, rest) = match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => line.split_once(char::is_whitespace)?,
    };
    let (mut generated, mut binary) = (None, None);
    for word in rest.split_whitespace() {
        match word {
            "linguist-generated" | "linguist-generated=true" => generated = Some(true),
            "-linguist-generated" | "!linguist-generated" | "linguist-generated=false" => generated = Some(false),
            "-diff" | "binary" => binary = Some(true),
            "diff" | "!diff" | "-binary" => binary = Some(false),
            word if word.starts_with("diff=") => binary = Some(false),
            _ => {}
        }
    }
    if generated.is_none() && binary.is_none() {
        return None;
    }
    let name_only = !pattern.trim_end_matches('/').contains('/');
    let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
    let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build().ok()?;
    Some(Rule { matcher: glob.compile_matcher(), name_only, generated, binary })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, path: &str, generated: bool, binary: bool) {
        let mut found = Attributes::default();
        Rules::parse(text).apply(path, &mut found);
        assert_eq!(found, Attributes { generated, binary }, "{text:?} on {path}");
    }

    #[test]
    fn attributes_follow_names_folders_and_the_last_line() {
        check("*.pb.go linguist-generated", "api/v1/x.pb.go", true, false);
        check("*.pb.go linguist-generated=true\nx.pb.go -linguist-generated", "api/x.pb.go", false, false);
        check("/dist/** linguist-generated", "dist/a/b.js", true, false);
        check("/dist/** linguist-generated", "src/dist/b.js", false, false);
        check("docs/*.md -diff", "docs/a.md", false, true);
        check("docs/*.md -diff", "docs/deep/a.md", false, false);
        check("*.lock binary", "Cargo.lock", false, true);
        check("*.svg -diff\n*.svg diff=xml", "a.svg", false, false);
        check("\"a b.txt\" -diff", "a b.txt", false, true);
        check("# *.rs -diff\n[attr]x -diff\n!*.rs -diff", "a.rs", false, false);
    }
}
