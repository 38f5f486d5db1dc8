//! Reads files of a work tree, and writes them, without ever walking through a symbolic link.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, Stat};
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

    /// The folder of that name in this one; `None` when nothing has the name.
    ///
    /// # Errors
    /// `InvalidInput` when something else has it, be it a link to a folder, or when it is no plain name; else the I/O error.
    pub fn folder(&self, name: &str) -> io::Result<Option<Self>> {
        plain(name)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(folder) => Ok(Some(Self(folder))),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
                let link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
                Err(strange(if link { "a symbolic link, and no folder" } else { "no folder" }))
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// The same, and made when nothing has the name.
    ///
    /// # Errors
    /// As [`Self::folder`].
    pub fn make(&self, name: &str) -> io::Result<Self> {
        plain(name)?;
        match rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => rustix::fs::fsync(&self.0)?,
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        self.folder(name)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The names of all that lies in it, sorted; those that are no UTF-8 are left out.
    ///
    /// # Errors
    /// The I/O error.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            if let Ok(name) = entry?.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Replaces the file of that name so that a reader sees the old content or the new one, also after a cut of power. For one
    /// writer at a time: what a killed one left is written over.
    ///
    /// # Errors
    /// `InvalidInput` when it is no plain name; else the I/O error, and what stood there still stands.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        plain(name)?;
        let staged = format!(".unfinished-{name}");
        match rustix::fs::unlinkat(&self.0, &staged, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.0, &staged, flags, Mode::from_raw_mode(0o666))?);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let placed = written.and_then(|()| Ok(rustix::fs::renameat(&self.0, &staged, &self.0, name)?));
        if placed.is_err() {
            let _ = rustix::fs::unlinkat(&self.0, &staged, AtFlags::empty());
        }
        placed?;
        // The name stands in the folder: without this a cut of power could take it back.
        Ok(rustix::fs::fsync(&self.0)?)
    }

    /// Waits until nobody else holds this folder, in this process or another. Those who only read may hold it together.
    ///
    /// # Errors
    /// The I/O error.
    pub fn lock(&self, to_write: bool) -> io::Result<Lock> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // Opened anew: a lock belongs to one opening, and this folder's may be shared.
        let held = rustix::fs::openat(&self.0, ".", flags, Mode::empty())?;
        let how = if to_write { FlockOperation::LockExclusive } else { FlockOperation::LockShared };
        rustix::io::retry_on_intr(|| rustix::fs::flock(&held, how))?;
        Ok(Lock(held))
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

/// Held as long as it lives; the system frees it when the process dies, however it dies.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not read")] OwnedFd);

/// One name, that leads nowhere else.
fn plain(name: &str) -> io::Result<()> {
    let leads = name.is_empty() || matches!(name, "." | "..") || name.contains(['/', '\0']);
    if leads { Err(strange("no plain name")) } else { Ok(()) }
}

fn strange(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.to_owned())
}

/// A path as git writes it: bytes, nothing else.
pub fn from_git(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_link_is_followed_and_no_name_leads_away() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = Folder::open(dir.path()).unwrap();
        let made = folder.make("a").unwrap().make("b").unwrap();
        made.replace("file", b"1").unwrap();
        made.replace("file", b"2").unwrap();
        assert_eq!(
            (made.names().unwrap(), std::fs::read(dir.path().join("a/b/file")).unwrap()),
            (vec!["file".into()], b"2".to_vec())
        );
        std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("x"), dir.path().join("a/file")).unwrap();
        for told in [folder.folder("link").unwrap_err(), folder.make("link").unwrap_err()] {
            assert_eq!(
                (told.kind(), told.to_string()),
                (io::ErrorKind::InvalidInput, "a symbolic link, and no folder".into())
            );
        }
        // A link in the file's place goes; what it leads to stays as it is.
        folder.folder("a").unwrap().unwrap().replace("file", b"3").unwrap();
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
        for name in ["", ".", "..", "a/b", "/etc"] {
            assert_eq!(folder.make(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
            assert_eq!(folder.replace(name, b"").unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
        assert!(folder.folder("none").unwrap().is_none());
    }

    #[test]
    fn who_writes_waits_for_all_others() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        let (one, other) = (folder.lock(false).unwrap(), folder.lock(false).unwrap());
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _held = folder.lock(true).unwrap();
                tell.send(()).unwrap();
            });
            drop(one);
            assert!(told.try_recv().is_err(), "one is still held");
            drop(other);
            told.recv().unwrap();
        });
    }
}
