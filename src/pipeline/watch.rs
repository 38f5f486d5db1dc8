//! What is known of the pull requests that a repository's cycles have opened. Each one's document lies with those of the
//! cycle that opened it, which may be over.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::artifact::activity::{FinalResult, ReviewActivity};
use crate::artifact::shelf::Error;
use crate::artifact::status::{AgentState, Phase, SwarmStatus};
use crate::artifact::{Content, Document, Shelf};
use crate::domain::{Millis, PullNumber};
use crate::stdx::text::parse_iso8601;

use super::swarm::{STATUS, folder_name, idle};
use super::{Cycle, Swarms};

/// A pull request that a cycle has opened.
#[derive(Debug, Clone)]
pub struct Watched {
    pub number: PullNumber,
    shelf: Shelf,
    /// Its cycle is the last one that began.
    current: bool,
    document: Option<Document<ReviewActivity>>,
}

impl Watched {
    /// What the last look found.
    pub fn activity(&self) -> Option<&ReviewActivity> {
        self.document.as_ref()?.outcome.as_ref().ok()
    }

    /// When that was.
    pub fn looked_at(&self) -> Option<Millis> {
        parse_iso8601(&self.document.as_ref()?.timestamp)
    }

    /// How it ended, as far as is known.
    pub fn result(&self) -> Option<FinalResult> {
        self.activity()?.final_outcome.as_ref()?.result
    }
}

impl Swarms {
    /// The pull requests of a repository, of its newest cycle first; each once.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is no name of a repository, or the disk's.
    pub fn watched(&self, owner: &str, repo: &str) -> Result<Vec<Watched>, Error> {
        watched(&self.root.join(folder_name(owner, repo)?))
    }
}

impl Cycle {
    /// That pull request, if a cycle of this repository has opened it.
    ///
    /// # Errors
    /// The disk's.
    pub fn watched(&self, number: PullNumber) -> Result<Option<Watched>, Error> {
        Ok(watched(self.shelf.folder())?.into_iter().find(|pull| pull.number == number))
    }

    /// Puts the document in its place, and shows in the status what it says: the watch goes on, or is over.
    ///
    /// # Errors
    /// The document does not have its form, or the disk's.
    pub fn follow(&self, pull: &Watched, document: &Document<ReviewActivity>) -> Result<(), Error> {
        pull.shelf.remove_unfinished()?;
        pull.shelf.write(ReviewActivity::FILE, document)?;
        let over = document.outcome.as_ref().is_ok_and(|activity| activity.final_outcome.is_some());
        let merged = watched(self.shelf.folder())?;
        let merged = merged.iter().filter(|pull| pull.result() == Some(FinalResult::Merged)).count();
        let Some(mut status) = self.last()? else { return Ok(()) };
        if pull.current {
            status.current_phase = if over { Phase::Idle } else { Phase::ReviewMonitoring };
            self.show(&mut status, if over { AgentState::Completed } else { AgentState::Running });
        }
        // Counted from the documents, so that a repeat counts nothing twice; folders that were removed stay counted.
        status.stats.prs_merged = status.stats.prs_merged.max(merged as u64);
        self.shelf.write(STATUS, &status)
    }

    /// Shows in the status that the pull request could not be looked at.
    ///
    /// # Errors
    /// The disk's.
    pub fn not_followed(&self, number: PullNumber) -> Result<(), Error> {
        let Some(mut status) = self.last()? else { return Ok(()) };
        if number_of(&status) != Some(number) {
            return Ok(());
        }
        self.show(&mut status, AgentState::Failed);
        self.shelf.write(STATUS, &status)
    }

    fn show(&self, status: &mut SwarmStatus, state: AgentState) {
        if let Some(key) = crate::agent::Role::Reviews.swarm_key() {
            let agent = status.agents.entry(key.to_owned()).or_insert_with(idle);
            agent.status = state;
            agent.last_run = Some(self.now());
        }
    }
}

/// The folders of cycles that are over, the newest first.
pub(super) fn cycles(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder.join("cycles")) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut numbers: Vec<u64> = Vec::new();
    for entry in entries {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    Ok(numbers.into_iter().map(|cycle| folder.join("cycles").join(cycle.to_string())).collect())
}

/// What cannot be read is as good as not there.
fn watched(folder: &Path) -> Result<Vec<Watched>, Error> {
    let former = cycles(folder)?.into_iter().map(|cycle| (cycle, false));
    let mut found: Vec<Watched> = Vec::new();
    for (folder, current) in std::iter::once((folder.to_owned(), true)).chain(former) {
        let shelf = Shelf::new(folder);
        let Some(number) = readable(shelf.read::<SwarmStatus>(STATUS))?.as_ref().and_then(number_of) else { continue };
        if found.iter().all(|other| other.number != number) {
            let document = readable(shelf.read::<Document<ReviewActivity>>(ReviewActivity::FILE))?;
            found.push(Watched { number, shelf, current, document });
        }
    }
    Ok(found)
}

fn readable<T>(read: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
    match read {
        Err(Error::Disk(error)) => Err(Error::Disk(error)),
        read => Ok(read.unwrap_or_default()),
    }
}

/// The number at the end of the address: the folder is of one repository, whatever that is called by now.
fn number_of(status: &SwarmStatus) -> Option<PullNumber> {
    let (_, number) = status.current_pr.as_ref()?.rsplit_once("/pull/")?;
    number.parse().ok().map(PullNumber)
}
