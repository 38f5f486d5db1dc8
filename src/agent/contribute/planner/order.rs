//! The order of the tasks: what is imported before what imports it, then tests, then documentation. Acyclic by
//! construction: a task only ever waits for one that stands before it in one total order.

use std::collections::BTreeSet;

use super::super::library::Reading;
use super::draft::Draft;
use super::{Sources, effort};
use crate::artifact::plan::{Milestone, Task, TaskKind, TaskStatus};

/// Units that are followed from one task's files.
const MAX_REACHED: usize = 3_000;
const HOURS_A_DAY: f64 = 8.0;

/// The drafts as numbered tasks in milestones, one a layer.
pub(super) fn milestones(sources: &Sources<'_>, drafts: Vec<Draft>) -> Vec<Milestone> {
    let inputs = inputs(sources.reading, &drafts);
    let layers = layers(&drafts, &inputs);
    let mut numbers = vec![String::new(); drafts.len()];
    for (m, (_, tasks)) in layers.iter().enumerate() {
        for (t, at) in tasks.iter().enumerate() {
            numbers[*at] = format!("{}.{}", m + 1, t + 1);
        }
    }
    let waiting = |at: usize| (0..inputs.len()).filter(|later| inputs[*later].contains(&at)).collect::<Vec<_>>();
    let ids = |all: Vec<usize>| {
        // By number, not by text: 1.10 comes after 1.9.
        let place =
            |at: &usize| layers.iter().enumerate().find_map(|(m, (_, t))| Some((m, t.iter().position(|x| x == at)?)));
        let mut all = all;
        all.sort_by_key(place);
        all.into_iter().map(|at| numbers[at].clone()).collect::<Vec<_>>()
    };
    let code_layers = layers.iter().filter(|(layer, _)| matches!(layer, Layer::Code(_))).count();
    layers
        .iter()
        .enumerate()
        .map(|(m, (layer, tasks))| {
            let tasks: Vec<Task> = tasks
                .iter()
                .map(|at| {
                    task(
                        &drafts[*at],
                        numbers[*at].clone(),
                        ids(inputs[*at].iter().copied().collect()),
                        ids(waiting(*at)),
                    )
                })
                .collect();
            let hours: f64 = tasks.iter().map(|task| task.estimated_effort).sum();
            let (title, description) = layer.words(code_layers);
            let mut criteria = vec!["Every acceptance criterion of its tasks holds".to_owned()];
            let commands = &sources.map.build_commands;
            let command = if *layer == Layer::Ground { &commands.build } else { &commands.test };
            if !command.is_empty() && *layer != Layer::Docs {
                criteria.push(format!("`{command}` passes"));
            }
            Milestone {
                id: (m + 1).to_string(),
                title,
                description,
                // Half a day is the least that anybody plans.
                duration: (hours / HOURS_A_DAY * 2.0).ceil() / 2.0,
                tasks,
                success_criteria: criteria,
            }
        })
        .collect()
}

/// In the order in which they are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Ground,
    Code(usize),
    Tests,
    Docs,
}

impl Layer {
    fn words(self, of: usize) -> (String, String) {
        let (title, description) = match self {
            Self::Ground => ("Groundwork".to_owned(), "What is built, checked and delivered with."),
            Self::Code(_) if of == 1 => ("Code".to_owned(), "The change itself."),
            Self::Code(0) => (format!("Code, layer 1 of {of}"), "What the other layers build on."),
            Self::Code(n) => (format!("Code, layer {} of {of}", n + 1), "What builds on the layers before."),
            Self::Tests => ("Tests".to_owned(), "What shows that the change holds."),
            Self::Docs => ("Documentation".to_owned(), "What tells of the change."),
        };
        (title, description.to_owned())
    }
}

fn layer(kind: TaskKind, depth: usize) -> Layer {
    match kind {
        TaskKind::Infrastructure => Layer::Ground,
        TaskKind::Feature | TaskKind::Bugfix | TaskKind::Refactor => Layer::Code(depth),
        TaskKind::Test => Layer::Tests,
        TaskKind::Documentation => Layer::Docs,
    }
}

/// For each draft the drafts that it waits for.
fn inputs(reading: &Reading, drafts: &[Draft]) -> Vec<BTreeSet<usize>> {
    let levels = reading.graph.levels();
    let units: Vec<BTreeSet<usize>> = drafts
        .iter()
        .map(|draft| draft.place.existing.iter().filter_map(|(path, _)| reading.graph.unit(path)).collect())
        .collect();
    // The total order: by the height of a task's lowest file, then by the text.
    let height = |at: usize| (units[at].iter().map(|unit| levels[*unit]).min().unwrap_or(usize::MAX), at);
    let reached: Vec<BTreeSet<usize>> =
        units.iter().map(|own| own.iter().flat_map(|unit| reading.graph.reach(*unit, MAX_REACHED)).collect()).collect();
    let mut inputs: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); drafts.len()];
    for (at, draft) in drafts.iter().enumerate() {
        inputs[at].extend(draft.after.iter().copied().filter(|before| *before != at));
        if !draft.is_code() {
            continue;
        }
        for before in (0..drafts.len()).filter(|before| drafts[*before].is_code() && height(*before) < height(at)) {
            let imported = units[before].iter().any(|unit| reached[at].contains(unit) && !units[at].contains(unit));
            let same = draft.place.target() == drafts[before].place.target();
            if imported || same {
                inputs[at].insert(before);
            }
        }
    }
    thinned(inputs)
}

/// Without what follows from the rest: who waits for B, which waits for A, need not name A.
fn thinned(inputs: Vec<BTreeSet<usize>>) -> Vec<BTreeSet<usize>> {
    let mut before: Vec<BTreeSet<usize>> = inputs.clone();
    // Chains are as long as there are drafts, at most.
    for _ in 0..inputs.len() {
        let grown: Vec<BTreeSet<usize>> = before
            .iter()
            .map(|own| own.iter().flat_map(|at| before[*at].iter().copied()).chain(own.iter().copied()).collect())
            .collect();
        if grown == before {
            break;
        }
        before = grown;
    }
    let follows =
        |own: &BTreeSet<usize>, at: usize| own.iter().any(|other| *other != at && before[*other].contains(&at));
    inputs.iter().map(|own| own.iter().copied().filter(|at| !follows(own, *at)).collect()).collect()
}

/// The layers that have tasks, each with its drafts in the order in which they can be done, else in that of the text.
fn layers(drafts: &[Draft], inputs: &[BTreeSet<usize>]) -> Vec<(Layer, Vec<usize>)> {
    // What is done to one file after the other is one layer: nothing of it builds on the rest.
    let (mut depths, mut ranks) = (vec![0; drafts.len()], vec![0; drafts.len()]);
    // One pass more than the longest chain settles every depth.
    for _ in 0..drafts.len() {
        for at in 0..drafts.len() {
            let below = || inputs[at].iter().copied().filter(|before| drafts[*before].is_code());
            let step = |before: usize| usize::from(drafts[before].place.target() != drafts[at].place.target());
            depths[at] = below().map(|before| depths[before] + step(before)).max().unwrap_or(0);
            ranks[at] = below().map(|before| ranks[before] + 1).max().unwrap_or(0);
        }
    }
    let mut layers: Vec<(Layer, Vec<usize>)> = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let own = layer(draft.kind, depths[at]);
        match layers.iter_mut().find(|(known, _)| *known == own) {
            Some((_, tasks)) => tasks.push(at),
            None => layers.push((own, vec![at])),
        }
    }
    layers.sort_by_key(|(layer, _)| *layer);
    layers.iter_mut().for_each(|(_, tasks)| tasks.sort_by_key(|at| (ranks[*at], *at)));
    layers
}

fn task(draft: &Draft, id: String, inputs: Vec<String>, outputs: Vec<String>) -> Task {
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    Task {
        id,
        title: draft.title.clone(),
        description: draft.description.clone(),
        kind: draft.kind,
        estimated_effort: effort::total(&draft.effort),
        effort_breakdown: Some(draft.effort),
        acceptance_criteria: draft.criteria.clone(),
        input_dependencies: inputs,
        output_dependencies: outputs,
        target_module: draft.place.target().map(str::to_owned),
        affected_modules: draft.place.paths(),
        suggested_approach: some(draft.approach.clone()),
        technical_notes: some(draft.notes.join(" ")),
        risk_factors: Some(draft.risks.clone()).filter(|risks| !risks.is_empty()),
        status: TaskStatus::Planned,
        blockers: None,
    }
}
