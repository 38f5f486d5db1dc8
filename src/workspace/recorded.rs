//! The two sides of a change that was worked on before, from what its mirror still holds. Nothing is fetched and no lock is
//! taken.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ancestry::{Point, commit_tree};
use super::base::Tree;
use super::change::{Change, Store};
use super::error::Error;
use super::git::{self, blocking};
use super::limits::Limits;
use super::mirror;
use crate::domain::{RepositoryId, Sha};

/// Both sides by their commits, from the mirror of that repository in the folder of all mirrors.
///
/// # Errors
/// There is no sound mirror, or a commit is not in it any more.
pub async fn recorded(mirrors: &Path, repository: RepositoryId, base: &Sha, head: &Sha) -> Result<Change, Error> {
    let (mirrors, base, head) = (mirrors.to_owned(), base.clone(), head.clone());
    blocking(move || {
        let git_dir = mirror::there(&mirrors, repository)
            .ok_or_else(|| Error::NoMirror { folder: place(&mirrors, repository) })?;
        let opened = git::open_own(&git_dir)?;
        let point = |sha: &Sha| {
            let commit = git::oid(sha)?;
            let tree = commit_tree(&opened, commit).map_err(|_| Error::CommitGone { commit: sha.clone() })?;
            Ok::<_, Error>(Point { commit, tree })
        };
        let (old, new) = (point(&base)?, point(&head)?);
        let store = Store {
            git_dir,
            borrowed: Vec::new(),
            _scratch: None,
            unread: HashMap::new(),
            // What is damaged here is found by whoever fetches.
            mirror: Some((None, Arc::default())),
        };
        Change::new(store, old, new, false, String::new(), Limits::default())
    })
    .await
}

/// The repository as it was at one commit; as [`recorded`].
///
/// # Errors
/// As [`recorded`].
pub async fn recorded_tree(mirrors: &Path, repository: RepositoryId, commit: &Sha) -> Result<Tree, Error> {
    Ok(recorded(mirrors, repository, commit, commit).await?.head_tree())
}

fn place(mirrors: &Path, repository: RepositoryId) -> PathBuf {
    mirrors.join(repository.to_string())
}
