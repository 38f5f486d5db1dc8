//! Words without which a rule cannot match: most files hold none of them, and then the rule need not be asked at all.
//!
//! They are read off the rule itself: the fixed names of its patterns, and the literals that each match of its regular
//! expressions begins or ends with. Whatever is not understood asks for nothing, so a rule is never silenced wrongly.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, BuildError};
use ast_grep_core::matcher::{Pattern, PatternNode};
use ast_grep_language::SupportLang;
use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Hir, HirKind};
use serde_json::Value;

/// A shorter word is in nearly every file.
const MIN_WORD: usize = 3;
/// One of more words than this is in nearly every file too.
const MAX_WORDS: usize = 64;

/// Lower-case words of which a text must hold one.
type Clause = Vec<Vec<u8>>;

/// What a text must hold for a rule to match in it: one word of each clause.
#[derive(Default)]
pub(super) struct Needs(Vec<Clause>);

impl Needs {
    /// `rule` and `utils` as the rule file has them.
    pub(super) fn of_rule(rule: &Value, utils: &Value, grammar: SupportLang) -> Self {
        let mut needs = Vec::new();
        Reader { utils, grammar }.rule(rule, 0, &mut needs);
        Self(needs)
    }

    /// What every text that `pattern` matches holds.
    pub(super) fn of_regex(pattern: &str) -> Self {
        Self(of_regex(pattern).into_iter().collect())
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

struct Reader<'r> {
    utils: &'r Value,
    grammar: SupportLang,
}

impl Reader<'_> {
    /// Adds what `rule` needs: all of its keys must hold.
    fn rule(&self, rule: &Value, depth: usize, needs: &mut Vec<Clause>) {
        // Helper rules may name each other in a circle.
        let (Some(keys), true) = (rule.as_object(), depth < 32) else { return };
        for (key, value) in keys {
            match key.as_str() {
                "pattern" => self.pattern(value, needs),
                "regex" => needs.extend(value.as_str().and_then(of_regex)),
                "inside" | "has" | "precedes" | "follows" => self.rule(value, depth + 1, needs),
                "matches" => {
                    if let Some(helper) = value.as_str().and_then(|name| self.utils.get(name)) {
                        self.rule(helper, depth + 1, needs);
                    }
                }
                "all" => value.as_array().into_iter().flatten().for_each(|part| self.rule(part, depth + 1, needs)),
                "any" => {
                    let of_each = value.as_array().into_iter().flatten().map(|part| {
                        let mut needs = Vec::new();
                        self.rule(part, depth + 1, &mut needs);
                        needs.into_iter().reduce(rarer)
                    });
                    needs.extend(union(of_each));
                }
                _ => {}
            }
        }
    }

    fn pattern(&self, pattern: &Value, needs: &mut Vec<Clause>) {
        let text = |key| pattern.get(key).and_then(Value::as_str);
        let read = match (pattern.as_str(), text("context"), text("selector"), text("strictness")) {
            (Some(code), ..) | (None, Some(code), None, None) => Pattern::try_new(code, self.grammar),
            (None, Some(context), Some(selector), None) => Pattern::contextual(context, selector, self.grammar),
            // Not every strictness compares names.
            _ => return,
        };
        // One that does not hold is refused when the rule is compiled.
        if let Ok(pattern) = read {
            names(&pattern.node, needs);
        }
    }
}

/// The names that are fixed in a pattern: each must stand in the text as it is.
fn names(node: &PatternNode, needs: &mut Vec<Clause>) {
    match node {
        PatternNode::MetaVar { .. } => {}
        PatternNode::Terminal { text, is_named, .. } => needs.extend(is_named.then(|| clause([text])).flatten()),
        PatternNode::Internal { children, .. } => children.iter().for_each(|child| names(child, needs)),
    }
}

fn of_regex(pattern: &str) -> Option<Clause> {
    of_hir(&regex_syntax::parse(pattern).ok()?)
}

fn of_hir(hir: &Hir) -> Option<Clause> {
    let end = |kind| {
        let found = Extractor::new().kind(kind).extract(hir);
        clause(found.literals()?.iter().map(|literal| literal.as_bytes()))
    };
    let inside = match hir.kind() {
        HirKind::Capture(capture) => of_hir(&capture.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => of_hir(&repeated.sub),
        HirKind::Concat(parts) => parts.iter().filter_map(of_hir).reduce(rarer),
        HirKind::Alternation(ways) => union(ways.iter().map(of_hir)),
        _ => None,
    };
    [end(ExtractKind::Prefix), end(ExtractKind::Suffix), inside].into_iter().flatten().reduce(rarer)
}

fn clause(words: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Option<Clause> {
    let mut words: Clause = words.into_iter().map(|word| word.as_ref().to_ascii_lowercase()).collect();
    words.sort_unstable();
    words.dedup();
    let telling = !words.is_empty() && words.len() <= MAX_WORDS && words.iter().all(|word| word.len() >= MIN_WORD);
    telling.then_some(words)
}

/// What is needed when one of several must hold; nothing, when one of them needs nothing.
fn union(clauses: impl Iterator<Item = Option<Clause>>) -> Option<Clause> {
    clause(clauses.collect::<Option<Vec<_>>>()?.concat())
}

/// The clause that fewer texts fulfil: long words are rare.
fn rarer(a: Clause, b: Clause) -> Clause {
    let shortest = |clause: &Clause| clause.iter().map(Vec::len).min();
    if shortest(&b).cmp(&shortest(&a)).then(a.len().cmp(&b.len())).is_gt() { b } else { a }
}

/// The needs of many rules, looked for together in one pass over a text.
pub(super) struct Words {
    finder: AhoCorasick,
    /// Of each rule: of each clause, its words' numbers.
    rules: Vec<Vec<Vec<usize>>>,
}

impl Words {
    pub(super) fn new<'n>(rules: impl IntoIterator<Item = &'n Needs>) -> Result<Self, BuildError> {
        let (mut words, mut numbers): (Vec<&[u8]>, HashMap<&[u8], usize>) = Default::default();
        let mut number = |word: &'n Vec<u8>| {
            *numbers.entry(word).or_insert_with(|| {
                words.push(word);
                words.len() - 1
            })
        };
        let mut of_clause = |clause: &'n Clause| clause.iter().map(&mut number).collect();
        let rules = rules.into_iter().map(|needs| needs.0.iter().map(&mut of_clause).collect()).collect();
        Ok(Self { finder: AhoCorasick::builder().ascii_case_insensitive(true).build(words)?, rules })
    }

    /// Of each rule, whether a text holds what it needs.
    pub(super) fn fulfilled(&self, text: &str) -> Vec<bool> {
        let mut found = vec![false; self.finder.patterns_len()];
        for word in self.finder.find_overlapping_iter(text) {
            if let Some(seen) = found.get_mut(word.pattern().as_usize()) {
                *seen = true;
            }
        }
        let holds = |clause: &Vec<usize>| clause.iter().any(|word| found.get(*word).copied().unwrap_or(true));
        self.rules.iter().map(|needs| needs.iter().all(holds)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(rule: &Value, want: &[&[&str]]) {
        let utils = json!({ "mutable": { "regex": "^(list|dict)$" }, "round": { "matches": "round" } });
        let mut got = Needs::of_rule(rule, &utils, SupportLang::Python).0;
        got.sort();
        let got: Vec<Vec<String>> = got
            .into_iter()
            .map(|clause| clause.into_iter().map(|word| String::from_utf8(word).unwrap()).collect())
            .collect();
        assert_eq!(got, want, "{rule}");
    }

    #[test]
    fn a_pattern_needs_its_names() {
        check(&json!({ "pattern": "os.system($A)" }), &[&["system"]]);
        check(&json!({ "pattern": "$A.Execute($$$)" }), &[&["execute"]]);
        check(&json!({ "pattern": { "context": "def f(x: int): pass", "selector": "typed_parameter" } }), &[&["int"]]);
        check(&json!({ "pattern": { "context": "system()", "strictness": "signature" } }), &[]);
        check(&json!({ "pattern": "$A($B)" }), &[]);
    }

    #[test]
    fn an_expression_needs_what_its_matches_begin_or_end_with() {
        let regex = |pattern: &str, want: &[&[&str]]| check(&json!({ "regex": pattern }), want);
        regex("^(exec|Eval)$", &[&["eval", "exec"]]);
        regex(r"^\w+\.(dumps|loads)$", &[&[".dumps", ".loads"]]);
        regex("(?i)debug", &[&["debug"]]);
        // The sign for kelvin is a `k` too.
        regex("(?i)token", &[&["token", "to\u{212a}en"]]);
        regex(r"\w+secret\w+", &[&["secret"]]);
        regex("(known|)x", &[]);
        regex("(known)?[a-z]+", &[]);
        regex("^(ab|known)$", &[]);
    }

    #[test]
    fn a_rule_needs_all_that_it_asks_for_and_one_of_its_alternatives() {
        check(
            &json!({ "kind": "call", "has": { "regex": "^eval$" }, "inside": { "stopBy": "end", "pattern": "known" } }),
            &[&["eval"], &["known"]],
        );
        check(&json!({ "any": [{ "pattern": "eval($A)" }, { "all": [{ "regex": "exec" }] }] }), &[&["eval", "exec"]]);
        check(&json!({ "any": [{ "pattern": "eval($A)" }, { "kind": "call" }] }), &[]);
        check(&json!({ "kind": "call", "not": { "regex": "eval" } }), &[]);
        check(&json!({ "matches": "mutable" }), &[&["dict", "list"]]);
        check(&json!({ "matches": "round" }), &[]);
    }

    #[test]
    fn a_text_fulfils_a_rule_with_a_word_of_every_clause() {
        let needs = |rule| Needs::of_rule(&rule, &Value::Null, SupportLang::Python);
        let rules = [
            needs(json!({ "regex": "^(exec|execute)$", "has": { "regex": "known" } })),
            needs(json!({ "regex": "execute" })),
            needs(json!({ "kind": "call" })),
        ];
        let words = Words::new(&rules).unwrap();
        assert_eq!(words.fulfilled("x = EXECUTE(known)"), [true, true, true]);
        assert_eq!(words.fulfilled("execute(x)"), [false, true, true]);
        assert_eq!(words.fulfilled("known"), [false, false, true]);
    }
}
