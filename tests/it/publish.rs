//! What the App says on a pull request, against the GitHub in a box: once, in the right place, and nothing when it is too late.

mod pull;
mod push;
mod reply;

use std::time::Duration;

use octoswarm::artifact::{ReviewIntent, ReviewReport};
use octoswarm::demo::{AppManifest, Change, Fault, FaultKind, GitHubBox, OpenPull, Options as BoxOptions, People};
use octoswarm::domain::{
    Category, ChangeKind, Class, Clock, Coverage, DiffLine, FileDiff, Finding, Fingerprint, Fix, Hunk, InstallationId,
    Job, LineKind, NotRead, OnUnreviewed, Outcome, PullNumber, Reading, RepositoryId, ReviewTarget, RuleId, RunId,
    Secret, Severity, Sha, Span,
};
use octoswarm::github::{AppInfo, CheckRunId, Github, Options, Repo};
use octoswarm::publish::{Error, INLINE_PER_REVIEW, Published, Publisher};
use octoswarm::store::{NewJob, Store};

const REPO: &str = "octo/calc";
const MANIFEST: &str = include_str!("../../app-manifest.yml");

/// One pull request that adds `new.py`, and all that publishing needs.
struct World {
    github: GitHubBox,
    people: People,
    repo: Repo,
    app: AppInfo,
    publisher: Publisher,
    store: Store,
    number: u64,
    repository: u64,
    dir: tempfile::TempDir,
}

impl World {
    async fn start() -> Self {
        Self::with(MANIFEST, 40, Duration::from_millis(300)).await
    }

    /// `new.py` has so many lines, all of them added.
    async fn with(manifest: &str, lines: u32, settle: Duration) -> Self {
        let options = BoxOptions::new(AppManifest::parse(manifest).unwrap(), "s3cret");
        let github = GitHubBox::start(crate::support::recorded(options)).await.unwrap();
        let people = github.people();
        let old: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let repository = people.create_repo(REPO, Change::new().write("old.py", old)).await.unwrap();
        let change = Change::new().write("new.py", text(lines));
        let number = people.open_pull(REPO, OpenPull::new("mona", "work", "Work", change)).await.unwrap();
        let client = Github::new(Options {
            api_base: github.api_url(),
            web_base: github.web_url(),
            write_pace: Duration::ZERO,
            ..Options::new(github.app_id(), Secret::new(github.private_key_pem()))
        })
        .unwrap();
        let repo =
            client.repo(InstallationId(github.installation_id()), RepositoryId(repository), REPO.parse().unwrap());
        let app = client.app().await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Clock::system()).await.unwrap();
        let publisher = Publisher::new(store.clone(), settle, Clock::system());
        Self { github, people, repo, app, publisher, store, number, repository, dir }
    }

    fn target(&self) -> ReviewTarget {
        ReviewTarget {
            installation: InstallationId(self.github.installation_id()),
            repository: RepositoryId(self.repository),
            repo: REPO.parse().unwrap(),
            number: PullNumber(self.number),
            head: self.head(),
            base_ref: "main".into(),
            forced: false,
        }
    }

    fn head(&self) -> Sha {
        Sha::parse(&self.github.pull(REPO, self.number).unwrap().head_sha).unwrap()
    }

    /// An intent about the pull request as it is now.
    fn intent(&self, lines: u32, findings: Vec<Finding>) -> ReviewIntent {
        let outcome = match findings.len() {
            0 => Outcome::Clean,
            count => Outcome::Findings { count },
        };
        ReviewIntent {
            target: self.target(),
            run: RunId(uuid::Uuid::now_v7()),
            base: Sha::parse(&self.github.pull(REPO, self.number).unwrap().base_sha).unwrap(),
            files: vec![added("new.py", 1, lines)],
            report: ReviewReport {
                present: findings.iter().map(|finding| finding.fingerprint.clone()).collect(),
                settled_paths: ["new.py".to_owned()].into(),
                silent: Default::default(),
                coverage: Coverage { read: 1, total: 1, ..Coverage::default() },
                outcome,
                findings,
            },
            notices: Vec::new(),
            fail_on: Some(Severity::High),
            on_unreviewed: OnUnreviewed::Neutral,
        }
    }

    async fn review(&self, intent: &ReviewIntent) -> Result<Published, Error> {
        self.publisher.review(&self.repo, &self.app, intent).await
    }

    async fn begin(&self) -> CheckRunId {
        self.publisher.begin(&self.repo, &self.app, &self.target(), RunId(uuid::Uuid::now_v7())).await.unwrap()
    }

    /// Begins, reviews, concludes: what a job does.
    async fn all(&self, intent: &ReviewIntent) -> Published {
        let check = self.begin().await;
        let published = self.review(intent).await.unwrap();
        self.conclude(intent, check, &published).await;
        published
    }

    async fn conclude(&self, intent: &ReviewIntent, check: CheckRunId, published: &Published) {
        self.publisher.conclude(&self.repo, &self.app, intent, check, published).await.unwrap();
    }

    async fn push(&self, lines: u32) {
        let change = Change::new().write("new.py", text(lines));
        self.people.push_to_pull("mona", REPO, self.number, "more", change).await.unwrap();
    }

    /// Writes that reached the box and were not mints.
    fn writes(&self) -> usize {
        self.write_times().len()
    }

    fn write_times(&self) -> Vec<i64> {
        let is_write = |call: &&octoswarm::demo::Call| match call.method.as_str() {
            "GET" => false,
            _ if call.path.ends_with("/access_tokens") => false,
            _ if call.path.ends_with("graphql") => call.body.to_string().contains("mutation"),
            _ => true,
        };
        self.github.calls().iter().filter(is_write).map(|call| call.at).collect()
    }

    /// The lines of our inline comments, as they were placed.
    fn lines(&self) -> Vec<(Option<u32>, u32)> {
        let comments = self.github.read_review_comments(REPO, self.number);
        comments
            .iter()
            .filter(|c| c.author == self.github.bot_login())
            .map(|c| (c.original_start_line, c.original_line))
            .collect()
    }

    fn bodies(&self) -> Vec<String> {
        let reviews = self.github.read_reviews(REPO, self.number);
        let ours = reviews.into_iter().filter(|review| review.author == self.github.bot_login());
        ours.map(|review| review.body).filter(|body| !body.is_empty()).collect()
    }

    fn check_run(&self) -> octoswarm::demo::CheckRun {
        let mut runs = self.github.check_runs(REPO, self.head().as_str());
        runs.retain(|run| run.app_id == self.github.app_id());
        assert_eq!(runs.len(), 1);
        runs.remove(0)
    }

    fn resolved(&self) -> Vec<bool> {
        self.github.threads(REPO, self.number).iter().map(|thread| thread.resolved_by.is_some()).collect()
    }
}

fn text(lines: u32) -> String {
    (1..=lines).map(|n| format!("value_{n} = {n}\n")).collect()
}

/// A file whose lines are all new, from `start` on.
fn added(path: &str, start: u32, count: u32) -> FileDiff {
    let line = |n| DiffLine { kind: LineKind::Added, old: None, new: Some(n), text: String::new() };
    let hunk = Hunk {
        old_start: 0,
        old_lines: 0,
        new_start: start,
        new_lines: count,
        lines: (start..start + count).map(line).collect(),
    };
    FileDiff { path: path.into(), old_path: None, kind: ChangeKind::Added, binary: false, hunks: vec![hunk] }
}

fn finding(name: &str, line: u32, severity: Severity) -> Finding {
    let rule = RuleId(name.into());
    Finding {
        category: Category::Debt,
        severity,
        path: "new.py".into(),
        span: Span { start_line: line, start_column: 1, end_line: line, end_column: 2 },
        message: format!("Finding {name}."),
        why: "Because.".into(),
        fix: None,
        reference: None,
        fingerprint: Fingerprint::new(&rule, "new.py", name, 0),
        rule,
    }
}

fn fixed(name: &str, lines: (u32, u32), replacement: &str) -> Finding {
    let fix = Fix { start_line: lines.0, end_line: lines.1, replacement: replacement.into() };
    Finding { fix: Some(fix), ..finding(name, lines.0, Severity::Medium) }
}

// -- saying it once ---------------------------------------------------------

#[tokio::test]
async fn a_first_review_stands_on_its_lines_and_a_second_look_writes_nothing() {
    let world = World::start().await;
    let intent = world.intent(40, vec![finding("a", 3, Severity::High), fixed("b", (7, 8), "x = 1")]);
    let published = world.all(&intent).await;
    assert_eq!((published.inline, published.updated, published.resolved), (2, false, 0));
    assert_eq!(world.lines(), [(None, 3), (Some(7), 8)]);
    let bodies = world.bodies();
    assert_eq!(bodies.len(), 1);
    assert!(
        bodies[0].contains("**2 findings**") && bodies[0].contains("2 findings stand next to the code"),
        "{}",
        bodies[0]
    );
    let run = world.check_run();
    assert_eq!((run.status.as_str(), run.conclusion.as_deref()), ("completed", Some("failure")));
    assert_eq!(run.external_id, Some(world.target().key()));
    assert!(run.annotations.is_empty(), "what has a comment is not repeated");

    let before = world.writes();
    let again = world.intent(40, intent.report.findings.clone());
    let published = world.all(&again).await;
    assert_eq!((published.inline, published.updated, world.writes()), (0, false, before));
    assert_eq!(published.commented.len(), 2);
    assert!(world.github.refusals().is_empty(), "{:?}", world.github.refusals());
}

#[tokio::test]
async fn a_clean_change_is_met_with_silence_and_a_green_check() {
    let world = World::start().await;
    let published = world.all(&world.intent(40, Vec::new())).await;
    assert_eq!(published, Published::default());
    assert!(world.github.posted().is_empty());
    assert_eq!(world.check_run().conclusion.as_deref(), Some("success"));
}

#[tokio::test]
async fn a_push_edits_the_body_and_resolves_what_is_gone() {
    let world = World::start().await;
    let [a, b, c] = ["a", "b", "c"].map(|name| finding(name, 5, Severity::Low));
    world.all(&world.intent(40, vec![a.clone(), b.clone(), c.clone()])).await;
    let answered = world.github.review_comments(REPO, world.number)[1].id;
    world.people.reply_in_thread("mona", REPO, answered, "I disagree").await.unwrap();
    world.push(41).await;

    // `a` and `b` are gone; somebody answered in the thread of `b`.
    let published = world.all(&world.intent(41, vec![c])).await;
    assert_eq!((published.inline, published.updated, published.resolved), (0, true, 1));
    assert_eq!(world.resolved(), [true, false, false]);
    let bodies = world.bodies();
    assert!(
        bodies.len() == 1 && bodies[0].contains("**1 finding**") && bodies[0].contains(world.head().as_str()),
        "{bodies:?}"
    );

    // Opened again by a person: theirs is the last word.
    let thread = world.github.threads(REPO, world.number)[0].id;
    world.people.unresolve_thread("mona", REPO, thread).await.unwrap();
    let mut intent = world.intent(41, Vec::new());
    intent.report.settled_paths.clear();
    assert_eq!(world.review(&intent).await.unwrap().resolved, 0, "a path that was not read proves nothing");
    let published = world.review(&world.intent(41, Vec::new())).await.unwrap();
    assert_eq!((published.resolved, world.resolved()), (1, vec![false, false, true]));
    assert!(world.bodies()[0].contains("Nothing to report"));
}

#[tokio::test]
async fn a_finding_that_comes_back_is_told_again_unless_a_person_closed_it() {
    let world = World::start().await;
    let [a, b] = ["a", "b"].map(|name| finding(name, 5, Severity::Low));
    world.all(&world.intent(40, vec![a.clone(), b.clone()])).await;
    let of_b = world.github.threads(REPO, world.number)[1].id;
    world.people.resolve_thread("mona", REPO, of_b).await.unwrap();
    world.push(41).await;
    assert_eq!(world.all(&world.intent(41, Vec::new())).await.resolved, 1);
    world.push(42).await;
    let back = world.intent(42, vec![a, b]);
    assert_eq!(world.all(&back).await.inline, 1);
    assert_eq!(world.all(&back).await.inline, 0);
    assert_eq!(world.resolved(), [true, true, false]);
    world.github.take_comments();
}

#[tokio::test]
async fn a_run_keeps_the_pace_that_github_asks_for() {
    let mut world = World::with(MANIFEST, 40, Duration::ZERO).await;
    let pace = Duration::from_millis(150);
    let client = Github::new(Options {
        api_base: world.github.api_url(),
        web_base: world.github.web_url(),
        write_pace: pace,
        ..Options::new(world.github.app_id(), Secret::new(world.github.private_key_pem()))
    })
    .unwrap();
    world.repo = client.repo(world.repo.installation(), world.repo.id(), world.repo.name().clone());
    world.all(&world.intent(40, vec![finding("a", 3, Severity::Low), finding("b", 4, Severity::Low)])).await;
    world.push(41).await;
    assert_eq!(world.all(&world.intent(41, Vec::new())).await.resolved, 2);
    let mut times = world.write_times();
    times.sort_unstable();
    assert!(times.len() >= 8, "{times:?}");
    for pair in times.windows(2) {
        // The box notes the time when it has answered; a loaded machine shifts that a little.
        assert!(pair[1] - pair[0] >= 130, "{times:?}");
    }
    world.github.take_comments();
}

#[tokio::test]
async fn only_new_findings_make_a_new_review() {
    let world = World::start().await;
    let old = finding("old", 5, Severity::Low);
    world.all(&world.intent(40, vec![old.clone()])).await;
    world.push(41).await;
    let published = world.all(&world.intent(41, vec![old, finding("new", 41, Severity::Low)])).await;
    assert_eq!((published.inline, published.commented.len()), (1, 2));
    assert_eq!(world.lines(), [(None, 5), (None, 41)]);
    assert_eq!(world.bodies().len(), 2);
    assert_eq!(world.check_run().conclusion.as_deref(), Some("success"), "below the bar");
}

#[tokio::test]
async fn what_does_not_fit_into_thirty_comments_is_listed_once() {
    let world = World::start().await;
    let findings: Vec<_> =
        (1..=40).map(|n| finding(&format!("f{n}"), n, if n == 40 { Severity::High } else { Severity::Low })).collect();
    let published = world.all(&world.intent(40, findings.clone())).await;
    assert_eq!(published.inline, INLINE_PER_REVIEW);
    assert!(world.lines().contains(&(None, 40)), "the gravest comes first");
    let body = &world.bodies()[0];
    assert_eq!(body.matches("\n- ").count(), 10, "{body}");
    assert_eq!(world.check_run().annotations.len(), 10);
    let before = world.writes();
    world.all(&world.intent(40, findings)).await;
    assert_eq!(world.writes(), before);
}

#[tokio::test]
async fn a_stranger_cannot_speak_with_our_marker() {
    let world = World::start().await;
    let a = finding("a", 3, Severity::Low);
    let forged = format!("<!-- octoswarm:v1 finding {} -->", a.fingerprint.as_str());
    world.people.review_line("mallory", REPO, world.number, "new.py", 3, &format!("hm\n{forged}")).await.unwrap();
    assert_eq!(world.publisher.open_threads(&world.repo, &world.app, PullNumber(world.number)).await.unwrap(), []);
    let published = world.review(&world.intent(40, vec![a.clone()])).await.unwrap();
    assert_eq!((published.inline, published.resolved), (1, 0));
    let open = world.publisher.open_threads(&world.repo, &world.app, PullNumber(world.number)).await.unwrap();
    assert_eq!(open.iter().map(|t| (&*t.path, &t.fingerprint)).collect::<Vec<_>>(), [("new.py", &a.fingerprint)]);
}

#[tokio::test]
async fn all_suggestions_apply_together() {
    let world = World::with(MANIFEST, 6, Duration::ZERO).await;
    let findings = vec![
        fixed("a", (1, 2), "first = 1"),
        fixed("b", (2, 3), "lost = 1"),
        fixed("c", (4, 4), ""),
        fixed("d", (6, 6), "```\nlast = 6"),
    ];
    world.review(&world.intent(6, findings)).await.unwrap();
    let files = world.people.apply_suggestions("mona", REPO, world.number).await.unwrap();
    assert_eq!(files["new.py"], "first = 1\nvalue_3 = 3\nvalue_5 = 5\n```\nlast = 6\n");
    world.github.take_comments();
}

// -- when GitHub is difficult -----------------------------------------------

#[tokio::test]
async fn a_review_whose_answer_never_came_is_found_again() {
    let world = World::start().await;
    world.github.fail_next(Fault::withhold("POST", "/reviews"));
    let intent = world.intent(40, vec![finding("a", 3, Severity::Low)]);
    tokio::select! {
        done = world.review(&intent) => panic!("{done:?}"),
        () = world.github.wait_withheld() => {}
    }
    world.github.release_withheld();
    // The next life: another process, the same ledger.
    let published = world.review(&intent).await.unwrap();
    assert_eq!((published.inline, published.commented.len()), (0, 1));
    assert_eq!((world.bodies().len(), world.lines().len()), (1, 1));
    let reviews: Vec<_> = world.github.calls().into_iter().filter(|call| call.path.ends_with("/reviews")).collect();
    let sent = reviews.iter().find(|call| call.method == "POST").unwrap().at;
    let looked = reviews.iter().filter(|call| call.method == "GET").map(|call| call.at).max().unwrap();
    assert!(looked - sent >= 200, "looked {} ms after sending", looked - sent);
    let store = Store::open_read_only(world.dir.path(), Clock::system()).await.unwrap();
    let row = store.effect(&intent.target.key()).await.unwrap().unwrap();
    assert_eq!((row.state, row.attempts), (octoswarm::store::EffectState::Proved, 1));
}

#[tokio::test]
async fn another_ledger_finds_what_was_said_before() {
    let world = World::start().await;
    let intent = world.intent(
        40,
        vec![finding("a", 3, Severity::Low), Finding { path: "elsewhere.py".into(), ..finding("b", 9, Severity::Low) }],
    );
    world.all(&intent).await;
    let before = world.writes();
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Clock::system()).await.unwrap();
    let publisher = Publisher::new(store, Duration::ZERO, Clock::system());
    let check = publisher.begin(&world.repo, &world.app, &intent.target, intent.run).await.unwrap();
    let published = publisher.review(&world.repo, &world.app, &intent).await.unwrap();
    publisher.conclude(&world.repo, &world.app, &intent, check, &published).await.unwrap();
    assert_eq!(world.writes(), before);
}

#[tokio::test]
async fn a_place_that_github_does_not_know_moves_to_the_body() {
    let world = World::start().await;
    let mut intent = world.intent(40, vec![finding("a", 3, Severity::Low)]);
    // Our diff shows lines that GitHub's does not.
    intent.files.push(added("old.py", 1, 5));
    intent.report.findings.push(Finding { path: "old.py".into(), ..finding("b", 2, Severity::Low) });
    let published = world.review(&intent).await.unwrap();
    assert_eq!((published.inline, world.lines()), (1, vec![(None, 3)]));
    assert!(world.bodies()[0].contains("`old.py:2`"));
    assert_eq!(world.github.refusals().len(), 1);
    let before = world.writes();
    world.review(&intent).await.unwrap();
    assert_eq!(world.writes(), before);
}

#[tokio::test]
async fn when_every_place_seems_right_the_body_goes_alone() {
    let world = World::start().await;
    let refuse = || Fault::status("POST", "/reviews", 422);
    world.github.fail_next(refuse());
    let published = world.review(&world.intent(40, vec![finding("a", 3, Severity::Low)])).await.unwrap();
    assert_eq!((published.inline, world.lines().len()), (0, 0));
    assert!(world.bodies()[0].contains("`new.py:3`"));

    let stubborn = World::start().await;
    stubborn.github.fail_next(refuse().times(2));
    let error = stubborn.review(&stubborn.intent(40, vec![finding("a", 3, Severity::Low)])).await.unwrap_err();
    assert_eq!(error.class(), Class::Discard, "{error}");
    assert!(stubborn.github.posted().is_empty());
}

#[tokio::test]
async fn nothing_is_said_about_a_head_that_is_past() {
    let world = World::start().await;
    let check = world.begin().await;
    let intent = world.intent(40, vec![finding("a", 3, Severity::Low)]);
    world.push(41).await;
    let before = world.writes();
    let late = world.review(&intent).await.unwrap_err();
    assert!(matches!(&late, Error::Superseded(_)) && late.class() == Class::Cancelled, "{late}");
    let late = world.publisher.conclude(&world.repo, &world.app, &intent, check, &Published::default()).await;
    assert!(matches!(late, Err(Error::Superseded(_))));
    assert_eq!(world.writes(), before);
    world.publisher.abandon(&world.repo, &world.app, &intent.target, intent.run, "overtaken by @mona").await.unwrap();
    let run = world.github.check_runs(REPO, intent.target.head.as_str()).remove(0);
    assert_eq!((run.conclusion.as_deref(), run.summary.as_deref()), (Some("cancelled"), Some("overtaken by `@mona`")));

    world.people.close_pull("mona", REPO, world.number).await.unwrap();
    let closed = world.review(&world.intent(41, Vec::new())).await.unwrap_err();
    assert!(closed.to_string().contains("closed"), "{closed}");
}

#[tokio::test]
async fn a_secondary_limit_delays_the_review_and_it_lands_once() {
    let world = World::start().await;
    world.github.fail_next(Fault::secondary_limit("POST", "/reviews", 1));
    let intent = world.intent(40, vec![finding("a", 3, Severity::Low)]);
    let error = world.review(&intent).await.unwrap_err();
    assert_eq!(error.class(), Class::Snooze(Duration::from_secs(1)));
    let calls = world.github.calls().len();
    assert!(matches!(world.review(&intent).await.unwrap_err().class(), Class::Snooze(_)));
    assert_eq!(world.github.calls().len(), calls, "no call while the limit lasts");
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(world.review(&intent).await.unwrap().inline, 1);
    assert_eq!(world.lines().len(), 1);
}

#[tokio::test]
async fn a_missing_permission_to_resolve_is_said_once_and_stops_nothing_else() {
    let manifest = MANIFEST.replace("contents: write", "contents: read");
    let world = World::with(&manifest, 40, Duration::ZERO).await;
    world.all(&world.intent(40, vec![finding("a", 3, Severity::Low), finding("b", 4, Severity::Low)])).await;
    world.push(41).await;
    for _ in 0..2 {
        let published = world.all(&world.intent(41, vec![])).await;
        assert_eq!((published.resolved, published.notes.len()), (0, 1));
        let body = &world.bodies()[0];
        assert_eq!(body.matches("`contents: write`").count(), 1, "{body}");
    }
    assert_eq!(world.check_run().conclusion.as_deref(), Some("success"));
}

// -- the check run ----------------------------------------------------------

#[tokio::test]
async fn a_head_has_one_check_run_of_ours_whatever_happens() {
    let world = World::start().await;
    world.people.foreign_check(REPO, world.head().as_str(), "octoswarm").await.unwrap();
    world.github.fail_next(Fault::once("POST", "/check-runs", FaultKind::Truncate));
    let target = world.target();
    let run = RunId(uuid::Uuid::now_v7());
    world.publisher.begin(&world.repo, &world.app, &target, run).await.unwrap_err();
    let (one, two) = (world.begin().await, world.begin().await);
    assert_eq!(one, two);
    assert_eq!((world.check_run().id, world.check_run().status.as_str()), (one.0, "in_progress"));
}

#[tokio::test]
async fn a_rerun_opens_the_check_again_and_closes_it() {
    let world = World::start().await;
    let intent = world.intent(40, vec![Finding { path: "old.py".into(), ..finding("a", 20, Severity::High) }]);
    world.all(&intent).await;
    let forced = ReviewTarget { forced: true, ..world.target() };
    let check = world.publisher.begin(&world.repo, &world.app, &forced, intent.run).await.unwrap();
    assert_eq!(world.check_run().status, "in_progress");
    world.conclude(&intent, check, &Published::default()).await;
    let run = world.check_run();
    assert_eq!((run.status.as_str(), run.annotations.len()), ("completed", 1), "the annotation stands there once");
}

#[tokio::test]
async fn annotations_that_no_longer_hold_disappear_with_their_run() {
    let world = World::start().await;
    let old = world.intent(40, vec![finding("a", 3, Severity::Low), finding("b", 4, Severity::High)]);
    let check = world.begin().await;
    world.conclude(&old, check, &Published::default()).await;
    // The same head, asked again after the configuration changed.
    let forced = ReviewTarget { forced: true, ..world.target() };
    let check = world.publisher.begin(&world.repo, &world.app, &forced, old.run).await.unwrap();
    let new = world.intent(40, vec![finding("a", 3, Severity::Low)]);
    world.conclude(&new, check, &Published::default()).await;
    let runs = world.github.check_runs(REPO, world.head().as_str());
    let shown: Vec<_> = runs.iter().map(|run| (run.conclusion.as_deref(), run.annotations.len())).collect();
    assert_eq!(shown, [(Some("success"), 2), (Some("success"), 1)], "people see the latest");
    let before = world.writes();
    let again = world.begin().await;
    world.conclude(&new, again, &Published::default()).await;
    assert_eq!((again.0, world.writes()), (runs[1].id, before));
}

#[tokio::test]
async fn many_annotations_go_in_parts_and_a_broken_off_conclusion_is_completed() {
    let world = World::start().await;
    let findings: Vec<_> = (1..=120).map(|n| finding(&format!("f{n}"), n, Severity::Medium)).collect();
    let intent = world.intent(40, findings);
    let check = world.begin().await;
    // The first part takes effect and its answer is lost.
    world.github.fail_next(Fault::once("PATCH", "/check-runs", FaultKind::RejectAfterEffect { status: 502 }));
    let error =
        world.publisher.conclude(&world.repo, &world.app, &intent, check, &Published::default()).await.unwrap_err();
    assert_eq!(error.class(), Class::Retry);
    assert_eq!((world.check_run().status.as_str(), world.check_run().annotations.len()), ("in_progress", 50));
    world.conclude(&intent, check, &Published::default()).await;
    let run = world.check_run();
    assert_eq!((run.status.as_str(), run.annotations.len()), ("completed", 120));
    assert!(run.annotations.iter().all(|a| a.annotation_level == "warning"));
    let before = world.writes();
    world.conclude(&intent, check, &Published::default()).await;
    assert_eq!(world.writes(), before);
}

#[tokio::test]
async fn not_reviewed_is_neither_clean_nor_found() {
    for (setting, want) in [
        (OnUnreviewed::Neutral, "neutral"),
        (OnUnreviewed::ActionRequired, "action_required"),
        (OnUnreviewed::Failure, "failure"),
    ] {
        let world = World::start().await;
        let mut intent = world.intent(40, Vec::new());
        intent.on_unreviewed = setting;
        intent.report.outcome = Outcome::CouldNotReview { reason: "the diff is larger than @mona allows".into() };
        intent.report.coverage.not_read.push(NotRead { path: "a`b".into(), reason: "binary".into(), left_out: false });
        world.all(&intent).await;
        let run = world.check_run();
        assert_eq!((run.conclusion.as_deref(), run.title.as_deref()), (Some(want), Some("Could not review")));
        let summary = run.summary.unwrap();
        assert!(summary.contains("`@mona`") && summary.contains("``a`b`` (binary)"), "{summary}");
        assert!(world.github.posted().is_empty());
    }
}

#[tokio::test]
async fn a_change_that_no_rule_reads_is_neutral_and_nobody_has_to_act_on_it() {
    for setting in [OnUnreviewed::Neutral, OnUnreviewed::ActionRequired, OnUnreviewed::Failure] {
        let world = World::start().await;
        let mut intent = world.intent(40, Vec::new());
        intent.on_unreviewed = setting;
        let mut coverage = Coverage::default();
        coverage.add("ci.yml", Reading::TextOnly);
        intent.report.outcome = coverage.outcome(0);
        intent.report.coverage = coverage;
        world.all(&intent).await;
        let run = world.check_run();
        assert_eq!((run.conclusion.as_deref(), run.title.as_deref()), (Some("neutral"), Some("Nothing to review")));
        let summary = run.summary.unwrap();
        assert!(summary.contains("nothing here that octoswarm has language rules for (1 file)"), "{summary}");
        assert!(summary.contains("Read for secrets and merge markers only: 1 (`.yml`)."), "{summary}");
        assert!(world.github.posted().is_empty());
    }
}

#[tokio::test]
async fn the_bar_decides_whether_findings_fail_the_check() {
    for (fail_on, want) in [(Some(Severity::Medium), "failure"), (Some(Severity::High), "success"), (None, "success")] {
        let world = World::start().await;
        let mut intent = world.intent(40, vec![finding("a", 3, Severity::Medium)]);
        intent.fail_on = fail_on;
        world.all(&intent).await;
        assert_eq!(world.check_run().conclusion.as_deref(), Some(want), "{fail_on:?}");
        assert_eq!(world.check_run().title.as_deref(), Some("1 finding (1 medium)"));
        world.github.take_comments();
    }
}

#[tokio::test]
async fn a_worker_that_lost_its_job_does_not_say_again_what_it_once_proved() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Clock::system()).await.unwrap();
    store.enqueue(&Job::Review(world.target()), NewJob::at(0)).await.unwrap();
    let claimed = store.claim("n", 60_000, &[]).await.unwrap().unwrap();
    let stale = Publisher::new(store.clone(), Duration::ZERO, Clock::system()).under(&claimed.lease);
    let clean = world.intent(40, Vec::new());
    let check = stale.begin(&world.repo, &world.app, &clean.target, clean.run).await.unwrap();
    stale.conclude(&world.repo, &world.app, &clean, check, &Published::default()).await.unwrap();

    let mut unread = clean.clone();
    unread.report.outcome = Outcome::CouldNotReview { reason: "because".to_owned() };
    world.publisher.conclude(&world.repo, &world.app, &unread, check, &Published::default()).await.unwrap();
    store.complete(&claimed.lease).await.unwrap();
    let refused = stale.conclude(&world.repo, &world.app, &clean, check, &Published::default()).await.unwrap_err();
    assert_eq!(refused.class(), Class::Cancelled, "{refused}");
    let head = world.head();
    assert_eq!(world.github.check_runs(REPO, head.as_str())[0].conclusion.as_deref(), Some("neutral"));
}

#[tokio::test]
async fn a_cancelled_check_runs_again_when_its_head_is_reviewed_after_all() {
    let world = World::start().await;
    world.begin().await;
    let run = RunId(uuid::Uuid::now_v7());
    world.publisher.abandon(&world.repo, &world.app, &world.target(), run, "overtaken").await.unwrap();
    world.begin().await;
    let checks = world.github.check_runs(REPO, world.head().as_str());
    assert_eq!(checks.iter().map(|check| check.status.as_str()).collect::<Vec<_>>(), ["in_progress"]);
}
