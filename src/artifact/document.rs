//! The frame of the swarm's documents: who wrote it, when, and whether it came to an end (S2.10, S2.20 to S2.26).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::exchange::AgentError;

/// The content of a document, and the agent that writes it.
pub trait Content: Serialize + DeserializeOwned + JsonSchema {
    /// The `agent` field, for instance `agent-1-scout` (S2.9).
    const AGENT: &'static str;
    /// The file's name under a run's folder, for instance `current-issue.json`.
    const FILE: &'static str;
    /// What `status` may say of a document that did not fail.
    const STATUSES: &'static [&'static str] = &["completed"];

    /// What it says of this one.
    fn status(&self) -> &'static str {
        "completed"
    }

    /// What the schema demands of such a document beside its fields.
    fn condition() -> Option<Value> {
        None
    }
}

/// One of the swarm's documents. A failed one has no content but what went wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Document<T> {
    /// ISO 8601, UTC.
    pub timestamp: String,
    pub outcome: Result<T, Vec<AgentError>>,
}

impl<T: Content> Document<T> {
    pub fn completed(timestamp: String, content: T) -> Self {
        Self { timestamp, outcome: Ok(content) }
    }

    /// A failure that trying again cannot change.
    pub fn failed(timestamp: String, code: &str, message: impl Into<String>) -> Self {
        let fault =
            AgentError { code: code.into(), message: message.into(), agent_name: T::AGENT.into(), recoverable: false };
        Self { timestamp, outcome: Err(vec![fault]) }
    }
}

/// The faults of a serialized document that says of itself that it failed.
pub fn faults_of(document: &Value) -> Option<Vec<AgentError>> {
    (document.get("status")? == "failed")
        .then(|| document.get("errors").cloned().and_then(|errors| serde_json::from_value(errors).ok()))
        .map(Option::unwrap_or_default)
}

impl<T: Content> Serialize for Document<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = Map::new();
        map.insert("agent".into(), T::AGENT.into());
        map.insert("timestamp".into(), self.timestamp.clone().into());
        match &self.outcome {
            Ok(content) => {
                map.insert("status".into(), content.status().into());
                match serde_json::to_value(content).map_err(S::Error::custom)? {
                    Value::Object(fields) => map.extend(fields),
                    _ => return Err(S::Error::custom("a document's content is an object")),
                }
            }
            Err(faults) => {
                map.insert("status".into(), "failed".into());
                map.insert("errors".into(), serde_json::to_value(faults).map_err(S::Error::custom)?);
            }
        }
        map.serialize(serializer)
    }
}

impl<'de, T: Content> Deserialize<'de> for Document<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Frame {
            agent: String,
            timestamp: String,
            status: String,
            #[serde(default)]
            errors: Vec<AgentError>,
        }
        let value = Value::deserialize(deserializer)?;
        let frame = Frame::deserialize(&value).map_err(D::Error::custom)?;
        if frame.agent != T::AGENT {
            return Err(D::Error::custom(format!("`agent` is `{}`, not `{}`", frame.agent, T::AGENT)));
        }
        let outcome = if frame.status == "failed" {
            Err(frame.errors)
        } else {
            let content: T = serde_json::from_value(value).map_err(D::Error::custom)?;
            let (found, want) = (frame.status, content.status());
            if found != want {
                return Err(D::Error::custom(format!("`status` is `{found}`, not `{want}` or `failed`")));
            }
            Ok(content)
        };
        Ok(Self { timestamp: frame.timestamp, outcome })
    }
}

/// The whole file. Which of its two forms it has to have, `status` decides alone, so that a fault is one of that form.
impl<T: Content> JsonSchema for Document<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Document", T::schema_name()).into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("{}Document", T::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let content = T::json_schema(generator).to_value();
        let fields = content["properties"].as_object().cloned().unwrap_or_default();
        let frame = |status: Value| {
            Map::from_iter([
                ("agent".to_owned(), json!({ "const": T::AGENT })),
                ("timestamp".to_owned(), json!({ "type": "string", "format": "date-time" })),
                ("status".to_owned(), status),
            ])
        };
        let mut failed = frame(json!({ "const": "failed" }));
        failed.insert("errors".to_owned(), generator.subschema_for::<Vec<AgentError>>().to_value());
        // What was found out before the failure may stand there, whole or not (A2.3).
        failed.extend(fields.keys().map(|name| (name.clone(), Value::Bool(true))));
        // `failed` cannot be reached here: it is named for whoever reads what was expected.
        let words = [T::STATUSES, &["failed"]].concat();
        let mut done = frame(json!({ "enum": words }));
        let names = done.keys().cloned().chain(fields.keys().cloned());
        let mut required: Vec<String> = names.filter(|name| !is_optional(&content, name)).collect();
        required.sort();
        done.extend(fields);
        let mut done = json!({ "type": "object", "properties": done, "required": required });
        if let Some(condition) = T::condition() {
            done["allOf"] = json!([condition]);
        }
        let schema = json!({
            "type": "object",
            "required": ["agent", "status", "timestamp"],
            "if": { "properties": { "status": { "const": "failed" } }, "required": ["status"] },
            "then": { "type": "object", "properties": failed, "required": ["agent", "errors", "status", "timestamp"] },
            "else": done,
        });
        schema.try_into().unwrap_or_default()
    }
}

fn is_optional(content: &Value, name: &str) -> bool {
    let named = |list: &Value| list.as_array().is_some_and(|list| list.iter().any(|entry| entry == name));
    content["properties"].get(name).is_some() && !named(&content["required"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::swarm::{CurrentIssue, IssueAnalysis, PrCreated};
    use super::*;

    fn analysis() -> Value {
        json!({
            "agent": "agent-2-analyst", "timestamp": "2026-11-21T10:00:00Z", "status": "completed", "issue_url": "u",
            "analysis": {
                "summary": "s", "type": "bug-fix", "complexity": "easy", "estimated_loc_change": 5, "breaking_change": false,
                "requirements": ["r"],
                "files_to_modify": [{ "path": "a.py", "change_type": "edit", "description": "d" }],
                "tests_required": true, "docs_update_required": false
            },
            "repository_context": {
                "contributing_guidelines": "", "pr_template_exists": false, "code_style": "", "branch_naming": "",
                "commit_convention": ""
            },
            "implementation_plan": { "steps": [], "estimated_time": "an hour", "risk_level": "low" },
            "warnings": [], "blockers": []
        })
    }

    #[test]
    fn a_document_is_written_as_it_was_read() {
        let document: Document<IssueAnalysis> = serde_json::from_value(analysis()).unwrap();
        assert_eq!(serde_json::to_value(&document).unwrap(), analysis());
        let failed: Document<CurrentIssue> = Document::failed("t".into(), "locked", "it is locked");
        let written = serde_json::to_value(&failed).unwrap();
        assert_eq!(serde_json::from_value::<Document<CurrentIssue>>(written.clone()).unwrap(), failed);
        assert_eq!(faults_of(&written).unwrap()[0].code, "locked");
        assert_eq!(faults_of(&analysis()), None);
    }

    #[test]
    fn a_failed_document_needs_only_its_frame() {
        let bare = json!({ "agent": "agent-7-pr", "timestamp": "t", "status": "failed", "errors": [] });
        assert_eq!(serde_json::from_value::<Document<PrCreated>>(bare).unwrap().outcome, Err(Vec::new()));
    }

    #[track_caller]
    fn check_refused(pointer: &str, value: Value, word: &str) {
        let mut document = analysis();
        *document.pointer_mut(pointer).unwrap() = value;
        let error = serde_json::from_value::<Document<IssueAnalysis>>(document).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }

    #[test]
    fn what_is_not_of_the_form_is_refused() {
        check_refused("/agent", "agent-1-scout".into(), "agent-2-analyst");
        check_refused("/status", "done".into(), "`status` is `done`");
        check_refused("/timestamp", Value::Null, "string");
        check_refused("/analysis/type", "bug".into(), "bug-fix");
        check_refused("/analysis/complexity", "hard".into(), "trivial");
        check_refused("/analysis/files_to_modify/0/change_type", "rename".into(), "create");
        check_refused("/implementation_plan/risk_level", "none".into(), "low");
        check_refused("/analysis/estimated_loc_change", (-1).into(), "u64");
    }
}
