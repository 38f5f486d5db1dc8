//! Settings, resolved once: the server's (flags over environment over file) and a repository's (from its default branch only).
//!
//! Promise: whoever holds a value of these types need not check it again; every mistake is named with its place and a way out.
//! Never: no secret is taken from a command line, and nobody else reads the environment.

mod checked;
mod metrics;
mod reader;
mod registration;
mod repository;
mod server;

pub use checked::{Remark, Remarks};
pub use metrics::Metrics;
pub use reader::{SecretFile, Setting, Source};
pub use registration::Registration;
pub use repository::{CONFIG_PATH, Commits, RepoConfig};
pub use server::{
    LogFormat, Overrides, Resolution, ServerConfig, SetUpConfig, Start, Tuning, is_login, listen_address, log_filter,
    serves, state_dir,
};

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("{path} is not valid: {detail}")]
    Invalid { path: String, detail: String },
    #[error("{what} is missing")]
    Missing { what: &'static str, hint: &'static str },
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
            Self::Read { .. } | Self::Invalid { .. } => None,
        }
    }
}
