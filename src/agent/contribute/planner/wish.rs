//! What a text asks for, as wishes that can be planned one by one, each with what tells that it is fulfilled.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::super::brief::{Brief, Section, Sentence};
use super::super::{convention, demand, words};
use crate::artifact::plan::TaskKind;
use crate::artifact::swarm::Kind;

const MAX_WISHES: usize = 20;
const MAX_CRITERIA: usize = 12;
const MAX_TEXT: usize = 300;

/// One thing that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish {
    pub(super) text: String,
    pub(super) kind: TaskKind,
    /// What tells that it is fulfilled, as the text says it.
    pub(super) criteria: Vec<String>,
}

/// All of them, and what the text leaves open.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Wishes {
    pub(super) wishes: Vec<Wish>,
    pub(super) questions: Vec<String>,
}

/// Words that name nothing: whoever asks for "better performance" has not said of what.
const VAGUE: &[&str] = &[
    "app",
    "application",
    "better",
    "code",
    "codebase",
    "cool",
    "enhancement",
    "everything",
    "experience",
    "fast",
    "faster",
    "feature",
    "features",
    "functionality",
    "good",
    "great",
    "improvement",
    "improvements",
    "nice",
    "nicer",
    "optimise",
    "optimize",
    "performance",
    "please",
    "product",
    "program",
    "project",
    "quality",
    "repo",
    "repository",
    "slow",
    "software",
    "something",
    "speed",
    "stuff",
    "system",
    "thing",
    "things",
    "ui",
    "user",
    "users",
    "ux",
    "want",
    "way",
    "whole",
];
/// Verbs that say of any deed that it is to be done. Others are verbs only where an order begins with them: "the export" is a
/// thing.
const GENERIC: &[&str] = &[
    "add",
    "allow",
    "apply",
    "change",
    "create",
    "enable",
    "ensure",
    "extend",
    "fix",
    "handle",
    "implement",
    "improve",
    "include",
    "introduce",
    "keep",
    "make",
    "provide",
    "refactor",
    "support",
    "update",
    "use",
    "write",
];
/// Measures without a number.
const UNMEASURED: &[&str] = &[
    "appropriate",
    "efficient",
    "etc",
    "fast",
    "flexible",
    "intuitive",
    "quickly",
    "reasonable",
    "robust",
    "scalable",
    "soon",
    "user-friendly",
];

static BUGFIX: LazyLock<Regex> = LazyLock::new(|| {
    words::regex(
        r"(?i)^\W*(?:fix|correct|repair|resolve|prevent|stop|avoid)\b|\b(?:crash\w*|bugs?|broken|wrong(?:ly)?|incorrect\w*|regression|panics?|fails?|throws? an?|raises? an?|leak\w*)\b",
    )
});

/// Reads the wishes; `kind` is the text's as a whole.
pub(super) fn read(brief: &Brief, kind: Kind) -> Wishes {
    // A defect is only what is told as one.
    let told = BUGFIX.is_match(&brief.title) || brief.sentences.iter().any(|s| s.section == Section::Observed);
    let kind = if kind == Kind::BugFix && !told { Kind::Feature } else { kind };
    let title = convention::conventional(&brief.title).map_or(brief.title.as_str(), |(_, rest)| rest).to_owned();
    let asked: Vec<&Sentence> = brief.prose().filter(|sentence| is_asked(sentence)).collect();
    let (criteria, asked): (Vec<&Sentence>, Vec<&Sentence>) = asked.into_iter().partition(|s| is_criterion(s));
    let all = asked.iter().filter(|sentence| listed(sentence)).count();
    let own = asked.iter().filter(|sentence| listed(sentence) && is_own_wish(sentence)).count();
    // What most items of a list are, the others are, too, whatever verb they begin with.
    let alike = own > 0 && own * 2 >= all;
    let is_own = |sentence: &Sentence| {
        is_own_wish(sentence)
            || alike && listed(sentence) && !leans(&sentence.text) && words::stems(&sentence.text).nth(1).is_some()
    };
    let items = asked.iter().filter(|sentence| listed(sentence) && is_own(sentence)).count();
    let umbrella = items >= 2 || items == 1 && !demand::is_demand(&title);
    let mut found = Wishes::default();
    if !umbrella && title.chars().any(char::is_alphanumeric) {
        found.add(&title, kind);
    }
    for sentence in asked {
        let lone = found.wishes.is_empty();
        if lone
            || is_own(sentence)
                && (listed(sentence) || demand::is_imperative(&sentence.text) || !found.covers(sentence))
        {
            // A line that only leads to the list below it asks for nothing itself.
            if listed(sentence) || items < 2 || !sentence.text.trim_end().ends_with(':') {
                found.add(&sentence.text, kind);
            }
        } else {
            found.attach(&sentence.text);
        }
    }
    if found.wishes.is_empty() {
        let rest = if title.chars().any(char::is_alphanumeric) { Some(title.as_str()) } else { None };
        for text in rest.into_iter().chain(criteria.iter().map(|sentence| sentence.text.as_str()).take(MAX_WISHES)) {
            found.add(text, kind);
            if rest.is_some() {
                break;
            }
        }
    }
    criteria.iter().for_each(|sentence| found.attach(&sentence.text));
    found.ask(brief);
    found
}

/// What a wish is about: its words without verbs of demand and without those that name nothing.
pub(super) fn objects(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let first =
        text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or_default().to_lowercase();
    words::stemmed(text)
        .filter(|(stem, word)| {
            let order = *word == first && demand::is_verb(word);
            let verb = order || GENERIC.iter().any(|verb| verb == word || words::stem(verb) == *stem);
            !verb && VAGUE.binary_search(&word.as_str()).is_err() && seen.insert(stem.clone())
        })
        .map(|(_, word)| word)
        .collect()
}

fn is_asked(sentence: &Sentence) -> bool {
    let detail = sentence.item
        && !sentence.quoted
        && sentence.ticked != Some(true)
        && matches!(sentence.section, Section::Body | Section::Wanted)
        && !sentence.text.trim_end().ends_with('?')
        && !demand::is_idle(&sentence.text)
        && sentence.text.chars().any(char::is_alphanumeric);
    detail || demand::asks(sentence)
}

fn is_criterion(sentence: &Sentence) -> bool {
    static SCENARIO: LazyLock<Regex> =
        LazyLock::new(|| words::regex(r"(?i)^\W*(?:scenario\b|given\b.*\b(?:when|then)\b|when\b.*\bthen\b|then\b)"));
    sentence.criterion || SCENARIO.is_match(&sentence.text)
}

fn listed(sentence: &Sentence) -> bool {
    sentence.item || sentence.ticked.is_some()
}

/// Whether a sentence can stand for itself: it orders something, or says what somebody can or must do.
fn is_own_wish(sentence: &Sentence) -> bool {
    static ABLE: LazyLock<Regex> =
        LazyLock::new(|| words::regex(r"(?i)\b(?:can|cannot|could|able to|allows?|lets?|supports?)\b"));
    let text = &sentence.text;
    let stands =
        demand::is_imperative(text) || sentence.ticked.is_some() || demand::is_demand(text) || ABLE.is_match(text);
    stands && !leans(text) && words::stems(text).nth(1).is_some()
}

/// Whether a sentence says of something before it what it says.
fn leans(text: &str) -> bool {
    static LEANING: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(r"(?i)^\W*(?:it|this|that|they|these|those|which|its|their|he|she|also it|then it)\b")
    });
    LEANING.is_match(text)
}

impl Wishes {
    fn add(&mut self, text: &str, kind: Kind) {
        let text = words::line(text.trim_start_matches(['-', '*', '•', ' ']), MAX_TEXT);
        let stems: Vec<String> = words::stems(&text).collect();
        let known = |wish: &Wish| words::stems(&wish.text).collect::<Vec<_>>() == stems;
        if self.wishes.len() < MAX_WISHES && !stems.is_empty() && !self.wishes.iter().any(known) {
            self.wishes.push(Wish { kind: kind_of(&text, kind), text, criteria: Vec::new() });
        }
    }

    /// Whether a sentence speaks of what a wish has asked for already.
    fn covers(&self, sentence: &Sentence) -> bool {
        self.wishes.iter().any(|wish| shared(&wish.text, &sentence.text) > 0)
    }

    /// Makes a text a criterion of the wish that it shares the most words with; of the last one where it leans on it.
    fn attach(&mut self, text: &str) {
        let text = words::line(text.trim_start_matches(['-', '*', '•', ' ']), MAX_TEXT);
        let best = self.wishes.iter().enumerate().max_by_key(|(at, wish)| {
            let words = shared(&wish.text, &text);
            (words, if words == 0 { *at } else { usize::MAX - *at })
        });
        let Some((at, _)) = best else { return };
        let wish = &mut self.wishes[at];
        if wish.criteria.len() < MAX_CRITERIA && text != wish.text && !wish.criteria.contains(&text) {
            wish.criteria.push(text);
        }
    }

    /// Questions about what is said without being said.
    fn ask(&mut self, brief: &Brief) {
        for (one, two) in demand::contradictions(&self.texts()) {
            self.questions.push(format!("Which of the two holds? \"{one}\" and \"{two}\" exclude each other."));
        }
        for text in self.texts() {
            let lower = text.to_lowercase();
            let words: BTreeSet<&str> = lower.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
            let open = UNMEASURED.iter().find(|word| words.contains(**word));
            let measured = text.chars().any(|c| c.is_ascii_digit());
            if let Some(word) = open.filter(|_| !measured) {
                self.questions.push(format!("What does \"{word}\" mean, in numbers or examples? (\"{text}\")"));
            }
        }
        if demand::is_question(brief) {
            self.questions.push("What should change? The text asks a question rather than for a change.".to_owned());
        }
        let mut seen = BTreeSet::new();
        self.questions.retain(|question| seen.insert(question.clone()));
    }

    fn texts(&self) -> Vec<String> {
        self.wishes.iter().flat_map(|wish| std::iter::once(&wish.text).chain(&wish.criteria)).cloned().collect()
    }
}

fn shared(one: &str, two: &str) -> usize {
    let stems = |text: &str| objects(text).iter().map(|word| words::stem(word)).collect::<BTreeSet<_>>();
    stems(one).intersection(&stems(two)).count()
}

/// The kind of work that a wish is, by its own words; else the whole text's.
fn kind_of(text: &str, whole: Kind) -> TaskKind {
    static DOCS: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)^\W*document\b|\b(?:add|update|write|extend|improve|fix|correct|mention\w*|describe\w*|explain\w*|rewrite)\b.*\b(?:docs?|documentation|readme|changelog|docstrings?|tutorial|guide|man page|manual)\b|\b(?:in|to) the (?:docs|documentation|readme|changelog)\b",
        )
    });
    static TEST: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)^\W*(?:test|cover)\b|^\W*(?:add|write|create|extend|improve|increase|fix|provide|need|please add)\b[^.]*\b(?:tests?|test cases?|test suite|coverage)\b|\b(?:covered|tested) by\b",
        )
    });
    static INFRASTRUCTURE: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)\b(?:ci|ci/cd|github actions?|workflows?|docker\w*|containeri[sz]e|kubernetes|helm|terraform|deploy\w*|makefile|pre-commit|dependabot|renovate|build (?:script|system|pipeline)|release (?:script|pipeline)|lint(?:er|ing)? (?:config\w*|rules?))\b|^\W*(?:bump|upgrade|pin)\b|\b(?:add|update|remove|drop) (?:the |a |an )?(?:dependency|dependencies|package)\b",
        )
    });
    static REFACTOR: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)^\W*(?:please |should |we should )?(?:refactor|rename|extract|simplify|clean|split|move|merge|unify|restructure|reorganise|reorganize|deduplicate|rewrite|inline)\b|\brefactor\w*\b",
        )
    });
    let ordered = demand::is_imperative(text);
    if DOCS.is_match(text) {
        TaskKind::Documentation
    } else if TEST.is_match(text) {
        TaskKind::Test
    } else if INFRASTRUCTURE.is_match(text) {
        TaskKind::Infrastructure
    } else if REFACTOR.is_match(text) {
        TaskKind::Refactor
    } else if BUGFIX.is_match(text) {
        TaskKind::Bugfix
    } else {
        match whole {
            Kind::BugFix if !ordered => TaskKind::Bugfix,
            Kind::Refactor if !ordered => TaskKind::Refactor,
            Kind::Documentation => TaskKind::Documentation,
            Kind::Test => TaskKind::Test,
            Kind::BugFix | Kind::Refactor | Kind::Feature => TaskKind::Feature,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vague_words_are_sorted_for_their_search() {
        assert!(VAGUE.is_sorted());
    }

    #[track_caller]
    fn check(title: &str, body: &str, want: &[(&str, TaskKind, &[&str])]) {
        let found = read(&Brief::read(title, body), Kind::Feature);
        let got: Vec<(&str, TaskKind, Vec<&str>)> = found
            .wishes
            .iter()
            .map(|wish| (wish.text.as_str(), wish.kind, wish.criteria.iter().map(String::as_str).collect()))
            .collect();
        let want: Vec<_> = want.iter().map(|(text, kind, criteria)| (*text, *kind, criteria.to_vec())).collect();
        assert_eq!(got, want, "{title}");
    }

    #[test]
    fn a_sentence_that_leans_on_the_wish_is_its_criterion() {
        check(
            "Add CSV export to the orders report",
            "It must include a header row. The export should use UTF-8.",
            &[(
                "Add CSV export to the orders report",
                TaskKind::Feature,
                &["It must include a header row.", "The export should use UTF-8."],
            )],
        );
    }

    #[test]
    fn a_title_is_a_wish_whatever_verb_it_begins_with() {
        check(
            "Retry a failed fetch of the mirror",
            "The number of tries should be configurable.",
            &[
                ("Retry a failed fetch of the mirror", TaskKind::Feature, &[]),
                ("The number of tries should be configurable.", TaskKind::Feature, &[]),
            ],
        );
    }

    #[test]
    fn the_items_of_a_list_are_wishes_and_its_title_only_holds_them_together() {
        check(
            "Wish lists",
            "We need:\n- [ ] save an item for later\n- [ ] users can share a list by link\n- [x] done before\n\n## Acceptance criteria\n- a shared link opens without an account\n\n## Out of scope\n- add notifications\n",
            &[
                ("save an item for later", TaskKind::Feature, &[]),
                ("users can share a list by link", TaskKind::Feature, &["a shared link opens without an account"]),
            ],
        );
    }

    #[test]
    fn each_wish_has_the_kind_of_its_own_words() {
        check(
            "Housekeeping",
            "1. Fix the crash when the cart is empty\n2. Rename `total` to `sum`\n3. Add tests for the parser\n4. Update the README\n5. Build the image in CI\n6. Support gift cards\n",
            &[
                ("Fix the crash when the cart is empty", TaskKind::Bugfix, &[]),
                ("Rename `total` to `sum`", TaskKind::Refactor, &[]),
                ("Add tests for the parser", TaskKind::Test, &[]),
                ("Update the README", TaskKind::Documentation, &[]),
                ("Build the image in CI", TaskKind::Infrastructure, &[]),
                ("Support gift cards", TaskKind::Feature, &[]),
            ],
        );
    }

    #[test]
    fn a_wish_that_names_nothing_has_no_objects() {
        for vague in ["Make it better", "Improve the performance", "Add a feature", "Fix the bug", "Clean up the code"]
        {
            assert_eq!(objects(vague), Vec::<String>::new(), "{vague}");
        }
        assert_eq!(objects("Add a cache to the parser"), ["cache", "parser"]);
    }
}
