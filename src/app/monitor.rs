//! `Job::Monitor`: what has become of a pull request that we opened for an issue, until it is merged or closed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::agent::{Monitoring, Scene};
use crate::artifact::activity::{FinalResult, ReviewActivity, WatchedState};
use crate::artifact::facts::{
    CheckFacts, CheckState, CommitFacts, GivenReview, MonitorFacts, MonitorSettings, PullFacts, ReviewState, Said,
    ThreadFacts, Who,
};
use crate::artifact::reply::About;
use crate::artifact::{Monitored, Reply};
use crate::domain::{Class, DeliveryId, Event, IssueNumber, Job, Millis, MonitorTarget, Place, PullNumber, RunId};
use crate::github::{AnyCheck, AppInfo, CheckStatus, Pull, PullCommit, Repo, Review, Thread, User};
use crate::pipeline::{self, Cycle, Watched};
use crate::publish;
use crate::queue::Leased;
use crate::router::{self, Followed, Names};
use crate::store::{Enqueued, JobState, NewJob, NewRun, RunState};

use super::contribute::shown;
use super::{App, Error};

/// Nobody waits for a look.
const PRIORITY: i32 = 5;
/// People with a verdict whose rights are asked for, the latest.
const ASKED: usize = 30;
/// An open pull request is looked at so often, in milliseconds, when nothing tells of it: silence is news, too.
const EVERY: Millis = 24 * 3_600_000;

impl App {
    /// Has a pull request of ours looked at when an event is about one; what was asked for, in words.
    pub(super) async fn tell_follower(
        &self,
        cause: Option<&DeliveryId>,
        event: &Event,
    ) -> Result<Option<String>, Error> {
        if self.unserved(event).is_some() {
            return Ok(None);
        }
        let identity = self.identity().await?;
        let Some(Followed { target, ours }) = router::followed(&Names::new(&identity.slug), identity.id, event) else {
            return Ok(None);
        };
        // A check suite tells of every pull request of the repository: only our own memory knows which are ours.
        if !ours && !self.remembers(&target.place, target.number).await? {
            return Ok(None);
        }
        self.ask_to_look(cause, target).await.map(Some)
    }

    async fn remembers(&self, place: &Place, number: PullNumber) -> Result<bool, Error> {
        Ok(self.store.proves_pull(&format!("pull/contribute/{}/", place.repository), number).await?)
    }

    /// However many events come while a look waits, one look answers them. One that is at work may have read GitHub before
    /// the event: another one waits behind it.
    async fn ask_to_look(&self, cause: Option<&DeliveryId>, target: MonitorTarget) -> Result<String, Error> {
        let new = NewJob { priority: PRIORITY, ..self.now_because(cause) };
        let job = Job::Monitor(target.clone());
        let asked = self.store.enqueue(&job, new.clone()).await?;
        let at_work = match asked {
            Enqueued::New(_) => false,
            Enqueued::Existing(id) => self.store.job(id).await?.is_some_and(|row| row.state == JobState::Running),
        };
        if !at_work {
            return Ok(super::event::under_way(asked, job.unique_key()));
        }
        let job = Job::Monitor(MonitorTarget { again: true, ..target });
        Ok(super::event::under_way(self.store.enqueue(&job, new).await?, job.unique_key()))
    }

    pub(super) async fn monitor(&self, target: &MonitorTarget, leased: &Leased) -> Result<(), Error> {
        self.may_begin(leased)?;
        let name = &target.place.repo;
        // The status is written by one at a time, be it of a contribution.
        let cycle = self.swarms.enter(name.owner(), name.name()).map_err(pipeline::Error::Shelf)?;
        let cycle = cycle.ok_or(Error::Busy)?;
        let repo = self.repo_now(&target.place).await?;
        let pull = repo.pull(target.number).await?;
        let app = self.identity().await?;
        if !self.is_contribution(app, target, &repo, &pull).await? {
            return Ok(());
        }
        let run = self
            .store
            .start_run(NewRun {
                kind: "monitor".into(),
                repository: Some(target.place.repository),
                repo: target.place.repo.clone(),
                number: Some(target.number),
                head: Some(pull.head_sha.clone()),
                job: Some(leased.id),
            })
            .await?;
        let looked = self.looked(&repo, app, pull, run, &cycle, leased).await;
        match &looked {
            Ok(activity) => {
                let outcome = outcome(activity);
                self.store.meter().run("monitor", outcome);
                let outcome = json!({ "outcome": outcome, "status": activity.current_status });
                self.store.finish_run(run, RunState::Finished, Some(&outcome), None).await?;
            }
            Err(error) => {
                self.failed_run(run, leased, error, "follow this pull request").await?;
                if self.class(error, leased) == Class::Discard {
                    shown(cycle.not_followed(target.number));
                }
            }
        }
        looked.map(drop)
    }

    /// Ours by author and marker; or by author and our own memory, where somebody has rewritten the description.
    async fn is_contribution(
        &self,
        app: &AppInfo,
        target: &MonitorTarget,
        repo: &Repo,
        pull: &Pull,
    ) -> Result<bool, Error> {
        Ok(publish::contribution_of(app, repo.id(), pull).is_some()
            || (who(app, &pull.author) == Who::Ours && self.remembers(&target.place, target.number).await?))
    }

    async fn looked(
        &self,
        repo: &Repo,
        app: &AppInfo,
        pull: Pull,
        run: RunId,
        cycle: &Cycle,
        leased: &Leased,
    ) -> Result<ReviewActivity, Error> {
        let watched = cycle.watched(pull.number).map_err(pipeline::Error::Shelf)?;
        let journal = self.journal(run);
        let number = pull.number;
        let mut facts = self.monitor_facts(repo, app, pull).await?;
        facts.earlier = watched.as_ref().and_then(|watched| watched.activity().cloned());
        let days = facts.settings.stale_pr_days;
        let cx = self.context(Scene::Monitor(Monitoring { facts: Arc::new(facts) }), &leased.cancel).await?;
        let Monitored { document, stalled } = pipeline::monitor::run(&cx, &journal).await?;
        if let Some(watched) = &watched {
            cycle.follow(watched, &document).map_err(pipeline::Error::Shelf)?;
        }
        // What is not wanted here any more says nothing.
        if !stalled.is_empty() && self.configuration(repo, None).await?.for_changes().is_ok() {
            let reply = Reply::Escalated { stalled, days };
            let intent = crate::artifact::ReplyIntent {
                number: IssueNumber(number.0),
                about: About::Escalation,
                run: Some(run),
                reply,
            };
            match self.publisher.under(&leased.lease).reply(repo, app, &intent).await {
                // A locked conversation stays silent.
                Err(error) if error.class() == Class::Discard => {
                    journal.say(&format!("the maintainers could not be told: {error}")).await?;
                }
                told => drop(told?),
            }
        }
        document.outcome.map_err(|_| pipeline::Error::NotReached { role: "reviews" }.into())
    }

    async fn monitor_facts(&self, repo: &Repo, app: &AppInfo, pull: Pull) -> Result<MonitorFacts, Error> {
        let number = pull.number;
        let now = self.store.clock().now();
        let reviews = repo.reviews(number).await?;
        let writers = self.writers(repo, app, &reviews).await?;
        let checks = repo.all_checks(&pull.head_sha).await?;
        Ok(MonitorFacts {
            now,
            reviews: reviews.into_iter().filter_map(|review| given(app, review, &writers)).collect(),
            threads: repo.threads(number).await?.into_iter().map(|thread| of_thread(app, thread)).collect(),
            comments: {
                let comments = repo.comments(IssueNumber(number.0)).await?.into_iter();
                comments.map(|comment| said(app, comment.id.0, &comment.author, comment.created_at)).collect()
            },
            commits: repo.pull_commits(number).await?.into_iter().map(|commit| of_commit(app, commit)).collect(),
            // Our own check is our word about our own work, which is no news to us.
            checks: checks.into_iter().filter(|check| check.app_id != Some(app.id)).map(of_check).collect(),
            pull: of_pull(pull),
            earlier: None,
            settings: MonitorSettings::default(),
        })
    }

    /// Which people with a verdict may write to the repository: by GitHub's word and the account's id.
    async fn writers(&self, repo: &Repo, app: &AppInfo, reviews: &[Review]) -> Result<Vec<u64>, Error> {
        let mut people: Vec<&User> = Vec::new();
        for review in reviews.iter().rev() {
            let verdict = matches!(state(&review.state), Some(ReviewState::Approved | ReviewState::ChangesRequested));
            let author = &review.author;
            if verdict && who(app, author) == Who::Person && people.iter().all(|known| known.id != author.id) {
                people.push(author);
            }
        }
        if people.len() > ASKED {
            tracing::info!("the rights of the latest {ASKED} reviewers were asked for, of {}", people.len());
        }
        let mut writers = Vec::new();
        // An account that was deleted is nobody's.
        for person in people.into_iter().filter(|person| person.id != 0).take(ASKED) {
            let role = super::event::still_there(repo.role_of(&person.login).await)?;
            if role.is_some_and(|role| role.user_id == person.id && role.writes) {
                writers.push(person.id);
            }
        }
        Ok(writers)
    }

    /// Has those pull requests looked at that changed without a word to us, that ended, or whose silence has to be measured.
    pub(super) async fn sweep_watched(&self, repo: &Repo, place: &Place) -> Result<usize, Error> {
        let watched = self.swarms.watched(place.repo.owner(), place.repo.name()).map_err(pipeline::Error::Shelf)?;
        let ended = |pull: &Watched| matches!(pull.result(), Some(FinalResult::Merged | FinalResult::Closed));
        // Merged is for ever; what was closed may be open again.
        if watched.iter().all(|pull| pull.result() == Some(FinalResult::Merged)) {
            return Ok(0);
        }
        let open = repo.pulls_open().await?;
        let open: BTreeMap<PullNumber, Millis> = open.iter().map(|pull| (pull.number, pull.updated_at)).collect();
        let now = self.store.clock().now();
        let mut found = 0;
        for pull in watched {
            let is_due = match (open.get(&pull.number), pull.looked_at()) {
                (None, _) => !ended(&pull),
                (Some(_), None) => true,
                (Some(updated), Some(looked)) => {
                    *updated > looked || (pull.result().is_none() && now - looked >= EVERY)
                }
            };
            if is_due {
                let target = MonitorTarget { place: place.clone(), number: pull.number, again: false };
                self.ask_to_look(None, target).await?;
                found += 1;
            }
        }
        Ok(found)
    }
}

fn outcome(activity: &ReviewActivity) -> &'static str {
    match activity.final_outcome.as_ref().and_then(|outcome| outcome.result) {
        None => "watched",
        Some(FinalResult::Merged) => "merged",
        Some(FinalResult::Closed) => "closed",
        Some(FinalResult::Abandoned) => "abandoned",
        Some(FinalResult::Escalated) => "escalated",
    }
}

/// The account type is what counts: anybody may have a login that looks like ours.
fn who(app: &AppInfo, user: &User) -> Who {
    match user.bot {
        true if user.login == app.bot_login => Who::Ours,
        true => Who::Bot,
        false => Who::Person,
    }
}

fn of_pull(pull: Pull) -> PullFacts {
    PullFacts {
        state: match (pull.merged, pull.is_open()) {
            (true, _) => WatchedState::Merged,
            (false, true) => WatchedState::Open,
            (false, false) => WatchedState::Closed,
        },
        url: pull.url,
        number: pull.number.0,
        head: pull.head_sha,
        created_at: pull.created_at,
        ended_at: pull.closed_at,
        merged_by: pull.merged_by,
        merge_commit: pull.merge_commit,
    }
}

fn of_commit(app: &AppInfo, commit: PullCommit) -> CommitFacts {
    let who = commit.author.as_ref().map_or(Who::Person, |author| who(app, author));
    CommitFacts {
        sha: commit.sha,
        by: commit.author.map_or(commit.name, |author| author.login),
        who,
        at: commit.committed_at,
    }
}

fn state(text: &str) -> Option<ReviewState> {
    Some(match text {
        "COMMENTED" => ReviewState::Commented,
        "APPROVED" => ReviewState::Approved,
        "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
        "DISMISSED" => ReviewState::Dismissed,
        // `PENDING` is its author's draft.
        _ => return None,
    })
}

fn given(app: &AppInfo, review: Review, writers: &[u64]) -> Option<GivenReview> {
    Some(GivenReview {
        id: review.id,
        who: who(app, &review.author),
        state: state(&review.state)?,
        writes: writers.contains(&review.author.id),
        by: review.author.login,
        at: review.submitted_at?,
        url: review.url,
    })
}

fn said(app: &AppInfo, id: u64, author: &User, at: Millis) -> Said {
    Said { id, by: author.login.clone(), who: who(app, author), at }
}

/// GraphQL gives an App's login without `[bot]`.
fn of_thread(app: &AppInfo, thread: Thread) -> ThreadFacts {
    let comments = thread.comments.into_iter().map(|comment| {
        let full = |login: String| if login.ends_with("[bot]") { login } else { format!("{login}[bot]") };
        let login = if comment.bot { full(comment.login) } else { comment.login };
        said(app, comment.database_id.unwrap_or(0), &User { id: 0, login, bot: comment.bot }, comment.created_at)
    });
    ThreadFacts { resolved: thread.resolved, comments: comments.collect() }
}

fn of_check(check: AnyCheck) -> CheckFacts {
    let state = match (check.status, check.conclusion.as_deref()) {
        (CheckStatus::Completed, Some("success" | "neutral" | "skipped")) => CheckState::Passed,
        // `failure`, `timed_out`, `cancelled`, `action_required`, `startup_failure`, `stale`.
        (CheckStatus::Completed, _) => CheckState::Failed,
        (CheckStatus::Queued | CheckStatus::InProgress | CheckStatus::Other, _) => CheckState::Pending,
    };
    CheckFacts { name: check.name, state, at: check.completed_at }
}
