//! Streamable HTTP. Who may come in (token, Host, Origin) is decided before this router; what is here does not look at them.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::{Host, Server};

/// Where it is mounted.
pub const PATH: &str = "/mcp";

/// A larger message is refused with 413.
const LARGEST: usize = 4 << 20;
/// A session of the older revisions that nobody used for so long is gone; its client begins another one.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// The door at [`PATH`]. Clients of 2026-07-28 have no session; older ones have one, so that progress and cancellation reach them.
pub fn router(host: Host, shutdown: &CancellationToken) -> Router {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config = session();
    let mut config = StreamableHttpServerConfig::default();
    config.json_response = true;
    config.max_request_body_bytes = LARGEST;
    config.cancellation_token = shutdown.child_token();
    // The guard before this router knows the hosts and origins that are allowed; two lists would only disagree.
    let config = config.disable_allowed_hosts();
    let service = StreamableHttpService::new(move || Ok(Server::new(host.clone())), Arc::new(sessions), config);
    Router::new().nest_service(PATH, service)
}

fn session() -> SessionConfig {
    let mut config = SessionConfig::default();
    config.keep_alive = Some(IDLE);
    config
}
