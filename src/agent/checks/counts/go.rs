//! `go test`, as text and as events.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::Family;
use super::tally::{Tally, regex};

/// The tests of one package. A test that has tests of its own is not counted beside them.
#[derive(Default)]
struct Package {
    results: Vec<(String, State)>,
    parents: HashSet<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Passed,
    Failed,
    Skipped,
}

impl Package {
    fn push(&mut self, name: &str, state: State) {
        if let Some((parent, _)) = name.rsplit_once('/') {
            self.parents.insert(parent.to_owned());
        }
        self.results.push((name.to_owned(), state));
    }

    /// Adds what it came to. A package that failed without a test that did could not be built, or ended early.
    fn add_to(self, package: &str, failed: bool, tally: &mut Tally) {
        let (mut counts, mut any) = ([0, 0, 0], false);
        for (name, state) in self.results.iter().filter(|(name, _)| !self.parents.contains(name)) {
            match state {
                State::Passed => counts[0] += 1,
                State::Failed => {
                    counts[1] += 1;
                    any = true;
                    tally.failing(name);
                }
                State::Skipped => counts[2] += 1,
            }
        }
        if failed && !any {
            counts[1] += 1;
            // Where only the parent failed, it did so itself.
            let own = self.results.iter().find(|(_, state)| *state == State::Failed);
            tally.failing(own.map_or(package, |(name, _)| name));
        }
        tally.suite(counts[0], counts[1], counts[2]);
    }
}

/// Without `-v` only packages and failures are named, and packages are what is counted.
#[derive(Default)]
pub(super) struct Plain {
    /// By test, and by package.
    tests: Tally,
    packages: Tally,
    current: Package,
    verbose: bool,
}

impl Family for Plain {
    fn line(&mut self, line: &str) {
        static TEST: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*--- (PASS|FAIL|SKIP): (\S+) \("));
        if line.starts_with("=== RUN ") {
            self.verbose = true;
        } else if let Some(found) = line.contains("--- ").then(|| TEST.captures(line)).flatten() {
            let state = match &found[1] {
                "PASS" => State::Passed,
                "FAIL" => State::Failed,
                _ => State::Skipped,
            };
            self.verbose |= state == State::Passed;
            self.current.push(&found[2], state);
        } else if let Some(rest) = line.strip_prefix("ok  \t") {
            let empty = rest.contains("[no tests to run]");
            self.package(rest, false, empty);
        } else if let Some(rest) = line.strip_prefix("FAIL\t") {
            self.package(rest, true, false);
        } else if line.starts_with("?   ") && line.ends_with("[no test files]") {
            self.tests.suites += 1;
            self.packages.suites += 1;
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        let whole = self.current.results.is_empty();
        let tally = if self.verbose { self.tests } else { self.packages };
        tally.told().filter(|_| whole)
    }

    fn is_summary(&self) -> bool {
        false
    }
}

impl Plain {
    fn package(&mut self, rest: &str, failed: bool, empty: bool) {
        let name = rest.split(['\t', ' ']).next().unwrap_or_default();
        let current = std::mem::take(&mut self.current);
        current.results.iter().filter(|(_, s)| *s == State::Failed).for_each(|(name, _)| self.packages.failing(name));
        if failed && current.results.is_empty() {
            self.packages.failing(name);
        }
        self.packages.suite(u64::from(!failed && !empty), u64::from(failed), 0);
        current.add_to(name, failed, &mut self.tests);
    }
}

#[derive(Default)]
pub(super) struct Json {
    tally: Tally,
    open: HashMap<String, Package>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    package: Option<String>,
    import_path: Option<String>,
    test: Option<String>,
}

impl Family for Json {
    fn line(&mut self, line: &str) {
        if !line.starts_with('{') || !line.contains("\"Action\"") {
            return;
        }
        let Ok(event) = serde_json::from_str::<Event>(line) else { return };
        let state = match event.action.as_str() {
            "pass" => State::Passed,
            "fail" => State::Failed,
            "skip" => State::Skipped,
            "build-fail" => {
                // The package's own event follows, and counts.
                return self.tally.failing(event.import_path.as_deref().unwrap_or_default());
            }
            _ => return,
        };
        let Some(package) = event.package else { return };
        match event.test {
            Some(test) => self.open.entry(package).or_default().push(&test, state),
            None => {
                let tests = self.open.remove(&package).unwrap_or_default();
                tests.add_to(&package, state == State::Failed, &mut self.tally);
            }
        }
    }

    fn end(self: Box<Self>) -> Option<Tally> {
        let whole = self.open.is_empty();
        self.tally.told().filter(|_| whole)
    }

    fn is_summary(&self) -> bool {
        false
    }
}
