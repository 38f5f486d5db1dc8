//! Two versions of a file to the lines that differ: libgit2's C code reads them here, and nowhere else.
//!
//! Whoever compares tells only which lines are kept, added and removed. The lines themselves are ours, and that nothing else differs
//! is looked at: a worker that was taken over can make a difference look larger than it is, but hide no line of it.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use git2::{DiffOptions, Patch};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::git;
use crate::domain::LineKind;
use crate::stdx::workers::{self, Failure, Here};

const NAME: &str = "workspace.compare";

/// Why there are no hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotCompared {
    TooManyLines,
    /// libgit2 says no.
    Refused,
    NoAnswer(Failure),
}

impl fmt::Display for NotCompared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyLines => f.write_str("too many changed lines"),
            Self::Refused => f.write_str("its two versions cannot be compared"),
            Self::NoAnswer(failure) => f.write_str(&failure.of("the comparison")),
        }
    }
}

/// What was compared, and where it differs.
pub(super) struct Compared<'t> {
    old: Vec<&'t [u8]>,
    new: Vec<&'t [u8]>,
    hunks: Vec<Hunk>,
}

/// As git counts: a side without lines starts at the line before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hunk {
    pub(super) old_start: u32,
    pub(super) old_lines: u32,
    pub(super) new_start: u32,
    pub(super) new_lines: u32,
    /// Of each line ` `, `+` or `-`.
    lines: String,
}

/// One line of a hunk, with its ending.
pub(super) struct Line<'t> {
    pub(super) kind: LineKind,
    /// 1-based.
    pub(super) old: Option<u32>,
    pub(super) new: Option<u32>,
    pub(super) content: &'t [u8],
}

#[derive(Serialize, Deserialize)]
struct Question<'a> {
    old: Side<'a>,
    new: Side<'a>,
    most: usize,
}

/// A file's bytes in JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Side<'a> {
    Text(Cow<'a, str>),
    Base64(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Hunks(Vec<Hunk>),
    TooManyLines,
    Refused,
}

/// The hunks between two versions, with three lines of context, as git and GitHub show them.
///
/// # Errors
/// They hold more than `most` lines, or nobody could compare.
pub(super) fn compare<'t>(old: &'t [u8], new: &'t [u8], most: usize) -> Result<Compared<'t>, NotCompared> {
    let lines = |text: &'t [u8]| -> Vec<&'t [u8]> { text.split_inclusive(|byte| *byte == b'\n').collect() };
    let (old_lines, new_lines) = (lines(old), lines(new));
    let question = Question { old: Side::of(old), new: Side::of(new), most };
    let holds = |answer: &Answer| match answer {
        Answer::Hunks(hunks) => are_the_difference(hunks, &old_lines, &new_lines),
        Answer::TooManyLines => old_lines.len().saturating_add(new_lines.len()) > most,
        Answer::Refused => true,
    };
    let answer = workers::ask(NAME, &question, |here| by_libgit2(here, old, new, most), holds);
    match answer.map_err(NotCompared::NoAnswer)? {
        Answer::Hunks(hunks) => Ok(Compared { old: old_lines, new: new_lines, hunks }),
        Answer::TooManyLines => Err(NotCompared::TooManyLines),
        Answer::Refused => Err(NotCompared::Refused),
    }
}

/// An answer of this room's, as a worker; none to a question of another.
pub fn answer(here: &Here, name: &str, question: &RawValue) -> Option<Vec<u8>> {
    if name != NAME {
        return None;
    }
    let question: Question<'_> = serde_json::from_str(question.get()).ok()?;
    let (old, new) = (question.old.bytes()?, question.new.bytes()?);
    serde_json::to_vec(&by_libgit2(here, &old, &new, question.most)).ok()
}

/// Has libgit2 set itself up, so that it needs nothing of the system later.
///
/// # Errors
/// It cannot be set up.
pub fn prepare(here: &Here) -> Result<(), super::Error> {
    git::tame()?;
    by_libgit2(here, b"a\n", b"b\n", usize::MAX);
    Ok(())
}

impl<'a> Side<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        std::str::from_utf8(bytes)
            .map_or_else(|_| Self::Base64(STANDARD.encode(bytes)), |text| Self::Text(Cow::Borrowed(text)))
    }

    fn bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.into_owned().into_bytes()),
            Self::Base64(text) => STANDARD.decode(text).ok(),
        }
    }
}

fn by_libgit2(_: &Here, old: &[u8], new: &[u8], most: usize) -> Answer {
    let compared = || -> Result<Answer, git2::Error> {
        git::tame().map_err(|error| git2::Error::from_str(&error.to_string()))?;
        let mut options = DiffOptions::new();
        options.context_lines(3).interhunk_lines(0).indent_heuristic(true).force_text(true);
        #[expect(clippy::disallowed_methods, reason = "here alone, and only for whom has a `Here`")]
        let patch = Patch::from_buffers(old, None, new, None, Some(&mut options))?;
        let mut hunks = Vec::with_capacity(patch.num_hunks());
        let mut total = 0;
        for index in 0..patch.num_hunks() {
            let (header, count) = patch.hunk(index)?;
            total += count;
            if total > most {
                return Ok(Answer::TooManyLines);
            }
            let mut lines = String::with_capacity(count);
            for at in 0..count {
                let origin = patch.line_in_hunk(index, at)?.origin();
                // The others are notes on a missing final line ending.
                lines.extend(Some(origin).filter(|origin| matches!(origin, ' ' | '+' | '-')));
            }
            hunks.push(Hunk {
                old_start: header.old_start(),
                old_lines: header.old_lines(),
                new_start: header.new_start(),
                new_lines: header.new_lines(),
                lines,
            });
        }
        Ok(Answer::Hunks(hunks))
    };
    compared().unwrap_or(Answer::Refused)
}

/// Whether these hunks, applied to the old lines, give the new ones.
fn are_the_difference(hunks: &[Hunk], old: &[&[u8]], new: &[&[u8]]) -> bool {
    let (mut left, mut right) = (old, new);
    for hunk in hunks {
        let (Some(from), Some(to)) = (before(hunk.old_start, hunk.old_lines), before(hunk.new_start, hunk.new_lines))
        else {
            return false;
        };
        let Some(between) = from.checked_sub(old.len() - left.len()) else { return false };
        if to.checked_sub(new.len() - right.len()) != Some(between) || !take_equal(&mut left, &mut right, between) {
            return false;
        }
        let (left_before, right_before) = (left.len(), right.len());
        for origin in hunk.lines.chars() {
            let fits = match origin {
                ' ' => take_equal(&mut left, &mut right, 1),
                '+' => take(&mut right, 1).is_some(),
                '-' => take(&mut left, 1).is_some(),
                _ => false,
            };
            if !fits {
                return false;
            }
        }
        let taken = (left_before - left.len(), right_before - right.len());
        if taken != (hunk.old_lines as usize, hunk.new_lines as usize) {
            return false;
        }
    }
    left == right
}

/// Lines before a hunk.
fn before(start: u32, lines: u32) -> Option<usize> {
    if lines == 0 { Some(start as usize) } else { (start as usize).checked_sub(1) }
}

fn take<'a, 't>(lines: &mut &'a [&'t [u8]], count: usize) -> Option<&'a [&'t [u8]]> {
    let (taken, rest) = lines.split_at_checked(count)?;
    *lines = rest;
    Some(taken)
}

fn take_equal(left: &mut &[&[u8]], right: &mut &[&[u8]], count: usize) -> bool {
    take(left, count).is_some_and(|taken| take(right, count) == Some(taken))
}

impl Compared<'_> {
    /// Each hunk with its lines.
    pub(super) fn hunks(&self) -> impl Iterator<Item = (&Hunk, impl Iterator<Item = Line<'_>>)> {
        self.hunks.iter().map(|hunk| (hunk, self.lines(hunk)))
    }

    fn lines(&self, hunk: &Hunk) -> impl Iterator<Item = Line<'_>> {
        let mut old = before(hunk.old_start, hunk.old_lines).unwrap_or(0);
        let mut new = before(hunk.new_start, hunk.new_lines).unwrap_or(0);
        hunk.lines.chars().filter_map(move |origin| {
            let kind = match origin {
                '+' => LineKind::Added,
                '-' => LineKind::Removed,
                _ => LineKind::Context,
            };
            let content = if kind == LineKind::Removed { self.old.get(old) } else { self.new.get(new) };
            old += usize::from(kind != LineKind::Added);
            new += usize::from(kind != LineKind::Removed);
            let number = |at: usize| u32::try_from(at).ok();
            Some(Line {
                kind,
                old: number(old).filter(|_| kind != LineKind::Added),
                new: number(new).filter(|_| kind != LineKind::Removed),
                content: content?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stdx::workers::told::with_answer;

    const OLD: &[u8] = b"a\nb\nc\n";
    const NEW: &[u8] = b"a\nB\nc\nd";

    #[track_caller]
    fn check(answer: &str, want: Result<usize, &str>) {
        let got = with_answer(answer, || compare(OLD, NEW, 100).map(|compared| compared.hunks().count()));
        assert_eq!(got.map_err(|why| why.to_string()), want.map_err(str::to_owned), "{answer}");
    }

    #[test]
    fn a_comparison_that_hides_a_line_is_no_answer() {
        let hunk = |old: (u32, u32), new: (u32, u32), lines: &str| {
            let ((old_start, old_lines), (new_start, new_lines)) = (old, new);
            serde_json::to_string(&Answer::Hunks(vec![Hunk {
                old_start,
                old_lines,
                new_start,
                new_lines,
                lines: lines.to_owned(),
            }]))
            .unwrap()
        };
        let lie = Err("the comparison answered what cannot be");
        check(&hunk((1, 3), (1, 4), " -+ +"), Ok(1));
        // Larger than it need be, and right.
        check(&hunk((1, 3), (1, 4), "---++++"), Ok(1));
        check(&hunk((2, 1), (2, 1), "-+"), lie);
        check(&hunk((1, 3), (1, 4), "   +"), lie);
        check(&hunk((1, 3), (1, 3), " -+ +"), lie);
        check(&hunk((0, 3), (1, 4), " -+ +"), lie);
        check(&hunk((4_000_000_000, 0), (4_000_000_000, 0), ""), lie);
        check(&hunk((1, 3), (1, 4), " -+ +?"), lie);
        check(r#"{"hunks":[]}"#, lie);
        check(r#""too_many_lines""#, lie);
        check("no JSON", lie);
        check(r#""refused""#, Err("its two versions cannot be compared"));
    }
}
