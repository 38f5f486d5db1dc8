//! The master's report in the words of S1.15.

use std::collections::BTreeMap;

use crate::artifact::ReviewReport;
use crate::artifact::code_review::{
    Assessment, CodeReview, Impact, Location, Readiness, ReviewCategories, ReviewCategory, ReviewFinding,
    ReviewMetadata, ReviewSeverity, ReviewSummary, Scope,
};
use crate::artifact::exchange::BySeverity;
use crate::artifact::project::Level;
use crate::domain::{Category, Finding, Outcome, Severity};
use crate::stdx::text::count;

/// What of a report has to be mended first is critical whatever else is said of it.
fn severity(finding: &Finding) -> ReviewSeverity {
    match (finding.category, finding.severity) {
        (Category::Critical, _) => ReviewSeverity::Critical,
        (_, Severity::High) => ReviewSeverity::Major,
        (_, Severity::Medium) => ReviewSeverity::Minor,
        (_, Severity::Low) => ReviewSeverity::Suggestion,
    }
}

fn category(finding: &Finding) -> ReviewCategory {
    let weakness = finding.reference.as_ref().is_some_and(|reference| reference.starts_with("CWE-"));
    match finding.category {
        Category::Documentation => ReviewCategory::Documentation,
        Category::Critical if weakness => ReviewCategory::Security,
        Category::Critical | Category::Improvement | Category::Debt => ReviewCategory::Maintainability,
    }
}

fn prefix(category: ReviewCategory) -> &'static str {
    match category {
        ReviewCategory::Architecture => "ARCH",
        ReviewCategory::Performance => "PERF",
        ReviewCategory::Security => "SEC",
        ReviewCategory::Maintainability => "MAINT",
        ReviewCategory::Testing => "TEST",
        ReviewCategory::Documentation => "DOC",
    }
}

pub(super) fn by_severity(findings: &[Finding]) -> BySeverity {
    let mut counts = BySeverity::default();
    for finding in findings {
        *match severity(finding) {
            ReviewSeverity::Critical => &mut counts.critical,
            ReviewSeverity::Major => &mut counts.major,
            ReviewSeverity::Minor => &mut counts.minor,
            ReviewSeverity::Suggestion => &mut counts.suggestion,
        } += 1;
    }
    counts
}

/// Any critical finding, or nothing that could be read: to be talked about. Any major one: to be revised. Nothing is
/// approved that a reviewer whose part is expected did not see.
pub(super) fn readiness(report: &ReviewReport) -> Readiness {
    let counts = by_severity(&report.findings);
    match report.outcome {
        Outcome::CouldNotReview { .. } => Readiness::RequiresDiscussion,
        _ if counts.critical > 0 => Readiness::RequiresDiscussion,
        _ if counts.major > 0 => Readiness::NeedsRevision,
        _ if report.coverage.is_incomplete() => Readiness::RequiresDiscussion,
        _ => Readiness::Approved,
    }
}

/// The whole review; its confidence is the share of the changed files that could be read.
pub(super) fn code_review(report: &ReviewReport, task_id: &str, timestamp: String, took_ms: u64) -> CodeReview {
    let mut codes: BTreeMap<(ReviewCategory, &str), usize> = BTreeMap::new();
    let mut findings = Vec::new();
    for finding in &report.findings {
        let kind = category(finding);
        let next = codes.keys().filter(|(known, _)| *known == kind).count() + 1;
        let number = *codes.entry((kind, finding.rule.0.as_str())).or_insert(next);
        findings.push(told(finding, kind, number));
    }
    let of = |kind: ReviewCategory| findings.iter().filter(|finding| finding.category == kind).cloned().collect();
    let categories = ReviewCategories {
        architecture: of(ReviewCategory::Architecture),
        performance: of(ReviewCategory::Performance),
        security: of(ReviewCategory::Security),
        maintainability: of(ReviewCategory::Maintainability),
        testing: of(ReviewCategory::Testing),
        documentation: of(ReviewCategory::Documentation),
    };
    let coverage = &report.coverage;
    let confidence = if coverage.total == 0 { 1.0 } else { coverage.read as f64 / coverage.total as f64 };
    CodeReview {
        task_id: task_id.to_owned(),
        timestamp,
        reviewer: "master".to_owned(),
        summary: summary(report, &findings),
        findings,
        categories,
        overall_assessment: Assessment {
            readiness: readiness(report),
            confidence: confidence.clamp(0.0, 1.0),
            estimated_fix_time: None,
        },
        metadata: ReviewMetadata {
            review_duration_ms: took_ms,
            files_reviewed: coverage.read as u64,
            ..ReviewMetadata::default()
        },
    }
}

fn told(finding: &Finding, kind: ReviewCategory, number: usize) -> ReviewFinding {
    let severity = severity(finding);
    ReviewFinding {
        id: finding.fingerprint.as_str().to_owned(),
        severity,
        category: kind,
        code: format!("{}-{number:03}", prefix(kind)),
        title: finding.rule.0.clone(),
        description: finding.message.clone(),
        location: Location {
            file: finding.path.clone(),
            line: Some(finding.span.start_line.max(1)),
            column: Some(finding.span.start_column.max(1)),
            snippet: None,
        },
        recommendation: finding.why.clone(),
        example_improvement: finding.fix.as_ref().map(|fix| fix.replacement.clone()),
        references: finding.reference.clone().map(|reference| vec![reference]),
        impact: Impact {
            likelihood: match severity {
                ReviewSeverity::Critical | ReviewSeverity::Major => Level::High,
                ReviewSeverity::Minor => Level::Medium,
                ReviewSeverity::Suggestion => Level::Low,
            },
            scope: Scope::Local,
        },
    }
}

fn summary(report: &ReviewReport, findings: &[ReviewFinding]) -> ReviewSummary {
    let counts = by_severity(&report.findings);
    let mut concerns = Vec::new();
    match &report.outcome {
        Outcome::CouldNotReview { reason } | Outcome::NothingToReview { reason } => concerns.push(reason.clone()),
        Outcome::Clean | Outcome::Findings { .. } => concerns.extend(report.coverage.unreviewed()),
    }
    let unread = report.coverage.not_read.iter().filter(|file| !file.left_out).count();
    if unread > 0 {
        concerns.push(format!("{} could not be read", count(unread, "file")));
    }
    let mut recommendations: Vec<String> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.severity <= ReviewSeverity::Major) {
        if !recommendations.contains(&finding.recommendation) {
            recommendations.push(finding.recommendation.clone());
        }
    }
    // The explicit word that a review without findings owes its reader.
    let strengths = match report.outcome {
        Outcome::Clean => vec![format!("no issues in {} read", count(report.coverage.read, "file"))],
        _ => Vec::new(),
    };
    ReviewSummary {
        total_findings: findings.len() as u64,
        critical_findings: counts.critical,
        major_findings: counts.major,
        minor_findings: counts.minor,
        suggestions: counts.suggestion,
        strengths,
        concerns,
        recommendations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AbsentReviewer, Coverage, Fingerprint, RuleId, Span};

    /// A review of one file in which a reviewer failed and the others found this much.
    fn half(severities: &[Severity]) -> CodeReview {
        let finding = |severity: &Severity| {
            let rule = RuleId(format!("rule-{}", severity.name()));
            Finding {
                category: Category::Improvement,
                severity: *severity,
                path: "a.py".into(),
                span: Span { start_line: 1, start_column: 1, end_line: 1, end_column: 2 },
                message: "a".into(),
                why: "b".into(),
                fix: None,
                reference: None,
                fingerprint: Fingerprint::new(&rule, "a.py", "x", 0),
                rule,
            }
        };
        let absent = vec![AbsentReviewer {
            reviewer: "critical".into(),
            code: "API_001".into(),
            reason: "no answer".into(),
            left_out: false,
        }];
        let coverage = Coverage { read: 1, total: 1, absent, ..Coverage::default() };
        let findings: Vec<Finding> = severities.iter().map(finding).collect();
        let report = ReviewReport {
            present: Default::default(),
            settled_paths: Default::default(),
            silent: Default::default(),
            outcome: coverage.outcome(findings.len()),
            coverage,
            findings,
        };
        code_review(&report, "PR-1", "2026-11-21T10:15:35Z".into(), 1)
    }

    #[test]
    fn s1_15_what_a_reviewer_did_not_see_is_never_approved_and_the_review_says_so() {
        for (found, want) in [
            (&[][..], Readiness::RequiresDiscussion),
            (&[Severity::Low, Severity::Medium], Readiness::RequiresDiscussion),
            (&[Severity::High], Readiness::NeedsRevision),
        ] {
            let review = half(found);
            assert_eq!(review.overall_assessment.readiness, want, "{found:?}");
            assert_eq!(review.summary.concerns, ["the critical reviewer failed: no answer (API_001)"], "{found:?}");
        }
    }
}
