//! Repositories on disk: bare, made and committed to with git2, as people would.
#![expect(clippy::disallowed_methods, reason = "the box keeps repositories of its own, apart from the workspace's")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use git2::{BranchType, ObjectType, Oid, Repository, Signature, Time};
use sha2::Digest;

/// A change to a tree: new content, or `None` to delete the file.
pub type Files = Vec<(String, Option<Vec<u8>>)>;

pub fn init(path: &Path, default_branch: &str) -> Result<Repository, git2::Error> {
    let git = Repository::init_bare(path)?;
    git.set_head(&format!("refs/heads/{default_branch}"))?;
    configure(&git)?;
    Ok(git)
}

/// What GitHub allows and refuses over the wire.
fn configure(git: &Repository) -> Result<(), git2::Error> {
    let mut config = git.config()?;
    config.set_bool("http.receivepack", true)?;
    config.set_bool("http.uploadpack", true)?;
    config.set_bool("uploadpack.allowAnySHA1InWant", true)?;
    config.set_bool("uploadpack.allowFilter", true)?;
    config.set_str("receive.hideRefs", "refs/pull")?;
    config.set_bool("receive.autogc", false)?;
    config.set_i32("gc.auto", 0)
}

pub fn open(path: &Path) -> Result<Repository, git2::Error> {
    Repository::open_bare(path)
}

/// A copy of every branch and of the objects behind them.
pub fn fork(from: &Path, to: &Path, default_branch: &str) -> Result<(), git2::Error> {
    let git = init(to, default_branch)?;
    pull_in(&git, from, "+refs/heads/*:refs/heads/*")
}

/// Brings objects and refs over from another repository on this disk.
pub fn pull_in(git: &Repository, from: &Path, refspec: &str) -> Result<(), git2::Error> {
    let mut remote = git.remote_anonymous(&from.to_string_lossy())?;
    remote.fetch(&[refspec], None, None)
}

/// Whether a tree can hold this path.
pub fn is_path(path: &str) -> bool {
    let odd = |part: &str| part.is_empty() || part == "." || part == ".." || part.eq_ignore_ascii_case(".git");
    !path.split('/').any(odd) && !path.contains('\0')
}

/// Commits `files` on top of `parent`. Nothing moves a ref here.
pub fn commit(
    git: &Repository,
    parent: Option<&str>,
    author: &str,
    message: &str,
    files: &Files,
    at: i64,
) -> Result<String, git2::Error> {
    let parent = parent.map(|sha| git.find_commit(Oid::from_str(sha)?)).transpose()?;
    let mut index = git2::Index::new()?;
    if let Some(parent) = &parent {
        index.read_tree(&parent.tree()?)?;
    }
    for (path, content) in files {
        match content {
            None => index.remove(Path::new(path), 0)?,
            Some(bytes) => {
                let id = git.blob(bytes)?;
                let mode = index.get_path(Path::new(path), 0).map_or(0o100_644, |entry| entry.mode);
                index.add(&index_entry(path, id, mode))?;
            }
        }
    }
    let tree = git.find_tree(index.write_tree_to(git)?)?;
    let who = Signature::new(author, &format!("{author}@users.noreply.github.com"), &Time::new(at / 1000, 0))?;
    let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
    Ok(git.commit(None, &who, &who, message, &tree, &parents)?.to_string())
}

pub fn index_entry(path: &str, id: Oid, mode: u32) -> git2::IndexEntry {
    git2::IndexEntry {
        ctime: git2::IndexTime::new(0, 0),
        mtime: git2::IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

/// A commit of author and committer; a signed one carries a signature that only the box takes for one.
pub fn write_commit(
    git: &Repository,
    (author, committer): (&Signature<'_>, &Signature<'_>),
    message: &str,
    tree: &git2::Tree<'_>,
    parents: &[&git2::Commit<'_>],
    signed: bool,
) -> Result<String, git2::Error> {
    if !signed {
        return Ok(git.commit(None, author, committer, message, tree, parents)?.to_string());
    }
    let content = git.commit_create_buffer(author, committer, message, tree, parents)?;
    let text = String::from_utf8_lossy(&content).into_owned();
    let seal = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(text.as_bytes()));
    let signature = format!("-----BEGIN PGP SIGNATURE-----\n\n{seal}\n-----END PGP SIGNATURE-----\n");
    Ok(git.commit_signed(&text, &signature, Some("gpgsig"))?.to_string())
}

pub fn set_ref(git: &Repository, name: &str, sha: &str) -> Result<(), git2::Error> {
    git.reference(name, Oid::from_str(sha)?, true, "the box moved it").map(drop)
}

pub fn branch(git: &Repository, name: &str) -> Option<String> {
    git.find_branch(name, BranchType::Local).ok()?.get().target().map(|oid| oid.to_string())
}

pub fn branches(git: &Repository) -> Result<BTreeMap<String, String>, git2::Error> {
    let mut found = BTreeMap::new();
    for reference in git.references_glob("refs/heads/*")? {
        let reference = reference?;
        if let (Ok(name), Some(target)) = (reference.name(), reference.target()) {
            found.insert(name.trim_start_matches("refs/heads/").to_owned(), target.to_string());
        }
    }
    Ok(found)
}

/// Every commit that a ref points at.
pub fn tips(git: &Repository) -> Result<Vec<Oid>, git2::Error> {
    let mut found = Vec::new();
    for reference in git.references()? {
        if let Ok(commit) = reference?.peel_to_commit() {
            found.push(commit.id());
        }
    }
    Ok(found)
}

pub fn is_empty(git: &Repository) -> bool {
    branches(git).is_ok_and(|branches| branches.is_empty())
}

/// A repository beside `real` that sees its objects: what is unpacked into it leaves `real` alone.
pub fn quarantine(at: &Path, real: &Path) -> Result<Repository, git2::Error> {
    let git = Repository::init_bare(at)?;
    git.odb()?.add_disk_alternate(&real.join("objects").to_string_lossy())?;
    Ok(git)
}

/// A branch, a tag, `refs/…` or a commit id as a full commit id.
pub fn resolve(git: &Repository, name: &str) -> Option<String> {
    let object = [name.to_owned(), format!("refs/heads/{name}"), format!("refs/tags/{name}"), format!("refs/{name}")]
        .iter()
        .find_map(|spec| git.revparse_single(spec).ok())?;
    object.peel(ObjectType::Commit).ok().map(|commit| commit.id().to_string())
}

/// Commits that `head` has and `base` has not, the oldest first.
pub fn commits(git: &Repository, base: &str, head: &str) -> Result<Vec<String>, git2::Error> {
    let mut walk = git.revwalk()?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE)?;
    walk.push(Oid::from_str(head)?)?;
    walk.hide(Oid::from_str(base)?)?;
    walk.map(|oid| oid.map(|oid| oid.to_string())).collect()
}

pub fn merge_base(git: &Repository, one: &str, other: &str) -> Option<String> {
    git.merge_base(Oid::from_str(one).ok()?, Oid::from_str(other).ok()?).ok().map(|oid| oid.to_string())
}

/// The test merge of a pull request; `None` on a conflict.
pub fn test_merge(git: &Repository, base: &str, head: &str, at: i64) -> Result<Option<String>, git2::Error> {
    let (base, head) = (git.find_commit(Oid::from_str(base)?)?, git.find_commit(Oid::from_str(head)?)?);
    let mut index = git.merge_commits(&base, &head, None)?;
    if index.has_conflicts() {
        return Ok(None);
    }
    let tree = git.find_tree(index.write_tree_to(git)?)?;
    let who = Signature::new("GitHub", "noreply@github.com", &Time::new(at / 1000, 0))?;
    let message = format!("Merge {} into {}", head.id(), base.id());
    Ok(Some(git.commit(None, &who, &who, &message, &tree, &[&base, &head])?.to_string()))
}

/// Every file below a tree with its mode.
pub fn files(tree: &git2::Tree<'_>) -> Result<BTreeMap<String, i32>, git2::Error> {
    let mut found = BTreeMap::new();
    tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
        if entry.kind() != Some(ObjectType::Tree) {
            found.insert(format!("{folder}{}", String::from_utf8_lossy(entry.name_bytes())), entry.filemode());
        }
        git2::TreeWalkResult::Ok
    })?;
    Ok(found)
}

/// Paths that differ from the first parent, sorted.
pub fn changed_paths(git: &Repository, commit: &git2::Commit<'_>) -> Result<Vec<String>, git2::Error> {
    let parent = commit.parents().next().map(|parent| parent.tree()).transpose()?;
    let diff = git.diff_tree_to_tree(parent.as_ref(), Some(&commit.tree()?), None)?;
    let path = |delta: git2::DiffDelta<'_>| {
        delta.new_file().path().or_else(|| delta.old_file().path()).map(|path| path.to_string_lossy().into_owned())
    };
    let mut paths: Vec<String> = diff.deltas().filter_map(path).collect();
    paths.sort();
    Ok(paths)
}

pub fn read_file(git: &Repository, sha: &str, path: &str) -> Result<Vec<u8>, git2::Error> {
    let tree = git.find_commit(Oid::from_str(sha)?)?.tree()?;
    let entry = tree.get_path(Path::new(path))?;
    Ok(git.find_blob(entry.id())?.content().to_vec())
}

/// Every file of a directory, relative to it; `.git` is left out.
pub fn read_dir(root: &Path) -> std::io::Result<Files> {
    let mut files = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(root.join(&dir))? {
            let entry = entry?;
            let path = dir.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                if entry.file_name() != ".git" {
                    waiting.push(path);
                }
            } else {
                files.push((path.to_string_lossy().into_owned(), Some(std::fs::read(root.join(&path))?)));
            }
        }
    }
    files.sort();
    Ok(files)
}
