//! Folders of dependencies kept on this machine, so that the next run of the same lock files needs no network.
//!
//! What a command has written is judged when it goes in and again when it comes out; it is copied both ways, so that no command ever
//! has a file of the cache in its hands. All of it blocks: to be called off the runtime.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{CWD, Mode, OFlags};

use super::copy::{self, Fault};
use super::registries::Ecosystem;
use super::{Deps, clear};
use crate::stdx::text::binary_size;
use crate::stdx::{file, hash};

/// Changes with what a folder of dependencies looks like.
const LAYOUT: &str = "2";
/// Characters of an entry's name that tell whose it is.
const OWNER: usize = 16;
/// How the names of folders begin that are being made or removed.
const UNFINISHED: &str = ".unfinished-";
const TREE: &str = "tree";
const SIZE: &str = "size";
const USED: &str = "used";

/// Whose code could have written a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The repository's own.
    Default,
    /// A pull request from a fork, by its number: no two share anything.
    Stranger(u64),
}

/// What a folder is kept under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    name: String,
    stranger: bool,
}

impl Key {
    /// Of a repository, by whatever names it; repositories share nothing, since each one's commands can write what they like. `None`
    /// without a lock file: what is installed then may differ from day to day.
    /// `toolchain` is what shows which programs have fetched it, as [`super::Sandbox::toolchain`] tells.
    pub fn new(
        repository: &str,
        trust: Trust,
        ecosystems: &[Ecosystem],
        toolchain: &[String],
        locks: &[(&str, &[u8])],
    ) -> Option<Self> {
        if locks.is_empty() {
            return None;
        }
        let (who, stranger) = match trust {
            Trust::Default => ("default".to_owned(), false),
            Trust::Stranger(number) => (format!("stranger {number}"), true),
        };
        let mut names: Vec<String> = ecosystems.iter().map(|ecosystem| ecosystem.name().to_owned()).collect();
        let mut files: Vec<String> =
            locks.iter().map(|(path, bytes)| format!("{} {path}", hash::sha256(bytes))).collect();
        names.sort();
        files.sort();
        let parts = [LAYOUT, std::env::consts::ARCH, repository, &who, &names.join(" "), &toolchain.join("\n")];
        let what = hash::sha256_parts(parts.into_iter().chain(files.iter().map(String::as_str)));
        let name = owner(repository).chars().chain(what.chars().skip(OWNER)).collect();
        Some(Self { name, stranger })
    }
}

/// How the names of a repository's entries begin.
fn owner(repository: &str) -> String {
    hash::sha256(repository.as_bytes()).chars().take(OWNER).collect()
}

/// A folder that was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    pub bytes: u64,
    /// Folders that went to make room, those used least recently first.
    pub evicted: usize,
}

/// A folder was not kept; the next run installs again.
#[derive(Debug, thiserror::Error)]
pub enum NotKept {
    #[error("caches for pull requests from forks are switched off")]
    Stranger,
    #[error("it holds what a cache does not take: {0}")]
    Strange(String),
    #[error("it is larger than the {} that the cache may have", binary_size(*.0))]
    TooLarge(u64),
    #[error("the cache cannot be written")]
    Io(#[from] io::Error),
}

/// One folder on this machine; nobody else may use it at the same time.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    most: u64,
    strangers: bool,
    state: Mutex<State>,
    /// An advisory lock on the folder itself.
    _held: File,
}

#[derive(Debug, Default)]
struct State {
    kept: BTreeMap<String, Kept>,
    /// Counted up with every use.
    clock: u64,
}

#[derive(Debug)]
struct Kept {
    bytes: u64,
    used: u64,
    /// Who copies from it just now.
    readers: usize,
    /// Goes as soon as nobody does.
    doomed: bool,
}

impl Cache {
    /// Opens a folder, or makes it; what a killed process left unfinished is removed. `most` bytes of files are kept together.
    ///
    /// # Errors
    /// `WouldBlock` when another process has it open; else the disk's.
    pub fn open(folder: &Path, most: u64, strangers: bool) -> io::Result<Self> {
        file::private_dir(folder)?;
        let held = File::from(open_folder(folder)?);
        held.try_lock()?;
        let mut state = State::default();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = |file: &str| fs::read_to_string(entry.path().join(file)).ok()?.trim().parse::<u64>().ok();
            let is_key = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            match number(SIZE) {
                Some(bytes) if is_key => {
                    let used = number(USED).unwrap_or(0);
                    state.clock = state.clock.max(used);
                    state.kept.insert(name, Kept { bytes, used, readers: 0, doomed: false });
                }
                _ if is_key || name.starts_with(UNFINISHED) => clear::remove_all(&entry.path())?,
                // Not ours.
                _ => {}
            }
        }
        let cache = Self { folder: folder.to_owned(), most, strangers, state: Mutex::new(state), _held: held };
        cache.make_room(None)?;
        Ok(cache)
    }

    /// Fills an empty folder with what is kept under the key; `false` when there is nothing, or nothing that passes its judgement.
    ///
    /// # Errors
    /// The disk's, at the folder that should be filled.
    pub fn load(&self, key: &Key, deps: &Deps) -> io::Result<bool> {
        if key.stranger && !self.strangers {
            return Ok(false);
        }
        let at = self.folder.join(&key.name);
        {
            let mut state = self.state();
            state.clock += 1;
            let clock = state.clock;
            let Some(kept) = state.kept.get_mut(&key.name) else { return Ok(false) };
            kept.used = clock;
            kept.readers += 1;
            // Lost, it goes earlier than it would.
            let _unwritten = file::replace(&at.join(USED), clock.to_string().as_bytes());
        }
        let copied = open_folder(&at.join(TREE))
            .map_err(Fault::from)
            .and_then(|tree| copy::tree(&tree, &deps.root()?, deps.owner(), self.most));
        let doomed = self.state().kept.get_mut(&key.name).is_some_and(|kept| {
            kept.readers -= 1;
            kept.doomed
        });
        if doomed {
            self.forget(&key.name)?;
        }
        match copied {
            Ok(_) => Ok(true),
            Err(why) => {
                tracing::warn!(path = %at.display(), %why, "a kept folder of dependencies cannot be used and is removed");
                deps.empty()?;
                self.forget(&key.name)?;
                Ok(false)
            }
        }
    }

    /// Keeps a copy of a folder, after no command has it any more. What is kept already stays.
    ///
    /// # Errors
    /// Why it was not kept.
    pub fn save(&self, key: &Key, deps: &Deps) -> Result<Saved, NotKept> {
        if key.stranger && !self.strangers {
            return Err(NotKept::Stranger);
        }
        let staged = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.folder)?;
        let tree = staged.path().join(TREE);
        fs::create_dir(&tree)?;
        let made = open_folder(&tree)?;
        let bytes = copy::tree(&deps.root()?, &made, None, self.most).map_err(|fault| match fault {
            Fault::Strange { .. } => NotKept::Strange(fault.to_string()),
            Fault::TooLarge(most) => NotKept::TooLarge(most),
            Fault::Io(error) => NotKept::Io(error),
        })?;
        file::create_new(&staged.path().join(SIZE), bytes.to_string().as_bytes())?;
        // Before the name: after a cut of power there is all of it or nothing.
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&made).map_err(io::Error::from)?;
        {
            let mut state = self.state();
            state.clock += 1;
            let used = state.clock;
            file::create_new(&staged.path().join(USED), used.to_string().as_bytes())?;
            if !state.kept.contains_key(&key.name) {
                fs::rename(staged.path(), self.folder.join(&key.name))?;
                state.kept.insert(key.name.clone(), Kept { bytes, used, readers: 0, doomed: false });
            }
        }
        let evicted = self.make_room(Some(&key.name))?;
        Ok(Saved { bytes, evicted })
    }

    /// Removes all that is kept of a repository, strangers' too; what is just being copied goes after that. How many folders.
    ///
    /// # Errors
    /// The disk's.
    pub fn purge(&self, repository: &str) -> io::Result<usize> {
        let owner = owner(repository);
        let mut names = Vec::new();
        for (name, kept) in self.state().kept.iter_mut().filter(|(name, _)| name.starts_with(&owner)) {
            kept.doomed = true;
            names.push(name.clone());
        }
        for name in &names {
            self.forget(name)?;
        }
        Ok(names.len())
    }

    /// Bytes of all files that are kept.
    pub fn bytes(&self) -> u64 {
        self.state().kept.values().map(|kept| kept.bytes).sum()
    }

    /// Removes what was used least recently until the rest fits; never what is in use or `but`.
    fn make_room(&self, but: Option<&str>) -> io::Result<usize> {
        let mut evicted = 0;
        loop {
            let next = {
                let state = self.state();
                if state.kept.values().map(|kept| kept.bytes).sum::<u64>() <= self.most {
                    return Ok(evicted);
                }
                let free = state.kept.iter().filter(|(name, kept)| kept.readers == 0 && Some(name.as_str()) != but);
                free.min_by_key(|(_, kept)| kept.used).map(|(name, _)| name.clone())
            };
            let Some(name) = next else { return Ok(evicted) };
            evicted += usize::from(self.forget(&name)?);
        }
    }

    /// Whether it was there and nobody was reading it.
    fn forget(&self, name: &str) -> io::Result<bool> {
        let gone = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.folder)?;
        let removed = {
            let mut state = self.state();
            let free = state.kept.get(name).is_some_and(|kept| kept.readers == 0);
            if free {
                fs::rename(self.folder.join(name), gone.path().join("entry"))?;
                state.kept.remove(name);
            }
            free
        };
        if removed {
            clear::remove_all(&gone.path().join("entry"))?;
        }
        Ok(removed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_apart_all_that_matters() {
        let lock: (&str, &[u8]) = ("Cargo.lock", b"1");
        let key = |repository, trust, ecosystems: &[Ecosystem], locks: &[(&str, &[u8])]| {
            Key::new(repository, trust, ecosystems, &["1.0".to_owned()], locks).unwrap().name
        };
        let one = key("o/r", Trust::Default, &[Ecosystem::Cargo], &[lock]);
        assert_eq!(one, key("o/r", Trust::Default, &[Ecosystem::Cargo], &[lock]));
        let others = [
            key("o/s", Trust::Default, &[Ecosystem::Cargo], &[lock]),
            key("o/r", Trust::Stranger(1), &[Ecosystem::Cargo], &[lock]),
            key("o/r", Trust::Stranger(2), &[Ecosystem::Cargo], &[lock]),
            key("o/r", Trust::Default, &[Ecosystem::Npm], &[lock]),
            key("o/r", Trust::Default, &[Ecosystem::Cargo], &[("Cargo.lock", b"2")]),
            key("o/r", Trust::Default, &[Ecosystem::Cargo], &[("a/Cargo.lock", b"1")]),
            key("o/r", Trust::Default, &[Ecosystem::Cargo], &[lock, ("b", b"")]),
        ];
        let newer = Key::new("o/r", Trust::Default, &[Ecosystem::Cargo], &["1.1".to_owned()], &[lock]).unwrap().name;
        let all: std::collections::BTreeSet<_> = others.iter().chain([&one, &newer]).collect();
        assert_eq!(all.len(), 9);
        assert!(all.iter().all(|name| name.len() == 64));
        assert!(newer.starts_with(&owner("o/r")) && others[1].starts_with(&owner("o/r")));
        assert_eq!(Key::new("o/r", Trust::Default, &[Ecosystem::Cargo], &[], &[]), None);
    }
}
