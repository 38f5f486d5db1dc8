//! How much a command may take.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Of one call, all its processes together unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From the start to the end, whatever the processes do.
    pub wall: Duration,
    /// Seconds of processor time.
    pub cpu: Duration,
    /// Bytes that its processes have in memory.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Bytes of one file.
    pub file: u64,
    /// Bytes that the work tree may grow by.
    pub disk: u64,
    /// Files and folders that the work tree may grow by.
    pub entries: u64,
    /// Bytes of `/tmp`, which lies in memory and is not counted as `memory`; the home folder has as much again.
    pub tmp: u64,
    /// Bytes of output that are kept, its beginning and its end.
    pub output: usize,
    /// Bytes of output after which the command is stopped.
    pub flood: u64,
    /// Bytes to and from registries, where the command has a way to them.
    pub traffic: u64,
}

const MIB: u64 = 1 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(10 * 60),
            cpu: Duration::from_secs(20 * 60),
            memory: 3072 * MIB,
            processes: 1024,
            file: 1024 * MIB,
            disk: 4096 * MIB,
            entries: 500_000,
            tmp: 512 * MIB,
            output: MIB as usize,
            flood: 256 * MIB,
            traffic: 2048 * MIB,
        }
    }
}
