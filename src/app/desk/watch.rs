//! A review as it goes on: its lines of progress, then its end.

use std::time::Duration;

use super::{Desk, Problem, Review};
use crate::domain::{JobId, Millis};
use crate::store::{Ear, JobState, ProgressRow};

/// Lines that are read at once.
const LINES: usize = 100;
/// Another process that cancels a review cannot ring here.
const LOOK: Duration = Duration::from_secs(1);

/// What is told of a review.
#[derive(Debug, Clone)]
pub enum Said {
    /// `seq` counts from 1 through all attempts at the review.
    Progress { seq: i64, at: Millis, text: String },
    /// The last that is told; never [`Review::Running`].
    Ended(Review),
}

/// Whoever follows a review. Dropped, nothing of the review changes.
pub struct Watch {
    desk: Desk,
    job: JobId,
    after: i64,
    waiting: std::collections::VecDeque<Said>,
    over: bool,
    progress: Ear,
    jobs: Ear,
}

impl Watch {
    pub(super) fn new(desk: Desk, job: JobId, after: i64) -> Self {
        let bell = desk.0.store.bell();
        // Taken before the first look: a ring between a look and the wait after it is not lost.
        let (progress, jobs) = (bell.progress(), bell.jobs());
        Self { job, after: after.max(0), waiting: Default::default(), over: false, progress, jobs, desk }
    }

    /// The next word; nothing after the last.
    ///
    /// # Errors
    /// Rows or the result cannot be read.
    pub async fn next(&mut self) -> Result<Option<Said>, Problem> {
        loop {
            if let Some(said) = self.waiting.pop_front() {
                return Ok(Some(said));
            }
            if self.over {
                return Ok(None);
            }
            self.look().await?;
            if self.waiting.is_empty() && !self.over {
                tokio::select! {
                    () = self.progress.heard() => {}
                    () = self.jobs.heard() => {}
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
        }
    }

    async fn look(&mut self) -> Result<(), Problem> {
        let store = &self.desk.0.store;
        // Before the lines: what is said after the end is not missed.
        let job = store.job(self.job).await?;
        let (mut before, mut full) = (0, false);
        for run in store.runs_of_job(self.job).await? {
            // Attempts have lines of their own, each counted from 1.
            let mut seen = 0;
            loop {
                let from = (self.after - before).max(seen);
                let lines = store.progress_since(run.id, from, LINES).await?;
                let Some(last) = lines.last() else { break };
                seen = last.seq;
                full = lines.len() == LINES;
                for ProgressRow { seq, at, text } in lines {
                    self.after = before + seq;
                    self.waiting.push_back(Said::Progress { seq: before + seq, at, text });
                }
                if full {
                    return Ok(());
                }
            }
            before += self.count(run.id, seen).await?;
        }
        let Some(job) = job else {
            self.over = true;
            return Ok(());
        };
        let over = matches!(job.state, JobState::Completed | JobState::Discarded | JobState::Cancelled);
        if over && !full {
            self.over = true;
            // Its result may be gone, while its row is kept.
            if let Some(review) = self.desk.came_to(&job).await? {
                self.waiting.push_back(Said::Ended(review));
            }
        }
        Ok(())
    }

    /// How many lines an attempt has, of which so many are known.
    async fn count(&self, run: crate::domain::RunId, known: i64) -> Result<i64, Problem> {
        let mut last = known;
        loop {
            let lines = self.desk.0.store.progress_since(run, last, LINES).await?;
            match lines.last() {
                Some(line) => last = line.seq,
                None => return Ok(last),
            }
        }
    }
}
