//! The workbench of a server or of a local run: its sandbox, probed when it is first needed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use crate::agent::trial;
use crate::config::Sandboxing;
use crate::domain::RepositoryId;
use crate::sandbox::{self, Cache, Limits, Sandbox, Settings, Unavailable, Upstream};
use crate::stdx::file;
use crate::stdx::scratch::{self, Scratch};

/// Bytes of all dependencies that are kept.
const MAX_CACHE: u64 = 8 << 30;
/// In the path of what passes.
const PASSING: &str = "octoswarm-checks-";
/// Between two probes of a machine that has no sandbox.
const AGAIN: Duration = Duration::from_secs(5 * 60);

/// Clones share the sandbox.
#[derive(Debug, Clone)]
pub(crate) struct Bench(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    limits: Limits,
    /// Of dependencies; none where another process has it, as local commands beside a server do.
    cache: Option<Arc<Cache>>,
    /// Where the work trees of a command are that has no state folder; removed with it.
    _scratch: Option<Scratch>,
    /// A failure holds for so long.
    again: Duration,
    probed: Mutex<Option<Probed>>,
}

#[derive(Debug)]
enum Probed {
    Works(Sandbox),
    Fails(Arc<Unavailable>, Instant),
}

impl Bench {
    /// Work trees are made below `scratch`, where those of a killed life are swept away first.
    pub(crate) fn new(config: &Sandboxing, scratch: PathBuf) -> Self {
        let scratch = match file::private_dir(&scratch) {
            Ok(()) => scratch,
            Err(error) => {
                tracing::warn!(path = %scratch.display(), %error, "work trees are made in the temporary directory");
                std::env::temp_dir()
            }
        };
        if let Err(error) = sandbox::sweep(&scratch) {
            tracing::debug!(%error, "work trees of a former life cannot be swept");
        }
        let limits = limits(config);
        let folder = scratch.with_file_name("dependencies");
        let cache = Cache::open(&folder, MAX_CACHE, false)
            .inspect_err(|error| tracing::warn!(path = %folder.display(), %error, "dependencies are not kept"))
            .ok()
            .map(Arc::new);
        Self(Arc::new(Inner {
            settings: settings(config, scratch),
            limits,
            cache,
            _scratch: None,
            again: AGAIN,
            probed: Mutex::default(),
        }))
    }

    /// For one command on this machine: nothing of it stays.
    ///
    /// # Errors
    /// The temporary directory cannot be written to.
    pub(crate) fn passing(config: &Sandboxing) -> std::io::Result<Self> {
        // Of calls that were killed.
        scratch::sweep(PASSING)?;
        let scratch = Scratch::new(PASSING)?;
        let settings = settings(config, scratch.path().to_owned());
        let (limits, probed) = (limits(config), Mutex::default());
        Ok(Self(Arc::new(Inner { settings, limits, cache: None, _scratch: Some(scratch), again: AGAIN, probed })))
    }

    /// The sandbox, or why there is none. Found once, it is kept; what failed is tried again after some minutes, so that what
    /// was mended meanwhile needs no new start. Whoever asks during a probe waits for its answer.
    pub(crate) async fn sandbox(&self) -> Result<Sandbox, Arc<Unavailable>> {
        let mut probed = self.0.probed.lock().await;
        match &*probed {
            Some(Probed::Works(sandbox)) => return Ok(sandbox.clone()),
            Some(Probed::Fails(why, at)) if at.elapsed() < self.0.again => return Err(Arc::clone(why)),
            Some(Probed::Fails(..)) | None => {}
        }
        let before = probed.is_some();
        match Sandbox::open(self.0.settings.clone()).await {
            Ok(sandbox) => {
                tracing::info!(
                    "the sandbox works{}",
                    if before { " now: commands of repositories are run" } else { "" }
                );
                *probed = Some(Probed::Works(sandbox.clone()));
                Ok(sandbox)
            }
            Err(why) => {
                // Once is enough for what stays as it was.
                if !before {
                    tracing::warn!(%why, "there is no sandbox: no command of a repository is run; it is tried again later");
                }
                let why = Arc::new(why);
                *probed = Some(Probed::Fails(Arc::clone(&why), Instant::now()));
                Err(why)
            }
        }
    }

    /// Folders with toolchains beside the system's.
    pub(crate) fn tools(&self) -> &[PathBuf] {
        &self.0.settings.tools
    }

    /// All that a trial needs, around what [`Bench::sandbox`] has said.
    pub(crate) fn around<'b>(
        &'b self,
        sandbox: &'b Result<Sandbox, Arc<Unavailable>>,
        told: Option<&'b UnboundedSender<String>>,
    ) -> trial::Bench<'b> {
        let Inner { limits, cache, .. } = &*self.0;
        trial::Bench { sandbox: sandbox.as_ref().map_err(|why| &**why), limits, cache: cache.as_ref(), told }
    }

    /// Removes the dependencies that are kept of a repository.
    pub(crate) async fn purge(&self, repository: RepositoryId) {
        let Some(cache) = self.0.cache.clone() else { return };
        let purged = tokio::task::spawn_blocking(move || cache.purge(&repository.to_string())).await;
        if let Err(error) = purged.map_err(std::io::Error::other).flatten() {
            tracing::warn!(repository.id = %repository, %error, "kept dependencies could not be removed");
        }
    }
}

/// Of one command.
fn limits(config: &Sandboxing) -> Limits {
    Limits { memory: config.memory, wall: config.time, ..Limits::default() }
}

/// What the sandbox needs to know of this machine.
pub(crate) fn settings(config: &Sandboxing, scratch: PathBuf) -> Settings {
    let (bwrap, tools) = (config.bwrap.clone(), config.tools.clone());
    // The configuration has seen to it that each is one.
    let registries = config.registries.iter().filter_map(|registry| registry.parse().ok()).collect();
    let not_for = config.no_proxy.clone();
    let upstream = config.proxy.clone().map(|at| Upstream { at, not_for });
    Settings { helper: helper(), bwrap, tools, scratch, registries, upstream }
}

/// This program's file. Where the library runs within another program, as in tests, the program lies two folders up.
pub(crate) fn helper() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
    if own.file_name().is_some_and(|name| name == NAME) {
        return own;
    }
    let beside = own.parent().and_then(Path::parent).map(|folder| folder.join(NAME));
    beside.filter(|path| path.is_file()).unwrap_or(own)
}

const NAME: &str = "octoswarm";

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::stdx::file::write_atomic;

    /// A machine whose bubblewrap says of itself what the file `says` has, and how often it was asked.
    struct Machine {
        dir: tempfile::TempDir,
    }

    impl Machine {
        fn new() -> Self {
            // Below /tmp, where the sandbox has its stage.
            let machine = Self { dir: tempfile::tempdir().unwrap() };
            let asked = machine.dir.path().join("asked");
            let script = format!("#!/bin/sh\necho >> {}\nexit 1\n", asked.display());
            write_atomic(&machine.bwrap(), script.as_bytes()).unwrap();
            for path in [machine.dir.path(), &machine.bwrap()] {
                std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
            }
            machine
        }

        fn bwrap(&self) -> PathBuf {
            self.dir.path().join("bwrap")
        }

        fn asked(&self) -> usize {
            std::fs::read_to_string(self.dir.path().join("asked")).unwrap_or_default().lines().count()
        }

        fn bench(&self, again: Duration) -> Bench {
            let config = Sandboxing { bwrap: Some(self.bwrap()), ..Sandboxing::default() };
            let mut inner = Arc::into_inner(Bench::new(&config, self.dir.path().join("work")).0).unwrap();
            inner.again = again;
            Bench(Arc::new(inner))
        }
    }

    #[tokio::test]
    async fn who_asks_at_once_shares_one_probe_and_its_failure_holds_for_a_while() {
        let machine = Machine::new();
        let bench = machine.bench(AGAIN);
        bench.sandbox().await.unwrap_err();
        let once = machine.asked();
        assert!(once > 0);
        let bench = machine.bench(AGAIN);
        let all = (0..8).map(|_| bench.sandbox());
        let all: Vec<_> = futures::future::join_all(all).await;
        assert!(all.iter().all(Result::is_err));
        assert_eq!(machine.asked(), 2 * once);
    }

    #[tokio::test]
    async fn a_failure_is_tried_again_and_what_was_mended_is_found() {
        let machine = Machine::new();
        let bench = machine.bench(Duration::ZERO);
        bench.sandbox().await.unwrap_err();
        let once = machine.asked();
        bench.sandbox().await.unwrap_err();
        assert_eq!(machine.asked(), 2 * once);
        let real = Sandboxing::default();
        if let Err(why) = Sandbox::open(settings(&real, machine.dir.path().to_owned())).await {
            let _heard = writeln!(std::io::stderr(), "NOT RUN, since this machine has no sandbox: {why}");
            return;
        }
        std::fs::remove_file(machine.bwrap()).unwrap();
        std::fs::copy("/usr/bin/bwrap", machine.bwrap()).unwrap();
        bench.sandbox().await.unwrap();
        // Kept from then on.
        std::fs::remove_file(machine.bwrap()).unwrap();
        bench.sandbox().await.unwrap();
    }
}
