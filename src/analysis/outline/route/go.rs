//! net/http, gin, echo, chi, gorilla/mux, fiber.

use std::collections::{HashMap, HashSet};

use super::{Mount, Place, Route, arguments, join, method, named};
use crate::analysis::outline::imports::Import;
use crate::analysis::outline::items::{above, paragraph};
use crate::analysis::outline::line_of;
use crate::analysis::outline::literal::literal;
use crate::analysis::tree::TreeNode;

pub(super) fn read(root: &TreeNode<'_>, imports: &[Import]) -> (Vec<Route>, Vec<Mount>) {
    let uses = |part: &str| imports.iter().any(|import| import.from.contains(part));
    let titled = uses("go-chi/chi") || uses("gofiber/fiber");
    if !(titled || uses("net/http") || uses("gin-gonic/gin") || uses("labstack/echo") || uses("gorilla/mux")) {
        return (Vec::new(), Vec::new());
    }
    let mut docs = HashMap::new();
    for node in root.dfs().filter(|node| matches!(&*node.kind(), "function_declaration" | "method_declaration")) {
        if let (Some(name), Some(doc)) = (node.field("name"), paragraph(above(&node))) {
            docs.insert(name.text().into_owned(), doc);
        }
    }
    let mut found = Reader { titled, docs, routes: Vec::new(), mounts: Vec::new(), groups: HashSet::new() };
    for node in root.dfs().filter(|node| node.kind() == "call_expression") {
        found.call(&node);
    }
    // A group that is given to a function is what that function's routes hang in.
    for node in root.dfs().filter(|node| node.kind() == "call_expression") {
        let Some(function) = node.field("function").filter(|function| function.kind() == "identifier") else {
            continue;
        };
        for given in arguments(&node) {
            let name = given.text().into_owned();
            if found.groups.contains(&name) {
                let target = function.text().into_owned();
                let mount = Mount { target, owners: vec![name], place: Place::of(&node), ..Mount::default() };
                found.mounts.push(mount);
            }
        }
    }
    (found.routes, found.mounts)
}

struct Reader {
    /// The methods of the router are `Get`, `Post` …; elsewhere these are a client's.
    titled: bool,
    docs: HashMap<String, String>,
    routes: Vec<Route>,
    mounts: Vec<Mount>,
    groups: HashSet<String>,
}

impl Reader {
    fn call(&mut self, call: &TreeNode<'_>) {
        let Some(function) = call.field("function").filter(|function| function.kind() == "selector_expression") else {
            return;
        };
        let (Some(object), Some(verb)) = (function.field("operand"), function.field("field")) else { return };
        let (owner, verb) = (object.text().into_owned(), verb.text().into_owned());
        let given = arguments(call);
        let first = given.first().and_then(literal);
        match verb.as_str() {
            "HandleFunc" | "Handle" => {
                // gin's and echo's `Handle` and `Add` begin with the method.
                let (said, path, handler) = match (first, given.get(1).and_then(literal)) {
                    (Some(verb), Some(path)) => (method(&verb), path, given.get(2)),
                    (Some(pattern), None) => match pattern.split_once(' ') {
                        Some((verb, path)) => (method(verb), path.trim().to_owned(), given.get(1)),
                        None => (None, pattern, given.get(1)),
                    },
                    (None, _) => return,
                };
                // A pattern may begin with a host.
                let Some(path) = path.find('/').and_then(|at| path.get(at..)).map(str::to_owned) else { return };
                let methods = chained_methods(call);
                if methods.is_empty() {
                    self.push(call, said, &path, handler, owner);
                } else {
                    for method in methods {
                        self.push(call, Some(method), &path, handler, owner.clone());
                    }
                }
            }
            "Method" | "MethodFunc" | "Add" => {
                let (Some(verb), Some(path)) = (first, given.get(1).and_then(literal)) else { return };
                if let Some(method) = method(&verb) {
                    self.push(call, Some(method), &path, given.get(2), owner);
                }
            }
            "Group" | "PathPrefix" => {
                let Some(prefix) = first else { return };
                let bound = call.ancestors().find(|above| {
                    matches!(&*above.kind(), "short_var_declaration" | "var_spec" | "assignment_statement")
                });
                let Some(target) = bound.and_then(|bound| bound.field("left").or_else(|| bound.field("name"))) else {
                    return;
                };
                let target = target.text().into_owned();
                self.groups.insert(target.clone());
                self.mount(call, prefix, target, owner);
            }
            "Mount" => {
                let Some(prefix) = first else { return };
                let Some(target) = given.get(1) else { return };
                let target = target.field("function").unwrap_or_else(|| target.clone());
                let target = target.field("field").unwrap_or(target).text().into_owned();
                self.mount(call, prefix, target, owner);
            }
            "Any" => {
                if let Some(path) = first.filter(|path| path.starts_with('/')) {
                    self.push(call, None, &path, given.last().filter(|_| given.len() > 1), owner);
                }
            }
            verb => {
                let upper = verb.chars().all(|c| c.is_ascii_uppercase());
                let title = self.titled && verb.starts_with(char::is_uppercase);
                let Some(method) = method(verb).filter(|_| upper || title) else { return };
                let Some(path) = first.filter(|path| given.len() > 1 && (path.is_empty() || path.starts_with('/')))
                else {
                    return;
                };
                self.push(call, Some(method), &path, given.last(), owner);
            }
        }
    }

    fn push(
        &mut self,
        call: &TreeNode<'_>,
        method: Option<&'static str>,
        path: &str,
        handler: Option<&TreeNode<'_>>,
        owner: String,
    ) {
        let handler = handler.and_then(named);
        let name = handler.as_deref().and_then(|handler| handler.rsplit('.').next());
        let statement = call.ancestors().find(|above| above.kind() == "expression_statement");
        let doc = name.and_then(|name| self.docs.get(name).cloned());
        let doc = doc.or_else(|| paragraph(above(&statement?)));
        self.routes.push(Route {
            method,
            path: join(&around(call), path),
            handler,
            doc,
            line: line_of(call),
            owners: vec![owner],
            functions: functions(call),
            place: Place::of(call),
            ..Route::default()
        });
    }

    fn mount(&mut self, call: &TreeNode<'_>, prefix: String, target: String, owner: String) {
        let (owners, functions, place) = (vec![owner], functions(call), Place::of(call));
        self.mounts.push(Mount { prefix, target, from: None, owners, functions, place });
    }
}

/// Names of the functions around.
fn functions(call: &TreeNode<'_>) -> Vec<String> {
    call.ancestors()
        .filter(|above| matches!(&*above.kind(), "function_declaration" | "method_declaration"))
        .filter_map(|above| above.field("name"))
        .map(|name| name.text().into_owned())
        .collect()
}

/// The prefixes of `r.Route("/x", func(r chi.Router) { … })` around a call.
fn around(call: &TreeNode<'_>) -> String {
    let mut prefixes: Vec<String> = call
        .ancestors()
        .filter(|above| above.kind() == "call_expression")
        .filter(|above| {
            let field = above.field("function").and_then(|function| function.field("field"));
            field.is_some_and(|field| matches!(&*field.text(), "Route" | "Group"))
        })
        .filter_map(|above| arguments(&above).first().and_then(literal))
        .collect();
    prefixes.reverse();
    prefixes.iter().fold(String::new(), |all, prefix| join(&all, prefix))
}

/// gorilla's `.Methods("GET", "POST")` behind a route.
fn chained_methods(call: &TreeNode<'_>) -> Vec<&'static str> {
    let Some(selector) = call.parent().filter(|parent| parent.kind() == "selector_expression") else {
        return Vec::new();
    };
    if selector.field("field").is_none_or(|field| field.text() != "Methods") {
        return Vec::new();
    }
    let Some(outer) = selector.parent() else { return Vec::new() };
    arguments(&outer)
        .iter()
        .filter_map(|given| {
            let text = literal(given).unwrap_or_else(|| given.text().trim_start_matches("http.Method").to_owned());
            method(&text)
        })
        .collect()
}
