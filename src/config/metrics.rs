//! Where `/metrics` is served, and to whom.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::Error;
use super::server::{parsed, secret};
use crate::domain::Secret;

/// Who may read the metrics, and where.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// An address of their own; without one they stand beside the webhook.
    pub listen: Option<SocketAddr>,
    /// Whoever sends it may read them; without one, whoever asks from this machine or a private network.
    pub token: Option<Secret>,
}

impl Metrics {
    pub(super) fn resolve(
        env: &dyn Fn(&str) -> Option<String>,
        listen: Option<SocketAddr>,
        token_file: Option<PathBuf>,
    ) -> Result<Self, Error> {
        let token_file = env("OCTOSWARM_METRICS_TOKEN_FILE").map(PathBuf::from).or(token_file);
        Ok(Self {
            listen: parsed(env, "OCTOSWARM_METRICS_LISTEN")?.or(listen),
            token: secret(env("OCTOSWARM_METRICS_TOKEN"), token_file.as_deref())?,
        })
    }
}
