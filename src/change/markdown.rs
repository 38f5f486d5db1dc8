//! The Markdown of the documents: headings that are ours, and texts of others that never look like one.
//!
//! A line of a text that would be a heading, a rule, a fence without its end or a block of HTML gets a backslash, which
//! Markdown does not show, and loses it when it is read. Inside a fence that ends, nothing is touched on either side.

/// Lines that an indented fence may have; a fence that begins its line may have any number.
const MAX_INDENTED: usize = 1_000;

/// What a line is to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// Where a block of code begins or ends.
    Fence,
    /// Code.
    Fenced,
}

/// A heading, and what stands below it up to the next.
#[derive(Debug)]
pub(super) struct Section<'a> {
    /// 1 to 6.
    pub level: usize,
    pub title: &'a str,
    pub lines: Vec<(Kind, &'a str)>,
    /// The heading as it stands.
    line: &'a str,
}

/// The frontmatter and the body. No frontmatter: all of it is the body.
pub(super) fn split(text: &str) -> (Option<&str>, &str) {
    let Some(rest) = text.strip_prefix("---\n") else { return (None, text) };
    let mut from = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (Some(&rest[..from]), &rest[from + line.len()..]);
        }
        from += line.len();
    }
    (None, text)
}

/// Every heading outside code, with its lines.
pub(super) fn sections(body: &str) -> Vec<Section<'_>> {
    let lines: Vec<&str> = body.split('\n').collect();
    let mut found: Vec<Section> = Vec::new();
    for (kind, line) in kinds(&lines).into_iter().zip(lines) {
        match heading(line) {
            Some((level, title)) if kind == Kind::Text => found.push(Section { level, title, lines: Vec::new(), line }),
            _ => {
                if let Some(section) = found.last_mut() {
                    section.lines.push((kind, line));
                }
            }
        }
    }
    found
}

/// The section of that name, with those below it. The case of letters does not matter.
pub(super) fn find<'s, 'a>(sections: &'s [Section<'a>], level: usize, title: &str) -> Option<&'s [Section<'a>]> {
    let at = sections.iter().position(|section| section.level == level && section.title.eq_ignore_ascii_case(title))?;
    Some(whole(sections, at))
}

/// A section and those that are deeper, up to the next that is not.
pub(super) fn whole<'s, 'a>(sections: &'s [Section<'a>], at: usize) -> &'s [Section<'a>] {
    let level = sections[at].level;
    let more = sections[at + 1..].iter().take_while(|section| section.level > level).count();
    &sections[at..=at + more]
}

/// Those of that level, each with what is below it.
pub(super) fn each<'s, 'a>(sections: &'s [Section<'a>], level: usize) -> impl Iterator<Item = &'s [Section<'a>]> {
    let at = move |(at, section): (usize, &Section)| (section.level == level).then_some(at);
    sections.iter().enumerate().filter_map(at).map(|at| whole(sections, at))
}

/// The text below a heading, also under deeper headings that somebody else put there.
pub(super) fn prose(section: &[Section<'_>]) -> String {
    beneath(section, 0)
}

/// The same without its first lines, which are fields.
pub(super) fn beneath(section: &[Section<'_>], fields: usize) -> String {
    let [first, more @ ..] = section else { return String::new() };
    let mut lines = first.lines[fields..].to_vec();
    for part in more {
        lines.push((Kind::Fence, part.line));
        lines.extend(part.lines.iter().copied());
    }
    read_text(&lines)
}

/// Lines as the text that they were written from.
pub(super) fn read_text(lines: &[(Kind, &str)]) -> String {
    let read = |(kind, line): &(Kind, &str)| if *kind == Kind::Text { unescaped(line) } else { (*line).to_owned() };
    lines.iter().map(read).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The code of the first block.
pub(super) fn code(lines: &[(Kind, &str)]) -> Option<String> {
    let from = lines.iter().position(|(kind, _)| *kind == Kind::Fence)? + 1;
    let code: Vec<&str> =
        lines[from..].iter().take_while(|(kind, _)| *kind == Kind::Fenced).map(|(_, line)| *line).collect();
    Some(code.join("\n").trim().to_owned())
}

/// The entries of the list below a heading, each of one line or more.
pub(super) fn items(lines: &[(Kind, &str)]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, line) in lines {
        match bullet(line) {
            Some(text) => found.push(unescaped(text)),
            None => {
                if let Some(item) = found.last_mut() {
                    item.push('\n');
                    let line = line.strip_prefix("  ").unwrap_or_else(|| line.trim_start_matches(' '));
                    item.push_str(&unescaped(line));
                }
            }
        }
    }
    found.iter().map(|item| item.trim().to_owned()).collect()
}

fn bullet(line: &str) -> Option<&str> {
    ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark))
}

/// The lines `- Name: value` right below a heading, of the names that are known, and how many lines they take with what is
/// blank before them.
pub(super) fn fields<'a, const N: usize>(lines: &[(Kind, &'a str)], names: [&str; N]) -> ([Option<&'a str>; N], usize) {
    let mut values = [None; N];
    let mut taken = lines.iter().take_while(|(_, line)| line.trim().is_empty()).count();
    for (_, line) in &lines[taken..] {
        let Some((name, value)) = bullet(line).and_then(|text| text.split_once(':')) else { break };
        // Somebody may have put the name in bold, with the colon or without.
        let (bold, name) = name.strip_prefix("**").map_or((false, name), |name| (!name.ends_with("**"), name));
        let name = name.trim_end_matches("**");
        let Some(at) = names.iter().position(|known| known.eq_ignore_ascii_case(name)) else { break };
        values[at] = Some(value.strip_prefix("**").filter(|_| bold).unwrap_or(value).trim());
        taken += 1;
    }
    (values, taken)
}

/// A text as it is written below a heading.
pub(super) fn text(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let write = |(kind, line): (Kind, &str)| if kind == Kind::Text { escaped(line) } else { line.to_owned() };
    kinds(&lines).into_iter().zip(lines).map(write).collect::<Vec<_>>().join("\n")
}

/// A text as an entry of a list, with its line end. There, no line begins a block of code.
pub(super) fn item(text: &str) -> String {
    let mut out = String::new();
    for (at, line) in text.split('\n').enumerate() {
        let margin = match at {
            0 => "- ",
            _ if line.is_empty() => "",
            _ => "  ",
        };
        out.push_str(margin);
        out.push_str(&escaped(line));
        out.push('\n');
    }
    out
}

/// A block of code, whatever it holds.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

/// One line as code, whatever it holds.
pub(super) fn span(text: &str) -> String {
    let mark = "`".repeat(longest_run(text) + 1);
    // A backtick at the edge would make the mark longer.
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{mark}{pad}{text}{pad}{mark}")
}

/// The code that a line begins with, and what follows; a line without is its first word.
pub(super) fn read_span(line: &str) -> (&str, &str) {
    let marks = line.len() - line.trim_start_matches('`').len();
    if marks == 0 {
        return line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()));
    }
    let inside = &line[marks..];
    let mut from = 0;
    while let Some(at) = inside[from..].find('`').map(|at| from + at) {
        let run = inside[at..].len() - inside[at..].trim_start_matches('`').len();
        if run == marks {
            let code = &inside[..at];
            let bare = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' ')).unwrap_or(code);
            return (bare, inside[at + run..].trim());
        }
        from = at + run;
    }
    (line, "")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// Blanks at the beginning, where there are few enough for a line to mean something.
fn margin(line: &str) -> Option<usize> {
    let blanks = line.len() - line.trim_start_matches(' ').len();
    (blanks < 4).then_some(blanks)
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = &line[margin(line)?..];
    let title = rest.trim_start_matches('#');
    let level = rest.len() - title.len();
    let is_one = (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']));
    is_one.then(|| (level, title.trim()))
}

/// What a fence is made of, how long it is, and whether it may end a block.
fn fence(line: &str) -> Option<(char, usize, bool)> {
    let rest = &line[margin(line)?..];
    let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let more = rest.trim_start_matches(mark);
    let length = rest.len() - more.len();
    let is_one = length >= 3 && !(mark == '`' && more.contains('`'));
    is_one.then(|| (mark, length, more.trim().is_empty()))
}

/// What of a line decides on blocks of code; looked at once, since blocks are looked for from many lines.
struct Edge {
    /// As [`fence`] says.
    fence: Option<(char, usize, bool)>,
    /// Blanks at the beginning; none of a line that has nothing else.
    stands: Option<usize>,
}

impl Edge {
    fn of(line: &&str) -> Self {
        let bare = line.trim_start_matches(' ');
        Self { fence: fence(line), stands: (!bare.trim().is_empty()).then(|| line.len() - bare.len()) }
    }
}

/// Tells text from blocks of code. A block that never ends, or whose lines stand further left than its beginning, is text.
fn kinds(lines: &[&str]) -> Vec<Kind> {
    let edges: Vec<Edge> = lines.iter().map(Edge::of).collect();
    let mut kinds = vec![Kind::Text; lines.len()];
    // The longest end of each kind from a line on, so that no search is in vain.
    let mut ends = vec![[0_usize; 2]; lines.len() + 1];
    for at in (0..lines.len()).rev() {
        ends[at] = ends[at + 1];
        if let Some((mark, length, true)) = edges[at].fence {
            let longest = &mut ends[at][usize::from(mark == '~')];
            *longest = length.max(*longest);
        }
    }
    let mut at = 0;
    while at < lines.len() {
        let end = edges[at].fence.filter(|(mark, length, _)| ends[at + 1][usize::from(*mark == '~')] >= *length);
        let Some(end) = end.and_then(|(mark, length, _)| block_end(&edges, at, mark, length)) else {
            at += 1;
            continue;
        };
        kinds[at..=end].fill(Kind::Fenced);
        (kinds[at], kinds[end]) = (Kind::Fence, Kind::Fence);
        at = end + 1;
    }
    kinds
}

fn block_end(edges: &[Edge], from: usize, mark: char, length: usize) -> Option<usize> {
    let blanks = edges[from].stands.unwrap_or_default();
    let most = if blanks == 0 { usize::MAX } else { MAX_INDENTED };
    for (at, edge) in edges.iter().enumerate().skip(from + 1).take(most) {
        if edge.stands.is_some_and(|stands| stands < blanks) {
            return None;
        }
        if edge.fence.is_some_and(|(other, count, ends)| ends && other == mark && count >= length) {
            return Some(at);
        }
    }
    None
}

/// Blanks, backslashes, and whether what follows would mean something.
fn meaning(line: &str) -> Option<(usize, usize)> {
    let blanks = margin(line)?;
    let rest = &line[blanks..];
    let bare = rest.trim_start_matches('\\');
    let ruled = |mark: char| !bare.is_empty() && bare.trim_end().chars().all(|c| c == mark) && bare.starts_with(mark);
    let html = bare
        .strip_prefix('<')
        .is_some_and(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')));
    let means = heading(bare).is_some()
        || bare.starts_with("```")
        || bare.starts_with("~~~")
        || ruled('-')
        || ruled('=')
        || html;
    means.then_some((blanks, rest.len() - bare.len()))
}

fn escaped(line: &str) -> String {
    match meaning(line) {
        Some((blanks, _)) => format!("{}\\{}", &line[..blanks], &line[blanks..]),
        None => line.to_owned(),
    }
}

fn unescaped(line: &str) -> String {
    match meaning(line) {
        Some((blanks, 1..)) => format!("{}{}", &line[..blanks], &line[blanks + 1..]),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both_ways(one: &str) -> String {
        let written = text(one);
        let body = format!("## Why\n\n{written}\n\n## Next\n\nx\n");
        let read = sections(&body);
        assert_eq!(read.len(), 2, "{body}");
        assert_eq!(prose(&read[..1]), one, "{body}");
        let listed = format!("## Why\n\n{}- next\n\n## Next\n", item(one));
        let read = sections(&listed);
        assert_eq!(items(&read[0].lines), [one, "next"], "{listed}");
        written
    }

    #[test]
    fn what_looks_like_a_heading_gets_a_backslash() {
        for (line, want) in [
            ("## Verdict", "\\## Verdict"),
            ("a\n   # b", "a\n   \\# b"),
            ("\\# b", "\\\\# b"),
            ("a\n---", "a\n\\---"),
            ("a\n===", "a\n\\==="),
            ("#5 is no heading", "#5 is no heading"),
            ("    # code", "# code"),
            ("<!-- a", "\\<!-- a"),
            ("a < b", "a < b"),
        ] {
            assert_eq!(
                both_ways(line.trim_start_matches("    ")),
                want.trim_start_matches("    ").replace("# code", "\\# code"),
                "{line}"
            );
        }
    }

    #[test]
    fn code_stays_as_it_is_and_a_fence_without_end_is_text() {
        for (line, want) in [
            ("```sh\n# a\n---\n```\n# b", "```sh\n# a\n---\n```\n\\# b"),
            ("```sh\n# a", "\\```sh\n\\# a"),
            ("~~~\n```\n# a\n~~~", "~~~\n```\n# a\n~~~"),
            ("- a\n  ```\n  # b\n  ```", "- a\n  ```\n  # b\n  ```"),
            // Markdown would end the entry there, and the block with it.
            ("- a\n  ```\n# b\n  ```", "- a\n  \\```\n\\# b\n  \\```"),
            ("````\n```\n# a\n````", "````\n```\n# a\n````"),
        ] {
            assert_eq!(both_ways(line), want);
        }
    }

    #[test]
    fn code_holds_whatever_it_holds() {
        for text in ["a", "```", "a\n````x\n# b", "`"] {
            let body = format!("## Flow\n\n{}\n\n## Next\n", fenced("mermaid", text));
            let read = sections(&body);
            assert_eq!((read.len(), code(&read[0].lines).as_deref()), (2, Some(text)), "{body}");
        }
        for text in ["src/a.rs", "`", "a`b``c", "``a b", "__init__.py"] {
            assert_eq!(read_span(&format!("{} (CREATE)", span(text))), (text, "(CREATE)"));
        }
        assert_eq!(read_span("src/a.rs (CREATE)"), ("src/a.rs", "(CREATE)"));
    }

    #[test]
    fn a_text_of_fences_takes_no_longer_than_its_length() {
        let many = " ```x\n".repeat(30_000) + "y\n ```";
        let begun = std::time::Instant::now();
        text(&many);
        assert!(begun.elapsed().as_secs() < 20);
    }
}
