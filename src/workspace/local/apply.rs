//! Edits onto the files of a work tree: all of them, or none.

use std::io;
use std::path::{Path, PathBuf};

use git2::Repository;

use super::super::base::Tree;
use super::super::build;
use super::super::change::Inner;
use super::super::edit::Edit;
use super::super::error::{AtPath, Doing, Error};
use super::super::snapshot::clean;
use super::super::tree::{self, Entry};
use super::super::worktree::{Slot, Staged, WorkTree};
use crate::stdx::nofollow::Found;
use crate::stdx::text::binary_size;

/// Writes the edits to the work tree around a path. `tree` is what they were made from, paths count from its root.
///
/// Everything is looked at first: each file still has to be as the tree has it, a new one must not exist, and no link may
/// stand on the way. Then each file is written beside its place and moved there in one step, with the old one's
/// permissions; where that fails, what was done is undone. New folders are made, emptied ones stay. Index, `HEAD` and refs
/// are not touched. Files that git would keep with other line endings than the work tree keep those of the work tree.
///
/// # Errors
/// `Refused` as for `Tree::with`, or for a link on the way; `FileChanged` names the first file that is not as it was read;
/// `Bare`; else the disk's.
pub async fn apply(path: &Path, tree: &Tree, edits: &[Edit]) -> Result<(), Error> {
    let (path, edits) = (path.to_owned(), edits.to_vec());
    let work = move |ours: &Repository, inner: &Inner| {
        let (theirs, path) = super::open(&path)?;
        let root = super::root(&theirs, &path).ok_or_else(|| Error::Bare { path: path.clone() })?;
        // Made for its checks alone.
        build::with(ours, inner.head_tree, &edits, &inner.limits)?;
        let plan = Plan { ours, theirs: &theirs, inner, root };
        plan.run(&edits, &|_| Ok(()))
    };
    tree.0.ask(work).await
}

struct Plan<'a> {
    ours: &'a Repository,
    theirs: &'a Repository,
    inner: &'a Inner,
    root: PathBuf,
}

/// One file, looked at and ready to be changed.
struct Ready<'a> {
    path: &'a str,
    /// What is there now.
    old: Found,
    slot: Slot,
    /// The new content beside its place; none to delete.
    new: Option<Staged>,
}

/// Called before the change of that number; tests let it fail.
type Before<'a> = &'a dyn Fn(usize) -> io::Result<()>;

impl Plan<'_> {
    fn run(&self, edits: &[Edit], before: Before<'_>) -> Result<(), Error> {
        let work_tree = WorkTree::open(&self.root).at(&self.root)?;
        let mut looked = Vec::new();
        for edit in edits {
            looked.push((edit, self.look(&work_tree, edit)?));
        }
        let mut folders = Vec::new();
        let done = self.change(&work_tree, looked, &mut folders, before);
        if done.is_err() {
            // In the order they were made, outer before inner: so backwards.
            folders.into_iter().rev().for_each(Slot::remove_folder);
        }
        done
    }

    /// What is on disk, if it is what the tree says.
    fn look(&self, work_tree: &WorkTree, edit: &Edit) -> Result<(Found, Vec<u8>), Error> {
        let path = edit.path();
        let changed = || Error::FileChanged { path: path.to_owned() };
        let entry = tree::lookup(self.ours, self.inner.head_tree, path, &self.inner.limits)?;
        let found = work_tree.read(Path::new(path), self.inner.limits.file_bytes).at(path)?;
        let text = match edit {
            Edit::Write { text, .. } => text.clone(),
            Edit::Delete { .. } => Vec::new(),
        };
        match (entry, &found) {
            (None, Found::Missing) => Ok((found, text)),
            (Some(entry), Found::File { bytes, .. }) => {
                let stored = self.stored(entry)?;
                if *bytes == stored {
                    return Ok((found, text));
                }
                if clean(self.theirs, path.as_bytes(), Some(entry), bytes.clone()) == stored {
                    return Ok((found, with_returns(&text)));
                }
                Err(changed())
            }
            (_, Found::Other) if work_tree.has_link(Path::new(path)) => {
                let why = "a symbolic link stands on its way".to_owned();
                Err(Error::Refused { path: path.to_owned(), why })
            }
            _ => Err(changed()),
        }
    }

    fn stored(&self, entry: Entry) -> Result<Vec<u8>, Error> {
        match self.inner.blob_size(self.ours, entry.oid)? {
            Some(bytes) if bytes <= self.inner.limits.file_bytes => {
                Ok(self.ours.find_blob(entry.oid).doing("reading a file")?.content().to_vec())
            }
            _ => Err(Error::TooLarge { what: "a file to change", limit: binary_size(self.inner.limits.file_bytes) }),
        }
    }

    fn change(
        &self,
        work_tree: &WorkTree,
        looked: Vec<(&Edit, (Found, Vec<u8>))>,
        folders: &mut Vec<Slot>,
        before: Before<'_>,
    ) -> Result<(), Error> {
        let mut ready = Vec::new();
        for (edit, (old, text)) in looked {
            let path = edit.path();
            let slot = work_tree.slot(Path::new(path), folders).at(path)?;
            let new = match edit {
                Edit::Write { executable, .. } => Some(slot.stage(&text, *executable).at(path)?),
                Edit::Delete { .. } => None,
            };
            ready.push(Ready { path, old, slot, new });
        }
        for number in 0..ready.len() {
            let failed = before(number).at(ready[number].path).and_then(|()| self.one(&mut ready[number])).err();
            if let Some(error) = failed {
                for done in ready[..number].iter().rev() {
                    // What cannot be put back is left as it was meant to be; the error tells that something failed.
                    if let Err(error) = done.slot.put_back(&done.old) {
                        tracing::error!(path = done.path, %error, "a file could not be put back as it was");
                    }
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Looks once more, then changes the file in one step.
    fn one(&self, ready: &mut Ready<'_>) -> Result<(), Error> {
        if ready.slot.read(self.inner.limits.file_bytes).at(ready.path)? != ready.old {
            return Err(Error::FileChanged { path: ready.path.to_owned() });
        }
        match ready.new.take() {
            Some(staged) => staged.move_to(&ready.slot).at(ready.path),
            None => ready.slot.remove().at(ready.path),
        }
    }
}

fn with_returns(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 16);
    for (index, byte) in text.iter().enumerate() {
        if *byte == b'\n' && (index == 0 || text[index - 1] != b'\r') {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Names and contents below a folder, `.git` apart.
    fn files(root: &Path) -> Vec<(String, Vec<u8>, u32)> {
        let mut found = Vec::new();
        let mut todo = vec![root.to_owned()];
        while let Some(folder) = todo.pop() {
            for item in fs::read_dir(folder).unwrap() {
                let path = item.unwrap().path();
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
                match path.is_dir() {
                    _ if name == ".git" => {}
                    true => {
                        found.push((format!("{name}/"), Vec::new(), mode));
                        todo.push(path);
                    }
                    false => found.push((name, fs::read(&path).unwrap(), mode)),
                }
            }
        }
        found.sort();
        found
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its files")]
    async fn wherever_it_fails_everything_is_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let repository = Repository::init(dir.path()).unwrap();
        fs::write(dir.path().join("edited"), "old\n").unwrap();
        fs::write(dir.path().join("removed"), "old\n").unwrap();
        fs::set_permissions(dir.path().join("removed"), fs::Permissions::from_mode(0o640)).unwrap();
        let mut index = repository.index().unwrap();
        index.add_all(["*"], git2::IndexAddOption::DEFAULT, None).unwrap();
        let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
        let who = git2::Signature::now("A", "a@example.test").unwrap();
        repository.commit(Some("HEAD"), &who, &who, "x", &tree, &[]).unwrap();
        index.write().unwrap();
        let write = |path: &str| Edit::Write { path: path.to_owned(), text: b"new\n".to_vec(), executable: None };
        let edits =
            [write("edited"), Edit::Delete { path: "removed".to_owned() }, write("deep/er/made"), write("made")];
        let before = files(dir.path());
        let tree = super::super::tree(dir.path()).await.unwrap();
        for stop in 0..=edits.len() {
            let (root, edits) = (dir.path().to_owned(), edits.clone());
            let work = move |ours: &Repository, inner: &Inner| {
                let (theirs, _) = super::super::open(&root)?;
                let plan = Plan { ours, theirs: &theirs, inner, root };
                plan.run(&edits, &|at| if at == stop { Err(io::Error::other("pulled")) } else { Ok(()) })
            };
            let done = tree.0.ask(work).await;
            if stop < 4 {
                assert!(matches!(done.unwrap_err(), Error::Io { .. }), "{stop}");
                assert_eq!(files(dir.path()), before, "{stop}");
            } else {
                done.unwrap();
                let names: Vec<_> = files(dir.path()).into_iter().map(|(name, ..)| name).collect();
                assert_eq!(names, ["deep/", "deep/er/", "deep/er/made", "edited", "made"]);
            }
        }
    }
}
