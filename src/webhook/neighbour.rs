//! Who has the address that we would listen on.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use serde::Deserialize;
use tokio::net::TcpListener;

#[derive(Debug)]
pub enum Neighbour {
    /// Nobody: we could.
    Nobody,
    /// A server of ours, by its `/readyz`.
    Ourselves {
        ready: bool,
        reason: Option<String>,
    },
    Stranger,
    /// This machine does not let us listen there, whoever else does.
    Unusable(io::Error),
}

#[derive(Deserialize)]
struct ReadyWire {
    ready: bool,
    reason: Option<String>,
}

/// Listens for a moment, or asks who does.
pub async fn who_listens(address: SocketAddr, patience: Duration) -> Neighbour {
    match TcpListener::bind(address).await {
        Ok(_free_again) => Neighbour::Nobody,
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => match ready(address, patience).await {
            Some(ready) => Neighbour::Ourselves { ready: ready.ready, reason: ready.reason },
            None => Neighbour::Stranger,
        },
        Err(error) => Neighbour::Unusable(error),
    }
}

async fn ready(address: SocketAddr, patience: Duration) -> Option<ReadyWire> {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let base = format!("http://{}", SocketAddr::new(host, address.port()));
    let none = reqwest::redirect::Policy::none();
    let client = reqwest::Client::builder().no_proxy().redirect(none).timeout(patience).build().ok()?;
    let healthy = client.get(format!("{base}/healthz")).send().await.ok()?;
    if !healthy.status().is_success() {
        return None;
    }
    client.get(format!("{base}/readyz")).send().await.ok()?.json().await.ok()
}
