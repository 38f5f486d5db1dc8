//! Rust's text macros: their arguments are bare tokens to the parser.

use super::syntax::inline_names;
use super::{Flow, Question, Value};
use crate::analysis::tree::TreeNode;

impl<'t> Flow<'t> {
    /// Arguments of a macro are bare tokens; every name among them, and every inline `{name}`, must be fixed.
    pub(super) fn rust_macro(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Value {
        let name = node.field("macro").map(|m| m.text().into_owned()).unwrap_or_default();
        if !matches!(name.as_str(), "format" | "concat" | "format_args" | "vec" | "stringify" | "include_str" | "env") {
            return Value::Opaque;
        }
        let mut text = String::new();
        let mut fixed = true;
        for token in node.dfs() {
            match token.kind().as_ref() {
                // vec![x; n] repeats x; how often does not matter.
                ";" if name == "vec" => break,
                "string_literal" | "raw_string_literal" => {
                    let literal = token.text();
                    fixed &= inline_names(&literal).all(|name| self.is_fixed(node, name, question));
                    text.push_str(&literal);
                }
                "identifier" if token.text() != name.as_str() && token.prev().is_none_or(|p| p.text() != ".") => {
                    fixed &= self.is_fixed(node, &token.text(), question);
                }
                "self" => fixed = false,
                _ => {}
            }
        }
        if fixed { Value::Constant(Some(text)) } else { Value::Built(text) }
    }

    fn is_fixed(&self, node: &TreeNode<'t>, name: &str, question: &mut Question<'_>) -> bool {
        matches!(self.name_at(node, name.to_owned(), question), Value::Constant(_))
    }
}
