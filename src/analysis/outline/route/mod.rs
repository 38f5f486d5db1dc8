//! HTTP routes as frameworks declare them: method, path, parameters, and where routers are hung in.
//!
//! What a program puts together at run time is not followed: a path that is no literal makes no route.

mod ecma;
mod go;
mod java;
mod python;
mod rust;
mod template;

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::Word;
use super::imports::Import;
use crate::analysis::Language;
use crate::analysis::tree::TreeNode;
use crate::analysis::worker::Bounds;

pub use template::{Parameter, path_template};

/// One route of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// In lower case; none where the declaration leaves it to the handler.
    #[serde(deserialize_with = "known_method")]
    pub method: Option<Word>,
    /// As it is written, with the prefixes that stand around it.
    pub path: String,
    /// A prefix of its router, given where that was made.
    pub base: String,
    /// Whether hanging the router in under a prefix takes the place of `base`.
    pub base_yields: bool,
    /// The path is a regular expression.
    pub is_regex: bool,
    pub handler: Option<String>,
    /// Types of path parameters, as they are written, by the parameter's name.
    pub types: BTreeMap<String, String>,
    /// The same in their order, where the handler does not name them.
    pub ordered_types: Vec<String>,
    pub doc: Option<String>,
    pub line: u32,
    /// Names of the routers that it belongs to.
    pub owners: Vec<String>,
    /// Names of the functions that it is declared in: these are known in the whole file.
    pub functions: Vec<String>,
    pub place: Place,
}

/// A router that is hung into another, or gets a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub prefix: String,
    /// Name of the router or function.
    pub target: String,
    /// The import that `target` comes from, if it is of another file.
    pub from: Option<String>,
    /// Names of the routers that it is hung into.
    pub owners: Vec<String>,
    /// Names of the functions that this is done in.
    pub functions: Vec<String>,
    pub place: Place,
}

/// The functions around something, the innermost first; names that are bound in one are not seen in another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place(Vec<usize>);

impl Place {
    fn of(node: &TreeNode<'_>) -> Self {
        const FUNCTIONS: [&str; 9] = [
            "function_item",
            "function_definition",
            "function_declaration",
            "function_expression",
            "function",
            "arrow_function",
            "method_declaration",
            "method_definition",
            "func_literal",
        ];
        let around = node.ancestors().filter(|above| FUNCTIONS.contains(&&*above.kind()));
        Self(around.map(|above| above.range().start + 1).chain([0]).collect())
    }

    fn holds(&self, bounds: &Bounds<'_>) -> bool {
        bounds.count(self.0.len().saturating_sub(1)) && self.0.iter().all(|start| bounds.count(start.saturating_sub(1)))
    }

    /// Whether one of them is around the other.
    pub fn sees(&self, other: &Self) -> bool {
        let inner = |one: &Self, two: &Self| one.0.first().is_none_or(|first| two.0.contains(first));
        inner(self, other) || inner(other, self)
    }
}

impl Route {
    pub(super) fn holds(&self, bounds: &Bounds<'_>) -> bool {
        let one = [&self.path, &self.base].into_iter().chain(&self.handler).chain(&self.doc);
        let many = self.ordered_types.iter().chain(&self.owners).chain(&self.functions);
        bounds.all(one.chain(many).chain(self.types.iter().flat_map(|(name, kind)| [name, kind])))
            && bounds.line(self.line)
            && self.place.holds(bounds)
    }
}

impl Mount {
    pub(super) fn holds(&self, bounds: &Bounds<'_>) -> bool {
        let one = [&self.prefix, &self.target].into_iter().chain(&self.from);
        bounds.all(one.chain(&self.owners).chain(&self.functions)) && self.place.holds(bounds)
    }
}

/// The routes of a file and where its routers hang.
pub(super) fn read(language: Language, root: &TreeNode<'_>, imports: &[Import]) -> (Vec<Route>, Vec<Mount>) {
    let (mut routes, mut mounts) = match language {
        Language::Rust => rust::read(root),
        Language::Python => python::read(root),
        Language::JavaScript | Language::TypeScript | Language::Tsx => ecma::read(root),
        Language::Go => go::read(root, imports),
        Language::Java => (java::read(root), Vec::new()),
    };
    routes.sort_by_key(|route| route.line);
    for mount in &mut mounts {
        // A name with its module, or a name that an import binds.
        let (first, rest) = match mount.target.split_once("::").or_else(|| mount.target.split_once('.')) {
            Some((first, rest)) => (first.to_owned(), rest.to_owned()),
            None => (mount.target.clone(), String::new()),
        };
        if mount.from.is_none() {
            mount.from = imports.iter().find_map(|import| import.origin(&first));
        }
        let last = rest.rsplit([':', '.']).next().unwrap_or_default();
        if !last.is_empty() {
            mount.from =
                mount.from.take().or_else(|| Some(format!("self::{first}")).filter(|_| language == Language::Rust));
            last.clone_into(&mut mount.target);
        }
    }
    (routes, mounts)
}

const METHODS: &[&str] = &["get", "post", "put", "delete", "patch", "options", "head", "trace"];

/// A method's name in any case.
fn method(name: &str) -> Option<&'static str> {
    METHODS.iter().find(|method| method.eq_ignore_ascii_case(name)).copied()
}

fn known_method<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'static str>, D::Error> {
    let word = Option::<String>::deserialize(from)?;
    word.map(|word| method(&word).ok_or_else(|| D::Error::custom("no such method"))).transpose()
}

/// Two parts of a path, with one slash between them.
pub(super) fn join(prefix: &str, path: &str) -> String {
    match (prefix.trim_end_matches('/'), path.trim_start_matches('/')) {
        ("", rest) => format!("/{rest}"),
        (prefix, "") => prefix.to_owned(),
        (prefix, rest) => format!("{prefix}/{rest}"),
    }
}

/// The named arguments of a call, without comments.
fn arguments<'t>(call: &TreeNode<'t>) -> Vec<TreeNode<'t>> {
    let list = call.field("arguments");
    list.map(|list| list.children().filter(|child| child.is_named() && !child.kind().contains("comment")).collect())
        .unwrap_or_default()
}

/// A handler as it is named; none for one that is written on the spot.
fn named(node: &TreeNode<'_>) -> Option<String> {
    matches!(
        &*node.kind(),
        "identifier"
            | "member_expression"
            | "selector_expression"
            | "attribute"
            | "scoped_identifier"
            | "field_expression"
            | "qualified_type"
    )
    .then(|| node.text().split_whitespace().collect::<String>())
}
