//! Unpacking strangers' archives: zip, tar and tar.gz, told apart by their bytes.
//!
//! Promise: what comes out is plain files and folders below one folder, within its limits, or nothing at all; memory is
//! bounded whatever the archive says of itself.
//! Never: no link, device or owner is made, no time or mode taken over; what leads out of the folder refuses the archive.

mod names;
mod sink;
mod tarred;
mod zipped;

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::stdx::file;
use crate::stdx::text::{binary_size, truncate_chars};
use sink::Sink;

/// What may come out of one archive.
#[derive(Debug, Clone)]
pub struct UnpackLimits {
    /// Files and folders together, those without an entry of their own too.
    pub entries: usize,
    /// Bytes of all files together.
    pub bytes: u64,
    /// Folders within folders.
    pub depth: usize,
    /// Bytes that may come out for one that went in, of one entry and of all.
    pub ratio: u64,
    /// So many may come out before that is asked.
    pub ratio_from: u64,
    /// Bytes that stay free on the disk.
    pub keep_free: u64,
}

impl Default for UnpackLimits {
    fn default() -> Self {
        Self { entries: 100_000, bytes: 2 << 30, depth: 128, ratio: 200, ratio_from: 1 << 20, keep_free: 256 << 20 }
    }
}

/// What came out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unpacked {
    pub files: usize,
    pub bytes: u64,
    /// Entries that were left out because they lay in a `.git`, or were one: a copy is no repository.
    pub of_git: usize,
    /// Of a folder: links, and what could not be read.
    pub left_out: usize,
}

/// Why nothing came out.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It is no archive that is read here, or a damaged one.
    #[error("the archive is refused: {0}")]
    Archive(String),
    /// One of its entries, by its name as it may be shown.
    #[error("the archive is refused because of its entry `{name}`: {why}")]
    Entry { name: String, why: String },
    #[error("what comes out is more than the limit of {}", binary_size(*.0))]
    TooLarge(u64),
    #[error("the disk has not enough room for it")]
    NoRoom,
    #[error("it could not be written")]
    Io(#[from] io::Error),
    #[error("cancelled")]
    Cancelled,
}

impl Refusal {
    /// The sender can do something about it: with another archive it would be taken.
    pub fn is_the_senders(&self) -> bool {
        matches!(self, Self::Archive(_) | Self::Entry { .. } | Self::TooLarge(_))
    }

    fn archive(why: impl Into<String>) -> Self {
        Self::Archive(why.into())
    }

    fn entry(name: &[u8], why: impl Into<String>) -> Self {
        Self::Entry { name: shown(name), why: why.into() }
    }

    /// What reading the archive itself came to: the disk's failure is told from damage.
    fn reading(error: &io::Error, entry: Option<&[u8]>) -> Self {
        if let Some(code) = error.raw_os_error() {
            return Self::Io(io::Error::from_raw_os_error(code));
        }
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it ends in the middle of something".to_owned(),
            _ => format!("it is damaged: {}", shown(error.to_string().as_bytes())),
        };
        match entry {
            Some(name) => Self::entry(name, why),
            None => Self::Archive(why),
        }
    }
}

/// A stranger's name where a person reads it: one line of bounded length, what would steer a terminal as its code.
fn shown(name: &[u8]) -> String {
    const LONGEST: usize = 200;
    // Cut before it is looked at: a name may be as long as its sender likes.
    let some = &name[..name.len().min(4 * LONGEST)];
    truncate_chars(&String::from_utf8_lossy(some), LONGEST).escape_debug().to_string()
}

/// Unpacks the archive into a folder that is not there yet, and is its owner's alone then.
///
/// # Errors
/// Whatever is wrong with the archive refuses the whole of it; the folder is not there then.
pub fn unpack(
    archive: &Path,
    into: &Path,
    limits: &UnpackLimits,
    cancel: &CancellationToken,
) -> Result<Unpacked, Refusal> {
    whole(into, |into| {
        let mut file = file::open_plain(archive)?;
        let mut sink = Sink::new(into, limits, cancel);
        match Kind::of(&mut file)? {
            Kind::Zip => zipped::unpack(file, limits, &mut sink)?,
            Kind::Tar => tarred::unpack(file, &mut sink)?,
            Kind::Gzip => tarred::unpack_gzip(file, limits, &mut sink)?,
        }
        let unpacked = sink.end();
        if unpacked.files == 0 {
            return Err(Refusal::archive(match unpacked.of_git {
                0 => "there is no file in it",
                _ => "there is no file in it but those of git's own folder",
            }));
        }
        Ok(unpacked)
    })
}

/// Copies a folder as an archive of it would be unpacked: the same limits but that of ratio, the same names. What `.gitignore`
/// names and git's own folder do not come along; links and whatever is no file are left out, as a scan leaves them unread.
///
/// # Errors
/// As [`unpack`].
pub fn copy(
    folder: &Path,
    into: &Path,
    limits: &UnpackLimits,
    cancel: &CancellationToken,
) -> Result<Unpacked, Refusal> {
    whole(into, |into| {
        let mut sink = Sink::new(into, limits, cancel);
        sink.copy(folder)?;
        let unpacked = sink.end();
        if unpacked.files == 0 {
            return Err(Refusal::archive("there is no file in the folder"));
        }
        Ok(unpacked)
    })
}

/// All of it, or no folder.
fn whole(into: &Path, work: impl FnOnce(&Path) -> Result<Unpacked, Refusal>) -> Result<Unpacked, Refusal> {
    let mut builder = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(into)?;
    work(into).inspect_err(|_| {
        if let Err(error) = fs::remove_dir_all(into) {
            tracing::warn!("what was unpacked of a refused archive could not be removed: {error}");
        }
    })
}

enum Kind {
    Zip,
    Tar,
    Gzip,
}

impl Kind {
    /// By the first bytes; the file is read from its start afterwards.
    fn of(file: &mut File) -> Result<Self, Refusal> {
        let mut head = Vec::new();
        file.take(512).read_to_end(&mut head)?;
        file.rewind()?;
        let begins = |magic: &[u8]| head.starts_with(magic);
        match () {
            () if head.is_empty() => Err(Refusal::archive("it is empty")),
            () if begins(b"PK\x03\x04") || begins(b"PK\x05\x06") => Ok(Self::Zip),
            () if begins(&[0x1f, 0x8b]) => Ok(Self::Gzip),
            () if tarred::is_header(&head) => Ok(Self::Tar),
            () if begins(b"BZh") || begins(b"\xfd7zXZ\0") || begins(b"\x28\xb5\x2f\xfd") || begins(b"7z\xbc\xaf") => {
                Err(Refusal::archive("it is of a kind that is not read here: pack it as zip, tar or tar.gz"))
            }
            () => Err(Refusal::archive("it is neither zip nor tar nor tar.gz")),
        }
    }
}

#[cfg(test)]
mod tests;
