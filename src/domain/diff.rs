//! The change under review: files, hunks, lines, in the shape that GitHub anchors comments on.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    Added,
    Modified,
    Removed,
    Renamed,
    /// Only the file mode differs.
    Mode,
    /// A submodule's commit changed; nothing to read.
    Submodule,
}

/// One file of the change. Lines are 1-based.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// Path on the new side (on the old side for a removed file), `/`-separated.
    pub path: String,
    /// Path on the old side when it differs.
    pub old_path: Option<String>,
    pub kind: ChangeKind,
    /// Git found NUL bytes or an attribute says so: there are no hunks.
    pub binary: bool,
    pub hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
    pub lines: Vec<DiffLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    pub kind: LineKind,
    /// Line number on the old side; absent on an added line.
    pub old: Option<u32>,
    /// Line number on the new side; absent on a removed line.
    pub new: Option<u32>,
    /// Without its line ending; bytes that are not UTF-8 replaced.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    Context,
    Added,
    Removed,
}

impl FileDiff {
    /// Whether a new-side line stands in some hunk: only there does GitHub accept a comment.
    pub fn in_hunk(&self, line: u32) -> bool {
        self.hunk_of(line).is_some()
    }

    /// Whether the change itself wrote this new-side line.
    pub fn is_added(&self, line: u32) -> bool {
        self.hunks.iter().flat_map(|hunk| &hunk.lines).any(|l| l.kind == LineKind::Added && l.new == Some(line))
    }

    /// The hunk whose new side holds the line. A comment over several lines has to stay within one.
    pub fn hunk_of(&self, line: u32) -> Option<&Hunk> {
        self.hunks.iter().find(|h| line >= h.new_start && line < h.new_start.saturating_add(h.new_lines))
    }

    /// Every new-side line in the range was written by the change, within one hunk.
    pub fn all_added(&self, start: u32, end: u32) -> bool {
        let Some(hunk) = self.hunk_of(start) else { return false };
        start <= end
            && (start..=end).all(|line| hunk.lines.iter().any(|l| l.kind == LineKind::Added && l.new == Some(line)))
    }

    /// The first line of the range that the change wrote.
    pub fn first_added(&self, start: u32, end: u32) -> Option<u32> {
        self.hunks
            .iter()
            .flat_map(|hunk| &hunk.lines)
            .filter(|l| l.kind == LineKind::Added)
            .filter_map(|l| l.new)
            .find(|line| (start..=end).contains(line))
    }
}
