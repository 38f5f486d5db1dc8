//! Files that are either old or new, never half: write beside, sync, rename.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Writes `bytes` to `path` so that a reader sees the old content or the new one.
///
/// # Errors
/// The I/O error; the temporary file is gone then.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}
