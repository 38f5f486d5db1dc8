//! What `/metrics` says: the meter's counts, and what is read of rows, files and the process when somebody asks.

use std::time::Duration;

use tokio::time::Instant;

use super::App;
use crate::domain::Job;
use crate::meter::{Format, Process, Snapshot};
use crate::stdx::process;

/// Anybody who may read may ask as often as they like: rows and files are read so often and no more.
const FRESH: Duration = Duration::from_secs(1);

/// What was read last, and when.
#[derive(Debug)]
pub(super) struct Read {
    at: Instant,
    snapshot: Snapshot,
}

impl App {
    /// The text of `/metrics`.
    ///
    /// # Errors
    /// It could not be written; a database that does not answer only leaves its figures out.
    pub async fn metrics(&self, format: Format) -> Result<String, std::fmt::Error> {
        let snapshot = self.snapshot().await;
        self.store.meter().render(snapshot, format)
    }

    async fn snapshot(&self) -> Snapshot {
        let mut read = self.scraped.lock().await;
        if let Some(read) = read.as_ref().filter(|read| read.at.elapsed() < FRESH) {
            return read.snapshot.clone();
        }
        let (jobs, oldest) = (self.store.open_job_counts().await, self.store.oldest_wait().await);
        let unread = match jobs.as_ref().map(|_| ()).and(oldest.as_ref().map(|_| ())) {
            Ok(()) => false,
            Err(error) => {
                tracing::warn!("the rows could not be counted for the metrics: {error}");
                true
            }
        };
        let kind = |text: &str| Job::KINDS.into_iter().find(|kind| *kind == text);
        let snapshot = Snapshot {
            at: self.store.clock().now(),
            started_at: self.started_at,
            jobs: jobs
                .unwrap_or_default()
                .iter()
                .filter_map(|(text, state, count)| Some((kind(text)?, state.as_str(), *count)))
                .collect(),
            oldest_due: oldest.ok().flatten().map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or_default())),
            unread,
            database_bytes: [("main", self.bytes_of("")), ("wal", self.bytes_of("-wal"))],
            process: figures(),
            ..Snapshot::default()
        };
        *read = Some(Read { at: Instant::now(), snapshot: snapshot.clone() });
        snapshot
    }

    /// 0 for a file that is not there: SQLite removes its log when it is not needed.
    fn bytes_of(&self, suffix: &str) -> u64 {
        let mut path = self.store.path().as_os_str().to_owned();
        path.push(suffix);
        std::fs::metadata(path).map_or(0, |file| file.len())
    }
}

/// Figures that the system does not give are left out.
fn figures() -> Process {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/self/{file}")).ok();
    Process {
        cpu: process::cpu_seconds(),
        resident_bytes: process::resident_bytes(),
        // The listing holds one open itself.
        open_fds: std::fs::read_dir("/proc/self/fd").ok().map(|files| (files.count() as u64).saturating_sub(1)),
        max_fds: read("limits").and_then(|text| process::field(&text, "Max open files")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_open_files() {
        if cfg!(target_os = "linux") {
            let process = figures();
            assert!(process.resident_bytes > Some(1_000_000) && process.open_fds > Some(2), "{process:?}");
            assert!(process.max_fds >= process.open_fds && process.cpu.is_some(), "{process:?}");
        }
    }
}
