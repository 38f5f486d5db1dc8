//! A GitHub in a box: REST, GraphQL, git over smart HTTP and signed webhooks on loopback, for `octoswarm demo` and the tests.
//!
//! Promise: at least as strict as GitHub; what the box refuses and why stands in `docs/box.md`, one test a row.
//! Never: no code shared with `github`, so that the box cannot share its mistakes; nothing listens beyond 127.0.0.1.

mod control;
mod diff;
mod fault;
mod git;
mod graphql;
mod http;
mod inspect;
mod manifest;
mod people;
mod push;
mod record;
mod refusal;
mod repo;
mod selection;
mod shape;
mod state;
mod webhook;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use futures::StreamExt;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use fault::{Fault, FaultKind};
pub use manifest::AppManifest;
pub use people::{Change, OpenPull, People};
pub use state::{
    Annotation, Call, CheckRun, Commit, Delivery, Hook, Issue, IssueComment, IssueEvent, Label, Level, Permissions,
    Posted, Pull, Push, Reaction, Repo, Review, ReviewComment, Thread,
};

use crate::domain::clock::Clock;
use crate::stdx::scratch::{self, Scratch};
use state::{Beginning, World};

/// How the names of boxes' folders begin.
const FOLDER: &str = "octoswarm-box-";

/// How often a box that goes looks again, every 20 ms, whether the last push has ended.
const PUSHES_END: usize = 50;

/// The password of every person in the box, for git over HTTP.
pub const PASSWORD: &str = "demo";

/// Answers no GitHub would give are not here: these are the box's own failures and people's refused acts.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the App manifest does not parse: {0}")]
    Manifest(String),
    #[error("git is not to be found on this machine: install it, the box serves repositories with `git http-backend`")]
    NoGit(#[source] std::io::Error),
    #[error("the box could not set itself up")]
    Io(#[from] std::io::Error),
    #[error("the box could not make an RSA key")]
    Key,
    #[error("git refused")]
    Git(#[from] git2::Error),
    #[error("refused with {status}: {reason}")]
    Refused { status: u16, reason: String },
}

/// How the box starts.
#[derive(Debug, Clone)]
pub struct Options {
    pub manifest: AppManifest,
    /// The account the App is installed on; its repositories are the ones the App sees.
    pub account: String,
    pub webhook_url: Option<String>,
    pub webhook_secret: String,
    /// Refuses writes of the App that follow each other closer than this.
    pub min_write_pace: Option<Duration>,
    /// The primary rate limit, 5,000 requests an hour on GitHub.
    pub requests_an_hour: u64,
    /// No App exists until a person makes one in the browser: the manifest's App is not there.
    pub unregistered: bool,
    /// An App key of this box's own. Otherwise the boxes of one process share one, made at the first start: making one takes
    /// a third of a second, and tests start many boxes.
    pub fresh_key: bool,
    /// 0: any that is free. Named only where something stands between the box and its caller.
    pub port: u16,
    /// A file that every call and delivery is appended to, for checks by programs of others.
    pub record: Option<PathBuf>,
    pub clock: Clock,
}

impl Options {
    pub fn new(manifest: AppManifest, webhook_secret: impl Into<String>) -> Self {
        Self {
            manifest,
            account: "octo".to_owned(),
            webhook_url: None,
            webhook_secret: webhook_secret.into(),
            min_write_pace: None,
            requests_an_hour: 5000,
            unregistered: false,
            fresh_key: false,
            port: 0,
            record: None,
            clock: Clock::system(),
        }
    }
}

/// A running box. Dropping it, or [`GitHubBox::stop`], ends it and removes its repositories.
pub struct GitHubBox {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
    root: Scratch,
}

/// What the doors and the people share.
struct Shared {
    world: Mutex<World>,
    web: String,
    exec_path: String,
    record: Option<record::Record>,
    min_write_pace: Option<Duration>,
    control_token: String,
    private_key_pem: String,
    decoding_key: jsonwebtoken::DecodingKey,
    stop: CancellationToken,
    /// How many answers were withheld so far.
    withheld: watch::Sender<u64>,
    /// How many of those a story has already waited for.
    awaited: Mutex<u64>,
    released: watch::Sender<u64>,
}

impl Shared {
    /// A panic elsewhere leaves the world as it was: half a test's data is better than a second panic.
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_fault(&self, method: &str, path: &str) -> Option<FaultKind> {
        let mut world = self.world();
        let hit = world.faults.iter_mut().find(|fault| fault.hits(method, path))?;
        hit.times -= 1;
        let kind = hit.kind.clone();
        world.faults.retain(|fault| fault.times > 0);
        Some(kind)
    }

    /// Keeps a caller waiting until the story goes on.
    async fn hold(&self) {
        let mut released = self.released.subscribe();
        let mine = *released.borrow_and_update();
        self.withheld.send_modify(|count| *count += 1);
        tokio::select! {
            _ = released.wait_for(|count| *count > mine) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// The first half of an answer goes out; whoever waits for the rest waits until the story goes on.
    async fn hold_midway(self: &Arc<Self>, answer: Response) -> Response {
        let (mut parts, body) = answer.into_parts();
        let whole = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
        let (first, rest) = (whole.slice(..whole.len() / 2), whole.slice(whole.len() / 2..));
        let shared = self.clone();
        let rest = futures::stream::once(async move {
            shared.hold().await;
            Ok::<_, std::io::Error>(rest)
        });
        parts.headers.remove(axum::http::header::CONTENT_LENGTH);
        Response::from_parts(parts, Body::from_stream(futures::stream::iter([Ok(first)]).chain(rest)))
    }
}

/// Nobody waits for this answer any more: the next one who does is told of it.
struct Awaited<'a>(Option<&'a Shared>);

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        if let Some(shared) = self.0 {
            *shared.awaited.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        }
    }
}

impl GitHubBox {
    /// # Errors
    /// There is no git on this machine, no port or no temporary directory.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let exec_path = git::exec_path().await?;
        let root = Scratch::new(FOLDER)?;
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", options.port)).await?;
        let web = format!("http://{}", listener.local_addr()?);
        let record = match &options.record {
            Some(path) => Some(record::Record::open(path, &options.webhook_secret)?),
            None => None,
        };
        let fresh = options.fresh_key;
        let key = tokio::task::spawn_blocking(move || AppKey::get(fresh)).await.map_err(|_| Error::Key)??;
        let (outbox, inbox) = mpsc::unbounded_channel();
        let world = World::new(Beginning {
            clock: options.clock,
            web: web.clone(),
            root: PathBuf::from(root.path()),
            manifest: options.manifest,
            account: options.account,
            hourly: options.requests_an_hour,
            webhook_url: options.webhook_url,
            webhook_secret: options.webhook_secret,
            private_key_pem: pkcs1_pem(&key.pkcs8),
            unregistered: options.unregistered,
            outbox,
        });
        let shared = Arc::new(Shared {
            world: Mutex::new(world),
            web,
            exec_path,
            record,
            min_write_pace: options.min_write_pace,
            control_token: uuid::Uuid::new_v4().simple().to_string(),
            private_key_pem: pem(&key.pkcs8),
            decoding_key: jsonwebtoken::DecodingKey::from_rsa_der(&key.public),
            stop: CancellationToken::new(),
            withheld: watch::Sender::new(0),
            awaited: Mutex::new(0),
            released: watch::Sender::new(0),
        });
        let router = axum::Router::new().fallback(http::serve).with_state(shared.clone());
        let stop = shared.stop.clone();
        let server = tokio::spawn(async move {
            let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
            if let Err(error) = served {
                tracing::error!(%error, "the box stopped serving");
            }
        });
        let sender = tokio::spawn(webhook::run(shared.clone(), inbox));
        Ok(Self { shared, tasks: vec![server, sender], root })
    }

    /// Removes the folders of boxes whose process was killed.
    ///
    /// # Errors
    /// The temporary directory cannot be read.
    pub fn sweep() -> std::io::Result<()> {
        scratch::sweep(FOLDER)
    }

    /// Ends the box; answers still withheld are let go, idle connections are cut after a moment.
    pub async fn stop(mut self) {
        self.shared.stop.cancel();
        for mut task in std::mem::take(&mut self.tasks) {
            if tokio::time::timeout(Duration::from_secs(2), &mut task).await.is_err() {
                task.abort();
            }
        }
    }

    /// Base of the REST API, shaped as on GitHub Enterprise Server; GraphQL is at [`Self::graphql_url`].
    pub fn api_url(&self) -> String {
        format!("{}/api/v3", self.shared.web)
    }

    pub fn graphql_url(&self) -> String {
        format!("{}/api/graphql", self.shared.web)
    }

    pub fn web_url(&self) -> String {
        self.shared.web.clone()
    }

    pub fn clone_url(&self, repo: &str) -> String {
        format!("{}/{repo}.git", self.shared.web)
    }

    pub fn app_id(&self) -> u64 {
        self.shared.world().app_id
    }

    pub fn app_slug(&self) -> String {
        self.shared.world().app_slug.clone()
    }

    /// `<slug>[bot]`: who the App is when it writes.
    pub fn bot_login(&self) -> String {
        self.shared.world().bot()
    }

    pub fn private_key_pem(&self) -> String {
        self.shared.private_key_pem.clone()
    }

    pub fn installation_id(&self) -> u64 {
        self.shared.world().installation_id
    }

    pub fn webhook_secret(&self) -> String {
        self.shared.world().webhook_secret.clone()
    }

    /// What `X-Box-Token` must say at the control endpoints.
    pub fn control_token(&self) -> String {
        self.shared.control_token.clone()
    }

    pub fn set_webhook_url(&self, url: &str) {
        self.shared.world().webhook_url = Some(url.to_owned());
    }

    /// What `GET /app/hook/config` tells; the deliveries stay as they are.
    pub fn set_hook(&self, hook: Hook) {
        self.shared.world().hook = hook;
    }

    /// What `GET /meta` tells.
    pub fn set_version(&self, version: &str) {
        self.shared.world().version = version.to_owned();
    }

    pub fn people(&self) -> People {
        People::new(self.shared.clone())
    }

    pub fn fail_next(&self, fault: Fault) {
        self.shared.world().faults.push(fault);
    }

    /// Takes back the faults that no call has met yet.
    pub fn forgive(&self) {
        self.shared.world().faults.clear();
    }

    /// Scripted faults that no call has met yet.
    pub fn faults_left(&self) -> usize {
        self.shared.world().faults.len()
    }

    /// Returns once an answer is withheld that nobody has waited for yet: its effect has taken place by then.
    pub async fn wait_withheld(&self) {
        let target = {
            let mut awaited = self.shared.awaited.lock().unwrap_or_else(PoisonError::into_inner);
            *awaited += 1;
            *awaited
        };
        let mut given_up = Awaited(Some(&self.shared));
        // The sender lives as long as the box: waiting cannot fail.
        let _ = self.shared.withheld.subscribe().wait_for(|count| *count >= target).await;
        given_up.0 = None;
    }

    /// Lets every withheld answer go.
    pub fn release_withheld(&self) {
        self.shared.released.send_modify(|count| *count += 1);
    }

    /// Returns once every webhook so far was answered, refused or timed out.
    pub async fn deliveries_settled(&self) {
        let mut pending = self.shared.world().pending.subscribe();
        let _ = pending.wait_for(|count| *count == 0).await;
    }
}

impl Drop for GitHubBox {
    fn drop(&mut self) {
        self.shared.stop.cancel();
        // A git that takes a push comes to its end, and may put a file where one was just removed.
        for _ in 0..PUSHES_END {
            match std::fs::remove_dir_all(self.root.path()) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {}
                Ok(()) | Err(_) => return,
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The App's RSA key, as DER.
#[derive(Clone)]
struct AppKey {
    pkcs8: Vec<u8>,
    public: Vec<u8>,
}

static SHARED_KEY: Mutex<Option<AppKey>> = Mutex::new(None);

impl AppKey {
    fn get(fresh: bool) -> Result<Self, Error> {
        if fresh {
            return Self::generate();
        }
        let mut shared = SHARED_KEY.lock().unwrap_or_else(PoisonError::into_inner);
        match &*shared {
            Some(key) => Ok(key.clone()),
            None => Ok(shared.insert(Self::generate()?).clone()),
        }
    }

    fn generate() -> Result<Self, Error> {
        let keys = KeyPair::generate(KeySize::Rsa2048).map_err(|_| Error::Key)?;
        let pkcs8 = AsDer::<Pkcs8V1Der<'_>>::as_der(&keys).map_err(|_| Error::Key)?;
        Ok(Self { pkcs8: pkcs8.as_ref().to_vec(), public: keys.public_key().as_ref().to_vec() })
    }
}

/// What GitHub hands out is PKCS#1: the part that stands in PKCS#8 behind the header of a 2048-bit RSA key.
fn pkcs1_pem(pkcs8: &[u8]) -> String {
    const HEADER: usize = 26;
    pem(pkcs8.get(HEADER..).unwrap_or_default()).replace("PRIVATE KEY", "RSA PRIVATE KEY")
}

fn pem(der: &[u8]) -> String {
    let encoded = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> = encoded.as_bytes().chunks(64).filter_map(|c| std::str::from_utf8(c).ok()).collect();
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"))
}
