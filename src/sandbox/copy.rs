//! Copies a tree that a stranger's command has written: folders, files that nobody else has a name for, and links that stay inside.
//! Of anything else there is no copy. No link is followed, and the copy shares no file with what it is made from.

use std::collections::HashMap;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, RawMode, Stat, Uid};
use rustix::io::Errno;

use super::walls::DEPS;

/// Folders within folders, each of which holds files open.
const MAX_DEPTH: usize = 64;
const MAX_ENTRIES: u64 = 1_000_000;

/// Why there is none, or no whole one.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("{path:?} {what}")]
    Strange { path: PathBuf, what: &'static str },
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// Copies what is in a folder into an empty one, for whom it shall belong to, and says how many bytes its files have.
pub(super) fn tree(from: &OwnedFd, to: &OwnedFd, owner: Option<u32>, most: u64) -> Result<u64, Fault> {
    let mut copier = Copier { owner, most, bytes: 0, entries: 0, linked: HashMap::new() };
    copier.folder(from.as_fd(), to.as_fd(), Path::new(""), 0)?;
    // A name outside would be a way to change a file that was judged.
    match copier.linked.into_values().find(|file| file.names != file.seen) {
        Some(file) => Err(Fault::Strange { path: file.path, what: "has another name outside" }),
        None => Ok(copier.bytes),
    }
}

struct Copier {
    owner: Option<u32>,
    most: u64,
    bytes: u64,
    entries: u64,
    /// Files with several names, by device and number.
    linked: HashMap<(i128, u64), Linked>,
}

struct Linked {
    path: PathBuf,
    names: i128,
    seen: i128,
}

impl Copier {
    fn folder(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, at: &Path, depth: usize) -> Result<(), Fault> {
        for entry in Dir::read_from(from)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let path = at.join(crate::stdx::nofollow::from_git(name.to_bytes()));
            let strange = |what| Err(Fault::Strange { path: path.clone(), what });
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return strange("is one entry too many");
            }
            let stat = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => self.link(from, to, name, &path, depth)?,
                _ if stat.st_mode & 0o6000 != 0 => return strange("would run as somebody else"),
                FileType::RegularFile => self.file(from, to, name, &path)?,
                FileType::Directory if depth >= MAX_DEPTH => return strange("lies too deep"),
                FileType::Directory => {
                    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let inner = rustix::fs::openat(from, name, flags, Mode::empty())?;
                    rustix::fs::mkdirat(to, name, Mode::RWXU)?;
                    let copy = rustix::fs::openat(to, name, flags, Mode::empty())?;
                    self.folder(inner.as_fd(), copy.as_fd(), &path, depth + 1)?;
                    self.finish(&copy, 0o755)?;
                }
                _ => return strange("is a pipe, a socket or a device"),
            }
        }
        Ok(())
    }

    fn link(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        name: &CStr,
        path: &Path,
        depth: usize,
    ) -> Result<(), Fault> {
        let target = rustix::fs::readlinkat(from, name, Vec::new())?;
        if !stays_inside(crate::stdx::nofollow::from_git(target.as_bytes()), depth) {
            return Err(Fault::Strange { path: path.to_owned(), what: "is a link that leads out" });
        }
        rustix::fs::symlinkat(target.as_c_str(), to, name)?;
        if let Some(owner) = self.owner {
            let (uid, gid) = (Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)));
            rustix::fs::chownat(to, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    }

    fn file(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &CStr, path: &Path) -> Result<(), Fault> {
        // Not blocking: between the look and the opening a pipe may have taken its place.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let source = rustix::fs::openat(from, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&source)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_mode & 0o6000 != 0 {
            return Err(Fault::Strange { path: path.to_owned(), what: "has changed" });
        }
        self.count_names(&stat, path);
        // By its length, whatever of it lies on the disk.
        self.bytes = self.bytes.saturating_add(u64::try_from(stat.st_size).unwrap_or(u64::MAX));
        if self.bytes > self.most {
            return Err(Fault::TooLarge(self.most));
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = File::from(rustix::fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
        // The system shares blocks where the file system can.
        let length = u64::try_from(stat.st_size).unwrap_or(0);
        let copied = io::copy(&mut io::Read::take(File::from(source), length), &mut copy)?;
        if copied != length {
            return Err(Fault::Strange { path: path.to_owned(), what: "has changed" });
        }
        self.finish(&copy, if stat.st_mode & 0o100 != 0 { 0o755 } else { 0o644 })
    }

    fn count_names(&mut self, stat: &Stat, path: &Path) {
        // Each system has its own types for these.
        let names = i128::from(stat.st_nlink);
        if names > 1 {
            let linked = self.linked.entry((i128::from(stat.st_dev), stat.st_ino));
            linked.or_insert_with(|| Linked { path: path.to_owned(), names, seen: 0 }).seen += 1;
        }
    }

    fn finish(&self, made: impl AsFd, mode: RawMode) -> Result<(), Fault> {
        rustix::fs::fchmod(&made, Mode::from_raw_mode(mode))?;
        if let Some(owner) = self.owner {
            rustix::fs::fchown(&made, Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)))?;
        }
        Ok(())
    }
}

/// Up at its beginning only, where the folders are known, and no further than the root; or from the root as commands see it.
fn stays_inside(target: &Path, depth: usize) -> bool {
    let plain = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if target.is_absolute() {
        return target.strip_prefix(DEPS).is_ok_and(plain);
    }
    let up = target.components().take_while(|part| *part == Component::ParentDir).count();
    up <= depth && plain(&target.components().skip(up).collect::<PathBuf>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_could_lead_out_are_known() {
        for (target, depth) in
            [("a", 0), ("../a", 1), ("../../a/b", 2), ("./a", 0), ("/deps/a/b", 3), ("/deps", 0), ("..", 1)]
        {
            assert!(stays_inside(Path::new(target), depth), "{target}");
        }
        for (target, depth) in [
            ("..", 0),
            ("../../a", 1),
            ("a/..", 5),
            ("/etc/passwd", 3),
            ("/deps/../etc", 3),
            ("/depsx", 1),
            ("./..", 3),
            ("/", 0),
        ] {
            assert!(!stays_inside(Path::new(target), depth), "{target}");
        }
    }
}
