//! The documents: published schemas, golden files, what is refused and with which words, and the door to it.

mod codes;
mod door;
mod meaning;
mod properties;
mod shapes;

use std::path::{Path, PathBuf};

use octoswarm::artifact::{FORMS, Fault, Form};
use serde_json::{Value, json};

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Every golden file: its form, its name, its document.
fn golden() -> Vec<(&'static Form, String, Value)> {
    let mut found = Vec::new();
    for form in &FORMS {
        for entry in std::fs::read_dir(folder("fixtures/artifacts").join(form.name)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{}/{}", form.name, path.file_stem().unwrap().to_str().unwrap());
            found.push((form, name, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()));
        }
    }
    found.sort_by(|a, b| a.1.cmp(&b.1));
    found
}

/// The full document of a form.
fn full(name: &str) -> Value {
    let path = folder("fixtures/artifacts").join(name).join("full.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn errors(name: &str, document: &Value) -> Vec<String> {
    let faults = octoswarm::artifact::check(name, document).unwrap();
    faults.iter().filter(|fault| fault.is_error()).map(Fault::to_string).collect()
}

/// A full document of that form, changed, has just these faults.
#[track_caller]
fn refused(name: &str, change: impl FnOnce(&mut Value), want: &[&str]) {
    let mut document = full(name);
    change(&mut document);
    assert_eq!(errors(name, &document), want);
}

/// A full document of that form, changed, is still valid.
#[track_caller]
fn accepted(name: &str, change: impl FnOnce(&mut Value)) {
    refused(name, change, &[]);
}

/// The field that a pointer leads to is gone.
fn drop_field(document: &mut Value, pointer: &str) {
    let (holder, field) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(holder).unwrap() {
        Value::Object(fields) => drop(fields.remove(field).unwrap()),
        Value::Array(list) => drop(list.remove(field.parse().unwrap())),
        _ => panic!("nothing can be dropped from {holder}"),
    }
}

/// Every pointer into a document, lists by their first entry.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.replace('/', "~1"), value)).collect(),
        Value::Array(list) => list.iter().take(1).map(|value| ("0".to_owned(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in entries {
        let pointer = format!("{at}/{key}");
        found.push(pointer.clone());
        pointers(value, &pointer, found);
    }
}

/// `milestones[0].tasks[2].id` of `/milestones/0/tasks/2/id`.
fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/");
        if part.parse::<usize>().is_ok() {
            path.push_str(&format!("[{part}]"));
        } else if part.starts_with(|c: char| c.is_ascii_digit()) || part.contains(['.', '/']) {
            path.push_str(&format!("[\"{part}\"]"));
        } else {
            path.push_str(if path.is_empty() { "" } else { "." });
            path.push_str(&part);
        }
    }
    path
}

/// Whether a pointer leads into a map that may hold anything, or into what a failed document may hold besides.
fn is_open(pointer: &str) -> bool {
    let open = ["/facts/", "/config/", "/params/", "/codebase/metadata/", "/details/"];
    open.iter().any(|part| pointer.contains(part))
}

#[test]
fn the_published_schemas_are_those_of_the_types() {
    let folder = folder("src/artifact/schema");
    let published: Vec<String> = FORMS.iter().map(|form| format!("{}.json", form.name)).collect();
    for (form, file) in FORMS.iter().zip(&published) {
        let fresh = format!("{}\n", serde_json::to_string_pretty(form.schema()).unwrap());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(folder.join(file), fresh).unwrap();
        } else {
            let page = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
            assert!(page == fresh, "src/artifact/schema/{file} is stale: run UPDATE=1 cargo test --test it artifact");
        }
    }
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(published.contains(&name), "src/artifact/schema/{name} is of no document");
    }
}

#[test]
fn every_schema_says_what_it_is_of_and_is_closed() {
    fn closed(schema: &Value, at: &str) {
        if let Value::Object(fields) = schema {
            if fields.get("type") == Some(&json!("object")) && fields.contains_key("properties") {
                assert_eq!(fields.get("additionalProperties"), Some(&json!(false)), "{at} is open");
            }
            fields.iter().for_each(|(key, value)| closed(value, &format!("{at}/{key}")));
        } else if let Value::Array(list) = schema {
            list.iter().enumerate().for_each(|(index, value)| closed(value, &format!("{at}/{index}")));
        }
    }
    for form in &FORMS {
        let schema = form.schema();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["$id"], format!("urn:octoswarm:schema:{}", form.name));
        assert!(!schema["title"].as_str().unwrap().is_empty() && schema["description"] == form.about);
        closed(schema, form.name);
        let text = schema.to_string();
        for word in ["uint", "\"format\":\"double\"", "(S", "(A", "[`"] {
            assert!(!text.contains(word), "{} says {word}", form.name);
        }
    }
}

#[test]
fn s0_14_golden_documents_are_valid_as_what_we_write() {
    for (form, name, document) in golden() {
        let faults: Vec<String> = form.check_own(&document).iter().map(Fault::to_string).collect();
        assert!(faults.is_empty(), "{name}: {faults:#?}");
    }
    for form in FORMS.iter().filter(|form| form.schema()["then"].is_object()) {
        assert!(golden().iter().any(|(_, name, _)| *name == format!("{}/failed", form.name)), "{}", form.name);
    }
}

#[test]
fn every_field_of_a_schema_stands_in_a_golden_document() {
    fn walk(schema: &Value, root: &Value, values: &[&Value], at: &str) {
        if let Some(target) = schema["$ref"].as_str() {
            return walk(root.pointer(target.trim_start_matches('#')).unwrap(), root, values, at);
        }
        if let Some(Value::Object(properties)) = schema.get("properties") {
            // A project's context has golden documents of its own, and a review's findings stand in their list.
            for (name, inner) in
                properties.iter().filter(|(name, _)| !["projectContext", "categories"].contains(&name.as_str()))
            {
                let inside: Vec<&Value> = values.iter().filter_map(|value| value.get(name)).collect();
                assert!(!inside.is_empty(), "{at}.{name} is in no golden document");
                walk(inner, root, &inside, &format!("{at}.{name}"));
            }
        }
        if let Some(items) = schema.get("items") {
            let inside: Vec<&Value> = values.iter().filter_map(|value| value.as_array()).flatten().collect();
            assert!(!inside.is_empty(), "{at}[] is in no golden document");
            walk(items, root, &inside, &format!("{at}[]"));
        }
        if schema["else"].get("required").is_some() {
            walk(&schema["else"], root, values, at);
        }
    }
    for form in FORMS.iter().filter(|form| !["agent-input", "agent-output", "pipeline-result"].contains(&form.name)) {
        let all = golden();
        let own: Vec<&Value> = all.iter().filter(|(of, ..)| of.name == form.name).map(|(.., value)| value).collect();
        walk(form.schema(), form.schema(), &own, form.name);
    }
}

#[test]
fn what_is_nulled_or_retyped_is_refused_at_its_place() {
    // What the contracts allow to be null.
    let nullable = [
        "/final_outcome",
        "/final_outcome/result",
        "/final_outcome/timestamp",
        "/final_outcome/merged_by",
        "/final_outcome/merge_commit",
        "/current_issue",
        "/current_pr",
        "/last_run",
        "/projectContext",
        "/plan",
        "/task",
    ];
    for (form, name, document) in golden() {
        let mut found = Vec::new();
        pointers(&document, "", &mut found);
        for pointer in found.iter().filter(|pointer| !is_open(pointer)) {
            let any = ["/facts", "/config/temperature", "/history/0/result"].contains(&pointer.as_str());
            let old = document.pointer(pointer).unwrap();
            let other = if old.is_string() || old.is_null() { json!(7) } else { json!("other") };
            for new in [Value::Null, other] {
                let may = new.is_null()
                    && nullable.iter().any(|end| pointer.ends_with(end))
                    && !(name == "plan/full" && pointer == "/projectContext")
                    && !(name == "review-activity/full" && pointer == "/final_outcome");
                if any || may || *old == new || form.name == "agent-output" && pointer == "/result" {
                    continue;
                }
                let mut broken = document.clone();
                *broken.pointer_mut(pointer).unwrap() = new.clone();
                // The words of an agent decide which of many forms its result has to have.
                let told = errors(form.name, &broken);
                let place = dotted(pointer);
                let at_place =
                    told.iter().any(|fault| fault.starts_with(&format!("{place}: ")) || fault.starts_with(&place));
                assert!(at_place, "{name}: {pointer} made {new}: {told:#?}");
            }
        }
    }
}

#[test]
fn what_is_missing_is_refused_unless_the_contract_calls_it_optional() {
    for (form, name, document) in golden() {
        let mut found = Vec::new();
        pointers(&document, "", &mut found);
        for pointer in found.iter().filter(|pointer| !is_open(pointer)) {
            let field = pointer.rsplit('/').next().unwrap();
            if field.parse::<usize>().is_ok() || in_a_map(pointer, form.name) {
                continue;
            }
            let mut broken = document.clone();
            drop_field(&mut broken, pointer);
            let told = errors(form.name, &broken);
            let missing = told.contains(&format!("{}: is missing", dotted(pointer)));
            assert_eq!(missing, !shapes::is_optional(form.name, pointer), "{name}: {pointer} dropped: {told:#?}");
            assert!(missing || told.is_empty() || stands_twice(pointer), "{name}: {pointer} dropped: {told:#?}");
        }
    }
}

/// A finding stands among all findings and in its category, and both have to be the same.
fn stands_twice(pointer: &str) -> bool {
    pointer.contains("/findings/") || pointer.contains("/categories/")
}

/// Keys of maps come and go.
fn in_a_map(pointer: &str, form: &str) -> bool {
    let holder = pointer.rsplit_once('/').unwrap().0;
    ["/byModule", "/agents", "/agentConfigs", "/documentation"].iter().any(|map| holder.ends_with(map))
        || form == "documentation-map"
        || form == "review-aggregate" && holder == "/errors"
}

#[test]
fn s0_14_an_unknown_field_is_refused_in_what_we_write_and_tolerated_in_what_we_read() {
    for (form, name, document) in golden() {
        let mut found = vec![String::new()];
        pointers(&document, "", &mut found);
        for pointer in found {
            let holds_anything = is_open(&format!("{pointer}/")) || in_a_map(&format!("{pointer}/x"), form.name);
            if holds_anything || stands_twice(&pointer) || !document.pointer(&pointer).unwrap().is_object() {
                continue;
            }
            let mut more = document.clone();
            more.pointer_mut(&pointer).unwrap()["surprise"] = json!({ "of": "ours" });
            let place = dotted(&format!("{pointer}/surprise"));
            let want = format!("{place}: is no field that is known");
            // What a tool takes is refused wherever it is read.
            if form.name.starts_with("create-") {
                assert_eq!(errors(form.name, &more), [want.as_str()], "{name}: {pointer}");
            } else {
                assert_eq!(errors(form.name, &more), [""; 0], "{name}: {pointer}");
            }
            let warned: Vec<String> =
                form.check(&more).iter().map(Fault::to_string).filter(|told| told.contains("surprise")).collect();
            assert_eq!(warned, [want.as_str()], "{name}: {pointer}");
            let own: Vec<String> =
                form.check_own(&more).iter().filter(|fault| fault.is_error()).map(Fault::to_string).collect();
            assert_eq!(own, [want.as_str()], "{name}: {pointer}");
        }
    }
}

#[test]
fn every_fault_of_a_document_is_told_at_once() {
    let mut plan = full("plan");
    drop_field(&mut plan, "/title");
    plan["id"] = json!("plan one");
    plan["milestones"][0]["tasks"][0]["type"] = json!("featur");
    plan["milestones"][0]["tasks"][1]["id"] = json!(12);
    plan["milestones"][1]["duration"] = json!(-1);
    plan["milestones"][1]["tasks"][0]["affectedModules"] = json!(["../outside"]);
    let told = errors("plan", &plan);
    for want in [
        "title: is missing",
        "id: is `plan one`, expected a text of the form `^P-[0-9]+$`",
        "milestones[0].tasks[0].type: is `featur`, expected `feature`, `refactor`, `bugfix`, `test`, `documentation` or \
         `infrastructure`; did you mean `feature`?",
        "milestones[0].tasks[1].id: is 12, expected a text",
        "milestones[1].duration: is -1, expected at least 0",
        "milestones[1].tasks[0].affectedModules[0]: is `../outside`, expected a path relative to the root, without `..`",
        "milestones[0].tasks[0].outputDependencies[0]: is `1.2`, which is the id of no task",
    ] {
        assert!(told.iter().any(|fault| fault == want), "{want}: {told:#?}");
    }
}

#[test]
fn a_misspelt_field_is_told_with_the_one_that_was_meant() {
    let mut plan = full("plan");
    let milestones = plan["milestones"].take();
    drop_field(&mut plan, "/milestones");
    plan["milestone"] = milestones;
    let told: Vec<String> = Form::find("plan").unwrap().check(&plan).iter().map(Fault::to_string).collect();
    assert!(told.contains(&"milestones: is missing".to_owned()), "{told:?}");
    assert!(told.contains(&"milestone: is no field that is known; did you mean `milestones`?".to_owned()), "{told:?}");
}
