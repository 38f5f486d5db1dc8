//! The repository as it is at one commit: what a change of ours starts from, and what it makes.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use super::build;
use super::change::{Change, Side};
use super::edit::Edit;
use super::error::{Doing, Error};
use super::git;
use super::tree;
use crate::domain::{Identity, Millis, Sha};
use crate::stdx::text::{binary_size, count};

/// One side, read from the object database. A clone is another handle on the same tree.
#[derive(Debug, Clone)]
pub struct Tree(pub(super) Change);

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    Regular,
    /// A regular file that may be run.
    Executable,
    /// A symbolic link.
    Link,
    Submodule,
    Folder,
}

/// One regular file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    pub path: String,
    /// Bytes; `u64::MAX` when its content is not here, so that no limit lets it pass.
    pub size: u64,
    /// `Regular` or `Executable`.
    pub kind: EntryKind,
}

/// One entry of a tree as git stores it.
#[derive(Debug)]
pub struct Exported<'a> {
    pub path: &'a str,
    /// `Regular`, `Executable` or `Link`.
    pub kind: EntryKind,
    /// The content; of a link what it says.
    pub bytes: &'a [u8],
}

/// How large a tree may be that is handed out whole.
#[derive(Debug, Clone, Copy)]
pub struct ExportLimits {
    pub files: usize,
    pub bytes: u64,
}

impl Tree {
    /// The commit. For a work tree that differs from its commit, and for a tree made by `with`: the commit below it.
    pub fn commit(&self) -> &Sha {
        &self.0.head
    }

    /// The tree id: equal ids are equal content.
    pub fn id(&self) -> &Sha {
        &self.0.tree
    }

    /// A file's text, or why it has none.
    ///
    /// # Errors
    /// When git cannot be read.
    pub async fn read(&self, path: &str) -> Result<Side, Error> {
        self.0.new_side(path).await
    }

    /// What stands at a path; nothing at one that leads elsewhere.
    ///
    /// # Errors
    /// When git cannot be read.
    pub async fn entry(&self, path: &str) -> Result<Option<EntryKind>, Error> {
        let path = path.to_owned();
        let look = move |repository: &_, inner: &super::change::Inner| {
            tree::lookup(repository, inner.head_tree, &path, &inner.limits)
        };
        Ok(self.0.ask(look).await?.and_then(EntryKind::of))
    }

    /// Every path, folders too. A tree beyond the limits is an error.
    ///
    /// # Errors
    /// When git cannot be read, or there is too much of it.
    pub async fn paths(&self) -> Result<Arc<HashSet<String>>, Error> {
        self.0.new_paths().await
    }

    /// Every regular file with its size, in order of path. A tree beyond the limits is an error.
    ///
    /// # Errors
    /// When git cannot be read, or there is too much of it.
    pub async fn files(&self) -> Result<Vec<FileEntry>, Error> {
        self.0
            .ask(|repository, inner| {
                let sized = inner.files(repository)?.iter().map(|(path, entry)| {
                    let size = inner.blob_size(repository, entry.oid)?.unwrap_or(u64::MAX);
                    let kind = if entry.is_executable() { EntryKind::Executable } else { EntryKind::Regular };
                    Ok(FileEntry { path: path.clone(), size, kind })
                });
                sized.collect()
            })
            .await
    }

    /// Many files at once, in the order of the paths: far quicker than one by one, since no folder is looked up again.
    /// A file that `.gitattributes` marks as generated is not read.
    ///
    /// # Errors
    /// When git cannot be read.
    pub async fn texts(&self, paths: Vec<String>) -> Result<Vec<(String, Side)>, Error> {
        self.0
            .ask(move |repository, inner| {
                let files = inner.files(repository)?;
                let read = paths.into_iter().map(|path| {
                    let Ok(at) = files.binary_search_by(|(known, _)| known.as_str().cmp(&path)) else {
                        return Ok((path, Side::Absent));
                    };
                    let marked = inner.attributes(repository, &path)?;
                    let side = if marked.generated || marked.binary {
                        Side::NotRead("marked as generated in .gitattributes".to_owned())
                    } else {
                        inner.blob(repository, files[at].1.oid)?
                    };
                    Ok((path, side))
                });
                read.collect()
            })
            .await
    }

    /// Hands out everything that git would check out, byte by byte as it is stored: no filter, no submodule, nothing of git's own.
    /// Links come last, so that whoever writes what comes follows none. Returns how many files were handed out.
    ///
    /// # Errors
    /// When git cannot be read, the tree has more files or bytes than `most`, or `take` fails.
    pub async fn export(
        &self,
        most: ExportLimits,
        mut take: impl FnMut(Exported<'_>) -> io::Result<()> + Send + 'static,
    ) -> Result<usize, Error> {
        self.0
            .ask(move |repository, inner| {
                let (mut files, mut links) = (Vec::new(), Vec::new());
                tree::walk(repository, inner.head_tree, &inner.limits, |path, entry| {
                    if entry.is_file() {
                        files.push((path, entry));
                    } else if entry.is_link() {
                        links.push((path, entry));
                    }
                })?;
                let all = files.len() + links.len();
                if all > most.files {
                    return Err(Error::TooLarge { what: "the work tree", limit: count(most.files, "file") });
                }
                let mut left = most.bytes;
                for (path, entry) in files.iter().chain(&links) {
                    let size = inner.blob_size(repository, entry.oid)?;
                    let Some(size) = size else { return Err(Error::Unsupported("a file whose content is not here")) };
                    left = left
                        .checked_sub(size)
                        .ok_or_else(|| Error::TooLarge { what: "the work tree", limit: binary_size(most.bytes) })?;
                    let blob = repository.find_blob(entry.oid).doing("reading a file")?;
                    let what = match entry.is_link() {
                        true => EntryKind::Link,
                        false if entry.is_executable() => EntryKind::Executable,
                        false => EntryKind::Regular,
                    };
                    // Whoever takes it has failed, and nothing here: no word of damage is left for that.
                    if let Err(source) = take(Exported { path, kind: what, bytes: blob.content() }) {
                        return Ok(Err(Error::Io { path: path.into(), source }));
                    }
                }
                Ok(Ok(all))
            })
            .await?
    }

    /// Whether `.gitattributes` marks the file `linguist-generated`, `-diff` or `binary`.
    ///
    /// # Errors
    /// When git cannot be read.
    pub async fn is_generated(&self, path: &str) -> Result<bool, Error> {
        self.0.is_generated(path).await
    }

    /// The tree with all of the edits made, or none. It goes to our own object store: no ref, no file, nothing of the
    /// user's repository changes. Equal edits on equal trees give equal ids.
    ///
    /// # Errors
    /// `Refused` names the first path that may not be written, and why: it leads elsewhere, some system takes it for
    /// git's own folder, a link, submodule or file stands in its way, it is changed twice, or another file differs from
    /// it only by case. `TooLarge` beyond the limits. Else git's own errors.
    pub async fn with(&self, edits: &[Edit]) -> Result<Self, Error> {
        self.change(edits).await.map(|change| change.head_tree())
    }

    /// The change that the edits come to: from this tree to the one that [`Tree::with`] makes, both in our own object store.
    ///
    /// # Errors
    /// As [`Tree::with`].
    pub async fn change(&self, edits: &[Edit]) -> Result<Change, Error> {
        let edits = edits.to_vec();
        let make = move |repository: &_, inner: &super::change::Inner| {
            build::with(repository, inner.head_tree, &edits, &inner.limits)
        };
        let tree = self.0.ask(make).await?;
        self.0.onward(tree)
    }

    /// Writes a commit of this tree with one parent, which need not be here, to our own object store. No ref names it.
    /// The time counts in whole seconds, in UTC; the same arguments give the same commit.
    ///
    /// # Errors
    /// When the message or the author's name is empty or too long, or git cannot be written.
    pub async fn commit_on(&self, parent: &Sha, message: &str, author: &Identity, at: Millis) -> Result<Sha, Error> {
        let parent = git::oid(parent)?;
        let (message, author) = (message.to_owned(), author.clone());
        let make = move |repository: &_, inner: &super::change::Inner| {
            let oid = build::commit(repository, inner.head_tree, parent, &message, &author, at)?;
            git::sha(oid)
        };
        self.0.ask(make).await
    }
}

impl EntryKind {
    fn of(entry: tree::Entry) -> Option<Self> {
        match entry {
            _ if entry.is_tree() => Some(Self::Folder),
            _ if entry.is_link() => Some(Self::Link),
            _ if entry.is_submodule() => Some(Self::Submodule),
            _ if entry.is_executable() => Some(Self::Executable),
            _ if entry.is_file() => Some(Self::Regular),
            _ => None,
        }
    }
}
