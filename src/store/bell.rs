//! Wake-ups within this process: a waiter takes an ear first and looks second, so that no ring is missed.

use tokio::sync::watch;

/// Rung after commits. It carries no data: whoever hears it looks at the rows.
#[derive(Debug)]
pub struct Bell {
    jobs: watch::Sender<u64>,
    cancels: watch::Sender<u64>,
    progress: watch::Sender<u64>,
}

/// Remembers every ring since it was taken or last heard; so does its clone.
#[derive(Debug, Clone)]
pub struct Ear(watch::Receiver<u64>);

impl Bell {
    pub(super) fn new() -> Self {
        Self { jobs: watch::Sender::new(0), cancels: watch::Sender::new(0), progress: watch::Sender::new(0) }
    }

    /// Hears of jobs that became available or ended.
    pub fn jobs(&self) -> Ear {
        Ear(self.jobs.subscribe())
    }

    /// Hears that running jobs were asked to stop.
    pub fn cancels(&self) -> Ear {
        Ear(self.cancels.subscribe())
    }

    /// Hears of progress, steps and runs.
    pub fn progress(&self) -> Ear {
        Ear(self.progress.subscribe())
    }

    pub(super) fn ring_jobs(&self) {
        self.jobs.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn ring_cancels(&self) {
        self.cancels.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn ring_progress(&self) {
        self.progress.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl Ear {
    /// Returns at once if it rang since the ear was taken or last heard; else at the next ring.
    pub async fn heard(&mut self) {
        if self.0.changed().await.is_err() {
            // The store is gone, nothing will ring again: the waiter's other branches decide.
            std::future::pending::<()>().await;
        }
    }
}
