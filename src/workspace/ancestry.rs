//! Commits, and where two histories meet.

use git2::{ErrorCode, ObjectType, Oid, Repository};

use super::error::{Doing, Error};
use super::git::header;
use crate::stdx::text::binary_size;

/// A commit and its tree; or, as a head, the tree that a work tree makes above its commit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) commit: Oid,
    pub(super) tree: Oid,
}

/// The tree of a commit that is really here; a commit's size is asked before it is read.
pub(super) fn commit_tree(repository: &Repository, oid: Oid) -> Result<Oid, Error> {
    const COMMIT_BYTES: u64 = 1 << 20;
    let (bytes, kind) = header(repository, oid).doing("reading a commit's header")?;
    if kind != ObjectType::Commit {
        return Err(Error::Unsupported("a ref points at something that is not a commit"));
    }
    if bytes > COMMIT_BYTES {
        return Err(Error::TooLarge { what: "a commit", limit: binary_size(COMMIT_BYTES) });
    }
    let tree = repository.find_commit(oid).doing("reading a commit")?.tree_id();
    let (_, kind) = header(repository, tree).doing("reading a commit's tree")?;
    if kind != ObjectType::Tree {
        return Err(Error::Unsupported("a commit's tree is something else"));
    }
    Ok(tree)
}

pub(super) fn merge_base(repository: &Repository, one: Oid, two: Oid) -> Result<Option<Oid>, Error> {
    match repository.merge_base(one, two) {
        Ok(base) => Ok(Some(base)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(source) => Err(Error::Git { doing: "looking for the merge base", source }),
    }
}
