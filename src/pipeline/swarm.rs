//! A repository's swarm on the disk: `swarm-status.json`, the documents of the current cycle, and those of former ones under
//! `cycles/<n>/` (S2.19, A2.6). It is there to be looked at; the rows in the store are what a flow is resumed from.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::agent::Role;
use crate::artifact::Shelf;
use crate::artifact::shelf::Error;
use crate::artifact::status::{AgentState, AgentStatus, Phase, SwarmStats, SwarmStatus};
use crate::domain::Clock;
use crate::stdx::file;
use crate::stdx::text::iso8601;

pub(super) const STATUS: &str = "swarm-status.json";
/// The folder of a cycle's change: its proposal, specs, tasks and review.
const CHANGES: &str = "agentd";
/// Who stands in it, at work or not.
const KEYS: [&str; 8] = ["1-scout", "2-analyst", "3-explorer", "4-coder", "5-tester", "6-docs", "7-pr", "8-reviews"];

/// All repositories of a node, under one folder.
#[derive(Debug, Clone)]
pub struct Swarms {
    pub(super) root: PathBuf,
    clock: Clock,
    /// Repositories at whose contribution somebody works: one at a time (A2.6).
    busy: Arc<Mutex<Vec<String>>>,
}

/// One contribution's hold on its repository's swarm; letting it go lets the next one in.
#[derive(Debug)]
pub struct Cycle {
    swarms: Swarms,
    /// `owner__name`.
    name: String,
    pub(super) shelf: Shelf,
    /// As it stands on the disk; none before [`Cycle::begin`].
    status: Mutex<Option<SwarmStatus>>,
    id: String,
}

impl Swarms {
    pub fn new(root: PathBuf, clock: Clock) -> Self {
        Self { root, clock, busy: Arc::default() }
    }

    /// Takes hold of a repository's swarm; `None` while somebody else has it.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is no name of a repository.
    pub fn enter(&self, owner: &str, repo: &str) -> Result<Option<Cycle>, Error> {
        let name = folder_name(owner, repo)?;
        let mut busy = self.busy();
        if busy.contains(&name) {
            return Ok(None);
        }
        busy.push(name.clone());
        drop(busy);
        let (shelf, id) = (Shelf::new(self.root.join(&name)), format!("{owner}/{repo}"));
        Ok(Some(Cycle { swarms: self.clone(), name, shelf, status: Mutex::default(), id }))
    }

    /// Removes what a process that was killed while it wrote has left. Nobody may be at work.
    ///
    /// # Errors
    /// The first of the disk's.
    pub fn remove_unfinished(&self) -> io::Result<()> {
        let folders = match std::fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            folders => folders?,
        };
        for folder in folders {
            let folder = folder?.path();
            remove_unfinished_in(&folder)?;
            for cycle in super::watch::cycles(&folder)? {
                remove_unfinished_in(&cycle)?;
            }
        }
        Ok(())
    }

    fn busy(&self) -> MutexGuard<'_, Vec<String>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In a cycle's folder, and in those of its change.
fn remove_unfinished_in(folder: &Path) -> io::Result<()> {
    file::remove_unfinished(folder)?;
    let changes = match std::fs::read_dir(folder.join(CHANGES).join("changes")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        changes => changes?,
    };
    for change in changes {
        let change = change?.path();
        file::remove_unfinished(&change)?;
        file::remove_unfinished(&change.join("specs"))?;
    }
    Ok(())
}

impl Drop for Cycle {
    fn drop(&mut self) {
        self.swarms.busy().retain(|name| *name != self.name);
    }
}

impl Cycle {
    /// Begins a cycle for an issue, or goes on with the one that an interrupted attempt at the same issue began.
    ///
    /// # Errors
    /// The disk's.
    pub fn begin(&self, issue: &str) -> Result<(), Error> {
        self.shelf.remove_unfinished()?;
        let mut status = self.last()?.unwrap_or_else(|| fresh(&self.id));
        if !at_work_on(&status, issue) {
            if status.cycle > 0 {
                self.put_away(status.cycle)?;
            }
            status = SwarmStatus {
                cycle: status.cycle + 1,
                started_at: self.now(),
                current_issue: Some(issue.to_owned()),
                stats: status.stats,
                ..fresh(&self.id)
            };
        }
        for agent in status.agents.values_mut() {
            // Whoever ran or waited died with its process.
            if matches!(agent.status, AgentState::Running | AgentState::Waiting) {
                agent.status = AgentState::Idle;
            }
        }
        self.write(&mut self.status(), status)
    }

    /// Goes on only where an interrupted attempt at that issue was.
    ///
    /// # Errors
    /// The disk's.
    pub fn resume(&self, issue: &str) -> Result<(), Error> {
        match self.last()? {
            Some(status) if at_work_on(&status, issue) => self.begin(issue),
            _ => Ok(()),
        }
    }

    /// Where the cycle's documents lie.
    pub fn folder(&self) -> &Path {
        self.shelf.folder()
    }

    /// What a role is doing.
    ///
    /// # Errors
    /// The disk's.
    pub fn set(&self, role: Role, state: AgentState) -> Result<(), Error> {
        self.change(|status, now| {
            if state == AgentState::Running {
                status.current_phase = phase(role);
            }
            if let Some(key) = role.swarm_key() {
                let agent = status.agents.entry(key.to_owned()).or_insert_with(idle);
                agent.status = state;
                if state == AgentState::Running {
                    agent.last_run = Some(now);
                }
            }
        })
    }

    /// A document of this cycle.
    ///
    /// # Errors
    /// It is none, does not have its form, or the disk's.
    pub fn put(&self, file: &str, document: &Value) -> Result<(), Error> {
        let begun = self.status().is_some();
        if begun { self.shelf.put(file, document) } else { Ok(()) }
    }

    /// The contribution came to a pull request, which is watched from now on.
    ///
    /// # Errors
    /// The disk's.
    pub fn opened(&self, pull: &str) -> Result<(), Error> {
        self.change(|status, _| {
            status.current_phase = Phase::ReviewMonitoring;
            status.current_pr = Some(pull.to_owned());
            let stats = &mut status.stats;
            stats.cycles_completed += 1;
            stats.prs_created += 1;
            if let Some(issue) = status.current_issue.as_ref().filter(|issue| !stats.issues_contributed.contains(issue))
            {
                stats.issues_contributed.push(issue.clone());
            }
        })
    }

    /// The contribution came to its end without a pull request.
    ///
    /// # Errors
    /// The disk's.
    pub fn ended(&self) -> Result<(), Error> {
        self.change(|status, _| {
            status.current_phase = Phase::Idle;
            status.stats.cycles_completed += 1;
        })
    }

    fn change(&self, change: impl FnOnce(&mut SwarmStatus, String)) -> Result<(), Error> {
        let mut kept = self.status();
        let Some(mut status) = kept.clone() else { return Ok(()) };
        change(&mut status, self.now());
        self.write(&mut kept, status)
    }

    fn write(&self, kept: &mut Option<SwarmStatus>, status: SwarmStatus) -> Result<(), Error> {
        self.shelf.write(STATUS, &status)?;
        *kept = Some(status);
        Ok(())
    }

    /// The status on the disk; one that cannot be read is put away with its cycle's documents and begun anew.
    pub(super) fn last(&self) -> Result<Option<SwarmStatus>, Error> {
        match self.shelf.read(STATUS) {
            Err(Error::Disk(error)) => Err(Error::Disk(error)),
            found => Ok(found.unwrap_or_default()),
        }
    }

    /// The documents of a cycle that is over, and the status as it stood at its end.
    fn put_away(&self, cycle: u64) -> Result<(), Error> {
        let to = self.shelf.folder().join("cycles").join(cycle.to_string());
        file::private_dir(&to)?;
        for entry in std::fs::read_dir(self.shelf.folder())? {
            let entry = entry?;
            let (name, is_file) = (entry.file_name(), entry.file_type()?.is_file());
            if !is_file || Path::new(&name).extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            if name == STATUS {
                std::fs::copy(entry.path(), to.join(name))?;
            } else {
                std::fs::rename(entry.path(), to.join(name))?;
            }
        }
        let documents = self.shelf.folder().join(CHANGES);
        if documents.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            let to = to.join(CHANGES);
            // A cycle of that number may have been put away before the status was begun anew.
            if to.exists() {
                std::fs::remove_dir_all(&to)?;
            }
            std::fs::rename(documents, to)?;
        }
        Ok(())
    }

    fn status(&self) -> MutexGuard<'_, Option<SwarmStatus>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> String {
        iso8601(self.swarms.clock.now())
    }
}

fn at_work_on(status: &SwarmStatus, issue: &str) -> bool {
    let working = !matches!(status.current_phase, Phase::Idle | Phase::ReviewMonitoring);
    working && status.current_issue.as_deref() == Some(issue)
}

pub(super) fn idle() -> AgentStatus {
    AgentStatus { status: AgentState::Idle, last_run: None }
}

fn fresh(id: &str) -> SwarmStatus {
    let agents: BTreeMap<String, AgentStatus> = KEYS.iter().map(|key| ((*key).to_owned(), idle())).collect();
    SwarmStatus {
        swarm_id: id.to_owned(),
        cycle: 0,
        started_at: String::new(),
        current_phase: Phase::Idle,
        agents,
        current_issue: None,
        current_pr: None,
        stats: SwarmStats::default(),
    }
}

/// In which phase a role works.
fn phase(role: Role) -> Phase {
    match role {
        Role::Scout => Phase::Discovery,
        Role::Manager | Role::Analyst => Phase::Analysis,
        Role::Explorer | Role::Planner => Phase::Exploration,
        Role::Coder
        | Role::Tester
        | Role::Docs
        | Role::Master
        | Role::Documentation
        | Role::Debt
        | Role::Improvement
        | Role::Critical => Phase::Development,
        Role::Pr => Phase::PrCreation,
        Role::Reviews => Phase::ReviewMonitoring,
    }
}

/// `owner__name` in lower case (A2.7): an owner's login holds no `__`, so no two repositories meet.
pub(super) fn folder_name(owner: &str, repo: &str) -> io::Result<String> {
    let plain = |part: &str| {
        !part.is_empty()
            && part.len() <= 100
            && part != "."
            && part != ".."
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    if plain(owner) && plain(repo) && !owner.contains("__") {
        return Ok(format!("{owner}__{repo}").to_lowercase());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{owner}/{repo}` is no name of a repository")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ISSUE: &str = "https://github.example/o/r/issues/7";
    const PULL: &str = "https://github.example/o/r/pull/8";

    fn swarms() -> (tempfile::TempDir, Swarms) {
        let dir = tempfile::tempdir().unwrap();
        let swarms = Swarms::new(dir.path().to_owned(), Clock::manual(1_792_000_000_000));
        (dir, swarms)
    }

    /// The least that a document may be.
    fn failed() -> Value {
        json!({ "agent": "agent-1-scout", "timestamp": "2026-11-21T10:00:00Z", "status": "failed", "errors": [] })
    }

    fn status(dir: &tempfile::TempDir, path: &str) -> SwarmStatus {
        serde_json::from_slice(&std::fs::read(dir.path().join(path)).unwrap()).unwrap()
    }

    #[test]
    fn s2_19_the_status_tells_phase_agents_issue_and_pull_request() {
        let (dir, swarms) = swarms();
        let cycle = swarms.enter("Octo", "Shop").unwrap().unwrap();
        cycle.begin(ISSUE).unwrap();
        cycle.set(Role::Scout, AgentState::Running).unwrap();
        let now = status(&dir, "octo__shop/swarm-status.json");
        assert_eq!((now.swarm_id.as_str(), now.cycle, now.current_phase), ("Octo/Shop", 1, Phase::Discovery));
        assert_eq!(now.agents["1-scout"].status, AgentState::Running);
        assert_eq!(now.agents["1-scout"].last_run.as_deref(), Some(now.started_at.as_str()));
        assert_eq!(now.agents["4-coder"], idle());
        cycle.set(Role::Scout, AgentState::Completed).unwrap();
        cycle.put("current-issue.json", &failed()).unwrap();
        cycle.set(Role::Coder, AgentState::Failed).unwrap();
        cycle.opened(PULL).unwrap();
        let now = status(&dir, "octo__shop/swarm-status.json");
        assert_eq!((now.current_phase, now.current_pr.as_deref()), (Phase::ReviewMonitoring, Some(PULL)));
        assert_eq!((now.stats.prs_created, now.stats.issues_contributed.as_slice()), (1, &[ISSUE.to_owned()][..]));
        assert_eq!(now.agents["4-coder"].status, AgentState::Failed);
    }

    #[test]
    fn one_issue_of_a_repository_at_a_time_and_others_beside_it() {
        let (_dir, swarms) = swarms();
        let first = swarms.enter("o", "r").unwrap().unwrap();
        assert!(swarms.enter("O", "R").unwrap().is_none(), "GitHub's names know no case");
        assert!(swarms.enter("o", "other").unwrap().is_some());
        drop(first);
        assert!(swarms.enter("o", "r").unwrap().is_some());
    }

    #[test]
    fn the_next_issue_finds_an_empty_table_and_the_last_cycle_is_kept() {
        let (dir, swarms) = swarms();
        let cycle = swarms.enter("o", "r").unwrap().unwrap();
        cycle.begin(ISSUE).unwrap();
        cycle.put("current-issue.json", &failed()).unwrap();
        file::write_atomic(&dir.path().join("o__r/agentd/changes/x/proposal.md"), b"").unwrap();
        cycle.ended().unwrap();
        cycle.begin("another").unwrap();
        assert!(!dir.path().join("o__r/agentd").exists());
        assert!(dir.path().join("o__r/cycles/1/agentd/changes/x/proposal.md").exists());
        assert!(!dir.path().join("o__r/current-issue.json").exists());
        assert!(dir.path().join("o__r/cycles/1/current-issue.json").exists());
        let (then, now) = (status(&dir, "o__r/cycles/1/swarm-status.json"), status(&dir, "o__r/swarm-status.json"));
        assert_eq!((then.cycle, then.current_issue.as_deref()), (1, Some(ISSUE)));
        assert_eq!((now.cycle, now.current_issue.as_deref(), now.stats.cycles_completed), (2, Some("another"), 1));
    }

    #[test]
    fn a_killed_attempt_is_gone_on_with_and_counts_once() {
        let (dir, swarms) = swarms();
        let cycle = swarms.enter("o", "r").unwrap().unwrap();
        cycle.begin(ISSUE).unwrap();
        cycle.set(Role::Coder, AgentState::Running).unwrap();
        drop(cycle);
        let again = swarms.enter("o", "r").unwrap().unwrap();
        again.begin(ISSUE).unwrap();
        let now = status(&dir, "o__r/swarm-status.json");
        assert_eq!((now.cycle, now.agents["4-coder"].status), (1, AgentState::Idle));
        // It opened the pull request and was killed before it could say so.
        drop(again);
        let third = swarms.enter("o", "r").unwrap().unwrap();
        third.resume(ISSUE).unwrap();
        third.opened(PULL).unwrap();
        let now = status(&dir, "o__r/swarm-status.json");
        assert_eq!((now.cycle, now.stats.prs_created, now.stats.cycles_completed), (1, 1, 1));
        drop(third);
        // Asked again when all is done: nothing to resume, nothing to count.
        let fourth = swarms.enter("o", "r").unwrap().unwrap();
        fourth.resume(ISSUE).unwrap();
        fourth.opened(PULL).unwrap();
        assert_eq!(status(&dir, "o__r/swarm-status.json"), now);
    }

    #[test]
    fn a_status_that_nobody_can_read_is_begun_anew() {
        let (dir, swarms) = swarms();
        for broken in ["", "{", "[]", r#"{"cycle": "x"}"#] {
            file::write_atomic(&dir.path().join("o__r/swarm-status.json"), broken.as_bytes()).unwrap();
            let cycle = swarms.enter("o", "r").unwrap().unwrap();
            cycle.begin(ISSUE).unwrap();
            assert_eq!(status(&dir, "o__r/swarm-status.json").cycle, 1, "{broken}");
        }
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        let (_dir, swarms) = swarms();
        for (owner, repo) in [("..", "r"), ("o", ".."), ("o", "a/b"), ("", "r"), ("a__b", "r"), ("o", "r\n")] {
            assert!(swarms.enter(owner, repo).is_err(), "{owner}/{repo}");
        }
    }
}
