//! What a run came to, as `result.json` tells it (S1.20).

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::flow::{Part, StepEnd};
use super::journal::REVIEW;
use crate::agent::{Context, DynAgent, Role};
use crate::artifact::AgentFindings;
use crate::artifact::exchange::{
    AgentError, AgentInput, AgentOutput, OutputStatus, PipelineOutputs, PipelineResult, PipelineSummary,
};
use crate::domain::{Category, Finding, Millis};
use crate::stdx::text::iso8601;

/// The result of a run's parts; `more` is what went wrong beside their steps.
pub(super) fn of(
    parts: &[&Part],
    more: Vec<AgentError>,
    began: Millis,
    ended: Millis,
    folder: &Path,
) -> PipelineResult {
    let mut errors: Vec<AgentError> = Vec::new();
    for Part { outputs, error } in parts {
        for (role, end) in outputs.ends() {
            match end {
                StepEnd::Failed(error) => errors.push(error.clone()),
                StepEnd::Done | StepEnd::Skipped(_) => {}
            }
            if let Some(stopped) = outputs.stopped.as_ref().filter(|stopped| stopped.role == *role) {
                errors.extend(stopped.faults.iter().cloned());
            }
        }
        if let Some(error) = error.as_ref().filter(|error| !matches!(error, super::Error::Agent { .. })) {
            errors.push(AgentError {
                message: error.to_string(),
                code: "pipeline".to_owned(),
                agent_name: "product_manager".to_owned(),
                recoverable: false,
            });
        }
    }
    errors.extend(more);
    let mut results: Vec<AgentOutput> = Vec::new();
    for output in parts.iter().flat_map(|part| &part.outputs.results) {
        // Each part has a manager of its own; what it says of the repository is the same.
        if output.agent_name != Role::Manager.name() || results.iter().all(|one| one.agent_name != output.agent_name) {
            results.push(output.clone());
        }
    }
    let document = |role: Role| {
        let output = parts.iter().find_map(|part| part.outputs.get::<Value>(role).ok())?;
        role.document(&output).map(std::borrow::Cow::into_owned)
    };
    let path = |role: Role| {
        document(role)?;
        Some(folder.join(role.file()?).display().to_string())
    };
    let (coder, tester) = (document(Role::Coder), document(Role::Tester));
    let number = |document: &Option<Value>, at: &str| document.as_ref()?.pointer(at)?.as_u64();
    let reviewed = review_of(&results);
    PipelineResult {
        success: parts.iter().all(|part| part.error.is_none()) && errors.is_empty(),
        started_at: iso8601(began),
        ended_at: iso8601(ended.max(began)),
        duration_ms: u64::try_from(ended.saturating_sub(began)).unwrap_or_default(),
        summary: PipelineSummary {
            plan_generated: document(Role::Planner).is_some(),
            code_generated: number(&coder, "/summary/total_files_changed").is_some_and(|files| files > 0),
            tests_generated: number(&tester, "/summary/tests_added").is_some_and(|tests| tests > 0),
            review_completed: reviewed.is_some(),
            total_loc: number(&coder, "/summary/total_additions"),
            total_test_loc: test_lines(parts),
            findings_count: reviewed.and_then(|review| review.pointer("/summary/totalFindings")?.as_u64()),
        },
        errors,
        outputs: PipelineOutputs {
            plan: path(Role::Planner),
            code: path(Role::Coder),
            tests: path(Role::Tester),
            review: reviewed.map(|_| folder.join(REVIEW).display().to_string()),
        },
        results,
    }
}

/// The review in a result.
pub(super) fn review(result: &PipelineResult) -> Option<&Value> {
    review_of(&result.results)
}

fn review_of(results: &[AgentOutput]) -> Option<&Value> {
    let master = results.iter().find(|output| output.agent_name == Role::Master.name())?;
    Some(&master.result).filter(|review| !review.is_null())
}

/// Lines that the tester adds.
fn test_lines(parts: &[&Part]) -> Option<u64> {
    let tester: Value = parts.iter().find_map(|part| part.outputs.get(Role::Tester).ok())?;
    let added = |edit: &Value| edit.pointer("/lines_changed/added").and_then(Value::as_u64).unwrap_or_default();
    Some(tester.get("edits")?.as_array()?.iter().map(added).sum())
}

/// An output with its published document (S1.6). What agents hand to each other without one is not told of here; it stands
/// in the run's rows.
pub(super) async fn published(
    cx: &Context,
    agent: &dyn DynAgent,
    input: &AgentInput,
    output: &AgentOutput,
) -> Option<AgentOutput> {
    let role = agent.role();
    let document = || role.document(&output.result).map(std::borrow::Cow::into_owned).unwrap_or_default();
    let result = match role {
        Role::Debt | Role::Improvement | Role::Critical => {
            let found = AgentFindings::deserialize(&output.result).ok()?;
            items(&found.findings)
        }
        Role::Docs => document(),
        Role::Documentation | Role::Pr => return None,
        _ => match agent.present(cx, input, output).await {
            // Where there is no such form of it, its own document says why.
            Ok(presented) if presented.is_null() || presented.get("clarifications").is_some() => document(),
            Ok(presented) => presented,
            Err(error) => {
                tracing::warn!(%error, agent = role.name(), "a result could not be told of in the words of its contract");
                document()
            }
        },
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
