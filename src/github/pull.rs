//! A pull request as it stands now.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::client::Call;
use super::error::Error;
use super::user::{User, UserWire};
use super::{Repo, endpoint};
use crate::domain::{Millis, PullNumber, RepositoryId, Sha};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pull {
    pub number: PullNumber,
    pub state: PullState,
    pub merged: bool,
    pub draft: bool,
    pub title: String,
    pub body: String,
    /// Where people find it.
    pub url: String,
    pub created_at: Millis,
    pub updated_at: Millis,
    /// The branch it comes from, without the owner: a fork may have one of the same name.
    pub head_ref: String,
    pub head_sha: Sha,
    /// Absent when the fork was deleted.
    pub head_repo: Option<RepositoryId>,
    pub base_ref: String,
    pub base_sha: Sha,
    pub author: User,
    /// When it was merged or closed.
    pub closed_at: Option<Millis>,
    /// Login of who merged it; lists do not tell.
    pub merged_by: Option<String>,
    /// The commit on the base that the merge made, once it is merged; before that, GitHub's test merge is not shown here.
    pub merge_commit: Option<Sha>,
}

/// A commit of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullCommit {
    pub sha: Sha,
    /// The account that GitHub knows by the author's address; `None` when it knows none.
    pub author: Option<User>,
    /// The author's name as the commit itself says it: anybody may write any.
    pub name: String,
    /// When it was committed, as the commit itself says.
    pub committed_at: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullState {
    Open,
    Closed,
}

/// A pull request from a branch of the repository itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewPull {
    pub title: String,
    pub body: String,
    /// The branch with the change.
    pub head: String,
    /// The branch it should go to.
    pub base: String,
    pub draft: bool,
}

/// What is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PullUpdate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// One changed file as GitHub itself shows it: the last word on where a comment may stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullFile {
    pub path: String,
    /// New-side lines of each hunk, first and last. Empty when GitHub shows no patch.
    pub hunks: Vec<(u32, u32)>,
}

#[derive(Deserialize)]
struct FileWire {
    filename: String,
    patch: Option<String>,
}

#[derive(Deserialize)]
struct PullWire {
    number: PullNumber,
    state: PullState,
    merged: Option<bool>,
    /// Lists show when, not whether.
    merged_at: Option<DateTime<Utc>>,
    draft: Option<bool>,
    title: String,
    body: Option<String>,
    html_url: String,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    head: SideWire,
    base: SideWire,
    user: Option<UserWire>,
    closed_at: Option<DateTime<Utc>>,
    merged_by: Option<UserWire>,
    merge_commit_sha: Option<Sha>,
}

#[derive(Deserialize)]
struct CommitWire {
    sha: Sha,
    author: Option<CommitUserWire>,
    commit: CommitDataWire,
}

/// GitHub has answered `{}` for an address that no account has.
#[derive(Deserialize)]
struct CommitUserWire {
    id: Option<u64>,
    login: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct CommitDataWire {
    author: Option<SignatureWire>,
    committer: Option<SignatureWire>,
}

#[derive(Deserialize)]
struct SignatureWire {
    name: Option<String>,
    date: Option<DateTime<Utc>>,
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

impl From<CommitWire> for PullCommit {
    fn from(wire: CommitWire) -> Self {
        let CommitDataWire { author, committer } = wire.commit;
        let at = committer.and_then(|committer| committer.date);
        Self {
            sha: wire.sha,
            author: wire.author.and_then(|user| {
                Some(User { id: user.id?, login: user.login?, bot: user.kind.as_deref() == Some("Bot") })
            }),
            name: author.and_then(|author| author.name).unwrap_or_default(),
            committed_at: at.map_or(0, |at| at.timestamp_millis()),
        }
    }
}

impl From<PullWire> for Pull {
    fn from(wire: PullWire) -> Self {
        let merged = wire.merged.unwrap_or(wire.merged_at.is_some());
        Self {
            number: wire.number,
            state: wire.state,
            merged,
            draft: wire.draft.unwrap_or(false),
            title: wire.title,
            body: wire.body.unwrap_or_default(),
            url: wire.html_url,
            created_at: wire.created_at.timestamp_millis(),
            updated_at: wire.updated_at.timestamp_millis(),
            head_ref: wire.head.name,
            head_sha: wire.head.sha,
            head_repo: wire.head.repo.map(|repo| repo.id),
            base_ref: wire.base.name,
            base_sha: wire.base.sha,
            author: User::of(wire.user),
            closed_at: wire.merged_at.or(wire.closed_at).map(|at| at.timestamp_millis()),
            merged_by: wire.merged_by.map(|user| user.login),
            merge_commit: wire.merge_commit_sha.filter(|_| merged),
        }
    }
}

impl From<FileWire> for PullFile {
    fn from(wire: FileWire) -> Self {
        let patch = wire.patch.unwrap_or_default();
        Self { path: wire.filename, hunks: patch.lines().filter_map(new_side).collect() }
    }
}

/// The new side of `@@ -1,4 +1,6 @@`; `None` for other lines and for hunks that leave nothing.
fn new_side(line: &str) -> Option<(u32, u32)> {
    let range = line.strip_prefix("@@ -")?.split_once(" +")?.1.split_once(" @@")?.0;
    let (start, count) = match range.split_once(',') {
        Some((start, count)) => (start.parse::<u32>().ok()?, count.parse::<u32>().ok()?),
        None => (range.parse().ok()?, 1),
    };
    (count > 0).then(|| (start, start.saturating_add(count - 1)))
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
        self.json::<PullWire>(&call).await.map(Pull::from)
    }

    /// The open pull requests, newest first.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn pulls_open(&self) -> Result<Vec<Pull>, Error> {
        let call = self.call(&endpoint::LIST_PULLS, &[]).query("state", "open");
        self.listed(call).await
    }

    /// The open pull requests that come from this repository's own branch of that name.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn pulls_of_head(&self, branch: &str) -> Result<Vec<Pull>, Error> {
        let pulls = self.pulls_from(self.name.owner(), branch).await?;
        if !pulls.is_empty() {
            return Ok(pulls);
        }
        // A renamed owner is not followed inside a filter.
        let owner = self.info().await?.name.owner().to_owned();
        if owner.eq_ignore_ascii_case(self.name.owner()) { Ok(pulls) } else { self.pulls_from(&owner, branch).await }
    }

    /// Sent once; after an error that leaves its fate open, look before calling again.
    ///
    /// # Errors
    /// `Validation` when one of that head and base is open already, when the head has nothing new, or when the repository's
    /// plan has no drafts; else as [`Error`] says.
    pub async fn create_pull(&self, pull: &NewPull) -> Result<Pull, Error> {
        let call = self.call(&endpoint::CREATE_PULL, &[]).body(json!(pull));
        self.json::<PullWire>(&call).await.map(Pull::from)
    }

    /// # Errors
    /// As [`Error`] says.
    pub async fn update_pull(&self, number: PullNumber, update: &PullUpdate) -> Result<Pull, Error> {
        let call = self.call(&endpoint::UPDATE_PULL, &[&number.to_string()]).body(json!(update));
        self.json::<PullWire>(&call).await.map(Pull::from)
    }

    async fn pulls_from(&self, owner: &str, branch: &str) -> Result<Vec<Pull>, Error> {
        let head = format!("{owner}:{branch}");
        let call = self.call(&endpoint::LIST_PULLS, &[]).query("state", "open").query("head", &head);
        let mut pulls = self.listed(call).await?;
        // The owner may have a fork of it too, and a filter that GitHub cannot read filters nothing.
        pulls.retain(|pull| pull.head_ref == branch && pull.head_repo == Some(self.repository));
        Ok(pulls)
    }

    async fn listed(&self, call: Call) -> Result<Vec<Pull>, Error> {
        let mut pulls: Vec<Pull> =
            self.all(call, |page: Vec<PullWire>| page.into_iter().map(Pull::from).collect()).await?;
        pulls.retain(Pull::is_open);
        Ok(pulls)
    }

    /// Its commits, oldest first; GitHub lists 250 at most.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn pull_commits(&self, number: PullNumber) -> Result<Vec<PullCommit>, Error> {
        let call = self.call(&endpoint::LIST_PULL_COMMITS, &[&number.to_string()]);
        self.all(call, |page: Vec<CommitWire>| page.into_iter().map(PullCommit::from).collect()).await
    }

    /// The changed files with the hunks that GitHub shows; it lists 3,000 at most.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn pull_files(&self, number: PullNumber) -> Result<Vec<PullFile>, Error> {
        let call = self.call(&endpoint::LIST_FILES, &[&number.to_string()]);
        self.all(call, |page: Vec<FileWire>| page.into_iter().map(PullFile::from).collect()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunk_headers_give_the_new_side() {
        let patch = "@@ -1,4 +1,6 @@ fn a()\n+@@ -9 +9 @@\n@@ -20 +22 @@\n@@ -30,2 +33,0 @@\n x".to_owned();
        let file = PullFile::from(FileWire { filename: "a".into(), patch: Some(patch) });
        assert_eq!(file.hunks, [(1, 6), (22, 22)]);
    }
}
