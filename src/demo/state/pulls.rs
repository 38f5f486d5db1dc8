//! Pull requests: opened, pushed to, closed, and kept at `refs/pull/N/head`.

use serde_json::{Value, json};

use super::{Pull, World};
use crate::demo::refusal::Refusal;
use crate::demo::{repo, shape};

pub struct NewPull {
    pub head_repo: u64,
    pub head_ref: String,
    pub base_ref: String,
    pub title: String,
    pub body: Option<String>,
    pub draft: bool,
}

impl World {
    pub fn open_pull(&mut self, base: u64, author: &str, new: NewPull) -> Result<u64, Refusal> {
        let wrong = |field: &str, message: &str| Err(Refusal::invalid("PullRequest", field, "invalid", message));
        let git = self.git(base)?;
        let Some(base_sha) = repo::branch(&git, &new.base_ref) else { return wrong("base", "base is invalid") };
        let head_git = self.git(new.head_repo)?;
        let Some(head_sha) = repo::branch(&head_git, &new.head_ref) else { return wrong("head", "head is invalid") };
        let head_owner = self.repo(new.head_repo)?.owner.clone();
        if new.draft && !self.repo(base)?.drafts {
            let message = "Draft pull requests are not supported in this repository.";
            let mut refusal = Refusal::invalid("PullRequest", "draft", "custom", message);
            message.clone_into(&mut refusal.message);
            return Err(refusal);
        }
        let twin = self.repo(base)?.pulls.values().any(|p| {
            p.state == "open"
                && p.head_repo == Some(new.head_repo)
                && p.head_ref == new.head_ref
                && p.base_ref == new.base_ref
        });
        if twin {
            let message = format!("A pull request already exists for {head_owner}:{}.", new.head_ref);
            return Err(Refusal::invalid("PullRequest", "head", "custom", message));
        }
        if new.head_repo != base {
            let from = self.git_dir(new.head_repo)?;
            // Objects only: the ref of the pull request is set once its number is known.
            repo::pull_in(&git, &from, &format!("+refs/heads/{}:refs/box/incoming", new.head_ref))?;
        }
        if repo::commits(&git, &base_sha, &head_sha)?.is_empty() {
            let message = format!("No commits between {} and {}", new.base_ref, new.head_ref);
            return Err(Refusal::invalid("PullRequest", "head", "custom", message));
        }
        let issue = self.new_issue(base, author, &new.title, new.body)?;
        let number = issue.number;
        let pull = Pull {
            issue,
            draft: new.draft,
            merged_by: None,
            head_repo: Some(new.head_repo),
            head_owner,
            head_ref: new.head_ref,
            head_sha,
            base_ref: new.base_ref,
            base_sha,
            merge_sha: None,
        };
        self.repo_mut(base)?.pulls.insert(number, pull);
        self.refresh_refs(base, number)?;
        self.pull_event(base, number, "opened", author, json!({}))?;
        Ok(number)
    }

    /// Points `refs/pull/N/head` and `refs/pull/N/merge` at what they stand for.
    fn refresh_refs(&mut self, repo: u64, number: u64) -> Result<(), Refusal> {
        let git = self.git(repo)?;
        let now = self.now();
        let pull = self.pull(repo, number)?;
        repo::set_ref(&git, &format!("refs/pull/{number}/head"), &pull.head_sha)?;
        if let Ok(mut brought) = git.find_reference("refs/box/incoming") {
            // It has done its work: what it brought hangs on the pull request's ref now.
            brought.delete()?;
        }
        let merge = repo::test_merge(&git, &pull.base_sha, &pull.head_sha, now)?;
        if let Some(sha) = &merge {
            repo::set_ref(&git, &format!("refs/pull/{number}/merge"), sha)?;
        } else if let Ok(mut old) = git.find_reference(&format!("refs/pull/{number}/merge")) {
            old.delete()?;
        }
        self.pull_mut(repo, number)?.merge_sha = merge;
        Ok(())
    }

    /// Takes over what was pushed to the head branch.
    pub fn synchronize(&mut self, repo: u64, number: u64, sender: &str) -> Result<(), Refusal> {
        let pull = self.pull(repo, number)?.clone();
        let Some(head_repo) = pull.head_repo else { return Ok(()) };
        let Some(after) = repo::branch(&self.git(head_repo)?, &pull.head_ref) else { return Ok(()) };
        if after == pull.head_sha {
            return Ok(());
        }
        let git = self.git(repo)?;
        if head_repo != repo {
            let from = self.git_dir(head_repo)?;
            repo::pull_in(&git, &from, &format!("+refs/heads/{}:refs/box/incoming", pull.head_ref))?;
        }
        let base_sha = repo::branch(&git, &pull.base_ref).unwrap_or(pull.base_sha);
        let now = self.now();
        let moved = self.pull_mut(repo, number)?;
        moved.head_sha.clone_from(&after);
        moved.base_sha = base_sha;
        moved.issue.updated_at = now;
        self.refresh_refs(repo, number)?;
        self.carry_comments(repo, number)?;
        let extra = json!({"before": pull.head_sha, "after": after});
        self.pull_event(repo, number, "synchronize", sender, extra)
    }

    pub fn set_pull_state(&mut self, repo: u64, number: u64, state: &str, sender: &str) -> Result<(), Refusal> {
        let now = self.now();
        let pull = self.pull_mut(repo, number)?;
        if pull.state == state {
            return Ok(());
        }
        if pull.merged_by.is_some() {
            let message = "Pull requests that were merged cannot be reopened";
            return Err(Refusal::invalid("PullRequest", "state", "invalid", message));
        }
        state.clone_into(&mut pull.issue.state);
        pull.issue.closed_at = (state == "closed").then_some(now);
        pull.issue.closed_by = (state == "closed").then(|| sender.to_owned());
        pull.issue.updated_at = now;
        let action = if state == "closed" { "closed" } else { "reopened" };
        self.add_user(sender, "User");
        self.issue_event(repo, number, action, sender, None, None)?;
        self.pull_event(repo, number, action, sender, json!({}))
    }

    /// A merge commit on the base, by a person; what the pull request closes is closed.
    pub fn merge_pull(&mut self, repo: u64, number: u64, by: &str) -> Result<String, Refusal> {
        let pull = self.pull(repo, number)?.clone();
        if pull.state != "open" || pull.draft || pull.merge_sha.is_none() {
            return Err(Refusal::new(405, "Pull Request is not mergeable"));
        }
        self.add_user(by, "User");
        let (git, now) = (self.git(repo)?, self.now());
        let before = repo::branch(&git, &pull.base_ref).ok_or_else(Refusal::not_found)?;
        let merged = repo::test_merge(&git, &before, &pull.head_sha, now)?;
        let sha = merged.ok_or_else(|| Refusal::new(405, "Pull Request is not mergeable"))?;
        repo::set_ref(&git, &format!("refs/heads/{}", pull.base_ref), &sha)?;
        let done = self.pull_mut(repo, number)?;
        done.merged_by = Some(by.to_owned());
        done.merge_sha = Some(sha.clone());
        "closed".clone_into(&mut done.issue.state);
        done.issue.closed_at = Some(now);
        done.issue.closed_by = Some(by.to_owned());
        done.issue.updated_at = now;
        self.issue_event(repo, number, "merged", by, None, Some(sha.clone()))?;
        self.issue_event(repo, number, "closed", by, None, None)?;
        self.pull_event(repo, number, "closed", by, json!({}))?;
        for (other, issue) in self.issues_closed_by(repo, number)? {
            if !self.repo(other)?.pulls.contains_key(&issue) && self.issue(other, issue)?.state == "open" {
                self.close_issue(other, issue, by, "completed", Some(sha.clone()))?;
            }
        }
        self.pushed(repo, &pull.base_ref, Some(&before), by)?;
        Ok(sha)
    }

    pub fn set_draft(&mut self, repo: u64, number: u64, draft: bool, sender: &str) -> Result<(), Refusal> {
        self.pull_mut(repo, number)?.draft = draft;
        let action = if draft { "converted_to_draft" } else { "ready_for_review" };
        self.pull_event(repo, number, action, sender, json!({}))
    }

    pub fn edit_pull(
        &mut self,
        repo: u64,
        number: u64,
        title: Option<String>,
        body: Option<String>,
        base: Option<String>,
        sender: &str,
    ) -> Result<(), Refusal> {
        let mut changes = json!({});
        if let Some(base) = base {
            let git = self.git(repo)?;
            let sha = repo::branch(&git, &base).ok_or_else(|| {
                Refusal::invalid("PullRequest", "base", "invalid", "Proposed base branch was not found")
            })?;
            let pull = self.pull_mut(repo, number)?;
            changes["base"] = json!({"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}});
            pull.base_ref = base;
            pull.base_sha = sha;
            self.refresh_refs(repo, number)?;
            self.carry_comments(repo, number)?;
        }
        let now = self.now();
        let pull = self.pull_mut(repo, number)?;
        if let Some(title) = title {
            changes["title"] = json!({"from": pull.title});
            pull.issue.title = title;
        }
        if let Some(body) = body {
            changes["body"] = json!({"from": pull.body});
            pull.issue.body = Some(body);
        }
        pull.issue.updated_at = now;
        self.pull_event(repo, number, "edited", sender, json!({"changes": changes}))
    }

    /// Commits on a branch and tells everyone whom it concerns.
    pub fn commit_to(
        &mut self,
        repo: u64,
        branch: &str,
        author: &str,
        message: &str,
        files: &repo::Files,
        parent: Parent,
    ) -> Result<String, Refusal> {
        if let Some((path, _)) = files.iter().find(|(path, _)| !repo::is_path(path)) {
            return Err(Refusal::new(422, format!("`{path}` is not a path in a repository")));
        }
        self.add_user(author, "User");
        let git = self.git(repo)?;
        let before = repo::branch(&git, branch);
        let default = self.repo(repo)?.default_branch.clone();
        let parent = match parent {
            Parent::Tip => before.clone().or_else(|| repo::branch(&git, &default)),
            Parent::Commit(sha) => Some(sha),
        };
        let sha = repo::commit(&git, parent.as_deref(), author, message, files, self.now())?;
        repo::set_ref(&git, &format!("refs/heads/{branch}"), &sha)?;
        self.pushed(repo, branch, before.as_deref(), author)?;
        Ok(sha)
    }

    pub fn fork_for(&mut self, repo: u64, author: &str) -> Result<u64, Refusal> {
        let (name, dir, default) = {
            let r = self.repo(repo)?;
            (r.name.clone(), self.git_dir(repo)?, r.default_branch.clone())
        };
        if let Some(found) = self.find_repo(author, &name) {
            return Ok(found);
        }
        self.add_user(author, "User");
        let fork = self.new_repo(author, &name, Some(repo));
        repo::fork(&dir, &self.git_dir(fork)?, &default)?;
        Ok(fork)
    }

    /// Forgets a fork; pull requests from it keep their commits and lose `head.repo`.
    pub fn delete_repo(&mut self, repo: u64) -> Result<(), Refusal> {
        let dir = self.git_dir(repo)?;
        self.repos.remove(&repo);
        for pull in self.repos.values_mut().flat_map(|r| r.pulls.values_mut()) {
            if pull.head_repo == Some(repo) {
                pull.head_repo = None;
            }
        }
        std::fs::remove_dir_all(dir).map_err(|e| Refusal::new(500, format!("the fork could not be removed: {e}")))
    }

    pub fn pull_event(
        &mut self,
        repo: u64,
        number: u64,
        action: &str,
        sender: &str,
        mut extra: Value,
    ) -> Result<(), Refusal> {
        extra["number"] = json!(number);
        extra["pull_request"] = shape::pull(self, repo, number, true)?;
        self.emit("pull_request", Some(action), repo, sender, extra);
        Ok(())
    }
}

/// What a commit stands on.
pub enum Parent {
    /// The branch as it is, or the default branch when it is new.
    Tip,
    /// A given commit: the branch is rewritten.
    Commit(String),
}
