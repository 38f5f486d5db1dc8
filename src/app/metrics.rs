//! What `/metrics` says: the meter's counts, and what is read of rows, files and the process when somebody asks.

use std::time::Duration;

use tokio::time::Instant;

use super::App;
use crate::domain::Job;
use crate::meter::{Format, Process, Snapshot};

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
            process: process(),
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
fn process() -> Process {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/self/{file}")).ok();
    Process {
        cpu: read("stat").and_then(|text| cpu_seconds(&text)),
        resident_bytes: read("status").and_then(|text| field(&text, "VmRSS:")).map(|kib| kib * 1024),
        // The listing holds one open itself.
        open_fds: std::fs::read_dir("/proc/self/fd").ok().map(|files| (files.count() as u64).saturating_sub(1)),
        max_fds: read("limits").and_then(|text| field(&text, "Max open files")),
    }
}

/// `utime` and `stime`, the twelfth and thirteenth field after the name, which stands in brackets and may hold anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut ticks = rest.split_whitespace().skip(11);
    let (user, system): (u32, u32) = (ticks.next()?.parse().ok()?, ticks.next()?.parse().ok()?);
    let per_second = u32::try_from(rustix::param::clock_ticks_per_second()).ok().filter(|ticks| *ticks > 0)?;
    Some((f64::from(user) + f64::from(system)) / f64::from(per_second))
}

/// The first number after a name.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_is_read_behind_any_name() {
        let stat = "42 (odd) 1 2) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 100 1 1";
        let ticks = rustix::param::clock_ticks_per_second();
        assert_eq!(cpu_seconds(stat).map(|s| (s * ticks as f64).round()), Some(300.0));
        assert_eq!(cpu_seconds("nonsense"), None);
    }

    #[test]
    fn this_process_has_memory_and_open_files() {
        if cfg!(target_os = "linux") {
            let process = process();
            assert!(process.resident_bytes > Some(1_000_000) && process.open_fds > Some(2), "{process:?}");
            assert!(process.max_fds >= process.open_fds && process.cpu.is_some(), "{process:?}");
        }
    }
}
