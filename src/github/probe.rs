//! Questions about GitHub itself and about how the App is set up there: what `octoswarm doctor` asks.

use std::time::Duration;

use http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use super::auth::Key;
use super::error::Error;
use super::{Github, client, endpoint};
use crate::domain::{InstallationId, Millis};

/// Who answers at the API's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    /// It spoke as GitHub's API does, whatever it answered.
    pub is_github: bool,
    pub status: u16,
    /// Of the answer, without its parameters.
    pub content_type: String,
    /// Of a GitHub Enterprise Server; github.com has none.
    pub version: Option<String>,
    /// How far GitHub's clock is ahead of ours, in milliseconds, to within half a second and half the round trip.
    pub clock_ahead: Option<Millis>,
    pub round_trip: Duration,
}

/// Where and how GitHub sends the App's deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookConfig {
    pub url: String,
    /// `json` or `form`.
    pub content_type: String,
    /// Certificates are not checked.
    pub insecure: bool,
    /// Deliveries are signed; with what, GitHub does not tell.
    pub has_secret: bool,
}

/// One hourly limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Rate {
    pub limit: u64,
    pub remaining: u64,
    /// Seconds since the Unix epoch.
    pub reset: i64,
}

#[derive(Deserialize)]
struct HookWire {
    url: Option<String>,
    content_type: Option<String>,
    /// `"0"`, `"1"`, or the same as numbers.
    insecure_ssl: Option<Value>,
    secret: Option<String>,
}

#[derive(Deserialize)]
struct RatesWire {
    resources: ResourcesWire,
}

#[derive(Deserialize)]
struct ResourcesWire {
    core: Rate,
    graphql: Option<Rate>,
}

impl Github {
    /// Asks without a token, so that only the address, the way there and the clocks are judged.
    ///
    /// # Errors
    /// When nothing answered; [`Error::unreached`] says why.
    pub async fn meet(&self) -> Result<Meeting, Error> {
        let call = self.client.call(&endpoint::GET_META, &[]);
        let (asked, asked_at) = (tokio::time::Instant::now(), self.client.clock.now());
        let (answered, status, answer) = self.client.ask_openly(&call).await?;
        let round_trip = answered - asked;
        let half = i64::try_from(round_trip.as_millis() / 2).unwrap_or_default();
        let text = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let told = body["installed_version"].as_str().or(Some(text("x-github-enterprise-version")));
        let looks_so = body.get("verifiable_password_authentication").is_some() || said_by_github(&answer.headers);
        Ok(Meeting {
            is_github: body.is_object() && looks_so,
            status,
            content_type: text("content-type").split(';').next().unwrap_or_default().trim().to_owned(),
            version: told.filter(|version| !version.is_empty()).map(str::to_owned),
            // The header counts whole seconds, cut off: half of one is missing on average.
            clock_ahead: chrono::DateTime::parse_from_rfc2822(text("date"))
                .ok()
                .map(|date| date.timestamp_millis() + 500 - (asked_at + half)),
            round_trip,
        })
    }

    /// # Errors
    /// `NotFound` when the App has no webhook; else as [`Error`] says.
    pub async fn hook_config(&self) -> Result<HookConfig, Error> {
        let wire: HookWire = self.as_app(self.client.call(&endpoint::GET_HOOK_CONFIG, &[])).await?;
        let insecure = match wire.insecure_ssl {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => text != "0",
            Some(other) => other != 0,
        };
        Ok(HookConfig {
            url: wire.url.unwrap_or_default(),
            content_type: wire.content_type.unwrap_or_else(|| "form".to_owned()),
            insecure,
            has_secret: wire.secret.is_some_and(|secret| !secret.is_empty()),
        })
    }

    /// The installation's limits for REST and for GraphQL.
    ///
    /// # Errors
    /// As [`Error`] says; `NotFound` where the server has limits switched off.
    pub async fn rate_limits(&self, installation: InstallationId) -> Result<(Rate, Option<Rate>), Error> {
        let call = self.client.call(&endpoint::GET_RATE_LIMIT, &[]);
        let key = Key { installation, repository: None, access: endpoint::GET_RATE_LIMIT.access };
        let wire: RatesWire = client::decode(&call, &self.send(key, &call).await?.body)?;
        Ok((wire.resources.core, wire.resources.graphql))
    }
}

fn said_by_github(headers: &HeaderMap) -> bool {
    headers.contains_key("x-github-request-id") || headers.contains_key("x-github-media-type")
}
