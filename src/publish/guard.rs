//! Looks before each write whether the pull request still is what the review was about.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::Error;
use crate::domain::ReviewTarget;
use crate::github::Repo;

/// One look serves the writes of the next moment.
const FRESH: Duration = Duration::from_secs(1);

pub(super) struct Guard<'a> {
    repo: &'a Repo,
    target: &'a ReviewTarget,
    looked: Mutex<Option<Instant>>,
}

impl<'a> Guard<'a> {
    pub(super) fn new(repo: &'a Repo, target: &'a ReviewTarget) -> Self {
        Self { repo, target, looked: Mutex::new(None) }
    }

    /// `Superseded` when the pull request was closed or has another head.
    pub(super) async fn check(&self) -> Result<(), Error> {
        let fresh = self.last().is_some_and(|at| at.elapsed() < FRESH);
        if fresh { Ok(()) } else { self.look().await }
    }

    /// The same, without trusting an earlier look.
    pub(super) async fn look(&self) -> Result<(), Error> {
        let pull = self.repo.pull(self.target.number).await?;
        if !pull.is_open() {
            return Err(Error::Superseded("the pull request is closed".to_owned()));
        }
        if pull.head_sha != self.target.head {
            return Err(Error::Superseded(format!(
                "the head is {} now, not {}",
                pull.head_sha.short(),
                self.target.head.short()
            )));
        }
        *self.looked.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Instant::now());
        Ok(())
    }

    fn last(&self) -> Option<Instant> {
        *self.looked.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
