//! One text for another: exactly as said, everywhere in its scope, or not at all.

use super::Scope;
use super::work::{File, Said, Step};
use crate::analysis::{Names, fix};
use crate::stdx::text::count;

/// From one text to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    pub from: String,
    pub to: String,
    pub scope: Scope,
    pub kind: Wish,
}

/// How it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// "Rename": a name and all of its uses.
    Rename,
    /// "Replace", "change".
    Replace,
    /// A spelling that is wrong wherever it stands.
    Spelling,
    /// "This should be that": one place is meant.
    Correct,
}

impl Replacement {
    pub(super) fn describe(&self) -> String {
        let (from, to, scope) = (&self.from, &self.to, self.scope.describe());
        match self.kind {
            Wish::Rename => format!("Rename `{from}` to `{to}`{scope}"),
            Wish::Replace => format!("Replace `{from}` by `{to}`{scope}"),
            Wish::Spelling => format!("Correct the spelling of `{from}` to `{to}`{scope}"),
            Wish::Correct => format!("Change `{from}` to `{to}`{scope}"),
        }
    }

    /// The new text of every file that it changes.
    ///
    /// # Errors
    /// Why nothing may be changed, for the author of the issue.
    pub(super) fn apply(&self, files: &[File]) -> Result<Step, String> {
        let (from, to) = (self.from.as_str(), self.to.as_str());
        let mut step = Step::default();
        let mut sites: Vec<Sites<'_>> = Vec::new();
        for file in files {
            let found = Sites::find(file, self);
            if !found.places.is_empty() || found.names.is_some() {
                sites.push(found);
            }
        }
        let outside: Vec<&Sites<'_>> = sites.iter().filter(|s| !self.scope.covers(&s.file.path)).collect();
        let used_outside = outside.iter().any(|s| s.in_code > 0);
        let inside: Vec<&Sites<'_>> =
            sites.iter().filter(|s| self.scope.covers(&s.file.path) && !s.places.is_empty()).collect();
        let protected: Vec<String> = inside.iter().filter_map(|s| s.file.barred()).collect();
        let open: Vec<&&Sites<'_>> = inside.iter().filter(|s| s.file.protected.is_none()).collect();
        step.left.extend(protected.iter().map(|barred| format!("`{from}` stays where it is: {barred}")));
        if open.is_empty() {
            return Err(match protected.is_empty() {
                true => format!(
                    "`{from}` does not occur{}",
                    if self.scope.is_whole_tree() {
                        " in any text file of the repository that people wrote".to_owned()
                    } else {
                        self.scope.describe()
                    }
                ),
                false => format!("`{from}` occurs only where no change may be made: {}", protected.join("; ")),
            });
        }
        self.one_place(&open)?;
        if is_name(from) && sites.iter().any(|s| s.in_code > 0) {
            self.safe_name(&sites, used_outside, &open)?;
        } else if open.iter().any(|s| s.in_code > 0) {
            self.known_words(&open)?;
        }
        let mut other_case = 0;
        for site in open {
            let new = replaced(&site.file.text, &site.places, from.len(), to);
            if fix::syntax_errors(&site.file.path, &new) > fix::syntax_errors(&site.file.path, &site.file.text) {
                return Err(format!(
                    "with `{to}` in place of `{from}`, `{}` could no longer be parsed",
                    site.file.path
                ));
            }
            other_case += places(&site.file.text.to_lowercase(), &from.to_lowercase(), false)
                .len()
                .saturating_sub(site.places.len());
            let what = count(site.places.len(), "place");
            let description = match self.kind {
                Wish::Rename => format!("`{from}` is now called `{to}`, in {what}"),
                Wish::Replace | Wish::Correct => format!("`{from}` is now `{to}`, in {what}"),
                Wish::Spelling => format!("`{from}` is now spelled `{to}`, in {what}"),
            };
            step.write(&site.file.path, new, description);
        }
        if other_case > 0 && is_name(from) && self.kind != Wish::Rename {
            step.left.push(format!(
                "{} of `{from}` with other capital letters, or as a part of a longer word, left as written",
                count(other_case, "place")
            ));
        }
        step.said = self.said(&step);
        Ok(step)
    }

    fn said(&self, step: &Step) -> Said {
        let (from, to) = (&self.from, &self.to);
        let documentation = step.files.keys().all(|path| super::scope::is_documentation(path));
        let subject = match self.kind {
            Wish::Rename => format!("rename {from} to {to}"),
            Wish::Spelling => format!("correct the spelling of {to}"),
            Wish::Replace | Wish::Correct => format!("replace {from} by {to}"),
        };
        let kind = match (documentation, self.kind) {
            (true, _) => "docs",
            (false, Wish::Rename) => "refactor",
            (false, Wish::Replace | Wish::Correct | Wish::Spelling) => "fix",
        };
        Said { kind, subject }
    }

    /// A correction of one place, or a bare number, is clear only where there is one place.
    fn one_place(&self, open: &[&&Sites<'_>]) -> Result<(), String> {
        let total: usize = open.iter().map(|s| s.places.len()).sum();
        let number = self.from.chars().all(|c| c.is_ascii_digit() || c == '.');
        let one = match self.kind {
            Wish::Correct => true,
            Wish::Rename | Wish::Replace | Wish::Spelling => number,
        };
        if one && total > 1 {
            return Err(format!(
                "`{}` stands in {total} places, and the issue does not say which one is meant",
                self.from
            ));
        }
        Ok(())
    }

    /// A name in code is changed only when it is defined once, in this tree, and the new one is free.
    fn safe_name(&self, sites: &[Sites<'_>], used_outside: bool, open: &[&&Sites<'_>]) -> Result<(), String> {
        let (from, to) = (self.from.as_str(), self.to.as_str());
        let in_code = || sites.iter().filter(|s| s.in_code > 0);
        let touched = open.iter().any(|s| s.in_code > 0);
        if !touched {
            return match self.kind {
                Wish::Rename => Err(format!(
                    "`{from}` is a name in the code, and a rename{} would leave it there",
                    self.scope.describe()
                )),
                Wish::Replace | Wish::Spelling | Wish::Correct => Ok(()),
            };
        }
        if self.kind == Wish::Spelling && !sites.iter().any(|s| s.defines > 0 || s.binds) {
            return Err(format!("`{from}` is a name in the code that this repository does not define"));
        }
        let defined: usize = in_code().map(|s| s.defines).sum();
        let bound: Vec<&str> = in_code().filter(|s| s.binds).map(|s| s.file.path.as_str()).collect();
        if defined > 1 || defined == 0 && bound.len() > 1 {
            return Err(format!(
                "`{from}` is defined in more than one place, and the issue does not say which is meant"
            ));
        }
        if defined == 0 && bound.is_empty() {
            return self.known_words(open);
        }
        if !is_name(to) {
            return Err(format!("`{from}` is a name in the code, and `{to}` cannot be one"));
        }
        if let Some(other) = sites.iter().find(|s| {
            s.names.as_ref().is_some_and(|names| {
                names.defined.iter().any(|name| name == to) || s.in_code > 0 && names.used.contains(to)
            })
        }) {
            return Err(format!("`{to}` is already the name of something else in `{}`", other.file.path));
        }
        let java = |path: &str| path == format!("{from}.java") || path.ends_with(&format!("/{from}.java"));
        if let Some(named) = sites.iter().find(|s| java(&s.file.path)) {
            return Err(format!("the file `{}` would have to be renamed, too", named.file.path));
        }
        if used_outside {
            return Err(format!(
                "`{from}` is also used outside the files that the issue names, so a rename of these alone would break it"
            ));
        }
        if let Some(barred) = in_code().find_map(|s| s.file.barred()) {
            return Err(format!("`{from}` is used where no change may be made: {barred}"));
        }
        Ok(())
    }

    /// In code, a replacement may not bring a name that the file does not know: nobody would define or import it.
    fn known_words(&self, open: &[&&Sites<'_>]) -> Result<(), String> {
        let root = |text: &str| {
            text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
                .find(|w| w.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_'))
                .map(str::to_owned)
        };
        let quoted = self.to.trim_start().starts_with(['"', '\'', '`']);
        let Some(first) = root(&self.to).filter(|_| !quoted) else { return Ok(()) };
        let same_root = root(&self.from).as_deref() == Some(first.as_str());
        for site in open.iter().filter(|s| s.in_code > 0) {
            let Some(names) = &site.names else { continue };
            let member = site.all_members;
            if !(same_root && self.from != self.to && !is_name(&self.from) || member || names.used.contains(&first)) {
                return Err(format!(
                    "`{}` is code in `{}`, and nothing there defines or imports `{first}`",
                    self.from, site.file.path
                ));
            }
        }
        Ok(())
    }
}

/// Where a text stands in one file.
struct Sites<'f> {
    file: &'f File,
    places: Vec<usize>,
    /// Of these, how many are neither comment nor literal.
    in_code: usize,
    names: Option<Names>,
    /// Definitions of it.
    defines: usize,
    binds: bool,
    /// Every place in the code follows a dot.
    all_members: bool,
}

impl<'f> Sites<'f> {
    fn find(file: &'f File, wish: &Replacement) -> Self {
        let code = file.language.is_some();
        let mut places = places(&file.text, &wish.from, !code && wish.kind == Wish::Rename);
        if wish.kind == Wish::Correct && wish.from.contains("://") {
            places.retain(|at| ends_an_address(file.text.get(at + wish.from.len()..).unwrap_or_default()));
        }
        let worth = !places.is_empty() || file.text.contains(&wish.to);
        let names = if code && worth { Names::read(&file.path, &file.text) } else { None };
        let in_code: Vec<usize> = names
            .as_ref()
            .map(|names| places.iter().copied().filter(|at| !names.is_text(*at)).collect())
            .unwrap_or_default();
        let all_members = in_code.iter().all(|at| file.text.get(..*at).is_some_and(|before| before.ends_with('.')));
        Self {
            file,
            in_code: in_code.len(),
            defines: names.as_ref().map_or(0, |names| names.defined.iter().filter(|name| **name == wish.from).count()),
            binds: names.as_ref().is_some_and(|names| names.bound.contains(&wish.from)),
            names,
            places,
            all_members,
        }
    }
}

/// Where `from` stands as a whole: next to a letter of its own there is no other. With `hyphens`, `a-b` is one word.
pub(in crate::agent) fn places(text: &str, from: &str, hyphens: bool) -> Vec<usize> {
    let word = |c: char| c.is_alphanumeric() || c == '_' || hyphens && c == '-';
    let (first, last) = (from.chars().next(), from.chars().next_back());
    let mut found = Vec::new();
    let mut next = 0;
    for (at, _) in text.match_indices(from) {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + from.len()..).and_then(|t| t.chars().next());
        let joined =
            first.is_some_and(word) && before.is_some_and(word) || last.is_some_and(word) && after.is_some_and(word);
        if !joined && at >= next {
            found.push(at);
            next = at + from.len();
        }
    }
    found
}

/// Whether an address is over where this begins, so that it was no part of a longer one.
fn ends_an_address(rest: &str) -> bool {
    let mut chars = rest.chars();
    let stop =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ')' | '>' | ']' | '<' | ',' | ';' | '!' | '|');
    match chars.next() {
        Some('.' | ':') => chars.next().is_none_or(stop),
        next => next.is_none_or(stop),
    }
}

fn replaced(text: &str, places: &[usize], len: usize, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut next = 0;
    for at in places {
        out.push_str(text.get(next..*at).unwrap_or_default());
        out.push_str(to);
        next = at + len;
    }
    out.push_str(text.get(next..).unwrap_or_default());
    out
}

/// Whether a text can be a name in code.
pub(in crate::agent) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}
