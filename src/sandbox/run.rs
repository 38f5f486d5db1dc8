//! One call: begin it, watch it, end it, say what it did.

use std::collections::BTreeMap;
use std::io::{self, PipeReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::deps::{Deps, Network, Stage};
use super::groups::{Group, Groups};
use super::output::Kept;
use super::plan::Plan;
use super::probe::{self, Inside, Probe, Unavailable};
use super::proxy::{Caps, Meter, Proxy, Rules, SEEN};
use super::registries::{Ecosystem, HostPort, Upstream};
use super::surroundings::{with_deps, with_proxy};
use super::walls::{Bind, DEPS, HELPER, HOME, WORK};
use super::watch::{Over, Watch, Work};
use super::{Limits, Output, VERB, Workplace, toolchain};
use crate::stdx::text::{binary_size, count};

/// The first number of our users: above what systems give to people, services and containers.
pub(super) const FIRST_USER: u32 = 1_900_000_000;
/// A thousand processes of ours, a thousand work trees each.
pub(super) const LAST_USER: u32 = FIRST_USER + 999_999;
/// Where no such number may be had, as in some containers.
pub(super) const NOBODY: u32 = 65_534;

/// What the sandbox is made of on this machine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// This program's file, which is started again as launcher and as the innermost wall.
    pub helper: PathBuf,
    /// bubblewrap's file; looked for where systems have it when not named.
    pub bwrap: Option<PathBuf>,
    /// Folders with toolchains beside the system's, shown read-only where they are.
    pub tools: Vec<PathBuf>,
    /// Where work trees are made.
    pub scratch: PathBuf,
    /// The operator's own: every step that may reach registries may reach these too, wherever they are.
    pub registries: Vec<HostPort>,
    /// Where registries are reached through another proxy.
    pub upstream: Option<Upstream>,
}

/// Proved to work at its making. Clones share everything.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    bwrap: probe::Bwrap,
    /// Whom work trees belong to is counted up from here; `None` for an ordinary user, who has no choice.
    user: Option<u32>,
    users: AtomicU64,
    groups: Groups,
    probe: Probe,
}

/// Something to be run.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program, found by `PATH`, and its arguments.
    pub argv: Vec<String>,
    /// Below the work tree; empty for its root.
    pub dir: String,
    /// Beside what every command has: `PATH`, `HOME`, `TMPDIR`, `LANG`, `CI`, `NO_COLOR`, `TERM`.
    pub env: BTreeMap<String, String>,
    pub limits: Limits,
    pub network: Network,
    /// The folder of dependencies that it sees, and what it does with it.
    pub deps: Option<(Deps, Stage)>,
}

impl Command {
    /// With the default limits, in the root of the work tree.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        let limits = Limits::default();
        Self { argv, dir: String::new(), env: BTreeMap::new(), limits, network: Network::None, deps: None }
    }

    /// As a person would type it, for `sh`.
    pub fn shell(line: &str) -> Self {
        Self::new(["/bin/sh", "-c", line])
    }
}

/// What a command did.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    pub ended: Ended,
    pub wall: Duration,
    /// Processor time of all its processes, as far as it was seen: what lives shorter than a look may be missing.
    pub cpu: Duration,
    /// Bytes that its processes had in memory at most, as far as it was seen.
    pub peak_memory: u64,
    pub output: Output,
    /// Hosts that it wanted a way to and has no right to, as `name:port`; where that is not the reason, it follows in brackets.
    pub refused: Vec<String>,
    /// Hosts that it had a right to and that did not answer, each with what went wrong.
    pub unreachable: Vec<String>,
    /// Bytes to and from registries.
    pub traffic: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By itself; a signal counts 128 and its number, as shells have it.
    Exit(i32),
    /// We stopped it.
    Stopped(Excess),
}

impl Ended {
    pub fn is_success(&self) -> bool {
        *self == Self::Exit(0)
    }
}

/// What it took too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    Wall(Duration),
    Cpu(Duration),
    Memory(u64),
    Processes(u64),
    Disk(u64),
    Entries(u64),
    Depth,
    Output(u64),
    /// To and from registries.
    Traffic(u64),
    /// The machine had hardly any memory left.
    Machine,
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wall(limit) => write!(f, "it was not done within {} s", limit.as_secs_f64()),
            Self::Cpu(limit) => write!(f, "it took more than {} s of processor time", limit.as_secs_f64()),
            Self::Memory(limit) => write!(f, "it took more than {} of memory", binary_size(*limit)),
            Self::Processes(limit) => write!(f, "it had more than {} at once", count_of(*limit, "process")),
            Self::Disk(limit) => write!(f, "it wrote more than {} into the work tree", binary_size(*limit)),
            Self::Entries(limit) => write!(f, "it made more than {}", count_of(*limit, "file")),
            Self::Depth => write!(f, "it made folders within folders beyond any use"),
            Self::Output(limit) => write!(f, "it printed more than {}", binary_size(*limit)),
            Self::Traffic(limit) => {
                write!(f, "it moved more than {} to and from package registries", binary_size(*limit))
            }
            Self::Machine => write!(f, "the machine had hardly any memory left"),
        }
    }
}

fn count_of(n: u64, noun: &str) -> String {
    if noun == "process" { format!("{n} processes") } else { count(usize::try_from(n).unwrap_or(usize::MAX), noun) }
}

/// The command was not run, or nobody knows what it did.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the sandbox could not be built: {0}")]
    Walls(String),
    #[error("{0:?} is no folder of the work tree")]
    Folder(String),
    #[error("the work was cancelled")]
    Cancelled,
    #[error("{doing} failed")]
    Io {
        doing: &'static str,
        #[source]
        source: io::Error,
    },
}

pub(super) fn io_error(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { doing, source }
}

impl Sandbox {
    /// Probes the machine, a command in the sandbox included.
    ///
    /// # Errors
    /// What is missing, with what to do about it.
    pub async fn open(settings: Settings) -> Result<Self, Unavailable> {
        off_thread(move || Self::open_here(settings)).await.unwrap_or_else(|why| Err(Unavailable::from_panic(why)))
    }

    fn open_here(settings: Settings) -> Result<Self, Unavailable> {
        let found = probe::look(&settings)?;
        let user =
            found.root.then_some(if found.own_users { FIRST_USER + std::process::id() % 1000 * 1000 } else { NOBODY });
        let mut inner = Inner {
            settings,
            bwrap: found.bwrap,
            user,
            users: AtomicU64::new(0),
            groups: found.groups,
            probe: found.probe,
        };
        let seen = look_around(&inner);
        inner.probe.conclude(seen)?;
        Ok(Self(Arc::new(inner)))
    }

    /// What was looked at and found.
    pub fn probe(&self) -> &Probe {
        &self.0.probe
    }

    /// An empty work tree.
    ///
    /// # Errors
    /// The disk's.
    pub fn workplace(&self) -> io::Result<Workplace> {
        self.0.workplace()
    }

    /// An empty folder for the dependencies of what is in a work tree.
    ///
    /// # Errors
    /// The disk's.
    pub fn deps(&self, place: &Workplace, ecosystems: &[Ecosystem]) -> io::Result<Deps> {
        Deps::new(&self.0.settings.scratch, place.owner(), ecosystems)
    }

    /// What shows which programs of these are installed, for the key of what they fetch. It reads the disk.
    pub fn toolchain(&self, ecosystems: &[Ecosystem]) -> Vec<String> {
        toolchain::installed(&self.0.settings.tools, ecosystems)
    }

    /// Runs a command to its end, or ends it.
    ///
    /// # Errors
    /// The walls cannot be built, the work was cancelled (nothing of it runs any more then), or the system's.
    pub async fn run(&self, place: &Workplace, command: Command, cancel: &CancellationToken) -> Result<Ran, Error> {
        let proxy = self.0.proxy(place, &command).map_err(io_error("opening a way to registries"))?;
        let job = Job::of(&self.0, place, &command, proxy.as_ref())?;
        let cancel = cancel.child_token();
        // If the caller leaves, the command ends.
        let _left = cancel.clone().drop_guard();
        let mut ran = off_thread(move || job.run(&cancel)).await.map_err(|_| Error::Cancelled)??;
        if let Some(proxy) = proxy {
            let told = proxy.close();
            (ran.refused, ran.unreachable, ran.traffic) = (told.refused, told.unreachable, told.bytes);
        }
        Ok(ran)
    }
}

/// A thread that lives as long as the process that it starts, which dies with it.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    let (say, hear) = tokio::sync::oneshot::channel();
    let begun = thread::Builder::new().name("sandbox".to_owned()).spawn(move || drop(say.send(work())));
    begun.map_err(|error| error.to_string())?;
    hear.await.map_err(|_| "a thread of the sandbox has panicked".to_owned())
}

impl Inner {
    fn workplace(&self) -> io::Result<Workplace> {
        let owner = self.user.map(|first| match first {
            NOBODY => NOBODY,
            first => first + u32::try_from(self.users.fetch_add(1, Ordering::Relaxed) % 1000).unwrap_or(0),
        });
        Workplace::new(&self.settings.scratch, owner)
    }

    fn proxy(&self, place: &Workplace, command: &Command) -> io::Result<Option<Proxy>> {
        let Network::Registries(ecosystems) = &command.network else { return Ok(None) };
        let rules = Rules::new(ecosystems, &self.settings.registries, self.settings.upstream.as_ref());
        Proxy::open(&self.settings.scratch, place.owner(), rules, Caps::bytes(command.limits.traffic)).map(Some)
    }
}

/// Has this program look around in there.
fn look_around(inner: &Inner) -> Result<Inside, String> {
    let place = inner.workplace().map_err(|error| format!("no folder for work trees: {error}"))?;
    let mut command = Command::new([HELPER, VERB, "examine"]);
    command.limits.wall = Duration::from_secs(20);
    let job = Job::of(inner, &place, &command, None).map_err(|error| error.to_string())?;
    let ran = job.run(&CancellationToken::new()).map_err(|error| crate::stdx::error::chain(&error))?;
    let said = ran.output.text.open();
    serde_json::from_str(said).map_err(|_| format!("{:?}: {}", ran.ended, said.trim()))
}

/// A command with all that it needs.
struct Job {
    helper: PathBuf,
    plan: Plan,
    work: Work,
    group: Group,
    traffic: Option<Arc<Meter>>,
    /// Kept until the end.
    _deps: Option<Deps>,
}

impl Job {
    fn of(inner: &Inner, place: &Workplace, command: &Command, proxy: Option<&Proxy>) -> Result<Self, Error> {
        let dir = if command.dir.is_empty() { WORK.to_owned() } else { format!("{WORK}/{}", command.dir) };
        let plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
        if !Path::new(&command.dir).components().all(plain) || command.argv.iter().any(|arg| arg.contains('\0')) {
            return Err(Error::Folder(command.dir.clone()));
        }
        let mut binds = vec![Bind::writable(place.path(), WORK), Bind::read_only(&inner.settings.helper, HELPER)];
        let tools = &inner.settings.tools;
        binds.extend(tools.iter().map(|tool| Bind::read_only(tool, tool.to_string_lossy().into_owned())));
        let path = toolchain::path(tools);
        let path: Vec<String> = path.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
        let known = inner.probe.accounts();
        binds.extend(known.iter().map(|(name, file)| Bind::read_only(file, format!("/etc/{name}"))));
        let common = [
            ("PATH", path.join(":")),
            ("HOME", HOME.to_owned()),
            ("USER", "sandbox".to_owned()),
            ("LOGNAME", "sandbox".to_owned()),
            ("TMPDIR", "/tmp".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("CI", "true".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("NO_COLOR", "1".to_owned()),
        ];
        let mut env: BTreeMap<String, String> =
            common.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let mut paths = vec![place.path().to_owned()];
        if let Some((deps, stage)) = &command.deps {
            with_deps(&mut env, deps.ecosystems(), *stage, proxy.is_some());
            binds.push(Bind { from: deps.path().to_owned(), to: DEPS.to_owned(), writable: *stage == Stage::Install });
            paths.extend((*stage == Stage::Install).then(|| deps.path().to_owned()));
        }
        if let Some(proxy) = proxy {
            with_proxy(&mut env);
            binds.push(Bind::read_only(proxy.folder(), SEEN));
        }
        env.extend(command.env.clone());
        let work = Work::new(paths).map_err(io_error("counting the work tree"))?;
        let group = inner.groups.make(&command.limits);
        let plan = Plan {
            parent: i32::try_from(std::process::id()).unwrap_or(i32::MAX),
            bwrap: inner.bwrap.path.clone(),
            forbids_user_namespaces: inner.bwrap.forbids_user_namespaces,
            user: place.owner(),
            groups: group.entrances(),
            binds,
            dir,
            env: env.into_iter().collect(),
            command: command.argv.clone(),
            limits: command.limits.clone(),
            bridged: proxy.is_some(),
        };
        let deps = command.deps.as_ref().map(|(deps, _)| deps.clone());
        let (helper, traffic) = (inner.settings.helper.clone(), proxy.map(Proxy::meter));
        Ok(Self { helper, plan, work, group, traffic, _deps: deps })
    }

    fn run(self, cancel: &CancellationToken) -> Result<Ran, Error> {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let limits = &self.plan.limits;
        let told = serde_json::to_string(&self.plan).map_err(|error| Error::Walls(error.to_string()))?;
        let (said, say) = io::pipe().map_err(io_error("making a pipe"))?;
        let (status, tell) = io::pipe().map_err(io_error("making a pipe"))?;
        let both = say.try_clone().map_err(io_error("making a pipe"))?;
        #[expect(clippy::disallowed_methods, reason = "the sandbox starts processes")]
        let mut launcher = std::process::Command::new(&self.helper);
        launcher.arg(VERB).arg("launch").arg(told).env_clear().current_dir("/");
        launcher.stdin(Stdio::from(tell)).stdout(Stdio::from(say)).stderr(Stdio::from(both));
        let began = Instant::now();
        let child = launcher.spawn().map_err(io_error("starting the launcher"))?;
        // Its copies of the pipes' ends, which would keep them open.
        drop(launcher);
        let kept = Arc::new(Mutex::new(Kept::new(limits.output)));
        let reader = reading(said, kept.clone())?;
        let status = thread::spawn(move || read_status(status));

        let traffic = self.traffic.as_deref();
        let mut watch = Watch::new(child, &self.work, limits, traffic);
        let ended = watch.until_over(began, cancel, &kept);
        let (peak_memory, cpu) = (watch.peak, watch.cpu);
        drop(watch);
        let told = self.group.close();
        // The pipes close with the last process.
        let (_, status) = (reader.join(), status.join());
        let wall = began.elapsed();
        let kept = std::mem::replace(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner), Kept::new(0));
        let output = kept.finish();
        let status = status.unwrap_or_default();
        let ended = match ended? {
            Over::Stopped(excess) => Ended::Stopped(excess),
            Over::Exited(bwrap) => match (status.code, bwrap.signal()) {
                (Some(code), _) => Ended::Exit(code),
                // By somebody else, the system for one.
                (None, Some(signal)) if status.begun => Ended::Exit(128 + signal),
                // It ended without having run the command.
                (None, _) => return Err(Error::Walls(output.text.open().trim().to_owned())),
            },
        };
        let ended = if told.out_of_memory && ended != Ended::Exit(0) {
            Ended::Stopped(Excess::Memory(limits.memory))
        } else {
            ended
        };
        // Its connections were cut, and it may have been gone before anybody looked.
        let ended = match ended {
            Ended::Exit(_) if traffic.is_some_and(Meter::is_over) => Ended::Stopped(Excess::Traffic(limits.traffic)),
            ended => ended,
        };
        let peak_memory = peak_memory.max(told.peak_memory);
        Ok(Ran { ended, wall, cpu, peak_memory, output, refused: Vec::new(), unreachable: Vec::new(), traffic: 0 })
    }
}

fn reading(mut from: PipeReader, kept: Arc<Mutex<Kept>>) -> Result<thread::JoinHandle<()>, Error> {
    let read = move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(read) = from.read(&mut buffer) {
            if read == 0 {
                return;
            }
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..read]);
        }
    };
    thread::Builder::new().name("sandbox output".to_owned()).spawn(read).map_err(io_error("starting a thread"))
}

/// What bubblewrap tells of itself, one JSON document a line.
#[derive(Debug, Default)]
struct Status {
    begun: bool,
    code: Option<i32>,
}

#[derive(Deserialize)]
struct StatusLine {
    #[serde(rename = "child-pid")]
    child: Option<i32>,
    #[serde(rename = "exit-code")]
    code: Option<i32>,
}

fn read_status(from: PipeReader) -> Status {
    let mut status = Status::default();
    let lines = serde_json::Deserializer::from_reader(from.take(64 * 1024)).into_iter::<StatusLine>();
    for line in lines.map_while(Result::ok) {
        status.begun |= line.child.is_some();
        status.code = line.code.or(status.code);
    }
    status
}
