//! The work tree as a tree object: the index, and over it what differs on disk, written to a scratch store only.

use std::collections::{BTreeMap, HashMap};

use git2::{AttrCheckFlags, Delta as Status, DiffOptions, ObjectType, Odb, Oid, Repository};
use ignore::gitignore::GitignoreBuilder;

use super::change::is_binary;
use super::error::{AtPath, Doing, Error};
use super::limits::Limits;
use super::tree::{self, Entry, MODE_EXECUTABLE, MODE_FILE, MODE_LINK, MODE_SUBMODULE, MODE_TREE};
use crate::stdx::nofollow::{Folder, Found, from_git};
use crate::stdx::text::binary_size;

/// Git's bit for a tracked file that a sparse checkout leaves out.
const SKIP_WORKTREE: u16 = 1 << 14;

type Files = BTreeMap<Vec<u8>, Entry>;

/// Writes blobs and trees to `scratch` and gives the root tree, and the blobs that were not written, with the reason. Outside `within` the index is believed.
pub(super) fn work_tree(
    repository: &Repository,
    scratch: &Repository,
    within: &str,
    limits: &Limits,
) -> Result<(Oid, HashMap<Oid, String>), Error> {
    let mut unread = HashMap::new();
    let root = repository.workdir().ok_or(Error::Unsupported("the repository has no work tree"))?;
    let folder = Folder::open(root).at(root)?;
    let store = scratch.odb().doing("opening the scratch store")?;
    let index = repository.index().doing("reading the index")?;
    let (mut files, mut sparse) = (Files::new(), Vec::new());
    for entry in index.iter() {
        if entry.flags_extended & SKIP_WORKTREE != 0 {
            sparse.push(entry.path.clone());
        }
        files.insert(entry.path, Entry { oid: entry.id, mode: entry.mode });
    }
    let mut options = DiffOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).include_typechange(true).ignore_submodules(true);
    options.skip_binary_check(true).update_index(false);
    if !within.is_empty() {
        options.pathspec(within).disable_pathspec_match(true);
    }
    let diff = repository.diff_index_to_workdir(Some(&index), Some(&mut options)).doing("comparing the work tree")?;
    // The user's own rules lie outside the repository, where libgit2 is not allowed to look.
    let (global, _) = GitignoreBuilder::new(root).build_global();
    let trusts_mode = repository.config().and_then(|config| config.get_bool("core.filemode")).unwrap_or(true);
    for delta in diff.deltas() {
        let Some(path) = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes()) else { continue };
        let known = files.get(path).copied();
        match delta.status() {
            Status::Deleted if sparse.iter().any(|s| s == path) => continue,
            Status::Deleted => {
                files.remove(path);
                continue;
            }
            // A repository within the repository is listed as a folder.
            Status::Untracked if path.ends_with(b"/") => continue,
            Status::Untracked if global.matched_path_or_any_parents(from_git(path), false).is_ignore() => continue,
            Status::Modified | Status::Typechange | Status::Untracked | Status::Conflicted | Status::Added => {}
            Status::Unmodified | Status::Renamed | Status::Copied | Status::Ignored | Status::Unreadable => continue,
        }
        if known.is_some_and(|entry| entry.mode == MODE_SUBMODULE) {
            continue;
        }
        let entry = match folder.read(from_git(path), limits.file_bytes) {
            Ok(Found::File { bytes, executable }) => {
                let executable =
                    if trusts_mode { executable } else { known.is_some_and(|entry| entry.mode == MODE_EXECUTABLE) };
                let bytes = clean(repository, path, known, bytes);
                let oid = write(&store, ObjectType::Blob, &bytes)?;
                Some(Entry { oid, mode: if executable { MODE_EXECUTABLE } else { MODE_FILE } })
            }
            Ok(Found::Link(target)) => Some(Entry { oid: write(&store, ObjectType::Blob, &target)?, mode: MODE_LINK }),
            // A blob that nobody can read: it is named as changed, and as not read.
            unfit @ (Ok(Found::TooLarge) | Err(_)) => {
                let reason = match unfit {
                    Ok(_) => format!("larger than {}", binary_size(limits.file_bytes)),
                    Err(_) => "it cannot be read".to_owned(),
                };
                let oid = stand_in(path)?;
                unread.insert(oid, reason);
                Some(Entry { oid, mode: MODE_FILE })
            }
            Ok(Found::Other | Found::Missing) => None,
        };
        match entry {
            Some(entry) => files.insert(path.to_vec(), entry),
            None => files.remove(path),
        };
    }
    drop(diff);
    let theirs = repository.odb().doing("opening the object database")?;
    let files: Vec<_> = files.into_iter().collect();
    Ok((trees(&store, &theirs, &files, 0)?, unread))
}

/// The id of a blob that is in no store.
fn stand_in(path: &[u8]) -> Result<Oid, Error> {
    let text = [b"not read by octoswarm: ", path].concat();
    Oid::hash_object(ObjectType::Blob, &text).doing("naming a file that is too large")
}

/// What git would store: with `text` or `core.autocrlf` the line endings of the work tree are not those of the blob.
pub(super) fn clean(repository: &Repository, path: &[u8], known: Option<Entry>, bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.windows(2).any(|pair| pair == b"\r\n") || is_binary(&bytes) {
        return bytes;
    }
    let attribute = |name| repository.get_attr(from_git(path), name, AttrCheckFlags::FILE_THEN_INDEX).ok().flatten();
    let converts = match attribute("text") {
        Some("auto") => true,
        text => match git2::AttrValue::from_string(text) {
            git2::AttrValue::True => true,
            git2::AttrValue::False => false,
            _ => {
                attribute("eol").is_some()
                    || repository
                        .config()
                        .and_then(|config| config.get_string("core.autocrlf"))
                        .is_ok_and(|value| value == "input" || value == "true")
            }
        },
    };
    // Git leaves a file alone that was stored with these endings.
    let stored = known.and_then(|entry| repository.find_blob(entry.oid).ok());
    if !converts || stored.is_some_and(|blob| blob.content().contains(&b'\r')) {
        return bytes;
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\r' || rest.peek() != Some(&b'\n') {
            out.push(byte);
        }
    }
    out
}

/// Builds one folder's tree from the files below it, which share the first `skip` bytes of their paths.
fn trees(store: &Odb<'_>, theirs: &Odb<'_>, files: &[(Vec<u8>, Entry)], skip: usize) -> Result<Oid, Error> {
    let mut items: Vec<(Vec<u8>, Entry)> = Vec::new();
    let mut rest = files;
    while let Some((path, entry)) = rest.first() {
        let name = &path[skip..];
        match name.iter().position(|byte| *byte == b'/') {
            None => {
                items.push((name.to_vec(), *entry));
                rest = &rest[1..];
            }
            Some(slash) => {
                let prefix = &path[..skip + slash + 1];
                let below = rest.iter().take_while(|(path, _)| path.starts_with(prefix)).count();
                let oid = trees(store, theirs, &rest[..below], prefix.len())?;
                items.push((name[..slash].to_vec(), Entry { oid, mode: MODE_TREE }));
                rest = &rest[below..];
            }
        }
    }
    let bytes = tree::encode(items);
    let oid = Oid::hash_object(ObjectType::Tree, &bytes).doing("naming a folder")?;
    if theirs.exists(oid) { Ok(oid) } else { write(store, ObjectType::Tree, &bytes) }
}

fn write(store: &Odb<'_>, kind: ObjectType, bytes: &[u8]) -> Result<Oid, Error> {
    store.write(kind, bytes).doing("writing to the scratch store")
}
