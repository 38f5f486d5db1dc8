//! What another tool says of a place in a file, and what it comes to as a finding of ours.
//!
//! Promise: no place outside the text that it is set on; no word longer than a comment takes.
//! Never: a word of theirs as markup, a path, or a name of anything else than a rule.

use std::collections::HashMap;
use std::ops::Range;

use super::fix::whole_lines;
use super::lines::Lines;
use crate::domain::{Category, Finding, Fingerprint, Fix, RuleId, Severity};
use crate::stdx::text::{truncate_chars, visible, visible_line};

/// Characters of a message, of what a rule is about, of a rule's name.
const MAX_MESSAGE: usize = 1_000;
const MAX_ABOUT: usize = 600;
const MAX_RULE: usize = 150;
/// Lines that a change of another tool's may touch, to be offered as one.
const MAX_FIX_LINES: u32 = 30;

/// One result of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// As it stands before the rule in an id: `ruff`. Empty for our own.
    pub tool: String,
    /// Empty where the tool names none.
    pub rule: String,
    pub severity: Severity,
    pub category: Category,
    pub message: String,
    /// What the rule is about, in the tool's words.
    pub about: String,
    /// Where more is said of the rule.
    pub help: Option<String>,
    /// Numbers of weaknesses.
    pub cwes: Vec<u32>,
    /// Below the root.
    pub path: String,
    /// Nothing: the whole file.
    pub region: Option<Region>,
    /// A change that ends it, all in this file; empty: none.
    pub edits: Vec<Edit>,
}

/// A part of a text, as tools name it: 1-based, the end column not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region {
    pub start_line: u32,
    /// Nothing: from the line's beginning.
    pub start_column: Option<u32>,
    /// Nothing: the first line.
    pub end_line: Option<u32>,
    /// Nothing: to the line's end.
    pub end_column: Option<u32>,
    pub unit: Unit,
}

/// What columns count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    Utf16,
    Character,
    Byte,
}

/// One replacement within a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub at: Place,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Region(Region),
    /// In UTF-16 units from the beginning of the text.
    Utf16(usize, usize),
}

/// A finding of another tool, with what it is compared by.
#[derive(Debug, Clone, PartialEq)]
pub struct Grounded {
    pub finding: Finding,
    pub cwes: Vec<u32>,
    /// What stands at its place, to know it again on another side of the change.
    pub matched: String,
}

/// The text of one file, on which results are set in the order of their places.
pub struct Ground<'t> {
    lines: Lines<'t>,
    /// Counts equal findings, so that each has a name of its own.
    twins: HashMap<(RuleId, String), usize>,
}

impl Told {
    /// The id of its rule: `ruff/F401`; a bare tool's name where it names no rule.
    pub fn id(&self) -> RuleId {
        rule_id(&self.tool, &self.rule)
    }

    /// Who says so, and what the rule is about where that is more than the message.
    fn why(&self) -> String {
        if self.tool.is_empty() {
            return said(&self.about, MAX_ABOUT).unwrap_or_default();
        }
        let rule = visible_line(&truncate_chars(self.rule.trim(), MAX_RULE)).replace('`', "'");
        let who = if rule.is_empty() {
            format!("`{}` says so.", self.tool)
        } else {
            format!("`{}` says so by its rule `{rule}`.", self.tool)
        };
        match said(&self.about, MAX_ABOUT).filter(|about| !same_words(about, &self.message)) {
            Some(about) => format!("{about}\n\n{who}"),
            None => who,
        }
    }

    /// Where more is said: an address that can be opened without harm, else the first weakness.
    fn reference(&self) -> Option<String> {
        let safe = |c: char| c.is_ascii_alphanumeric() || "/.-_~#=&%+?:".contains(c);
        let help = self.help.as_deref().map(str::trim).filter(|help| {
            help.len() <= 500
                && help.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && rest.chars().all(safe))
        });
        // The weakness's own page is the weakness.
        let help = help.filter(|help| self.cwes.is_empty() || !help.starts_with("https://cwe.mitre.org/"));
        help.map(str::to_owned).or_else(|| self.cwes.first().map(|cwe| format!("CWE-{cwe}")))
    }

    /// All replacements as one change of whole lines; nothing where they cannot be one.
    fn fix(&self, lines: &Lines<'_>) -> Option<Fix> {
        let mut parts: Vec<(Range<usize>, &str)> = Vec::with_capacity(self.edits.len());
        for edit in &self.edits {
            let range = match edit.at {
                Place::Region(region) => exact(lines, region)?,
                Place::Utf16(start, end) => offset(lines.text(), start)?..offset(lines.text(), end)?,
            };
            lines.text().get(range.clone())?;
            parts.push((range, &edit.text));
        }
        // Two insertions at one place stay in the order in which the tool gave them.
        parts.sort_by_key(|(range, _)| (range.start, range.end));
        let whole = parts.first()?.0.start..parts.iter().map(|(range, _)| range.end).max()?;
        let (mut inserted, mut at) = (String::new(), whole.start);
        for (range, text) in &parts {
            inserted.push_str(lines.text().get(at..range.start)?);
            inserted.push_str(&text.replace("\r\n", "\n"));
            at = range.end;
        }
        // What takes whole lines away up to the next one's beginning leaves that one alone.
        let (mut whole, mut inserted) = (whole, inserted.as_str());
        let removed = lines.text().get(whole.clone())?;
        if removed.ends_with('\n') && (inserted.is_empty() || inserted.ends_with('\n')) {
            whole.end -= if removed.ends_with("\r\n") { 2 } else { 1 };
            inserted = inserted.strip_suffix('\n').unwrap_or(inserted);
            if whole.end < whole.start {
                return None;
            }
        }
        let fix = whole_lines(lines, whole, inserted)?;
        (fix.end_line - fix.start_line < MAX_FIX_LINES && fix.end_line as usize <= lines.count()).then_some(fix)
    }
}

impl<'t> Ground<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { lines: Lines::new(text), twins: HashMap::new() }
    }

    /// Sets a result on the text.
    pub fn set(&mut self, told: &Told) -> Grounded {
        let (lines, text) = (&self.lines, self.lines.text());
        let range = told.region.map_or_else(|| lines.bounds(1), |region| bytes(lines, region));
        let mut span = lines.span(range.clone());
        if (span.start_line, span.start_column) == (span.end_line, span.end_column) {
            // Who names a line or a point means what stands there.
            let line = lines.line(span.start_line);
            span.start_column = if span.start_column == 1 { indent(line) } else { span.start_column };
            span.end_column = columns(line).max(span.start_column);
        }
        // A part of many lines is known by where it begins: its inside changes for other reasons.
        let first = range.start..range.end.min(lines.bounds(span.start_line).end);
        let named = text.get(first).unwrap_or_default().trim();
        let matched = if named.is_empty() { lines.line(span.start_line).trim() } else { named };
        let rule = told.id();
        let nth = self.twins.entry((rule.clone(), matched.to_owned())).or_default();
        let fingerprint = Fingerprint::new(&rule, &told.path, matched, *nth);
        *nth += 1;
        let finding = Finding {
            category: told.category,
            severity: told.severity,
            path: told.path.clone(),
            span,
            message: said(&told.message, MAX_MESSAGE).unwrap_or_else(|| "It gives no reason.".to_owned()),
            why: told.why(),
            fix: told.fix(lines),
            reference: told.reference(),
            fingerprint,
            rule,
        };
        Grounded { finding, cwes: told.cwes.clone(), matched: matched.to_owned() }
    }
}

/// The id of a tool's rule.
pub fn rule_id(tool: &str, rule: &str) -> RuleId {
    let rule: String =
        visible_line(rule.trim()).chars().map(|c| if c.is_whitespace() || c == '`' { '-' } else { c }).collect();
    let rule = truncate_chars(&rule, MAX_RULE);
    RuleId(match (tool, rule.as_str()) {
        ("", rule) => rule.to_owned(),
        (tool, "") => tool.to_owned(),
        (tool, rule) => format!("{tool}/{rule}"),
    })
}

/// Whether a rule is another tool's.
pub fn is_foreign(rule: &RuleId) -> bool {
    rule.0.contains('/')
}

/// A tool's name as ids have it: `GolangCI-Lint` is `golangci-lint`.
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.trim().chars().take(60) {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "unnamed".to_owned() } else { slug.to_owned() }
}

/// A tool's text for people; nothing where there is none.
fn said(text: &str, most: usize) -> Option<String> {
    let text = visible(&text.replace("\r\n", "\n"));
    let text = truncate_chars(text.trim(), most);
    (!text.is_empty()).then_some(text)
}

fn same_words(one: &str, other: &str) -> bool {
    let plain =
        |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect() };
    plain(one) == plain(other)
}

/// Columns of a line, and the one after its last character.
fn columns(line: &str) -> u32 {
    u32::try_from(line.chars().count()).unwrap_or(u32::MAX).saturating_add(1)
}

/// The column of the first character that is to be seen.
fn indent(line: &str) -> u32 {
    let blank = line.chars().take_while(|c| c.is_whitespace()).count();
    let first = u32::try_from(blank).unwrap_or(u32::MAX).saturating_add(1);
    if first < columns(line) { first } else { 1 }
}

/// A region in a text, moved to what there is of it.
fn bytes(lines: &Lines<'_>, region: Region) -> Range<usize> {
    let last = u32::try_from(lines.count().max(1)).unwrap_or(u32::MAX);
    let start_line = region.start_line.clamp(1, last);
    let end_line = region.end_line.unwrap_or(start_line).clamp(start_line, last);
    let start = at(lines, start_line, region.start_column.unwrap_or(1), region.unit);
    let end = match region.end_column {
        // A tool may speak of the line after the last.
        Some(column) if region.end_line.is_none_or(|line| line <= last) => at(lines, end_line, column, region.unit),
        _ => lines.bounds(end_line).start + lines.line(end_line).len(),
    };
    // Backwards is a point.
    start..end.max(start)
}

/// A region to be replaced: where it is not there as named, nothing is.
fn exact(lines: &Lines<'_>, region: Region) -> Option<Range<usize>> {
    let count = u32::try_from(lines.count()).ok()?;
    let end_line = region.end_line.unwrap_or(region.start_line);
    if region.start_line == 0 || end_line < region.start_line || region.start_line > count.checked_add(1)? {
        return None;
    }
    if end_line > count && (end_line > count + 1 || region.end_column != Some(1)) {
        return None;
    }
    let start = at(lines, region.start_line, region.start_column.unwrap_or(1), region.unit);
    let end = match region.end_column {
        Some(column) => at(lines, end_line, column, region.unit),
        None => lines.bounds(end_line).start + lines.line(end_line).len(),
    };
    (start <= end).then_some(start..end)
}

/// The byte of a column; beyond the line's end it is the end.
fn at(lines: &Lines<'_>, line: u32, column: u32, unit: Unit) -> usize {
    let text = lines.line(line);
    let before = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
    let within = match unit {
        Unit::Byte => (0..=before.min(text.len())).rev().find(|at| text.is_char_boundary(*at)),
        Unit::Character => text.char_indices().nth(before).map(|(at, _)| at),
        Unit::Utf16 => offset(text, before),
    };
    lines.bounds(line).start + within.unwrap_or(text.len()).min(text.len())
}

/// The byte of a distance in UTF-16 units; nothing beyond the end, or within a character.
fn offset(text: &str, units: usize) -> Option<usize> {
    let mut left = units;
    for (at, c) in text.char_indices() {
        if left == 0 {
            return Some(at);
        }
        left = left.checked_sub(c.len_utf16())?;
    }
    (left == 0).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(region: Option<Region>) -> Told {
        Told {
            tool: "ruff".into(),
            rule: "F401".into(),
            severity: Severity::Medium,
            category: Category::Improvement,
            message: "`os` imported but unused".into(),
            about: String::new(),
            help: Some("https://docs.astral.sh/ruff/rules/unused-import".into()),
            cwes: Vec::new(),
            path: "a.py".into(),
            region,
            edits: Vec::new(),
        }
    }

    fn region(place: (u32, u32, u32, u32), unit: Unit) -> Region {
        let (start_line, start_column, end_line, end_column) = place;
        Region {
            start_line,
            start_column: Some(start_column),
            end_line: Some(end_line),
            end_column: Some(end_column),
            unit,
        }
    }

    #[track_caller]
    fn span(text: &str, given: Option<Region>, want: (u32, u32, u32, u32)) {
        let span = Ground::new(text).set(&told(given)).finding.span;
        assert_eq!((span.start_line, span.start_column, span.end_line, span.end_column), want);
    }

    #[test]
    fn columns_are_counted_as_the_tool_counts_them() {
        let text = "x = 1\n𝒳 = é(y)\n";
        span(text, Some(region((2, 6, 2, 7), Unit::Utf16)), (2, 5, 2, 6));
        span(text, Some(region((2, 5, 2, 6), Unit::Character)), (2, 5, 2, 6));
        span(text, Some(region((2, 8, 2, 10), Unit::Byte)), (2, 5, 2, 6));
    }

    #[test]
    fn a_place_beyond_the_text_is_moved_into_it() {
        let line =
            |start_line| Region { start_line, start_column: None, end_line: None, end_column: None, unit: Unit::Utf16 };
        span("a\n  bc\n", Some(line(2)), (2, 1, 2, 5));
        span("a\n  bc\n", Some(line(99)), (2, 1, 2, 5));
        span("a\n  bc\n", Some(region((2, 90, 2, 99), Unit::Utf16)), (2, 5, 2, 5));
        span("a\n  bc\n", Some(region((2, 1, 2, 1), Unit::Utf16)), (2, 3, 2, 5));
        span("a\n  bc\n", Some(region((2, 4, 1, 1), Unit::Utf16)), (2, 4, 2, 5));
        span("  a\nb\n", None, (1, 1, 1, 4));
        span("", None, (1, 1, 1, 1));
    }

    #[test]
    fn a_finding_says_who_says_so_and_is_known_again_when_lines_move() {
        let one = Ground::new("import os\n").set(&told(Some(region((1, 8, 1, 10), Unit::Character))));
        let other = Ground::new("\n\nimport os\n").set(&told(Some(region((3, 8, 3, 10), Unit::Character))));
        assert_eq!(one.finding.fingerprint, other.finding.fingerprint);
        assert_eq!(one.finding.rule.0, "ruff/F401");
        assert_eq!(one.finding.why, "`ruff` says so by its rule `F401`.");
        assert_eq!(one.finding.reference.as_deref(), Some("https://docs.astral.sh/ruff/rules/unused-import"));
        let mut ground = Ground::new("x\n");
        assert_ne!(
            ground.set(&told(None)).finding.fingerprint,
            ground.set(&told(None)).finding.fingerprint,
            "two of a kind are two"
        );
    }

    #[test]
    fn a_reference_is_an_address_of_the_web_or_a_weakness() {
        for (help, want) in [
            ("http://example.com/x", Some("CWE-95")),
            ("javascript:alert(1)", Some("CWE-95")),
            ("https://example.com/x) @ada", Some("CWE-95")),
            ("https://example.com/x", Some("https://example.com/x")),
        ] {
            let told = Told { help: Some(help.into()), cwes: vec![95], ..told(None) };
            assert_eq!(told.reference().as_deref(), want, "{help}");
        }
    }

    #[track_caller]
    fn fix(text: &str, edits: &[(Place, &str)], want: Option<(u32, u32, &str)>) {
        let edits = edits.iter().map(|(at, text)| Edit { at: *at, text: (*text).into() }).collect();
        let fix = Told { edits, ..told(None) }.fix(&Lines::new(text));
        let got = fix.as_ref().map(|fix| (fix.start_line, fix.end_line, fix.replacement.as_str()));
        assert_eq!(got, want);
    }

    #[test]
    fn replacements_become_one_change_of_whole_lines_or_none() {
        let at = |place| Place::Region(region(place, Unit::Character));
        fix("import os\nx\n", &[(at((1, 1, 2, 1)), "")], Some((1, 1, "")));
        fix("import os\nx\n", &[(at((1, 1, 2, 1)), "import re\n")], Some((1, 1, "import re")));
        fix("echo $1\n", &[(at((1, 8, 1, 8)), "\""), (at((1, 6, 1, 6)), "\"")], Some((1, 1, "echo \"$1\"")));
        fix("if (!!a)\n", &[(Place::Utf16(4, 7), "a")], Some((1, 1, "if (a)")));
        fix("𝒳 = !!a\n", &[(Place::Utf16(5, 8), "a")], Some((1, 1, "𝒳 = a")));
        fix("𝒳\n", &[(Place::Utf16(1, 2), "a")], None);
        fix("ab\n", &[(at((1, 1, 1, 3)), "x"), (at((1, 2, 1, 3)), "y")], None);
        fix("ab\n", &[(at((7, 1, 7, 3)), "x")], None);
        fix("ab\n", &[], None);
        fix("a\nb", &[(at((2, 1, 2, 2)), "c")], Some((2, 2, "c")));
    }

    #[test]
    fn names_become_ids_that_neither_steer_nor_run_on() {
        assert_eq!(slug(" GolangCI-Lint (v2)! "), "golangci-lint-v2");
        assert_eq!(slug("日本"), "unnamed");
        assert_eq!(rule_id("eslint", "@typescript-eslint/no-shadow").0, "eslint/@typescript-eslint/no-shadow");
        assert!(!rule_id("x", "a\u{202e}b\n`c` d\u{1b}[0m").0.contains(['\u{202e}', '\n', '`', '\u{1b}', ' ']));
        assert!(rule_id("x", &"y".repeat(5_000)).0.len() < 200);
    }
}
