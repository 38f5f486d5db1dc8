//! Words of prose and of code: how they are split, brought to their stem, and cut to size.

use regex::Regex;

/// Words that say nothing about where in a repository something stands.
const STOP: &[&str] = &[
    "a",
    "about",
    "above",
    "actual",
    "actually",
    "after",
    "again",
    "all",
    "also",
    "although",
    "always",
    "am",
    "an",
    "and",
    "any",
    "anyone",
    "are",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "behavior",
    "behaviour",
    "being",
    "below",
    "better",
    "between",
    "both",
    "bug",
    "but",
    "by",
    "can",
    "cannot",
    "case",
    "code",
    "could",
    "currently",
    "describe",
    "did",
    "do",
    "does",
    "doing",
    "don",
    "done",
    "each",
    "either",
    "else",
    "even",
    "ever",
    "every",
    "example",
    "expect",
    "expected",
    "fact",
    "few",
    "fix",
    "following",
    "for",
    "from",
    "get",
    "gets",
    "getting",
    "give",
    "given",
    "go",
    "good",
    "got",
    "had",
    "happen",
    "happens",
    "has",
    "have",
    "having",
    "he",
    "hello",
    "help",
    "her",
    "here",
    "hi",
    "his",
    "how",
    "however",
    "i",
    "idea",
    "if",
    "in",
    "instead",
    "into",
    "is",
    "issue",
    "it",
    "its",
    "itself",
    "just",
    "know",
    "last",
    "latest",
    "let",
    "like",
    "likely",
    "line",
    "look",
    "looks",
    "made",
    "make",
    "makes",
    "making",
    "many",
    "may",
    "maybe",
    "me",
    "might",
    "more",
    "most",
    "much",
    "must",
    "my",
    "need",
    "needs",
    "never",
    "new",
    "next",
    "no",
    "not",
    "nothing",
    "now",
    "of",
    "off",
    "often",
    "ok",
    "old",
    "on",
    "once",
    "one",
    "only",
    "or",
    "other",
    "otherwise",
    "our",
    "out",
    "over",
    "own",
    "per",
    "please",
    "possible",
    "probably",
    "problem",
    "rather",
    "really",
    "recent",
    "related",
    "reproduce",
    "request",
    "right",
    "s",
    "said",
    "same",
    "say",
    "see",
    "seem",
    "seems",
    "she",
    "should",
    "show",
    "shows",
    "simple",
    "since",
    "so",
    "some",
    "something",
    "steps",
    "still",
    "such",
    "sure",
    "t",
    "take",
    "than",
    "thank",
    "thanks",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "things",
    "think",
    "this",
    "those",
    "though",
    "through",
    "thus",
    "to",
    "today",
    "too",
    "tried",
    "try",
    "trying",
    "two",
    "under",
    "unless",
    "until",
    "up",
    "us",
    "use",
    "used",
    "user",
    "users",
    "uses",
    "using",
    "usually",
    "very",
    "want",
    "was",
    "way",
    "we",
    "well",
    "were",
    "what",
    "when",
    "where",
    "whether",
    "which",
    "while",
    "who",
    "why",
    "will",
    "with",
    "within",
    "without",
    "work",
    "working",
    "works",
    "would",
    "wrong",
    "yes",
    "yet",
    "you",
    "your",
];

/// Compiles a pattern that stands in the source.
#[expect(clippy::expect_used, reason = "literal patterns; `every_pattern_compiles` in the tests meets each of them")]
pub(super) fn regex(pattern: &'static str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

/// One line of at most `max` characters: white space collapsed, control and direction characters left out.
pub(super) fn line(text: &str, max: usize) -> String {
    let mut out = String::new();
    // Whatever is longer than this many bytes is cut anyway.
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().filter(|c| !steers(*c)));
        if out.len() > max.saturating_mul(4) {
            break;
        }
    }
    crate::stdx::text::truncate_chars(out.trim(), max)
}

/// At most `max` characters with their lines, without what steers a terminal or the reading order.
pub(super) fn block(text: &str, max: usize) -> String {
    let kept: String = text.chars().filter(|c| *c == '\n' || *c == '\t' || !steers(*c)).take(max + 1).collect();
    crate::stdx::text::truncate_chars(&kept, max)
}

/// Control characters, marks that turn the reading order around, and marks that take no room.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

pub(super) fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// The parts of an identifier or word, in lower case: `HTTPServer_v2` is http, server, v2.
pub(super) fn parts(word: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut chars = word.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(c) = chars.next() {
        if !c.is_alphanumeric() {
            push(&mut parts, &mut part);
            before = None;
            continue;
        }
        let starts = before.is_some_and(|b| {
            c.is_uppercase() && (!b.is_uppercase() || chars.peek().is_some_and(|next| next.is_lowercase()))
        });
        if starts {
            push(&mut parts, &mut part);
        }
        part.extend(c.to_lowercase());
        before = Some(c);
    }
    push(&mut parts, &mut part);
    parts
}

fn push(parts: &mut Vec<String>, part: &mut String) {
    if !part.is_empty() {
        parts.push(std::mem::take(part));
    }
}

/// What a lower-case word has in common with its plural, its past and its participle. No dictionary: it only has to give the
/// same for the same.
pub(super) fn stem(word: &str) -> String {
    let count = word.chars().count();
    if count < 4 || !word.is_ascii() {
        return word.to_owned();
    }
    let cut = |end: &str, least: usize| word.strip_suffix(end).filter(|rest| rest.len() >= least);
    let mut stem = if let Some(rest) = cut("ies", 2) {
        format!("{rest}y")
    } else if let Some(rest) = cut("ing", 3).or_else(|| cut("ed", 3)) {
        let bytes = rest.as_bytes();
        let doubled = bytes.len() > 3
            && bytes.last() == bytes.get(bytes.len() - 2)
            && !matches!(bytes.last(), Some(b'l' | b's' | b'z'));
        if doubled { rest[..rest.len() - 1].to_owned() } else { rest.to_owned() }
    } else if let Some(rest) = word.strip_suffix("es").filter(|rest| rest.ends_with(['s', 'x', 'z', 'h'])) {
        rest.to_owned()
    } else if let Some(rest) = cut("s", 3).filter(|rest| !rest.ends_with(['s', 'u', 'i'])) {
        rest.to_owned()
    } else {
        word.to_owned()
    };
    if stem.len() > 3 && stem.ends_with('e') {
        stem.pop();
    }
    stem
}

/// The stems of a text's words, stop words and single letters left out, in their order.
pub(super) fn stems(text: &str) -> impl Iterator<Item = String> + '_ {
    stemmed(text).map(|(stem, _)| stem)
}

/// The same, each with the word it came from.
pub(super) fn stemmed(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty() && word.len() <= 200)
        .flat_map(parts)
        .filter(|part| part.chars().nth(1).is_some() && !is_stop(part) && !part.chars().all(|c| c.is_ascii_digit()))
        .map(|part| (stem(&part), part))
}

/// Whether a word has the look of code: `snake_case`, `camelCase`, `PascalCase` of two words, `CONSTANT_CASE`.
pub(super) fn looks_like_code(word: &str) -> bool {
    let inner = word.trim_matches('_');
    let starts = inner.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !starts || !plain || !(3..=100).contains(&word.len()) {
        return false;
    }
    let humps = inner.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    inner.contains('_') || humps || word.starts_with("__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted_for_their_search() {
        assert!(STOP.is_sorted());
        assert!(is_stop("the") && !is_stop("parser"));
    }

    #[test]
    fn identifiers_fall_into_their_words() {
        assert_eq!(parts("HTTPServer_v2"), ["http", "server", "v2"]);
        assert_eq!(parts("visit_unknown"), ["visit", "unknown"]);
        assert_eq!(parts("parseURL"), ["parse", "url"]);
        assert_eq!(parts("ÄpfelBaum--x"), ["äpfel", "baum", "x"]);
        assert!(parts("__").is_empty());
    }

    #[test]
    fn forms_of_a_word_share_their_stem() {
        for forms in [
            &["blueprint", "blueprints"][..],
            &["nest", "nested", "nesting"],
            &["raise", "raised", "raising", "raises"],
            &["query", "queries"],
            &["run", "runs", "running"],
            &["match", "matches", "matching"],
            &["date", "dates"],
        ] {
            let stems: std::collections::BTreeSet<_> = forms.iter().map(|form| stem(form)).collect();
            assert_eq!(stems.len(), 1, "{forms:?}: {stems:?}");
        }
        assert_ne!(stem("class"), stem("clas"));
    }

    #[test]
    fn a_line_is_one_line_and_short() {
        assert_eq!(line("a\n\tb\u{202e}\u{1b}[1m  c", 80), "a b[1m c");
        assert_eq!(line(&"ä".repeat(50), 5).chars().count(), 5);
        assert_eq!(block("a\r\nb\u{200b}", 10), "a\nb");
    }

    #[test]
    fn code_is_told_from_words() {
        for code in ["visit_unknown", "AsStringVisitor", "maxRetries", "MAX_SIZE", "__init__"] {
            assert!(looks_like_code(code), "{code}");
        }
        for word in ["Blueprint", "blueprint", "JSON", "a_", "don't", "__", "x"] {
            assert!(!looks_like_code(word), "{word}");
        }
    }
}
