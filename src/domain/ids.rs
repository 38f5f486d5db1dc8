//! Identifiers. Each is a type of its own, so that a pull number never stands where a repository id belongs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::stdx::token;

macro_rules! numeric_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

numeric_id!(
    /// GitHub's id of one installation of the App on an account.
    InstallationId
);
numeric_id!(
    /// GitHub's id of a repository; it survives renames and transfers, the name does not.
    RepositoryId
);
numeric_id!(
    /// A pull request's number within its repository.
    PullNumber
);
numeric_id!(
    /// An issue's number within its repository. Issues and pull requests share one row of numbers.
    IssueNumber
);
numeric_id!(
    /// GitHub's id of a comment on an issue or on a pull request's conversation.
    CommentId
);

/// The GUID of `X-GitHub-Delivery`. A redelivery carries the same one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeliveryId(String);

impl DeliveryId {
    /// Accepts what GitHub sends: 1 to 64 ASCII letters, digits and dashes.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = !text.is_empty() && text.len() <= 64 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        fits.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A full git object id: 40 (SHA-1) or 64 (SHA-256) lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha(String);

impl Sha {
    pub fn parse(text: &str) -> Option<Self> {
        let fits =
            matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        fits.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The seven digits people read.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl TryFrom<String> for Sha {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a full git object id"))
    }
}

impl From<Sha> for String {
    fn from(sha: Sha) -> Self {
        sha.0
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `owner/name`, each part within GitHub's alphabet: so it is safe in a URL path and as a folder name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoName {
    owner: String,
    name: String,
}

impl RepoName {
    pub fn new(owner: &str, name: &str) -> Option<Self> {
        let part = |text: &str| {
            !text.is_empty()
                && text.len() <= 100
                && text != "."
                && text != ".."
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        (part(owner) && part(name)).then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for RepoName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split_once('/')
            .and_then(|(owner, name)| Self::new(owner, name))
            .ok_or_else(|| format!("`{text}` is not a repository name of the form owner/name"))
    }
}

impl TryFrom<String> for RepoName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<RepoName> for String {
    fn from(name: RepoName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// A job's row id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub i64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One run of a flow over one input: a folder of artifacts and a row of steps. UUID version 7, so runs sort by start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub uuid::Uuid);

impl RunId {
    pub fn parse(text: &str) -> Option<Self> {
        uuid::Uuid::parse_str(text).ok().map(Self)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        /// 32 lower-case hexadecimal digits behind the prefix: nobody guesses it, and it is safe as a file's name.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// One that nobody has.
            pub fn fresh() -> Self {
                Self(format!(concat!($prefix, "{}"), &token::fresh()[..HANDLE]))
            }

            pub fn parse(text: &str) -> Option<Self> {
                let digits = text.strip_prefix($prefix)?;
                let fits = digits.len() == HANDLE && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
                fits.then(|| Self(text.to_owned()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                Self::parse(&text).ok_or_else(|| format!("`{text}` is not {} and {HANDLE} digits", $prefix))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// Hexadecimal digits of a handle: 128 bits.
const HANDLE: usize = 32;

handle!(
    /// A codebase that was uploaded, `cb_…` (S0.1).
    CodebaseId,
    "cb_"
);
handle!(
    /// A review of an uploaded codebase, `rv_…`.
    ReviewId,
    "rv_"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_read_strictly_and_cannot_be_guessed() {
        let (one, other) = (CodebaseId::fresh(), CodebaseId::fresh());
        assert_ne!(one, other);
        assert_eq!(CodebaseId::parse(one.as_str()), Some(one.clone()));
        assert!(ReviewId::parse(one.as_str()).is_none(), "not the other kind");
        let upper = one.as_str().to_uppercase();
        for odd in ["", "cb_", "cb_1", "cb_../../etc", "rv_1", &upper, &format!("{one}0"), &format!(" {one}")] {
            assert!(CodebaseId::parse(odd).is_none(), "{odd:?}");
        }
    }

    #[test]
    fn a_repository_name_cannot_leave_its_folder() {
        assert!(RepoName::new("octo", "calc.rs").is_some());
        for (owner, name) in [("..", "x"), ("a", ".."), ("a", "b/c"), ("", "b"), ("a", "b c"), ("a", "b%2e")] {
            assert_eq!(RepoName::new(owner, name), None, "{owner}/{name}");
        }
    }

    #[test]
    fn a_sha_is_full_and_lower_case() {
        assert!(Sha::parse(&"a".repeat(40)).is_some());
        assert!(Sha::parse(&"a".repeat(64)).is_some());
        assert_eq!(Sha::parse(&"A".repeat(40)), None);
        assert_eq!(Sha::parse("abc1234"), None);
    }
}
