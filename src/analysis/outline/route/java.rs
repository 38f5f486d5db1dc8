//! Spring MVC and JAX-RS.

use std::collections::BTreeMap;

use super::{Route, join, method};
use crate::analysis::outline::items::{above, paragraph};
use crate::analysis::outline::line_of;
use crate::analysis::outline::literal::literal;
use crate::analysis::tree::TreeNode;

/// One annotation: its name, the literals that are its paths, and its text.
struct Annotation {
    name: String,
    paths: Vec<String>,
    text: String,
}

pub(super) fn read(root: &TreeNode<'_>) -> Vec<Route> {
    let mut routes = Vec::new();
    for node in root.dfs().filter(|node| node.kind() == "method_declaration") {
        let own = annotations(&node);
        let found = match spring(&own) {
            Some(found) => found,
            None => jax(&own),
        };
        if found.is_empty() {
            continue;
        }
        let class =
            node.ancestors().find(|above| matches!(&*above.kind(), "class_declaration" | "interface_declaration"));
        let around = class.as_ref().map(annotations).unwrap_or_default();
        // The clients of these libraries are declared with the same annotations.
        if around.iter().any(|annotation| matches!(annotation.name.as_str(), "FeignClient" | "RegisterRestClient")) {
            continue;
        }
        let prefixes = around.iter().find(|annotation| matches!(annotation.name.as_str(), "RequestMapping" | "Path"));
        let prefixes = prefixes.map(|annotation| annotation.paths.clone()).filter(|paths| !paths.is_empty());
        for prefix in prefixes.unwrap_or_else(|| vec![String::new()]) {
            for (method, path) in &found {
                routes.push(Route {
                    method: *method,
                    path: join(&prefix, path),
                    handler: node.field("name").map(|name| name.text().into_owned()),
                    types: types(&node),
                    doc: paragraph(above(&node)),
                    line: node.field("name").map_or_else(|| line_of(&node), |name| line_of(&name)),
                    ..Route::default()
                });
            }
        }
    }
    routes
}

fn spring(own: &[Annotation]) -> Option<Vec<(Option<&'static str>, String)>> {
    let (annotation, methods) = own.iter().find_map(|annotation| {
        let verb = annotation.name.strip_suffix("Mapping")?;
        if verb == "Request" {
            let said = annotation
                .text
                .split("RequestMethod.")
                .skip(1)
                .filter_map(|rest| method(rest.split(|c: char| !c.is_ascii_alphabetic()).next()?));
            let said: Vec<_> = said.collect();
            let methods = if said.is_empty() { vec![None] } else { said.into_iter().map(Some).collect() };
            return Some((annotation, methods));
        }
        Some((annotation, vec![Some(method(verb)?)]))
    })?;
    let paths = if annotation.paths.is_empty() { vec![String::new()] } else { annotation.paths.clone() };
    Some(paths.iter().flat_map(|path| methods.iter().map(move |method| (*method, path.clone()))).collect())
}

fn jax(own: &[Annotation]) -> Vec<(Option<&'static str>, String)> {
    let path = own.iter().find(|annotation| annotation.name == "Path").and_then(|annotation| annotation.paths.first());
    own.iter()
        .filter(|annotation| annotation.name.chars().all(|c| c.is_ascii_uppercase()))
        .filter_map(|annotation| Some((Some(method(&annotation.name)?), path.cloned().unwrap_or_default())))
        .collect()
}

fn annotations(node: &TreeNode<'_>) -> Vec<Annotation> {
    let Some(modifiers) = node.children().find(|child| child.kind() == "modifiers") else { return Vec::new() };
    modifiers
        .children()
        .filter(|child| child.kind().contains("annotation"))
        .filter_map(|child| {
            let name = child.field("name")?.text().rsplit('.').next()?.to_owned();
            let paths = child.field("arguments").map(|arguments| paths(&arguments)).unwrap_or_default();
            Some(Annotation { name, paths, text: child.text().into_owned() })
        })
        .collect()
}

/// The literals that stand alone, or under `value` or `path`.
fn paths(arguments: &TreeNode<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for child in arguments.children().filter(|child| child.is_named()) {
        let value = if child.kind() == "element_value_pair" {
            let key = child.field("key").map(|key| key.text().into_owned());
            if !matches!(key.as_deref(), Some("value" | "path")) {
                continue;
            }
            child.field("value")
        } else {
            Some(child)
        };
        found
            .extend(value.iter().flat_map(|value| value.dfs().filter_map(|inner| literal(&inner)).collect::<Vec<_>>()));
    }
    found
}

/// Types of parameters that are taken from the path, by the name that they have there.
fn types(node: &TreeNode<'_>) -> BTreeMap<String, String> {
    let Some(parameters) = node.field("parameters") else { return BTreeMap::new() };
    parameters
        .children()
        .filter(|child| child.kind() == "formal_parameter")
        .filter_map(|child| {
            let taken = annotations(&child);
            let taken =
                taken.iter().find(|annotation| matches!(annotation.name.as_str(), "PathVariable" | "PathParam"))?;
            let own = child.field("name")?.text().into_owned();
            Some((taken.paths.first().cloned().unwrap_or(own), child.field("type")?.text().into_owned()))
        })
        .collect()
}
