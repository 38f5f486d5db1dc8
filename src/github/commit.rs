//! Commits: reading one, and making one without git. GitHub signs what is made this way, which is why it exists.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::Error;
use super::user::UserWire;
use super::{Repo, endpoint};
use crate::domain::Sha;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    pub sha: Sha,
    pub message: String,
    pub tree: Sha,
    pub parents: Vec<Sha>,
    /// The account that GitHub finds behind the author's address; anybody may write any address.
    pub author_login: Option<String>,
    /// GitHub holds the signature for good.
    pub verified: bool,
}

/// One path that a new tree has otherwise than its base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// From the root, with slashes.
    pub path: String,
    /// `100644` or `100755`.
    pub mode: &'static str,
    /// `None` deletes the path.
    pub content: Option<Vec<u8>>,
}

#[derive(Deserialize)]
struct CommitWire {
    sha: Sha,
    commit: InnerWire,
    #[serde(default)]
    parents: Vec<ShaWire>,
    author: Option<AuthorWire>,
}

#[derive(Deserialize)]
struct InnerWire {
    message: String,
    tree: ShaWire,
    verification: Option<VerificationWire>,
}

/// GitHub shows an empty object where the account is unknown.
#[derive(Deserialize)]
#[serde(untagged)]
enum AuthorWire {
    Known(UserWire),
    #[expect(dead_code, reason = "takes whatever is not an account")]
    Unknown(Value),
}

#[derive(Deserialize)]
struct VerificationWire {
    #[serde(default)]
    verified: bool,
}

#[derive(Deserialize)]
struct ShaWire {
    sha: Sha,
}

impl From<CommitWire> for CommitInfo {
    fn from(wire: CommitWire) -> Self {
        Self {
            sha: wire.sha,
            message: wire.commit.message,
            tree: wire.commit.tree.sha,
            parents: wire.parents.into_iter().map(|parent| parent.sha).collect(),
            author_login: wire.author.and_then(|author| match author {
                AuthorWire::Known(user) => Some(user.login),
                AuthorWire::Unknown(_) => None,
            }),
            verified: wire.commit.verification.is_some_and(|verification| verification.verified),
        }
    }
}

impl Repo {
    /// # Errors
    /// `NotFound` when GitHub does not have the commit; else as [`Error`] says.
    pub async fn commit(&self, sha: &Sha) -> Result<CommitInfo, Error> {
        let call = self.call(&endpoint::GET_COMMIT, &[sha.as_str()]);
        match self.json::<CommitWire>(&call).await {
            Ok(wire) => Ok(wire.into()),
            // GitHub's way to say that a full object id leads nowhere.
            Err(Error::Validation { call, .. }) => Err(Error::NotFound { call }),
            Err(error) => Err(error),
        }
    }

    /// A tree like `base` but for the entries. Text goes along with the request; other bytes are stored one by one before.
    ///
    /// # Errors
    /// `Validation` when an entry deletes what is not there; `EmptyRepository`; else as [`Error`] says.
    pub async fn create_tree(&self, base: &Sha, entries: &[TreeEntry]) -> Result<Sha, Error> {
        let mut tree = Vec::with_capacity(entries.len());
        for entry in entries {
            let mut value = json!({ "path": entry.path, "mode": entry.mode, "type": "blob" });
            match &entry.content {
                None => value["sha"] = Value::Null,
                Some(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) if !text.contains('\0') => value["content"] = json!(text),
                    _ => value["sha"] = json!(self.create_blob(bytes).await?),
                },
            }
            tree.push(value);
        }
        let call = self.call(&endpoint::CREATE_TREE, &[]).body(json!({ "base_tree": base, "tree": tree }));
        self.json::<ShaWire>(&call).await.map(|made| made.sha)
    }

    /// A commit by the App itself. It names no author, because GitHub signs only then.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn create_commit(&self, message: &str, tree: &Sha, parent: &Sha) -> Result<Sha, Error> {
        let body = json!({ "message": message, "tree": tree, "parents": [parent] });
        let call = self.call(&endpoint::CREATE_COMMIT, &[]).body(body);
        self.json::<ShaWire>(&call).await.map(|made| made.sha)
    }

    async fn create_blob(&self, bytes: &[u8]) -> Result<Sha, Error> {
        let body = json!({ "content": STANDARD.encode(bytes), "encoding": "base64" });
        let call = self.call(&endpoint::CREATE_BLOB, &[]).body(body);
        self.json::<ShaWire>(&call).await.map(|made| made.sha)
    }
}
