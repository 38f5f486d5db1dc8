//! Who runs below a process and what they take, read from `/proc`: for systems whose control groups are not ours to use.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::stdx::process;

/// One process below the sandbox's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    parent: i32,
    /// Clock ticks since the machine's start: with the number, who it is.
    started: u64,
    ticks: u64,
    threads: u64,
    /// Pages in memory that are its own.
    pages: u64,
}

/// All that was seen below one process.
#[derive(Debug, Default)]
pub(super) struct Census {
    /// Who was there the last time.
    members: BTreeMap<i32, Member>,
    /// Ticks of those that have gone since; what lived and died between two looks is in its parent's, once that has waited for it.
    gone: u64,
}

/// What they take together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) processes: u64,
    pub(super) cpu: Duration,
    pub(super) memory: u64,
}

impl Census {
    /// Looks again; `root` itself is bubblewrap and not counted.
    pub(super) fn look(&mut self, root: i32) -> Taken {
        let all = everybody();
        let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
        for (id, member) in &all {
            children.entry(member.parent).or_default().push(*id);
        }
        let (mut next, mut below) = (children.remove(&root).unwrap_or_default(), BTreeMap::new());
        while let Some(id) = next.pop() {
            next.extend(children.remove(&id).unwrap_or_default());
            below.extend(all.get(&id).map(|member| (id, member.clone())));
        }
        for (id, was) in &self.members {
            if below.get(id).is_none_or(|is| is.started != was.started) {
                self.gone += was.ticks;
            }
        }
        self.members = below;
        let ticks: u64 = self.gone + self.members.values().map(|member| member.ticks).sum::<u64>();
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        let pages: u64 = self.members.values().map(|member| member.pages).sum();
        Taken {
            processes: self.members.values().map(|member| member.threads).sum(),
            cpu: Duration::from_millis(ticks.saturating_mul(1000) / per_second),
            memory: pages.saturating_mul(rustix::param::page_size() as u64),
        }
    }

    /// The memory once more, with what several share counted once: slower, and for those who seem to take too much.
    pub(super) fn memory_shared_fairly(&self) -> Option<u64> {
        let mut kib = 0;
        for id in self.members.keys() {
            match fs::read_to_string(format!("/proc/{id}/smaps_rollup")) {
                Ok(text) => kib += process::field(&text, "Pss:")?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
        }
        Some(kib * 1024)
    }

    /// Kills those who were there the last time and still are who they were.
    pub(super) fn kill(&self) {
        for (id, member) in &self.members {
            let same = read(*id).is_some_and(|is| is.started == member.started);
            if let Some(process) = Pid::from_raw(*id).filter(|_| same) {
                // Who has ended meanwhile needs no killing.
                let _gone = kill_process(process, Signal::KILL);
            }
        }
    }
}

fn everybody() -> HashMap<i32, Member> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|id| Some((id, read(id)?)))
        .collect()
}

fn read(id: i32) -> Option<Member> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name stands in brackets and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number).and_then(|text| text.parse::<u64>().ok());
    let statm = fs::read_to_string(format!("/proc/{id}/statm")).unwrap_or_default();
    let mut pages = statm.split_whitespace().skip(1).map_while(|text| text.parse::<u64>().ok());
    let (resident, of_files) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    Some(Member {
        parent: fields.get(1)?.parse().ok()?,
        started: field(19)?,
        // Its own, and those of its children that it has waited for.
        ticks: (11..15).filter_map(field).sum(),
        threads: field(17)?,
        pages: resident.saturating_sub(of_files),
    })
}
