//! Tasks before they have their number: one for each wish, and those that accompany them.

use std::collections::BTreeSet;

use super::super::convention;
use super::super::survey::{Class, name};
use super::super::words;
use super::place::{self, Place};
use super::wish::Wish;
use super::{Sources, effort};
use crate::agent::gate;
use crate::artifact::plan::{EffortBreakdown, RiskFactor, TaskKind};
use crate::artifact::project::Level;
use crate::artifact::swarm::Quotes;

/// Code tasks that share one task of tests, at most.
const TESTED_TOGETHER: usize = 4;
const MAX_PATHS: usize = 12;

/// A task to be.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) kind: TaskKind,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) criteria: Vec<String>,
    pub(super) place: Place,
    pub(super) approach: String,
    pub(super) notes: Vec<String>,
    pub(super) effort: EffortBreakdown,
    pub(super) risks: Vec<RiskFactor>,
    /// Other drafts, by index, that have to be done before whatever the module graph says.
    pub(super) after: BTreeSet<usize>,
}

impl Draft {
    pub(super) fn of(sources: &Sources<'_>, wish: Wish, place: Place) -> Self {
        let Wish { text, kind, criteria } = wish;
        let reading = sources.reading;
        let existing: Vec<&str> = place.existing.iter().map(|(path, _)| path.as_str()).collect();
        let tests: Vec<String> = match kind {
            TaskKind::Feature | TaskKind::Bugfix | TaskKind::Refactor => {
                existing.iter().flat_map(|path| place::tests_of(reading, path).existing).map(|(path, _)| path).collect()
            }
            TaskKind::Test | TaskKind::Documentation | TaskKind::Infrastructure => Vec::new(),
        };
        let mut all = vec![holds(&text)];
        all.extend(criteria);
        all.extend(usual(sources, kind));
        let size = effort::Size::of(reading, &existing, usize::from(place.new.is_some()), all.len());
        let mut risks = effort::risks(reading, &sources.cycles, kind, &text, &existing, !tests.is_empty());
        risks.extend(place.paths().iter().filter_map(|path| protected(sources, path)));
        let mut notes = Vec::new();
        let importers: BTreeSet<&str> = existing
            .iter()
            .filter_map(|path| reading.graph.unit(path))
            .flat_map(|unit| reading.graph.used_by[unit].iter().map(|from| reading.graph.units[*from].as_str()))
            .collect();
        if !importers.is_empty() && kind != TaskKind::Documentation {
            let shown: Vec<&str> = importers.iter().take(5).copied().collect();
            let more = if importers.len() > shown.len() { " and others" } else { "" };
            notes.push(format!("Imported by {}{more}.", shown.join(", ")));
        }
        if !tests.is_empty() {
            notes.push(format!("Tested by {}.", tests.iter().take(3).cloned().collect::<Vec<_>>().join(", ")));
        }
        notes.extend(style(sources, kind));
        Self {
            title: title(&text),
            description: text,
            criteria: all,
            approach: approach(sources, kind, &place),
            effort: effort::hours(kind, size),
            kind,
            place,
            notes,
            risks,
            after: BTreeSet::new(),
        }
    }

    pub(super) fn is_code(&self) -> bool {
        matches!(self.kind, TaskKind::Feature | TaskKind::Bugfix | TaskKind::Refactor)
    }
}

/// A file that a person has to change.
fn protected(sources: &Sources<'_>, path: &str) -> Option<RiskFactor> {
    let why = gate::protection(path, &sources.protected)?;
    Some(RiskFactor {
        description: format!("octoswarm itself may not change {path}: {why}"),
        likelihood: Level::High,
        impact: Level::Medium,
        mitigation: "leave this file to a person".to_owned(),
    })
}

/// Adds what goes with code: tests for what has none of its own in the text, and the documentation.
pub(super) fn accompany(sources: &Sources<'_>, drafts: &mut Vec<Draft>) {
    let asked_tests = drafts.iter().any(|draft| draft.kind == TaskKind::Test);
    let asked_docs = drafts.iter().any(|draft| draft.kind == TaskKind::Documentation);
    let code: Vec<usize> = (0..drafts.len()).filter(|at| drafts[*at].is_code()).collect();
    for draft in drafts.iter_mut().filter(|d| matches!(d.kind, TaskKind::Test | TaskKind::Documentation)) {
        draft.after = code.iter().copied().collect();
    }
    let behaves = code.iter().any(|at| drafts[*at].kind != TaskKind::Refactor);
    if !asked_tests && (behaves || sources.analysis.analysis.tests_required) {
        for together in code.chunks(TESTED_TOGETHER) {
            drafts.extend(tests(sources, drafts, together));
        }
    }
    let new = code.iter().any(|at| drafts[*at].kind == TaskKind::Feature);
    if !asked_docs && !code.is_empty() && (new || sources.analysis.analysis.docs_update_required) {
        drafts.extend(docs(sources, drafts, &code));
    }
}

fn tests(sources: &Sources<'_>, drafts: &[Draft], of: &[usize]) -> Option<Draft> {
    let mut place = Place::default();
    for paths in of.iter().map(|at| drafts[*at].place.paths()) {
        // Of a task's files the first that can have tests.
        let own = paths.iter().map(|path| place::tests_of(sources.reading, path)).find(|own| own.target().is_some());
        let Some(own) = own else { continue };
        for (path, why) in own.existing {
            if !place.existing.iter().any(|(known, _)| *known == path) {
                place.existing.push((path, why));
            }
        }
        place.new = place.new.or(own.new);
    }
    place.existing.truncate(MAX_PATHS);
    place.target()?;
    let titles: Vec<String> = of.iter().map(|at| format!("\"{}\"", drafts[*at].title)).collect();
    let text = match titles.as_slice() {
        [one] => format!("Test {one}"),
        several => format!("Test {}", several.join(", ")),
    };
    let mut criteria: Vec<String> = Vec::new();
    for draft in of.iter().map(|at| &drafts[*at]) {
        criteria.push(match draft.kind {
            TaskKind::Bugfix => format!("A test fails without the fix and passes with it: {}", draft.title),
            _ => format!("A test shows that this holds: {}", draft.title),
        });
    }
    let wish = Wish { text: words::line(&text, 300), kind: TaskKind::Test, criteria };
    let mut draft = Draft::of(sources, wish, place);
    draft.criteria.remove(0);
    draft.after = of.iter().copied().collect();
    Some(draft)
}

fn docs(sources: &Sources<'_>, drafts: &[Draft], code: &[usize]) -> Option<Draft> {
    let survey = &sources.reading.survey;
    let readme = survey.first(&["README.md", "README.rst", "README.txt", "README"]);
    let changelog = survey.first(&[
        "CHANGELOG.md",
        "CHANGES.md",
        "CHANGES.rst",
        "CHANGELOG.rst",
        "CHANGELOG",
        "HISTORY.md",
        "NEWS.md",
    ]);
    let mut existing: Vec<(String, String)> = Vec::new();
    let legal = |path: &str| {
        let stem = name(path).to_lowercase();
        ["licen", "copying", "notice", "authors"].iter().any(|start| stem.starts_with(start))
    };
    let near = sources.map.relevant_files.docs.iter().filter(|path| survey.has(path) && !legal(path)).take(2);
    existing.extend(near.map(|path| (path.clone(), "speaks of the matter".to_owned())));
    for (path, why) in [(readme, "what a reader opens first"), (changelog, "tells of every change")] {
        if let Some(path) = path.filter(|path| !existing.iter().any(|(known, _)| known == path)) {
            existing.push((path.to_owned(), why.to_owned()));
        }
    }
    if existing.is_empty() {
        return None;
    }
    let targets: Vec<&str> = code.iter().filter_map(|at| drafts[*at].place.target()).map(name).collect();
    let named: BTreeSet<&str> = targets.into_iter().collect();
    let named: Vec<&str> = named.into_iter().take(4).collect();
    let text = format!("Bring the documentation up to date with {}", named.join(", "));
    let criteria = vec!["A reader finds what is new or different, and how to use it".to_owned()];
    let wish = Wish { text, kind: TaskKind::Documentation, criteria };
    let mut draft = Draft::of(sources, wish, Place { existing, new: None });
    draft.criteria.remove(0);
    draft.after = code.iter().copied().collect();
    Some(draft)
}

/// A title that reads as an order or a matter, on one line.
fn title(text: &str) -> String {
    let bare = text.trim_end_matches(['.', ' ', ';', ',', ':']);
    let bare = convention::conventional(bare).filter(|(head, _)| head.is_some()).map_or(bare, |(_, rest)| rest);
    let mut title = words::line(bare, 100);
    if let Some(first) = title.chars().next().filter(|first| first.is_lowercase()) {
        let code =
            title.split(' ').next().is_some_and(|word| words::looks_like_code(word) || word.contains(['.', '/', '_']));
        if !code {
            title.replace_range(..first.len_utf8(), &first.to_uppercase().to_string());
        }
    }
    title
}

/// The wish itself, as what can be checked.
fn holds(text: &str) -> String {
    let bare = text.trim_end_matches(['.', ' ', ';', ',']);
    let said = words::line(bare, 280);
    if super::super::demand::is_imperative(bare) { format!("Done: {said}") } else { format!("Holds: {said}") }
}

/// What is expected of every task of a kind here.
fn usual(sources: &Sources<'_>, kind: TaskKind) -> Vec<String> {
    let commands = &sources.map.build_commands;
    let passes = |command: &str| (!command.is_empty()).then(|| format!("`{command}` passes"));
    match kind {
        TaskKind::Refactor => {
            let mut all = vec!["Nothing that can be seen from outside changes".to_owned()];
            all.extend(passes(&commands.test));
            all
        }
        TaskKind::Feature | TaskKind::Bugfix | TaskKind::Test => passes(&commands.test).into_iter().collect(),
        TaskKind::Infrastructure => passes(&commands.build).into_iter().collect(),
        TaskKind::Documentation => vec!["Every link and every sample in it works".to_owned()],
    }
}

fn approach(sources: &Sources<'_>, kind: TaskKind, place: &Place) -> String {
    let mut said = Vec::new();
    let map = &sources.map.relevant_files;
    if let Some(new) = &place.new {
        let first = place.existing.first().filter(|_| kind == TaskKind::Feature);
        let like = first.map(|(path, _)| format!(", after the pattern of {path}")).unwrap_or_default();
        said.push(format!("Create {new}{like}."));
    }
    for (path, why) in place.existing.iter().take(3) {
        let lines = map.to_modify.iter().find(|file| file.path == *path).and_then(|file| file.line_numbers.as_ref());
        let lines = lines.filter(|lines| !lines.is_empty()).map(|lines| {
            let shown: Vec<String> = lines.iter().take(3).map(ToString::to_string).collect();
            format!(", around line {}", shown.join(", "))
        });
        let verb = match kind {
            TaskKind::Test | TaskKind::Documentation => "Extend",
            _ if said.is_empty() => "Begin with",
            _ => "Look at",
        };
        said.push(format!("{verb} {path}{} ({why}).", lines.unwrap_or_default()));
    }
    words::line(&said.join(" "), 800)
}

/// What the file's neighbours look like, for code only.
fn style(sources: &Sources<'_>, kind: TaskKind) -> Option<String> {
    let style = &sources.map.code_style;
    let language = &sources.map.structure.language;
    let any = sources.reading.survey.files.iter().any(|file| file.class == Class::Source);
    if matches!(kind, TaskKind::Documentation | TaskKind::Infrastructure) || language.is_empty() || !any {
        return None;
    }
    let quotes = match style.quotes {
        Quotes::Single => "single",
        Quotes::Double => "double",
    };
    let formatter =
        if style.formatter == "none found" { String::new() } else { format!(", formatted by {}", style.formatter) };
    Some(format!(
        "{language}, indented by {}, {quotes} quotes, lines of up to {}{formatter}.",
        style.indent, style.line_length
    ))
}
