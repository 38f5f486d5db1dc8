//! What the machine can do at best, measured in the same sitting: its disk, and SQLite on it.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection};

/// Appends of that size, each followed by a sync: how many a second.
pub fn synced_appends(dir: &Path, size: usize, measured: Duration) -> f64 {
    let path = dir.join("appended");
    let mut file = OpenOptions::new().append(true).create(true).open(&path).expect("a file to append to");
    let bytes = vec![b'x'; size];
    let (began, mut count) = (Instant::now(), 0.0);
    while began.elapsed() < measured {
        file.write_all(&bytes).expect("an append");
        file.sync_data().expect("a sync");
        count += 1.0;
    }
    let rate = count / began.elapsed().as_secs_f64();
    let _ = std::fs::remove_file(&path);
    rate
}

/// Rows of that size with `batch` of them in a synced commit: how many rows a second. One table, one index, nothing else.
pub async fn sqlite_rows(dir: &Path, size: usize, batch: usize, measured: Duration) -> f64 {
    let path = dir.join(format!("bare-{size}-{batch}.db"));
    let mut conn = connect(&path).await;
    run(&mut conn, "CREATE TABLE row (id INTEGER PRIMARY KEY, guid TEXT NOT NULL UNIQUE, body BLOB NOT NULL)").await;
    let body = vec![b'x'; size];
    let (began, mut count) = (Instant::now(), 0_u64);
    while began.elapsed() < measured {
        run(&mut conn, "BEGIN IMMEDIATE").await;
        for _ in 0..batch {
            count += 1;
            sqlx::query("INSERT INTO row (guid, body) VALUES (?, ?)")
                .bind(format!("{:016x}", count.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
                .bind(&body[..])
                .execute(&mut conn)
                .await
                .expect("an insert");
        }
        run(&mut conn, "COMMIT").await;
    }
    let rate = count as f64 / began.elapsed().as_secs_f64();
    drop(conn);
    let _ = std::fs::remove_file(&path);
    rate
}

/// Empty as can be: one small update a commit, synced. How many a second.
pub async fn sqlite_commits(dir: &Path, measured: Duration) -> f64 {
    let mut conn = connect(&dir.join("bare-commits.db")).await;
    run(&mut conn, "CREATE TABLE row (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)").await;
    run(&mut conn, "INSERT INTO row VALUES (1, 0)").await;
    let (began, mut count) = (Instant::now(), 0.0);
    while began.elapsed() < measured {
        run(&mut conn, "UPDATE row SET n = n + 1").await;
        count += 1.0;
    }
    count / began.elapsed().as_secs_f64()
}

async fn connect(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .disable_statement_logging()
        .connect()
        .await
        .expect("a database")
}

async fn run(conn: &mut SqliteConnection, sql: &'static str) {
    sqlx::query(sql).execute(conn).await.expect("a statement");
}
