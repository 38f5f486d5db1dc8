//! HTML in a comment: what stands between a tag and its end tag is in that element, though Markdown reads it on its own.

use std::collections::HashMap;
use std::ops::Range;

/// They have no content.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];

/// Without an end tag they hold all that follows. Any other tag, such as the one that people write by mistake with
/// `Vec<T>`, ends with its paragraph.
const KEPT_OPEN: [&str; 57] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "code",
    "del",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "iframe",
    "ins",
    "kbd",
    "main",
    "math",
    "menu",
    "nav",
    "noembed",
    "noframes",
    "noscript",
    "object",
    "ol",
    "picture",
    "plaintext",
    "pre",
    "s",
    "samp",
    "script",
    "search",
    "section",
    "select",
    "strike",
    "style",
    "summary",
    "svg",
    "table",
    "template",
    "textarea",
    "title",
    "tt",
    "ul",
    "xmp",
];

/// A stretch of the text that Markdown passes on as HTML.
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    /// Where the outermost block ends in which it stands.
    pub(super) block_end: usize,
    /// It stands in a quote, a list or the like, which ends what it leaves open.
    pub(super) nested: bool,
}

pub(super) struct Elements<'a> {
    text: &'a str,
    /// By name, innermost last.
    open: HashMap<String, Vec<Range<usize>>>,
    contents: Vec<Range<usize>>,
}

enum Token<'a> {
    Start(&'a str),
    End(&'a str),
    /// A comment, or a character that opens nothing.
    Other,
}

impl<'a> Elements<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, open: HashMap::new(), contents: Vec::new() }
    }

    /// Pieces come in the order of the text.
    pub(super) fn read(&mut self, piece: Piece) {
        let text = self.text;
        let html = &text[piece.range.clone()];
        let mut at = 0;
        while let Some(found) = html[at..].find('<') {
            let start = piece.range.start + at + found;
            let Some((token, len)) = token(&html[at + found..]) else {
                // A comment or a tag that does not end here goes on through whatever follows.
                self.contents.push(start..text.len());
                return;
            };
            at += found + len;
            match token {
                Token::Start(name) => self.start(&name.to_ascii_lowercase(), start, &piece),
                Token::End(name) => {
                    let open = self.open.get_mut(&name.to_ascii_lowercase()).and_then(Vec::pop);
                    self.contents.extend(open.map(|open| open.start..start));
                }
                Token::Other => {}
            }
        }
    }

    /// What stands in any element; the ranges may nest and overlap.
    pub(super) fn contents(mut self) -> Vec<Range<usize>> {
        self.contents.extend(self.open.into_values().flatten());
        self.contents
    }

    fn start(&mut self, name: &str, start: usize, piece: &Piece) {
        if VOID.contains(&name) {
            return;
        }
        let kept = KEPT_OPEN.contains(&name) && !piece.nested;
        let end = if kept { self.text.len() } else { piece.block_end };
        self.open.entry(name.to_owned()).or_default().push(start..end);
    }
}

/// The token at the start of `html`, which begins with `<`, and its length. `None` if its end is missing.
fn token(html: &str) -> Option<(Token<'_>, usize)> {
    if html.starts_with("<!--") {
        // `<!-->` is whole.
        return html[2..].find("-->").map(|end| (Token::Other, 2 + end + 3));
    }
    if html.starts_with("<!") || html.starts_with("<?") {
        return html.find('>').map(|end| (Token::Other, end + 1));
    }
    let (end_tag, rest) = match html.strip_prefix("</") {
        Some(rest) => (true, rest),
        None => (false, &html[1..]),
    };
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Some((Token::Other, 1));
    }
    let name = &rest[..rest.find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>').unwrap_or(rest.len())];
    let close = tag_end(&rest[name.len()..])?;
    let len = html.len() - rest.len() + name.len() + close + 1;
    Some((if end_tag { Token::End(name) } else { Token::Start(name) }, len))
}

/// Where the tag's `>` stands, outside of quoted values.
fn tag_end(attributes: &str) -> Option<usize> {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in attributes.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '>' => return Some(at),
            None if (c == '"' || c == '\'') && before == '=' => quote = Some(c),
            None => {}
        }
        if !c.is_ascii_whitespace() {
            before = c;
        }
    }
    None
}
