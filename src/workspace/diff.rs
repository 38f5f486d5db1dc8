//! Which lines changed: two versions of each file are compared, counted, and not looked at where they are too large.

use git2::Repository;

use super::change::{Inner, is_binary};
use super::compare::{self, NotCompared};
use super::error::{Doing, Error};
use super::rename;
use super::tree::{self, Delta, Entry};
use crate::domain::{ChangeKind, DiffLine, FileDiff, Hunk, NotRead};
use crate::stdx::text::binary_size;

/// Beyond the limit of files this many more are named one by one.
const NAMED: usize = 1_000;

/// The change, file by file, in order of path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    pub files: Vec<FileDiff>,
    /// Files whose changed lines are not here, or not all, and why. A binary file, a link or a submodule is not among them: its `FileDiff` says so.
    pub not_read: Vec<NotRead>,
    /// Changed files found, with those beyond the limit.
    pub total_files: usize,
}

/// A blob as far as a diff may look at it.
enum Content {
    Bytes(Vec<u8>),
    TooLarge,
    Missing(String),
}

/// What of the limits for the whole change is not used up yet.
struct Left {
    bytes: u64,
    lines: usize,
}

pub(super) fn compute(repository: &Repository, change: &Inner) -> Result<Diff, Error> {
    let limits = &change.limits;
    let tree::Deltas { mut found, not_read } =
        tree::compare(repository, change.base_tree, change.head_tree, &change.within, limits)?;
    rename::pair(repository, &mut found, limits)?;
    let mut diff = Diff { files: Vec::new(), not_read, total_files: found.len() };
    let mut left = Left { bytes: limits.diff_bytes, lines: limits.diff_lines };
    for delta in found.iter().take(limits.files) {
        let file = one(repository, change, delta, &mut left, &mut diff.not_read)?;
        diff.files.push(file);
    }
    let beyond = found.get(limits.files..).unwrap_or_default();
    let reason = format!("the change has more than {} files", limits.files);
    diff.not_read.extend(beyond.iter().take(NAMED).map(|d| NotRead {
        path: d.path.clone(),
        reason: reason.clone(),
        left_out: false,
    }));
    if beyond.len() > NAMED {
        diff.not_read.push(NotRead { path: format!("({} more files)", beyond.len() - NAMED), reason, left_out: false });
    }
    Ok(diff)
}

fn one(
    repository: &Repository,
    change: &Inner,
    delta: &Delta,
    left: &mut Left,
    not_read: &mut Vec<NotRead>,
) -> Result<FileDiff, Error> {
    let mut file = FileDiff {
        path: delta.path.clone(),
        old_path: delta.old_path.clone(),
        kind: kind(delta),
        binary: false,
        hunks: Vec::new(),
    };
    let same_content = delta.old.map(|e| e.oid) == delta.new.map(|e| e.oid);
    let other_type = delta.old.zip(delta.new).is_some_and(|(old, new)| !old.same_type(new));
    if file.kind == ChangeKind::Submodule || same_content {
        return Ok(file);
    }
    if other_type {
        let reason = "it changed between file and symbolic link".to_owned();
        not_read.push(NotRead { path: file.path.clone(), reason, left_out: false });
        return Ok(file);
    }
    if change.attributes(repository, &delta.path)?.binary {
        file.binary = true;
        return Ok(file);
    }
    let reason = match (
        read(repository, change, delta.old, &mut left.bytes)?,
        read(repository, change, delta.new, &mut left.bytes)?,
    ) {
        (Content::Missing(reason), _) | (_, Content::Missing(reason)) => reason,
        (Content::TooLarge, _) | (_, Content::TooLarge) => {
            if left.bytes == 0 {
                format!("the change is larger than {}", binary_size(change.limits.diff_bytes))
            } else {
                format!("larger than {}", binary_size(change.limits.file_bytes))
            }
        }
        (Content::Bytes(old), Content::Bytes(new)) if is_binary(&old) || is_binary(&new) => {
            file.binary = true;
            return Ok(file);
        }
        (Content::Bytes(old), Content::Bytes(new)) => {
            match hunks(&old, &new, change.limits.file_lines.min(left.lines)) {
                Ok(Some(hunks)) => {
                    left.lines -= hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>();
                    file.hunks = hunks;
                    return Ok(file);
                }
                Err(why) => why.to_string(),
                Ok(None) if left.lines < change.limits.file_lines => {
                    format!("the change has more than {} changed lines", change.limits.diff_lines)
                }
                Ok(None) => format!("more than {} changed lines", change.limits.file_lines),
            }
        }
    };
    not_read.push(NotRead { path: file.path.clone(), reason, left_out: false });
    Ok(file)
}

fn kind(delta: &Delta) -> ChangeKind {
    match (delta.old, delta.new) {
        (old, new) if old.is_some_and(Entry::is_submodule) || new.is_some_and(Entry::is_submodule) => {
            ChangeKind::Submodule
        }
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Removed,
        _ if delta.old_path.is_some() => ChangeKind::Renamed,
        (Some(old), Some(new)) if old.oid == new.oid => ChangeKind::Mode,
        _ => ChangeKind::Modified,
    }
}

/// Asks the header for the size first: a small pack can hold a blob of many gigabytes.
fn read(repository: &Repository, change: &Inner, entry: Option<Entry>, left: &mut u64) -> Result<Content, Error> {
    let Some(entry) = entry else { return Ok(Content::Bytes(Vec::new())) };
    let Some(bytes) = change.blob_size(repository, entry.oid)? else {
        return Ok(Content::Missing(change.missing(entry.oid)));
    };
    if bytes > change.limits.file_bytes {
        return Ok(Content::TooLarge);
    }
    if bytes > *left {
        *left = 0;
        return Ok(Content::TooLarge);
    }
    *left -= bytes;
    Ok(Content::Bytes(repository.find_blob(entry.oid).doing("reading a file")?.content().to_vec()))
}

/// Hunks with three lines of context, as git and GitHub show them; nothing if they hold more than `most` lines.
fn hunks(old: &[u8], new: &[u8], most: usize) -> Result<Option<Vec<Hunk>>, NotCompared> {
    let compared = match compare::compare(old, new, most) {
        Ok(compared) => compared,
        Err(NotCompared::TooManyLines) => return Ok(None),
        Err(other) => return Err(other),
    };
    let hunks = compared.hunks().map(|(hunk, lines)| Hunk {
        old_start: hunk.old_start,
        old_lines: hunk.old_lines,
        new_start: hunk.new_start,
        new_lines: hunk.new_lines,
        lines: lines
            .map(|line| DiffLine { kind: line.kind, old: line.old, new: line.new, text: text(line.content) })
            .collect(),
    });
    Ok(Some(hunks.collect()))
}

fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    String::from_utf8_lossy(line).into_owned()
}
