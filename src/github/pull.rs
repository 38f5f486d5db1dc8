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
