//! What a run came to, as `result.json` tells it (S1.20).

use std::borrow::Cow;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Error;
use super::flow::{Outputs, StepEnd};
use crate::agent::Role;
use crate::artifact::exchange::{
    AgentError, AgentOutput, OutputStatus, PipelineOutputs, PipelineResult, PipelineSummary,
};
use crate::artifact::{AgentFindings, ReviewReport};
use crate::domain::{Category, Finding, Millis};
use crate::stdx::text::iso8601;

/// The result of a flow's steps; `error` is what ended it before its end.
pub(super) fn of(
    outputs: &Outputs,
    error: Option<&Error>,
    began: Millis,
    ended: Millis,
    folder: &Path,
) -> PipelineResult {
    let mut errors: Vec<AgentError> = Vec::new();
    for (role, end) in outputs.ends() {
        match end {
            StepEnd::Failed(error) => errors.push(error.clone()),
            StepEnd::Done | StepEnd::Skipped(_) => {}
        }
        if let Some(stopped) = outputs.stopped.as_ref().filter(|stopped| stopped.role == *role) {
            errors.extend(stopped.faults.iter().cloned());
        }
    }
    if let Some(error) = error.filter(|error| !matches!(error, Error::Agent { .. })) {
        errors.push(AgentError {
            message: error.to_string(),
            code: "pipeline".to_owned(),
            agent_name: "product_manager".to_owned(),
            recoverable: false,
        });
    }
    let made = |role: Role| outputs.get::<Value>(role).is_ok();
    let worked = |role: Role| made(role) && outputs.stopped.as_ref().is_none_or(|stopped| stopped.role != role);
    let path = |role: Role| {
        let file = role.file().filter(|_| made(role))?;
        Some(folder.join(file).display().to_string())
    };
    let report = outputs.get::<ReviewReport>(Role::Master).ok();
    PipelineResult {
        success: error.is_none() && errors.is_empty(),
        started_at: iso8601(began),
        ended_at: iso8601(ended.max(began)),
        duration_ms: u64::try_from(ended.saturating_sub(began)).unwrap_or_default(),
        results: outputs.in_order().filter_map(|(role, output)| published(role, output)).collect(),
        summary: PipelineSummary {
            plan_generated: Role::parse("planner").is_some_and(worked),
            code_generated: worked(Role::Coder),
            tests_generated: made(Role::Tester) && tests(outputs) > 0,
            review_completed: report.is_some(),
            total_loc: lines(outputs, Role::Coder),
            total_test_loc: None,
            findings_count: report.map(|report| report.findings.len() as u64),
        },
        errors,
        outputs: PipelineOutputs {
            plan: Role::parse("planner").and_then(path),
            code: path(Role::Coder),
            tests: path(Role::Tester),
            review: None,
        },
    }
}

fn tests(outputs: &Outputs) -> u64 {
    let tester = outputs.get::<Value>(Role::Tester).unwrap_or_default();
    let document = Role::Tester.document(&tester);
    document.and_then(|document| document.pointer("/summary/tests_added")?.as_u64()).unwrap_or_default()
}

/// Lines that a change adds.
fn lines(outputs: &Outputs, role: Role) -> Option<u64> {
    let output = outputs.get::<Value>(role).ok()?;
    role.document(&output)?.pointer("/summary/total_additions").and_then(Value::as_u64)
}

/// An output with its published document. What agents hand to each other without one is not told of here; it stands in the
/// run's rows.
fn published(role: Role, output: &AgentOutput) -> Option<AgentOutput> {
    let result = match role {
        Role::Debt | Role::Improvement | Role::Critical => {
            let found = AgentFindings::deserialize(&output.result).ok()?;
            items(&found.findings)
        }
        Role::Master => {
            let report = ReviewReport::deserialize(&output.result).ok()?;
            let of = |category| {
                let (these, _): (Vec<_>, Vec<_>) =
                    report.findings.iter().cloned().partition(|finding| finding.category == category);
                items(&these)
            };
            json!({
                "documentation": {},
                "debt": of(Category::Debt),
                "improvement": of(Category::Improvement),
                "critical": of(Category::Critical),
            })
        }
        role if role.file().is_some() => role.document(&output.result).map(Cow::into_owned).unwrap_or_default(),
        _ => return None,
    };
    let status = if result.is_null() { OutputStatus::Failed } else { output.status };
    Some(AgentOutput { result, status, ..output.clone() })
}

/// Findings as S0.10 to S0.12 spell them.
fn items(findings: &[Finding]) -> Value {
    let item = |finding: &Finding| {
        let critical = finding.category == Category::Critical;
        let mut item = json!({
            "type": finding.category.name(),
            "severity": if critical { "high" } else { finding.severity.name() },
            "description": finding.message,
            "file": finding.path,
            "line": finding.span.start_line,
        });
        item[if critical { "remediation" } else { "suggestion" }] = finding.why.clone().into();
        if let Some(reference) = &finding.reference {
            item["reference"] = reference.clone().into();
        }
        item
    };
    findings.iter().map(item).collect()
}
