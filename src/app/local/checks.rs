//! The repository's own checks over its work tree, in the sandbox.

use std::path::{Path, PathBuf};

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::obeyed::Obeyed;
use crate::agent::trial::Subject;
use crate::agent::{self, checks};
use crate::app::bench::Bench;
use crate::app::{Error, contribute, trial};
use crate::config::{CONFIG_PATH, Sandboxing};
use crate::domain::Checks;
use crate::sandbox::Trust;
use crate::workspace::{self, Tree};

pub use crate::agent::checks::{Check, Kind};
pub use crate::artifact::reply::{TestedCheck, TestedOutcome};

/// The commands that a repository shows, with what is wrong with its configuration.
pub struct Commands {
    pub all: Vec<Check>,
    /// Its configuration wants none of them run.
    pub off: bool,
    pub warnings: Vec<String>,
    tree: Tree,
}

impl Commands {
    /// Reads them out of the work tree around `path`, with what is not committed. With `obey`, as the repository's own
    /// configuration says.
    ///
    /// # Errors
    /// There is no repository, or git cannot be read.
    pub async fn read(path: &Path, obey: bool) -> Result<Self, Error> {
        let tree = workspace::local::tree(path).await?;
        let obeyed = if obey { Obeyed::read(tree.read(CONFIG_PATH).await?, CONFIG_PATH)? } else { Obeyed::default() };
        let all = checks::checks(&tree, &obeyed.config.commands).await.map_err(contribute::of_agent)?;
        Ok(Self { all, off: obeyed.config.checks == Checks::Off, warnings: obeyed.warnings, tree })
    }

    /// Runs those of the given kinds, and the installation that they need; all without any. `told` hears a line about each.
    /// Dependencies are kept below `state` for the next time, and nowhere without one.
    ///
    /// # Errors
    /// The work tree cannot be read or written, or the work was cancelled. What cannot be run is an outcome.
    pub async fn run(
        &self,
        path: &Path,
        kinds: &[Kind],
        (sandbox, state): (&Sandboxing, Option<PathBuf>),
        told: UnboundedSender<String>,
        cancel: &CancellationToken,
    ) -> Result<Vec<TestedCheck>, Error> {
        let wanted = |kind: Kind| kind == Kind::Install || kinds.is_empty() || kinds.contains(&kind);
        let chosen: Vec<Check> = self.all.iter().filter(|check| wanted(check.kind)).cloned().collect();
        let bench = match state {
            Some(state) => Bench::new(sandbox, state.join("local").join("work")),
            None => Bench::passing(sandbox).map_err(agent::trial::Error::Disk)?,
        };
        // The same name in another place is another repository.
        let place = workspace::local::work_tree(path).unwrap_or_else(|| path.to_owned());
        let name = format!("local{}", place.display());
        let subject = Subject { repository: &name, tree: &self.tree, base: None, trust: Trust::Default };
        let tried = trial::tried(&bench, subject, &chosen, Some(&told), cancel).await?;
        Ok(tried.iter().map(trial::tested).collect())
    }
}
