//! Opening: look before touching, refuse rather than repair.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::desk::Writer;
use super::error::{SQLITE_CORRUPT, SQLITE_NOTADB, primary_code};
use super::inbox::Inbox;
use super::lock::Lock;
use super::readers::Readers;
use super::{Bell, Error, Inner, Options, Store, Writing};
use crate::domain::Clock;
use crate::stdx::file;

static MIGRATIONS: Migrator = sqlx::migrate!("src/store/migrations/sqlite");

pub(super) const FILE: &str = "octoswarm.db";
pub(super) const LOCK: &str = "octoswarm.lock";
const NODE: &str = "node";
const MAGIC: &[u8] = b"SQLite format 3\0";
/// How many pages of 4 KB the log holds before they are copied into the database, which costs two syncs more: SQLite's own
/// 1,000 are but 120 deliveries. A start after a crash reads so much at most, in milliseconds.
const CHECKPOINT_PAGES: &str = "8000";
/// Beyond this a full check at every start would take too long; damage then shows when a page is read.
pub(super) const CHECKED_UP_TO: u64 = 512 * 1024 * 1024;

pub(super) async fn writing(dir: &Path, clock: Clock, options: &Options) -> Result<Store, Error> {
    file::private_dir(dir).map_err(|source| Error::Io { path: dir.to_owned(), source })?;
    let holder = format!("process {} on {}", std::process::id(), dir.display());
    let lock = Lock::take(&dir.join(LOCK), &holder)?;
    let node = node_id(dir)?;
    let path = dir.join(FILE);

    let existed = inspect_file(&path)?;
    if existed {
        inspect_content(&path, options).await?;
    }
    if !existed {
        // SQLite gives its log the mode of the database: bodies of private repositories stand in both.
        file::private_file(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
    }
    let mut conn = connect_options(&path, options)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .connect()
        .await
        .map_err(|source| unusable(&path, source))?;
    MIGRATIONS.run(&mut conn).await.map_err(|source| Error::Migrate { path: path.clone(), source })?;

    let bell = Arc::new(Bell::new());
    let writer = Writer::start(conn);
    let inbox = Inbox::start(writer.clone(), clock.clone(), bell.clone(), options.inbox);
    let readers = Readers::new(connect_options(&path, options), options.readers);
    let writing = Some(Writing { writer, inbox, lock: Some(lock) });
    let meter = options.meter.clone();
    let seen = AtomicI64::new(clock.now());
    let inner = Inner { path: path.clone(), clock, meter, node, bell, writing, readers, copy: None, seen };
    let store = Store(Arc::new(inner));
    store.ping().await.map_err(|error| match error {
        Error::Database(source) => unusable(&path, source),
        other => other,
    })?;
    store.mend_times().await?;
    store.release_node_leases(store.node()).await?;
    Ok(store)
}

pub(super) async fn looking_on(dir: &Path, clock: Clock, options: &Options) -> Result<Store, Error> {
    let path = dir.join(FILE);
    if !inspect_file(&path)? {
        return Err(nothing_yet(path));
    }
    let mut conn = connect_options(&path, options).connect().await.map_err(|source| unusable(&path, source))?;
    exactly_known(&mut conn, &path).await?;
    let readers = Readers::new(connect_options(&path, options), options.readers);
    let seen = AtomicI64::new(clock.now());
    let node = node_name(dir);
    let (bell, meter) = (Arc::new(Bell::new()), options.meter.clone());
    Ok(Store(Arc::new(Inner { path, clock, meter, node, bell, writing: None, readers, copy: None, seen })))
}

pub(super) async fn beside(dir: &Path, clock: Clock, options: &Options) -> Result<Store, Error> {
    let path = dir.join(FILE);
    if !inspect_file(&path)? {
        return Err(nothing_yet(path));
    }
    // The log's size is the daemon's business; every commit is synced here too.
    let mut conn = connect_options(&path, options)
        .synchronous(SqliteSynchronous::Full)
        .connect()
        .await
        .map_err(|source| unusable(&path, source))?;
    exactly_known(&mut conn, &path).await?;
    let bell = Arc::new(Bell::new());
    let writer = Writer::start(conn);
    let inbox = Inbox::start(writer.clone(), clock.clone(), bell.clone(), options.inbox);
    let readers = Readers::new(connect_options(&path, options), options.readers);
    let writing = Some(Writing { writer, inbox, lock: None });
    let (node, meter) = (node_name(dir), options.meter.clone());
    let seen = AtomicI64::new(clock.now());
    Ok(Store(Arc::new(Inner { path, clock, meter, node, bell, writing, readers, copy: None, seen })))
}

pub(super) fn nothing_yet(path: PathBuf) -> Error {
    Error::Io { path, source: io::Error::new(io::ErrorKind::NotFound, "no database here yet") }
}

/// The name of the node whose state this is; empty where none was there yet.
pub(super) fn node_name(dir: &Path) -> String {
    fs::read_to_string(dir.join(NODE)).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Neither older nor newer.
pub(super) async fn exactly_known(conn: &mut SqliteConnection, path: &Path) -> Result<(), Error> {
    let (found, known, path) = (schema_version(conn, path).await?, known_version(), path.to_owned());
    match found.cmp(&known) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => Err(Error::OtherSchema { path, found, known }),
        std::cmp::Ordering::Greater => Err(Error::NewerSchema { path, found, known }),
    }
}

pub(super) fn connect_options(path: &Path, options: &Options) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .foreign_keys(true)
        .busy_timeout(options.busy_timeout)
        .disable_statement_logging()
}

fn node_id(dir: &Path) -> Result<String, Error> {
    let path = dir.join(NODE);
    let io = |source| Error::Io { path: path.clone(), source };
    match fs::read_to_string(&path) {
        Ok(text) if uuid::Uuid::from_str(text.trim()).is_ok() => Ok(text.trim().to_owned()),
        Ok(_) => Err(io(io::Error::new(io::ErrorKind::InvalidData, "not a node id; delete the file to get a new one"))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let node = uuid::Uuid::new_v4().to_string();
            file::write_atomic(&path, format!("{node}\n").as_bytes()).map_err(io)?;
            Ok(node)
        }
        Err(e) => Err(io(e)),
    }
}

/// Whether there is a database; what is no database is refused before SQLite could touch it.
pub(super) fn inspect_file(path: &Path) -> Result<bool, Error> {
    let corrupt = |detail: &str| Error::Corrupt { path: path.to_owned(), detail: detail.to_owned() };
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    let wal_has_content = fs::metadata(PathBuf::from(wal)).is_ok_and(|meta| meta.len() > 0);
    let mut start = Vec::new();
    match fs::File::open(path) {
        Ok(file) => file.take(MAGIC.len() as u64).read_to_end(&mut start).map_err(io)?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => 0,
        Err(e) => return Err(io(e)),
    };
    // SQLite would throw the log away without a word.
    if start.is_empty() && wal_has_content {
        return Err(corrupt("the database is missing or empty while its write-ahead log is there"));
    }
    if !start.is_empty() && start != MAGIC {
        return Err(corrupt("it is not an SQLite database"));
    }
    Ok(!start.is_empty())
}

async fn inspect_content(path: &Path, options: &Options) -> Result<(), Error> {
    let mut conn = connect_options(path, options).connect().await.map_err(|source| unusable(path, source))?;
    let size = fs::metadata(path).map_err(|source| Error::Io { path: path.to_owned(), source })?.len();
    if size <= CHECKED_UP_TO {
        let verdict: String = sqlx::query_scalar("PRAGMA quick_check(1)")
            .fetch_one(&mut conn)
            .await
            .map_err(|source| unusable(path, source))?;
        if verdict != "ok" {
            return Err(Error::Corrupt { path: path.to_owned(), detail: verdict });
        }
    } else {
        tracing::warn!(bytes = size, "the database is too large to be checked at every start");
    }
    let (found, known) = (schema_version(&mut conn, path).await?, known_version());
    if found > known {
        return Err(Error::NewerSchema { path: path.to_owned(), found, known });
    }
    conn.close().await.map_err(|source| unusable(path, source))
}

/// 0 for an empty database.
pub(super) async fn schema_version(conn: &mut SqliteConnection, path: &Path) -> Result<i64, Error> {
    let tables: Vec<String> = sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .fetch_all(&mut *conn)
        .await
        .map_err(|source| unusable(path, source))?;
    if tables.is_empty() {
        return Ok(0);
    }
    if !tables.iter().any(|name| name == "_sqlx_migrations") {
        let detail = "it belongs to another program".to_owned();
        return Err(Error::Corrupt { path: path.to_owned(), detail });
    }
    let version: Option<i64> = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations")
        .fetch_one(&mut *conn)
        .await
        .map_err(|source| unusable(path, source))?;
    Ok(version.unwrap_or(0))
}

pub(super) fn known_version() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
}

pub(super) fn unusable(path: &Path, source: sqlx::Error) -> Error {
    match primary_code(&source) {
        Some(SQLITE_CORRUPT | SQLITE_NOTADB) => Error::Corrupt { path: path.to_owned(), detail: source.to_string() },
        _ => match Error::from(source) {
            Error::Database(source) => Error::Unusable { path: path.to_owned(), source },
            other => other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_writer_syncs_every_commit_and_minds_foreign_keys() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Clock::manual(0)).await.unwrap();
        let mut tx = store.begin().await.unwrap();
        let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut *tx).await.unwrap();
        let foreign_keys: i64 = sqlx::query_scalar("PRAGMA foreign_keys").fetch_one(&mut *tx).await.unwrap();
        assert_eq!((synchronous, foreign_keys), (2, 1), "2 is FULL");
    }
}
