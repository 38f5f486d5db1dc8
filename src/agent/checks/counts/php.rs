//! PHPUnit, and Pest on top of it.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, part, regex};

#[derive(Default)]
pub(super) struct PhpUnit(Tally);

impl Family for PhpUnit {
    fn line(&mut self, line: &str) {
        static FINE: LazyLock<Regex> = LazyLock::new(|| regex(r"^OK \((\d{1,12}) tests?, \d{1,12} assertions?\)$"));
        static SUMMARY: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^Tests: (\d{1,12}), Assertions: \d{1,12}((?:, [A-Za-z ]+: \d{1,12})*)\.$"));
        static PEST: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^ *Tests: +((?:\d{1,12} [a-z]+(?:, )?)+) \(\d{1,12} assertions?\)$"));
        static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^\d{1,6}\) ([\w\\]+::\S.*)$"));
        static PEST_NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^ +FAILED {2}(.+?)(?: {2,}\S+)?$"));
        let line = line.trim_end();
        if let Some(found) = line.starts_with("OK (").then(|| FINE.captures(line)).flatten() {
            self.0.suite(number(&found, 1), 0, 0);
        } else if let Some(found) = line.starts_with("Tests: ").then(|| SUMMARY.captures(line)).flatten() {
            let (mut failed, mut skipped) = (0_u64, 0_u64);
            for (kind, count) in found[2].split(", ").filter_map(|part| part.split_once(": ")) {
                let count = count.parse().unwrap_or(0);
                match kind {
                    "Failures" | "Errors" => failed = failed.saturating_add(count),
                    "Skipped" | "Incomplete" => skipped = skipped.saturating_add(count),
                    _ => {}
                }
            }
            self.0.of_total(number(&found, 1), failed, skipped);
        } else if line == "No tests executed!" {
            self.0.suite(0, 0, 0);
        } else if let Some(found) = line.contains(" assertion").then(|| PEST.captures(line)).flatten() {
            let (mut passed, mut failed, mut skipped) = (0, 0, 0);
            for (count, word) in found[1].split(',').filter_map(part) {
                match word {
                    "failed" => failed += count,
                    "skipped" | "todo" | "todos" | "incomplete" => skipped += count,
                    "passed" | "risky" | "warnings" | "warning" | "deprecated" | "notices" => passed += count,
                    _ => {}
                }
            }
            self.0.suite(passed, failed, skipped);
        } else if let Some(found) = line.contains("::").then(|| NAME.captures(line)).flatten() {
            self.0.failing(&found[1]);
        } else if let Some(found) = line.contains("FAILED  ").then(|| PEST_NAME.captures(line)).flatten() {
            self.0.failing(&found[1]);
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.0.told()
    }
}
