//! An issue's text, taken apart: what its author says, and what is only shown.
//!
//! Quotes, code blocks, logs, folded details and HTML comments are shown: they may prove something, they ask for nothing.

use std::sync::LazyLock;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

/// Stand around inline code within a sentence; both are removed from the text before it is read.
pub(super) const CODE_START: char = '\u{2}';
pub(super) const CODE_END: char = '\u{3}';

/// A longer text is cut: nobody describes one defect in more.
const MOST_CHARS: usize = 65_536;
const MOST_SENTENCES: usize = 400;

/// What the author says, in order, and what is shown beside it.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) sentences: Vec<Sentence>,
    /// Code blocks that are no diffs, with the language that their fence names.
    pub(super) shown: Vec<Shown>,
    /// Unified diffs, from a fence or raw.
    pub(super) diffs: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Sentence {
    /// One line; inline code stands between [`CODE_START`] and [`CODE_END`].
    pub(super) text: String,
    /// Sentences of one paragraph or list item share it; 0 is the title.
    pub(super) block: usize,
    /// It stands in an open item of a task list.
    pub(super) task: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) language: String,
    pub(super) code: String,
}

impl Said {
    /// Titles are plain text on GitHub, except that inline code is shown as such.
    pub(super) fn read(title: &str, body: &str) -> Self {
        let mut said = Self::default();
        let title = clean(title).replace('\n', " ");
        said.push(&inline_code(title.trim()), 0, false);
        let (body, diffs) = without_raw_diffs(&without_mail(&clean(body)));
        said.diffs = diffs;
        Reader::new(&mut said).read(&body);
        said
    }

    fn push(&mut self, text: &str, block: usize, task: bool) {
        for sentence in split(text) {
            if self.sentences.len() < MOST_SENTENCES {
                self.sentences.push(Sentence { text: sentence, block, task });
            }
        }
    }
}

impl Sentence {
    /// As people read it.
    pub(super) fn plain(&self) -> String {
        self.text.replace([CODE_START, CODE_END], "`")
    }
}

struct Reader<'a> {
    said: &'a mut Said,
    block: usize,
    text: String,
    /// Depth of quotes, folded details, struck-out text and the like.
    hidden: usize,
    details: usize,
    /// What is folded is called a patch, so it is handed in and not only shown.
    folded_patch: bool,
    heading: Option<String>,
    /// Below a heading such as "Logs".
    in_log: bool,
    /// One entry for each open list item: whether it is an open task, a done one, or none.
    items: Vec<Option<bool>>,
    fence: Option<Shown>,
    /// Where the bold text ends that a paragraph begins with.
    bold: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(said: &'a mut Said) -> Self {
        Self {
            said,
            block: 1,
            text: String::new(),
            hidden: 0,
            details: 0,
            folded_patch: false,
            heading: None,
            in_log: false,
            items: Vec::new(),
            fence: None,
            bold: None,
        }
    }

    fn read(&mut self, body: &str) {
        let options = Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES;
        for event in Parser::new_ext(body, options) {
            self.event(event);
        }
        self.flush();
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match (&mut self.fence, &mut self.heading) {
                (Some(fence), _) => fence.code.push_str(&text),
                (None, Some(heading)) => heading.push_str(&text),
                (None, None) => self.text.push_str(&text),
            },
            Event::Code(code) => {
                if let Some(heading) = &mut self.heading {
                    heading.push_str(&code);
                } else {
                    self.text.push(CODE_START);
                    self.text.push_str(&code);
                    self.text.push(CODE_END);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                self.drop_bold_heading();
                self.text.push(' ');
            }
            Event::Html(html) | Event::InlineHtml(html) => self.html(&html),
            Event::TaskListMarker(done) => {
                if let Some(item) = self.items.last_mut() {
                    *item = Some(done);
                }
            }
            Event::Rule => self.flush(),
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::BlockQuote(_) | Tag::Table(_) => {
                self.flush();
                self.hidden += 1;
            }
            Tag::Image { .. } | Tag::Strikethrough => {
                // What was said before it in the same paragraph stays.
                self.text.push('\u{4}');
            }
            Tag::Heading { .. } => {
                self.flush();
                self.heading = Some(String::new());
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',', '{']).next().unwrap_or_default().to_lowercase()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.fence = Some(Shown { language, code: String::new() });
            }
            Tag::Item => {
                self.flush();
                self.items.push(None);
            }
            Tag::Strong if self.text.is_empty() => self.bold = Some(0),
            Tag::Paragraph | Tag::List(_) => self.flush(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::BlockQuote(_) | TagEnd::Table => {
                self.text.clear();
                self.hidden = self.hidden.saturating_sub(1);
            }
            TagEnd::Image | TagEnd::Strikethrough => {
                if let Some(at) = self.text.rfind('\u{4}') {
                    self.text.truncate(at);
                }
            }
            TagEnd::Heading(_) => self.end_heading(),
            TagEnd::Strong if self.bold == Some(0) => self.bold = Some(self.text.len()),
            TagEnd::CodeBlock => {
                let folded = self.details > 0;
                let handed_in = self.details == 1 && self.folded_patch;
                if let Some(fence) = self.fence.take().filter(|_| self.hidden == 0 && (!folded || handed_in)) {
                    let may_be_diff = matches!(fence.language.as_str(), "" | "diff" | "patch" | "udiff");
                    if may_be_diff && !self.in_log && has_diff(&fence.code) {
                        self.said.diffs.push(fence.code);
                    } else if !folded {
                        self.said.shown.push(fence);
                    }
                }
            }
            TagEnd::Item => {
                self.flush();
                self.items.pop();
            }
            TagEnd::Paragraph => self.flush(),
            _ => {}
        }
    }

    /// Issue templates set the names of their sections in bold, on a line of their own.
    fn drop_bold_heading(&mut self) {
        const WORDS: usize = 8;
        let bold = self.bold.take().is_some_and(|end| end == self.text.len() && end > 0);
        let quotes = self.text.contains([CODE_START, '"', '“', '\'']);
        if bold && !quotes && self.text.split_whitespace().count() <= WORDS {
            self.heading = Some(std::mem::take(&mut self.text));
            self.end_heading();
        }
    }

    /// A heading names a section; it is rarely a sentence. One that announces a log makes its section evidence.
    fn end_heading(&mut self) {
        #[expect(clippy::expect_used, reason = "a literal pattern; every test of this room compiles it")]
        static LOG: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"(?i)\b(logs?|output|trace|traceback|stack ?trace|console|transcript|dump)\b").expect("valid")
        });
        if let Some(heading) = self.heading.take() {
            self.in_log = LOG.is_match(&heading);
        }
    }

    fn html(&mut self, html: &str) {
        #[expect(clippy::expect_used, reason = "a literal pattern; every test of this room compiles it")]
        static PATCH: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"(?i)<summary>\s*(<\w+>)?\s*((the|a|my|proposed|suggested) )*(patch|fix|diff)[.:]?\s*(</\w+>)?\s*</summary>")
                .expect("valid")
        });
        let lower = html.to_ascii_lowercase();
        if lower.contains("<details") {
            self.folded_patch = false;
        }
        self.folded_patch |= PATCH.is_match(html);
        if lower.contains("<details") || lower.contains("</details") {
            self.flush();
        }
        self.details += lower.matches("<details").count();
        self.details = self.details.saturating_sub(lower.matches("</details").count());
    }

    fn flush(&mut self) {
        self.drop_bold_heading();
        let text = std::mem::take(&mut self.text);
        // A done task is no request, and neither is what stands below it.
        let done = self.items.contains(&Some(true));
        if text.trim().is_empty() || self.hidden > 0 || self.details > 0 || self.in_log || done {
            return;
        }
        let task = self.items.last().copied().flatten() == Some(false);
        self.said.push(&text.replace('\u{4}', ""), self.block, task);
        self.block += 1;
    }
}

fn clean(text: &str) -> String {
    let kept = text.chars().take(MOST_CHARS);
    kept.filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}

/// Backticks of a title, without the rest of Markdown.
fn inline_code(title: &str) -> String {
    let parts: Vec<&str> = title.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return title.to_owned();
    }
    let mark = |(i, part): (usize, &&str)| {
        if i % 2 == 1 { format!("{CODE_START}{part}{CODE_END}") } else { (*part).to_owned() }
    };
    parts.iter().enumerate().map(mark).collect()
}

fn has_diff(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    lines.windows(2).any(|two| two[0].starts_with("--- ") && two[1].starts_with("+++ "))
        || lines.iter().any(|line| line.starts_with("diff --git "))
}

/// Who sent a patch by mail, when, and who signed it off says nothing about it.
fn without_mail(body: &str) -> String {
    #[expect(clippy::expect_used, reason = "literal patterns; every test of this room compiles them")]
    static ENVELOPE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)^From [0-9a-f]{7,64} Mon Sep 17 00:00:00 2001$").expect("valid"));
    #[expect(clippy::expect_used, reason = "literal patterns; every test of this room compiles them")]
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^(From [0-9a-f]{7,64} |(From|To|Cc|Date|Message-Id|In-Reply-To|[A-Z][a-z]+(-[a-z]+)*-by): )")
            .expect("valid")
    });
    if !ENVELOPE.is_match(body) {
        return body.to_owned();
    }
    let kept: Vec<&str> = body.lines().map(|line| if HEADER.is_match(line) { "" } else { line }).collect();
    kept.join("\n")
}

/// A diff that was pasted without a fence would be taken apart by Markdown, so it is cut out before.
fn without_raw_diffs(body: &str) -> (String, Vec<String>) {
    let (mut prose, mut diffs): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut fenced, mut open): (Option<&str>, Option<Vec<&str>>) = (None, None);
    let lines: Vec<&str> = body.lines().collect();
    for (at, line) in lines.iter().copied().enumerate() {
        let trimmed = line.trim_start();
        let fence = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        if open.is_none() {
            match (fenced, fence) {
                (None, Some(mark)) => fenced = Some(mark),
                (Some(mark), Some(other)) if mark == other => fenced = None,
                _ => {}
            }
        }
        let next = lines.get(at + 1).copied().unwrap_or_default();
        let starts = line.starts_with("diff --git ") || line.starts_with("--- ") && next.starts_with("+++ ");
        match &mut open {
            Some(diff) if in_diff(line, next) => diff.push(line),
            Some(diff) => {
                diffs.push(diff.join("\n") + "\n");
                open = None;
                prose.push("");
                prose.push(line);
            }
            None if starts && fenced.is_none() => {
                prose.push("");
                open = Some(vec![line]);
            }
            None => prose.push(line),
        }
    }
    diffs.extend(open.map(|diff| diff.join("\n") + "\n"));
    (prose.join("\n"), diffs)
}

fn in_diff(line: &str, next: &str) -> bool {
    const HEADS: [&str; 12] = [
        "diff --git ",
        "index ",
        "--- ",
        "+++ ",
        "@@ ",
        "new file mode",
        "deleted file mode",
        "old mode",
        "new mode",
        "similarity ",
        "rename ",
        "\\ No newline",
    ];
    line.starts_with([' ', '+', '-']) && !line.starts_with("- ")
        || HEADS.iter().any(|head| line.starts_with(head))
        || line.starts_with("- ")
        || line.is_empty() && next.starts_with([' ', '+', '-', '@'])
}

/// Sentences of one paragraph. A full stop inside code or double quotes ends none.
fn split(text: &str) -> Vec<String> {
    const SHORT: [&str; 14] =
        ["e.g", "i.e", "etc", "incl", "excl", "vs", "cf", "approx", "resp", "aka", "eg", "ie", "no", "dr"];
    let mut sentences = Vec::new();
    let (mut current, mut in_code, mut in_quote) = (String::new(), false, false);
    let chars: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let quotes = chars.iter().filter(|c| **c == '"').count();
    for (at, c) in chars.iter().copied().enumerate() {
        current.push(c);
        match c {
            CODE_START => in_code = true,
            CODE_END => in_code = false,
            '"' if !in_code && quotes % 2 == 0 => in_quote = !in_quote,
            '.' | '!' | '?' | ';' if !in_code && !in_quote => {
                let next = chars.get(at + 1).copied();
                let word = current.trim_end_matches(c).rsplit([' ', '(']).next().unwrap_or_default().to_lowercase();
                let short = c == '.' && SHORT.contains(&word.as_str());
                if next.is_none_or(|n| n == ' ') && !short {
                    sentences.push(std::mem::take(&mut current));
                }
            }
            _ => {}
        }
    }
    sentences.push(current);
    sentences.into_iter().map(|s| s.trim().to_owned()).filter(|s| s.chars().any(char::is_alphanumeric)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(body: &str) -> Vec<String> {
        Said::read("t", body).sentences.iter().skip(1).map(Sentence::plain).collect()
    }

    #[test]
    fn what_is_shown_is_not_said() {
        assert_eq!(said("> do x\n\na `b. c` d. e\n\n<!-- do y -->\n\n```\ndo z\n```\n"), ["a `b. c` d.", "e"]);
        assert_eq!(said("<details><summary>more</summary>\n\ndo it\n\n</details>\n\nafter"), ["after"]);
        assert_eq!(said("### Relevant log output\n\ndo it\n\n### Idea\n\ndo that"), ["do that"]);
        assert_eq!(said("**Describe it**\nrename"), ["rename"]);
        assert_eq!(said("**Logs**\n\ndo it\n\n**More**\n\nrename **this** now"), ["rename this now"]);
        assert_eq!(said("**rename `a`**"), ["rename `a`"]);
        assert_eq!(said("keep ~~do it~~ this"), ["keep this"]);
        assert_eq!(said("- [x] do a\n- [ ] do b\n- c"), ["do b", "c"]);
        assert_eq!(said("| a | b |\n|---|---|\n| do | it |\n"), Vec::<String>::new());
    }

    #[test]
    fn a_folded_patch_is_handed_in_and_other_folded_diffs_are_shown() {
        let folded = |summary: &str| {
            let body = format!(
                "<details>\n<summary>{summary}</summary>\n\n```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n\n</details>"
            );
            Said::read("t", &body).diffs.len()
        };
        assert_eq!((folded("Patch"), folded("<b>suggested fix</b>")), (1, 1));
        assert_eq!((folded("diff between 1.3 and 1.4"), folded("what I tried"), folded("not a patch")), (0, 0, 0));
    }

    #[test]
    fn a_diff_is_found_with_and_without_a_fence() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        for body in [format!("please\n{diff}\nthanks"), format!("please\n\n```diff\n{diff}```\nthanks")] {
            let said = Said::read("t", &body);
            assert_eq!(said.diffs, [diff]);
            assert_eq!(said.sentences.iter().map(Sentence::plain).collect::<Vec<_>>(), ["t", "please", "thanks"]);
        }
        assert!(Said::read("t", "```text\n--- a/x\n+++ b/x\n```").diffs.is_empty());
    }
}
