//! Trees, counted as they are read: a tree of 200 kB can name a thousand million files.

use std::collections::{BTreeMap, HashSet};

use git2::{ObjectType, Oid, Repository};

use super::error::{Doing, Error};
use super::git::header;
use super::limits::Limits;
use crate::domain::NotRead;
use crate::stdx::text::binary_size;

pub(super) const MODE_FILE: u32 = 0o100_644;
pub(super) const MODE_EXECUTABLE: u32 = 0o100_755;
pub(super) const MODE_TREE: u32 = 0o040_000;
pub(super) const MODE_LINK: u32 = 0o120_000;
pub(super) const MODE_SUBMODULE: u32 = 0o160_000;
/// The bits that say what an entry is; the rest are permissions.
const TYPE: u32 = 0o170_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) oid: Oid,
    pub(super) mode: u32,
}

/// One path that differs. At least one side is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Delta {
    pub(super) path: String,
    /// Set when the old side was found under another name.
    pub(super) old_path: Option<String>,
    pub(super) old: Option<Entry>,
    pub(super) new: Option<Entry>,
}

/// All that differs between two trees, and what could not be looked at.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    pub(super) found: Vec<Delta>,
    pub(super) not_read: Vec<NotRead>,
}

impl Entry {
    pub(super) fn is_tree(self) -> bool {
        self.mode & TYPE == MODE_TREE
    }

    pub(super) fn is_link(self) -> bool {
        self.mode & TYPE == MODE_LINK
    }

    pub(super) fn is_submodule(self) -> bool {
        self.mode & TYPE == MODE_SUBMODULE
    }

    pub(super) fn is_file(self) -> bool {
        self.mode & TYPE == MODE_FILE & TYPE
    }

    pub(super) fn is_executable(self) -> bool {
        self.is_file() && self.mode & 0o100 != 0
    }

    pub(super) fn same_type(self, other: Self) -> bool {
        self.mode & TYPE == other.mode & TYPE
    }
}

/// Why a name cannot be a file's in a work tree of ours, if so.
pub(super) fn refuse_name(name: &[u8]) -> Option<&'static str> {
    match std::str::from_utf8(name) {
        Err(_) => Some("its name is not UTF-8"),
        Ok("" | "." | "..") => Some("its name would leave its folder"),
        Ok(name) if name.contains('/') => Some("its name would leave its folder"),
        Ok(name) if name.eq_ignore_ascii_case(".git") => Some("its name is git's own"),
        Ok(name) if name.chars().any(char::is_control) => Some("its name holds control characters"),
        Ok(_) => None,
    }
}

/// A name for people: what is not printable is escaped.
pub(super) fn show(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().fold(String::new(), |mut shown, c| {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
        shown
    })
}

/// A tree object's bytes.
pub(super) fn encode(mut items: Vec<(Vec<u8>, Entry)>) -> Vec<u8> {
    // Git sorts a folder as if its name ended in a slash.
    items.sort_by_cached_key(|(name, entry)| if entry.is_tree() { [name, &b"/"[..]].concat() } else { name.clone() });
    let mut bytes = Vec::new();
    for (name, entry) in items {
        bytes.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
        bytes.extend_from_slice(&name);
        bytes.push(0);
        bytes.extend_from_slice(entry.oid.as_bytes());
    }
    bytes
}

/// Reads one tree whose size its header told first.
pub(super) fn entries(repository: &Repository, oid: Oid, limits: &Limits) -> Result<Vec<(Vec<u8>, Entry)>, Error> {
    let (bytes, kind) = header(repository, oid).doing("reading a tree's header")?;
    if kind != ObjectType::Tree {
        return Err(Error::Unsupported("an object that should be a tree is none"));
    }
    if bytes > limits.tree_bytes {
        return Err(Error::TooLarge { what: "one folder", limit: binary_size(limits.tree_bytes) });
    }
    let tree = repository.find_tree(oid).doing("reading a tree")?;
    let all = tree.iter().map(|entry| {
        let mode = u32::try_from(entry.filemode_raw()).unwrap_or(0);
        (entry.name_bytes().to_vec(), Entry { oid: entry.id(), mode })
    });
    Ok(all.collect())
}

/// The entry at a path, if the tree has one.
pub(super) fn lookup(repository: &Repository, root: Oid, path: &str, limits: &Limits) -> Result<Option<Entry>, Error> {
    let mut at = Entry { oid: root, mode: MODE_TREE };
    if path.is_empty() {
        return Ok(Some(at));
    }
    for (depth, part) in path.split('/').enumerate() {
        if !at.is_tree() || depth >= limits.depth || refuse_name(part.as_bytes()).is_some() {
            return Ok(None);
        }
        match entries(repository, at.oid, limits)?.into_iter().rfind(|(name, _)| name == part.as_bytes()) {
            Some((_, entry)) => at = entry,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// Every path of the tree, folders too. Stops with an error where a cap is met, since half a list answers "is it there?" wrongly.
pub(super) fn paths(repository: &Repository, root: Oid, limits: &Limits) -> Result<HashSet<String>, Error> {
    let mut found = HashSet::new();
    walk(repository, root, limits, |path, _| {
        found.insert(path);
    })?;
    Ok(found)
}

/// Every regular file that can be named, in order of path.
pub(super) fn files(repository: &Repository, root: Oid, limits: &Limits) -> Result<Vec<(String, Entry)>, Error> {
    let mut found = Vec::new();
    walk(repository, root, limits, |path, entry| {
        if entry.is_file() {
            found.push((path, entry));
        }
    })?;
    found.sort_by(|one, two| one.0.cmp(&two.0));
    Ok(found)
}

/// Every entry that can be named, folders before what is in them.
pub(super) fn walk(
    repository: &Repository,
    root: Oid,
    limits: &Limits,
    mut visit: impl FnMut(String, Entry),
) -> Result<(), Error> {
    let mut left = limits.entries;
    let mut todo = vec![(String::new(), root, 0)];
    while let Some((prefix, oid, depth)) = todo.pop() {
        if depth >= limits.depth {
            return Err(too_deep(limits));
        }
        for (name, entry) in entries(repository, oid, limits)? {
            left = left.checked_sub(1).ok_or_else(|| too_many(limits))?;
            if refuse_name(&name).is_some() {
                continue;
            }
            let path = format!("{prefix}{}", String::from_utf8_lossy(&name));
            if entry.is_tree() {
                todo.push((format!("{path}/"), entry.oid, depth + 1));
            }
            visit(path, entry);
        }
    }
    Ok(())
}

/// Compares two trees; `within` limits it to a folder. Equal ids are equal trees, so only what differs is walked.
pub(super) fn compare(
    repository: &Repository,
    old: Oid,
    new: Oid,
    within: &str,
    limits: &Limits,
) -> Result<Deltas, Error> {
    let mut walk = Compare { repository, limits, left: limits.entries, deltas: Deltas::default() };
    let prefix = if within.is_empty() { String::new() } else { format!("{within}/") };
    let (old, new) = (lookup(repository, old, within, limits)?, lookup(repository, new, within, limits)?);
    let stopped = match (old, new) {
        (old, new) if old.or(new).is_none_or(Entry::is_tree) && new.or(old).is_none_or(Entry::is_tree) => {
            walk.trees(&prefix, old.map(|e| e.oid), new.map(|e| e.oid), 0)
        }
        (old, new) => walk.leaf(within.to_owned(), old, new),
    };
    let mut deltas = walk.deltas;
    match stopped {
        Ok(()) => {}
        Err(Error::TooLarge { what, limit }) => deltas.not_read.push(NotRead {
            path: "(the rest of the change)".to_owned(),
            reason: format!("{what} is more than the limit of {limit}"),
            left_out: false,
        }),
        Err(other) => return Err(other),
    }
    deltas.found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(deltas)
}

struct Compare<'a> {
    repository: &'a Repository,
    limits: &'a Limits,
    left: usize,
    deltas: Deltas,
}

impl Compare<'_> {
    fn trees(&mut self, prefix: &str, old: Option<Oid>, new: Option<Oid>, depth: usize) -> Result<(), Error> {
        if old == new {
            return Ok(());
        }
        if depth >= self.limits.depth {
            return Err(too_deep(self.limits));
        }
        let mut names: BTreeMap<Vec<u8>, (Option<Entry>, Option<Entry>)> = BTreeMap::new();
        if let Some(old) = old {
            for (name, entry) in entries(self.repository, old, self.limits)? {
                names.entry(name).or_default().0 = Some(entry);
            }
        }
        if let Some(new) = new {
            for (name, entry) in entries(self.repository, new, self.limits)? {
                names.entry(name).or_default().1 = Some(entry);
            }
        }
        for (name, (old, new)) in names {
            self.left = self.left.checked_sub(1).ok_or_else(|| too_many(self.limits))?;
            if old == new {
                continue;
            }
            if let Some(reason) = refuse_name(&name) {
                let path = format!("{prefix}{}", show(&name));
                self.deltas.not_read.push(NotRead { path, reason: reason.to_owned(), left_out: false });
                continue;
            }
            let path = format!("{prefix}{}", String::from_utf8_lossy(&name));
            let (old_tree, old_leaf) = split(old);
            let (new_tree, new_leaf) = split(new);
            if old_tree.is_some() || new_tree.is_some() {
                self.trees(&format!("{path}/"), old_tree, new_tree, depth + 1)?;
            }
            self.leaf(path, old_leaf, new_leaf)?;
        }
        Ok(())
    }

    fn leaf(&mut self, path: String, old: Option<Entry>, new: Option<Entry>) -> Result<(), Error> {
        if old != new {
            self.deltas.found.push(Delta { path, old_path: None, old, new });
        }
        Ok(())
    }
}

fn split(entry: Option<Entry>) -> (Option<Oid>, Option<Entry>) {
    match entry {
        Some(entry) if entry.is_tree() => (Some(entry.oid), None),
        leaf => (None, leaf),
    }
}

pub(super) fn too_many(limits: &Limits) -> Error {
    Error::TooLarge { what: "the number of files and folders", limit: limits.entries.to_string() }
}

pub(super) fn too_deep(limits: &Limits) -> Error {
    Error::TooLarge { what: "the depth of folders", limit: limits.depth.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_would_not_check_out_are_refused() {
        for bad in [&b".git"[..], b".GIT", b"..", b".", b"", b"a/b", b"new\nline", b"\xff"] {
            assert!(refuse_name(bad).is_some(), "{bad:?}");
        }
        for good in [&b".github"[..], b"a\\b", b"-rf", b"...", "ä".as_bytes()] {
            assert!(refuse_name(good).is_none(), "{good:?}");
        }
    }

    #[test]
    fn a_refused_name_is_shown_without_its_control_characters() {
        assert_eq!(show(b"a\nb\x1b[31m"), "a\\nb\\u{1b}[31m");
    }
}
