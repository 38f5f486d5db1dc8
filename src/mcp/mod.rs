//! The MCP door: the agents as tools for other people's agents, over standard input and output, and over HTTP.
//!
//! Promise: on standard output there is nothing but the protocol; a tool reads and writes below the configured roots alone;
//! what is wrong with a call is told in full, and then nothing was done.
//! Never: no work of its own; tools call `app`. Who may come in over HTTP is decided before this door.

mod call;
mod completion;
mod http;
mod prompts;
mod resources;
mod roots;
mod server;
mod stdio;
mod table;
mod tools;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{OnceCell, Semaphore};

use crate::app::Desk;
use crate::app::desk::Private;
use call::Trouble;

pub use http::{PATH, router};
pub use roots::{NoRoot, Roots};
pub use server::Server;
pub use stdio::serve;

/// What the tools work with.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    roots: Roots,
    state: PathBuf,
    desk: Desks,
    /// Calls that work at once; the others wait. Each uses every processor that it can get.
    slots: Semaphore,
}

/// Calls that scan, review or change something at once.
const SLOTS: usize = 4;

impl Host {
    /// For one client: codebases are taken and reviewed in this process, and gone with it. `state` is the folder of the server
    /// whose runs are shown.
    pub fn alone(roots: Roots, state: PathBuf) -> Self {
        Self::new(roots, state, Desks::Private(OnceCell::new()))
    }

    /// For the clients of a server that works on `state`.
    pub fn serving(roots: Roots, state: PathBuf, desk: Desk) -> Self {
        Self::new(roots, state, Desks::Served(desk))
    }

    fn new(roots: Roots, state: PathBuf, desk: Desks) -> Self {
        Self(Arc::new(Inner { roots, state, desk, slots: Semaphore::new(SLOTS) }))
    }

    /// Removes what was taken in for this process alone.
    pub fn close(&self) {
        if let Desks::Private(cell) = &self.0.desk
            && let Some(private) = cell.get()
        {
            private.close();
        }
    }

    /// Where codebases come in.
    async fn desk(&self) -> Result<&Desk, Trouble> {
        match &self.0.desk {
            Desks::Served(desk) => Ok(desk),
            Desks::Private(cell) => Ok(cell.get_or_try_init(Private::open).await?.desk()),
        }
    }
}

/// A server's own, or one that is opened when it is first needed.
enum Desks {
    Served(Desk),
    Private(OnceCell<Private>),
}
