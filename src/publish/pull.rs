//! A contribution becomes one open pull request.

use serde_json::json;

use super::{Error, Publisher, marker, render};
use crate::artifact::PullIntent;
use crate::domain::{IssueNumber, PullNumber, RepositoryId};
use crate::github::{self, AppInfo, NewPull, Pull, Repo};
use crate::store::{EffectRow, EffectState};

/// A pull request that stands open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    pub number: PullNumber,
    /// Where people find it.
    pub url: String,
    /// It was there before we asked for it.
    pub adopted: bool,
    pub draft: bool,
}

impl Publisher {
    /// Opens the pull request, or finds the one that is open for this contribution or this branch. One that a person closed is
    /// not opened again for the same job; another job, asked for since, opens another one.
    ///
    /// # Errors
    /// `Superseded` when the branch moved on, the pull request was closed, or the job lost its lease; `NoCommits` when the base
    /// has the change already; else GitHub's or the ledger's.
    pub async fn pull(&self, repo: &Repo, app: &AppInfo, intent: &PullIntent) -> Result<Opened, Error> {
        let key = effect_key(&intent.key);
        let sketch = json!({
            "branch": intent.draft.branch,
            "base": intent.base_branch,
            "head": intent.head,
            "job": self.ledger.job(),
        });
        let row = self.ledger.amend(&key, intent.run, "pull-request", |_| sketch).await?;
        if let (EffectState::Proved, Some(number)) = (row.state, told(&row)) {
            let pull = repo.pull(number).await?;
            return if pull.is_open() {
                Ok(opened(pull, false))
            } else {
                Err(Error::Superseded(format!("pull request #{number} was closed")))
            };
        }
        self.ledger.settled(&row).await;
        if let Some(pull) = self.standing_pull(repo, app, intent).await? {
            return self.take(&key, pull, row.state != EffectState::Sent).await;
        }
        let branch = &intent.draft.branch;
        match repo.branch_head(branch).await? {
            Some(head) if head == intent.head => {}
            Some(head) => {
                let (now, was) = (head.short(), intent.head.short());
                return Err(Error::Superseded(format!("the branch `{branch}` is at {now} now, not at {was}")));
            }
            None => return Err(Error::Superseded(format!("the branch `{branch}` is gone"))),
        }
        let mut new = NewPull {
            title: render::pull::title(intent),
            body: render::pull::body(intent, &marker::of_key(&key)),
            head: branch.clone(),
            base: intent.base_branch.clone(),
            draft: intent.draft.draft,
        };
        self.ledger.sent(&key).await?;
        let mut made = repo.create_pull(&new).await;
        if new.draft && refused_because(&made, "draft") {
            // Not every plan has drafts. The body says all the same what was not checked.
            new.draft = false;
            self.ledger.sent(&key).await?;
            made = repo.create_pull(&new).await;
        }
        if refused_because(&made, "already exists")
            && let Some(pull) = self.standing_pull(repo, app, intent).await?
        {
            return self.take(&key, pull, true).await;
        }
        let nothing = refused_because(&made, "no commits between");
        match self.ledger.noted(&key, made).await {
            Ok(pull) => self.take(&key, pull, false).await,
            Err(_) if nothing => Err(Error::NoCommits { branch: branch.clone(), base: intent.base_branch.clone() }),
            Err(error) => Err(error),
        }
    }

    /// The open pull request of ours for that contribution; `key` is `contribute/<repository>/<issue>`.
    ///
    /// # Errors
    /// When GitHub does not answer.
    pub async fn find_pull(&self, repo: &Repo, app: &AppInfo, key: &str) -> Result<Option<Pull>, Error> {
        let key = effect_key(key);
        let ours = |pull: &Pull| marker::is_own(app, &pull.author) && marker::carries(&pull.body, &key);
        Ok(repo.pulls_open().await?.into_iter().find(ours))
    }

    /// The open pull request of our branch, whoever opened it, else the one with our marker.
    async fn standing_pull(&self, repo: &Repo, app: &AppInfo, intent: &PullIntent) -> Result<Option<Pull>, Error> {
        let of_branch = repo.pulls_of_head(&intent.draft.branch).await?;
        let fits = |pull: &Pull| {
            pull.head_repo == Some(repo.id())
                && pull.head_ref == intent.draft.branch
                && pull.base_ref == intent.base_branch
        };
        match of_branch.into_iter().find(fits) {
            Some(pull) => Ok(Some(pull)),
            None => self.find_pull(repo, app, &intent.key).await,
        }
    }

    async fn take(&self, key: &str, pull: Pull, adopted: bool) -> Result<Opened, Error> {
        self.ledger.proved(key, &json!({ "pull": pull.number, "url": pull.url })).await?;
        Ok(opened(pull, adopted))
    }
}

/// The issue for which our App opened this pull request, from a branch of this very repository. By its author's account and
/// our marker: what a stranger writes makes no pull request ours.
pub fn contribution_of(app: &AppInfo, repo: RepositoryId, pull: &Pull) -> Option<IssueNumber> {
    if !marker::is_own(app, &pull.author) || pull.head_repo.is_some_and(|head| head != repo) {
        return None;
    }
    let issue = marker::parse_pull(&pull.body)?.strip_prefix(&format!("contribute/{repo}/"))?;
    issue.parse().ok().map(IssueNumber)
}

fn effect_key(key: &str) -> String {
    format!("pull/{key}")
}

fn opened(pull: Pull, adopted: bool) -> Opened {
    Opened { number: pull.number, url: pull.url, adopted, draft: pull.draft }
}

fn told(row: &EffectRow) -> Option<PullNumber> {
    row.proof.as_ref()?.get("pull")?.as_u64().map(PullNumber)
}

/// GitHub tells its reasons for a 422 apart by words alone.
fn refused_because<T>(answer: &Result<T, github::Error>, words: &str) -> bool {
    let Err(error) = answer else { return false };
    match error.root() {
        github::Error::Validation { message, errors, .. } => {
            errors.iter().chain([message]).any(|text| text.to_ascii_lowercase().contains(words))
        }
        _ => false,
    }
}
