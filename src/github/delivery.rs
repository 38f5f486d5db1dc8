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
    /// GitHub's word on how it went: `OK`, or what failed.
    pub status: String,
    /// What we answered; 0 when GitHub heard nothing.
    pub status_code: u16,
    /// We took it: a status of 200 to 299.
    pub ok: bool,
    pub redelivery: bool,
    pub installation: Option<InstallationId>,
    pub repository: Option<RepositoryId>,
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
    status: String,
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
            status: self.status,
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
