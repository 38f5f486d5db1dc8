//! What the change leaves in the test files: which tests are new, which differ, and the files as a whole.

use std::collections::BTreeSet;

use super::{NAMED, NOT_MEASURED, NOT_RUN, cases, refs};
use crate::agent::contribute::changed::{Changed, Touched, stretches};
use crate::agent::contribute::survey::{self, Class};
use crate::agent::contribute::words;
use crate::agent::mechanic::places;
use crate::artifact::generation::{SuiteMetadata, SuiteSummary, TestCategories, TestFile, TestSuite};
use crate::artifact::swarm::{TestAdded, TestFileChange, TestKind, WriteAction};

fn new_names(file: &Touched) -> Vec<String> {
    let names = |text: &Option<String>| text.as_ref().map(|text| cases::names(&file.path, text)).unwrap_or_default();
    let mut left = names(&file.old);
    let mut new = names(&file.new);
    // A name that is there as often as before is no new one.
    new.retain(|name| match left.iter().position(|old| old == name) {
        Some(at) => {
            left.remove(at);
            false
        }
        None => true,
    });
    new
}

/// A test file as the change leaves it; none for code whose tests are as they were.
pub(super) fn told(file: &Touched, changed: &Changed) -> Option<TestFileChange> {
    let text = file.new.as_deref()?;
    let added = new_names(file);
    if added.is_empty()
        && (!survey::is_test(&file.path) || cases::names(&file.path, text).is_empty())
        && modified(file) == 0
    {
        return None;
    }
    let covers = covers(file, text, changed);
    let test = |name: &String| TestAdded {
        name: words::line(name, 200),
        kind: cases::kind(&file.path),
        covers: covers.clone(),
    };
    Some(TestFileChange {
        path: file.path.clone(),
        action: if file.old.is_some() { WriteAction::Modified } else { WriteAction::Created },
        tests_added: added.iter().map(test).collect(),
    })
}

/// The functions that the change wrote and the file names, or the file they lie in; empty when it refers to none.
fn covers(file: &Touched, text: &str, changed: &Changed) -> String {
    let sources: Vec<&Touched> =
        changed.of_class(Class::Source).filter(|source| refs::refers(&file.path, text, &source.path)).collect();
    let mut named: Vec<String> = sources.iter().flat_map(|source| source.symbols()).collect();
    named.retain(|name| !places(text, name, false).is_empty());
    named.truncate(NAMED);
    match sources.first() {
        Some(_) if !named.is_empty() => named.join(", "),
        Some(source) => source.path.clone(),
        None => String::new(),
    }
}

/// Tests that were there before and have other lines now.
pub(super) fn modified(file: &Touched) -> u64 {
    let (Some(old), Some(new)) = (&file.old, &file.new) else { return 0 };
    let before = cases::names(&file.path, old);
    let tests = cases::placed(&file.path, new);
    let mut hit: BTreeSet<&str> = BTreeSet::new();
    for stretch in stretches(old, new) {
        let lines = stretch.line..stretch.line + (stretch.added.len() as u32).max(1);
        for line in lines {
            let of = tests.iter().rev().find(|(_, start)| *start <= line);
            // What follows the last test may be the gap before a new one.
            let text = new.lines().nth(line as usize - 1).unwrap_or_default();
            hit.extend(of.map(|(name, _)| name.as_str()).filter(|_| !text.trim().is_empty()));
        }
    }
    hit.iter().filter(|name| before.iter().any(|old| old == *name)).count() as u64
}

/// The test files as a whole (S1.14): what they hold, and that nothing of it was run or measured. None without any.
pub(super) fn suite(
    number: u64,
    timestamp: String,
    install: &str,
    files: &[Touched],
    notes: &[String],
) -> Option<TestSuite> {
    let files: Vec<(&Touched, &String)> = files
        .iter()
        .filter_map(|file| Some((file, file.new.as_ref()?)))
        .filter(|(file, text)| survey::is_test(&file.path) && !cases::names(&file.path, text).is_empty())
        .collect();
    let (first, text) = files.first()?;
    let mut limits = vec![NOT_RUN.to_owned(), format!("coverage: {NOT_MEASURED}")];
    limits.extend(notes.iter().cloned());
    let tests: Vec<TestFile> = files.iter().map(|(file, text)| test_file(&file.path, text)).collect();
    Some(TestSuite {
        task_id: format!("ISSUE-{number}"),
        language: survey::language(&first.path).unwrap_or_default().to_owned(),
        test_framework: cases::framework(&first.path, text).to_owned(),
        timestamp,
        coverage: None,
        summary: SuiteSummary {
            total_tests: tests.iter().map(|file| file.test_count).sum(),
            ..SuiteSummary::default()
        },
        test_files: tests,
        metadata: SuiteMetadata {
            required_setup: Some(install).filter(|install| !install.is_empty()).map(|install| vec![install.to_owned()]),
            known_limitations: Some(limits),
            ..SuiteMetadata::default()
        },
    })
}

fn test_file(path: &str, text: &str) -> TestFile {
    let names = cases::names(path, text);
    let n = names.len() as u64;
    let mut categories = TestCategories::default();
    match cases::kind(path) {
        TestKind::Unit => categories.unit_tests = n,
        TestKind::Integration | TestKind::E2e => categories.integration_tests = n,
    }
    TestFile {
        path: path.to_owned(),
        content: text.to_owned(),
        test_count: n,
        test_names: names,
        coverage: None,
        categories,
    }
}
