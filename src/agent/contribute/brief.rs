//! An issue as its parts: prose, lists, code, paths, stack frames and names. Nothing of it is obeyed.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::words;
use crate::analysis::secrets;

/// Characters of an issue's body that are read; GitHub's own limit is this.
const MAX_BODY: usize = 65_536;
const MAX_TITLE: usize = 300;
/// Sentences, items, mentions, frames: more of any is no issue that a person wrote.
const MAX_EACH: usize = 200;
const MAX_SENTENCE: usize = 400;
const MAX_PATH: usize = 300;
/// What stands in the place of a line with a credential.
const LEFT_OUT: &str = "(a line that held what looks like a secret was left out)";

/// An issue, read.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Brief {
    /// One line.
    pub(super) title: String,
    /// The body without secrets, otherwise as it was written.
    pub(super) body: String,
    pub(super) secrets: bool,
    /// In the order of the text, the title not among them.
    pub(super) sentences: Vec<Sentence>,
    /// Contents of code blocks.
    pub(super) code: Vec<String>,
    /// Contents of inline code, without repeats.
    pub(super) spans: Vec<String>,
    /// What looks like a file, with the line if one was named.
    pub(super) paths: Vec<(String, Option<u32>)>,
    /// Innermost first.
    pub(super) frames: Vec<Frame>,
}

/// One sentence or list item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) text: String,
    pub(super) section: Section,
    /// It is an item of a list.
    pub(super) item: bool,
    /// The box before it: ticked, or not.
    pub(super) ticked: Option<bool>,
    /// Somebody else's words.
    pub(super) quoted: bool,
    /// Its heading says that it is how to tell that the work is done.
    pub(super) criterion: bool,
}

/// What the nearest heading says that the text below is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    #[default]
    Body,
    /// What is to be: acceptance criteria, tasks, expected behaviour, proposals.
    Wanted,
    /// What is: actual behaviour, steps to reproduce.
    Observed,
    /// Versions, platforms, checklists of an issue form.
    Aside,
}

/// A place in a stack trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) path: String,
    pub(super) line: u32,
    pub(super) function: Option<String>,
}

impl Brief {
    pub(super) fn read(title: &str, body: &str) -> Self {
        let body: String = body.chars().take(MAX_BODY).collect();
        let (body, in_body) = redacted(&body);
        let (title, in_title) = redacted(&words::line(title, MAX_TITLE));
        let mut brief = Self { title, secrets: in_body || in_title || body.contains(LEFT_OUT), ..Self::default() };
        brief.markdown(&body);
        brief.spans_of_title();
        brief.frames = frames(&body);
        brief.paths = paths(&format!("{}\n{body}", brief.title));
        brief.body = body;
        brief
    }

    /// Names that the text gives as code, those of the title first, without repeats.
    pub(super) fn names(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut names = Vec::new();
        let mut add = |name: &str| {
            if names.len() < MAX_EACH && seen.insert(name.to_owned()) {
                names.push(name.to_owned());
            }
        };
        let coded = |text: &str| -> Vec<String> {
            identifiers(text).filter(|name| words::looks_like_code(name)).map(str::to_owned).collect()
        };
        coded(&self.title).iter().for_each(|name| add(name));
        for span in &self.spans {
            let one = identifiers(span).count() <= 3 && !span.contains(char::is_whitespace);
            identifiers(span).filter(|name| one && name.len() > 2 || words::looks_like_code(name)).for_each(&mut add);
        }
        self.frames.iter().filter_map(|frame| frame.function.as_deref()).flat_map(identifiers).for_each(&mut add);
        for sentence in &self.sentences {
            coded(&sentence.text).iter().for_each(|name| add(name));
        }
        names
    }

    /// The prose without what stands beside the matter.
    pub(super) fn prose(&self) -> impl Iterator<Item = &Sentence> {
        self.sentences.iter().filter(|sentence| sentence.section != Section::Aside)
    }

    fn spans_of_title(&mut self) {
        static SPAN: LazyLock<Regex> = LazyLock::new(|| words::regex(r"`([^`]{1,200})`"));
        let found: Vec<String> = SPAN.captures_iter(&self.title).map(|c| c[1].to_owned()).collect();
        for span in found.into_iter().rev() {
            self.spans.retain(|known| *known != span);
            self.spans.insert(0, span);
        }
    }

    fn markdown(&mut self, body: &str) {
        let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
        let mut reader = Reader::default();
        for event in Parser::new_ext(body, options) {
            reader.event(event);
        }
        reader.flush(false);
        (self.sentences, self.code, self.spans) = (reader.sentences, reader.code, reader.spans);
    }
}

#[derive(Default)]
struct Reader {
    sentences: Vec<Sentence>,
    code: Vec<String>,
    spans: Vec<String>,
    /// Of the paragraph, item or heading that is being read.
    text: String,
    section: Section,
    criteria: bool,
    heading: bool,
    block: Option<String>,
    items: usize,
    quotes: usize,
    struck: usize,
    ticked: Option<bool>,
}

impl Reader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented)) => {
                self.flush(self.items > 0);
                self.block = Some(String::new());
            }
            Event::End(TagEnd::CodeBlock) => {
                let block = self.block.take().unwrap_or_default();
                if self.section != Section::Aside && self.code.len() < MAX_EACH {
                    self.code.push(block);
                }
            }
            Event::Start(Tag::Heading { .. }) => {
                self.flush(false);
                self.heading = true;
            }
            Event::End(TagEnd::Heading(_)) => {
                let heading = std::mem::take(&mut self.text);
                (self.section, self.criteria) = (section(&heading), names_criteria(&heading));
                self.heading = false;
            }
            Event::Start(Tag::Item) => {
                self.flush(self.items > 0);
                self.items += 1;
            }
            Event::End(TagEnd::Item) => {
                self.flush(true);
                self.items = self.items.saturating_sub(1);
            }
            Event::Start(Tag::BlockQuote(_)) => {
                self.flush(self.items > 0);
                self.quotes += 1;
            }
            Event::End(TagEnd::BlockQuote(_)) => {
                self.flush(self.items > 0);
                self.quotes = self.quotes.saturating_sub(1);
            }
            Event::Start(Tag::Strikethrough) => self.struck += 1,
            Event::End(TagEnd::Strikethrough) => self.struck = self.struck.saturating_sub(1),
            Event::TaskListMarker(ticked) => self.ticked = Some(ticked),
            Event::End(TagEnd::Paragraph | TagEnd::TableRow | TagEnd::TableHead) => self.flush(self.items > 0),
            Event::End(TagEnd::TableCell) => self.text.push(' '),
            Event::Text(text) => match &mut self.block {
                Some(block) => block.push_str(&text),
                None if self.struck > 0 => {}
                None => self.text.push_str(&text),
            },
            Event::Code(code) => {
                if self.struck == 0 {
                    self.text.push('`');
                    self.text.push_str(&code);
                    self.text.push('`');
                    let span = words::line(&code, MAX_SENTENCE);
                    if self.section != Section::Aside && self.spans.len() < MAX_EACH && !self.spans.contains(&span) {
                        self.spans.push(span);
                    }
                }
            }
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            // HTML is a form's hint to its author, or a picture.
            Event::Html(_) | Event::InlineHtml(_) => {}
            Event::Start(_) | Event::End(_) | Event::Rule | Event::FootnoteReference(_) => {}
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text.push_str(&text),
        }
    }

    fn flush(&mut self, item: bool) {
        let text = std::mem::take(&mut self.text);
        let ticked = self.ticked.take();
        // Forms in people's own hand: `Expected behaviour:` or `**Steps**` alone on a line is a heading.
        if !item && text.chars().count() <= 60 && !text.contains('`') {
            let bare = text.trim().trim_end_matches(':');
            let named = section(bare);
            if named != Section::Body && (text.trim().ends_with(':') || text.split_whitespace().count() <= 3) {
                (self.section, self.criteria) = (named, names_criteria(bare));
                return;
            }
        }
        let (mut section, mut criterion) = (self.section, self.criteria);
        let parts = if item { vec![words::line(&text, MAX_SENTENCE)] } else { split(&text) };
        for text in parts {
            if text.is_empty() || self.sentences.len() >= MAX_EACH {
                continue;
            }
            if let Some((head, _)) = text.split_once(':').filter(|(head, _)| head.chars().count() <= 30) {
                let named = self::section(head);
                if named != Section::Body {
                    (section, criterion) = (named, names_criteria(head));
                }
            }
            let quoted = self.quotes > 0;
            self.sentences.push(Sentence { text, section, item, ticked, quoted, criterion });
        }
    }
}

/// Whether the text below a heading tells when the work is done.
fn names_criteria(heading: &str) -> bool {
    let lower = heading.to_lowercase();
    ["acceptance", "criteria", "definition of done", "done when"].iter().any(|word| lower.contains(word))
}

/// What a heading says of the text below it.
fn section(heading: &str) -> Section {
    let lower = words::line(heading, 100).to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&[
        "environment",
        "version",
        "platform",
        "system info",
        "checklist",
        "additional",
        "screenshot",
        "os:",
        "device",
        "confirm",
        "prerequisite",
        "before submitting",
        "code of conduct",
        "related",
        "links",
        "non-goal",
        "non goal",
        "out of scope",
        "not in scope",
    ]) {
        Section::Aside
    } else if has(&[
        "expected",
        "acceptance",
        "criteria",
        "task",
        "todo",
        "to do",
        "to-do",
        "proposal",
        "proposed",
        "solution",
        "suggest",
        "desired",
        "requirement",
        "definition of done",
        "feature request",
        "what you'd like",
        "what you want",
        "should",
        "goal",
        "wanted",
        "done when",
        "scope",
    ]) {
        Section::Wanted
    } else if has(&[
        "actual",
        "current",
        "steps",
        "reproduc",
        "observed",
        "traceback",
        "stack trace",
        "log",
        "output",
        "error",
        "what happen",
    ]) {
        Section::Observed
    } else {
        Section::Body
    }
}

/// Sentences of a paragraph. A full stop ends one when white space and a beginning follow.
fn split(paragraph: &str) -> Vec<String> {
    const SHORT: &[&str] = &["e.g", "i.e", "vs", "etc", "cf", "resp", "approx", "no", "fig"];
    let (mut sentences, mut from, mut code) = (Vec::new(), 0, false);
    let mut chars = paragraph.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        code ^= c == '`';
        if code || !matches!(c, '.' | '!' | '?' | '。') {
            continue;
        }
        let so_far = paragraph[from..at].trim();
        let word = so_far.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("").to_lowercase();
        let ends = c == '。' || chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if ends && !(c == '.' && SHORT.contains(&word.as_str())) {
            let end = at + c.len_utf8();
            sentences.push(words::line(&paragraph[from..end], MAX_SENTENCE));
            from = end;
        }
        if sentences.len() >= MAX_EACH {
            return sentences;
        }
    }
    sentences.push(words::line(&paragraph[from..], MAX_SENTENCE));
    sentences.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    sentences
}

/// The text with every line left out that holds what looks like a credential, and whether there was one.
pub(super) fn redacted(text: &str) -> (String, bool) {
    let found = secrets::scan("issue.txt", text);
    let held: BTreeSet<usize> = found
        .iter()
        .filter(|finding| finding.rule.0 != "conflict-marker")
        .flat_map(|finding| finding.span.start_line..=finding.span.end_line)
        .filter_map(|line| usize::try_from(line).ok())
        .collect();
    if held.is_empty() {
        return (text.to_owned(), false);
    }
    let lines = (1..).zip(text.lines()).map(|(number, line)| if held.contains(&number) { LEFT_OUT } else { line });
    (lines.collect::<Vec<_>>().join("\n"), true)
}

/// Names in a text: letters, digits and underscores, at most 100 of them.
pub(super) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|name| name.len() <= 100 && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// Places in stack traces of the usual languages, innermost first.
fn frames(body: &str) -> Vec<Frame> {
    static PYTHON: LazyLock<Regex> =
        LazyLock::new(|| words::regex(r#"File "([^"\n]+)", line (\d{1,7})(?:, in ([^\s<]+))?"#));
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?m)^\s*at (?:async )?(?:(?:new )?([A-Za-z0-9_$.<>\[\] ]+) \()?(?:file://)?([^\s():]+\.[A-Za-z]{1,5}):(\d{1,7})",
        )
    });
    static JVM: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?m)^\s*at ([A-Za-z0-9_$.]+)\.([A-Za-z0-9_$<>]+)\(([A-Za-z0-9_$]+\.(?:java|kt|scala|groovy)):(\d{1,7})\)",
        )
    });
    static PLAIN: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?m)(?:^|[\s(\[`'])((?:[A-Za-z0-9_.@+-]*[/\\])*[A-Za-z0-9_.@+-]+\.[A-Za-z]{1,5})(?::line |:|\()(\d{1,7})\b(?:[^\n]{0,20}in [`']([A-Za-z0-9_.#:?!]+)['`])?",
        )
    });
    let number = |text: &str| text.parse().unwrap_or(0);
    let python: Vec<Frame> = PYTHON
        .captures_iter(body)
        .take(MAX_EACH)
        .map(|c| Frame {
            path: c[1].to_owned(),
            line: number(&c[2]),
            function: c.get(3).map(|f| f.as_str().to_owned()),
        })
        .collect();
    // Python tells the innermost last, everybody else first.
    let mut all: Vec<Frame> = python.into_iter().rev().collect();
    all.extend(JVM.captures_iter(body).take(MAX_EACH).map(|c| {
        let package = c[1].rsplit_once('.').map_or("", |(package, _)| package).replace('.', "/");
        Frame { path: format!("{package}/{}", &c[3]), line: number(&c[4]), function: Some(c[2].to_owned()) }
    }));
    all.extend(SCRIPT.captures_iter(body).take(MAX_EACH).map(|c| {
        let function = c.get(1).and_then(|f| f.as_str().rsplit('.').next()).map(str::to_owned);
        Frame { path: c[2].to_owned(), line: number(&c[3]), function }
    }));
    all.extend(PLAIN.captures_iter(body).take(MAX_EACH).map(|c| Frame {
        path: c[1].replace('\\', "/"),
        line: number(&c[2]),
        function: c.get(3).map(|f| f.as_str().to_owned()),
    }));
    // Two patterns may meet the same frame, the later one with less of its path.
    let mut seen: BTreeSet<(u32, String)> = BTreeSet::new();
    all.retain(|frame| {
        let name = frame.path.rsplit('/').next().unwrap_or_default();
        let fresh = seen.insert((frame.line, frame.path.clone()));
        if name != frame.path {
            seen.insert((frame.line, name.to_owned()));
        }
        fresh && frame.path.len() <= MAX_PATH
    });
    all.truncate(MAX_EACH);
    all
}

/// What looks like a file's path or name, without repeats, in the order of the text.
fn paths(text: &str) -> Vec<(String, Option<u32>)> {
    static PATH: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?:[A-Za-z0-9_.@+\-\[\]]+[/\\])+[A-Za-z0-9_.@+\-\[\]]+|[A-Za-z0-9_.@+\-]*\.[A-Za-z][A-Za-z0-9]{0,9}\b|\b(?:Makefile|Dockerfile|Gemfile|Rakefile|LICENSE|README|CHANGELOG|CONTRIBUTING|Procfile|Justfile)\b",
        )
    });
    static LINE: LazyLock<Regex> = LazyLock::new(|| words::regex(r"^(?:#L|:|, line |\(line )(\d{1,7})"));
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for at in PATH.find_iter(text).take(MAX_EACH * 5) {
        let path = at.as_str().replace('\\', "/");
        let path = path.trim_end_matches(['.', '/', '-']).trim_start_matches("./").to_owned();
        let line = LINE.captures(&text[at.end()..]).and_then(|c| c[1].parse().ok());
        if (3..=MAX_PATH).contains(&path.len()) && seen.insert(path.clone()) && found.len() < MAX_EACH {
            found.push((path, line));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_by_its_headings() {
        let brief = Brief::read(
            "Crash in `Cart.total`",
            "<!-- tell us -->\n### Expected behaviour\nThe total should be 0. It is not, e.g. for tests.\n\n### Tasks\n- [ ] Handle `None`\n- [x] Log it\n\n### Environment\n- Python 3.9\n\n```py\nx()\n```\n",
        );
        let got: Vec<_> = brief.sentences.iter().map(|s| (s.text.as_str(), s.section, s.ticked)).collect();
        assert_eq!(
            got,
            [
                ("The total should be 0.", Section::Wanted, None),
                ("It is not, e.g. for tests.", Section::Wanted, None),
                ("Handle `None`", Section::Wanted, Some(false)),
                ("Log it", Section::Wanted, Some(true)),
                ("Python 3.9", Section::Aside, None),
            ]
        );
        assert_eq!(brief.spans, ["Cart.total", "None"]);
        assert!(brief.code.is_empty());
    }

    #[track_caller]
    fn check_frames(body: &str, want: &[(&str, u32, Option<&str>)]) {
        let found = frames(body);
        let got: Vec<_> = found.iter().map(|f| (f.path.as_str(), f.line, f.function.as_deref())).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn stack_frames_come_innermost_first() {
        check_frames(
            "  File \"/x/a.py\", line 3, in <module>\n  File \"/x/b.py\", line 9, in load\nValueError",
            &[("/x/b.py", 9, Some("load")), ("/x/a.py", 3, None)],
        );
        check_frames(
            "TypeError: x\n    at Cart.add (/srv/web/cart.ts:14:5)\n    at web/main.js:2:1\n",
            &[("/srv/web/cart.ts", 14, Some("add")), ("web/main.js", 2, None)],
        );
        check_frames("\tat com.shop.Invoice.total(Invoice.java:41)\n", &[("com/shop/Invoice.java", 41, Some("total"))]);
        check_frames("panicked at core/src/price.rs:10:5:\n", &[("core/src/price.rs", 10, None)]);
        check_frames("lib/a.rb:12:in `call'\n", &[("lib/a.rb", 12, Some("call"))]);
    }

    #[test]
    fn paths_are_found_with_their_lines() {
        let text = "see `src/a_b.rs#L12` and ./docs/x.md, C:\\w\\app.cs, setup.cfg. The end.";
        assert_eq!(
            paths(text),
            [
                ("src/a_b.rs".to_owned(), Some(12)),
                ("docs/x.md".to_owned(), None),
                ("w/app.cs".to_owned(), None),
                ("setup.cfg".to_owned(), None),
            ]
        );
    }

    #[test]
    fn a_line_with_a_credential_is_left_out() {
        let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let brief = Brief::read("Upload fails", &format!("Run this:\n\nexport T={token}\n\nIt fails."));
        assert!(brief.secrets && !brief.body.contains(&token), "{}", brief.body);
        assert!(brief.body.contains(LEFT_OUT) && brief.body.contains("It fails."));
    }

    #[test]
    fn hostile_text_is_read_without_harm() {
        for body in [
            "\u{202e}\u{0}`".repeat(3000),
            "- [ ] ".repeat(2000),
            "> ".repeat(5000),
            "a/".repeat(30_000),
            "(".repeat(60_000),
        ] {
            let brief = Brief::read(&body, &body);
            assert!(brief.sentences.len() <= MAX_EACH && brief.paths.len() <= MAX_EACH);
            assert!(brief.title.chars().count() <= MAX_TITLE);
            let _ = brief.names();
        }
    }
}
