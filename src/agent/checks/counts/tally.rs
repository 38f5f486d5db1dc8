//! Numbers and names that add up.

use regex::{Captures, Regex};

use super::Counts;

const MAX_FAILING: usize = 20;
/// Characters of a name.
const MAX_NAME: usize = 200;

#[derive(Default)]
pub(super) struct Tally {
    pub(super) counts: Counts,
    /// Results that were told.
    pub(super) suites: usize,
}

impl Tally {
    /// One more result.
    pub(super) fn suite(&mut self, passed: u64, failed: u64, skipped: u64) {
        let counts = &mut self.counts;
        counts.passed = counts.passed.saturating_add(passed);
        counts.failed = counts.failed.saturating_add(failed);
        counts.skipped = counts.skipped.saturating_add(skipped);
        self.suites += 1;
    }

    /// One more result, of which the total is told.
    pub(super) fn of_total(&mut self, total: u64, failed: u64, skipped: u64) {
        self.suite(total.saturating_sub(failed.saturating_add(skipped)), failed, skipped);
    }

    pub(super) fn failing(&mut self, name: &str) {
        if self.counts.failing.len() >= MAX_FAILING {
            return;
        }
        let name: String = name.trim().chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
        if !name.is_empty() && !self.counts.failing.contains(&name) {
            self.counts.failing.push(name);
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.suite(other.counts.passed, other.counts.failed, other.counts.skipped);
        other.counts.failing.iter().for_each(|name| self.failing(name));
    }

    /// Itself, if there was a result at all.
    pub(super) fn told(self) -> Option<Self> {
        (self.suites > 0).then_some(self)
    }
}

pub(in crate::agent::checks) fn regex(pattern: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "a pattern of this program's own, compiled by the tests")]
    Regex::new(pattern).expect("the pattern is valid")
}

/// A group's number. One that was not told is 0; the patterns let none pass that is too large.
pub(super) fn number(found: &Captures<'_>, group: usize) -> u64 {
    found.get(group).and_then(|text| text.as_str().parse().ok()).unwrap_or(0)
}

/// A number with the words after it, as in `3 passed`.
pub(super) fn part(text: &str) -> Option<(u64, &str)> {
    let (number, word) = text.trim().split_once(' ')?;
    let digits = (1..=12).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    Some((number.parse().ok().filter(|_| digits)?, word.trim()))
}
