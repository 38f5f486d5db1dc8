//! A change in any repository on this machine, without GitHub: two commits, or a commit and the work tree.
//!
//! Two functions write to it, and nothing else of the room: `create_branch` adds objects and one new branch, `apply` writes files of the work tree.

mod apply;
mod branch;

pub use apply::apply;
pub use branch::{create_branch, identity};

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use git2::{BranchType, ErrorCode, Oid, Repository};

use super::ancestry::{Point, commit_tree, merge_base};
use super::base::Tree;
use super::change::{Change, Side, Store};
use super::error::{AtPath, Error};
use super::git::{self, blocking};
use super::limits::Limits;
use super::snapshot;
use crate::stdx::nofollow::Folder;
use crate::stdx::scratch::{self, Scratch};
use crate::stdx::text::edits;

/// What the folders of scratch stores are called, in the temporary directory.
const SCRATCH: &str = "octoswarm-objects-";
/// Once in a process's life is enough.
static SWEPT: Once = Once::new();

/// The change from the merge base of `base` and `head` to `head`, limited to `path` if that lies below the repository's root.
///
/// Without `head`: the work tree, with what is staged, unstaged and untracked but not ignored.
/// Without `base`: the default branch (`origin/HEAD`, else `main` or `master`); on that branch itself its upstream, else `HEAD`.
/// Nothing is written to the repository: a scratch store beside it holds what the work tree adds.
pub async fn change(path: &Path, base: Option<&str>, head: Option<&str>) -> Result<Change, Error> {
    change_limited(path, base, head, Limits::default()).await
}

/// The same, with limits of the caller's.
pub async fn change_limited(
    path: &Path,
    base: Option<&str>,
    head: Option<&str>,
    limits: Limits,
) -> Result<Change, Error> {
    let path = path.to_owned();
    let (base, head) = (base.map(str::to_owned), head.map(str::to_owned));
    blocking(move || read(&path, base.as_deref(), head.as_deref(), limits)).await
}

/// The whole work tree as it is, with what is staged, unstaged and untracked but not ignored; `HEAD`'s tree if nothing of
/// that differs. Paths count from the repository's root, also for a path below it.
///
/// # Errors
/// When the path is in no repository, or in one without a work tree or without a commit.
pub async fn tree(path: &Path) -> Result<Tree, Error> {
    let path = path.to_owned();
    blocking(move || one_side(&path, true)).await
}

/// The tree of `HEAD`, whatever the work tree holds; of a bare repository too.
///
/// # Errors
/// When the path is in no repository, or in one without a commit.
pub async fn head_tree(path: &Path) -> Result<Tree, Error> {
    let path = path.to_owned();
    blocking(move || one_side(&path, false)).await
}

fn one_side(path: &Path, work_tree: bool) -> Result<Tree, Error> {
    let (repository, path) = open(path)?;
    let root = root(&repository, &path);
    if work_tree && root.is_none() {
        return Err(Error::Bare { path });
    }
    let commit = head_commit(&repository, &path)?;
    let base = Point { commit, tree: commit_tree(&repository, commit)? };
    let limits = Limits::default();
    let (store, tree) = store(&repository, work_tree.then_some(""), &limits)?;
    let head = Point { commit, tree: tree.unwrap_or(base.tree) };
    Change::new(store, base, head, work_tree, String::new(), limits).map(Tree)
}

/// What a change is compared with when nobody names it: `main`, `origin/main`, …; `HEAD` where there is nothing else.
///
/// # Errors
/// When the path is in no repository, or in one without a commit.
pub async fn default_base(path: &Path) -> Result<String, Error> {
    let path = path.to_owned();
    blocking(move || {
        let (repository, path) = open(&path)?;
        Ok(usual_base(&repository, head_commit(&repository, &path)?).0)
    })
    .await
}

/// The branch that work starts from, as its name says it: what `origin` calls its own, else `main` or `master`, else the one
/// that is checked out.
pub fn default_branch(path: &Path) -> Option<String> {
    let (repository, _) = open(path).ok()?;
    let remote = repository.find_reference("refs/remotes/origin/HEAD").ok();
    let remote = remote.as_ref().and_then(|head| head.symbolic_target().ok().flatten());
    if let Some(name) = remote.and_then(|target| target.strip_prefix("refs/remotes/origin/")) {
        return Some(name.to_owned());
    }
    let usual = ["main", "master"].into_iter().find(|name| repository.find_branch(name, BranchType::Local).is_ok());
    let head = repository.head().ok();
    let current = || head.as_ref()?.name().ok()?.strip_prefix("refs/heads/").map(str::to_owned);
    usual.map(str::to_owned).or_else(current)
}

/// The root of the work tree around a path; none outside of repositories, and in a bare one.
pub fn work_tree(path: &Path) -> Option<PathBuf> {
    let (repository, path) = open(path).ok()?;
    root(&repository, &path)?.canonicalize().ok()
}

/// Where the parts of a repository lie; whole paths, without links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// None for a bare one.
    pub work_tree: Option<PathBuf>,
    /// Where its objects and references are, for all of its work trees.
    pub git_dir: PathBuf,
    /// The work tree is another one's (`git worktree add`), and the git folder itself says so: a `.git` file alone proves nothing.
    pub linked: bool,
}

/// The repository around a path.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn home(path: &Path) -> Result<Home, Error> {
    let (repository, path) = open(path)?;
    let work_tree = root(&repository, &path).map(|root| root.canonicalize().at(&root)).transpose()?;
    let git_dir = repository.commondir().canonicalize().at(repository.commondir())?;
    let own = repository.path().canonicalize().at(repository.path())?;
    let points_back = || {
        let named = std::fs::read_to_string(own.join("gitdir")).ok()?;
        Some(Path::new(named.trim_end()).canonicalize().ok()? == work_tree.as_ref()?.join(".git"))
    };
    let linked = own != git_dir && own.starts_with(&git_dir) && points_back().unwrap_or(false);
    Ok(Home { work_tree, git_dir, linked })
}

/// A file of a work tree as it is on the disk, by its path from the root; no link is followed.
pub fn file(root: &Path, path: &str) -> Side {
    match Folder::open(root) {
        Ok(folder) => folder.side(Path::new(path), Limits::default().file_bytes),
        Err(_) => Side::NotRead("it cannot be read".to_owned()),
    }
}

/// The repository around a path, and the path itself.
fn open(path: &Path) -> Result<(Repository, PathBuf), Error> {
    let path = path.canonicalize().map_err(|_| Error::NoSuchPath { path: path.to_owned() })?;
    let folder = if path.is_dir() { path.as_path() } else { path.parent().unwrap_or(&path) };
    Ok((git::open_theirs(folder)?, path))
}

/// The work tree's root. A git folder that does not say it is bare has a work tree only for those who come from there.
fn root(repository: &Repository, path: &Path) -> Option<PathBuf> {
    let inside_git = repository.path().canonicalize().is_ok_and(|git_dir| path.starts_with(git_dir));
    repository.workdir().filter(|_| !inside_git).map(Path::to_owned)
}

/// A scratch store over the repository's objects; with a folder of the work tree (empty for all of it), its tree in it.
fn store(repository: &Repository, within: Option<&str>, limits: &Limits) -> Result<(Store, Option<Oid>), Error> {
    SWEPT.call_once(|| {
        if let Err(error) = scratch::sweep(SCRATCH) {
            tracing::debug!("what killed processes left could not be looked for: {error}");
        }
    });
    let scratch = Scratch::new(SCRATCH).at(std::env::temp_dir())?;
    let git_dir = scratch.path().join("objects.git");
    git::init_own(&git_dir)?;
    let (mut tree, mut unread) = (None, HashMap::new());
    if let Some(within) = within {
        let (found, left_out) = snapshot::work_tree(repository, &git::open_own(&git_dir)?, within, limits)?;
        (tree, unread) = (Some(found), left_out);
    }
    let borrowed = git::object_dirs(repository);
    Ok((Store { git_dir, borrowed, _scratch: Some(Arc::new(scratch)), unread, mirror: None }, tree))
}

fn read(path: &Path, base: Option<&str>, head: Option<&str>, limits: Limits) -> Result<Change, Error> {
    let (repository, path) = open(path)?;
    let root = root(&repository, &path);
    if head.is_none() && root.is_none() {
        return Err(Error::Bare { path });
    }
    let within = root.map_or_else(|| Ok(String::new()), |root| within(&root, &path))?;
    let head_commit = match head {
        Some(revision) => resolve(&repository, revision)?,
        None => head_commit(&repository, &path)?,
    };
    let base_commit = match base {
        Some(revision) => resolve(&repository, revision)?,
        None => usual_base(&repository, head_commit).1,
    };
    let Some(merge_base) = merge_base(&repository, base_commit, head_commit)? else {
        return Err(Error::NoMergeBase {
            base: base.map_or_else(|| base_commit.to_string(), str::to_owned),
            head: head.unwrap_or("HEAD").to_owned(),
            shallow: repository.is_shallow(),
        });
    };
    let base_tree = commit_tree(&repository, merge_base)?;
    let (store, tree) = store(&repository, head.is_none().then_some(within.as_str()), &limits)?;
    let head_tree = tree.map_or_else(|| commit_tree(&repository, head_commit), Ok)?;
    Change::new(
        store,
        Point { commit: merge_base, tree: base_tree },
        Point { commit: head_commit, tree: head_tree },
        head.is_none(),
        within,
        limits,
    )
}

/// The path below the repository's root, `/`-separated; empty for the root itself.
fn within(root: &Path, path: &Path) -> Result<String, Error> {
    let root = root.canonicalize().at(root)?;
    let inside = path.strip_prefix(&root).map_err(|_| Error::NotARepository { path: path.to_owned() })?;
    inside.to_str().map(str::to_owned).ok_or(Error::Unsupported("the path is not UTF-8"))
}

fn head_commit(repository: &Repository, path: &Path) -> Result<Oid, Error> {
    let head = repository.head().and_then(|head| head.peel_to_commit());
    head.map(|commit| commit.id()).map_err(|source| match source.code() {
        ErrorCode::UnbornBranch | ErrorCode::NotFound => Error::Unborn { path: path.to_owned() },
        _ => Error::Git { doing: "reading HEAD", source },
    })
}

fn resolve(repository: &Repository, revision: &str) -> Result<Oid, Error> {
    let found = repository.revparse_single(revision).and_then(|object| object.peel_to_commit());
    found.map(|commit| commit.id()).map_err(|_| Error::UnknownRevision {
        revision: revision.to_owned(),
        nearest_names: nearest(repository, revision),
    })
}

/// The commit that a change is compared with, and what people call it.
fn usual_base(repository: &Repository, head: Oid) -> (String, Oid) {
    let at = |name: &str| repository.find_reference(name).and_then(|r| r.peel_to_commit()).map(|c| c.id()).ok();
    let short = |name: &str| {
        // `origin/HEAD` says nothing to people; the branch that it stands for does.
        let target = repository.find_reference(name).ok();
        let target = target.as_ref().and_then(|r| r.symbolic_target().ok().flatten()).unwrap_or(name);
        let prefixes = ["refs/remotes/", "refs/heads/"];
        prefixes.iter().find_map(|prefix| target.strip_prefix(prefix)).unwrap_or(target).to_owned()
    };
    let named = |name: &str| at(name).map(|commit| (short(name), commit));
    let remote = ["refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master"];
    if let Some(found) = remote.into_iter().find_map(named) {
        return found;
    }
    let current = repository.head().ok();
    let current = current.as_ref().and_then(|head| head.name().ok());
    let local = ["refs/heads/main", "refs/heads/master"].into_iter().find(|name| at(name).is_some());
    if let Some(found) = local.filter(|name| Some(*name) != current).and_then(named) {
        return found;
    }
    let upstream = current.and_then(|name| name.strip_prefix("refs/heads/")).and_then(|name| {
        let branch = repository.find_branch(name, BranchType::Local).and_then(|branch| branch.upstream()).ok()?;
        let name = branch.get().shorthand().ok()?.to_owned();
        branch.get().peel_to_commit().map(|commit| (name, commit.id())).ok()
    });
    upstream.unwrap_or_else(|| ("HEAD".to_owned(), head))
}

/// Names the reader may have meant: contained in one another, or a few letters apart.
fn nearest(repository: &Repository, revision: &str) -> Vec<String> {
    const SHOWN: usize = 3;
    let branches = repository.branches(None).into_iter().flatten().flatten();
    let branches = branches.filter_map(|(branch, _)| branch.name().ok().flatten().map(str::to_owned));
    let tags = repository.tag_names(None);
    let tags = tags.iter().flat_map(|tags| tags.iter()).flatten().flatten().map(str::to_owned);
    let mut near: Vec<(usize, String)> = branches
        .chain(tags)
        .filter_map(|name| {
            let distance = edits(&name, revision);
            let contained = !revision.is_empty() && (name.contains(revision) || revision.contains(&name));
            (contained || distance <= (revision.len() / 2).clamp(1, 3)).then_some((distance, name))
        })
        .collect();
    near.sort();
    near.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}
