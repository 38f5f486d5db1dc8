//! String literals as the text that they stand for.

use crate::analysis::tree::TreeNode;

/// The text of a string literal; none for what is no literal, or has values put into it.
pub(super) fn literal(node: &TreeNode<'_>) -> Option<String> {
    let kind = node.kind();
    let is_string = matches!(
        &*kind,
        "string" | "string_literal" | "raw_string_literal" | "interpreted_string_literal" | "template_string"
    );
    if !is_string || node.children().any(|child| matches!(&*child.kind(), "interpolation" | "template_substitution")) {
        return None;
    }
    unquote(&node.text())
}

/// A literal's text without its quotes.
pub(super) fn unquote(text: &str) -> Option<String> {
    let start = text.find(['"', '\'', '`'])?;
    let (prefix, body) = text.split_at(start);
    let prefix = prefix.to_ascii_lowercase();
    if prefix.contains('f') || !prefix.chars().all(|c| matches!(c, 'r' | 'b' | 'u' | '#')) {
        return None;
    }
    let body = body.trim_end_matches('#');
    let quote = ["\"\"\"", "'''", "\"", "'", "`"].into_iter().find(|quote| body.starts_with(quote))?;
    let inner = body.strip_prefix(quote)?.strip_suffix(quote)?;
    if prefix.contains('r') || quote == "`" && !inner.contains('\\') || !inner.contains('\\') {
        return Some(inner.to_owned());
    }
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some(other @ ('\\' | '"' | '\'' | '`' | '/')) => out.push(other),
                // Another escape stays as it is written: it is told to people, never compared.
                Some(other) => out.extend(['\\', other]),
                None => {}
            },
            (c, false) => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::unquote;

    #[test]
    fn quotes_are_taken_off_and_values_are_not_guessed() {
        for (text, want) in [
            (r#""/a""#, Some("/a")),
            ("'/a'", Some("/a")),
            ("`/a`", Some("/a")),
            (r#"r"^a\d$""#, Some(r"^a\d$")),
            (r##"r#"/a"b"#"##, Some("/a\"b")),
            (r#""a\"b\\""#, Some("a\"b\\")),
            (r#"f"/{x}""#, None),
            ("x", None),
        ] {
            assert_eq!(unquote(text).as_deref(), want, "{text}");
        }
    }
}
