//! Unified diffs as text: read, applied, written. No I/O, no git repository.
//!
//! What is read was written by strangers: it is counted and capped, and an error names the line that is wrong.
//! Paths are given as the diff has them; `Tree::with` is what refuses those that lead elsewhere.

mod apply;
mod parse;
mod write;

pub use apply::apply;
pub use parse::parse;
pub use write::diff;

use crate::domain::LineKind;
use crate::stdx::text::binary_size;

/// Bytes of a diff that is read.
pub const MOST_BYTES: usize = 4 << 20;
/// Files of a diff that is read.
pub const MOST_FILES: usize = 3_000;

/// What a diff says about one file. A diff of several commits may name a file more than once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilePatch {
    /// `/`-separated, without the `a/`. None: the file is new.
    pub old_path: Option<String>,
    /// `/`-separated, without the `b/`. None: the file is deleted.
    pub new_path: Option<String>,
    /// Git's mode of the old file (`0o100644`, `0o120000` for a link …), as far as the diff tells.
    pub old_mode: Option<u32>,
    /// The same of the new file.
    pub new_mode: Option<u32>,
    /// The old file stays: it was copied, not renamed.
    pub copy: bool,
    /// The diff only says that the files differ, or holds bytes that are not read here.
    pub binary: bool,
    /// In order of line. None for a change of mode, a bare rename or an empty file.
    pub hunks: Vec<Hunk>,
}

/// Lines are 1-based; a side without lines starts at the line before, or at 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub kind: LineKind,
    /// With its line ending: `\n`, `\r\n`, or none at the end of a file that has no final one.
    pub text: String,
}

/// Why a diff cannot be read or does not fit. Paths and numbers only, never the file's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the diff is larger than {}", binary_size(MOST_BYTES as u64))]
    TooLarge,
    #[error("the diff changes more than {MOST_FILES} files")]
    TooManyFiles,
    #[error("line {line} of the diff: {why}")]
    Malformed { line: usize, why: &'static str },
    #[error("`{path}`: the diff holds no text, since the file is binary")]
    Binary { path: String },
    #[error("`{path}`: the file that the diff creates is there already")]
    Exists { path: String },
    #[error("`{path}`: the diff deletes the file, but not all of its lines")]
    NotAll { path: String },
    #[error("`{path}`: what hunk {hunk} changes, at line {line}, is not in the file")]
    NotFound { path: String, hunk: usize, line: u32 },
    #[error("`{path}`: hunk {hunk}, meant for line {line}, fits several places of the file")]
    Ambiguous { path: String, hunk: usize, line: u32 },
    #[error("`{path}`: hunk {hunk} only adds lines, and none around them tells where they belong")]
    NoContext { path: String, hunk: usize },
    #[error("`{path}`: too many hunks are not at their lines")]
    TooScattered { path: String },
}

impl FilePatch {
    /// The path after the change; of a deleted file, before it.
    pub fn path(&self) -> &str {
        self.new_path.as_deref().or(self.old_path.as_deref()).unwrap_or_default()
    }

    /// Lines added and lines removed.
    pub fn count(&self) -> (usize, usize) {
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.fold((0, 0), |(added, removed), line| match line.kind {
            LineKind::Added => (added + 1, removed),
            LineKind::Removed => (added, removed + 1),
            LineKind::Context => (added, removed),
        })
    }
}

/// Lines with their endings. Only `\n` ends a line, as in git.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests;
