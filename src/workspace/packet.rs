//! Git's packets as a server sends them, and its report on a push.

use std::io::Read;

use super::error::Error;
use super::names::is_unseen;
use super::transport::{Exchange, Session};

/// Bytes of the report itself.
const REPORT_BYTES: usize = 64 << 10;
/// Lines of it: one a branch, and we push one.
const REPORT_LINES: usize = 100;
/// Bytes kept of what the server tells people.
const REMARK_BYTES: usize = 16 << 10;
/// Characters of it that an error shows.
const SHOWN: usize = 1_000;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet {
    Line(Vec<u8>),
    Flush,
    End,
}

/// The packets of one answer.
pub(super) struct Packets<'a> {
    session: &'a Session,
    answer: Exchange,
}

impl<'a> Packets<'a> {
    pub(super) fn new(session: &'a Session, answer: Exchange) -> Self {
        Self { session, answer }
    }

    pub(super) fn next(&mut self) -> Result<Packet, Error> {
        let mut length = [0; 4];
        if !self.fill(&mut length)? {
            return Ok(Packet::End);
        }
        let Some(length) = length_of(length) else { return Err(self.session.broken("a packet without a length")) };
        match length {
            0 => return Ok(Packet::Flush),
            1..=3 => return Err(self.session.broken("a packet of no known kind")),
            _ => {}
        }
        let mut line = vec![0; length - 4];
        if line.is_empty() || self.fill(&mut line)? {
            return Ok(Packet::Line(line));
        }
        Err(self.session.broken("the answer ended within a packet"))
    }

    /// False at the end of the answer; an end in the middle is an error.
    fn fill(&mut self, into: &mut [u8]) -> Result<bool, Error> {
        let mut filled = 0;
        while filled < into.len() {
            match self.answer.read(&mut into[filled..]) {
                Ok(0) if filled == 0 => return Ok(false),
                Ok(0) => return Err(self.session.broken("the answer ended within a packet")),
                Ok(read) => filled += read,
                Err(error) => {
                    let known = self.session.failure();
                    return Err(known.unwrap_or_else(|| self.session.broken(&error.to_string())));
                }
            }
        }
        Ok(true)
    }
}

/// What became of a push.
#[derive(Debug, Default)]
pub(super) struct Report {
    lines: Vec<String>,
    /// What the server wrote for people, as its hooks do.
    remarks: Vec<u8>,
}

impl Report {
    /// `banded`: the report comes in one of several bands.
    pub(super) fn read(mut packets: Packets<'_>, banded: bool) -> Result<Self, Error> {
        let mut report = Self::default();
        let mut bytes = Vec::new();
        loop {
            match packets.next()? {
                // Without bands the flush ends the report; the last band's flush ends the answer.
                Packet::Flush | Packet::End => break,
                Packet::Line(line) if !banded => report.push(&line),
                Packet::Line(line) => match line.split_first() {
                    Some((1, data)) => bytes.extend_from_slice(data),
                    Some((2, remark)) => {
                        let room = REMARK_BYTES.saturating_sub(report.remarks.len());
                        report.remarks.extend(remark.iter().take(room));
                    }
                    Some((3, fatal)) => {
                        return Err(packets.session.broken(&format!("it gave up: {}", show(fatal))));
                    }
                    _ => return Err(packets.session.broken("a band that does not exist")),
                },
            }
            if bytes.len() > REPORT_BYTES || report.lines.len() > REPORT_LINES {
                return Err(packets.session.broken("its report is too long"));
            }
        }
        let mut rest = bytes.as_slice();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let Some(length) = length_of(*length) else { break };
            if length < 4 {
                break;
            }
            let Some((line, after)) = after.split_at_checked(length - 4) else { break };
            report.push(line);
            rest = after;
        }
        if !report.lines.iter().any(|line| line.starts_with("unpack ")) {
            return Err(packets.session.broken("it did not report what became of the push"));
        }
        Ok(report)
    }

    fn push(&mut self, line: &[u8]) {
        self.lines.push(String::from_utf8_lossy(line).trim_end().to_owned());
    }

    /// Why the branch was not moved, in the server's words; none if it was.
    pub(super) fn refusal(&self, reference: &str) -> Option<String> {
        let of_ours = |line: &&String, word: &str| {
            let rest = line.strip_prefix(word).and_then(|rest| rest.strip_prefix(reference));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let unpacked = self.lines.iter().any(|line| line == "unpack ok");
        let refused = self.lines.iter().find(|line| of_ours(line, "ng "));
        if unpacked && refused.is_none() && self.lines.iter().any(|line| of_ours(&line, "ok ")) {
            return None;
        }
        let reason = match refused {
            Some(line) => line["ng ".len() + reference.len()..].trim_start(),
            None => self.lines.iter().find_map(|line| line.strip_prefix("unpack ")).unwrap_or_default(),
        };
        let reason = match reason {
            "" | "ok" => "it does not say why",
            reason => reason,
        };
        let remarks = String::from_utf8_lossy(&self.remarks);
        // Progress is written over itself, with carriage returns.
        let remarks =
            remarks.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty() && !line.contains("% ("));
        let all: Vec<&str> = std::iter::once(reason).chain(remarks).collect();
        Some(show(all.join("\n").as_bytes()))
    }
}

/// One packet to send.
pub(super) fn line(text: &[u8]) -> Vec<u8> {
    [format!("{:04x}", text.len() + 4).as_bytes(), text].concat()
}

/// A server's words on one line: lines apart by `; `, nothing that a terminal obeys, not too long.
pub(super) fn show(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut shown = String::new();
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' if chars.next_if_eq(&'[').is_some() => {
                // Up to the letter that ends it.
                while chars.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
                chars.next();
            }
            '\n' => shown.push_str("; "),
            c if c.is_control() || is_unseen(c) => {}
            c => shown.push(c),
        }
    }
    if shown.chars().count() > SHOWN {
        shown = shown.chars().take(SHOWN).chain("…".chars()).collect();
    }
    shown
}

fn length_of(digits: [u8; 4]) -> Option<usize> {
    let text = std::str::from_utf8(&digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
    usize::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(lines: &[&str], remarks: &str) -> Report {
        Report { lines: lines.iter().map(|line| (*line).to_owned()).collect(), remarks: remarks.into() }
    }

    #[test]
    fn only_a_clear_yes_is_a_success() {
        let name = "refs/heads/a";
        assert_eq!(report(&["unpack ok", "ok refs/heads/a"], "").refusal(name), None);
        for (lines, why) in [
            (&["unpack ok"][..], "it does not say why"),
            (&["unpack ok", "ok refs/heads/ab"], "it does not say why"),
            (&["unpack ok", "ng refs/heads/a"], "it does not say why"),
            (&["unpack ok", "ng refs/heads/a protected branch", "ok refs/heads/a"], "protected branch"),
            (&["unpack index-pack abnormal exit", "ng refs/heads/a unpacker error"], "unpacker error"),
            (&["unpack broken", "ok refs/heads/a"], "broken"),
        ] {
            assert_eq!(report(lines, "").refusal(name).unwrap(), why);
        }
    }

    #[test]
    fn the_servers_words_are_shown_tame() {
        let remarks = "Resolving deltas:  50% (1/2)\rerror: \x1b[31mGH006\x1b[0m: no\u{202e}\n\n  \0more\x07\n";
        let shown = report(&["unpack ok", "ng refs/heads/a declined"], remarks).refusal("refs/heads/a").unwrap();
        assert_eq!(shown, "declined; error: GH006: no; more");
        assert_eq!(show("x".repeat(5_000).as_bytes()).chars().count(), SHOWN + 1);
    }
}
