//! The documents of a change, `agentd/changes/<id>/`: proposal, specs, tasks, review, and how far the change is.
//!
//! Promise: what is written was found valid as a whole, and in its turn (S4.3, S4.4); an invalid call, or one out of turn,
//! writes nothing; what another program or a person wrote is read as it is or refused with the reason. No link is followed.
//! Never: no door, no git, no network; nothing here knows who asks, or does the work that the documents speak of.

mod document;
mod engine;
mod folder;
mod markdown;
mod proposal;
mod review;
mod spec;
mod standing;
mod state;
mod tasks;

pub use document::{Document, Head};
pub use engine::{Change, Changes, Kind, Made, Summary};
pub use review::Review;
pub use state::{Checksum, Counts, MAX_ITERATIONS, Phase, State, Validation};
pub use tasks::{Progress, TaskList};

use std::io;

use crate::artifact::Fault;
use crate::artifact::agentd::MAX_ID;

/// Where changes lie below the root.
pub const CHANGES: &str = "agentd/changes";
/// Bytes of one document, and of one call's input.
pub const MAX_DOCUMENT: usize = 1 << 20;
/// Faults that a message names.
const NAMED: usize = 30;

/// Why nothing was written, or could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input does not have its form. Every fault is there, each with its path.
    #[error("the input of {tool} was refused, and nothing was written: {}", told(.faults))]
    Invalid { tool: &'static str, faults: Vec<Fault> },
    /// The call is not at its turn.
    #[error("{tool} of `{change}` is not at its turn, and nothing was written: {reason}; next: {next}")]
    Sequence { tool: &'static str, change: String, reason: String, next: String },
    /// There is no change of that id.
    #[error("there is no change `{id}`; `create_proposal` makes one")]
    Unknown { id: String },
    /// A document that somebody changed says too little, or something else.
    #[error("`{path}` cannot be read: {}; mend it, or have its tool write it anew", told(.faults))]
    Unreadable { path: String, faults: Vec<Fault> },
    /// What stands in a document's or a folder's place is neither, or too large. It was not followed.
    #[error("`{path}` is {what}: put a plain file or folder there, or remove it")]
    Strange { path: String, what: String },
    #[error("a document could not be written as YAML: {0}")]
    Yaml(String),
    #[error("`{path}` cannot be read or written")]
    Disk { path: String, source: io::Error },
}

impl Error {
    fn of(source: io::Error, path: &str) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::InvalidInput => Self::Strange { path, what: source.to_string() },
            _ => Self::Disk { path, source },
        }
    }

    /// What is wrong with an input or a document, each with its path.
    pub fn faults(&self) -> &[Fault] {
        match self {
            Self::Invalid { faults, .. } | Self::Unreadable { faults, .. } => faults,
            Self::Sequence { .. } | Self::Unknown { .. } | Self::Strange { .. } | Self::Yaml(_) | Self::Disk { .. } => {
                &[]
            }
        }
    }

    /// The caller can do something about it: another input, or another order.
    pub fn is_callers(&self) -> bool {
        matches!(self, Self::Invalid { .. } | Self::Sequence { .. } | Self::Unknown { .. })
    }
}

/// The faults in one line. Of very many the first are named.
fn told(faults: &[Fault]) -> String {
    let mut named: Vec<String> = faults.iter().take(NAMED).map(ToString::to_string).collect();
    if faults.len() > NAMED {
        named.push(format!("and {} more", faults.len() - NAMED));
    }
    named.join("; ")
}

/// Whether it is an id of a change or a spec (A4.2), and so a name that leads nowhere.
pub fn is_id(text: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    text.len() <= MAX_ID && text.split('-').all(word)
}
