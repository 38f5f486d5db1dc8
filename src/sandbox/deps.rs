//! A folder with what a repository's dependencies are made of: filled by one step that may reach registries, read by all after it.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Gid, Mode, OFlags, Uid};

use super::clear;
use super::registries::Ecosystem;
use super::run::Command;
use super::workplace::PREFIX;
use crate::stdx::scratch::Scratch;

/// What a command may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    None,
    /// The public registries of these, at the port of HTTPS, and the operator's own.
    Registries(Vec<Ecosystem>),
}

/// What a command does with the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Writes it.
    Install,
    /// Reads it.
    Use,
}

/// Seen by commands as `/deps`, beside the work tree that it was made for. Clones are the same folder; with the last it is removed.
#[derive(Debug, Clone)]
pub struct Deps(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    /// Removed after what is in it.
    _scratch: Scratch,
    path: PathBuf,
    owner: Option<u32>,
    ecosystems: Vec<Ecosystem>,
}

impl Deps {
    pub(super) fn new(parent: &Path, owner: Option<u32>, ecosystems: &[Ecosystem]) -> io::Result<Self> {
        let scratch = Scratch::new_in(parent, PREFIX)?;
        let path = scratch.path().join("deps");
        std::fs::create_dir(&path)?;
        let folder = Folder { _scratch: scratch, path, owner, ecosystems: ecosystems.to_vec() };
        let deps = Self(Arc::new(folder));
        if let Some(owner) = owner {
            rustix::fs::fchown(deps.root()?, Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)))?;
        }
        Ok(deps)
    }

    /// The folder on this machine. Nobody but the sandbox should open anything below it.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    pub fn ecosystems(&self) -> &[Ecosystem] {
        &self.0.ecosystems
    }

    pub(super) fn owner(&self) -> Option<u32> {
        self.0.owner
    }

    pub(super) fn root(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(CWD, &self.0.path, flags, Mode::empty())?)
    }

    /// Takes away all that is in it.
    pub(super) fn empty(&self) -> io::Result<()> {
        clear::empty(&self.0.path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = clear::remove_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a folder of dependencies cannot be removed; the next start tries again");
        }
    }
}

impl Command {
    /// Fills the folder from registries.
    #[must_use]
    pub fn installing(mut self, deps: &Deps) -> Self {
        self.network = Network::Registries(deps.ecosystems().to_vec());
        self.deps = Some((deps.clone(), Stage::Install));
        self
    }

    /// Does what it would to fill the folder, with what is in it already and no network: after it came from the cache.
    #[must_use]
    pub fn installing_offline(mut self, deps: &Deps) -> Self {
        self.network = Network::None;
        self.deps = Some((deps.clone(), Stage::Install));
        self
    }

    /// Reads the folder; without network.
    #[must_use]
    pub fn using(mut self, deps: &Deps) -> Self {
        self.network = Network::None;
        self.deps = Some((deps.clone(), Stage::Use));
        self
    }
}
