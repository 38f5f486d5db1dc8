//! Constant folding: what a condition, an index or a key is worth when the source text alone decides it.

use super::syntax::callee;
use super::{Flow, MAX_HOPS, MAX_STEPS, Question, Value, place};
use crate::analysis::tree::TreeNode;

/// A value that is known before the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    Number(i64),
    Truth(bool),
    Text(String),
}

impl Known {
    pub(super) fn truth(&self) -> bool {
        match self {
            Self::Number(n) => *n != 0,
            Self::Truth(b) => *b,
            Self::Text(text) => !text.is_empty(),
        }
    }
}

impl<'t> Flow<'t> {
    /// What an expression is worth, when nothing outside the source text decides it.
    pub(super) fn fold(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Option<Known> {
        question.steps += 1;
        if question.steps > MAX_STEPS {
            return None;
        }
        match node.kind().as_ref() {
            "integer" | "number" | "int_literal" | "integer_literal" | "decimal_integer_literal" => {
                node.text().replace('_', "").parse().ok().map(Known::Number)
            }
            "true" | "True" => Some(Known::Truth(true)),
            "false" | "False" => Some(Known::Truth(false)),
            "boolean_literal" => Some(Known::Truth(node.text() == "true")),
            "string"
            | "concatenated_string"
            | "template_string"
            | "interpreted_string_literal"
            | "raw_string_literal"
            | "string_literal"
            | "character_literal"
            | "char_literal"
            | "rune_literal" => match self.value(node, question) {
                Value::Constant(Some(text)) => Some(Known::Text(text.trim_matches(['"', '\'', '`']).to_owned())),
                _ => None,
            },
            "parenthesized_expression" | "condition" => {
                let inner = node.children().find(|c| c.is_named() && !c.kind().contains("comment"))?;
                self.fold(&inner, question)
            }
            "unary_expression" | "unary_operator" | "not_operator" => {
                let operand = node.children().filter(|c| c.is_named()).last()?;
                let sign = node.children().next()?.text().into_owned();
                match (sign.as_str(), self.fold(&operand, question)?) {
                    ("-", Known::Number(n)) => n.checked_neg().map(Known::Number),
                    ("+", number @ Known::Number(_)) => Some(number),
                    ("!" | "not", known) => Some(Known::Truth(!known.truth())),
                    _ => None,
                }
            }
            "binary_operator" | "binary_expression" | "boolean_operator" | "comparison_operator" => {
                self.fold_binary(node, question)
            }
            "conditional_expression" | "ternary_expression" => {
                let chosen = self.chosen(node, question)?;
                self.fold(&chosen, question)
            }
            "subscript" | "subscript_expression" | "index_expression" | "array_access" => {
                if let Some(element) = self.element(node, question) {
                    return self.fold(&element, question);
                }
                let mut parts = node.children().filter(|c| c.is_named());
                let (base, index) = (parts.next()?, parts.next()?);
                self.letter(&base, &index, question)
            }
            "call" | "call_expression" | "method_invocation" => {
                if let Some(element) = self.element(node, question) {
                    return self.fold(&element, question);
                }
                let (_, receiver, method) = callee(node);
                let index = node.field("arguments")?.children().find(|c| c.is_named())?;
                if method == "charAt" { self.letter(&receiver?, &index, question) } else { None }
            }
            "identifier" => {
                let name = node.text().into_owned();
                let place = place(node);
                if question.names.contains(&place) || question.names.len() >= MAX_HOPS {
                    return None;
                }
                question.names.push(place);
                let known = self.only_definition(node, &name, question).and_then(|value| self.fold(&value, question));
                question.names.pop();
                known
            }
            _ => None,
        }
    }

    /// The branch of `a if c else b` or `c ? a : b` that a constant condition takes.
    pub(super) fn chosen(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Option<TreeNode<'t>> {
        let parts: Vec<_> = node.children().filter(|c| c.is_named() && !c.kind().contains("comment")).collect();
        let (condition, yes, no) = match (node.field("condition"), node.kind().as_ref(), parts.as_slice()) {
            (Some(condition), ..) => (condition, node.field("consequence")?, node.field("alternative")?),
            (None, "conditional_expression", [yes, condition, no]) => (condition.clone(), yes.clone(), no.clone()),
            _ => return None,
        };
        Some(if self.fold(&condition, question)?.truth() { yes } else { no })
    }

    /// One character of a constant text.
    fn letter(&self, base: &TreeNode<'t>, index: &TreeNode<'t>, question: &mut Question<'_>) -> Option<Known> {
        let Known::Number(index) = self.fold(index, question)? else { return None };
        let Known::Text(text) = self.fold(base, question)? else { return None };
        let length = i64::try_from(text.chars().count()).ok()?;
        let at = usize::try_from(if index < 0 { length + index } else { index }).ok()?;
        text.chars().nth(at).map(|c| Known::Text(c.to_string()))
    }

    fn fold_binary(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Option<Known> {
        let parts: Vec<_> = node.children().filter(|c| !c.kind().contains("comment")).collect();
        let [left, operator, right] = parts.as_slice() else { return None };
        let operator = operator.text().into_owned();
        if matches!(operator.as_str(), "and" | "&&" | "or" | "||") {
            let stops = matches!(operator.as_str(), "or" | "||");
            // Either side may decide alone.
            let (left, right) = (self.fold(left, question), self.fold(right, question));
            return match (left, right) {
                (Some(known), _) if known.truth() == stops => Some(known),
                (_, Some(known)) if known.truth() == stops => Some(Known::Truth(stops)),
                (Some(_), Some(known)) => Some(known),
                _ => None,
            };
        }
        let (left, right) = (self.fold(left, question)?, self.fold(right, question)?);
        let truth = match (operator.as_str(), &left, &right) {
            ("==" | "===" | "is", ..) => left == right,
            ("!=" | "!==" | "is not", ..) => left != right,
            ("in", Known::Text(part), Known::Text(whole)) => whole.contains(part.as_str()),
            ("not in", Known::Text(part), Known::Text(whole)) => !whole.contains(part.as_str()),
            ("<", Known::Number(a), Known::Number(b)) => a < b,
            (">", Known::Number(a), Known::Number(b)) => a > b,
            ("<=", Known::Number(a), Known::Number(b)) => a <= b,
            (">=", Known::Number(a), Known::Number(b)) => a >= b,
            ("+", Known::Text(a), Known::Text(b)) => return Some(Known::Text(format!("{a}{b}"))),
            (_, Known::Number(a), Known::Number(b)) => return arithmetic(&operator, *a, *b).map(Known::Number),
            _ => return None,
        };
        Some(Known::Truth(truth))
    }
}

/// Division is left out unless it is exact: the languages round differently.
fn arithmetic(operator: &str, a: i64, b: i64) -> Option<i64> {
    match operator {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" | "//" => a.checked_div(b).filter(|_| a.checked_rem(b) == Some(0)),
        "%" if a >= 0 && b > 0 => a.checked_rem(b),
        _ => None,
    }
}
