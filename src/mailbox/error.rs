//! What can go wrong with the bus, in words an operator or an author of an agent can act on.

use std::io;
use std::path::{Path, PathBuf};

use super::{AgentName, MAX_BYTES, MAX_PENDING, MessageId};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot {doing} {}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("the message has {bytes} bytes, more than {MAX_BYTES}")]
    TooLarge { bytes: u64 },
    #[error("{pending} messages wait for {agent}, no more than {MAX_PENDING} may")]
    Full { agent: AgentName, pending: usize },
    #[error("{agent} has no inbox, it only sends")]
    CannotReceive { agent: AgentName },
    #[error("the content of the message is not sound: {}", faults.join("; "))]
    Content { faults: Vec<String> },
    #[error("another message has the id {id}")]
    Taken { id: MessageId },
    #[error("message {id} is no longer where its claim put it")]
    Lost { id: MessageId },
    #[error("the program is stopping")]
    Stopping,
}

impl Error {
    /// What the reader can do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free some space; nothing was half sent or half moved"
            }
            Self::Io { .. } => {
                "check that the folder exists on a local disk and that this user owns it and may write there"
            }
            Self::TooLarge { .. } => "put the data into a file and send its path and digest",
            Self::Full { .. } => "send it again later, and look whether the receiver is running",
            Self::CannotReceive { .. } => "send it to product_manager",
            Self::Content { .. } => "correct the fields; docs/messages.md lists them",
            Self::Lost { .. } => "let only agents that claim messages serve this inbox; somebody else moved the file",
            Self::Taken { .. } => "draw another id; somebody else counts under the same name",
            Self::Stopping => return None,
        })
    }

    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
