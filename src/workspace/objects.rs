//! Which objects of a tree somebody does not have yet.

use git2::{Oid, Repository};

use super::error::Error;
use super::limits::Limits;
use super::tree::{self, Entry};

/// An object and the path it was met at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) oid: Oid,
    pub(super) path: String,
}

/// The trees and blobs of `new` that none of the `known` trees has at the same path. Submodules are no objects.
pub(super) fn missing(
    repository: &Repository,
    new: Oid,
    known: &[Oid],
    limits: &Limits,
) -> Result<Vec<Missing>, Error> {
    let mut found = Vec::new();
    let mut left = limits.entries;
    let mut todo = vec![(String::new(), new, known.to_vec(), 0)];
    while let Some((path, oid, known, depth)) = todo.pop() {
        if known.contains(&oid) {
            continue;
        }
        if depth >= limits.depth {
            return Err(tree::too_deep(limits));
        }
        let prefix = if path.is_empty() { path.clone() } else { format!("{path}/") };
        found.push(Missing { oid, path });
        let mut others = Vec::new();
        for tree in known {
            let mut entries = tree::entries(repository, tree, limits)?;
            entries.sort_by(|one, two| one.0.cmp(&two.0));
            others.push(entries);
        }
        for (name, entry) in tree::entries(repository, oid, limits)? {
            left = left.checked_sub(1).ok_or_else(|| tree::too_many(limits))?;
            let same_name = |entries: &Vec<(Vec<u8>, Entry)>| {
                entries.binary_search_by(|(other, _)| other.cmp(&name)).ok().map(|at| entries[at].1)
            };
            let there: Vec<Entry> = others.iter().filter_map(same_name).collect();
            if entry.is_submodule() || there.iter().any(|other| other.oid == entry.oid) {
                continue;
            }
            let path = format!("{prefix}{}", tree::show(&name));
            if entry.is_tree() {
                let known = there.into_iter().filter(|other| other.is_tree()).map(|other| other.oid).collect();
                todo.push((path, entry.oid, known, depth + 1));
            } else {
                found.push(Missing { oid: entry.oid, path });
            }
        }
    }
    Ok(found)
}
