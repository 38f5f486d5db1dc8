//! What can go wrong with the memory, in words an operator can act on.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::Class;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("another octoswarm already runs on this state: {holder}")]
    Locked { holder: String },
    #[error("{} was written by a newer octoswarm: it has schema {found}, this one knows up to {known}", path.display())]
    NewerSchema { path: PathBuf, found: i64, known: i64 },
    #[error("{} was written by an older octoswarm: it has schema {found}, this one reads {known}", path.display())]
    OtherSchema { path: PathBuf, found: i64, known: i64 },
    #[error("{} is damaged: {detail}", path.display())]
    Corrupt { path: PathBuf, detail: String },
    #[error("cannot use {}", path.display())]
    Unusable { path: PathBuf, source: sqlx::Error },
    #[error("cannot use {}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("the last server was killed, and {} and its log are too large to be read in a copy ({bytes} bytes)", path.display())]
    Unclean { path: PathBuf, bytes: u64 },
    #[error("cannot bring the schema of {} up to date", path.display())]
    Migrate { path: PathBuf, source: sqlx::migrate::MigrateError },
    #[error("too many deliveries wait to be stored")]
    Busy,
    #[error("the disk is full")]
    Full(#[source] sqlx::Error),
    #[error("another process holds the database")]
    Contended(#[source] sqlx::Error),
    #[error("database error")]
    Database(#[source] sqlx::Error),
    #[error("the commit that it shared with others failed")]
    Fell(#[source] Arc<Self>),
    #[error("the store was opened to look on, not to write")]
    ReadOnly,
    #[error("the store is closing")]
    Closed,
    #[error("{what} has {size} bytes, more than {limit}")]
    TooLarge { what: &'static str, size: usize, limit: usize },
    #[error("no {what} `{id}`")]
    NotFound { what: &'static str, id: String },
    #[error("{what} `{id}` is {state}")]
    Conflict { what: &'static str, id: String, state: String },
    #[error("the stored {what} cannot be read: {detail}")]
    Damaged { what: &'static str, detail: String },
    #[error("cannot write a value as JSON")]
    Encode(#[from] serde_json::Error),
}

impl Error {
    /// The only question the queue ever asks of an error.
    pub fn class(&self) -> Class {
        match self {
            Self::Fell(why) => why.class(),
            Self::Busy | Self::Full(_) | Self::Contended(_) | Self::Database(_) | Self::Closed => Class::Retry,
            Self::Locked { .. }
            | Self::NewerSchema { .. }
            | Self::OtherSchema { .. }
            | Self::Corrupt { .. }
            | Self::Unusable { .. }
            | Self::Io { .. }
            | Self::Migrate { .. }
            | Self::Unclean { .. }
            | Self::ReadOnly
            | Self::TooLarge { .. }
            | Self::NotFound { .. }
            | Self::Conflict { .. }
            | Self::Damaged { .. }
            | Self::Encode(_) => Class::Discard,
        }
    }

    /// What the reader can do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Locked { .. } => "stop that process, or name another folder with --state",
            Self::NewerSchema { .. } => {
                "start the newer octoswarm again, or restore the backup that was made before it first ran; nothing was changed"
            }
            Self::OtherSchema { .. } => {
                "start `octoswarm serve` of this version once, so that it brings the schema up to date"
            }
            Self::Corrupt { .. } => {
                "the file was left as it is: copy it away, then restore a backup, or rescue what is readable with `sqlite3 octoswarm.db .recover | sqlite3 new.db`; \
                 an empty state directory also works: GitHub's delivery log and the open pull requests are read again"
            }
            Self::Unusable { .. } | Self::Io { .. } => {
                "check that the path exists on a local disk and that this user owns it and may write there"
            }
            Self::Unclean { .. } => "start the server again: then it can be read beside it",
            Self::Migrate { .. } => "nothing was changed: the migration ran in a transaction; report this with the log",
            Self::Fell(why) => return why.hint(),
            Self::Busy => "try again in a few seconds",
            Self::Full(_) => "free some space; nothing that was accepted is lost",
            Self::Contended(_) => "close the tool that has the database open for writing",
            Self::ReadOnly
            | Self::Closed
            | Self::Database(_)
            | Self::TooLarge { .. }
            | Self::NotFound { .. }
            | Self::Conflict { .. }
            | Self::Damaged { .. }
            | Self::Encode(_) => return None,
        })
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match primary_code(&error) {
            Some(SQLITE_FULL) => Self::Full(error),
            Some(SQLITE_BUSY | SQLITE_LOCKED) => Self::Contended(error),
            _ => Self::Database(error),
        }
    }
}

pub(super) const SQLITE_BUSY: u32 = 5;
pub(super) const SQLITE_LOCKED: u32 = 6;
pub(super) const SQLITE_CORRUPT: u32 = 11;
pub(super) const SQLITE_FULL: u32 = 13;
pub(super) const SQLITE_NOTADB: u32 = 26;

/// SQLite's result code without the extension in its upper bits.
pub(super) fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let code: u32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}
