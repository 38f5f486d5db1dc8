//! Flask, FastAPI (and what is shaped like them), Django's tables of addresses.

use std::collections::{BTreeMap, HashMap};

use super::{Mount, Place, Route, arguments, method, named};
use crate::analysis::outline::items::{docstring, paragraph};
use crate::analysis::outline::line_of;
use crate::analysis::outline::literal::literal;
use crate::analysis::tree::TreeNode;

pub(super) fn read(root: &TreeNode<'_>) -> (Vec<Route>, Vec<Mount>) {
    let mut bases: HashMap<String, (String, bool)> = HashMap::new();
    let mut docs: HashMap<String, String> = HashMap::new();
    let mut methods: HashMap<String, Vec<&'static str>> = HashMap::new();
    for node in root.dfs() {
        match &*node.kind() {
            "assignment" => {
                let (Some(left), Some(right)) = (node.field("left"), node.field("right")) else { continue };
                let called = right.field("function").map(|function| last_name(&function));
                let keyword = match called.as_deref() {
                    Some("Blueprint") => "url_prefix",
                    Some("APIRouter" | "FastAPI") => "prefix",
                    _ => continue,
                };
                if let Some(prefix) = keyword_argument(&right, keyword).and_then(|value| literal(&value)) {
                    bases.insert(left.text().into_owned(), (prefix, keyword == "url_prefix"));
                }
            }
            "function_definition" | "class_definition" => {
                let Some(name) = node.field("name").map(|name| name.text().into_owned()) else { continue };
                methods.insert(name.clone(), methods_of(&node));
                if let Some(doc) = docstring(&node).and_then(|doc| paragraph(vec![doc])) {
                    docs.insert(name, doc);
                }
            }
            _ => {}
        }
    }
    let mut routes = Vec::new();
    let mut mounts = Vec::new();
    for node in root.dfs() {
        match &*node.kind() {
            "decorated_definition" => decorated(&node, &mut routes),
            "call" => called(&node, &mut routes, &mut mounts),
            _ => {}
        }
    }
    for route in &mut routes {
        if let Some((prefix, yields)) = route.owners.first().and_then(|owner| bases.get(owner)) {
            (route.base, route.base_yields) = (prefix.clone(), *yields);
        }
        let handler = route.handler.as_deref().unwrap_or_default().trim_end_matches(".as_view");
        route.doc = route.doc.take().or_else(|| docs.get(handler).cloned());
    }
    // What a table of addresses leaves to its views, they may say themselves.
    let routes = routes
        .into_iter()
        .flat_map(|route| {
            let handler = route.handler.clone().unwrap_or_default();
            let said = methods.get(handler.trim_end_matches(".as_view")).cloned().unwrap_or_default();
            if route.method.is_some() || said.is_empty() {
                return vec![route];
            }
            said.into_iter().map(|method| Route { method: Some(method), ..route.clone() }).collect()
        })
        .collect();
    (routes, mounts)
}

/// `@app.route("/x", methods=[…])`, `@router.get("/x")` above a function.
fn decorated(node: &TreeNode<'_>, routes: &mut Vec<Route>) {
    let Some(definition) = node.field("definition").filter(|inner| inner.kind() == "function_definition") else {
        return;
    };
    for decorator in node.children().filter(|child| child.kind() == "decorator") {
        let Some(call) = decorator.children().find(|child| child.kind() == "call") else { continue };
        let Some(function) = call.field("function").filter(|function| function.kind() == "attribute") else { continue };
        let (owner, verb) = (object_of(&function), last_name(&function));
        let path = arguments(&call).first().and_then(literal).or_else(|| {
            let named = keyword_argument(&call, "rule").or_else(|| keyword_argument(&call, "path"));
            named.and_then(|value| literal(&value))
        });
        let Some(path) = path.filter(|path| path.is_empty() || path.starts_with('/')) else { continue };
        let listed: Vec<&'static str> =
            keyword_argument(&call, "methods").map(|value| strings(&value)).unwrap_or_default();
        let methods: Vec<Option<&'static str>> = match verb.as_str() {
            "route" if listed.is_empty() => vec![Some("get")],
            "route" | "api_route" => listed.into_iter().map(Some).collect(),
            verb => match method(verb) {
                Some(method) => vec![Some(method)],
                None => continue,
            },
        };
        for method in methods {
            routes.push(Route {
                method,
                path: path.clone(),
                handler: definition.field("name").map(|name| name.text().into_owned()),
                types: types(&definition),
                doc: docstring(&definition).and_then(|doc| paragraph(vec![doc])),
                line: line_of(&definition),
                owners: vec![owner.clone()],
                place: Place::of(node),
                ..Route::default()
            });
        }
    }
}

fn called(call: &TreeNode<'_>, routes: &mut Vec<Route>, mounts: &mut Vec<Mount>) {
    let Some(function) = call.field("function") else { return };
    let given = arguments(call);
    let owners = || vec![object_of(&function)];
    match last_name(&function).as_str() {
        "add_url_rule" => {
            let Some(path) = given.first().and_then(literal).filter(|path| path.starts_with('/')) else { return };
            let view = keyword_argument(call, "view_func").or_else(|| given.get(2).cloned());
            let listed: Vec<_> = keyword_argument(call, "methods").map(|value| strings(&value)).unwrap_or_default();
            let listed = if listed.is_empty() { vec!["get"] } else { listed };
            routes.extend(listed.into_iter().map(|method| Route {
                method: Some(method),
                path: path.clone(),
                handler: view.as_ref().and_then(handler),
                line: line_of(call),
                owners: owners(),
                place: Place::of(call),
                ..Route::default()
            }));
        }
        "register_blueprint" | "include_router" | "mount" => {
            let keyword = keyword_argument(call, "url_prefix").or_else(|| keyword_argument(call, "prefix"));
            let prefix = keyword.and_then(|value| literal(&value)).unwrap_or_default();
            if let Some(target) = given.first().filter(|target| named(target).is_some()) {
                let target = target.text().into_owned();
                let (owners, place) = (owners(), Place::of(call));
                mounts.push(Mount { prefix, target, owners, place, ..Mount::default() });
            }
        }
        verb @ ("path" | "re_path" | "url") if in_table(call) => {
            let Some(path) = given.first().and_then(literal) else { return };
            let Some(view) = given.get(1) else { return };
            let is_regex = verb != "path";
            let included = view.field("function").is_some_and(|function| last_name(&function) == "include");
            if included {
                let from = arguments(view).first().and_then(literal);
                let prefix = path.trim_start_matches('^').trim_end_matches('$').to_owned();
                if from.is_some() && !(is_regex && prefix.contains(['(', '[', '\\'])) {
                    mounts.push(Mount { prefix, from, ..Mount::default() });
                }
                return;
            }
            routes.push(Route {
                path,
                is_regex,
                handler: handler(view),
                line: line_of(call),
                place: Place::of(call),
                ..Route::default()
            });
        }
        _ => {}
    }
}

/// Within a list that is given the name of Django's tables.
fn in_table(call: &TreeNode<'_>) -> bool {
    call.ancestors().any(|above| {
        matches!(&*above.kind(), "assignment" | "augmented_assignment")
            && above.field("left").is_some_and(|left| left.text().ends_with("urlpatterns"))
    })
}

/// A view's name: `views.show`, `ShowView.as_view()`.
fn handler(view: &TreeNode<'_>) -> Option<String> {
    let named = match view.field("function") {
        Some(function) => function,
        None => view.clone(),
    };
    let name = super::named(&named)?;
    let name = name.trim_end_matches(".as_view");
    Some(name.rsplit('.').next().unwrap_or(name).to_owned())
}

/// The methods that a view says it answers.
fn methods_of(node: &TreeNode<'_>) -> Vec<&'static str> {
    if node.kind() == "class_definition" {
        let Some(body) = node.field("body") else { return Vec::new() };
        return body
            .children()
            .filter_map(|child| child.field("definition").or(Some(child)))
            .filter(|child| child.kind() == "function_definition")
            .filter_map(|child| method(&child.field("name")?.text()))
            .filter(|method| *method != "options")
            .collect();
    }
    let Some(decorated) = node.parent().filter(|parent| parent.kind() == "decorated_definition") else {
        return Vec::new();
    };
    for decorator in decorated.children().filter(|child| child.kind() == "decorator") {
        let text = decorator.text();
        let text = text.trim_start_matches('@');
        let name = text.split('(').next().unwrap_or_default().rsplit('.').next().unwrap_or_default();
        match name {
            "require_GET" => return vec!["get"],
            "require_POST" => return vec!["post"],
            "require_safe" => return vec!["get", "head"],
            "require_http_methods" | "api_view" => return strings(&decorator),
            _ => {}
        }
    }
    Vec::new()
}

/// The methods among the strings below a node.
fn strings(node: &TreeNode<'_>) -> Vec<&'static str> {
    let mut found = Vec::new();
    for text in node.dfs().filter_map(|inner| literal(&inner)) {
        if let Some(method) = method(&text).filter(|method| !found.contains(method)) {
            found.push(method);
        }
    }
    found
}

/// Parameters with their annotations.
fn types(definition: &TreeNode<'_>) -> BTreeMap<String, String> {
    let Some(parameters) = definition.field("parameters") else { return BTreeMap::new() };
    parameters
        .children()
        .filter(|child| matches!(&*child.kind(), "typed_parameter" | "typed_default_parameter"))
        .filter_map(|child| {
            let name = child.field("name").or_else(|| child.child(0))?.text().into_owned();
            Some((name, child.field("type")?.text().into_owned()))
        })
        .collect()
}

fn keyword_argument<'t>(call: &TreeNode<'t>, name: &str) -> Option<TreeNode<'t>> {
    let given = arguments(call);
    let found = given.iter().find(|argument| {
        argument.kind() == "keyword_argument" && argument.field("name").is_some_and(|known| known.text() == name)
    })?;
    found.field("value")
}

fn last_name(function: &TreeNode<'_>) -> String {
    let node = function.field("attribute").unwrap_or_else(|| function.clone());
    node.text().into_owned()
}

fn object_of(function: &TreeNode<'_>) -> String {
    function.field("object").map(|object| object.text().into_owned()).unwrap_or_default()
}
