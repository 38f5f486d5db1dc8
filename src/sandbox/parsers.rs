//! Workers in which C code reads strangers' bytes: this program again, without environment, files, network, or any right, and with
//! little memory.
//!
//! Promise: whatever a text does to the code that reads it costs the answer about that text; a hanging one is ended, a dead one
//! replaced, and nothing that it says is believed unseen.
//! Never: a descriptor beyond its three, a variable of our environment, a question to one that has lied.

mod child;
#[cfg(target_os = "linux")]
mod confine;
mod worker;

use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::runtime::{Handle, RuntimeFlavor};

use self::worker::{Broken, Worker};
use crate::stdx::workers::{Failure, Workers};

pub(super) use child::serve;

/// How long a worker may take until it has put up its walls.
const START: Duration = Duration::from_secs(30);
/// A worker that nobody asks for so long ends by itself.
const IDLE: Duration = Duration::from_secs(300);

/// What workers do: given to this program's other life by whoever knows the rooms that ask.
#[derive(Clone, Copy)]
pub struct Work {
    /// Before the walls: reads and sets up whatever will be needed behind them.
    pub prepare: fn() -> Result<(), String>,
    /// The answer to a question; none when it cannot be read.
    pub answer: fn(&[u8]) -> Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
pub struct ParserSettings {
    /// This program's file.
    pub helper: PathBuf,
    /// Workers at the same time.
    pub most: usize,
    /// Bytes of memory of each.
    pub memory: u64,
    /// For one question.
    pub time: Duration,
    /// Questions after which a worker is replaced.
    pub questions: u32,
}

/// The pool; clones share it.
#[derive(Clone)]
pub struct Parsers(Arc<Inner>);

struct Inner {
    settings: ParserSettings,
    state: Mutex<State>,
    /// Somebody has given a worker back, or given one up.
    freed: Condvar,
    /// Workers die with the thread that starts them, so it is one that lives as long as the pool.
    starter: Mutex<Sender<Start>>,
    told: OnceLock<()>,
}

type Start = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    idle: Vec<Worker>,
    /// Those that work, and those that wait.
    living: usize,
}

/// What the server tells a worker that begins. It holds no secret.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    /// The server's process: where it is gone, nothing is begun.
    parent: i32,
    memory: u64,
    idle: Duration,
}

/// How a worker is held, in its own words, before it has read anything of a stranger's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Landlock: `full`, `partly` or `none`.
    pub landlock: String,
    /// A list of the system calls that it may make is in force.
    pub calls: bool,
    /// The number of the user that it became; as an ordinary user it is who we are.
    pub user: Option<u32>,
}

/// What a worker could do when it tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// What should have failed and did not.
    pub could: Vec<String>,
    /// Names in its environment.
    pub variables: usize,
    /// It did read a small file.
    pub parsed: bool,
}

impl Held {
    /// What is missing, in words; none where all walls stand.
    pub fn lacks(&self) -> Option<&'static str> {
        match (self.calls, self.landlock.as_str()) {
            (true, "full" | "partly") => None,
            (true, _) => Some("this kernel has no Landlock, or it is switched off"),
            (false, "full" | "partly") => Some("system calls cannot be filtered here"),
            (false, _) => Some("neither a list of system calls nor Landlock can be had on this system"),
        }
    }
}

impl Parsers {
    /// Nothing is started until somebody asks.
    ///
    /// # Errors
    /// No thread can be had.
    pub fn new(settings: ParserSettings) -> std::io::Result<Self> {
        let (starter, starts) = mpsc::channel::<Start>();
        let work = move || starts.into_iter().for_each(|start| start());
        thread::Builder::new().name("parser starter".to_owned()).spawn(work)?;
        Ok(Self(Arc::new(Inner {
            settings,
            state: Mutex::default(),
            freed: Condvar::new(),
            starter: Mutex::new(starter),
            told: OnceLock::new(),
        })))
    }

    /// Process ids of the workers that wait for a question.
    pub fn idle(&self) -> Vec<u32> {
        self.state().idle.iter().map(Worker::id).collect()
    }

    /// Starts a worker and has it try what it must not be able to do.
    ///
    /// # Errors
    /// In one line, why there is none.
    pub fn try_out(&self) -> Result<(Held, Tried), String> {
        let mut worker = self.start().map_err(|failure| failure.of("it"))?;
        let said = worker.ask(child::TRY, Instant::now() + self.0.settings.time);
        let answer = match said {
            Ok(answer) => answer,
            Err(broken) => return Err(worker.end(broken, self.0.settings.memory).of("it")),
        };
        let tried = serde_json::from_slice(&answer).map_err(|error| format!("it answered nonsense: {error}"))?;
        Ok((worker.held().clone(), tried))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker that waits, or a new one, as soon as there is room for one.
    fn take(&self) -> Result<Worker, Failure> {
        let mut state = self.state();
        loop {
            while let Some(mut worker) = state.idle.pop() {
                if worker.lives() {
                    return Ok(worker);
                }
                // It has waited too long, or somebody ended it.
                state.living -= 1;
            }
            if state.living < self.0.settings.most.max(1) {
                state.living += 1;
                break;
            }
            state = self.0.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        self.start().inspect_err(|_| self.give_up())
    }

    fn start(&self) -> Result<Worker, Failure> {
        let unavailable = |why: &str| Failure::Unavailable(why.to_owned());
        let (tell, told) = mpsc::sync_channel(1);
        let settings = self.0.settings.clone();
        let start: Start = Box::new(move || {
            let plan = Plan {
                parent: i32::try_from(std::process::id()).unwrap_or(i32::MAX),
                memory: settings.memory,
                idle: IDLE,
            };
            let _gone = tell.send(Worker::start(&settings.helper, &plan));
        });
        let starter = self.0.starter.lock().unwrap_or_else(PoisonError::into_inner).clone();
        starter.send(start).map_err(|_| unavailable("the thread that starts parsers is gone"))?;
        let started = told.recv().map_err(|_| unavailable("the thread that starts parsers is gone"))?;
        let worker = started
            .map_err(|error| Failure::Unavailable(error.to_string()))?
            .greeted(Instant::now() + START)
            .map_err(Failure::Unavailable)?;
        if self.0.told.set(()).is_ok() {
            match worker.held().lacks() {
                None => tracing::info!("parsers run in workers behind all walls"),
                Some(why) => tracing::warn!(why, "parsers run in workers that fewer walls hold: see docs/sandbox.md"),
            }
        }
        Ok(worker)
    }

    fn give_back(&self, worker: Worker) {
        if worker.served() >= self.0.settings.questions {
            drop(worker);
            return self.give_up();
        }
        self.state().idle.push(worker);
        self.0.freed.notify_one();
    }

    fn give_up(&self) {
        self.state().living -= 1;
        self.0.freed.notify_one();
    }

    /// One question to one worker; whether that one had answered others before.
    fn once(&self, question: &[u8], accept: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), (Failure, bool)> {
        let mut worker = self.take().map_err(|failure| (failure, false))?;
        let was_new = worker.served() == 0;
        let said = worker.ask(question, Instant::now() + self.0.settings.time);
        let broken = match said {
            Ok(answer) if accept(&answer) => {
                self.give_back(worker);
                return Ok(());
            }
            Ok(_) => Broken::Nonsense,
            Err(broken) => broken,
        };
        let failure = worker.end(broken, self.0.settings.memory);
        self.give_up();
        Err((failure, !was_new))
    }

    fn ask_here(&self, question: &[u8], accept: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Failure> {
        match self.once(question, accept) {
            // What went before may have worn it out, or taken it over. Who took too long is not asked twice: that would be as long again.
            Err((failure, true)) if failure != Failure::Time => {
                self.once(question, accept).map_err(|(failure, _)| failure)
            }
            once => once.map_err(|(failure, _)| failure),
        }
    }
}

impl Workers for Parsers {
    fn ask(&self, question: &[u8], accept: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Failure> {
        // Most who ask are on threads that may wait; who is not lets its neighbours go elsewhere meanwhile.
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| self.ask_here(question, accept)),
            _ => self.ask_here(question, accept),
        }
    }
}
