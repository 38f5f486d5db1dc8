//! The commands that a repository is checked with, and what their output says. Nothing is run here.

mod counts;
mod detect;
mod reports;
mod unformatted;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use counts::{Counts, counts, junit};
pub use detect::checks;
pub use reports::reports;
pub use unformatted::unformatted;

/// What a check is for, in the order in which they are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Fetches what the others need: the only one that needs the network.
    Install,
    /// Fails where a formatter would change something, and changes nothing.
    Format,
    /// Formats files: no check, but run where one of those failed over a change of ours.
    Reformat,
    Lint,
    Build,
    Test,
}

impl Kind {
    pub const ALL: [Self; 6] = [Self::Install, Self::Format, Self::Reformat, Self::Lint, Self::Build, Self::Test];

    pub fn name(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Format => "format",
            Self::Reformat => "reformat",
            Self::Lint => "lint",
            Self::Build => "build",
            Self::Test => "test",
        }
    }

    /// Says whether a tree is as it should be; the others only help with that.
    pub fn is_check(self) -> bool {
        !matches!(self, Self::Install | Self::Reformat)
    }

    /// All others are made to run without.
    pub fn needs_network(self) -> bool {
        self == Self::Install
    }
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub kind: Kind,
    /// For `sh -c`. Of a repository's own text it holds only what the repository's configuration says.
    pub line: String,
    /// The folder to run it in, below the root; empty is the root. A path, not for a shell.
    pub dir: String,
    /// What the project is built with: `cargo`, `node`; `repository` for what the configuration says.
    pub ecosystem: String,
    /// To be set beside the sandbox's own environment.
    pub env: BTreeMap<String, String>,
    /// The repository's configuration says so; else its files do.
    pub configured: bool,
}
