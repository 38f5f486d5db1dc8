//! What the database file says, without disturbing whoever owns it.

use std::collections::BTreeSet;
use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

const FILE: &str = "octoswarm.db";

/// Looks beside a living server.
pub async fn beside(state: &Path) -> Result<SqliteConnection, sqlx::Error> {
    options(&state.join(FILE)).read_only(true).connect().await
}

/// For taking the write lock away from a living server.
pub async fn rival(state: &Path) -> SqliteConnection {
    options(&state.join(FILE)).connect().await.unwrap()
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).create_if_missing(false).disable_statement_logging()
}

/// What a dead server left, looked at in a copy: opening it would already begin to recover it.
pub struct Remains {
    conn: SqliteConnection,
    _copy: tempfile::TempDir,
}

impl Remains {
    pub async fn of(state: &Path) -> Option<Self> {
        let copy = tempfile::tempdir().unwrap();
        for name in [FILE.to_owned(), format!("{FILE}-wal")] {
            if state.join(&name).exists() {
                std::fs::copy(state.join(&name), copy.path().join(&name)).unwrap();
            }
        }
        let conn = options(&copy.path().join(FILE)).connect().await.ok()?;
        Some(Self { conn, _copy: copy })
    }

    /// Jobs that were running.
    pub async fn interrupted(&mut self) -> Vec<i64> {
        sqlx::query_scalar("SELECT id FROM job WHERE state = 'running'").fetch_all(&mut self.conn).await.unwrap()
    }

    /// Jobs that have not come to an end.
    pub async fn open(&mut self) -> Vec<i64> {
        sqlx::query_scalar("SELECT id FROM job WHERE finished_at IS NULL").fetch_all(&mut self.conn).await.unwrap()
    }

    /// Whether there is a row for that delivery, and whether there is one for its job.
    pub async fn halves(&mut self, guid: &str) -> (bool, bool) {
        let row: i64 = sqlx::query_scalar("SELECT count(*) FROM delivery WHERE guid = ?")
            .bind(guid)
            .fetch_one(&mut self.conn)
            .await
            .unwrap();
        let job: i64 = sqlx::query_scalar("SELECT count(*) FROM job WHERE unique_key = ?")
            .bind(format!("delivery/{guid}"))
            .fetch_one(&mut self.conn)
            .await
            .unwrap();
        (row > 0, job > 0)
    }

    pub async fn problems(&mut self) -> Vec<String> {
        sound(&mut self.conn).await
    }
}

pub async fn is_stored(conn: &mut SqliteConnection, guid: &str) -> bool {
    let found: Option<i64> =
        sqlx::query_scalar("SELECT 1 FROM delivery WHERE guid = ?").bind(guid).fetch_optional(conn).await.unwrap();
    found.is_some()
}

/// Nothing waits and nothing runs.
pub async fn is_idle(state: &Path) -> bool {
    let Ok(mut conn) = beside(state).await else { return false };
    let open: i64 =
        sqlx::query_scalar("SELECT count(*) FROM job WHERE finished_at IS NULL").fetch_one(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    open == 0
}

pub async fn unfinished(state: &Path) -> Vec<String> {
    let mut conn = beside(state).await.unwrap();
    let sql = "SELECT kind || ' ' || unique_key || ': ' || state || ', attempt ' || attempt || ', ' || coalesce(last_error, '')
               FROM job WHERE finished_at IS NULL";
    let rows = sqlx::query_scalar(sql).fetch_all(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    rows
}

/// After which time each of those jobs moved again, in milliseconds from `since`; the keys of those that never did.
pub async fn recovered(state: &Path, jobs: &[i64], since: i64) -> (Vec<i64>, Vec<i64>) {
    let mut conn = beside(state).await.unwrap();
    let (mut times, mut never) = (Vec::new(), Vec::new());
    for job in jobs {
        let first: Option<i64> = sqlx::query_scalar(
            "SELECT min(t) FROM (
                 SELECT started_at AS t FROM run WHERE job = ?1 AND started_at >= ?2
                 UNION ALL SELECT started_at FROM job WHERE id = ?1 AND started_at >= ?2
                 UNION ALL SELECT finished_at FROM job WHERE id = ?1 AND finished_at >= ?2)",
        )
        .bind(job)
        .bind(since)
        .fetch_one(&mut conn)
        .await
        .unwrap();
        match first {
            Some(at) => times.push(at - since),
            None => never.push(*job),
        }
    }
    conn.close().await.unwrap();
    (times, never)
}

/// Every row is final, and every delivery that was acknowledged has one.
pub async fn problems(state: &Path, acked: &[String]) -> Vec<String> {
    let mut conn = beside(state).await.unwrap();
    let mut problems = sound(&mut conn).await;
    let settled: Vec<(String, String, Option<i64>)> =
        sqlx::query_as("SELECT guid, state, settled_at FROM delivery").fetch_all(&mut conn).await.unwrap();
    let known: BTreeSet<&str> = settled.iter().map(|(guid, ..)| guid.as_str()).collect();
    for guid in acked.iter().filter(|guid| !known.contains(guid.as_str())) {
        problems.push(format!("delivery {guid} was acknowledged and is gone"));
    }
    for (guid, state, settled_at) in &settled {
        if !matches!(state.as_str(), "handled" | "ignored") || settled_at.is_none() {
            problems.push(format!("delivery {guid} is {state}, settled at {settled_at:?}"));
        }
    }
    for (what, sql) in [
        (
            "job",
            "SELECT kind || ' ' || unique_key || ' is ' || state || ': ' || coalesce(last_error, '') FROM job
                 WHERE finished_at IS NULL OR state = 'discarded' OR lease_token IS NOT NULL",
        ),
        ("run", "SELECT kind || ' ' || id || ' is ' || state FROM run WHERE state = 'running' OR finished_at IS NULL"),
        ("step", "SELECT name || ' of run ' || run || ' is ' || state FROM step WHERE state = 'running'"),
        // Of what an overtaken job has sent, nobody need know whether it arrived.
        (
            "effect",
            "SELECT key || ' is ' || effect.state || ' after ' || attempts || ' attempts' FROM effect
                    LEFT JOIN run ON run.id = effect.run LEFT JOIN job ON job.id = run.job
                    WHERE effect.state = 'failed' OR (effect.state = 'sent' AND job.state = 'completed')",
        ),
    ] {
        let rows: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut conn).await.unwrap();
        problems.extend(rows.into_iter().map(|row| format!("{what} {row}")));
    }
    conn.close().await.unwrap();
    problems
}

async fn sound(conn: &mut SqliteConnection) -> Vec<String> {
    let mut problems = Vec::new();
    let verdict: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check").fetch_all(&mut *conn).await.unwrap();
    if verdict != ["ok"] {
        problems.push(format!("the database is damaged: {verdict:?}"));
    }
    let foreign = sqlx::query("PRAGMA foreign_key_check").fetch_all(&mut *conn).await.unwrap();
    if !foreign.is_empty() {
        problems.push(format!("{} rows refer to rows that are not there", foreign.len()));
    }
    problems
}

/// The ids of all runs, to compare with their folders.
pub async fn runs(state: &Path) -> BTreeSet<String> {
    let mut conn = beside(state).await.unwrap();
    let runs: Vec<String> = sqlx::query_scalar("SELECT id FROM run").fetch_all(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    runs.into_iter().collect()
}
