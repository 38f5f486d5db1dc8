//! The Test Anything Protocol, versions 12 to 14, and what Node's own runner says at its end.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, regex};

#[derive(Default)]
pub(super) struct Tap {
    /// By the points of the outermost level, of which the plans say how many there are.
    points: Tally,
    planned: u64,
    plans: usize,
    bailed: bool,
    /// There were points within points; which of those failed, and whether one did since the last outer point.
    nested: bool,
    inner: Tally,
    inner_failed: bool,
    /// By the lines at the end that tell it, where a program writes them.
    summary: Tally,
    tests: Option<u64>,
    told: [u64; 3],
}

impl Family for Tap {
    fn line(&mut self, line: &str) {
        static PLAN: LazyLock<Regex> = LazyLock::new(|| regex(r"^1\.\.(\d{1,9})(?: *#.*)?$"));
        static POINT: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"^( *)(not )?ok(?: +(\d{1,12}))?(?: +- +| +|$)([^\t#\\]*(?:\\.[^\t#\\]*)*)(?:# *(?i:(skip\S*|todo))\b.*)?(?:#.*)?$",
            )
        });
        static SUMMARY: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^[#ℹ] +(tests|pass|fail|cancelled|skipped|todo) +(\d{1,12})$"));
        if let Some(found) = line.starts_with("1..").then(|| PLAN.captures(line)).flatten() {
            self.plans += 1;
            self.planned = self.planned.saturating_add(number(&found, 1));
        } else if line.starts_with("Bail out!") {
            self.bailed = true;
            self.points.failing(line);
        } else if let Some(found) = line.starts_with(['#', 'ℹ']).then(|| SUMMARY.captures(line)).flatten() {
            self.summed(&found[1], number(&found, 2));
        } else if let Some(found) = line.contains("ok").then(|| POINT.captures(line)).flatten() {
            let (inner, failed, directive) = (!found[1].is_empty(), found.get(2).is_some(), found.get(5));
            let name = found[4].trim();
            // A number or a plain name: prose that begins with "ok" has neither plan nor number.
            let failed = failed && directive.is_none();
            let name = if name.is_empty() { found.get(3).map_or("", |number| number.as_str()) } else { name };
            if inner {
                self.nested = true;
                self.inner_failed |= failed;
                if failed {
                    self.inner.failing(name);
                }
                return;
            }
            match (failed, directive) {
                (_, Some(_)) => self.points.suite(0, 0, 1),
                (true, None) => self.points.suite(0, 1, 0),
                (false, None) => self.points.suite(1, 0, 0),
            }
            if failed {
                self.points.failing(name);
                if !self.inner_failed {
                    self.inner.failing(name);
                }
            }
            self.inner_failed = false;
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        let Self { mut points, planned, plans, bailed, nested, inner, mut summary, tests, .. } = *self;
        let whole = plans > 0 && !bailed && points.counts.total() == planned;
        // What is told at the end counts the innermost tests, but with some programs not those that are left out.
        if summary.suites > 0 && tests.is_none() && (nested || !whole) {
            inner.counts.failing.iter().for_each(|name| summary.failing(name));
            return Some(summary);
        }
        if bailed {
            points.counts.failed = points.counts.failed.saturating_add(1);
        }
        points.suites = plans;
        // Without all that was planned something is missing, or this is no such protocol.
        points.told().filter(|_| whole || bailed)
    }

    fn is_summary(&self) -> bool {
        self.summary.suites > 0
    }
}

impl Tap {
    /// `tests` opens a summary; what failed, and what Node says after it, belongs to it.
    fn summed(&mut self, word: &str, count: u64) {
        match (word, self.tests) {
            ("tests", _) => (self.tests, self.told) = (Some(count), [0; 3]),
            ("pass", Some(tests)) => {
                self.told[0] = count;
                // Whatever did not pass failed, until the next lines say otherwise.
                self.summary.of_total(tests, tests.saturating_sub(count), 0);
                self.tests = None;
            }
            ("skipped" | "todo", None) if self.summary.suites > 0 => {
                let counts = &mut self.summary.counts;
                let moved = count.min(counts.failed);
                counts.failed -= moved;
                counts.skipped = counts.skipped.saturating_add(moved);
            }
            _ => {}
        }
    }
}
