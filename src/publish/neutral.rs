//! Takes the power out of text that somebody else wrote, so that GitHub shows it and does nothing else with it.
//!
//! Whatever could act (a mention, a reference, an address, markup, a command) is put into a code span: GitHub links,
//! notifies and renders nothing there. The rest is escaped.

use crate::domain::redact;

/// One line of prose: active words become code, secrets are masked, hidden characters made visible.
pub(super) fn prose(text: &str) -> String {
    let text = one_line(&visible(&redact(text, &[])));
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.as_str();
    while let Some(open) = rest.find('`') {
        let ticks = rest[open..].bytes().take_while(|b| *b == b'`').count();
        let (fence, after) = rest[open..].split_at(ticks);
        let Some(close) = closing(after, ticks) else { break };
        words(&rest[..open], &mut out);
        if out.ends_with('`') {
            out.push(' ');
        }
        out.push_str(&span(&after[..close]));
        rest = &after[close + fence.len()..];
    }
    words(rest, &mut out);
    out
}

/// Several paragraphs of prose; single line breaks fold into spaces.
pub(super) fn paragraphs(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.split("\n\n").map(prose).filter(|p| !p.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// A code span that holds any text: paths, names, snippets.
pub(super) fn code(text: &str) -> String {
    span(&one_line(&visible(&redact(text, &[]))))
}

/// Without any markup, for fields that GitHub shows as they are: check titles and annotations.
pub(super) fn plain(text: &str) -> String {
    let text = visible(&redact(text, &[]));
    // These fields are not Markdown, yet mentions there would cost nothing to prevent.
    text.replace('@', "@\u{200b}")
}

/// For titles and commit messages, which are no Markdown and still do things: they mention, refer, close issues once they
/// are merged, and switch CI off. A bare `#n` stays for `own`, the issue or pull request that this is about.
pub(super) fn history(text: &str, own: Option<u64>) -> String {
    let text = visible(&redact(&text.replace("\r\n", "\n"), &[]));
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = None;
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        let next = rest.chars().next();
        let in_word = before.is_some_and(|c: char| c.is_ascii_alphanumeric());
        let digit_next = next.is_some_and(|c| c.is_ascii_digit());
        out.push(c);
        let acts = match c {
            '@' => !in_word && next.is_some_and(char::is_alphanumeric),
            '#' => {
                digit_next && (before.is_some_and(|c| !c.is_whitespace() && c != '(') || leading_number(rest) != own)
            }
            '-' => digit_next && ends_with_word(&out[..out.len() - 1], "gh"),
            '/' => out.ends_with("://"),
            _ => false,
        };
        if acts {
            out.push(' ');
        }
        before = Some(c);
    }
    without_ci_words(&out)
}

fn leading_number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    Some(&text[..end]).filter(|digits| !digits.starts_with('0'))?.parse().ok()
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.strip_suffix(word).is_some_and(|rest| !rest.ends_with(|c: char| c.is_ascii_alphanumeric()))
}

/// `[skip ci]` and its relatives, in round brackets; `***NO_CI***` and `skip-checks: true` broken up.
pub(super) fn without_ci_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let (before, bracket) = rest.split_at(open);
        out.push_str(before);
        let inside = bracket.find(']').map(|end| &bracket[1..end]);
        let about_ci = |inside: &&str| {
            let lower = inside.to_ascii_lowercase();
            lower.contains("skip") || lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "ci")
        };
        match inside.filter(about_ci) {
            Some(inside) => {
                out.push_str(&format!("({inside})"));
                rest = &bracket[inside.len() + 2..];
            }
            None => {
                out.push('[');
                rest = &bracket[1..];
            }
        }
    }
    out.push_str(rest);
    for (word, gap) in [("***no_ci***", 3), ("skip-checks:", 11)] {
        let found: Vec<usize> = out.to_ascii_lowercase().match_indices(word).map(|(at, _)| at).collect();
        for at in found.into_iter().rev() {
            out.insert(at + gap, ' ');
        }
    }
    out
}

/// A fenced block whose fence is longer than any run of backticks inside.
pub(super) fn fenced(info: &str, content: &str) -> String {
    let fence = "`".repeat(longest_run(content).max(2) + 1);
    if content.is_empty() { format!("{fence}{info}\n{fence}") } else { format!("{fence}{info}\n{content}\n{fence}") }
}

/// What a program printed, as a block that nothing in it can end: secrets are masked, hidden characters made visible, and no
/// line begins with what a comment bot takes as a command. Of a long one the end is left, in at most so many UTF-16 units.
pub(super) fn output(text: &str, most: usize) -> String {
    let text = visible(&redact(&text.replace("\r\n", "\n").replace('\r', "\n"), &[]));
    let mut lines = Vec::new();
    let mut left = most;
    for line in text.trim_end().lines().rev() {
        let line = if is_command(line) { format!("· {line}") } else { line.to_owned() };
        let size = line.encode_utf16().count() + 1;
        if size > left {
            lines.push("[… the beginning was left out …]".to_owned());
            break;
        }
        left -= size;
        lines.push(line);
    }
    lines.reverse();
    fenced("text", lines.join("\n").trim_matches('\n'))
}

/// Whether the text can stand verbatim where a person will accept it with one click: nothing hidden, no secret,
/// nothing that a comment bot takes as a command.
pub(super) fn is_honest(text: &str) -> bool {
    !text.chars().any(is_hidden) && redact(text, &[]) == text && !text.lines().any(is_command)
}

/// `/approve`; a path has another slash.
fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    line.strip_prefix('/')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()) && !rest.contains('/'))
}

/// Characters that change what a reader sees without being seen.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}

fn visible(text: &str) -> String {
    if !text.chars().any(is_hidden) {
        return text.to_owned();
    }
    text.chars().map(|c| if is_hidden(c) { format!("⟨U+{:04X}⟩", u32::from(c)) } else { c.to_string() }).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where a run of exactly `ticks` backticks begins.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|b| **b == b'`').count();
        if run == ticks {
            return Some(at);
        }
        at += run.max(1);
    }
    None
}

fn span(content: &str) -> String {
    let content = content.trim();
    if content.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(match longest_run(content) {
        0 => 1,
        run => run + 1,
    });
    let pad = if content.starts_with('`') || content.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{content}{pad}{fence}")
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn words(text: &str, out: &mut String) {
    for piece in text.split_inclusive(' ') {
        let word = piece.trim_end_matches(' ');
        if is_active(word) {
            // A backtick that opened nothing would change the fence's length.
            let fenced = span(&word.replace('`', "'"));
            // Two code spans side by side would become one.
            if out.ends_with('`') {
                out.push(' ');
            }
            out.push_str(&fenced);
        } else {
            if out.ends_with('`') && word.starts_with('`') {
                out.push(' ');
            }
            escape(word, out);
        }
        out.push_str(&piece[word.len()..]);
    }
}

fn is_active(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    let digits_after = |part: &str| {
        lower.match_indices(part).any(|(at, found)| lower[at + found.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    has("@")
        || has("<")
        || has(">")
        || has("&")
        || has("](")
        || has("![")
        || has("://")
        || has("www.")
        || has("mailto:")
        || has("xmpp:")
        || word.starts_with('/')
        || has("#")
        || digits_after("gh-")
        || is_issue_key(word)
        || is_commit(&lower)
        || has("$")
        || is_emoji(word)
}

/// `:octocat:` becomes an image.
fn is_emoji(word: &str) -> bool {
    let parts: Vec<_> = word.split(':').collect();
    let name = |part: &&str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+' | b'-'))
    };
    parts.len() > 2 && parts[1..parts.len() - 1].iter().any(name)
}

/// `ABC-123`: repositories may link such keys to another tracker.
fn is_issue_key(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    word.rsplit_once('-').is_some_and(|(prefix, number)| {
        !prefix.is_empty()
            && prefix.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
            && prefix.starts_with(|c: char| c.is_ascii_uppercase())
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Seven or more hex digits with a digit among them: GitHub links commits.
fn is_commit(word: &str) -> bool {
    word.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
        (7..=64).contains(&part.len())
            && part.bytes().all(|b| b.is_ascii_hexdigit())
            && part.bytes().any(|b| b.is_ascii_digit())
    })
}

fn escape(word: &str, out: &mut String) {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    for (at, c) in word.char_indices() {
        let everywhere = matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~');
        // At a line's start these begin a list or underline a heading.
        let in_front = (at == 0 && matches!(c, '-' | '+' | '=')) || (at > 0 && at == digits && matches!(c, '.' | ')'));
        if everywhere || in_front {
            out.push('\\');
        }
        out.push(c);
    }
}

#[cfg(test)]
#[path = "neutral_tests.rs"]
mod tests;
