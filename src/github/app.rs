//! What GitHub says about the App itself.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::auth::Key;
use super::error::Error;
use super::user::UserWire;
use super::{Github, client, endpoint};
use crate::domain::{Identity, InstallationId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppInfo {
    pub id: u64,
    pub slug: String,
    pub name: String,
    /// The App's page, from where it is installed.
    pub html_url: String,
    /// The login under which the App writes; only together with the account type `Bot` does it prove anything.
    pub bot_login: String,
    /// The bot account's id, once [`Github::bot_identity`] has found it; never the App's own id.
    pub bot_id: Option<u64>,
    pub permissions: BTreeMap<String, String>,
    pub events: Vec<String>,
}

#[derive(Deserialize)]
struct AppWire {
    id: u64,
    slug: String,
    name: String,
    #[serde(default)]
    html_url: String,
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
            bot_id: self.bot_id.get().copied(),
            slug: wire.slug,
            name: wire.name,
            html_url: wire.html_url,
            permissions: wire.permissions,
            events: wire.events,
        })
    }

    /// Whose name the App's commits carry: the address ties them to its bot account. Asked for once, through the given
    /// installation, because GitHub shows accounts to installations only.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn bot_identity(&self, app: &AppInfo, through: InstallationId) -> Result<Identity, Error> {
        let id = match app.bot_id {
            Some(id) => id,
            None => *self.bot_id.get_or_try_init(|| self.find_bot(&app.bot_login, through)).await?,
        };
        let host = self.web_origin.split_once("://").map_or(self.web_origin.as_str(), |(_, host)| host);
        // An address in brackets has colons of its own, and is nobody's mail domain either way.
        let host = if host.starts_with('[') { "localhost" } else { host.split(':').next().unwrap_or(host) };
        Ok(Identity { name: app.bot_login.clone(), email: format!("{id}+{}@users.noreply.{host}", app.bot_login) })
    }

    async fn find_bot(&self, login: &str, installation: InstallationId) -> Result<u64, Error> {
        let call = self.client.call(&endpoint::GET_USER, &[login]);
        let key = Key { installation, repository: None, access: endpoint::GET_USER.access };
        let wire: UserWire = client::decode(&call, &self.send(key, &call).await?.body)?;
        Ok(wire.id)
    }
}
