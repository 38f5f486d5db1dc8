//! What the tools of a change take: texts that say something, ids that are told from each other, and an order that can be kept.

use std::collections::BTreeMap;

use super::plan::{Graph, circles};
use super::{inside, unique};
use crate::artifact::agentd::Layer;
use crate::artifact::fault::{Fault, shown};
use crate::artifact::place::Place;

pub(in crate::artifact) fn create_proposal(document: &Place, faults: &mut Vec<Fault>) {
    text(&document.at("summary"), 10, faults);
    text(&document.at("why"), 50, faults);
    document.at("what_changes").entries().for_each(|entry| text(&entry, 1, faults));
    let impact = document.at("impact");
    text(&impact.at("breaking_changes"), 1, faults);
    impact.at("affected_code").entries().for_each(|entry| path(&entry, faults));
    let (affected, new) = (impact.at("affected_files"), impact.at("new_files"));
    if let (Some(all), Some(made)) = (affected.count(), new.count())
        && made > all
    {
        faults.push(new.error(format!("is {made}, more than `affected_files`, which counts them too")));
    }
    let specs = impact.at("affected_specs");
    unique(&specs, "id", faults);
    let ids: Vec<(String, Place)> =
        specs.entries().filter_map(|spec| Some((spec.at("id").text()?.to_owned(), spec))).collect();
    order(&specs, &ids, "specs", "spec of this list", faults);
}

pub(in crate::artifact) fn create_spec(document: &Place, faults: &mut Vec<Fault>) {
    line(&document.at("title"), faults);
    text(&document.at("overview"), 50, faults);
    for field in ["flow_diagram", "data_model"] {
        text(&document.at(field), 1, faults);
    }
    let (requirements, scenarios) = (document.at("requirements"), document.at("scenarios"));
    unique(&requirements, "id", faults);
    unique(&scenarios, "name", faults);
    for requirement in requirements.entries() {
        line(&requirement.at("title"), faults);
        text(&requirement.at("description"), 1, faults);
    }
    for scenario in scenarios.entries() {
        line(&scenario.at("name"), faults);
        ["given", "when", "then"].iter().for_each(|step| text(&scenario.at(step), 1, faults));
    }
}

pub(in crate::artifact) fn create_tasks(document: &Place, faults: &mut Vec<Fault>) {
    let tasks = document.at("tasks");
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut ids = Vec::new();
    for task in tasks.entries() {
        line(&task.at("title"), faults);
        text(&task.at("description"), 1, faults);
        path(&task.at("file").at("path"), faults);
        let (layer, number) = (task.at("layer"), task.at("number"));
        let known = Layer::ALL.into_iter().find(|known| layer.text() == Some(known.name()));
        let Some((known, count)) = known.zip(number.count()) else { continue };
        let id = format!("{}.{count}", known.number());
        match seen.get(&id) {
            Some(first) => {
                let message = format!("is {count}, and so is the one of {first}, in layer `{}` too", known.name());
                faults.push(number.error(message));
            }
            None => drop(seen.insert(id.clone(), task.path.clone())),
        }
        ids.push((id, task));
    }
    order(&tasks, &ids, "tasks", "task", faults);
}

pub(in crate::artifact) fn create_review(document: &Place, faults: &mut Vec<Fault>) {
    text(&document.at("summary"), 1, faults);
    let issues = document.at("issues");
    for issue in issues.entries() {
        line(&issue.at("title"), faults);
        line(&issue.at("category"), faults);
        text(&issue.at("description"), 1, faults);
        text(&issue.at("recommendation"), 1, faults);
        path(&issue.at("file"), faults);
    }
    let results = document.at("test_results");
    let total = results.at("total");
    if let (Some(passed), Some(failed), Some(all)) =
        (results.at("passed").count(), results.at("failed").count(), total.count())
        && passed.saturating_add(failed) > all
    {
        faults.push(total.error(format!("is {all}, fewer than {passed} that passed and {failed} that failed")));
    }
    let verdict = document.at("verdict");
    let high = issues.entries().filter(|issue| issue.at("severity").text() == Some("High")).count();
    match verdict.text() {
        Some("APPROVED") if high > 0 => {
            faults.push(verdict.warning(format!("is `APPROVED`, and issues of severity `High` are {high}")));
        }
        Some("NEEDS_FIX" | "MAJOR_ISSUES") if issues.length().unwrap_or_default() == 0 => {
            faults.push(verdict.warning(format!("is {}, and no issue says why", shown(verdict.value))));
        }
        _ => {}
    }
}

/// A text of one line or more, without the whitespace around it at least so long.
fn text(place: &Place, least: usize, faults: &mut Vec<Fault>) {
    let Some(text) = place.text() else { return };
    // What is short as it stands, the schema tells.
    if text.trim().chars().count() < least && text.chars().count() >= least {
        let count = if least == 1 { "a text".to_owned() } else { format!("at least {least} characters") };
        let message = format!("is {}, expected {count} besides the whitespace around it", shown(place.value));
        faults.push(place.error(message));
    }
    let steers = |c: &char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if let Some(found) = text.chars().find(steers) {
        faults.push(place.error(format!("holds the control character U+{:04X}", u32::from(found))));
    }
}

/// A text of one line.
fn line(place: &Place, faults: &mut Vec<Fault>) {
    text(place, 1, faults);
    if place.text().is_some_and(|text| text.trim().contains(['\n', '\r', '\t'])) {
        faults.push(place.error("has a line break or a tab, expected one line"));
    }
}

/// A path inside the repository, as git writes it.
fn path(place: &Place, faults: &mut Vec<Fault>) {
    line(place, faults);
    let Some(text) = place.text() else { return };
    let before = faults.len();
    let trimmed = serde_json::Value::from(text.trim());
    inside(&Place { value: &trimmed, path: place.path.clone() }, faults);
    if faults.len() == before && text.contains('\\') {
        faults.push(place.error(format!("is {}, expected `/` between the parts of a path", shown(place.value))));
    }
}

/// What each of the list names in `depends` is one of them, and nothing waits for itself.
fn order(list: &Place, ids: &[(String, Place)], what: &str, one: &str, faults: &mut Vec<Fault>) {
    let mut before = Graph::new();
    for (id, _) in ids {
        before.entry(id.as_str()).or_default();
    }
    for (id, entry) in ids {
        for other in entry.at("depends").entries() {
            let Some(name) = other.text() else { continue };
            if !before.contains_key(name) {
                faults.push(other.error(format!("is {}, which is the id of no {one}", shown(other.value))));
            } else if let Some(names) = before.get_mut(id.as_str()) {
                names.insert(name);
            }
        }
    }
    for circle in circles(before) {
        let names: Vec<&str> = circle.iter().chain(circle.first()).copied().collect();
        faults.push(list.error(format!("has {what} that wait for each other: {}", names.join(" → "))));
    }
}
