//! One parse a file, every rule of its language in one walk over the tree.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

use ast_grep_core::matcher::MatcherExt;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Doc, Matcher, Node, NodeMatch};
use ast_grep_language::SupportLang;
use regex::Regex;

use super::flow::Flow;
use super::lines::Lines;
use super::rule::{Body, Compiled, Rule};
use super::words::Words;
use super::{Error, Language, fix, language, links, rule, secrets, skip};
use crate::domain::{Category, Finding, Fingerprint, Reading, RuleId, Severity};

pub(super) type Tree = AstGrep<StrDoc<SupportLang>>;
pub(super) type TreeNode<'t> = Node<'t, StrDoc<SupportLang>>;
/// The parser's own node.
type Inner<'t> = <StrDoc<SupportLang> as Doc>::Node<'t>;
type Match<'t> = NodeMatch<'t, StrDoc<SupportLang>>;

/// A tree deeper than this would make walks over ancestors quadratic.
const MAX_DEPTH: u32 = 1000;
/// People break their lines before this; a bundler does not.
const MAX_LINE: usize = 500;
/// A last guard; ordinary files take milliseconds.
const MAX_TIME: Duration = Duration::from_secs(5);
const TOO_DEEP: &str = "nested too deeply";
const TOO_LONG: &str = "took too long";

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

/// The rules of one language, by the kind of node that they can match.
struct Dispatch {
    rules: Vec<Compiled>,
    by_kind: Vec<Vec<usize>>,
    words: Words,
}

/// What a walk tells beside its hits.
struct Walked {
    syntax_errors: bool,
    /// `Failed` when not every node was visited.
    reading: Reading,
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
    fn dispatch(&self, language: Language) -> Option<&Result<Dispatch, Error>> {
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
        let mut scan = Scan { language, ..Scan::default() };
        match language.and_then(|language| Some((language, self.dispatch(language)?))) {
            None => scan.reading = Reading::TextOnly,
            Some((_, Err(error))) => scan.reading = Reading::Failed(format!("its rules cannot be used: {error}")),
            Some((language, Ok(dispatch))) => {
                let speaks = self.speaking(dispatch, path, text, None);
                let walked = self.walk(language, dispatch, &speaks, path, &lines, &mut hits);
                (scan.syntax_errors, scan.reading) = (walked.syntax_errors, walked.reading);
            }
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
        let speaks = self.speaking(dispatch, path, text, Some(index));
        if !speaks.contains(&true) {
            return Vec::new();
        }
        let (lines, mut hits) = (Lines::new(text), Vec::new());
        self.walk(language, dispatch, &speaks, path, &lines, &mut hits);
        finish(path, text, &lines, hits)
    }

    /// Which rules of a language have something to say about a file; `only` that one.
    fn speaking(&self, dispatch: &Dispatch, path: &str, text: &str, only: Option<usize>) -> Vec<bool> {
        let in_tests = language::is_test(path);
        let speaks = |(compiled, may_match): (&Compiled, bool)| {
            may_match
                && only.is_none_or(|rule| rule == compiled.rule)
                && self.rules.get(compiled.rule).is_some_and(|rule| rule.in_tests || !in_tests)
                && !compiled.not_in_paths.as_ref().is_some_and(|r| r.is_match(path))
                && compiled.only_in_files_with.as_ref().is_none_or(|r| r.is_match(text))
        };
        dispatch.rules.iter().zip(dispatch.words.fulfilled(text)).map(speaks).collect()
    }

    /// Asks every rule that speaks about every node that it can match.
    fn walk(
        &self,
        language: Language,
        dispatch: &Dispatch,
        speaks: &[bool],
        path: &str,
        lines: &Lines<'_>,
        hits: &mut Vec<Hit>,
    ) -> Walked {
        let text = lines.text();
        let stopped =
            |syntax_errors, reason: &str| Walked { syntax_errors, reading: Reading::Failed(reason.to_owned()) };
        let tree = match read(language, text) {
            Ok(tree) => tree,
            Err(reason) => return stopped(false, reason),
        };
        let asked = dispatch.asked(speaks);
        let mut nodes = Vec::new();
        let deep = !visit(&tree, |node| {
            if asked.get(usize::from(node.kind_id())).copied().unwrap_or(false) {
                nodes.push(node);
            }
        });
        if deep {
            return stopped(false, TOO_DEEP);
        }
        let syntax_errors = is_broken(&tree);
        // Asked only once something was found: most rules find nothing in most files.
        let mut silenced: Vec<Option<bool>> = vec![None; dispatch.rules.len()];
        let flow = Flow::new(&tree);
        let started = Instant::now();
        for (visited, node) in nodes.into_iter().enumerate() {
            if visited % 128 == 127 && started.elapsed() > MAX_TIME {
                return stopped(syntax_errors, TOO_LONG);
            }
            let node = tree.adopt(node);
            let Some(indexes) = dispatch.by_kind.get(usize::from(node.kind_id())) else { continue };
            for index in indexes.iter().filter(|i| speaks.get(**i).copied().unwrap_or(false)) {
                let Some(compiled) = dispatch.rules.get(*index) else { continue };
                let Some(matched) = compiled.config.matcher.match_node(node.clone()) else { continue };
                let silenced = silenced.get_mut(*index).is_some_and(|known| {
                    let asked = || compiled.not_in_files_with.as_ref().is_some_and(|r| r.is_match(text));
                    *known.get_or_insert_with(asked)
                });
                if silenced || packed(lines, matched.range().start) || flow.lets_pass(compiled, &matched) {
                    continue;
                }
                if let Some(rule) = self.rules.get(compiled.rule) {
                    hits.push(hit(rule, compiled, &matched, path, lines));
                }
            }
        }
        Walked { syntax_errors, reading: Reading::Whole }
    }
}

impl Dispatch {
    fn new(bodies: &[Body], language: Language) -> Result<Self, Error> {
        let speaking = bodies.iter().filter(|body| body.speaks(language));
        let rules = speaking.map(|body| body.compile(language)).collect::<Result<Vec<_>, _>>()?;
        let mut by_kind: Vec<Vec<usize>> = Vec::new();
        for (index, compiled) in rules.iter().enumerate() {
            // A rule without kinds is refused when it is compiled.
            for kind in &compiled.config.matcher.potential_kinds().unwrap_or_default() {
                if by_kind.len() <= kind {
                    by_kind.resize_with(kind + 1, Vec::new);
                }
                if let Some(slot) = by_kind.get_mut(kind) {
                    slot.push(index);
                }
            }
        }
        let words = Words::new(rules.iter().map(|compiled| &compiled.needs))
            .map_err(|e| Error::Words { language: language.name(), source: Box::new(e) })?;
        Ok(Self { rules, by_kind, words })
    }

    /// Of each kind of node, whether a rule that speaks can match it.
    fn asked(&self, speaks: &[bool]) -> Vec<bool> {
        let any = |rules: &Vec<usize>| rules.iter().any(|rule| speaks.get(*rule).copied().unwrap_or(false));
        self.by_kind.iter().map(any).collect()
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

/// The tree, or why there is none.
pub(super) fn parse(language: Language, text: &str) -> Result<Tree, String> {
    let tree = read(language, text)?;
    if visit(&tree, |_| {}) { Ok(tree) } else { Err(TOO_DEEP.to_owned()) }
}

/// A tree of any depth.
fn read(language: Language, text: &str) -> Result<Tree, &'static str> {
    if skip::nests_too_deeply(text) {
        return Err(TOO_DEEP);
    }
    Tree::try_new(text, language.grammar()).map_err(|_| TOO_LONG)
}

/// Whether the parser had to guess in code. What it cannot read of types, in published code, is what its grammar does not
/// know yet (variance of type parameters, negative constants): no statement is lost there, and nobody should be alarmed.
fn is_broken(tree: &Tree) -> bool {
    /// Kinds of nodes that hold types, or a macro's pattern.
    const TYPES: [&str; 12] = [
        "type_parameters",
        "type_parameter",
        "type_arguments",
        "type_annotation",
        "function_type",
        "union_type",
        "intersection_type",
        "tuple_type",
        "object_type",
        "struct_item",
        "token_tree_pattern",
        "index_expression",
    ];
    if !tree.root().get_inner_node().has_error() {
        return false;
    }
    let mut broken = false;
    visit(tree, |node| {
        let in_type = || node.parent().is_some_and(|parent| TYPES.contains(&parent.kind()));
        broken |= node.is_error() && !in_type() || node.is_missing() && matches!(node.kind(), ")" | "]" | "}");
    });
    broken
}

/// Shows every node, in the order of the text; `false` when the tree is too deep.
fn visit<'t>(tree: &'t Tree, mut see: impl FnMut(Inner<'t>)) -> bool {
    let mut cursor = tree.root().get_inner_node().walk();
    let mut depth = 0;
    loop {
        see(cursor.node());
        if cursor.goto_first_child() {
            depth += 1;
            if depth > MAX_DEPTH {
                return false;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return true;
            }
            depth -= 1;
        }
    }
}

fn hit(rule: &Rule, compiled: &Compiled, matched: &Match<'_>, path: &str, lines: &Lines<'_>) -> Hit {
    let place = compiled.at.as_ref().and_then(|name| matched.get_env().get_match(name)).unwrap_or(matched.get_node());
    let range = place.range();
    let fix = compiled.config.fixer.first().and_then(|fixer| {
        let edit = matched.make_edit(&compiled.config.matcher, fixer);
        let inserted = String::from_utf8(edit.inserted_text).ok()?;
        fix::whole_lines(lines, edit.position..edit.position + edit.deleted_length, &inserted)
    });
    let finding = Finding {
        category: rule.category,
        severity: rule.severity,
        rule: rule.id.clone(),
        path: path.to_owned(),
        span: lines.span(range.clone()),
        message: rule.message.clone(),
        why: rule.why.clone(),
        fix,
        reference: rule.reference.clone(),
        fingerprint: Fingerprint::new(&rule.id, path, "", 0),
    };
    Hit { start: range.start, end: range.end, matched: place.text().into_owned(), finding }
}

/// Whether a place stands in a minified line: a longer one was written by a program.
fn packed(lines: &Lines<'_>, offset: usize) -> bool {
    lines.bounds(lines.line_at(offset)).len() > MAX_LINE
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
