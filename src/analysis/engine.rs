//! One parse a file, every rule of its language in one walk over the tree.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use regex::Regex;

use super::lines::Lines;
use super::matches::{self, Dispatch, Matches, Question, Stopped};
use super::rule::{Body, Rule};
use super::{Error, Language, links, rule, secrets, skip};
use crate::domain::{Category, Finding, Fingerprint, Reading, RuleId, Severity};
use crate::stdx::workers::{self, Failure, Here};

/// Every rule; those of a language are compiled when its first file is read. Cheap to share, safe to use from many threads.
pub struct Engine {
    rules: Vec<Rule>,
    infos: Vec<RuleInfo>,
    bodies: Vec<Body>,
    languages: HashMap<Language, OnceLock<Result<Dispatch, Error>>>,
    digest: String,
}

/// What a rule says about itself.
#[derive(Debug, Clone)]
pub struct RuleInfo {
    pub id: RuleId,
    pub category: Category,
    pub severity: Severity,
    /// Empty for a rule that reads any text.
    pub languages: Vec<Language>,
    pub message: String,
    pub why: String,
    pub reference: Option<String>,
    pub has_fix: bool,
}

/// What one file gave.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    pub language: Option<Language>,
    /// In the order of the text.
    pub findings: Vec<Finding>,
    pub reading: Reading,
    /// The parser had to guess where code stands; what it did understand was still read.
    pub syntax_errors: bool,
}

/// A finding before its fingerprint is counted.
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The text that names it across pushes.
    pub(super) matched: String,
    pub(super) finding: Finding,
}

impl Engine {
    /// The rules that are built into the program; read at the first call, shared afterwards.
    ///
    /// # Errors
    /// When a rule file is wrong, naming the file and the key. One that is well-formed and does not compile is told by the
    /// scans of its languages' files, in [`Scan::reading`]; a test rules that out.
    pub fn embedded() -> Result<Arc<Self>, Error> {
        static ENGINE: OnceLock<Arc<Engine>> = OnceLock::new();
        if let Some(engine) = ENGINE.get() {
            return Ok(Arc::clone(engine));
        }
        let (rules, bodies) = rule::load_embedded()?;
        let engine = Arc::new(Self::new(rules, bodies));
        Ok(Arc::clone(ENGINE.get_or_init(|| engine)))
    }

    fn new(rules: Vec<Rule>, bodies: Vec<Body>) -> Self {
        let mut infos: Vec<_> = rules.iter().map(RuleInfo::from).collect();
        infos.extend(secrets::rules());
        infos.push(links::info());
        let known = Language::ALL.into_iter().filter(|language| bodies.iter().any(|body| body.speaks(*language)));
        let languages = known.map(|language| (language, OnceLock::new())).collect();
        Self { rules, infos, bodies, languages, digest: rule::digest() }
    }

    /// The rules of a language, ready to match.
    pub(super) fn dispatch(&self, language: Language) -> Option<&Result<Dispatch, Error>> {
        Some(self.languages.get(&language)?.get_or_init(|| Dispatch::new(&self.bodies, language)))
    }

    /// Every rule, also those that are not made of syntax.
    pub fn rules(&self) -> &[RuleInfo] {
        &self.infos
    }

    /// The rule files, with their snippets.
    pub fn rule_files(&self) -> &[Rule] {
        &self.rules
    }

    /// Names the rules and this version of the engine: another digest may mean other findings.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Everything there is to say about one file.
    pub fn scan(&self, path: &str, text: &str) -> Scan {
        if let Some(reading) = skip::skipped(path, text.as_bytes()) {
            return Scan { language: Language::of_path(path), reading, ..Scan::default() };
        }
        let lines = Lines::new(text);
        let mut hits = secrets::hits(path, text, &lines);
        let language = Language::of_path(path);
        let mut scan = Scan { language, reading: Reading::TextOnly, ..Scan::default() };
        if let Some(language) = language.filter(|language| self.languages.contains_key(language)) {
            let question = Question { path: path.into(), text: text.into(), only: None };
            (scan.syntax_errors, scan.reading) = match self.matches(&question) {
                Err(failure) => (false, Reading::Failed(failure.of("the parser"))),
                Ok(found) => {
                    hits.extend(found.places.into_iter().filter_map(|place| place.finding(self, path, &lines)));
                    (found.syntax_errors, found.stopped.map_or(Reading::Whole, |why| self.unfinished(language, why)))
                }
            };
        }
        scan.findings = finish(path, text, &lines, hits);
        scan
    }

    /// What one rule of a rule file finds in a file: the same as [`Self::scan`] says of it, for less work.
    pub fn findings_of(&self, rule: &RuleId, path: &str, text: &str) -> Vec<Finding> {
        let known = self.rules.iter().enumerate().find(|(_, known)| known.id == *rule);
        let (Some((index, known)), Some(language)) = (known, Language::of_path(path)) else { return Vec::new() };
        if !known.languages.contains(&language) || skip::skip_reason(path, text.as_bytes()).is_some() {
            return Vec::new();
        }
        let Some(Ok(dispatch)) = self.dispatch(language) else { return Vec::new() };
        if !dispatch.speaking(&self.rules, path, text, Some(index)).contains(&true) {
            return Vec::new();
        }
        let question = Question { path: path.into(), text: text.into(), only: Some(rule.clone()) };
        let lines = Lines::new(text);
        let places = self.matches(&question).unwrap_or_default().places;
        let hits = places.into_iter().filter_map(|place| place.finding(self, path, &lines)).collect();
        finish(path, text, &lines, hits)
    }

    fn matches(&self, question: &Question<'_>) -> Result<Matches, Failure> {
        let here = |here: &Here| matches::find(here, self, question);
        workers::ask_about(&question.text, matches::NAME, question, here, |found: &Matches| found.holds(self, question))
    }

    fn unfinished(&self, language: Language, why: Stopped) -> Reading {
        Reading::Failed(match (why, self.dispatch(language)) {
            (Stopped::NoRules, Some(Err(error))) => format!("its rules cannot be used: {error}"),
            (Stopped::NoRules, _) => "its rules cannot be used".to_owned(),
            (Stopped::TooDeep, _) => "nested too deeply".to_owned(),
            (Stopped::TooMany, _) => "rules match in too many places".to_owned(),
            (Stopped::TooLong, _) => "took too long".to_owned(),
        })
    }
}

impl From<&Rule> for RuleInfo {
    fn from(rule: &Rule) -> Self {
        Self {
            id: rule.id.clone(),
            category: rule.category,
            severity: rule.severity,
            languages: rule.languages.clone(),
            message: rule.message.clone(),
            why: rule.why.clone(),
            reference: rule.reference.clone(),
            has_fix: rule.has_fix,
        }
    }
}

/// Sorts, drops what is said twice or was allowed by a comment, and names the rest.
pub(super) fn finish(path: &str, text: &str, lines: &Lines<'_>, mut hits: Vec<Hit>) -> Vec<Finding> {
    if hits.is_empty() {
        return Vec::new();
    }
    hits.sort_by(|a, b| (a.start, b.end, &a.finding.rule).cmp(&(b.start, a.end, &b.finding.rule)));
    let allowed = Allowed::read(text, lines);
    let mut seen: HashMap<(RuleId, String), usize> = HashMap::new();
    let mut last: HashMap<RuleId, (usize, u32)> = HashMap::new();
    let mut findings = Vec::with_capacity(hits.len());
    for mut hit in hits {
        // A longer match of the same rule that starts on this line has said it already: `a + b + c` is one concatenation.
        let line = hit.finding.span.start_line;
        let inner = last.get(&hit.finding.rule).is_some_and(|(end, on)| hit.end <= *end && *on == line);
        if inner {
            continue;
        }
        last.insert(hit.finding.rule.clone(), (hit.end, line));
        let nth = seen.entry((hit.finding.rule.clone(), hit.matched.clone())).or_default();
        hit.finding.fingerprint = Fingerprint::new(&hit.finding.rule, path, &hit.matched, *nth);
        *nth += 1;
        if !allowed.covers(&hit.finding) && !acknowledged(lines, &hit.finding) {
            findings.push(hit.finding);
        }
    }
    findings
}

/// Whether a comment on the line, or alone on the line above, says that the author has judged this very thing. Switching off
/// another linter is enough for matters of style; what is critical needs a reason in words, or the mark of a security linter.
fn acknowledged(lines: &Lines<'_>, finding: &Finding) -> bool {
    static REASON: LazyLock<Regex> = LazyLock::new(|| {
        comment(
            r"(?:.*\b(?:nosec|NOSONAR|gosec|noqa:.*\bS\d{3})
            |.*\b(?:intentional(?:ly)?|on\spurpose|deliberate(?:ly)?|by\sdesign|false\spositive)\b
            |.*\b(?:is|are)\s(?:fine|safe|trusted|not\suser[\s-](?:controlled|supplied|input))\b
            |.*\bnot\s(?:used\s)?for\s(?:security|cryptograph))",
        )
    });
    static LINTED: LazyLock<Regex> = LazyLock::new(|| {
        comment(r"(?:noqa\b|nolint\b|pylint:\s*disable=|eslint-disable-(?:next-)?line\b|biome-ignore\b)")
    });
    static ADMITTED: LazyLock<Regex> = LazyLock::new(|| comment(r".*(?:vulnerab|insecure|unsafe|fixme|todo|\bbug\b)"));
    let says = |text: &str| {
        let judged = REASON.is_match(text) || finding.category != Category::Critical && LINTED.is_match(text);
        judged && !ADMITTED.is_match(text)
    };
    let line = finding.span.start_line;
    let above = lines.line(line.saturating_sub(1)).trim_start();
    let alone = ["#", "//", "/*"].iter().any(|mark| above.starts_with(mark));
    says(lines.line(line)) || line > 1 && alone && says(above)
}

#[expect(clippy::expect_used, reason = "literal patterns; the tests of this room compile them")]
fn comment(content: &str) -> Regex {
    Regex::new(&format!(r"(?xi)(?:^|\s)(?:\#|//|/\*)\s*{content}")).expect("the pattern is valid")
}

/// Comments of the form `octoswarm-ignore: rule-id, other-rule`, on the line of a finding or on the line above it.
struct Allowed<'t> {
    by_line: HashMap<u32, Vec<&'t str>>,
}

impl<'t> Allowed<'t> {
    fn read(text: &'t str, lines: &Lines<'_>) -> Self {
        #[expect(clippy::expect_used, reason = "a literal pattern; the tests of this room compile it")]
        static COMMENT: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"octoswarm-ignore:[ \t]*([a-z0-9-]+(?:[ \t]*,[ \t]*[a-z0-9-]+)*)")
                .expect("the pattern is valid")
        });
        let mut by_line: HashMap<u32, Vec<&str>> = HashMap::new();
        for found in COMMENT.captures_iter(text) {
            let (Some(whole), Some(ids)) = (found.get(0), found.get(1)) else { continue };
            let line = lines.line_at(whole.start());
            by_line.entry(line).or_default().extend(ids.as_str().split(',').map(str::trim));
        }
        Self { by_line }
    }

    fn covers(&self, finding: &Finding) -> bool {
        let line = finding.span.start_line;
        [line, line.saturating_sub(1)]
            .iter()
            .filter_map(|at| self.by_line.get(at))
            .any(|ids| ids.contains(&finding.rule.0.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_every_language_compile() {
        let engine = Engine::embedded().unwrap();
        for language in Language::ALL {
            let dispatch = engine.dispatch(language).unwrap().as_ref().unwrap();
            assert!(!dispatch.rules.is_empty(), "{language:?}");
        }
    }

    #[test]
    fn a_rule_that_does_not_compile_is_told_with_the_files_of_its_language() {
        let file = "id: bad\nseverity: low\nmessage: m\nwhy: w\nflag: []\npass: []\n\
                    languages: [{ language: python, rule: { kind: no_such_kind } }]\n";
        let (rule, bodies) = rule::parse("debt/bad.yml", file, 0).unwrap();
        let engine = Engine::new(vec![rule], bodies);
        let Reading::Failed(reason) = engine.scan("a.py", "x = 1\n").reading else { panic!("it was read") };
        assert!(reason.contains("debt/bad.yml") && reason.contains("python"), "{reason}");
        assert_eq!(engine.scan("a.go", "package a\n").reading, Reading::TextOnly);
    }
}
