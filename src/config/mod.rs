//! Settings, resolved once: the server's (flags over environment over file) and a repository's (from its default branch only).
//!
//! Promise: whoever holds a value of these types need not check it again; every mistake is named with its place and a way out.
//! Never: no secret is taken from a command line, and nobody else reads the environment.

mod agents;
mod api;
mod checked;
mod checking;
mod linting;
mod log;
mod metrics;
mod names;
mod reader;
mod registration;
mod repository;
mod sandbox;
mod scouting;
mod secrets;
mod server;
mod sweep;
mod toolchains;
mod words;

pub use agents::{AGENTS, Agent, agents_of_server};
pub use api::{Api, ApiServer};
pub use checked::{Remark, Remarks};
pub use log::{LogFormat, log_filter};
pub use metrics::Metrics;
pub use reader::{SecretFile, Setting, Source};
pub use registration::Registration;
pub use repository::{CONFIG_PATH, Commits, RepoConfig};
pub use sandbox::{Sandboxing, sandbox_of_server};
pub use scouting::Scouting;
pub use server::{
    Overrides, Resolution, ServerConfig, SetUpConfig, Start, Tuning, is_login, listen_address, serves, state_dir,
    state_of_machine, state_of_server,
};

/// What is set and not as it should be; the server starts all the same.
#[derive(Debug, Clone)]
pub struct Warning {
    /// The setting that it is about, if it is about one.
    pub setting: Option<&'static str>,
    pub text: String,
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("{path} is not valid: {detail}")]
    Invalid { path: String, detail: String },
    #[error("{what} is missing")]
    Missing { what: &'static str, hint: &'static str },
    #[error("the private key is of no use: from {from}: {why}")]
    PrivateKey { from: String, why: String },
    #[error("{what} is empty")]
    Empty { what: String },
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Missing { hint, .. } => Some(hint),
            Self::Empty { .. } => {
                Some("an empty secret would let anyone in; generate one, for instance with `openssl rand -hex 32`")
            }
            Self::PrivateKey { .. } => Some(
                "give the .pem file that GitHub made: the App's settings page > Private keys > Generate a private key",
            ),
            Self::Read { .. } | Self::Invalid { .. } => None,
        }
    }
}

/// The settings that a file comes to, beside a state folder of its own.
#[cfg(test)]
fn resolved(text: &str) -> Resolution {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("octoswarm.toml");
    crate::stdx::file::write_atomic(&file, text.as_bytes()).unwrap();
    Resolution::load(&Overrides { file: Some(file), state: Some(dir.path().to_owned()), ..Overrides::default() })
}
