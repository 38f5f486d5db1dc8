//! Where an archive's files go: made new below one folder, counted as they are written.

use std::fs::DirBuilder;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::names::{Kind, Names, Place};
use super::{Refusal, UnpackLimits, Unpacked};
use crate::stdx::nofollow::Folder;
use crate::stdx::{disk, file};
use crate::workspace::walk;

/// Written between two looks at the disk.
const LOOK: u64 = 16 << 20;
/// Held of a file at once.
const PIECE: usize = 64 << 10;

pub(super) struct Sink<'a> {
    root: &'a Path,
    limits: &'a UnpackLimits,
    cancel: &'a CancellationToken,
    names: Names,
    done: Unpacked,
    /// Written since the disk was looked at; more than enough at first.
    unseen: u64,
    piece: Vec<u8>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(root: &'a Path, limits: &'a UnpackLimits, cancel: &'a CancellationToken) -> Self {
        let names = Names::new(limits.entries, limits.depth);
        Self { root, limits, cancel, names, done: Unpacked::default(), unseen: LOOK, piece: vec![0; PIECE] }
    }

    pub(super) fn end(self) -> Unpacked {
        self.done
    }

    pub(super) fn folder(&mut self, name: &[u8]) -> Result<(), Refusal> {
        self.go_on()?;
        match self.names.place(name, Kind::Folder)? {
            Place::Make { folders, .. } => self.make(name, &folders),
            Place::There => Ok(()),
            Place::OfGit => self.of_git(),
        }
    }

    /// Makes a file of all that the reader has. `size` is what the archive says of it; `packed` how many bytes of the archive
    /// it is made of, where that is known.
    pub(super) fn file(
        &mut self,
        name: &[u8],
        content: &mut dyn Read,
        size: u64,
        packed: Option<u64>,
    ) -> Result<(), Refusal> {
        self.go_on()?;
        let path = match self.names.place(name, Kind::File)? {
            Place::Make { path, folders } => {
                self.make(name, &folders)?;
                path
            }
            // Two files of one name are refused before.
            Place::There => return Err(Refusal::entry(name, "it leads elsewhere")),
            Place::OfGit => return self.of_git(),
        };
        // What it says of itself is enough to refuse it, and not to believe it.
        self.may_write(size)?;
        let mut out = file::open_new_readable(&self.root.join(path)).map_err(|error| naming(name, error))?;
        let mut written = 0;
        loop {
            self.go_on()?;
            let read = match content.read(&mut self.piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(refused(error).unwrap_or_else(|error| Refusal::reading(&error, Some(name)))),
            };
            written += read as u64;
            self.may_write(read as u64)?;
            if let Some(packed) = packed
                && written > self.limits.ratio_from
                && written / self.limits.ratio > packed
            {
                return Err(Refusal::entry(name, super::tarred::bomb(self.limits.ratio)));
            }
            out.write_all(&self.piece[..read])?;
            self.done.bytes += read as u64;
            self.unseen += read as u64;
        }
        if written != size {
            return Err(Refusal::entry(name, format!("it is {written} bytes long, and the archive says {size}")));
        }
        self.done.files += 1;
        Ok(())
    }

    /// Copies what a scan of a folder of this machine would read.
    pub(super) fn copy(&mut self, from: &Path) -> Result<(), Refusal> {
        let folder = Folder::open(from)?;
        for entry in walk::list(from) {
            let Ok(entry) = entry else {
                self.done.left_out += 1;
                continue;
            };
            let inner = entry.path().strip_prefix(from).unwrap_or(entry.path());
            match entry.file_type() {
                Some(kind) if kind.is_file() => {}
                Some(kind) if kind.is_dir() => continue,
                _ => {
                    self.done.left_out += 1;
                    continue;
                }
            }
            // What a link has taken the place of meanwhile is not opened.
            let Ok(Some(source)) = folder.open_file(inner) else {
                self.done.left_out += 1;
                continue;
            };
            let size = source.metadata()?.len();
            // One that grows meanwhile is taken as long as it was.
            self.file(inner.as_os_str().as_bytes(), &mut source.take(size), size, None)?;
        }
        Ok(())
    }

    pub(super) fn go_on(&self) -> Result<(), Refusal> {
        if self.cancel.is_cancelled() { Err(Refusal::Cancelled) } else { Ok(()) }
    }

    fn of_git(&mut self) -> Result<(), Refusal> {
        self.done.of_git += 1;
        // They take no room, but time: there is an end to them too.
        if self.done.of_git > 10 * self.limits.entries {
            return Err(Refusal::archive("there are too many entries of git's own folder: leave `.git` out"));
        }
        Ok(())
    }

    fn make(&self, name: &[u8], folders: &[String]) -> Result<(), Refusal> {
        for folder in folders {
            DirBuilder::new().create(self.root.join(folder)).map_err(|error| naming(name, error))?;
        }
        Ok(())
    }

    fn may_write(&mut self, more: u64) -> Result<(), Refusal> {
        if self.done.bytes.saturating_add(more) > self.limits.bytes {
            return Err(Refusal::TooLarge(self.limits.bytes));
        }
        if self.unseen >= LOOK {
            self.unseen = 0;
            if disk::of(self.root)?.free_bytes < self.limits.keep_free.saturating_add(more) {
                return Err(Refusal::NoRoom);
            }
        }
        Ok(())
    }
}

/// A name that this file system does not hold is the archive's fault.
fn naming(name: &[u8], error: io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::InvalidFilename => Refusal::entry(name, "it is longer than the file system here allows"),
        io::ErrorKind::AlreadyExists => Refusal::entry(name, "the file system here takes it for another one"),
        io::ErrorKind::StorageFull => Refusal::NoRoom,
        _ => Refusal::Io(error),
    }
}

/// A refusal that travelled through a reader.
fn refused(error: io::Error) -> Result<Refusal, io::Error> {
    match error.downcast::<Refusal>() {
        Ok(refusal) => Ok(refusal),
        Err(error) => Err(error),
    }
}
