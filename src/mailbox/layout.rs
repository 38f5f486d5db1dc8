//! Where the files are, and what their names say (S3.15, S3.16).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{AgentName, MessageId};

/// The folder with all messages of a node.
#[derive(Debug, Clone)]
pub(super) struct Layout(PathBuf);

/// What a file in an inbox is, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// `<id>.json`
    Waiting(MessageId),
    /// `<id>.claimed`: somebody handles it, or did when it died.
    Claimed(MessageId),
    /// `<id>.claim`: how often it was handed out.
    Record(MessageId),
    /// `*.tmp`: somebody is writing it.
    Staged,
    /// `*.json` that is called like no message.
    Misnamed,
    /// Not ours.
    Foreign,
}

impl Name {
    pub(super) fn of(name: &OsStr) -> Self {
        let path = Path::new(name);
        let Some(ending) = path.extension().and_then(OsStr::to_str) else {
            return Self::Foreign;
        };
        let id = path.file_stem().and_then(OsStr::to_str).and_then(MessageId::parse);
        match (ending, id) {
            ("tmp", _) => Self::Staged,
            ("json", Some(id)) => Self::Waiting(id),
            ("json", None) => Self::Misnamed,
            ("claimed", Some(id)) => Self::Claimed(id),
            ("claim", Some(id)) => Self::Record(id),
            _ => Self::Foreign,
        }
    }
}

impl Layout {
    pub(super) fn new(root: PathBuf) -> Self {
        Self(root)
    }

    pub(super) fn inbox(&self, agent: AgentName) -> PathBuf {
        self.0.join("inbox").join(agent.as_str())
    }

    pub(super) fn outbox(&self, agent: AgentName) -> PathBuf {
        self.0.join("outbox").join(agent.as_str())
    }

    pub(super) fn processed(&self) -> PathBuf {
        self.0.join("processed")
    }

    pub(super) fn failed(&self) -> PathBuf {
        self.0.join("failed")
    }

    pub(super) fn waiting(&self, agent: AgentName, id: &MessageId) -> PathBuf {
        self.inbox(agent).join(format!("{id}.json"))
    }

    pub(super) fn claimed(&self, agent: AgentName, id: &MessageId) -> PathBuf {
        self.inbox(agent).join(format!("{id}.claimed"))
    }

    pub(super) fn record(&self, agent: AgentName, id: &MessageId) -> PathBuf {
        self.inbox(agent).join(format!("{id}.claim"))
    }

    /// Where it lies when it was handled.
    pub(super) fn done(&self, id: &MessageId) -> PathBuf {
        self.processed().join(format!("{id}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_file_is() {
        let id = MessageId::parse("pm_20241220_150000_001").unwrap();
        for (name, want) in [
            ("pm_20241220_150000_001.json", Name::Waiting(id.clone())),
            ("pm_20241220_150000_001.claimed", Name::Claimed(id.clone())),
            ("pm_20241220_150000_001.claim", Name::Record(id)),
            ("pm_20241220_150000_001.tmp", Name::Staged),
            ("pm_20241220_150000_001.json.tmp", Name::Staged),
            (".tmp_anything.tmp", Name::Staged),
            ("task.json", Name::Misnamed),
            ("pm_20241220_150000_001.json.json", Name::Misnamed),
            ("task.claimed", Name::Foreign),
            ("notes.txt", Name::Foreign),
            (".json", Name::Foreign),
            ("json", Name::Foreign),
        ] {
            assert_eq!(Name::of(OsStr::new(name)), want, "{name}");
        }
    }
}
