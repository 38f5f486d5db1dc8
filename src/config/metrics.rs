//! Where `/metrics` is served, and to whom.

use std::net::SocketAddr;
use std::path::Path;

use super::reader::Reader;
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
    pub(super) fn read(reader: &mut Reader, listen: Option<SocketAddr>, token_file: Option<&Path>) -> Self {
        let listen = reader.pick("metrics_listen", None, "OCTOSWARM_METRICS_LISTEN", listen);
        Self {
            listen: listen.map(|picked| reader.told("metrics_listen", picked)),
            token: reader.named_secret(
                "metrics_token_file",
                "OCTOSWARM_METRICS_TOKEN",
                "OCTOSWARM_METRICS_TOKEN_FILE",
                token_file,
            ),
        }
    }
}
