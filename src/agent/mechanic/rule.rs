//! Which rule knows the defect that somebody describes, and its fixes.
//!
//! Words are ranked against what each rule says of itself (BM25); code that is shown is scanned. One without the other is
//! seldom enough, and where two rules are nearly as good, neither is taken.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use super::mood::{BACK, BLAME, CAUSE, DOUBTED, EXPECTED, LEFT_OVER, PRAISE, TESTS, WAIVED, WANTED};
use super::replace::places;
use super::told::{described, said};
use super::work::{File, Step};
use super::{Defect, Scope};
use crate::analysis::{Engine, Language, Rule, fix};
use crate::domain::{Finding, RuleId};
use crate::stdx::text::count;

/// A rule that stands out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Match {
    pub(super) rule: RuleId,
    /// The text names the rule, or something that the rule looks for.
    pub(super) shown: bool,
}

/// Enough to believe a cause that is told without code.
const SURE: f64 = 20.0;

/// Below this, words alone say too little.
const ENOUGH: f64 = 15.0;
/// With code that the rule flags.
const ENOUGH_WITH_CODE: f64 = 6.0;
/// How far the best has to be ahead of the next.
const MARGIN: f64 = 1.3;
/// Different words that have to be shared.
const WORDS: usize = 4;

/// The rule that a defect is described by.
///
/// # Errors
/// Why none was taken.
pub(super) fn find(engine: &Engine, defect: &Defect, present: &BTreeSet<Language>) -> Result<Match, String> {
    let unknown = || "it describes no defect that I know how to repair, or not clearly enough".to_owned();
    let text = format!("{}\n{}", defect.title, defect.body);
    if let Some(named) = named(engine, &text) {
        return named;
    }
    let (rule, score, proof) = best(engine, defect, present).ok_or_else(unknown)?;
    if !wants_it(rule, defect, &text, score, proof) {
        return Err(format!("the issue seems to describe `{}`, but not to ask for its repair", rule.id));
    }
    // A rule that passes over tests says nothing about them.
    if !rule.in_tests && TESTS.is_match(&defect.title) {
        return Err(format!("the issue seems to describe `{}`, but in test code", rule.id));
    }
    if let Some(sentence) = approval(rule, &text) {
        let sentence = crate::stdx::text::truncate_chars(sentence.trim(), 120);
        return Err(format!(
            "the issue seems to describe `{}`, but \"{sentence}\" may mean that nothing is to be repaired",
            rule.id
        ));
    }
    let shown = proof || shows_code(engine, rule, &text);
    Ok(Match { rule: rule.id.clone(), shown })
}

/// Words alone fit a cousin of the defect, a wish or a complaint just as well. So something of its code has to be told of:
/// what the rule looks for, or a name from the very places where it finds something.
///
/// # Errors
/// Neither is there.
pub(super) fn is_tied_to_code(engine: &Engine, found: &Match, defect: &Defect, files: &[File]) -> Result<(), String> {
    let shown: Vec<&str> = defect.shown.iter().map(|(_, code)| code.as_str()).collect();
    let said = long_names(&format!("{} {} {}", defect.title, defect.body, shown.join(" ")));
    // A file that is named, and inline the very signs that stand there, are as good as a name.
    let places = &defect.seen_in.paths;
    let signs = |file: &File, there: &str| {
        places.iter().any(|path| !path.ends_with('/'))
            && defect.seen_in.covers(&file.path)
            && defect.inline.iter().any(|code| code.chars().count() > 1 && there.contains(code.as_str()))
    };
    let named = |file: &File| {
        let lines: Vec<&str> = file.text.lines().collect();
        engine.findings_of(&found.rule, &file.path, &file.text).iter().any(|finding| {
            let (first, last) = (finding.span.start_line.max(1) as usize - 1, finding.span.end_line as usize);
            let there = lines.get(first..last.min(lines.len())).unwrap_or_default().join(" ");
            !long_names(&there).is_disjoint(&said) || signs(file, &there)
        })
    };
    let mut code = files.iter().filter(|file| file.language.is_some() && defect.scope.covers(&file.path));
    if found.shown || code.any(named) {
        return Ok(());
    }
    Err(format!("the issue may describe `{}`, but names nothing of the code that it is about", found.rule))
}

/// Names as code spells them; the shortest are in every text.
fn long_names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| word.chars().count() > 2).map(str::to_owned).collect()
}

/// The rule that stands out, its score, and whether it finds something in the code that is shown.
fn best<'e>(engine: &'e Engine, defect: &Defect, present: &BTreeSet<Language>) -> Option<(&'e Rule, f64, bool)> {
    let spoken = languages(defect);
    let ranked = rank(engine, defect);
    let flagged = flagged(engine, defect);
    let mut scores: Vec<(&Rule, f64, usize, bool)> = ranked
        .into_iter()
        .map(|(rule, score, shared)| {
            let proof = flagged.contains(&rule.id);
            (rule, if proof { score * 1.5 } else { score }, shared, proof)
        })
        .filter(|(rule, ..)| rule.languages.iter().any(|l| present.contains(l)))
        .filter(|(rule, ..)| spoken.is_empty() || rule.languages.iter().any(|l| spoken.contains(l)))
        .collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (rule, score, shared, proof) = scores.first().copied()?;
    let enough = if proof { ENOUGH_WITH_CODE } else { ENOUGH };
    let next = scores.get(1).map_or(0.0, |next| next.1);
    if score < enough || shared < if proof { 2 } else { WORDS } || !rule.has_fix || score < next * MARGIN {
        return None;
    }
    Some((rule, score, proof))
}

/// Whether the text holds a name from what the rule finds, of which few other rules know.
fn shows_code(engine: &Engine, rule: &Rule, text: &str) -> bool {
    const FEW: usize = 3;
    let of =
        |rule: &Rule| -> BTreeSet<String> { rule.flag.iter().flat_map(|snippet| long_names(&snippet.code)).collect() };
    let said = long_names(text);
    let known: BTreeSet<String> = of(rule).intersection(&said).cloned().collect();
    known.into_iter().any(|name| engine.rule_files().iter().filter(|other| of(other).contains(&name)).count() <= FEW)
}

/// The rule whose fix turns one text into the other: it knows where that is right, which a replacement does not.
pub(super) fn that_replaces<'e>(engine: &'e Engine, from: &str, to: &str) -> Option<&'e RuleId> {
    let has = |text: &str, part: &str| !places(text, part, false).is_empty();
    let turns = |rule: &&Rule| {
        rule.flag.iter().any(|snippet| {
            let fixed = snippet.fixed.as_deref().unwrap_or_default();
            has(&snippet.code, from) && has(fixed, to) && !has(fixed, from) && !has(&snippet.code, to)
        })
    };
    engine.rule_files().iter().find(turns).map(|rule| &rule.id)
}

/// Whether the rule finds anything there.
pub(super) fn speaks(engine: &Engine, rule: &RuleId, scope: &Scope, files: &[File]) -> bool {
    let code = files.iter().filter(|file| file.language.is_some() && scope.covers(&file.path));
    code.into_iter().any(|file| !engine.findings_of(rule, &file.path, &file.text).is_empty())
}

/// Whether somebody wants it repaired: asks for it, calls it a leftover, or has found the cause.
fn wants_it(rule: &Rule, defect: &Defect, text: &str, score: f64, proof: bool) -> bool {
    let denied =
        |found: &str| found.split_whitespace().any(|w| matches!(w, "not" | "never" | "no") || w.ends_with("n't"));
    let task = defect.body.is_empty() && defect.asked;
    task || WANTED.find_iter(text).any(|found| !denied(&found.as_str().to_lowercase()))
        || LEFT_OVER.is_match(text)
        || CAUSE.is_match(text) && (proof || score >= SURE)
        || expects(rule, text)
}

/// A sentence that says that what the fix brings has to be there.
fn expects(rule: &Rule, text: &str) -> bool {
    let (_, brought) = names_around(rule);
    sentences(text).into_iter().any(|sentence| {
        let settled = !sentence.trim_end().ends_with('?') && !DOUBTED.is_match(sentence);
        settled && EXPECTED.is_match(sentence) && !small_names(sentence).is_disjoint(&brought)
    })
}

/// The names in what a rule finds, and those that only its fix brings.
fn names_around(rule: &Rule) -> (BTreeSet<String>, BTreeSet<String>) {
    let found: BTreeSet<String> = rule.flag.iter().flat_map(|snippet| small_names(&snippet.code)).collect();
    let fixed: BTreeSet<String> =
        rule.flag.iter().filter_map(|snippet| snippet.fixed.as_deref()).flat_map(small_names).collect();
    let brought = fixed.difference(&found).cloned().collect();
    (found, brought)
}

fn small_names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| word.len() > 2).map(str::to_lowercase).collect()
}

/// A sentence that speaks well of what the rule finds, or ill of what its fix brings.
fn approval<'t>(rule: &Rule, text: &'t str) -> Option<&'t str> {
    let (found, brought) = names_around(rule);
    sentences(text).into_iter().find(|sentence| {
        let said = small_names(sentence);
        let about_code =
            said.iter().any(|word| found.contains(word)) || sentence.contains("==") || sentence.contains('`');
        let about_fix = said.iter().any(|word| brought.contains(word));
        let back = BACK.captures_iter(sentence).filter_map(|caught| caught.name("what")).any(|what| {
            let what = small_names(what.as_str());
            what.iter().all(|word| found.contains(word)) && !what.is_empty()
        });
        (about_code || about_fix) && praises(sentence) || about_fix && BLAME.is_match(sentence) || back
    })
}

/// A full stop within `yaml.load` ends no sentence.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, c) in text.char_indices() {
        let next = at + c.len_utf8();
        let gap = text.get(next..).is_none_or(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if c == '\n' || matches!(c, '.' | '!' | '?' | ';') && gap {
            found.extend(text.get(from..next));
            from = next;
        }
    }
    found.extend(text.get(from..));
    found
}

fn praises(sentence: &str) -> bool {
    let negated = |before: &str| {
        let word = before.trim_end().rsplit(' ').next().unwrap_or_default().to_lowercase();
        matches!(word.as_str(), "not" | "never" | "no" | "cannot") || word.ends_with("n't") || word.ends_with("n’t")
    };
    PRAISE.find_iter(sentence).any(|found| !negated(sentence.get(..found.start()).unwrap_or_default()))
}

/// Every fix of that rule in the files, proved.
///
/// # Errors
/// Why there is nothing to change.
pub(super) fn apply(engine: &Engine, rule: &RuleId, scope: &Scope, files: &[File]) -> Result<Step, String> {
    let mut step = Step::default();
    let (mut found, mut fixed) = (0, 0);
    let barred = barred(engine, rule, scope, files);
    let open = |file: &&File| file.language.is_some() && file.protected.is_none() && scope.covers(&file.path);
    for file in files.iter().filter(open) {
        let mut findings = engine.findings_of(rule, &file.path, &file.text);
        if findings.is_empty() {
            continue;
        }
        found += findings.len();
        fix::prove(engine, &file.path, &file.text, &mut findings);
        let fixes: Vec<_> = findings.iter().filter_map(|f| f.fix.as_ref()).collect();
        let unsafe_lines = lines(findings.iter().filter(|f| f.fix.is_none()));
        if !unsafe_lines.is_empty() {
            step.left.push(format!("`{}`, line {unsafe_lines}: `{rule}` has no safe fix there", file.path));
        }
        if fixes.is_empty() {
            continue;
        }
        let new = fix::apply(&file.text, &fixes).map_err(|error| error.to_string())?;
        fixed += fixes.len();
        step.write(&file.path, new.clone(), described(&file.text, &new, rule, fixes.len(), &findings));
    }
    match (found, fixed) {
        (0, _) if !barred.is_empty() => Err(format!(
            "the issue seems to describe `{rule}`, which finds something only where no change may be made: {}",
            barred.join("; ")
        )),
        (0, _) => {
            Err(format!("the issue seems to describe `{rule}`, and nothing in the repository is found by that rule"))
        }
        (found, 0) => {
            let none = format!(
                "the issue seems to describe `{rule}`: {} found, and none has a safe fix",
                count(found, "place")
            );
            Err([vec![none], barred].concat().join("; "))
        }
        _ => {
            step.left.extend(barred);
            step.said = said(engine, rule, &step);
            Ok(step)
        }
    }
}

/// The rule's places that no fix may reach, file by file: which lines, and what protects them.
pub(super) fn barred(engine: &Engine, rule: &RuleId, scope: &Scope, files: &[File]) -> Vec<String> {
    let within = files.iter().filter(|file| file.language.is_some() && scope.covers(&file.path));
    let barred = within.filter_map(|file| {
        let barred = file.barred()?;
        let lines = lines(engine.findings_of(rule, &file.path, &file.text).iter());
        (!lines.is_empty()).then(|| format!("line {lines} of {barred}"))
    });
    barred.collect()
}

/// `3, 5`.
fn lines<'f>(findings: impl Iterator<Item = &'f Finding>) -> String {
    findings.map(|finding| finding.span.start_line.to_string()).collect::<Vec<_>>().join(", ")
}

/// A rule whose id stands in the text.
fn named(engine: &Engine, text: &str) -> Option<Result<Match, String>> {
    let word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let words: BTreeSet<&str> = text.split(|c| !word(c)).collect();
    let named: Vec<_> =
        engine.rules().iter().filter(|rule| rule.id.0.contains('-') && words.contains(rule.id.0.as_str())).collect();
    match named.as_slice() {
        [] => None,
        [rule] if sentences(text).iter().any(|sentence| sentence.contains(&rule.id.0) && WAIVED.is_match(sentence)) => {
            Some(Err(format!("the issue speaks of `{}`, but may want its findings to stay", rule.id)))
        }
        [rule] if rule.has_fix => Some(Ok(Match { rule: rule.id.clone(), shown: true })),
        [rule] => Some(Err(format!("`{}` has no fix that can be made mechanically", rule.id))),
        _ => Some(Err("several rules are named".to_owned())),
    }
}

/// Rules that find something in the code that the text shows.
fn flagged(engine: &Engine, defect: &Defect) -> BTreeSet<RuleId> {
    const SNIPPETS: usize = 12;
    const LONGEST: usize = 20_000;
    let inline = defect.inline.iter().map(|code| ("", code.as_str()));
    let shown = defect.shown.iter().map(|(language, code)| (language.as_str(), code.as_str()));
    let mut flagged = BTreeSet::new();
    for (language, code) in shown.chain(inline).filter(|(_, code)| code.len() < LONGEST).take(SNIPPETS) {
        let fenced = of_fence(language);
        for language in Language::ALL.into_iter().filter(|l| fenced.is_empty() || fenced.contains(l)) {
            for text in framed(language, code) {
                flagged.extend(engine.scan(language.sample_path(), &text).findings.into_iter().map(|f| f.rule));
            }
        }
    }
    flagged
}

/// A few lines out of a function are no file; in a frame they are.
fn framed(language: Language, code: &str) -> Vec<String> {
    let frame = match language {
        Language::Rust => Some(format!("fn sample() {{\n{code};\n}}\n")),
        Language::Go => Some(format!("package sample\n\nfunc sample() {{\n{code}\n}}\n")),
        Language::Java => {
            Some(format!("class Sample {{\nvoid sample() {{\n{};\n}}\n}}\n", code.trim_end().trim_end_matches(';')))
        }
        Language::Python => Some(format!("import logging\nimport yaml\n{}\n", code.trim_start())),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            Some(format!("list{code}\n")).filter(|_| code.starts_with('.'))
        }
    };
    std::iter::once(code.to_owned()).chain(frame).collect()
}

fn of_fence(language: &str) -> &'static [Language] {
    match language {
        "rust" | "rs" => &[Language::Rust],
        "python" | "py" | "python3" | "pycon" => &[Language::Python],
        "javascript" | "js" | "jsx" => &[Language::JavaScript],
        "typescript" | "ts" | "tsx" => &[Language::TypeScript, Language::Tsx, Language::JavaScript],
        "go" | "golang" => &[Language::Go],
        "java" => &[Language::Java],
        _ => &[],
    }
}

/// Languages that the text names.
fn languages(defect: &Defect) -> BTreeSet<Language> {
    let mut spoken: BTreeSet<Language> = defect.shown.iter().flat_map(|(fence, _)| of_fence(fence)).copied().collect();
    let text = format!("{} {}", defect.title, defect.body).to_lowercase();
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '.' || c == '/')) {
        let by_name: &[Language] = match word {
            // Said of a language; `go` is a verb more often than not.
            "rust" | "python" | "java" | "golang" | "javascript" | "typescript" => of_fence(word),
            _ => &[],
        };
        spoken.extend(by_name);
        spoken.extend(Language::of_path(word.trim_end_matches('.')));
    }
    if spoken.contains(&Language::JavaScript) || spoken.contains(&Language::TypeScript) {
        spoken.extend([Language::JavaScript, Language::TypeScript, Language::Tsx]);
    }
    spoken
}

/// Every rule's score against the words of the text, and how many different words they share.
fn rank<'e>(engine: &'e Engine, defect: &Defect) -> Vec<(&'e Rule, f64, usize)> {
    let documents: Vec<(&Rule, BTreeMap<String, f64>)> =
        engine.rule_files().iter().map(|rule| (rule, document(rule))).collect();
    let mut frequency: HashMap<&str, f64> = HashMap::new();
    for word in documents.iter().flat_map(|(_, words)| words.keys()) {
        *frequency.entry(word).or_default() += 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred rules")]
    let total = documents.len() as f64;
    let length = |words: &BTreeMap<String, f64>| words.values().sum::<f64>();
    let mean = documents.iter().map(|(_, words)| length(words)).sum::<f64>() / total.max(1.0);
    let shown: String = defect.shown.iter().map(|(_, code)| format!(" {code}")).collect();
    let mut asked: BTreeMap<String, f64> = BTreeMap::new();
    for (text, weight) in [(&shown, 0.5), (&defect.body, 1.0), (&defect.title, 1.3)] {
        for word in words(text) {
            let known = asked.entry(word).or_insert(0.0);
            *known = known.max(weight);
        }
    }
    documents
        .iter()
        .map(|(rule, document)| {
            let (mut score, mut shared) = (0.0, 0);
            for (word, weight) in &asked {
                let Some(times) = document.get(word) else { continue };
                let n = frequency.get(word.as_str()).copied().unwrap_or(0.0);
                let rarity = ((total - n + 0.5) / (n + 0.5) + 1.0).ln();
                let saturated = times * 2.2 / (times + 1.2 * (0.6 + 0.4 * length(document) / mean));
                score += rarity * saturated * weight;
                shared += 1;
            }
            (*rule, score, shared)
        })
        .collect()
}

/// The words of a rule, with how much each says about it.
fn document(rule: &Rule) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    let mut add = |text: &str, weight: f64, most: f64| {
        for word in words(text) {
            let known = all.entry(word).or_default();
            *known = (*known + weight).min(most.max(*known));
        }
    };
    add(&rule.id.0, 1.0, 3.0);
    add(&rule.message, 1.0, 3.0);
    add(&rule.why, 0.7, 3.0);
    for symptom in &rule.symptoms {
        add(symptom, 1.5, 3.0);
    }
    for snippet in &rule.flag {
        add(&snippet.code, 0.2, 0.6);
    }
    all
}

/// Stems of words, and signs that programs are made of.
fn words(text: &str) -> Vec<String> {
    const SIGNS: [&str; 9] = ["===", "!==", "==", "!=", "%v", "%w", "dbg!", "-1", "[0]"];
    let mut found: Vec<String> = SIGNS.into_iter().filter(|sign| text.contains(sign)).map(str::to_owned).collect();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let mut parts = vec![word.to_lowercase()];
        let split = apart(word);
        if split.len() > 1 {
            parts.extend(split);
        }
        found.extend(
            parts.into_iter().filter(|part| part.len() > 1 && !STOP.contains(part.as_str())).map(|part| stem(&part)),
        );
    }
    found
}

/// `parseInt` and `safe_load` in their parts.
fn apart(word: &str) -> Vec<String> {
    let mut parts: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for c in word.chars() {
        if c == '_' || c.is_uppercase() && before.is_lowercase() {
            parts.push(String::new());
        }
        if let Some(last) = parts.last_mut().filter(|_| c != '_') {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn stem(word: &str) -> String {
    for end in ["ations", "ation", "ising", "izing", "ings", "ing", "edly", "ies", "ied", "ed", "es", "ly", "s"] {
        if let Some(stem) =
            word.strip_suffix(end).filter(|stem| stem.len() > 3 || end == "s" && stem.len() > 2 && !stem.ends_with('s'))
        {
            return stem.trim_end_matches('e').to_owned();
        }
    }
    word.trim_end_matches(if word.len() > 4 { "e" } else { "\u{0}" }).to_owned()
}

/// Words that say nothing about a defect, also those of every report.
static STOP: LazyLock<BTreeSet<&str>> = LazyLock::new(|| STOP_WORDS.split_whitespace().collect());

const STOP_WORDS: &str = "a an and are as at be been but by can could did do does for from had has have he her his how i if in into is \
     it its just like may me more my no not of on one only or our out she should so some such than that the their \
     them then there these they this those to too up us use uses used using was we were what when where which who \
     why will with would you your also any all because here very still again please thanks thank hi hello hey fix \
     fixed bug issue problem error version code file line lines project app see get gets got make makes need \
     needs think look looks seem seems way thing steps expected actual behavior behaviour describe reproduce \
     report description works work about after before";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_with_a_fix_is_found_by_each_way_people_tell_of_it() {
        let engine = Engine::embedded().unwrap();
        let mut wrong = Vec::new();
        for rule in engine.rule_files().iter().filter(|rule| rule.has_fix) {
            assert!(!rule.symptoms.is_empty(), "{} has no symptoms", rule.id);
            let text = rule.symptoms.join(". ");
            let defect = Defect::new(&text, "", &[], true);
            let found = best(&engine, &defect, &Language::ALL.into_iter().collect());
            if found.is_none_or(|(found, ..)| found.id != rule.id) {
                let mut ranked = rank(&engine, &defect);
                ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
                let best: Vec<_> = ranked.iter().take(3).map(|(rule, score, n)| (&rule.id.0, score, n)).collect();
                wrong.push(format!("{}: {best:?}", rule.id));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
