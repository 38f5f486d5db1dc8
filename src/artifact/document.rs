//! The frame of the swarm's documents: who wrote it, when, and whether it came to an end (S2.10, S2.20 to S2.26).

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The content of a document, and the agent that writes it.
pub trait Content: Serialize + DeserializeOwned {
    /// The `agent` field, for instance `agent-1-scout` (S2.9).
    const AGENT: &'static str;
    /// The file's name under a run's folder, for instance `current-issue.json`.
    const FILE: &'static str;
}

/// One of the swarm's documents. A failed one has no content but what went wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Document<T> {
    /// ISO 8601, UTC.
    pub timestamp: String,
    pub outcome: Result<T, Vec<Fault>>,
}

/// One entry of `errors`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Stable, for programs: `locked`, `already-addressed`, `nothing-mechanical` …
    pub code: String,
    /// For people.
    pub message: String,
    #[serde(rename = "agentName")]
    pub agent_name: String,
    /// Whether trying again may help.
    pub recoverable: bool,
}

impl<T: Content> Document<T> {
    pub fn completed(timestamp: String, content: T) -> Self {
        Self { timestamp, outcome: Ok(content) }
    }

    /// A failure that trying again cannot change.
    pub fn failed(timestamp: String, code: &str, message: impl Into<String>) -> Self {
        let fault =
            Fault { code: code.into(), message: message.into(), agent_name: T::AGENT.into(), recoverable: false };
        Self { timestamp, outcome: Err(vec![fault]) }
    }
}

/// The faults of a serialized document that says of itself that it failed.
pub fn faults_of(document: &Value) -> Option<Vec<Fault>> {
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
                map.insert("status".into(), "completed".into());
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
            errors: Vec<Fault>,
        }
        let value = Value::deserialize(deserializer)?;
        let frame = Frame::deserialize(&value).map_err(D::Error::custom)?;
        if frame.agent != T::AGENT {
            return Err(D::Error::custom(format!("`agent` is `{}`, not `{}`", frame.agent, T::AGENT)));
        }
        let outcome = match frame.status.as_str() {
            "completed" => Ok(serde_json::from_value(value).map_err(D::Error::custom)?),
            "failed" => Err(frame.errors),
            other => return Err(D::Error::custom(format!("`status` is `{other}`, not `completed` or `failed`"))),
        };
        Ok(Self { timestamp: frame.timestamp, outcome })
    }
}
