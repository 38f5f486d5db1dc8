//! Two texts to the diff between them, as `git diff` would print it.

use super::super::compare::{self, NotCompared};
use super::lines;
use crate::domain::LineKind;

const NO_FILE: &str = "/dev/null";

/// The diff from one text to the other with three lines of context, in git's form, so that `git apply` takes it.
/// Empty when neither path nor text differs. A missing path is a file that is not there; new and deleted files are plain
/// (mode 644).
pub fn diff(path_old: Option<&str>, path_new: Option<&str>, old: &str, new: &str) -> String {
    let (Some(from), Some(to)) = (path_old.or(path_new), path_new.or(path_old)) else { return String::new() };
    if path_old == path_new && old == new {
        return String::new();
    }
    let (a, b) = (format!("a/{from}"), format!("b/{to}"));
    let mut out = format!("diff --git {} {}\n", quoted(&a), quoted(&b));
    match (path_old, path_new) {
        (None, _) => out.push_str("new file mode 100644\n"),
        (_, None) => out.push_str("deleted file mode 100644\n"),
        (Some(_), Some(_)) if from != to => {
            if old == new {
                out.push_str("similarity index 100%\n");
            }
            out.push_str(&format!("rename from {}\nrename to {}\n", quoted(from), quoted(to)));
        }
        (Some(_), Some(_)) => {}
    }
    if old == new {
        return out;
    }
    let side = |path: Option<&str>, name: &str| match path {
        None => NO_FILE.to_owned(),
        // Readers take a tab for the end of the name, and need one where the name holds spaces.
        Some(_) => format!("{}{}", quoted(name), if name.contains(' ') { "\t" } else { "" }),
    };
    out.push_str(&format!("--- {}\n+++ {}\n", side(path_old, &a), side(path_new, &b)));
    out.push_str(&hunks(old, new).unwrap_or_else(|_| replaced(old, new)));
    out
}

fn hunks(old: &str, new: &str) -> Result<String, NotCompared> {
    let compared = compare::compare(old.as_bytes(), new.as_bytes(), usize::MAX)?;
    let mut out = String::new();
    for (hunk, lines) in compared.hunks() {
        let (from, to) = ((hunk.old_start, hunk.old_lines), (hunk.new_start, hunk.new_lines));
        out.push_str(&format!("@@ -{},{} +{},{} @@\n", from.0, from.1, to.0, to.1));
        for line in lines {
            let origin = match line.kind {
                LineKind::Context => ' ',
                LineKind::Added => '+',
                LineKind::Removed => '-',
            };
            push(&mut out, origin, &String::from_utf8_lossy(line.content));
        }
    }
    Ok(out)
}

/// Everything away, everything in: right, if long.
fn replaced(old: &str, new: &str) -> String {
    let (old, new) = (lines(old), lines(new));
    let range = |lines: &[&str]| format!("{},{}", usize::from(!lines.is_empty()), lines.len());
    let mut out = format!("@@ -{} +{} @@\n", range(&old), range(&new));
    old.iter().for_each(|line| push(&mut out, '-', line));
    new.iter().for_each(|line| push(&mut out, '+', line));
    out
}

fn push(out: &mut String, origin: char, line: &str) {
    out.push(origin);
    out.push_str(line);
    if !line.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
}

/// As git quotes a name that could not be read back otherwise.
fn quoted(name: &str) -> String {
    if !name.chars().any(|c| c.is_ascii_control() || c == '"' || c == '\\') {
        return name.to_owned();
    }
    let mut out = String::from('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_ascii_control() => out.push_str(&format!("\\{:03o}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
