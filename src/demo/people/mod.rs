//! The people of the box: they open pull requests, push, talk, and cause webhooks by it.

mod issues;
mod owner;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::refusal::Refusal;
use super::state::{NewComment, NewPull, NewReview, Parent, World};
use super::webhook::Outgoing;
use super::{Error, Shared, repo};

/// What a commit changes: content to write, or `None` to delete.
#[derive(Debug, Clone, Default)]
pub struct Change(repo::Files);

impl Change {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn write(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.0.push((path.to_owned(), Some(content.as_ref().to_vec())));
        self
    }

    #[must_use]
    pub fn delete(mut self, path: &str) -> Self {
        self.0.push((path.to_owned(), None));
        self
    }

    /// Every file of a directory, `.git` left out.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn tree(dir: &Path) -> Result<Self, Error> {
        Ok(Self(repo::read_dir(dir)?))
    }
}

/// A pull request as its author opens it.
#[derive(Debug, Clone)]
pub struct OpenPull {
    pub author: String,
    pub branch: String,
    pub base: String,
    pub title: String,
    pub body: String,
    pub draft: bool,
    pub change: Change,
}

impl OpenPull {
    pub fn new(author: &str, branch: &str, title: &str, change: Change) -> Self {
        Self {
            author: author.to_owned(),
            branch: branch.to_owned(),
            base: "main".to_owned(),
            title: title.to_owned(),
            body: String::new(),
            draft: false,
            change,
        }
    }
}

/// Acts of people. Each returns once it has taken place; its webhooks follow in the background.
///
/// Every act fails with [`Error::Refused`] where GitHub would not let the person do it.
#[derive(Clone)]
pub struct People {
    shared: Arc<Shared>,
}

#[expect(clippy::missing_errors_doc, reason = "said once, at the type")]
#[expect(clippy::unused_async, reason = "people act through time; callers should not care which act needs it")]
impl People {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn act<T>(&self, repo: &str, act: impl FnOnce(&mut World, u64) -> Result<T, Refusal>) -> Result<T, Error> {
        let mut world = self.shared.world();
        let id = world.repo_named(repo)?;
        Ok(act(&mut world, id)?)
    }

    /// Commits on a branch, which begins at the default branch when it is new; returns the commit.
    pub async fn push(
        &self,
        author: &str,
        repo: &str,
        branch: &str,
        message: &str,
        change: Change,
    ) -> Result<String, Error> {
        self.act(repo, |world, id| world.commit_to(id, branch, author, message, &change.0, Parent::Tip))
    }

    /// Pushes a branch and opens a pull request from it; returns its number.
    pub async fn open_pull(&self, repo: &str, pull: OpenPull) -> Result<u64, Error> {
        self.act(repo, |world, id| open(world, id, id, pull))
    }

    /// The same from the author's fork, which is made on the way.
    pub async fn open_pull_from_fork(&self, repo: &str, pull: OpenPull) -> Result<u64, Error> {
        self.act(repo, |world, id| {
            let fork = world.fork_for(id, &pull.author)?;
            open(world, id, fork, pull)
        })
    }

    /// Another commit on the head branch of a pull request; returns it.
    pub async fn push_to_pull(
        &self,
        author: &str,
        repo: &str,
        number: u64,
        message: &str,
        change: Change,
    ) -> Result<String, Error> {
        self.act(repo, |world, id| {
            let (head, branch) = head(world, id, number)?;
            world.commit_to(head, &branch, author, message, &change.0, Parent::Tip)
        })
    }

    /// Replaces all commits of a pull request by one on top of its base.
    pub async fn force_push_to_pull(
        &self,
        author: &str,
        repo: &str,
        number: u64,
        message: &str,
        change: Change,
    ) -> Result<String, Error> {
        self.act(repo, |world, id| {
            let (head, branch) = head(world, id, number)?;
            let base = world.pull(id, number)?.base_sha.clone();
            world.commit_to(head, &branch, author, message, &change.0, Parent::Commit(base))
        })
    }

    pub async fn close_pull(&self, by: &str, repo: &str, number: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.set_pull_state(id, number, "closed", by))
    }

    pub async fn reopen_pull(&self, by: &str, repo: &str, number: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.set_pull_state(id, number, "open", by))
    }

    /// Merges with a merge commit, which is returned; what the pull request closes is closed.
    pub async fn merge_pull(&self, by: &str, repo: &str, number: u64) -> Result<String, Error> {
        self.act(repo, |world, id| world.merge_pull(id, number, by))
    }

    pub async fn delete_branch(&self, by: &str, repo: &str, branch: &str) -> Result<(), Error> {
        self.act(repo, |world, id| {
            let git = world.git(id)?;
            let before = repo::branch(&git, branch).ok_or_else(Refusal::not_found)?;
            git.find_reference(&format!("refs/heads/{branch}"))?.delete()?;
            world.pushed(id, branch, Some(&before), by)
        })
    }

    pub async fn ready_for_review(&self, by: &str, repo: &str, number: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.set_draft(id, number, false, by))
    }

    pub async fn convert_to_draft(&self, by: &str, repo: &str, number: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.set_draft(id, number, true, by))
    }

    pub async fn change_base(&self, by: &str, repo: &str, number: u64, base: &str) -> Result<(), Error> {
        self.act(repo, |world, id| world.edit_pull(id, number, None, None, Some(base.to_owned()), by))
    }

    pub async fn edit_pull(&self, by: &str, repo: &str, number: u64, title: &str, body: &str) -> Result<(), Error> {
        self.act(repo, |world, id| world.edit_pull(id, number, Some(title.to_owned()), Some(body.to_owned()), None, by))
    }

    /// A review comment of a person on one line of the new side; returns its id.
    pub async fn review_line(
        &self,
        author: &str,
        repo: &str,
        number: u64,
        path: &str,
        line: u32,
        body: &str,
    ) -> Result<u64, Error> {
        let (path, body) = (path.to_owned(), body.to_owned());
        let comment = NewComment { path, body, line, side: None, start_line: None, start_side: None };
        let event = Some("COMMENT".to_owned());
        let review = NewReview { event, comments: vec![comment], ..NewReview::default() };
        self.act(repo, |world, id| {
            let made = world.create_review(id, number, author, review)?;
            let comment = world.repo(id)?.review_comments.values().find(|c| c.review == made).map(|c| c.id);
            comment.ok_or_else(Refusal::not_found)
        })
    }

    /// Answers in the thread that a review comment began.
    pub async fn reply_in_thread(&self, author: &str, repo: &str, comment: u64, body: &str) -> Result<u64, Error> {
        self.act(repo, |world, id| world.reply(id, comment, author, body))
    }

    pub async fn resolve_thread(&self, by: &str, repo: &str, thread: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.set_resolved(id, thread, by, true))
    }

    pub async fn unresolve_thread(&self, by: &str, repo: &str, thread: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.set_resolved(id, thread, by, false))
    }

    /// "Re-run" at one check run.
    pub async fn rerequest_check(&self, by: &str, repo: &str, run: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.check_event(id, run, "rerequested", by))
    }

    /// "Re-run all checks" at a commit.
    pub async fn rerequest_suite(&self, by: &str, repo: &str, sha: &str) -> Result<(), Error> {
        self.act(repo, |world, id| {
            let ours = world.app_id;
            let suite = world.repo(id)?.suites.values().find(|s| s.head_sha == sha && s.app_id == ours).map(|s| s.id);
            world.suite_event(id, suite.ok_or_else(Refusal::not_found)?, "rerequested", by)
        })
    }

    /// A check run of another App on the same commit; returns its id.
    pub async fn foreign_check(&self, repo: &str, sha: &str, name: &str) -> Result<u64, Error> {
        self.act(repo, |world, id| world.foreign_check(id, sha, name))
    }

    /// That App's run comes to its end: `success`, `failure` and so on.
    pub async fn complete_foreign_check(&self, repo: &str, run: u64, conclusion: &str) -> Result<(), Error> {
        self.act(repo, |world, id| world.complete_foreign_check(id, run, conclusion))
    }

    /// A review without comments on lines: `APPROVE`, `REQUEST_CHANGES` or `COMMENT`; returns its id.
    pub async fn review(&self, author: &str, repo: &str, number: u64, verdict: &str, body: &str) -> Result<u64, Error> {
        let review = NewReview { event: Some(verdict.to_owned()), body: Some(body.to_owned()), ..NewReview::default() };
        self.act(repo, |world, id| world.create_review(id, number, author, review))
    }

    /// The same by another App: `bot` is its login, as in `helper[bot]`.
    pub async fn review_as_bot(&self, bot: &str, repo: &str, number: u64, verdict: &str) -> Result<u64, Error> {
        self.shared.world().add_user(bot, "Bot");
        self.review(bot, repo, number, verdict, "Looked at by a machine.").await
    }

    /// Takes the weight from an approval or a request for changes; who may write to the repository may.
    pub async fn dismiss_review(&self, by: &str, repo: &str, review: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.dismiss_review(id, review, by))
    }

    /// Commits every open suggestion of a pull request at once and returns the changed files.
    pub async fn apply_suggestions(
        &self,
        by: &str,
        repo: &str,
        number: u64,
    ) -> Result<BTreeMap<String, String>, Error> {
        self.act(repo, |world, id| world.apply_suggestions(id, number, by)).map(|files| files.into_iter().collect())
    }

    /// Deletes the fork a pull request came from: its `head.repo` becomes null.
    pub async fn delete_fork(&self, repo: &str, number: u64) -> Result<(), Error> {
        self.act(repo, |world, id| {
            let fork = world.pull(id, number)?.head_repo.filter(|head| *head != id);
            world.delete_repo(fork.ok_or_else(Refusal::not_found)?)
        })
    }

    /// The same delivery again, under its own GUID, as the App's settings page offers.
    pub async fn redeliver(&self, guid: &str) -> Result<(), Error> {
        self.again(guid, guid.to_owned(), true)
    }

    /// What an attacker with one captured delivery can do: the same signed body under a fresh GUID, which is returned.
    pub async fn replay(&self, guid: &str) -> Result<String, Error> {
        let fresh = uuid::Uuid::new_v4().to_string();
        self.again(guid, fresh.clone(), false)?;
        Ok(fresh)
    }

    fn again(&self, guid: &str, as_guid: String, redelivery: bool) -> Result<(), Error> {
        let world = self.shared.world();
        let found = world.deliveries.iter().rev().find(|d| d.guid == guid).ok_or_else(Refusal::not_found)?;
        world.post(Outgoing {
            guid: as_guid,
            event: found.event.clone(),
            action: found.action.clone(),
            redelivery,
            installation_id: found.installation_id,
            repository_id: found.repository_id,
            body: found.payload.clone(),
        });
        Ok(())
    }

    /// GitHub's hello to a new webhook.
    pub async fn ping(&self) {
        let mut world = self.shared.world();
        let hook = serde_json::json!({
            "zen": "Keep it logically awesome.",
            "hook_id": world.app_id,
            "hook": {"type": "App", "id": world.app_id, "name": "web", "active": true, "app_id": world.app_id,
                "events": world.manifest.default_events},
        });
        let account = world.account.clone();
        world.emit_always("ping", None, None, &account, hook);
    }
}

fn open(world: &mut World, base: u64, head_repo: u64, pull: OpenPull) -> Result<u64, Refusal> {
    if !pull.change.0.is_empty() {
        world.commit_to(head_repo, &pull.branch, &pull.author, &pull.title, &pull.change.0, Parent::Tip)?;
    }
    let new = NewPull {
        head_repo,
        head_ref: pull.branch,
        base_ref: pull.base,
        title: pull.title,
        body: Some(pull.body).filter(|body| !body.is_empty()),
        draft: pull.draft,
    };
    world.open_pull(base, &pull.author, new)
}

fn head(world: &World, repo: u64, number: u64) -> Result<(u64, String), Refusal> {
    let pull = world.pull(repo, number)?;
    Ok((pull.head_repo.ok_or_else(Refusal::not_found)?, pull.head_ref.clone()))
}
