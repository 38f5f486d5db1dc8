//! Files that are either old or new, never half: write beside, sync, rename.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

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
    fn a_private_file_is_the_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/key.pem");
        write_private(&path, b"key").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"key");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(dir.path().join("deep")).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
