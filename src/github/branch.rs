//! Branches: where they stand, and moving them. A branch is made or moved forward, never forced and never deleted.

use serde::Deserialize;
use serde_json::json;

use super::client;
use super::error::Error;
use super::{Repo, endpoint};
use crate::domain::Sha;

#[derive(Deserialize)]
struct RefWire {
    #[serde(rename = "ref")]
    name: String,
    object: ObjectWire,
}

#[derive(Deserialize)]
struct ObjectWire {
    sha: Sha,
}

#[derive(Deserialize)]
struct RuleWire {
    #[serde(rename = "type", default)]
    kind: String,
}

impl Repo {
    /// The branch's latest commit; `None` when there is no such branch, also in an empty repository.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn branch_head(&self, branch: &str) -> Result<Option<Sha>, Error> {
        // These would ask for something else than one branch, and git allows them in no name.
        if branch.is_empty() || branch.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Ok(None);
        }
        let call = self.call(&endpoint::GET_BRANCH_HEAD, &[branch]);
        let answer = match self.find(&call).await {
            Ok(Some(answer)) => answer,
            Ok(None) | Err(Error::EmptyRepository { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let found: RefWire = client::decode(&call, &answer.body)?;
        Ok((found.name == full_name(branch)).then_some(found.object.sha))
    }

    /// Makes a branch at a commit that GitHub has.
    ///
    /// # Errors
    /// `Validation` when the branch exists or the commit does not; else as [`Error`] says.
    pub async fn create_branch(&self, branch: &str, at: &Sha) -> Result<(), Error> {
        let body = json!({ "ref": full_name(branch), "sha": at });
        self.send(&self.call(&endpoint::CREATE_BRANCH, &[]).body(body)).await.map(drop)
    }

    /// Moves a branch to a commit that follows on its head.
    ///
    /// # Errors
    /// `Validation` when it does not follow, when there is no such branch, or when a rule forbids it; else as [`Error`] says.
    pub async fn move_branch(&self, branch: &str, to: &Sha) -> Result<(), Error> {
        let body = json!({ "sha": to, "force": false });
        self.send(&self.call(&endpoint::MOVE_BRANCH, &[branch]).body(body)).await.map(drop)
    }

    /// Whether a ruleset takes only signed commits on that branch. The older branch protection shows this to administrators
    /// alone: there, a refused push is the first to tell.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn needs_signatures(&self, branch: &str) -> Result<bool, Error> {
        let call = self.call(&endpoint::LIST_BRANCH_RULES, &[branch]);
        match self.all(call, |page: Vec<RuleWire>| page).await {
            Ok(rules) => Ok(rules.iter().any(|rule| rule.kind == "required_signatures")),
            // A server or a plan without rulesets has no rules.
            Err(Error::NotFound { .. }) => Ok(false),
            Err(Error::Forbidden { message, .. }) if message.to_ascii_lowercase().starts_with("upgrade to") => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

fn full_name(branch: &str) -> String {
    format!("refs/heads/{branch}")
}
