//! Orders and outputs as messages say them, and as the log does (S3.7 to S3.12, S0.15).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::desk::Desk;
use super::table::{Case, Work};
use super::{Occasion, Order, outside};
use crate::agent::{Context, DynAgent, Role, Scene};
use crate::artifact::exchange::{AgentError, AgentOutput, IssueSeverity, OutputStatus, ValidationResult};
use crate::artifact::{ErrorCode, Fault};
use crate::domain::{Clock, Millis};
use crate::mailbox::content::{
    self, Acceptance, Completion, ErrorReport, Level, Phase, ResearchResult, TaskAcceptance, TaskAssignment,
    TaskProgress, TaskStatus, ValidationIssue, ValidationRequest, ValidationType, error_type, issue_type,
};
use crate::mailbox::{self, AgentName, Amount, Draft, Envelope, Fraction, MessageId, Percent, Timeout, Timestamp};
use crate::stdx::text::{self, truncate_chars};

/// Of what others wrote, so much is kept of one line.
const MAX_LINE: usize = 1000;

/// Where the swarm stands while a role works.
pub(super) fn phase(role: Role) -> Phase {
    match role {
        Role::Scout => Phase::Discovery,
        Role::Manager | Role::Analyst => Phase::Analysis,
        Role::Explorer => Phase::Exploration,
        Role::Pr => Phase::PrCreation,
        _ => Phase::Development,
    }
}

/// The name of the document that a role makes.
fn document(role: Role) -> &'static str {
    match (role.file(), role) {
        (Some(file), _) => file,
        (None, Role::Manager) => "file-plan",
        (None, Role::Master) => "review-report",
        (None, Role::Pr) => "proposal",
        (None, _) => "agent-findings",
    }
}

/// Which stage of the work: `issue_analysis` of `issue-analysis.json`.
fn stage(role: Role) -> String {
    match role {
        Role::Documentation | Role::Debt | Role::Improvement | Role::Critical | Role::Master => "pr_review".to_owned(),
        role => document(role).trim_end_matches(".json").replace('-', "_"),
    }
}

/// What the run is about when nobody says it better.
fn focus(cx: &Context, occasion: &Occasion) -> String {
    occasion.focus.clone().unwrap_or_else(|| match &cx.scene {
        Scene::Review(scene) => scene.facts.repo.clone(),
        Scene::Contribute(scene) => {
            let (repository, issue) = (&scene.facts.repository, &scene.facts.issue);
            format!("{}/{}#{}", repository.owner, repository.name, issue.number)
        }
        Scene::Monitor(scene) => scene.facts.pull.url.clone(),
    })
}

/// `base..head`, and the paths or the commit that it is about.
fn extent(cx: &Context) -> (String, Vec<String>) {
    const NAMED: usize = 100;
    match &cx.scene {
        Scene::Review(scene) => {
            let paths: Vec<String> = scene.facts.files.iter().take(NAMED).map(|file| file.path.clone()).collect();
            let targets = if paths.is_empty() { vec![scene.facts.head.to_string()] } else { paths };
            (format!("{}..{}", scene.facts.base, scene.facts.head), targets)
        }
        Scene::Contribute(scene) => (scene.facts.base.to_string(), vec![scene.facts.base.to_string()]),
        Scene::Monitor(scene) => (scene.facts.pull.head.to_string(), vec![scene.facts.pull.head.to_string()]),
    }
}

fn later(clock: &Clock, by: Duration) -> Timestamp {
    let by = Millis::try_from(by.as_millis()).unwrap_or(Millis::MAX);
    Timestamp::from_millis(clock.now().saturating_add(by))
}

/// An order as an assignment. `input` is where a program outside finds all that it needs.
pub(super) fn assignment(
    cx: &Context,
    order: &Order,
    worker: AgentName,
    deadline: Duration,
    clock: &Clock,
    input: Option<&Path>,
) -> Draft {
    let (timeframe, target_pairs) = extent(cx);
    let place = input.map(|path| path.display().to_string());
    let built_on = order.input.history.iter().filter(|output| !output.result.is_null());
    let names = built_on.map(|output| {
        Role::parse(&output.agent_name).map_or(output.agent_name.clone(), |role| document(role).to_owned())
    });
    let content = TaskAssignment {
        task_type: stage(order.role),
        focus_area: focus(cx, &order.occasion),
        target_pairs,
        timeframe,
        data_sources: place.into_iter().chain(["facts".to_owned()]).chain(names).collect(),
        deadline: later(clock, deadline),
        output_format: document(order.role).to_owned(),
        special_instructions: order.input.user_input.clone(),
    };
    let draft = Draft::new(AgentName::ProductManager, worker, content).priority(order.occasion.priority);
    match Timeout::seconds(deadline.as_secs_f64()) {
        Some(timeout) => draft.timeout(timeout),
        None => draft,
    }
}

/// A run begins.
pub(super) fn announcement(cx: &Context, flow: &str, occasion: &Occasion, clock: &Clock) -> Draft {
    let (timeframe, target_pairs) = extent(cx);
    let content = TaskAssignment {
        task_type: flow.to_owned(),
        focus_area: focus(cx, occasion),
        target_pairs,
        timeframe,
        data_sources: vec!["facts".to_owned()],
        deadline: later(clock, Duration::from_secs(30 * 60)),
        output_format: "result.json".to_owned(),
        special_instructions: occasion.run.map(|run| run.to_string()),
    };
    Draft::new(AgentName::Webhook, AgentName::ProductManager, content).priority(occasion.priority)
}

pub(super) fn acceptance(
    assignment: &Envelope,
    status: Acceptance,
    load: Fraction,
    clock: &Clock,
    reason: Option<&str>,
) -> TaskAcceptance {
    let estimated = match assignment.content() {
        Ok(mailbox::Content::TaskAssignment(asked)) => asked.deadline,
        _ => Timestamp::from_millis(clock.now()),
    };
    TaskAcceptance {
        task_id: assignment.message_id.clone(),
        status,
        estimated_completion: estimated,
        agent_capacity: load,
        rejection_reason: reason.map(str::to_owned),
    }
}

pub(super) fn another_attempt(assignment: &Envelope, role: Role, report: &AgentError, failed: u32) -> TaskProgress {
    TaskProgress {
        task_id: assignment.message_id.clone(),
        status: TaskStatus::InProgress,
        percent: Percent::ZERO,
        phase: phase(role),
        message: format!("attempt {} follows: {report}", failed + 1),
        artifact: None,
    }
}

/// An output of an agent of this process.
pub(super) async fn result(
    desk: &Arc<Desk>,
    assignment: &Envelope,
    work: &Work,
    output: &AgentOutput,
    took: Duration,
) -> Result<Draft, mailbox::Error> {
    let role = work.agent.role();
    let task_id = &assignment.message_id;
    let mut raw_data = Map::from_iter([("artifact".to_owned(), Value::from(document(role)))]);
    let body = outside::raw_data(desk.inputs(), task_id, output).await.map_err(|source| mailbox::Error::Io {
        doing: "write a result to",
        path: desk.inputs().to_owned(),
        source,
    })?;
    raw_data.extend(body);
    let quality = work.agent.validate(&work.cx, output).await.quality_score;
    let sources = work.input.history.iter().filter(|output| !output.result.is_null());
    let sources = sources.filter_map(|output| Role::parse(&output.agent_name)).map(|role| document(role).to_owned());
    let content = ResearchResult {
        task_id: task_id.clone(),
        status: match output.status {
            OutputStatus::Success => Completion::Completed,
            OutputStatus::Partial => Completion::Partial,
            OutputStatus::Failed => Completion::Failed,
        },
        execution_time_minutes: minutes(took),
        data_points_collected: role.document(&output.result).map_or(0, |document| items(&document)),
        sources_accessed: ["facts".to_owned()].into_iter().chain(sources).collect(),
        key_findings: work.agent.line(&output.result).into_iter().collect(),
        raw_data,
        confidence_score: Fraction::new(f64::from(quality) / 100.0).unwrap_or(Fraction::ZERO),
        data_freshness_hours: Amount::new(work.since.elapsed().as_secs_f64() / 3600.0).unwrap_or(Amount::ZERO),
        warnings: output.metadata.warnings.clone().unwrap_or_default(),
    };
    Ok(assignment.answer(content))
}

fn minutes(took: Duration) -> Amount {
    Amount::new(took.as_secs_f64() / 60.0).unwrap_or(Amount::ZERO)
}

/// How many things a document holds: the entries of its lists.
fn items(document: &Value) -> u64 {
    let lists = document.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_array());
    lists.map(|list| list.len() as u64).sum()
}

/// What an agent's error is called on the wire, what may help, and how bad it is.
pub(super) fn report(request: &Envelope, error: &AgentError) -> Draft {
    let kind = match error.code.as_str() {
        code if code == ErrorCode::ApiTimeout.as_str() => error_type::TIMEOUT,
        code if code.starts_with("API_") => error_type::API_FAILURE,
        "ERR_001" | "ERR_002" => error_type::DATA_FORMAT,
        _ => error_type::HANDLING_FAILED,
    };
    let context = match serde_json::to_value(error) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let (recovery, impact) = match (error.recoverable, AgentName::parse(request.to.as_str())) {
        (true, Some(AgentName::ResearchAgent1 | AgentName::ResearchAgent2)) => ("reassign", Level::Medium),
        (true, _) => ("retry", Level::Medium),
        (false, _) => ("abort", Level::High),
    };
    request.answer(ErrorReport {
        error_type: kind.to_owned(),
        error_message: error.message.clone(),
        context,
        stack_trace: None,
        recovery_action: Some(recovery.to_owned()),
        impact_level: impact,
        related_task_id: Some(request.message_id.clone()),
    })
}

/// What a program's error report says as an error of the agent whose place it has.
pub(super) fn reported(role: Role, report: &ErrorReport) -> AgentError {
    let word = |name: &str| report.context.get(name).and_then(Value::as_str);
    let code = word("code").map_or_else(
        || match report.error_type.as_str() {
            error_type::TIMEOUT => ErrorCode::ApiTimeout.as_str().to_owned(),
            error_type::DATA_FORMAT => ErrorCode::OutputValidationFailed.as_str().to_owned(),
            other => line(other, 60),
        },
        |code| line(code, 60),
    );
    let known = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
    let recoverable = match report.context.get("recoverable").and_then(Value::as_bool) {
        Some(said) => said,
        None => match (report.recovery_action.as_deref(), known) {
            (Some("abort"), _) => false,
            (Some("retry" | "reassign"), _) => true,
            (_, Some(known)) => known.recoverable(),
            (_, None) => report.error_type == error_type::API_FAILURE,
        },
    };
    AgentError {
        message: line(&report.error_message, MAX_LINE),
        code: if code.is_empty() { "failed".to_owned() } else { code },
        agent_name: role.name().to_owned(),
        recoverable,
    }
}

/// One line of what others wrote.
pub(super) fn line(text: &str, max: usize) -> String {
    truncate_chars(&text::visible_line(text), max)
}

/// The task was not taken; `other`: somebody else may take it.
pub(super) fn rejected(role: Role, why: &str, other: bool) -> AgentError {
    AgentError {
        message: format!("the task was rejected: {}", line(why, MAX_LINE)),
        code: "rejected".to_owned(),
        agent_name: role.name().to_owned(),
        recoverable: other,
    }
}

/// Our own folder of messages does not work: it may in a moment.
pub(super) fn bus_error(role: Role, why: String) -> AgentError {
    let message = format!("messages do not get through: {why}");
    AgentError { message, code: "message-bus".to_owned(), agent_name: role.name().to_owned(), recoverable: true }
}

pub(super) fn validation_request(
    result: &MessageId,
    role: Role,
    deadline: Duration,
    clock: &Clock,
) -> ValidationRequest {
    ValidationRequest {
        research_results_to_validate: vec![result.clone()],
        validation_type: ValidationType::CrossReference,
        validation_sources: vec!["form".to_owned(), "git tree".to_owned()],
        priority_areas: vec![document(role).to_owned()],
        deadline: later(clock, deadline),
    }
}

/// For a result that no step of this process waits for.
pub(super) fn unknown_result(id: &MessageId) -> ValidationResult {
    let fault = Fault::error(String::new(), format!("{id} is no result that waits for a verdict here"));
    ValidationResult::of(&[fault])
}

pub(super) fn validation_result(
    request: &Envelope,
    asked: &ValidationRequest,
    verdicts: &[(Option<Case>, ValidationResult)],
    took: Duration,
) -> content::ValidationResult {
    let mut issues_found = Vec::new();
    let mut findings = Vec::new();
    let mut lowest = 100;
    for (case, verdict) in verdicts {
        lowest = lowest.min(verdict.quality_score);
        issues_found.extend(verdict.issues.iter().map(|issue| ValidationIssue {
            issue_type: issue_type::CONFLICT.to_owned(),
            severity: match issue.severity {
                IssueSeverity::Error => Level::High,
                IssueSeverity::Warning => Level::Low,
            },
            description: issue.message.clone(),
            affected_data: issue.field.iter().map(|field| ("field".to_owned(), Value::from(field.clone()))).collect(),
            recommendation: issue.suggestion.as_ref().map_or_else(
                || "correct it and answer again".to_owned(),
                |meant| format!("perhaps `{meant}` was meant"),
            ),
            confidence: Fraction::new(1.0).unwrap_or(Fraction::ZERO),
        }));
        // The head has moved on, or nobody wants it any more (timing_check).
        if case.as_ref().is_some_and(|case| case.cx.cancel.is_cancelled()) {
            issues_found.push(ValidationIssue {
                issue_type: issue_type::STALE_DATA.to_owned(),
                severity: Level::High,
                description: "the run that it belongs to was overtaken or cancelled".to_owned(),
                affected_data: Map::new(),
                recommendation: "work on the new head".to_owned(),
                confidence: Fraction::new(1.0).unwrap_or(Fraction::ZERO),
            });
        }
        if let Some(case) = case.as_ref().filter(|_| verdict.is_valid) {
            findings.extend(case.agent.line(&case.output.result));
        }
    }
    content::ValidationResult {
        validation_id: request.message_id.clone(),
        research_results_validated: asked.research_results_to_validate.clone(),
        overall_confidence: Fraction::new(f64::from(lowest) / 100.0).unwrap_or(Fraction::ZERO),
        issues_found,
        validated_findings: findings,
        execution_time_minutes: minutes(took),
        sources_consulted: asked.validation_sources.clone(),
    }
}

/// What an agent was given, in a few words.
fn given(order: &Order) -> String {
    let names: Vec<&str> = order.input.history.iter().map(|output| output.agent_name.as_str()).collect();
    if names.is_empty() { "facts".to_owned() } else { format!("facts, {}", names.join(", ")) }
}

fn run_of(order: &Order) -> String {
    order.occasion.run.map(|run| run.to_string()).unwrap_or_default()
}

pub(super) fn log_done(
    order: &Order,
    worker: Option<AgentName>,
    agent: &dyn DynAgent,
    output: &AgentOutput,
    retries: usize,
    took: Duration,
) {
    tracing::info!(
        run.id = run_of(order),
        agent = order.role.name(),
        worker = worker.map(AgentName::as_str).unwrap_or_default(),
        input = given(order),
        output = document(order.role),
        summary = line(&agent.line(&output.result).unwrap_or_default(), MAX_LINE),
        status = ?output.status,
        retry = retries,
        duration_ms = took.as_millis() as u64,
        "an agent has answered"
    );
}

pub(super) fn log_failed(order: &Order, worker: Option<AgentName>, error: &AgentError, retries: usize, took: Duration) {
    tracing::warn!(
        run.id = run_of(order),
        agent = order.role.name(),
        worker = worker.map(AgentName::as_str).unwrap_or_default(),
        input = given(order),
        code = error.code,
        error = error.message,
        recoverable = error.recoverable,
        retry = retries,
        duration_ms = took.as_millis() as u64,
        "an agent has failed"
    );
}

pub(super) fn log_retry(role: Role, error: &AgentError, failed: u32) {
    tracing::warn!(
        agent = role.name(),
        code = error.code,
        error = error.message,
        retry = failed,
        "an agent tries again within its invocation"
    );
}
