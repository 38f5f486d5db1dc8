//! What a schema cannot say of a document: ids that are unique, sums that are right, paths that stay inside.
//!
//! A rule looks at whatever is there, also where the shape is wrong elsewhere, so that every fault is told at once.

mod agentd;
mod plan;

pub(super) use agentd::{create_proposal, create_review, create_spec, create_tasks};
pub(super) use plan::{plan, task};

use std::collections::BTreeMap;

use serde_json::Value;

use super::fault::{Fault, shown};
use super::form::form_of_result;
use super::place::Place;
use crate::stdx::text::parse_iso8601;

pub(super) fn none(_: &Place, _: &mut Vec<Fault>) {}

/// A path that could lead out of the repository.
fn inside(place: &Place, faults: &mut Vec<Fault>) {
    let Some(path) = place.text() else { return };
    let drive = path.as_bytes().get(1) == Some(&b':') && path.starts_with(|c: char| c.is_ascii_alphabetic());
    let climbs = path.split(['/', '\\']).any(|part| part == "..");
    if path.starts_with(['/', '\\']) || drive || climbs || path.contains(char::is_control) {
        faults.push(
            place.error(format!("is {}, expected a path relative to the root, without `..`", shown(place.value))),
        );
    }
}

/// Of a list of objects, those that have an `id` which an earlier one has.
fn unique_ids(list: &Place, faults: &mut Vec<Fault>) {
    unique(list, "id", faults);
}

/// Of a list of objects, those whose field says what that of an earlier one says.
fn unique(list: &Place, field: &str, faults: &mut Vec<Fault>) {
    let mut seen: BTreeMap<&str, String> = BTreeMap::new();
    for entry in list.entries() {
        let id = entry.at(field);
        let Some(text) = id.text() else { continue };
        match seen.get(text) {
            Some(first) => faults.push(id.error(format!("is {}, and so is the one of {first}", shown(id.value)))),
            None => drop(seen.insert(text, entry.path)),
        }
    }
}

/// A count that says otherwise than the list which it counts.
fn counts(count: &Place, real: Option<u64>, what: &str, faults: &mut Vec<Fault>) {
    if let (Some(said), Some(real)) = (count.count(), real)
        && said != real
    {
        faults.push(count.error(format!("is {said}, expected {real}: {what}")));
    }
}

/// The sum over a list; `None` where it is no list.
fn sum(list: &Place, of: impl Fn(&Place) -> Option<u64>) -> Option<u64> {
    list.length()?;
    list.entries().map(|entry| of(&entry).unwrap_or_default()).try_fold(0_u64, u64::checked_add)
}

pub(super) fn code_generation(document: &Place, faults: &mut Vec<Fault>) {
    document.at("generatedFiles").entries().for_each(|file| inside(&file.at("path"), faults));
}

pub(super) fn test_suite(document: &Place, faults: &mut Vec<Fault>) {
    document.at("testFiles").entries().for_each(|file| inside(&file.at("path"), faults));
}

pub(super) fn code_review(document: &Place, faults: &mut Vec<Fault>) {
    const SEVERITIES: [(&str, &str); 4] = [
        ("criticalFindings", "critical"),
        ("majorFindings", "major"),
        ("minorFindings", "minor"),
        ("suggestions", "suggestion"),
    ];
    let (findings, summary) = (document.at("findings"), document.at("summary"));
    unique_ids(&findings, faults);
    counts(&summary.at("totalFindings"), findings.length(), "as many as there are findings", faults);
    for (field, severity) in SEVERITIES {
        let real = sum(&findings, |finding| Some(u64::from(finding.at("severity").text() == Some(severity))));
        counts(&summary.at(field), real, &format!("as many as there are findings of severity `{severity}`"), faults);
    }
    if findings.length().is_none() {
        return;
    }
    for (category, list) in document.at("categories").values() {
        let own: Vec<&Value> = findings
            .entries()
            .filter(|finding| finding.at("category").text() == Some(category))
            .map(|finding| finding.value)
            .collect();
        for entry in list.entries().filter(|entry| !own.contains(&entry.value)) {
            faults.push(entry.error(format!("is none of the findings whose category is `{category}`")));
        }
        if list.length().is_some() {
            for finding in own.iter().filter(|own| !list.entries().any(|entry| entry.value == **own)) {
                let id = shown(finding.get("id").unwrap_or(&Value::Null));
                faults.push(list.error(format!("lacks the finding {id}, whose category is `{category}`")));
            }
        }
    }
}

pub(super) fn agent_input(document: &Place, faults: &mut Vec<Fault>) {
    if document.at("plan").value.is_object() {
        plan(&document.at("plan"), faults);
    }
    if document.at("task").value.is_object() {
        task(&document.at("task"), faults);
    }
    document.at("history").entries().for_each(|output| agent_output(&output, faults));
}

pub(super) fn agent_output(document: &Place, faults: &mut Vec<Fault>) {
    let result = document.at("result");
    if let Some(status @ ("success" | "partial")) = document.at("status").text()
        && document.value.get("result").is_some_and(Value::is_null)
    {
        faults.push(result.error(format!("is null, expected a document: `status` is `{status}`")));
    }
    if let Some(form) = form_of_result(result.value) {
        form.judge(&result, faults);
    }
}

pub(super) fn validation_result(document: &Place, faults: &mut Vec<Fault>) {
    let valid = document.at("isValid");
    let errors = document.at("issues").entries().filter(|issue| issue.at("severity").text() == Some("error")).count();
    if let Some(said) = valid.value.as_bool()
        && said != (errors == 0)
    {
        faults.push(valid.error(format!("is {said}, but issues of severity `error` are {errors}")));
    }
}

pub(super) fn pipeline_result(document: &Place, faults: &mut Vec<Fault>) {
    let (began, ended) = (document.at("startedAt"), document.at("endedAt"));
    let time = |place: &Place| place.text().and_then(parse_iso8601);
    if let (Some(from), Some(to)) = (time(&began), time(&ended))
        && to < from
    {
        faults.push(ended.error(format!(
            "is {}, before `startedAt`, which is {}",
            shown(ended.value),
            shown(began.value)
        )));
    }
    document.at("results").entries().for_each(|output| agent_output(&output, faults));
}

/// A failed document has no content that could be judged; that it should say why is all.
fn failed(document: &Place, faults: &mut Vec<Fault>) -> bool {
    let failed = document.at("status").text() == Some("failed");
    let errors = document.at("errors");
    if failed && errors.length() == Some(0) {
        faults.push(errors.warning("is empty: nobody learns why it failed"));
    }
    failed
}

pub(super) fn current_issue(document: &Place, faults: &mut Vec<Fault>) {
    failed(document, faults);
}

pub(super) fn issue_analysis(document: &Place, faults: &mut Vec<Fault>) {
    if !failed(document, faults) {
        let files = document.at("analysis").at("files_to_modify");
        files.entries().for_each(|file| inside(&file.at("path"), faults));
    }
}

pub(super) fn codebase_map(document: &Place, faults: &mut Vec<Fault>) {
    if failed(document, faults) {
        return;
    }
    let files = document.at("relevant_files");
    for list in ["to_modify", "to_reference"] {
        files.at(list).entries().for_each(|file| inside(&file.at("path"), faults));
    }
    for list in ["tests", "docs"] {
        files.at(list).entries().for_each(|path| inside(&path, faults));
    }
}

pub(super) fn code_changes(document: &Place, faults: &mut Vec<Fault>) {
    if failed(document, faults) {
        return;
    }
    let (changes, summary) = (document.at("changes"), document.at("summary"));
    changes.entries().for_each(|change| inside(&change.at("file"), faults));
    let lines = |which: &'static str| sum(&changes, |change| change.at("lines_changed").at(which).count());
    counts(&summary.at("total_files_changed"), changes.length(), "as many as there are changes", faults);
    counts(&summary.at("total_additions"), lines("added"), "the sum over the changes", faults);
    counts(&summary.at("total_deletions"), lines("removed"), "the sum over the changes", faults);
}

pub(super) fn test_changes(document: &Place, faults: &mut Vec<Fault>) {
    if failed(document, faults) {
        return;
    }
    let (files, summary) = (document.at("test_files"), document.at("summary"));
    files.entries().for_each(|file| inside(&file.at("path"), faults));
    let added = sum(&files, |file| file.at("tests_added").length());
    counts(&summary.at("total_test_files"), files.length(), "as many as there are test files", faults);
    counts(&summary.at("tests_added"), added, "as many as the files have", faults);
}

pub(super) fn docs_changes(document: &Place, faults: &mut Vec<Fault>) {
    if failed(document, faults) {
        return;
    }
    let (files, summary) = (document.at("doc_files"), document.at("summary"));
    files.entries().for_each(|file| inside(&file.at("path"), faults));
    counts(&summary.at("files_updated"), files.length(), "as many as there are files", faults);
    let (added, modified) = (summary.at("sections_added"), summary.at("sections_modified"));
    if let (Some(said), Some(real)) = (
        added.count().zip(modified.count()).and_then(|(added, modified)| added.checked_add(modified)),
        sum(&files, |file| file.at("sections_updated").length()),
    ) && said != real
    {
        faults.push(summary.error(format!("counts {said} sections, expected {real}: as many as the files have")));
    }
}

pub(super) fn pr_created(document: &Place, faults: &mut Vec<Fault>) {
    if failed(document, faults) {
        return;
    }
    let (pull, commits) = (document.at("pr"), document.at("commits"));
    if let (Some(state @ ("open" | "draft")), Some(draft)) = (pull.at("state").text(), pull.at("draft").value.as_bool())
        && draft != (state == "draft")
    {
        faults.push(pull.at("draft").error(format!("is {draft}, but `state` is `{state}`")));
    }
    counts(&document.at("summary").at("commits"), commits.length(), "as many as there are commits", faults);
}

pub(super) fn review_activity(document: &Place, faults: &mut Vec<Fault>) {
    if failed(document, faults) {
        return;
    }
    let now = document.at("current_status").at("ci_status");
    let last = document.at("ci_history").entries().last().map(|entry| entry.at("status"));
    if let (Some(said), Some(last)) = (now.text(), last)
        && last.text().is_some_and(|last| last != said)
    {
        faults.push(now.error(format!(
            "is {}, expected {}: the last of ci_history",
            shown(now.value),
            shown(last.value)
        )));
    }
}

pub(super) fn aggregate(document: &Place, faults: &mut Vec<Fault>) {
    documentation_map(&document.at("documentation"), faults);
}

pub(super) fn documentation_map(document: &Place, faults: &mut Vec<Fault>) {
    for (name, file) in document.values() {
        let name = Value::from(name);
        inside(&Place { value: &name, path: file.path }, faults);
    }
}
