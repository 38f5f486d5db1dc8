//! A pull request as it stands now.

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::review::{User, UserWire};
use super::{Repo, endpoint};
use crate::domain::{PullNumber, RepositoryId, Sha};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pull {
    pub number: PullNumber,
    pub state: PullState,
    pub merged: bool,
    pub draft: bool,
    pub head_sha: Sha,
    /// Absent when the fork was deleted.
    pub head_repo: Option<RepositoryId>,
    pub base_ref: String,
    pub base_sha: Sha,
    pub author: User,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullState {
    Open,
    Closed,
}

#[derive(Deserialize)]
struct PullWire {
    number: PullNumber,
    state: PullState,
    #[serde(default)]
    merged: bool,
    #[serde(default)]
    draft: bool,
    head: SideWire,
    base: SideWire,
    user: Option<UserWire>,
}

#[derive(Deserialize)]
struct SideWire {
    #[serde(rename = "ref")]
    name: String,
    sha: Sha,
    repo: Option<RepoWire>,
}

#[derive(Deserialize)]
struct RepoWire {
    id: RepositoryId,
}

impl Pull {
    pub fn is_open(&self) -> bool {
        self.state == PullState::Open
    }
}

impl Repo {
    /// # Errors
    /// As [`Error`] says.
    pub async fn pull(&self, number: PullNumber) -> Result<Pull, Error> {
        let call = self.call(&endpoint::GET_PULL, &[&number.to_string()]);
        let wire: PullWire = self.json(&call).await?;
        Ok(Pull {
            number: wire.number,
            state: wire.state,
            merged: wire.merged,
            draft: wire.draft,
            head_sha: wire.head.sha,
            head_repo: wire.head.repo.map(|repo| repo.id),
            base_ref: wire.base.name,
            base_sha: wire.base.sha,
            author: User::of(wire.user),
        })
    }
}
