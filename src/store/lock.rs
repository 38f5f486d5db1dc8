//! One daemon per state directory: an advisory lock on a file that names its holder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::open::LOCK;
use super::{Error, Store};
use crate::stdx::file;

/// Held as long as it lives; the system frees it when the process dies, however it dies.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not read")] File);

impl Store {
    /// Keeps every other daemon away from a directory before there is a database to open: `open` wants the lock for itself,
    /// so it has to be dropped before that.
    ///
    /// # Errors
    /// Somebody holds it, or the directory cannot be written.
    pub fn reserve(dir: &Path) -> Result<Lock, Error> {
        file::private_dir(dir).map_err(|source| Error::Io { path: dir.to_owned(), source })?;
        Lock::take(&dir.join(LOCK), &format!("process {} on {}", std::process::id(), dir.display()))
    }
}

impl Lock {
    pub(super) fn take(path: &Path, holder: &str) -> Result<Self, Error> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        // Never truncated on opening: until the lock is ours, the text inside names somebody else.
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = (&mut file).take(200).read_to_string(&mut text);
                let text = text.trim();
                // It names its folder, unless it was interrupted over that.
                let unknown = || format!("an unknown process holds {}", path.display());
                let holder = if text.is_empty() { unknown() } else { text.to_owned() };
                return Err(Error::Locked { holder });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        file.set_len(0).map_err(io)?;
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        writeln!(file, "{holder}").map_err(io)?;
        Ok(Self(file))
    }
}
