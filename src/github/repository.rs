//! What GitHub says about a repository.

use serde::Deserialize;

use super::error::Error;
use super::{Repo, endpoint};
use crate::domain::{RepoName, RepositoryId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoInfo {
    pub id: RepositoryId,
    /// As it is called now.
    pub name: RepoName,
    /// Set also while the repository is empty and has no such branch yet.
    pub default_branch: String,
    /// The language that GitHub counts most of.
    pub language: Option<String>,
    pub stars: u64,
    /// SPDX identifier; absent when GitHub finds no licence or none that it knows.
    pub license: Option<String>,
    pub private: bool,
    /// Nothing can be written.
    pub archived: bool,
    pub html_url: String,
}

#[derive(Deserialize)]
pub(super) struct RepoWire {
    id: RepositoryId,
    full_name: RepoName,
    default_branch: String,
    language: Option<String>,
    #[serde(default)]
    stargazers_count: u64,
    license: Option<LicenseWire>,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    html_url: String,
}

#[derive(Deserialize)]
struct LicenseWire {
    spdx_id: Option<String>,
}

impl From<RepoWire> for RepoInfo {
    fn from(wire: RepoWire) -> Self {
        Self {
            id: wire.id,
            name: wire.full_name,
            default_branch: wire.default_branch,
            language: wire.language,
            stars: wire.stargazers_count,
            license: wire.license.and_then(|license| license.spdx_id).filter(|id| id != "NOASSERTION"),
            private: wire.private,
            archived: wire.archived,
            html_url: wire.html_url,
        }
    }
}

impl Repo {
    /// # Errors
    /// `NotFound` also when the name belongs to another repository now; else as [`Error`] says.
    pub async fn info(&self) -> Result<RepoInfo, Error> {
        let call = self.call(&endpoint::GET_REPOSITORY, &[]);
        let info: RepoInfo = self.json::<RepoWire>(&call).await?.into();
        if info.id == self.repository { Ok(info) } else { Err(Error::NotFound { call: call.text() }) }
    }
}
