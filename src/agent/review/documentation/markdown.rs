//! Text of a codebase in Markdown: shown, never obeyed.

/// Prose on one line. What would be markup, a mention, an address or HTML is escaped.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let folded = one_line(text);
    for (at, c) in folded.char_indices() {
        let rest = folded.get(at + c.len_utf8()..).unwrap_or_default();
        let acts = match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '@' | '!' | '$' | '{' | '}' => true,
            ':' => rest.starts_with("//"),
            '#' => at == 0 || rest.starts_with(|c: char| c.is_ascii_digit()),
            '-' | '+' | '=' => at == 0,
            '.' => folded.get(..at).is_some_and(|before| {
                before.ends_with("www") || (!before.is_empty() && before.chars().all(|c| c.is_ascii_digit()))
            }),
            ')' => {
                folded.get(..at).is_some_and(|before| !before.is_empty() && before.chars().all(|c| c.is_ascii_digit()))
            }
            _ => false,
        };
        if acts {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A code span that holds any text. A bar is escaped, so that it may stand in a table.
pub(super) fn code(text: &str) -> String {
    let text = one_line(text).replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A block that is shown as it is written; `language` is a word of ours.
pub(super) fn block(language: &str, text: &str) -> String {
    let text: String = text.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2);
    let fence = "`".repeat(longest + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

/// A link to a file of the codebase, from a page at its root.
pub(super) fn file(path: &str) -> String {
    let mut target = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => target.push(char::from(byte)),
            byte => target.push_str(&format!("%{byte:02X}")),
        }
    }
    format!("[{}](./{target})", code(path))
}

/// An error as a page (S0.7): what could not be made, why, what helps.
pub(super) fn failure(what: &str, why: &str, next: &str) -> String {
    format!("# {what} could not be generated\n\n**Why:** {why}\n\n**What helps:** {next}\n")
}

fn one_line(text: &str) -> String {
    let visible = crate::stdx::text::visible_line(text);
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulldown_cmark::{Event, Options, Parser};

    /// What a reader of the Markdown sees, and whether anything in it is more than text.
    fn shown(markdown: &str) -> (String, bool) {
        let (mut text, mut acts) = (String::new(), false);
        // What turns `--` into a dash changes letters, and makes no markup.
        for event in Parser::new_ext(markdown, Options::all() - Options::ENABLE_SMART_PUNCTUATION) {
            match event {
                Event::Text(part) | Event::Code(part) => text.push_str(&part),
                Event::Start(pulldown_cmark::Tag::Paragraph) | Event::End(_) => {}
                _ => acts = true,
            }
        }
        (text, acts)
    }

    #[test]
    fn no_name_and_no_comment_becomes_markup() {
        for text in [
            "<script>alert(1)</script>",
            "a\n# b\n- c",
            "[x](http://e.com) ![y](z)",
            "`a` ``b`` *c* _d_ ~~e~~ | f",
            "1. one",
            "2) two",
            "# head",
            "- item",
            "&lt;b&gt;",
            "a $x$ b {#id}",
            "\\`",
            "--- ---",
            "`",
        ] {
            let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(shown(&prose(text)), (folded.clone(), false), "{text}");
            assert_eq!(shown(&code(text)), (folded.replace('|', "\\|"), false), "{text}");
        }
        assert!(block("", "a\n```\nb").starts_with("````\n"));
        assert_eq!(file("a b/(c).md"), "[`a b/(c).md`](./a%20b/%28c%29.md)");
    }
}
