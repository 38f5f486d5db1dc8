//! Signed deliveries, sent in order, never retried, kept in a log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::sync::mpsc;

use super::Shared;
use super::state::Delivery;

/// One delivery on its way.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub guid: String,
    pub event: String,
    pub action: Option<String>,
    pub redelivery: bool,
    pub installation_id: Option<u64>,
    pub repository_id: Option<u64>,
    pub body: String,
}

pub fn sign(secret: &str, body: &[u8]) -> String {
    // HMAC takes a key of any length, so this cannot fail; an empty MAC would be refused by any receiver.
    match Hmac::<Sha256>::new_from_slice(secret.as_bytes()) {
        Ok(mut mac) => {
            mac.update(body);
            format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
        }
        Err(_) => "sha256=".to_owned(),
    }
}

/// Sends what comes until the box stops.
pub(super) async fn run(shared: Arc<Shared>, mut inbox: mpsc::UnboundedReceiver<Outgoing>) {
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(10))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build();
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "the box cannot send webhooks");
            return;
        }
    };
    loop {
        let next = tokio::select! {
            next = inbox.recv() => next,
            () = shared.stop.cancelled() => return,
        };
        let Some(outgoing) = next else { return };
        let sent = tokio::select! {
            sent = send(&shared, &client, outgoing) => sent,
            () = shared.stop.cancelled() => return,
        };
        if let Some(record) = &shared.record {
            record.delivery(&sent);
        }
        let mut world = shared.world();
        world.deliveries.push(sent);
        world.pending.send_modify(|pending| *pending -= 1);
    }
}

async fn send(shared: &Shared, client: &reqwest::Client, outgoing: Outgoing) -> Delivery {
    let (id, delivered_at, url, app_id, secret) = {
        let mut world = shared.world();
        (
            world.id(),
            world.now(),
            world.webhook_url.clone().unwrap_or_default(),
            world.app_id,
            world.webhook_secret.clone(),
        )
    };
    let headers = BTreeMap::from([
        ("Accept".to_owned(), "*/*".to_owned()),
        ("Content-Type".to_owned(), "application/json".to_owned()),
        ("User-Agent".to_owned(), "GitHub-Hookshot/0b0x1d5".to_owned()),
        ("X-GitHub-Delivery".to_owned(), outgoing.guid.clone()),
        ("X-GitHub-Event".to_owned(), outgoing.event.clone()),
        ("X-GitHub-Hook-ID".to_owned(), app_id.to_string()),
        ("X-GitHub-Hook-Installation-Target-ID".to_owned(), app_id.to_string()),
        ("X-GitHub-Hook-Installation-Target-Type".to_owned(), "integration".to_owned()),
        ("X-Hub-Signature-256".to_owned(), sign(&secret, outgoing.body.as_bytes())),
    ]);
    let mut request = client.post(&url).body(outgoing.body.clone());
    for (name, value) in &headers {
        request = request.header(name, value);
    }
    let began = tokio::time::Instant::now();
    let (status, status_code, response_headers, response_body) = match request.send().await {
        Ok(response) => {
            let code = response.status();
            let headers = response
                .headers()
                .iter()
                .map(|(k, v)| (k.to_string(), String::from_utf8_lossy(v.as_bytes()).into_owned()))
                .collect();
            let reason = code.canonical_reason().unwrap_or("Unknown").to_owned();
            let status = if code.is_success() { "OK".to_owned() } else { format!("Invalid HTTP Response: {reason}") };
            (status, code.as_u16(), headers, response.text().await.unwrap_or_default())
        }
        Err(error) if error.is_timeout() => ("timed out".to_owned(), 504, BTreeMap::new(), String::new()),
        Err(_) => ("failed to connect to host".to_owned(), 502, BTreeMap::new(), String::new()),
    };
    Delivery {
        id,
        guid: outgoing.guid,
        delivered_at,
        redelivery: outgoing.redelivery,
        duration: began.elapsed().as_secs_f64(),
        status,
        status_code,
        event: outgoing.event,
        action: outgoing.action,
        installation_id: outgoing.installation_id,
        repository_id: outgoing.repository_id,
        request_headers: headers,
        payload: outgoing.body,
        response_headers,
        response_body,
    }
}
