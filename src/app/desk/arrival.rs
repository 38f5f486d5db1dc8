//! How a codebase comes in: as an archive, piece by piece, or as a folder of this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufWriter};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::{Desk, Problem, UPLOAD_LIVES, Unpacked};
use crate::app::Error;
use crate::domain::{CodebaseId, Millis};
use crate::stdx::{disk, file};
use crate::workspace::archive;

/// How the folders begin in which something arrives.
pub(super) const ARRIVING: &str = ".arriving-";
/// In the folder of an upload: the files, and what there is to say of them.
pub(super) const FILES: &str = "codebase";
const RECORD: &str = "upload.json";
const ARCHIVE: &str = "archive";
/// Received between two looks at the disk.
const LOOK: u64 = 16 << 20;
const BUFFER: usize = 256 << 10;

/// What is kept of an upload beside its files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Upload {
    pub(super) received_at: Millis,
    /// What its owner calls it, where that is known.
    pub(super) name: Option<String>,
    pub(super) files: usize,
    pub(super) bytes: u64,
}

impl Upload {
    pub(super) fn is_over(&self, now: Millis) -> bool {
        let lives = Millis::try_from(UPLOAD_LIVES.as_millis()).unwrap_or(Millis::MAX);
        now.saturating_sub(self.received_at) >= lives
    }
}

/// A codebase that is there now.
#[derive(Debug, Clone)]
pub struct Taken {
    pub id: CodebaseId,
    pub unpacked: Unpacked,
}

/// An archive that arrives. Dropped before its end, nothing of it is left.
pub struct Arrival {
    desk: Desk,
    folder: TempDir,
    archive: BufWriter<File>,
    received: u64,
    /// Since the disk was looked at.
    unseen: u64,
    place: OwnedSemaphorePermit,
}

impl Desk {
    /// Begins to receive an archive. `announced` is how long its sender says it is, if at all.
    ///
    /// # Errors
    /// It is announced as too large, as many as there may be are on their way already, or there is no room for it.
    pub async fn receive(&self, announced: Option<u64>) -> Result<Arrival, Problem> {
        let limit = self.0.limits.upload;
        if announced.is_some_and(|length| length > limit) {
            return Err(Problem::TooLarge(limit));
        }
        let place = self.place()?;
        let folder = self.folder()?;
        self.has_room(folder.path(), announced.unwrap_or_default())?;
        let path = folder.path().join(ARCHIVE);
        file::private_file(&path).map_err(unkept)?;
        let opened = File::options().write(true).open(&path).await.map_err(unkept)?;
        let archive = BufWriter::with_capacity(BUFFER, opened);
        Ok(Arrival { desk: self.clone(), folder, archive, received: 0, unseen: 0, place })
    }

    /// Takes a folder or an archive of this machine, within the same limits; a link is not followed.
    ///
    /// # Errors
    /// It is neither, or cannot be taken for a reason that an upload has too.
    pub async fn take(&self, path: &Path) -> Result<Taken, Problem> {
        let (place, folder) = (self.place()?, self.folder()?);
        let kind = tokio::fs::symlink_metadata(path).await;
        let kind = kind.map_err(|error| Error::Path(format!("`{}` cannot be read: {error}", path.display())))?;
        if kind.is_file() && kind.len() > self.0.limits.upload {
            return Err(Problem::TooLarge(self.0.limits.upload));
        }
        if !kind.is_file() && !kind.is_dir() {
            let why = if kind.is_symlink() { "is a symbolic link" } else { "is neither a folder nor a file" };
            return Err(Error::Path(format!("`{}` {why}", path.display())).into());
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let from = path.to_owned();
        if kind.is_dir() {
            self.keep(folder, place, name, From::Folder(from)).await
        } else {
            self.keep(folder, place, None, From::Archive(from)).await
        }
    }

    fn place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.0.arriving).try_acquire_owned().map_err(|_| Problem::Busy)
    }

    fn folder(&self) -> Result<TempDir, Problem> {
        file::private_dir(&self.0.uploads).map_err(unkept)?;
        Ok(tempfile::Builder::new().prefix(ARRIVING).tempdir_in(&self.0.uploads).map_err(unkept)?)
    }

    fn has_room(&self, folder: &Path, more: u64) -> Result<(), Problem> {
        let free = disk::of(folder).map_err(unkept)?.free_bytes;
        let enough = free >= self.0.limits.unpack.keep_free.saturating_add(more);
        if enough { Ok(()) } else { Err(Problem::NoRoom) }
    }

    /// Unpacks or copies beside, and gives the whole its name at the end.
    async fn keep(
        &self,
        folder: TempDir,
        place: OwnedSemaphorePermit,
        name: Option<String>,
        from: From,
    ) -> Result<Taken, Problem> {
        let (uploads, limits) = (self.0.uploads.clone(), self.0.limits.unpack.clone());
        let (cancel, received_at) = (CancellationToken::new(), self.now());
        // Nobody waits for it any more: the thread stops, and takes what it made along.
        let _stop = cancel.clone().drop_guard();
        let work = move || {
            let _place = place;
            let into = folder.path().join(FILES);
            let unpacked = match &from {
                From::Archive(archive) => archive::unpack(archive, &into, &limits, &cancel)?,
                From::Folder(from) => archive::copy(from, &into, &limits, &cancel)?,
            };
            let arrived = folder.path().join(ARCHIVE);
            if arrived.exists() {
                std::fs::remove_file(arrived).map_err(unkept)?;
            }
            let upload = Upload { received_at, name, files: unpacked.files, bytes: unpacked.bytes };
            let record = serde_json::to_vec(&upload).map_err(|error| unkept(error.into()))?;
            file::write_atomic(&folder.path().join(RECORD), &record).map_err(unkept)?;
            if cancel.is_cancelled() {
                return Err(archive::Refusal::Cancelled.into());
            }
            let id = CodebaseId::fresh();
            std::fs::rename(folder.keep(), uploads.join(id.as_str())).map_err(unkept)?;
            Ok(Taken { id, unpacked })
        };
        let taken = tokio::task::spawn_blocking(work).await.map_err(Error::died("taking in a codebase"))?;
        if let Ok(Taken { id, unpacked }) = &taken {
            let (files, bytes, of_git) = (unpacked.files, unpacked.bytes, unpacked.of_git);
            tracing::info!(codebase.id = %id, files, bytes, of_git, "a codebase was taken in");
        }
        taken
    }

    /// What is kept of an upload; nothing where there is none.
    pub(super) async fn upload(&self, id: &CodebaseId) -> Result<Option<Upload>, Problem> {
        Ok(read(&self.0.uploads.join(id.as_str())).await?)
    }
}

/// Where files come from.
enum From {
    Archive(PathBuf),
    Folder(PathBuf),
}

impl Arrival {
    /// Writes the next piece down.
    ///
    /// # Errors
    /// It is too large by now, or there is no room for it.
    pub async fn write(&mut self, piece: &[u8]) -> Result<(), Problem> {
        let more = piece.len() as u64;
        let limit = self.desk.0.limits.upload;
        if self.received + more > limit {
            return Err(Problem::TooLarge(limit));
        }
        self.unseen += more;
        if self.unseen >= LOOK {
            self.unseen = 0;
            self.desk.has_room(self.folder.path(), more)?;
        }
        self.archive.write_all(piece).await.map_err(unkept)?;
        self.received += more;
        Ok(())
    }

    /// All of it has arrived: unpacks it.
    ///
    /// # Errors
    /// The archive is refused, what comes out is too large, or it cannot be kept. Nothing is left of it then.
    pub async fn unpack(mut self) -> Result<Taken, Problem> {
        self.archive.flush().await.map_err(unkept)?;
        drop(self.archive);
        let archive = self.folder.path().join(ARCHIVE);
        let desk = self.desk.clone();
        desk.keep(self.folder, self.place, None, From::Archive(archive)).await
    }
}

/// The record of an upload's folder.
pub(super) async fn read(folder: &Path) -> Result<Option<Upload>, Error> {
    match tokio::fs::read(folder.join(RECORD)).await {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::Path(format!("an upload cannot be read: {error}"))),
    }
}

fn unkept(error: std::io::Error) -> Problem {
    match error.kind() {
        std::io::ErrorKind::StorageFull => Problem::NoRoom,
        _ => Problem::Refused(archive::Refusal::Io(error)),
    }
}
