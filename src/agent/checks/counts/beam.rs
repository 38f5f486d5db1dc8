//! ExUnit of Elixir.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, part, regex};

#[derive(Default)]
pub(super) struct ExUnit(Tally);

impl Family for ExUnit {
    fn line(&mut self, line: &str) {
        static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"^((?:\d{1,12} (?:tests?|doctests?|property|properties), )+)(\d{1,12}) failures?((?:, \d{1,12} (?:excluded|skipped|invalid))*)(?: \([^()]*\))?$",
            )
        });
        static NAME: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^ {2,}\d{1,6}\) ((?:test|doctest|property) .+ \([\w.]+\))$"));
        if let Some(found) = line.contains(" failure").then(|| SUMMARY.captures(line)).flatten() {
            let total = found[1].split(',').filter_map(part).fold(0_u64, |all, (count, _)| all.saturating_add(count));
            let (mut failed, mut skipped) = (number(&found, 2), 0);
            for (count, word) in found[3].split(',').filter_map(part) {
                match word {
                    "invalid" => failed += count,
                    _ => skipped += count,
                }
            }
            self.0.of_total(total, failed, skipped);
        } else if line.starts_with("There are no tests to run") {
            self.0.suite(0, 0, 0);
        } else if let Some(found) = line.starts_with("  ").then(|| NAME.captures(line)).flatten() {
            self.0.failing(&found[1]);
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.0.told()
    }
}
