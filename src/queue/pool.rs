//! The dispatcher: one loop claims, as many tasks run as there are workers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::attempt::Attempt;
use super::{Failure, Leased, Options, millis};
use crate::domain::JobId;
use crate::store::{self, Lease, Store};

pub(super) struct Pool<H> {
    store: Store,
    options: Arc<Options>,
    handler: Arc<H>,
    node: String,
    held: Held,
    tasks: JoinSet<()>,
    /// Fires when running jobs have to come to an end.
    stop: CancellationToken,
}

/// The leases of this pool. An attempt leaves when it was settled; one that had to be dropped stays, to be given back.
#[derive(Debug, Clone, Default)]
pub(super) struct Held(Arc<Mutex<HashMap<JobId, Lease>>>);

impl Held {
    fn add(&self, lease: &Lease) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(lease.job, lease.clone());
    }

    pub(super) fn remove(&self, id: JobId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    fn ids(&self) -> Vec<JobId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }

    fn leases(&self) -> Vec<Lease> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

impl<H, F> Pool<H>
where
    H: Fn(Leased) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    pub(super) fn new(store: Store, options: Options, handler: H) -> Self {
        let node = options.node.clone().unwrap_or_else(|| store.node().to_owned());
        Self {
            store,
            options: Arc::new(options),
            handler: Arc::new(handler),
            node,
            held: Held::default(),
            tasks: JoinSet::new(),
            stop: CancellationToken::new(),
        }
    }

    pub(super) async fn run(mut self, shutdown: CancellationToken) {
        let store = self.store.clone();
        // Taken before the first look: a ring between a look and the wait after it is not lost.
        let mut ear = store.bell().jobs();
        while !shutdown.is_cancelled() {
            while self.tasks.try_join_next().is_some() {}
            let room = self.room() > 0;
            if room {
                match self.claim().await {
                    Ok(0) => {}
                    Ok(_) => continue,
                    Err(error) => tracing::warn!(error = %Failure::from(error).message, "cannot claim jobs"),
                }
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = ear.heard(), if room => {}
                _ = self.tasks.join_next(), if !self.tasks.is_empty() => {}
                () = sleep(self.options.poll) => {}
            }
        }
        self.wind_down().await;
    }

    pub(super) async fn run_until_idle(mut self) -> Result<usize, store::Error> {
        let mut ran = 0;
        loop {
            while self.room() > 0 {
                match self.claim().await? {
                    0 => break,
                    claimed => ran += claimed,
                }
            }
            if self.tasks.join_next().await.is_none() {
                return Ok(ran);
            }
            while self.tasks.try_join_next().is_some() {}
        }
    }

    /// How many more jobs may run.
    fn room(&self) -> usize {
        self.options.workers.max(1).saturating_sub(self.tasks.len())
    }

    /// Fills the room with what is due, in one commit; says how many jobs were claimed.
    async fn claim(&mut self) -> Result<usize, store::Error> {
        // Taken before the look that claiming is: no cancellation falls between the two.
        let ears: Vec<_> = (0..self.room()).map(|_| self.store.bell().cancels()).collect();
        let lease = millis(self.options.lease);
        let claimed = self.store.claim_some(&self.node, lease, &self.held.ids(), ears.len()).await?;
        let count = claimed.len();
        for (claimed, ear) in claimed.into_iter().zip(ears) {
            self.held.add(&claimed.lease);
            let attempt = Attempt {
                store: self.store.clone(),
                options: self.options.clone(),
                held: self.held.clone(),
                stop: self.stop.clone(),
                claimed,
                ear,
            };
            let handler = self.handler.clone();
            self.tasks.spawn(async move { attempt.run(&*handler).await });
        }
        Ok(count)
    }

    /// Lets jobs finish, then asks them to stop, then drops them; what was not settled is given back.
    async fn wind_down(mut self) {
        let grace = self.options.grace;
        if !self.all_done(grace).await {
            self.stop.cancel();
            if !self.all_done(grace.max(Duration::from_millis(100))).await {
                self.tasks.abort_all();
                // A task that blocks its thread does not hear of it; its lease goes back all the same, and fences it off.
                self.all_done(Duration::from_secs(1)).await;
            }
        }
        for lease in self.held.leases() {
            if let Err(error) = self.store.release(&lease).await {
                tracing::warn!(job.id = lease.job.0, error = %error, "cannot give a job back; the next start frees it");
            }
        }
    }

    async fn all_done(&mut self, within: Duration) -> bool {
        timeout(within, async { while self.tasks.join_next().await.is_some() {} }).await.is_ok()
    }
}
