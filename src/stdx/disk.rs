//! What a folder lies on: its kind, what is free, and how long a write takes that is on the disk when it returns.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Local,
    /// Locks and shared memory do not work there as on a disk of one's own.
    Network(&'static str),
    /// Gone when the machine restarts.
    Memory,
    /// A container's own layer: gone with the container.
    Layer,
    /// The kernel's own: it holds no files of anybody's.
    Virtual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    pub kind: Kind,
    /// For whoever is not root.
    pub free_bytes: u64,
    /// `None` where files are not counted.
    pub free_files: Option<u64>,
}

/// # Errors
/// The path is not there.
pub fn of(path: &Path) -> io::Result<Disk> {
    let space = rustix::fs::statvfs(path)?;
    Ok(Disk {
        kind: if space.f_blocks == 0 { Kind::Virtual } else { kind(path)? },
        free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
        free_files: (space.f_files > 0).then_some(space.f_favail),
    })
}

#[cfg(target_os = "linux")]
fn kind(path: &Path) -> io::Result<Kind> {
    // The field has another type and sign on each machine; the magic numbers have 32 bits.
    let magic = u64::try_from(i128::from(rustix::fs::statfs(path)?.f_type) & 0xffff_ffff).unwrap_or_default();
    Ok(match magic {
        0x6969 => Kind::Network("NFS"),
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => Kind::Network("SMB"),
        0x6573_5546 => Kind::Network("FUSE"),
        0x00c3_6400 => Kind::Network("Ceph"),
        0x5346_414f | 0x6b41_4653 => Kind::Network("AFS"),
        0x0102_1997 => Kind::Network("9p"),
        0x0bd0_0bd0 => Kind::Network("Lustre"),
        0x4750_4653 => Kind::Network("GPFS"),
        0x0102_1994 | 0x8584_58f6 => Kind::Memory,
        0x794c_7630 => Kind::Layer,
        _ => Kind::Local,
    })
}

#[cfg(not(target_os = "linux"))]
fn kind(_: &Path) -> io::Result<Kind> {
    Ok(Kind::Local)
}

/// What a write told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The median of a few.
    pub synced_in: Duration,
    /// Whom files that we make belong to.
    pub user: u32,
}

/// Writes as a commit does and waits until it is on the disk. The file never has a name, so none is left behind.
///
/// # Errors
/// Nothing can be written there.
pub fn probe(folder: &Path) -> io::Result<Probe> {
    const TIMES: usize = 5;
    let mut file: File = tempfile::tempfile_in(folder)?;
    let user = file.metadata()?.uid();
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let began = Instant::now();
        file.write_all(&[0x5a; 8192])?;
        file.sync_data()?;
        times.push(began.elapsed());
    }
    times.sort();
    Ok(Probe { synced_in: times[TIMES / 2], user })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        assert!(probe(folder.path()).unwrap().synced_in > Duration::ZERO);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(of(folder.path()).unwrap().free_bytes > 0);
        assert!(probe(&folder.path().join("missing")).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_lies_in_memory_is_told_from_a_disk() {
        // The kernel's own folders are neither, and take no file.
        assert!(probe(Path::new("/proc")).is_err());
        assert_eq!(of(Path::new("/proc")).unwrap().kind, Kind::Virtual);
        if Path::new("/dev/shm").is_dir() {
            assert_eq!(of(Path::new("/dev/shm")).unwrap().kind, Kind::Memory);
        }
    }
}
