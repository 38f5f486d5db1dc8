//! The orchestrator: it dispatches every agent, by messages or in place, under one policy.

use std::collections::VecDeque;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use octoswarm::agent::{self, Context, DynAgent, Pack, Registry, Reviewing, Role, Scene};
use octoswarm::analysis::Engine;
use octoswarm::artifact::exchange::{AgentInput, AgentOutput, ValidationResult};
use octoswarm::artifact::facts::ReviewSettings;
use octoswarm::artifact::plan::Task;
use octoswarm::artifact::{AgentError, ErrorCode, ReviewFacts, Shelf};
use octoswarm::domain::{Clock, RepoName, RunId};
use octoswarm::mailbox::{AgentName, Bus, Content, Draft, Envelope, MessageId, MessageType, Options, Priority};
use octoswarm::pipeline::{AgentSettings, Crew, Journal, Settings};
use octoswarm::queue::Backoff;
use octoswarm::store::{NewRun, Store};
use octoswarm::workspace::local;
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::git_server::git;

mod attempts;
mod dispatch;
mod flows;
mod outside;
mod server;

const OLD: &str = "import os\n\n\ndef run(text):\n    return int(text)\n";
/// One critical finding, one improvement with a fix, and debt.
const NEW: &str = "import os\n\n\ndef run(text):\n    return eval(text)\n\n\ndef is_gone(x):\n    return x == None\n\n\n\
                   def keep(x, seen=[]):\n    # TODO: one day\n    return seen\n";

/// A repository with a change, and a place for messages and rows.
struct Bench {
    dir: TempDir,
    repo: PathBuf,
    clock: Clock,
}

impl Bench {
    fn new() -> Self {
        Self::of(OLD, NEW)
    }

    fn of(old: &str, new: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let repo = dir.path().join("repo");
        std::fs::create_dir(&repo).unwrap();
        git(&repo, &["init", "-q", "-b", "main"]);
        for (text, branch) in [(old, None), (new, Some("topic"))] {
            if let Some(branch) = branch {
                git(&repo, &["checkout", "-q", "-b", branch]);
            }
            std::fs::write(repo.join("run.py"), text).unwrap();
            git(&repo, &["add", "-A"]);
            git(&repo, &["commit", "-q", "-m", "all"]);
        }
        Self { dir, repo, clock: Clock::manual(1_795_255_200_000) }
    }

    /// What a review starts from, read anew.
    async fn review(&self) -> Context {
        let change = local::change(&self.repo, Some("main"), Some("topic")).await.unwrap();
        let diff = change.diff().await.unwrap();
        let facts = ReviewFacts {
            repo: "octo/calc".into(),
            base: change.base.clone(),
            head: change.head.clone(),
            files: diff.files,
            not_read: diff.not_read,
            watched: Vec::new(),
            settings: ReviewSettings::default(),
            linted: Default::default(),
        };
        Context {
            engine: Engine::embedded().unwrap(),
            cancel: CancellationToken::new(),
            clock: self.clock.clone(),
            scene: Scene::Review(Reviewing { change, facts: Arc::new(facts), pack: Arc::new(Pack::default()) }),
        }
    }

    fn messages(&self) -> PathBuf {
        self.dir.path().join("messages")
    }

    fn inputs(&self) -> PathBuf {
        self.dir.path().join("inputs")
    }

    fn bus(&self) -> Bus {
        // Looked at seldom: these tests wait for hours of a clock that is wound on.
        let options = Options { poll: Duration::from_secs(20), ..Options::default() };
        Bus::open(self.messages(), self.clock.clone(), options).unwrap()
    }

    /// A crew at work.
    fn crew(&self, registry: Registry, settings: Settings) -> Served {
        let crew = Crew::over(self.bus(), registry, settings, self.inputs());
        let stop = CancellationToken::new();
        let (serving, until) = (crew.clone(), stop.clone());
        Served { crew, stop, task: tokio::spawn(async move { serving.serve(until).await }) }
    }

    async fn store(&self) -> Store {
        Store::open(&self.dir.path().join("state"), self.clock.clone()).await.unwrap()
    }

    async fn kept(&self, crew: &Crew, store: &Store) -> (Journal, RunId) {
        let run = store
            .start_run(NewRun {
                kind: "review".into(),
                repository: None,
                repo: RepoName::new("octo", "calc").unwrap(),
                number: None,
                head: None,
                job: None,
            })
            .await
            .unwrap();
        let shelf = Shelf::new(self.dir.path().join("runs").join(run.to_string()));
        (Journal::kept(crew.clone(), store.clone(), run, shelf), run)
    }

    /// Every message that was ever sent, in the order in which it was.
    fn sent(&self) -> Vec<Envelope> {
        // A message arrives before its copy here is finished, which takes no time but the disk's.
        let outbox = self.messages().join("outbox");
        for _ in 0..1000 {
            if folders(&outbox).iter().all(|folder| files(folder, "tmp").is_empty()) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // A copy is finished while no other message can be sent: its last change tells the order.
        let mut all: Vec<((i64, i64), Envelope)> = Vec::new();
        for folder in folders(&outbox) {
            for path in files(&folder, "json") {
                let envelope = Envelope::parse(&std::fs::read(&path).unwrap()).unwrap();
                let of = std::fs::metadata(&path).unwrap();
                all.push(((of.ctime(), of.ctime_nsec()), envelope));
            }
        }
        all.sort_by(|a, b| (a.0, &a.1.message_id).cmp(&(b.0, &b.1.message_id)));
        all.into_iter().map(|(_, envelope)| envelope).collect()
    }

    /// Messages of a type that went to or came from that agent.
    fn sent_of(&self, agent: AgentName, message_type: MessageType) -> Vec<Envelope> {
        let about = |envelope: &Envelope| envelope.from == agent || envelope.to == agent;
        self.sent().into_iter().filter(|e| e.message_type == message_type && about(e)).collect()
    }

    /// Nothing waits anywhere.
    fn inboxes_are_empty(&self) -> bool {
        folders(&self.messages().join("inbox")).iter().all(|folder| std::fs::read_dir(folder).unwrap().count() == 0)
    }

    async fn settled(&self) {
        for _ in 0..2000 {
            if self.inboxes_are_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("messages still wait");
    }
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(of) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

fn files(of: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(of) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == ending)).collect();
    paths.sort();
    paths
}

struct Served {
    crew: Crew,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Served {
    fn journal(&self) -> Journal {
        Journal::unkept(self.crew.clone())
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

/// Waits as they are written, so that tests can add them up.
fn strict() -> Settings {
    let backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(60), jitter: false };
    Settings { backoff, ..Settings::default() }
}

/// What a double does when it is called.
#[derive(Clone)]
enum Play {
    /// What the agent in its place would do.
    Real,
    Fail(AgentError),
    /// It never answers; whether it was cancelled is told.
    Hang,
    Panic,
}

fn failing(code: ErrorCode) -> Play {
    Play::Fail(code.error("double", format!("{} in a test", code.as_str())))
}

/// An agent that plays what a test says, and then what the agent in its place does.
#[derive(Clone)]
struct Double {
    real: Arc<dyn DynAgent>,
    plays: Arc<Mutex<VecDeque<Play>>>,
    /// Played when there are no more.
    last: Play,
    calls: Arc<Mutex<Vec<AgentInput>>>,
    cancelled: CancellationToken,
    /// Whether it takes the task of a plan that the agent in its place would take.
    takes_tasks: bool,
}

impl Double {
    fn new(role: Role, plays: &[Play], last: Play) -> Self {
        Self {
            real: Registry::builtin().get(role).clone(),
            plays: Arc::new(Mutex::new(plays.iter().cloned().collect())),
            last,
            calls: Arc::default(),
            cancelled: CancellationToken::new(),
            takes_tasks: true,
        }
    }

    fn calls(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    fn alone(&self) -> Registry {
        let mut registry = Registry::builtin();
        registry.put(self.clone());
        registry
    }
}

impl DynAgent for Double {
    fn role(&self) -> Role {
        self.real.role()
    }

    fn version(&self) -> &'static str {
        self.real.version()
    }

    fn can_handle(&self, task: &Task) -> bool {
        self.takes_tasks && self.real.can_handle(task)
    }

    fn execute<'a>(
        &'a self,
        cx: &'a Context,
        input: &'a AgentInput,
    ) -> BoxFuture<'a, Result<AgentOutput, agent::Error>> {
        Box::pin(async move {
            self.calls.lock().unwrap().push(input.clone());
            let play = self.plays.lock().unwrap().pop_front().unwrap_or_else(|| self.last.clone());
            match play {
                Play::Real => self.real.execute(cx, input).await,
                Play::Fail(error) => Err(agent::Error::Reported(error)),
                Play::Hang => {
                    cx.cancel.cancelled().await;
                    self.cancelled.cancel();
                    Err(agent::Error::Cancelled)
                }
                Play::Panic => panic!("as the test wants it"),
            }
        })
    }

    fn validate<'a>(&'a self, cx: &'a Context, output: &'a AgentOutput) -> BoxFuture<'a, ValidationResult> {
        self.real.validate(cx, output)
    }

    fn present<'a>(
        &'a self,
        cx: &'a Context,
        input: &'a AgentInput,
        output: &'a AgentOutput,
    ) -> BoxFuture<'a, Result<Value, agent::Error>> {
        self.real.present(cx, input, output)
    }

    fn brief<'a>(&'a self, cx: &'a Context, input: &'a AgentInput) -> BoxFuture<'a, Result<Value, agent::Error>> {
        self.real.brief(cx, input)
    }

    fn adopt<'a>(
        &'a self,
        cx: &'a Context,
        input: &'a AgentInput,
        output: AgentOutput,
    ) -> BoxFuture<'a, Result<AgentOutput, agent::Error>> {
        self.real.adopt(cx, input, output)
    }

    fn line(&self, result: &Value) -> Option<String> {
        self.real.line(result)
    }
}

/// An agent that a program outside plays.
fn outside(names: &[AgentName]) -> Settings {
    let one = AgentSettings { outside: true, ..AgentSettings::default() };
    Settings { agents: names.iter().map(|name| (*name, one.clone())).collect(), ..strict() }
}
