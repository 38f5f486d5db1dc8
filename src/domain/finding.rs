//! The one internal model of a finding. Comments, checks, SARIF, Markdown, terminal and JSON are all made from it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::stdx::hash;

/// Which reviewer a finding belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// Wrong or exploitable: security holes, crashes, lost data.
    Critical,
    /// Works, and a better way is known: performance, robustness, idiom.
    Improvement,
    /// Costs later: dead code, leftovers, what the next reader stumbles over.
    Debt,
    /// What the documentation says is not what the code does.
    Documentation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Low,
    Medium,
    High,
}

/// A rule's id: kebab-case, reads after "allow" (`allow unwrap-in-handler`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RuleId(pub String);

/// Where, on the new side. Lines and columns are 1-based, the end line is included, the end column is not; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    pub start_line: u32,
    pub start_column: u32,
    pub end_line: u32,
    pub end_column: u32,
}

/// A mechanical change as whole lines, the shape of a GitHub suggestion block: `start_line..=end_line` become `replacement`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fix {
    pub start_line: u32,
    pub end_line: u32,
    /// Lines without a final line ending; empty deletes the lines.
    pub replacement: String,
}

/// Names a finding across pushes: same rule, same path, same text, same place among its likes. Lines may move, it stays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub category: Category,
    pub severity: Severity,
    pub rule: RuleId,
    pub path: String,
    pub span: Span,
    /// What is wrong, one sentence.
    pub message: String,
    /// Why it matters and what to do, one short paragraph.
    pub why: String,
    /// Present when the change is mechanical.
    pub fix: Option<Fix>,
    /// CWE id, CVE, specification or documentation address.
    pub reference: Option<String>,
    pub fingerprint: Fingerprint,
}

impl Fingerprint {
    /// `matched` is the text that the rule matched (white space is folded); `nth` counts equal ones above it in the file.
    pub fn new(rule: &RuleId, path: &str, matched: &str, nth: usize) -> Self {
        let folded = matched.split_whitespace().collect::<Vec<_>>().join(" ");
        let digest = hash::sha256_parts([rule.0.as_str(), path, &folded, &nth.to_string()]);
        Self(digest[..24].to_owned())
    }

    /// Reads one back from a marker or a row: 24 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == 24 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        fits.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Category {
    pub const ALL: [Self; 4] = [Self::Critical, Self::Improvement, Self::Debt, Self::Documentation];

    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Improvement => "improvement",
            Self::Debt => "debt",
            Self::Documentation => "documentation",
        }
    }
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_survives_indentation_and_tells_twins_apart() {
        let rule = RuleId("eval-call".into());
        let one = Fingerprint::new(&rule, "a.py", "eval(x,\n    y)", 0);
        assert_eq!(one, Fingerprint::new(&rule, "a.py", "eval(x, y)", 0));
        assert_ne!(one, Fingerprint::new(&rule, "a.py", "eval(x, y)", 1));
        assert_ne!(one, Fingerprint::new(&rule, "b.py", "eval(x, y)", 0));
        assert_eq!(Fingerprint::parse(one.as_str()), Some(one));
    }
}
