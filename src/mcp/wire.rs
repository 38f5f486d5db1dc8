//! What several tools answer, as it stands in structured content. The same words as `octoswarm review --format json` has.

use schemars::JsonSchema;
use serde::Serialize;

use crate::app::local::Checked;
use crate::domain::{self, Outcome};

/// One finding.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Finding {
    /// `critical`, `improvement`, `debt` or `documentation`.
    category: &'static str,
    /// `low`, `medium` or `high`.
    severity: &'static str,
    /// Id of the rule; `explain_rule` tells what it is about.
    rule: String,
    /// From the repository's root; outside of repositories from the root that the server was given.
    path: String,
    span: Span,
    /// What is wrong, in one sentence.
    message: String,
    /// Why it matters and what to do.
    why: String,
    /// A mechanical change that is proven; `apply_fix` makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<Fix>,
    /// Where to read more, such as `CWE-95`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// Stays the same while lines move; what `apply_fix` takes.
    fingerprint: String,
}

/// Lines and columns count from 1. The end line is included, the end column is not; columns count characters.
#[derive(Debug, Serialize, JsonSchema)]
struct Span {
    start_line: u32,
    start_column: u32,
    end_line: u32,
    end_column: u32,
}

/// These lines become the replacement; where it is empty, they go.
#[derive(Debug, Serialize, JsonSchema)]
struct Fix {
    start_line: u32,
    end_line: u32,
    replacement: String,
}

impl From<&domain::Finding> for Finding {
    fn from(found: &domain::Finding) -> Self {
        let domain::Span { start_line, start_column, end_line, end_column } = found.span;
        Self {
            category: found.category.name(),
            severity: found.severity.name(),
            rule: found.rule.0.clone(),
            path: found.path.clone(),
            span: Span { start_line, start_column, end_line, end_column },
            message: found.message.clone(),
            why: found.why.clone(),
            fix: found.fix.as_ref().map(|fix| Fix {
                start_line: fix.start_line,
                end_line: fix.end_line,
                replacement: fix.replacement.clone(),
            }),
            reference: found.reference.clone(),
            fingerprint: found.fingerprint.as_str().to_owned(),
        }
    }
}

/// What was read, and what was not.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Coverage {
    /// Files that were read by the rules of their language.
    read: usize,
    /// Files that there were.
    total: usize,
    /// Files that were read for secrets and merge markers only.
    text_only: usize,
    /// Files that were not read, the first hundred of them.
    not_read: Vec<NotRead>,
    /// Files that the parser did not understand: findings may be missing there.
    syntax_errors: Vec<String>,
    /// Reviewers whose part is missing, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    absent: Vec<String>,
    /// Linters that were asked and did not run to their end, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linters_not_run: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct NotRead {
    path: String,
    reason: String,
}

/// Paths that a list in an answer holds at most.
const LISTED: usize = 100;

impl From<&domain::Coverage> for Coverage {
    fn from(coverage: &domain::Coverage) -> Self {
        let not_read = coverage.not_read.iter().take(LISTED);
        Self {
            read: coverage.read,
            total: coverage.total,
            text_only: coverage.text_only.len(),
            not_read: not_read.map(|file| NotRead { path: file.path.clone(), reason: file.reason.clone() }).collect(),
            syntax_errors: coverage.syntax_errors.iter().take(LISTED).cloned().collect(),
            absent: coverage.absent.iter().map(|part| format!("{}: {}", part.reviewer, part.reason)).collect(),
            linters_not_run: coverage.unlinted(),
        }
    }
}

/// How it ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Ended {
    /// `clean`, `findings`, `nothing-to-review` or `could-not-review`: the first alone means that all was read and nothing found.
    outcome: &'static str,
    /// Why it is what it is, where that needs saying.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<&Outcome> for Ended {
    fn from(outcome: &Outcome) -> Self {
        let (outcome, reason) = match outcome {
            Outcome::Clean => ("clean", None),
            Outcome::Findings { .. } => ("findings", None),
            Outcome::NothingToReview { reason } => ("nothing-to-review", Some(reason.clone())),
            Outcome::CouldNotReview { reason } => ("could-not-review", Some(reason.clone())),
        };
        Self { outcome, reason }
    }
}

/// A page of findings.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Findings {
    #[serde(flatten)]
    ended: Ended,
    /// All that were found, on this page or not.
    total: usize,
    findings: Vec<Finding>,
    /// Give it as `cursor` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
    coverage: Coverage,
    /// What is wrong with the repository's own configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Findings {
    /// The findings from `from` on, so many at most.
    pub(super) fn page(checked: &Checked, from: usize, most: usize) -> Self {
        let Checked { findings, coverage, outcome, warnings, .. } = checked;
        let page: Vec<Finding> = findings.iter().skip(from).take(most).map(Finding::from).collect();
        let next = from.saturating_add(page.len());
        Self {
            ended: outcome.into(),
            total: findings.len(),
            next_cursor: (next < findings.len()).then(|| next.to_string()),
            findings: page,
            coverage: coverage.into(),
            warnings: warnings.clone(),
        }
    }
}
