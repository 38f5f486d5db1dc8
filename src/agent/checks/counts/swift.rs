//! `swift test`: XCTest, and Swift Testing after it.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, regex};

#[derive(Default)]
pub(super) struct Swift {
    tally: Tally,
    /// The next line tells of all tests.
    all: bool,
    /// Cases that failed since the last summary: a summary tells how many failures there were, which may be more.
    failed: u64,
}

impl Family for Swift {
    fn line(&mut self, line: &str) {
        static ALL: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^Test Suite '(?:All|Selected) tests' (?:passed|failed) at "));
        static EXECUTED: LazyLock<Regex> = LazyLock::new(|| {
            regex(r"^\s*Executed (\d{1,12}) tests?, with (?:(\d{1,12}) tests? skipped and )?(\d{1,12}) failures? \(")
        });
        static CASE: LazyLock<Regex> = LazyLock::new(|| regex(r"^Test Case '(?:-\[)?([^'\]]+)\]?' failed \("));
        static RUN: LazyLock<Regex> = LazyLock::new(|| {
            regex(r"^\S+ +Test run with (\d{1,12}) tests?(?: in \d{1,12} suites?)? (passed|failed) after ")
        });
        static TEST: LazyLock<Regex> =
            LazyLock::new(|| regex(r#"^\S+ +Test ("[^"]*"|[^ "(]+\([^)]*\)) (?:(failed) after |(skipped)\b)"#));
        if std::mem::take(&mut self.all)
            && let Some(found) = EXECUTED.captures(line)
        {
            let (total, told) = (number(&found, 1), number(&found, 3));
            let failed = std::mem::take(&mut self.failed);
            let failed = if failed > 0 { failed } else { told.min(total.max(1)) };
            self.tally.of_total(total, failed, number(&found, 2));
        } else if line.starts_with("Test Suite '") && ALL.is_match(line) {
            self.all = true;
        } else if let Some(found) = line.starts_with("Test Case '").then(|| CASE.captures(line)).flatten() {
            self.failed += 1;
            self.tally.failing(&found[1]);
        } else if let Some(found) = line.contains(" Test run with ").then(|| RUN.captures(line)).flatten() {
            let failed = std::mem::take(&mut self.failed);
            let failed = if &found[2] == "failed" { failed.max(1) } else { 0 };
            self.tally.of_total(number(&found, 1), failed, 0);
        } else if let Some(found) = line.contains(" Test ").then(|| TEST.captures(line)).flatten()
            && found.get(2).is_some()
        {
            self.failed += 1;
            self.tally.failing(&found[1]);
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.tally.told()
    }

    // How many failed is counted on the way.
    fn is_summary(&self) -> bool {
        false
    }
}
