//! Retention: what came to its end long ago may go. Effects stay: they are what keeps a repeat harmless.

use serde::Serialize;

use super::{Error, Store};
use crate::domain::Millis;

/// How many rows went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    pub deliveries: u64,
    pub jobs: u64,
    pub runs: u64,
}

impl Store {
    /// Deletes jobs and runs that ended before that time and settled deliveries received before it, with their steps and progress.
    /// Discarded jobs and quarantined deliveries stay: a person has not dealt with them.
    ///
    /// # Errors
    /// The database failed; nothing went then.
    pub async fn prune(&self, before: Millis) -> Result<Pruned, Error> {
        let mut tx = self.begin().await?;
        let jobs = sqlx::query("DELETE FROM job WHERE finished_at < ? AND state IN ('completed', 'cancelled')")
            .bind(before)
            .execute(&mut *tx)
            .await?
            .rows_affected();
        // A delivery goes after its job: while the job is there, a redelivery must find both.
        let deliveries = sqlx::query(
            "DELETE FROM delivery WHERE received_at < ? AND state IN ('handled', 'ignored')
               AND NOT EXISTS (SELECT 1 FROM job WHERE job.unique_key = 'delivery/' || delivery.guid)",
        )
        .bind(before)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        let runs = sqlx::query("DELETE FROM run WHERE finished_at < ? AND state <> 'running'")
            .bind(before)
            .execute(&mut *tx)
            .await?
            .rows_affected();
        // How far a command with several verbs was obeyed: of no use once its job is over.
        sqlx::query("DELETE FROM cursor WHERE name GLOB 'command/*' AND updated_at < ?")
            .bind(before)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(Pruned { deliveries, jobs, runs })
    }
}
