//! An effect's way through the ledger: written down, perhaps sent, proved.

use std::time::Duration;

use serde_json::Value;

use super::Error;
use crate::domain::{Clock, RunId};
use crate::store::{Beat, EffectRow, EffectState, Lease, Store};

#[derive(Clone)]
pub(super) struct Ledger {
    store: Store,
    clock: Clock,
    /// How long GitHub may take to show what it has accepted.
    settle: Duration,
    /// The job that speaks. Whoever lost its lease has lost its voice.
    lease: Option<Lease>,
}

impl Ledger {
    pub(super) fn new(store: Store, clock: Clock, settle: Duration) -> Self {
        Self { store, clock, settle, lease: None }
    }

    pub(super) fn under(&self, lease: &Lease) -> Self {
        Self { lease: Some(lease.clone()), ..self.clone() }
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<EffectRow>, Error> {
        Ok(self.store.effect(key).await?)
    }

    pub(super) async fn intend(&self, key: &str, run: RunId, kind: &str, intent: &Value) -> Result<EffectRow, Error> {
        Ok(self.store.intend(key, run, kind, intent).await?)
    }

    /// Waits until a look at GitHub would show what was sent for this row, if anything was. A proved one too may be
    /// missing from a list that lags.
    pub(super) async fn settled(&self, row: &EffectRow) {
        if let (EffectState::Sent | EffectState::Proved, Some(sent_at)) = (row.state, row.sent_at) {
            let until = sent_at.saturating_add(i64::try_from(self.settle.as_millis()).unwrap_or(i64::MAX));
            // A clock that was set back must not hold the job longer than the wait itself.
            let left = u64::try_from(until - self.clock.now()).unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(left).min(self.settle)).await;
        }
    }

    /// Right before the request leaves.
    pub(super) async fn sent(&self, key: &str) -> Result<(), Error> {
        self.may_speak().await?;
        Ok(self.store.mark_sent(key, self.clock.now()).await?)
    }

    /// The same for a row that may be proved already: GitHub has lost it, or somebody changed it.
    pub(super) async fn sent_again(&self, row: &EffectRow) -> Result<(), Error> {
        match row.state {
            EffectState::Proved => self.may_speak().await,
            EffectState::Intended | EffectState::Sent | EffectState::Failed => self.sent(&row.key).await,
        }
    }

    /// A worker that slept past its lease is stopped here: another one has the job.
    pub(super) async fn may_speak(&self) -> Result<(), Error> {
        if let Some(lease) = &self.lease
            && self.store.lease_state(lease).await? != Beat::Alive
        {
            return Err(Error::Superseded("the job was cancelled or given to another worker".to_owned()));
        }
        Ok(())
    }

    pub(super) async fn proved(&self, key: &str, proof: &Value) -> Result<(), Error> {
        Ok(self.store.prove(key, proof).await?)
    }

    pub(super) async fn failed(&self, key: &str, reason: &str) -> Result<(), Error> {
        Ok(self.store.fail_effect(key, reason).await?)
    }
}
