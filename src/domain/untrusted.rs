//! Text that somebody else wrote. It may be carried by anyone and opened by few.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Opened only by `publish::render` (which neutralises it), by the command parser, and by agents that read an issue.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted(String);

impl Untrusted {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The raw text. The caller owes it neutralising before anyone reads it as Markdown, a command or a prompt.
    pub fn open(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Untrusted({} bytes)", self.0.len())
    }
}
