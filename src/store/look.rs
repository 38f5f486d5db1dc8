//! A look at a database from outside, which changes nothing: no lock, no migration, no file beside it.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};

use super::open::{
    CHECKED_UP_TO, FILE, LOCK, connect_options, exactly_known, inspect_file, known_version, node_name, nothing_yet,
    schema_version, unusable,
};
use super::readers::Readers;
use super::{Bell, Error, Inner, Options, Store};
use crate::domain::{Clock, Millis};

/// What a look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// Who works on it now, in the words of its lock.
    pub held_by: Option<String>,
    /// Bytes of the database and its log.
    pub bytes: u64,
    pub schema: i64,
    pub known_schema: i64,
    /// It keeps a write-ahead log, as a server of ours sets it up.
    pub wal: bool,
    /// Too large to be read whole.
    pub unchecked: bool,
    /// The last server was killed; its log was looked at in a copy.
    pub unclean: bool,
    /// `None` when the schema is not this version's.
    pub queue: Option<Figures>,
}

/// What there is to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// No database yet.
    Nothing,
    /// A server was killed and left a log; both together are too large for a copy, and only a server may touch the log itself.
    TooLarge {
        bytes: u64,
    },
    Seen(Look),
}

/// The queue in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    pub waiting: u64,
    pub running: u64,
    pub discarded: u64,
    /// When the job was made that could run now and has waited longest.
    pub oldest_due: Option<Millis>,
}

/// How often a state that changes hands is looked at anew.
const LOOKS: u32 = 5;

/// How a database is read without touching it.
struct Lies {
    held_by: Option<String>,
    /// The last server was killed; its log is read in a copy.
    copied: Option<tempfile::TempDir>,
    /// Of the database and its log.
    bytes: u64,
    options: SqliteConnectOptions,
}

enum Laid {
    /// See [`Sight::TooLarge`].
    TooLarge(u64),
    Lies(Box<Lies>),
}

/// While a server runs, its log and shared memory are there and reading joins in. Without one, joining in would make those
/// files, and fold the log into the database on leaving: a database without a log is read as it lies, one with a log in a
/// copy.
async fn lay(dir: &Path, path: &Path) -> Result<Laid, Error> {
    let log = log_of(path);
    let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
    for looks in 1.. {
        let held_by = holder(&dir.join(LOCK))?;
        let (bytes, logged) = (size(path), size(&log));
        let unclean = held_by.is_none() && logged > 0;
        if unclean && bytes + logged > CHECKED_UP_TO {
            return Ok(Laid::TooLarge(bytes + logged));
        }
        // Beside the caller, whose patience would otherwise end only after the copy. The folder comes back with the answer, or
        // goes with it when nobody waits any more.
        let copied = if unclean { Some(copy(path.to_owned(), log.clone()).await) } else { None };
        let copied = match copied.transpose() {
            // A server that was about to stop has put its log away meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound && looks < LOOKS => continue,
            copied => copied.map_err(|source| Error::Io { path: path.to_owned(), source })?,
        };
        let read = copied.as_ref().map_or_else(|| path.to_owned(), |folder| folder.path().join(FILE));
        let options = connect_options(&read, &Options::default())
            .read_only(copied.is_none())
            .immutable(held_by.is_none() && copied.is_none());
        return Ok(Laid::Lies(Box::new(Lies { held_by, copied, bytes: bytes + logged, options })));
    }
    unreachable!("the last look is the last")
}

impl Store {
    /// Opens the file to read it and nothing else, beside the daemon that works on it or while there is none: no lock, no
    /// migration, no file beside it. Without a daemon it shows the rows as they lay when it was opened.
    ///
    /// # Errors
    /// There is no such file, it is damaged, its schema is not exactly this version's, or a server was killed and left a log
    /// that is too large for a copy.
    pub async fn open_untouched(dir: &Path, clock: Clock) -> Result<Self, Error> {
        let path = dir.join(FILE);
        if !inspect_file(&path)? {
            return Err(nothing_yet(path));
        }
        let Lies { copied, options, .. } = match lay(dir, &path).await? {
            Laid::Lies(lies) => *lies,
            Laid::TooLarge(bytes) => return Err(Error::Unclean { path, bytes }),
        };
        let mut conn = options.clone().connect().await.map_err(|source| unusable(&path, source))?;
        exactly_known(&mut conn, &path).await?;
        conn.close().await.map_err(|source| unusable(&path, source))?;
        let Options { readers, meter, .. } = Options::default();
        let (bell, seen) = (Arc::new(Bell::new()), AtomicI64::new(clock.now()));
        let (readers, node) = (Readers::new(options, readers), node_name(dir));
        Ok(Self(Arc::new(Inner { path, clock, meter, node, bell, writing: None, readers, copy: copied, seen })))
    }

    /// Who works on the state in this folder now, in the words of its lock; `None` while nobody does.
    ///
    /// # Errors
    /// The lock cannot be read.
    pub fn holder(dir: &Path) -> Result<Option<String>, Error> {
        holder(&dir.join(LOCK))
    }

    /// Looks at `dir/octoswarm.db`, also while a server works on it.
    ///
    /// # Errors
    /// It is damaged, newer than this program, or cannot be read.
    pub async fn look(dir: &Path, now: Millis) -> Result<Sight, Error> {
        let path = dir.join(FILE);
        if !inspect_file(&path)? {
            return Ok(Sight::Nothing);
        }
        let Lies { held_by, copied, bytes, options } = match lay(dir, &path).await? {
            Laid::Lies(lies) => *lies,
            Laid::TooLarge(bytes) => return Ok(Sight::TooLarge { bytes }),
        };
        let (unclean, unchecked) = (copied.is_some(), bytes > CHECKED_UP_TO);
        let mut conn = options.connect().await.map_err(|source| unusable(&path, source))?;
        if !unchecked {
            let verdict: String = sqlx::query_scalar("PRAGMA quick_check(1)")
                .fetch_one(&mut conn)
                .await
                .map_err(|source| unusable(&path, source))?;
            if verdict != "ok" {
                return Err(Error::Corrupt { path, detail: verdict });
            }
        }
        let (schema, known_schema) = (schema_version(&mut conn, &path).await?, known_version());
        if schema > known_schema {
            return Err(Error::NewerSchema { path, found: schema, known: known_schema });
        }
        let wal = keeps_log(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
        let queue = if schema == known_schema { Some(figures(&mut conn, now).await?) } else { None };
        conn.close().await.map_err(|source| unusable(&path, source))?;
        Ok(Sight::Seen(Look { held_by, bytes, schema, known_schema, wal, unchecked, unclean, queue }))
    }
}

async fn copy(database: PathBuf, log: PathBuf) -> io::Result<tempfile::TempDir> {
    let copying = tokio::task::spawn_blocking(move || {
        let folder = tempfile::tempdir()?;
        let copy = folder.path().join(FILE);
        fs::copy(&database, &copy)?;
        fs::copy(&log, log_of(&copy))?;
        Ok(folder)
    });
    copying.await.map_err(io::Error::other)?
}

fn log_of(database: &Path) -> PathBuf {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
}

/// As the file's header says: a connection that may not touch anything does not tell.
fn keeps_log(database: &Path) -> io::Result<bool> {
    let mut header = [0; 20];
    fs::File::open(database)?.read_exact(&mut header)?;
    Ok(header[18..] == [2, 2])
}

/// Who holds the lock. It is asked for in its shared form and let go at once: only a server that starts at this very moment
/// could meet it.
fn holder(lock: &Path) -> Result<Option<String>, Error> {
    let io = |source| Error::Io { path: lock.to_owned(), source };
    let file = match fs::File::open(lock) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(fs::TryLockError::WouldBlock) => {
            let text = fs::read_to_string(lock).map_err(io)?;
            Ok(Some(text.trim().to_owned()))
        }
        Err(fs::TryLockError::Error(source)) => Err(io(source)),
    }
}

async fn figures(conn: &mut SqliteConnection, now: Millis) -> Result<Figures, Error> {
    let row = sqlx::query(
        "SELECT count(*) FILTER (WHERE state IN ('available', 'scheduled', 'retryable')) AS waiting,
                count(*) FILTER (WHERE state = 'running') AS running,
                count(*) FILTER (WHERE state = 'discarded') AS discarded,
                min(run_at) FILTER (WHERE state IN ('available', 'scheduled', 'retryable') AND run_at <= ?) AS oldest_due
         FROM job",
    )
    .bind(now)
    .fetch_one(conn)
    .await?;
    let count = |name: &str| -> Result<u64, Error> {
        let count: i64 = row.try_get(name)?;
        Ok(u64::try_from(count).unwrap_or_default())
    };
    Ok(Figures {
        waiting: count("waiting")?,
        running: count("running")?,
        discarded: count("discarded")?,
        oldest_due: row.try_get("oldest_due")?,
    })
}
