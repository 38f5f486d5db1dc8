//! New trees and commits, made straight in an object store: no index, no file system, no filter, no ref.

use std::collections::{BTreeMap, HashMap};

use git2::{ObjectType, Odb, Oid, Repository};

use super::edit::Edit;
use super::error::{Doing, Error};
use super::limits::Limits;
use super::names::refuse_path;
use super::tree::{self, Entry, MODE_EXECUTABLE, MODE_FILE, MODE_TREE};
use crate::domain::{Identity, Millis};
use crate::stdx::text::binary_size;

/// The edits of one folder by name.
type Folder<'a> = BTreeMap<&'a str, Node<'a>>;

enum Node<'a> {
    Folder(Folder<'a>),
    Edit(&'a Edit),
}

/// The tree with the edits made. Equal edits on equal trees give equal ids.
pub(super) fn with(repository: &Repository, root: Oid, edits: &[Edit], limits: &Limits) -> Result<Oid, Error> {
    let folder = sorted(edits, limits)?;
    let store = repository.odb().doing("opening the object store")?;
    let work = Work { repository, store, limits };
    match work.folder("", Some(root), &folder)? {
        Some(oid) => Ok(oid),
        None => work.write(ObjectType::Tree, &[]),
    }
}

/// Refuses what no tree has to be read for.
fn sorted<'a>(edits: &'a [Edit], limits: &Limits) -> Result<Folder<'a>, Error> {
    if edits.len() > limits.files {
        return Err(Error::TooLarge { what: "the number of files to write", limit: limits.files.to_string() });
    }
    let mut left = limits.diff_bytes;
    let mut root = Folder::new();
    for edit in edits {
        let path = edit.path();
        if let Some(why) = refuse_path(path, limits) {
            return Err(refused(path, why));
        }
        if let Edit::Write { text, .. } = edit {
            let bytes = text.len() as u64;
            if bytes > limits.file_bytes {
                return Err(refused(path, &format!("it would be larger than {}", binary_size(limits.file_bytes))));
            }
            left = left.checked_sub(bytes).ok_or_else(|| Error::TooLarge {
                what: "all that is to be written",
                limit: binary_size(limits.diff_bytes),
            })?;
        }
        let (above, name) = path.rsplit_once('/').map_or((None, path), |(above, name)| (Some(above), name));
        let mut at = &mut root;
        for part in above.into_iter().flat_map(|above| above.split('/')) {
            match at.entry(part).or_insert_with(|| Node::Folder(Folder::new())) {
                Node::Folder(next) => at = next,
                Node::Edit(_) => return Err(refused(path, "the folder it lies in is changed as a file")),
            }
        }
        if at.insert(name, Node::Edit(edit)).is_some() {
            return Err(refused(path, "it is changed twice"));
        }
    }
    Ok(root)
}

struct Work<'a> {
    repository: &'a Repository,
    store: Odb<'a>,
    limits: &'a Limits,
}

impl Work<'_> {
    /// The folder's new tree; none when it holds nothing any more.
    fn folder(&self, prefix: &str, old: Option<Oid>, edits: &Folder<'_>) -> Result<Option<Oid>, Error> {
        let old = old.map_or_else(|| Ok(Vec::new()), |oid| tree::entries(self.repository, oid, self.limits))?;
        let mut items: BTreeMap<Vec<u8>, Entry> = BTreeMap::new();
        for (name, entry) in old {
            if items.insert(name.clone(), entry).is_some() {
                let path = format!("{prefix}{}", tree::show(&name));
                return Err(refused(&path, "its folder holds this name twice"));
            }
        }
        let mut added = Vec::new();
        for (name, node) in edits {
            let path = format!("{prefix}{name}");
            let known = items.get(name.as_bytes()).copied();
            let entry = match node {
                Node::Folder(below) => self.below(&path, known, below)?,
                Node::Edit(edit) => self.edit(&path, known, edit)?,
            };
            match entry {
                Some(entry) => {
                    items.insert(name.as_bytes().to_vec(), entry);
                    if known.is_none() {
                        added.push(*name);
                    }
                }
                None => {
                    items.remove(name.as_bytes());
                }
            }
        }
        refuse_twins(prefix, &items, &added)?;
        if items.is_empty() {
            return Ok(None);
        }
        self.write(ObjectType::Tree, &tree::encode(items.into_iter().collect())).map(Some)
    }

    fn below(&self, path: &str, known: Option<Entry>, edits: &Folder<'_>) -> Result<Option<Entry>, Error> {
        match known {
            Some(entry) if entry.is_link() => return Err(refused(path, "it is a symbolic link, not a folder")),
            Some(entry) if entry.is_submodule() => return Err(refused(path, "it is a submodule")),
            Some(entry) if !entry.is_tree() => return Err(refused(path, "it is a file, not a folder")),
            Some(_) | None => {}
        }
        let oid = self.folder(&format!("{path}/"), known.map(|entry| entry.oid), edits)?;
        let mode = known.map_or(MODE_TREE, |entry| entry.mode);
        Ok(oid.map(|oid| Entry { oid, mode }))
    }

    fn edit(&self, path: &str, known: Option<Entry>, edit: &Edit) -> Result<Option<Entry>, Error> {
        match known {
            Some(entry) if entry.is_tree() => return Err(refused(path, "it is a folder")),
            Some(entry) if entry.is_link() => return Err(refused(path, "it is a symbolic link")),
            Some(entry) if entry.is_submodule() => return Err(refused(path, "it is a submodule")),
            Some(entry) if !entry.is_file() => return Err(refused(path, "it is not a regular file")),
            Some(_) | None => {}
        }
        match edit {
            Edit::Delete { .. } if known.is_none() => Err(refused(path, "there is no such file")),
            Edit::Delete { .. } => Ok(None),
            Edit::Write { text, executable, .. } => {
                let mode = match (executable, known) {
                    (Some(true), Some(entry)) if entry.is_executable() => entry.mode,
                    (Some(false), Some(entry)) if !entry.is_executable() => entry.mode,
                    (None, Some(entry)) => entry.mode,
                    (Some(true), _) => MODE_EXECUTABLE,
                    (Some(false) | None, _) => MODE_FILE,
                };
                Ok(Some(Entry { oid: self.write(ObjectType::Blob, text)?, mode }))
            }
        }
    }

    fn write(&self, kind: ObjectType, bytes: &[u8]) -> Result<Oid, Error> {
        self.store.write(kind, bytes).doing("writing to the object store")
    }
}

/// Two names that differ only by case are one file on many machines.
fn refuse_twins(prefix: &str, items: &BTreeMap<Vec<u8>, Entry>, added: &[&str]) -> Result<(), Error> {
    if added.is_empty() {
        return Ok(());
    }
    let lower = |name: &[u8]| String::from_utf8_lossy(name).to_lowercase();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for name in items.keys() {
        *counts.entry(lower(name)).or_default() += 1;
    }
    match added.iter().find(|name| counts.get(&lower(name.as_bytes())).is_some_and(|count| *count > 1)) {
        Some(name) => Err(refused(&format!("{prefix}{name}"), "another name there differs from it only by case")),
        None => Ok(()),
    }
}

/// A commit object. The same arguments give the same id.
pub(super) fn commit(
    repository: &Repository,
    tree: Oid,
    parent: Oid,
    message: &str,
    author: &Identity,
    at: Millis,
) -> Result<Oid, Error> {
    const MILLIS: i64 = 1_000;
    const MESSAGE_BYTES: usize = 64 << 10;
    let (name, email) = (plain(&author.name), plain(&author.email));
    if name.is_empty() || email.is_empty() {
        return Err(Error::Unsupported("a commit needs its author's name and email address"));
    }
    let message = clean(message);
    if message.is_empty() {
        return Err(Error::Unsupported("a commit needs a message"));
    }
    if message.len() > MESSAGE_BYTES {
        return Err(Error::TooLarge { what: "the commit's message", limit: binary_size(MESSAGE_BYTES as u64) });
    }
    let who = format!("{name} <{email}> {} +0000", at.max(0) / MILLIS);
    let text = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{message}\n");
    let store = repository.odb().doing("opening the object store")?;
    store.write(ObjectType::Commit, text.as_bytes()).doing("writing the commit")
}

/// A name or address as git takes it: on one line, without what delimits it.
fn plain(text: &str) -> String {
    const CRUD: [char; 9] = ['.', ',', ':', ';', '"', '\'', '\\', ' ', '\t'];
    let kept: String = text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    kept.trim_matches(CRUD).to_owned()
}

/// Without control characters, blanks at line ends, and empty lines before and after.
fn clean(message: &str) -> String {
    let lines = message.lines().map(|line| {
        let kept: String = line.chars().filter(|c| *c == '\t' || !c.is_control()).collect();
        kept.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned()
}

fn refused(path: &str, why: &str) -> Error {
    Error::Refused { path: tree::show(path.as_bytes()), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{clean, plain};

    #[test]
    fn an_identity_stays_on_its_line() {
        assert_eq!(plain("A <a@b>\nparent x"), "A a@bparent x");
        assert_eq!(plain("octoswarm[bot]"), "octoswarm[bot]");
        assert_eq!(plain(" \"Ada\" "), "Ada");
        assert_eq!(plain("1+o[bot]@users.noreply.example.test"), "1+o[bot]@users.noreply.example.test");
        assert_eq!(plain("<>\n"), "");
    }

    #[test]
    fn a_message_is_text() {
        assert_eq!(clean("\n\nTitle\r\n\r\nBody \x1b[31m\n\tcode\n\n"), "Title\n\nBody [31m\n\tcode");
        assert_eq!(clean("\0\n"), "");
    }
}
