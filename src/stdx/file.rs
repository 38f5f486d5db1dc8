//! Files that are either old or new, never half: write beside, sync, rename. And the steps one by one, for those who need
//! another order: make a file that is not there, rename without overwriting, open what is truly a file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, Timespec, Timestamps};

/// How the names of files begin that are being written.
const UNFINISHED: &str = ".unfinished-";

/// Writes `bytes` to `path` so that a reader sees the old content or the new one, also after a cut of power.
///
/// # Errors
/// The I/O error; the temporary file is gone then.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    private_dir(dir)?;
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    // The name stands in the folder: without this a cut of power could take it back.
    fs::File::open(dir)?.sync_all()
}

/// Makes a folder and those above it; what is made is the owner's alone, what is there stays as it is.
///
/// # Errors
/// The I/O error.
pub fn private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Makes an empty file that is its owner's alone; one that is there stays as it is.
///
/// # Errors
/// The I/O error.
pub fn private_file(path: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Removes what a process that was killed in the middle of [`write_atomic`] left in this folder, if there is one. Nobody may be
/// writing there.
///
/// # Errors
/// The first I/O error.
pub fn remove_unfinished(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Makes a file that is the owner's alone, and writes it. Not synced: a cut of power may take it back.
///
/// # Errors
/// `AlreadyExists` when the name is taken, be it by a link that leads nowhere; else the I/O error, and the file is gone then.
pub fn create_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = open_new(path, Mode::RUSR | Mode::WUSR)?;
    file.write_all(bytes).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Makes a file that its owner alone may write and everybody may read, for whoever has more to write than fits into memory.
/// Not synced; whoever cannot write it to its end removes it.
///
/// # Errors
/// As [`create_new`].
pub fn open_new_readable(path: &Path) -> io::Result<File> {
    open_new(path, Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH)
}

fn open_new(path: &Path, mode: Mode) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, mode)?))
}

/// Writes beside, as `<path>.tmp`, and renames: a reader sees the old content or the new one. Not synced, and for one writer at
/// a time; what a killed one left is written over.
///
/// # Errors
/// The I/O error.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut staged = path.as_os_str().to_owned();
    staged.push(".tmp");
    let staged = Path::new(&staged);
    match fs::remove_file(staged) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => create_new(staged, bytes)?,
    }
    fs::rename(staged, path)
}

/// Renames, unless something has the new name already.
///
/// # Errors
/// `AlreadyExists`; `NotFound`; else the I/O error.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that cannot: a second name refuses to overwrite everywhere.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        done => Ok(done?),
    }
}

/// Opens a file to read it. What is no plain file is not waited for and not followed.
///
/// # Errors
/// `InvalidInput` when it is a link, a folder, a pipe or a device; else the I/O error.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let strange = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("not a plain file but {what}"));
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(rustix::io::Errno::LOOP) => return Err(strange("a symbolic link")),
        // What a socket and a device without a driver answer.
        Err(rustix::io::Errno::NXIO) => return Err(strange("a socket or a device")),
        Err(error) => return Err(error.into()),
    };
    let kind = file.metadata()?.file_type();
    match () {
        () if kind.is_file() => Ok(file),
        () if kind.is_dir() => Err(strange("a folder")),
        () => Err(strange("a pipe or a device")),
    }
}

/// Sets when a file was last written, in milliseconds since the Unix epoch. A link is not followed.
///
/// # Errors
/// The I/O error.
pub fn set_modified(path: &Path, millis: i64) -> io::Result<()> {
    let nanos = millis.rem_euclid(1000) * 1_000_000;
    let time = Timespec { tv_sec: millis.div_euclid(1000), tv_nsec: nanos };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Like [`write_atomic`], readable by the owner only from the first byte on.
///
/// # Errors
/// The I/O error; the temporary file is gone then.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Temporary files are made with mode 0600 and keep it through the rename.
    write_atomic(path, bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_was_never_finished_can_be_cleared_away() {
        let dir = tempfile::tempdir().unwrap();
        write_atomic(&dir.path().join("kept.json"), b"{}").unwrap();
        write_atomic(&dir.path().join(format!("{UNFINISHED}x1")), b"{").unwrap();
        remove_unfinished(dir.path()).unwrap();
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["kept.json"]);
        remove_unfinished(&dir.path().join("nowhere")).unwrap();
    }

    #[test]
    fn a_name_that_is_taken_is_never_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other, link) = (dir.path().join("one"), dir.path().join("other"), dir.path().join("link"));
        create_new(&one, b"1").unwrap();
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &link).unwrap();
        assert_eq!(fs::metadata(&one).unwrap().permissions().mode() & 0o777, 0o600);
        for taken in [&one, &link] {
            assert_eq!(create_new(taken, b"2").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        create_new(&other, b"2").unwrap();
        assert_eq!(rename_new(&other, &one).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(rename_new(&other, &link).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        rename_new(&other, &dir.path().join("free")).unwrap();
        assert_eq!(rename_new(&other, &dir.path().join("gone")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(fs::read(dir.path().join("free")).unwrap(), b"2");
        assert_eq!(fs::read(&one).unwrap(), b"1");
    }

    #[test]
    fn what_a_killed_writer_left_is_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record");
        create_new(&dir.path().join("record.tmp"), b"ha").unwrap();
        for text in ["one", "two"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn only_a_plain_file_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        create_new(&at("file"), b"1").unwrap();
        set_modified(&at("file"), 1_800_000_000_123).unwrap();
        let file = open_plain(&at("file")).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::mtime(&file.metadata().unwrap()), 1_800_000_000);
        fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        rustix::fs::mknodat(CWD, at("pipe"), rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        for strange in ["folder", "link", "socket", "pipe"] {
            assert_eq!(open_plain(&at(strange)).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{strange}");
        }
        assert_eq!(open_plain(&at("missing")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_private_file_is_the_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/key.pem");
        write_private(&path, b"key").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"key");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(dir.path().join("deep")).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
