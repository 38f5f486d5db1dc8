//! CTest.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, regex};

#[derive(Default)]
pub(super) struct CTest(Tally);

impl Family for CTest {
    fn line(&mut self, line: &str) {
        static SUMMARY: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^\d{1,3}% tests passed(?:, |,)(\d{1,12}) tests? failed out of (\d{1,12})$"));
        static LISTED: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s+\d{1,9} - (.+?) \(([A-Za-z /*]+)\)(?:\s.*)?$"));
        if let Some(found) = line.contains("% tests passed").then(|| SUMMARY.captures(line.trim_end())).flatten() {
            self.0.of_total(number(&found, 2), number(&found, 1), 0);
        } else if line.starts_with("No tests were found!!!") {
            self.0.suite(0, 0, 0);
        } else if let Some(found) = line.contains(" - ").then(|| LISTED.captures(line)).flatten() {
            let counts = &mut self.0.counts;
            match &found[2] {
                // Counted among those that did not fail.
                "Skipped" => {
                    let moved = counts.passed.min(1);
                    counts.passed -= moved;
                    counts.skipped = counts.skipped.saturating_add(moved);
                }
                // Not counted at all.
                "Disabled" => counts.skipped = counts.skipped.saturating_add(1),
                _ => self.0.failing(&found[1]),
            }
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.0.told()
    }
}
