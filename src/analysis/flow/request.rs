//! Whether a value is what a stranger sent: parts of an HTTP request, and the local names that hold them.

use super::syntax::{
    HARMLESS_CALL, LOOKUP, MODULE, NUMERIC_TYPE, PASSES_ON, REQUEST_PARAMETER, callee, is_function, is_request,
    parameter,
};
use super::{Flow, MAX_HOPS, MAX_STEPS, Question, place};
use crate::analysis::tree::TreeNode;

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
                let place = place(node);
                if question.names.contains(&place) || question.names.len() >= MAX_HOPS {
                    return false;
                }
                question.names.push(place);
                let found = self.name_is_from_request(node, &name, question);
                question.names.pop();
                return found;
            }
            "call" | "call_expression" | "method_invocation" | "object_creation_expression" => {
                let (callee, receiver, method) = callee(node);
                if let Some(element) = self.element(node, question) {
                    return self.is_from_request(&element, question);
                }
                if HARMLESS_CALL.is_match(&callee) || question.safe_calls.is_some_and(|safe| safe.is_match(&callee)) {
                    return false;
                }
                if is_request(node) {
                    return true;
                }
                // What is looked up by a value from the request is the application's own.
                if LOOKUP.is_match(&method) || question.directly && !PASSES_ON.is_match(&method) {
                    return false;
                }
                // `path.join(...)`: the module is no value, whatever else is named like it.
                if receiver.is_some_and(|r| MODULE.is_match(&r.text())) {
                    return node.field("arguments").is_some_and(|a| self.is_from_request(&a, question));
                }
            }
            "subscript" | "subscript_expression" | "index_expression" | "array_access" | "member_expression"
                if let Some(element) = self.element(node, question) =>
            {
                return self.is_from_request(&element, question);
            }
            "attribute"
            | "member_expression"
            | "selector_expression"
            | "subscript"
            | "subscript_expression"
            | "index_expression"
            | "field_access"
                if is_request(node) =>
            {
                return true;
            }
            "conditional_expression" | "ternary_expression" => {
                if let Some(chosen) = self.chosen(node, question) {
                    return self.is_from_request(&chosen, question);
                }
                let parts: Vec<_> = node.children().filter(|c| c.is_named()).collect();
                // The condition decides which, not what.
                let skipped = usize::from(node.kind() == "conditional_expression");
                return parts
                    .iter()
                    .enumerate()
                    .any(|(at, part)| at != skipped && self.is_from_request(part, question));
            }
            "comparison_operator" | "lambda" | "arrow_function" | "function_expression" | "comment" => {
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
            if self.is_checked(&scope, name) {
                return false;
            }
            let found = self.definitions(node, &scope, name, false, question);
            let requested = found.list.iter().any(|definition| {
                // Destructuring, `const { url } = req.query`, says only on the right where all of it comes from.
                let whole = &definition.whole;
                let value = definition.value.clone().or_else(|| whole.field("value")).or_else(|| whole.field("right"));
                value.is_some_and(|value| self.is_from_request(&value, question))
            });
            if requested || found.sure || !found.list.is_empty() && parameter(&scope, name).is_none() {
                return requested;
            }
            if let Some(parameter) = parameter(&scope, name) {
                return REQUEST_PARAMETER.is_match(&parameter.text()) && !NUMERIC_TYPE.is_match(&parameter.text());
            }
        }
        false
    }
}
