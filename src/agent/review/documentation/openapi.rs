//! The routes as an OpenAPI 3.1 document.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::routes::{Endpoint, Kind};
use super::source::Source;

#[derive(Serialize)]
struct OpenApi {
    openapi: &'static str,
    info: Info,
    paths: BTreeMap<String, PathItem>,
}

#[derive(Serialize)]
struct Info {
    title: String,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

#[derive(Default, Serialize)]
struct PathItem {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<Parameter>,
    #[serde(flatten)]
    operations: BTreeMap<&'static str, Operation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Operation {
    operation_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    responses: BTreeMap<&'static str, Response>,
    /// Where it is declared.
    #[serde(rename = "x-source")]
    source: String,
}

#[derive(Serialize)]
struct Response {
    description: &'static str,
}

#[derive(Clone, Serialize)]
struct Parameter {
    name: String,
    #[serde(rename = "in")]
    place: &'static str,
    required: bool,
    schema: Schema,
}

#[derive(Clone, Serialize)]
struct Schema {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
}

/// The document as YAML; none without routes.
///
/// # Errors
/// What YAML cannot hold.
pub(super) fn yaml(source: &Source<'_>, endpoints: &[Endpoint]) -> Result<Option<String>, String> {
    if endpoints.is_empty() {
        return Ok(None);
    }
    let mut ids = HashSet::new();
    let mut paths: BTreeMap<String, PathItem> = BTreeMap::new();
    for endpoint in endpoints {
        let item = paths.entry(endpoint.path.clone()).or_default();
        if item.parameters.is_empty() {
            item.parameters = endpoint.parameters.iter().map(parameter).collect();
        }
        // Of two declarations, the one that says more about a type is kept.
        for (known, (_, kind)) in item.parameters.iter_mut().zip(&endpoint.parameters) {
            if known.schema.kind == "string" && known.schema.format.is_none() && known.schema.pattern.is_none() {
                known.schema = schema(kind);
            }
        }
        match endpoint.method {
            Some(method) => {
                let operation = Operation {
                    operation_id: operation_id(endpoint, method, &mut ids),
                    summary: endpoint.summary.clone(),
                    responses: BTreeMap::from([(
                        "default",
                        Response { description: "Not stated where the route is declared." },
                    )]),
                    source: format!("{}:{}", endpoint.file, endpoint.line),
                };
                item.operations.insert(method, operation);
            }
            None => {
                let place = format!("{}:{}", endpoint.file, endpoint.line);
                let handler = endpoint.handler.as_ref().map(|handler| format!(" `{handler}`")).unwrap_or_default();
                let said = endpoint.summary.as_ref().map(|said| format!(" {said}")).unwrap_or_default();
                item.description =
                    Some(format!("Which methods are answered, the handler{handler} decides ({place}).{said}"));
            }
        }
    }
    let document = OpenApi {
        openapi: "3.1.0",
        info: Info {
            title: source.name.clone(),
            version: source.version.clone().unwrap_or_else(|| "unversioned".to_owned()),
            description: source.description.clone(),
        },
        paths,
    };
    serde_saphyr::to_string(&document).map(Some).map_err(|error| error.to_string())
}

fn parameter((name, kind): &(String, Kind)) -> Parameter {
    Parameter { name: name.clone(), place: "path", required: true, schema: schema(kind) }
}

fn schema(kind: &Kind) -> Schema {
    Schema { kind: kind.name, format: kind.format, pattern: kind.pattern.clone() }
}

/// The handler's name, or method and path; a number makes it the only one.
fn operation_id(endpoint: &Endpoint, method: &str, ids: &mut HashSet<String>) -> String {
    let handler = endpoint.handler.as_deref().and_then(|handler| handler.rsplit(['.', ':']).next());
    let plain = |text: &str| -> String {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("_")
    };
    let base = handler.map(plain).filter(|id| !id.is_empty());
    let base = base.unwrap_or_else(|| format!("{method}_{}", plain(&endpoint.path)).trim_end_matches('_').to_owned());
    let numbered = (2..).map(|n| format!("{base}_{n}"));
    let id = std::iter::once(base.clone()).chain(numbered).find(|id| !ids.contains(id)).unwrap_or(base);
    ids.insert(id.clone());
    id
}
