//! Whether a value is what a stranger sent: parts of an HTTP request, and the local names that hold them.

use super::syntax::{
    HARMLESS_CALL, NUMERIC_TYPE, REQUEST_PARAMETER, assignment, callee, checked_against_a_list, is_function,
    is_request, parameter,
};
use super::{Flow, MAX_HOPS, MAX_STEPS, Question};
use crate::analysis::engine::TreeNode;

impl<'t> Flow<'t> {
    /// Whether any part of an expression is what a stranger sent.
    pub(super) fn is_from_request(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> bool {
        question.steps += 1;
        if question.steps > MAX_STEPS {
            return false;
        }
        match node.kind().as_ref() {
            "identifier" => {
                let name = node.text().into_owned();
                if question.names.contains(&name) || question.names.len() >= MAX_HOPS {
                    return false;
                }
                question.names.push(name.clone());
                let found = self.name_is_from_request(node, &name, question);
                question.names.pop();
                return found;
            }
            "call" | "call_expression" | "method_invocation" | "object_creation_expression" => {
                let (callee, ..) = callee(node);
                if HARMLESS_CALL.is_match(&callee) || question.safe_calls.is_some_and(|safe| safe.is_match(&callee)) {
                    return false;
                }
            }
            "comparison_operator"
            | "conditional_expression"
            | "lambda"
            | "arrow_function"
            | "function_expression"
            | "comment" => {
                return false;
            }
            _ => {}
        }
        if is_request(node) {
            return true;
        }
        let children: Vec<_> = node.children().filter(|c| c.is_named()).collect();
        children.iter().any(|child| self.is_from_request(child, question))
    }

    fn name_is_from_request(&self, node: &TreeNode<'t>, name: &str, question: &mut Question<'_>) -> bool {
        for scope in node.ancestors().filter(|a| is_function(&a.kind())) {
            if checked_against_a_list(&scope, name) {
                return false;
            }
            let nodes: Vec<_> = scope.dfs().collect();
            question.steps += nodes.len() / 16;
            let mut assigned = nodes.iter().filter_map(|n| Some((n.clone(), assignment(n, name)?))).peekable();
            if assigned.peek().is_some() {
                // Destructuring, `const { url } = req.query`, says only on the right where all of it comes from.
                return assigned.any(|(whole, (value, _))| {
                    let value = value.or_else(|| whole.field("value")).or_else(|| whole.field("right"));
                    value.is_some_and(|value| self.is_from_request(&value, question))
                });
            }
            if let Some(parameter) = parameter(&scope, name) {
                return REQUEST_PARAMETER.is_match(&parameter.text()) && !NUMERIC_TYPE.is_match(&parameter.text());
            }
        }
        false
    }
}
