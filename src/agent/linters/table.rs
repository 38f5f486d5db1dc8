//! The linters that are known, as data: what each reads, how it is asked, and how it answers.

use super::formats::Format;
use super::grade::Grade;
use crate::domain::Category::{Critical, Documentation};
use crate::domain::Severity::{High, Low, Medium};

/// One of them.
#[derive(Debug)]
pub struct Linter {
    /// As `linters:` and ids of rules have it.
    pub name: &'static str,
    /// Other names under which it signs its logs.
    pub aliases: &'static [&'static str],
    /// The program; a path is one below the work tree.
    pub program: &'static str,
    /// Globs of what it reads.
    pub reads: &'static [&'static str],
    /// It also reads files without an ending whose first line names one of these.
    pub interpreters: &'static [&'static str],
    /// What shows that a repository has set it up: a glob, and a text that has to be in the file.
    pub shown_by: &'static [(&'static str, &'static str)],
    /// Globs of the files that it is set up by; they are taken from the old side.
    pub settings: &'static [&'static str],
    /// Whether it is not asked without settings, and what to say then.
    pub needs_settings: Option<&'static str>,
    /// Its settings are programs, or it builds what it reads.
    pub runs_code: bool,
    /// Whose projects it is asked in, and whose dependencies have to be there, as checks name it.
    pub ecosystem: Option<&'static str>,
    /// How it is asked: the first of which the mark stands in what `version` prints.
    pub ways: &'static [Way],
    pub version: Option<&'static [&'static str]>,
    /// Beside what every command has.
    pub env: &'static [(&'static str, &'static str)],
    pub format: Format,
    /// Exit codes with which it has answered; with all others it broke.
    pub answers: &'static [i32],
    /// Where more is said of its rules, before their names; empty where it says so itself, or nowhere.
    pub help: &'static str,
    /// It gives all rules the same severity, so that the one of their grade counts.
    pub levels_are_empty: bool,
    /// What its rules are about; the first that fits.
    pub grades: &'static [Grade],
}

/// A way to ask.
#[derive(Debug)]
pub struct Way {
    pub mark: &'static str,
    /// `{config}` stands for its settings at the root, each behind `--config`.
    pub command: &'static [&'static str],
    /// What follows the command.
    pub over: Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// The files that changed, by name.
    Files,
    /// Nothing: it looks for them itself.
    Tree,
}

const fn way(command: &'static [&'static str], over: Over) -> Way {
    Way { mark: "", command, over }
}

/// In the order in which they are asked.
pub const TABLE: &[Linter] = &[
    Linter {
        name: "ruff",
        aliases: &[],
        program: "ruff",
        reads: &["**/*.py", "**/*.pyi"],
        interpreters: &[],
        shown_by: &[("**/ruff.toml", ""), ("**/.ruff.toml", ""), ("**/pyproject.toml", "[tool.ruff")],
        settings: &["**/*ruff*.toml", "**/pyproject.toml"],
        needs_settings: None,
        runs_code: false,
        ecosystem: None,
        // Not its SARIF: that neither says which changes are safe nor counts columns as it claims.
        ways: &[way(
            &["ruff", "check", "--output-format", "json", "--no-cache", "--no-fix", "--quiet", "."],
            Over::Tree,
        )],
        version: None,
        env: &[],
        format: Format::Ruff,
        answers: &[0, 1],
        help: "",
        levels_are_empty: true,
        grades: &[
            // Asserts, and exceptions that are passed over: no hole by themselves.
            Grade::of("", None, Low).only(&["S101", "S110", "S112"]),
            Grade::of("S", Some(Critical), Medium),
            Grade::of("D", Some(Documentation), Low),
            Grade::of("DOC", Some(Documentation), Low),
            Grade::of("E9", None, High),
            Grade::of("F7", None, High),
            Grade::of("F82", None, High),
            Grade::of("PLE", None, High),
            Grade::of("invalid-syntax", None, High),
            Grade::of("F", None, Medium),
            Grade::of("B", None, Medium),
            Grade::of("BLE", None, Medium),
            Grade::of("ASYNC", None, Medium),
            Grade::of("DTZ", None, Medium),
            Grade::of("LOG", None, Medium),
            Grade::of("PLW", None, Medium),
            Grade::of("RUF", None, Medium),
            Grade::of("", None, Low),
        ],
    },
    Linter {
        name: "shellcheck",
        aliases: &[],
        program: "shellcheck",
        reads: &["**/*.sh", "**/*.bash", "**/*.ksh", "**/*.dash", "**/*.bats"],
        interpreters: &["sh", "bash", "dash", "ksh"],
        shown_by: &[("**/.shellcheckrc", ""), ("**/shellcheckrc", "")],
        settings: &["**/.shellcheckrc", "**/shellcheckrc"],
        needs_settings: None,
        runs_code: false,
        ecosystem: None,
        ways: &[way(&["shellcheck", "--format=json1", "--"], Over::Files)],
        version: None,
        env: &[],
        format: Format::Shellcheck,
        // 2: some files could not be read, the others were.
        answers: &[0, 1, 2],
        help: "",
        levels_are_empty: false,
        grades: &[],
    },
    Linter {
        name: "hadolint",
        aliases: &[],
        program: "hadolint",
        reads: &["**/Dockerfile", "**/Dockerfile.*", "**/*.Dockerfile", "**/*.dockerfile", "**/Containerfile"],
        interpreters: &[],
        shown_by: &[(".hadolint.yaml", ""), (".hadolint.yml", "")],
        settings: &[".hadolint.yaml", ".hadolint.yml"],
        needs_settings: None,
        runs_code: false,
        ecosystem: None,
        ways: &[way(&["hadolint", "--no-fail", "--no-color", "--format", "sarif", "--"], Over::Files)],
        version: None,
        env: &[],
        format: Format::Sarif,
        answers: &[0, 1],
        help: "https://github.com/hadolint/hadolint/wiki/",
        levels_are_empty: false,
        grades: &[],
    },
    Linter {
        name: "semgrep",
        aliases: &["semgrep-oss", "semgrep-pro", "opengrep"],
        program: "semgrep",
        reads: &[
            "**/*.py",
            "**/*.js",
            "**/*.jsx",
            "**/*.ts",
            "**/*.tsx",
            "**/*.mjs",
            "**/*.cjs",
            "**/*.go",
            "**/*.java",
            "**/*.rs",
            "**/*.rb",
            "**/*.php",
            "**/*.c",
            "**/*.h",
            "**/*.cc",
            "**/*.cpp",
            "**/*.cs",
            "**/*.kt",
            "**/*.scala",
            "**/*.swift",
            "**/*.sh",
            "**/*.tf",
            "**/*.yml",
            "**/*.yaml",
            "**/*.json",
            "**/*.html",
            "**/Dockerfile",
        ],
        interpreters: &[],
        shown_by: &[(".semgrep.yml", ""), (".semgrep.yaml", ""), (".semgrep/**", "")],
        settings: &[".semgrep.yml", ".semgrep.yaml", ".semgrep/**", ".semgrepignore"],
        needs_settings: Some(
            "the repository has no rules of its own for it (`.semgrep.yml` or `.semgrep/`), and none are fetched",
        ),
        runs_code: false,
        ecosystem: None,
        ways: &[way(
            &["semgrep", "scan", "--sarif", "--quiet", "--metrics=off", "--disable-version-check", "{config}", "."],
            Over::Tree,
        )],
        version: None,
        env: &[("SEMGREP_SEND_METRICS", "off"), ("SEMGREP_ENABLE_VERSION_CHECK", "0")],
        format: Format::Sarif,
        answers: &[0, 1],
        help: "",
        levels_are_empty: false,
        grades: &[],
    },
    Linter {
        name: "eslint",
        aliases: &[],
        program: "node_modules/.bin/eslint",
        reads: &[
            "**/*.js", "**/*.jsx", "**/*.mjs", "**/*.cjs", "**/*.ts", "**/*.tsx", "**/*.mts", "**/*.cts", "**/*.vue",
        ],
        interpreters: &[],
        shown_by: &[("**/eslint.config.*", ""), ("**/.eslintrc*", ""), ("**/package.json", "\"eslintConfig\"")],
        settings: &["**/eslint.config.*", "**/.eslintrc*", "**/.eslintignore"],
        needs_settings: Some("the repository has no settings for it"),
        runs_code: true,
        ecosystem: Some("node"),
        ways: &[way(
            &["node_modules/.bin/eslint", "--format", "json", "--no-color", "--no-error-on-unmatched-pattern", "--"],
            Over::Files,
        )],
        version: None,
        env: &[],
        format: Format::Eslint,
        answers: &[0, 1],
        help: "",
        levels_are_empty: false,
        grades: &[
            Grade::of("security/", Some(Critical), Medium),
            Grade::of("no-unsanitized/", Some(Critical), Medium),
            Grade::of("no-secrets/", Some(Critical), Medium),
            Grade::of("jsdoc/", Some(Documentation), Low),
            Grade::of("tsdoc/", Some(Documentation), Low),
        ],
    },
    Linter {
        name: "clippy",
        aliases: &["cargo-clippy", "rust-clippy"],
        program: "cargo",
        reads: &["**/*.rs"],
        interpreters: &[],
        shown_by: &[("**/clippy.toml", ""), ("**/.clippy.toml", ""), ("**/Cargo.toml", "clippy")],
        settings: &["**/clippy.toml", "**/.clippy.toml"],
        needs_settings: None,
        runs_code: true,
        ecosystem: Some("cargo"),
        ways: &[way(
            &["cargo", "clippy", "--message-format=json", "--workspace", "--all-targets", "--offline", "--quiet"],
            Over::Tree,
        )],
        version: None,
        env: &[("CARGO_TERM_COLOR", "never")],
        format: Format::Cargo,
        // 101: an error is among what it found.
        answers: &[0, 101],
        help: "",
        levels_are_empty: false,
        grades: &[Grade::of("missing_docs", Some(Documentation), Low)],
    },
    Linter {
        name: "golangci-lint",
        aliases: &["golangci"],
        program: "golangci-lint",
        reads: &["**/*.go"],
        interpreters: &[],
        shown_by: &[("**/.golangci.*", "")],
        settings: &["**/.golangci.*"],
        needs_settings: None,
        runs_code: true,
        ecosystem: Some("go"),
        ways: &[
            Way {
                mark: "version 1.",
                command: &["golangci-lint", "run", "--out-format", "json", "--issues-exit-code", "0", "./..."],
                over: Over::Tree,
            },
            Way {
                mark: "version v1.",
                command: &["golangci-lint", "run", "--out-format", "json", "--issues-exit-code", "0", "./..."],
                over: Over::Tree,
            },
            way(
                &[
                    "golangci-lint",
                    "run",
                    "--output.json.path",
                    "stdout",
                    "--output.text.path",
                    "stderr",
                    "--issues-exit-code",
                    "0",
                    "--show-stats=false",
                    "./...",
                ],
                Over::Tree,
            ),
        ],
        version: Some(&["golangci-lint", "--version"]),
        env: &[],
        format: Format::Golangci,
        answers: &[0],
        help: "",
        levels_are_empty: false,
        grades: &[Grade::of("gosec", Some(Critical), Medium), Grade::of("godot", Some(Documentation), Low)],
    },
];

impl Linter {
    /// By its name, or one that it signs with.
    pub fn named(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|linter| linter.name == name || linter.aliases.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::LINTERS;

    #[test]
    fn the_table_has_every_linter_that_a_configuration_may_name() {
        let table: BTreeSet<&str> = TABLE.iter().map(|linter| linter.name).collect();
        assert_eq!(table, LINTERS.into_iter().collect());
    }

    #[test]
    fn every_entry_can_be_asked_and_every_glob_holds() {
        for linter in TABLE {
            let shown = linter.shown_by.iter().map(|(glob, _)| glob);
            for glob in linter.reads.iter().chain(linter.settings).chain(shown) {
                assert!(globset::Glob::new(glob).is_ok(), "{}: {glob}", linter.name);
            }
            let last = linter.ways.last().unwrap();
            assert!(last.mark.is_empty(), "{}: whatever its version is, there is a way", linter.name);
            assert_eq!(linter.ways.len() > 1, linter.version.is_some(), "{}", linter.name);
            assert!(linter.ways.iter().all(|way| way.command[0] == linter.program), "{}", linter.name);
            assert!(linter.answers.contains(&0), "{}", linter.name);
            assert_eq!(linter.ecosystem.is_some(), linter.runs_code, "{}: nothing else needs a build", linter.name);
        }
    }
}
