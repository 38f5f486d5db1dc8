//! What a command printed: its beginning and its end, in memory that does not grow, as text that no terminal obeys.

use std::collections::VecDeque;

use crate::domain::{Untrusted, redact};
use crate::stdx::text;

/// Of what is kept, one part of so many is the beginning.
const HEAD_SHARE: usize = 4;

/// Takes bytes as they come.
#[derive(Debug)]
pub(super) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    most_head: usize,
    most_tail: usize,
    total: u64,
}

impl Kept {
    pub(super) fn new(most: usize) -> Self {
        let most_head = most / HEAD_SHARE;
        Self { head: Vec::new(), tail: VecDeque::new(), most_head, most_tail: most - most_head, total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.most_head - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.most_tail)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.most_tail);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn finish(mut self) -> Output {
        let left_out = self.total - (self.head.len() + self.tail.len()) as u64;
        let tail = self.tail.make_contiguous();
        let text = if left_out == 0 {
            self.head.extend_from_slice(tail);
            plain(&self.head)
        } else {
            let (head, tail) = (whole_lines(&self.head, false), whole_lines(tail, true));
            let dropped = self.total - (head.len() + tail.len()) as u64;
            format!("{}\n[… {} left out …]\n{}", plain(head).trim_end(), text::binary_size(dropped), plain(tail))
        };
        Output { text: Untrusted::new(redact(&text, &[])), bytes: self.total, left_out }
    }
}

/// Both streams of a command in the order of their writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Without terminal escapes, and without what is shaped like a secret; where the middle is missing, a line says so.
    pub text: Untrusted,
    /// That were printed.
    pub bytes: u64,
    /// Bytes of these that were not kept.
    pub left_out: u64,
}

/// Without the line that was cut at the inner end, if there is any other.
fn whole_lines(bytes: &[u8], from_end: bool) -> &[u8] {
    if from_end {
        bytes.iter().position(|byte| *byte == b'\n').map_or(bytes, |at| &bytes[at + 1..])
    } else {
        bytes.iter().rposition(|byte| *byte == b'\n').map_or(bytes, |at| &bytes[..=at])
    }
}

/// Of a line that was overwritten with carriage returns, as progress bars do, what stood there last.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let stripped = anstream::adapter::strip_str(&text).to_string();
    let mut out = String::with_capacity(stripped.len());
    for line in stripped.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = line.trim_end_matches('\r');
        out.push_str(&text::visible_source(line.rsplit('\r').next().unwrap_or_default()));
        out.push_str(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(most: usize, parts: &[&[u8]]) -> Output {
        let mut kept = Kept::new(most);
        for part in parts {
            kept.push(part);
        }
        kept.finish()
    }

    #[test]
    fn short_output_is_kept_whole_and_obeys_no_terminal() {
        let output = kept(1000, &[b"\x1b[31mred\x1b[0m\x1b]0;title\x07\n", b"10 %\r20 %\r30 %\r\n\xffend\x08"]);
        assert_eq!(output.left_out, 0);
        let text = output.text.open();
        assert!(text.starts_with("red\n30 %\n\u{fffd}end"), "{text:?}");
        assert!(!text.contains(['\x1b', '\x07', '\x08', '\r']), "{text:?}");
    }

    #[test]
    fn long_output_keeps_whole_lines_of_its_beginning_and_its_end() {
        let lines: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
        let parts: Vec<&[u8]> = lines.as_bytes().chunks(777).collect();
        let output = kept(400, &parts);
        let text = output.text.open();
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 9998\nline 9999\n"), "{text}");
        assert!(text.len() < 500 && text.contains("KiB left out …]\nline 9"), "{text}");
        assert_eq!(output.bytes, lines.len() as u64);
        assert_eq!(output.left_out, lines.len() as u64 - 400);
    }

    #[test]
    fn a_line_without_end_is_cut_on_both_sides() {
        let output = kept(100, &[&[b'x'; 5000], &[b'y'; 5000]]);
        assert!(output.text.open().starts_with("xxx") && output.text.open().ends_with("yyy"));
        assert_eq!(output.left_out, 9900);
    }
}
