//! The test harness of Rust, and nextest.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, part, regex};

#[derive(Default)]
pub(super) struct Libtest {
    tally: Tally,
    begun: usize,
}

impl Family for Libtest {
    fn line(&mut self, line: &str) {
        static BEGIN: LazyLock<Regex> = LazyLock::new(|| regex(r"^running \d{1,9} tests?$"));
        static RESULT: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"^test result: (?:ok|FAILED)\. (\d{1,12}) passed; (\d{1,12}) failed; (\d{1,12}) ignored; \d+ measured",
            )
        });
        if let Some(found) = line.starts_with("test result: ").then(|| RESULT.captures(line)).flatten() {
            self.tally.suite(number(&found, 1), number(&found, 2), number(&found, 3));
        } else if line.starts_with("running ") && BEGIN.is_match(line) {
            self.begun += 1;
        } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.tally.failing(name.trim_end_matches(" - should panic"));
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.tally.failing(name);
        }
    }

    // A binary that was killed begins and has no result.
    fn end(self: Box<Self>) -> Option<Tally> {
        let whole = self.begun <= self.tally.suites;
        self.tally.told().filter(|_| whole)
    }

    // One result a binary.
    fn is_summary(&self) -> bool {
        false
    }
}

#[derive(Default)]
pub(super) struct Nextest(Tally);

impl Family for Nextest {
    fn line(&mut self, line: &str) {
        static SUMMARY: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^\s*Summary \[\s*[\d.]+s\] (?:(\d{1,12})/)?(\d{1,12}) tests? run: (.+)$"));
        static FAILED: LazyLock<Regex> = LazyLock::new(|| {
            regex(r"^\s+(?:FAIL|TIMEOUT|ABORT|SIG[A-Z]+|XFAIL|FAIL \+ LEAK) \[[^\]]*\] (?:\([^)]*\) )?(\S+ .+)$")
        });
        static ASIDE: LazyLock<Regex> = LazyLock::new(|| regex(r"\([^)]*\)"));
        if let Some(found) = line.contains("Summary [").then(|| SUMMARY.captures(line)).flatten() {
            let parts = ASIDE.replace_all(&found[3], "");
            let (mut passed, mut failed, mut skipped) = (0, 0, 0);
            for (count, word) in parts.split(',').filter_map(part) {
                match word {
                    "passed" => passed += count,
                    "skipped" => skipped += count,
                    _ => failed += count,
                }
            }
            // What was not run because something had failed.
            if found.get(1).is_some() {
                skipped += number(&found, 2).saturating_sub(number(&found, 1));
            }
            self.0.suite(passed, failed, skipped);
        } else if let Some(found) = line.contains(" [").then(|| FAILED.captures(line)).flatten() {
            self.0.failing(&found[1]);
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.0.told()
    }
}
