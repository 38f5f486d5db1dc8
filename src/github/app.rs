//! What GitHub says about the App itself.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Github;
use super::endpoint;
use super::error::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppInfo {
    pub id: u64,
    pub slug: String,
    pub name: String,
    /// The login under which the App writes; only together with the account type `Bot` does it prove anything.
    pub bot_login: String,
    pub permissions: BTreeMap<String, String>,
    pub events: Vec<String>,
}

#[derive(Deserialize)]
struct AppWire {
    id: u64,
    slug: String,
    name: String,
    #[serde(default)]
    permissions: BTreeMap<String, String>,
    #[serde(default)]
    events: Vec<String>,
}

impl Github {
    /// Asks with the App's JWT: also the proof that key and id fit together.
    ///
    /// # Errors
    /// As [`Error`] says; `Unauthorized` when key, id or clock are wrong.
    pub async fn app(&self) -> Result<AppInfo, Error> {
        let wire: AppWire = self.as_app(self.client.call(&endpoint::GET_APP, &[])).await?;
        Ok(AppInfo {
            id: wire.id,
            bot_login: format!("{}[bot]", wire.slug),
            slug: wire.slug,
            name: wire.name,
            permissions: wire.permissions,
            events: wire.events,
        })
    }
}
