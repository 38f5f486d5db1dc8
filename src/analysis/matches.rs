//! What the rules match in one file: the part of a scan that reads a syntax tree.
//!
//! A worker's answer names places and rules, nothing that is shown: who asks makes findings of that with its own words.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::time::{Duration, Instant};

use ast_grep_core::matcher::MatcherExt;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{Matcher, NodeMatch};
use ast_grep_language::SupportLang;
use serde::{Deserialize, Serialize};

use super::engine::{Engine, Hit};
use super::flow::Flow;
use super::lines::Lines;
use super::rule::{Body, Compiled, Rule};
use super::tree::{self, NoTree};
use super::words::Words;
use super::worker::Bounds;
use super::{Error, Language, fix, language};
use crate::domain::{Finding, Fingerprint, RuleId};
use crate::stdx::workers::Here;

pub(super) const NAME: &str = "analysis.matches";

/// People break their lines before this; a bundler does not.
const MAX_LINE: usize = 500;
/// A last guard; ordinary files take milliseconds.
const MAX_TIME: Duration = Duration::from_secs(5);
/// Each becomes a finding; a person wants a hundredth of this.
const MAX_PLACES: usize = 20_000;

type Match<'t> = NodeMatch<'t, StrDoc<SupportLang>>;

/// The rules of one language, by the kind of node that they can match.
pub(super) struct Dispatch {
    pub(super) rules: Vec<Compiled>,
    by_kind: Vec<Vec<usize>>,
    words: Words,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Question<'a> {
    pub(super) path: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
    /// This rule alone.
    pub(super) only: Option<RuleId>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Matches {
    pub(super) syntax_errors: bool,
    /// Why not every node was looked at.
    pub(super) stopped: Option<Stopped>,
    /// In the order of the walk.
    pub(super) places: Vec<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stopped {
    /// The rules of the language do not compile.
    NoRules,
    TooDeep,
    TooLong,
    /// Rules match in more places than anybody wants to hear of.
    TooMany,
}

/// A rule matches here: bytes `start..end` of the text.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Place {
    rule: RuleId,
    start: usize,
    end: usize,
    edit: Option<Edit>,
}

/// What the rule's fix would put there instead.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Edit {
    start: usize,
    end: usize,
    inserted: String,
}

impl Dispatch {
    pub(super) fn new(bodies: &[Body], language: Language) -> Result<Self, Error> {
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

    /// Which rules have something to say about a file; `only` that one.
    pub(super) fn speaking(&self, rules: &[Rule], path: &str, text: &str, only: Option<usize>) -> Vec<bool> {
        let in_tests = language::is_test(path);
        let speaks = |(compiled, may_match): (&Compiled, bool)| {
            may_match
                && only.is_none_or(|rule| rule == compiled.rule)
                && rules.get(compiled.rule).is_some_and(|rule| rule.in_tests || !in_tests)
                && !compiled.not_in_paths.as_ref().is_some_and(|r| r.is_match(path))
                && compiled.only_in_files_with.as_ref().is_none_or(|r| r.is_match(text))
        };
        self.rules.iter().zip(self.words.fulfilled(text)).map(speaks).collect()
    }
}

/// Asks every rule that speaks about every node that it can match.
pub(super) fn find(here: &Here, engine: &Engine, question: &Question<'_>) -> Matches {
    let Some(language) = Language::of_path(&question.path) else { return Matches::default() };
    let stopped = |why| Matches { stopped: Some(why), ..Matches::default() };
    let dispatch = match engine.dispatch(language) {
        Some(Ok(dispatch)) => dispatch,
        Some(Err(_)) => return stopped(Stopped::NoRules),
        None => return Matches::default(),
    };
    let only = question.only.as_ref().and_then(|rule| engine.rule_files().iter().position(|known| known.id == *rule));
    if question.only.is_some() && only.is_none() {
        return Matches::default();
    }
    let speaks = dispatch.speaking(engine.rule_files(), &question.path, &question.text, only);
    let lines = Lines::new(&question.text);
    let tree = match tree::read(here, language, &question.text) {
        Ok(tree) => tree,
        Err(NoTree::TooDeep) => return stopped(Stopped::TooDeep),
        Err(NoTree::TooLong) => return stopped(Stopped::TooLong),
    };
    let asked = dispatch.asked(&speaks);
    let mut nodes = Vec::new();
    let deep = !tree::visit(&tree, |node| {
        if asked.get(usize::from(node.kind_id())).copied().unwrap_or(false) {
            nodes.push(node);
        }
    });
    if deep {
        return stopped(Stopped::TooDeep);
    }
    let mut found = Matches { syntax_errors: tree::is_broken(&tree), ..Matches::default() };
    // Asked only once something was found: most rules find nothing in most files.
    let mut silenced: Vec<Option<bool>> = vec![None; dispatch.rules.len()];
    let flow = Flow::new(&tree);
    let started = Instant::now();
    for (visited, node) in nodes.into_iter().enumerate() {
        if visited % 128 == 127 && started.elapsed() > MAX_TIME {
            found.stopped = Some(Stopped::TooLong);
            return found;
        }
        let node = tree.adopt(node);
        let Some(indexes) = dispatch.by_kind.get(usize::from(node.kind_id())) else { continue };
        for index in indexes.iter().filter(|i| speaks.get(**i).copied().unwrap_or(false)) {
            let Some(compiled) = dispatch.rules.get(*index) else { continue };
            let Some(matched) = compiled.config.matcher.match_node(node.clone()) else { continue };
            let silenced = silenced.get_mut(*index).is_some_and(|known| {
                let asked = || compiled.not_in_files_with.as_ref().is_some_and(|r| r.is_match(&question.text));
                *known.get_or_insert_with(asked)
            });
            if silenced || packed(&lines, matched.range().start) || flow.lets_pass(compiled, &matched) {
                continue;
            }
            if found.places.len() == MAX_PLACES {
                found.stopped = Some(Stopped::TooMany);
                return found;
            }
            if let Some(rule) = engine.rule_files().get(compiled.rule) {
                found.places.push(place(rule, compiled, &matched));
            }
        }
    }
    found
}

fn place(rule: &Rule, compiled: &Compiled, matched: &Match<'_>) -> Place {
    let place = compiled.at.as_ref().and_then(|name| matched.get_env().get_match(name)).unwrap_or(matched.get_node());
    let edit = compiled.config.fixer.first().and_then(|fixer| {
        let edit = matched.make_edit(&compiled.config.matcher, fixer);
        let inserted = String::from_utf8(edit.inserted_text).ok()?;
        Some(Edit { start: edit.position, end: edit.position + edit.deleted_length, inserted })
    });
    Place { rule: rule.id.clone(), start: place.range().start, end: place.range().end, edit }
}

/// Whether a place stands in a minified line: a longer one was written by a program.
fn packed(lines: &Lines<'_>, offset: usize) -> bool {
    lines.bounds(lines.line_at(offset)).len() > MAX_LINE
}

impl Matches {
    /// Whether this can be an answer to the question, whoever gave it.
    pub(super) fn holds(&self, engine: &Engine, question: &Question<'_>) -> bool {
        let Some(language) = Language::of_path(&question.path) else { return false };
        if self.stopped == Some(Stopped::NoRules) && matches!(engine.dispatch(language), Some(Ok(_)) | None) {
            return false;
        }
        let in_text = |start: usize, end: usize| question.text.get(start..end).is_some();
        let bounds = OnceCell::new();
        self.places.len() <= MAX_PLACES
            && self.places.iter().all(|place| {
                let rule = engine.rule_files().iter().find(|rule| rule.id == place.rule);
                rule.is_some_and(|rule| {
                    rule.languages.contains(&language)
                        && question.only.as_ref().is_none_or(|only| *only == rule.id)
                        && in_text(place.start, place.end)
                        && place.edit.as_ref().is_none_or(|edit| {
                            rule.has_fix
                                && in_text(edit.start, edit.end)
                                && bounds
                                    .get_or_init(|| Bounds::new(&question.text))
                                    .says_with(&edit.inserted, &rule.vocabulary)
                        })
                })
            })
    }
}

impl Place {
    /// The finding, in the words of the rule.
    pub(super) fn finding(self, engine: &Engine, path: &str, lines: &Lines<'_>) -> Option<Hit> {
        let rule = engine.rule_files().iter().find(|rule| rule.id == self.rule)?;
        let fix = self.edit.and_then(|edit| fix::whole_lines(lines, edit.start..edit.end, &edit.inserted));
        let finding = Finding {
            category: rule.category,
            severity: rule.severity,
            rule: rule.id.clone(),
            path: path.to_owned(),
            span: lines.span(self.start..self.end),
            message: rule.message.clone(),
            why: rule.why.clone(),
            fix,
            reference: rule.reference.clone(),
            fingerprint: Fingerprint::new(&rule.id, path, "", 0),
        };
        let matched = lines.text().get(self.start..self.end).unwrap_or_default().to_owned();
        Some(Hit { start: self.start, end: self.end, matched, finding })
    }
}
