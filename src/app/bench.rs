//! The workbench of a server or of a local run: its sandbox, probed when it is first needed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::config::Sandboxing;
use crate::sandbox::{self, Cache, Limits, Sandbox, Settings, Unavailable};
use crate::stdx::file;

/// Bytes of all dependencies that are kept.
const MAX_CACHE: u64 = 8 << 30;

/// Clones share the sandbox.
#[derive(Debug, Clone)]
pub(crate) struct Bench(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    limits: Limits,
    /// Of dependencies; none where another process has it, as local commands beside a server do.
    cache: Option<Arc<Cache>>,
    sandbox: OnceCell<Result<Sandbox, Unavailable>>,
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
        let limits = Limits { memory: config.memory, wall: config.time, ..Limits::default() };
        let folder = scratch.with_file_name("dependencies");
        let cache = Cache::open(&folder, MAX_CACHE, false)
            .inspect_err(|error| tracing::warn!(path = %folder.display(), %error, "dependencies are not kept"))
            .ok()
            .map(Arc::new);
        Self(Arc::new(Inner { settings: settings(config, scratch), limits, cache, sandbox: OnceCell::new() }))
    }

    /// The sandbox, or why there is none. Asked again after a failure, it answers the same: what is mended takes a new start.
    pub(crate) async fn sandbox(&self) -> Result<&Sandbox, &Unavailable> {
        let opened = self.0.sandbox.get_or_init(|| async {
            let opened = Sandbox::open(self.0.settings.clone()).await;
            match &opened {
                Ok(_) => tracing::info!("the sandbox works"),
                Err(why) => tracing::warn!(%why, "there is no sandbox: no command of a repository is run"),
            }
            opened
        });
        opened.await.as_ref()
    }

    /// Folders with toolchains beside the system's.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &Path> {
        self.0.settings.tools.iter().map(PathBuf::as_path)
    }

    pub(crate) fn cache(&self) -> Option<&Arc<Cache>> {
        self.0.cache.as_ref()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }
}

/// What the sandbox needs to know of this machine.
pub(crate) fn settings(config: &Sandboxing, scratch: PathBuf) -> Settings {
    let (bwrap, tools) = (config.bwrap.clone(), config.tools.clone());
    // The configuration has seen to it that each is one.
    let registries = config.registries.iter().filter_map(|registry| registry.parse().ok()).collect();
    Settings { helper: helper(), bwrap, tools, scratch, registries, upstream: None }
}

/// This program's file. Where the library runs within another program, as in tests, the program lies two folders up.
fn helper() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
    if own.file_name().is_some_and(|name| name == NAME) {
        return own;
    }
    let beside = own.parent().and_then(Path::parent).map(|folder| folder.join(NAME));
    beside.filter(|path| path.is_file()).unwrap_or(own)
}

const NAME: &str = "octoswarm";
