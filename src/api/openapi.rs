//! The API as an OpenAPI 3.1 document, made of the same types that are answered with.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::refusal::Told;
use super::{Pending, Uploaded};
use crate::artifact::server::{Aggregate, ReviewRequest};
use crate::artifact::{Form, form};

/// What a JSON Schema calls a place within itself, and OpenAPI within the document.
const INNER: &str = "#/$defs/";
const OUTER: &str = "#/components/schemas/";

/// The whole document.
pub fn document() -> Value {
    let mut schemas = Map::new();
    add(&mut schemas, "ReviewAggregate", Form::of::<Aggregate>().schema().clone());
    add(&mut schemas, "ReviewRequest", Form::of::<ReviewRequest>().schema().clone());
    own::<Uploaded>(&mut schemas, "Uploaded");
    own::<Pending>(&mut schemas, "Pending");
    own::<Told>(&mut schemas, "Error");
    // What is read may have more fields than what is written.
    if let Some(request) = schemas.get_mut("ReviewRequest").and_then(Value::as_object_mut) {
        request.remove("additionalProperties");
        request["properties"]["id"] = id("cb_", "Of the codebase, as the upload answered it.");
    }
    for (name, prefix, said) in [("Uploaded", "cb_", "Of the codebase."), ("Pending", "rv_", "Of the review.")] {
        schemas[name]["properties"]["id"] = id(prefix, said);
    }
    schemas["Uploaded"]["properties"]["status"] = json!({ "const": "uploaded" });
    schemas["Pending"]["properties"]["status"] = json!({ "enum": ["review_started", "review_running"] });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "octoswarm",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Upload a codebase, ask for its review, fetch what came of it.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "security": [{ "bearer": [] }],
        "paths": {
            "/upload_codebase": { "post": upload() },
            "/trigger_review": { "post": trigger() },
            "/get_results": { "get": results() },
            "/reviews/{id}/events": { "get": events() },
            "/openapi.json": { "get": itself() },
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn upload() -> Value {
    let archive = json!({ "type": "string", "contentMediaType": "application/octet-stream", "format": "binary" });
    let mut operation = json!({
        "operationId": "upload_codebase",
        "summary": "Upload a codebase as one zip, tar or tar.gz archive",
        "description": "It is kept for a day. Links, devices and names that lead elsewhere refuse the whole archive; `.git` is left out.",
        "requestBody": {
            "required": true,
            "content": { "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": { "codebase": archive },
                    "required": ["codebase"],
                },
                "encoding": { "codebase": { "contentType": "application/zip, application/gzip, application/x-tar" } },
            } },
        },
        "responses": {
            "200": answer("The codebase was taken in.", "Uploaded", &json!({
                "status": "uploaded", "id": example("cb_"), "files": 12, "left_out": 0,
            })),
        },
    });
    refusals(&mut operation, &["400", "413", "500", "503"]);
    operation
}

fn trigger() -> Value {
    let example_request = json!({ "id": example("cb_"), "params": {} });
    let mut operation = json!({
        "operationId": "trigger_review",
        "summary": "Ask for the review of an uploaded codebase",
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": reference("ReviewRequest"), "example": example_request } },
        },
        "responses": {
            "202": answer("The review is written down and will be made.", "Pending", &json!({
                "status": "review_started", "id": example("rv_"),
            })),
        },
    });
    refusals(&mut operation, &["400", "404", "413", "500"]);
    operation
}

fn results() -> Value {
    let mut operation = json!({
        "operationId": "get_results",
        "summary": "Fetch what came of a review",
        "parameters": [{
            "name": "id", "in": "query", "required": true,
            "schema": id("rv_", "Of the review, as it was answered when it was asked for."),
        }],
        "responses": {
            "200": answer("All agents have answered; who failed stands under `errors`.", "ReviewAggregate", &json!({
                "documentation": { "README.md": "# calc\n" }, "debt": [], "improvement": [], "critical": [],
            })),
            "202": answer("The review waits for its turn or goes on.", "Pending", &json!({
                "status": "review_running", "id": example("rv_"),
            })),
        },
    });
    refusals(&mut operation, &["400", "404", "500"]);
    operation
}

fn events() -> Value {
    let mut operation = json!({
        "operationId": "follow_review",
        "summary": "Follow a review as it goes on",
        "description": "Events `progress` with their number as id, then one of `done`, `failed` and `cancelled`, with which the stream ends.",
        "parameters": [
            { "name": "id", "in": "path", "required": true, "schema": id("rv_", "Of the review.") },
            {
                "name": "Last-Event-ID", "in": "header", "required": false,
                "description": "The number of the last event that was received; what came after it is told.",
                "schema": { "type": "integer", "minimum": 0, "maximum": i64::MAX },
            },
        ],
        "responses": {
            "200": {
                "description": "The review's events, as they come.",
                "content": { "text/event-stream": { "schema": { "type": "string" } } },
            },
        },
    });
    refusals(&mut operation, &["400", "404", "500", "503"]);
    operation
}

fn itself() -> Value {
    let mut operation = json!({
        "operationId": "openapi",
        "summary": "This document",
        "responses": {
            "200": {
                "description": "OpenAPI 3.1.",
                "content": { "application/json": { "schema": { "type": "object" } } },
            },
        },
    });
    refusals(&mut operation, &[]);
    operation
}

/// Beside those that every call may meet.
fn refusals(operation: &mut Value, statuses: &[&str]) {
    for status in statuses.iter().chain(&["401", "403"]) {
        let said = match *status {
            "400" => "What was sent cannot be used, and why.",
            "401" => "The token is missing or wrong.",
            "403" => "The name in `Host` or the page in `Origin` is not allowed.",
            "404" => "There is nothing of that id, or not any more.",
            "413" => "What was sent, or what comes out of it, is too large.",
            "503" => "Full for now: send it again after `Retry-After` seconds.",
            _ => "Something went wrong inside.",
        };
        operation["responses"][*status] =
            answer(said, "Error", &json!({ "error": "what happened, why, and what to do next" }));
    }
}

fn answer(description: &str, schema: &str, example: &Value) -> Value {
    let content = json!({ "application/json": { "schema": reference(schema), "example": example } });
    json!({ "description": description, "content": content })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("{OUTER}{schema}") })
}

fn id(prefix: &str, description: &str) -> Value {
    let pattern = format!("^{prefix}[0-9a-f]{{32}}$");
    json!({ "type": "string", "pattern": pattern, "description": description })
}

fn example(prefix: &str) -> String {
    format!("{prefix}0123456789abcdef0123456789abcdef")
}

fn own<T: JsonSchema>(schemas: &mut Map<String, Value>, name: &str) {
    add(schemas, name, form::schema::<T>().to_value());
}

/// A schema and those that stand within it, each by its own name.
fn add(schemas: &mut Map<String, Value>, name: &str, mut schema: Value) {
    if let Some(fields) = schema.as_object_mut() {
        for field in ["$schema", "$id"] {
            fields.remove(field);
        }
        if let Some(Value::Object(inner)) = fields.remove("$defs") {
            for (name, mut schema) in inner {
                refer(&mut schema);
                schemas.insert(name, schema);
            }
        }
    }
    refer(&mut schema);
    schemas.insert(name.to_owned(), schema);
}

fn refer(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(to)) = fields.get_mut("$ref")
                && let Some(inner) = to.strip_prefix(INNER)
            {
                *to = format!("{OUTER}{inner}");
            }
            fields.values_mut().for_each(refer);
        }
        Value::Array(items) => items.iter_mut().for_each(refer),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_example_fits() {
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 10);
        for reference in found {
            assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
        }
        let mut examples = 0;
        for operation in
            document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
        {
            for answer in operation["responses"].as_object().unwrap().values() {
                let Some(example) = answer.pointer("/content/application~1json/example") else { continue };
                let schema = &answer["content"]["application/json"]["schema"];
                let whole = json!({ "$ref": schema["$ref"], "components": document["components"] });
                let faults: Vec<_> = jsonschema::validator_for(&whole)
                    .unwrap()
                    .iter_errors(example)
                    .map(|error| error.to_string())
                    .collect();
                assert!(faults.is_empty(), "{}: {faults:?}", operation["operationId"]);
                examples += 1;
            }
        }
        assert!(examples > 15, "{examples}");
    }
}
