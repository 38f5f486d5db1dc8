//! The ways in which people say that one text should become another.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::Wish;
use super::replace::is_name;
use super::text::{CODE_END, CODE_START};
use crate::stdx::text::edits;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Phrase {
    Replace {
        from: String,
        to: String,
        wish: Wish,
    },
    /// It reads like a replacement, but not clearly enough: why.
    Unclear(&'static str),
}

/// Everything in one sentence that reads like a replacement.
pub(super) fn phrases(sentence: &str, about_spelling: bool, renaming: bool) -> Vec<Phrase> {
    let text = quotes_as_code(sentence);
    let mut found = Vec::new();
    for caught in SED.captures_iter(&text) {
        found.push(sed(&text, &caught));
    }
    if !found.is_empty() {
        return found;
    }
    for pattern in [&*VERB, &*BARE_VERB] {
        for caught in pattern.captures_iter(&text) {
            found.extend(verb(&text, &caught));
        }
        if !found.is_empty() {
            return found;
        }
    }
    for caught in MOVED.captures_iter(&text) {
        found.extend(moved(&text, &caught));
    }
    if !found.is_empty() {
        return found;
    }
    for (pattern, turned) in
        [(&*SHOULD, false), (&*INSTEAD, true), (&*WRONGLY, false), (&*ARROW, false), (&*BARE_SPELLING, false)]
    {
        for caught in pattern.captures_iter(&text) {
            let arrow = std::ptr::eq(pattern, &*ARROW);
            if arrow && renaming {
                found.extend(arrow_rename(&text, &caught));
                continue;
            }
            found.extend(correction(&text, &caught, turned, about_spelling, std::ptr::eq(pattern, &*SHOULD)));
        }
        if !found.is_empty() {
            return found;
        }
    }
    found
}

fn sed(text: &str, caught: &Captures<'_>) -> Phrase {
    let (from, to) = ["p", "h", "q"]
        .iter()
        .find_map(|d| Some((caught.name(&format!("{d}from"))?.as_str(), caught.name(&format!("{d}to"))?.as_str())))
        .unwrap_or_default();
    if let Some(why) = not_meant(text, caught.get(0).map_or(0, |m| m.start()), false) {
        return Phrase::Unclear(why);
    }
    if from.contains(['\\', '*', '+', '?', '[', ']', '(', ')', '^', '$', '|', '{']) || to.contains(['\\', '&']) {
        return Phrase::Unclear("a pattern with signs of its own is no exact text");
    }
    replacement(from, to, Wish::Replace)
}

fn verb(text: &str, caught: &Captures<'_>) -> Option<Phrase> {
    let group = |name: &str| caught.name(name).map(|m| m.as_str()).unwrap_or_default();
    let (from, to) = (group("from"), group("to"));
    let start = caught.name("verb").map_or(0, |m| m.start());
    let renames = group("verb").eq_ignore_ascii_case("rename") || group("verb").eq_ignore_ascii_case("call");
    let quoted = from.starts_with(CODE_START);
    if !quoted {
        let bare_names = looks_like_code(from) && looks_like_code(to);
        let kind = KIND.is_match(group("mid"));
        let named = renames && kind && is_name(from) && is_name(to);
        if !bare_names && !named {
            return None;
        }
    }
    if THINGS.is_match(group("mid")) || THINGS.is_match(group("after")) {
        return Some(Phrase::Unclear("renaming files, folders, tables and the like is more than a change of text"));
    }
    if !FILLER.is_match(group("mid").trim()) || !FILLER.is_match(group("after").trim()) {
        return Some(Phrase::Unclear("what stands between the two texts may change the meaning"));
    }
    let rest = caught.get(0).and_then(|m| text.get(m.end()..)).unwrap_or_default();
    if REST.is_match(rest) {
        return Some(Phrase::Unclear("what follows may change the meaning"));
    }
    if let Some(why) = not_meant(text, start, true) {
        return Some(Phrase::Unclear(why));
    }
    Some(replacement(from, to, if renames { Wish::Rename } else { Wish::Replace }))
}

fn correction(text: &str, caught: &Captures<'_>, turned: bool, about_spelling: bool, should: bool) -> Option<Phrase> {
    let group = |name: &str| caught.name(name).map(|m| m.as_str()).unwrap_or_default();
    let (from, to) = if turned { (group("to"), group("from")) } else { (group("from"), group("to")) };
    // "`a` in `b` should be `c`": the text that `c` is a spelling of is the one that is meant.
    let from = if similar(bare(from), bare(to)) { from } else { earlier(text, from, bare(to)).unwrap_or(from) };
    let close = similar(bare(from), bare(to));
    let misspelled = about_spelling && close;
    if !from.starts_with(CODE_START) && !misspelled {
        return None;
    }
    let start = caught.get(0).map_or(0, |m| m.start());
    let rest = caught.get(0).and_then(|m| text.get(m.end()..)).unwrap_or_default();
    if REST.is_match(rest) {
        return Some(Phrase::Unclear("what follows may change the meaning"));
    }
    let explicit = should && EXPLICIT.is_match(group("how"));
    if let Some(why) = not_meant(text, start, false) {
        return Some(Phrase::Unclear(why));
    }
    if explicit {
        let renames = group("how").to_lowercase().contains("rename") || group("how").to_lowercase().contains("called");
        return Some(replacement(from, to, if renames { Wish::Rename } else { Wish::Replace }));
    }
    match (about_spelling, close) {
        (true, true) => Some(replacement(from, to, Wish::Spelling)),
        (false, true) => Some(replacement(from, to, Wish::Correct)),
        // A value that should be another one is no text to be replaced wherever it stands.
        (_, false) => Some(Phrase::Unclear("one is no spelling of the other, so what has to change is not clear")),
    }
}

/// An address that should be another one.
fn moved(text: &str, caught: &Captures<'_>) -> Option<Phrase> {
    let (from, to) = (caught.name("from")?, caught.name("to")?);
    let rest = text.get(to.end()..).unwrap_or_default();
    if REST.is_match(rest) || THINGS.is_match(caught.name("mid")?.as_str()) {
        return Some(Phrase::Unclear("what stands beside the two addresses may change the meaning"));
    }
    // What is seen is told before the address: "points to", "is still".
    let said = not_meant(text, from.start(), false).filter(|why| *why != TOLD);
    let address = |text: &str| text.trim_end_matches(['.', ',', ';', ':', ')', '>', CODE_END]).to_owned();
    let (from, to) = (address(from.as_str()), address(to.as_str()));
    Some(said.map_or_else(|| replacement(&from, &to, Wish::Correct), Phrase::Unclear))
}

/// `a` → `b` in a text that is about renaming.
fn arrow_rename(text: &str, caught: &Captures<'_>) -> Option<Phrase> {
    let (from, to) = (caught.name("from")?.as_str(), caught.name("to")?.as_str());
    let start = caught.get(0).map_or(0, |m| m.start());
    Some(not_meant(text, start, false).map_or_else(|| replacement(from, to, Wish::Rename), Phrase::Unclear))
}

/// The only quoted text before `from` that `to` is a spelling of.
fn earlier<'t>(text: &'t str, from: &str, to: &str) -> Option<&'t str> {
    let before = text.get(..text.find(from)?)?;
    let mut near = before
        .split(CODE_START)
        .skip(1)
        .filter_map(|part| part.split(CODE_END).next())
        .filter(|term| similar(term, to));
    let found = near.next().filter(|_| near.next().is_none())?;
    let at = before.find(found)?;
    text.get(at - CODE_START.len_utf8()..at + found.len() + CODE_END.len_utf8())
}

fn replacement(from: &str, to: &str, wish: Wish) -> Phrase {
    let (from, to) = (bare(from), bare(to));
    if from.is_empty() || from == to {
        return Phrase::Unclear("both texts are the same");
    }
    if to.is_empty() {
        return Phrase::Unclear("there is nothing to put in its place");
    }
    if from.chars().filter(|c| c.is_alphanumeric()).count() < 2 {
        return Phrase::Unclear("the text to be replaced is too short to be found safely");
    }
    if wish == Wish::Rename && is_name(from) != is_name(to) && is_name(from) {
        return Phrase::Unclear("the new name cannot be a name");
    }
    let call = |text: &str| text.strip_suffix("()").filter(|name| is_name(name)).map(str::to_owned);
    match (call(from), call(to)) {
        (Some(from), Some(to)) => Phrase::Replace { from, to, wish },
        (Some(from), None) if wish == Wish::Rename => Phrase::Replace { from, to: to.to_owned(), wish },
        _ => Phrase::Replace { from: from.to_owned(), to: to.to_owned(), wish },
    }
}

const TOLD: &str = "it tells of something that was done or tried";

/// Why what is said at `start` is no request, if so. A command has to be led in by words of asking alone.
fn not_meant(text: &str, start: usize, command: bool) -> Option<&'static str> {
    let before = text.get(..start).unwrap_or_default();
    if text.trim_end().ends_with('?') && !ASKS_POLITELY.is_match(text) {
        return Some("it is a question");
    }
    if CONDITION.is_match(before) {
        return Some("it is said under a condition");
    }
    if REPORTED.is_match(before) || command && ANNOUNCED.is_match(before) {
        return Some("it reports what somebody else says");
    }
    let clause = CLAUSE.find_iter(before).last().and_then(|m| before.get(m.end()..)).unwrap_or(before);
    if NEGATED.is_match(clause) || !clause.to_lowercase().contains("please") && NEGATED_SHORT.is_match(before) {
        return Some("it is negated");
    }
    if PAST.is_match(clause) {
        return Some(TOLD);
    }
    if command && STATED.is_match(clause) {
        return Some("it tells what somebody does");
    }
    (command && !LEAD.is_match(PLACE.replace_all(clause, " ").trim())).then_some("it does not read as a request")
}

/// Whether one is a spelling of the other.
pub(super) fn similar(one: &str, other: &str) -> bool {
    let longest = one.chars().count().max(other.chars().count());
    (3..=80).contains(&longest) && {
        let edits = edits(one, other);
        edits <= 4 && edits * 3 <= longest
    }
}

fn bare(text: &str) -> &str {
    text.trim_matches([CODE_START, CODE_END])
}

/// A word that prose does not have.
fn looks_like_code(text: &str) -> bool {
    let text = text.trim_end_matches(['.', ',', ':', ';', '!']);
    let camel = text.chars().zip(text.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    text.len() > 2
        && (text.contains(['_', '/']) || text.contains("::") || camel || text.trim_matches('.').contains('.'))
}

/// Double, curly and single quotes around a short text mean the same as backticks.
fn quotes_as_code(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    for (i, part) in sentence.split(CODE_START).enumerate() {
        let (code, prose) =
            if i == 0 { (None, part) } else { part.split_once(CODE_END).map_or((None, part), |(c, p)| (Some(c), p)) };
        if let Some(code) = code {
            out.extend([CODE_START]);
            out.push_str(code);
            out.extend([CODE_END]);
        }
        out.push_str(&QUOTED.replace_all(prose, |caught: &Captures<'_>| {
            let inner =
                ["d", "c", "g", "s", "l"].iter().find_map(|n| caught.name(n)).map(|m| m.as_str()).unwrap_or_default();
            let lead = caught.name("lead").map(|m| m.as_str()).unwrap_or_default();
            format!("{lead}{CODE_START}{inner}{CODE_END}")
        }));
    }
    out
}

#[expect(clippy::expect_used, reason = "literal patterns; the tests of this room compile them")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

const TERM: &str = "\u{2}[^\u{3}]{1,200}\u{3}";
const BARE: &str = r"[A-Za-z_$][\w$.:/-]*[\w$]";

static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#""(?P<d>[^"]{1,200})"|“(?P<c>[^”]{1,200})[”“]|„(?P<l>[^“”"]{1,200})[“”"]|«\s?(?P<g>[^»]{1,200}?)\s?»|(?P<lead>^|[\s(])['‘](?P<s>[^'’‘]{1,200})['’]"#,
    )
});
static SED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        "(?:^|[\\s(\u{2}])s(?:/(?P<pfrom>[^/\u{3}]+)/(?P<pto>[^/\u{3}]*)/|\\|(?P<hfrom>[^|\u{3}]+)\\|(?P<hto>[^|\u{3}]*)\\||#(?P<qfrom>[^#\u{3}]+)#(?P<qto>[^#\u{3}]*)#)[gi]{0,2}",
    )
});
static VERB: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?i)\b(?P<verb>replace|change|switch|swap|substitute|convert|update|correct|rename|turn|call)\b:?(?P<mid>[^\x02]{{0,80}}?)(?P<from>{TERM})(?P<after>[^\x02]{{0,60}}?)(?:\b(?:with|by|to|into|as)\b|->|=>|→|⇒|:|,?\s+(?:to|with)\b)\s*(?:be\s+|the\s+)?(?:(?:new|correct|right|proper)\s+)?(?:(?:name|word|spelling)\s+)?(?P<to>{TERM})"
    ))
});
static BARE_VERB: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?i)\b(?P<verb>replace|change|rename)\b(?P<mid>(?:\s+(?:all|every|the|each|our|usages?|uses?|occurrences?|of|old|function|method|class|variable|constant|field|struct|type|enum|trait|interface|helper|file|folder|module|table|column)){{0,6}})\s+(?P<from>{BARE})(?P<after>)\s*(?:\b(?:with|by|to|into)\b|->|=>|→)\s*(?P<to>{BARE})"
    ))
});
static SHOULD: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?i)(?P<from>{TERM})(?P<mid>[^\x02?]{{0,60}}?)\b(?P<how>(?:should|must|needs? to|ought to|has to|have to|is to|can)(?: rather| probably| really| actually| instead)? (?:be|read|say|have been|spell)(?: (?:renamed|changed|replaced|corrected|called|spelled|spelt|written|updated|switched))?(?: to| with| by| into| as)?)\s*:?\s*(?P<to>{TERM})"
    ))
});
static MOVED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:points?|goes|leads?|links?|redirects?|refers?) (?:still |currently |wrongly |incorrectly )?(?:to|at) \x02?(?P<from>https?://[^\s\x03]*[^\s\x03?!.])(?P<mid>[^\x02?.]{0,40}?)\b(?:should|must|needs? to|has to|ought to)(?: now| rather| instead)? (?:be|read|point to|point at|go to|lead to|link to|refer to)\s*:?\s*\x02?(?P<to>https?://[^\s\x03]+)",
    )
});
static INSTEAD: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?i)\b(?:should|must|use|write|spell\w*|read|say)\b[^\x02?]{{0,40}}(?P<from>{TERM})[^\x02]{{0,20}}\b(?:instead of|rather than|and not|not)\b[^\x02]{{0,20}}(?P<to>{TERM})"
    ))
});
static WRONGLY: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?i)\b(?:says|reads|spelled|spelt|misspell?ed|misspelt|written|typo(?:ed)?)\b[^\x02?]{{0,30}}(?P<from>{TERM})[^\x02]{{0,30}}\b(?:instead of|rather than|but (?:it )?should (?:be|read)|should (?:be|read)|correct(?: is| would be|ly)?:?|->)[^\x02]{{0,20}}(?P<to>{TERM})"
    ))
});
static ARROW: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"(?P<from>{TERM})\s*(?:->|=>|→|⇒|-->)\s*(?P<to>{TERM})")));
static BARE_SPELLING: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)(?:^|[\s(:])(?P<from>[A-Za-z][\w'-]{2,})\s*(?:->|=>|→|⇒|-->|,?\s*(?:\(?should (?:be|read|say))|\(?instead it should be)\s*(?P<to>[A-Za-z][\w'-]*[A-Za-z])",
    )
});
static EXPLICIT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(renamed|changed|replaced|called|updated|switched)\b"));
static KIND: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)\b(function|method|class|variable|constant|field|struct|type|enum|trait|interface|helper)\b")
});
static THINGS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(files?|folders?|director(y|ies)|branch|repo|repository|package|crate|tables?|columns?|endpoints?|routes?|labels?|tags?|image|bucket|database|command|flag|option|button)\b",
    )
});
/// Words between verb and text that leave the meaning as it is.
static FILLER: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)^(\W|\b(all|every|the|each|any|our|its|their|this|that|these|those|both|a|an|of|in|from|and|usages?|uses?|occurrences?|mentions?|instances?|references?|calls?|function|method|class|variable|constant|field|struct|type|enum|trait|interface|helper|parameter|argument|member|property|identifier|symbol|name|word|words|string|text|phrase|term|typo|spelling|misspelled|misspelt|wrong|old|outdated|current|deprecated|link|url|address|port|host|version|value|year|everywhere|code|docs|readme|throughout|whole|codebase|it|back)\b)*$",
    )
});
/// After both texts: a further condition.
static REST: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(if|unless|except|but|breaks?|broke|fails?|crash\w*|throws?|caus\w+|would|did|was|were|happens?|makes?|results?|leads?|does ?n['’]?o?t|like|similar|whenever|only when|only where|manually|at runtime|on the fly|dynamically|per user|by default|when|once|as soon as|after|until|till|before|while|later|temporar\w+|for now|locally|instead|(in the )?next (week|month|year|release|version|major|minor|time))\b",
    )
});
static ASKS_POLITELY: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)\b(please|pls|(can|could|would|will) (you|we|someone|somebody|anyone|anybody|this|that|it)|mind)\b")
});
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)(^|[,;:(]\s*|\b(but|and|so) )(if|unless|whenever|when|once|before|after|as soon as|in case|suppose|assuming|imagine)\b",
    )
});
static REPORTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(says?|said|tells?|told|suggests?|suggested|recommends?|recommended|complains?|prints?|printed|shows?|showed|asks?|asked|claims?|claimed|wants?|wanted|proposes?|proposed|writes|wrote|reads|answers?|answered|replies|replied|outputs?|logs|logged|reports?|reported|instructs?|demands?|tries)\b[^;]*(:|\b(to|that|me|us|we|i)\s+((please|pls|should|must|just|simply|always)\s+)*$)",
    )
});
/// A log, a tool or a message before a colon speaks for itself.
static ANNOUNCED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(log|output|message|error|warning|info|debug|hint|note|linter|bot|tool|compiler|ide|assistant|system|user|console|terminal|stderr|stdout)\b[^;]{0,60}:",
    )
});
static CLAUSE: LazyLock<Regex> = LazyLock::new(|| regex(r"[,;:()\]–—]\s*| - "));
static NEGATED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(not|never|nobody|no one|without|cannot|no need|nor|neither|instead of|rather than|dont|wont|cant|avoid|stop|against|refuse\w*|forbid\w*)\b|n['’]t\b",
    )
});
static NEGATED_SHORT: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)(\b(not|never)\b|n['’]t\b)[^.]{0,25}$"));
static PAST: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(was|were|had|did|used to|tried|trying|try|somebody|has been|have been|already|yesterday|last (week|month|year|release)|accidentally|i (will|can|could|might|may)|i['’]ll|i am going|we will|we might|might|maybe|perhaps|someday|eventually|later|how|why|what|whether|which|where|possible|able|plan\w*|consider\w*|feature|allow\w*|users?|automatically|tools?|script|function to|option|button|command|easy|hard|difficult|risky|dangerous|wrong)\b",
    )
});
/// "We rename" tells; "could we rename" asks.
static STATED: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)^\W*((so|then|and|also|next|first) )*(we|you|i|they|one)( (just|then|also|simply))?\s*$")
});
/// All that may stand before a command for it to be one.
static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)^(\W|\b(please|pls|kindly|so|then|also|and|just|let['’]?s|let|us|we|you|i|id|d|could|can|would|will|should|must|need|needs|have|has|to|want|like|love|propose|suggest|request|someone|somebody|anyone|anybody|simply|better|think|guess|believe|it|is|be|good|nice|great|best|time|ideally|first|second|secondly|third|finally|next|therefore|hence|thus|here|there|in|simple|small|quick|tiny|easy|ask|do|fix|task|todo|chore|docs|doc|refactor|style|bug|feat|cleanup|suggestion|request|hi|hello|hey|all|team|everyone|folks|dear|maintainers|mind|the|of|this|that|necessary|sense|makes|make|happy)\b)*$",
    )
});
/// A place that is named before the verb.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?i)\b(in|inside|within|under|below|on|at|of|throughout|across)\s+((all|every|the|our|file|page|section|folder|whole|entire|line|paragraph|first|second|last|title|of|\d+)\s+)*({TERM}|[\w./-]+)(\s+(files?|section|page|folder|code|directory))?"
    ))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sentence: &str, want: Option<(&str, &str)>) {
        let lower = sentence.to_lowercase();
        let about_spelling = lower.contains("typo") || lower.contains("spel");
        let mut code = false;
        let marked: String = sentence
            .chars()
            .map(|c| {
                code ^= c == '`';
                if c == '`' { if code { CODE_START } else { CODE_END } } else { c }
            })
            .collect();
        let got: Vec<(String, String)> = phrases(&marked, about_spelling, false)
            .into_iter()
            .filter_map(|phrase| match phrase {
                Phrase::Replace { from, to, .. } => Some((from, to)),
                Phrase::Unclear(_) => None,
            })
            .collect();
        let want: Vec<(String, String)> = want.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(got, want, "{sentence}");
    }

    #[test]
    fn people_ask_for_a_replacement_in_many_ways() {
        check("Please replace `a.b` with `c.d`.", Some(("a.b", "c.d")));
        check("Could you change all occurrences of \"foo bar\" to \"foo baz\"?", Some(("foo bar", "foo baz")));
        check("rename the function fetch_all to fetch_every", Some(("fetch_all", "fetch_every")));
        check("We should rename `getFoo()` -> `loadFoo()` everywhere", Some(("getFoo", "loadFoo")));
        check("In docs/a.md, replace 'teh cat' by 'the cat'.", Some(("teh cat", "the cat")));
        check("s/old_name/new_name/g please", Some(("old_name", "new_name")));
        check("Typo: recieve -> receive", Some(("recieve", "receive")));
        check("typo: recieve should be receive", Some(("recieve", "receive")));
        check("There is a typo, it should be `their` instead of `thier`.", Some(("thier", "their")));
        check("`seperate` should be spelled `separate`", Some(("seperate", "separate")));
        check("[docs] `2023` in the footer must be changed to `2024`", Some(("2023", "2024")));
        check("`x.Lock()` in `set` is a typo and should be `x.Unlock()`", Some(("x.Lock()", "x.Unlock()")));
        check("I'd like to rename `Foo` to `Bar`.", Some(("Foo", "Bar")));
        check(
            "The link points to http://a.example/x, must be https://b.example/x.",
            Some(("http://a.example/x", "https://b.example/x")),
        );
    }

    #[test]
    fn what_only_sounds_like_it_is_left() {
        for text in [
            "Don't replace `aa` with `bb`.",
            "We should never rename `aa` to `bb`.",
            "If you replace `aa` with `bb` it crashes.",
            "Why did you replace `aa` with `bb`?",
            "Should we rename `aa` to `bb`?",
            "I tried to replace `aa` with `bb`.",
            "Someone replaced `aa` with `bb`.",
            "The linter says: replace `aa` with `bb`.",
            "While starting, it prints: please replace `aa` by `bb` in a.txt.",
            "We rename `aa` to `bb` next year.",
            "ERROR: rename `aa` to `bb`",
            "The log told me to replace `aa` with `bb`.",
            "Add a command to replace `aa` with `bb`.",
            "`timeout` should be `30`.",
            "If it points to http://a.example/x, it should be https://b.example/x.",
            "Does it point to http://a.example/x? It must be https://b.example/x.",
            "`enabled` should be `false`, not `true`.",
            "Change it to something nicer.",
            "Rename the button to Save.",
            "Rename the file `a.py` to `b.py`.",
            "When I change `aa` to `bb`, it breaks.",
            "Replacing `aa` with `bb` is a bad idea.",
            "Please change `aa` to `bb` only if the flag is set.",
            "s/a.*b/c/",
            "It would be nice if users could change `aa` to `bb`.",
        ] {
            check(text, None);
        }
    }
}
