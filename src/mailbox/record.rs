//! How often a message was handed out, and to whom last: a small file beside it that outlives every holder.

use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::stdx::file;

/// No record of ours is longer.
const MAX: u64 = 64 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// How often somebody began to handle it.
    pub(super) attempts: u32,
    /// The last holder.
    #[serde(default)]
    pub(super) process: u32,
    #[serde(default)]
    pub(super) node: String,
    #[serde(default)]
    pub(super) claimed_at: Option<Timestamp>,
    /// Nobody takes it before.
    #[serde(default)]
    pub(super) not_before: Option<Timestamp>,
    #[serde(default)]
    pub(super) last_failure: Option<String>,
}

impl Record {
    /// What stands there; without a readable file nobody has tried yet.
    pub(super) fn load(path: &Path) -> Self {
        let read = || -> io::Result<Self> {
            let mut bytes = Vec::new();
            file::open_plain(path)?.take(MAX).read_to_end(&mut bytes)?;
            Ok(serde_json::from_slice(&bytes)?)
        };
        read().unwrap_or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(path = %path.display(), %error, "the record of a message's attempts cannot be read; they count from none");
            }
            Self::default()
        })
    }

    /// Only whoever holds the message's lock may do this.
    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        file::replace(path, &serde_json::to_vec(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_saved_and_a_broken_one_counts_from_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pm_20241220_150000_001.claim");
        assert_eq!(Record::load(&path), Record::default());
        let record = Record { attempts: 3, last_failure: Some("no".into()), ..Record::default() };
        record.save(&path).unwrap();
        record.save(&path).unwrap();
        assert_eq!(Record::load(&path), record);
        file::replace(&path, b"{\"attempts\":-1}").unwrap();
        assert_eq!(Record::load(&path), Record::default());
    }
}
