//! An effect's way through the ledger: written down, perhaps sent, proved.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::OwnedMutexGuard;

use super::Error;
use crate::domain::{Clock, JobId, RunId};
use crate::github;
use crate::store::{Beat, EffectRow, EffectState, Lease, Store};

#[derive(Clone)]
pub(super) struct Ledger {
    store: Store,
    clock: Clock,
    /// How long GitHub may take to show what it has accepted.
    settle: Duration,
    /// The job that speaks. Whoever lost its lease has lost its voice.
    lease: Option<Lease>,
    /// Who speaks about one thing waits for whoever does already. The store has one process, so this is enough.
    turns: Arc<Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>>,
    /// What this attempt has sent: what is proved without having been sent was found.
    sent: Arc<Mutex<HashSet<String>>>,
}

impl Ledger {
    pub(super) fn new(store: Store, clock: Clock, settle: Duration) -> Self {
        Self { store, clock, settle, lease: None, turns: Arc::default(), sent: Arc::default() }
    }

    pub(super) fn under(&self, lease: &Lease) -> Self {
        Self { lease: Some(lease.clone()), sent: Arc::default(), ..self.clone() }
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<EffectRow>, Error> {
        Ok(self.store.effect(key).await?)
    }

    /// The job that speaks, the same at each of its attempts.
    pub(super) fn job(&self) -> Option<JobId> {
        self.lease.as_ref().map(|lease| lease.job)
    }

    /// Until the guard goes, nobody else speaks about this key.
    pub(super) async fn turn(&self, key: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| turn.strong_count() > 0);
            turns.get(key).and_then(Weak::upgrade).unwrap_or_else(|| {
                let turn = Arc::default();
                turns.insert(key.to_owned(), Arc::downgrade(&turn));
                turn
            })
        };
        turn.lock_owned().await
    }

    pub(super) async fn intend(
        &self,
        key: &str,
        run: impl Into<Option<RunId>>,
        kind: &str,
        intent: &Value,
    ) -> Result<EffectRow, Error> {
        Ok(self.store.intend(key, run, kind, intent).await?)
    }

    /// What changed is open again; see [`Store::amend_effect`].
    pub(super) async fn amend(
        &self,
        key: &str,
        run: impl Into<Option<RunId>>,
        kind: &str,
        amend: impl FnOnce(Option<&Value>) -> Value,
    ) -> Result<EffectRow, Error> {
        Ok(self.store.amend_effect(key, run, kind, amend).await?)
    }

    /// Waits until a look at GitHub would show what was sent for this row, if anything was. A proved one too may be
    /// missing from a list that lags, and so may what an amended one said before.
    pub(super) async fn settled(&self, row: &EffectRow) {
        let may_show = match row.state {
            EffectState::Intended | EffectState::Sent | EffectState::Proved => true,
            EffectState::Failed => false,
        };
        if let Some(sent_at) = row.sent_at.filter(|_| may_show) {
            let until = sent_at.saturating_add(i64::try_from(self.settle.as_millis()).unwrap_or(i64::MAX));
            // A clock that was set back must not hold the job longer than the wait itself.
            let left = u64::try_from(until - self.clock.now()).unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(left).min(self.settle)).await;
        }
    }

    /// Right before the request leaves.
    pub(super) async fn sent(&self, key: &str) -> Result<(), Error> {
        self.may_speak().await?;
        self.store.mark_sent(key, self.clock.now()).await?;
        self.noted_as_sent().insert(key.to_owned());
        Ok(())
    }

    /// The same for a row that may be proved already: GitHub has lost it, or somebody changed it.
    pub(super) async fn sent_again(&self, row: &EffectRow) -> Result<(), Error> {
        match row.state {
            EffectState::Proved => {
                self.may_speak().await?;
                self.noted_as_sent().insert(row.key.clone());
                Ok(())
            }
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
        let kind = self.store.prove(key, proof).await?;
        let posted = self.noted_as_sent().remove(key);
        self.store.meter().effect(&kind, if posted { "posted" } else { "found" });
        Ok(())
    }

    fn noted_as_sent(&self) -> MutexGuard<'_, HashSet<String>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What we see on GitHub shows that nothing sent under keys that begin so is still to come.
    pub(super) async fn arrived(&self, prefix: &str, proof: &Value) -> Result<(), Error> {
        Ok(self.store.prove_sent(prefix, proof).await?)
    }

    /// A refusal of GitHub that no later attempt changes is written down; any other error leaves the fate open.
    pub(super) async fn noted<T>(&self, key: &str, answer: Result<T, github::Error>) -> Result<T, Error> {
        if let Err(error) = &answer
            && let github::Error::Validation { .. } | github::Error::Forbidden { .. } | github::Error::NotFound { .. } =
                error.root()
        {
            self.failed(key, &error.to_string()).await?;
        }
        Ok(answer?)
    }

    /// It never arrived and is not sent again: no answer of GitHub's, and not counted as one.
    pub(super) async fn given_up(&self, key: &str, reason: &str) -> Result<(), Error> {
        Ok(self.store.fail_effect(key, reason).await?)
    }

    pub(super) async fn failed(&self, key: &str, reason: &str) -> Result<(), Error> {
        self.store.fail_effect(key, reason).await?;
        self.noted_as_sent().remove(key);
        let kind = self.store.effect(key).await?.map(|row| row.kind);
        self.store.meter().effect(kind.as_deref().unwrap_or_default(), "refused");
        Ok(())
    }
}
