//! The world of the box: people, repositories and what happened to them, in memory beside repositories on disk.

mod anchors;
mod checks;
mod comments;
mod events;
mod issues;
mod links;
mod model;
mod pulls;
mod rules;
mod talk;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use serde_json::json;
use tokio::sync::{mpsc, watch};

pub use checks::CheckChange;
pub use issues::NewLabel;
pub use model::*;
pub use pulls::{NewPull, Parent};
pub use rules::{Decline, RefChange, workflow_refusal};
pub use talk::{NewComment, NewReview, check_length};

use super::fault::Fault;
use super::manifest::AppManifest;
use super::refusal::Refusal;
use super::repo;
use super::webhook::Outgoing;
use crate::domain::clock::{Clock, Millis};

pub struct World {
    pub clock: Clock,
    /// `http://127.0.0.1:PORT`.
    pub web: String,
    pub root: PathBuf,
    pub manifest: AppManifest,
    pub app_id: u64,
    pub app_slug: String,
    pub created_at: Millis,
    pub installation_id: u64,
    /// The account the App is installed on: the App sees that account's repositories and no others.
    pub account: String,
    pub suspended_at: Option<Millis>,
    pub uninstalled: bool,
    /// Repositories of the account that were taken out of the installation.
    pub removed: BTreeSet<u64>,
    /// Former `owner/name` in lower case, and the repository it led to.
    pub moved: BTreeMap<String, u64>,
    /// Commits that carry a signature GitHub made.
    pub signed: BTreeSet<String>,
    pub pushes: Vec<Push>,
    pub users: BTreeMap<String, User>,
    pub repos: BTreeMap<u64, Repo>,
    pub tokens: HashMap<String, Token>,
    pub deliveries: Vec<Delivery>,
    pub calls: Vec<Call>,
    pub faults: Vec<Fault>,
    /// The primary rate limit.
    pub hourly: u64,
    pub requests_left: u64,
    /// When the hour of the primary rate limit began.
    pub hour_began: Millis,
    pub last_write: Option<tokio::time::Instant>,
    pub webhook_url: Option<String>,
    pub hook: Hook,
    /// What the installation's owner has granted, where that is less than the App asks for.
    pub granted: Option<Permissions>,
    /// Of the server, as GitHub Enterprise Server tells it.
    pub version: String,
    pub outbox: mpsc::UnboundedSender<Outgoing>,
    /// Deliveries on their way.
    pub pending: watch::Sender<usize>,
    last_id: u64,
}

pub struct Beginning {
    pub clock: Clock,
    pub web: String,
    pub root: PathBuf,
    pub manifest: AppManifest,
    pub account: String,
    pub hourly: u64,
    pub webhook_url: Option<String>,
    pub outbox: mpsc::UnboundedSender<Outgoing>,
}

impl World {
    pub fn new(start: Beginning) -> Self {
        let slug = start.manifest.name.to_lowercase().replace(' ', "-");
        let mut world = Self {
            created_at: start.clock.now(),
            hour_began: start.clock.now(),
            clock: start.clock,
            web: start.web,
            root: start.root,
            manifest: start.manifest,
            app_id: 0,
            app_slug: slug,
            installation_id: 0,
            account: start.account.clone(),
            suspended_at: None,
            uninstalled: false,
            removed: BTreeSet::new(),
            moved: BTreeMap::new(),
            signed: BTreeSet::new(),
            pushes: Vec::new(),
            users: BTreeMap::new(),
            repos: BTreeMap::new(),
            tokens: HashMap::new(),
            deliveries: Vec::new(),
            calls: Vec::new(),
            faults: Vec::new(),
            hourly: start.hourly,
            requests_left: start.hourly,
            last_write: None,
            webhook_url: start.webhook_url,
            hook: Hook::default(),
            granted: None,
            version: "3.99.0".to_owned(),
            outbox: start.outbox,
            pending: watch::Sender::new(0),
            last_id: 1_000_000,
        };
        world.app_id = world.id();
        world.installation_id = world.id();
        world.add_user(&start.account, "Organization");
        let bot = world.bot();
        world.add_user(&bot, "Bot");
        world
    }

    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    pub fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Counts one request against the hour; refuses it when the hour is used up.
    pub fn spend(&mut self) -> Result<(), Refusal> {
        if self.now() >= self.resets_at() {
            self.hour_began = self.now();
            self.requests_left = self.hourly;
        }
        let message = "API rate limit exceeded for installation.";
        self.requests_left = self.requests_left.checked_sub(1).ok_or_else(|| Refusal::new(403, message))?;
        Ok(())
    }

    pub fn resets_at(&self) -> Millis {
        self.hour_began + 3_600_000
    }

    pub fn bot(&self) -> String {
        format!("{}[bot]", self.app_slug)
    }

    /// The address under which GitHub knows an account's commits.
    pub fn noreply(&self, login: &str) -> String {
        let id = self.users.get(login).map_or(0, |user| user.id);
        format!("{id}+{login}@users.noreply.{}", self.host())
    }

    /// The server's name without scheme and port.
    pub fn host(&self) -> &str {
        self.web.trim_start_matches("http://").split(':').next().unwrap_or_default()
    }

    pub fn api(&self) -> String {
        format!("{}/api/v3", self.web)
    }

    /// People come into being when they first act.
    pub fn add_user(&mut self, login: &str, kind: &str) {
        if !self.users.contains_key(login) {
            let (id, created_at) = (self.id(), self.now());
            self.users
                .insert(login.to_owned(), User { id, login: login.to_owned(), kind: kind.to_owned(), created_at });
        }
    }

    /// Without `files` the repository is empty: it has no branch and no commit.
    pub fn create_repo(&mut self, owner: &str, name: &str, files: Option<&repo::Files>) -> Result<u64, Refusal> {
        self.add_user(owner, "User");
        if self.find_repo(owner, name).is_some() {
            return Err(Refusal::invalid("Repository", "name", "custom", "name already exists on this account"));
        }
        let id = self.new_repo(owner, name, None);
        let git = repo::init(&self.git_dir(id)?, "main")?;
        if let Some(files) = files {
            let sha = repo::commit(&git, None, owner, "first commit", files, self.now())?;
            repo::set_ref(&git, "refs/heads/main", &sha)?;
        }
        if self.covers(id) {
            self.repositories_event(id, "added", owner)?;
        }
        Ok(id)
    }

    pub(super) fn new_repo(&mut self, owner: &str, name: &str, parent: Option<u64>) -> u64 {
        let labels = self.default_labels();
        let (id, now) = (self.id(), self.now());
        let collaborators = BTreeMap::from([(owner.to_owned(), "admin".to_owned())]);
        let new = Repo {
            id,
            owner: owner.to_owned(),
            name: name.to_owned(),
            private: false,
            default_branch: "main".to_owned(),
            parent,
            collaborators,
            custom_roles: BTreeMap::new(),
            language: None,
            stars: 0,
            license: None,
            archived: false,
            drafts: true,
            force_pushes: false,
            protected: Vec::new(),
            signatures: Vec::new(),
            labels,
            events: Vec::new(),
            created_at: now,
            pushed_at: now,
            last_number: 0,
            issues: BTreeMap::new(),
            pulls: BTreeMap::new(),
            reviews: BTreeMap::new(),
            review_comments: BTreeMap::new(),
            threads: BTreeMap::new(),
            comments: BTreeMap::new(),
            suites: BTreeMap::new(),
            checks: BTreeMap::new(),
            reactions: Vec::new(),
        };
        self.repos.insert(id, new);
        id
    }

    pub fn find_repo(&self, owner: &str, name: &str) -> Option<u64> {
        let same = |r: &&Repo| r.owner.eq_ignore_ascii_case(owner) && r.name.eq_ignore_ascii_case(name);
        self.repos.values().find(same).map(|r| r.id)
    }

    /// Where a former name leads.
    pub fn moved_to(&self, owner: &str, name: &str) -> Option<u64> {
        self.moved.get(&format!("{owner}/{name}").to_lowercase()).copied().filter(|id| self.repos.contains_key(id))
    }

    pub fn rename_repo(&mut self, repo: u64, name: &str, by: &str) -> Result<(), Refusal> {
        let (owner, former) = (self.repo(repo)?.owner.clone(), self.repo(repo)?.name.clone());
        if self.find_repo(&owner, name).is_some() {
            return Err(Refusal::invalid("Repository", "name", "custom", "name already exists on this account"));
        }
        let from = self.git_dir(repo)?;
        self.repo_mut(repo)?.name = name.to_owned();
        std::fs::rename(from, self.git_dir(repo)?)
            .map_err(|e| Refusal::new(500, format!("the repository could not be renamed: {e}")))?;
        self.moved.insert(format!("{owner}/{former}").to_lowercase(), repo);
        self.moved.remove(&format!("{owner}/{name}").to_lowercase());
        let changes = json!({"changes": {"repository": {"name": {"from": former}}}});
        self.emit("repository", Some("renamed"), repo, by, changes);
        Ok(())
    }

    /// `owner/name` as people say it.
    pub fn repo_named(&self, full_name: &str) -> Result<u64, Refusal> {
        full_name.split_once('/').and_then(|(o, n)| self.find_repo(o, n)).ok_or_else(Refusal::not_found)
    }

    pub fn repo(&self, id: u64) -> Result<&Repo, Refusal> {
        self.repos.get(&id).ok_or_else(Refusal::not_found)
    }

    pub fn repo_mut(&mut self, id: u64) -> Result<&mut Repo, Refusal> {
        self.repos.get_mut(&id).ok_or_else(Refusal::not_found)
    }

    pub fn pull(&self, repo: u64, number: u64) -> Result<&Pull, Refusal> {
        self.repo(repo)?.pulls.get(&number).ok_or_else(Refusal::not_found)
    }

    pub fn pull_mut(&mut self, repo: u64, number: u64) -> Result<&mut Pull, Refusal> {
        self.repo_mut(repo)?.pulls.get_mut(&number).ok_or_else(Refusal::not_found)
    }

    /// An issue, or the issue side of a pull request.
    pub fn issue(&self, repo: u64, number: u64) -> Result<&Issue, Refusal> {
        let repo = self.repo(repo)?;
        repo.pulls.get(&number).map(|p| &p.issue).or_else(|| repo.issues.get(&number)).ok_or_else(Refusal::not_found)
    }

    pub fn issue_mut(&mut self, repo: u64, number: u64) -> Result<&mut Issue, Refusal> {
        let repo = self.repo_mut(repo)?;
        match repo.pulls.get_mut(&number) {
            Some(pull) => Ok(&mut pull.issue),
            None => repo.issues.get_mut(&number).ok_or_else(Refusal::not_found),
        }
    }

    pub fn git_dir(&self, id: u64) -> Result<PathBuf, Refusal> {
        let r = self.repo(id)?;
        Ok(self.root.join(&r.owner).join(format!("{}.git", r.name)))
    }

    pub fn git(&self, id: u64) -> Result<git2::Repository, Refusal> {
        Ok(repo::open(&self.git_dir(id)?)?)
    }

    /// Whether the App is installed where this repository lives.
    pub fn covers(&self, id: u64) -> bool {
        !self.uninstalled
            && !self.removed.contains(&id)
            && self.repos.get(&id).is_some_and(|r| r.owner.eq_ignore_ascii_case(&self.account))
    }

    /// What the App may do at most, `metadata: read` always among it.
    pub fn app_permissions(&self) -> Permissions {
        let mut permissions = self.manifest.default_permissions.clone();
        permissions.entry("metadata".to_owned()).or_insert(Level::Read);
        permissions
    }

    /// What the App may do where it is installed.
    pub fn granted_permissions(&self) -> Permissions {
        let mut permissions = self.granted.clone().unwrap_or_else(|| self.app_permissions());
        permissions.entry("metadata".to_owned()).or_insert(Level::Read);
        permissions
    }

    /// `refs/heads/…` moved in a repository: pull requests follow, and the push itself is told.
    pub fn pushed(&mut self, repo: u64, branch: &str, before: Option<&str>, sender: &str) -> Result<(), Refusal> {
        let after = repo::branch(&self.git(repo)?, branch);
        if after.as_deref() == before {
            return Ok(());
        }
        let now = self.now();
        self.repo_mut(repo)?.pushed_at = now;
        let zero = "0".repeat(40);
        let extra = json!({
            "ref": format!("refs/heads/{branch}"),
            "before": before.unwrap_or(&zero),
            "after": after.as_deref().unwrap_or(&zero),
            "created": before.is_none(),
            "deleted": after.is_none(),
            "forced": false,
            "base_ref": null,
            "commits": [],
            "head_commit": null,
            "pusher": {"name": sender, "email": null},
        });
        self.emit("push", None, repo, sender, extra);
        match after {
            Some(after) => {
                self.suite_for_push(repo, &after, branch, before, sender)?;
                self.follow(repo, branch, sender)
            }
            None => self.orphan(repo, branch, sender),
        }
    }

    /// Without its head branch a pull request is closed.
    fn orphan(&mut self, repo: u64, branch: &str, sender: &str) -> Result<(), Refusal> {
        for (base, number) in self.pulls_from(repo, branch) {
            self.set_pull_state(base, number, "closed", sender)?;
        }
        Ok(())
    }

    /// Moves the pull requests whose head is this branch.
    fn follow(&mut self, repo: u64, branch: &str, sender: &str) -> Result<(), Refusal> {
        for (base, number) in self.pulls_from(repo, branch) {
            self.synchronize(base, number, sender)?;
        }
        Ok(())
    }

    /// Open pull requests, of any repository, that come from this branch.
    fn pulls_from(&self, repo: u64, branch: &str) -> Vec<(u64, u64)> {
        self.repos
            .values()
            .flat_map(|r| r.pulls.values().map(move |p| (r.id, p)))
            .filter(|(_, p)| p.state == "open" && p.head_repo == Some(repo) && p.head_ref == branch)
            .map(|(id, p)| (id, p.number))
            .collect()
    }
}
