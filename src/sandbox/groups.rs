//! Control groups, where a probe finds them ours to use: the kernel's own count of what all processes of a call take together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Limits;
use crate::stdx::process::field;

/// Bytes for what is no process's own: `/tmp`, the home folder and shared memory lie in memory too.
const BESIDE: u64 = 64 << 20;
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Where groups may be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Groups {
    version: u8,
    /// Folders of the controllers, in version 2 one for all.
    memory: Option<PathBuf>,
    processes: Option<PathBuf>,
}

/// One call's.
#[derive(Debug, Default)]
pub(super) struct Group {
    version: u8,
    memory: Option<PathBuf>,
    processes: Option<PathBuf>,
}

/// What a group says in the end.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) peak_memory: u64,
    pub(super) out_of_memory: bool,
}

impl Groups {
    /// Looks where this process is, and tries to make a group there.
    pub(super) fn find() -> Self {
        let found = Self::look();
        found.sweep();
        found
    }

    fn look() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let unified = folder(&own, &mounts, "");
        let two = unified.iter().flat_map(|at| at.ancestors().take(2)).find(|at| is_delegated(at));
        if let Some(at) = two.filter(|at| tried(at, "memory.max") && tried(at, "pids.max")) {
            return Self { version: 2, memory: Some(at.to_owned()), processes: Some(at.to_owned()) };
        }
        let one = |controller, file| folder(&own, &mounts, controller).filter(|at| tried(at, file));
        let (memory, processes) = (one("memory", "memory.limit_in_bytes"), one("pids", "pids.max"));
        let version = u8::from(memory.is_some() || processes.is_some());
        Self { version, memory, processes }
    }

    /// Removes those that a killed server left: nobody is in them any more.
    fn sweep(&self) {
        for at in [&self.memory, &self.processes].into_iter().flatten() {
            for entry in fs::read_dir(at).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let owner = name.to_str().and_then(|name| name.strip_prefix("octoswarm-")?.split('-').next());
                let is_dead = |id: &str| id.parse::<u32>().is_ok() && !Path::new("/proc").join(id).exists();
                if owner.is_some_and(is_dead) {
                    let _somebody_is_in_it = fs::remove_dir(entry.path());
                }
            }
        }
    }

    /// In words, for the doctor; `None` without any.
    pub(super) fn describe(&self) -> Option<String> {
        let parts: Vec<&str> = [(&self.memory, "memory"), (&self.processes, "processes")]
            .into_iter()
            .filter_map(|(at, name)| at.as_ref().map(|_| name))
            .collect();
        (!parts.is_empty()).then(|| format!("version {}, for {}", self.version, parts.join(" and ")))
    }

    /// A group with these limits; without one where it cannot be made, since the watch is there too.
    pub(super) fn make(&self, limits: &Limits) -> Group {
        let name = format!("octoswarm-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let make = |at: &Option<PathBuf>, files: &[(&str, u64)]| -> Option<PathBuf> {
            let path = at.as_ref()?.join(&name);
            let made = made(&path, files);
            if let Err(error) = &made {
                tracing::warn!(path = %path.display(), %error, "a control group cannot be made; the watch does without it");
                let _left = fs::remove_dir(&path);
            }
            made.is_ok().then_some(path)
        };
        let bytes = limits.memory.saturating_add(limits.tmp.saturating_mul(2)).saturating_add(BESIDE);
        if self.version == 2 {
            let files = [("memory.max", bytes), ("memory.swap.max", 0), ("pids.max", limits.processes)];
            return Group { version: 2, memory: make(&self.memory, &files), processes: None };
        }
        let memory = make(&self.memory, &[("memory.limit_in_bytes", bytes)]);
        Group { version: 1, memory, processes: make(&self.processes, &[("pids.max", limits.processes)]) }
    }
}

impl Group {
    /// Files into which whoever is to be held writes its process id.
    pub(super) fn entrances(&self) -> Vec<PathBuf> {
        [&self.memory, &self.processes].into_iter().flatten().map(|at| at.join("cgroup.procs")).collect()
    }

    /// To be called when nobody is in it any more.
    pub(super) fn close(self) -> Told {
        let Some(at) = &self.memory else { return Told::default() };
        let read = |file: &str| fs::read_to_string(at.join(file)).unwrap_or_default();
        let (peak, events) = match self.version {
            2 => ("memory.peak", "memory.events"),
            _ => ("memory.max_usage_in_bytes", "memory.oom_control"),
        };
        Told {
            peak_memory: read(peak).trim().parse().unwrap_or(0),
            out_of_memory: field(&read(events), "oom_kill ").is_some_and(|kills| kills > 0),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for at in [&self.memory, &self.processes].into_iter().flatten() {
            // The last process's end takes a moment to be noticed.
            let removed = (0..50).any(|_| {
                let gone = fs::remove_dir(at).is_ok() || !at.exists();
                if !gone {
                    std::thread::sleep(Duration::from_millis(2));
                }
                gone
            });
            if !removed {
                tracing::warn!(path = %at.display(), "a control group cannot be removed");
            }
        }
    }
}

fn made(path: &Path, files: &[(&str, u64)]) -> io::Result<()> {
    fs::create_dir(path)?;
    for (file, value) in files {
        // Systems without swap have no file for it.
        if *file == "memory.swap.max" && !path.join(file).exists() {
            continue;
        }
        fs::OpenOptions::new()
            .write(true)
            .open(path.join(file))
            .and_then(|mut opened| io::Write::write_all(&mut opened, value.to_string().as_bytes()))?;
    }
    Ok(())
}

/// Whether a group can be made here and has that file.
fn tried(at: &Path, file: &str) -> bool {
    let path = at.join(format!("octoswarm-{}-probe-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let fits = fs::create_dir(&path).is_ok() && path.join(file).exists();
    let _left = fs::remove_dir(&path);
    fits
}

/// Version 2 hands limits down only from groups without processes of their own, and only those that are switched on.
fn is_delegated(at: &Path) -> bool {
    let read = |file: &str| fs::read_to_string(at.join(file)).unwrap_or_default();
    let has = |text: &str| ["memory", "pids"].iter().all(|name| text.split_whitespace().any(|word| word == *name));
    if has(&read("cgroup.subtree_control")) {
        return true;
    }
    let free = at.join("cgroup.controllers").exists()
        && has(&read("cgroup.controllers"))
        && read("cgroup.procs").trim().is_empty();
    let switch = || {
        let mut file = fs::OpenOptions::new().write(true).open(at.join("cgroup.subtree_control"))?;
        io::Write::write_all(&mut file, b"+memory +pids")
    };
    free && switch().is_ok()
}

/// The folder of this process's group under a controller; the empty name is version 2.
fn folder(own: &str, mounts: &str, controller: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, names, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_it = if controller.is_empty() { number == "0" } else { names.split(',').any(|name| name == controller) };
        is_it.then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let (kind, _source, options) = (after.next()?, after.next()?, after.next()?);
        let is_it = match controller {
            "" => kind == "cgroup2",
            name => kind == "cgroup" && options.split(',').any(|option| option == name),
        };
        let mut fields = before.split(' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        let below = path.strip_prefix(root.trim_end_matches('/')).unwrap_or(path);
        is_it.then(|| Path::new(at).join(below.trim_start_matches('/')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_below_whatever_is_mounted() {
        let own = "9:name=systemd:/\n4:memory:/a/b\n8:pids:/\n0::/x.slice/server\n";
        let mounts = "30 24 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      31 24 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      32 24 0:28 /x.slice /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let at = |controller| folder(own, mounts, controller);
        assert_eq!(at("memory"), Some("/sys/fs/cgroup/memory/a/b".into()));
        assert_eq!(at("pids"), Some("/sys/fs/cgroup/pids/".into()));
        assert_eq!(at(""), Some("/sys/fs/cgroup/unified/server".into()));
        assert_eq!(at("cpu"), None);
    }
}
