//! How the code is written: measured over the sources, unless a settings file says.

use std::sync::LazyLock;

use regex::Regex;

use super::manifest::Manifests;
use super::words;
use crate::artifact::swarm::{CodeStyle, Quotes};

const WIDEST: usize = 400;

/// What one file shows; sums over many files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Habits {
    tabs: u64,
    /// Steps inwards of two, four and eight spaces.
    steps: [u64; 3],
    single: u64,
    double: u64,
    /// Ends of statements with a semicolon, and without.
    semicolons: u64,
    bare: u64,
    trailing: u64,
    not_trailing: u64,
    /// How many lines have each length.
    lengths: Vec<u64>,
    pub(super) crlf: u64,
    pub(super) files: u64,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            tabs: 0,
            steps: [0; 3],
            single: 0,
            double: 0,
            semicolons: 0,
            bare: 0,
            trailing: 0,
            not_trailing: 0,
            lengths: vec![0; WIDEST + 1],
            crlf: 0,
            files: 0,
        }
    }
}

impl Habits {
    pub(super) fn of(text: &str) -> Self {
        let mut habits = Self { files: 1, ..Self::default() };
        habits.crlf = u64::from(text.contains("\r\n"));
        let mut before = 0;
        let mut last = "";
        for line in text.lines() {
            let body = line.trim_start_matches([' ', '\t']);
            if body.is_empty() {
                continue;
            }
            if let Some(count) = habits.lengths.get_mut(line.chars().count().min(WIDEST)) {
                *count += 1;
            }
            let indent = &line[..line.len() - body.len()];
            if indent.starts_with('\t') {
                habits.tabs += 1;
            }
            match indent.len().checked_sub(before).filter(|_| !indent.contains('\t')) {
                Some(2) => habits.steps[0] += 1,
                Some(4) => habits.steps[1] += 1,
                Some(8) => habits.steps[2] += 1,
                _ => {}
            }
            before = indent.len();
            let body = body.trim_end();
            if ["//", "#", "*", "/*", "--"].iter().any(|mark| body.starts_with(mark)) {
                continue;
            }
            habits.single += (body.matches('\'').count() / 2) as u64;
            habits.double += (body.matches('"').count() / 2) as u64;
            if body.ends_with(';') {
                habits.semicolons += 1;
            } else if body.ends_with([')', '"', '\'', ']']) || body.ends_with(char::is_alphanumeric) {
                habits.bare += 1;
            }
            if body.starts_with([')', ']', '}']) && !last.ends_with(['(', '[', '{', ';', ')', '}']) {
                if last.ends_with(',') { habits.trailing += 1 } else { habits.not_trailing += 1 }
            }
            last = body;
        }
        habits
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.tabs += other.tabs;
        self.single += other.single;
        self.double += other.double;
        self.semicolons += other.semicolons;
        self.bare += other.bare;
        self.trailing += other.trailing;
        self.not_trailing += other.not_trailing;
        self.crlf += other.crlf;
        self.files += other.files;
        self.steps.iter_mut().zip(other.steps).for_each(|(sum, step)| *sum += step);
        self.lengths.iter_mut().zip(&other.lengths).for_each(|(sum, count)| *sum += count);
    }

    /// The length that 95 of 100 lines do not exceed.
    fn usual_length(&self) -> u64 {
        let total: u64 = self.lengths.iter().sum();
        let mut seen = 0;
        for (length, count) in self.lengths.iter().enumerate() {
            seen += count;
            if seen * 100 >= total * 95 {
                return length as u64;
            }
        }
        0
    }
}

/// The style of a project in its main language.
pub(super) fn style(habits: &Habits, m: &Manifests, language: &str) -> CodeStyle {
    let steps = habits.steps;
    let width =
        [(steps[1], 4), (steps[0], 2), (steps[2], 8)].into_iter().max_by_key(|(count, width)| (*count, *width == 4));
    let measured = if habits.tabs > steps.iter().sum() {
        "tab".to_owned()
    } else {
        width
            .filter(|(count, _)| *count > 0)
            .map_or_else(|| default_indent(language).to_owned(), |(_, n)| format!("{n} spaces"))
    };
    let said = Said::read(m, language);
    let semicolons = match language {
        "Rust" | "Java" | "C" | "C++" | "C#" | "PHP" | "Dart" | "Perl" | "Solidity" | "Zig" => true,
        "JavaScript" | "TypeScript" | "Vue" | "Svelte" => {
            said.semicolons.unwrap_or(habits.semicolons > habits.bare / 2)
        }
        _ => false,
    };
    let trailing = said.trailing.unwrap_or_else(|| {
        match (habits.trailing, habits.not_trailing) {
            (0, 0) => "unknown",
            (yes, no) if yes >= no => "multi-line",
            _ => "none",
        }
        .to_owned()
    });
    CodeStyle {
        indent: said.indent.unwrap_or(measured),
        quotes: said.quotes.unwrap_or(if habits.single > habits.double && !double_only(language) {
            Quotes::Single
        } else {
            Quotes::Double
        }),
        semicolons,
        trailing_comma: trailing,
        line_length: said.length.unwrap_or_else(|| habits.usual_length()),
        formatter: formatter(m, language),
        linter: linter(m, language),
    }
}

/// What settings files say.
#[derive(Default)]
struct Said {
    indent: Option<String>,
    quotes: Option<Quotes>,
    semicolons: Option<bool>,
    trailing: Option<String>,
    length: Option<u64>,
}

impl Said {
    fn read(m: &Manifests, language: &str) -> Self {
        let mut said = Self::default();
        let web = matches!(language, "JavaScript" | "TypeScript" | "Vue" | "Svelte" | "CSS" | "HTML");
        if web {
            said.prettier(m);
        }
        let toml_length = |name: &str, keys: &[&str]| {
            let mut at = toml::Value::Table(m.toml("", name)?);
            for key in keys {
                at = at.get(key)?.clone();
            }
            u64::try_from(at.as_integer()?).ok()
        };
        match language {
            "Rust" => {
                let file = if m.has("", &["rustfmt.toml"]) { "rustfmt.toml" } else { ".rustfmt.toml" };
                said.length = toml_length(file, &["max_width"]).or(Some(100));
                said.indent = toml_length(file, &["tab_spaces"]).map(|n| format!("{n} spaces"));
            }
            "Python" => {
                said.length = [["tool", "black", "line-length"], ["tool", "ruff", "line-length"]]
                    .iter()
                    .find_map(|keys| toml_length("pyproject.toml", keys));
                let flake = [".flake8", "setup.cfg", "tox.ini"].iter().filter_map(|name| m.text("", name));
                static LENGTH: LazyLock<Regex> =
                    LazyLock::new(|| words::regex(r"(?m)^\s*max[-_]line[-_]length\s*=\s*(\d{2,4})"));
                said.length = said
                    .length
                    .or_else(|| flake.filter_map(|text| LENGTH.captures(text)).find_map(|c| c[1].parse().ok()));
                let black = m
                    .toml("", "pyproject.toml")
                    .is_some_and(|t| t.get("tool").is_some_and(|t| t.get("black").is_some()));
                said.length = said.length.or(black.then_some(88));
            }
            "C" | "C++" => {
                static LIMIT: LazyLock<Regex> = LazyLock::new(|| words::regex(r"(?m)^ColumnLimit:\s*(\d{1,4})"));
                let text = m.text("", ".clang-format").unwrap_or_default();
                said.length = LIMIT.captures(text).and_then(|c| c[1].parse().ok()).filter(|limit| *limit > 0);
            }
            _ => {}
        }
        said.editorconfig(m, language);
        said.length = said.length.map(|length| length.clamp(20, 1_000));
        said
    }

    fn prettier(&mut self, m: &Manifests) {
        let json = [".prettierrc", ".prettierrc.json"].iter().find_map(|name| m.json("", name));
        let json = json.or_else(|| m.json("", "package.json")?.get("prettier").cloned());
        let yaml = [".prettierrc", ".prettierrc.yaml", ".prettierrc.yml"].iter().find_map(|name| m.text("", name));
        let get = |key: &str| -> Option<String> {
            if let Some(value) = json.as_ref().and_then(|json| json.get(key)) {
                return Some(value.to_string().trim_matches('"').to_owned());
            }
            let line = yaml?.lines().find_map(|line| line.trim().strip_prefix(key)?.trim_start().strip_prefix(':'))?;
            Some(line.trim().trim_matches(['"', '\'', ',']).to_owned())
        };
        let present = json.is_some() || yaml.is_some();
        if !present {
            return;
        }
        let truth = |key: &str| get(key).map(|value| value == "true");
        let number = |key: &str| get(key).and_then(|value| value.parse::<u64>().ok());
        self.quotes = Some(if truth("singleQuote") == Some(true) { Quotes::Single } else { Quotes::Double });
        self.semicolons = Some(truth("semi") != Some(false));
        self.trailing = get("trailingComma").filter(|value| matches!(value.as_str(), "all" | "es5" | "none"));
        self.length = Some(number("printWidth").unwrap_or(80));
        self.indent = Some(if truth("useTabs") == Some(true) {
            "tab".to_owned()
        } else {
            format!("{} spaces", number("tabWidth").unwrap_or(2).clamp(1, 16))
        });
    }

    /// The sections that speak of every file, or of the language's.
    fn editorconfig(&mut self, m: &Manifests, language: &str) {
        let Some(text) = m.text("", ".editorconfig") else { return };
        let extension = match language {
            "Python" => "py",
            "JavaScript" => "js",
            "TypeScript" => "ts",
            "Rust" => "rs",
            "Go" => "go",
            "Java" => "java",
            "Ruby" => "rb",
            "PHP" => "php",
            "C#" => "cs",
            _ => "\u{0}",
        };
        let (mut applies, mut tab, mut size) = (false, None, None);
        for line in text.lines().take(1_000).map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                let names = section.split(|c: char| !c.is_alphanumeric());
                applies = section.starts_with("*]") || names.into_iter().any(|name| name == extension);
            } else if let Some((key, value)) = line.split_once('=').filter(|_| applies) {
                let value = value.trim().to_ascii_lowercase();
                match key.trim() {
                    "indent_style" => tab = Some(value == "tab"),
                    "indent_size" => size = value.parse::<u64>().ok(),
                    "max_line_length" => self.length = self.length.or_else(|| value.parse().ok()),
                    _ => {}
                }
            }
        }
        let indent = match (tab, size) {
            (Some(true), _) => Some("tab".to_owned()),
            (_, Some(size)) => Some(format!("{} spaces", size.clamp(1, 16))),
            _ => None,
        };
        self.indent = self.indent.take().or(indent);
    }
}

fn default_indent(language: &str) -> &'static str {
    match language {
        "Go" | "C" => "tab",
        "JavaScript" | "TypeScript" | "Ruby" | "Dart" | "Elixir" | "Scala" | "HTML" | "CSS" | "Vue" | "Svelte" => {
            "2 spaces"
        }
        _ => "4 spaces",
    }
}

/// A single quote is a character there, or cannot be a string.
fn double_only(language: &str) -> bool {
    matches!(
        language,
        "Rust" | "Go" | "Java" | "Kotlin" | "C" | "C++" | "C#" | "Swift" | "Scala" | "Elixir" | "Haskell"
    )
}

fn formatter(m: &Manifests, language: &str) -> String {
    let pyproject = m.text("", "pyproject.toml").unwrap_or_default();
    let package = m.text("", "package.json").unwrap_or_default();
    let prettier = [
        ".prettierrc",
        ".prettierrc.json",
        ".prettierrc.js",
        ".prettierrc.cjs",
        ".prettierrc.yaml",
        ".prettierrc.yml",
        "prettier.config.js",
        "prettier.config.mjs",
        "prettier.config.cjs",
    ];
    match language {
        "Rust" => "rustfmt",
        "Go" => "gofmt",
        "Dart" => "dart format",
        "Elixir" if m.has("", &[".formatter.exs"]) => "mix format",
        "Python" if pyproject.contains("[tool.ruff.format") => "ruff format",
        "Python" if pyproject.contains("[tool.black") => "black",
        "Python" if pyproject.contains("[tool.ruff") || m.has("", &["ruff.toml"]) => "ruff format",
        "C" | "C++" if m.has("", &[".clang-format"]) => "clang-format",
        "PHP" if m.has("", &[".php-cs-fixer.php", ".php-cs-fixer.dist.php"]) => "php-cs-fixer",
        "Swift" if m.has("", &[".swiftformat"]) => "swiftformat",
        "Kotlin" if m.has("", &[".ktlint"]) => "ktlint",
        "Java" | "Kotlin"
            if ["pom.xml", "build.gradle", "build.gradle.kts"]
                .iter()
                .filter_map(|n| m.text("", n))
                .any(|t| t.contains("spotless")) =>
        {
            "spotless"
        }
        "C#" => "dotnet format",
        _ if m.has("", &["biome.json", "biome.jsonc"]) => "biome",
        _ if m.has("", &["dprint.json"]) => "dprint",
        _ if m.has("", &prettier) || package.contains("\"prettier\"") => "prettier",
        _ => "none found",
    }
    .to_owned()
}

fn linter(m: &Manifests, language: &str) -> String {
    let pyproject = m.text("", "pyproject.toml").unwrap_or_default();
    let cfg = [m.text("", "setup.cfg"), m.text("", "tox.ini")].map(Option::unwrap_or_default).join("\n");
    let eslint = [
        ".eslintrc",
        ".eslintrc.js",
        ".eslintrc.cjs",
        ".eslintrc.json",
        ".eslintrc.yml",
        ".eslintrc.yaml",
        "eslint.config.js",
        "eslint.config.mjs",
        "eslint.config.cjs",
        "eslint.config.ts",
    ];
    match language {
        "Rust" => "clippy",
        "Go" if m.has("", &[".golangci.yml", ".golangci.yaml", ".golangci.toml"]) => "golangci-lint",
        "Go" => "go vet",
        "Python" if pyproject.contains("[tool.ruff") || m.has("", &["ruff.toml", ".ruff.toml"]) => "ruff",
        "Python" if m.has("", &[".flake8"]) || cfg.contains("[flake8]") => "flake8",
        "Python" if pyproject.contains("[tool.pylint") || m.has("", &[".pylintrc", "pylintrc"]) => "pylint",
        "Ruby" if m.has("", &[".rubocop.yml"]) => "rubocop",
        "PHP" if m.has("", &["phpstan.neon", "phpstan.neon.dist"]) => "phpstan",
        "PHP" if m.has("", &["phpcs.xml", "phpcs.xml.dist"]) => "phpcs",
        "Swift" if m.has("", &[".swiftlint.yml"]) => "swiftlint",
        "Elixir" if m.has("", &[".credo.exs"]) => "credo",
        "Java" if m.text("", "pom.xml").is_some_and(|text| text.contains("checkstyle")) => "checkstyle",
        "Kotlin" if m.has("", &["detekt.yml"]) => "detekt",
        "C" | "C++" if m.has("", &[".clang-tidy"]) => "clang-tidy",
        _ if m.has("", &eslint) => "eslint",
        _ if m.has("", &["biome.json", "biome.jsonc"]) => "biome",
        _ if m.has("", &[".oxlintrc.json"]) => "oxlint",
        _ => "none found",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_are_counted_over_files() {
        let mut habits = Habits::of("function f() {\n  const a = [\n    'x',\n    'y',\n  ]\n  return a\n}\n");
        habits.add(&Habits::of("const b = {\n  c: 'd',\n}\n"));
        let style = style(&habits, &Manifests::default(), "JavaScript");
        assert_eq!((style.indent.as_str(), style.quotes, style.semicolons), ("2 spaces", Quotes::Single, false));
        assert_eq!(style.trailing_comma, "multi-line");
        let python = super::style(&Habits::of("def f():\n    return \"x\"\n"), &Manifests::default(), "Python");
        assert_eq!((python.indent.as_str(), python.quotes), ("4 spaces", Quotes::Double));
        let go = super::style(&Habits::of("func f() {\n\treturn 'x'\n}\n"), &Manifests::default(), "Go");
        assert_eq!((go.indent.as_str(), go.quotes), ("tab", Quotes::Double));
    }
}
