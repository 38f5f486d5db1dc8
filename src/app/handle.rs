//! One match over `Job`: what a leased job becomes.

use std::time::Duration;

use crate::config::{CONFIG_PATH, RepoConfig};
use crate::domain::{Class, DeliveryId, Event, Job, Millis, PullNumber, RepoName, ReviewTarget, Sender};
use crate::github::{self, payload::Parsed};
use crate::queue::{Failure, Leased};
use crate::router::{self, Route};
use crate::store::{DeliveryState, Enqueued, NewJob};

use super::{App, Error};

/// So long GitHub may take to show everywhere what its webhook has announced.
const NOT_SHOWN_YET: Millis = 30_000;

/// A repository's configuration, and what to tell its readers when it could not be used.
pub struct Configured {
    pub config: RepoConfig,
    pub notice: Option<String>,
}

impl App {
    pub(super) async fn handle(&self, leased: Leased) -> Result<(), Failure> {
        let done = match &leased.job {
            Job::Delivery { guid } => self.delivery(guid).await,
            Job::Review(target) => self.review(target, &leased).await,
            Job::Command(_) | Job::Fix(_) | Job::Contribute(_) => Err(Error::Overtaken("not yet".into())),
        };
        done.map_err(|error| {
            let class = self.class(&error, &leased);
            let message = error.chain();
            match class {
                Class::Cancelled => tracing::info!(job.id = %leased.id, "job ended early: {message}"),
                _ => tracing::warn!(job.id = %leased.id, job.attempt = leased.attempt, "job failed: {message}"),
            }
            Failure { class, message }
        })
    }

    /// What becomes of the job: the error's own class, unless the job is not to blame.
    pub(super) fn class(&self, error: &Error, leased: &Leased) -> Class {
        let age = self.store.clock().now().saturating_sub(leased.created_at);
        let not_to_blame = error.is_outage() || (error.is_missing() && age < NOT_SHOWN_YET);
        match outage(age).filter(|_| not_to_blame) {
            Some(wait) => Class::Snooze(wait),
            None => error.class(),
        }
    }

    async fn delivery(&self, guid: &DeliveryId) -> Result<(), Error> {
        let Some(row) = self.store.delivery(guid).await? else {
            return Err(Error::Overtaken(format!("delivery {guid} is no longer stored")));
        };
        let (state, reason) = match github::payload::parse(&row.event, &row.body) {
            Parsed::Events(events) => self.events(guid, &events).await?,
            Parsed::Ignored(reason) => (DeliveryState::Ignored, reason),
            Parsed::Malformed(reason) => (DeliveryState::Quarantined, reason),
        };
        tracing::info!(delivery.id = %guid, event = row.event, "delivery {}: {reason}", state.as_str());
        self.store.settle_delivery(guid, state, Some(&reason)).await?;
        Ok(())
    }

    /// A re-run check suite may belong to several pull requests; the delivery was handled if one of them was.
    async fn events(&self, guid: &DeliveryId, events: &[Event]) -> Result<(DeliveryState, String), Error> {
        let (mut state, mut reasons) = (DeliveryState::Ignored, Vec::new());
        for event in events {
            let (of_this, reason) = self.event(guid, event).await?;
            if of_this == DeliveryState::Handled {
                state = of_this;
            }
            reasons.push(reason);
        }
        Ok((state, reasons.join("; ")))
    }

    async fn event(&self, guid: &DeliveryId, event: &Event) -> Result<(DeliveryState, String), Error> {
        let ours = self.identity().await?.bot_login.clone();
        let sender = sender(event);
        if sender.bot && sender.login == ours {
            return Ok((DeliveryState::Ignored, "caused by ourselves".into()));
        }
        let (repo, default_branch) = match event {
            Event::Pull(pull) => {
                (self.github.repo(pull.installation, pull.repository, pull.repo.clone()), Some(&pull.default_branch))
            }
            Event::Rerequested { installation, repository, repo, .. } => {
                (self.github.repo(*installation, *repository, repo.clone()), None)
            }
            Event::Issue(_) | Event::Comment(_) | Event::Installation(_) => {
                return Ok((DeliveryState::Ignored, "not yet".into()));
            }
        };
        let configured = self.configuration(&repo, default_branch.map(String::as_str)).await?;
        match router::route(&configured.config, event) {
            Route::Ignore(reason) => Ok((DeliveryState::Ignored, reason)),
            Route::Cancel { group, reason } => {
                // The word may come late, or again: what GitHub says now counts.
                if let Some(pull) = still_there(repo.pull(number(event)).await)?
                    && pull.is_open()
                    && (!pull.draft || configured.config.review_drafts)
                {
                    return Ok((DeliveryState::Ignored, format!("{reason}, but it is not so any more")));
                }
                let ended = self.store.cancel_group(&group, None, reason).await?;
                Ok((DeliveryState::Handled, format!("{reason}; {ended} running reviews ended")))
            }
            Route::Review(target) => self.ask_for_review(guid, target).await,
        }
    }

    async fn ask_for_review(&self, guid: &DeliveryId, target: ReviewTarget) -> Result<(DeliveryState, String), Error> {
        let job = Job::Review(target.clone());
        let key = job.unique_key();
        if !target.forced && self.reviewed_last(&target).await? {
            return Ok((DeliveryState::Ignored, format!("{key} was reviewed before")));
        }
        // Asked for by a person or by a new base, the same head is begun anew.
        let kept = (!target.forced).then_some(key.as_str());
        self.store.cancel_group(&target.group(), kept, "overtaken by a newer request").await?;
        let enqueued = self.store.enqueue(&job, self.now_because(Some(guid))).await?;
        Ok((
            DeliveryState::Handled,
            match enqueued {
                Enqueued::New(_) => key,
                Enqueued::Existing(_) => format!("{key} is under way already"),
            },
        ))
    }

    /// This head is what the pull request's last finished review was about. An older one that has come back is not:
    /// its threads may be resolved since.
    pub(super) async fn reviewed_last(&self, target: &ReviewTarget) -> Result<bool, Error> {
        let last = self.store.last_completed(&target.group()).await?;
        Ok(last.is_some_and(|job| job.unique_key == target.key()))
    }

    /// Due at once, caused by that delivery.
    pub(super) fn now_because(&self, cause: Option<&DeliveryId>) -> NewJob {
        NewJob { cause: cause.cloned(), ..NewJob::at(self.store.clock().now()) }
    }

    /// The configuration on the default branch. One that cannot be read means defaults and a notice, never silence.
    pub(super) async fn configuration(
        &self,
        repo: &github::Repo,
        default_branch: Option<&str>,
    ) -> Result<Configured, Error> {
        let text = match repo.file(CONFIG_PATH, default_branch).await {
            Ok(text) => Ok(text.unwrap_or_default()),
            Err(error @ (github::Error::NotAFile { .. } | github::Error::TooLarge { .. })) => Err(error.to_string()),
            Err(error) => return Err(error.into()),
        };
        Ok(match text.and_then(|text| RepoConfig::parse(&text)) {
            Ok(config) => Configured { config, notice: None },
            Err(problem) => Configured {
                config: RepoConfig::default(),
                notice: Some(format!(
                    "`{CONFIG_PATH}` on the default branch is not valid, so defaults apply: {problem}"
                )),
            },
        })
    }
}

/// A job is not to blame when GitHub is away: it waits as long as it has waited already, for a day. After that each
/// further failure counts as an attempt.
fn outage(age: Millis) -> Option<Duration> {
    const SHORTEST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(30 * 60);
    const PATIENCE: Duration = Duration::from_secs(24 * 3600);
    let age = Duration::from_millis(u64::try_from(age).unwrap_or(0));
    (age < PATIENCE).then(|| age.clamp(SHORTEST, LONGEST))
}

/// What is gone has no state of its own any more.
fn still_there<T>(asked: Result<T, github::Error>) -> Result<Option<T>, github::Error> {
    match asked {
        Ok(found) => Ok(Some(found)),
        Err(error) => match error.root() {
            github::Error::NotFound { .. } => Ok(None),
            _ => Err(error),
        },
    }
}

fn number(event: &Event) -> PullNumber {
    match event {
        Event::Pull(pull) => pull.number,
        Event::Rerequested { pull, .. } => *pull,
        Event::Issue(_) | Event::Comment(_) | Event::Installation(_) => PullNumber(0),
    }
}

fn sender(event: &Event) -> &Sender {
    match event {
        Event::Pull(pull) => &pull.sender,
        Event::Rerequested { sender, .. } => sender,
        Event::Issue(issue) => &issue.sender,
        Event::Comment(comment) => &comment.sender,
        Event::Installation(installation) => &installation.sender,
    }
}

/// `owner/name` as a person reads it in logs.
pub(super) fn place(repo: &RepoName, target: &ReviewTarget) -> String {
    format!("{repo}#{}@{}", target.number, target.head.short())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_waited_out_for_a_day_with_ever_longer_waits() {
        let (mut age, mut tries) = (0, 0);
        while let Some(wait) = outage(age) {
            age += Millis::try_from(wait.as_millis()).unwrap();
            tries += 1;
        }
        assert!(age >= 24 * 3_600_000 && tries < 70, "{tries} tries in {age} ms");
        assert_eq!(outage(-5_000), Some(Duration::from_secs(1)), "a clock that was set back");
    }
}
