//! How a review ended. Four outcomes that never mix, and an account of what was read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LinterRun;
use crate::stdx::text::count;

/// Clean, findings, nothing to review, or could not review. The last two are never shown as either of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    Clean,
    Findings {
        count: usize,
    },
    /// Nothing found, and nothing there that has rules of its language: no praise, and no failure either.
    NothingToReview {
        reason: String,
    },
    /// Nothing, or not enough, could be read: the reason is written for the reader of the pull request.
    CouldNotReview {
        reason: String,
    },
}

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The lines that a change wrote.
    Change,
    /// Whole files.
    Files,
}

/// How far a file was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reading {
    /// By all rules of its language.
    #[default]
    Whole,
    /// There are no rules for its language: only secrets and merge markers were looked for.
    TextOnly,
    /// Not at all, and nobody expects it: generated, ignored, no text of a known language. The reason is for people.
    LeftOut(String),
    /// Not, or not to its end, though it should have been.
    Failed(String),
}

/// What was read and what was not, and why. No silent truncation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Files that were parsed and checked by rules of their language; of a change, their new side.
    pub read: usize,
    /// Files that there were to read; of a change, those that have a new side.
    pub total: usize,
    /// Paths that were read for secrets and merge markers only: there are no rules for their language.
    #[serde(default)]
    pub text_only: Vec<String>,
    pub not_read: Vec<NotRead>,
    /// Paths that were read although the parser did not understand them: findings may be missing there.
    #[serde(default)]
    pub syntax_errors: Vec<String>,
    /// Reviewers whose part is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<AbsentReviewer>,
    /// Other people's linters that were asked, or were to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linters: Vec<LinterRun>,
}

/// Nobody looked for what this reviewer would have found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentReviewer {
    pub reviewer: String,
    /// Of its error: `API_001` and the like.
    pub code: String,
    pub reason: String,
    /// It was not asked: nobody expects its part.
    #[serde(default)]
    pub left_out: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRead {
    pub path: String,
    /// "binary", "generated", "larger than 1 MiB" …
    pub reason: String,
    /// Nobody expects it to be read: there are no rules for it, or it was left out on purpose.
    #[serde(default)]
    pub left_out: bool,
}

impl Coverage {
    /// Counts one file.
    pub fn add(&mut self, path: &str, reading: Reading) {
        self.total += 1;
        let (reason, left_out) = match reading {
            Reading::Whole => {
                self.read += 1;
                return;
            }
            Reading::TextOnly => return self.text_only.push(path.to_owned()),
            Reading::LeftOut(reason) => (reason, true),
            Reading::Failed(reason) => (reason, false),
        };
        self.not_read.push(NotRead { path: path.to_owned(), reason, left_out });
    }

    /// What this much reading amounts to. Nothing found in nothing read is not clean, nor is nothing found by half of the
    /// reviewers.
    pub fn outcome(&self, findings: usize) -> Outcome {
        match (findings, self.read, self.total) {
            (0, ..) if self.is_incomplete() => Outcome::CouldNotReview { reason: self.unreviewed().join("; ") },
            (0, 0, total) if total > 0 => match self.failures() {
                Some(reason) => Outcome::CouldNotReview { reason },
                None => Outcome::NothingToReview { reason: self.nothing() },
            },
            (0, ..) => Outcome::Clean,
            (count, ..) => Outcome::Findings { count },
        }
    }

    /// Which files should have been read and were not, and why; none when there are none.
    fn failures(&self) -> Option<String> {
        /// The coverage tells of the others.
        const NAMED: usize = 5;
        let failed: Vec<&NotRead> = self.not_read.iter().filter(|file| !file.left_out).collect();
        let named: Vec<_> = failed.iter().take(NAMED).map(|file| format!("{} ({})", file.path, file.reason)).collect();
        let more = failed.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let with_rules = if failed.len() < self.total { " that octoswarm has language rules for" } else { "" };
        let files = count(failed.len(), "file");
        (!failed.is_empty()).then(|| format!("none of {files}{with_rules} could be read: {}{more}", named.join(", ")))
    }

    /// A reviewer failed whose part is expected.
    pub fn is_incomplete(&self) -> bool {
        self.absent.iter().any(|reviewer| !reviewer.left_out)
    }

    /// One clause for each reviewer whose part is missing.
    pub fn unreviewed(&self) -> Vec<String> {
        let clause = |absent: &AbsentReviewer| match absent.left_out {
            true => format!("the {} reviewer was not asked: {}", absent.reviewer, absent.reason),
            false => format!("the {} reviewer failed: {} ({})", absent.reviewer, absent.reason, absent.code),
        };
        self.absent.iter().map(clause).collect()
    }

    /// Which linters were asked, and what of their answers is not told; one clause each.
    pub fn linted(&self) -> Vec<String> {
        let ran = self.linters.iter().filter(|linter| linter.not_run.is_none());
        ran.map(|linter| match linter.left_out.as_slice() {
            [] => linter.name.clone(),
            left_out => format!("{} ({})", linter.name, left_out.join("; ")),
        })
        .collect()
    }

    /// One clause for each linter that should have been asked and was not.
    pub fn unlinted(&self) -> Vec<String> {
        let clause = |linter: &LinterRun| Some(format!("{}: {}", linter.name, linter.not_run.as_ref()?));
        self.linters.iter().filter_map(clause).collect()
    }

    fn nothing(&self) -> String {
        let files = count(self.total, "file");
        if self.text_only.len() == self.total {
            format!("nothing here that octoswarm has language rules for ({files})")
        } else {
            format!("nothing here for octoswarm's language rules to read ({files})")
        }
    }

    /// What to say of files that the parser did not understand; none when it understood all.
    pub fn misread(&self) -> Option<String> {
        let files = self.syntax_errors.len();
        let has = if files == 1 { "has" } else { "have" };
        (files > 0).then(|| format!("{} {has} syntax errors; findings may be missing there", count(files, "file")))
    }

    /// How many files of each kind were read for secrets and merge markers only, most frequent first: `.txt`, `Dockerfile`.
    pub fn text_only_kinds(&self) -> Vec<(&str, usize)> {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for path in &self.text_only {
            *kinds.entry(kind(path)).or_default() += 1;
        }
        let mut kinds: Vec<(&str, usize)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, files)| std::cmp::Reverse(*files));
        kinds
    }
}

/// The extension with its dot; the whole name where there is none.
fn kind(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rfind('.') {
        Some(dot) if dot + 1 < name.len() => &name[dot..],
        _ => name,
    }
}

/// The check's conclusion when the change could not be reviewed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnreviewed {
    /// Satisfies a required check on GitHub.
    #[default]
    Neutral,
    ActionRequired,
    Failure,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(findings: usize, readings: &[(&str, Reading)], want: &Outcome) {
        let mut coverage = Coverage::default();
        readings.iter().for_each(|(path, reading)| coverage.add(path, reading.clone()));
        assert_eq!(coverage.outcome(findings), *want);
        assert_eq!(coverage.total, coverage.read + coverage.text_only.len() + coverage.not_read.len());
    }

    #[test]
    fn nothing_found_in_nothing_read_is_not_clean() {
        let failed = || Reading::Failed("binary".into());
        let left_out = || Reading::LeftOut("generated".into());
        let could_not = |reason: &str| Outcome::CouldNotReview { reason: reason.into() };
        let nothing = |reason: &str| Outcome::NothingToReview { reason: reason.into() };
        check(0, &[], &Outcome::Clean);
        check(0, &[("a.py", Reading::Whole), ("b.py", failed()), ("c.txt", Reading::TextOnly)], &Outcome::Clean);
        check(0, &[("a.py", failed())], &could_not("none of 1 file could be read: a.py (binary)"));
        check(
            0,
            &[("a.py", failed()), ("b.txt", Reading::TextOnly)],
            &could_not("none of 1 file that octoswarm has language rules for could be read: a.py (binary)"),
        );
        check(
            0,
            &[("a.txt", Reading::TextOnly), ("Dockerfile", Reading::TextOnly)],
            &nothing("nothing here that octoswarm has language rules for (2 files)"),
        );
        check(0, &[("a.go", left_out())], &nothing("nothing here for octoswarm's language rules to read (1 file)"));
        check(2, &[("a.txt", Reading::TextOnly), ("b.py", failed())], &Outcome::Findings { count: 2 });
    }

    #[test]
    fn nothing_found_by_half_of_the_reviewers_is_not_clean() {
        let absent = |left_out| AbsentReviewer {
            reviewer: "critical".into(),
            code: "API_001".into(),
            reason: "no answer".into(),
            left_out,
        };
        let coverage = |left_out| Coverage { read: 1, total: 1, absent: vec![absent(left_out)], ..Coverage::default() };
        let reason = "the critical reviewer failed: no answer (API_001)".to_owned();
        assert_eq!(coverage(false).outcome(0), Outcome::CouldNotReview { reason });
        assert_eq!(coverage(false).outcome(2), Outcome::Findings { count: 2 });
        assert_eq!(coverage(true).outcome(0), Outcome::Clean, "whoever switched it off knows");
    }

    #[test]
    fn files_without_rules_are_counted_by_their_kind() {
        let text_only = ["a/b.txt", "Dockerfile", "c.txt", ".gitignore", "x."].map(str::to_owned).to_vec();
        let coverage = Coverage { text_only, ..Coverage::default() };
        assert_eq!(coverage.text_only_kinds(), [(".txt", 2), (".gitignore", 1), ("Dockerfile", 1), ("x.", 1)]);
    }
}
