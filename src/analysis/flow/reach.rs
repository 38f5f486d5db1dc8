//! Which assignments of a name can be what a place sees: not the ones that are overwritten before, that come later, or
//! that stand in a branch which a constant condition never takes.

use std::borrow::Cow;
use std::rc::Rc;

use super::fold::Known;
use super::syntax::{assignment, is_function, parameter, target};
use super::{Flow, MAX_STEPS, Question};
use crate::analysis::tree::TreeNode;

/// One assignment that reaches a place.
pub(super) struct Definition<'t> {
    /// The whole assignment.
    pub(super) whole: TreeNode<'t>,
    /// `None` when it is not followed which part of the right side lands in the name.
    pub(super) value: Option<TreeNode<'t>>,
    /// It adds to what is there.
    pub(super) adds: bool,
}

/// Everything that reaches a place, in the order of the text.
pub(super) struct Definitions<'t> {
    pub(super) list: Vec<Definition<'t>>,
    /// One of them surely ran: what came before, a parameter too, is gone.
    pub(super) sure: bool,
}

/// All that is assigned to any name below a scope, in the order of the text.
pub(super) struct Assignments<'t> {
    /// Each with the text that holds the names.
    list: Vec<(TreeNode<'t>, Cow<'t, str>)>,
    /// How many nodes were looked at to find them.
    nodes: usize,
}

/// The ways through an `if` or a `match`.
struct Ways<'t> {
    /// Each body, and whether it can be taken.
    bodies: Vec<(TreeNode<'t>, bool)>,
    /// One of them is always taken.
    exhaustive: bool,
}

impl<'t> Flow<'t> {
    /// What reaches `place` of all that is assigned to `name` below `scope`. `top`: leave functions inside out.
    pub(super) fn definitions(
        &self,
        place: &TreeNode<'t>,
        scope: &TreeNode<'t>,
        name: &str,
        top: bool,
        question: &mut Question<'_>,
    ) -> Definitions<'t> {
        let below = self.assignments(scope);
        question.steps += below.nodes / 16;
        let mut list: Vec<Definition<'t>> = below
            .list
            .iter()
            .filter(|(_, names)| names.contains(name))
            .filter_map(|(whole, _)| {
                let (value, adds) = assignment(whole, name)?;
                Some(Definition { whole: whole.clone(), value, adds })
            })
            .filter(|d| !top || !d.whole.ancestors().any(|a| is_function(&a.kind())))
            .collect();
        if list.is_empty() {
            return Definitions { list, sure: false };
        }
        list.retain(|d| !self.is_dead(&d.whole, scope, question));
        let mut sure = false;
        // A function inside may run at any time later, so order says nothing there.
        let own = place.ancestors().find(|a| is_function(&a.kind()));
        if own.is_none_or(|own| own.node_id() == scope.node_id()) {
            let (from, looped) = self.overwritten_at(place, scope, name, question);
            sure = from.is_some();
            let at = place.range().start;
            let from = from.unwrap_or(0);
            list.retain(|d| {
                let range = d.whole.range();
                // `x` in the body of `for x in …` has its value from the head; a comprehension names its source behind.
                let around = is_loop(&d.whole.kind()) && holds(&d.whole, place)
                    || d.whole.kind() == "for_in_clause" && d.whole.parent().is_some_and(|p| holds(&p, place));
                let before = range.start >= from && range.end <= at || around;
                before || looped.as_ref().is_some_and(|l| l.start <= range.start && range.end <= l.end)
            });
        }
        Definitions { list, sure }
    }

    /// A scope is walked once, however many names are asked for.
    fn assignments(&self, scope: &TreeNode<'t>) -> Rc<Assignments<'t>> {
        if let Some(known) = self.assignments.borrow().get(&scope.node_id()) {
            return Rc::clone(known);
        }
        let (mut nodes, mut list) = (0, Vec::new());
        for node in scope.dfs() {
            nodes += 1;
            if let Some(target) = target(&node) {
                list.push((node, target.text()));
            }
        }
        let found = Rc::new(Assignments { nodes, list });
        self.assignments.borrow_mut().insert(scope.node_id(), Rc::clone(&found));
        found
    }

    /// The value of the one assignment that reaches a place.
    pub(super) fn only_definition(
        &self,
        place: &TreeNode<'t>,
        name: &str,
        question: &mut Question<'_>,
    ) -> Option<TreeNode<'t>> {
        let root = self.tree.root();
        let mut scopes: Vec<_> = place.ancestors().filter(|a| is_function(&a.kind())).map(|s| (s, false)).collect();
        scopes.push((root, true));
        for (scope, top) in scopes {
            let found = self.definitions(place, &scope, name, top, question);
            if !top && !found.sure && parameter(&scope, name).is_some() {
                return None;
            }
            match found.list.as_slice() {
                [] => {}
                [one] => {
                    let loops = is_loop(&one.whole.kind()) || one.whole.kind().ends_with("_clause");
                    return if one.adds || loops { None } else { one.value.clone() };
                }
                _ => return None,
            }
        }
        None
    }

    /// Whether a constant condition keeps a place from being reached.
    fn is_dead(&self, node: &TreeNode<'t>, scope: &TreeNode<'t>, question: &mut Question<'_>) -> bool {
        let outer = scope.range();
        for ancestor in node.ancestors() {
            if ancestor.range() == outer || question.steps > MAX_STEPS {
                return false;
            }
            let Some(ways) = self.ways(&ancestor, question) else { continue };
            if ways.bodies.iter().any(|(body, live)| !live && holds(body, node)) {
                return true;
            }
        }
        false
    }

    /// Where the nearest statement begins that gives the name a new value on every way to a place; and the outermost
    /// loop around the place that does not, whose later parts come around again.
    fn overwritten_at(
        &self,
        place: &TreeNode<'t>,
        scope: &TreeNode<'t>,
        name: &str,
        question: &mut Question<'_>,
    ) -> (Option<usize>, Option<std::ops::Range<usize>>) {
        let outer = scope.range();
        let mut looped = None;
        let mut here = place.clone();
        while let Some(parent) = here.parent() {
            if is_block(&parent.kind()) {
                for before in here.prev_all().filter(|n| n.is_named()) {
                    question.steps += 1;
                    if self.surely_assigns(&before, name, question) == Some(true) {
                        return (Some(before.range().start), looped);
                    }
                }
            }
            if is_loop(&parent.kind()) {
                // The loop's own variable is new in every round.
                if assignment(&parent, name).is_some_and(|(_, adds)| !adds)
                    && parent.field("body").is_some_and(|b| holds(&b, place))
                {
                    return (Some(parent.range().start), Some(parent.range()));
                }
                looped = Some(parent.range());
            }
            if parent.range() == outer {
                break;
            }
            here = parent;
        }
        (None, looped)
    }

    /// Whether a statement gives the name a new value on every way through; `None` when no way leads out of it.
    fn surely_assigns(&self, node: &TreeNode<'t>, name: &str, question: &mut Question<'_>) -> Option<bool> {
        let kind = node.kind();
        match kind.as_ref() {
            "return_statement" | "raise_statement" | "throw_statement" | "return_expression" | "continue_statement"
            | "break_statement" => None,
            "expression_statement"
            | "lexical_declaration"
            | "variable_declaration"
            | "local_variable_declaration"
            | "var_declaration"
            | "var_spec_list"
            | "block"
            | "statement_block"
            | "statement_list"
            | "else_clause" => {
                for child in node.children().filter(|c| c.is_named()) {
                    match self.surely_assigns(&child, name, question) {
                        Some(false) => {}
                        decided => return decided,
                    }
                }
                Some(false)
            }
            "with_statement" => node.field("body").map_or(Some(false), |b| self.surely_assigns(&b, name, question)),
            "try_statement" => {
                let parts = node.children().filter(|c| {
                    matches!(c.kind().as_ref(), "block" | "except_clause" | "catch_clause" | "statement_block")
                });
                let mut all = None;
                for part in parts {
                    let body = part.field("body").or_else(|| part.children().find(|c| c.kind() == "block"));
                    match self.surely_assigns(&body.unwrap_or(part), name, question) {
                        None => {}
                        decided => all = Some(all.unwrap_or(true) && decided == Some(true)),
                    }
                }
                all
            }
            kind if is_loop(kind) || is_function(kind) || kind.ends_with("_clause") => Some(false),
            _ => {
                if let Some((_, adds)) = assignment(node, name) {
                    return Some(!adds);
                }
                let Some(ways) = self.ways(node, question) else { return Some(false) };
                if !ways.exhaustive {
                    return Some(false);
                }
                let mut all = None;
                for (body, _) in ways.bodies.iter().filter(|(_, live)| *live) {
                    match self.surely_assigns(body, name, question) {
                        None => {}
                        decided => all = Some(all.unwrap_or(true) && decided == Some(true)),
                    }
                }
                all
            }
        }
    }

    /// The bodies of a conditional statement, in order, with what a constant condition leaves of them.
    fn ways(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Option<Ways<'t>> {
        match node.kind().as_ref() {
            "if_statement" | "if_expression" => {
                let mut ways = Ways { bodies: Vec::new(), exhaustive: false };
                let mut arms = vec![(node.field("condition"), node.field("consequence"))];
                let fields: Vec<_> = node.field_children("alternative").collect();
                for alternative in fields {
                    if alternative.kind() == "elif_clause" {
                        arms.push((alternative.field("condition"), alternative.field("consequence")));
                    } else {
                        let body = alternative.field("body").unwrap_or(alternative);
                        arms.push((None, Some(body)));
                    }
                }
                for (condition, body) in arms {
                    let known = match &condition {
                        None => Some(Known::Truth(true)),
                        Some(_) if ways.exhaustive => None,
                        Some(condition) => self.fold(condition, question),
                    };
                    let taken = known.as_ref().map(Known::truth);
                    ways.bodies.extend(body.map(|body| (body, !ways.exhaustive && taken != Some(false))));
                    ways.exhaustive |= taken == Some(true);
                }
                Some(ways)
            }
            "match_statement" => {
                let subject = node.field("subject").and_then(|s| self.fold(&s, question));
                let block = node.field("body")?;
                let mut ways = Ways { bodies: Vec::new(), exhaustive: false };
                for clause in block.children().filter(|c| c.kind() == "case_clause") {
                    let Some(body) = clause.field("consequence") else { continue };
                    let patterns: Vec<_> = clause.children().filter(|c| c.kind() == "case_pattern").collect();
                    let fits = if clause.field("guard").is_some() {
                        None
                    } else {
                        let each: Vec<_> = patterns.iter().map(|p| self.fits(p, subject.as_ref(), question)).collect();
                        if each.contains(&Some(true)) {
                            Some(true)
                        } else {
                            each.iter().all(Option::is_some).then_some(false)
                        }
                    };
                    ways.bodies.push((body, !ways.exhaustive && fits != Some(false)));
                    ways.exhaustive |= fits == Some(true);
                }
                Some(ways)
            }
            "switch_statement" | "switch_expression" => self.switch(node, question),
            _ => None,
        }
    }

    /// Cases that end in `break` or `return`, or arms with an arrow; one that falls through is not followed.
    fn switch(&self, node: &TreeNode<'t>, question: &mut Question<'_>) -> Option<Ways<'t>> {
        let subject = node.field("value").or_else(|| node.field("condition"))?;
        let subject = self.fold(&subject, question)?;
        let groups: Vec<_> = node
            .field("body")?
            .children()
            .filter(|c| {
                matches!(
                    c.kind().as_ref(),
                    "switch_case" | "switch_default" | "switch_block_statement_group" | "switch_rule"
                )
            })
            .collect();
        let mut matched = None;
        for (at, group) in groups.iter().enumerate() {
            let labels: Vec<_> = match group.kind().as_ref() {
                "switch_case" => group.field("value").into_iter().collect(),
                "switch_default" => Vec::new(),
                _ => group
                    .children()
                    .filter(|c| c.kind() == "switch_label")
                    .flat_map(|label| label.children().filter(|c| c.is_named()).collect::<Vec<_>>())
                    .collect(),
            };
            for label in &labels {
                if self.fold(label, question)? == subject {
                    matched.get_or_insert(at);
                }
            }
        }
        let default = groups.iter().position(|g| g.kind() == "switch_default" || g.text().starts_with("default"));
        let first = matched.or(default)?;
        let mut running = false;
        let mut bodies = Vec::new();
        for (at, group) in groups.into_iter().enumerate() {
            running |= at == first;
            bodies.push((group.clone(), running));
            let ends = group.kind() == "switch_rule"
                || group
                    .children()
                    .filter(|c| c.is_named())
                    .any(|c| matches!(c.kind().as_ref(), "break_statement" | "return_statement" | "throw_statement"));
            running &= !ends;
        }
        // What the arms assign is joined, not trusted to overwrite.
        Some(Ways { bodies, exhaustive: false })
    }

    /// Whether a pattern takes the subject: surely, surely not, or unknown.
    fn fits(&self, pattern: &TreeNode<'t>, subject: Option<&Known>, question: &mut Question<'_>) -> Option<bool> {
        let text = pattern.text();
        if text == "_" {
            return Some(true);
        }
        let inner = pattern.children().find(|c| c.is_named())?;
        match inner.kind().as_ref() {
            "union_pattern" => {
                let parts: Vec<_> = inner.children().filter(|c| c.is_named()).collect();
                let mut all_known = true;
                for part in &parts {
                    match self.fold(part, question) {
                        Some(known) if subject == Some(&known) => return Some(true),
                        Some(_) if subject.is_some() => {}
                        _ => all_known = false,
                    }
                }
                all_known.then_some(false)
            }
            // A bare name takes everything.
            "dotted_name" => (!text.contains('.')).then_some(true),
            _ => Some(self.fold(&inner, question)? == *subject?),
        }
    }
}

pub(super) fn holds(outer: &TreeNode<'_>, inner: &TreeNode<'_>) -> bool {
    let (outer, inner) = (outer.range(), inner.range());
    outer.start <= inner.start && inner.end <= outer.end
}

pub(super) fn is_loop(kind: &str) -> bool {
    matches!(
        kind,
        "for_statement"
            | "while_statement"
            | "do_statement"
            | "for_in_statement"
            | "enhanced_for_statement"
            | "for_expression"
            | "while_expression"
            | "loop_expression"
    )
}

/// Where statements follow each other.
pub(super) fn is_block(kind: &str) -> bool {
    matches!(
        kind,
        "module"
            | "program"
            | "source_file"
            | "block"
            | "statement_block"
            | "statement_list"
            | "switch_block_statement_group"
            | "switch_case"
            | "switch_default"
            | "constructor_body"
    )
}
