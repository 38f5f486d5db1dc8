//! Removes what a stranger's command left: folders closed to their owner, and trees deeper than a walk holds files open.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Folders within folders; what lies deeper is first moved up.
const DEEP: usize = 64;

/// Removes a folder and all in it; nothing that a link names. Nobody may be at work in it any more.
///
/// # Errors
/// The disk's; part of it may be gone then.
pub(super) fn remove_all(path: &Path) -> io::Result<()> {
    empty(path)?;
    Ok(rustix::fs::unlinkat(CWD, path, AtFlags::REMOVEDIR)?)
}

/// The same, but for the folder itself.
///
/// # Errors
/// As [`remove_all`].
pub(super) fn empty(path: &Path) -> io::Result<()> {
    let mut broom = Broom { root: open(CWD, path)?, moved: 0 };
    loop {
        let moved = broom.moved;
        let root = broom.root.try_clone()?;
        broom.empty(&root, 0)?;
        if broom.moved == moved {
            return Ok(());
        }
    }
}

struct Broom {
    root: OwnedFd,
    moved: u64,
}

impl Broom {
    fn empty(&mut self, folder: &OwnedFd, depth: usize) -> io::Result<()> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
            } else if depth >= DEEP {
                self.move_up(folder, name)?;
            } else {
                if stat.st_mode & 0o700 != 0o700 {
                    rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::empty())?;
                }
                let inside = open(folder, name)?;
                self.empty(&inside, depth + 1)?;
                // What it could not take with it was moved to the root, so it is empty.
                rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?;
            }
        }
        Ok(())
    }

    fn move_up(&mut self, folder: &OwnedFd, name: &CStr) -> io::Result<()> {
        loop {
            self.moved += 1;
            let place = format!(".octoswarm-moved-{}", self.moved);
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(folder, name, &self.root, &place, flags) {
                Err(Errno::EXIST) => {}
                done => return Ok(done?),
            }
        }
    }
}

fn open(folder: impl rustix::fd::AsFd, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, path, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_and_very_deep_folders_are_removed_and_nothing_beyond() {
        let parent = tempfile::tempdir().unwrap();
        let beyond = parent.path().join("beyond");
        std::fs::create_dir(&beyond).unwrap();
        crate::stdx::file::create_new(&beyond.join("kept"), b"kept").unwrap();
        let path = parent.path().join("work");
        std::fs::create_dir(&path).unwrap();
        std::os::unix::fs::symlink(&beyond, path.join("link")).unwrap();
        std::fs::create_dir(path.join(".octoswarm-moved-1")).unwrap();
        let mut folder = open(CWD, &path).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&folder, "d", Mode::RWXU).unwrap();
            folder = open(&folder, "d").unwrap();
        }
        rustix::fs::mkdirat(&folder, "closed", Mode::empty()).unwrap();
        remove_all(&path).unwrap();
        assert!(!path.exists() && beyond.join("kept").exists());
    }
}
