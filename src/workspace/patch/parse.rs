//! A diff's text to file patches: git's form and the plain one, with prose around it.

use super::{Error, FilePatch, Hunk, Line, MOST_BYTES, MOST_FILES, lines};
use crate::domain::LineKind;

const NO_FILE: &str = "/dev/null";
/// What git puts before the two paths: by default, and with `diff.mnemonicPrefix`.
const PREFIXES: [(&str, &str); 6] =
    [("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/")];

/// Reads every file patch of a text. Lines that belong to none are passed over, so a text without a diff gives none.
///
/// A diff whose own header lines end in `\r\n` was sent that way: then one `\r` is dropped from every line.
///
/// # Errors
/// When a hunk does not hold what its header says, a path cannot be read, or there is too much of it.
pub fn parse(text: &str) -> Result<Vec<FilePatch>, Error> {
    if text.len() > MOST_BYTES {
        return Err(Error::TooLarge);
    }
    let mut reader = Reader { lines: lines(text), at: 0, drops_cr: None };
    let mut files: Vec<FilePatch> = Vec::new();
    while let Some(line) = reader.peek() {
        let file = if let Some(names) = line.strip_prefix("diff --git ") {
            reader.meet_header();
            let names = reader.clean(names);
            reader.at += 1;
            Some(reader.git(names)?)
        } else if reader.at_names() {
            reader.meet_header();
            let (old, new) = reader.names()?;
            let (old_path, new_path) = plain_paths(old, new);
            let mut file = FilePatch { old_path, new_path, ..FilePatch::default() };
            file.hunks = reader.hunks()?;
            Some(file)
        } else if line.starts_with("diff --cc ") || line.starts_with("diff --combined ") {
            return reader.wrong("the combined diff of a merge cannot be applied");
        } else if ranges(line).is_some() {
            return reader.wrong("a hunk without a file's name above it");
        } else {
            reader.at += 1;
            None
        };
        if let Some(file) = file {
            if files.len() == MOST_FILES {
                return Err(Error::TooManyFiles);
            }
            files.push(file);
        }
    }
    Ok(files)
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
    /// Known from the first header line on.
    drops_cr: Option<bool>,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn meet_header(&mut self) {
        let line = self.peek().unwrap_or_default();
        self.drops_cr.get_or_insert(line.ends_with("\r\n"));
    }

    /// Without its line ending, and a header line without the `\r` of a text that was sent with them.
    fn clean(&self, line: &'a str) -> &'a str {
        let line = line.strip_suffix('\n').unwrap_or(line);
        if self.drops_cr == Some(true) { line.strip_suffix('\r').unwrap_or(line) } else { line }
    }

    fn wrong<T>(&self, why: &'static str) -> Result<T, Error> {
        Err(Error::Malformed { line: self.at + 1, why })
    }

    /// `--- old` over `+++ new` over a hunk. Less than that may be prose: a rule, a list.
    fn at_names(&self) -> bool {
        let line = |ahead: usize| self.lines.get(self.at + ahead).copied().unwrap_or_default();
        line(0).starts_with("--- ") && line(1).starts_with("+++ ") && line(2).starts_with("@@ -")
    }

    /// Both names as they are written; none for `/dev/null`.
    fn names(&mut self) -> Result<(Option<String>, Option<String>), Error> {
        let mut both = [None, None];
        for name in &mut both {
            let line = self.clean(self.peek().unwrap_or_default());
            let Some(found) = name_of(&line["+++ ".len()..]) else {
                return self.wrong("the file's name cannot be read");
            };
            *name = (found != NO_FILE).then_some(found);
            self.at += 1;
        }
        match both {
            [None, None] => self.wrong("neither side is a file"),
            [old, new] => Ok((old, new)),
        }
    }

    /// All below a `diff --git` line.
    fn git(&mut self, header: &str) -> Result<FilePatch, Error> {
        let mut file = FilePatch::default();
        let (mut is_new, mut is_deleted, mut moved) = (false, false, (None, None));
        while let Some(line) = self.peek() {
            let line = self.clean(line);
            let (word, rest) =
                EXTENDED.iter().find_map(|word| line.strip_prefix(word).map(|rest| (*word, rest))).unwrap_or_default();
            match word {
                "" => break,
                "old mode " => file.old_mode = Some(self.mode(rest)?),
                "new mode " => file.new_mode = Some(self.mode(rest)?),
                "deleted file mode " => (is_deleted, file.old_mode) = (true, Some(self.mode(rest)?)),
                "new file mode " => (is_new, file.new_mode) = (true, Some(self.mode(rest)?)),
                "rename from " => moved.0 = Some(self.path(rest)?),
                "rename to " => moved.1 = Some(self.path(rest)?),
                "copy from " => (file.copy, moved.0) = (true, Some(self.path(rest)?)),
                "copy to " => (file.copy, moved.1) = (true, Some(self.path(rest)?)),
                "index " => {
                    if let Some((_, mode)) = rest.split_once(' ') {
                        let mode = Some(self.mode(mode)?);
                        file.old_mode = file.old_mode.or(mode);
                        file.new_mode = file.new_mode.or(mode);
                    }
                }
                "Binary files " | "GIT binary patch" => file.binary = true,
                _ => {}
            }
            self.at += 1;
        }
        let (old, new) = match (header_paths(header), moved) {
            (_, (Some(old), Some(new))) => (Some(old), Some(new)),
            (_, (Some(_), None) | (None, Some(_))) => return self.wrong("a rename or copy names one side only"),
            (Some(path), (None, None)) => (Some(path.clone()), Some(path)),
            (None, (None, None)) => (None, None),
        };
        (file.old_path, file.new_path) = (old.filter(|_| !is_new), new.filter(|_| !is_deleted));
        if self.at_names() {
            let (old, new) = self.names()?;
            if (is_new && old.is_some()) || (is_deleted && new.is_some()) {
                return self.wrong("a new file has an old side, or a deleted one a new side");
            }
            let agrees = |named: &Option<String>, path: &Option<String>| {
                named.as_ref().zip(path.as_ref()).is_none_or(|(named, path)| named.ends_with(path))
            };
            if !agrees(&old, &file.old_path) || !agrees(&new, &file.new_path) {
                return self.wrong("the file is named otherwise above");
            }
            // Where the first line could be read it knows better: two names show whether there are prefixes.
            let (old, new) = stripped(old, new);
            file.old_path = old.map(|named| file.old_path.take().unwrap_or(named));
            file.new_path = new.map(|named| file.new_path.take().unwrap_or(named));
            file.hunks = self.hunks()?;
        }
        if file.old_path.is_none() && file.new_path.is_none() {
            return self.wrong("the file's name cannot be read");
        }
        Ok(file)
    }

    fn mode(&self, text: &str) -> Result<u32, Error> {
        const LONGEST: usize = 6;
        let text = text.trim_end();
        match u32::from_str_radix(text, 8) {
            Ok(mode) if text.len() <= LONGEST => Ok(mode),
            _ => self.wrong("a file mode that is none"),
        }
    }

    fn path(&self, text: &str) -> Result<String, Error> {
        name_of(text).map_or_else(|| self.wrong("the file's name cannot be read"), Ok)
    }

    /// One hunk after the other, as many as there are.
    fn hunks(&mut self) -> Result<Vec<Hunk>, Error> {
        let mut hunks: Vec<Hunk> = Vec::new();
        let blank = |line: &&&str| line.trim_end().is_empty();
        while let Some(line) = self.peek().filter(|line| line.starts_with("@@ -")) {
            let Some(ranges) = ranges(self.clean(line)) else { return self.wrong("a hunk header that is none") };
            let [(old_start, old_lines), (new_start, new_lines)] = ranges;
            if hunks.last().is_some_and(|before| old_start < before.old_start.saturating_add(before.old_lines)) {
                return self.wrong("the hunk begins before the end of the one above it");
            }
            self.at += 1;
            let lines = self.body(old_lines, new_lines)?;
            hunks.push(Hunk { old_start, old_lines, new_start, new_lines, lines });
            let blanks = self.lines[self.at..].iter().take_while(blank).count();
            if self.lines.get(self.at + blanks).is_some_and(|line| line.starts_with("@@ -")) {
                self.at += blanks;
            }
        }
        let next = self.peek().unwrap_or_default();
        // What follows `-- ` is the signature of a mail.
        if next.starts_with(['+', '-']) && !next.starts_with("-- ") && !self.at_names() {
            return self.wrong("the hunk holds more lines than its header says");
        }
        Ok(hunks)
    }

    fn body(&mut self, mut old: u32, mut new: u32) -> Result<Vec<Line>, Error> {
        let mut found: Vec<Line> = Vec::new();
        loop {
            let next = self.peek();
            if next.is_some_and(|line| line.starts_with('\\')) {
                let Some(last) = found.last_mut() else { return self.wrong("a note on a line that is not there") };
                // The `\r` before it, if any, is the line's own.
                last.text.truncate(last.text.strip_suffix('\n').unwrap_or(&last.text).len());
                self.at += 1;
                continue;
            }
            if (old, new) == (0, 0) {
                return Ok(found);
            }
            let Some(line) = next else { return self.wrong("the hunk holds fewer lines than its header says") };
            let (kind, text) = match line.as_bytes().first() {
                Some(b'+') => (LineKind::Added, &line[1..]),
                Some(b'-') => (LineKind::Removed, &line[1..]),
                Some(b' ') => (LineKind::Context, &line[1..]),
                // An empty line whose one space was trimmed away.
                Some(b'\n' | b'\r') if line.trim_end().is_empty() => (LineKind::Context, line),
                _ => return self.wrong("the hunk holds fewer lines than its header says"),
            };
            let (takes_old, takes_new) = match kind {
                LineKind::Context => (1, 1),
                LineKind::Added => (0, 1),
                LineKind::Removed => (1, 0),
            };
            let (Some(left_old), Some(left_new)) = (old.checked_sub(takes_old), new.checked_sub(takes_new)) else {
                return self.wrong("the hunk's lines are not as many on each side as its header says");
            };
            (old, new) = (left_old, left_new);
            let body = self.clean(text);
            // The text itself may end without a line ending; the line it shows has one unless a note denies it.
            found.push(Line { kind, text: format!("{body}\n") });
            self.at += 1;
        }
    }
}

/// The lines that may stand between `diff --git` and `---`.
const EXTENDED: [&str; 13] = [
    "old mode ",
    "new mode ",
    "deleted file mode ",
    "new file mode ",
    "rename from ",
    "rename to ",
    "copy from ",
    "copy to ",
    "similarity index ",
    "dissimilarity index ",
    "index ",
    "Binary files ",
    "GIT binary patch",
];

/// `@@ -1,2 +3,4 @@ anything`; a count of one may be left out.
fn ranges(line: &str) -> Option<[(u32, u32); 2]> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let range = |text: &str| match text.split_once(',') {
        Some((start, count)) => Some((number(start)?, number(count)?)),
        None => Some((number(text)?, 1)),
    };
    Some([range(old)?, range(new)?])
}

/// A name up to the tab before a time; quoted ones as C quotes.
fn name_of(text: &str) -> Option<String> {
    if text.starts_with('"') {
        return unquote(text).map(|(name, _)| name);
    }
    let name = text.split('\t').next().unwrap_or_default();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The name, and what follows its closing quote.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let mut rest = text.strip_prefix('"')?.as_bytes();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => break,
            b'\\' => {
                let (&code, after) = rest.split_first()?;
                rest = after;
                bytes.push(match code {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => code,
                    b'0'..=b'3' => {
                        let digits = [code, *rest.first()?, *rest.get(1)?];
                        rest = &rest[2..];
                        u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()?
                    }
                    _ => return None,
                });
            }
            byte => bytes.push(byte),
        }
    }
    let rest = &text[text.len() - rest.len()..];
    Some((String::from_utf8(bytes).ok()?, rest))
}

/// The one path of `diff --git a/path b/path`. Without a rename both are the same, so the middle is where they part.
fn header_paths(header: &str) -> Option<String> {
    let (old, new) = if header.starts_with('"') {
        let (old, rest) = unquote(header)?;
        (old, name_of(rest.strip_prefix(' ')?)?)
    } else if header.len() % 2 == 1 && header.as_bytes()[header.len() / 2] == b' ' {
        let middle = header.len() / 2;
        (header[..middle].to_owned(), header[middle + 1..].to_owned())
    } else {
        return None;
    };
    let (old, new) = stripped(Some(old), Some(new));
    old.filter(|old| new.as_ref() == Some(old))
}

/// Without `a/` and `b/`, where both sides that exist have theirs.
fn stripped(old: Option<String>, new: Option<String>) -> (Option<String>, Option<String>) {
    let without = |name: &Option<String>, prefix: &str| match name {
        None => Some(None),
        Some(name) => name.strip_prefix(prefix).filter(|rest| !rest.is_empty()).map(|rest| Some(rest.to_owned())),
    };
    // A side that is missing cannot confirm the rarer prefixes.
    let known = if old.is_some() && new.is_some() { PREFIXES.len() } else { 1 };
    let both = PREFIXES[..known].iter().find_map(|(a, b)| Some((without(&old, a)?, without(&new, b)?)));
    both.unwrap_or((old, new))
}

/// A plain diff renames nothing: two names are two copies of one file.
fn plain_paths(old: Option<String>, new: Option<String>) -> (Option<String>, Option<String>) {
    match stripped(old, new) {
        (Some(old), Some(new)) if old != new => {
            let below = |path: &str| path.split_once('/').map(|(_, rest)| rest.to_owned());
            let path = below(&new).filter(|path| below(&old).as_ref() == Some(path)).unwrap_or(new);
            (Some(path.clone()), Some(path))
        }
        other => other,
    }
}
