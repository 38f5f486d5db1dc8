//! A plan: its tasks wait for each other in no circle, and are small enough to be told from each other.

use std::collections::{BTreeMap, BTreeSet};

use super::{inside, unique_ids};
use crate::artifact::fault::{Fault, shown};
use crate::artifact::place::Place;

/// Hours of one task above which it should be split.
const MAX_EFFORT: f64 = 40.0;
/// Hours of a day.
const DAY: f64 = 8.0;
/// Tasks of one milestone above which it should be split.
const MAX_TASKS: usize = 15;

/// Circles that are named; who has mended these learns of more.
const MAX_CIRCLES: usize = 20;

/// What waits for what, by ids.
pub(super) type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

pub(in crate::artifact) fn plan(document: &Place, faults: &mut Vec<Fault>) {
    let milestones = document.at("milestones");
    unique_ids(&milestones, faults);
    let mut tasks = Vec::new();
    for milestone in milestones.entries() {
        let own: Vec<Place> = milestone.at("tasks").entries().collect();
        own.iter().for_each(|each| task(each, faults));
        let effort: f64 = own.iter().filter_map(|task| task.at("estimatedEffort").value.as_f64()).sum();
        let duration = milestone.at("duration");
        if let Some(days) = duration.value.as_f64()
            && effort > days * DAY
        {
            faults.push(duration.warning(format!("is {days} days, and its tasks need {effort} hours, which are more")));
        }
        if own.len() > MAX_TASKS {
            let message = format!("has {} tasks, more than {MAX_TASKS}: split the milestone", own.len());
            faults.push(milestone.at("tasks").warning(message));
        }
        tasks.extend(own);
    }
    dependencies(&milestones, &tasks, faults);
}

pub(in crate::artifact) fn task(document: &Place, faults: &mut Vec<Fault>) {
    inside(&document.at("targetModule"), faults);
    document.at("affectedModules").entries().for_each(|path| inside(&path, faults));
    let effort = document.at("estimatedEffort");
    if let Some(hours) = effort.value.as_f64()
        && hours > MAX_EFFORT
    {
        faults.push(effort.warning(format!("is {hours} hours, more than {MAX_EFFORT}: split the task")));
    }
}

fn dependencies(milestones: &Place, tasks: &[Place], faults: &mut Vec<Fault>) {
    let mut places: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut before, mut after) = (Graph::new(), Graph::new());
    for task in tasks {
        let id = task.at("id");
        let Some(name) = id.text() else { continue };
        match places.get(name) {
            Some(first) => faults.push(id.error(format!("is {}, and so is the one of {first}", shown(id.value)))),
            None => drop(places.insert(name, &task.path)),
        }
        let named = |field: &str| task.at(field).entries().filter_map(|entry| entry.text()).collect::<Vec<_>>();
        before.entry(name).or_default().extend(named("inputDependencies"));
        after.entry(name).or_default().extend(named("outputDependencies"));
    }
    let lists = |id: &str, other: &str, graph: &Graph| graph.get(id).is_some_and(|names| names.contains(other));
    for task in tasks {
        let Some(name) = task.at("id").text() else { continue };
        for (field, other_field, others) in
            [("inputDependencies", "outputDependencies", &after), ("outputDependencies", "inputDependencies", &before)]
        {
            for entry in task.at(field).entries() {
                let Some(other) = entry.text() else { continue };
                let shown = shown(entry.value);
                if !places.contains_key(other) {
                    faults.push(entry.error(format!("is {shown}, which is the id of no task")));
                } else if !lists(other, name, others) {
                    faults.push(entry.error(format!("is {shown}, but `{name}` is not in {other_field} of that task")));
                }
            }
        }
    }
    // Either side may have named it.
    for (name, waiting) in &after {
        for other in waiting.iter().filter(|other| places.contains_key(**other)) {
            before.entry(other).or_default().insert(name);
        }
    }
    for circle in circles(before) {
        let names: Vec<&str> = circle.iter().chain(circle.first()).copied().collect();
        faults.push(milestones.error(format!("has tasks that wait for each other: {}", names.join(" → "))));
    }
}

/// Tasks that wait for each other, each circle from the task that has to be done first on. A task stands in one circle at most.
pub(super) fn circles(mut before: Graph<'_>) -> Vec<Vec<&str>> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    let known: BTreeSet<&str> = before.keys().copied().collect();
    before.values_mut().for_each(|names| names.retain(|name| known.contains(name)));
    while found.len() < MAX_CIRCLES {
        // What waits for nothing can be done, and whoever waits for it waits no longer.
        let mut free: Vec<&str> = before.iter().filter(|(_, names)| names.is_empty()).map(|(name, _)| *name).collect();
        let mut after = Graph::new();
        for (name, names) in &before {
            for other in names {
                after.entry(other).or_default().insert(name);
            }
        }
        while let Some(name) = free.pop() {
            before.remove(name);
            for waiting in after.remove(name).into_iter().flatten() {
                if let Some(names) = before.get_mut(waiting)
                    && names.remove(name)
                    && names.is_empty()
                {
                    free.push(waiting);
                }
            }
        }
        // Whatever is left waits for something that is left: going back leads into a circle.
        let Some(mut at) = before.keys().next().copied() else { return found };
        let (mut way, mut seen) = (Vec::new(), BTreeMap::new());
        while let std::collections::btree_map::Entry::Vacant(first) = seen.entry(at) {
            first.insert(way.len());
            way.push(at);
            let Some(next) = before.get(at).and_then(|names| names.first()) else { return found };
            at = next;
        }
        let mut circle = way.split_off(seen.get(at).copied().unwrap_or_default());
        circle.reverse();
        for name in &circle {
            before.remove(name);
        }
        before.values_mut().for_each(|names| names.retain(|name| !circle.contains(name)));
        found.push(circle);
    }
    found
}
