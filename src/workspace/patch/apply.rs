//! One file's hunks onto its text: where their lines stand, or nowhere.

use super::{Error, FilePatch, Hunk, lines};
use crate::domain::LineKind;

/// Lines looked at for hunks that are not where they say. A diff of a thousand such is not a diff of this file.
const MOST_SEARCHED: usize = 20_000_000;

/// The text after the change. An old side that does not exist is the empty text.
///
/// Every line that a hunk keeps or removes has to be there, one after the other. They are looked for at the line the
/// hunk names, moved as far as the hunk above was; else there has to be exactly one other place for them, after that hunk.
/// Where only line endings differ (the diff went through a mail or a form, the note on the final newline is missing),
/// the file's own are kept and added lines take those of the line above them.
///
/// # Errors
/// When a hunk fits no place, or several; when the file is binary, or created where one is.
pub fn apply(old: &str, patch: &FilePatch) -> Result<String, Error> {
    let path = || patch.path().to_owned();
    if patch.binary {
        return Err(Error::Binary { path: path() });
    }
    if patch.old_path.is_none() && !old.is_empty() {
        return Err(Error::Exists { path: path() });
    }
    if patch.new_path.is_none() && patch.hunks.is_empty() {
        return Ok(String::new());
    }
    let mut work = Work { path: patch.path(), old: lines(old), at: 0, offset: 0, left: MOST_SEARCHED, out: Vec::new() };
    for (index, hunk) in patch.hunks.iter().enumerate() {
        work.hunk(index + 1, hunk)?;
    }
    let new = work.finish();
    if patch.new_path.is_none() && !new.is_empty() {
        return Err(Error::NotAll { path: path() });
    }
    Ok(new)
}

struct Work<'a> {
    path: &'a str,
    old: Vec<&'a str>,
    /// Old lines that are settled.
    at: usize,
    /// How far the hunk above stood from its line.
    offset: i64,
    left: usize,
    /// Lines of the new text, each with its ending.
    out: Vec<String>,
}

/// Whether line endings count.
#[derive(Clone, Copy)]
enum Match {
    Exact,
    Loose,
}

impl Match {
    fn same(self, one: &str, two: &str) -> bool {
        match self {
            Self::Exact => one == two,
            Self::Loose => split(one).0 == split(two).0,
        }
    }
}

impl Work<'_> {
    fn hunk(&mut self, number: usize, hunk: &Hunk) -> Result<(), Error> {
        let wanted: Vec<&str> =
            hunk.lines.iter().filter(|l| l.kind != LineKind::Added).map(|l| l.text.as_str()).collect();
        if wanted.is_empty() {
            if !self.old.is_empty() || !self.out.is_empty() {
                return Err(Error::NoContext { path: self.path.to_owned(), hunk: number });
            }
            self.out.extend(hunk.lines.iter().map(|line| line.text.clone()));
            return Ok(());
        }
        let place = self.place(number, hunk, &wanted)?;
        self.out.extend(self.old[self.at..place].iter().map(|line| (*line).to_owned()));
        self.offset = signed(place) - (i64::from(hunk.old_start) - 1);
        self.at = place;
        if is_same(&self.old[place..], &wanted, Match::Exact) {
            self.take_exact(hunk);
        } else {
            self.take_loose(hunk);
        }
        Ok(())
    }

    /// Where the lines stand. Places that differ by their line endings alone are two places.
    fn place(&mut self, number: usize, hunk: &Hunk, wanted: &[&str]) -> Result<usize, Error> {
        let path = || self.path.to_owned();
        let expected = usize::try_from(i64::from(hunk.old_start) - 1 + self.offset).ok();
        if let Some(expected) = expected.filter(|expected| *expected >= self.at) {
            let there = self.old.get(expected..).and_then(|rest| rest.get(..wanted.len()));
            if there.is_some_and(|there| is_same(there, wanted, Match::Loose)) {
                return Ok(expected);
            }
        }
        let rest = &self.old[self.at..];
        self.left =
            self.left.checked_sub(rest.len() + wanted.len()).ok_or_else(|| Error::TooScattered { path: path() })?;
        match find(rest, wanted) {
            (None, _) => Err(Error::NotFound { path: path(), hunk: number, line: hunk.old_start }),
            (Some(place), None) => Ok(self.at + place),
            (Some(_), Some(_)) => Err(Error::Ambiguous { path: path(), hunk: number, line: hunk.old_start }),
        }
    }

    fn take_exact(&mut self, hunk: &Hunk) {
        for line in &hunk.lines {
            if line.kind != LineKind::Removed {
                self.out.push(line.text.clone());
            }
            self.at += usize::from(line.kind != LineKind::Added);
        }
    }

    fn take_loose(&mut self, hunk: &Hunk) {
        let has_final = self.old.last().is_none_or(|line| line.ends_with('\n'));
        let mut ending = self.ending_near(self.at);
        for line in &hunk.lines {
            if line.kind != LineKind::Added {
                let own = split(self.old[self.at]).1;
                ending = if own.is_empty() { ending } else { own };
            }
            match line.kind {
                LineKind::Context => self.out.push(self.old[self.at].to_owned()),
                LineKind::Added if !line.text.ends_with('\n') => self.out.push(line.text.clone()),
                LineKind::Added => self.out.push(format!("{}{ending}", split(&line.text).0)),
                LineKind::Removed => {}
            }
            self.at += usize::from(line.kind != LineKind::Added);
        }
        let notes = hunk.lines.iter().any(|line| !line.text.ends_with('\n'));
        let adds_last =
            hunk.lines.iter().rfind(|l| l.kind != LineKind::Removed).is_some_and(|l| l.kind == LineKind::Added);
        // The last line had no ending and nobody said that it should get one.
        if self.at == self.old.len()
            && !has_final
            && adds_last
            && !notes
            && let Some(last) = self.out.last_mut()
        {
            last.truncate(split(last).0.len());
        }
    }

    /// The line ending in use around a line.
    fn ending_near(&self, at: usize) -> &'static str {
        let before = self.old[..at].iter().rev();
        let near = before.chain(&self.old[at..]).map(|line| split(line).1).find(|ending| !ending.is_empty());
        near.unwrap_or("\n")
    }

    fn finish(mut self) -> String {
        let ending = self.ending_near(self.at);
        self.out.extend(self.old[self.at..].iter().map(|line| (*line).to_owned()));
        let most = self.out.len();
        let mut text = String::with_capacity(self.out.iter().map(String::len).sum());
        for (index, line) in self.out.iter().enumerate() {
            text.push_str(line);
            // A line that was the last and is not any more.
            if index + 1 < most && !line.ends_with('\n') {
                text.push_str(ending);
            }
        }
        text
    }
}

/// A line and its ending.
fn split(line: &str) -> (&str, &'static str) {
    match line.strip_suffix('\n') {
        None => (line.strip_suffix('\r').unwrap_or(line), ""),
        Some(rest) => rest.strip_suffix('\r').map_or((rest, "\n"), |rest| (rest, "\r\n")),
    }
}

fn is_same(one: &[&str], two: &[&str], how: Match) -> bool {
    one.iter().zip(two).all(|(one, two)| how.same(one, two))
}

/// The first two places, by Knuth, Morris and Pratt: equal lines by the thousand cost no more than others.
fn find(text: &[&str], wanted: &[&str]) -> (Option<usize>, Option<usize>) {
    if wanted.len() > text.len() {
        return (None, None);
    }
    let how = Match::Loose;
    let mut border = vec![0; wanted.len()];
    let mut length = 0;
    for index in 1..wanted.len() {
        while length > 0 && !how.same(wanted[index], wanted[length]) {
            length = border[length - 1];
        }
        length += usize::from(how.same(wanted[index], wanted[length]));
        border[index] = length;
    }
    let (mut first, mut length) = (None, 0);
    for (index, line) in text.iter().enumerate() {
        while length > 0 && !how.same(line, wanted[length]) {
            length = border[length - 1];
        }
        length += usize::from(how.same(line, wanted[length]));
        if length == wanted.len() {
            let place = index + 1 - length;
            if first.is_some() {
                return (first, Some(place));
            }
            first = Some(place);
            length = border[length - 1];
        }
    }
    (first, None)
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
