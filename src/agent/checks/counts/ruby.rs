//! RSpec; Minitest and test-unit.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, part, regex};

#[derive(Default)]
pub(super) struct Rspec(Tally);

impl Family for Rspec {
    fn line(&mut self, line: &str) {
        static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"^(\d{1,12}) examples?, (\d{1,12}) failures?(?:, (\d{1,12}) pending)?(?:, (\d{1,12}) errors? occurred outside of examples)?$",
            )
        });
        if let Some(found) = line.contains(" example").then(|| SUMMARY.captures(line)).flatten() {
            let (outside, skipped) = (number(&found, 4), number(&found, 3));
            // Errors outside of examples are none of them.
            self.0.of_total(
                number(&found, 1).saturating_add(outside),
                number(&found, 2).saturating_add(outside),
                skipped,
            );
        } else if let Some(name) = line.strip_prefix("rspec ").filter(|name| name.contains("_spec.rb")) {
            self.0.failing(name.split_once(" # ").map_or(name, |(_, name)| name));
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.0.told()
    }
}

#[derive(Default)]
pub(super) struct Minitest {
    tally: Tally,
    /// The next line names what failed.
    named: bool,
}

impl Family for Minitest {
    fn line(&mut self, line: &str) {
        static SUMMARY: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^(\d{1,12}) (?:runs|tests), \d{1,12} assertions, (\d{1,12} .+)$"));
        static FAILED: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:\s*\d+\) )?(?:Failure|Error):(?: (\S.*))?$"));
        static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^([\w:]+#[^ \[]+)(?: \[.*)?:?$"));
        let line = line.trim_end();
        if let Some(found) = line.contains(" assertions, ").then(|| SUMMARY.captures(line)).flatten() {
            let (mut failed, mut skipped) = (0, 0);
            for (count, word) in found[2].split(',').filter_map(part) {
                match word {
                    "failures" | "errors" => failed += count,
                    "skips" | "pendings" | "omissions" => skipped += count,
                    _ => {}
                }
            }
            self.tally.of_total(number(&found, 1), failed, skipped);
        } else if std::mem::take(&mut self.named) {
            if let Some(found) = NAME.captures(line) {
                self.tally.failing(found[1].trim_end_matches(':'));
            }
        } else if let Some(found) =
            (line.contains("Failure:") || line.contains("Error:")).then(|| FAILED.captures(line)).flatten()
        {
            // test-unit puts it on the same line, as `test_a(TestA)`.
            match found.get(1).and_then(|name| name.as_str().strip_suffix(')')?.split_once('(')) {
                Some((test, class)) if !test.contains(' ') => self.tally.failing(&format!("{class}#{test}")),
                _ => self.named = found.get(1).is_none(),
            }
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.tally.told()
    }
}
