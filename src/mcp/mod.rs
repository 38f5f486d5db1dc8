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

use tokio::sync::Semaphore;

pub use http::{PATH, router};
pub use roots::{NoRoot, Roots};
pub use server::Server;
pub use stdio::serve;

/// What the tools work with.
#[derive(Debug, Clone)]
pub struct Host(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    roots: Roots,
    state: Option<PathBuf>,
    /// Calls that work at once; the others wait. Each uses every processor that it can get.
    slots: Semaphore,
}

/// Calls that scan, review or change something at once.
const SLOTS: usize = 4;

impl Host {
    /// `state` is the folder of the server whose runs are shown; without one there are none.
    pub fn new(roots: Roots, state: Option<PathBuf>) -> Self {
        Self(Arc::new(Inner { roots, state, slots: Semaphore::new(SLOTS) }))
    }
}
