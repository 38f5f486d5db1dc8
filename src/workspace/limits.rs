//! How much of a stranger's repository we are willing to look at.

use std::time::Duration;

/// Every cap of the room. What a cap cuts off is reported, never dropped in silence.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Opening a connection to the git server.
    pub connect: Duration,
    /// The server may stay silent this long.
    pub idle: Duration,
    /// One whole `pull`, with every deepening; one `branch`; one `push`.
    pub total: Duration,
    /// Bytes of one server answer that lists its refs, or reports on a push.
    pub advertisement: u64,
    /// Bytes of one pack.
    pub pack_bytes: u64,
    /// Bytes of all objects of one push, before they are packed.
    pub push_bytes: u64,
    /// Objects of one pack.
    pub pack_objects: usize,
    /// A mirror with more packs or bytes than this is started anew.
    pub mirror_packs: usize,
    pub mirror_bytes: u64,
    /// The same for objects of ours that lie there one by one.
    pub mirror_loose: usize,
    /// Commits asked for at first; ten times as many each time no merge base is among them.
    pub first_depth: i32,
    /// Changed files that get hunks.
    pub files: usize,
    /// One file, on either side.
    pub file_bytes: u64,
    /// Lines of one file's hunks.
    pub file_lines: usize,
    /// Lines of all hunks together: each is held several times over while it is worked on, however short it is.
    pub diff_lines: usize,
    /// Both sides of all changed files together.
    pub diff_bytes: u64,
    /// Tree entries visited in one walk.
    pub entries: usize,
    /// Folders within folders.
    pub depth: usize,
    /// One tree object.
    pub tree_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            total: Duration::from_secs(600),
            advertisement: 64 << 20,
            pack_bytes: 2 << 30,
            push_bytes: 128 << 20,
            pack_objects: 5_000_000,
            mirror_packs: 64,
            mirror_bytes: 4 << 30,
            mirror_loose: 20_000,
            first_depth: 50,
            files: 3_000,
            file_bytes: 1 << 20,
            file_lines: 20_000,
            diff_lines: 200_000,
            diff_bytes: 64 << 20,
            entries: 300_000,
            depth: 128,
            tree_bytes: 16 << 20,
        }
    }
}
