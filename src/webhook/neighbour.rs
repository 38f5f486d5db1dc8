//! Who has the address that we would listen on.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use reqwest::StatusCode;
use tokio::net::TcpListener;

use crate::domain::Ready;
use crate::stdx::net;

/// Longer than any answer of ours.
const MOST: usize = 4 * 1024;

#[derive(Debug)]
pub enum Neighbour {
    /// Nobody: we could.
    Nobody,
    /// A server of ours, by its `/readyz`.
    Ourselves(Ready),
    Stranger,
    /// This machine does not let us listen there, whoever else does.
    Unusable(io::Error),
}

/// Listens for a moment, or asks who does.
pub async fn who_listens(address: SocketAddr, patience: Duration) -> Neighbour {
    match TcpListener::bind(address).await {
        Ok(_free_again) => Neighbour::Nobody,
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => match ready(address, patience).await {
            Some(ready) => Neighbour::Ourselves(ready),
            None => Neighbour::Stranger,
        },
        Err(error) => Neighbour::Unusable(error),
    }
}

async fn ready(address: SocketAddr, patience: Duration) -> Option<Ready> {
    let (healthy, _) = ask(address, "/healthz", patience).await.ok()?;
    if !healthy.is_success() {
        return None;
    }
    let (_, body) = ask(address, "/readyz", patience).await.ok()?;
    serde_json::from_str(&body).ok()
}

/// Asks whoever listens there: straight, wherever they would send us, and for a few lines only.
///
/// # Errors
/// Nobody answers in time, or not in HTTP.
pub async fn ask(address: SocketAddr, path: &str, patience: Duration) -> Result<(StatusCode, String), reqwest::Error> {
    let none = reqwest::redirect::Policy::none();
    let client = reqwest::Client::builder().no_proxy().redirect(none).timeout(patience).build()?;
    let mut answer = client.get(format!("http://{}{path}", net::reachable(address))).send().await?;
    let mut body = Vec::new();
    while body.len() < MOST {
        let Some(more) = answer.chunk().await? else { break };
        body.extend_from_slice(&more[..more.len().min(MOST - body.len())]);
    }
    Ok((answer.status(), String::from_utf8_lossy(&body).into_owned()))
}
