//! Byte offsets to lines and columns, and lines to their text.

use std::ops::Range;

use crate::domain::Span;

/// Where each line of a text begins.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    /// A text without a final line ending has as many lines as one with it.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - usize::from(self.text.ends_with('\n') || self.text.is_empty())
    }

    /// The 1-based line that holds a byte offset.
    pub(super) fn line_at(&self, offset: usize) -> u32 {
        to_u32(self.starts.partition_point(|start| *start <= offset))
    }

    /// 1-based lines and character columns; the end is moved back over a trailing line ending, so that a match which
    /// takes in its newline does not claim the next line.
    pub(super) fn span(&self, range: Range<usize>) -> Span {
        let matched = self.text.get(range.clone()).unwrap_or_default();
        let end = range.start + matched.trim_end_matches(['\n', '\r']).len();
        let (start_line, start_column) = self.position(range.start);
        let (end_line, end_column) = self.position(end);
        Span { start_line, start_column, end_line, end_column }
    }

    /// The text of a 1-based line without its ending.
    pub(super) fn line(&self, number: u32) -> &'t str {
        let range = self.bounds(number);
        self.text.get(range).unwrap_or_default().trim_end_matches(['\n', '\r'])
    }

    /// The bytes of a 1-based line with its ending; empty past the end.
    pub(super) fn bounds(&self, number: u32) -> Range<usize> {
        let index = (number as usize).saturating_sub(1);
        let start = self.starts.get(index).copied().unwrap_or(self.text.len());
        let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        start..end
    }

    fn position(&self, offset: usize) -> (u32, u32) {
        let line = self.line_at(offset);
        let start = self.bounds(line).start;
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count());
        (line, to_u32(column) + 1)
    }
}

/// Texts are capped at 1 MiB, so this never saturates in practice.
fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_start_at_one() {
        let text = "a\r\nå = é()\r\n";
        let lines = Lines::new(text);
        let at = text.find('é').unwrap();
        let span = lines.span(at..text.len());
        assert_eq!(span, Span { start_line: 2, start_column: 5, end_line: 2, end_column: 8 });
        assert_eq!(lines.line(2), "å = é()");
        assert_eq!(lines.line(9), "");
    }
}
