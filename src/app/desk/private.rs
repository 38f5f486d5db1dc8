//! A desk for one process: what it takes is gone when the process is.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{Desk, Limits};
use crate::app::Error;
use crate::stdx::scratch::{self, Scratch};

/// What the folders are called, in the temporary directory.
const SCRATCH: &str = "octoswarm-desk-";
/// Reviews at once.
const WORKERS: usize = 2;
/// As long as the process lives.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A desk with somebody who works at it. Dropped or closed, the work stops and the folder goes.
pub struct Private {
    desk: Desk,
    stop: CancellationToken,
    folder: Mutex<Option<Scratch>>,
}

impl Private {
    /// Opens one in the temporary directory.
    ///
    /// # Errors
    /// The disk's.
    pub async fn open() -> Result<Self, Error> {
        if let Err(error) = scratch::sweep(SCRATCH) {
            tracing::debug!("what killed processes left could not be looked for: {error}");
        }
        let folder = Scratch::new(SCRATCH)
            .map_err(|error| Error::Path(format!("no folder for uploads can be made: {error}")))?;
        // On a thread of its own: the compiler cannot see that the future of a migration may move to another one.
        let (runtime, state) = (Handle::current(), folder.path().to_owned());
        let open = move || runtime.block_on(Desk::open(&state, WORKERS, RETENTION, Limits::default()));
        let desk = tokio::task::spawn_blocking(open).await.map_err(Error::died("opening a desk"))??;
        let shutdown = CancellationToken::new();
        let (working, stop) = (desk.clone(), shutdown.clone());
        tokio::spawn(async move { working.work(shutdown).await });
        Ok(Self { desk, stop, folder: Mutex::new(Some(folder)) })
    }

    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Removes what it took, whoever still holds it: the process is about to end.
    pub fn close(&self) {
        self.stop.cancel();
        drop(self.folder.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.close();
    }
}
