//! Cutting out of a full value what was asked for; whatever is not there is refused.

use serde_json::{Value, json};

use super::{Outcome, arguments, malformed, problem};
use crate::demo::selection::Field;

/// A value in full; what was asked for is cut out of it by [`project`].
pub fn list(nodes: Vec<Value>) -> Value {
    json!({"__connection": nodes})
}

/// Cuts out of a full value what was asked for, and refuses what is not there.
pub fn project(value: &Value, field: &Field) -> Outcome<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if let Some(nodes) = value.get("__connection").and_then(Value::as_array) {
        return connection(nodes, field);
    }
    if value.is_object() && field.fields.is_empty() {
        return malformed(format!("Field '{}' must have selections", field.name));
    }
    let mut out = json!({});
    for inner in &field.fields {
        if let Some(on) = &inner.on {
            let interface = on == "Node" || on == "Actor" || on == "Minimizable";
            if interface || value["__typename"] == on.as_str() {
                let part = project(value, inner)?;
                for (key, value) in part.as_object().into_iter().flatten() {
                    out[key] = value.clone();
                }
            }
            continue;
        }
        out[inner.key()] = leaf(value, inner)?;
    }
    Ok(out)
}

pub fn leaf(value: &Value, field: &Field) -> Outcome<Value> {
    let Some(found) = value.get(&field.name) else {
        let kind = value["__typename"].as_str().unwrap_or("Object");
        return malformed(format!("Field '{}' doesn't exist on type '{kind}'", field.name));
    };
    if found.get("__connection").is_none() {
        arguments(field, &[])?;
    }
    if found.is_object() {
        return project(found, field);
    }
    if !found.is_null() && !field.fields.is_empty() {
        return malformed(format!("Selections can't be made on scalars (field '{}')", field.name));
    }
    Ok(found.clone())
}

pub fn connection(nodes: &[Value], field: &Field) -> Outcome<Value> {
    arguments(field, &["first", "last", "after", "before"])?;
    let count = |name: &str| field.arguments.get(name).filter(|v| !v.is_null());
    let size = match (count("first"), count("last")) {
        (None, None) => {
            return problem(
                "MISSING_PAGINATION_BOUNDARIES",
                format!(
                    "You must provide a `first` or `last` value to properly paginate the `{}` connection.",
                    field.name
                ),
            );
        }
        (Some(n), _) | (None, Some(n)) => n.as_u64().filter(|n| (1..=100).contains(n)),
    };
    let Some(size) = size.and_then(|n| usize::try_from(n).ok()) else {
        return problem(
            "EXCESSIVE_PAGINATION",
            format!("Requesting records on the `{}` connection takes between 1 and 100.", field.name),
        );
    };
    let place = |name: &str| -> Outcome<Option<usize>> {
        match field.arguments.get(name).filter(|v| !v.is_null()) {
            None => Ok(None),
            Some(cursor) => {
                match cursor.as_str().and_then(|c| c.strip_prefix("cursor:")).and_then(|n| n.parse().ok()) {
                    Some(at) => Ok(Some(at)),
                    None => {
                        problem("INVALID_CURSOR_ARGUMENTS", format!("`{cursor}` does not appear to be a valid cursor."))
                    }
                }
            }
        }
    };
    let low = place("after")?.unwrap_or(0);
    let high =
        place("before")?.map_or(nodes.len(), |at| at.saturating_sub(1)).min(nodes.len()).max(low.min(nodes.len()));
    let low = low.min(high);
    let (start, end) = if count("first").is_some() {
        (low, (low + size).min(high))
    } else {
        (high.saturating_sub(size).max(low), high)
    };
    let cursor = |at: usize| json!(format!("cursor:{at}"));
    let shown = &nodes[start..end];
    let mut out = json!({});
    for inner in &field.fields {
        out[inner.key()] = match inner.name.as_str() {
            "totalCount" => json!(nodes.len()),
            "nodes" => Value::Array(shown.iter().map(|node| project(node, inner)).collect::<Outcome<_>>()?),
            "edges" => {
                let edge = |(index, node): (usize, &Value)| {
                    let whole = json!({"__typename": "Edge", "node": node, "cursor": cursor(start + index + 1)});
                    project(&whole, inner)
                };
                Value::Array(shown.iter().enumerate().map(edge).collect::<Outcome<_>>()?)
            }
            "pageInfo" => {
                let info = json!({
                    "__typename": "PageInfo",
                    "hasNextPage": end < nodes.len(),
                    "hasPreviousPage": start > 0,
                    "startCursor": if shown.is_empty() { Value::Null } else { cursor(start + 1) },
                    "endCursor": if shown.is_empty() { Value::Null } else { cursor(end) },
                });
                project(&info, inner)?
            }
            other => return malformed(format!("Field '{other}' doesn't exist on the connection '{}'", field.name)),
        };
    }
    Ok(out)
}
