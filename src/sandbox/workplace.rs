//! A folder that commands work in: filled by us, then theirs, then read by us as what it is, a stranger's.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::clear;
use crate::stdx::nofollow::{Folder, Found};
use crate::stdx::scratch::{self, Scratch};

/// Folders within folders: nobody builds so deep a tree, and whoever walks it holds one open file for each.
const MAX_DEPTH: usize = 128;
/// In the work tree's path on this machine; a killed server's are swept by it.
pub(super) const PREFIX: &str = "octoswarm-work-";

/// Removes the work trees and dependencies of servers that were killed, whatever commands have left in them.
///
/// # Errors
/// The folder cannot be read.
pub fn sweep(parent: &Path) -> io::Result<()> {
    scratch::sweep_with(parent, PREFIX, clear::remove_all)
}

/// Holds a work tree, and nothing of git. Dropped, it is removed.
#[derive(Debug)]
pub struct Workplace {
    /// Removed after what is in it.
    _scratch: Scratch,
    work: PathBuf,
    owner: Option<u32>,
}

/// What is put into a work tree.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'a> {
    File {
        bytes: &'a [u8],
        executable: bool,
    },
    /// A symbolic link and what it says, unchecked: only commands follow it, and they are behind walls.
    Link(&'a [u8]),
}

/// What a folder takes on the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Use {
    pub bytes: u64,
    pub entries: u64,
    /// Deeper than is walked.
    pub too_deep: bool,
}

/// A regular file as it was seen without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub size: u64,
    /// Nanoseconds, as the file system has it.
    pub changed: i128,
}

impl Workplace {
    pub(super) fn new(parent: &Path, owner: Option<u32>) -> io::Result<Self> {
        let scratch = Scratch::new_in(parent, PREFIX)?;
        let work = scratch.path().join("work");
        std::fs::create_dir(&work)?;
        let place = Self { _scratch: scratch, work, owner };
        place.give_away(&place.root()?)?;
        Ok(place)
    }

    /// The folder on this machine. Nobody but the sandbox and this type should open anything below it.
    pub fn path(&self) -> &Path {
        &self.work
    }

    /// Puts an entry at a relative path of plain names, instead of what may be there. No link is followed.
    ///
    /// # Errors
    /// The path is not plain, something else than a folder stands on its way, or the disk's.
    pub fn put(&self, path: &str, entry: Entry<'_>) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        match entry {
            Entry::Link(target) => {
                rustix::fs::symlinkat(target, &folder, name)?;
                if let Some(owner) = self.owner {
                    let (uid, gid) = (Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)));
                    rustix::fs::chownat(&folder, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
                }
            }
            Entry::File { bytes, executable } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mode = Mode::from_raw_mode(if executable { 0o755 } else { 0o644 });
                let file = rustix::fs::openat(&folder, name, flags, mode)?;
                self.give_away(&file)?;
                let mut file = File::from(file);
                file.write_all(bytes)?;
            }
        }
        Ok(())
    }

    /// Takes an entry away, if it is there.
    ///
    /// # Errors
    /// As [`Workplace::put`].
    pub fn remove(&self, path: &str) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Reads a file, by its names one after the other, through no link.
    ///
    /// # Errors
    /// The disk's.
    pub fn read(&self, path: &str, most: u64) -> io::Result<Found> {
        Folder::open(&self.work)?.read(Path::new(path), most)
    }

    /// Every regular file below that is there now, for whoever compares it with a later look. `skip` names folders that are not
    /// walked into, at whatever depth.
    ///
    /// # Errors
    /// The disk's, or more than `most` files.
    pub fn files(&self, skip: &[&str], most: usize) -> io::Result<BTreeMap<String, Seen>> {
        let mut files = BTreeMap::new();
        let mut over = false;
        walk(&self.root()?, "", 0, &mut |path, stat, is_folder| {
            if is_folder {
                return !skip.contains(&path.rsplit('/').next().unwrap_or_default());
            }
            over |= files.len() >= most;
            if !over && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                let changed = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
                files.insert(path.to_owned(), Seen { size: u64::try_from(stat.st_size).unwrap_or(0), changed });
            }
            !over
        })?;
        if over {
            return Err(io::Error::other(format!("the command left more than {most} files")));
        }
        Ok(files)
    }

    pub(super) fn owner(&self) -> Option<u32> {
        self.owner
    }

    fn root(&self) -> io::Result<OwnedFd> {
        open_root(&self.work)
    }

    /// The folder that an entry is in, made if need be, and the entry's name.
    fn parent<'p>(&self, path: &'p str) -> io::Result<(OwnedFd, &'p OsStr)> {
        let plain = || io::Error::new(io::ErrorKind::InvalidInput, format!("{path:?} is not a plain path"));
        let mut names = Vec::new();
        for component in Path::new(path).components() {
            let Component::Normal(name) = component else { return Err(plain()) };
            names.push(name);
        }
        let last = names.pop().ok_or_else(plain)?;
        if names.len() >= MAX_DEPTH {
            return Err(plain());
        }
        let mut folder = self.root()?;
        for name in names {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) => {
                    rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755))?;
                    let next = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
                    self.give_away(&next)?;
                    next
                }
                Err(errno) => return Err(errno.into()),
            };
        }
        Ok((folder, last))
    }

    fn give_away(&self, opened: &OwnedFd) -> io::Result<()> {
        if let Some(owner) = self.owner {
            rustix::fs::fchown(opened, Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)))?;
        }
        Ok(())
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if let Err(error) = clear::remove_all(&self.work) {
            tracing::warn!(path = %self.work.display(), %error, "a work tree cannot be removed; the next start tries again");
        }
    }
}

fn open_root(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

/// What a folder takes now, also while commands are at work in it.
pub(super) fn used(path: &Path) -> io::Result<Use> {
    let mut used = Use::default();
    let too_deep = walk(&open_root(path)?, "", 0, &mut |_, stat, _| {
        used.entries += 1;
        // As it lies on the disk: a file with holes takes little.
        used.bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        true
    })?;
    Ok(Use { too_deep, ..used })
}

/// Asks of every entry, folders before what is in them, whether to go on (into it). Whether something lay deeper than is walked.
fn walk(
    folder: &OwnedFd,
    at: &str,
    depth: usize,
    see: &mut dyn FnMut(&str, &rustix::fs::Stat, bool) -> bool,
) -> io::Result<bool> {
    let mut deep = false;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let stat = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // Commands may be at work.
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(errno.into()),
        };
        let name_text = name.to_string_lossy();
        let path = if at.is_empty() { name_text.into_owned() } else { format!("{at}/{name_text}") };
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if !see(&path, &stat, is_folder) || !is_folder {
            continue;
        }
        if depth >= MAX_DEPTH {
            deep = true;
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(folder, name, flags, Mode::empty()) {
            Ok(inside) => deep |= walk(&inside, &path, depth + 1, see)?,
            // Gone, replaced, or closed to us by whoever owns it.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(deep)
}
