//! `Job::Review`: facts in, flow, intents out.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::handle::place;
use super::{App, Error, lint};
use crate::agent::{Context, Pack, Reviewing, Scene};
use crate::analysis::Engine;
use crate::artifact::facts::{Linted, ReviewSettings};
use crate::artifact::{ReviewFacts, ReviewIntent, ReviewReport, Shelf};
use crate::config::RepoConfig;
use crate::domain::{Class, Coverage, Job, Outcome, ReviewTarget, RunId};
use crate::github;
use crate::mailbox::Priority;
use crate::pipeline::{self, Journal};
use crate::queue::Leased;
use crate::sandbox::Trust;
use crate::store::{Beat, NewRun, RunState};
use crate::workspace::{Change, Remote};

/// The rules. Making them ready takes a while, which nobody else should wait for.
pub(super) async fn engine() -> Result<Arc<Engine>, Error> {
    Ok(tokio::task::spawn_blocking(Engine::embedded).await.map_err(Error::died("loading the rules"))??)
}

impl App {
    /// Where a run's steps are kept: rows, and documents in the run's folder.
    pub(super) fn journal(&self, run: RunId) -> Journal {
        let folder = self.store.path().with_file_name("runs").join(run.to_string());
        Journal::kept(self.crew.clone(), self.store.clone(), run, Shelf::new(folder))
    }

    /// All that the agents of a flow may touch. The first flow makes the rules ready: a server that only waits does without
    /// their memory, and starts without their time.
    pub(super) async fn context(&self, scene: Scene, cancel: &CancellationToken) -> Result<Context, Error> {
        let engine = engine().await?;
        Ok(Context { engine, cancel: cancel.clone(), clock: self.store.clock().clone(), scene })
    }

    pub(super) async fn review(&self, target: &ReviewTarget, leased: &Leased) -> Result<(), Error> {
        let named = self.github.repo(target.installation, target.repository, target.repo.clone());
        // Where the new name cannot be learned, the work itself will say what is wrong.
        let repo = self.renamed(&named).await.unwrap_or(named);
        let run = self
            .store
            .start_run(NewRun {
                kind: "review".into(),
                repository: Some(target.repository),
                repo: target.repo.clone(),
                number: Some(target.number),
                head: Some(target.head.clone()),
                job: Some(leased.id),
            })
            .await?;
        let reviewed = self.reviewed(&repo, target, run, leased).await;
        match &reviewed {
            Ok(outcome) => {
                self.store.meter().run("review", counted(outcome));
                let outcome = serde_json::to_value(outcome).unwrap_or_default();
                self.store.finish_run(run, RunState::Finished, Some(&outcome), None).await?;
            }
            Err(error) => {
                let cancelled = error.class() == Class::Cancelled;
                let state = if cancelled { RunState::Cancelled } else { RunState::Failed };
                self.store.meter().run("review", state.as_str());
                self.store.finish_run(run, state, None, Some(&error.chain())).await?;
                self.last_word(&repo, target, run, leased, error).await?;
            }
        }
        reviewed.map(|_| ())
    }

    /// What GitHub is told when an attempt ended without a review: nothing while another attempt may follow.
    async fn last_word(
        &self,
        repo: &github::Repo,
        target: &ReviewTarget,
        run: RunId,
        leased: &Leased,
        error: &Error,
    ) -> Result<(), Error> {
        let stopped = leased.cancel.is_cancelled();
        match (self.store.lease_state(&leased.lease).await?, self.class(error, leased)) {
            // Another worker has the job, and the word.
            (Beat::Lost, _) => {}
            (Beat::CancelRequested, _) => self.abandon_check(repo, target, run, error).await,
            // This process is stopping; the job goes on after it.
            (Beat::Alive, Class::Cancelled) if stopped => {}
            (Beat::Alive, Class::Cancelled) => {
                self.abandon_check(repo, target, run, error).await;
                self.ask_for_newer(repo, target, leased).await?;
            }
            (Beat::Alive, Class::Discard) => self.could_not_review(repo, target, run, error).await,
            (Beat::Alive, Class::Retry | Class::RetryAfter(_) | Class::Snooze(_)) => {}
        }
        Ok(())
    }

    /// The push that we should have heard of may be late or lost: the review of its head is asked for here.
    async fn ask_for_newer(&self, repo: &github::Repo, target: &ReviewTarget, leased: &Leased) -> Result<(), Error> {
        let pull = repo.pull(target.number).await?;
        if !pull.is_open() || pull.head_sha == target.head {
            return Ok(());
        }
        let newer = ReviewTarget { head: pull.head_sha, base_ref: pull.base_ref, ..target.clone() };
        if newer.forced || !self.reviewed_last(&newer).await? {
            self.store.enqueue(&Job::Review(newer), self.now_because(leased.cause.as_ref())).await?;
        }
        Ok(())
    }

    async fn reviewed(
        &self,
        repo: &github::Repo,
        target: &ReviewTarget,
        run: RunId,
        leased: &Leased,
    ) -> Result<Outcome, Error> {
        self.may_begin(leased)?;
        let pull = repo.pull(target.number).await?;
        if !pull.is_open() {
            return Err(Error::Overtaken("the pull request is closed".into()));
        }
        if pull.head_sha != target.head {
            return Err(Error::Overtaken(format!("the head is {} now", pull.head_sha.short())));
        }
        let (publisher, cancel) = (self.publisher.under(&leased.lease), &leased.cancel);
        let urgency = if target.forced { Priority::High } else { Priority::Normal };
        let journal = self.journal(run).about(format!("{}#{}", target.repo, target.number), urgency);
        tracing::info!(run.id = %run, "reviewing {}", place(&target.repo, target));
        journal.say(&format!("reviewing {}", place(&target.repo, target))).await?;
        let identity = self.identity().await?;
        let configured = self.configuration(repo, None).await?;
        let check = publisher.begin(repo, identity, target, run).await?;
        let watched = publisher.open_threads(repo, identity, target.number).await?;

        let credential = repo.credential().await?;
        let remote = Remote { repository: target.repository, url: repo.clone_url(), credential: Some(credential) };
        let change = self.mirrors.pull(remote, target.number, &target.head, &pull.base_ref, cancel).await?;
        journal.say("both sides fetched").await?;
        let settings = settings(&configured.config);
        let watched = watched.into_iter().map(|thread| thread.path).collect();
        let mut scene = scene(change, target.repo.to_string(), watched, settings).await?;
        let fork = pull.head_repo != Some(target.repository);
        let trust = if fork { Trust::Stranger(target.number.0) } else { Trust::Default };
        let repository = target.repository.to_string();
        let linted = lint::linted(&self.bench, (&repository, trust), &scene, &configured.config, cancel).await?;
        if !linted.runs.is_empty() {
            journal.say(&lint::said(&linted)).await?;
        }
        scene.facts = Arc::new(ReviewFacts { linted, ..(*scene.facts).clone() });
        let cx = self.context(Scene::Review(scene.clone()), cancel).await?;
        let report = pipeline::review::run(&cx, &journal).await?;

        if cancel.is_cancelled() {
            return Err(Error::Overtaken("cancelled before anything was posted".into()));
        }
        let outcome = report.outcome.clone();
        let intent = intent(target, &pull, run, &scene, report, &configured.config, configured.notice());
        let published = publisher.review(repo, identity, &intent).await?;
        publisher.conclude(repo, identity, &intent, check, &published).await?;
        journal.say(&published.summary()).await?;
        // Not before all is said: an attempt that fails on the way has its findings told by another one.
        for finding in &intent.report.findings {
            self.store.meter().finding(finding.category, finding.severity);
        }
        Ok(outcome)
    }

    /// A head that was overtaken keeps no check run that spins for ever. Best effort, the job has ended anyway.
    async fn abandon_check(&self, repo: &github::Repo, target: &ReviewTarget, run: RunId, error: &Error) {
        let abandoned = async {
            let identity = self.identity().await?;
            Ok::<_, Error>(self.publisher.abandon(repo, identity, target, run, &error.to_string()).await?)
        };
        if let Err(second) = abandoned.await {
            tracing::warn!(run.id = %run, "the overtaken check could not be ended: {}", second.chain());
        }
    }

    /// The last word when a review will not be tried again: the check says so. Best effort, the job has failed anyway.
    async fn could_not_review(&self, repo: &github::Repo, target: &ReviewTarget, run: RunId, error: &Error) {
        let said = async {
            let identity = self.identity().await?;
            let configured = self.configuration(repo, None).await?;
            let check = self.publisher.begin(repo, identity, target, run).await?;
            let reason = match error.hint() {
                Some(hint) => format!("{error}. {hint}"),
                None => error.chain(),
            };
            let reason = self.without_paths(&reason);
            let intent = ReviewIntent {
                target: target.clone(),
                run,
                // Nothing was compared: there is no file to anchor anything in.
                base: target.head.clone(),
                files: Vec::new(),
                report: ReviewReport {
                    findings: Vec::new(),
                    present: Default::default(),
                    settled_paths: Default::default(),
                    silent: Default::default(),
                    coverage: Coverage::default(),
                    outcome: Outcome::CouldNotReview { reason },
                },
                notices: configured.notice().into_iter().collect(),
                fail_on: configured.config.fail_on.severity(),
                on_unreviewed: configured.config.on_unreviewed,
            };
            self.publisher.conclude(repo, identity, &intent, check, &Default::default()).await?;
            Ok::<_, Error>(())
        };
        if let Err(second) = said.await {
            tracing::warn!(run.id = %run, "the check could not be concluded either: {}", second.chain());
        }
    }
}

fn counted(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Clean => "clean",
        Outcome::Findings { .. } => "findings",
        Outcome::NothingToReview { .. } => "nothing-to-review",
        Outcome::CouldNotReview { .. } => "could-not-review",
    }
}

fn intent(
    target: &ReviewTarget,
    pull: &github::Pull,
    run: RunId,
    scene: &Reviewing,
    report: ReviewReport,
    config: &RepoConfig,
    notice: Option<String>,
) -> ReviewIntent {
    ReviewIntent {
        target: ReviewTarget { base_ref: pull.base_ref.clone(), ..target.clone() },
        run,
        base: scene.facts.base.clone(),
        files: scene.facts.files.clone(),
        report,
        notices: notice.into_iter().collect(),
        fail_on: config.fail_on.severity(),
        on_unreviewed: config.on_unreviewed,
    }
}

pub(super) fn settings(config: &RepoConfig) -> ReviewSettings {
    ReviewSettings { min_severity: config.min_severity, ignore: config.ignore.clone(), disable: config.disable.clone() }
}

/// What a review is about: diff, facts, an empty pack.
pub(super) async fn scene(
    change: Change,
    repo: String,
    watched: Vec<String>,
    settings: ReviewSettings,
) -> Result<Reviewing, Error> {
    let diff = change.diff().await?;
    let facts = ReviewFacts {
        repo,
        base: change.base.clone(),
        head: change.head.clone(),
        files: diff.files,
        not_read: diff.not_read,
        watched,
        settings,
        linted: Linted::default(),
    };
    Ok(Reviewing { change, facts: Arc::new(facts), pack: Arc::new(Pack::default()) })
}
