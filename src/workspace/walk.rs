//! The files of a scan: what `.gitignore` leaves, with or without git.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::WalkBuilder;

use super::change::Side;
use super::error::{AtPath, Error};
use super::limits::Limits;
use super::tree;
use crate::stdx::nofollow::{self, Folder};
use crate::stdx::text::binary_size;

/// One file of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The path as the scan named it, `/`-separated: `src` scanned gives `src/lib.rs`.
    pub path: String,
    /// Where it really is, whatever links lead to the path that the scan was given.
    pub real: PathBuf,
    /// Text, or why it was not read; never `Absent`.
    pub content: Side,
}

/// A file that was listed and not yet read: who lists need not wait for who reads.
pub struct Listed {
    item: Result<ignore::DirEntry, ignore::Error>,
    root: Arc<Root>,
}

struct Root {
    base: PathBuf,
    real: PathBuf,
    folder: Folder,
    most: u64,
}

/// Lists files below the paths, in order of name; one that two paths lead to, once. Links are not followed, `.git` is not
/// entered.
///
/// A path that does not exist is an error at once; what goes wrong later is a file that was not read.
pub fn walk(paths: &[PathBuf], limits: &Limits) -> Result<impl Iterator<Item = Listed> + Send + use<>, Error> {
    let mut roots = Vec::new();
    for path in paths {
        let meta = std::fs::metadata(path).map_err(|_| Error::NoSuchPath { path: path.clone() })?;
        let base = match path.parent() {
            _ if meta.is_dir() => path.as_path(),
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let folder = Folder::open(base).at(base)?;
        let real = base.canonicalize().at(base)?;
        roots.push((path.clone(), Arc::new(Root { base: base.to_owned(), real, folder, most: limits.file_bytes })));
    }
    let several = roots.len() > 1;
    let mut seen = HashSet::new();
    let new = move |listed: &Listed| !several || listed.real().is_none_or(|real| seen.insert(real));
    let files =
        |(path, root): (PathBuf, Arc<Root>)| list(&path).map(move |item| Listed { item, root: Arc::clone(&root) });
    Ok(roots.into_iter().flat_map(files).filter(new))
}

/// What another program writes, judged as a file is: text within the limit, or why it is none.
///
/// # Errors
/// It cannot be read.
pub fn read_text(input: &mut impl Read, limits: &Limits) -> std::io::Result<Side> {
    let most = limits.file_bytes;
    let mut bytes = Vec::new();
    input.take(most + 1).read_to_end(&mut bytes)?;
    Ok(if bytes.len() as u64 > most { too_large(most) } else { Side::of(bytes) })
}

fn too_large(most: u64) -> Side {
    Side::NotRead(format!("larger than {}", binary_size(most)))
}

impl Listed {
    /// The file; nothing for a folder, or when it is gone.
    pub fn read(self) -> Option<Found> {
        let real = self.real();
        one(self.item, real, &self.root)
    }

    /// Where the entry really is; nothing for what could not be listed.
    fn real(&self) -> Option<PathBuf> {
        Some(self.root.real.join(below(self.item.as_ref().ok()?.path(), &self.root.base)))
    }
}

pub(super) fn list(root: &Path) -> ignore::Walk {
    WalkBuilder::new(root)
        .follow_links(false)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_name(std::cmp::Ord::cmp)
        .build()
}

fn below<'a>(path: &'a Path, base: &Path) -> &'a Path {
    path.strip_prefix(base).unwrap_or(path)
}

fn one(item: Result<ignore::DirEntry, ignore::Error>, real: Option<PathBuf>, root: &Root) -> Option<Found> {
    let real = real.unwrap_or_default();
    let entry = match item {
        Ok(entry) => entry,
        Err(error) => {
            let path = named(&error).map_or_else(|| "(unknown)".to_owned(), show);
            return Some(Found { path, real, content: Side::NotRead("it cannot be listed".to_owned()) });
        }
    };
    let kind = entry.file_type()?;
    if kind.is_dir() {
        return None;
    }
    let path = entry.path();
    let content = match root.folder.side(below(path, &root.base), root.most) {
        _ if path.to_str().is_none() => Side::NotRead("its name is not UTF-8".to_owned()),
        Side::Absent => return None,
        side => side,
    };
    Some(Found { path: show(path), real, content })
}

impl Folder {
    /// A file as text, or why it is none.
    pub(super) fn side(&self, path: &Path, most: u64) -> Side {
        let reason = match self.read(path, most) {
            Ok(nofollow::Found::File { bytes, .. }) => return Side::of(bytes),
            Ok(nofollow::Found::Missing) => return Side::Absent,
            Ok(nofollow::Found::Link(_)) => "symbolic link",
            Ok(nofollow::Found::TooLarge) => return too_large(most),
            Ok(nofollow::Found::Other) => "not a regular file",
            Err(_) => "it cannot be read",
        };
        Side::NotRead(reason.to_owned())
    }
}

fn named(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithLineNumber { err, .. } | ignore::Error::WithDepth { err, .. } => named(err),
        _ => None,
    }
}

fn show(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path);
    tree::show(path.to_string_lossy().as_bytes())
}
