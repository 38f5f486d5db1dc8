//! Cutting text without breaking characters, showing it without obeying it, sizes for people, words that were meant.

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
    known.map(|word| (edits(&typed, &word.to_lowercase()), word)).filter(|(d, _)| *d <= far).min().map(|(_, word)| word)
}

/// `; did you mean `x`?` to end a message with; nothing when nothing is near.
pub fn did_you_mean(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// How many characters have to be put in, taken out, replaced, or swapped with their neighbour. What lies beyond 200
/// characters counts by its length alone.
pub fn edits(one: &str, other: &str) -> usize {
    const COMPARED: usize = 200;
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (a, b) = (&one[..one.len().min(COMPARED)], &other[..other.len().min(COMPARED)]);
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let replaced = row[j] + usize::from(from != to);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                least = least.min(above[j - 1] + 1);
            }
            next.push(least);
        }
        above = std::mem::replace(&mut row, next);
    }
    row[b.len()] + (one.len() - a.len()).abs_diff(other.len() - b.len())
}

/// What was measured, in powers of ten: `512 bytes`, `1.5 kB`, `2 GB`.
pub fn size(bytes: u64) -> String {
    in_units(bytes, [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")])
}

/// A limit that is set in powers of two: `512 bytes`, `1.5 KiB`, `1 MiB`.
pub fn binary_size(bytes: u64) -> String {
    in_units(bytes, [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")])
}

/// In the first unit that fits; tenths are cut off, not rounded.
fn in_units(bytes: u64, units: [(u64, &str); 3]) -> String {
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte");
    };
    match (bytes / unit, bytes % unit * 10 / unit) {
        (whole, 0) => format!("{whole} {name}"),
        (whole, tenth) => format!("{whole}.{tenth} {name}"),
    }
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
        assert_eq!(did_you_mean(nearest("pol", known.into_iter())), "; did you mean `poll`?");
        assert_eq!(did_you_mean(None), "");
    }

    #[test]
    fn edits_are_slips_of_the_finger() {
        for (one, other, want) in [
            ("main", "main", 0),
            ("mian", "main", 1),
            ("kitten", "sitting", 3),
            ("", "abc", 3),
            ("ca", "abc", 3),
            ("müll", "mull", 1),
        ] {
            assert_eq!((edits(one, other), edits(other, one)), (want, want), "{one} {other}");
        }
        assert_eq!(edits(&"x".repeat(100_000), "poll"), 99_800 + 200);
        assert_eq!(edits(&"x".repeat(100_000), &"x".repeat(99_999)), 1);
    }

    #[test]
    fn sizes_are_short_and_say_their_unit() {
        let measured = [1, 12, 1_500, 5_000_000, 2_340_000_000].map(size);
        assert_eq!(measured, ["1 byte", "12 bytes", "1.5 kB", "5 MB", "2.3 GB"]);
        let limits = [512, 3 << 9, 1 << 20, 3 << 29, u64::MAX].map(binary_size);
        assert_eq!(limits, ["512 bytes", "1.5 KiB", "1 MiB", "1.5 GiB", "17179869183.9 GiB"]);
    }

    #[test]
    fn truncation_counts_characters_and_keeps_the_limit() {
        assert_eq!(truncate_chars("äöü", 3), "äöü");
        assert_eq!(truncate_chars("äöüß", 3), "äö…");
    }
}
