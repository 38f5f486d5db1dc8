//! From sentences to asks: who asks, for what, and whether it is meant.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::phrase::{Phrase, phrases};
use super::text::{Said, Sentence};
use super::{Ask, Defect, Pasted, Replacement, Scope, Standard, Understanding, Wish};

/// What a text asks for. No rule and no tree is looked at: the same text is always understood the same way.
pub fn understand(title: &str, body: &str) -> Understanding {
    let said = Said::read(title, body);
    let mut understood = Understanding::default();
    let everything = said.sentences.iter().map(Sentence::plain).collect::<Vec<_>>().join(" \n ");
    let held_back = HELD_BACK.find(&everything).map(|found| found.as_str().to_owned());
    read_patches(&said, held_back.as_deref(), &everything, &mut understood);
    for (at, sentence) in said.sentences.iter().enumerate() {
        let before = understood.asks.len() + understood.unclear.len();
        read_replacements(&said, at, held_back.as_deref(), &mut understood);
        read_standard(sentence, &everything, held_back.as_deref(), &mut understood);
        let silent =
            understood.asks.len() + understood.unclear.len() == before && !OF_THE_AUTHOR.is_match(&sentence.text);
        if sentence.task && silent && is_first_of_block(&said, at) {
            read_task(&said, sentence, held_back.as_deref(), &mut understood);
        }
    }
    if let Some(whole) = whole(&said, &everything, &understood) {
        understood.asks = vec![Ask::Repair(whole)];
    }
    dedupe(&mut understood);
    understood.refusal = contradiction(&understood.asks).or_else(|| forbidden(&understood.asks, &said));
    if understood.asks.is_empty() && understood.unclear.is_empty() {
        read_defect(&said, &everything, &mut understood);
    }
    if understood.asks.is_empty() && understood.refusal.is_none() && understood.unclear.is_empty() {
        understood.refusal = Some("the issue does not ask for a change that can be made mechanically".to_owned());
    }
    understood
}

fn is_first_of_block(said: &Said, at: usize) -> bool {
    let block = said.sentences[at].block;
    at == 0 || said.sentences[at - 1].block != block
}

fn read_patches(said: &Said, held_back: Option<&str>, everything: &str, understood: &mut Understanding) {
    for diff in &said.diffs {
        match (held_back.or(blamed(said, everything)), Pasted::read(diff)) {
            (Some(word), _) => understood
                .unclear
                .push(format!("There is a diff in the issue, but \"{word}\" may mean that it is not to be applied")),
            (None, Err(why)) => understood.unclear.push(format!("The diff in the issue cannot be read: {why}")),
            (None, Ok(_)) if !OFFERED.is_match(everything) && !MENDS.is_match(everything) => understood
                .unclear
                .push("There is a diff in the issue, but nothing says that it is to be applied".to_owned()),
            (None, Ok(pasted)) => understood.asks.push(Ask::Patch(pasted)),
        }
    }
}

/// A word by which a diff is no more than evidence. A title says what is wrong with the code, unless it is about the diff;
/// then somebody has to say in so many words that the diff mends it.
fn blamed<'t>(said: &Said, everything: &'t str) -> Option<&'t str> {
    let title: Vec<String> = said.sentences.iter().filter(|s| s.block == 0).map(Sentence::plain).collect();
    let of_code = !ABOUT_DIFF.is_match(&title.join(" ")) && MENDS.is_match(everything);
    let title_ends = title.join(" \n ").len();
    let of_diff = |word: &regex::Match<'_>| {
        !of_code || word.start() >= title_ends || !word.as_str().eq_ignore_ascii_case("wrong")
    };
    BLAMED.find_iter(everything).find(of_diff).map(|word| word.as_str())
}

fn read_replacements(said: &Said, at: usize, held_back: Option<&str>, understood: &mut Understanding) {
    let sentence = &said.sentences[at];
    let about_spelling =
        SPELLING.is_match(&said.sentences.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join(" "));
    for phrase in phrases(&sentence.text, about_spelling, renaming(said)) {
        match phrase {
            Phrase::Unclear(why) => understood.unclear.push(format!("\"{}\": {why}", shorten(&sentence.plain()))),
            Phrase::Replace { from, to, wish } => {
                if let Some(word) = held_back {
                    understood
                        .unclear
                        .push(format!("\"{}\": the issue also says \"{word}\"", shorten(&sentence.plain())));
                    continue;
                }
                let scope = scope_of(said, at, wish, &[&from, &to]);
                let exception = EXCEPTION.is_match(&sentence.text)
                    || scope.paths.is_empty() && said.sentences.iter().any(|s| EXCEPTION.is_match(&s.text));
                if exception {
                    understood.unclear.push(format!(
                        "\"{}\": with exceptions, which places are meant is not clear",
                        shorten(&sentence.plain())
                    ));
                } else {
                    understood.asks.push(Ask::Replace(Replacement { from, to, scope, kind: wish }));
                }
            }
        }
    }
}

/// Whether the title is about renaming, so that an arrow in the text means just that.
fn renaming(said: &Said) -> bool {
    let title: Vec<&str> = said.sentences.iter().filter(|s| s.block == 0).map(|s| s.text.as_str()).collect();
    let title = title.join(" ");
    RENAME.is_match(&title) && !ASKING.is_match(&title) && !FORBIDS.is_match(&title)
}

/// The nearest words that name a place decide: those of the sentence, then of its paragraph, then of the whole text.
fn scope_of(said: &Said, at: usize, wish: Wish, taken: &[&str]) -> Scope {
    let sentence = &said.sentences[at];
    let near = Scope::read(&sentence.text, taken);
    if !near.is_whole_tree() || wish == Wish::Rename || Scope::says_everywhere(&sentence.text) {
        return near;
    }
    let read = |block: Option<usize>| {
        let text: Vec<&str> =
            said.sentences.iter().filter(|s| block.is_none_or(|b| s.block == b)).map(|s| s.text.as_str()).collect();
        Scope::read(&text.join(" \n "), taken)
    };
    let block = read(Some(sentence.block));
    if !block.is_whole_tree() {
        return block;
    }
    // The other items of a list are about something else.
    let everywhere = sentence.task || said.sentences.iter().any(|s| Scope::says_everywhere(&s.text));
    if everywhere { Scope::default() } else { read(None) }
}

fn read_standard(sentence: &Sentence, everything: &str, held_back: Option<&str>, understood: &mut Understanding) {
    for standard in Standard::asked_in(&sentence.text, sentence.block == 0, everything) {
        match held_back {
            Some(word) => understood.unclear.push(format!("{}: the issue also says \"{word}\"", standard.describe())),
            None => understood.asks.push(Ask::Add(standard)),
        }
    }
}

/// An open task that is no exact ask may still describe a defect.
fn read_task(said: &Said, sentence: &Sentence, held_back: Option<&str>, understood: &mut Understanding) {
    let text: Vec<&str> =
        said.sentences.iter().filter(|s| s.block == sentence.block).map(|s| s.text.as_str()).collect();
    let text = text.join(" ");
    let quoted = shorten(&sentence.plain());
    match (held_back, wished(&text)) {
        (Some(word), _) => understood.unclear.push(format!("\"{quoted}\": the issue also says \"{word}\"")),
        (None, Some(word)) => {
            understood
                .unclear
                .push(format!("\"{quoted}\": \"{word}\" asks for more than the repair of a known defect"));
        }
        (None, None) => understood.asks.push(Ask::Repair(Defect::new(&text, "", &[], true))),
    }
}

/// Where a text's tasks are its only asks: what the text as a whole describes, with the tasks as its details.
fn whole(said: &Said, everything: &str, understood: &Understanding) -> Option<Defect> {
    let tasks: Vec<Defect> = understood
        .asks
        .iter()
        .map(|ask| match ask {
            Ask::Repair(defect) => Some(defect.clone()),
            Ask::Patch(_) | Ask::Replace(_) | Ask::Add(_) => None,
        })
        .collect::<Option<_>>()?;
    if tasks.is_empty() || !understood.unclear.is_empty() {
        return None;
    }
    let mut of_all = Understanding::default();
    read_defect(said, everything, &mut of_all);
    match of_all.asks.pop() {
        Some(Ask::Repair(defect)) => Some(Defect { tasks, ..defect }),
        Some(Ask::Patch(_) | Ask::Replace(_) | Ask::Add(_)) | None => None,
    }
}

fn read_defect(said: &Said, everything: &str, understood: &mut Understanding) {
    let title = said.sentences.iter().filter(|s| s.block == 0).map(|s| s.text.as_str()).collect::<Vec<_>>().join(" ");
    let body = said.sentences.iter().filter(|s| s.block > 0).map(|s| s.text.as_str()).collect::<Vec<_>>().join(" \n ");
    let hindrance = HELD_BACK.find(everything).map(|f| f.as_str().to_owned()).or_else(|| wished(everything));
    if let Some(word) = hindrance {
        understood.refusal =
            Some(format!("the issue says \"{word}\", so it asks for something else than the repair of a known defect"));
        return;
    }
    let asked = POLITE.is_match(everything);
    if ASKING.is_match(&title) && !asked {
        understood.refusal = Some("the issue asks a question, and for no change".to_owned());
        return;
    }
    // Who only tells and then asks wants an answer.
    if !asked && said.sentences.iter().any(|sentence| sentence.text.ends_with('?')) {
        understood.refusal = Some("the issue asks a question, and for no change".to_owned());
        return;
    }
    understood.asks.push(Ask::Repair(Defect::new(&title, &body, &said.shown, asked)));
}

/// A word by which a text asks for more than a repair.
fn wished(text: &str) -> Option<String> {
    let found = WISHED.find(text).or_else(|| TASKED.find(text));
    found.map(|found| found.as_str().trim_matches(|c: char| !c.is_alphanumeric()).to_owned())
}

/// The same said twice is one ask; of two scopes the narrower one was said more carefully.
fn dedupe(understood: &mut Understanding) {
    let mut asks: Vec<Ask> = Vec::new();
    for ask in std::mem::take(&mut understood.asks) {
        let twin = asks.iter_mut().find(|other| match (&**other, &ask) {
            (Ask::Replace(a), Ask::Replace(b)) => a.from == b.from && a.to == b.to,
            (Ask::Add(a), Ask::Add(b)) => a.file() == b.file(),
            (Ask::Patch(a), Ask::Patch(b)) => a == b,
            (Ask::Repair(a), Ask::Repair(b)) => a == b,
            (Ask::Patch(_) | Ask::Replace(_) | Ask::Repair(_) | Ask::Add(_), _) => false,
        });
        match (twin, ask) {
            (Some(Ask::Replace(known)), Ask::Replace(again)) => {
                if known.scope.is_whole_tree() {
                    known.scope = again.scope;
                }
                if again.kind == Wish::Rename {
                    known.kind = Wish::Rename;
                }
            }
            (Some(_), _) => {}
            (None, ask) => asks.push(ask),
        }
    }
    understood.asks = asks;
    let mut seen = std::collections::BTreeSet::new();
    understood.unclear.retain(|why| seen.insert(why.clone()));
}

fn contradiction(asks: &[Ask]) -> Option<String> {
    let pairs: Vec<(&str, &str)> = asks
        .iter()
        .filter_map(|ask| match ask {
            Ask::Replace(r) => Some((r.from.as_str(), r.to.as_str())),
            Ask::Patch(_) | Ask::Repair(_) | Ask::Add(_) => None,
        })
        .collect();
    let mut by_from: BTreeMap<&str, &str> = BTreeMap::new();
    for (from, to) in &pairs {
        if let Some(other) = by_from.insert(from, to) {
            return Some(format!("the issue wants `{from}` to become both `{other}` and `{to}`"));
        }
    }
    pairs
        .iter()
        .find(|(_, to)| by_from.contains_key(to))
        .map(|(from, to)| format!("the issue wants `{from}` to become `{to}`, and `{to}` to become something else"))
}

/// A sentence elsewhere that says not to do it.
fn forbidden(asks: &[Ask], said: &Said) -> Option<String> {
    let terms = asks.iter().flat_map(|ask| match ask {
        Ask::Replace(r) => vec![r.from.as_str(), r.to.as_str()],
        Ask::Patch(_) | Ask::Repair(_) | Ask::Add(_) => Vec::new(),
    });
    let terms: Vec<&str> = terms.collect();
    let renames = asks.iter().any(|ask| matches!(ask, Ask::Replace(r) if r.kind == Wish::Rename));
    if let Some(sentence) = said.sentences.iter().find(|s| renames && BOTH_NAMES.is_match(&s.text)) {
        return Some(format!("a rename alone would not do: \"{}\"", shorten(&sentence.plain())));
    }
    said.sentences
        .iter()
        .find(|s| FORBIDS.is_match(&s.text) && terms.iter().any(|term| s.text.contains(term)))
        .map(|s| format!("the issue also says \"{}\"", shorten(&s.plain())))
}

fn shorten(text: &str) -> String {
    crate::stdx::text::truncate_chars(text, 120)
}

#[expect(clippy::expect_used, reason = "literal patterns; the tests of this room compile them")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

/// Words that turn a text around: what it talks of is to be taken back, or left as it is.
static HELD_BACK: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?xi)\b(revert(s|ed|ing)?|undo|undone|roll(ed|ing)?\s?back|put\s+(it\s+|them\s+)?back|bring\s+(it\s+|them\s+)?back|false\s+positives?
        |(do\s+not|don['’]?t|please\s+not|never|no\s+need\s+to|without|nothing\s+to|not\s+to)\s+(actually\s+)?(change|chang(e|ing)|touch|modify|edit|replace|rename|fix|apply|merge)(\s+(anything|any|it|this|them|the\s+code|code|yet|something))?
        |(nothing|not|\w+n['’]t)\s+(needs?|has|have|need)?\s*to\s+be\s+(changed|replaced|renamed|fixed)
        |just\s+(curious|wondering|asking|want(ed)?\s+to\s+(know|understand|ask))|want(ed)?\s+to\s+understand
        |(only|just)\s+a\s+question|not\s+a\s+bug|works\s+as\s+(intended|designed)|won['’]?t\s+fix|already\s+(fixed|done|solved|merged)|no\s+longer\s+(needed|necessary|an\s+issue)|never\s?mind
        |(please\s+)?wait\s+(with|until|till|for\s+(the|a|me|us|now))|hold\s+(off|on|it)|on\s+hold|not\s+yet|postpon(e|ed|ing)|undecided|unsure|not\s+sure\s+(if|whether|which|what)|on\s+second\s+thoughts?|if\s+(not|so|nobody|no\s+one|everyone|you\s+agree|wanted|desired|that['’]?s\s+ok)|(to|on|in|onto|for|into)\s+the\s+[\w./-]+\s+branch|backport\w*|cherry-?pick\w*|(don['’]?t|do\s+not|no|please\s+no)\s+(open\s+|send\s+|make\s+|create\s+|need\s+)?(any\s+|a\s+|more\s+)?(prs?|pull\s+requests?|patches)|scratch\s+that|or\s+(the\s+other\s+way|vice\s+versa)|vice\s+versa
        |(but|and|only|not)\s+(only\s+|not\s+)?(do\s+(this|it|so)\s+)?(once|after|when|if|before|until)|to\s+be\s+(decided|discussed)|(let['’]?s|we\s+should|needs?\s+to\s+be|please)\s+(first\s+)?(discuss|decide)\w*|what\s+(do|would)\s+(you|people|others|we)\s+(think|prefer|say)|(any|your)\s+(opinions?|thoughts|preferences?)|which\s+(one\s+)?(is|are|would|do|should)\s+(better|right|preferred|be|you|we))\b",
    )
});
/// Words by which a text asks for something new or something large.
static WISHED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?xi)\b(feature\s+request|feature:|enhancement|would\s+be\s+(nice|great|cool|awesome|good|helpful|useful)(\s+to\s+have)?\s+(if|to\s+(have|support|be\s+able))|(add|adding|implement|native|better)\s+support|support\s+for|proposal|rfc|refactor(ing|ed)?|re-?writ(e|ing|ten)|redesign|re-?architect|migrat(e|ion|ing)|port(ing)?\s+to|upgrade\s+to|(add|provide|expose|offer|introduce|make)\s+(an?\s+|it\s+)?(option|flag|setting|parameter|configurable|endpoint|command|api|cli|way\s+to)|allow\s+(users|us|people|me|for|to)|(write|add|missing|more)\s+(unit\s+|integration\s+)?tests?|test\s+coverage|document(ing)?\s+(the|how|that|this)|(docs|documentation)\s+(for|about|on|should)|add\s+(a\s+)?(lint|rule|check|warning|metric|log(ging)?|benchmark)|tracking\s+issue|epic|meta[\s-]issue|brainstorm\w*|discuss(ion)?|opinions?|thoughts\s+on|intentional(ly)?|on\s+purpose|by\s+design|talk\s+to|performance\s+of|compare\s+(the\s+)?performance|benchmark(s|ed)?)\b",
    )
});
/// Commands that are no repair.
static TASKED: LazyLock<Regex> = LazyLock::new(|| {
    // At the start of a sentence many verbs are nouns: "test suite broken".
    let verbs = "add|write|create|implement|introduce|provide|extend|explain|describe|translate|deprecate|bump|expose|optimi[sz]e|simplify|consider|investigate|improve|reorgani[sz]e|allow|speed up|evaluate";
    let more = "document|move (the|this|that|our|files?|code|docs?)|split|extract|build|design|publish|release|port|cover|test|measure|compare|find out|think|decide|check|update|clean up|generate|print|show|log|ignore|silence|suppress|disable|enable|support|keep|leave|stay|be able";
    regex(&format!(
        r"(?i)((^\W*|[.!?:;\n]\s*)({verbs})|\b(please|pls|(can|could|would|will) (you|we|i|someone|somebody|anyone|anybody|it)|(we|you|it|one|maintainers|somebody|someone) (should|need to|must|have to|could|want to)|let['’]s|i(['’]d| would) (like|love) to( see)?|want( you)? to|nice to)( also| then| just| maybe)? ({verbs}|{more}))\b"
    ))
});
/// A title that wants to know something.
static ASKING: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)(\?\s*$|^\W*(\[?question\]?:?\s|why\b|what\b|how\b|when\b|which\b|who\b|where\b|is\s|are\s|does\s|do\s|did\s|has\s|should\s))",
    )
});
/// Somebody is asked to do it.
static POLITE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(please|pls|(can|could|would|will) (you|we|someone|somebody|anyone|anybody)|should be (fixed|changed|corrected|removed|replaced|repaired)|(needs?|has|have|ought) to (be (fixed|changed|corrected|removed|replaced|repaired)|go for|use|switch)|let['’]?s|we (should|must|need to|have to)|(fix|correct|remove|repair|clean up|get rid of|drop|switch|use) |(to|easy) fix\b)",
    )
});
/// A box that the author ticks or does not: it is about them, not about the code.
static OF_THE_AUTHOR: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)^\W*(i|i['’](m|d|ve|ll)|yes|no|we)\b"));
static SPELLING: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)\b(typos?|spell\w*|misspel\w*|mis-spel\w*|grammar|orthograph\w*|it (says|reads)|wording)\b")
});
static RENAME: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\b(rename|renaming)\b"));
/// An ask that does not hold for all places.
static EXCEPTION: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(except|apart from|but not|other than|unless|excluding|leave|(some|most|a few) (of the )?(places|files|occurrences)|where (it makes sense|appropriate|possible|needed)|if (possible|appropriate|needed))\b",
    )
});
/// The old name is to go on beside the new one.
static BOTH_NAMES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(alias\w*|deprecate|deprecation|backwards?[ -]compat\w*|shim|re-?export\w*|(keep|leave|retain|still (accept|support|allow))\w* [^.]{0,20}\b(old|former|previous)|(old|former|previous) (name|one)s? (should|must|has|have|needs?|can|may))\b",
    )
});
static FORBIDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(do not|don['’]?t|dont|never|must not|mustn['’]?t|should not|shouldn['’]?t|must stay|has to stay|should stay|keep)\b",
    )
});
static BLAMED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(introduced (by|in|with)|broke(n by)?|caused by|cause of|regression|since (this|that) (commit|change|patch)|bisect\w*|culprit|(does|did) ?n['’]?o?t (work|help|fix|apply)|not (work|enough|complete)|tried (this|that|the following|it)|wrong|incomplete|(un|not (yet )?)tested|work in progress|wip|rfc|patch (v\d+ )?\d+/\d+|draft|rough|sketch|hack\w*|naive|example|illustrat\w+|demonstrat\w+|proof of concept|poc|(does|do|did|will) ?(not|n['’]t) (even )?(compile|build|pass)|fails|(diff|difference|changes?) (between|since|from)|was (changed|merged|done)|workaround|breaks?|drops?|another (reason|cause)|goes red|turns? red|something like|along the lines|idea)\b",
    )
});
static ABOUT_DIFF: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\b(patch\w*|diffs?|commit|fix\w*|pr|change)\b"));
static MENDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\bappl(y|ying) (this|it|that|the (following )?(patch|diff|change))\b|\b(this|the following|following|attached|(my|the) (patch|diff|change)( below)?) ((one-?liner|patch|diff|change|small change) )?(fix(es|ed)|solve[sd]|repairs?|mends?|corrects?)\b",
    )
});
static OFFERED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(patch|fix(es|ed)?|appl(y|ied)|solv(es|ed)|works? (for|fine)|suggest\w*|propos\w*|take it over|following change|attached|below)\b",
    )
});
