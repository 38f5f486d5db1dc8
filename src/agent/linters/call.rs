//! The commands that linters are asked by, what they work on, and what they leave.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::table::{Linter, Over, Way};
use crate::agent::trial::{Error, Furnished};
use crate::analysis::sarif::MAX_BYTES;
use crate::sandbox::{Entry, Ran, Workplace};
use crate::stdx::nofollow::Found;
use crate::stdx::text::{truncate_chars, visible_line};

/// Names of files that one call is given, and bytes of them: a call has to fit into what the system passes on.
const MAX_NAMED: usize = 200;
const MAX_NAMES: usize = 24 << 10;
/// Where an answer is written, at the root of the work tree.
pub(super) const ANSWER: &str = ".octoswarm-linter-answer";

/// The commands of a way over these files.
pub(super) fn calls(
    linter: &Linter,
    way: &Way,
    settings: &BTreeMap<String, String>,
    dir: &str,
    files: &[String],
) -> Vec<Vec<String>> {
    let mut command = Vec::new();
    for word in way.command {
        if *word == "{config}" {
            for config in configs(linter, settings) {
                command.extend(["--config".to_owned(), config]);
            }
        } else {
            command.push((*word).to_owned());
        }
    }
    if way.over == Over::Tree {
        return vec![command];
    }
    let mut calls = Vec::new();
    let (mut call, mut bytes) = (command.clone(), 0);
    for path in files {
        let path = path.strip_prefix(dir).map_or(path.as_str(), |rest| rest.trim_start_matches('/'));
        if call.len() - command.len() >= MAX_NAMED || bytes + path.len() > MAX_NAMES {
            calls.push(std::mem::replace(&mut call, command.clone()));
            bytes = 0;
        }
        bytes += path.len() + 1;
        call.push(path.to_owned());
    }
    calls.push(call);
    calls
}

/// Settings at the root: files by name, folders as a whole.
fn configs(linter: &Linter, settings: &BTreeMap<String, String>) -> Vec<String> {
    let shown = linter.shown_by.iter().map(|(glob, _)| glob.trim_end_matches("/**"));
    let is_there = |name: &&str| {
        settings.keys().any(|path| path == name || path.strip_prefix(name).is_some_and(|rest| rest.starts_with('/')))
    };
    shown.filter(is_there).map(str::to_owned).collect()
}

/// Writes texts into the work tree: not where others wait.
pub(super) async fn put(at: &Furnished, entries: Vec<(String, Option<String>)>) -> Result<(), Error> {
    let place = Arc::clone(&at.place);
    let write = move || -> std::io::Result<()> {
        for (path, text) in &entries {
            match text {
                Some(text) => place.put(path, Entry::File { bytes: text.as_bytes(), executable: false })?,
                None => place.remove(path)?,
            }
        }
        Ok(())
    };
    let written = tokio::task::spawn_blocking(write).await.map_err(std::io::Error::other);
    written.and_then(|written| written).map_err(Error::Disk)
}

pub(super) async fn said(at: &Furnished) -> Result<Found, Error> {
    let place: Arc<Workplace> = Arc::clone(&at.place);
    let read = tokio::task::spawn_blocking(move || place.read(ANSWER, MAX_BYTES as u64)).await;
    read.map_err(std::io::Error::other).and_then(|read| read).map_err(Error::Disk)
}

/// Its exit code, and the last of its words that says something.
pub(super) fn broke(code: i32, ran: &Ran) -> String {
    let lines = ran.output.text.open().lines().map(str::trim);
    let told: Vec<&str> = lines.filter(|line| line.chars().any(char::is_alphabetic)).collect();
    let error = told.iter().find(|line| line.to_ascii_lowercase().contains("error")).or(told.last());
    match error {
        Some(line) => format!("it ended with exit code {code}: {}", words(line)),
        None => format!("it ended with exit code {code}"),
    }
}

/// A stranger's words within a sentence of ours.
pub(super) fn words(text: &str) -> String {
    truncate_chars(visible_line(text.trim()).trim_end_matches('.'), 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_go_into_as_many_calls_as_they_need() {
        let linter = Linter::named("shellcheck").unwrap();
        let files: Vec<String> = (0..450).map(|n| format!("bin/{n}.sh")).collect();
        let calls = calls(linter, &linter.ways[0], &BTreeMap::new(), "", &files);
        assert_eq!(calls.len(), 3);
        assert!(calls.iter().all(|call| call[..3] == ["shellcheck", "--format=json1", "--"]));
        assert_eq!(calls.iter().map(|call| call.len() - 3).sum::<usize>(), 450);
    }

    #[test]
    fn rules_of_the_repository_are_named_by_file_or_folder() {
        let linter = Linter::named("semgrep").unwrap();
        let settings = [".semgrep.yml", ".semgrep/a/b.yml", ".semgrepignore"];
        let settings = settings.map(|path| (path.to_owned(), String::new())).into_iter().collect();
        let calls = calls(linter, &linter.ways[0], &settings, "", &[]);
        assert!(calls[0].ends_with(&["--config", ".semgrep.yml", "--config", ".semgrep", "."].map(str::to_owned)));
    }
}
