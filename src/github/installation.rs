//! Where the App is installed, and on what.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::auth::Key;
use super::error::Error;
use super::repository::{RepoInfo, RepoWire};
use super::{Github, client, endpoint};
use crate::domain::InstallationId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallationInfo {
    pub id: InstallationId,
    /// Login of the account, or slug of the enterprise.
    pub account: String,
    /// Nothing can be asked of it until it is unsuspended.
    pub suspended: bool,
    /// What its owner has granted, which may be less than the App asks for by now.
    pub permissions: BTreeMap<String, String>,
    /// Its settings, where more is granted.
    pub html_url: String,
}

#[derive(Deserialize)]
struct InstallationWire {
    id: InstallationId,
    account: Option<AccountWire>,
    suspended_at: Option<String>,
    #[serde(default)]
    permissions: BTreeMap<String, String>,
    #[serde(default)]
    html_url: String,
}

#[derive(Deserialize)]
struct AccountWire {
    login: Option<String>,
    slug: Option<String>,
}

#[derive(Deserialize)]
struct RepositoriesWire {
    #[serde(default)]
    total_count: u64,
    repositories: Vec<RepoWire>,
}

impl From<InstallationWire> for InstallationInfo {
    fn from(wire: InstallationWire) -> Self {
        let account = wire.account.and_then(|account| account.login.or(account.slug));
        Self {
            id: wire.id,
            account: account.unwrap_or_else(|| "ghost".to_owned()),
            suspended: wire.suspended_at.is_some(),
            permissions: wire.permissions,
            html_url: wire.html_url,
        }
    }
}

impl Github {
    /// Every installation of the App.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn installations(&self) -> Result<Vec<InstallationInfo>, Error> {
        let call = self.client.call(&endpoint::LIST_INSTALLATIONS, &[]);
        let take = |page: Vec<InstallationWire>| page.into_iter().map(InstallationInfo::from).collect();
        self.client.pages(call, take, |call| async move { self.send_as_app(&call).await }).await
    }

    /// Every repository that the installation reaches.
    ///
    /// # Errors
    /// As [`Error`] says; `Forbidden` when the installation is suspended.
    pub async fn repositories(&self, installation: InstallationId) -> Result<Vec<RepoInfo>, Error> {
        let call = self.client.call(&endpoint::LIST_REPOSITORIES, &[]);
        let take = |page: RepositoriesWire| page.repositories.into_iter().map(RepoInfo::from).collect();
        let key = Key { installation, repository: None, access: endpoint::LIST_REPOSITORIES.access };
        self.client.pages(call, take, |call| async move { self.send(key, &call).await }).await
    }

    /// How many repositories the installation reaches, and the first of them.
    ///
    /// # Errors
    /// As [`repositories`](Self::repositories).
    pub async fn repository_sample(&self, installation: InstallationId) -> Result<(u64, Option<RepoInfo>), Error> {
        let call = self.client.call(&endpoint::LIST_REPOSITORIES, &[]).query("per_page", "1");
        let key = Key { installation, repository: None, access: endpoint::LIST_REPOSITORIES.access };
        let page: RepositoriesWire = client::decode(&call, &self.send(key, &call).await?.body)?;
        Ok((page.total_count, page.repositories.into_iter().next().map(RepoInfo::from)))
    }
}
