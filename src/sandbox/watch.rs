//! Looks after a command's processes: what they take all together, and the end when it is too much.

use std::io;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::census::{Census, Taken};
use super::output::Kept;
use super::proxy::Meter;
use super::run::{Error, Excess, io_error};
use super::{Limits, Use};

/// Between two looks at what the processes take.
const LOOK: Duration = Duration::from_millis(50);
/// Looking at the disk takes as long as the tree is large: it may have one part in so many of the time.
const DISK_SHARE: u32 = 10;
/// What the machine itself must have left, in KiB: below, the command goes before others do.
const MACHINE_MEMORY: u64 = 256 * 1024;
/// What is looked at on the disk.
pub(super) struct Work {
    paths: Vec<PathBuf>,
    before: Use,
}

impl Work {
    pub(super) fn new(paths: Vec<PathBuf>) -> io::Result<Self> {
        let mut work = Self { paths, before: Use::default() };
        work.before = work.used()?;
        Ok(work)
    }

    fn used(&self) -> io::Result<Use> {
        let mut all = Use::default();
        for path in &self.paths {
            let one = super::workplace::used(path)?;
            all.bytes += one.bytes;
            all.entries += one.entries;
            all.too_deep |= one.too_deep;
        }
        Ok(all)
    }
}

pub(super) enum Over {
    Exited(ExitStatus),
    Stopped(Excess),
}

/// Looks after the processes until none is left.
pub(super) struct Watch<'a> {
    child: Child,
    census: Census,
    work: &'a Work,
    limits: &'a Limits,
    traffic: Option<&'a Meter>,
    pub(super) peak: u64,
    pub(super) cpu: Duration,
}

impl<'a> Watch<'a> {
    pub(super) fn new(child: Child, work: &'a Work, limits: &'a Limits, traffic: Option<&'a Meter>) -> Self {
        Self { child, census: Census::default(), work, limits, traffic, peak: 0, cpu: Duration::ZERO }
    }

    pub(super) fn until_over(
        &mut self,
        began: Instant,
        cancel: &CancellationToken,
        kept: &Mutex<Kept>,
    ) -> Result<Over, Error> {
        let mut disk_due = began + LOOK;
        let mut look = Duration::from_millis(2);
        loop {
            if let Some(status) = self.child.try_wait().map_err(io_error("waiting for the sandbox"))? {
                return Ok(Over::Exited(status));
            }
            if cancel.is_cancelled() {
                self.end();
                return Err(Error::Cancelled);
            }
            if began.elapsed() >= self.limits.wall {
                return Ok(self.stop(Excess::Wall(self.limits.wall)));
            }
            let printed = kept.lock().unwrap_or_else(PoisonError::into_inner).total();
            let taken = self.census.look(self.root());
            self.peak = self.peak.max(taken.memory);
            self.cpu = self.cpu.max(taken.cpu);
            if let Some(excess) = self.excess(taken, printed) {
                return Ok(self.stop(excess));
            }
            if Instant::now() >= disk_due {
                let looked = Instant::now();
                if let Some(excess) = self.on_disk() {
                    return Ok(self.stop(excess));
                }
                disk_due = Instant::now() + (looked.elapsed() * DISK_SHARE).max(LOOK);
            }
            // Most commands are short, and a long one can wait for a look.
            thread::sleep(look);
            look = (look * 2).min(LOOK);
        }
    }

    fn excess(&self, taken: Taken, printed: u64) -> Option<Excess> {
        let limits = self.limits;
        if taken.memory > limits.memory && self.census.memory_shared_fairly().is_none_or(|fair| fair > limits.memory) {
            return Some(Excess::Memory(limits.memory));
        }
        if taken.cpu > limits.cpu {
            return Some(Excess::Cpu(limits.cpu));
        }
        if taken.processes > limits.processes {
            return Some(Excess::Processes(limits.processes));
        }
        if printed > limits.flood {
            return Some(Excess::Output(limits.flood));
        }
        if self.traffic.is_some_and(Meter::is_over) {
            return Some(Excess::Traffic(limits.traffic));
        }
        let left = std::fs::read_to_string("/proc/meminfo")
            .ok()
            .and_then(|text| crate::stdx::process::field(&text, "MemAvailable:"));
        left.is_some_and(|kib| kib < MACHINE_MEMORY).then_some(Excess::Machine)
    }

    fn on_disk(&self) -> Option<Excess> {
        let (before, limits) = (self.work.before, self.limits);
        let now = match self.work.used() {
            Ok(now) => now,
            Err(error) => {
                tracing::warn!(%error, "the work tree of a command cannot be counted");
                return None;
            }
        };
        if now.too_deep {
            Some(Excess::Depth)
        } else if now.bytes.saturating_sub(before.bytes) > limits.disk {
            Some(Excess::Disk(limits.disk))
        } else {
            (now.entries.saturating_sub(before.entries) > limits.entries).then_some(Excess::Entries(limits.entries))
        }
    }

    fn stop(&mut self, excess: Excess) -> Over {
        self.end();
        Over::Stopped(excess)
    }

    /// bubblewrap's end is the end of the first process of its namespace, and that one's of all the others'.
    fn end(&mut self) {
        // A number that was waited for may be somebody else's by now.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.census.look(self.root());
            let _ended_meanwhile = self.child.kill();
        }
        self.census.kill();
        let _reaped = self.child.wait();
    }

    fn root(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(i32::MAX)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
