//! What a file asks other files for, as it is written there.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::literal::literal;
use crate::analysis::Language;
use crate::analysis::tree::TreeNode;
use crate::analysis::worker::Bounds;

/// One import.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Import {
    /// As the language writes it: `crate::store`, `..models`, `./routes/users`, `example.com/shop/store`, `a.b.C`.
    pub from: String,
    /// Names that it binds in this file.
    pub names: Vec<String>,
    /// What the bound names are called where they come from, one each, where the grammar keeps that apart (Python's `from`):
    /// each may be a module of its own.
    pub members: Vec<String>,
    /// It declares a part of this file (`mod a;` of Rust) rather than something that the file uses.
    pub part: bool,
}

impl Import {
    fn new(from: impl Into<String>, names: Vec<String>) -> Self {
        Self { from: from.into(), names, ..Self::default() }
    }

    /// Whether a text with these bounds can hold it, whoever says so.
    pub(super) fn holds(&self, bounds: &Bounds<'_>) -> bool {
        bounds.says(&self.from) && bounds.all(self.names.iter().chain(&self.members))
    }

    /// All that it may lead to, as an absolute or relative path of its language: its members before what holds them.
    pub fn targets(&self) -> impl Iterator<Item = String> {
        self.members.iter().map(|member| self.member(member)).chain([self.from.clone()])
    }

    /// Where a name that it binds comes from; none for a name of others.
    pub(super) fn origin(&self, name: &str) -> Option<String> {
        let at = self.names.iter().position(|bound| bound == name)?;
        Some(self.members.get(at).map_or_else(|| self.from.clone(), |member| self.member(member)))
    }

    /// `from . import users` names a module only together with its folder.
    fn member(&self, name: &str) -> String {
        let dot = if self.from.ends_with('.') { "" } else { "." };
        format!("{}{dot}{name}", self.from)
    }
}

/// The imports of a file, in the order of the text.
pub(super) fn read(language: Language, root: &TreeNode<'_>) -> Vec<Import> {
    let mut found = Vec::new();
    for node in root.dfs() {
        match (language, &*node.kind()) {
            (Language::Rust, "use_declaration") => {
                let Some(argument) = node.field("argument") else { continue };
                let mut own = Vec::new();
                rust(&argument.text(), "", &mut own);
                // Within a module of the same file, `super` is that file.
                let inline = node.ancestors().filter(|above| above.kind() == "mod_item").count();
                for import in &mut own {
                    for _ in 0..inline {
                        match import.from.strip_prefix("super::").or(Some("").filter(|_| import.from == "super")) {
                            Some(rest) if rest.starts_with("super") => import.from = rest.to_owned(),
                            Some(rest) => import.from = format!("self::{rest}"),
                            None => {}
                        }
                    }
                }
                found.append(&mut own);
            }
            (Language::Rust, "mod_item") if node.field("body").is_none() => {
                let name = text_of(&node, "name");
                found.push(Import { part: true, ..Import::new(format!("self::{name}"), vec![name]) });
            }
            (Language::Rust, "extern_crate_declaration") => {
                let name = text_of(&node, "name");
                let alias = Some(text_of(&node, "alias")).filter(|alias| !alias.is_empty());
                found.push(Import::new(name.clone(), vec![alias.unwrap_or(name)]));
            }
            (Language::Python, "import_statement") => {
                let parts = node.field_children("name").map(|part| aliased(&part));
                found.extend(parts.map(|(from, name)| Import::new(from, vec![name])));
            }
            (Language::Python, "import_from_statement") => {
                let (members, names) = node.field_children("name").map(|part| aliased(&part)).unzip();
                found.push(Import { members, ..Import::new(text_of(&node, "module_name"), names) });
            }
            (Language::JavaScript | Language::TypeScript | Language::Tsx, "import_statement" | "export_statement") => {
                if let Some(from) = node.field("source").and_then(|source| literal(&source)) {
                    let clause = node.children().find(|child| child.kind() == "import_clause");
                    let names = clause.map(|clause| identifiers(&clause)).unwrap_or_default();
                    found.push(Import::new(from, names));
                }
            }
            (Language::JavaScript | Language::TypeScript | Language::Tsx, "import_require_clause") => {
                if let Some(from) = node.field("source").and_then(|source| literal(&source)) {
                    let name = node.children().find(|child| child.kind() == "identifier");
                    found.push(Import::new(from, name.map(|name| name.text().into_owned()).into_iter().collect()));
                }
            }
            (Language::JavaScript | Language::TypeScript | Language::Tsx, "call_expression") => {
                let called = node.field("function").map(|function| function.text().into_owned());
                if matches!(called.as_deref(), Some("require" | "import"))
                    && let Some(from) = first_argument(&node).and_then(|argument| literal(&argument))
                {
                    let bound = node.ancestors().take(3).find(|above| above.kind() == "variable_declarator");
                    let names = bound.and_then(|bound| bound.field("name")).map(|name| identifiers(&name));
                    found.push(Import::new(from, names.unwrap_or_default()));
                }
            }
            (Language::Go, "import_spec") => {
                if let Some(from) = node.field("path").and_then(|path| literal(&path)) {
                    let last = from.rsplit('/').next().unwrap_or(&from).to_owned();
                    let name = node.field("name").map_or(last, |name| name.text().into_owned());
                    found.push(Import::new(from, vec![name]));
                }
            }
            (Language::Java, "import_declaration") => {
                let text = node.text();
                let from = text.trim_start_matches("import").trim().trim_start_matches("static ").trim();
                let from = from.trim_end_matches(';').trim().to_owned();
                let name = from.rsplit('.').next().unwrap_or_default().to_owned();
                found.push(Import::new(from, vec![name]));
            }
            _ => {}
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|import| !import.from.is_empty() && seen.insert(import.clone()));
    found
}

/// The paths of one `use`, its braces taken apart.
fn rust(text: &str, prefix: &str, found: &mut Vec<Import>) {
    let text = text.trim();
    if let Some((before, group)) = text.split_once('{') {
        let inner = group.strip_suffix('}').unwrap_or(group);
        let prefix = format!("{prefix}{}", before.trim());
        let (mut depth, mut part) = (0_usize, String::new());
        for c in inner.chars() {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    rust(&std::mem::take(&mut part), &prefix, found);
                    continue;
                }
                _ => {}
            }
            part.push(c);
        }
        if !part.trim().is_empty() {
            rust(&part, &prefix, found);
        }
        return;
    }
    let (path, alias) = text.split_once(" as ").map_or((text, None), |(path, alias)| (path.trim(), Some(alias.trim())));
    let from = format!("{prefix}{path}").trim_end_matches("::self").trim_end_matches("::*").to_owned();
    let last = from.rsplit("::").next().unwrap_or_default();
    let names = vec![alias.unwrap_or(last).to_owned()];
    if !from.is_empty() && !text.is_empty() {
        found.push(Import::new(from, names));
    }
}

/// What a module or one of its members is called, and by which name it goes here.
fn aliased(node: &TreeNode<'_>) -> (String, String) {
    match &*node.kind() {
        "aliased_import" => (text_of(node, "name"), text_of(node, "alias")),
        _ => (node.text().into_owned(), node.text().into_owned()),
    }
}

fn text_of(node: &TreeNode<'_>, field: &str) -> String {
    node.field(field).map(|child| child.text().into_owned()).unwrap_or_default()
}

fn identifiers(node: &TreeNode<'_>) -> Vec<String> {
    node.dfs()
        .filter(|inner| inner.is_leaf() && inner.kind().contains("identifier"))
        .map(|inner| inner.text().into_owned())
        .collect()
}

fn first_argument<'t>(call: &TreeNode<'t>) -> Option<TreeNode<'t>> {
    call.field("arguments")?.children().find(|child| child.is_named())
}

#[cfg(test)]
mod tests {
    use super::super::Outline;

    #[track_caller]
    fn check(path: &str, text: &str, want: &[(&str, &str)]) {
        let outline = Outline::read(path, text).unwrap();
        let found: Vec<(String, String)> =
            outline.imports.into_iter().map(|import| (import.from, import.names.join(","))).collect();
        let want: Vec<(String, String)> = want.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(found, want, "{path}");
    }

    #[test]
    fn imports_are_read_as_each_language_writes_them() {
        check(
            "src/a.rs",
            "mod b;\nuse crate::{c::{self, D as E}, f::*};\n",
            &[("self::b", "b"), ("crate::c", "c"), ("crate::c::D", "E"), ("crate::f", "f")],
        );
        check(
            "src/a/mod.rs",
            "mod t { use super::x::Y; use super::super::z; }\n",
            &[("self::x::Y", "Y"), ("super::z", "z")],
        );
        check(
            "a/b.py",
            "import os, x.y as z\nfrom .models import User\nfrom . import views as v\n",
            &[("os", "os"), ("x.y", "z"), (".models", "User"), (".", "v")],
        );
        check(
            "a.js",
            "import x, { y } from './x';\nconst { z } = require('../z');\nexport * from './w';\n",
            &[("./x", "x,y"), ("../z", "z"), ("./w", "")],
        );
        check(
            "a.go",
            "package a\nimport (\n\t\"fmt\"\n\ts \"e.com/m/store\"\n)\n",
            &[("fmt", "fmt"), ("e.com/m/store", "s")],
        );
        check("A.java", "package a;\nimport static a.b.C;\nimport a.D;\nclass A {}\n", &[("a.b.C", "C"), ("a.D", "D")]);
    }
    #[test]
    fn a_member_is_found_by_the_name_that_it_goes_by_here() {
        let text = "from . import views as v\nfrom .models import User\n";
        let imports = Outline::read("a/b.py", text).unwrap().imports;
        let origins: Vec<Option<String>> = imports.iter().map(|import| import.origin("v")).collect();
        assert_eq!(origins, [Some(".views".to_owned()), None]);
        let targets: Vec<String> = imports.iter().flat_map(|import| import.targets()).collect();
        assert_eq!(targets, [".views", ".", ".models.User", ".models"]);
    }
}
