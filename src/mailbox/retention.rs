//! What is kept how long, and how much that is (S3.28, S3.31).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::bus::Inner;
use super::layout::Name;
use super::{AgentName, Error};
use crate::domain::Millis;

const DAY: Millis = 24 * 60 * 60 * 1000;
/// `processed/` and `outbox/`, from the move or the sending on.
const HANDLED_FOR: Millis = 7 * DAY;
const FAILED_FOR: Millis = 30 * DAY;
/// Unfinished files, and records of messages that are gone.
const LEFT_FOR: Millis = DAY;
/// More than this in all folders raises the alarm.
const ALARM_BYTES: u64 = 1 << 30;

/// What a sweep did and saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Files that had been kept long enough.
    pub removed: u64,
    /// What all folders hold now.
    pub bytes: u64,
    /// That is more than 1 GiB: whoever reports the system's state should call it degraded.
    pub alarm: bool,
}

impl Inner {
    pub(super) fn sweep(&self) -> Result<Swept, Error> {
        let now = self.clock.now();
        let mut swept = Swept { removed: 0, bytes: 0, alarm: false };
        for agent in AgentName::ALL {
            // Also where nobody reads: taking a dead one moves it.
            for dead in self.scan(agent)?.into_iter().filter(|candidate| candidate.dead) {
                if let Some(taken) = self.take(agent, &dead)? {
                    self.put_back(&taken)?;
                }
            }
            let inbox = self.layout.inbox(agent);
            let left = |name: Name| match name {
                Name::Staged => true,
                Name::Record(id) => {
                    !self.layout.waiting(agent, &id).exists() && !self.layout.claimed(agent, &id).exists()
                }
                Name::Waiting(_) | Name::Claimed(_) | Name::Misnamed | Name::Foreign => false,
            };
            self.sweep_folder(&inbox, now - LEFT_FOR, left, &mut swept)?;
            self.sweep_folder(&self.layout.outbox(agent), now - HANDLED_FOR, |_| true, &mut swept)?;
        }
        self.sweep_folder(&self.layout.processed(), now - HANDLED_FOR, |_| true, &mut swept)?;
        self.sweep_folder(&self.layout.failed(), now - FAILED_FOR, |_| true, &mut swept)?;
        swept.alarm = swept.bytes > ALARM_BYTES;
        if swept.alarm {
            tracing::error!(
                bytes = swept.bytes,
                limit = ALARM_BYTES,
                "the folders of messages hold more than 1 GiB: look for large files in failed/ and for an inbox that nobody reads"
            );
        }
        Ok(swept)
    }

    /// Removes what is older and may go, and adds up the rest.
    fn sweep_folder(
        &self,
        folder: &Path,
        before: Millis,
        may_go: impl Fn(Name) -> bool,
        swept: &mut Swept,
    ) -> Result<(), Error> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(Error::io("read the folder", folder))?,
        };
        for entry in entries {
            let entry = entry.map_err(Error::io("read the folder", folder))?;
            let path = entry.path();
            // Not of what a link leads to. Gone since the folder was read: somebody moved it.
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if metadata.is_dir() {
                self.warn_once(&path, "a folder: it is left where it is");
                continue;
            }
            let written = metadata.mtime().saturating_mul(1000).saturating_add(metadata.mtime_nsec() / 1_000_000);
            if written >= before || !may_go(Name::of(&entry.file_name())) {
                swept.bytes += metadata.len();
                continue;
            }
            match fs::remove_file(&path) {
                Ok(()) => swept.removed += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("remove", &path)(error)),
            }
        }
        Ok(())
    }
}
