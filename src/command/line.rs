//! One line: does it call us, and does it say a verb and nothing else?

use super::nearest::nearest;
use super::{Names, PREFIX};
use crate::domain::Verb;
use crate::stdx::text::truncate_chars;

/// The only characters that part words: others look like them and are not.
const BLANKS: [char; 2] = [' ', '\t'];
const MAX_WORD: usize = 40;
/// A sentence that begins with a mention is searched so far for a verb.
const MAX_WORDS: usize = 8;

/// What a line that calls us says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Said {
    Verb(Verb),
    /// `test` with the commit that it names, in lower case.
    Test(String),
    Unknown(String),
}

pub(super) fn trim(line: &str) -> &str {
    line.trim_matches(BLANKS)
}

pub(super) fn trim_start(line: &str) -> &str {
    line.trim_start_matches(BLANKS)
}

/// Reads a line without blanks around it. `None` if it does not call us, or shows a reader something else than it holds.
pub(super) fn read(line: &str, names: &Names) -> Option<Said> {
    let slash = strip(line, PREFIX);
    let rest = slash.or_else(|| mention(line, names))?;
    if !(rest.is_empty() || rest.starts_with(BLANKS)) || line.chars().any(is_hidden) {
        return None;
    }
    let mut words = rest.split(BLANKS).filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return Some(Said::Verb(Verb::Help)) };
    let second = words.next();
    let more = second.is_some();
    if !more && let Ok(verb) = without_stop(first).parse() {
        return Some(Said::Verb(verb));
    }
    if let (Ok(Verb::Test), Some(second), None) = (first.parse(), second, words.next())
        && is_commit(without_stop(second))
    {
        return Some(Said::Test(without_stop(second).to_ascii_lowercase()));
    }
    // People also write sentences about us: they are answered only if a verb is in them.
    let sentence = more && slash.is_none();
    let asks = || rest.split(BLANKS).filter(|word| !word.is_empty()).take(MAX_WORDS).any(|w| nearest(w).is_some());
    (!sentence || asks()).then(|| Said::Unknown(shown(first, more)))
}

fn without_stop(word: &str) -> &str {
    word.strip_suffix(['.', '!']).unwrap_or(word)
}

/// A commit's id, whole or its beginning.
fn is_commit(word: &str) -> bool {
    (7..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What follows `@slug` or `@slug[bot]`.
fn mention<'a>(line: &'a str, names: &Names) -> Option<&'a str> {
    let rest = strip(line.strip_prefix('@')?, &names.slug).filter(|_| !names.slug.is_empty())?;
    Some(strip(rest, "[bot]").unwrap_or(rest))
}

fn strip<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The word as it may be repeated: never what stands after `=`, which may be a secret.
fn shown(word: &str, more: bool) -> String {
    let word = match word.split_once('=') {
        Some((name, value)) if !value.is_empty() => format!("{}=…", truncate_chars(name, MAX_WORD - 4)),
        Some(_) | None => truncate_chars(word, MAX_WORD - 2),
    };
    if more { format!("{word} …") } else { word }
}

/// Blank or without any shape, or changes how its neighbours look. A tab is neither.
fn is_hidden(c: char) -> bool {
    let blank = c.is_whitespace() && !BLANKS.contains(&c);
    let control = c.is_control() && c != '\t';
    blank
        || control
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{new_in, parse};
    use crate::domain::Untrusted;

    #[test]
    fn only_test_takes_a_word_and_only_a_commit() {
        let names = Names::new("octo-swarm");
        let named = |body: &str| {
            let got = parse(&Untrusted::new(body), &names);
            (got.verbs, got.commit, got.unknown)
        };
        let test = |commit: Option<&str>| (vec![Verb::Test], commit.map(str::to_owned), Vec::new());
        assert_eq!(named("/swarm test"), test(None));
        assert_eq!(named("/swarm test abc1234"), test(Some("abc1234")));
        assert_eq!(named("@octo-swarm TEST ABC1234."), test(Some("abc1234")));
        assert_eq!(named(&format!("/swarm test {}", "a1".repeat(20))), test(Some(&"a1".repeat(20))));
        assert_eq!(named("/swarm test abc1234\n/swarm test abc1235\n/swarm test"), test(Some("abc1234")));
        let long = "a".repeat(65);
        for rest in ["abc123", "abc123x", "abc1234 please", "--head=abc1234", &long] {
            assert_eq!(named(&format!("/swarm test {rest}")), (vec![], None, vec!["test …".to_owned()]), "{rest}");
        }
        assert_eq!(named("/swarm review abc1234"), (vec![], None, vec!["review …".to_owned()]));
        let (old, new) = (Untrusted::new("/swarm test abc1234"), Untrusted::new("/swarm test abc1235"));
        assert_eq!(new_in(&old, &new, &names).commit.as_deref(), Some("abc1235"));
        assert!(new_in(&new, &new, &names).is_empty());
    }
}
