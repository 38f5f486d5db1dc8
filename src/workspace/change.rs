//! Two trees in one object database, and the questions a review asks of them.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use git2::{ObjectType, Oid, Repository};
use tokio::sync::OnceCell;

use super::ancestry::Point;
use super::attributes::{Attributes, Rules};
use super::base::Tree;
use super::diff::{self, Diff};
use super::error::{Doing, Error};
use super::git::{self, blocking};
use super::limits::Limits;
use super::tree::{self, Entry};
use crate::domain::Sha;
use crate::stdx::scratch::Scratch;
use crate::stdx::text::binary_size;

/// A change under review. A clone is another handle on the same two trees.
#[derive(Debug, Clone)]
pub struct Change {
    /// The merge base: what the head is compared with.
    pub base: Sha,
    /// The head commit. With `work_tree`, the commit below the work tree, whose own content differs from it.
    pub head: Sha,
    /// The new side is not a commit but the work tree as it was found.
    pub work_tree: bool,
    /// The new side's tree id: equal ids are equal content.
    pub tree: Sha,
    pub(super) inner: Arc<Inner>,
}

/// One side of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    Text(String),
    /// No file of this path there.
    Absent,
    /// It is there; why it was not read.
    NotRead(String),
}

/// Where the objects are.
#[derive(Debug, Clone)]
pub(super) struct Store {
    /// A bare repository of ours.
    pub(super) git_dir: PathBuf,
    /// Folders of somebody else's objects, only read.
    pub(super) borrowed: Vec<PathBuf>,
    /// The scratch store's folder, removed with the last handle.
    pub(super) _scratch: Option<Arc<Scratch>>,
    /// Blobs that are in no store, since their files could not be taken in, and why.
    pub(super) unread: HashMap<Oid, String>,
    /// For a mirror: where to leave word that it is damaged, for whoever may, and the sign that it is in use.
    pub(super) mirror: Option<(Option<PathBuf>, Arc<()>)>,
}

pub(super) struct Inner {
    pub(super) store: Store,
    pub(super) base_tree: Oid,
    pub(super) head_tree: Oid,
    /// The folder that the change is limited to; empty for all.
    pub(super) within: String,
    pub(super) limits: Limits,
    /// A libgit2 repository serves one thread at a time; idle ones wait here.
    idle: Mutex<Vec<Repository>>,
    paths: OnceCell<Arc<HashSet<String>>>,
    /// Every regular file of the head, by path.
    files: std::sync::OnceLock<Vec<(String, Entry)>>,
    rules: Mutex<HashMap<String, Arc<Rules>>>,
}

impl Change {
    pub(super) fn new(
        store: Store,
        base: Point,
        head: Point,
        work_tree: bool,
        within: String,
        limits: Limits,
    ) -> Result<Self, Error> {
        let inner = Inner {
            store,
            base_tree: base.tree,
            head_tree: head.tree,
            within,
            limits,
            idle: Mutex::default(),
            paths: OnceCell::new(),
            files: std::sync::OnceLock::new(),
            rules: Mutex::default(),
        };
        let tree = git::sha(head.tree)?;
        Ok(Self { base: git::sha(base.commit)?, head: git::sha(head.commit)?, work_tree, tree, inner: Arc::new(inner) })
    }

    /// The changed files with their hunks.
    pub async fn diff(&self) -> Result<Diff, Error> {
        self.ask(diff::compute).await
    }

    /// A file as the head has it.
    pub async fn new_side(&self, path: &str) -> Result<Side, Error> {
        let path = path.to_owned();
        self.ask(move |repository, inner| inner.side(repository, inner.head_tree, &path)).await
    }

    /// A file as the merge base has it.
    pub async fn old_side(&self, path: &str) -> Result<Side, Error> {
        let path = path.to_owned();
        self.ask(move |repository, inner| inner.side(repository, inner.base_tree, &path)).await
    }

    /// Every path of the head, folders too. A tree beyond the limits is an error: treat "is it there?" as unknown then.
    pub async fn new_paths(&self) -> Result<Arc<HashSet<String>>, Error> {
        let walk = || async {
            self.ask(|repository, inner| tree::paths(repository, inner.head_tree, &inner.limits)).await.map(Arc::new)
        };
        self.inner.paths.get_or_try_init(walk).await.cloned()
    }

    /// Whether `.gitattributes` of the head marks the file `linguist-generated`, `-diff` or `binary`.
    pub async fn is_generated(&self, path: &str) -> Result<bool, Error> {
        let path = path.to_owned();
        self.ask(move |repository, inner| {
            let found = inner.attributes(repository, &path)?;
            Ok(found.generated || found.binary)
        })
        .await
    }

    /// The new side alone, to write on it.
    pub fn head_tree(&self) -> Tree {
        Tree(self.clone())
    }

    /// The old side alone: the merge base as it is, for what must not come from the change.
    ///
    /// # Errors
    /// Its object ids are damaged.
    pub fn base_tree(&self) -> Result<Tree, Error> {
        let inner = &self.inner;
        let base = Point { commit: git::oid(&self.base)?, tree: inner.base_tree };
        Self::new(inner.store.clone(), base, base, false, inner.within.clone(), inner.limits.clone()).map(Tree)
    }

    /// From this new side to another tree in the same store.
    pub(super) fn onward(&self, tree: Oid) -> Result<Self, Error> {
        let (inner, commit) = (&self.inner, git::oid(&self.head)?);
        let (old, new) = (Point { commit, tree: inner.head_tree }, Point { commit, tree });
        Self::new(inner.store.clone(), old, new, self.work_tree, inner.within.clone(), inner.limits.clone())
    }

    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Repository, &Inner) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let inner = Arc::clone(&self.inner);
        blocking(move || inner.with(|repository| question(repository, &inner))).await
    }
}

impl Inner {
    fn with<T>(&self, question: impl FnOnce(&Repository) -> Result<T, Error>) -> Result<T, Error> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let answer = match idle.map_or_else(|| self.store.open(), Ok) {
            Ok(repository) => {
                let answer = question(&repository);
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(repository);
                answer
            }
            Err(error) => Err(error),
        };
        answer.inspect_err(|error| {
            if let Some((Some(damaged), _)) = self.store.mirror.as_ref().filter(|_| error.blames_the_disk()) {
                // The next pull starts the mirror anew; failing to say so only delays that.
                let _ = crate::stdx::file::write_atomic(damaged, error.to_string().as_bytes());
            }
        })
    }

    fn is_mirror(&self) -> bool {
        self.store.mirror.is_some()
    }

    fn side(&self, repository: &Repository, root: Oid, path: &str) -> Result<Side, Error> {
        let Some(entry) = tree::lookup(repository, root, path, &self.limits)? else { return Ok(Side::Absent) };
        if entry.is_tree() {
            return Ok(Side::Absent);
        }
        let reason = match entry {
            Entry { .. } if entry.is_link() => "symbolic link",
            Entry { .. } if entry.is_submodule() => "submodule",
            Entry { oid, .. } => return self.blob(repository, oid),
        };
        Ok(Side::NotRead(reason.to_owned()))
    }

    pub(super) fn blob(&self, repository: &Repository, oid: Oid) -> Result<Side, Error> {
        Ok(match self.blob_size(repository, oid)? {
            None => Side::NotRead(self.missing(oid)),
            Some(bytes) if bytes > self.limits.file_bytes => {
                Side::NotRead(format!("larger than {}", binary_size(self.limits.file_bytes)))
            }
            Some(_) => Side::of(repository.find_blob(oid).doing("reading a file")?.content().to_vec()),
        })
    }

    /// Every regular file of the head, sorted by path; walked once.
    pub(super) fn files(&self, repository: &Repository) -> Result<&[(String, Entry)], Error> {
        if let Some(known) = self.files.get() {
            return Ok(known);
        }
        let found = tree::files(repository, self.head_tree, &self.limits)?;
        Ok(self.files.get_or_init(|| found))
    }

    /// Why a blob that its tree names is in no store. In a mirror that is damage, not a reason.
    pub(super) fn missing(&self, oid: Oid) -> String {
        let known = self.store.unread.get(&oid).cloned();
        known.unwrap_or_else(|| "its content is not in this clone".to_owned())
    }

    /// From the header, before a byte of the content is unpacked; none if the blob is missing.
    pub(super) fn blob_size(&self, repository: &Repository, oid: Oid) -> Result<Option<u64>, Error> {
        match git::header(repository, oid) {
            Ok((bytes, ObjectType::Blob)) => Ok(Some(bytes)),
            Ok(_) => Err(Error::Unsupported("an object that should be a file is none")),
            Err(error) if error.code() == git2::ErrorCode::NotFound && !self.is_mirror() => Ok(None),
            Err(source) => Err(Error::Git { doing: "reading a file's header", source }),
        }
    }

    /// The root's rules first, the nearest folder's last.
    pub(super) fn attributes(&self, repository: &Repository, path: &str) -> Result<Attributes, Error> {
        let mut found = Attributes::default();
        self.rules(repository, "")?.apply(path, &mut found);
        for (slash, _) in path.match_indices('/').take(self.limits.depth) {
            self.rules(repository, &path[..slash])?.apply(&path[slash + 1..], &mut found);
        }
        Ok(found)
    }

    fn rules(&self, repository: &Repository, folder: &str) -> Result<Arc<Rules>, Error> {
        if let Some(known) = self.rules.lock().unwrap_or_else(PoisonError::into_inner).get(folder) {
            return Ok(Arc::clone(known));
        }
        let path = if folder.is_empty() { ".gitattributes".to_owned() } else { format!("{folder}/.gitattributes") };
        let rules = match self.side(repository, self.head_tree, &path)? {
            Side::Text(text) => Arc::new(Rules::parse(&text)),
            Side::Absent | Side::NotRead(_) => Arc::default(),
        };
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned(), Arc::clone(&rules));
        Ok(rules)
    }
}

impl Store {
    pub(super) fn open(&self) -> Result<Repository, Error> {
        let repository = git::open_own(&self.git_dir)?;
        for dir in &self.borrowed {
            let text = dir.to_str().ok_or(Error::Unsupported("the repository's path is not UTF-8"))?;
            let odb = repository.odb().doing("opening the object database")?;
            odb.add_disk_alternate(text).doing("opening the repository's objects")?;
        }
        Ok(repository)
    }
}

impl Side {
    /// Text, or why it is none.
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        const LFS: &[u8] = b"version https://git-lfs.github.com/spec/";
        /// A pointer is a few short lines; a longer file only quotes one.
        const LFS_MOST: usize = 1024;
        if bytes.len() < LFS_MOST && bytes.starts_with(LFS) {
            return Self::NotRead("Git LFS pointer".to_owned());
        }
        if is_binary(&bytes) {
            return Self::NotRead("binary".to_owned());
        }
        String::from_utf8(bytes).map_or_else(|_| Self::NotRead("not UTF-8".to_owned()), Self::Text)
    }
}

/// Git's own test: a NUL byte near the beginning.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    const LOOKED_AT: usize = 8_000;
    bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0)
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("store", &self.store).finish_non_exhaustive()
    }
}
