//! Commits of ours: made once, at the tip of the right branch, and never over anybody's work.

use octoswarm::artifact::PushIntent;
use octoswarm::domain::Identity;
use octoswarm::publish::{CommitMode, Pushed};
use octoswarm::store::EffectState;
use octoswarm::workspace::{Edit, Limits, Mirrors, Remote, Tree};
use tokio_util::sync::CancellationToken;

use super::*;

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
async fn what_another_job_made_of_another_text_is_not_this_jobs_work() {
    let mut desk = Desk::start().await;
    let store = desk.world.store.clone();
    let job = async |number| {
        let target = ReviewTarget { number: PullNumber(number), ..desk.world.target() };
        store.enqueue(&Job::Review(target), NewJob::at(0)).await.unwrap();
        let claimed = store.claim("n", 60_000, &[]).await.unwrap().unwrap();
        desk.world.publisher.under(&claimed.lease)
    };
    let (first, second) = (job(1).await, job(2).await);
    for mode in [CommitMode::Git, CommitMode::Api] {
        let branch = format!("{BRANCH}-{mode:?}");
        let intent = PushIntent { branch: branch.clone(), key: format!("{}{mode:?}", desk.key), ..desk.intent() };
        let pushed = desk.by(&first, &intent, mode).await.unwrap();
        // The base moved, say, and so the next attempt of the same job would make something else.
        let before = desk.edits.clone();
        desk.edits = vec![Edit::Delete { path: "old.py".into() }];
        let later = PushIntent { at: AT + 60_000, ..intent.clone() };
        assert_eq!(desk.by(&first, &later, mode).await.unwrap().head, pushed.head);
        // Asked again after the issue was rewritten: the old commit must not stand under the new words.
        let error = desk.by(&second, &later, mode).await.unwrap_err();
        assert!(matches!(&error, Error::Taken { .. }), "{error}");
        let elsewhere = PushIntent { branch: format!("{branch}-2"), ..later };
        let made = desk.by(&second, &elsewhere, mode).await.unwrap();
        assert_ne!(made.head, pushed.head);
        assert_eq!(desk.by(&second, &elsewhere, mode).await.unwrap().head, made.head);
        desk.edits = before;
    }
}

#[tokio::test]
async fn a_forged_trailer_under_an_address_that_nobody_has_adopts_nothing() {
    let desk = Desk::start().await;
    let message = format!("Not ours\n\nOctoswarm-Task: {}\n", desk.key);
    let tree = desk.base.with(&[Edit::Delete { path: "old.py".into() }]).await.unwrap();
    let who = Identity { name: "octoswarm[bot]".into(), email: "nobody@nowhere.invalid".into() };
    let commit = tree.commit_on(desk.base.commit(), &message, &who, AT).await.unwrap();
    let credential = Some(desk.world.repo.push_credential().await.unwrap());
    let remote = Remote { repository: desk.world.repo.id(), url: desk.world.repo.clone_url(), credential };
    desk.mirrors.push(remote, &commit, BRANCH, None, &CancellationToken::new()).await.unwrap();
    let error = desk.push(&desk.intent()).await.unwrap_err();
    assert!(matches!(&error, Error::Taken { .. }), "{error}");
    assert_eq!(desk.tip(BRANCH).await.unwrap().0, commit);
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
    desk.world.people.delete_branch("mona", REPO, BRANCH).await.unwrap();
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

// -- when GitHub is difficult -----------------------------------------------

/// Everything that a write may meet, what the queue does then, and whether it may have taken effect.
fn misfortunes(method: &'static str, path: &'static str) -> Vec<(Fault, Class)> {
    let once = |kind| Fault::once(method, path, kind);
    vec![
        (Fault::status(method, path, 401).times(2), Class::RetryAfter(Duration::from_secs(60))),
        (Fault::status(method, path, 403), Class::Discard),
        (Fault::status(method, path, 404), Class::Discard),
        (Fault::status(method, path, 422), Class::Discard),
        (Fault::status(method, path, 500), Class::Retry),
        (once(FaultKind::Html), Class::Retry),
        (once(FaultKind::Truncate), Class::Retry),
        (once(FaultKind::RejectAfterEffect { status: 502 }), Class::Retry),
    ]
}

#[tokio::test]
async fn whatever_happens_to_a_push_the_commit_is_there_once_in_the_end() {
    const PACK: &str = "/git-receive-pack";
    let once = |kind| Fault::once("POST", PACK, kind);
    for (fault, class) in [
        (Fault::status("POST", PACK, 401), Class::Retry),
        (Fault::status("POST", PACK, 403), Class::Retry),
        (Fault::status("POST", PACK, 404), Class::Discard),
        (Fault::status("POST", PACK, 429), Class::Retry),
        (Fault::status("POST", PACK, 500), Class::Retry),
        (once(FaultKind::Html), Class::Retry),
        (once(FaultKind::Truncate), Class::Retry),
        (once(FaultKind::RejectAfterEffect { status: 502 }), Class::Retry),
    ] {
        for fix in [false, true] {
            let desk = Desk::start().await;
            let intent = if fix { desk.fix() } else { desk.intent() };
            desk.world.github.fail_next(fault.clone());
            let error = desk.push(&intent).await.unwrap_err();
            assert_eq!(error.class(), class, "{fault:?}: {error}");
            let pushed = desk.push(&intent).await.unwrap();
            assert!(!pushed.adopted, "{fault:?}");
            let (head, _) = desk.tip(&intent.branch).await.unwrap();
            let commit = desk.world.repo.commit(&head).await.unwrap();
            assert_eq!((&pushed.head, commit.parents), (&head, vec![intent.parent.clone()]), "{fault:?}");
            desk.world.github.take_comments();
        }
    }
}

#[tokio::test]
async fn a_push_whose_answer_never_came_is_not_made_again() {
    let desk = Desk::start().await;
    desk.world.github.fail_next(Fault::withhold("POST", "/git-receive-pack"));
    let intent = desk.intent();
    tokio::select! {
        done = desk.push(&intent) => panic!("{done:?}"),
        () = desk.world.github.wait_withheld() => {}
    }
    desk.world.github.release_withheld();
    desk.push(&intent).await.unwrap();
    let row = desk.row(&desk.key).await;
    assert_eq!((row.state, row.attempts), (EffectState::Proved, 1));
}

#[tokio::test]
async fn github_makes_and_signs_the_same_tree_when_asked_to() {
    let desk = Desk::start().await;
    for intent in [desk.intent(), desk.fix()] {
        let pushed = desk.by(&desk.world.publisher, &intent, CommitMode::Api).await.unwrap();
        let commit = desk.world.repo.commit(&pushed.head).await.unwrap();
        assert_eq!((commit.verified, commit.parents), (true, vec![intent.parent.clone()]));
        assert_eq!(commit.author_login.as_deref(), Some(&*desk.world.app.bot_login));
        assert!(commit.message.trim_end().ends_with(&format!("\n\nOctoswarm-Task: {}", intent.key)));
        let before = desk.world.writes();
        assert_eq!(desk.by(&desk.world.publisher, &intent, CommitMode::Api).await.unwrap(), pushed);
        let (_dir, other) = another().await;
        let found = desk.by(&other, &intent, CommitMode::Api).await.unwrap();
        assert_eq!(found, Pushed { adopted: true, ..pushed });
        assert_eq!(desk.world.writes(), before);
    }
    desk.world.github.take_comments();
}

#[tokio::test]
async fn whatever_github_does_to_its_own_commit_there_is_one_in_the_end() {
    for (path, last) in [("/git/trees", false), ("/git/commits", false), ("/git/refs", true)] {
        for (fault, class) in misfortunes("POST", path) {
            let desk = Desk::start().await;
            let intent = desk.intent();
            desk.world.github.fail_next(fault.clone());
            let error = desk.by(&desk.world.publisher, &intent, CommitMode::Api).await;
            let arrives = matches!(fault.kind, FaultKind::Truncate) && last;
            if !arrives {
                let error = error.unwrap_err();
                assert_eq!(error.class(), class, "{fault:?}: {error}");
                let failed = desk.row(&desk.key).await.state == EffectState::Failed;
                assert_eq!(failed, class == Class::Discard, "{fault:?}");
            }
            let pushed = desk.by(&desk.world.publisher, &intent, CommitMode::Api).await.unwrap();
            assert_eq!(desk.tip(BRANCH).await.unwrap().0, pushed.head, "{fault:?}");
            let commit = desk.world.repo.commit(&pushed.head).await.unwrap();
            assert_eq!(commit.parents, std::slice::from_ref(&intent.parent), "{fault:?}");
        }
    }
    for (fault, _) in misfortunes("PATCH", "/git/refs") {
        let desk = Desk::start().await;
        let fix = desk.fix();
        desk.world.github.fail_next(fault.clone());
        let _ = desk.by(&desk.world.publisher, &fix, CommitMode::Api).await;
        let pushed = desk.by(&desk.world.publisher, &fix, CommitMode::Api).await.unwrap();
        assert_eq!(desk.world.head(), pushed.head, "{fault:?}");
        let commit = desk.world.repo.commit(&pushed.head).await.unwrap();
        assert_eq!(commit.parents, std::slice::from_ref(&fix.parent), "{fault:?}");
        desk.world.github.take_comments();
    }
}

#[tokio::test]
async fn who_is_faster_than_githubs_own_commit_keeps_the_branch() {
    let desk = Desk::start().await;
    let intent = desk.intent();
    desk.world.github.fail_next(Fault::withhold("POST", "/git/commits"));
    let raced = async {
        desk.world.github.wait_withheld().await;
        let change = Change::new().write("mine.txt", "mine\n");
        desk.world.people.push("mona", REPO, BRANCH, "My own work", change).await.unwrap();
        desk.world.github.release_withheld();
    };
    let (error, ()) = tokio::join!(desk.by(&desk.world.publisher, &intent, CommitMode::Api), raced);
    assert!(matches!(error.unwrap_err(), Error::Taken { .. }));

    let desk = Desk::start().await;
    let fix = desk.fix();
    desk.world.github.fail_next(Fault::withhold("POST", "/git/commits"));
    let raced = async {
        desk.world.github.wait_withheld().await;
        desk.world.push(4).await;
        desk.world.github.release_withheld();
        desk.world.head()
    };
    let (error, head) = tokio::join!(desk.by(&desk.world.publisher, &fix, CommitMode::Api), raced);
    assert!(matches!(error.unwrap_err(), Error::Superseded(_)));
    assert_eq!(desk.world.head(), head);
}

#[tokio::test]
async fn a_workflow_is_refused_with_what_to_do_about_it() {
    for mode in [CommitMode::Git, CommitMode::Api] {
        let mut desk = Desk::start().await;
        let path = ".github/workflows/ci.yml".to_owned();
        desk.edits.push(Edit::Write { path, text: b"on: push\n".to_vec(), executable: None });
        let error = desk.by(&desk.world.publisher, &desk.intent(), mode).await.unwrap_err();
        let Error::Rejected { branch, reason } = &error else { panic!("{error:?}") };
        assert!(branch == BRANCH && reason.contains("workflow"), "{reason}");
        assert_eq!(error.class(), Class::Discard);
        assert!(error.hint().unwrap().contains("by hand"));
        let row = desk.row(&desk.key).await;
        assert!(row.state == EffectState::Failed && row.reason.unwrap().contains("workflow"));
        assert!(desk.tip(BRANCH).await.is_none());
    }
}

#[tokio::test]
async fn a_protected_branch_is_refused_in_githubs_words_and_left_alone() {
    for mode in [CommitMode::Git, CommitMode::Api] {
        let desk = Desk::start().await;
        desk.world.people.protect_branch(REPO, "fix/**").await.unwrap();
        let error = desk.by(&desk.world.publisher, &desk.intent(), mode).await.unwrap_err();
        let Error::Rejected { reason, .. } = &error else { panic!("{error:?}") };
        assert!(reason.to_lowercase().contains("protected"), "{reason}");
        assert!(!reason.contains('\n'), "{reason}");
        assert_eq!(error.class(), Class::Discard);
        assert!(error.hint().unwrap().contains("bypass"), "{:?}", error.hint());
        assert_eq!(desk.row(&desk.key).await.state, EffectState::Failed);
        assert!(desk.tip(BRANCH).await.is_none());

        // Mended by a person, the same job gets through.
        desk.world.people.unprotect_branch(REPO, "fix/**").await.unwrap();
        let pushed = desk.by(&desk.world.publisher, &desk.intent(), mode).await.unwrap();
        assert_eq!(desk.tip(BRANCH).await.unwrap().0, pushed.head);
    }
}

#[tokio::test]
async fn where_commits_must_be_signed_github_makes_them() {
    let desk = Desk::start().await;
    desk.world.people.require_signatures(REPO, "fix/**").await.unwrap();
    let error = desk.push(&desk.intent()).await.unwrap_err();
    let Error::SignatureRequired { branch, reason } = &error else { panic!("{error:?}") };
    assert!(branch == BRANCH && reason.contains("verified signatures"), "{reason}");
    assert_eq!(error.class(), Class::Discard);
    assert!(error.hint().unwrap().contains("commits: api"));
    assert!(desk.tip(BRANCH).await.is_none());

    let pushed = desk.by(&desk.world.publisher, &desk.intent(), CommitMode::Api).await.unwrap();
    assert!(desk.world.repo.commit(&pushed.head).await.unwrap().verified);
    assert_eq!(desk.tip(BRANCH).await.unwrap().0, pushed.head);
}

#[tokio::test]
async fn a_branch_whose_name_stands_in_the_way_is_told() {
    for mode in [CommitMode::Git, CommitMode::Api] {
        let desk = Desk::start().await;
        desk.world.people.push("mona", REPO, "fix", "Mine", Change::new().write("a", "b")).await.unwrap();
        let error = desk.by(&desk.world.publisher, &desk.intent(), mode).await.unwrap_err();
        assert_eq!(error.class(), Class::Discard, "{error}");
        assert!(error.hint().unwrap().contains("rename"), "{error}: {:?}", error.hint());
    }
}

#[tokio::test]
async fn a_repository_that_was_archived_meanwhile_takes_nothing() {
    for mode in [CommitMode::Git, CommitMode::Api] {
        let desk = Desk::start().await;
        desk.world.people.archive_repo("octo", REPO).await.unwrap();
        desk.by(&desk.world.publisher, &desk.intent(), mode).await.unwrap_err();
        assert!(desk.tip(BRANCH).await.is_none());
    }
}
