//! The change of a pull request as GitHub shows it: three-dot, three lines of context, renames found.

use std::collections::BTreeMap;

use git2::{Delta, DiffFindOptions, DiffOptions, Oid, Patch, Repository};

use super::refusal::Refusal;

#[derive(Debug, Clone)]
pub struct FileChange {
    pub path: String,
    pub previous: Option<String>,
    /// GitHub's word: `added`, `removed`, `modified`, `renamed`.
    pub status: &'static str,
    pub additions: usize,
    pub deletions: usize,
    pub blob: String,
    pub binary: bool,
    pub hunks: Vec<Hunk>,
}

#[derive(Debug, Clone)]
pub struct Hunk {
    pub header: String,
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone)]
pub struct Line {
    /// `+`, `-` or a space.
    pub origin: char,
    pub old: Option<u32>,
    pub new: Option<u32>,
    pub text: String,
}

/// Where a comment wants to stand.
#[derive(Debug, Clone, Copy)]
pub struct Anchor<'a> {
    pub path: &'a str,
    pub side: &'a str,
    pub line: u32,
    pub start: Option<(&'a str, u32)>,
}

impl FileChange {
    pub fn patch(&self) -> Option<String> {
        if self.binary || self.hunks.is_empty() {
            return None;
        }
        let hunks: Vec<String> = self.hunks.iter().map(|hunk| hunk.text(hunk.lines.len())).collect();
        Some(hunks.join("\n"))
    }

    /// Whether the change wrote every line of the range.
    pub fn wrote(&self, start: u32, end: u32) -> bool {
        (start..=end)
            .all(|line| self.hunks.iter().flat_map(|hunk| &hunk.lines).any(|l| l.origin == '+' && l.new == Some(line)))
    }
}

impl Hunk {
    /// The header and the first `count` lines.
    pub fn text(&self, count: usize) -> String {
        let mut text = self.header.clone();
        for line in self.lines.iter().take(count) {
            text.push('\n');
            text.push(line.origin);
            text.push_str(&line.text);
        }
        text
    }

    fn position(&self, side: &str, line: u32) -> Option<usize> {
        self.lines.iter().position(|l| match side {
            "LEFT" => l.old == Some(line) && l.origin != '+',
            _ => l.new == Some(line) && l.origin != '-',
        })
    }
}

/// The change that `head` brings to `base`, from their merge base.
pub fn three_dot(git: &Repository, base: &str, head: &str) -> Result<Vec<FileChange>, git2::Error> {
    let head = Oid::from_str(head)?;
    let from = git.merge_base(Oid::from_str(base)?, head)?;
    between(git, from, head)
}

pub fn between(git: &Repository, from: Oid, to: Oid) -> Result<Vec<FileChange>, git2::Error> {
    let old = git.find_commit(from)?.tree()?;
    let new = git.find_commit(to)?.tree()?;
    let mut options = DiffOptions::new();
    options.context_lines(3);
    let mut diff = git.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))?;
    diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
    let mut files = Vec::new();
    for index in 0..diff.deltas().len() {
        let Some(delta) = diff.get_delta(index) else { continue };
        let name = |file: git2::DiffFile<'_>| {
            file.path_bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
        };
        let (status, path) = match delta.status() {
            Delta::Added => ("added", name(delta.new_file())),
            Delta::Deleted => ("removed", name(delta.old_file())),
            Delta::Renamed => ("renamed", name(delta.new_file())),
            _ => ("modified", name(delta.new_file())),
        };
        let blob = if status == "removed" { delta.old_file().id() } else { delta.new_file().id() };
        let previous = (status == "renamed").then(|| name(delta.old_file()));
        let patch = Patch::from_diff(&diff, index)?;
        let binary = diff.get_delta(index).is_some_and(|d| d.flags().is_binary());
        let hunks = patch.as_ref().map(hunks_of).transpose()?.unwrap_or_default();
        let count = |origin| hunks.iter().flat_map(|h| &h.lines).filter(|l| l.origin == origin).count();
        files.push(FileChange {
            additions: count('+'),
            deletions: count('-'),
            path,
            previous,
            status,
            blob: blob.to_string(),
            binary,
            hunks,
        });
    }
    Ok(files)
}

fn hunks_of(patch: &Patch<'_>) -> Result<Vec<Hunk>, git2::Error> {
    let mut hunks = Vec::new();
    for index in 0..patch.num_hunks() {
        let (hunk, count) = patch.hunk(index)?;
        let header = String::from_utf8_lossy(hunk.header()).trim_end().to_owned();
        let mut lines = Vec::new();
        for position in 0..count {
            let line = patch.line_in_hunk(index, position)?;
            // `<`, `>` and `=` only say that a line ending is missing at the end of the file.
            if !matches!(line.origin(), '+' | '-' | ' ') {
                continue;
            }
            let text = String::from_utf8_lossy(line.content()).trim_end_matches('\n').to_owned();
            lines.push(Line { origin: line.origin(), old: line.old_lineno(), new: line.new_lineno(), text });
        }
        hunks.push(Hunk { header, lines });
    }
    Ok(hunks)
}

/// The `diff_hunk` of a comment there, or GitHub's words for why there is no such place.
pub fn place(files: &[FileChange], anchor: Anchor<'_>) -> Result<String, Refusal> {
    let file = files
        .iter()
        .find(|file| file.path == anchor.path)
        .ok_or_else(|| Refusal::unprocessable("Pull request review thread path is invalid: it is not in the diff"))?;
    let off = || Refusal::unprocessable("Pull request review thread line must be part of the diff");
    let hunk = file.hunks.iter().find(|hunk| hunk.position(anchor.side, anchor.line).is_some()).ok_or_else(off)?;
    let end = hunk.position(anchor.side, anchor.line).ok_or_else(off)?;
    if let Some((side, line)) = anchor.start {
        if side == anchor.side && line >= anchor.line {
            return Err(Refusal::unprocessable("Pull request review thread start line must precede the end line."));
        }
        let start = hunk.position(side, line).ok_or_else(|| {
            Refusal::unprocessable("Pull request review thread start line must be part of the same hunk as the line.")
        })?;
        if start >= end {
            return Err(Refusal::unprocessable("Pull request review thread start line must precede the end line."));
        }
    }
    Ok(hunk.text(end + 1))
}

/// Where the lines of one file went between two commits: absent when the line or the file is gone.
pub fn carried(git: &Repository, from: &str, to: &str, path: &str) -> Result<Carried, git2::Error> {
    let files = between(git, Oid::from_str(from)?, Oid::from_str(to)?)?;
    let Some(file) = files.into_iter().find(|f| f.path == path || f.previous.as_deref() == Some(path)) else {
        return Ok(Carried { gone: false, hunks: Vec::new() });
    };
    Ok(Carried { gone: file.status == "removed" || file.path != path || file.binary, hunks: file.hunks })
}

#[derive(Debug)]
pub struct Carried {
    gone: bool,
    hunks: Vec<Hunk>,
}

impl Carried {
    pub fn line(&self, old: u32) -> Option<u32> {
        if self.gone {
            return None;
        }
        let mut shift = 0_i64;
        for hunk in &self.hunks {
            if let Some(line) = hunk.lines.iter().find(|line| line.old == Some(old)) {
                return if line.origin == '-' { None } else { line.new };
            }
            if hunk.lines.iter().filter_map(|line| line.old).max().is_none_or(|last| last < old) {
                for line in &hunk.lines {
                    shift += i64::from(line.origin == '+') - i64::from(line.origin == '-');
                }
            }
        }
        u32::try_from(i64::from(old) + shift).ok()
    }
}

/// The text of a ```` ```suggestion ```` block, one entry a block.
pub fn suggestions(body: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = body.lines();
    while let Some(line) = lines.next() {
        let open = line.trim_start();
        let fence: String = open.chars().take_while(|c| *c == '`' || *c == '~').collect();
        if fence.len() < 3 {
            continue;
        }
        let suggestion = open[fence.len()..].trim() == "suggestion";
        let mut text = String::new();
        for inner in lines.by_ref() {
            if inner.trim().starts_with(&fence) && inner.trim().chars().all(|c| fence.starts_with(c)) {
                break;
            }
            text.push_str(inner);
            text.push('\n');
        }
        if suggestion {
            found.push(text);
        }
    }
    found
}

/// Groups line ranges by path and names the first two that overlap.
pub fn overlap(ranges: &[(String, u32, u32)]) -> Option<String> {
    let mut by_path: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
    for (path, start, end) in ranges {
        by_path.entry(path).or_default().push((*start, *end));
    }
    for (path, mut spans) in by_path {
        spans.sort_unstable();
        if let Some(pair) = spans.windows(2).find(|pair| pair[1].0 <= pair[0].1) {
            return Some(format!("{path}: lines {}-{} and {}-{}", pair[0].0, pair[0].1, pair[1].0, pair[1].1));
        }
    }
    None
}
