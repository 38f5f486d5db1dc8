//! `dart test` and `flutter test`: a counter that goes up, and one last word.

use std::sync::LazyLock;

use regex::Regex;

use super::Family;
use super::tally::{Tally, number, regex};

#[derive(Default)]
pub(super) struct Dart {
    tally: Tally,
    /// Begun, and without a last word.
    open: bool,
}

impl Family for Dart {
    fn line(&mut self, line: &str) {
        static COUNTER: LazyLock<Regex> =
            LazyLock::new(|| regex(r"^\d{2,}:\d{2} \+(\d{1,12})(?: ~(\d{1,12}))?(?: -(\d{1,12}))?: (.*)$"));
        let line = line.trim_end();
        let clock = line.as_bytes().first().is_some_and(u8::is_ascii_digit) && line.contains(" +");
        if let Some(found) = clock.then(|| COUNTER.captures(line)).flatten() {
            let text = &found[4];
            self.open = true;
            let last = ["All tests passed!", "All other tests passed!", "Some tests failed.", "All tests skipped."];
            if last.contains(&text) {
                self.tally.suite(number(&found, 1), number(&found, 3), number(&found, 2));
                self.open = false;
            } else if text == "No tests ran." || text.starts_with("No tests match") {
                self.tally.suite(0, 0, 0);
                self.open = false;
            } else if let Some(name) = text.strip_suffix(" [E]") {
                self.tally.failing(name);
            }
        } else if line == "No tests ran." {
            self.tally.suite(0, 0, 0);
            self.open = false;
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        let whole = !self.open;
        self.tally.told().filter(|_| whole)
    }
}
