//! What a repository says about its own checks (`commands:` in its file).

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::domain::Commands;

/// Commands of one kind.
const MOST: usize = 10;
/// Characters of a command.
const LONGEST: usize = 2_000;

/// The kinds with their lines.
fn kinds(commands: &Commands) -> [(&'static str, &[String]); 6] {
    [
        ("install", &commands.install),
        ("format", &commands.format),
        ("reformat", &commands.reformat),
        ("lint", &commands.lint),
        ("build", &commands.build),
        ("test", &commands.test),
    ]
    .map(|(name, lines)| (name, lines.as_deref().unwrap_or_default()))
}

/// # Errors
/// The first command that cannot be used, in a sentence.
pub(super) fn check(commands: &Commands) -> Result<(), String> {
    kinds(commands).into_iter().find_map(|(name, lines)| fault(name, lines)).map_or(Ok(()), Err)
}

fn fault(name: &str, lines: &[String]) -> Option<String> {
    if lines.len() > MOST {
        return Some(format!("`commands`: `{name}` has more than {MOST} entries"));
    }
    let why = lines.iter().find_map(|line| odd(line))?;
    Some(format!("`commands`: `{name}`: {why}"))
}

/// Why a command is none.
fn odd(line: &str) -> Option<String> {
    if line.trim().is_empty() {
        Some("a command is empty; to have none, write an empty list, `[]`".to_owned())
    } else if line.contains(['\n', '\r']) {
        Some("a command is one line; write a list for several".to_owned())
    } else if line.chars().any(char::is_control) {
        Some("a command cannot hold control characters".to_owned())
    } else if line.chars().count() > LONGEST {
        Some(format!("a command has at most {LONGEST} characters"))
    } else {
        None
    }
}

/// Where each kind stands in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Places {
    install: Option<Spanned<serde::de::IgnoredAny>>,
    format: Option<Spanned<serde::de::IgnoredAny>>,
    reformat: Option<Spanned<serde::de::IgnoredAny>>,
    lint: Option<Spanned<serde::de::IgnoredAny>>,
    build: Option<Spanned<serde::de::IgnoredAny>>,
    test: Option<Spanned<serde::de::IgnoredAny>>,
}

impl Places {
    /// What keeps the file from being used, each with its place.
    pub(super) fn faults(&self, commands: &Commands) -> Vec<(serde_saphyr::Location, String)> {
        let places = [&self.install, &self.format, &self.reformat, &self.lint, &self.build, &self.test];
        let faults = kinds(commands).into_iter().zip(places).filter_map(|((name, lines), place)| {
            Some((place.as_ref().map(|place| place.referenced)?, fault(name, lines)?))
        });
        faults.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::config::RepoConfig;
    use crate::domain::Checks;

    fn lines(lines: &[&str]) -> Option<Vec<String>> {
        Some(lines.iter().map(|line| (*line).to_owned()).collect())
    }

    #[test]
    fn a_command_is_a_line_or_a_list_of_them_and_an_empty_one_switches_off() {
        let text = "checks: require\ncommands:\n  install: ''\n  format: []\n  reformat: just fmt\n  lint: just lint\n  build:\n  \
                    test: ['make test', \"echo \\\"done\\\"\"]\n";
        let config = RepoConfig::parse(text).unwrap();
        assert_eq!(config.checks, Checks::Require);
        let commands = config.commands;
        assert_eq!((commands.install, commands.format), (lines(&[]), lines(&[])));
        assert_eq!(commands.reformat, lines(&["just fmt"]));
        assert_eq!((commands.lint, commands.build), (lines(&["just lint"]), None));
        assert_eq!(commands.test, lines(&["make test", "echo \"done\""]));
        let default = RepoConfig::parse("").unwrap();
        assert_eq!((default.checks, default.commands.test), (Checks::Auto, None));
    }

    #[test]
    fn what_is_no_command_is_refused_and_said() {
        let long = format!("commands: {{test: {}}}\n", "x".repeat(2_001));
        let many = format!("commands: {{test: [{}]}}\n", ["x"; 11].join(", "));
        for (text, named) in [
            ("checks: sometimes\n", "`sometimes` is not one of auto, require, off"),
            ("checks: true\n", "line 1"),
            ("commands: {tset: x}\n", "there is no key `tset`"),
            ("commands: [x]\n", "a list of keys, each with its value"),
            ("commands: {test: {a: b}}\n", "a command or a list of commands"),
            ("commands: {test: [[x]]}\n", "line 1"),
            ("commands: {test: ['']}\n", "`commands`: `test`: a command is empty"),
            ("commands: {test: '  '}\n", "a command is empty"),
            ("commands: {lint: \"a\\0b\"}\n", "control characters"),
            ("commands: {reformat: \"a\\0b\"}\n", "`reformat`: a command cannot hold control characters"),
            ("commands: {lint: \"a\\tb\"}\n", "control characters"),
            ("commands: {lint: \"a\\x1b[2J\"}\n", "control characters"),
            ("commands:\n  build: |\n    one\n    two\n", "a command is one line"),
            (long.as_str(), "at most 2000 characters"),
            (many.as_str(), "more than 10 entries"),
        ] {
            let error = RepoConfig::parse(text).unwrap_err();
            assert!(error.contains(named), "{text:?}: {error}");
            let remarks = RepoConfig::remarks(text, &[]);
            assert!(!remarks.faults.is_empty(), "{text:?}: both readers have to agree");
        }
        let remarks = RepoConfig::remarks("commands:\n  lint: ok\n  test: ['']\n", &[]);
        assert_eq!((remarks.faults[0].line, remarks.faults.len()), (3, 1));
    }
}
