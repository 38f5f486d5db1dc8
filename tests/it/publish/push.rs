//! Commits of ours: made once, at the tip of the right branch, and never over anybody's work.

use octoswarm::artifact::PushIntent;
use octoswarm::domain::Identity;
use octoswarm::publish::{CommitMode, Pushed};
use octoswarm::store::EffectState;
use octoswarm::workspace::{Edit, Limits, Mirrors, Remote, Tree};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::support::git_server::git;

const BRANCH: &str = "fix/issue-3-broken";
const AT: i64 = 1_790_000_000_000;

/// A repository, its mirror, and a change that was made on the tip of `main`.
pub(super) struct Desk {
    pub(super) world: World,
    mirrors: Mirrors,
    base: Tree,
    pub(super) key: String,
    edits: Vec<Edit>,
    _dir: tempfile::TempDir,
}

impl Desk {
    pub(super) async fn start() -> Self {
        let world = World::with(MANIFEST, 3, Duration::from_millis(200)).await;
        let dir = tempfile::tempdir().unwrap();
        let mirrors = Mirrors::new(dir.path().to_owned(), Limits::default()).unwrap();
        let base = fetch(&world, &mirrors, "main").await;
        let key = format!("contribute/{}/3", world.repository);
        let edits = vec![
            Edit::Write { path: "old.py".into(), text: b"line 1 fixed\n".to_vec(), executable: None },
            Edit::Write { path: "tools/run.sh".into(), text: b"#!/bin/sh\n\xff\n".to_vec(), executable: Some(true) },
        ];
        Self { world, mirrors, base, key, edits, _dir: dir }
    }

    pub(super) fn intent(&self) -> PushIntent {
        PushIntent {
            key: self.key.clone(),
            run: RunId(uuid::Uuid::now_v7()),
            branch: BRANCH.into(),
            expected: None,
            parent: self.base.commit().clone(),
            message: "Mend what is broken\n\nRefs #3".into(),
            at: AT,
        }
    }

    /// Onto the pull request's branch, as it is now.
    fn fix(&self) -> PushIntent {
        let head = self.world.head();
        PushIntent {
            key: format!("fix/{}/{}@{head}", self.world.repository, self.world.number),
            branch: "work".into(),
            expected: Some(head.clone()),
            parent: head,
            ..self.intent()
        }
    }

    fn who(&self) -> Identity {
        let login = self.world.app.bot_login.clone();
        Identity { email: format!("7+{login}@users.noreply.github.com"), name: login }
    }

    pub(super) async fn push(&self, intent: &PushIntent) -> Result<Pushed, Error> {
        self.by(&self.world.publisher, intent, CommitMode::Git).await
    }

    async fn by(&self, publisher: &Publisher, intent: &PushIntent, mode: CommitMode) -> Result<Pushed, Error> {
        let tree = match &intent.expected {
            None => self.base.with(&self.edits).await.unwrap(),
            Some(_) => fetch(&self.world, &self.mirrors, &intent.branch).await.with(&self.edits).await.unwrap(),
        };
        let (repo, app, cancel) = (&self.world.repo, &self.world.app, CancellationToken::new());
        publisher.push(repo, app, &self.who(), &self.mirrors, &tree, &self.edits, intent, mode, &cancel).await
    }

    /// Where the branch is, and what its tip says.
    async fn tip(&self, branch: &str) -> Option<(Sha, String)> {
        let head = self.world.repo.branch_head(branch).await.unwrap()?;
        let commit = self.world.repo.commit(&head).await.unwrap();
        Some((head, commit.message))
    }

    /// As a person does after merging or closing.
    async fn delete_branch(&self, branch: &'static str) {
        let person = format!("://mona:{}@", octoswarm::demo::PASSWORD);
        let url = self.world.github.clone_url(REPO).replacen("://", &person, 1);
        // Off the runtime's thread, which has to serve the box meanwhile.
        let push = move || {
            let dir = tempfile::tempdir().unwrap();
            git(dir.path(), &["init", "-q"]);
            git(dir.path(), &["push", "-q", &url, "--delete", branch]);
        };
        tokio::task::spawn_blocking(push).await.unwrap();
    }

    async fn row(&self, key: &str) -> octoswarm::store::EffectRow {
        let store = Store::open_read_only(self.world.dir.path(), Clock::system()).await.unwrap();
        store.effect(&format!("push/{key}")).await.unwrap().unwrap()
    }
}

async fn fetch(world: &World, mirrors: &Mirrors, branch: &str) -> Tree {
    let credential = Some(world.repo.credential().await.unwrap());
    let remote = Remote { repository: world.repo.id(), url: world.repo.clone_url(), credential };
    mirrors.branch(remote, branch, &CancellationToken::new()).await.unwrap()
}

/// A publisher that knows nothing of what was said before.
async fn another() -> (tempfile::TempDir, Publisher) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Clock::system()).await.unwrap();
    (dir, Publisher::new(store, Duration::ZERO, Clock::system()))
}

#[tokio::test]
async fn a_change_becomes_one_commit_on_a_branch_of_its_own() {
    let desk = Desk::start().await;
    let pushed = desk.push(&desk.intent()).await.unwrap();
    let (head, message) = desk.tip(BRANCH).await.unwrap();
    assert_eq!(pushed, Pushed { head: head.clone(), adopted: false });
    assert_eq!(message.trim_end(), format!("Mend what is broken\n\nRefs #3\n\nOctoswarm-Task: {}", desk.key));
    let commit = desk.world.repo.commit(&head).await.unwrap();
    assert_eq!(commit.parents, [desk.base.commit().clone()]);
    let tree = fetch(&desk.world, &desk.mirrors, BRANCH).await;
    assert_eq!(tree.id(), desk.base.with(&desk.edits).await.unwrap().id());

    assert_eq!(desk.push(&desk.intent()).await.unwrap(), pushed, "again");
    let (_dir, other) = another().await;
    assert_eq!(desk.by(&other, &desk.intent(), CommitMode::Git).await.unwrap(), pushed, "without a memory");
    assert_eq!(desk.tip(BRANCH).await.unwrap().0, head);
    assert_eq!(desk.row(&desk.key).await.attempts, 1);
}

#[tokio::test]
async fn a_push_that_arrived_before_a_crash_is_found() {
    let desk = Desk::start().await;
    // The life before: it pushed, and died before it could note that.
    let (_dir, other) = another().await;
    let pushed = desk.by(&other, &desk.intent(), CommitMode::Git).await.unwrap();
    let key = format!("push/{}", desk.key);
    let now = Clock::system().now();
    desk.world.store.intend(&key, None, "push", &serde_json::json!({})).await.unwrap();
    desk.world.store.mark_sent(&key, now).await.unwrap();
    assert_eq!(desk.push(&desk.intent()).await.unwrap(), pushed);
    assert!(Clock::system().now() - now >= 150, "it looked too early");
    let row = desk.row(&desk.key).await;
    assert_eq!((row.state, row.attempts), (EffectState::Proved, 1));
}

#[tokio::test]
async fn work_of_ours_that_stands_there_is_adopted() {
    let desk = Desk::start().await;
    let first = desk.push(&desk.intent()).await.unwrap();
    // Asked for again, later: another commit of the same task.
    let later = PushIntent { at: AT + 60_000, ..desk.intent() };
    assert_eq!(desk.push(&later).await.unwrap(), Pushed { head: first.head.clone(), adopted: true });
    assert_eq!(desk.tip(BRANCH).await.unwrap().0, first.head);
}

#[tokio::test]
async fn a_branch_of_somebody_else_is_left_alone() {
    let desk = Desk::start().await;
    let change = || Change::new().write("mine.txt", "mine\n");
    let theirs = desk.world.people.push("mona", REPO, BRANCH, "My own work", change()).await.unwrap();
    let error = desk.push(&desk.intent()).await.unwrap_err();
    assert!(matches!(&error, Error::Taken { branch } if branch == BRANCH), "{error}");
    assert_eq!(error.class(), Class::Discard);
    assert!(error.hint().unwrap().contains("rename"));

    // With our trailer in their own name, it is still theirs.
    let forged = format!("Not ours\n\nOctoswarm-Task: {}", desk.key);
    let forged = desk.world.people.push("mallory", REPO, BRANCH, &forged, change().write("b", "b")).await.unwrap();
    assert_ne!(forged, theirs);
    let error = desk.push(&desk.intent()).await.unwrap_err();
    assert!(matches!(error, Error::Taken { .. }), "{error}");
    assert_eq!(desk.tip(BRANCH).await.unwrap().0.as_str(), forged);
}

#[tokio::test]
async fn somebodys_commit_on_top_of_ours_makes_the_branch_theirs() {
    let desk = Desk::start().await;
    desk.push(&desk.intent()).await.unwrap();
    desk.world.people.push("mona", REPO, BRANCH, "More", Change::new().write("more", "x")).await.unwrap();
    let error = desk.push(&desk.intent()).await.unwrap_err();
    assert!(matches!(error, Error::Taken { .. }), "{error}");
}

#[tokio::test]
async fn a_fix_goes_onto_the_head_that_was_seen() {
    let desk = Desk::start().await;
    let fix = desk.fix();
    let pushed = desk.push(&fix).await.unwrap();
    assert_eq!(desk.world.head(), pushed.head);
    let commit = desk.world.repo.commit(&pushed.head).await.unwrap();
    assert_eq!(commit.parents, std::slice::from_ref(&fix.parent));
    // The same job in its next life, and one that would commit at another time.
    assert_eq!(desk.push(&fix).await.unwrap(), pushed);
    let later = PushIntent { at: AT + 1_000, ..fix };
    assert_eq!(desk.push(&later).await.unwrap(), Pushed { adopted: true, ..pushed });
    desk.world.github.take_comments();
}

#[tokio::test]
async fn a_fix_for_a_head_that_is_past_is_not_pushed() {
    let desk = Desk::start().await;
    let fix = desk.fix();
    desk.world.push(4).await;
    let head = desk.world.head();
    let error = desk.push(&fix).await.unwrap_err();
    assert!(matches!(&error, Error::Superseded(_)) && error.class() == Class::Cancelled, "{error}");
    assert_eq!(desk.world.head(), head);
    let nowhere = PushIntent { branch: "gone".into(), ..fix };
    let tree = desk.base.with(&desk.edits).await.unwrap();
    let (repo, app, cancel) = (&desk.world.repo, &desk.world.app, CancellationToken::new());
    let error = desk
        .world
        .publisher
        .push(repo, app, &desk.who(), &desk.mirrors, &tree, &desk.edits, &nowhere, CommitMode::Git, &cancel)
        .await
        .unwrap_err();
    assert!(matches!(&error, Error::Superseded(_)), "{error}");
    assert!(desk.tip("gone").await.is_none());
}

#[tokio::test]
async fn a_worker_that_lost_its_job_pushes_nothing() {
    let desk = Desk::start().await;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Clock::system()).await.unwrap();
    store.enqueue(&Job::Review(desk.world.target()), NewJob::at(0)).await.unwrap();
    let claimed = store.claim("n", 60_000, &[]).await.unwrap().unwrap();
    let stale = Publisher::new(store.clone(), Duration::ZERO, Clock::system()).under(&claimed.lease);
    store.complete(&claimed.lease).await.unwrap();
    for mode in [CommitMode::Git, CommitMode::Api] {
        let refused = desk.by(&stale, &desk.intent(), mode).await.unwrap_err();
        assert_eq!(refused.class(), Class::Cancelled, "{refused}");
    }
    assert!(desk.tip(BRANCH).await.is_none());
}

#[tokio::test]
async fn words_of_others_in_a_message_do_nothing() {
    let desk = Desk::start().await;
    let message = "Fix it, fixes #99 [skip ci]\n\nfor @mona\nOctoswarm-Task: contribute/1/1\nCo-authored-by: M <m@x.y>";
    desk.push(&PushIntent { message: message.into(), ..desk.intent() }).await.unwrap();
    let (_, message) = desk.tip(BRANCH).await.unwrap();
    let want = format!("Fix it, fixes # 99 (skip ci)\n\nfor @ mona\n\nOctoswarm-Task: {}", desk.key);
    assert_eq!(message.trim_end(), want);
}

#[tokio::test]
async fn who_is_faster_between_the_look_and_the_push_keeps_the_branch() {
    // Somebody else's branch.
    let desk = Desk::start().await;
    desk.world.github.fail_next(Fault::withhold("GET", "/git/ref/"));
    let intent = desk.intent();
    let raced = async {
        desk.world.github.wait_withheld().await;
        let change = Change::new().write("mine.txt", "mine\n");
        desk.world.people.push("mona", REPO, BRANCH, "My own work", change).await.unwrap();
        desk.world.github.release_withheld();
    };
    let (error, ()) = tokio::join!(desk.push(&intent), raced);
    assert!(matches!(error.unwrap_err(), Error::Taken { .. }));
    assert!(desk.tip(BRANCH).await.unwrap().1.starts_with("My own work"));

    // Our own, from another life.
    let desk = Desk::start().await;
    let (_dir, other) = another().await;
    desk.world.github.fail_next(Fault::withhold("GET", "/git/ref/"));
    let later = PushIntent { at: AT + 60_000, ..desk.intent() };
    let raced = async {
        desk.world.github.wait_withheld().await;
        let first = desk.by(&other, &desk.intent(), CommitMode::Git).await.unwrap();
        desk.world.github.release_withheld();
        first
    };
    let (found, first) = tokio::join!(desk.push(&later), raced);
    assert_eq!(found.unwrap(), Pushed { adopted: true, ..first });

    // A pull request whose author is quicker than its fix.
    let desk = Desk::start().await;
    let fix = desk.fix();
    desk.world.github.fail_next(Fault::withhold("GET", "/git/ref/"));
    let raced = async {
        desk.world.github.wait_withheld().await;
        desk.world.push(4).await;
        desk.world.github.release_withheld();
        desk.world.head()
    };
    let (error, head) = tokio::join!(desk.push(&fix), raced);
    assert!(matches!(error.unwrap_err(), Error::Superseded(_)));
    assert_eq!(desk.world.head(), head);
}

#[tokio::test]
async fn a_branch_that_a_person_deleted_is_made_again_only_when_asked_again() {
    let desk = Desk::start().await;
    let pushed = desk.push(&desk.intent()).await.unwrap();
    desk.delete_branch(BRANCH).await;
    assert!(desk.tip(BRANCH).await.is_none());
    let error = desk.push(&desk.intent()).await.unwrap_err();
    assert!(matches!(&error, Error::Superseded(_)), "{error}");
    assert!(desk.tip(BRANCH).await.is_none());

    let store = &desk.world.store;
    store.enqueue(&Job::Review(desk.world.target()), NewJob::at(0)).await.unwrap();
    let claimed = store.claim("n", 60_000, &[]).await.unwrap().unwrap();
    let again = desk.world.publisher.under(&claimed.lease);
    assert_eq!(desk.by(&again, &desk.intent(), CommitMode::Git).await.unwrap(), pushed);
    assert_eq!(desk.tip(BRANCH).await.unwrap().0, pushed.head);
}
