//! What an issue asks for, sentence by sentence, and where it asks for two things at once.

use std::collections::BTreeSet;

use super::brief::{Brief, Section, Sentence};
use super::convention;
use super::words;
use crate::artifact::swarm::Kind;

const MAX_DEMANDS: usize = 20;
const MAX_LENGTH: usize = 300;

const MODALS: &[&str] = &[
    "should",
    "must",
    "needs to",
    "need to",
    "has to",
    "have to",
    "ought to",
    "please",
    "would be nice",
    "would be great",
    "would be good",
    "would be helpful",
    "would be useful",
    "it'd be",
    "i'd like",
    "we'd like",
    "i would like",
    "we would like",
    "we want",
    "i want",
    "make sure",
    "ensure",
    "instead of",
    "rather than",
    "can we",
    "could we",
    "can you",
    "could you",
    "let's",
    "is missing",
    "are missing",
    "shall",
    "expected to",
    "supposed to",
    "wish",
];
const VERBS: &[&str] = &[
    "add",
    "adjust",
    "align",
    "allow",
    "apply",
    "avoid",
    "bump",
    "call",
    "cap",
    "catch",
    "change",
    "check",
    "clarify",
    "clean",
    "close",
    "convert",
    "correct",
    "cover",
    "create",
    "delete",
    "deprecate",
    "disable",
    "disallow",
    "document",
    "drop",
    "enable",
    "escape",
    "exclude",
    "export",
    "expose",
    "extend",
    "extract",
    "fix",
    "forbid",
    "format",
    "guard",
    "handle",
    "hide",
    "ignore",
    "implement",
    "improve",
    "include",
    "increase",
    "introduce",
    "keep",
    "limit",
    "log",
    "make",
    "mention",
    "merge",
    "migrate",
    "move",
    "normalise",
    "normalize",
    "pass",
    "pin",
    "prevent",
    "print",
    "provide",
    "quote",
    "raise",
    "reduce",
    "refactor",
    "reject",
    "remove",
    "rename",
    "replace",
    "report",
    "restore",
    "return",
    "revert",
    "rewrite",
    "set",
    "show",
    "simplify",
    "skip",
    "sort",
    "split",
    "stop",
    "strip",
    "support",
    "switch",
    "test",
    "throw",
    "trim",
    "turn",
    "unify",
    "update",
    "upgrade",
    "use",
    "validate",
    "verify",
    "warn",
    "wrap",
    "write",
];
/// Sentences that have the words of a demand and are none.
const IDLE: &[&str] = &[
    "should mention",
    "should be noted",
    "should note",
    "should i ",
    "should we ",
    "let me know",
    "please let",
    "happy to",
    "feel free",
    "i have searched",
    "i've searched",
    "i am willing",
    "please search",
    "please read",
    "thanks",
    "thank you",
    "wish list",
    "code of conduct",
];
/// The same deed, and its opposite.
const OPPOSITES: &[(&str, &str)] = &[
    ("add", "remove"),
    ("keep", "remove"),
    ("keep", "delete"),
    ("retain", "remove"),
    ("enable", "disable"),
    ("allow", "forbid"),
    ("allow", "reject"),
    ("allow", "disallow"),
    ("accept", "reject"),
    ("increase", "decrease"),
    ("show", "hide"),
    ("include", "exclude"),
    ("start", "stop"),
    ("accept", "refuse"),
];

/// What is asked for, each once, in the order of the text.
pub(super) fn demands(brief: &Brief) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |text: &str| {
        let text = words::line(text.trim_start_matches(['-', '*', '•', ' ']), MAX_LENGTH);
        let (claim, stems) = (Claim::of(&text), words::stems(&text).collect::<Vec<_>>());
        let empty = stems.is_empty();
        let key = (claim.negated, claim.value, stems);
        if !empty && found.len() < MAX_DEMANDS && seen.insert(key) {
            found.push(text);
        }
    };
    let title = convention::conventional(&brief.title).map_or(brief.title.as_str(), |(_, rest)| rest);
    if is_demand(title) || convention::conventional(&brief.title).is_some_and(|(head, _)| head.is_some()) {
        add(title);
    }
    brief.prose().filter(|sentence| asks(sentence)).for_each(|sentence| add(&sentence.text));
    if found.is_empty() && brief.title.chars().any(char::is_alphanumeric) {
        found.push(words::line(title, MAX_LENGTH));
    }
    found
}

/// Pairs that exclude each other.
pub(super) fn contradictions(demands: &[String]) -> Vec<(&str, &str)> {
    let claims: Vec<Vec<Claim>> = demands.iter().map(|demand| Claim::all(demand)).collect();
    let mut found = Vec::new();
    for (at, one) in demands.iter().enumerate() {
        for (later, two) in demands.iter().enumerate().skip(at + 1) {
            let (ones, twos) = (&claims[at], &claims[later]);
            if ones.iter().any(|one| twos.iter().any(|two| one.excludes(two))) {
                found.push((one.as_str(), two.as_str()));
            }
        }
    }
    found
}

/// Whether the issue asks a question rather than for a change.
pub(super) fn is_question(brief: &Brief) -> bool {
    const ASKING: &[&str] = &[
        "how do i",
        "how can i",
        "how to",
        "what is",
        "what does",
        "why does",
        "why is",
        "is there a way",
        "is it possible",
        "question",
        "where can i",
        "does anyone",
        "how would i",
    ];
    let title = brief.title.to_lowercase();
    let asking = ASKING.iter().any(|start| title.starts_with(start)) || title.ends_with('?');
    asking && !brief.prose().any(asks)
}

/// The verbs that a demand may begin with, bare of their forms.
pub(super) fn is_verb(word: &str) -> bool {
    VERBS.binary_search(&word).is_ok()
}

pub(super) fn is_negated(text: &str) -> bool {
    Claim::of(text).negated
}

/// A demand as a line of a plan: what reads as an order stays as it is.
pub(super) fn as_step(demand: &str, kind: Kind) -> String {
    let lower = format!(" {} ", demand.to_lowercase());
    let asked = ["please", "can you", "could you", "can we", "could we", "would you"].iter().any(|w| lower.contains(w));
    let held = MODALS.iter().any(|modal| contains_words(&lower, modal));
    if is_imperative(demand) {
        demand.to_owned()
    } else if demand.trim_end().ends_with('?') && !asked {
        format!("Answer first: {demand}")
    } else if asked {
        format!("Do what is asked for: {demand}")
    } else if held || is_negated(demand) {
        format!("Make sure of this: {demand}")
    } else if kind == Kind::BugFix {
        format!("Find the cause of this and remove it: {demand}")
    } else {
        format!("Work on this: {demand}")
    }
}

pub(super) fn asks(sentence: &Sentence) -> bool {
    if sentence.quoted || sentence.ticked == Some(true) || sentence.text.split_whitespace().count() < 2 {
        return false;
    }
    match sentence.section {
        Section::Wanted => sentence.item || sentence.ticked.is_some() || !is_idle(&sentence.text),
        Section::Body => sentence.ticked.is_some() || is_demand(&sentence.text),
        // Steps are told as orders, too; what should happen is told with a "should".
        Section::Observed => !sentence.item && is_demand(&sentence.text) && !is_imperative(&sentence.text),
        Section::Aside => false,
    }
}

pub(super) fn is_demand(text: &str) -> bool {
    let lower = format!(" {} ", text.to_lowercase());
    let modal = || MODALS.iter().any(|modal| contains_words(&lower, modal));
    let polite = ["can we", "could we", "can you", "could you", "please"].iter().any(|word| lower.contains(word));
    !is_idle(text) && (is_imperative(text) || modal()) && (polite || !text.trim_end().ends_with('?'))
}

pub(super) fn is_imperative(text: &str) -> bool {
    let first = text.trim_start_matches(|c: char| !c.is_alphanumeric()).split_whitespace().next().unwrap_or_default();
    let first = first.trim_end_matches([':', ',', '.']).to_lowercase();
    is_verb(&first)
}

pub(super) fn is_idle(text: &str) -> bool {
    let lower = format!("{} ", text.to_lowercase());
    IDLE.iter().any(|idle| lower.contains(idle))
}

fn contains_words(padded: &str, words: &str) -> bool {
    let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    padded
        .match_indices(words)
        .any(|(at, _)| outside(padded[..at].chars().next_back()) && outside(padded[at + words.len()..].chars().next()))
}

/// A demand, bare of its grammar.
struct Claim {
    negated: bool,
    about: BTreeSet<String>,
    /// The value it sets, when it says "be" or "to".
    value: Option<String>,
}

impl Claim {
    /// The demand itself and, for each word that has one, its opposite negated.
    fn all(text: &str) -> Vec<Self> {
        let own = Self::of(text);
        let mut claims = Vec::new();
        for (one, two) in OPPOSITES {
            let (one, two) = (words::stem(one), words::stem(two));
            if own.about.contains(&two) {
                let mut about = own.about.clone();
                about.remove(&two);
                about.insert(one);
                claims.push(Self { negated: !own.negated, about, value: own.value.clone() });
            }
        }
        claims.push(own);
        claims
    }

    fn of(text: &str) -> Self {
        let lower = text.to_lowercase().replace('’', "'");
        let tokens: Vec<&str> =
            lower.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_').filter(|t| !t.is_empty()).collect();
        let negative = |token: &&str| matches!(*token, "not" | "never" | "don't" | "no") || token.ends_with("n't");
        let negated = tokens.iter().filter(|token| negative(token)).count() % 2 == 1;
        let value = tokens
            .windows(2)
            .find(|pair| matches!(pair[0], "be" | "to" | "is") && pair[1].starts_with(|c: char| c.is_ascii_digit()))
            .map(|pair| pair[1].to_owned());
        Self {
            negated,
            about: words::stems(&lower)
                .filter(|stem| {
                    !matches!(stem.as_str(), "doesn" | "don" | "isn" | "shouldn" | "mustn" | "won" | "longer")
                })
                .collect(),
            value,
        }
    }

    fn excludes(&self, other: &Self) -> bool {
        let shared = self.about.intersection(&other.about).count();
        let all = self.about.union(&other.about).count();
        let same = shared >= 2 && shared * 5 >= all * 4;
        let values = matches!((&self.value, &other.value), (Some(one), Some(two)) if one != two);
        same && (self.negated != other.negated || values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_sorted_for_their_search() {
        assert!(VERBS.is_sorted());
    }

    #[track_caller]
    fn check(title: &str, body: &str, want: &[&str]) {
        assert_eq!(demands(&Brief::read(title, body)), want, "{title}");
    }

    #[test]
    fn demands_are_found_in_people_s_words() {
        check(
            "Login fails",
            "I get a 500. The page should show an error instead. Thanks!",
            &["The page should show an error instead."],
        );
        check("Add a `--quiet` flag", "I have searched the issues and should mention that.", &["Add a `--quiet` flag"]);
        check(
            "Config",
            "### Tasks\n\n- [ ] read TOML\n- [x] read YAML\n- [ ] tell the line of an error\n",
            &["read TOML", "tell the line of an error"],
        );
        check("Crash on start", "### Steps to reproduce\n1. Open the app\n2. Click on it\n", &["Crash on start"]);
        check("Could we support Python 3.13?", "", &["Could we support Python 3.13?"]);
        check("[Bug] fix: typo", "> You should do it\n\nHi all,\nit reads teh.", &["typo"]);
    }

    #[test]
    fn demands_that_exclude_each_other_are_told() {
        let of = |one: &str, two: &str| contradictions(&[one.to_owned(), two.to_owned()]).len();
        assert_eq!(of("The cache must be cleared on logout.", "The cache must not be cleared on logout."), 1);
        assert_eq!(of("Remove the legacy flag.", "Please keep the legacy flag."), 1);
        assert_eq!(of("The timeout should be 30 seconds.", "The timeout should be 60 seconds."), 1);
        assert_eq!(of("Handle 404 errors.", "Handle 500 errors."), 0);
        assert_eq!(of("The name should not be empty.", "The price should be positive."), 0);
        assert_eq!(of("Add a flag.", "Add a flag."), 0);
    }

    #[test]
    fn a_line_of_a_plan_reads_as_one() {
        for (demand, want) in [
            ("Replace `a` by `b`", "Replace `a` by `b`"),
            ("Should the cache live longer?", "Answer first: Should the cache live longer?"),
            ("Could you please sort them?", "Do what is asked for: Could you please sort them?"),
            ("The name must not be empty.", "Make sure of this: The name must not be empty."),
            ("Crash on start", "Find the cause of this and remove it: Crash on start"),
        ] {
            assert_eq!(as_step(demand, Kind::BugFix), want);
        }
        assert_eq!(as_step("Dark mode", Kind::Feature), "Work on this: Dark mode");
    }

    #[test]
    fn a_question_is_no_demand() {
        assert!(is_question(&Brief::read("How do I configure the port?", "I did not find it.")));
        assert!(!is_question(&Brief::read("Why does it crash?", "It should not crash.")));
    }
}
