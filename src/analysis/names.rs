//! The names in a code file: where they stand as code, where as text, and which of them are defined there.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Language;
use super::tree::{TreeNode, parse};
use super::worker::{self, Bounds, Code};
use crate::stdx::workers::Here;

/// What one file of code says with names.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Names {
    /// Comments and string literals, without what is interpolated into them; in order, not overlapping.
    pub texts: Vec<Range<usize>>,
    /// Every name that stands in the code.
    pub used: BTreeSet<String>,
    /// Functions, types, constants, fields and modules that the file defines; a name defined twice is here twice.
    pub defined: Vec<String>,
    /// Variables and parameters that it binds.
    pub bound: BTreeSet<String>,
}

impl Names {
    /// None for a file that is no code of a language known here, or that cannot be parsed.
    pub fn read(path: &str, text: &str) -> Option<Self> {
        let code = Code::new(Language::of_path(path)?, text);
        let holds = |names: &Option<Self>| names.as_ref().is_none_or(|names| names.hold(text));
        worker::ask(worker::NAMES, &code, |here| Self::of(here, &code), holds)?
    }

    /// Whether these can be the names of a text, whoever says so.
    fn hold(&self, text: &str) -> bool {
        let mut end = 0;
        let in_order = self.texts.iter().all(|range| {
            let after = range.start >= end && text.get(range.clone()).is_some();
            end = range.end;
            after
        });
        in_order && Bounds::new(text).all(self.used.iter().chain(&self.defined).chain(&self.bound))
    }

    pub(super) fn of(here: &Here, code: &Code<'_>) -> Option<Self> {
        let tree = parse(here, code.language, &code.text).ok()?;
        let mut names = Self::default();
        let mut inner: Vec<Range<usize>> = Vec::new();
        for node in tree.root().dfs() {
            let kind = node.kind();
            if kind.contains("interpolation") || kind.contains("substitution") {
                inner.push(node.range());
            } else if is_text(&kind) {
                if names.texts.last().is_none_or(|last| last.end <= node.range().start) {
                    names.texts.push(node.range());
                }
            } else if kind.ends_with("identifier") && node.is_leaf() {
                names.name(&node);
            }
        }
        names.texts = names.texts.into_iter().flat_map(|text| without(text, &inner)).collect();
        Some(names)
    }

    /// Whether a place lies in a comment or a literal.
    pub fn is_text(&self, at: usize) -> bool {
        let after = self.texts.partition_point(|text| text.start <= at);
        after.checked_sub(1).and_then(|i| self.texts.get(i)).is_some_and(|text| at < text.end)
    }

    fn name(&mut self, node: &TreeNode<'_>) {
        let name = node.text().into_owned();
        self.used.insert(name.clone());
        let Some(parent) = node.parent() else { return };
        let is = |field: &str| parent.field(field).is_some_and(|child| child.range() == node.range());
        let kind = parent.kind();
        const DEFINES: [&str; 34] = [
            "function_item",
            "function_signature_item",
            "struct_item",
            "enum_item",
            "union_item",
            "const_item",
            "static_item",
            "trait_item",
            "mod_item",
            "type_item",
            "field_declaration",
            "enum_variant",
            "macro_definition",
            "function_definition",
            "class_definition",
            "function_declaration",
            "generator_function_declaration",
            "class_declaration",
            "abstract_class_declaration",
            "method_definition",
            "method_signature",
            "abstract_method_signature",
            "property_signature",
            "interface_declaration",
            "type_alias_declaration",
            "enum_declaration",
            "method_declaration",
            "type_spec",
            "const_spec",
            "method_elem",
            "enum_constant",
            "record_declaration",
            "annotation_type_declaration",
            "public_field_definition",
        ];
        if is("name") && DEFINES.contains(&&*kind) || is("property") && kind == "field_definition" {
            self.defined.push(name);
        } else if is("name")
            && ["variable_declarator", "var_spec", "formal_parameter", "parameter_declaration", "default_parameter"]
                .contains(&&*kind)
            || is("pattern") && ["let_declaration", "parameter", "required_parameter"].contains(&&*kind)
            || is("left") && kind == "assignment"
            || kind == "expression_list" && parent.parent().is_some_and(|p| p.kind() == "short_var_declaration")
            || kind == "parameters"
        {
            self.bound.insert(name);
        }
    }
}

fn is_text(kind: &str) -> bool {
    kind.contains("comment")
        || matches!(
            kind,
            "string"
                | "string_literal"
                | "raw_string_literal"
                | "interpreted_string_literal"
                | "template_string"
                | "char_literal"
                | "character_literal"
                | "rune_literal"
                | "regex"
                | "jsx_text"
        )
}

/// A range without the ranges inside it.
fn without(text: Range<usize>, inner: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = Vec::new();
    let mut at = text.start;
    for hole in inner.iter().filter(|hole| hole.start >= text.start && hole.end <= text.end) {
        if hole.start > at {
            left.push(at..hole.start);
        }
        at = at.max(hole.end);
    }
    if at < text.end {
        left.push(at..text.end);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, defined: &[&str], bound: &[&str], in_text: &[&str]) {
        let names = Names::read(path, text).unwrap();
        assert_eq!(names.defined, defined, "{path}");
        assert_eq!(names.bound.iter().map(String::as_str).collect::<Vec<_>>(), bound, "{path}");
        for word in in_text {
            assert!(names.is_text(text.find(word).unwrap()), "{word} in {path}");
        }
        assert!(!names.is_text(0));
    }

    #[test]
    fn definitions_bindings_and_texts_are_told_apart() {
        check(
            "a.py",
            "X = 1\ndef f(a, b=2):\n    # note\n    return f'{a} told'\n",
            &["f"],
            &["X", "a", "b"],
            &["note", "told"],
        );
        check(
            "a.rs",
            "struct S { x: u8 }\nfn f(a: u8) { let b = \"lit\"; }\n",
            &["S", "x", "f"],
            &["a", "b"],
            &["lit"],
        );
        check("a.ts", "class A { m(p: string) { const q = `t${p}`; } }\n", &["A", "m"], &["p", "q"], &["t$"]);
        check("a.go", "package a\nfunc F(p int) { q := \"lit\" }\n", &["F"], &["p", "q"], &["lit"]);
        check("A.java", "class A { int f; void m(int p) { int q = 1; } }\n", &["A", "m"], &["f", "p", "q"], &[]);
    }
}
