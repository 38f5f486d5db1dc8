//! Cutting text without breaking characters, and showing it without obeying it.

/// At most `max` characters; what is cut is replaced by `…`.
pub fn truncate_chars(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// `1 file`, `2 files`.
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// Milliseconds since the Unix epoch as `2026-11-21T10:15:35Z`.
pub fn iso8601(millis: i64) -> String {
    chrono::DateTime::from_timestamp_millis(millis)
        .unwrap_or_default()
        .to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// The other way round; `None` for what is no such time.
pub fn parse_iso8601(text: &str) -> Option<i64> {
    chrono::DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_millis())
}

/// Which of the known words was probably meant; `None` when none is near.
pub fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let far = (typed.chars().count() / 3).max(1);
    known
        .map(|word| (distance(&typed, &word.to_lowercase()), word))
        .filter(|(d, _)| *d <= far)
        .min()
        .map(|(_, word)| word)
}

/// How many characters have to be put in, taken out or replaced.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// For a terminal: what would steer it, or turn the reading order around, is shown as its code. Line breaks and tabs stay.
pub fn visible(text: &str) -> String {
    map_steering(text, |c, out| out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))))
}

/// The same on one line.
pub fn visible_line(text: &str) -> String {
    visible(&text.replace(['\n', '\r'], " "))
}

/// The same with one character for each, so that columns stay where they are. A carriage return that ends its line stays.
pub fn visible_source(text: &str) -> String {
    map_steering(text, |_, out| out.push('\u{fffd}'))
}

fn map_steering(text: &str, replace: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let turns =
            matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let breaks = matches!(c, '\n' | '\t') || (c == '\r' && chars.peek() == Some(&'\n'));
        if turns || (c.is_control() && !breaks) {
            replace(c, &mut out);
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_instead() {
        assert_eq!(visible("a\u{1b}[2Jb\u{9b}1m\n\tc"), "a⟨U+001B⟩[2Jb⟨U+009B⟩1m\n\tc");
        assert_eq!(visible_line("a\n::error::b\u{202e}"), "a ::error::b⟨U+202E⟩");
        assert_eq!(visible_source("ä\u{1b}x\r\ny\rz"), "ä\u{fffd}x\r\ny\u{fffd}z");
    }

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["retention_days", "reconcile_seconds", "poll"];
        for (typed, want) in
            [("retenion_days", Some("retention_days")), ("pol", Some("poll")), ("Poll", Some("poll")), ("x", None)]
        {
            assert_eq!(nearest(typed, known.into_iter()), want, "{typed}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn truncation_counts_characters_and_keeps_the_limit() {
        assert_eq!(truncate_chars("äöü", 3), "äöü");
        assert_eq!(truncate_chars("äöüß", 3), "äö…");
    }
}
