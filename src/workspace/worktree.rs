//! Writes files of a work tree without ever walking through a symbolic link, each in one step.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::stdx::nofollow::{Folder, Found};

/// What of a file's mode is kept: who may read, write and run it.
const PERMISSIONS: u32 = 0o777;

/// The root that paths are below.
#[derive(Debug, Clone)]
pub(super) struct WorkTree(Arc<Folder>);

/// The place of one file or folder. The way to it is walked anew for each use.
#[derive(Debug)]
pub(super) struct Slot {
    root: WorkTree,
    path: PathBuf,
    /// The permissions of the file that was there.
    mode: Option<u32>,
}

/// New content beside its place; removed again unless it is moved there.
#[derive(Debug)]
pub(super) struct Staged {
    root: WorkTree,
    folder: PathBuf,
    name: OsString,
    /// Its place was empty.
    fresh: bool,
    moved: bool,
}

impl WorkTree {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        Folder::open(root).map(|folder| Self(Arc::new(folder)))
    }

    pub(super) fn read(&self, path: &Path, most: u64) -> io::Result<Found> {
        self.0.read(path, most)
    }

    /// Whether a symbolic link stands on the way to a path.
    pub(super) fn has_link(&self, path: &Path) -> bool {
        let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        above.into_iter().any(|above| matches!(self.read(above, 0), Ok(Found::Link(_))))
    }

    /// The place of a file. Folders that are missing on the way are made, and told in `made`, outer ones first.
    pub(super) fn slot(&self, path: &Path, made: &mut Vec<Slot>) -> io::Result<Slot> {
        let mut folder = self.0.handle()?;
        let above = path.parent().unwrap_or(Path::new(""));
        let mut walked = PathBuf::new();
        for name in above {
            walked.push(name);
            match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(PERMISSIONS)) {
                Ok(()) => made.push(Slot { root: self.clone(), path: walked.clone(), mode: None }),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            folder = open_folder(&folder, name)?;
        }
        let mode = match rustix::fs::statat(&folder, last(path)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                Some(stat.st_mode & PERMISSIONS)
            }
            Ok(_) | Err(Errno::NOENT) => None,
            Err(errno) => return Err(errno.into()),
        };
        Ok(Slot { root: self.clone(), path: path.to_owned(), mode })
    }

    fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        path.iter().try_fold(self.0.handle()?, |folder, name| open_folder(&folder, name))
    }
}

impl Slot {
    pub(super) fn read(&self, most: u64) -> io::Result<Found> {
        self.root.read(&self.path, most)
    }

    /// Writes content beside the place, with the permissions of the file there, or with those of a new file.
    pub(super) fn stage(&self, bytes: &[u8], executable: Option<bool>) -> io::Result<Staged> {
        const OWN: u32 = 0o600;
        const ANYBODY: u32 = 0o666;
        let parent = self.parent();
        let name = OsString::from(format!(".octoswarm-{}.tmp", uuid::Uuid::now_v7().simple()));
        let folder = self.root.folder(parent)?;
        // A private file's new content is private from its first byte on; a new file gets what the umask leaves.
        let mode = Mode::from_raw_mode(if self.mode.is_some() { OWN } else { ANYBODY });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &name, flags, mode)?;
        let fresh = self.mode.is_none();
        let staged = Staged { root: self.root.clone(), folder: parent.to_owned(), name, fresh, moved: false };
        let mut file = File::from(file);
        file.write_all(bytes)?;
        let now = rustix::fs::fstat(&file)?.st_mode & PERMISSIONS;
        let wanted = self.mode.unwrap_or(now);
        let wanted = match executable {
            None => wanted,
            // Whoever may read may run.
            Some(true) => wanted | ((wanted & 0o444) >> 2),
            Some(false) => wanted & !0o111,
        };
        if wanted != now {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(wanted))?;
        }
        file.sync_all()?;
        Ok(staged)
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        let folder = self.root.folder(self.parent())?;
        Ok(rustix::fs::unlinkat(&folder, last(&self.path)?, AtFlags::empty())?)
    }

    /// What was there before: the file with its content and permissions, or nothing.
    pub(super) fn put_back(&self, old: &Found) -> io::Result<()> {
        match old {
            Found::File { bytes, .. } => {
                let mut staged = self.stage(bytes, None)?;
                staged.fresh = false;
                staged.move_to(self)
            }
            Found::Missing => self.remove(),
            Found::Link(_) | Found::TooLarge | Found::Other => Ok(()),
        }
    }

    /// Removes a folder that was made, if nobody has put anything into it.
    pub(super) fn remove_folder(self) {
        let folder = self.root.folder(self.parent());
        if let (Ok(folder), Ok(name)) = (folder, last(&self.path)) {
            let _ = rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR);
        }
    }

    fn parent(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

impl Staged {
    /// Takes the place of what is there; of nothing, where nothing was.
    pub(super) fn move_to(mut self, slot: &Slot) -> io::Result<()> {
        let (folder, name) = (self.root.folder(&self.folder)?, last(&slot.path)?);
        let plain = || rustix::fs::renameat(&folder, &self.name, &folder, name);
        let moved = if self.fresh {
            match rustix::fs::renameat_with(&folder, &self.name, &folder, name, RenameFlags::NOREPLACE) {
                // Not every file system can; that nothing was there has just been looked at.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => plain(),
                other => other,
            }
        } else {
            plain()
        };
        moved?;
        self.moved = true;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.moved
            && let Ok(folder) = self.root.folder(&self.folder)
        {
            let _ = rustix::fs::unlinkat(&folder, &self.name, AtFlags::empty());
        }
    }
}

fn open_folder(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?)
}

fn last(path: &Path) -> io::Result<&OsStr> {
    path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}
