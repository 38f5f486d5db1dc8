//! AVA, Bun, Deno.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, part, regex};

#[derive(Default)]
pub(super) struct Ava {
    tally: Tally,
    /// Lines that told what passed, and what failed: of one run there is at most one of each.
    told: [usize; 2],
    /// Tests that were ticked off: where one failed, nothing else tells how many passed.
    ticks: u64,
}

impl Family for Ava {
    fn line(&mut self, line: &str) {
        static COUNT: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"^ {2}(\d{1,12}) (?:tests? (passed|failed|skipped|todo)|(known failures?)|(uncaught exceptions?|unhandled rejections?))$",
            )
        });
        static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^ {2}[✘✖] \[fail\]: (.+)$"));
        if let Some(found) = line.starts_with("  ").then(|| COUNT.captures(line)).flatten() {
            let count = number(&found, 1);
            match found.get(2).map(|word| word.as_str()) {
                Some("passed") => {
                    self.told[0] += 1;
                    self.ticks = 0;
                    self.tally.suite(count, 0, 0);
                }
                Some("failed") => {
                    self.told[1] += 1;
                    self.tally.suite(std::mem::take(&mut self.ticks), count, 0);
                }
                Some(_) => self.tally.suite(0, 0, count),
                None if found.get(3).is_some() => self.tally.suite(0, 0, count),
                None => self.tally.suite(0, count, 0),
            }
        } else if let Some(found) = NAME.captures(line).filter(|_| line.starts_with("  ")) {
            self.tally.failing(&found[1]);
        } else if line.starts_with("  ✔ ") || line.starts_with("  ✓ ") {
            self.ticks += 1;
        }
    }

    fn end(mut self: Box<Self>) -> Option<Tally> {
        self.tally.suites = self.told[0].max(self.told[1]);
        self.tally.told()
    }

    fn is_summary(&self) -> bool {
        false
    }
}

/// A block of ` 3 pass`, ` 1 fail` and so on, ended by how many ran.
#[derive(Default)]
pub(super) struct Bun {
    tally: Tally,
    block: [u64; 3],
    open: bool,
}

impl Family for Bun {
    fn line(&mut self, line: &str) {
        static COUNT: LazyLock<Regex> = LazyLock::new(|| regex(r"^ (\d{1,12}) (pass|fail|skip|todo|error|errors)$"));
        static END: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^Ran \d{1,12} tests? across \d{1,12} files?\.(?: \[[^\]]*\])?$"));
        if let Some(found) = line.starts_with(' ').then(|| COUNT.captures(line)).flatten() {
            let at = match &found[2] {
                "pass" => 0,
                "skip" | "todo" => 2,
                _ => 1,
            };
            self.block[at] = self.block[at].saturating_add(number(&found, 1));
            self.open = true;
        } else if line.starts_with("Ran ") && END.is_match(line) {
            let [passed, failed, skipped] = std::mem::take(&mut self.block);
            self.tally.suite(passed, failed, skipped);
            self.open = false;
        } else if let Some(name) = line.strip_prefix("(fail) ") {
            self.tally.failing(name.rsplit_once(" [").map_or(name, |(name, _)| name));
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.tally.told()
    }
}

#[derive(Default)]
pub(super) struct Deno(Tally);

impl Family for Deno {
    fn line(&mut self, line: &str) {
        static SUMMARY: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:ok|FAILED) \| (\d.*?)(?: \([^()]*\))?$"));
        static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^(\S.*) => \S+:\d+:\d+$"));
        static STEPS: LazyLock<Regex> = LazyLock::new(|| regex(r"\([^)]*\)"));
        if let Some(found) = line.contains(" | ").then(|| SUMMARY.captures(line)).flatten() {
            let (mut passed, mut failed, mut skipped) = (0, 0, 0);
            for text in STEPS.replace_all(&found[1], "").split('|') {
                let Some((count, word)) = part(text) else { return };
                match word {
                    "passed" => passed += count,
                    "failed" => failed += count,
                    "ignored" => skipped += count,
                    _ => {}
                }
            }
            self.0.suite(passed, failed, skipped);
        } else if let Some(found) = line.contains(" => ").then(|| NAME.captures(line)).flatten() {
            self.0.failing(&found[1]);
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        self.0.told()
    }
}
