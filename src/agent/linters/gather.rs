//! From what tools say to what is news: set on the text, without what stood there before, each defect once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::formats::Answer;
use super::grade::weigh;
use super::table::Linter;
use crate::analysis::Language;
use crate::analysis::same_as::same;
use crate::analysis::sarif::{self, Results};
use crate::analysis::told::{Ground, Grounded, Told, Unit};
use crate::artifact::facts::{Foreign, Linted, ReviewFacts, ReviewSettings};
use crate::domain::{FileDiff, Finding, LineKind, LinterRun, RuleId};

/// Findings of one tool that the change brought: more would drown the review.
const MAX_FRESH: usize = 100;
/// Findings of one tool that are remembered as being there.
const MAX_PRESENT: usize = 5_000;
/// A finding of more lines stands where it begins, or any change of a long function would be its.
const MAX_LINES: u32 = 10;

/// Texts by path.
pub(super) type Texts = BTreeMap<String, Arc<str>>;
/// How often a rule spoke of a text, in one file.
pub(super) type Looks = HashMap<(RuleId, String), usize>;

/// One tool's answer, set on the texts of the new side.
pub(super) struct Set {
    pub(super) run: LinterRun,
    /// Whether the review tells of it.
    pub(super) spoken: bool,
    /// Not all that it would say is here.
    pub(super) silent: bool,
    pub(super) all: Vec<Grounded>,
    /// What it says of the old side, by path; a file that is not there was not looked at.
    pub(super) before: BTreeMap<String, Looks>,
}

/// A log that somebody has handed in.
pub struct Given<'a> {
    /// As messages name it.
    pub name: &'a str,
    pub text: &'a str,
}

/// A linter's results as results of ours: its name, its rules' weight, only what is about these texts.
pub(super) fn set(linter: Option<&Linter>, told: Vec<Told>, texts: &Texts) -> Vec<Grounded> {
    let mut told: Vec<Told> = told.into_iter().filter(|one| texts.contains_key(&one.path)).collect();
    for one in &mut told {
        if let Some(linter) = linter.or_else(|| Linter::named(&one.tool)) {
            one.tool = linter.name.to_owned();
            weigh(linter, one);
        }
    }
    let place = |one: &Told| one.region.map_or((0, 0), |at| (at.start_line, at.start_column.unwrap_or(0)));
    // The same at the same place is one, however often it is said.
    let mut seen = HashSet::new();
    told.retain(|one| seen.insert((one.id(), one.path.clone(), one.region, one.message.clone())));
    told.sort_by(|a, b| (&a.path, place(a), &a.rule).cmp(&(&b.path, place(b), &b.rule)));
    let mut all = Vec::with_capacity(told.len());
    for of_file in told.chunk_by(|a, b| a.path == b.path) {
        let Some(text) = of_file.first().and_then(|one| texts.get(&one.path)) else { continue };
        let mut ground = Ground::new(text);
        all.extend(of_file.iter().map(|one| ground.set(one)));
    }
    all
}

pub(super) fn looks(all: &[Grounded]) -> BTreeMap<String, Looks> {
    let mut by_path: BTreeMap<String, Looks> = BTreeMap::new();
    for one in all {
        *by_path.entry(one.finding.path.clone()).or_default().entry(look(one)).or_default() += 1;
    }
    by_path
}

fn look(one: &Grounded) -> (RuleId, String) {
    (one.finding.rule.clone(), one.matched.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// On lines that the change wrote, less what stood on the old side and merely moved.
pub(super) fn fresh<'a>(set: &'a Set, files: &[FileDiff]) -> Vec<&'a Grounded> {
    let added: HashMap<&str, BTreeSet<u32>> = files.iter().map(|file| (file.path.as_str(), added(file))).collect();
    let mut before = set.before.clone();
    let written = |one: &Grounded| {
        let span = one.finding.span;
        let end = if span.end_line - span.start_line < MAX_LINES { span.end_line } else { span.start_line };
        added.get(one.finding.path.as_str()).is_some_and(|lines| lines.range(span.start_line..=end).next().is_some())
    };
    let (on_written, untouched): (Vec<_>, Vec<_>) = set.all.iter().partition(|one| written(one));
    for one in untouched {
        take(&mut before, one);
    }
    on_written.into_iter().filter(|one| !take(&mut before, one)).collect()
}

/// The lines that the change wrote.
fn added(file: &FileDiff) -> BTreeSet<u32> {
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
    lines.filter(|line| line.kind == LineKind::Added).filter_map(|line| line.new).collect()
}

/// Takes one of those that were there, if there is any left.
fn take(before: &mut BTreeMap<String, Looks>, one: &Grounded) -> bool {
    let count = before.get_mut(&one.finding.path).and_then(|looks| looks.get_mut(&look(one)));
    match count {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}

/// All answers together.
pub(super) fn gather(sets: Vec<Set>, facts: &ReviewFacts) -> Linted {
    let ReviewSettings { min_severity, disable, .. } = &facts.settings;
    let mut linted = Linted::default();
    for mut set in sets {
        set.all.retain(|one| !disable.contains(&one.finding.rule.0));
        let mut news: Vec<Foreign> = fresh(&set, &facts.files)
            .into_iter()
            .filter(|one| one.finding.severity >= *min_severity)
            .map(|one| Foreign { finding: one.finding.clone(), cwes: one.cwes.clone() })
            .collect();
        news.sort_by_key(|one| (Reverse(one.finding.severity), one.finding.path.clone(), one.finding.span));
        let over = news.len().saturating_sub(MAX_FRESH);
        if over > 0 {
            news.truncate(MAX_FRESH);
            set.run.left_out.push(format!("{over} more on changed lines, beyond the {MAX_FRESH} that are told"));
        }
        for one in news {
            if !linted.fresh.iter().any(|known| is_twin(known, &one)) {
                linted.fresh.push(one);
            }
        }
        if set.all.len() > MAX_PRESENT {
            set.silent = true;
        }
        linted.present.extend(set.all.into_iter().take(MAX_PRESENT).map(|one| one.finding.fingerprint));
        linted.silent.extend(set.silent.then(|| set.run.name.clone()));
        linted.runs.extend(set.spoken.then_some(set.run));
    }
    linted
}

/// Two tools that say the same at the same place. One tool that says it twice means two places.
fn is_twin(one: &Foreign, other: &Foreign) -> bool {
    let (a, b) = (&one.finding, &other.finding);
    if a.rule == b.rule {
        return a.path == b.path && a.span == b.span;
    }
    if tool(&a.rule) == tool(&b.rule) {
        return false;
    }
    is_near(a, b) && (same(&a.rule.0, &b.rule.0) || one.cwes.iter().any(|cwe| other.cwes.contains(cwe)))
}

/// Whether a finding of another tool is a defect that our own rules tell of.
pub fn is_same(ours: &Finding, theirs: &Foreign) -> bool {
    let weakness = ours.reference.as_deref().and_then(|reference| reference.strip_prefix("CWE-")?.parse().ok());
    is_near(ours, &theirs.finding)
        && (same(&ours.rule.0, &theirs.finding.rule.0) || weakness.is_some_and(|cwe: u32| theirs.cwes.contains(&cwe)))
}

fn is_near(a: &Finding, b: &Finding) -> bool {
    a.path == b.path && a.span.start_line <= b.span.end_line && b.span.start_line <= a.span.end_line
}

fn tool(rule: &RuleId) -> &str {
    rule.0.split('/').next().unwrap_or_default()
}

/// The facts of a review with the results of logs in them. Logs speak of the new side; what stood there before is not known.
///
/// # Errors
/// Why a log cannot be used, with its name.
pub fn given(
    logs: &[Given<'_>],
    root: &str,
    texts: &BTreeMap<String, Arc<str>>,
    facts: &ReviewFacts,
) -> Result<Linted, String> {
    let mut sets = Vec::new();
    for log in logs {
        let Results { told, tools, elsewhere, over, failed, suppressed: _ } = sarif::read(log.text, &[root.to_owned()])
            .map_err(|error| format!("`{}` cannot be used: {}", log.name, crate::stdx::error::chain(&error)))?;
        let noted = Results { elsewhere, over, ..Results::default() }.left_out();
        let mut by_tool: BTreeMap<String, Vec<Told>> = tools.into_iter().map(|tool| (tool, Vec::new())).collect();
        for mut one in told {
            let linter = Linter::named(&one.tool);
            // Ruff counts characters, whatever its log claims.
            if linter.is_some_and(|linter| linter.name == "ruff")
                && let Some(region) = &mut one.region
            {
                region.unit = Unit::Character;
            }
            let tool = if one.tool.is_empty() { OURS } else { &one.tool };
            by_tool.entry(tool.to_owned()).or_default().push(one);
        }
        for (at, (tool, told)) in by_tool.into_iter().enumerate() {
            let not_run =
                failed.iter().find(|(name, _)| *name == tool).map(|(_, words)| format!("it did not finish: {words}"));
            let answer = Answer { told, left_out: if at == 0 { noted.clone() } else { Vec::new() }, failed: not_run };
            let mut all = set(None, answer.told, texts);
            for one in &mut all {
                // Nobody can prove a change of a language that is not read here.
                if Language::of_path(&one.finding.path).is_none() {
                    one.finding.fix = None;
                }
            }
            let run = LinterRun { name: tool, not_run: answer.failed, left_out: answer.left_out };
            sets.push(Set { run, spoken: true, silent: false, all, before: BTreeMap::new() });
        }
    }
    Ok(gather(sets, facts))
}

const OURS: &str = "octoswarm";

/// Two gatherings as one: what both say is told once, the first one's way.
pub fn with(mut first: Linted, second: Linted) -> Linted {
    for one in second.fresh {
        if !first.fresh.iter().any(|known| is_twin(known, &one)) {
            first.fresh.push(one);
        }
    }
    first.present.extend(second.present);
    first.silent.extend(second.silent);
    first.runs.extend(second.runs);
    let mut seen = BTreeSet::new();
    first.runs.retain(|run| seen.insert((run.name.clone(), run.not_run.clone(), run.left_out.clone())));
    first
}

#[cfg(test)]
mod tests;
