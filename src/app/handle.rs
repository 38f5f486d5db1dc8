//! One match over `Job`: what a leased job becomes.

use std::time::Duration;

use crate::domain::{Class, Job, Millis, RepoName, ReviewTarget};
use crate::queue::{Failure, Leased};

use super::{App, Error};

/// So long GitHub may take to show everywhere what its webhook has announced.
pub(super) const NOT_SHOWN_YET: Millis = 30_000;

impl App {
    pub(super) async fn handle(&self, leased: Leased) -> Result<(), Failure> {
        let done = match &leased.job {
            // Enqueued before the account was taken off the list.
            job if owner(job).is_some_and(|owner| !self.serves(owner)) => {
                Err(Error::Overtaken("its account is not among `accounts` any more".to_owned()))
            }
            Job::Delivery { guid } => self.delivery(guid).await,
            Job::Review(target) => self.review(target, &leased).await,
            Job::Command(target) => self.command(target, &leased).await,
            Job::Fix(target) => self.fix(target, &leased).await,
            Job::Test(target) => self.test(target, &leased).await,
            Job::Contribute(target) => self.contribute(target, &leased).await,
            Job::Monitor(target) => self.monitor(target, &leased).await,
            Job::Audit(target) => self.desk.review(target, &leased).await,
        };
        done.map_err(|error| failure(self.class(&error, &leased), &error, &leased))
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
}

/// What the queue is told of a failure, and the log.
pub(super) fn failure(class: Class, error: &Error, leased: &Leased) -> Failure {
    let message = error.chain();
    match class {
        Class::Cancelled => tracing::info!(job.id = %leased.id, "job ended early: {message}"),
        _ => tracing::warn!(job.id = %leased.id, job.attempt = leased.attempt, "job failed: {message}"),
    }
    Failure { class, message }
}

/// The account whose repository the job is about.
fn owner(job: &Job) -> Option<&str> {
    Some(match job {
        Job::Delivery { .. } | Job::Audit(_) => return None,
        Job::Review(target) => target.repo.owner(),
        Job::Command(target) => target.place.repo.owner(),
        Job::Fix(target) => target.place.repo.owner(),
        Job::Test(target) => target.place.repo.owner(),
        Job::Contribute(target) => target.place.repo.owner(),
        Job::Monitor(target) => target.place.repo.owner(),
    })
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
