//! Jest, Vitest, Mocha.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, part, regex};

/// Passed, failed, skipped, of what stands between separators.
fn parts(text: &str, separator: char) -> Option<(u64, u64, u64)> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for text in text.split(separator).filter(|text| !text.trim().is_empty()) {
        let (count, word) = part(text)?;
        match word {
            "passed" => passed += count,
            "failed" => failed += count,
            "skipped" | "todo" | "pending" | "expected fail" => skipped += count,
            _ => return None,
        }
    }
    Some((passed, failed, skipped))
}

/// Suites that could not run, which have no tests to be counted: those that were named, or else, where no test failed, all
/// suites that did.
fn unrun(named: &mut HashSet<String>, suites: &mut u64, failed: u64) -> u64 {
    let (named, suites) = (std::mem::take(named).len(), std::mem::take(suites));
    match u64::try_from(named).unwrap_or(u64::MAX) {
        0 if failed == 0 => suites,
        named => named,
    }
}

#[derive(Default)]
pub(super) struct Jest {
    tally: Tally,
    /// Suites that failed, of the summary that is being read.
    suites: u64,
    /// The file whose failures are being read, and those that could not run.
    file: String,
    unrun: HashSet<String>,
    /// Files that failed: named where no test is.
    files: Tally,
}

impl Family for Jest {
    fn line(&mut self, line: &str) {
        static TESTS: LazyLock<Regex> = LazyLock::new(|| regex(r"^Tests: +((?:\d{1,12} [a-z]+, )*)\d{1,12} total$"));
        static SUITES: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^Test Suites: +((?:\d{1,12} [a-z]+, )*)\d{1,12}(?: of \d{1,12})? total$"));
        let line = line.trim_end();
        if let Some(found) = line.starts_with("Test Suites: ").then(|| SUITES.captures(line)).flatten() {
            self.suites = parts(&found[1], ',').map_or(0, |(_, failed, _)| failed);
        } else if let Some(found) = line.starts_with("Tests: ").then(|| TESTS.captures(line)).flatten() {
            let Some((passed, failed, skipped)) = parts(&found[1], ',') else { return };
            let unrun = unrun(&mut self.unrun, &mut self.suites, failed);
            self.tally.suite(passed, failed.saturating_add(unrun), skipped);
        } else if line.starts_with("No tests found, exiting with code") {
            self.tally.suite(0, 0, 0);
        } else if let Some(name) = line.trim_start().strip_prefix("● ").filter(|_| line.starts_with("  ")) {
            let other = ["Console", "Test suite failed to run", "Cannot log after", "Deprecation", "Validation"];
            if name == "Test suite failed to run" {
                self.tally.failing(&self.file);
                self.unrun.insert(self.file.clone());
            } else if !other.iter().any(|other| name.starts_with(other)) {
                self.tally.failing(name);
            }
        } else if let Some(file) = line.strip_prefix("FAIL ").filter(|file| !file.starts_with([' ', '\t'])) {
            self.file = file.split(" (").next().unwrap_or(file).to_owned();
            self.files.failing(&self.file);
        }
    }

    fn end(mut self: Box<Self>) -> Option<Tally> {
        if self.tally.counts.failing.is_empty() && self.tally.counts.failed > 0 {
            self.files.counts.failing.iter().for_each(|name| self.tally.failing(name));
        }
        self.tally.told()
    }
}

#[derive(Default)]
pub(super) struct Vitest {
    tally: Tally,
    files: u64,
    unrun: HashSet<String>,
}

impl Family for Vitest {
    fn line(&mut self, line: &str) {
        static TESTS: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"^ *(Tests|Test Files) {2,}((?:\d{1,12} [a-z ]+? ?\| ?)*\d{1,12} [a-z ]+?|no tests) *(?:\(\d{1,12}\))?$",
            )
        });
        let line = line.trim_end();
        if let Some(found) = line.contains("Test").then(|| TESTS.captures(line)).flatten() {
            let Some((passed, failed, skipped)) = parts(found[2].trim_start_matches("no tests"), '|') else { return };
            if &found[1] == "Test Files" {
                self.files = failed;
                return;
            }
            let unrun = unrun(&mut self.unrun, &mut self.files, failed);
            self.tally.suite(passed, failed.saturating_add(unrun), skipped);
        } else if line.starts_with("No test files found, exiting with code") {
            self.tally.suite(0, 0, 0);
        } else if let Some(name) = line.trim_start().strip_prefix("FAIL  ") {
            let name = name.trim_start();
            let name = name.strip_prefix('|').and_then(|rest| rest.split_once("| ")).map_or(name, |(_, name)| name);
            match name.split_once(" [ ") {
                Some((file, _)) => {
                    self.tally.failing(file);
                    self.unrun.insert(file.to_owned());
                }
                None => self.tally.failing(name),
            }
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.tally.told()
    }
}

/// Lines of a name.
const NAME_LINES: usize = 8;

#[derive(Default)]
pub(super) struct Mocha {
    tally: Tally,
    /// A name that goes on, with as many lines.
    name: Option<(String, usize)>,
    listing: bool,
}

impl Family for Mocha {
    fn line(&mut self, line: &str) {
        static COUNT: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^ {2}(\d{1,12}) (?:(passing)(?: \([\d.a-z]+\))?|(pending)|(failing))$"));
        static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^ {2}\d{1,6}\) (.+)$"));
        let line = line.trim_end();
        if let Some((mut name, lines)) = self.name.take() {
            let more = line.trim();
            if more.is_empty() || lines >= NAME_LINES {
                return self.tally.failing(&name);
            }
            name = format!("{name} {}", more.trim_end_matches(':'));
            if more.ends_with(':') {
                self.tally.failing(&name);
            } else {
                self.name = Some((name, lines + 1));
            }
        } else if let Some(found) = line.starts_with("  ").then(|| COUNT.captures(line)).flatten() {
            let count = number(&found, 1);
            let counts = &mut self.tally.counts;
            if found.get(2).is_some() {
                self.tally.suite(count, 0, 0);
                self.listing = false;
            } else if self.tally.suites > 0 && found.get(3).is_some() {
                counts.skipped = counts.skipped.saturating_add(count);
            } else if self.tally.suites > 0 {
                counts.failed = counts.failed.saturating_add(count);
                self.listing = true;
            }
        } else if let Some(found) = self.listing.then(|| NAME.captures(line)).flatten() {
            let text = &found[1];
            match text.strip_suffix(':') {
                Some(name) => self.tally.failing(name),
                None => self.name = Some((text.to_owned(), 1)),
            }
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.tally.told()
    }
}
