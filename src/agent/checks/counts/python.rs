//! pytest and unittest.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, part, regex};

#[derive(Default)]
pub(super) struct Pytest(Tally);

impl Family for Pytest {
    fn line(&mut self, line: &str) {
        static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"^(?:=+ )?(no tests ran|no tests collected|\d[\da-z, ]*?) in [\d.]+ ?s(?:econds)?(?: \([\d:, a-z]+\))?(?: =+)?$",
            )
        });
        let line = line.trim_end();
        if let Some(name) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
            let name = name.split_once(" - ").map_or(name, |(name, _)| name);
            if name.contains("::") || name.ends_with(".py") {
                self.0.failing(name);
            }
            return;
        }
        let Some(found) = line.contains(" in ").then(|| SUMMARY.captures(line)).flatten() else { return };
        let (mut passed, mut failed, mut skipped) = (0, 0, 0);
        for text in found[1].split(',').filter(|text| !text.starts_with("no tests")) {
            let Some((count, word)) = part(text) else { return };
            match word {
                "passed" | "xpassed" => passed += count,
                "failed" | "error" | "errors" => failed += count,
                "skipped" | "xfailed" => skipped += count,
                "deselected" | "warning" | "warnings" | "rerun" | "subtests passed" | "subtests skipped" => {}
                "subtests failed" | "subtest failed" => failed += count,
                // Something else that tells how long it took.
                _ => return,
            }
        }
        self.0.suite(passed, failed, skipped);
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.0.told()
    }
}

#[derive(Default)]
pub(super) struct Unittest {
    tally: Tally,
    /// Tests that ran, of which the outcome comes on a later line.
    ran: Option<u64>,
    broken: bool,
}

impl Family for Unittest {
    fn line(&mut self, line: &str) {
        static RAN: LazyLock<Regex> = LazyLock::new(|| regex(r"^Ran (\d{1,12}) tests? in [\d.]+s$"));
        static END: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z0-9=, ]+)\))?$"));
        static FAILED: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:FAIL|ERROR): (\w+) \(([^()]+)\)"));
        if let Some(found) = line.starts_with("Ran ").then(|| RAN.captures(line)).flatten() {
            self.broken |= self.ran.replace(number(&found, 1)).is_some();
        } else if let Some(ran) = self.ran {
            let Some(found) = END.captures(line) else { return };
            let (mut failed, mut skipped) = (0_u64, 0_u64);
            for (kind, count) in
                found.get(1).map_or("", |all| all.as_str()).split(", ").filter_map(|p| p.split_once('='))
            {
                let count = count.parse().unwrap_or(0);
                match kind {
                    "skipped" | "expected failures" => skipped = skipped.saturating_add(count),
                    _ => failed = failed.saturating_add(count),
                }
            }
            self.tally.of_total(ran, failed, skipped);
            self.ran = None;
        } else if let Some(found) = line.contains(": ").then(|| FAILED.captures(line)).flatten() {
            let (test, place) = (&found[1], &found[2]);
            let whole = place.rsplit('.').next() == Some(test);
            self.tally.failing(&if whole { place.to_owned() } else { format!("{place}.{test}") });
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        let whole = self.ran.is_none() && !self.broken;
        self.tally.told().filter(|_| whole)
    }
}
