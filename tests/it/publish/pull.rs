//! Pull requests of ours: one for a contribution, found again, and never opened against a person's will.

use octoswarm::artifact::draft::{ChangeNote, CheckNote, CheckOutcome};
use octoswarm::artifact::{PullDraft, PullIntent};
use octoswarm::domain::IssueNumber;
use octoswarm::publish::Opened;
use octoswarm::store::EffectState;

use super::push::Desk;
use super::*;

/// A branch of ours that waits for its pull request.
struct Ready {
    desk: Desk,
    head: Sha,
}

impl Ready {
    async fn start() -> Self {
        let desk = Desk::start().await;
        let head = desk.push(&desk.intent()).await.unwrap().head;
        Self { desk, head }
    }

    fn world(&self) -> &World {
        &self.desk.world
    }

    fn intent(&self) -> PullIntent {
        let check = |what: &str, outcome| CheckNote { what: what.into(), outcome };
        PullIntent {
            key: self.desk.key.clone(),
            run: RunId(uuid::Uuid::now_v7()),
            issue: IssueNumber(3),
            issue_url: format!("{}/issues/3", self.world().repo.web_url()),
            asked_by: Some("mona".into()),
            base_branch: "main".into(),
            closes_issue: true,
            head: self.head.clone(),
            draft: PullDraft {
                branch: self.desk.intent().branch,
                title: "Mend what is broken".into(),
                commit_message: "Mend what is broken".into(),
                summary: "It was broken, says @mona.".into(),
                changes: vec![ChangeNote {
                    path: "old.py".into(),
                    added: 1,
                    removed: 30,
                    description: "the first line was mended".into(),
                }],
                checks: vec![check("The tests", CheckOutcome::NotRun { why: "nothing is run".into() })],
                notes: Vec::new(),
                draft: true,
            },
        }
    }

    async fn open(&self, intent: &PullIntent) -> Result<Opened, Error> {
        self.world().publisher.pull(&self.world().repo, &self.world().app, intent).await
    }

    /// The pull requests beside the one that every world begins with.
    fn pulls(&self) -> Vec<octoswarm::demo::Pull> {
        let mut all = self.world().github.pulls(REPO);
        all.retain(|pull| pull.issue.number != self.world().number);
        all
    }

    #[track_caller]
    fn only(&self) -> octoswarm::demo::Pull {
        let mut pulls = self.pulls();
        assert_eq!(pulls.len(), 1, "{pulls:#?}");
        pulls.remove(0)
    }

    async fn row(&self) -> octoswarm::store::EffectRow {
        let store = Store::open_read_only(self.world().dir.path(), Clock::system()).await.unwrap();
        store.effect(&format!("pull/{}", self.desk.key)).await.unwrap().unwrap()
    }

    /// The publisher of a job that was asked for anew.
    async fn new_job(&self, store: &Store) -> Publisher {
        store.enqueue(&Job::Review(self.world().target()), NewJob::at(0)).await.unwrap();
        let claimed = store.claim("n", 60_000, &[]).await.unwrap().unwrap();
        self.world().publisher.under(&claimed.lease)
    }
}

#[tokio::test]
async fn a_contribution_becomes_one_draft_that_says_what_and_why() {
    let ready = Ready::start().await;
    let opened = ready.open(&ready.intent()).await.unwrap();
    let pull = ready.only();
    assert_eq!((opened.number.0, opened.adopted, opened.draft), (pull.issue.number, false, true));
    assert!(opened.url.ends_with(&format!("/pull/{}", opened.number)), "{}", opened.url);
    assert_eq!(pull.issue.title, "Mend what is broken");
    let body = pull.issue.body.unwrap();
    for part in ["`@mona.`", "`old.py` (+1 −30)", "⚪ The tests", "\nFixes #3\n", "asked for by `mona`"] {
        assert!(body.contains(part), "{part} in {body}");
    }
    assert!(body.ends_with(&format!("<!-- octoswarm:v1 pull {} -->", ready.desk.key)), "{body}");

    let before = ready.world().writes();
    assert_eq!(ready.open(&ready.intent()).await.unwrap(), opened);
    assert_eq!(ready.world().writes(), before);
    let (repo, app, publisher) = (&ready.world().repo, &ready.world().app, &ready.world().publisher);
    let found = publisher.find_pull(repo, app, &ready.desk.key).await.unwrap().unwrap();
    assert_eq!(found.number, opened.number);
    assert!(publisher.find_pull(repo, app, "contribute/1/1").await.unwrap().is_none());
}

#[tokio::test]
async fn a_pull_request_whose_answer_never_came_is_found_again() {
    let ready = Ready::start().await;
    ready.world().github.fail_next(Fault::withhold("POST", "/pulls"));
    let intent = ready.intent();
    tokio::select! {
        done = ready.open(&intent) => panic!("{done:?}"),
        () = ready.world().github.wait_withheld() => {}
    }
    ready.world().github.release_withheld();
    let opened = ready.open(&intent).await.unwrap();
    assert_eq!((opened.number.0, opened.adopted), (ready.only().issue.number, false));
    let row = ready.row().await;
    assert_eq!((row.state, row.attempts), (EffectState::Proved, 1));
}

#[tokio::test]
async fn whatever_github_does_to_a_new_pull_request_there_is_one_in_the_end() {
    let once = |kind| Fault::once("POST", "/pulls", kind);
    for (fault, class) in [
        (Fault::status("POST", "/pulls", 401).times(2), Class::RetryAfter(Duration::from_secs(60))),
        (Fault::status("POST", "/pulls", 403), Class::Discard),
        (Fault::status("POST", "/pulls", 404), Class::Discard),
        (Fault::status("POST", "/pulls", 422), Class::Discard),
        (Fault::status("POST", "/pulls", 500), Class::Retry),
        (once(FaultKind::Html), Class::Retry),
        (once(FaultKind::Truncate), Class::Retry),
        (once(FaultKind::RejectAfterEffect { status: 502 }), Class::Retry),
    ] {
        let ready = Ready::start().await;
        ready.world().github.fail_next(fault.clone());
        let error = ready.open(&ready.intent()).await.unwrap_err();
        assert_eq!(error.class(), class, "{fault:?}: {error}");
        assert_eq!(ready.row().await.state == EffectState::Failed, class == Class::Discard, "{fault:?}");
        let opened = ready.open(&ready.intent()).await.unwrap();
        assert_eq!(opened.number.0, ready.only().issue.number, "{fault:?}");
    }
}

#[tokio::test]
async fn a_limit_is_waited_out_without_a_second_pull_request() {
    let ready = Ready::start().await;
    ready.world().github.fail_next(Fault::secondary_limit("POST", "/pulls", 1));
    assert_eq!(ready.open(&ready.intent()).await.unwrap_err().class(), Class::Snooze(Duration::from_secs(1)));
    assert!(ready.pulls().is_empty());
}

#[tokio::test]
async fn another_ledger_finds_the_pull_request() {
    let ready = Ready::start().await;
    let first = ready.open(&ready.intent()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Clock::system()).await.unwrap();
    let other = Publisher::new(store, Duration::ZERO, Clock::system());
    let found = other.pull(&ready.world().repo, &ready.world().app, &ready.intent()).await.unwrap();
    assert_eq!(found, Opened { adopted: true, ..first });
    assert_eq!(ready.pulls().len(), 1);
}

#[tokio::test]
async fn who_opens_at_the_same_moment_is_found_by_githubs_refusal() {
    let ready = Ready::start().await;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Clock::system()).await.unwrap();
    let other = Publisher::new(store, Duration::ZERO, Clock::system());
    let intent = ready.intent();
    ready.world().github.fail_next(Fault::withhold("GET", "/git/ref/"));
    let raced = async {
        ready.world().github.wait_withheld().await;
        let first = other.pull(&ready.world().repo, &ready.world().app, &intent).await.unwrap();
        ready.world().github.release_withheld();
        first
    };
    let (found, first) = tokio::join!(ready.open(&intent), raced);
    assert_eq!(found.unwrap(), Opened { adopted: true, ..first });
    assert_eq!(ready.pulls().len(), 1);
    let refused: Vec<u16> = ready.world().github.refusals().iter().map(|call| call.status).collect();
    assert_eq!(refused.last(), Some(&422));
}

#[tokio::test]
async fn where_there_are_no_drafts_the_pull_request_is_opened_ready() {
    let ready = Ready::start().await;
    ready.world().people.allow_drafts(REPO, false).await.unwrap();
    let opened = ready.open(&ready.intent()).await.unwrap();
    assert_eq!((opened.draft, opened.adopted), (false, false));
    let pull = ready.only();
    assert!(!pull.draft && pull.issue.body.unwrap().contains("What was not checked"));
}

#[tokio::test]
async fn a_pull_request_that_somebody_opened_from_our_branch_is_taken_as_it_is() {
    let ready = Ready::start().await;
    let branch = ready.desk.intent().branch;
    let theirs = OpenPull::new("mona", &branch, "I was faster", Change::new());
    let number = ready.world().people.open_pull(REPO, theirs).await.unwrap();
    let opened = ready.open(&PullIntent { head: head_of(&ready, number), ..ready.intent() }).await.unwrap();
    assert_eq!((opened.number.0, opened.adopted), (number, true));
    assert_eq!(ready.only().issue.title, "I was faster");
}

#[tokio::test]
async fn a_stranger_with_our_marker_does_not_stand_for_us() {
    let ready = Ready::start().await;
    let marker = format!("<!-- octoswarm:v1 pull {} -->", ready.desk.key);
    let change = Change::new().write("evil.py", "x = 1\n");
    let theirs = OpenPull::new("mallory", "evil", "Mend what is broken", change);
    let number = ready.world().people.open_pull_from_fork(REPO, theirs).await.unwrap();
    ready.world().people.edit_pull("mallory", REPO, number, "Mend", &marker).await.unwrap();
    let (repo, app, publisher) = (&ready.world().repo, &ready.world().app, &ready.world().publisher);
    assert!(publisher.find_pull(repo, app, &ready.desk.key).await.unwrap().is_none());
    let opened = ready.open(&ready.intent()).await.unwrap();
    assert_ne!(opened.number.0, number);
    assert_eq!(publisher.find_pull(repo, app, &ready.desk.key).await.unwrap().unwrap().number, opened.number);
}

#[tokio::test]
async fn a_pull_request_that_a_person_closed_stays_closed_until_asked_again() {
    let ready = Ready::start().await;
    let opened = ready.open(&ready.intent()).await.unwrap();
    ready.world().people.close_pull("mona", REPO, opened.number.0).await.unwrap();
    let error = ready.open(&ready.intent()).await.unwrap_err();
    assert!(matches!(&error, Error::Superseded(_)) && error.to_string().contains("was closed"), "{error}");
    assert_eq!(ready.pulls().len(), 1);
    let (repo, app) = (&ready.world().repo, &ready.world().app);
    assert!(ready.world().publisher.find_pull(repo, app, &ready.desk.key).await.unwrap().is_none());

    // Another job: somebody asked again.
    let again = ready.new_job(&ready.world().store).await;
    let second = again.pull(repo, app, &ready.intent()).await.unwrap();
    assert_ne!(second.number, opened.number);
    assert_eq!(again.pull(repo, app, &ready.intent()).await.unwrap(), second);
    assert_eq!(ready.pulls().len(), 2);
}

#[tokio::test]
async fn no_pull_request_shows_what_was_not_checked() {
    let ready = Ready::start().await;
    let branch = ready.desk.intent().branch;
    ready.world().people.push("mona", REPO, &branch, "More", Change::new().write("more", "x")).await.unwrap();
    let error = ready.open(&ready.intent()).await.unwrap_err();
    assert!(matches!(&error, Error::Superseded(_)), "{error}");
    let mut nowhere = ready.intent();
    nowhere.draft.branch = "gone".into();
    let error = ready.open(&nowhere).await.unwrap_err();
    assert!(matches!(&error, Error::Superseded(_)), "{error}");
    assert!(ready.pulls().is_empty());
}

#[tokio::test]
async fn a_branch_without_news_is_told_clearly() {
    let ready = Ready::start().await;
    let head = Sha::parse(&ready.world().github.pull(REPO, ready.world().number).unwrap().base_sha).unwrap();
    let mut nothing = PullIntent { head, ..ready.intent() };
    nothing.draft.branch = "main".into();
    nothing.draft.draft = false;
    nothing.base_branch = "main".into();
    let error = ready.open(&nothing).await.unwrap_err();
    assert!(matches!(&error, Error::NoCommits { .. }), "{error}");
    assert_eq!(error.class(), Class::Discard);
}

fn head_of(ready: &Ready, number: u64) -> Sha {
    Sha::parse(&ready.world().github.pull(REPO, number).unwrap().head_sha).unwrap()
}
