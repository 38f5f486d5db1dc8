//! What a person may ask for in a comment.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where a comment stands. GitHub calls both issues; what can be asked for differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Conversation {
    Issue,
    #[default]
    Pull,
}

/// The verbs of `/swarm <verb>`. A closed list: help, parsing and routing stop compiling when one is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Review the pull request's head, again if need be.
    Review,
    /// On a pull request: commit the mechanical fixes. On an issue: make the change that it asks for.
    Fix,
    /// Run the repository's own checks over the pull request's head.
    Test,
    /// What was done and what runs.
    Status,
    /// End what runs.
    Cancel,
    /// Try again what failed.
    Retry,
    Help,
}

impl Verb {
    pub const ALL: [Self; 7] =
        [Self::Review, Self::Fix, Self::Test, Self::Status, Self::Cancel, Self::Retry, Self::Help];

    pub fn name(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Fix => "fix",
            Self::Test => "test",
            Self::Status => "status",
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Help => "help",
        }
    }

    /// What it does there, for the help text; `None` where it does nothing.
    pub fn about(self, on: Conversation) -> Option<&'static str> {
        match (self, on) {
            (Self::Review, Conversation::Pull) => Some("review the latest commit, also if it was reviewed before"),
            (Self::Review, Conversation::Issue) => None,
            (Self::Fix, Conversation::Pull) => Some("commit the mechanical fixes that remain"),
            (Self::Fix, Conversation::Issue) => Some("make the change that the issue asks for, as a pull request"),
            (Self::Test, Conversation::Pull) => {
                Some("run the repository's own checks over the latest commit; for a fork write `/swarm test COMMIT`")
            }
            (Self::Test, Conversation::Issue) => None,
            (Self::Status, _) => Some("say what was done here and what is running"),
            (Self::Cancel, _) => Some("end what is running here"),
            (Self::Retry, _) => Some("try again what failed here last"),
            (Self::Help, _) => Some("show what can be asked for here"),
        }
    }
}

impl FromStr for Verb {
    type Err = ();

    /// Case does not matter.
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|verb| verb.name().eq_ignore_ascii_case(text)).ok_or(())
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
