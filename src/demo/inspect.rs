//! What tests and the story look at.

use std::collections::BTreeMap;

use git2::{Oid, Repository};
use serde_json::Value;

use super::GitHubBox;
use super::repo as git;
use super::state::{
    Call, CheckRun, Commit, Delivery, Issue, IssueComment, IssueEvent, Posted, Pull, Push, Reaction, Repo, Review,
    ReviewComment, Thread, World,
};

impl GitHubBox {
    /// A view of one repository; an unknown one is a mistake of the caller and shows nothing.
    fn of<T>(&self, repo: &str, view: impl FnOnce(&mut Repo) -> T) -> Option<T> {
        let mut world = self.shared.world();
        let id = world.repo_named(repo).ok()?;
        world.repo_mut(id).ok().map(view)
    }

    pub fn repos(&self) -> Vec<Repo> {
        self.shared.world().repos.values().cloned().collect()
    }

    pub fn pulls(&self, repo: &str) -> Vec<Pull> {
        self.of(repo, |r| r.pulls.values().cloned().collect()).unwrap_or_default()
    }

    pub fn pull(&self, repo: &str, number: u64) -> Option<Pull> {
        self.of(repo, |r| r.pulls.get(&number).cloned()).flatten()
    }

    pub fn issue(&self, repo: &str, number: u64) -> Option<Issue> {
        self.of(repo, |r| r.issues.get(&number).or_else(|| r.pulls.get(&number).map(|p| &p.issue)).cloned()).flatten()
    }

    /// Reviews with a look that does not count as reading; see [`Self::read_reviews`].
    pub fn reviews(&self, repo: &str, number: u64) -> Vec<Review> {
        self.of(repo, |r| r.reviews.values().filter(|x| x.pull == number).cloned().collect()).unwrap_or_default()
    }

    pub fn review_comments(&self, repo: &str, number: u64) -> Vec<ReviewComment> {
        self.of(repo, |r| r.review_comments.values().filter(|x| x.pull == number).cloned().collect())
            .unwrap_or_default()
    }

    pub fn comments(&self, repo: &str, number: u64) -> Vec<IssueComment> {
        self.of(repo, |r| r.comments.values().filter(|x| x.number == number).cloned().collect()).unwrap_or_default()
    }

    /// The reviews of a pull request, marked as read.
    pub fn read_reviews(&self, repo: &str, number: u64) -> Vec<Review> {
        let mark = |r: &mut Repo| r.reviews.values_mut().filter(|x| x.pull == number).for_each(|x| x.read = true);
        let _ = self.of(repo, mark);
        self.reviews(repo, number)
    }

    /// The review comments of a pull request, marked as read.
    pub fn read_review_comments(&self, repo: &str, number: u64) -> Vec<ReviewComment> {
        let mark =
            |r: &mut Repo| r.review_comments.values_mut().filter(|x| x.pull == number).for_each(|x| x.read = true);
        let _ = self.of(repo, mark);
        self.review_comments(repo, number)
    }

    /// The conversation of an issue or pull request, marked as read.
    pub fn read_comments(&self, repo: &str, number: u64) -> Vec<IssueComment> {
        let mark = |r: &mut Repo| r.comments.values_mut().filter(|x| x.number == number).for_each(|x| x.read = true);
        let _ = self.of(repo, mark);
        self.comments(repo, number)
    }

    pub fn threads(&self, repo: &str, number: u64) -> Vec<Thread> {
        self.of(repo, |r| r.threads.values().filter(|x| x.pull == number).cloned().collect()).unwrap_or_default()
    }

    pub fn check_runs(&self, repo: &str, sha: &str) -> Vec<CheckRun> {
        self.of(repo, |r| r.checks.values().filter(|x| x.head_sha == sha).cloned().collect()).unwrap_or_default()
    }

    pub fn reactions(&self, repo: &str) -> Vec<Reaction> {
        self.of(repo, |r| r.reactions.clone()).unwrap_or_default()
    }

    /// Reactions to an issue or pull request.
    pub fn reactions_on_issue(&self, repo: &str, number: u64) -> Vec<Reaction> {
        self.reactions_to(repo, &format!("issue/{number}"))
    }

    /// Reactions to a comment of an issue or pull request.
    pub fn reactions_on_comment(&self, repo: &str, comment: u64) -> Vec<Reaction> {
        self.reactions_to(repo, &format!("comment/{comment}"))
    }

    fn reactions_to(&self, repo: &str, subject: &str) -> Vec<Reaction> {
        let mut found = self.reactions(repo);
        found.retain(|reaction| reaction.subject == subject);
        found
    }

    /// The labels of an issue or pull request.
    pub fn labels(&self, repo: &str, number: u64) -> Vec<String> {
        self.issue(repo, number).map(|issue| issue.labels).unwrap_or_default()
    }

    /// The history of an issue or pull request.
    pub fn issue_events(&self, repo: &str, number: u64) -> Vec<IssueEvent> {
        self.of(repo, |r| r.events.iter().filter(|e| e.number == number).cloned().collect()).unwrap_or_default()
    }

    /// Branches and their tips.
    pub fn branches(&self, repo: &str) -> BTreeMap<String, String> {
        self.in_git(repo, |_, git| git::branches(git).ok()).unwrap_or_default()
    }

    /// The commits of a branch, the newest first; of an unknown branch none.
    pub fn commits(&self, repo: &str, branch: &str) -> Vec<Commit> {
        let all = |world: &World, git: &Repository| {
            let tip = git::branch(git, branch)?;
            let mut walk = git.revwalk().ok()?;
            walk.set_sorting(git2::Sort::TOPOLOGICAL).ok()?;
            walk.push(Oid::from_str(&tip).ok()?).ok()?;
            walk.map(|oid| commit(world, git, oid.ok()?)).collect::<Option<Vec<_>>>()
        };
        self.in_git(repo, all).unwrap_or_default()
    }

    /// A file at a branch, tag or commit, as text; bytes that are no UTF-8 are replaced.
    pub fn file(&self, repo: &str, at: &str, path: &str) -> Option<String> {
        self.file_bytes(repo, at, path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub fn file_bytes(&self, repo: &str, at: &str, path: &str) -> Option<Vec<u8>> {
        self.in_git(repo, |_, git| git::read_file(git, &git::resolve(git, at)?, path).ok())
    }

    /// Every file of a branch, tag or commit with its mode (`0o100644` and so on).
    pub fn files(&self, repo: &str, at: &str) -> BTreeMap<String, i32> {
        let all = |_: &World, git: &Repository| {
            let tree = git.find_commit(Oid::from_str(&git::resolve(git, at)?).ok()?).ok()?.tree().ok()?;
            git::files(&tree).ok()
        };
        self.in_git(repo, all).unwrap_or_default()
    }

    fn in_git<T>(&self, repo: &str, look: impl FnOnce(&World, &Repository) -> Option<T>) -> Option<T> {
        let world = self.shared.world();
        let git = world.git(world.repo_named(repo).ok()?).ok()?;
        look(&world, &git)
    }

    /// Every ref that somebody moved over git, or tried to.
    pub fn pushes(&self) -> Vec<Push> {
        self.shared.world().pushes.clone()
    }

    pub fn deliveries(&self) -> Vec<Delivery> {
        self.shared.world().deliveries.clone()
    }

    /// The deliveries after the first `seen` ones.
    pub fn deliveries_after(&self, seen: usize) -> Vec<Delivery> {
        self.shared.world().deliveries.get(seen..).unwrap_or_default().to_vec()
    }

    pub fn calls(&self) -> Vec<Call> {
        self.shared.world().calls.clone()
    }

    /// Calls the box refused by its own judgement; scripted faults are not among them.
    pub fn refusals(&self) -> Vec<Call> {
        self.shared.world().calls.iter().filter(|c| c.refused.is_some() && c.status != 0).cloned().collect()
    }

    /// What the App wrote and no test has read.
    pub fn unread(&self) -> Vec<Posted> {
        posted(&self.shared.world(), false)
    }

    /// The same, marked as read.
    pub fn take_comments(&self) -> Vec<Posted> {
        let mut world = self.shared.world();
        let found = posted(&world, false);
        for r in world.repos.values_mut() {
            r.reviews.values_mut().for_each(|x| x.read = true);
            r.review_comments.values_mut().for_each(|x| x.read = true);
            r.comments.values_mut().for_each(|x| x.read = true);
        }
        found
    }

    /// Everything the App wrote, read or not.
    pub fn posted(&self) -> Vec<Posted> {
        posted(&self.shared.world(), true)
    }

    /// The whole world as JSON, as `/_box/state` shows it.
    pub fn state(&self) -> Value {
        state(&self.shared.world())
    }
}

pub(super) fn state(world: &World) -> Value {
    serde_json::json!({
        "web": world.web,
        "app": {"id": world.app_id, "slug": world.app_slug, "installation_id": world.installation_id},
        "users": world.users,
        "repositories": world.repos,
        "deliveries": world.deliveries,
        "calls": world.calls,
        "unread": posted(world, false),
    })
}

fn commit(world: &World, git: &Repository, oid: Oid) -> Option<Commit> {
    let found = git.find_commit(oid).ok()?;
    let (author, committer) = (found.author(), found.committer());
    let text = |text: Result<&str, _>| text.map(str::to_owned).map_err(|_: git2::Error| ()).unwrap_or_default();
    Some(Commit {
        sha: oid.to_string(),
        message: text(found.message()),
        author_name: text(author.name()),
        author_email: text(author.email()),
        committer_name: text(committer.name()),
        committer_email: text(committer.email()),
        verified: world.signed.contains(&oid.to_string()),
        parents: found.parent_ids().map(|id| id.to_string()).collect(),
        files: git::changed_paths(git, &found).ok()?,
    })
}

fn posted(world: &World, all: bool) -> Vec<Posted> {
    let bot = world.bot();
    let mut found = Vec::new();
    for r in world.repos.values() {
        let repo = r.full_name();
        let one = |kind: &str, number, id, body: &str, path, line| Posted {
            kind: kind.to_owned(),
            repo: repo.clone(),
            number,
            id,
            body: body.to_owned(),
            path,
            line,
        };
        for x in r.reviews.values().filter(|x| x.author == bot && (all || !x.read)) {
            found.push(one("review", x.pull, x.id, &x.body, None, None));
        }
        for x in r.review_comments.values().filter(|x| x.author == bot && (all || !x.read)) {
            found.push(one("review-comment", x.pull, x.id, &x.body, Some(x.path.clone()), x.line));
        }
        for x in r.comments.values().filter(|x| x.author == bot && (all || !x.read)) {
            found.push(one("comment", x.number, x.id, &x.body, None, None));
        }
    }
    found.sort_by_key(|posted| posted.id);
    found
}
