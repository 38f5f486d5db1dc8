//! An entry in a changelog that people write by hand: under what is not released yet, in the file's own style.

use std::sync::LazyLock;

use regex::Regex;

use crate::agent::contribute::words;

/// The subsections of "Keep a Changelog", in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    Added,
    Changed,
    Deprecated,
    Removed,
    Fixed,
    Security,
}

impl Group {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Added => "Added",
            Self::Changed => "Changed",
            Self::Deprecated => "Deprecated",
            Self::Removed => "Removed",
            Self::Fixed => "Fixed",
            Self::Security => "Security",
        }
    }

    /// What a heading stands for, also in the words of near relatives.
    fn of(heading: &str) -> Option<Self> {
        let plain: String =
            heading.chars().filter(|c| c.is_alphanumeric() || *c == ' ').collect::<String>().to_lowercase();
        let is = |names: &[&str]| names.contains(&plain.trim());
        if is(&["added", "features", "new features", "feature", "enhancements", "new"]) {
            Some(Self::Added)
        } else if is(&["changed", "changes", "improvements", "improved"]) {
            Some(Self::Changed)
        } else if is(&["deprecated", "deprecations"]) {
            Some(Self::Deprecated)
        } else if is(&["removed", "removals"]) {
            Some(Self::Removed)
        } else if is(&["fixed", "fixes", "bug fixes", "bugfixes", "bug fix"]) {
            Some(Self::Fixed)
        } else if is(&["security", "security fixes"]) {
            Some(Self::Security)
        } else {
            None
        }
    }
}

/// A changelog with the entry in it, and where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entered {
    pub(super) text: String,
    /// For instance "Unreleased, Fixed".
    pub(super) heading: String,
}

/// A heading: its line, its depth, and its words. An underlined one has two lines.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Heading {
    line: usize,
    lines: usize,
    depth: usize,
    text: String,
}

/// Adds an entry, without its bullet and full stop.
///
/// # Errors
/// Why the file's form is not one that an entry can be added to for certain, as a clause.
pub(super) fn enter(path: &str, text: &str, group: Group, entry: &str) -> Result<Entered, String> {
    let rst = path.to_ascii_lowercase().ends_with(".rst");
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines: Vec<&str> = text.lines().collect();
    if end == "\r\n" && text.matches('\n').count() != text.matches(end).count() {
        return Err("its lines end in more than one way".to_owned());
    }
    let marked = if rst { Vec::new() } else { hashed(&lines) };
    let lined = marked.is_empty();
    let headings = if lined { underlined(&lines) } else { marked };
    let mut open = headings.iter().enumerate().filter(|(_, heading)| is_unreleased(&heading.text));
    let (at, section) = match (open.next(), open.next()) {
        (Some(one), None) => one,
        (Some(_), Some(_)) => return Err("it has several sections for what is not released".to_owned()),
        (None, _) => return Err("it has no section for what is not released".to_owned()),
    };
    let below = headings.get(at + 1..).unwrap_or_default();
    let inside: Vec<&Heading> = below.iter().take_while(|heading| heading.depth > section.depth).collect();
    let last = below.iter().find(|heading| heading.depth <= section.depth).map_or(lines.len(), |heading| heading.line);
    // Where links lead is told at the end.
    let links = lines.iter().skip(section.line).position(|line| is_reference(line)).map(|at| section.line + at);
    let last = last.min(links.unwrap_or(last));
    let style = Style::of(&lines, rst);
    let line = style.bullet(entry);
    if lines.iter().any(|known| same(known, &line)) {
        return Err("it tells of this already".to_owned());
    }
    let grouped = headings.iter().any(|heading| heading.depth > section.depth && Group::of(&heading.text).is_some());
    let first = section.line + section.lines;
    if let Some(own) = inside.iter().find(|heading| Group::of(&heading.text) == Some(group)) {
        let start = own.line + own.lines;
        let stop = inside.iter().map(|heading| heading.line).find(|line| *line > own.line).unwrap_or(last);
        let at = after_items(&lines, start, stop);
        let empty = at == start;
        let mut new = if empty { vec![String::new()] } else { Vec::new() };
        new.push(line);
        // What followed the heading directly is kept apart from the new list.
        let heading = format!("{}, {}", section.text, own.text);
        let gap = empty && lines.get(at).is_some_and(|next| !next.trim().is_empty());
        new.extend(gap.then(String::new));
        return Ok(Entered { text: inserted(&lines, at, &new, end), heading });
    }
    if grouped {
        let known = headings.iter().find(|heading| Group::of(&heading.text) == Some(group));
        let depth =
            headings.iter().find(|heading| Group::of(&heading.text).is_some()).map_or(section.depth + 1, |h| h.depth);
        let title = known.map_or_else(|| group.title().to_owned(), |heading| heading.text.clone());
        let later = inside.iter().find(|heading| Group::of(&heading.text).is_some_and(|other| other > group));
        let at = later.map_or_else(|| trimmed(&lines, first, last), |heading| trimmed(&lines, first, heading.line));
        let mut new = vec![String::new()];
        if lined {
            let sign = sign_of(&lines, &headings, depth).ok_or("how it underlines its headings is not known")?;
            new.extend([title.clone(), sign.to_string().repeat(title.chars().count())]);
        } else {
            new.push(format!("{} {title}", "#".repeat(depth)));
        }
        new.extend([String::new(), line]);
        return Ok(Entered { text: inserted(&lines, at, &new, end), heading: format!("{}, {title}", section.text) });
    }
    if !inside.is_empty() {
        return Err("its sections are not told apart by the kind of change".to_owned());
    }
    let flat = lines.get(first..last).unwrap_or_default().iter().any(|line| is_item(line));
    if flat || style.items > 0 {
        let at = after_items(&lines, first, last);
        let mut new = if at == first { vec![String::new()] } else { Vec::new() };
        new.push(line);
        return Ok(Entered { text: inserted(&lines, at, &new, end), heading: section.text.clone() });
    }
    let keeps = text.to_lowercase().contains("keepachangelog.com");
    let quiet = lines.get(first..last).unwrap_or_default().iter().all(|line| line.trim().is_empty());
    if !keeps || !quiet || lined {
        return Err("it has no entry yet whose form could be followed".to_owned());
    }
    let new = [String::new(), format!("{} {}", "#".repeat(section.depth + 1), group.title()), String::new(), line];
    Ok(Entered { text: inserted(&lines, first, &new, end), heading: format!("{}, {}", section.text, group.title()) })
}

/// Whether a program writes the file, by its own words.
pub(super) fn is_generated(text: &str) -> bool {
    static GENERATED: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)(auto(?:matically)?[- ]?generated|generated by|do not edit|conventional-changelog|standard-version|towncrier release notes start|semantic-release|release-please|git-cliff)",
        )
    });
    let head: String = text.lines().take(20).collect::<Vec<_>>().join("\n");
    GENERATED.is_match(&head) || text.contains("towncrier release notes start")
}

fn is_unreleased(heading: &str) -> bool {
    static OPEN: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)^\[?(?:unreleased(?: changes)?|not (?:yet )?released|upcoming)\]?(?:\(.*\))?(?:\s*[-–(:].*)?$|^\[?(?:head|main|master|next|dev(?:elopment)?|v?\d+(?:\.\d+)+)\]?\s*[-–]?\s*\(?\s*(?:unreleased|not (?:yet )?released|in development)\s*\)?$",
        )
    });
    OPEN.is_match(heading.trim())
}

fn hashed(lines: &[&str]) -> Vec<Heading> {
    let mut fenced = false;
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            fenced = !fenced;
        }
        let depth = line.chars().take_while(|c| *c == '#').count();
        let rest = line.get(depth..).unwrap_or_default();
        if !fenced && (1..=6).contains(&depth) && rest.starts_with(' ') {
            let text = rest.trim().trim_end_matches('#').trim().to_owned();
            all.push(Heading { line: at, lines: 1, depth, text });
        }
    }
    all
}

/// Headings of reStructuredText, whose depth is told by the order in which their signs first come.
fn underlined(lines: &[&str]) -> Vec<Heading> {
    let mut signs: Vec<char> = Vec::new();
    let mut all = Vec::new();
    for (at, pair) in lines.windows(2).enumerate() {
        let [title, under] = pair else { continue };
        let Some(sign) = underline(under) else { continue };
        if title.trim().is_empty()
            || underline(title).is_some()
            || under.trim_end().len() < title.trim_end().chars().count()
        {
            continue;
        }
        if !signs.contains(&sign) {
            signs.push(sign);
        }
        let depth = signs.iter().position(|known| *known == sign).unwrap_or(0) + 1;
        all.push(Heading { line: at, lines: 2, depth, text: title.trim().to_owned() });
    }
    all
}

fn underline(line: &str) -> Option<char> {
    let line = line.trim_end();
    let sign = line.chars().next().filter(|c| "=-~^\"'`#*+._:".contains(*c))?;
    (line.len() >= 3 && line.chars().all(|c| c == sign)).then_some(sign)
}

fn sign_of(lines: &[&str], headings: &[Heading], depth: usize) -> Option<char> {
    let one = headings.iter().find(|heading| heading.depth == depth)?;
    underline(lines.get(one.line + 1)?)
}

/// How the file writes its entries.
struct Style {
    bullet: char,
    full_stop: bool,
    capital: bool,
    items: usize,
    rst: bool,
}

impl Style {
    fn of(lines: &[&str], rst: bool) -> Self {
        let mut items: Vec<(char, String)> = Vec::new();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_item(line) && !line.starts_with(' ')) {
            let mut whole = line.get(2..).unwrap_or_default().trim().to_owned();
            for more in lines
                .get(at + 1..)
                .unwrap_or_default()
                .iter()
                .take_while(|more| more.starts_with("  ") && !is_item(more))
            {
                whole = more.trim().to_owned();
            }
            let first = line.get(2..).and_then(|text| text.trim().chars().next()).unwrap_or('-');
            items.push((line.chars().next().unwrap_or('-'), format!("{first}{whole}")));
        }
        let most = |of: fn(&str) -> bool| items.iter().filter(|(_, text)| of(text)).count() * 2 > items.len();
        let bullets = ['-', '*', '+'].map(|sign| (items.iter().filter(|(bullet, _)| *bullet == sign).count(), sign));
        let bullet =
            bullets.iter().rev().max_by_key(|(n, _)| *n).filter(|(n, _)| *n > 0).map_or('-', |(_, sign)| *sign);
        let lower = most(|text| text.starts_with(char::is_lowercase));
        Self { bullet, full_stop: most(|text| text.ends_with('.')), capital: !lower, items: items.len(), rst }
    }

    fn bullet(&self, entry: &str) -> String {
        let entry = if self.rst { entry.replace('`', "``") } else { entry.to_owned() };
        let mut chars = entry.chars();
        let first = chars.next().map(|c| {
            let other = if self.capital { c.to_uppercase().to_string() } else { c.to_lowercase().to_string() };
            // An abbreviation stays one.
            if chars.clone().next().is_some_and(char::is_uppercase) { c.to_string() } else { other }
        });
        let entry = first.unwrap_or_default() + chars.as_str();
        format!("{} {entry}{}", self.bullet, if self.full_stop { "." } else { "" })
    }
}

fn is_item(line: &str) -> bool {
    ["- ", "* ", "+ "].iter().any(|sign| line.trim_start().starts_with(sign))
}

/// `[1.0.0]: https://…`
fn is_reference(line: &str) -> bool {
    line.starts_with('[') && line.split_once("]:").is_some_and(|(name, _)| !name.contains(' ') || !name.contains('('))
}

fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.trim().trim_start_matches(['-', '*', '+', ' ']).trim_end_matches('.').to_lowercase();
    plain(one) == plain(other)
}

/// The line after the last item between two lines, with what is indented below it; the first line when there is none.
fn after_items(lines: &[&str], first: usize, last: usize) -> usize {
    let range = lines.get(first..last).unwrap_or_default();
    let Some(item) = range.iter().rposition(|line| is_item(line)) else { return first };
    let more = range
        .get(item + 1..)
        .unwrap_or_default()
        .iter()
        .take_while(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    first + item + 1 + more.count()
}

/// The line after the last one between two that is not blank.
fn trimmed(lines: &[&str], first: usize, last: usize) -> usize {
    let range = lines.get(first..last).unwrap_or_default();
    first + range.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1)
}

fn inserted(lines: &[&str], at: usize, new: &[String], end: &str) -> String {
    let (before, after) = lines.split_at(at.min(lines.len()));
    let all = before.iter().copied().chain(new.iter().map(String::as_str)).chain(after.iter().copied());
    all.fold(String::new(), |text, line| text + line + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: &str = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n### Fixed\n\n- One thing\n  of two lines.\n\n## [1.0.0] - 2026-01-01\n\n### Fixed\n\n- Old thing.\n\n[Unreleased]: https://e.example/compare\n";

    #[track_caller]
    fn check(path: &str, text: &str, group: Group, old: &str, new: &str) {
        let entered = enter(path, text, group, "mend `x`").unwrap();
        assert_eq!(entered.text, text.replacen(old, new, 1), "{text}");
    }

    #[test]
    fn an_entry_stands_last_in_its_subsection_in_the_file_s_own_style() {
        check("CHANGELOG.md", KEPT, Group::Fixed, "of two lines.\n", "of two lines.\n- Mend `x`.\n");
        check("CHANGELOG.md", KEPT, Group::Added, "- A thing.\n", "- A thing.\n- Mend `x`.\n");
        let plain = KEPT.replace("- ", "* ").replace(".\n", "\n").replace("1.0.0] * 2026", "1.0.0] - 2026");
        check("CHANGELOG.md", &plain, Group::Fixed, "of two lines\n", "of two lines\n* Mend `x`\n");
        let relatives = KEPT.replace("### Fixed", "### 🐛 Bug fixes");
        check("CHANGELOG.md", &relatives, Group::Fixed, "of two lines.\n", "of two lines.\n- Mend `x`.\n");
    }

    #[test]
    fn a_missing_subsection_is_made_in_its_place() {
        check("CHANGELOG.md", KEPT, Group::Changed, "- A thing.\n", "- A thing.\n\n### Changed\n\n- Mend `x`.\n");
        check(
            "CHANGELOG.md",
            KEPT,
            Group::Security,
            "of two lines.\n",
            "of two lines.\n\n### Security\n\n- Mend `x`.\n",
        );
        let empty = "# Changelog\n\nAs in https://keepachangelog.com\n\n## [Unreleased]\n";
        check("CHANGELOG.md", empty, Group::Fixed, "## [Unreleased]\n", "## [Unreleased]\n\n### Fixed\n\n- Mend `x`\n");
        let released = "# Log\n\n## Unreleased\n\n## 1.0\n\n### Bugfixes\n\n- old\n";
        check("CHANGES.md", released, Group::Fixed, "## Unreleased\n", "## Unreleased\n\n### Bugfixes\n\n- mend `x`\n");
    }

    #[test]
    fn a_flat_list_and_restructured_text_are_followed() {
        let flat = "# Changes\n\n## 2.0 (unreleased)\n\n* a\n* b\n\n## 1.0\n\n* c\n";
        check("CHANGES.md", flat, Group::Fixed, "* b\n", "* b\n* mend `x`\n");
        let rst = "Changes\n=======\n\nUnreleased\n----------\n\n- A.\n\n1.0\n---\n\n- B.\n";
        check("CHANGES.rst", rst, Group::Fixed, "- A.\n", "- A.\n- Mend ``x``.\n");
        let crlf = flat.replace('\n', "\r\n");
        check("CHANGES.md", &crlf, Group::Fixed, "* b\r\n", "* b\r\n* mend `x`\r\n");
    }

    #[test]
    fn a_file_of_another_form_gets_no_entry() {
        for text in [
            "# Changelog\n\n## 1.0\n\n- a\n",
            "# Changelog\n\n## Unreleased\n\n### The parser\n\n- a\n",
            "# Changelog\n\n## Unreleased\n\n- a\n\n## [Unreleased]\n\n- b\n",
            "# Changelog\n\n## Unreleased\n",
            "# Changelog\n\n## Unreleased\n\n- Mend `x`.\n",
            "# Changelog\n\n```\n## Unreleased\n```\n\n- a\n",
            "",
        ] {
            assert!(enter("CHANGELOG.md", text, Group::Fixed, "mend `x`").is_err(), "{text}");
        }
        assert!(is_generated("<!-- This file is generated by git-cliff -->\n") && !is_generated(KEPT));
    }

    #[test]
    fn the_order_of_the_groups_is_the_convention_s() {
        let all = [Group::Added, Group::Changed, Group::Deprecated, Group::Removed, Group::Fixed, Group::Security];
        assert!(all.is_sorted());
        for group in all {
            assert_eq!(Group::of(group.title()), Some(group));
        }
    }
}
