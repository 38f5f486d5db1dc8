//! What a repository asks of contributions: guidelines, templates, names of branches, form of commits.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::survey::{self, Survey};
use super::words;
use crate::agent::Error;
use crate::artifact::swarm::RepositoryContext;
use crate::workspace::Tree;

pub(in crate::agent) const GUIDES: &[&str] = &[
    "CONTRIBUTING.md",
    ".github/CONTRIBUTING.md",
    "docs/CONTRIBUTING.md",
    "CONTRIBUTING.rst",
    "CONTRIBUTING",
    "CONTRIBUTING.txt",
    "CONTRIBUTING.adoc",
    "docs/contributing.rst",
    "docs/contributing.md",
    "HACKING.md",
];
const TEMPLATES: &[&str] = &[
    "pull_request_template.md",
    ".github/pull_request_template.md",
    "docs/pull_request_template.md",
    "pull_request_template",
    ".github/pull_request_template",
    "pull_request_template.txt",
    ".github/pull_request_template.txt",
];
const COMMIT_SETTINGS: &[&str] = &[
    "commitlint.config.js",
    "commitlint.config.cjs",
    "commitlint.config.mjs",
    "commitlint.config.ts",
    ".commitlintrc",
    ".commitlintrc.json",
    ".commitlintrc.yml",
    ".commitlintrc.yaml",
    ".commitlintrc.js",
    ".commitlintrc.cjs",
    ".czrc",
    ".cz.toml",
    ".releaserc",
    ".releaserc.json",
    ".releaserc.yml",
    "release.config.js",
    "release.config.cjs",
    "release-please-config.json",
    "cliff.toml",
    "cog.toml",
];
pub(in crate::agent) const STYLE_SETTINGS: &[&str] = &[
    ".clang-format",
    ".editorconfig",
    ".eslintrc",
    ".eslintrc.cjs",
    ".eslintrc.js",
    ".eslintrc.json",
    ".eslintrc.yml",
    ".flake8",
    ".golangci.yml",
    ".php-cs-fixer.dist.php",
    ".pre-commit-config.yaml",
    ".prettierrc",
    ".prettierrc.json",
    ".pylintrc",
    ".rubocop.yml",
    ".rustfmt.toml",
    ".scalafmt.conf",
    ".swiftlint.yml",
    "biome.json",
    "checkstyle.xml",
    "eslint.config.js",
    "eslint.config.mjs",
    "phpcs.xml",
    "prettier.config.js",
    "ruff.toml",
    "rustfmt.toml",
];
/// Bytes of a guide that are read.
const MAX_GUIDE: usize = 100_000;
const MAX_TOLD: usize = 3;

/// Reads them.
///
/// # Errors
/// When git cannot be read.
pub(super) async fn context(tree: &Tree, survey: &Survey) -> Result<RepositoryContext, Error> {
    let guide = survey.first(GUIDES);
    let mut text = match guide {
        Some(path) => survey::text(tree, path).await?.unwrap_or_default(),
        None => String::new(),
    };
    let mut end = text.len().min(MAX_GUIDE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    let package = match survey.find("package.json") {
        Some(path) => survey::text(tree, path).await?.unwrap_or_default(),
        None => String::new(),
    };
    let template = survey.first(TEMPLATES).is_some()
        || survey.files.iter().any(|file| file.path.to_ascii_lowercase().contains("pull_request_template/"));
    let styles: Vec<&str> = STYLE_SETTINGS.iter().copied().filter(|name| survey.has(name)).take(6).collect();
    Ok(RepositoryContext {
        contributing_guidelines: guidelines(guide, &text),
        pr_template_exists: template,
        code_style: if styles.is_empty() {
            "no settings file; as measured in the sources".to_owned()
        } else {
            format!("set in {}", styles.join(", "))
        },
        branch_naming: branches(guide, &text),
        commit_convention: commits(survey, guide, &text, &package),
    })
}

/// The guide's path and the few sentences of it that speak of changes.
fn guidelines(guide: Option<&str>, text: &str) -> String {
    let Some(path) = guide else { return "none found".to_owned() };
    let told = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['#', '<', '|', '=', '`']) && (20..=240).contains(&line.len()))
        .filter(|line| {
            let lower = line.to_lowercase();
            ["test", "commit", "branch", "changelog", "lint", "format", "sign", "issue first"]
                .iter()
                .any(|word| lower.contains(word))
                && ["must", "should", "please", "run ", "make sure", "add ", "use ", "require"]
                    .iter()
                    .any(|word| lower.contains(word))
        })
        .take(MAX_TOLD);
    let told: Vec<String> = told.map(|line| words::line(line.trim_start_matches(['-', '*', ' ']), 240)).collect();
    if told.is_empty() { path.to_owned() } else { format!("{path}: {}", told.join(" ")) }
}

/// The prefixes of branches, where the guide names some beside the word "branch".
fn branches(guide: Option<&str>, text: &str) -> String {
    static PREFIX: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)(?:^|[\s`'\x22(])(feature|feat|fix|bugfix|bug-fix|hotfix|bug|docs|doc|documentation|tests|test|refactor|refactoring|chore|enhancement)/(?:[A-Za-z0-9_<>{}\[\]#*$-]+|…)?(?:$|[\s`'\x22),:;]|\.\s|\.$)",
        )
    });
    let lines: Vec<&str> = text.lines().collect();
    let mut found = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        let near = lines.iter().skip(at.saturating_sub(4)).take(5);
        if near.clone().any(|line| line.to_lowercase().contains("branch")) {
            found.extend(PREFIX.captures_iter(line).map(|c| c[1].to_lowercase()));
        }
    }
    match guide {
        Some(path) if !found.is_empty() => {
            let shown: Vec<String> = found.iter().map(|prefix| format!("`{prefix}/…`")).collect();
            format!("{} ({path})", shown.join(", "))
        }
        _ => "none stated; <fix|feat|docs|test|refactor>/issue-<number>-<title>".to_owned(),
    }
}

fn commits(survey: &Survey, guide: Option<&str>, text: &str, package: &str) -> String {
    let lower = text.to_lowercase();
    let mut said = if let Some(settings) = survey.first(COMMIT_SETTINGS) {
        format!("conventional commits ({settings})")
    } else if ["commitlint", "commitizen", "semantic-release", "standard-version"]
        .iter()
        .any(|tool| package.contains(tool))
    {
        "conventional commits (package.json)".to_owned()
    } else if let Some(path) = guide.filter(|_| {
        [
            "conventional commit",
            "conventionalcommits",
            "conventional-commit",
            "semantic commit",
            "angular commit",
            "commit message convention",
        ]
        .iter()
        .any(|sign| lower.contains(sign))
    }) {
        format!("conventional commits ({path})")
    } else {
        "none stated; conventional commits".to_owned()
    };
    if lower.contains("signed-off-by") || lower.contains("developer certificate of origin") {
        said.push_str("; signed off by their author (DCO)");
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_prefixes_are_learned_beside_the_word_branch() {
        let text = "# Contributing\nSee docs/index.rst.\n\nName your branch\n`feature/<name>` or `bugfix/123-x`.\n";
        assert_eq!(branches(Some("C.md"), text), "`bugfix/…`, `feature/…` (C.md)");
        assert!(
            branches(Some("C.md"), "Branch off main; see docs/index.rst and test/unit/x.").starts_with("none stated")
        );
        assert!(branches(None, "").starts_with("none stated"));
    }
}
