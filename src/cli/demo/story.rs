//! The story: who does what in the box, and what must have come of it.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::Serialize;

use super::server::Server;
use super::show::Show;
use super::tree::{self, Expected};
use crate::app::runs::{Observer, Timeline};
use crate::artifact::ReviewReport;
use crate::demo::{Fault, GitHubBox, OpenPull, People, ReviewComment};
use crate::domain::Finding;

pub const REPO: &str = "octo/shop";

/// How long anything may take before the story gives up on it.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// One thing that people do, and whether it came out right.
#[derive(Debug, Clone, Serialize)]
pub struct Scenario {
    pub name: &'static str,
    pub title: &'static str,
    pub ok: bool,
    /// What came out otherwise than it should.
    pub problems: Vec<String>,
    pub duration_ms: u128,
}

/// Dropped in this order: nobody writes any more when the box goes.
pub struct Story {
    server: Server,
    observer: Observer,
    github: GitHubBox,
    show: Show,
    pub scenarios: Vec<Scenario>,
    /// Deliveries whose timeline was shown.
    shown: BTreeSet<String>,
}

/// Collects what is not as it should be.
#[derive(Default)]
pub struct Checks(Vec<String>);

impl Checks {
    pub(super) fn that(&mut self, holds: bool, otherwise: impl Into<String>) {
        if !holds {
            self.0.push(otherwise.into());
        }
    }
}

impl Story {
    pub async fn new(github: GitHubBox, server: Server, show: Show) -> anyhow::Result<Self> {
        let observer = Observer::open(&server.state()).await?;
        let people = github.people();
        people.create_repo(REPO, tree::change("main")).await?;
        people.add_collaborator(REPO, "mona", "write").await?;
        Ok(Self { github, server, observer, show, scenarios: Vec::new(), shown: BTreeSet::new() })
    }

    /// Every scenario in order. A scenario that comes out wrong does not end the story.
    pub async fn tell(&mut self) -> anyhow::Result<()> {
        self.scenario(
            "planted-defects",
            "mona opens a pull request with defects planted among clean code in five languages",
        )?;
        let checks = self.planted_defects().await;
        self.outcome(checks).await?;

        self.scenario("fix-pushed", "mona pushes a fix for one of them")?;
        let checks = self.fix_pushed().await;
        self.outcome(checks).await?;

        self.scenario("suggestions-committed", "mona commits all suggestions at once")?;
        let checks = self.suggestions_committed().await;
        self.outcome(checks).await?;

        self.scenario("fork", "hubot-fan, a stranger, opens a pull request from a fork")?;
        let checks = self.fork().await;
        self.outcome(checks).await?;

        self.scenario("clean", "mona opens a pull request with nothing wrong in it")?;
        let checks = self.clean().await;
        self.outcome(checks).await?;

        self.scenario(
            "delivered-again",
            "GitHub delivers the same event again, and somebody replays it under a new GUID",
        )?;
        let checks = self.delivered_again().await;
        self.outcome(checks).await?;

        self.scenario(
            "killed",
            "the server is killed with SIGKILL after its review took effect and before it learns of it",
        )?;
        let checks = self.killed().await;
        self.outcome(checks).await?;
        self.tell_of_issues().await
    }

    async fn planted_defects(&mut self) -> anyhow::Result<Checks> {
        let pull = OpenPull::new("mona", "orders", "Add order export, discounts and billing", tree::change("feature"));
        let number = self.people().open_pull(REPO, pull).await?;
        self.settle().await?;
        let mut checks = Checks::default();
        self.expect_comments(&mut checks, number, "feature", &tree::expectations()?.feature)?;
        self.expect_check(&mut checks, number, "failure");
        checks.that(self.github.reviews(REPO, number).len() == 1, "there should be one review");
        Ok(checks)
    }

    async fn fix_pushed(&mut self) -> anyhow::Result<Checks> {
        let before = self.comments(1).len();
        let former = self.first_review_body(1)?;
        self.people().push_to_pull("mona", REPO, 1, "Bind the customer's name", tree::change("repaired")).await?;
        self.settle().await?;
        let mut checks = Checks::default();
        checks.that(self.comments(1).len() == before, "no comment should have been added");
        checks.that(self.github.reviews(REPO, 1).len() == 1, "no second review should have been posted");
        checks.that(self.first_review_body(1)? != former, "the review's summary should have been updated");
        let resolved: Vec<String> = self.resolved(1).into_iter().map(|comment| comment.path).collect();
        checks.that(resolved == ["api/orders.py"], format!("one thread should be resolved, not {resolved:?}"));
        Ok(checks)
    }

    async fn suggestions_committed(&mut self) -> anyhow::Result<Checks> {
        let with_suggestion = self
            .open_comments(1)
            .into_iter()
            .filter(|comment| super::show::suggestion(&comment.body).is_some())
            .count();
        let files = self.people().apply_suggestions("mona", REPO, 1).await?;
        self.settle().await?;
        let mut checks = Checks::default();
        for expected in tree::expectations()?.feature {
            let Some(fixed) = expected.fixed else { continue };
            let text = files.get(&expected.path).map(String::as_str).unwrap_or_default();
            let gone = !text.lines().any(|line| line.trim() == expected.line);
            let there = fixed.is_empty() || text.lines().any(|line| line == fixed);
            checks.that(gone && there, format!("the suggestion for `{}` did not apply", expected.line));
        }
        checks.that(with_suggestion > 0, "there should have been suggestions");
        let left: Vec<_> = self
            .open_comments(1)
            .into_iter()
            .filter(|comment| super::show::suggestion(&comment.body).is_some())
            .map(|comment| comment.path)
            .collect();
        checks.that(left.is_empty(), format!("threads with suggestions that were committed stay open: {left:?}"));
        checks.that(self.github.reviews(REPO, 1).len() == 1, "no second review should have been posted");
        Ok(checks)
    }

    async fn fork(&mut self) -> anyhow::Result<Checks> {
        let pull = OpenPull::new("hubot-fan", "search", "Add a search box", tree::change("fork"));
        let number = self.people().open_pull_from_fork(REPO, pull).await?;
        self.settle().await?;
        let mut checks = Checks::default();
        self.expect_comments(&mut checks, number, "fork", &tree::expectations()?.fork)?;
        self.expect_check(&mut checks, number, "failure");
        Ok(checks)
    }

    async fn clean(&mut self) -> anyhow::Result<Checks> {
        let pull = OpenPull::new("mona", "customers", "Add customers and health", tree::change("clean"));
        let number = self.people().open_pull(REPO, pull).await?;
        self.settle().await?;
        let mut checks = Checks::default();
        let said = self.comments(number).len() + self.github.reviews(REPO, number).len();
        checks.that(said == 0, format!("nothing should have been said, but {said} things were"));
        self.expect_check(&mut checks, number, "success");
        Ok(checks)
    }

    async fn delivered_again(&mut self) -> anyhow::Result<Checks> {
        let before = self.effects();
        let opened = self
            .github
            .deliveries()
            .into_iter()
            .find(|delivery| delivery.event == "pull_request" && delivery.payload.contains("\"number\":2,"))
            .context("the delivery of the second pull request")?;
        self.people().redeliver(&opened.guid).await?;
        self.settle().await?;
        let replayed = self.people().replay(&opened.guid).await?;
        self.settle().await?;
        let mut checks = Checks::default();
        checks.that(self.effects() == before, "there should be no second effect");
        let timelines = self.observer.timelines(100).await?;
        let row = timelines.iter().map(|t| &t.delivery).find(|row| row.guid.as_str() == replayed);
        let marked = row.and_then(|row| row.replay_of.as_ref()).is_some_and(|of| of.as_str() == opened.guid);
        checks.that(marked, "the replay should be marked as one");
        let same = timelines.iter().filter(|t| t.delivery.guid.as_str() == opened.guid).count();
        checks.that(same == 1, "the same GUID should be stored once");
        Ok(checks)
    }

    async fn killed(&mut self) -> anyhow::Result<Checks> {
        let mut checks = Checks::default();
        self.github.fail_next(Fault::withhold("POST", "/reviews"));
        let pull = OpenPull::new("mona", "cleanup", "Clean up previews", tree::change("crash"));
        let number = self.people().open_pull(REPO, pull).await?;
        tokio::time::timeout(PATIENCE, self.github.wait_withheld())
            .await
            .context("the server never posted its review")?;
        self.server.kill().await?;
        self.show.say("  the box has taken the review and withholds the answer: SIGKILL");
        self.github.release_withheld();
        let posted = self.github.reviews(REPO, number).len();
        checks.that(posted == 1, "the review should have taken effect before the kill");
        checks.that(!self.observer.is_idle().await?, "the job should not have ended");
        self.server.restart().await?;
        self.show.say("  started again on the same state");
        self.settle().await?;
        checks.that(self.github.reviews(REPO, number).len() == 1, "there should be one review, not two");
        self.expect_comments(&mut checks, number, "crash", &tree::expectations()?.crash)?;
        self.expect_check(&mut checks, number, "failure");
        Ok(checks)
    }

    /// Exactly the expected comments, each under its line; nothing on the clean code beside it.
    fn expect_comments(
        &self,
        checks: &mut Checks,
        number: u64,
        folder: &str,
        expected: &[Expected],
    ) -> anyhow::Result<()> {
        let comments = self.comments(number);
        checks.that(
            comments.len() == expected.len(),
            format!("there should be {} comments, not {}", expected.len(), comments.len()),
        );
        let mut unmatched: Vec<&Expected> = expected.iter().collect();
        for comment in &comments {
            let line = source_line(folder, comment)?;
            let category = comment.body.lines().next().unwrap_or_default().to_lowercase();
            let wanted = unmatched
                .iter()
                .position(|e| e.path == comment.path && e.line == line.trim() && category.contains(e.category.name()));
            match wanted {
                Some(at) => drop(unmatched.remove(at)),
                None => checks.that(false, format!("a comment at {} on `{}`", comment.path, line.trim())),
            }
        }
        for expected in unmatched {
            checks.that(false, format!("no {} comment at {} on `{}`", expected.category, expected.path, expected.line));
        }
        Ok(())
    }

    pub(super) fn expect_check(&self, checks: &mut Checks, number: u64, conclusion: &str) {
        let runs = self.check_conclusions(number);
        checks.that(runs == [conclusion], format!("one check run should say {conclusion}, not {runs:?}"));
    }

    pub fn check_conclusions(&self, number: u64) -> Vec<String> {
        let head = self.github.pull(REPO, number).map(|pull| pull.head_sha).unwrap_or_default();
        let runs = self.github.check_runs(REPO, &head);
        runs.into_iter().map(|run| run.conclusion.unwrap_or(run.status)).collect()
    }

    fn first_review_body(&self, number: u64) -> anyhow::Result<String> {
        let review = self.github.reviews(REPO, number).into_iter().next();
        Ok(review.context("there is no review")?.body)
    }

    pub fn comments(&self, number: u64) -> Vec<ReviewComment> {
        self.github.review_comments(REPO, number)
    }

    fn resolved(&self, number: u64) -> Vec<ReviewComment> {
        self.comments(number).into_iter().filter(|comment| self.is_resolved(comment)).collect()
    }

    fn open_comments(&self, number: u64) -> Vec<ReviewComment> {
        self.comments(number).into_iter().filter(|comment| !self.is_resolved(comment)).collect()
    }

    pub fn is_resolved(&self, comment: &ReviewComment) -> bool {
        let threads = self.github.threads(REPO, comment.pull);
        threads.iter().any(|thread| thread.id == comment.thread && thread.resolved_by.is_some())
    }

    /// Everything that the App has said or set, to compare before and after.
    fn effects(&self) -> Vec<String> {
        let mut effects: Vec<String> =
            self.github.posted().into_iter().map(|posted| format!("{} {}", posted.id, posted.body)).collect();
        for pull in self.github.pulls(REPO) {
            for run in self.github.check_runs(REPO, &pull.head_sha) {
                effects.push(format!("{} {:?} {:?}", run.id, run.conclusion, run.summary));
            }
        }
        effects
    }

    /// Waits until everything that was sent has been delivered and everything delivered has been worked off.
    pub(super) async fn settle(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            self.github.deliveries_settled().await;
            self.show.progress(&self.observer).await?;
            if self.observer.is_idle().await? {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                bail!("the server is still busy after {} s; its log: {}", PATIENCE.as_secs(), self.server_log());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(super) async fn kill(&mut self) -> anyhow::Result<()> {
        self.server.kill().await
    }

    pub(super) async fn restart(&mut self, told: &str) -> anyhow::Result<()> {
        self.server.restart().await?;
        self.show.say(told);
        Ok(())
    }

    pub(super) fn say(&self, text: &str) {
        self.show.say(text);
    }

    /// Waits for something that nobody announces.
    pub(super) async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> anyhow::Result<()> {
        let began = Instant::now();
        while !holds(self) {
            if began.elapsed() > PATIENCE {
                bail!("{what}: not within {} s; the server's log: {}", PATIENCE.as_secs(), self.server_log());
            }
            self.show.progress(&self.observer).await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Shows what happens until dropped.
    pub async fn watch(&mut self) -> anyhow::Result<Infallible> {
        loop {
            self.settle().await?;
            self.show_news().await?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    pub(super) fn scenario(&mut self, name: &'static str, title: &'static str) -> anyhow::Result<()> {
        self.show.title(self.scenarios.len() + 1, title);
        self.scenarios.push(Scenario {
            name,
            title,
            ok: false,
            problems: Vec::new(),
            duration_ms: self.show.elapsed(),
        });
        Ok(())
    }

    pub(super) async fn outcome(&mut self, checks: anyhow::Result<Checks>) -> anyhow::Result<()> {
        let problems = checks.map_or_else(|error| vec![format!("{error:#}")], |checks| checks.0);
        self.show_news().await?;
        let now = self.show.elapsed();
        if let Some(scenario) = self.scenarios.last_mut() {
            scenario.ok = problems.is_empty();
            scenario.problems = problems;
            scenario.duration_ms = now - scenario.duration_ms;
            self.show.verdict(scenario);
        }
        Ok(())
    }

    /// Timelines and comments that were not shown yet.
    async fn show_news(&mut self) -> anyhow::Result<()> {
        let timelines = self.observer.timelines(100).await?;
        let findings = findings(&timelines);
        let news: Vec<&Timeline> =
            timelines.iter().filter(|timeline| self.shown.insert(timeline.delivery.guid.to_string())).collect();
        self.show.timelines(&news);
        let bot = self.github.bot_login();
        for posted in self.github.posted().into_iter().filter(|posted| posted.kind == "comment") {
            // Edited in place: shown again when it says something else.
            if self.shown.insert(format!("reply {} {}", posted.id, posted.body)) {
                self.show.reply(&posted);
            }
        }
        for pull in self.github.pulls(REPO) {
            if pull.author == bot && self.shown.insert(format!("pull {}", pull.number)) {
                self.show.pull(&pull);
            }
            for comment in self.comments(pull.number) {
                if self.shown.insert(format!("comment {}", comment.id)) {
                    self.show.comment(&comment, &findings);
                }
            }
        }
        Ok(())
    }

    pub async fn timelines(&self) -> anyhow::Result<Vec<Timeline>> {
        Ok(self.observer.timelines(200).await?)
    }

    pub fn came_out_right(&self) -> bool {
        !self.scenarios.is_empty() && self.scenarios.iter().all(|scenario| scenario.ok)
    }

    pub fn conclude(&self, took: Duration) {
        self.show.conclusion(&self.scenarios, took);
        if !self.came_out_right() {
            self.show.say(&format!("The server's log:\n{}", self.server_log()));
        }
    }

    /// The log is gone with the temporary folder, so its end is told.
    fn server_log(&self) -> String {
        let text = std::fs::read_to_string(self.server.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    pub fn github(&self) -> &GitHubBox {
        &self.github
    }

    pub fn clone_url(&self) -> String {
        let url = self.github.clone_url(REPO);
        url.replacen("://", &format!("://mona:{}@", crate::demo::PASSWORD), 1)
    }

    pub async fn end(mut self) {
        // Ending anyway: a child that cannot be killed has died by itself.
        let _dead = self.server.kill().await;
        self.github.stop().await;
    }

    /// The server's folder.
    pub(super) fn state(&self) -> PathBuf {
        self.server.state()
    }

    pub(super) fn people(&self) -> People {
        self.github.people()
    }
}

/// The line of the branch's text under which the comment was made.
fn source_line(folder: &str, comment: &ReviewComment) -> anyhow::Result<String> {
    let text = tree::text(folder, &comment.path)?;
    let line = text.lines().nth(comment.original_line.saturating_sub(1) as usize);
    Ok(line.with_context(|| format!("{} has no line {}", comment.path, comment.original_line))?.to_owned())
}

/// Every finding of every finished run, to look up what a comment is about.
pub fn findings(timelines: &[Timeline]) -> Vec<Finding> {
    timelines
        .iter()
        .flat_map(|timeline| &timeline.jobs)
        .flat_map(|job| &job.runs)
        .flat_map(|run| &run.steps)
        .filter(|step| step.name == "master")
        .filter_map(|step| serde_json::from_value::<ReviewReport>(step.artifact.clone()?).ok())
        .flat_map(|report| report.findings)
        .collect()
}
