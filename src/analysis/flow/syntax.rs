//! How each grammar writes calls, assignments and parameters, and the names that mean something to all of them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::analysis::tree::TreeNode;

#[expect(clippy::expect_used, reason = "literal patterns; the tests of this room compile them")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

pub(super) static CONSTANT_NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^_*[A-Z][A-Z0-9_]+$"));
/// Calls whose result is a number, or a digest, whatever went in.
pub(super) static HARMLESS_CALL: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^(int|float|bool|len|ord|hash|id|Number|parseInt|parseFloat|BigInt|Boolean
        |uuid\.uuid[14]|uuid4|time\.time|Date\.now|Math\.\w+|Number\.parse(Int|Float)|os\.getpid|crypto\.randomUUID|randomUUID
        |Integer\.(parseInt|valueOf|toString)|Long\.(parseLong|valueOf|toString)|Double\.parseDouble|UUID\.(randomUUID|fromString)|System\.currentTimeMillis|System\.nanoTime
        |strconv\.(Itoa|FormatInt|FormatUint|FormatBool|Atoi|ParseInt)|uint\d*|int\d+|time\.Now
        |Uuid::new_v4|std::process::id|process::id)$
        |\.(size|len|count|length|getTime|hexdigest|ordinal|toISOString|getAsInt|intValue|longValue|hashCode|isoformat|timestamp)$",
    )
});
/// Methods that reshape their receiver and add only their arguments.
pub(super) static RESHAPING: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^(strip|lstrip|rstrip|lower|upper|title|encode|decode|join|replace|split|splitlines|ljust|rjust|zfill|expandtabs|copy|items|keys|values
        |trim|trimStart|trimEnd|toLowerCase|toUpperCase|concat|slice|substring|toString|valueOf|padStart|padEnd|flat|stripIndent|strip_indent|formatted_
        |to_string|to_owned|into|clone|as_str|as_ref|as_bytes|into_boxed_str|borrow|deref|to_vec|iter|into_iter|into_bytes|to_lowercase|to_uppercase
        |append|insert|intern|getBytes|toCharArray|build|String)$",
    )
});
pub(super) static NUMERIC_TYPE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(int|long|short|byte|float|double|bool|boolean|number|bigint|Integer|Long|Short|Double|Float|Boolean|UUID|Uuid|[ui](8|16|32|64|128|size)|f(32|64)|u?int(8|16|32|64))\b",
    )
});
/// One conversion of a format string, C style.
pub(super) static VERB: LazyLock<Regex> =
    LazyLock::new(|| regex(r"%(?:\((?:\w+)\))?[-+ #0]*(?:\d+|\*)?(?:\.\d+)?([a-zA-Z])"));
/// What a stranger sends, as the common web frameworks name it.
pub(super) static REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^(self\.)?(flask\.)?request\.(args|form|values|json|data|files|cookies|headers|GET|POST|query_params|path_params|query_string|query|get_json|get_data|stream|full_path|view_args|body)\b
        |^self\.get_(query_)?argument\(
        |^(req|request|ctx|ctx\.request|context\.request)\.(query|body|params|headers|cookies|url|originalUrl|path)\b
        |^(req|request|ctx)\.(param|header)\(
        |^\w+\.searchParams\.get\(
        |^(r|req|request)\.(URL\.(Query\(\)|Path|RawQuery)|(Post)?FormValue\(|Form\b|PostForm\b|Header\.Get\(|PathValue\()
        |^(c|ctx)\.(Query|Param|PostForm|DefaultQuery|GetHeader|FormValue|QueryParam|Params)\(
        |^(mux\.Vars|chi\.URLParam)\(
        |^(request|req|httpRequest|servletRequest)\.(getParameter|getHeader|getQueryString|getParameterValues|getPathInfo|getRequestURI)\(",
    )
});
/// Searches in a store of the application.
pub(super) static LOOKUP: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(find\w*|lookup\w*|exists|count\w*|fetch(one|all|One|All|_one|_all)|filter_by|query\w+|select\w*|first|get_object_or_404|\w*By[A-Z]\w*|\w+_by_\w+)$",
    )
});
/// Calls that give back what goes in, in another shape.
pub(super) static PASSES_ON: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^(str|String|list|tuple|format|formatted|Sprintf|Sprint|join|strip|lstrip|rstrip|lower|upper|title|encode|decode|replace|split|splitlines|get|getlist|getlist|pop
        |trim|toLowerCase|toUpperCase|concat|slice|substring|toString|valueOf|append|b64decode|b64encode|unquote|unquote_plus|loads|getBytes|keys|values|items|sorted|bytes|reversed|ljust|rjust)$",
    )
});
/// Modules of the standard libraries that reshape paths and texts.
pub(super) static MODULE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^(path|os|os\.path|posixpath|fs|filepath|util|url|strings|fmt|Paths|Path|urllib\.parse|base64)$")
});
/// Parameters that a framework fills from the request.
pub(super) static REQUEST_PARAMETER: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"@(RequestParam|PathVariable|RequestBody|RequestHeader|QueryParam|PathParam|CookieValue)\b")
});

/// The names in `format!("{name} {other:?}")`.
pub(super) fn inline_names(literal: &str) -> impl Iterator<Item = &str> {
    literal.match_indices('{').filter_map(|(at, _)| {
        let escaped = at > 0 && literal.as_bytes().get(at - 1) == Some(&b'{');
        let rest = literal.get(at + 1..)?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = rest.get(..end)?;
        let named = name.starts_with(|c: char| c == '_' || c.is_alphabetic());
        (named && !escaped).then_some(name)
    })
}

/// Whether a node reads a part of an HTTP request.
pub(super) fn is_request(node: &TreeNode<'_>) -> bool {
    let reads = matches!(
        node.kind().as_ref(),
        "attribute"
            | "member_expression"
            | "selector_expression"
            | "field_access"
            | "subscript"
            | "subscript_expression"
            | "index_expression"
            | "call"
            | "call_expression"
            | "method_invocation"
    );
    // Flask converts on demand: request.args.get("page", type=int).
    reads && REQUEST.is_match(&node.text()) && !node.text().contains("type=int")
}

/// The callee's text, the receiver of a method call, and the last name of the callee.
pub(super) fn callee<'t>(node: &TreeNode<'t>) -> (String, Option<TreeNode<'t>>, String) {
    if node.kind() == "method_invocation" {
        let name = node.field("name").map(|n| n.text().into_owned()).unwrap_or_default();
        let object = node.field("object");
        let text = object.as_ref().map_or_else(|| name.clone(), |o| format!("{}.{name}", o.text()));
        return (text, object, name);
    }
    if node.kind() == "object_creation_expression" {
        let name = node.field("type").map(|n| n.text().into_owned()).unwrap_or_default();
        return (name.clone(), None, name);
    }
    let Some(function) = node.field("function") else { return Default::default() };
    let text = function.text().into_owned();
    let receiver = function.field("object").or_else(|| function.field("operand")).or_else(|| function.field("value"));
    let method = text.rsplit(['.', ':']).next().unwrap_or(&text).to_owned();
    (text, receiver, method)
}

pub(super) fn is_function(kind: &str) -> bool {
    matches!(
        kind,
        "function_definition"
            | "lambda"
            | "function_declaration"
            | "function_expression"
            | "generator_function_declaration"
            | "generator_function"
            | "arrow_function"
            | "method_definition"
            | "method_declaration"
            | "func_literal"
            | "constructor_declaration"
            | "lambda_expression"
            | "function_item"
            | "closure_expression"
    )
}

/// The parameter of a function that brings a name in.
pub(super) fn parameter<'t>(function: &TreeNode<'t>, name: &str) -> Option<TreeNode<'t>> {
    let single = function.field("parameter").filter(|p| p.text() == name);
    let list = function.field("parameters")?;
    let found = list.children().find(|parameter| {
        parameter.dfs().any(|n| n.is_named_leaf() && n.kind().ends_with("identifier") && n.text() == name)
    });
    single.or(found)
}

/// Where the names stand that a node may assign to: [`assignment`] says nothing about a name that is not written there.
pub(super) fn target<'t>(node: &TreeNode<'t>) -> Option<TreeNode<'t>> {
    match node.kind().as_ref() {
        "assignment"
        | "assignment_expression"
        | "assignment_statement"
        | "for_in_statement"
        | "short_var_declaration"
        | "for_statement"
        | "for_in_clause"
        | "range_clause"
        | "augmented_assignment"
        | "augmented_assignment_expression"
        | "compound_assignment_expr" => node.field("left"),
        "variable_declarator"
        | "var_spec"
        | "const_spec"
        | "enhanced_for_statement"
        | "const_item"
        | "static_item"
        | "named_expression" => node.field("name"),
        "let_declaration" | "for_expression" => node.field("pattern"),
        "method_invocation" | "call_expression" | "call" => {
            let (_, receiver, method) = callee(node);
            receiver.filter(|_| grows(&method))
        }
        _ => None,
    }
}

/// Methods that add to their receiver.
fn grows(method: &str) -> bool {
    matches!(method, "append" | "push" | "push_str" | "WriteString" | "insert" | "extend")
}

/// The value that a node assigns to a name, and whether it adds to what is there. `Some((None, _))`: assigned, by what is unknown.
pub(super) fn assignment<'t>(node: &TreeNode<'t>, name: &str) -> Option<(Option<TreeNode<'t>>, bool)> {
    let (left, right, adds) = match node.kind().as_ref() {
        "assignment"
        | "assignment_expression"
        | "assignment_statement"
        | "for_in_statement"
        | "short_var_declaration"
        | "for_statement"
        | "for_in_clause"
        | "range_clause" => {
            let compound = node.field("operator").is_some_and(|o| o.text().len() == 2);
            (node.field("left")?, node.field("right"), compound)
        }
        "augmented_assignment" | "augmented_assignment_expression" | "compound_assignment_expr" => {
            (node.field("left")?, node.field("right"), true)
        }
        "variable_declarator" | "var_spec" | "const_spec" | "enhanced_for_statement" | "const_item" | "static_item" => {
            let value = node.field("value");
            if matches!(node.kind().as_ref(), "variable_declarator" | "var_spec")
                && value.is_none()
                && node.field("name")?.text() == name
            {
                // `let x;` is filled later.
                return None;
            }
            (node.field("name")?, value, false)
        }
        "let_declaration" | "for_expression" => (node.field("pattern")?, node.field("value"), false),
        "named_expression" => (node.field("name")?, node.field("value"), false),
        // sql.append(part) changes its receiver.
        "method_invocation" | "call_expression" | "call" => {
            let (_, receiver, method) = callee(node);
            let mut receiver = receiver?;
            // sb.append(a).append(b): every link of the chain changes its root.
            while receiver.kind() == "method_invocation" && receiver.field("name").is_some_and(|n| n.text() == "append")
            {
                let Some(object) = receiver.field("object") else { break };
                receiver = object;
            }
            return (grows(&method) && receiver.text() == name).then(|| (node.field("arguments"), true));
        }
        _ => return None,
    };
    if left.text() == name {
        return Some((right, adds));
    }
    // `a, b := f()` and destructuring: which part goes where is not followed, unless both sides are lists.
    let lists = matches!(left.kind().as_ref(), "expression_list" | "pattern_list" | "tuple_pattern");
    let at = left.children().filter(|c| c.is_named()).position(|c| c.text() == name);
    if let (true, Some(at)) = (lists, at) {
        let right = right?;
        let rights: Vec<_> = right.children().filter(|c| c.is_named()).collect();
        let same = left.children().filter(|c| c.is_named()).count() == rights.len();
        let one = matches!(right.kind().as_ref(), "expression_list" | "tuple");
        return Some((if same && one { rights.get(at).cloned() } else { None }, adds));
    }
    let inside = left.kind() != "identifier"
        && !matches!(
            left.kind().as_ref(),
            "subscript"
                | "subscript_expression"
                | "index_expression"
                | "attribute"
                | "member_expression"
                | "selector_expression"
                | "field_access"
                | "field_expression"
        )
        && left.dfs().any(|n| n.is_named_leaf() && n.text() == name);
    if inside {
        return Some((None, adds));
    }
    // parts[i] = "?" fills its list.
    let base = left.field("operand").or_else(|| left.field("value")).or_else(|| left.field("object"));
    let element = matches!(left.kind().as_ref(), "subscript" | "subscript_expression" | "index_expression");
    (element && base.is_some_and(|b| b.text() == name)).then_some((right, true))
}

/// The names that somebody looked up in a list: `if name not in ALLOWED: raise`, `ALLOWED.includes(name)`.
pub(super) fn checked_against_a_list<'t>(scope: &TreeNode<'t>) -> HashSet<Cow<'t, str>> {
    let checked = |node: TreeNode<'t>| match node.kind().as_ref() {
        "comparison_operator" => {
            let parts: Vec<_> = node.children().collect();
            let tests = parts.iter().any(|p| matches!(p.text().as_ref(), "in" | "not in"));
            let list = parts.last().is_some_and(|l| {
                let text = l.text();
                matches!(l.kind().as_ref(), "tuple" | "list" | "set") || looks_like_a_list(&text)
            });
            parts.first().filter(|_| tests && list).map(TreeNode::text)
        }
        "call_expression" | "method_invocation" => {
            let (text, receiver, method) = callee(&node);
            let tests = matches!(method.as_str(), "includes" | "has" | "contains" | "containsKey");
            let list = tests
                && receiver.is_some_and(|r| {
                    matches!(r.kind().as_ref(), "array")
                        || looks_like_a_list(&r.text())
                        || text.starts_with("Set.of")
                        || text.starts_with("List.of")
                });
            let arguments = node.field("arguments").filter(|_| list)?.text();
            Some(arguments.trim_matches(['(', ')', '&']).to_owned().into())
        }
        _ => None,
    };
    scope.dfs().filter_map(checked).collect()
}

pub(super) fn looks_like_a_list(text: &str) -> bool {
    let last = text.rsplit(['.', ':']).next().unwrap_or(text);
    let lower = last.to_ascii_lowercase();
    CONSTANT_NAME.is_match(last)
        || ["allow", "valid", "known", "permitted", "supported", "whitelist", "choices"]
            .iter()
            .any(|w| lower.contains(w))
}

/// Whether a C-style format string has conversions, and all of them print numbers.
pub(super) fn only_numbers(format: &str) -> bool {
    let bare = format.replace("%%", "");
    let mut verbs = VERB.captures_iter(&bare).peekable();
    verbs.peek().is_some()
        && !bare.contains("%v")
        && verbs.all(|verb| {
            verb.get(1).is_some_and(|letter| matches!(letter.as_str(), "d" | "i" | "u" | "f" | "x" | "X" | "g" | "e"))
        })
}
