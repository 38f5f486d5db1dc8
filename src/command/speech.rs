//! Which parts of a comment are its writer's own plain words, as GitHub shows them: no quote, no code, no markup.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::element::{Elements, Piece};

/// So many list items may open on one line. Nobody writes so, and every line after it would be held against each of them.
const MAX_ITEMS: usize = 200;

/// For each byte of the text (line ends are `\n`) whether it is plain: text of a paragraph that stands in nothing else,
/// neither in Markdown nor in HTML.
pub(super) fn plain(text: &str) -> Vec<bool> {
    let mut plain = vec![false; text.len()];
    if text.lines().any(|line| items(line) > MAX_ITEMS) {
        return plain;
    }
    // What GitHub reads beyond CommonMark, and mathematics: what stands in any of it is not plain.
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM;
    let mut elements = Elements::new(text);
    let mut tables = Vec::new();
    let (mut depth, mut block, mut paragraph, mut nested) = (0_usize, 0..0, false, false);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                depth += 1;
                if depth == 1 {
                    block = range.clone();
                    paragraph = matches!(tag, Tag::Paragraph);
                    nested = !matches!(tag, Tag::Paragraph | Tag::HtmlBlock);
                }
                if depth == 1 && paragraph {
                    tables.extend(table(&text[range.clone()]).map(|at| range.start + at..range.end));
                }
                if matches!(tag, Tag::HtmlBlock) {
                    elements.read(Piece { range, block_end: block.end, nested });
                }
            }
            Event::End(_) => depth -= 1,
            Event::Text(_) if depth == 1 && paragraph => plain[range].fill(true),
            Event::InlineHtml(_) => elements.read(Piece { range, block_end: block.end, nested }),
            _ => {}
        }
    }
    withdraw(&mut plain, &elements.contents());
    withdraw(&mut plain, &tables);
    plain
}

/// Linear in the text, however the ranges nest.
fn withdraw(plain: &mut [bool], ranges: &[Range<usize>]) {
    let mut steps = vec![0_i64; plain.len() + 1];
    for range in ranges {
        steps[range.start] += 1;
        steps[range.end] -= 1;
    }
    let mut open = 0;
    for (byte, step) in plain.iter_mut().zip(steps) {
        open += step;
        *byte &= open == 0;
    }
}

/// Where a table begins that GitHub sees in a paragraph and our parser does not: its header, a single column, has no bar.
fn table(paragraph: &str) -> Option<usize> {
    let ruler =
        |line: &str| line.contains('-') && line.chars().all(|c| matches!(c, '|' | ':' | '-' | ' ' | '\t' | '\n'));
    let (mut before, mut start) = (0, 0);
    for line in paragraph.split_inclusive('\n') {
        if start > 0 && ruler(line) {
            return Some(before);
        }
        before = start;
        start += line.len();
    }
    None
}

/// How many list marks open the line, at least.
fn items(line: &str) -> usize {
    let marks = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '\t' | '>' | '-' | '+' | '*' | '.' | ')');
    let head = &line[..line.find(|c| !marks(c)).unwrap_or(line.len())];
    head.split([' ', '\t', '>']).filter(|mark| mark.ends_with(['-', '+', '*', '.', ')'])).count()
}
