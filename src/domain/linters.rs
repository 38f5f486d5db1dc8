//! Other people's linters: which a repository wants asked, and what came of asking them.

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Those that octoswarm can ask.
pub const LINTERS: [&str; 7] = ["ruff", "eslint", "clippy", "golangci-lint", "shellcheck", "hadolint", "semgrep"];

/// The repository's word on which are asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Linters {
    Off,
    /// Those that run none of the repository's code, that it has settings for, and that are installed.
    #[default]
    Auto,
    /// These, whatever they need.
    Named(Vec<String>),
}

impl<'de> Deserialize<'de> for Linters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Word;
        impl<'de> Visitor<'de> for Word {
            type Value = Linters;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("off, auto or a list of linters")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Linters, E> {
                match word {
                    "off" => Ok(Linters::Off),
                    "auto" => Ok(Linters::Auto),
                    other => Ok(Linters::Named(vec![other.to_owned()])),
                }
            }

            // Some readers of YAML take `off` for this.
            fn visit_bool<E: serde::de::Error>(self, on: bool) -> Result<Linters, E> {
                Ok(if on { Linters::Auto } else { Linters::Off })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut given: A) -> Result<Linters, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = given.next_element()? {
                    names.push(name);
                }
                Ok(Linters::Named(names))
            }
        }
        deserializer.deserialize_any(Word)
    }
}

/// What came of one linter, or of a file of results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinterRun {
    /// The linter, or the tool that wrote the file.
    pub name: String,
    /// Why it was not asked, or gave no whole answer; nothing when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// What of its answer is not told, a clause each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_or_a_list_says_which_linters_are_asked() {
        let read = |text: &str| serde_json::from_str::<Linters>(text).unwrap();
        assert_eq!(read("\"off\""), Linters::Off);
        assert_eq!(read("false"), Linters::Off);
        assert_eq!(read("\"auto\""), Linters::Auto);
        assert_eq!(read("\"ruff\""), Linters::Named(vec!["ruff".into()]));
        assert_eq!(read("[]"), Linters::Named(Vec::new()));
        assert!(serde_json::from_str::<Linters>("{}").is_err());
    }
}
