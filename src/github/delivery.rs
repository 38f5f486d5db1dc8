//! GitHub's log of the webhooks it sent us, which is how those are found that never arrived.

use std::collections::BTreeMap;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::error::Error;
use super::{Github, client, endpoint};
use crate::domain::{DeliveryId, InstallationId, Millis, RepositoryId};

/// One attempt at a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryInfo {
    /// Of the attempt: a redelivery has another one.
    pub id: u64,
    /// Of the event: a redelivery has the same one.
    pub guid: DeliveryId,
    pub event: String,
    pub action: Option<String>,
    pub delivered_at: Millis,
    /// What became of the attempt, in GitHub's words: `OK`, `timed out`, `failed to connect to host`.
    pub status: String,
    /// What we answered; 0 when GitHub heard nothing.
    pub status_code: u16,
    /// We took it: a status of 200 to 299.
    pub ok: bool,
    pub redelivery: bool,
    pub installation: Option<InstallationId>,
    pub repository: Option<RepositoryId>,
}

/// Why an attempt failed, as far as the log tells, and what to do about it. Both are clauses without a full stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undelivered {
    pub why: &'static str,
    pub todo: &'static str,
}

/// At most 100 attempts, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryPage {
    pub deliveries: Vec<DeliveryInfo>,
    /// For the next call, which shows older ones; `None` at the log's end, some days back.
    pub next: Option<String>,
}

/// What was sent in one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryContent {
    pub guid: DeliveryId,
    pub event: String,
    /// Of the request; names in lower case.
    pub headers: BTreeMap<String, String>,
    /// JSON, written anew: the same value, not the same bytes, so no signature fits it.
    pub payload: Bytes,
}

#[derive(Deserialize)]
struct DeliveryWire {
    id: u64,
    guid: String,
    event: String,
    action: Option<String>,
    delivered_at: Option<DateTime<Utc>>,
    #[serde(default)]
    status: Option<String>,
    status_code: Option<i64>,
    #[serde(default)]
    redelivery: bool,
    installation_id: Option<InstallationId>,
    repository_id: Option<RepositoryId>,
}

#[derive(Deserialize)]
struct ContentWire {
    guid: String,
    event: String,
    request: Option<RequestWire>,
}

#[derive(Deserialize)]
struct RequestWire {
    headers: Option<BTreeMap<String, Value>>,
    payload: Option<Value>,
}

impl DeliveryInfo {
    /// What GitHub noted: its words, and the status where there was one.
    pub fn said(&self) -> String {
        match (self.status.as_str(), self.status_code) {
            ("", 0) => "no answer".to_owned(),
            ("", code) => format!("status {code}"),
            (words, code) if code == 0 || words.ends_with(&code.to_string()) => words.to_owned(),
            (words, code) => format!("{words} ({code})"),
        }
    }

    /// What most likely went wrong; `None` when it was taken.
    pub fn undelivered(&self) -> Option<Undelivered> {
        if self.ok {
            return None;
        }
        let words = self.status.to_ascii_lowercase();
        let told = |any: &[&str]| any.iter().any(|word| words.contains(word));
        // The words come first: where nobody answered at all, GitHub notes a status of its own, such as 502.
        let (why, todo) = match self.status_code {
            _ if told(&["timed out", "timeout"]) => (
                "nobody answered within 10 seconds",
                "see the server's log, and whether a firewall or a proxy between it and GitHub swallows what comes",
            ),
            _ if told(&["certificate", "ssl", "tls"]) => (
                "GitHub does not trust the certificate at that address",
                "it must be of a public authority, complete and in force",
            ),
            0 => UNREACHED,
            _ if told(&["connect", "resolve"]) => UNREACHED,
            401 => SECRET,
            403 if told(&["signature"]) => SECRET,
            403 => ("a firewall or proxy in front of the server forbids it", "let GitHub's POST to /webhook pass"),
            404 | 405 => (
                "something answers at that address that is not octoswarm's /webhook",
                "check the address's path, and where the proxy sends it",
            ),
            301..=399 => ("the address redirects, and GitHub follows no redirect", "give the App the final address"),
            413 => ("a proxy on the way takes no bodies of that size", "let it pass 25 MiB"),
            415 => ("the body was no plain JSON", "choose application/json as the webhook's content type"),
            500.. => (
                "a proxy in front of the server finds nobody behind it, or octoswarm could not store it",
                "check that the server runs, and where the proxy sends it; the server's log says more",
            ),
            _ => (
                "something on the way refused it",
                "see what it answered on the App's settings page > Advanced > Recent deliveries",
            ),
        };
        Some(Undelivered { why, todo })
    }
}

const UNREACHED: (&str, &str) = (
    "nobody could be reached at that address",
    "check its name, port and certificate, the proxy and the firewall, and that the server runs; where none can be public, use \
     --poll",
);

const SECRET: (&str, &str) = (
    "the App's webhook secret differs from the one here, or something on the way asks for a login",
    "enter the same secret on the App's settings page and here, then restart the server; no login may stand before /webhook",
);

impl DeliveryWire {
    /// `None` for a GUID that we would not have accepted either, and for what GitHub holds back and has not sent yet.
    fn info(self) -> Option<DeliveryInfo> {
        let status_code = self.status_code.and_then(|code| u16::try_from(code).ok()).unwrap_or(0);
        Some(DeliveryInfo {
            id: self.id,
            guid: DeliveryId::parse(&self.guid)?,
            event: self.event,
            action: self.action,
            delivered_at: self.delivered_at?.timestamp_millis(),
            status: self.status.unwrap_or_default(),
            status_code,
            ok: (200..300).contains(&status_code),
            redelivery: self.redelivery,
            installation: self.installation_id,
            repository: self.repository_id,
        })
    }
}

impl Github {
    /// One page of the log, the newest without a cursor. Whoever walks it stops at a time or a number of pages of their own.
    ///
    /// # Errors
    /// As [`Error`] says; `Validation` when GitHub no longer knows the cursor; `Redirected` when the next page is elsewhere.
    pub async fn deliveries(&self, cursor: Option<&str>) -> Result<DeliveryPage, Error> {
        let mut call = self.client.call(&endpoint::LIST_DELIVERIES, &[]).query("per_page", "100");
        if let Some(cursor) = cursor {
            call = call.query("cursor", cursor);
        }
        let answer = self.send_as_app(&call).await?;
        let page: Vec<DeliveryWire> = client::decode(&call, &answer.body)?;
        let next = self.client.next_cursor(&call, &answer.headers)?;
        Ok(DeliveryPage {
            deliveries: page.into_iter().filter_map(DeliveryWire::info).collect(),
            // A page that leads to itself would be walked for ever.
            next: next.filter(|next| Some(next.as_str()) != cursor),
        })
    }

    /// What was sent.
    ///
    /// # Errors
    /// `NotFound` when GitHub kept none of it; else as [`Error`] says.
    pub async fn delivery(&self, id: u64) -> Result<DeliveryContent, Error> {
        let call = self.client.call(&endpoint::GET_DELIVERY, &[&id.to_string()]);
        let wire: ContentWire = client::decode(&call, &self.send_as_app(&call).await?.body)?;
        let gone = || Error::NotFound { call: call.text() };
        let request = wire.request.ok_or_else(gone)?;
        let payload = request.payload.ok_or_else(gone)?;
        let headers = request.headers.unwrap_or_default().into_iter().map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (name.to_ascii_lowercase(), text)
        });
        Ok(DeliveryContent {
            guid: DeliveryId::parse(&wire.guid).ok_or_else(gone)?,
            event: wire.event,
            headers: headers.collect(),
            payload: Bytes::from(payload.to_string()),
        })
    }

    /// Asks GitHub to send it again, under the same GUID. Sent once; asking twice sends it twice.
    ///
    /// # Errors
    /// `NotFound` when GitHub no longer keeps it; else as [`Error`] says.
    pub async fn redeliver(&self, id: u64) -> Result<(), Error> {
        self.send_as_app(&self.client.call(&endpoint::REDELIVER, &[&id.to_string()])).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(status: &str, status_code: u16) -> DeliveryInfo {
        DeliveryInfo {
            id: 1,
            guid: DeliveryId::parse("6f1c7d1e-7a4c-11f0-8c65-0242ac120002").unwrap(),
            event: "push".to_owned(),
            action: None,
            delivered_at: 0,
            status: status.to_owned(),
            status_code,
            ok: (200..300).contains(&status_code),
            redelivery: false,
            installation: None,
            repository: None,
        }
    }

    #[test]
    fn why_an_attempt_failed_is_told_from_githubs_words_and_the_status() {
        for (status, code, said, why) in [
            ("timed out", 0, "timed out", "within 10 seconds"),
            ("Gateway Timeout", 504, "Gateway Timeout (504)", "within 10 seconds"),
            ("failed to connect to host", 502, "failed to connect to host (502)", "nobody could be reached"),
            ("Could not resolve host", 0, "Could not resolve host", "nobody could be reached"),
            ("", 0, "no answer", "nobody could be reached"),
            ("Peer certificate cannot be authenticated", 0, "Peer certificate cannot be authenticated", "certificate"),
            ("Invalid HTTP Response: 401", 401, "Invalid HTTP Response: 401", "secret differs"),
            ("bad signature", 403, "bad signature (403)", "secret differs"),
            ("", 403, "status 403", "forbids it"),
            ("Moved Permanently", 301, "Moved Permanently (301)", "redirects"),
            ("Not Found", 404, "Not Found (404)", "not octoswarm's /webhook"),
            ("Method Not Allowed", 405, "Method Not Allowed (405)", "not octoswarm's /webhook"),
            ("Payload Too Large", 413, "Payload Too Large (413)", "bodies of that size"),
            ("Unsupported Media Type", 415, "Unsupported Media Type (415)", "no plain JSON"),
            ("Bad Gateway", 502, "Bad Gateway (502)", "finds nobody behind it"),
            ("Service Unavailable", 503, "Service Unavailable (503)", "could not store it"),
            ("I'm a teapot", 418, "I'm a teapot (418)", "refused it"),
        ] {
            let failed = attempt(status, code);
            let told = failed.undelivered().unwrap();
            assert_eq!(failed.said(), said);
            assert!(told.why.contains(why) && !told.todo.is_empty(), "{status} {code}: {told:?}");
        }
        assert_eq!(attempt("OK", 202).undelivered(), None);
    }
}
