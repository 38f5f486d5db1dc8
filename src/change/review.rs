//! `REVIEW.md`: the verdict, what led to it, and the issues by their severity. The verdict counts in the frontmatter.

use serde::{Deserialize, Serialize};

use super::Error;
use super::document::{Head, front, missing, normal, normal_option, read_front, required, same, valid};
use super::markdown::{Section, beneath, each, fields, find, prose, read_span, sections, span, split, text};
use crate::artifact::Fault;
use crate::artifact::agentd::{CreateReview, IssueSeverity, ReviewIssue, TestResults, Verdict};

/// What stands below an issue's description.
const ADVICE: &str = "Recommendation";

/// A review, and how many rounds of mending were begun by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Review {
    #[serde(flatten)]
    pub review: CreateReview,
    pub iteration: u32,
}

#[derive(Serialize)]
struct Front<'a> {
    id: &'a str,
    change_id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    head: &'a Head,
    verdict: Verdict,
    iteration: u32,
    issues: Counted,
    #[serde(skip_serializing_if = "Option::is_none")]
    test_results: Option<TestResults>,
}

#[derive(Serialize)]
struct Counted {
    high: usize,
    medium: usize,
    low: usize,
}

#[derive(Deserialize)]
struct FrontWire {
    id: Option<String>,
    change_id: Option<String>,
    verdict: Verdict,
    #[serde(default)]
    iteration: u32,
    test_results: Option<ResultsWire>,
}

#[derive(Deserialize)]
struct ResultsWire {
    passed: u32,
    failed: u32,
    total: u32,
}

/// In the order of severities, which is that of the document.
pub(super) fn normalize(mut input: CreateReview) -> CreateReview {
    normal(&mut input.summary);
    for issue in &mut input.issues {
        [&mut issue.title, &mut issue.description].into_iter().for_each(normal);
        [&mut issue.category, &mut issue.file, &mut issue.recommendation].into_iter().for_each(normal_option);
    }
    input.issues.sort_by_key(|issue| issue.severity);
    input
}

/// How many issues are of that severity.
pub(super) fn how_many(review: &CreateReview, severity: IssueSeverity) -> usize {
    review.issues.iter().filter(|issue| issue.severity == severity).count()
}

pub(super) fn write(Review { review, iteration }: &Review, head: &Head) -> Result<String, Error> {
    let mut out = front(&Front {
        id: &review.change_id,
        change_id: &review.change_id,
        kind: "review",
        head,
        verdict: review.verdict,
        iteration: *iteration,
        issues: Counted {
            high: how_many(review, IssueSeverity::High),
            medium: how_many(review, IssueSeverity::Medium),
            low: how_many(review, IssueSeverity::Low),
        },
        test_results: review.test_results,
    })?;
    out.push_str(&format!("\n# Review: {}\n\n## Verdict\n\n{}\n", review.change_id, review.verdict.word()));
    out.push_str(&format!("\n## Summary\n\n{}\n", text(&review.summary)));
    if let Some(TestResults { passed, failed, total }) = review.test_results {
        out.push_str(&format!("\n## Test Results\n\n- Passed: {passed}\n- Failed: {failed}\n- Total: {total}\n"));
    }
    out.push_str("\n## Issues\n");
    if review.issues.is_empty() {
        out.push_str("\nNo issues found.\n");
    }
    for severity in IssueSeverity::ALL {
        if how_many(review, severity) > 0 {
            out.push_str(&format!("\n### {}\n", severity.word()));
        }
        for issue in review.issues.iter().filter(|issue| issue.severity == severity) {
            out.push_str(&format!("\n#### {}\n\n- Severity: {}\n", issue.title, severity.word()));
            if let Some(category) = &issue.category {
                out.push_str(&format!("- Category: {category}\n"));
            }
            if let Some(file) = &issue.file {
                out.push_str(&format!("- File: {}\n", span(file)));
            }
            if let Some(line) = issue.line {
                out.push_str(&format!("- Line: {line}\n"));
            }
            out.push_str(&format!("\n{}\n", text(&issue.description)));
            if let Some(advice) = &issue.recommendation {
                out.push_str(&format!("\n##### {ADVICE}\n\n{}\n", text(advice)));
            }
        }
    }
    Ok(out)
}

pub(super) fn read(document: &str, change_id: &str) -> Result<(Review, Head), Vec<Fault>> {
    let (yaml, body) = required(split(document))?;
    let (front, head): (FrontWire, Head) = read_front(yaml)?;
    for (field, said) in [("change_id", &front.change_id), ("id", &front.id)] {
        said.as_ref().map_or(Ok(()), |said| same(field, said, change_id))?;
    }
    let sections = sections(body);
    let part = |title: &str| find(&sections, 2, title).ok_or_else(|| missing(&format!("has no section `## {title}`")));
    let mut issues = Vec::new();
    for group in each(part("Issues")?, 3) {
        let severity = IssueSeverity::ALL.into_iter().find(|severity| group[0].title == severity.word());
        let severity = severity.ok_or_else(|| {
            missing("has a heading below `## Issues` that is none of `### High`, `### Medium`, `### Low`")
        })?;
        for section in each(group, 4) {
            issues.push(issue(section, severity)?);
        }
    }
    issues.sort_by_key(|issue| issue.severity);
    let review = CreateReview {
        change_id: change_id.to_owned(),
        verdict: front.verdict,
        summary: prose(part("Summary")?),
        issues,
        test_results: front.test_results.map(|ResultsWire { passed, failed, total }| TestResults {
            passed,
            failed,
            total,
        }),
    };
    Ok((Review { review: valid(review)?, iteration: front.iteration }, head))
}

fn issue(section: &[Section<'_>], severity: IssueSeverity) -> Result<ReviewIssue, Vec<Fault>> {
    let ([_, category, file, line], taken) = fields(&section[0].lines, ["Severity", "Category", "File", "Line"]);
    let advice = section.iter().position(|part| part.level == 5 && part.title.eq_ignore_ascii_case(ADVICE));
    let line = line.map(str::parse).transpose().map_err(|_| missing("has an issue whose `- Line:` is no number"))?;
    Ok(ReviewIssue {
        title: section[0].title.to_owned(),
        severity,
        description: beneath(&section[..advice.unwrap_or(section.len())], taken),
        category: category.map(str::to_owned),
        file: file.map(|file| read_span(file).0.to_owned()),
        line,
        recommendation: advice.map(|at| prose(&section[at..])),
    })
}
