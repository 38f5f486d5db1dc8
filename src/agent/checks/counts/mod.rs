//! What the output of a test run says of itself, by the forms of the programs that print it.
//!
//! A number is taken only from where a program tells its result. Where a part of the output is missing that could have held
//! a result, there is none: an unknown is honest, a wrong number is not.

mod beam;
mod dart;
mod dotnet;
mod go;
mod javascript;
mod junit;
mod jvm;
mod native;
mod php;
mod python;
mod ruby;
mod runners;
mod rust;
mod swift;
mod tally;
mod tap;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use junit::junit;
use tally::Tally;
pub(super) use tally::regex;

/// How many tests a run had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub passed: u64,
    /// Errors and suites that could not run count as well.
    pub failed: u64,
    /// Ignored, pending, to be written, expected to fail.
    pub skipped: u64,
    /// Names of what failed, each once and in one line: the first 20 that were named.
    pub failing: Vec<String>,
}

impl Counts {
    /// Tests that passed, failed or were skipped.
    pub fn total(&self) -> u64 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }

    /// Something passed and nothing failed: a run without tests is not this.
    pub fn is_passed(&self) -> bool {
        self.passed > 0 && self.failed == 0
    }
}

/// Bytes of a line that are looked at: no result is told in more.
const LONGEST: usize = 2_000;

/// One program's way to tell a result.
trait Family {
    fn line(&mut self, line: &str);
    /// What the lines came to; nothing where there was no result, or only a part of one.
    fn end(self: Box<Self>) -> Option<Tally>;
    /// Its result is one summary at the end, so that lines before it may be missing.
    fn is_summary(&self) -> bool {
        true
    }
}

fn families() -> Vec<Box<dyn Family>> {
    vec![
        Box::<rust::Libtest>::default(),
        Box::<rust::Nextest>::default(),
        Box::<python::Pytest>::default(),
        Box::<python::Unittest>::default(),
        Box::<go::Plain>::default(),
        Box::<go::Json>::default(),
        Box::<javascript::Jest>::default(),
        Box::<javascript::Vitest>::default(),
        Box::<javascript::Mocha>::default(),
        Box::<runners::Ava>::default(),
        Box::<runners::Bun>::default(),
        Box::<runners::Deno>::default(),
        Box::<tap::Tap>::default(),
        Box::<jvm::Surefire>::default(),
        Box::<jvm::Gradle>::default(),
        Box::<ruby::Rspec>::default(),
        Box::<ruby::Minitest>::default(),
        Box::<php::PhpUnit>::default(),
        Box::<dotnet::Dotnet>::default(),
        Box::<beam::ExUnit>::default(),
        Box::<native::CTest>::default(),
        Box::<swift::Swift>::default(),
        Box::<dart::Dart>::default(),
    ]
}

/// Reads the result of a test run from what it printed; of several, their sum. `None`: no program that is known told one,
/// or what it told is not all there. A run that found no tests is a result of zeros.
pub fn counts(output: &str) -> Option<Counts> {
    let mut all = families();
    let mut cut = false;
    // A line that is written over again and again, by carriage returns, is as many lines.
    for line in output.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r')) {
        let line = plain(line);
        if is_gap(&line) {
            // What was told before it may have had a successor in the gap.
            if !ended(std::mem::replace(&mut all, families())).is_empty() {
                return None;
            }
            cut = true;
            continue;
        }
        all.iter_mut().for_each(|family| family.line(&line));
    }
    let results = ended(all);
    if cut && (results.len() != 1 || results.iter().any(|(summary, tally)| !summary || tally.suites != 1)) {
        return None;
    }
    if results.is_empty() {
        return if cut { None } else { junit::within(output) };
    }
    let mut sum = Tally::default();
    results.into_iter().for_each(|(_, tally)| sum.add(tally));
    Some(sum.counts)
}

fn ended(families: Vec<Box<dyn Family>>) -> Vec<(bool, Tally)> {
    families.into_iter().filter_map(|family| Some((family.is_summary(), family.end()?))).collect()
}

/// A line as it is read: no colours, not endless.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    let line = &line[..line.floor_char_boundary(LONGEST)];
    if line.contains('\u{1b}') {
        Cow::Owned(anstream::adapter::strip_str(line).to_string())
    } else {
        Cow::Borrowed(line)
    }
}

/// The mark of whoever kept only the ends of a long output.
fn is_gap(line: &str) -> bool {
    line.trim().strip_prefix("[… ").is_some_and(|rest| rest.ends_with(" left out …]"))
}

#[cfg(test)]
mod tests;
