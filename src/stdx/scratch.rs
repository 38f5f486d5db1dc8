//! Folders in the temporary directory that go with their process, and a broom for those whose process was killed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;

/// Random characters that `tempfile` ends a name with.
const RANDOM: usize = 6;
/// Seconds: a folder this young may be one that its process has made and not yet taken hold of.
const YOUNG: i64 = 60;

/// A folder of this process's own. Dropped, it is removed with all that is in it.
#[derive(Debug)]
pub struct Scratch {
    dir: TempDir,
    /// An advisory lock on the folder itself, which the system frees however the process dies.
    _held: File,
}

impl Scratch {
    /// Makes a folder named `prefix` and six random characters, its owner's alone.
    ///
    /// # Errors
    /// The I/O error; no folder is left then.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir(), prefix)
    }

    /// The same in another folder than the temporary one.
    ///
    /// # Errors
    /// As [`Scratch::new`].
    pub fn new_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix(prefix).rand_bytes(RANDOM).tempdir_in(parent)?;
        let held = open_folder(dir.path())?;
        held.try_lock()?;
        Ok(Self { dir, _held: held })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Removes what killed processes left under this prefix. Only folders that are this user's own, older than a minute, and
/// held by no living process are touched; a link is none of them. What cannot be removed is left for the next time.
///
/// # Errors
/// The temporary directory cannot be read.
pub fn sweep(prefix: &str) -> io::Result<()> {
    sweep_in(&std::env::temp_dir(), prefix)
}

/// The same in another folder than the temporary one.
///
/// # Errors
/// As [`sweep`].
pub fn sweep_in(parent: &Path, prefix: &str) -> io::Result<()> {
    sweep_with(parent, prefix, |path| fs::remove_dir_all(path))
}

/// The same for folders that take more to be removed.
///
/// # Errors
/// As [`sweep`].
pub fn sweep_with(parent: &Path, prefix: &str, remove: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    // Who we are and how late it is, by the same file system that dates the folders.
    let now = tempfile::tempfile_in(parent)?.metadata()?;
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(prefix));
        if !random.is_some_and(|rest| rest.len() == RANDOM && rest.chars().all(|c| c.is_ascii_alphanumeric())) {
            continue;
        }
        let Ok(folder) = open_folder(&entry.path()) else { continue };
        let ours = folder.metadata().is_ok_and(|meta| meta.uid() == now.uid() && meta.mtime() + YOUNG < now.mtime());
        if ours && folder.try_lock().is_ok() {
            let _left_for_the_next_time = remove(&entry.path());
        }
    }
    Ok(())
}

/// A folder and nothing else: what the last name links to is not followed.
fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stdx::file;

    const PREFIX: &str = "octoswarm-test-";

    fn make(parent: &Path, name: &str, seconds_ago: i64) -> std::path::PathBuf {
        let path = parent.join(name);
        fs::create_dir(&path).unwrap();
        file::create_new(&path.join("key"), b"secret").unwrap();
        let now = fs::metadata(&path).unwrap().mtime();
        file::set_modified(&path, (now - seconds_ago) * 1000).unwrap();
        path
    }

    #[test]
    fn what_nobody_holds_is_swept_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let old = make(parent.path(), "octoswarm-test-aB3dE6", 120);
        let young = make(parent.path(), "octoswarm-test-young1", 10);
        let held = make(parent.path(), "octoswarm-test-held12", 120);
        let holder = open_folder(&held).unwrap();
        holder.try_lock().unwrap();
        let foreign: Vec<_> = ["octoswarm-test-longer-name", "octoswarm-test-", "octoswarm-other-aB3dE6", "xyz"]
            .map(|name| make(parent.path(), name, 120))
            .into();
        let target = make(parent.path(), "target", 120);
        let link = parent.path().join("octoswarm-test-link12");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let file = parent.path().join("octoswarm-test-file12");
        file::create_new(&file, b"").unwrap();
        file::set_modified(&file, 0).unwrap();
        sweep_in(parent.path(), PREFIX).unwrap();
        assert!(!old.exists());
        for kept in foreign.iter().chain([&young, &held, &target]) {
            assert!(kept.join("key").is_file(), "{}", kept.display());
        }
        assert!(link.is_symlink() && file.is_file());
        drop(holder);
        sweep_in(parent.path(), PREFIX).unwrap();
        assert!(!held.exists());
    }

    #[test]
    fn a_living_process_holds_its_folder_and_takes_it_along() {
        let scratch = Scratch::new(PREFIX).unwrap();
        let path = scratch.path().to_owned();
        assert!(open_folder(&path).unwrap().try_lock().is_err());
        drop(scratch);
        assert!(!path.exists());
    }
}
