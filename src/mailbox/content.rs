//! What the nine types of messages carry (S3.7 to S3.14, A3.7).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::part::{self, Amount, Faults, Fraction, Part, Percent, field, rename};
use super::{MessageId, Timestamp};

/// Words that `error_type` of an [`ErrorReport`] usually has; others are allowed.
pub mod error_type {
    pub const API_FAILURE: &str = "api_failure";
    pub const DATA_FORMAT: &str = "data_format";
    pub const TIMEOUT: &str = "timeout";
    /// A message was handled as often as may be, and never with success.
    pub const HANDLING_FAILED: &str = "handling_failed";
}

/// Words that `issue_type` of a [`ValidationIssue`] usually has; others are allowed.
pub mod issue_type {
    pub const CONFLICT: &str = "conflict";
    pub const TIMING_ERROR: &str = "timing_error";
    pub const STALE_DATA: &str = "stale_data";
}

macro_rules! words {
    ($($(#[$meta:meta])* $name:ident { $($word:ident),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($word),* }

        impl Part for $name {}
    )*};
}

words! {
    /// What became of an assignment when it arrived.
    Acceptance { Accepted, Rejected, Queued }
    /// How far a result goes.
    Completion { Completed, Partial, Failed }
    /// Where a task stands.
    TaskStatus { Assigned, Accepted, Rejected, InProgress, Completed, Failed, Timeout }
    /// Where the swarm stands while it works on the task.
    Phase { Idle, Discovery, Analysis, Exploration, Development, PrCreation, ReviewMonitoring }
    /// What a validation compares with.
    ValidationType { CrossReference, TimingCheck, FactCheck }
    /// How bad it is: of an issue, of an error's impact.
    Level { Low, Medium, High, Critical }
    /// How an agent feels.
    AgentStatus { Healthy, Degraded, Error, Offline }
}

/// Structs whose fields are checked one by one.
macro_rules! contents {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident $(| $other:literal)?: $type:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }

        impl Part for $name {
            fn check(value: &Value, at: &str, faults: &mut Faults) {
                let Some(map) = value.as_object() else {
                    return faults.push(at, "not an object");
                };
                $(field::<$type>(map, stringify!($field), [$($other)?].first().copied(), at, faults);)*
            }
        }
    )*};
}

contents! {
    /// Somebody is asked to do something.
    TaskAssignment {
        /// Which stage of the work, for instance `issue_analysis`.
        task_type: String,
        /// Where, for instance `owner/repo#7`.
        focus_area: String,
        /// Paths, task ids or the commit that it is about. `targets` is read too.
        target_pairs | "targets": Vec<String>,
        /// Which part of history, for instance `base..head`.
        timeframe: String,
        /// The names of the artifacts to start from.
        data_sources: Vec<String>,
        deadline: Timestamp,
        /// The name of the artifact that is wanted.
        output_format: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        special_instructions: Option<String>,
    }

    /// The answer to an assignment, before the work.
    TaskAcceptance {
        /// The assignment's id.
        task_id: MessageId,
        status: Acceptance,
        estimated_completion: Timestamp,
        /// The share of the agent that is taken.
        agent_capacity: Fraction,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rejection_reason: Option<String>,
    }

    /// How far the work is.
    TaskProgress {
        task_id: MessageId,
        status: TaskStatus,
        percent: Percent,
        phase: Phase,
        message: String,
        /// The artifact that has just been made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<String>,
    }

    /// What came of an assignment.
    ResearchResult {
        task_id: MessageId,
        status: Completion,
        execution_time_minutes: Amount,
        #[serde(deserialize_with = "part::whole")]
        data_points_collected: u64,
        sources_accessed: Vec<String>,
        key_findings: Vec<String>,
        raw_data: Map<String, Value>,
        confidence_score: Fraction,
        data_freshness_hours: Amount,
        warnings: Vec<String>,
    }

    /// Results are to be looked at by somebody else.
    ValidationRequest {
        /// Ids of messages with results.
        research_results_to_validate: Vec<MessageId>,
        validation_type: ValidationType,
        validation_sources: Vec<String>,
        priority_areas: Vec<String>,
        deadline: Timestamp,
    }

    /// What the look at results found.
    ValidationResult {
        /// The request's id.
        validation_id: MessageId,
        research_results_validated: Vec<MessageId>,
        overall_confidence: Fraction,
        issues_found: Vec<ValidationIssue>,
        validated_findings: Vec<String>,
        execution_time_minutes: Amount,
        sources_consulted: Vec<String>,
    }

    ValidationIssue {
        /// One of [`issue_type`], or another word.
        issue_type: String,
        severity: Level,
        description: String,
        affected_data: Map<String, Value>,
        recommendation: String,
        confidence: Fraction,
    }

    /// Something went wrong.
    ErrorReport {
        /// One of [`error_type`], or another word.
        error_type: String,
        error_message: String,
        context: Map<String, Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stack_trace: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recovery_action: Option<String>,
        impact_level: Level,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        related_task_id: Option<MessageId>,
    }

    /// A sign of life.
    Heartbeat {
        #[serde(default)]
        agent_version: Version,
        uptime_seconds: Amount,
        last_activity: Timestamp,
        health_score: Fraction,
    }

    /// A process's health and what it has done.
    SystemStatus {
        agent_status: AgentStatus,
        /// Of one processor: several can make more than 100.
        cpu_usage_percent: Amount,
        memory_usage_mb: Amount,
        #[serde(deserialize_with = "part::whole")]
        active_tasks: u64,
        #[serde(deserialize_with = "part::whole")]
        completed_tasks_today: u64,
        #[serde(deserialize_with = "part::whole")]
        error_count_today: u64,
        last_successful_operation: Timestamp,
        performance_metrics: BTreeMap<String, f64>,
    }
}

/// The version of an agent; whoever does not say has `1.0.0`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub String);

impl Default for Version {
    fn default() -> Self {
        Self("1.0.0".to_owned())
    }
}

impl Part for Version {
    const OPTIONAL: bool = true;
}

/// The nine types, each with its struct: the type itself, the content, and the way between them.
macro_rules! types {
    ($($name:ident),*) => {
        /// What kind of message it is (S3.5).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum MessageType { $($name),* }

        impl Part for MessageType {}

        /// The content of a message, as its type asks for it.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Content { $($name($name)),* }

        impl Content {
            pub fn message_type(&self) -> MessageType {
                match self { $(Self::$name(_) => MessageType::$name),* }
            }

            /// Reads what a message of that type carries.
            ///
            /// # Errors
            /// All faults, each with its JSON path.
            pub fn read(message_type: MessageType, map: &Map<String, Value>) -> Result<Self, Vec<String>> {
                let mut value = Value::Object(map.clone());
                let mut faults = Faults::default();
                check(message_type, &value, "$.content", &mut faults);
                if !faults.is_empty() {
                    return Err(faults.into_vec());
                }
                if let (MessageType::TaskAssignment, Value::Object(map)) = (message_type, &mut value) {
                    rename(map, "targets", "target_pairs");
                }
                let read = match message_type { $(MessageType::$name => $name::deserialize(value).map(Self::$name)),* };
                read.map_err(|error| vec![format!("$.content: {error}")])
            }

            pub(super) fn to_map(&self) -> Map<String, Value> {
                let value = match self { $(Self::$name(content) => serde_json::to_value(content)),* };
                match value {
                    Ok(Value::Object(map)) => map,
                    // Structs with named fields and string keys: they are objects.
                    _ => Map::new(),
                }
            }
        }

        $(impl From<$name> for Content {
            fn from(content: $name) -> Self {
                Self::$name(content)
            }
        })*

        pub(super) fn check(message_type: MessageType, content: &Value, at: &str, faults: &mut Faults) {
            match message_type { $(MessageType::$name => $name::check(content, at, faults)),* }
        }
    };
}

types!(
    TaskAssignment,
    TaskAcceptance,
    TaskProgress,
    ResearchResult,
    ValidationRequest,
    ValidationResult,
    ErrorReport,
    Heartbeat,
    SystemStatus
);

impl MessageType {
    pub const ALL: [Self; 9] = [
        Self::TaskAssignment,
        Self::TaskAcceptance,
        Self::TaskProgress,
        Self::ResearchResult,
        Self::ValidationRequest,
        Self::ValidationResult,
        Self::ErrorReport,
        Self::Heartbeat,
        Self::SystemStatus,
    ];

    /// As in the envelope.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TaskAssignment => "task_assignment",
            Self::TaskAcceptance => "task_acceptance",
            Self::TaskProgress => "task_progress",
            Self::ResearchResult => "research_result",
            Self::ValidationRequest => "validation_request",
            Self::ValidationResult => "validation_result",
            Self::ErrorReport => "error_report",
            Self::Heartbeat => "heartbeat",
            Self::SystemStatus => "system_status",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A sound content of each type, with every field that it can have.
    fn sound(message_type: MessageType) -> Value {
        let id = "pm_20241220_150000_001";
        let time = "2024-12-20T17:00:00Z";
        match message_type {
            MessageType::TaskAssignment => json!({
                "task_type": "issue_analysis", "focus_area": "octo/calc#7", "target_pairs": ["src/lib.rs"],
                "timeframe": "main..fix", "data_sources": ["current-issue.json"], "deadline": time,
                "output_format": "issue-analysis.json", "special_instructions": "be brief",
            }),
            MessageType::TaskAcceptance => json!({
                "task_id": id, "status": "accepted", "estimated_completion": time, "agent_capacity": 0.5,
                "rejection_reason": "busy",
            }),
            MessageType::TaskProgress => json!({
                "task_id": id, "status": "in_progress", "percent": 40.0, "phase": "pr_creation", "message": "pushed",
                "artifact": "pr-created.json",
            }),
            MessageType::ResearchResult => json!({
                "task_id": id, "status": "partial", "execution_time_minutes": 45.2, "data_points_collected": 127,
                "sources_accessed": ["a"], "key_findings": ["b"], "raw_data": {"x": [1, null]},
                "confidence_score": 0.87, "data_freshness_hours": 2.3, "warnings": [],
            }),
            MessageType::ValidationRequest => json!({
                "research_results_to_validate": [id], "validation_type": "cross_reference",
                "validation_sources": ["git"], "priority_areas": ["paths"], "deadline": time,
            }),
            MessageType::ValidationResult => json!({
                "validation_id": id, "research_results_validated": [id], "overall_confidence": 1.0,
                "issues_found": [{
                    "issue_type": "stale_data", "severity": "critical", "description": "old", "affected_data": {},
                    "recommendation": "again", "confidence": 0.0,
                }],
                "validated_findings": [], "execution_time_minutes": 0.0, "sources_consulted": ["git"],
            }),
            MessageType::ErrorReport => json!({
                "error_type": "api_failure", "error_message": "502", "context": {"code": "API_001"},
                "stack_trace": "at …", "recovery_action": "retry", "impact_level": "high", "related_task_id": id,
            }),
            MessageType::Heartbeat => json!({
                "agent_version": "2.1.0", "uptime_seconds": 12.0, "last_activity": time, "health_score": 1.0,
            }),
            MessageType::SystemStatus => json!({
                "agent_status": "healthy", "cpu_usage_percent": 250.0, "memory_usage_mb": 64.5, "active_tasks": 0,
                "completed_tasks_today": 3, "error_count_today": 1, "last_successful_operation": time,
                "performance_metrics": {"p99_ms": 4.5},
            }),
        }
    }

    fn read(message_type: MessageType, value: &Value) -> Result<Content, Vec<String>> {
        Content::read(message_type, value.as_object().unwrap())
    }

    #[track_caller]
    fn refused(message_type: MessageType, change: impl FnOnce(&mut Value), want: &[&str]) {
        let mut value = sound(message_type);
        change(&mut value);
        assert_eq!(read(message_type, &value).unwrap_err(), want);
    }

    #[test]
    fn each_content_is_written_as_it_was_read() {
        for message_type in MessageType::ALL {
            let value = sound(message_type);
            let content = read(message_type, &value).unwrap();
            assert_eq!(content.message_type(), message_type);
            assert_eq!(Value::Object(content.to_map()), value);
            assert_eq!(serde_json::to_value(message_type).unwrap(), message_type.as_str());
        }
    }

    #[test]
    fn each_field_is_asked_for_by_its_name_and_only_some_may_be_absent() {
        let optional = [
            "special_instructions",
            "rejection_reason",
            "artifact",
            "stack_trace",
            "recovery_action",
            "related_task_id",
            "agent_version",
        ];
        for message_type in MessageType::ALL {
            for name in sound(message_type).as_object().unwrap().keys() {
                let mut value = sound(message_type);
                value.as_object_mut().unwrap().remove(name);
                let read = read(message_type, &value);
                if optional.contains(&name.as_str()) {
                    assert!(read.is_ok(), "{name}: {read:?}");
                } else {
                    assert_eq!(read.unwrap_err(), [format!("$.content.{name}: missing")]);
                }
            }
        }
    }

    #[test]
    fn a_field_of_the_wrong_kind_is_a_fault_of_that_field() {
        for message_type in MessageType::ALL {
            for name in sound(message_type).as_object().unwrap().keys() {
                let mut value = sound(message_type);
                value[name] = json!(true);
                let told = read(message_type, &value).unwrap_err();
                assert!(told.len() == 1 && told[0].starts_with(&format!("$.content.{name}: ")), "{told:?}");
            }
        }
    }

    #[test]
    fn numbers_keep_to_their_ranges() {
        for (message_type, name, least, most) in [
            (MessageType::TaskAcceptance, "agent_capacity", 0.0, Some(1.0)),
            (MessageType::TaskProgress, "percent", 0.0, Some(100.0)),
            (MessageType::ResearchResult, "confidence_score", 0.0, Some(1.0)),
            (MessageType::ResearchResult, "execution_time_minutes", 0.0, None),
            (MessageType::ResearchResult, "data_freshness_hours", 0.0, None),
            (MessageType::ValidationResult, "overall_confidence", 0.0, Some(1.0)),
            (MessageType::Heartbeat, "health_score", 0.0, Some(1.0)),
            (MessageType::Heartbeat, "uptime_seconds", 0.0, None),
            (MessageType::SystemStatus, "memory_usage_mb", 0.0, None),
        ] {
            let ok = |number: f64| {
                let mut value = sound(message_type);
                value[name] = json!(number);
                read(message_type, &value).is_ok()
            };
            assert!(ok(least) && ok(most.unwrap_or(1e9)), "{name}");
            assert!(!ok(least - 0.001) && most.is_none_or(|most| !ok(most + 0.001)), "{name}");
        }
        let percent = |value: &mut Value| value["percent"] = json!(100.5);
        refused(MessageType::TaskProgress, percent, &["$.content.percent: 100.5 is not between 0 and 100"]);
        for wrong in [json!(-1), json!(1.5)] {
            let mut value = sound(MessageType::ResearchResult);
            value["data_points_collected"] = wrong;
            assert!(read(MessageType::ResearchResult, &value).is_err());
        }
        // Whole numbers are numbers.
        let mut value = sound(MessageType::TaskAcceptance);
        value["agent_capacity"] = json!(1);
        assert!(read(MessageType::TaskAcceptance, &value).is_ok());
    }

    #[test]
    fn the_closed_words_are_these() {
        for (message_type, name, words) in [
            (MessageType::TaskAcceptance, "status", &["accepted", "rejected", "queued"][..]),
            (MessageType::ResearchResult, "status", &["completed", "partial", "failed"]),
            (MessageType::ErrorReport, "impact_level", &["low", "medium", "high", "critical"]),
            (MessageType::ValidationRequest, "validation_type", &["cross_reference", "timing_check", "fact_check"]),
            (MessageType::SystemStatus, "agent_status", &["healthy", "degraded", "error", "offline"]),
            (
                MessageType::TaskProgress,
                "status",
                &["assigned", "accepted", "rejected", "in_progress", "completed", "failed", "timeout"],
            ),
            (
                MessageType::TaskProgress,
                "phase",
                &["idle", "discovery", "analysis", "exploration", "development", "pr_creation", "review_monitoring"],
            ),
        ] {
            for (word, want) in words.iter().map(|word| (*word, true)).chain([("Accepted", false), ("done", false)]) {
                let mut value = sound(message_type);
                value[name] = json!(word);
                assert_eq!(read(message_type, &value).is_ok(), want, "{name} {word}");
            }
        }
        // Open: `error_type`, and `issue_type` in the next test.
        let mut value = sound(MessageType::ErrorReport);
        value["error_type"] = json!("something_new");
        assert!(read(MessageType::ErrorReport, &value).is_ok());
    }

    #[test]
    fn a_fault_deep_inside_has_its_whole_path_and_none_hides_another() {
        refused(
            MessageType::ValidationResult,
            |value| {
                value["issues_found"] = json!([
                    {"issue_type": "new", "severity": "low", "description": "", "affected_data": {}, "recommendation": "", "confidence": 1},
                    {"issue_type": "conflict", "severity": "blocker", "affected_data": [], "recommendation": "", "confidence": 2},
                    "none",
                ]);
                value["research_results_validated"] = json!(["x"]);
            },
            &[
                "$.content.research_results_validated[0]: \"x\" is no id of a message, such as pm_20241220_150000_001",
                "$.content.issues_found[1].severity: unknown variant `blocker`, expected one of `low`, `medium`, `high`, `critical`",
                "$.content.issues_found[1].description: missing",
                "$.content.issues_found[1].affected_data: is a list, expected an object",
                "$.content.issues_found[1].confidence: 2 is not between 0.0 and 1.0",
                "$.content.issues_found[2]: not an object",
            ],
        );
        refused(
            MessageType::SystemStatus,
            |value| value["performance_metrics"] = json!({"a.b": "fast"}),
            &["$.content.performance_metrics[\"a.b\"]: is the text \"fast\", expected a number"],
        );
    }

    #[test]
    fn a_list_of_a_thousand_faults_is_cut_and_says_so() {
        let mut value = sound(MessageType::TaskAssignment);
        value["target_pairs"] = json!(vec![0; 1000]);
        let told = read(MessageType::TaskAssignment, &value).unwrap_err();
        assert_eq!((told.len(), told[50].as_str()), (51, "$: 950 more faults are not listed"));
        value["target_pairs"] = json!("x".repeat(1_000_000));
        value["deadline"] = json!("x".repeat(1_000_000));
        let told = read(MessageType::TaskAssignment, &value).unwrap_err();
        assert!(told.iter().map(String::len).sum::<usize>() < 1000, "a fault repeats the message");
    }

    #[test]
    fn targets_are_read_under_both_names_and_written_under_the_first() {
        let mut value = sound(MessageType::TaskAssignment);
        let targets = value.as_object_mut().unwrap().remove("target_pairs").unwrap();
        value["targets"] = targets;
        let content = read(MessageType::TaskAssignment, &value).unwrap();
        assert_eq!(Value::Object(content.to_map()), sound(MessageType::TaskAssignment));
        value["targets"] = json!([7]);
        let told = read(MessageType::TaskAssignment, &value).unwrap_err();
        assert!(told[0].starts_with("$.content.targets[0]: "), "{told:?}");
        value["target_pairs"] = json!(["x"]);
        assert!(read(MessageType::TaskAssignment, &value).is_ok());
    }

    #[test]
    fn a_heartbeat_without_a_version_is_of_the_first() {
        let mut value = sound(MessageType::Heartbeat);
        value.as_object_mut().unwrap().remove("agent_version");
        let Content::Heartbeat(beat) = read(MessageType::Heartbeat, &value).unwrap() else { panic!() };
        assert_eq!(beat.agent_version.0, "1.0.0");
    }
}
