//! The hall: the use cases that the doors may call. It carries the tray from room to room.
//!
//! Promise: every job ends in a state that a person can see, and in an answer on the pull request where one is owed.
//! Never: no parsing, no SQL, no HTTP, no Markdown of its own; each step has one room.

mod error;
mod handle;
mod health;
pub mod local;
mod review;
pub mod runs;
mod wire;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::analysis::Engine;
use crate::github::{AppInfo, Github};
use crate::publish::Publisher;
use crate::queue::Queue;
use crate::store::Store;
use crate::workspace::Mirrors;

pub use error::Error;
pub use health::Ready;

/// The events that a delivery may carry for us; others are stored and ignored.
pub use crate::github::payload::EVENTS;

/// The server's parts, built by `wire`.
#[derive(Clone)]
pub struct App {
    store: Store,
    queue: Arc<Queue>,
    github: Github,
    /// Who we are on GitHub; asked once, on first use.
    identity: Arc<tokio::sync::OnceCell<AppInfo>>,
    publisher: Arc<Publisher>,
    mirrors: Arc<Mirrors>,
    engine: Arc<Engine>,
    /// When a write last worked, for `ready`.
    written: Arc<tokio::sync::Mutex<Option<tokio::time::Instant>>>,
}

impl App {
    /// Works the queue until told to stop; what is running then gets a moment to finish and is otherwise left for the next start.
    pub async fn work(&self, shutdown: CancellationToken) {
        let app = self.clone();
        self.queue
            .run(
                move |leased| {
                    let app = app.clone();
                    async move { app.handle(leased).await }
                },
                shutdown,
            )
            .await;
    }

    /// The rows, for the webhook door.
    pub fn store(&self) -> &Store {
        &self.store
    }

    async fn identity(&self) -> Result<&AppInfo, Error> {
        Ok(self.identity.get_or_try_init(|| self.github.app()).await?)
    }
}
