//! The repository as the coder leaves it: what was touched, before and after, and every other file as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::assembly;
use super::survey::{self, Class, Listed, Survey};
use super::words;
use crate::agent::{Context, Contributing, Error};
use crate::artifact::swarm::{CodeChanges, FileAction, FileChange};
use crate::domain::LineKind;
use crate::workspace::{Side, Tree, patch};

/// A tree with the coder's change on it.
pub(super) struct Changed {
    pub(super) files: Vec<Touched>,
    /// What lies where afterwards.
    pub(super) survey: Survey,
    tree: Tree,
}

/// A file of the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touched {
    pub(super) path: String,
    /// None: the file is new.
    pub(super) old: Option<String>,
    /// None: the file is deleted.
    pub(super) new: Option<String>,
}

/// One hunk without the lines around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    /// 1-based line of the new side where it begins.
    pub(super) line: u32,
    pub(super) removed: Vec<String>,
    pub(super) added: Vec<String>,
}

impl Changed {
    /// Applies the change. A diff that does not apply touches nothing: the gate will say so. The tree is listed only where
    /// nobody has read it for this contribution: in an attempt that goes on where another was interrupted.
    ///
    /// # Errors
    /// When the tree cannot be read.
    pub(super) async fn of(cx: &Context, changes: &CodeChanges) -> Result<Self, Error> {
        let Contributing { tree, library, .. } = cx.contributing()?;
        let mut files = Vec::new();
        for change in &changes.changes {
            files.extend(touched(tree, change).await?);
        }
        let mut paths: BTreeSet<String> = match library.paths() {
            Some(paths) => paths.map(str::to_owned).collect(),
            None => tree.files().await?.into_iter().map(|file| file.path).collect(),
        };
        for file in &files {
            match file.new {
                Some(_) => paths.insert(file.path.clone()),
                None => paths.remove(&file.path),
            };
        }
        Ok(Self { files, survey: Survey::new(paths.into_iter().collect()), tree: tree.clone() })
    }

    /// The text of a file afterwards, if it has one.
    ///
    /// # Errors
    /// When the tree cannot be read.
    pub(super) async fn text(&self, path: &str) -> Result<Option<String>, Error> {
        match self.files.iter().find(|file| file.path == path) {
            Some(file) => Ok(file.new.clone()),
            None => survey::text(&self.tree, path).await,
        }
    }

    /// Reads the files that are wanted as they are afterwards, and makes something of each.
    ///
    /// # Errors
    /// When the tree cannot be read, or the work is cancelled.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        cx: &Context,
        wanted: impl Fn(&Listed) -> bool,
        make: impl Fn(&str, &str) -> Option<T> + Clone + Send + Sync + 'static,
    ) -> Result<BTreeMap<String, T>, Error> {
        let files = self.survey.files.iter().filter(|file| wanted(file)).take(survey::MAX_READ);
        let paths = files.map(|file| file.path.clone()).collect();
        let ours: Arc<BTreeMap<String, String>> =
            Arc::new(self.files.iter().filter_map(|file| Some((file.path.clone(), file.new.clone()?))).collect());
        let overlay = Arc::clone(&ours);
        let made = make.clone();
        let read =
            survey::read_all(
                cx,
                &self.tree,
                paths,
                move |path, text| {
                    if overlay.contains_key(path) { None } else { made(path, text) }
                },
            )
            .await?;
        let mut all: BTreeMap<String, T> = read.into_iter().filter_map(|(path, made)| Some((path, made?))).collect();
        for file in self.survey.files.iter().filter(|file| wanted(file)) {
            if let Some(made) = ours.get(&file.path).and_then(|text| make(&file.path, text)) {
                all.insert(file.path.clone(), made);
            }
        }
        Ok(all)
    }

    /// The touched files of a class.
    pub(super) fn of_class(&self, class: Class) -> impl Iterator<Item = &Touched> {
        self.files.iter().filter(move |file| survey::class_of(&file.path) == class)
    }

    /// Whether nothing but comments, blanks and white space differs in the code of the change.
    pub(super) fn is_only_comments(&self) -> bool {
        let mut code = self.files.iter().filter(|file| survey::language(&file.path).is_some()).peekable();
        code.peek().is_some() && code.all(|file| file.stretches().iter().all(Stretch::is_comment))
    }
}

async fn touched(tree: &Tree, change: &FileChange) -> Result<Option<Touched>, Error> {
    let old = match (change.action, tree.read(&change.file).await?) {
        (FileAction::Created, _) => None,
        (FileAction::Modified | FileAction::Deleted, Side::Text(text)) => Some(text),
        (FileAction::Modified | FileAction::Deleted, Side::Absent | Side::NotRead(_)) => return Ok(None),
    };
    let new = match change.action {
        FileAction::Deleted => None,
        FileAction::Created | FileAction::Modified => match assembly::after(old.as_deref(), &change.diff) {
            Ok(new) => Some(new),
            Err(_) => return Ok(None),
        },
    };
    Ok(Some(Touched { path: change.file.clone(), old, new }))
}

impl Touched {
    /// Where the two sides differ.
    pub(super) fn stretches(&self) -> Vec<Stretch> {
        let (old, new) = (self.old.as_deref().unwrap_or_default(), self.new.as_deref().unwrap_or_default());
        stretches(old, new)
    }
}

impl Touched {
    /// The functions and methods whose lines the change wrote, each once.
    pub(super) fn symbols(&self) -> Vec<String> {
        let Some(new) = &self.new else { return Vec::new() };
        let lines: Vec<&str> = new.lines().collect();
        let mut found: Vec<String> = Vec::new();
        for stretch in self.stretches() {
            let first = (stretch.line as usize).saturating_sub(1);
            // Where lines were only taken out, what stands around is what changed.
            let last = (first + stretch.added.len().max(1)).min(lines.len());
            for at in first..last {
                found.extend(enclosing(&lines, at).filter(|name| !found.contains(name)));
            }
        }
        found
    }
}

/// The function that a line is of: its own definition, or the nearest one above that is indented less.
fn enclosing(lines: &[&str], at: usize) -> Option<String> {
    static DEFINES: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"^\s*(?:(?:export|default|pub(?:\([a-z]+\))?|async|static|unsafe|const)\s+)*(?:(?:def|fn|func|function)\s*\*?\s+(?:\([^)]*\)\s*)?(\w+)|(?:const|let)\s+(\w+)\s*=\s*(?:async\s*)?(?:function\b|\(|\w+\s*=>))|^\s*(?:(?:public|protected|private|static|final|synchronized)\s+)+[\w<>\[\], ]+\s(\w+)\s*\([^;]*$",
        )
    });
    let depth = |line: &str| line.len() - line.trim_start().len();
    let name = |line: &str| {
        DEFINES.captures(line).and_then(|found| found.iter().skip(1).flatten().next().map(|m| m.as_str().to_owned()))
    };
    let own = lines.get(at)?;
    if let Some(name) = name(own) {
        return Some(name);
    }
    if own.trim().is_empty() {
        return None;
    }
    let mut least = depth(own);
    for line in lines.get(..at)?.iter().rev().filter(|line| !line.trim().is_empty()) {
        if depth(line) < least {
            if let Some(name) = name(line) {
                return Some(name);
            }
            least = depth(line);
        }
    }
    None
}

/// Where two texts differ, each run of removed and added lines for itself.
pub(super) fn stretches(old: &str, new: &str) -> Vec<Stretch> {
    let diff = patch::diff(Some("a"), Some("a"), old, new);
    let Some(patch) = patch::parse(&diff).ok().and_then(|mut files| files.pop()) else { return Vec::new() };
    let mut all = Vec::new();
    for hunk in patch.hunks {
        let mut line = hunk.new_start;
        let mut current: Option<Stretch> = None;
        for part in hunk.lines {
            if part.kind == LineKind::Context {
                all.extend(current.take());
                line += 1;
                continue;
            }
            let stretch = current.get_or_insert(Stretch { line, removed: Vec::new(), added: Vec::new() });
            let text = part.text.trim_end_matches(['\n', '\r']).to_owned();
            if part.kind == LineKind::Added {
                stretch.added.push(text);
                line += 1;
            } else {
                stretch.removed.push(text);
            }
        }
        all.extend(current);
    }
    all
}

impl Stretch {
    fn is_comment(&self) -> bool {
        let comment = |line: &String| {
            let line = line.trim();
            let hash = line.strip_prefix('#').is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '#']));
            line.is_empty() || hash || ["//", "/*", "* ", "*/", "-- ", "<!--"].iter().any(|sign| line.starts_with(sign))
        };
        self.removed.iter().chain(&self.added).all(comment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_changed_lines_are_told_apart() {
        let found = stretches("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n");
        let of = |line, removed: &[&str], added: &[&str]| Stretch {
            line,
            removed: removed.iter().map(|s| (*s).to_owned()).collect(),
            added: added.iter().map(|s| (*s).to_owned()).collect(),
        };
        assert_eq!(found, [of(2, &["b"], &["B"]), of(5, &[], &["e"])]);
        assert!(stretches("a", "a").is_empty());
    }

    #[test]
    fn a_comment_is_no_code_and_an_attribute_is_no_comment() {
        let one = |line: &str| Stretch { line: 1, removed: Vec::new(), added: vec![line.to_owned()] };
        assert!(one("  # told").is_comment() && one("// told").is_comment() && one("").is_comment());
        assert!(!one("x = 1  # told").is_comment() && !one("#[test]").is_comment() && !one("*p = 1;").is_comment());
    }

    #[test]
    fn the_functions_that_a_change_wrote_are_named() {
        let touched = |path: &str, old: &str, new: &str| {
            Touched { path: path.to_owned(), old: Some(old.to_owned()), new: Some(new.to_owned()) }.symbols()
        };
        let python =
            "class A:\n    def f(self):\n        if 1:\n            return 1\n\n    def g(self):\n        return 2\n";
        assert_eq!(touched("a.py", python, &python.replace("return 1", "return 3")), ["f"]);
        assert_eq!(touched("a.py", "x = 1\n", "x = 2\n"), [""; 0]);
        let script = "export const f = (a) => {\n  return a;\n};\nfunction g() {\n  return 1;\n}\n";
        assert_eq!(touched("a.ts", script, &script.replace("return a", "return 2")), ["f"]);
        assert_eq!(touched("a.ts", script, &script.replace("return 1", "return 2")), ["g"]);
        let go = "func (c *Cart) Add() {\n\treturn\n}\n";
        assert_eq!(touched("a.go", go, &go.replace("return", "panic(1)")), ["Add"]);
        let java = "class A {\n    public int sum(int a) {\n        return a;\n    }\n}\n";
        assert_eq!(touched("A.java", java, &java.replace("return a", "return 1")), ["sum"]);
    }
}
