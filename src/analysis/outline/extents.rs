//! How large functions are, and how deeply their branches and loops stand in each other.

use serde::{Deserialize, Serialize};

use super::line_of;
use crate::analysis::tree::TreeNode;
use crate::analysis::worker::Bounds;

/// One function's size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Empty for one without a name.
    pub name: String,
    pub line: u32,
    pub lines: usize,
    /// Branches and loops within each other; 0 without any.
    pub nesting: usize,
}

impl Extent {
    pub(super) fn holds(&self, bounds: &Bounds<'_>) -> bool {
        bounds.says(&self.name)
            && bounds.line(self.line)
            && bounds.count(self.lines.saturating_sub(1))
            && bounds.count(self.nesting)
    }
}

/// Every function that has a name, in the order of the text.
pub(super) fn read(root: &TreeNode<'_>) -> Vec<Extent> {
    let mut found: Vec<(usize, Extent)> = Vec::new();
    for node in root.dfs() {
        let kind = node.kind();
        if is_function(&kind) {
            let Some(name) = node.field("name") else { continue };
            let lines = node.end_pos().line() - node.start_pos().line() + 1;
            let name = name.text().into_owned();
            found.push((node.range().start, Extent { name, line: line_of(&node), lines, nesting: 0 }));
        } else if nests(&node) {
            let mut depth = 1;
            for above in node.ancestors() {
                if is_function(&above.kind()) {
                    let start = above.range().start;
                    if let Some((_, extent)) = found.iter_mut().rev().find(|(known, _)| *known == start) {
                        extent.nesting = extent.nesting.max(depth);
                    }
                    break;
                }
                depth += usize::from(nests(&above));
            }
        }
    }
    found.into_iter().map(|(_, extent)| extent).collect()
}

fn is_function(kind: &str) -> bool {
    matches!(
        kind,
        "function_item"
            | "function_definition"
            | "function_declaration"
            | "generator_function_declaration"
            | "method_definition"
            | "method_declaration"
            | "constructor_declaration"
    )
}

/// A branch or a loop; `else if` goes on where its `if` stands.
fn nests(node: &TreeNode<'_>) -> bool {
    match &*node.kind() {
        "if_statement" | "if_expression" => !node.parent().is_some_and(|parent| {
            parent.kind() == "else_clause"
                || parent.kind() == node.kind()
                    && parent.field("alternative").is_some_and(|other| other.range() == node.range())
        }),
        "for_statement"
        | "for_expression"
        | "for_in_statement"
        | "enhanced_for_statement"
        | "while_statement"
        | "while_expression"
        | "loop_expression"
        | "do_statement"
        | "match_expression"
        | "match_statement"
        | "switch_statement"
        | "switch_expression"
        | "expression_switch_statement"
        | "type_switch_statement"
        | "select_statement"
        | "try_statement" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Outline;

    #[track_caller]
    fn check(path: &str, text: &str, want: &[(&str, usize, usize)]) {
        let extents = Outline::read(path, text).unwrap().extents;
        let found: Vec<_> = extents.iter().map(|e| (e.name.as_str(), e.lines, e.nesting)).collect();
        assert_eq!(found, want, "{path}");
    }

    #[test]
    fn functions_are_measured_and_else_if_does_not_nest() {
        check(
            "a.py",
            "def f(x):\n    for a in x:\n        if a:\n            pass\n        elif x:\n            pass\n    return 1\n",
            &[("f", 7, 2)],
        );
        check(
            "a.rs",
            "fn g(x: u8) {\n    if x > 1 {\n    } else if x > 0 {\n    } else if x == 0 {\n    }\n}\n",
            &[("g", 6, 1)],
        );
        check("a.go", "package a\nfunc h() {\n\tfor {\n\t\tif a {\n\t\t} else if b {\n\t\t}\n\t}\n}\n", &[("h", 7, 2)]);
        check("a.js", "function k() {\n  if (a) {\n  } else if (b) {\n    while (c) {}\n  }\n}\n", &[("k", 6, 2)]);
        check("A.java", "class A {\n  void m() {\n    try { if (a) {} } finally {}\n  }\n}\n", &[("m", 3, 2)]);
    }
}
