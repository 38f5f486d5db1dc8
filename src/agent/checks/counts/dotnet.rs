//! `dotnet test`: one line a project, totals over several lines, or the summary of newer tool chains.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, regex};

#[derive(Default)]
pub(super) struct Dotnet {
    /// By each of the three forms; the same run may be told in more than one.
    projects: Tally,
    totals: Tally,
    summaries: Tally,
    /// Numbers of a form that takes several lines: passed, failed, skipped.
    total: Option<Open>,
}

struct Open {
    total: u64,
    failed: u64,
    skipped: u64,
    newer: bool,
}

impl Family for Dotnet {
    fn line(&mut self, line: &str) {
        static PROJECT: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"^(?:Passed|Failed|Skipped)! +- Failed: +(\d{1,12}), Passed: +(\d{1,12}), Skipped: +(\d{1,12}), Total: +\d{1,12}\b",
            )
        });
        static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
            regex(r"^Test summary: total: (\d{1,12}), failed: (\d{1,12}), succeeded: \d{1,12}, skipped: (\d{1,12})")
        });
        static TOTAL: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:Total tests: |  total: )(\d{1,12})$"));
        static COUNT: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^ +(Passed|Failed|Skipped|failed|succeeded|skipped): (\d{1,12})$"));
        static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^ *(?:Failed|failed) (\S.*?) [\[(][<\d., a-z]+[\])]$"));
        let line = line.trim_end();
        if let Some(found) = line.contains("! ").then(|| PROJECT.captures(line)).flatten() {
            self.projects.suite(number(&found, 2), number(&found, 1), number(&found, 3));
        } else if let Some(found) = line.starts_with("Test summary: ").then(|| SUMMARY.captures(line)).flatten() {
            self.summaries.of_total(number(&found, 1), number(&found, 2), number(&found, 3));
        } else if let Some(found) = line.contains("otal").then(|| TOTAL.captures(line)).flatten() {
            self.close();
            let newer = line.starts_with(' ');
            self.total = Some(Open { total: number(&found, 1), failed: 0, skipped: 0, newer });
        } else if let Some(found) = line.starts_with("  ").then(|| COUNT.captures(line)).flatten() {
            if let Some(open) = &mut self.total {
                match &found[1] {
                    "Failed" | "failed" => open.failed = number(&found, 2),
                    "Skipped" | "skipped" => open.skipped = number(&found, 2),
                    _ => {}
                }
            }
        } else {
            self.close();
            if let Some(found) = line.contains("ailed ").then(|| NAME.captures(line)).flatten() {
                self.projects.failing(&found[1]);
            } else if line == "No test is available" || line.starts_with("No test matches the given testcase filter") {
                self.projects.suite(0, 0, 0);
            }
        }
    }

    fn end(mut self: Box<Self>) -> Option<Tally> {
        self.close();
        let Self { projects, totals, summaries, .. } = *self;
        let names = projects.counts.failing.clone();
        let mut told = summaries.told().or_else(|| projects.told()).or_else(|| totals.told())?;
        names.iter().for_each(|name| told.failing(name));
        Some(told)
    }

    // One line a project.
    fn is_summary(&self) -> bool {
        self.summaries.suites > 0
    }
}

impl Dotnet {
    fn close(&mut self) {
        if let Some(open) = self.total.take() {
            let into = if open.newer { &mut self.summaries } else { &mut self.totals };
            into.of_total(open.total, open.failed, open.skipped);
        }
    }
}
