//! The hall: the use cases that the doors may call. It carries the tray from room to room.
//!
//! Promise: every job ends in a state that a person can see, and in an answer on the pull request where one is owed.
//! Never: no parsing, no SQL, no HTTP, no Markdown of its own; each step has one room.

mod agents;
mod bench;
mod breaker;
pub mod calls;
pub mod change;
mod command;
mod contribute;
pub mod desk;
pub mod doctor;
mod error;
mod event;
mod facts;
mod fix;
mod handle;
mod health;
mod lint;
pub mod local;
mod metrics;
mod monitor;
pub mod parsers;
mod reconcile;
mod review;
pub mod runs;
pub mod scout;
pub mod setup;
mod test;
mod trial;
mod wire;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::{DeliveryId, Identity, InstallationId, Millis};
use crate::github::{AppInfo, Github, RepoInfo};
use crate::pipeline::{Crew, Swarms};
use crate::publish::Publisher;
use crate::queue::Queue;
use crate::store::Store;
use crate::workspace::Mirrors;

pub use agents::{AgentInfo, agents};
pub use desk::Desk;
pub use error::Error;
/// The other lives of this program, to be asked before anything is begun.
pub use parsers::sandbox_helper;
pub use reconcile::CaughtUp;

pub use crate::meter::Format;

/// The events that a delivery may carry for us; others are stored and ignored. The manifest subscribes to those that
/// GitHub does not send to every App.
pub const HANDLED: &[&str] = &[
    "check_run",
    "check_suite",
    "installation",
    "installation_repositories",
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
];

/// The server's parts, built by `wire`.
#[derive(Clone)]
pub struct App {
    store: Store,
    queue: Arc<Queue>,
    github: Github,
    /// Who we are on GitHub; asked once, on first use.
    identity: Arc<tokio::sync::OnceCell<AppInfo>>,
    /// In whose name we commit; asked once, on first use.
    bot: Arc<tokio::sync::OnceCell<Identity>>,
    publisher: Arc<Publisher>,
    /// What each repository's swarm is at, on the disk.
    swarms: Swarms,
    mirrors: Arc<Mirrors>,
    /// Who does the steps of flows.
    crew: Crew,
    /// Where repositories' commands are run.
    bench: bench::Bench,
    /// Uploaded codebases and their reviews.
    desk: Desk,
    breaker: Arc<breaker::Breaker>,
    /// What was read last for `/metrics`.
    scraped: Arc<tokio::sync::Mutex<Option<metrics::Read>>>,
    /// How often the delivery log is read.
    reconcile_every: Option<Duration>,
    /// Logins of the accounts that are served; empty: all of them.
    accounts: Arc<[String]>,
    /// Nobody can reach our webhook: the delivery log is all we have.
    poll: bool,
    started_at: Millis,
    /// A delivery younger than this, in milliseconds, may still be on its way here.
    on_its_way: Millis,
    /// Deliveries that nobody can bring any more, and that were told of.
    lost: Arc<Mutex<BTreeSet<DeliveryId>>>,
    /// Asks for a sweep now.
    wake: Arc<tokio::sync::Notify>,
    /// How often the scout sweeps; `None`: never.
    scout_every: Option<Duration>,
    /// Held while a repository is searched.
    scouting: Arc<tokio::sync::Mutex<()>>,
}

/// What the installations that are served hold.
#[derive(Default)]
struct Served {
    repositories: Vec<(InstallationId, RepoInfo)>,
    /// Accounts whose repositories GitHub did not tell, and why.
    unlisted: Vec<(String, Error)>,
}

impl App {
    /// Works the queue until told to stop; what is running then gets a moment to finish and is otherwise left for the next start.
    pub async fn work(&self, shutdown: CancellationToken) {
        let app = self.clone();
        let jobs = self.queue.run(
            move |leased| {
                let app = app.clone();
                async move { app.handle(leased).await }
            },
            shutdown.clone(),
        );
        // Agents answer until the last job has ended.
        let no_jobs = CancellationToken::new();
        let jobs = async {
            let _over = no_jobs.clone().drop_guard();
            jobs.await;
        };
        tokio::join!(
            jobs,
            self.crew.serve(no_jobs.clone()),
            self.desk.tidy_up(shutdown.clone()),
            self.reconcile(shutdown.clone()),
            self.scout_on_schedule(shutdown)
        );
    }

    /// The rows, for the webhook door.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Uploads and their reviews, for the API and the MCP server.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Whether installations of that account are any of our business.
    fn serves(&self, account: &str) -> bool {
        crate::config::serves(&self.accounts, account)
    }

    /// Every repository that may be worked on.
    async fn served(&self) -> Result<Served, Error> {
        let mut served = Served::default();
        for installation in self.github.installations().await? {
            if installation.suspended || !self.serves(&installation.account) {
                continue;
            }
            match self.github.repositories(installation.id).await {
                Ok(found) => {
                    let alive = found.into_iter().filter(|info| !info.archived);
                    served.repositories.extend(alive.map(|info| (installation.id, info)));
                }
                Err(error) => served.unlisted.push((installation.account, error.into())),
            }
        }
        Ok(served)
    }

    async fn identity(&self) -> Result<&AppInfo, Error> {
        Ok(self.identity.get_or_try_init(|| self.github.app()).await?)
    }

    async fn bot(&self, app: &AppInfo, through: InstallationId) -> Result<&Identity, Error> {
        Ok(self.bot.get_or_try_init(|| self.github.bot_identity(app, through)).await?)
    }

    /// Where this server keeps its things is nobody else's business.
    fn without_paths(&self, text: &str) -> String {
        match self.store.path().parent().filter(|home| home.is_absolute()) {
            Some(home) => text.replace(&home.display().to_string(), "<state>"),
            None => text.to_owned(),
        }
    }
}
