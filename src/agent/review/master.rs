//! The master reviewer: merges, ranks, proves every fix, and gives an honest account of what was read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::assessment::{by_severity, code_review, readiness};
use crate::agent::pack::ReadFile;
use crate::agent::{Agent, Context, Error, Reviewing, Role, Told};
use crate::analysis::fix;
use crate::artifact::exchange::{Absent, AgentInput, AgentOutput, MoreMetadata};
use crate::artifact::{AgentFindings, FilePlan, ReviewReport, Snapshot};
use crate::domain::{AbsentReviewer, Category, Coverage, Finding, Reading};
use crate::stdx::text::{self, count};

/// Characters of a failed reviewer's reason that a report shows.
const MAX_REASON: usize = 300;

pub struct Master;

#[derive(Debug, Deserialize)]
pub struct MasterInput {
    manager: Snapshot,
    documentation: Option<AgentFindings>,
    debt: Option<AgentFindings>,
    improvement: Option<AgentFindings>,
    critical: Option<AgentFindings>,
    /// Those of the four that have no part in it.
    #[serde(default)]
    absent: Vec<Absent>,
}

impl Agent for Master {
    const VERSION: &'static str = "4";
    type Input = MasterInput;
    type Output = ReviewReport;

    fn role(&self) -> Role {
        Role::Master
    }

    async fn run(&self, cx: &Context, input: MasterInput) -> Result<ReviewReport, Error> {
        let scene = cx.reviewing()?;
        let plan = input.manager.reading.ok_or(Error::Scene("a review"))?;
        let files = scene.pack.read(cx, &plan).await?;
        let reviews = [input.documentation, input.debt, input.improvement, input.critical];
        let mut findings = merge(reviews.into_iter().flatten().collect());
        for (path, file) in files {
            if let Some(text) = &file.text {
                findings = proven(cx, path, text, findings).await?;
            }
        }
        rank(&mut findings);
        let mut coverage = coverage(&plan, files);
        coverage.absent = input.absent.into_iter().map(absent).collect();
        let linted = &scene.facts.linted;
        coverage.linters.clone_from(&linted.runs);
        let all = files.values().flat_map(|file| &file.all);
        Ok(ReviewReport {
            // What a reviewer found by means of its own is no less there.
            present: all.chain(&findings).map(|finding| &finding.fingerprint).chain(&linted.present).cloned().collect(),
            silent: linted.silent.clone(),
            settled_paths: files
                .iter()
                .filter(|(_, file)| file.absent || matches!(file.reading, Reading::Whole | Reading::TextOnly))
                .map(|(path, _)| path.clone())
                .chain(removed(scene))
                .collect(),
            outcome: coverage.outcome(findings.len()),
            coverage,
            findings,
        })
    }

    fn faults(&self, _cx: &Context, output: &ReviewReport) -> Vec<String> {
        let mut seen = HashSet::new();
        output
            .findings
            .iter()
            .filter(|finding| !seen.insert(&finding.fingerprint))
            .map(|finding| format!("{}: reported twice", finding.path))
            .collect()
    }

    fn told(&self, report: &ReviewReport) -> Told {
        let more = MoreMetadata {
            findings_count: Some(report.findings.len() as u64),
            by_severity: Some(by_severity(&report.findings)),
            readiness: Some(readiness(report)),
            ..MoreMetadata::default()
        };
        Told { more, ..Told::default() }
    }

    async fn present(&self, cx: &Context, _input: &AgentInput, output: &AgentOutput) -> Result<Value, Error> {
        let unread = |source| Error::Input { role: Role::Master.name(), source };
        let report = ReviewReport::deserialize(&output.result).map_err(unread)?;
        let head = cx.reviewing()?.facts.head.to_string();
        let review = code_review(&report, &head, output.timestamp.clone(), output.metadata.duration_ms);
        serde_json::to_value(review).map_err(unread)
    }

    fn line(&self, report: &ReviewReport) -> Option<String> {
        let files = count(report.coverage.read, "file");
        Some(format!("{} in {files} read", count(report.findings.len(), "finding")))
    }
}

fn absent(missing: Absent) -> AbsentReviewer {
    AbsentReviewer {
        left_out: !missing.was_asked(),
        reviewer: missing.agent,
        code: missing.error.code,
        reason: text::truncate_chars(&missing.error.message, MAX_REASON),
    }
}

fn removed(scene: &Reviewing) -> BTreeSet<String> {
    let kept: HashSet<_> = scene.facts.files.iter().map(|file| &file.path).collect();
    let renamed_away = scene.facts.files.iter().filter_map(|file| file.old_path.clone());
    let removed = scene
        .facts
        .files
        .iter()
        .filter(|file| file.kind == crate::domain::ChangeKind::Removed)
        .map(|file| file.path.clone());
    removed.chain(renamed_away.filter(|path| !kept.contains(path))).collect()
}

/// Two rules of one category that mark exactly the same text say the same thing: the one with more to offer stays.
/// Findings that merely overlap are all kept; a lost defect is worse than a second sentence.
fn merge(reviews: Vec<AgentFindings>) -> Vec<Finding> {
    let mut all: Vec<Finding> = reviews.into_iter().flat_map(|review| review.findings).collect();
    all.sort_by_key(|finding| (Reverse(finding.severity), finding.fix.is_none(), finding.rule.clone()));
    let (mut prints, mut places) = (HashSet::new(), HashSet::new());
    all.retain(|finding| {
        prints.insert(finding.fingerprint.clone())
            && places.insert((finding.path.clone(), finding.span, finding.category))
    });
    all
}

async fn proven(cx: &Context, path: &str, text: &str, findings: Vec<Finding>) -> Result<Vec<Finding>, Error> {
    let (mut here, mut others): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| finding.path == path);
    if here.iter().all(|finding| finding.fix.is_none()) {
        others.append(&mut here);
        return Ok(others);
    }
    let (engine, owned, text) = (cx.engine.clone(), path.to_owned(), text.to_owned());
    let proven = tokio::task::spawn_blocking(move || {
        fix::prove(&engine, &owned, &text, &mut here);
        here
    })
    .await
    .map_err(|_| Error::Scanner { path: path.to_owned() })?;
    others.extend(proven);
    Ok(others)
}

/// Most severe first; within a severity critical before improvement before debt before documentation; then by place.
fn rank(findings: &mut [Finding]) {
    let order = |category: Category| Category::ALL.iter().position(|c| *c == category);
    findings.sort_by(|a, b| {
        (Reverse(a.severity), order(a.category), &a.path, a.span, &a.rule).cmp(&(
            Reverse(b.severity),
            order(b.category),
            &b.path,
            b.span,
            &b.rule,
        ))
    });
}

fn coverage(plan: &FilePlan, files: &BTreeMap<String, ReadFile>) -> Coverage {
    let mut coverage = Coverage { total: plan.not_read.len(), not_read: plan.not_read.clone(), ..Coverage::default() };
    for planned in &plan.read {
        let file = files.get(&planned.path);
        coverage.add(&planned.path, file.map(|file| file.reading.clone()).unwrap_or_default());
        if file.is_some_and(|file| file.syntax_errors) {
            coverage.syntax_errors.push(planned.path.clone());
        }
    }
    coverage
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Fingerprint, Fix, RuleId, Severity, Span};

    fn finding(rule: &str, category: Category, fixed: bool) -> Finding {
        let rule = RuleId(rule.into());
        Finding {
            category,
            severity: Severity::Medium,
            path: "a.py".into(),
            span: Span { start_line: 3, start_column: 1, end_line: 3, end_column: 9 },
            message: String::new(),
            why: String::new(),
            fix: fixed.then(|| Fix { start_line: 3, end_line: 3, replacement: String::new() }),
            reference: None,
            fingerprint: Fingerprint::new(&rule, "a.py", "x", 0),
            rule,
        }
    }

    #[test]
    fn of_two_rules_that_mark_the_same_text_the_one_with_a_fix_stays() {
        let debt = |rule, fixed| finding(rule, Category::Debt, fixed);
        let findings = vec![debt("a", false), debt("b", true)];
        let other = vec![finding("c", Category::Critical, false)];
        let kept = merge(vec![
            AgentFindings { category: Category::Debt, findings },
            AgentFindings { category: Category::Critical, findings: other },
        ]);
        let mut kept: Vec<&str> = kept.iter().map(|finding| finding.rule.0.as_str()).collect();
        kept.sort_unstable();
        assert_eq!(kept, ["b", "c"], "another category is another question");
    }
}
