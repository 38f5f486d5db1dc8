//! One bare mirror per repository, kept between runs, holding as little history as a merge base needs.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use git2::{AutotagOption, Direction, ErrorClass, FetchOptions, Oid, RemoteCallbacks, Repository};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use super::ancestry::{Point, commit_tree, merge_base};
use super::change::{Change, Store};
use super::error::{AtPath, Doing, Error};
use super::git::{self, blocking};
use super::limits::Limits;
use super::transport::{self, ADDRESS, Session};
use crate::domain::{Credential, PullNumber, RepositoryId, Sha};
use crate::stdx::file::private_dir;
use crate::stdx::hash;

/// Git's word for "all of it".
const ALL_HISTORY: i32 = i32::MAX;
/// Beyond this depth the rest is asked for at once.
const DEEPEST_STEP: i32 = 50_000;
/// How the name of a mirror begins that is being removed.
const GONE: &str = ".gone-";

/// Where a repository is fetched from.
#[derive(Debug, Clone)]
pub struct Remote {
    pub repository: RepositoryId,
    /// `https://host/owner/name.git`, without user, query or token.
    pub url: String,
    /// Sent to its own origin only.
    pub credential: Option<Credential>,
}

/// The folder of all mirrors, one per repository id.
#[derive(Debug)]
pub struct Mirrors {
    root: PathBuf,
    pub(super) limits: Limits,
    client: reqwest::Client,
    slots: Mutex<HashMap<RepositoryId, Slot>>,
}

/// What this process knows of one mirror.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    /// Held while the mirror is written to.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Cloned into every change that reads from the mirror.
    pub(super) in_use: Arc<()>,
}

impl Slot {
    /// This slot's own handle and the map's: any more and a change is still being read.
    pub(super) fn is_quiet(&self) -> bool {
        Arc::strong_count(&self.in_use) <= 2
    }
}

impl Mirrors {
    pub fn new(root: PathBuf, limits: Limits) -> Result<Self, Error> {
        git::tame()?;
        private_dir(&root).at(&root)?;
        for left in fs::read_dir(&root).at(&root)?.flatten() {
            if left.file_name().to_string_lossy().starts_with(GONE) {
                // Left by a killed process, or being removed by a living one just now.
                let _ = fs::remove_dir_all(left.path());
            }
        }
        let client = transport::client(&limits)?;
        Ok(Self { root, limits, client, slots: Mutex::default() })
    }

    /// Brings the base branch and the pull request's head into the mirror, with as much history as their merge base needs.
    ///
    /// Cancelled by the token, or by dropping the future: the transfer stops at its next packet.
    pub async fn pull(
        &self,
        remote: Remote,
        number: PullNumber,
        head: &Sha,
        base_ref: &str,
        cancel: &CancellationToken,
    ) -> Result<Change, Error> {
        let cancel = cancel.child_token();
        let _stop_when_dropped = cancel.clone().drop_guard();
        let session = self.session(&remote, &cancel)?;
        let branch = format!("refs/heads/{base_ref}");
        if !git2::Reference::is_valid_name(&branch) {
            return Err(Error::BaseGone { branch: base_ref.to_owned() });
        }
        let (slot, turn) = self.turn(remote.repository, &cancel).await?;
        let pull = Pull {
            fetch: self.fetch(remote.repository, session, slot),
            wanted: git::oid(head)?,
            head: head.clone(),
            number,
            base_ref: base_ref.to_owned(),
            branch,
        };
        blocking(move || {
            // A dropped future must not let the next one in while libgit2 still writes here.
            let _turn = turn;
            pull.run()
        })
        .await
    }

    /// Removes all that is kept of a repository: the App was uninstalled, or lost access.
    pub async fn purge(&self, repository: RepositoryId) -> Result<(), Error> {
        let turn = self.slot(repository).turn.lock_owned().await;
        let place = self.place(repository);
        blocking(move || {
            let _turn = turn;
            let _lock = place.lock(|| true)?;
            place.wipe()
        })
        .await
    }

    pub(super) fn fetch(&self, repository: RepositoryId, session: Arc<Session>, slot: Slot) -> Fetch {
        let quiet = slot.is_quiet();
        Fetch { place: self.place(repository), session, limits: self.limits.clone(), quiet, in_use: slot.in_use }
    }

    pub(super) fn session(&self, remote: &Remote, cancel: &CancellationToken) -> Result<Arc<Session>, Error> {
        let (client, limits) = (self.client.clone(), self.limits.clone());
        Session::new(&remote.url, remote.credential.as_ref(), client, limits, cancel.clone())
    }

    /// Waits until nobody in this process writes to the mirror.
    pub(super) async fn turn(
        &self,
        repository: RepositoryId,
        cancel: &CancellationToken,
    ) -> Result<(Slot, OwnedMutexGuard<()>), Error> {
        let slot = self.slot(repository);
        let turn = tokio::select! {
            turn = Arc::clone(&slot.turn).lock_owned() => turn,
            () = cancel.cancelled() => return Err(Error::Cancelled),
        };
        Ok((slot, turn))
    }

    pub(super) fn place(&self, repository: RepositoryId) -> Place {
        Place::new(&self.root, repository)
    }

    fn slot(&self, repository: RepositoryId) -> Slot {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).entry(repository).or_default().clone()
    }
}

/// A mirror's paths.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
    /// Named by the repository's id; holds one mirror.
    folder: PathBuf,
    lock: PathBuf,
    /// Exists when a reader found the mirror damaged.
    pub(super) damaged: PathBuf,
}

impl Place {
    fn new(root: &Path, repository: RepositoryId) -> Self {
        Self {
            root: root.to_owned(),
            folder: root.join(repository.to_string()),
            lock: root.join(format!("{repository}.lock")),
            damaged: root.join(format!("{repository}.damaged")),
        }
    }

    /// Keeps other processes out. The file stays: removing it would let two in.
    pub(super) fn lock(&self, may_wait: impl Fn() -> bool) -> Result<File, Error> {
        const PAUSE: Duration = Duration::from_millis(20);
        let file = File::options().create(true).write(true).truncate(false).open(&self.lock).at(&self.lock)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::WouldBlock) if may_wait() => std::thread::sleep(PAUSE),
                Err(fs::TryLockError::WouldBlock) => return Err(Error::Interrupted),
                Err(fs::TryLockError::Error(source)) => return Err(Error::Io { path: self.lock.clone(), source }),
            }
        }
    }

    /// Out of the way in one step, then gone: a crash in between leaves no half mirror under its name.
    fn wipe(&self) -> Result<(), Error> {
        match fs::remove_file(&self.damaged) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error).at(&self.damaged),
            _ => {}
        }
        if fs::symlink_metadata(&self.folder).is_err() {
            return Ok(());
        }
        let trash = tempfile::Builder::new().prefix(GONE).tempdir_in(&self.root).at(&self.root)?;
        fs::rename(&self.folder, trash.path().join("mirror")).at(&self.folder)?;
        match trash.close() {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at(&self.root),
            _ => Ok(()),
        }
    }

    /// An empty mirror, under a name that was never used: libgit2 keeps packs open by their path, damaged ones too.
    pub(super) fn fresh(&self) -> Result<PathBuf, Error> {
        self.wipe()?;
        private_dir(&self.folder).at(&self.folder)?;
        let mirror = self.folder.join(format!("{}.git", uuid::Uuid::now_v7().simple()));
        git::init_own(&mirror)?;
        Ok(mirror)
    }

    /// The mirror, if it is the only one and sound.
    pub(super) fn kept(&self) -> Option<PathBuf> {
        let items: Vec<_> = fs::read_dir(&self.folder).ok()?.flatten().collect();
        let [only] = items.as_slice() else { return None };
        let mirror = only.path();
        let sound = !self.damaged.exists() && tidy(&mirror).is_ok() && is_sound(&mirror);
        sound.then_some(mirror)
    }
}

/// The mirror of a repository, if there is one that nobody found damaged; for whoever only reads, without its lock.
pub(super) fn there(root: &Path, repository: RepositoryId) -> Option<PathBuf> {
    let place = Place::new(root, repository);
    let mut items = fs::read_dir(&place.folder).ok()?.flatten();
    let mirror = items.next()?.path();
    (items.next().is_none() && !place.damaged.exists() && is_sound(&mirror)).then_some(mirror)
}

/// Removes what a killed process left. Only with the lock held: then no living one owns it.
fn tidy(mirror: &Path) -> Result<(), Error> {
    let mut folders = vec![mirror.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).at(&folder)? {
            let item = item.at(&folder)?;
            let path = item.path();
            let kind = item.file_type().at(&path)?;
            let name = item.file_name().to_string_lossy().into_owned();
            if kind.is_dir() {
                folders.push(path);
            } else if name.ends_with(".lock") || (folder.ends_with("objects/pack") && !name.starts_with("pack-")) {
                fs::remove_file(&path).at(&path)?;
            }
        }
    }
    Ok(())
}

/// A mirror is never told to look for objects elsewhere; one that is was tampered with.
fn is_sound(mirror: &Path) -> bool {
    let told = |file: &str| fs::symlink_metadata(mirror.join("objects/info").join(file)).is_ok();
    !told("alternates") && !told("http-alternates") && git::open_own(mirror).is_ok()
}

/// Where a branch is kept. Hashed: of two branches `a` and `a/b`, only one could be kept as a file.
pub(super) fn base_ref(branch: &str) -> String {
    format!("refs/octoswarm/base/{}", hash::sha256(branch.as_bytes()))
}

/// Whether the mirror has grown past its limits; libgit2 cannot repack, so it is fetched anew.
pub(super) fn is_overgrown(mirror: &Path, limits: &Limits) -> bool {
    let files: Vec<_> = fs::read_dir(mirror.join("objects/pack")).into_iter().flatten().flatten().collect();
    let bytes: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum();
    let count = files.iter().filter(|file| file.path().extension().is_some_and(|e| e == "pack")).count();
    count > limits.mirror_packs || bytes > limits.mirror_bytes || loose(mirror) > limits.mirror_loose
}

/// Objects that no pack holds: the trees and commits we made, pushed or not.
fn loose(mirror: &Path) -> usize {
    let folders = fs::read_dir(mirror.join("objects")).into_iter().flatten().flatten();
    let folders = folders.filter(|folder| folder.file_name().len() == 2);
    folders.map(|folder| fs::read_dir(folder.path()).map_or(0, Iterator::count)).sum()
}

/// A fetch into a mirror, whatever it brings: on a blocking thread, with the mirror's turn held.
pub(super) struct Fetch {
    pub(super) place: Place,
    pub(super) session: Arc<Session>,
    pub(super) limits: Limits,
    /// Nobody reads from the mirror now.
    pub(super) quiet: bool,
    pub(super) in_use: Arc<()>,
}

impl Fetch {
    /// Runs `bring` on the mirror: a new one if there is none, or it has grown too much, or turns out to be damaged.
    pub(super) fn run_in_mirror<T>(&self, bring: impl Fn(&Path) -> Result<T, Error>) -> Result<(Store, T), Error> {
        let lock = self.place.lock(|| self.session.may_go_on(0));
        let _lock = lock.map_err(|error| self.session.failure().unwrap_or(error))?;
        let kept = self.place.kept().filter(|mirror| !(self.quiet && is_overgrown(mirror, &self.limits)));
        let was_kept = kept.is_some();
        let mut mirror = kept.map_or_else(|| self.place.fresh(), Ok)?;
        let brought = match bring(&mirror) {
            Err(error) if was_kept && error.blames_the_disk() => {
                tracing::warn!(mirror = %mirror.display(), error = %error, "the mirror is damaged: fetching it anew");
                mirror = self.place.fresh()?;
                bring(&mirror)?
            }
            other => other?,
        };
        let store = Store {
            git_dir: mirror,
            borrowed: Vec::new(),
            _scratch: None,
            unread: HashMap::new(),
            mirror: Some((Some(self.place.damaged.clone()), Arc::clone(&self.in_use))),
        };
        Ok((store, brought))
    }
}

/// One `pull` at work, on a blocking thread.
struct Pull {
    fetch: Fetch,
    wanted: Oid,
    head: Sha,
    number: PullNumber,
    base_ref: String,
    branch: String,
}

/// What the server's list of refs says of our two.
struct Tips {
    base: Oid,
    /// What `refs/pull/N/head` is now.
    head: Option<Oid>,
}

impl Pull {
    fn run(self) -> Result<Change, Error> {
        let (store, (base, head)) = self.fetch.run_in_mirror(|mirror| self.bring(mirror))?;
        Change::new(store, base, head, false, String::new(), self.fetch.limits)
    }

    /// Fetches until a merge base is there. Gives commit and tree of both sides.
    fn bring(&self, mirror: &Path) -> Result<(Point, Point), Error> {
        let mut depth = self.fetch.limits.first_depth;
        loop {
            // Opened anew each time: a fetch changes where history ends, and libgit2 remembers.
            let tips = self.fetch(mirror, depth)?;
            let repository = git::open_own(mirror)?;
            if let Some(base) = merge_base(&repository, tips.base, self.wanted)? {
                let point = |commit| Ok(Point { commit, tree: commit_tree(&repository, commit)? });
                return Ok((point(base)?, point(self.wanted)?));
            }
            if depth == ALL_HISTORY || !repository.is_shallow() {
                let (base, head) = (self.base_ref.clone(), self.head.short().to_owned());
                return Err(Error::NoMergeBase { base, head, shallow: false });
            }
            depth = if depth >= DEEPEST_STEP { ALL_HISTORY } else { depth.saturating_mul(10) };
        }
    }

    /// One conversation with the server: its refs, then what is missing here.
    fn fetch(&self, mirror: &Path, depth: i32) -> Result<Tips, Error> {
        let repository = git::open_own(mirror)?;
        let _entered = self.fetch.session.enter();
        let mut remote = repository.remote_anonymous(ADDRESS).doing("preparing the fetch")?;
        let tips = {
            let connection = remote
                .connect_auth(Direction::Fetch, None, None)
                .map_err(|error| self.fetch.session.explain("asking for the branches", error))?;
            let tips = self.tips(connection.list().doing("reading the branches")?)?;
            if self.complete(&repository, &tips)? {
                return Ok(tips);
            }
            tips
        };
        // Pushed over meanwhile, or the ref lags behind its event: servers may still give the commit itself.
        let by_id = tips.head != Some(self.wanted);
        let source = if by_id { self.wanted.to_string() } else { format!("refs/pull/{}/head", self.number) };
        let pull_ref = format!("refs/octoswarm/pull/{}", self.number);
        let base_ref = base_ref(&self.base_ref);
        let wanted = [format!("+{}:{base_ref}", self.branch), format!("+{source}:{pull_ref}")];
        // A mirror with all of its history stays so: a depth would cut it off again.
        let kept = repository.references_glob("refs/octoswarm/*").is_ok_and(|mut refs| refs.next().is_some());
        let whole = kept && !repository.is_shallow();
        let mut options = FetchOptions::new();
        let mut callbacks = RemoteCallbacks::new();
        callbacks.transfer_progress(|progress| self.fetch.session.may_go_on(progress.total_objects()));
        options.remote_callbacks(callbacks).download_tags(AutotagOption::None).update_fetchhead(false);
        options.depth(if whole { 0 } else { depth });
        remote.download(&wanted, Some(&mut options)).map_err(|error| {
            let invalid = error.class() == ErrorClass::Invalid;
            match self.fetch.session.explain("fetching", error) {
                Error::Protocol { .. } if by_id => self.moved(&tips),
                Error::Git { .. } if by_id && invalid => self.moved(&tips),
                other => other,
            }
        })?;
        for (name, oid) in [(base_ref, tips.base), (pull_ref, self.wanted)] {
            commit_tree(&repository, oid)?;
            repository.reference(&name, oid, true, "").doing("keeping a ref")?;
        }
        Ok(tips)
    }

    fn tips(&self, heads: &[git2::RemoteHead<'_>]) -> Result<Tips, Error> {
        let pull = format!("refs/pull/{}/head", self.number);
        let find = |name: &str| heads.iter().find(|head| head.name() == name).map(git2::RemoteHead::oid);
        let base = find(&self.branch).ok_or_else(|| Error::BaseGone { branch: self.base_ref.clone() })?;
        Ok(Tips { base, head: find(&pull) })
    }

    /// Nothing is missing: both commits are here and so is their merge base.
    fn complete(&self, repository: &Repository, tips: &Tips) -> Result<bool, Error> {
        let here = |oid| commit_tree(repository, oid).is_ok();
        Ok(here(tips.base) && here(self.wanted) && merge_base(repository, tips.base, self.wanted)?.is_some())
    }

    fn moved(&self, tips: &Tips) -> Error {
        let now = tips.head.and_then(|oid| git::sha(oid).ok());
        Error::HeadMoved { wanted: self.head.clone(), now }
    }
}
