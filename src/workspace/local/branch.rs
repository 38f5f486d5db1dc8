//! A branch of ours in somebody's repository.

use std::path::{Path, PathBuf};

use git2::{Config, ErrorCode, Oid, Repository};

use super::super::ancestry::commit_tree;
use super::super::base::Tree;
use super::super::build;
use super::super::change::Inner;
use super::super::error::{Doing, Error};
use super::super::git::{self, blocking};
use super::super::names::is_branch;
use super::super::objects::missing;
use crate::domain::{Identity, Millis, Sha};

const HEADS: &str = "refs/heads/";

/// Commits the tree on top of the commit it was made from, and points a new branch at it. Writes objects and that branch
/// to the repository: neither work tree nor index nor `HEAD` is touched, and no other ref. Without an author the
/// repository's own identity is taken. The same arguments give the same commit.
///
/// A tree that was read from a work tree with changes brings them along.
///
/// # Errors
/// `BranchExists` names the branch, or another that stands in its way; `BranchName`; `Refused` names a file whose content was too large to be read; when there is no
/// identity; when the tree comes from another repository; or git's own.
pub async fn create_branch(
    path: &Path,
    name: &str,
    tree: &Tree,
    message: &str,
    author: Option<&Identity>,
    at: Millis,
) -> Result<Sha, Error> {
    let (path, name, message, author) = (path.to_owned(), name.to_owned(), message.to_owned(), author.cloned());
    let parent = git::oid(tree.commit())?;
    let make = move |ours: &Repository, inner: &Inner| {
        let (theirs, _) = super::open(&path)?;
        if !is_branch(&name) {
            return Err(Error::BranchName { branch: name });
        }
        if let Some(branch) = in_the_way(&theirs, &name) {
            return Err(Error::BranchExists { branch });
        }
        let author = author.or_else(|| identity_in(&theirs)).ok_or(Error::Unsupported(
            "there is no name for the commit: set user.name and user.email with `git config`",
        ))?;
        let old = commit_tree(&theirs, parent)
            .map_err(|_| Error::UnknownRevision { revision: parent.to_string(), nearest_names: Vec::new() })?;
        copy(ours, &theirs, inner, old)?;
        let commit = build::commit(&theirs, inner.head_tree, parent, &message, &author, at)?;
        point(&theirs, &name, commit)?;
        git::sha(commit)
    };
    tree.0.ask(make).await
}

/// Who commits here: `user.name` and `user.email` of the repository, else of the user. None unless both are there.
pub async fn identity(path: &Path) -> Option<Identity> {
    let path = path.to_owned();
    blocking(move || Ok(super::open(&path).ok().and_then(|(repository, _)| identity_in(&repository))))
        .await
        .ok()
        .flatten()
}

/// The objects of the new tree that the repository lacks.
fn copy(ours: &Repository, theirs: &Repository, inner: &Inner, old: Oid) -> Result<(), Error> {
    const DOING: &str = "copying to the repository";
    let (from, to) = (ours.odb().doing(DOING)?, theirs.odb().doing(DOING)?);
    for object in missing(ours, inner.head_tree, &[old], &inner.limits)? {
        if to.exists(object.oid) {
            continue;
        }
        let found = from.read(object.oid).map_err(|source| match source.code() {
            ErrorCode::NotFound => Error::Refused { path: object.path, why: inner.missing(object.oid) },
            _ => Error::Git { doing: DOING, source },
        })?;
        to.write(found.kind(), found.data()).doing(DOING)?;
    }
    Ok(())
}

/// The branch itself, or one that keeps it from being made: of `a` and `a/b` there can be only one.
fn in_the_way(repository: &Repository, name: &str) -> Option<String> {
    let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
    let above =
        ends.map(|end| &name[..end]).find(|above| repository.find_reference(&format!("{HEADS}{above}")).is_ok());
    if let Some(above) = above {
        return Some(above.to_owned());
    }
    let below = repository.references_glob(&format!("{HEADS}{name}/*")).ok()?.flatten().next()?;
    Some(below.name().ok()?.strip_prefix(HEADS)?.to_owned())
}

fn point(repository: &Repository, name: &str, commit: Oid) -> Result<(), Error> {
    let made = repository.reference(&format!("{HEADS}{name}"), commit, false, "branch: created by octoswarm");
    match made {
        Ok(_) => Ok(()),
        // Made meanwhile.
        Err(error) if error.code() == ErrorCode::Exists => Err(Error::BranchExists { branch: name.to_owned() }),
        Err(source) => Err(Error::Git { doing: "making the branch", source }),
    }
}

fn identity_in(repository: &Repository) -> Option<Identity> {
    let own = repository.config().ok();
    // libgit2 is kept from the user's own files, which matter for nothing else here.
    let of_user = |file: PathBuf| Config::open(&file).ok().filter(|_| file.is_file());
    let home = std::env::home_dir();
    let users =
        [".gitconfig", ".config/git/config"].map(|file| home.as_ref().and_then(|home| of_user(home.join(file))));
    let configs: Vec<Config> = own.into_iter().chain(users.into_iter().flatten()).collect();
    let find = |key: &str| {
        let values = configs.iter().filter_map(|config| config.get_string(key).ok());
        values.map(|value| value.trim().to_owned()).find(|value| !value.is_empty())
    };
    Some(Identity { name: find("user.name")?, email: find("user.email")? })
}
