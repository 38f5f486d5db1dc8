//! How long what is kept is kept: rows, the folders of their runs, uploads.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::arrival::{self, ARRIVING};
use super::{Desk, Error};
use crate::domain::{CodebaseId, Job, RunId};
use crate::store::Pruned;

impl Desk {
    /// Lets go what ended longer ago than it is kept: at start, then every hour.
    pub(in crate::app) async fn tidy_up(&self, shutdown: CancellationToken) {
        let kept = i64::try_from(self.0.retention.as_millis()).unwrap_or(i64::MAX);
        let mut hours = tokio::time::interval(Duration::from_secs(60 * 60));
        loop {
            tokio::select! {
                _ = hours.tick() => {}
                () = shutdown.cancelled() => return,
            }
            match self.0.store.prune(self.now().saturating_sub(kept)).await {
                Ok(gone) if gone == Pruned::default() => {}
                Ok(gone) => {
                    tracing::info!(
                        deliveries = gone.deliveries,
                        jobs = gone.jobs,
                        runs = gone.runs,
                        "old rows were removed"
                    );
                    if let Err(error) = self.forget_folders().await {
                        tracing::warn!("folders of old runs could not be removed: {}", error.chain());
                    }
                }
                Err(error) => tracing::warn!("old rows could not be removed: {error}"),
            }
            if let Err(error) = self.forget_uploads().await {
                tracing::warn!("old uploads could not be removed: {}", error.chain());
            }
        }
    }

    /// A run's documents go with its row.
    async fn forget_folders(&self) -> Result<(), Error> {
        for (name, path) in folders(&self.0.runs).await? {
            let Some(run) = RunId::parse(&name) else { continue };
            if self.0.store.run(run).await?.is_none() {
                tokio::fs::remove_dir_all(&path).await.map_err(|error| unreadable(&path, &error))?;
            }
        }
        Ok(())
    }

    /// Uploads die after a day; one that waits for its review lives until then.
    async fn forget_uploads(&self) -> Result<(), Error> {
        let waiting: Vec<CodebaseId> = self.0.store.unfinished_jobs().await?.into_iter().filter_map(wanted).collect();
        for (name, path) in folders(&self.0.uploads).await? {
            let Some(id) = CodebaseId::parse(&name).filter(|id| !waiting.contains(id)) else { continue };
            // One without a record is of no use to anybody.
            let over = arrival::read(&path).await?.is_none_or(|upload| upload.is_over(self.now()));
            if over {
                tokio::fs::remove_dir_all(&path).await.map_err(|error| unreadable(&path, &error))?;
                tracing::info!(codebase.id = %id, "an upload was removed");
            }
        }
        Ok(())
    }
}

fn wanted(job: crate::store::JobRow) -> Option<CodebaseId> {
    match job.job {
        Some(Job::Audit(target)) => Some(target.codebase),
        _ => None,
    }
}

/// What a process that was killed was receiving. Nobody else receives here.
pub(super) fn remove_arriving(uploads: &Path) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(uploads) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(ARRIVING.as_bytes()) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// The names of what lies in a folder, and where.
async fn folders(parent: &Path) -> Result<Vec<(String, std::path::PathBuf)>, Error> {
    let mut found = Vec::new();
    let mut entries = match tokio::fs::read_dir(parent).await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(|error| unreadable(parent, &error))?,
    };
    while let Some(entry) = entries.next_entry().await.map_err(|error| unreadable(parent, &error))? {
        if let Some(name) = entry.file_name().to_str() {
            found.push((name.to_owned(), entry.path()));
        }
    }
    Ok(found)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::Path(format!("{}: {error}", path.display()))
}
