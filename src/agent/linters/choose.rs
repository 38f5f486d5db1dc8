//! Which linters a change needs, and what they are given.

use std::collections::BTreeMap;
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::gather::Texts;
use super::table::{Linter, TABLE};
use crate::domain::Linters;
use crate::workspace::{self, Side, Tree};

/// Files that one linter is set up by, and bytes of them.
const MAX_SETTINGS: usize = 500;
const MAX_BYTES: usize = 4 << 20;

/// One that is to be asked.
pub(super) struct Wanted {
    pub(super) linter: &'static Linter,
    /// Paths of what it reads, on the new side.
    pub(super) files: Vec<String>,
    /// Its settings as the old side has them.
    pub(super) settings: BTreeMap<String, String>,
    /// The repository has set it up.
    pub(super) shown: bool,
    /// The repository names it, so that it is told of when it cannot be asked.
    pub(super) named: bool,
}

/// Those that the repository wants and that have something to read.
pub(super) async fn wanted(chosen: &Linters, texts: &Texts, old: &Tree) -> Result<Vec<Wanted>, workspace::Error> {
    let is_chosen = |linter: &Linter| match chosen {
        Linters::Off => false,
        Linters::Auto => !linter.runs_code,
        Linters::Named(names) => names.iter().any(|name| name == linter.name),
    };
    let reads = |linter: &'static Linter| {
        let globs = set_of(linter.reads.iter().copied());
        let files = texts.iter().filter(|(path, text)| globs.is_match(path.as_str()) || speaks(linter, path, text));
        (linter, files.map(|(path, _)| path.clone()).collect::<Vec<_>>())
    };
    let candidates = TABLE.iter().filter(|linter| is_chosen(linter)).map(reads);
    let candidates: Vec<_> = candidates.filter(|(_, files)| !files.is_empty()).collect();
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let mut paths: Vec<String> = match old.paths().await {
        Ok(paths) => paths.iter().cloned().collect(),
        // Beyond the limits nobody finds settings; nobody has to fail for that either.
        Err(workspace::Error::TooLarge { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    paths.sort();
    let named = matches!(chosen, Linters::Named(_));
    let mut wanted = Vec::new();
    for (linter, files) in candidates {
        let settings = settings(linter, &paths, old).await?;
        let shown = shown(linter, &paths, old).await?;
        if named || shown {
            wanted.push(Wanted { linter, files, settings, shown, named });
        }
    }
    Ok(wanted)
}

/// Whether the first line of a file without an ending says that this is its language.
fn speaks(linter: &Linter, path: &str, text: &Arc<str>) -> bool {
    if linter.interpreters.is_empty() || path.rsplit('/').next().unwrap_or_default().contains('.') {
        return false;
    }
    let Some(line) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else { return false };
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or_default());
    let program = words.find(|word| *word != "env" && !word.starts_with('-'));
    program.is_some_and(|program| linter.interpreters.contains(&program))
}

async fn shown(linter: &Linter, paths: &[String], old: &Tree) -> Result<bool, workspace::Error> {
    for (glob, needle) in linter.shown_by {
        let globs = set_of([*glob]);
        for path in paths.iter().filter(|path| globs.is_match(path.as_str())) {
            if needle.is_empty() {
                return Ok(true);
            }
            if let Side::Text(text) = old.read(path).await?
                && text.contains(needle)
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

async fn settings(linter: &Linter, paths: &[String], old: &Tree) -> Result<BTreeMap<String, String>, workspace::Error> {
    let globs = set_of(linter.settings.iter().copied());
    let (mut found, mut left) = (BTreeMap::new(), MAX_BYTES);
    for path in paths.iter().filter(|path| globs.is_match(path.as_str())).take(MAX_SETTINGS) {
        let Side::Text(text) = old.read(path).await? else { continue };
        let Some(rest) = left.checked_sub(text.len()) else { break };
        left = rest;
        found.insert(path.clone(), text);
    }
    Ok(found)
}

/// `*` stays within a folder. The globs are our own, and a test has tried them.
fn set_of<'g>(globs: impl IntoIterator<Item = &'g str>) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        if let Ok(glob) = GlobBuilder::new(glob).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_linter_reads_is_known_by_its_name_or_its_first_line() {
        let shellcheck = Linter::named("shellcheck").unwrap();
        for (path, text, want) in [
            ("bin/run", "#!/bin/bash\n", true),
            ("bin/run", "#!/usr/bin/env -S bash -e\n", true),
            ("bin/run", "#! /bin/sh\n", true),
            ("bin/run", "#!/usr/bin/env python3\n", false),
            ("bin/run", "echo\n", false),
            ("bin/run.py", "#!/bin/sh\n", false),
        ] {
            assert_eq!(speaks(shellcheck, path, &text.into()), want, "{path}: {text}");
        }
        let reads = |name: &str, path: &str| set_of(Linter::named(name).unwrap().reads.iter().copied()).is_match(path);
        assert!(reads("hadolint", "Dockerfile") && reads("hadolint", "a/Dockerfile.dev"));
        assert!(!reads("hadolint", "Dockerfile/notes.md") && reads("ruff", "a/b.pyi"));
    }
}
