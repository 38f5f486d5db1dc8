//! What linters print, as what they say. One file a format that is not SARIF.

mod cargo;
mod eslint;
mod golangci;
mod ruff;
mod shellcheck;

use crate::analysis::sarif;
use crate::analysis::told::{Region, Told, Unit};
use crate::domain::{Category, Severity};
use crate::stdx::path::{join, normal};

/// In which form a linter answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Sarif,
    Ruff,
    Eslint,
    Shellcheck,
    Cargo,
    Golangci,
}

/// An answer.
#[derive(Debug, Default, PartialEq)]
pub struct Answer {
    pub told: Vec<Told>,
    /// What of it is not told, a clause each.
    pub left_out: Vec<String>,
    /// It says of itself that it has not read everything.
    pub failed: Option<String>,
}

/// Where an answer comes from.
#[derive(Debug, Clone, Copy)]
pub struct From<'a> {
    /// The absolute path of the tree's root there.
    pub root: &'a str,
    /// The folder below it in which the linter was asked.
    pub dir: &'a str,
}

impl Format {
    /// Reads an answer.
    ///
    /// # Errors
    /// Why it is none, as a clause about the answer.
    pub fn read(self, text: &str, from: From<'_>) -> Result<Answer, String> {
        let read = match self {
            Self::Sarif => return of_sarif(text, from),
            Self::Ruff => ruff::read(text, from),
            Self::Eslint => eslint::read(text, from),
            Self::Shellcheck => shellcheck::read(text, from),
            Self::Cargo => cargo::read(text, from),
            Self::Golangci => golangci::read(text, from),
        };
        let mut answer = read.map_err(|error| format!("its answer is not of the form that is known: {error}"))?;
        let over = answer.told.len().saturating_sub(sarif::MAX_RESULTS);
        if over > 0 {
            answer.told.truncate(sarif::MAX_RESULTS);
            answer.left_out.push(format!("{over} results beyond the {} that are read", sarif::MAX_RESULTS));
        }
        Ok(answer)
    }
}

fn of_sarif(text: &str, from: From<'_>) -> Result<Answer, String> {
    let mut roots = vec![join(from.root, from.dir)];
    roots.extend((!from.dir.is_empty()).then(|| from.root.to_owned()));
    let results = sarif::read(text, &roots).map_err(|error| format!("its answer cannot be read: {error}"))?;
    let left_out = results.left_out();
    let failed = results.failed.into_iter().next().map(|(_, words)| words);
    Ok(Answer { told: results.told, left_out, failed })
}

impl From<'_> {
    /// The path of a file that a linter names; nothing for one that lies elsewhere.
    fn path(&self, named: &str) -> Option<String> {
        let path = match named.strip_prefix(self.root) {
            Some(rest) if rest.starts_with('/') => rest.to_owned(),
            _ if named.starts_with('/') => return None,
            _ => join(self.dir, named),
        };
        normal(&path).filter(|path| !path.is_empty())
    }
}

/// What all linters' results have; the rest is for each to fill in.
fn told(tool: &str, rule: &str, path: String, message: String) -> Told {
    Told {
        tool: tool.to_owned(),
        rule: rule.to_owned(),
        severity: Severity::Medium,
        category: Category::Improvement,
        message,
        about: String::new(),
        help: None,
        cwes: Vec::new(),
        path,
        region: None,
        edits: Vec::new(),
    }
}

/// Line and column, line and column; what is 0 is not known.
fn region(start: (u32, u32), end: (u32, u32), unit: Unit) -> Option<Region> {
    let known = |n: u32| (n > 0).then_some(n);
    let (start_column, end_column) = (known(start.1), known(end.1));
    Some(Region { start_line: known(start.0)?, start_column, end_line: known(end.0), end_column, unit })
}

#[cfg(test)]
mod tests;
