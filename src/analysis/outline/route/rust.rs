//! axum, actix-web, Rocket.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{Mount, Place, Route, arguments, join, method, named};
use crate::analysis::outline::items::paragraph;
use crate::analysis::outline::line_of;
use crate::analysis::outline::literal::{literal, unquote};
use crate::analysis::tree::TreeNode;

/// What is known of a function that may be a handler.
#[derive(Default)]
struct Handler {
    doc: Option<String>,
    types: Vec<(String, String)>,
    extracted: Vec<String>,
}

pub(super) fn read(root: &TreeNode<'_>) -> (Vec<Route>, Vec<Mount>) {
    let (mut routes, mut mounts, mut handlers) = (Vec::new(), Vec::new(), HashMap::new());
    for node in root.dfs() {
        match &*node.kind() {
            "function_item" => {
                if let Some(name) = node.field("name") {
                    handlers.insert(name.text().into_owned(), handler(&node));
                    attributes(&node, &name.text(), &mut routes);
                }
            }
            "call_expression" => call(&node, &mut routes, &mut mounts),
            _ => {}
        }
    }
    for route in &mut routes {
        let name = route.handler.as_deref().and_then(|name| name.rsplit("::").next());
        if let Some(known) = name.and_then(|name| handlers.get(name)) {
            route.doc = route.doc.take().or_else(|| known.doc.clone());
            route.types = known.types.iter().cloned().collect();
            route.ordered_types.clone_from(&known.extracted);
        }
    }
    (routes, mounts)
}

fn handler(node: &TreeNode<'_>) -> Handler {
    #[expect(clippy::expect_used, reason = "a literal pattern; the tests of this room compile it")]
    static EXTRACTED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r":\s*(?:\w+::)*Path\s*<\s*(?:\(([^)]*)\)|([^<>,]+))\s*>").expect("the pattern is valid")
    });
    let comments: Vec<String> = node
        .prev_all()
        .take_while(|before| matches!(&*before.kind(), "line_comment" | "attribute_item" | "block_comment"))
        .map(|before| before.text().trim().to_owned())
        .filter(|text| text.starts_with("///"))
        .collect();
    let Some(parameters) = node.field("parameters") else { return Handler::default() };
    let types = parameters.children().filter(|child| child.kind() == "parameter").filter_map(|child| {
        Some((child.field("pattern")?.text().into_owned(), child.field("type")?.text().into_owned()))
    });
    let text = parameters.text();
    let extracted = EXTRACTED.captures(&text).and_then(|found| found.get(1).or_else(|| found.get(2)));
    let extracted = extracted.map_or("", |found| found.as_str()).split(',').map(str::trim);
    Handler {
        doc: paragraph(comments),
        types: types.collect(),
        extracted: extracted.filter(|kind| !kind.is_empty()).map(str::to_owned).collect(),
    }
}

/// `#[get("/x")]` above a function.
fn attributes(node: &TreeNode<'_>, name: &str, routes: &mut Vec<Route>) {
    let above = node
        .prev_all()
        .take_while(|before| matches!(&*before.kind(), "line_comment" | "attribute_item" | "block_comment"));
    for attribute in above.filter(|before| before.kind() == "attribute_item") {
        let text = attribute.text();
        let Some((path, rest)) = text.trim_start_matches(['#', '[']).split_once('(') else { continue };
        let verb = path.trim().rsplit("::").next().unwrap_or_default();
        let Some(string) = attribute.dfs().find(|inner| inner.kind().contains("string_literal")) else { continue };
        let Some(path) = unquote(&string.text()).filter(|path| path.starts_with('/')) else { continue };
        let methods: Vec<&'static str> = match verb {
            "route" => rest.split(['"', ',', ' ', '(', ')']).filter_map(method).collect(),
            verb => method(verb).into_iter().collect(),
        };
        routes.extend(methods.into_iter().map(|method| Route {
            method: Some(method),
            path: path.clone(),
            handler: Some(name.to_owned()),
            line: line_of(node),
            functions: vec![name.to_owned()],
            ..Route::default()
        }));
    }
}

fn call(node: &TreeNode<'_>, routes: &mut Vec<Route>, mounts: &mut Vec<Mount>) {
    let Some(function) = node.field("function").filter(|function| function.kind() == "field_expression") else {
        return;
    };
    let Some(verb) = function.field("field").map(|field| field.text().into_owned()) else { return };
    let given = arguments(node);
    match verb.as_str() {
        "route" => {
            let (path, services) = match given.as_slice() {
                [path, service] => (literal(path), service.clone()),
                // actix: `web::resource("/x").route(web::get().to(h))`
                [service] => (function.field("value").and_then(|value| resource(&value)), service.clone()),
                _ => return,
            };
            let Some(path) = path.filter(|path| path.is_empty() || path.starts_with('/')) else { return };
            for (method, handler) in methods(&services) {
                routes.push(Route {
                    method,
                    path: join(&around(node), &path),
                    handler,
                    line: given.first().map_or_else(|| line_of(node), line_of),
                    owners: bindings(node),
                    functions: functions(node),
                    place: Place::of(node),
                    ..Route::default()
                });
            }
        }
        // Rocket's `mount("/x", routes![a, b])`, axum's `nest`, and `merge`, which has no prefix.
        "nest" | "mount" | "nest_service" => {
            let [prefix, target] = given.as_slice() else { return };
            let Some(prefix) = literal(prefix) else { return };
            for target in targets(target) {
                mounts.push(mount(node, join(&around(node), &prefix), target));
            }
        }
        "merge" | "service" | "configure" => {
            let prefix = around(node);
            for target in given.first().map(targets).unwrap_or_default() {
                mounts.push(mount(node, prefix.clone(), target));
            }
        }
        _ => {}
    }
}

fn mount(node: &TreeNode<'_>, prefix: String, target: String) -> Mount {
    let prefix = if prefix == "/" { String::new() } else { prefix };
    let (owners, functions, place) = (bindings(node), functions(node), Place::of(node));
    Mount { prefix, target, from: None, owners, functions, place }
}

/// Functions and routers that are named: `users`, `users::router()`, `routes![a, b]`.
fn targets(node: &TreeNode<'_>) -> Vec<String> {
    match &*node.kind() {
        "macro_invocation" => {
            let text = node.text();
            let inner = text.split_once(['[', '(']).map_or("", |(_, inner)| inner);
            inner
                .trim_end_matches([']', ')'])
                .split(',')
                .map(|name| name.trim().to_owned())
                .filter(|n| !n.is_empty())
                .collect()
        }
        "call_expression" => {
            let function = node.field("function").filter(|function| function.kind() != "field_expression");
            function.and_then(|function| named(&function)).into_iter().collect()
        }
        _ => named(node).into_iter().collect(),
    }
}

/// What answers at a path: `get(list).post(make)`, `web::get().to(list)`.
fn methods(service: &TreeNode<'_>) -> Vec<(Option<&'static str>, Option<String>)> {
    let mut found = Vec::new();
    let mut at = Some(service.clone());
    let mut handler = None;
    while let Some(call) = at.take().filter(|call| call.kind() == "call_expression") {
        let Some(function) = call.field("function") else { break };
        let first = arguments(&call).first().and_then(named);
        let name = match &*function.kind() {
            "field_expression" => function.field("field").map(|field| field.text().into_owned()),
            _ => named(&function),
        };
        let name = name.unwrap_or_default();
        match name.rsplit("::").next().unwrap_or_default() {
            "to" => handler = first,
            "any" | "any_service" => found.push((None, first)),
            verb => {
                if let Some(method) = method(verb.trim_end_matches("_service")) {
                    found.push((Some(method), first.or_else(|| handler.take())));
                }
            }
        }
        at = function.field("value").filter(|_| function.kind() == "field_expression");
    }
    found.reverse();
    found
}

/// The path of `web::resource("/x")` at the beginning of a chain.
fn resource(chain: &TreeNode<'_>) -> Option<String> {
    begins_with(chain, "resource")
}

/// The prefix of `web::scope("/x")` at the beginning of the chain that a call belongs to.
fn scope(call: &TreeNode<'_>) -> String {
    call.field("function").and_then(|function| begins_with(&function.field("value")?, "scope")).unwrap_or_default()
}

fn begins_with(chain: &TreeNode<'_>, name: &str) -> Option<String> {
    let mut at = chain.clone();
    loop {
        let function = at.field("function")?;
        if function.kind() == "field_expression" {
            at = function.field("value")?;
        } else if function.text().rsplit("::").next() == Some(name) {
            return arguments(&at).first().and_then(literal);
        } else {
            return None;
        }
    }
}

/// The prefixes of the `nest("/x", …)` and `scope("/x")` that a call is written in.
fn around(node: &TreeNode<'_>) -> String {
    let mut prefixes = Vec::new();
    let own = scope(node);
    let mut inner = node.clone();
    for above in node.ancestors() {
        if matches!(&*above.kind(), "function_item" | "closure_expression" | "let_declaration") {
            break;
        }
        let function = above.field("function").filter(|_| above.kind() == "call_expression");
        let within = above.field("arguments").is_some_and(|list| list.range().contains(&inner.range().start));
        if let Some(function) = function.filter(|function| within && function.kind() == "field_expression") {
            match function.field("field").map(|field| field.text().into_owned()).as_deref() {
                Some("nest") => prefixes.extend(arguments(&above).first().and_then(literal)),
                Some("service") => prefixes.push(scope(&above)),
                _ => {}
            }
        }
        inner = above;
    }
    prefixes.reverse();
    prefixes.push(own);
    let all = prefixes.iter().filter(|prefix| !prefix.is_empty()).fold(String::new(), |all, prefix| join(&all, prefix));
    if all == "/" { String::new() } else { all }
}

/// The names that the value around is bound to.
fn bindings(node: &TreeNode<'_>) -> Vec<String> {
    let bound = node.ancestors().filter(|above| above.kind() == "let_declaration");
    bound.filter_map(|above| above.field("pattern")).map(|name| plain(&name)).collect()
}

/// The names of the functions around.
fn functions(node: &TreeNode<'_>) -> Vec<String> {
    let around = node.ancestors().filter(|above| above.kind() == "function_item");
    around.filter_map(|above| above.field("name")).map(|name| plain(&name)).collect()
}

fn plain(name: &TreeNode<'_>) -> String {
    name.text().trim_start_matches("mut ").to_owned()
}
