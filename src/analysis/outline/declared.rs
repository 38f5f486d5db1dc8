//! Everything that a file declares, its own business included: functions, types and constants, which of them others may use,
//! and which are documented.

use serde::{Deserialize, Serialize};

use crate::analysis::Language;
use crate::analysis::tree::{TreeNode, parse};
use crate::analysis::worker::{self, Bounds, Code};
use crate::stdx::workers::Here;

/// One declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    pub name: String,
    pub kind: DeclaredKind,
    /// Others may use it, as far as the file says.
    pub public: bool,
    pub documented: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DeclaredKind {
    Function,
    Type,
    Constant,
}

/// The declarations of a file in the order of its text; none for a file that is no code of a language known here, or that
/// cannot be parsed.
pub fn declarations(path: &str, text: &str) -> Option<Vec<Declared>> {
    let code = Code::new(Language::of_path(path)?, text);
    let holds = |found: &Option<Vec<Declared>>| {
        found.as_ref().is_none_or(|found| Bounds::new(text).all(found.iter().map(|declared| &declared.name)))
    };
    worker::ask(worker::DECLARATIONS, &code, |here| of(here, &code), holds)?
}

pub(in crate::analysis) fn of(here: &Here, code: &Code<'_>) -> Option<Vec<Declared>> {
    let tree = parse(here, code.language, &code.text).ok()?;
    Some(tree.root().dfs().filter_map(|node| declared(code.language, &node)).collect())
}

fn declared(language: Language, node: &TreeNode<'_>) -> Option<Declared> {
    let kind = match &*node.kind() {
        "function_item"
        | "function_definition"
        | "function_declaration"
        | "generator_function_declaration"
        | "method_definition"
        | "method_declaration" => DeclaredKind::Function,
        "struct_item"
        | "enum_item"
        | "union_item"
        | "trait_item"
        | "type_item"
        | "class_definition"
        | "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "type_alias_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "type_spec" => DeclaredKind::Type,
        "const_item" | "static_item" | "const_spec" => DeclaredKind::Constant,
        "variable_declarator" | "assignment" | "field_declaration" => return value(language, node),
        _ => return None,
    };
    let name = node.field("name")?.text().into_owned();
    Some(Declared { public: is_public(language, node, &name), documented: is_documented(language, node), name, kind })
}

/// A value at the top of a file that is meant as a constant, or a function in a variable.
fn value(language: Language, node: &TreeNode<'_>) -> Option<Declared> {
    let (name, around) = match (language, &*node.kind()) {
        (Language::Python, "assignment") => {
            let name = node.field("left").filter(|left| left.kind() == "identifier")?;
            let statement = node.parent()?;
            (statement.parent()?.kind() == "module").then_some((name, statement))?
        }
        (Language::JavaScript | Language::TypeScript | Language::Tsx, "variable_declarator") => {
            let name = node.field("name").filter(|name| name.kind() == "identifier")?;
            let list = node.parent()?;
            let outer = list.parent()?;
            matches!(&*outer.kind(), "program" | "export_statement").then_some((name, list))?
        }
        (Language::Java, "field_declaration") => {
            let text = node.text();
            let constant = text.contains("static") && text.contains("final");
            (node.field("declarator")?.field("name")?, constant.then(|| node.clone())?)
        }
        _ => return None,
    };
    let name = name.text().into_owned();
    let function = node.field("value").is_some_and(|v| matches!(&*v.kind(), "arrow_function" | "function_expression"));
    let constant = name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase);
    let kind = match (function, constant) {
        (true, _) => DeclaredKind::Function,
        (false, true) => DeclaredKind::Constant,
        (false, false) => return None,
    };
    let public = is_public(language, &around, &name);
    Some(Declared { public, documented: is_documented(language, &around), name, kind })
}

fn is_public(language: Language, node: &TreeNode<'_>, name: &str) -> bool {
    match language {
        Language::Rust => node.children().any(|child| child.kind() == "visibility_modifier" && child.text() == "pub"),
        Language::Python => {
            let inner = node.ancestors().any(|around| around.kind() == "function_definition");
            !name.starts_with('_') && !inner
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            node.parent().is_some_and(|parent| parent.kind() == "export_statement")
        }
        Language::Go => name.starts_with(char::is_uppercase),
        Language::Java => node.children().any(|child| child.kind() == "modifiers" && child.text().contains("public")),
    }
}

/// Whether documentation stands where the language has it: before the declaration, or first in its body.
fn is_documented(language: Language, node: &TreeNode<'_>) -> bool {
    if language == Language::Python {
        let first = node.field("body").and_then(|body| body.named_children().next());
        return first.is_some_and(|statement| {
            statement.kind() == "string"
                || statement.kind() == "expression_statement"
                    && statement.named_children().next().is_some_and(|value| value.kind() == "string")
        });
    }
    let outer = node.parent().filter(|parent| match language {
        Language::Go => matches!(&*parent.kind(), "type_declaration" | "const_declaration"),
        _ => parent.kind() == "export_statement",
    });
    let mut before = outer.as_ref().unwrap_or(node).prev();
    while let Some(sibling) = before {
        let kind = sibling.kind();
        if kind.contains("comment") {
            let text = sibling.text();
            return match language {
                Language::Rust => text.starts_with("///") || text.starts_with("/**"),
                Language::Go => true,
                _ => text.starts_with("/**"),
            };
        }
        if !matches!(&*kind, "attribute_item" | "decorator" | "annotation") {
            return false;
        }
        before = sibling.prev();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, want: &[&str]) {
        let got: Vec<String> = declarations(path, text)
            .unwrap()
            .into_iter()
            .map(|d| {
                let public = if d.public { "public " } else { "" };
                let told = if d.documented { " told" } else { "" };
                format!("{public}{:?} {}{told}", d.kind, d.name)
            })
            .collect();
        assert_eq!(got, want, "{path}");
    }

    #[test]
    fn declarations_are_read_in_every_language() {
        check(
            "a.rs",
            "/// Told.\n#[derive(Debug)]\npub struct A;\nconst B: u8 = 1;\nimpl A { fn c() {} }\n",
            &["public Type A told", "Constant B", "Function c"],
        );
        check(
            "a.py",
            "LIMIT = 3\nx = 1\nclass A:\n    \"\"\"Told.\"\"\"\n    def run(self):\n        def inner(): pass\n\ndef _own(): pass\n",
            &["public Constant LIMIT", "public Type A told", "public Function run", "Function inner", "Function _own"],
        );
        check(
            "a.ts",
            "/** Told. */\nexport function f() {}\nclass A { m() {} }\nexport const g = () => 1;\nconst MAX = 2;\n",
            &["public Function f told", "Type A", "Function m", "public Function g", "Constant MAX"],
        );
        check(
            "a.go",
            "package a\n\n// F is told.\nfunc F() {}\n\n// T is told.\ntype T struct{}\n\nfunc g() {}\n",
            &["public Function F told", "public Type T told", "Function g"],
        );
        check(
            "A.java",
            "/** Told. */\npublic class A {\n  static final int MAX = 1;\n  int x;\n  public void run() {}\n}\n",
            &["public Type A told", "Constant MAX", "public Function run"],
        );
        assert_eq!(declarations("a.md", "x"), None);
    }
}
