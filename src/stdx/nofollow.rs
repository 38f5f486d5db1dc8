//! Reads files of a work tree without ever walking through a symbolic link.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// What stands at a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    File {
        bytes: Vec<u8>,
        executable: bool,
    },
    /// A symbolic link and what it says.
    Link(Vec<u8>),
    TooLarge,
    /// A folder, pipe, socket, device; or a link stands on the way.
    Other,
    Missing,
}

/// An open folder that paths are read below.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// The folder itself may be reached through links: its caller chose it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    pub fn handle(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }

    /// Reads at most `most` bytes at a relative path of plain names.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<Found> {
        match self.look(path, most) {
            Ok(found) => Ok(found),
            Err(Errno::NOENT) => Ok(Found::Missing),
            Err(Errno::LOOP | Errno::NOTDIR) => Ok(Found::Other),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens a plain file at a relative path of plain names; nothing where something else stands there, or a link on the way.
    pub fn open_file(&self, path: &Path) -> io::Result<Option<File>> {
        match self.reach(path) {
            Ok(Reached::File(file, _)) => Ok(Some(file)),
            Ok(Reached::Link(_) | Reached::Other) | Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    fn look(&self, path: &Path, most: u64) -> Result<Found, Errno> {
        let (file, stat) = match self.reach(path)? {
            Reached::File(file, stat) => (file, stat),
            Reached::Link(target) => return Ok(Found::Link(target)),
            Reached::Other => return Ok(Found::Other),
        };
        if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > most {
            return Ok(Found::TooLarge);
        }
        let mut bytes = Vec::new();
        // One more than allowed: the file may grow while it is read.
        let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        if bytes.len() as u64 > most {
            return Ok(Found::TooLarge);
        }
        Ok(Found::File { bytes, executable: stat.st_mode & 0o100 != 0 })
    }

    fn reach(&self, path: &Path) -> Result<Reached, Errno> {
        let mut names = Vec::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => names.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Ok(Reached::Other),
            }
        }
        let Some(last) = names.pop() else { return Ok(Reached::Other) };
        let mut folder = self.0.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        for name in names {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
        }
        let stat = rustix::fs::statat(&folder, last, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&folder, last, Vec::new())?;
                return Ok(Reached::Link(target.into_bytes()));
            }
            FileType::RegularFile => {}
            _ => return Ok(Reached::Other),
        }
        // Not blocking: between the look and the opening a pipe may have taken its place.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, last, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(Reached::Other);
        }
        Ok(Reached::File(File::from(file), stat))
    }
}

/// What a path leads to, without following a link.
enum Reached {
    File(File, Stat),
    Link(Vec<u8>),
    Other,
}

/// A path as git writes it: bytes, nothing else.
pub fn from_git(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}
