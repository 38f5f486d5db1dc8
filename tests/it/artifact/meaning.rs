//! What a schema cannot say: ids, circles, sums, paths, points.

use octoswarm::artifact::exchange::{IssueSeverity, ValidationResult};
use octoswarm::artifact::{Fault, check};
use serde_json::{Value, json};

use super::{accepted, drop_field, errors, full, refused};

fn warnings(name: &str, document: &Value) -> Vec<String> {
    let faults = check(name, document).unwrap();
    assert!(faults.iter().all(|fault| !fault.is_error()), "{faults:?}");
    faults.iter().map(Fault::to_string).collect()
}

fn task(id: &str, before: &[&str], after: &[&str]) -> Value {
    let mut task = full("task");
    task["id"] = json!(id);
    task["inputDependencies"] = json!(before);
    task["outputDependencies"] = json!(after);
    task
}

fn with_tasks(tasks: &[Value]) -> Value {
    let mut plan = full("plan");
    plan["milestones"] = json!([plan["milestones"][0]]);
    plan["milestones"][0]["tasks"] = json!(tasks);
    plan["milestones"][0]["duration"] = json!(1000);
    plan
}

#[test]
fn s1_12_a_circle_of_tasks_is_named() {
    let plan = with_tasks(&[
        task("a", &["c"], &["b"]),
        task("b", &["a"], &["c"]),
        task("c", &["b"], &["a", "d"]),
        task("d", &["c"], &[]),
        task("self", &["self"], &["self"]),
    ]);
    assert_eq!(
        errors("plan", &plan),
        [
            "milestones: has tasks that wait for each other: b → c → a → b",
            "milestones: has tasks that wait for each other: self → self",
        ]
    );
    let mut long: Vec<Value> = Vec::new();
    for at in 0..3000 {
        let (before, after) = (format!("{}", (at + 2999) % 3000), format!("{}", (at + 1) % 3000));
        long.push(task(&at.to_string(), &[&before], &[&after]));
    }
    let told = errors("plan", &with_tasks(&long));
    assert!(told.len() == 1 && told[0].matches(" → ").count() == 3000, "a long circle is one fault");
}

#[test]
fn s1_12_every_dependency_is_a_task_and_is_told_on_both_sides() {
    let plan = with_tasks(&[task("a", &[], &["b"]), task("b", &["a", "x"], &["a2"]), task("a2", &[], &[])]);
    assert_eq!(
        errors("plan", &plan),
        [
            "milestones[0].tasks[1].inputDependencies[1]: is `x`, which is the id of no task",
            "milestones[0].tasks[1].outputDependencies[0]: is `a2`, but `b` is not in inputDependencies of that task",
        ]
    );
    let plan = with_tasks(&[task("a", &[], &[]), task("b", &["a"], &[])]);
    assert_eq!(
        errors("plan", &plan),
        ["milestones[0].tasks[1].inputDependencies[0]: is `a`, but `b` is not in outputDependencies of that task"]
    );
}

#[test]
fn s1_12_ids_are_unique_in_a_plan() {
    let plan = with_tasks(&[task("a", &[], &[]), task("a", &[], &[])]);
    assert_eq!(
        errors("plan", &plan),
        ["milestones[0].tasks[1].id: is `a`, and so is the one of milestones[0].tasks[0]"]
    );
    refused(
        "plan",
        |plan| plan["milestones"][1]["id"] = json!("1"),
        &["milestones[1].id: is `1`, and so is the one of milestones[0]"],
    );
}

#[test]
fn s1_12_a_plan_has_milestones_and_each_has_tasks() {
    refused("plan", |plan| plan["milestones"] = json!([]), &["milestones: has 0 entries, expected at least 1"]);
    refused(
        "plan",
        |plan| plan["milestones"][1]["tasks"] = json!([]),
        &[
            "milestones[1].tasks: has 0 entries, expected at least 1",
            "milestones[0].tasks[1].outputDependencies[0]: is `2.1`, which is the id of no task",
        ],
    );
}

#[test]
fn s1_12_large_tasks_and_milestones_are_warned_of() {
    let mut plan = with_tasks(&[task("a", &[], &[])]);
    plan["milestones"][0]["tasks"][0]["estimatedEffort"] = json!(40);
    assert_eq!(warnings("plan", &plan), [""; 0]);
    plan["milestones"][0]["tasks"][0]["estimatedEffort"] = json!(40.5);
    assert_eq!(
        warnings("plan", &plan),
        ["milestones[0].tasks[0].estimatedEffort: is 40.5 hours, more than 40: split the task"]
    );
    plan["milestones"][0]["tasks"][0]["estimatedEffort"] = json!(9);
    plan["milestones"][0]["duration"] = json!(1);
    assert_eq!(
        warnings("plan", &plan),
        ["milestones[0].duration: is 1 days, and its tasks need 9 hours, which are more"]
    );
    let many: Vec<Value> = (0..16).map(|at| task(&at.to_string(), &[], &[])).collect();
    assert_eq!(warnings("plan", &with_tasks(&many[..15])), [""; 0]);
    assert_eq!(
        warnings("plan", &with_tasks(&many)),
        ["milestones[0].tasks: has 16 tasks, more than 15: split the milestone"]
    );
}

#[test]
fn s1_13_and_s1_14_paths_stay_inside_the_repository() {
    let outside =
        ["/etc/passwd", "../x", "a/../../x", "a/..", "C:\\x", "C:/x", "\\\\host\\x", "a\\..\\x", "a\u{0}b", "a\nb"];
    let lists = [
        ("code-generation", "/generatedFiles/0/path"),
        ("test-suite", "/testFiles/0/path"),
        ("code-changes", "/changes/0/file"),
        ("test-changes", "/test_files/0/path"),
        ("docs-changes", "/doc_files/0/path"),
        ("issue-analysis", "/analysis/files_to_modify/0/path"),
        ("codebase-map", "/relevant_files/to_modify/0/path"),
        ("codebase-map", "/relevant_files/tests/0"),
        ("task", "/targetModule"),
        ("task", "/affectedModules/0"),
    ];
    for (name, pointer) in lists {
        for path in outside {
            let mut document = full(name);
            *document.pointer_mut(pointer).unwrap() = json!(path);
            let told = errors(name, &document);
            assert!(told.len() == 1 && told[0].contains("expected a path relative to the root"), "{path:?}: {told:?}");
        }
        for path in ["a", "a/b.py", ".github/x.yml", "a..b", "...", "ä ö.md"] {
            accepted(name, |document| *document.pointer_mut(pointer).unwrap() = json!(path));
        }
    }
    refused(
        "code-generation",
        |code| code["generatedFiles"][0]["content"] = json!(""),
        &["generatedFiles[0].content: is empty, expected a text"],
    );
}

#[test]
fn s1_15_a_review_counts_what_it_found() {
    refused(
        "code-review",
        |review| {
            review["summary"]["totalFindings"] = json!(3);
            review["summary"]["majorFindings"] = json!(1);
        },
        &[
            "summary.totalFindings: is 3, expected 2: as many as there are findings",
            "summary.majorFindings: is 1, expected 0: as many as there are findings of severity `major`",
        ],
    );
    refused(
        "code-review",
        |review| {
            review["findings"][1]["id"] = json!("F-1");
            review["categories"]["documentation"][0]["id"] = json!("F-1");
        },
        &["findings[1].id: is `F-1`, and so is the one of findings[0]"],
    );
}

#[test]
fn s1_15_categories_hold_the_same_findings() {
    refused(
        "code-review",
        |review| review["categories"]["security"] = json!([]),
        &["categories.security: lacks the finding `F-1`, whose category is `security`"],
    );
    refused(
        "code-review",
        |review| review["categories"]["testing"] = review["categories"]["security"].clone(),
        &["categories.testing[0]: is none of the findings whose category is `testing`"],
    );
    refused(
        "code-review",
        |review| review["categories"]["security"][0]["title"] = json!("Another"),
        &[
            "categories.security[0]: is none of the findings whose category is `security`",
            "categories.security: lacks the finding `F-1`, whose category is `security`",
        ],
    );
}

#[test]
fn s1_20_a_run_does_not_end_before_it_began() {
    refused(
        "pipeline-result",
        |result| result["endedAt"] = json!("2026-11-21T11:15:34+01:00"),
        &["endedAt: is `2026-11-21T11:15:34+01:00`, before `startedAt`, which is `2026-11-21T10:15:35Z`"],
    );
    accepted("pipeline-result", |result| result["endedAt"] = result["startedAt"].clone());
}

#[test]
fn s2_14_to_s2_18_summaries_agree_with_their_lists() {
    for (name, pointer, want) in [
        ("code-changes", "/summary/total_files_changed", "is 77, expected 2: as many as there are changes"),
        ("code-changes", "/summary/total_additions", "is 77, expected 1: the sum over the changes"),
        ("code-changes", "/summary/total_deletions", "is 77, expected 3: the sum over the changes"),
        ("test-changes", "/summary/total_test_files", "is 77, expected 1: as many as there are test files"),
        ("test-changes", "/summary/tests_added", "is 77, expected 1: as many as the files have"),
        ("docs-changes", "/summary/files_updated", "is 77, expected 1: as many as there are files"),
        ("pr-created", "/summary/commits", "is 77, expected 1: as many as there are commits"),
    ] {
        let want = format!("{}: {want}", super::dotted(pointer));
        refused(name, |document| *document.pointer_mut(pointer).unwrap() = json!(77), &[&want]);
    }
    refused(
        "docs-changes",
        |docs| docs["summary"]["sections_added"] = json!(1),
        &["summary: counts 2 sections, expected 1: as many as the files have"],
    );
    refused(
        "review-activity",
        |activity| activity["current_status"]["ci_status"] = json!("failure"),
        &["current_status.ci_status: is `failure`, expected `success`: the last of ci_history"],
    );
}

#[test]
fn s2_17_a_draft_is_called_one() {
    refused("pr-created", |pull| pull["pr"]["draft"] = json!(false), &["pr.draft: is false, but `state` is `draft`"]);
    refused("pr-created", |pull| pull["pr"]["state"] = json!("open"), &["pr.draft: is true, but `state` is `open`"]);
    accepted("pr-created", |pull| {
        pull["pr"]["state"] = json!("open");
        pull["pr"]["draft"] = json!(false);
    });
}

#[test]
fn what_reads_as_a_whole_number_only_to_a_schema_is_told() {
    let document: Value =
        serde_json::from_str(&full("swarm-status").to_string().replace("\"cycle\":3", "\"cycle\":3.0")).unwrap();
    let told = errors("swarm-status", &document);
    assert!(told.len() == 1 && told[0].starts_with("the document: cannot be read: "), "{told:?}");
}

#[test]
fn s1_8_the_score_falls_by_25_for_a_missing_field_and_by_5_for_a_defect_and_stops_at_0() {
    let score = |plan: &Value| ValidationResult::of(&check("plan", plan).unwrap()).quality_score;
    let mut plan = full("plan");
    assert_eq!(score(&plan), 100);
    plan["milestones"][0]["tasks"][0]["estimatedEffort"] = json!(41);
    assert_eq!(score(&plan), 100, "a warning costs nothing");
    plan["milestones"][0]["tasks"][0]["type"] = json!("x");
    assert_eq!(score(&plan), 95);
    drop_field(&mut plan, "/milestones/0/title");
    assert_eq!(score(&plan), 90, "a field that is missing in an item is a defect of it");
    drop_field(&mut plan, "/title");
    assert_eq!(score(&plan), 65);
    plan["description"] = Value::Null;
    assert_eq!(score(&plan), 40, "null is nothing");
    drop_field(&mut plan, "/id");
    drop_field(&mut plan, "/milestones");
    assert_eq!(score(&plan), 0);
    assert_eq!(score(&json!("a plan")), 0);
}

#[test]
fn s1_8_a_verdict_lists_issues_with_place_and_suggestion() {
    let mut plan = full("plan");
    plan["milestones"][0]["tasks"][0]["type"] = json!("bugfx");
    plan["milestones"][0]["tasks"][0]["estimatedEffort"] = json!(41);
    let verdict = ValidationResult::of(&check("plan", &plan).unwrap());
    assert!(!verdict.is_valid);
    let issue = &verdict.issues[0];
    assert_eq!((issue.severity, issue.field.as_deref()), (IssueSeverity::Error, Some("milestones[0].tasks[0].type")));
    assert_eq!(issue.suggestion.as_deref(), Some("bugfix"));
    assert!(verdict.warnings.iter().any(|warning| warning.contains("41 hours")), "{:?}", verdict.warnings);
    assert_eq!(errors("validation-result", &serde_json::to_value(&verdict).unwrap()), [""; 0]);
}
