//! `.github/octoswarm.yml`, read from the default branch: a pull request that edits it changes nothing until it is merged.

use serde::Deserialize;

use super::checked::ReadError;
use super::scouting::Scouting;
use super::{checking, linting};
use crate::domain::{Checks, Commands, Linters, OnUnreviewed, Severity};

pub const CONFIG_PATH: &str = ".github/octoswarm.yml";

/// Larger files are refused unread.
const MAX_BYTES: usize = 64 * 1024;

/// What a repository decides for itself. Every key is optional; an unknown one is an error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RepoConfig {
    /// Review pull requests at all.
    pub review: bool,
    /// Review drafts too, not only pull requests that are ready.
    pub review_drafts: bool,
    /// Review pull requests that a bot opened.
    pub review_bots: bool,
    /// Findings at or above this fail the check: `low`, `medium`, `high` or `never`.
    pub fail_on: Bar,
    /// Findings below this are not reported.
    pub min_severity: Severity,
    /// Globs of paths that are not reviewed, for instance `vendor/**`.
    pub ignore: Vec<String>,
    /// Rules switched off, by id.
    pub disable: Vec<String>,
    /// The check's conclusion when a change could not be reviewed: `neutral`, `action_required` or `failure`.
    pub on_unreviewed: OnUnreviewed,
    /// Work on issues that carry the label, and on pull requests when told to.
    pub contribute: bool,
    /// The label that asks for work on an issue.
    pub label: String,
    /// How commits are made: `auto` asks GitHub whether they must be signed, `git` pushes them, `api` has GitHub make and sign them.
    pub commits: Commits,
    /// Files that one change of ours may touch.
    pub max_files: usize,
    /// Added and removed lines that one change of ours may have, together.
    pub max_lines: usize,
    /// Globs of paths that no change of ours may touch, beside those that none ever may.
    pub protected: Vec<String>,
    /// Whether the repository's own checks run over a change of ours: `auto`, `require` or `off`.
    pub checks: Checks,
    /// Their commands, in place of those that its files show.
    pub commands: Commands,
    /// Other people's linters whose findings reviews tell: `auto`, `off` or a list.
    pub linters: Linters,
    /// Issues that are taken up without being asked for one by one.
    pub scout: Scouting,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Commits {
    #[default]
    Auto,
    Git,
    Api,
}

/// A severity or `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bar {
    Low,
    Medium,
    High,
    Never,
}

impl Bar {
    pub fn severity(self) -> Option<Severity> {
        match self {
            Self::Low => Some(Severity::Low),
            Self::Medium => Some(Severity::Medium),
            Self::High => Some(Severity::High),
            Self::Never => None,
        }
    }
}

impl Default for RepoConfig {
    fn default() -> Self {
        Self {
            review: true,
            review_drafts: false,
            review_bots: false,
            fail_on: Bar::High,
            min_severity: Severity::Low,
            ignore: Vec::new(),
            disable: Vec::new(),
            on_unreviewed: OnUnreviewed::Neutral,
            contribute: true,
            label: "swarm".to_owned(),
            commits: Commits::Auto,
            max_files: 10,
            max_lines: 300,
            protected: Vec::new(),
            checks: Checks::Auto,
            commands: Commands::default(),
            linters: Linters::Auto,
            scout: Scouting::default(),
        }
    }
}

impl RepoConfig {
    /// Reads the file's text. An empty file is the default.
    ///
    /// # Errors
    /// One sentence for the reader of the pull request: what is wrong and on which line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config = Self::read(text).map_err(|error| error.sentence())?;
        for (key, globs) in [("ignore", &config.ignore), ("protected", &config.protected)] {
            for glob in globs {
                globset::Glob::new(glob)
                    .map_err(|e| format!("`{key}` holds `{glob}`, which is not a glob: {}", e.kind()))?;
            }
        }
        if config.label.trim().is_empty() {
            return Err("`label` is empty".to_owned());
        }
        checking::check(&config.commands)?;
        linting::check(&config.linters)?;
        config.scout.check()?;
        Ok(config)
    }

    /// As far as its form goes.
    pub(super) fn read(text: &str) -> Result<Self, ReadError> {
        if text.len() > MAX_BYTES {
            let text = format!("the file has {} bytes, more than the {MAX_BYTES} allowed", text.len());
            return Err(ReadError::Size(text));
        }
        let only_comments = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        if only_comments {
            return Ok(Self::default());
        }
        serde_saphyr::from_str(text).map_err(|error| ReadError::Yaml(Box::new(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_can_be_set() {
        let text = "review: true\nreview_drafts: true\nreview_bots: true\nfail_on: never\nmin_severity: medium\n\
                    ignore: ['vendor/**']\ndisable: [eval-call]\non_unreviewed: action_required\n\
                    contribute: false\nlabel: robot\ncommits: api\nmax_files: 3\nmax_lines: 40\nprotected: ['db/**']\n\
                    scout: {enabled: true, labels: [good first issue], daily: 10, open: 1}\n";
        let config = RepoConfig::parse(text).unwrap();
        assert_eq!(config.fail_on.severity(), None);
        assert_eq!(config.min_severity, Severity::Medium);
        assert_eq!(config.disable, ["eval-call"]);
        assert_eq!(config.on_unreviewed, OnUnreviewed::ActionRequired);
        assert_eq!((config.contribute, config.label.as_str(), config.commits), (false, "robot", Commits::Api));
        let scout = Scouting { enabled: true, labels: vec!["good first issue".to_owned()], daily: 10, open: 1 };
        assert_eq!(config.scout, scout);
        assert_eq!((config.max_files, config.max_lines, config.protected), (3, 40, vec!["db/**".to_owned()]));
    }

    #[test]
    fn an_empty_file_is_the_default() {
        assert_eq!(RepoConfig::parse("").unwrap(), RepoConfig::default());
        assert_eq!(RepoConfig::parse("# nothing yet\n\n").unwrap(), RepoConfig::default());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, named) in [
            ("reviw: true\n", "reviw"),
            ("fail_on: sometimes\n", "sometimes"),
            ("ignore: ['a[']\n", "a["),
            ("protected: ['a[']\n", "a["),
            ("label: ''\n", "label"),
            ("commits: maybe\n", "maybe"),
            ("review: [\n", "line"),
            ("scout: {enabled: true}\n", "`labels` is missing"),
            ("scout: {labels: [x], daily: 11}\n", "between 1 and 10"),
            ("scout: {labels: [x], open: 4}\n", "between 1 and 3"),
            ("scout: {daily: 0}\n", "between 1 and 10"),
            ("scout: {labels: ['a,b']}\n", "commas"),
            ("scout: {weekly: 1}\n", "weekly"),
            ("scout: true\n", "line 1"),
        ] {
            let error = RepoConfig::parse(text).unwrap_err();
            assert!(error.contains(named), "{text:?}: {error}");
        }
        assert!(RepoConfig::parse(&"#".repeat(MAX_BYTES + 1)).is_err());
    }

    #[test]
    fn an_alias_bomb_is_refused() {
        let mut text = String::from("ignore:\n  - &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for level in 1..9 {
            let previous = level - 1;
            text.push_str(&format!("  - &a{level} [{}]\n", vec![format!("*a{previous}"); 10].join(",")));
        }
        assert!(RepoConfig::parse(&text).is_err());
    }
}
