//! Where a value comes from, within one function: is it fixed by the source text, or put together at run time?
//!
//! This is what separates `os.system("clear")` from `os.system("rm " + name)`. It follows local assignments, constants
//! of the file, loops over literal lists and calls that only reshape their argument; it does not follow calls into other
//! functions. A parameter is never fixed, unless its declared type is a number.

mod element;
mod fold;
mod macros;
mod reach;
mod request;
mod syntax;
mod value;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use ast_grep_core::NodeMatch;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_language::SupportLang;
use regex::Regex;

use self::reach::Assignments;
use self::syntax::{
    CONSTANT_NAME, HARMLESS_CALL, NUMERIC_TYPE, RESHAPING, callee, checked_against_a_list, is_function, is_request,
    only_numbers, parameter,
};
use self::value::{Value, combine, either, is_constant_text, is_text};
use super::rule::Compiled;
use super::tree::{Tree, TreeNode};

/// Chains of assignments longer than this are not followed.
const MAX_HOPS: usize = 24;
/// Nodes looked at for one question; a question that costs more counts as unknown.
const MAX_STEPS: usize = 20_000;

pub(super) struct Flow<'t> {
    tree: &'t Tree,
    /// By the scope's node.
    assignments: RefCell<HashMap<usize, Rc<Assignments<'t>>>>,
    /// Names that are looked up in a list, by the scope's node.
    checked: RefCell<HashMap<usize, HashSet<Cow<'t, str>>>>,
}

struct Question<'q> {
    safe_calls: Option<&'q Regex>,
    safe_names: Option<&'q Regex>,
    /// Calls that are not known to reshape their argument end the way from the request.
    directly: bool,
    /// Names being resolved, each with its place, against cycles.
    names: Vec<String>,
    steps: usize,
}

impl<'t> Flow<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self { tree, assignments: RefCell::default(), checked: RefCell::default() }
    }

    /// Whether the values behind a match's metavariables are harmless for this rule.
    pub(super) fn lets_pass(&self, compiled: &Compiled, matched: &NodeMatch<'t, StrDoc<SupportLang>>) -> bool {
        if let Some(reassuring) = &compiled.not_in_functions_with {
            let text = matched.ancestors().find(|a| is_function(&a.kind())).map(|f| f.text());
            if text.is_some_and(|text| reassuring.is_match(&text)) {
                return true;
            }
        }
        let question = || Question {
            safe_calls: compiled.safe_calls.as_ref(),
            safe_names: compiled.safe_names.as_ref(),
            directly: compiled.directly,
            names: Vec::new(),
            steps: 0,
        };
        let nodes = |name: &String| {
            let env = matched.get_env();
            let mut nodes: Vec<_> = env.get_match(name).cloned().into_iter().collect();
            nodes.extend(env.get_multiple_matches(name).into_iter().filter(|n| n.is_named()));
            nodes
        };
        let ask = |name: &String| {
            let mut question = question();
            nodes(name).iter().map(|n| self.value(n, &mut question)).reduce(combine)
        };
        let dynamic = compiled.dynamic.iter().all(|name| !matches!(ask(name), None | Some(Value::Constant(_))));
        let built = compiled.built.iter().all(|name| match ask(name) {
            Some(Value::Built(text)) => compiled.built_text.as_ref().is_none_or(|wanted| wanted.is_match(&text)),
            _ => false,
        });
        let requested = compiled.from_request.iter().all(|name| {
            let mut question = question();
            nodes(name).iter().any(|n| self.is_from_request(n, &mut question))
        });
        !(dynamic && built && requested)
    }

    fn value(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Value {
        question.steps += 1;
        if question.steps > MAX_STEPS {
            return Value::Opaque;
        }
        if is_request(node) {
            return Value::Opaque;
        }
        match node.kind().as_ref() {
            "string" | "template_string" | "concatenated_string" => self.string(node, question),
            "interpreted_string_literal"
            | "raw_string_literal"
            | "string_literal"
            | "char_literal"
            | "rune_literal"
            | "character_literal" => Value::Constant(Some(node.text().into_owned())),
            "integer"
            | "float"
            | "true"
            | "false"
            | "none"
            | "null"
            | "undefined"
            | "number"
            | "int_literal"
            | "float_literal"
            | "nil"
            | "boolean_literal"
            | "integer_literal"
            | "decimal_integer_literal"
            | "hex_integer_literal"
            | "decimal_floating_point_literal"
            | "null_literal"
            | "regex"
            | "unit_expression"
            | "type_identifier"
            | "class_literal"
            | "array_type"
            | "slice_type"
            | "arrow_function"
            | "function_expression"
            | "lambda"
            | "lambda_expression"
            | "comment"
            | "line_comment"
            | "block_comment"
            | "ellipsis"
            | "dimensions_expr" => Value::Constant(None),
            "identifier" | "shorthand_property_identifier" => self.name(node, question),
            "binary_operator" | "binary_expression" => self.binary(node, question),
            "parenthesized_expression"
            | "list"
            | "tuple"
            | "set"
            | "array"
            | "array_expression"
            | "array_initializer"
            | "array_creation_expression"
            | "tuple_expression"
            | "expression_list"
            | "argument_list"
            | "arguments"
            | "spread_element"
            | "list_splat"
            | "await"
            | "await_expression"
            | "as_expression"
            | "satisfies_expression"
            | "non_null_expression"
            | "reference_expression"
            | "unary_expression"
            | "unary_operator"
            | "not_operator"
            | "boolean_operator"
            | "comparison_operator"
            | "composite_literal"
            | "literal_value"
            | "literal_element"
            | "cast_expression"
            | "try_expression"
            | "type_cast_expression"
            | "sequence_expression"
            | "dictionary"
            | "object"
            | "keyed_element"
            | "variadic_argument"
            | "dictionary_splat" => self.all_of(node, question),
            "pair" => self.field(node, "value", question),
            "keyword_argument" => self.field(node, "value", question),
            "conditional_expression" | "ternary_expression" if self.chosen(node, question).is_some() => {
                self.chosen(node, question).map_or(Value::Opaque, |chosen| self.value(&chosen, question))
            }
            "conditional_expression" => match node.children().filter(|c| c.is_named()).collect::<Vec<_>>().as_slice() {
                [yes, _, no] => either(self.value(yes, question), self.value(no, question)),
                _ => Value::Opaque,
            },
            "ternary_expression" => {
                either(self.field(node, "consequence", question), self.field(node, "alternative", question))
            }
            "list_comprehension" | "generator_expression" | "set_comprehension" => self.field(node, "body", question),
            "subscript" | "subscript_expression" | "index_expression" | "slice_expression" | "array_access" => {
                if let Some(element) = self.element(node, question) {
                    return self.value(&element, question);
                }
                if self.fold(node, question).is_some() {
                    return Value::Constant(None);
                }
                let base = node
                    .field("value")
                    .or_else(|| node.field("object"))
                    .or_else(|| node.field("operand"))
                    .or_else(|| node.field("array"));
                base.map_or(Value::Opaque, |base| self.value(&base, question))
            }
            "attribute"
            | "member_expression"
            | "selector_expression"
            | "field_access"
            | "field_expression"
            | "scoped_identifier" => self.member(node, question),
            "call" | "call_expression" | "method_invocation" | "object_creation_expression" => {
                self.call(node, question)
            }
            "macro_invocation" => self.rust_macro(node, question),
            _ => Value::Opaque,
        }
    }

    fn string(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Value {
        let mut text = String::new();
        let mut fixed = true;
        for child in node.children() {
            match child.kind().as_ref() {
                "interpolation" | "template_substitution" => {
                    let inner = child.children().find(|c| c.is_named() && c.kind() != "comment");
                    match inner.map_or(Value::Opaque, |inner| self.value(&inner, question)) {
                        Value::Constant(part) => text.push_str(part.as_deref().unwrap_or_default()),
                        Value::Built(part) => {
                            fixed = false;
                            text.push_str(&part);
                        }
                        Value::Opaque => {
                            fixed = false;
                            text.push_str("{}");
                        }
                    }
                }
                "string" => match self.string(&child, question) {
                    Value::Constant(part) => text.push_str(part.as_deref().unwrap_or_default()),
                    Value::Built(part) => {
                        fixed = false;
                        text.push_str(&part);
                    }
                    Value::Opaque => fixed = false,
                },
                "string_start" | "string_end" | "\"" | "'" | "`" => {}
                _ => text.push_str(&child.text()),
            }
        }
        if fixed { Value::Constant(Some(text)) } else { Value::Built(text) }
    }

    fn binary(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Value {
        let (Some(left), Some(right)) = (node.field("left"), node.field("right")) else { return Value::Opaque };
        let operator = node.field("operator").map(|o| o.text().into_owned()).unwrap_or_default();
        let (left, right) = (self.value(&left, question), self.value(&right, question));
        match operator.as_str() {
            "+" | "||" if operator == "+" || is_text(&left) || is_text(&right) => combine(left, right),
            // A format string with numbers only cannot be broken out of.
            "%" => match (&left, &right) {
                (Value::Constant(Some(format)), _) if only_numbers(format) => Value::Constant(Some(format.clone())),
                _ => combine(left, right),
            },
            // "?" * n repeats a constant.
            "*" if is_constant_text(&left) => left,
            "*" if is_constant_text(&right) => right,
            "||" | "&&" | "??" => either(left, right),
            _ if matches!((&left, &right), (Value::Constant(_), Value::Constant(_))) => Value::Constant(None),
            "==" | "!=" | "<" | ">" | "<=" | ">=" | "===" | "!==" | "-" | "/" => Value::Constant(None),
            _ => Value::Opaque,
        }
    }

    /// Joins what the named children are worth.
    fn all_of(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Value {
        let children: Vec<_> = node.children().filter(|c| c.is_named()).collect();
        children
            .iter()
            .filter(|c| !c.kind().ends_with("_type") && c.kind() != "type_identifier")
            .map(|child| self.value(child, question))
            .reduce(combine)
            .unwrap_or(Value::Constant(None))
    }

    fn field(&self, node: &TreeNode<'t>, name: &str, question: &mut Question<'_>) -> Value {
        node.field(name).map_or(Value::Opaque, |child| self.value(&child, question))
    }

    fn member(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Value {
        let last = node.children().filter(|c| c.is_named()).last();
        let Some(last) = last else { return Value::Opaque };
        let name = last.text();
        if CONSTANT_NAME.is_match(&name) {
            return Value::Constant(None);
        }
        if HARMLESS_CALL.is_match(&format!(".{name}")) {
            return Value::Constant(None);
        }
        if let Some(element) = self.element(node, question) {
            return self.value(&element, question);
        }
        // A field of this object: what its class gives it, and what any method does.
        let whole = node.text().into_owned();
        if whole == format!("self.{name}") || whole == format!("this.{name}") {
            let root = self.tree.root();
            if question.names.contains(&whole) {
                return Value::Constant(None);
            }
            question.names.push(whole.clone());
            let given = self.assigned(node, &root, &name, true, question).0.map(|(value, _)| value);
            let changed = self.assigned(node, &root, &whole, false, question).0.map(|(value, _)| value);
            question.names.pop();
            return match (given, changed) {
                (Some(a), Some(b)) => either(a, b),
                (Some(value), None) | (None, Some(value)) => value,
                (None, None) => Value::Opaque,
            };
        }
        // A field of a literal object in the same file, `PATHS.home`.
        let base = node.field("object").or_else(|| node.field("operand")).or_else(|| node.field("value"));
        match base {
            Some(base) if base.kind() == "identifier" => match self.value(&base, question) {
                Value::Constant(text) => Value::Constant(text),
                _ => Value::Opaque,
            },
            _ => Value::Opaque,
        }
    }

    fn call(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Value {
        let (callee, receiver, method) = callee(node);
        if HARMLESS_CALL.is_match(&callee) || question.safe_calls.is_some_and(|safe| safe.is_match(&callee)) {
            return Value::Constant(None);
        }
        if let Some(element) = self.element(node, question) {
            return self.value(&element, question);
        }
        let arguments: Vec<_> = node
            .field("arguments")
            .map(|list| match list.kind().as_ref() {
                // Python leaves the brackets out: ",".join("?" for _ in ids).
                "generator_expression" | "template_string" => vec![list],
                _ => list.children().filter(|c| c.is_named() && !c.kind().contains("comment")).collect(),
            })
            .unwrap_or_default();
        let of_arguments = |question: &mut Question<'_>| {
            arguments.iter().map(|a| self.value(a, question)).reduce(combine).unwrap_or(Value::Constant(None))
        };
        match method.as_str() {
            "format" | "formatted" | "Sprintf" | "Sprint" | "Errorf" => {
                let mut parts = of_arguments(question);
                if let Some(receiver) =
                    receiver.as_ref().filter(|r| !matches!(r.text().as_ref(), "String" | "fmt" | "util"))
                {
                    parts = combine(self.value(receiver, question), parts);
                }
                match &parts {
                    Value::Built(text) if text.contains('%') && only_numbers(text) => Value::Constant(None),
                    _ => parts,
                }
            }
            "repeat" | "nCopies" | "Repeat" | "fill" => {
                let subject = match method.as_str() {
                    "nCopies" => arguments.last().cloned(),
                    "Repeat" | "fill" => arguments.first().cloned(),
                    _ => receiver,
                };
                subject.map_or(Value::Opaque, |subject| self.value(&subject, question))
            }
            // A look-up in a literal table gives one of its values, or the default.
            "get" | "getOrDefault" => match receiver.map(|receiver| self.value(&receiver, question)) {
                Some(Value::Constant(text)) => match arguments.get(1) {
                    Some(default) => either(Value::Constant(text), self.value(default, question)),
                    None => Value::Constant(text),
                },
                _ => Value::Opaque,
            },
            // ids.map(() => "?"): worth what the function gives back.
            "map" if arguments.len() == 1 => {
                let body = arguments.first().and_then(|f| f.field("body"));
                body.map_or(Value::Opaque, |body| self.value(&body, question))
            }
            "Join" | "join" if callee.starts_with("strings.") || callee.starts_with("String.") => {
                of_arguments(question)
            }
            "from" | "new" | "StringBuilder" | "StringBuffer" | "String" | "str" | "list" | "tuple" | "sorted"
            | "set" | "List.of" | "of" | "asList" | "Some" | "Ok" | "make"
                if (!arguments.is_empty() || method != "new")
                    && receiver.as_ref().is_none_or(|r| r.text().starts_with(char::is_uppercase)) =>
            {
                of_arguments(question)
            }
            _ if RESHAPING.is_match(&method) => match receiver {
                Some(receiver) => combine(self.value(&receiver, question), of_arguments(question)),
                None => of_arguments(question),
            },
            _ => Value::Opaque,
        }
    }

    /// What a name can hold: every assignment in its function, else in the file.
    fn name(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Value {
        self.name_at(node, node.text().into_owned(), question)
    }

    fn name_at(&self, node: &TreeNode<'t>, name: String, question: &mut Question<'_>) -> Value {
        if CONSTANT_NAME.is_match(&name) {
            // Its text is worth knowing when it is written in this file.
            return match self.assigned(node, &self.tree.root(), &name, true, question).0 {
                Some((Value::Constant(text), _)) => Value::Constant(text),
                _ => Value::Constant(None),
            };
        }
        let place = place(node);
        if question.names.contains(&place) {
            // In a loop, `query = query + x` adds only its other half.
            return Value::Constant(None);
        }
        if question.names.len() >= MAX_HOPS {
            return Value::Opaque;
        }
        question.names.push(place);
        let value = self.resolve(node, &name, question);
        question.names.pop();
        match value {
            Value::Opaque
                if question.safe_names.is_some_and(|safe| safe.is_match(&name))
                    && !self.is_from_request(node, question) =>
            {
                Value::Constant(None)
            }
            value => value,
        }
    }

    fn resolve(&self, node: &TreeNode<'t>, name: &str, question: &mut Question<'_>) -> Value {
        for scope in node.ancestors().filter(|a| is_function(&a.kind())) {
            if self.is_checked(&scope, name) {
                return Value::Constant(None);
            }
            let (assigned, sure) = self.assigned(node, &scope, name, false, question);
            if let Some(parameter) = parameter(&scope, name).filter(|_| !sure) {
                let own = if NUMERIC_TYPE.is_match(&parameter.text()) { Value::Constant(None) } else { Value::Opaque };
                return match assigned {
                    Some((value, true)) => combine(own, value),
                    Some((value, false)) => either(own, value),
                    None => own,
                };
            }
            if let Some((value, _)) = assigned {
                return value;
            }
        }
        self.assigned(node, &self.tree.root(), name, true, question).0.map_or(Value::Opaque, |(value, _)| value)
    }

    /// Whether somebody looked a name up in a list, anywhere in a scope.
    fn is_checked(&self, scope: &TreeNode<'t>, name: &str) -> bool {
        let mut known = self.checked.borrow_mut();
        known.entry(scope.node_id()).or_insert_with(|| checked_against_a_list(scope)).contains(name)
    }

    /// Joins everything that is assigned to a name below `scope` and reaches the place, with whether it only adds to what
    /// was there; and whether the name surely got a new value on the way.
    fn assigned(
        &self,
        place: &TreeNode<'t>,
        scope: &TreeNode<'t>,
        name: &str,
        top: bool,
        question: &mut Question<'_>,
    ) -> (Option<(Value, bool)>, bool) {
        let found = self.definitions(place, scope, name, top, question);
        let mut joined: Option<Value> = None;
        let adds = found.list.iter().all(|d| d.adds);
        for definition in &found.list {
            let value = definition.value.as_ref().map_or(Value::Opaque, |value| self.value(value, question));
            joined = Some(match joined {
                None => value,
                Some(before) if definition.adds => combine(before, value),
                Some(before) => either(before, value),
            });
        }
        (joined.map(|value| (value, adds)), found.sure)
    }
}

/// A mention of a name.
fn place(node: &TreeNode<'_>) -> String {
    format!("{}@{}", node.text(), node.range().start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Language;
    use crate::analysis::tree::parse;
    use crate::stdx::workers::Here;

    /// Asks about the first argument of `sink`.
    #[track_caller]
    fn check(language: Language, text: &str, want: Value) {
        let tree = parse(&Here::in_a_test(), language, text).unwrap();
        let flow = Flow::new(&tree);
        let root = tree.root();
        let call = root
            .dfs()
            .find(|n| {
                matches!(n.kind().as_ref(), "call" | "call_expression" | "method_invocation") && callee(n).2 == "sink"
            })
            .unwrap();
        let argument = call.field("arguments").unwrap().children().find(|c| c.is_named()).unwrap();
        let mut question =
            Question { safe_calls: None, safe_names: None, directly: false, names: Vec::new(), steps: 0 };
        assert_eq!(flow.value(&argument, &mut question), want, "{text}");
    }

    fn constant(text: &str) -> Value {
        Value::Constant(Some(text.to_owned()))
    }

    fn built(text: &str) -> Value {
        Value::Built(text.to_owned())
    }

    #[test]
    fn python_values_are_followed_within_a_function() {
        use Language::Python;
        check(Python, "sink('a' 'b')", constant("ab"));
        check(Python, "def f(x):\n    q = 'a'\n    q += x\n    sink(q)\n", built("a{}"));
        check(Python, "def f(x: int):\n    sink(f'a{x}')\n", constant("a"));
        check(Python, "T = 'users'\ndef f():\n    sink(f'from {T}')\n", constant("from users"));
        check(
            Python,
            "def f(ids):\n    marks = ','.join('?' for _ in ids)\n    sink('in (' + marks + ')')\n",
            constant("in (,?)"),
        );
        check(Python, "def f(ids):\n    sink('in (%s)' % ','.join(['?'] * len(ids)))\n", constant("in (%s),?"));
        check(Python, "def f(x):\n    sink(x)\n", Value::Opaque);
        check(
            Python,
            "def f(x):\n    if x not in ALLOWED:\n        raise ValueError\n    sink('a' + x)\n",
            constant("a"),
        );
        check(Python, "for c in ('a', 'b'):\n    sink('x' + c)\n", constant("xab"));
        check(Python, "def f(x):\n    sink('id = %d' % x)\n", constant("id = %d"));
    }

    #[test]
    fn javascript_values_are_followed_within_a_function() {
        use Language::JavaScript;
        check(JavaScript, "function f(x) { const q = `a ${x}`; sink(q); }", built("a {}"));
        check(JavaScript, "const ids = get(); sink(`in (${ids.map(() => '?').join(',')})`);", constant("in (?,)"));
        check(JavaScript, "const f = x => sink('a' + x);", built("a{}"));
        check(JavaScript, "const O = { a: 'b' }; sink(O.a);", constant("b"));
    }

    #[test]
    fn go_java_and_rust_values_are_followed_too() {
        check(
            Language::Go,
            "package a\nfunc f(x string) { q := fmt.Sprintf(\"a %s\", x); sink(q) }",
            built("\"a %s\"{}"),
        );
        check(Language::Go, "package a\nfunc f(x int) { sink(fmt.Sprintf(\"a %d\", x)) }", constant("\"a %d\""));
        check(Language::Java, "class A { void f(String x) { String q = \"a\" + x; sink(q); } }", built("\"a\"{}"));
        check(
            Language::Java,
            "class A { static final String T = \"t\"; void f() { sink(\"a\" + T); } }",
            constant("\"a\"\"t\""),
        );
        check(Language::Rust, "fn f(x: &str) { let q = format!(\"a {x}\"); sink(&q); }", built("\"a {x}\""));
        check(Language::Rust, "fn f() { sink(\"a\".to_string()); }", constant("\"a\""));
    }

    #[test]
    fn what_grows_by_parts_is_worth_all_of_them() {
        let java = "class A { void f(String x) { StringBuilder b = new StringBuilder(\"a\"); b.append(\"b\").append(x); sink(b.toString()); } }";
        check(Language::Java, java, built("\"a\"{}\"b\""));
        let go = "package a\nfunc f(x string) { var b strings.Builder; b.WriteString(\"a\"); b.WriteString(x); sink(b.String()) }";
        check(Language::Go, go, built("\"a\"{}"));
        let go = "package a\nfunc f(x string) { var b strings.Builder; b.WriteString(\"a\"); sink(b.String()) }";
        check(Language::Go, go, constant("\"a\""));
        check(Language::Python, "def f(x):\n    c = {'a': 'b'}.get(x, 'd')\n    sink(c)\n", constant("b"));
    }

    #[test]
    fn a_field_of_this_object_is_what_its_class_gives_it() {
        let class = |init: &str| format!("class A:\n    t = 'a'\n{init}    def f(self):\n        sink('b' + self.t)\n");
        check(Language::Python, &class(""), constant("ba"));
        check(Language::Python, &class("    def g(self, x):\n        self.t = x\n"), built("b{}"));
    }

    #[test]
    fn what_a_request_holds_is_never_fixed() {
        check(
            Language::Python,
            "def f(request):\n    x = request.POST.get('a', 'b')\n    sink('c' + x)\n",
            built("c{}"),
        );
        check(Language::Python, "def f(request):\n    sink(request.GET['a'])\n", Value::Opaque);
        check(Language::JavaScript, "const f = (req) => sink(`a${req.query.b}`);", built("a{}"));
    }

    #[test]
    fn a_branch_that_is_never_taken_and_a_value_that_is_overwritten_do_not_count() {
        use Language::{Java, Python};
        let fixed = |body: &str| check(Python, &format!("def f(x):\n{body}    sink(a)\n"), constant("c"));
        fixed("    a = x\n    a = 'c'\n");
        fixed("    n = 86\n    if 7 * 42 - n > 200:\n        a = 'c'\n    else:\n        a = x\n");
        fixed("    a = 'c' if 3 > 2 else x\n");
        fixed(
            "    k = 'AB'[1]\n    match k:\n        case 'A':\n            a = x\n        case 'B' | 'C':\n            a = 'c'\n",
        );
        fixed("    x = 'c'\n    a = x\n    x = g()\n");
        check(Python, "def f(x):\n    x = x[:9]\n    a = 'b'\n    a = a + x\n    sink(a)\n", built("b{}"));
        let open = |body: &str| check(Python, &format!("def f(x):\n{body}    sink(a)\n"), Value::Opaque);
        open("    a = 'c'\n    if g():\n        a = x\n");
        open("    n = g()\n    a = 'c' if n > 2 else x\n");
        open("    if g():\n        x = 'c'\n    a = x\n");
        check(Python, "def f(x):\n    while g():\n        sink(x)\n        x = 'c'\n", Value::Opaque);
        check(
            Java,
            "class A { void f(String x) { String a; switch (\"AB\".charAt(0)) { case 'A': a = \"c\"; break; default: a = x; } sink(a); } }",
            constant("\"c\""),
        );
    }

    #[test]
    fn an_element_is_what_was_stored_under_its_key() {
        use Language::{Java, JavaScript, Python};
        let m = "def f(x):\n    m = {}\n    m['a'] = 'c'\n    m['b'] = x\n";
        check(Python, &format!("{m}    sink(m['a'])\n"), constant("c"));
        check(Python, &format!("{m}    sink(m['b'])\n"), Value::Opaque);
        check(Python, &format!("{m}    g(m)\n    sink('q' + m['a'])\n"), built("qc{}"));
        let l = "def f(x):\n    l = ['a']\n    l.append(x)\n    l.append('c')\n    l.pop(0)\n";
        check(Python, &format!("{l}    sink(l[1])\n"), constant("c"));
        check(Python, &format!("{l}    sink(l[0])\n"), Value::Opaque);
        check(JavaScript, "function f(x) { const m = { a: 'c', b: x }; sink(m.a); }", constant("c"));
        check(
            Java,
            "class A { void f(String x) { Map<String, String> m = new HashMap<>(); m.put(\"a\", \"c\"); m.put(\"b\", x); sink(m.get(\"a\")); } }",
            constant("\"c\""),
        );
    }

    #[test]
    fn a_name_that_refers_to_itself_ends() {
        check(
            Language::Python,
            "def f():\n    while go():\n        a = b\n        b = a\n        sink(a)\n",
            Value::Constant(None),
        );
    }
}
