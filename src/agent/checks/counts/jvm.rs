//! Surefire of Maven, and Gradle.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, regex};

#[derive(Default)]
pub(super) struct Surefire {
    tally: Tally,
    classes: usize,
}

impl Family for Surefire {
    fn line(&mut self, line: &str) {
        static RESULT: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"^(?:\[[A-Z]+\] +)?Tests run: (\d{1,12}), +Failures: (\d{1,12}), +Errors: (\d{1,12}), +Skipped: (\d{1,12})(?:, +Flakes: \d{1,12})?(.*)$",
            )
        });
        static FAILED: LazyLock<Regex> = LazyLock::new(|| {
            regex(r"^(?:\[[A-Z]+\] +)?(\S.*?)  ?(?:--|-)? ?Time elapsed: [\d., a-z]+<<< (?:FAILURE|ERROR)!$")
        });
        let line = line.trim_end();
        if let Some(found) = line.contains("Tests run: ").then(|| RESULT.captures(line)).flatten() {
            if found[5].contains("Time elapsed") {
                self.classes += 1;
            } else if found[5].is_empty() {
                let failed = number(&found, 2).saturating_add(number(&found, 3));
                self.tally.of_total(number(&found, 1), failed, number(&found, 4));
            }
        } else if let Some(found) = line.ends_with('!').then(|| FAILED.captures(line)).flatten() {
            let name = &found[1];
            // Once `test(pkg.Class)`, now `pkg.Class.test`.
            let old = name.strip_suffix(')').and_then(|name| name.split_once('('));
            self.tally.failing(&old.map_or_else(|| name.to_owned(), |(test, class)| format!("{class}.{test}")));
        }
    }

    // Classes without the total after them: it was stopped in between.
    fn end(self: Box<Self>) -> Option<Tally> {
        self.tally.told()
    }

    // One total a module.
    fn is_summary(&self) -> bool {
        false
    }
}

/// Gradle tells how many tests there were only where one failed, or each of them where the build wants it.
#[derive(Default)]
pub(super) struct Gradle {
    totals: Tally,
    each: Tally,
}

impl Family for Gradle {
    fn line(&mut self, line: &str) {
        static TOTAL: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^(\d{1,12}) tests? completed(?:, (\d{1,12}) failed)?(?:, (\d{1,12}) skipped)?$"));
        static TEST: LazyLock<Regex> = LazyLock::new(|| regex(r"^(\S.* > .+) (PASSED|FAILED|SKIPPED)$"));
        let line = line.trim_end();
        if let Some(found) = line.contains(" completed").then(|| TOTAL.captures(line)).flatten() {
            self.totals.of_total(number(&found, 1), number(&found, 2), number(&found, 3));
        } else if let Some(found) = line.contains(" > ").then(|| TEST.captures(line)).flatten() {
            match &found[2] {
                "PASSED" => self.each.suite(1, 0, 0),
                "SKIPPED" => self.each.suite(0, 0, 1),
                _ => {
                    self.each.suite(0, 1, 0);
                    self.each.failing(&found[1]);
                    self.totals.failing(&found[1]);
                }
            }
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        let all = self.each.counts.passed > 0;
        if all { self.each.told() } else { self.totals.told() }
    }

    fn is_summary(&self) -> bool {
        false
    }
}
