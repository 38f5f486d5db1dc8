//! Syntax trees: C code reads a stranger's text here, and nowhere else in this room.

use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Doc, Node};
use ast_grep_language::SupportLang;

use super::{Language, skip};
use crate::stdx::workers::Here;

pub(super) type Tree = AstGrep<StrDoc<SupportLang>>;
pub(super) type TreeNode<'t> = Node<'t, StrDoc<SupportLang>>;
/// The parser's own node.
pub(super) type Inner<'t> = <StrDoc<SupportLang> as Doc>::Node<'t>;

/// A tree deeper than this would make walks over ancestors quadratic.
const MAX_DEPTH: u32 = 1000;

/// Why there is no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoTree {
    TooDeep,
    /// The parser gave up.
    TooLong,
}

/// The tree, or why there is none.
pub(super) fn parse(here: &Here, language: Language, text: &str) -> Result<Tree, NoTree> {
    let tree = read(here, language, text)?;
    if visit(&tree, |_| {}) { Ok(tree) } else { Err(NoTree::TooDeep) }
}

/// A tree of any depth.
pub(super) fn read(_: &Here, language: Language, text: &str) -> Result<Tree, NoTree> {
    if skip::nests_too_deeply(text) {
        return Err(NoTree::TooDeep);
    }
    Tree::try_new(text, language.grammar()).map_err(|_| NoTree::TooLong)
}

/// Whether the parser had to guess in code. What it cannot read of types, in published code, is what its grammar does not
/// know yet (variance of type parameters, negative constants): no statement is lost there, and nobody should be alarmed.
pub(super) fn is_broken(tree: &Tree) -> bool {
    /// Kinds of nodes that hold types, or a macro's pattern.
    const TYPES: [&str; 12] = [
        "type_parameters",
        "type_parameter",
        "type_arguments",
        "type_annotation",
        "function_type",
        "union_type",
        "intersection_type",
        "tuple_type",
        "object_type",
        "struct_item",
        "token_tree_pattern",
        "index_expression",
    ];
    if !tree.root().get_inner_node().has_error() {
        return false;
    }
    let mut broken = false;
    visit(tree, |node| {
        let in_type = || node.parent().is_some_and(|parent| TYPES.contains(&parent.kind()));
        broken |= node.is_error() && !in_type() || node.is_missing() && matches!(node.kind(), ")" | "]" | "}");
    });
    broken
}

/// Shows every node, in the order of the text; `false` when the tree is too deep.
pub(super) fn visit<'t>(tree: &'t Tree, mut see: impl FnMut(Inner<'t>)) -> bool {
    let mut cursor = tree.root().get_inner_node().walk();
    let mut depth = 0;
    loop {
        see(cursor.node());
        if cursor.goto_first_child() {
            depth += 1;
            if depth > MAX_DEPTH {
                return false;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return true;
            }
            depth -= 1;
        }
    }
}
