//! What a repository wants to have run over a change.

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Whether the repository's own checks run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Checks {
    /// Where they can.
    #[default]
    Auto,
    /// Without them there is no pull request.
    Require,
    Off,
}

/// The repository's own word on its commands, in place of what its files show. Nothing: as they show. An empty list: none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Commands {
    #[serde(deserialize_with = "lines")]
    pub install: Option<Vec<String>>,
    #[serde(deserialize_with = "lines")]
    pub format: Option<Vec<String>>,
    #[serde(deserialize_with = "lines")]
    pub reformat: Option<Vec<String>>,
    #[serde(deserialize_with = "lines")]
    pub lint: Option<Vec<String>>,
    #[serde(deserialize_with = "lines")]
    pub build: Option<Vec<String>>,
    #[serde(deserialize_with = "lines")]
    pub test: Option<Vec<String>>,
}

/// A line, or a list of lines. An empty line alone is an empty list; nothing at all is nothing said.
fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    struct Lines;
    impl<'de> Visitor<'de> for Lines {
        type Value = Option<Vec<String>>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a command or a list of commands")
        }

        fn visit_str<E>(self, line: &str) -> Result<Self::Value, E> {
            Ok(Some(if line.is_empty() { Vec::new() } else { vec![line.to_owned()] }))
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut given: A) -> Result<Self::Value, A::Error> {
            let mut lines = Vec::new();
            while let Some(line) = given.next_element()? {
                lines.push(line);
            }
            Ok(Some(lines))
        }
    }
    deserializer.deserialize_any(Lines)
}
