//! What a file asks other files for, as it is written there.

use std::collections::BTreeSet;

use super::literal::literal;
use crate::analysis::Language;
use crate::analysis::engine::TreeNode;

/// One import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// As the language writes it: `crate::store`, `..models`, `./routes/users`, `example.com/shop/store`, `a.b.C`.
    pub from: String,
    /// Names that it binds in this file.
    pub names: Vec<String>,
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
                if let Some(name) = node.field("name") {
                    let name = name.text().into_owned();
                    found.push(Import { from: format!("self::{name}"), names: vec![name] });
                }
            }
            (Language::Python, "import_statement") => {
                for part in node.field_children("name") {
                    let (from, name) = match &*part.kind() {
                        "aliased_import" => (text_of(&part, "name"), text_of(&part, "alias")),
                        _ => (part.text().into_owned(), part.text().into_owned()),
                    };
                    found.push(Import { from, names: vec![name] });
                }
            }
            (Language::Python, "import_from_statement") => {
                let from = text_of(&node, "module_name");
                let names: Vec<String> = node
                    .field_children("name")
                    .map(|part| match &*part.kind() {
                        "aliased_import" => text_of(&part, "alias"),
                        _ => part.text().into_owned(),
                    })
                    .collect();
                // `from . import users` names the modules only here.
                let inner = if from.ends_with('.') { from.clone() } else { format!("{from}.") };
                found.extend(
                    names.iter().map(|name| Import { from: format!("{inner}{name}"), names: vec![name.clone()] }),
                );
                found.push(Import { from, names });
            }
            (Language::JavaScript | Language::TypeScript | Language::Tsx, "import_statement" | "export_statement") => {
                if let Some(from) = node.field("source").and_then(|source| literal(&source)) {
                    let clause = node.children().find(|child| child.kind() == "import_clause");
                    let names = clause.map(|clause| identifiers(&clause)).unwrap_or_default();
                    found.push(Import { from, names });
                }
            }
            (Language::JavaScript | Language::TypeScript | Language::Tsx, "call_expression") => {
                let called = node.field("function").map(|function| function.text().into_owned());
                if matches!(called.as_deref(), Some("require" | "import"))
                    && let Some(from) = first_argument(&node).and_then(|argument| literal(&argument))
                {
                    let bound = node.ancestors().take(3).find(|above| above.kind() == "variable_declarator");
                    let names = bound.and_then(|bound| bound.field("name")).map(|name| identifiers(&name));
                    found.push(Import { from, names: names.unwrap_or_default() });
                }
            }
            (Language::Go, "import_spec") => {
                if let Some(from) = node.field("path").and_then(|path| literal(&path)) {
                    let last = from.rsplit('/').next().unwrap_or(&from).to_owned();
                    let name = node.field("name").map_or(last, |name| name.text().into_owned());
                    found.push(Import { from, names: vec![name] });
                }
            }
            (Language::Java, "import_declaration") => {
                let text = node.text();
                let from = text.trim_start_matches("import").trim().trim_start_matches("static ").trim();
                let from = from.trim_end_matches(';').trim().to_owned();
                let name = from.rsplit('.').next().unwrap_or_default().to_owned();
                found.push(Import { from, names: vec![name] });
            }
            _ => {}
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|import| !import.from.is_empty() && seen.insert((import.from.clone(), import.names.clone())));
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
        found.push(Import { from, names });
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
            "import os, x.y as z\nfrom .models import User\nfrom . import views\n",
            &[
                ("os", "os"),
                ("x.y", "z"),
                (".models.User", "User"),
                (".models", "User"),
                (".views", "views"),
                (".", "views"),
            ],
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
}
