//! Express, Fastify, Koa's router and what is shaped like them.

use std::collections::{HashMap, HashSet};

use super::{Mount, Place, Route, arguments, method, named};
use crate::analysis::outline::items::{above, paragraph};
use crate::analysis::outline::line_of;
use crate::analysis::outline::literal::literal;
use crate::analysis::tree::TreeNode;

/// Calls that make something routes are declared on.
const MAKERS: [&str; 8] =
    ["express", "express.Router", "Router", "fastify", "Fastify", "KoaRouter", "Hono", "OpenAPIHono"];

pub(super) fn read(root: &TreeNode<'_>) -> (Vec<Route>, Vec<Mount>) {
    let (mut routers, mut bases, mut docs) = (HashSet::new(), HashMap::new(), HashMap::new());
    for node in root.dfs() {
        match &*node.kind() {
            "variable_declarator" => {
                let (Some(name), Some(value)) = (node.field("name"), node.field("value")) else { continue };
                let (name, made) = (name.text().into_owned(), maker(&value));
                if made.is_some_and(|made| MAKERS.contains(&made.as_str())) {
                    if let Some(prefix) = arguments(&value).first().and_then(|given| property(given, "prefix")) {
                        bases.insert(name.clone(), prefix);
                    }
                    routers.insert(name.clone());
                }
                let statement = node.parent();
                if let Some(doc) = statement.and_then(|statement| comment(&statement)) {
                    docs.insert(name, doc);
                }
            }
            "function_declaration" => {
                if let (Some(name), Some(doc)) = (node.field("name"), comment(&node)) {
                    docs.insert(name.text().into_owned(), doc);
                }
            }
            _ => {}
        }
    }
    let mut found = Reader { routers, bases, docs, routes: Vec::new(), mounts: Vec::new() };
    for node in root.dfs().filter(|node| node.kind() == "call_expression") {
        found.call(&node);
    }
    (found.routes, found.mounts)
}

struct Reader {
    routers: HashSet<String>,
    bases: HashMap<String, String>,
    docs: HashMap<String, String>,
    routes: Vec<Route>,
    mounts: Vec<Mount>,
}

impl Reader {
    fn call(&mut self, call: &TreeNode<'_>) {
        let Some(function) = call.field("function").filter(|function| function.kind() == "member_expression") else {
            return;
        };
        let (Some(object), Some(verb)) = (function.field("object"), function.field("property")) else { return };
        let verb = verb.text().into_owned();
        let given = arguments(call);
        // `router.route('/x').get(h).post(h)`
        if let Some((owner, path)) = self.chained(&object)
            && let Some(method) = method(&verb)
        {
            self.push(call, Some(method), path, given.last(), owner);
            return;
        }
        let Some(owner) = self.router(&object) else { return };
        match verb.as_str() {
            "use" | "register" => self.mount(call, &verb, &given, owner),
            "route" => {
                let Some(options) = given.first().filter(|first| first.kind() == "object") else { return };
                let Some(path) = property(options, "url").or_else(|| property(options, "path")) else { return };
                let methods = pair(options, "method")
                    .map(|value| value.dfs().filter_map(|inner| method(&literal(&inner)?)).collect::<Vec<_>>());
                let handler = pair(options, "handler");
                for method in methods.unwrap_or_default() {
                    self.push(call, Some(method), path.clone(), handler.as_ref(), owner.clone());
                }
            }
            verb => {
                let method = match (verb, method(verb)) {
                    ("all", _) => None,
                    ("del", _) => Some("delete"),
                    (_, Some(method)) => Some(method),
                    _ => return,
                };
                // A handler follows; `app.get('setting')` reads one. Koa may put a name before the path.
                let path = given.iter().take(2).find_map(|first| literal(first).filter(|text| text.starts_with('/')));
                let handler = given.last().filter(|last| given.len() > 1 && literal(last).is_none());
                if let (Some(path), Some(handler)) = (path, handler) {
                    self.push(call, method, path, Some(handler), owner);
                }
            }
        }
    }

    fn push(
        &mut self,
        call: &TreeNode<'_>,
        method: Option<&'static str>,
        path: String,
        handler: Option<&TreeNode<'_>>,
        owner: String,
    ) {
        let handler = handler.and_then(named);
        let statement = call.ancestors().find(|above| above.kind() == "expression_statement");
        let doc = statement.and_then(|statement| comment(&statement));
        let doc = doc.or_else(|| self.docs.get(handler.as_ref()?).cloned());
        self.routes.push(Route {
            method,
            path,
            base: self.bases.get(&owner).cloned().unwrap_or_default(),
            handler,
            doc,
            line: line_of(call),
            owners: vec![owner],
            functions: functions(call),
            place: Place::of(call),
            ..Route::default()
        });
    }

    /// `app.use('/x', router)`, `fastify.register(plugin, { prefix })`.
    fn mount(&mut self, call: &TreeNode<'_>, verb: &str, given: &[TreeNode<'_>], owner: String) {
        let prefix = match verb {
            "use" => given.first().and_then(literal),
            _ => given.get(1).and_then(|options| property(options, "prefix")),
        };
        let targets = if verb == "use" { given } else { given.get(..1).unwrap_or_default() };
        for target in targets {
            // `router.routes()` of Koa, `require('./x')`, `plugin`.
            let inner = target.field("function").filter(|_| target.kind() == "call_expression");
            let (name, from) = match inner {
                Some(function) if function.text() == "require" => {
                    (String::new(), arguments(target).first().and_then(literal))
                }
                Some(function) if function.kind() == "member_expression" => {
                    (function.field("object").map(|object| object.text().into_owned()).unwrap_or_default(), None)
                }
                Some(function) => (function.text().into_owned(), None),
                None => (named(target).unwrap_or_default(), None),
            };
            if name.is_empty() && from.is_none() {
                continue;
            }
            self.mounts.push(Mount {
                prefix: prefix.clone().unwrap_or_default(),
                target: name,
                from,
                owners: vec![owner.clone()],
                functions: functions(call),
                place: Place::of(call),
            });
        }
    }

    /// The router and the path at the beginning of a chain.
    fn chained(&self, object: &TreeNode<'_>) -> Option<(String, String)> {
        let mut at = object.clone();
        loop {
            let function = at.field("function").filter(|function| function.kind() == "member_expression")?;
            let inner = function.field("object")?;
            if function.field("property")?.text() == "route" {
                let path = arguments(&at).first().and_then(literal).filter(|path| path.starts_with('/'))?;
                return Some((self.router(&inner)?, path));
            }
            at = inner;
        }
    }

    /// The name of something that routes are declared on.
    fn router(&self, object: &TreeNode<'_>) -> Option<String> {
        if object.kind() == "call_expression" {
            // `app.get(…).post(…)`, as Koa and Hono are chained.
            let function = object.field("function").filter(|function| function.kind() == "member_expression")?;
            return self.router(&function.field("object")?);
        }
        let text = named(object)?;
        let last = text.rsplit('.').next().unwrap_or(&text);
        let usual = matches!(last, "app" | "router" | "server" | "fastify" | "instance" | "api")
            || ["Router", "Routes", "_router"].iter().any(|end| last.ends_with(end));
        (self.routers.contains(&text) || usual).then_some(text)
    }
}

/// The names of the functions around a node: plugins and factories of routers.
fn functions(node: &TreeNode<'_>) -> Vec<String> {
    node.ancestors()
        .filter_map(|above| match &*above.kind() {
            "function_declaration" => above.field("name"),
            "arrow_function" | "function_expression" => {
                above.parent().filter(|parent| parent.kind() == "variable_declarator")?.field("name")
            }
            _ => None,
        })
        .map(|name| name.text().into_owned())
        .collect()
}

fn maker(value: &TreeNode<'_>) -> Option<String> {
    let value = if value.kind() == "await_expression" { value.child(1)? } else { value.clone() };
    let made = value.field("function").or_else(|| value.field("constructor"))?;
    Some(made.text().into_owned())
}

fn comment(node: &TreeNode<'_>) -> Option<String> {
    let exported = node.parent().filter(|parent| parent.kind() == "export_statement");
    paragraph(above(exported.as_ref().unwrap_or(node)))
}

fn pair<'t>(object: &TreeNode<'t>, key: &str) -> Option<TreeNode<'t>> {
    object.children().filter(|child| child.kind() == "pair").find_map(|child| {
        let name = child.field("key")?;
        (name.text().trim_matches(['\'', '"']) == key).then(|| child.field("value"))?
    })
}

fn property(object: &TreeNode<'_>, key: &str) -> Option<String> {
    literal(&pair(object, key)?)
}
