//! The parts of a SARIF log that are read. Every part may be missing, or null; what is not named here is passed over.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

/// A list that producers leave out, or write as null.
pub(super) type List<T> = Option<Vec<T>>;

#[derive(Deserialize)]
pub(super) struct Log {
    pub(super) version: Option<String>,
    pub(super) runs: List<Run>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) tool: Option<Tool>,
    pub(super) results: List<Answer>,
    pub(super) artifacts: List<Artifact>,
    pub(super) invocations: List<Invocation>,
    pub(super) original_uri_base_ids: Option<HashMap<String, ArtifactLocation>>,
    pub(super) column_kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    pub(super) execution_successful: Option<bool>,
    pub(super) tool_execution_notifications: List<Notification>,
}

#[derive(Deserialize)]
pub(super) struct Notification {
    pub(super) level: Option<String>,
    pub(super) message: Option<Message>,
}

#[derive(Deserialize)]
pub(super) struct Tool {
    pub(super) driver: Option<Component>,
    pub(super) extensions: List<Component>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Component {
    pub(super) name: Option<String>,
    pub(super) guid: Option<String>,
    pub(super) rules: List<Rule>,
    pub(super) global_message_strings: Option<HashMap<String, Message>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    pub(super) id: Option<String>,
    pub(super) guid: Option<String>,
    pub(super) short_description: Option<Message>,
    pub(super) full_description: Option<Message>,
    pub(super) help_uri: Option<String>,
    pub(super) message_strings: Option<HashMap<String, Message>>,
    pub(super) default_configuration: Option<Configuration>,
    pub(super) relationships: List<Relationship>,
    pub(super) properties: Option<HashMap<String, Value>>,
}

#[derive(Deserialize)]
pub(super) struct Configuration {
    pub(super) level: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Relationship {
    pub(super) target: Option<Reference>,
}

/// To a rule, or to a taxon.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    pub(super) id: Option<String>,
    pub(super) guid: Option<String>,
    pub(super) index: Option<i64>,
    pub(super) tool_component: Option<ComponentReference>,
}

#[derive(Deserialize)]
pub(super) struct ComponentReference {
    pub(super) name: Option<String>,
    pub(super) guid: Option<String>,
    pub(super) index: Option<i64>,
}

/// A SARIF `result`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    pub(super) rule_id: Option<String>,
    pub(super) rule_index: Option<i64>,
    pub(super) rule: Option<Reference>,
    pub(super) kind: Option<String>,
    pub(super) level: Option<String>,
    pub(super) message: Option<Message>,
    pub(super) locations: List<Location>,
    pub(super) suppressions: List<Suppression>,
    pub(super) baseline_state: Option<String>,
    pub(super) fixes: List<Change>,
    pub(super) taxa: List<Reference>,
    pub(super) properties: Option<HashMap<String, Value>>,
}

#[derive(Deserialize)]
pub(super) struct Suppression {
    pub(super) status: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) text: Option<String>,
    pub(super) id: Option<String>,
    pub(super) arguments: List<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    pub(super) physical_location: Option<PhysicalLocation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: Option<ArtifactLocation>,
    pub(super) region: Option<Region>,
}

#[derive(Deserialize)]
pub(super) struct Artifact {
    pub(super) location: Option<ArtifactLocation>,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactLocation {
    pub(super) uri: Option<String>,
    pub(super) uri_base_id: Option<String>,
    pub(super) index: Option<i64>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: Option<i64>,
    pub(super) start_column: Option<i64>,
    pub(super) end_line: Option<i64>,
    pub(super) end_column: Option<i64>,
}

/// A SARIF `fix`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Change {
    pub(super) artifact_changes: List<ArtifactChange>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactChange {
    pub(super) artifact_location: Option<ArtifactLocation>,
    pub(super) replacements: List<Replacement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Replacement {
    pub(super) deleted_region: Option<Region>,
    pub(super) inserted_content: Option<Content>,
}

#[derive(Deserialize)]
pub(super) struct Content {
    pub(super) text: Option<String>,
}
