//! The doors: `octoswarm schema`, and the shelf that takes only what is valid.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use octoswarm::artifact::activity::ReviewActivity;
use octoswarm::artifact::agentd::{CreateProposal, CreateReview, CreateSpec, CreateTasks};
use octoswarm::artifact::code_review::CodeReview;
use octoswarm::artifact::exchange::{
    AgentConfig, AgentError, AgentInput, AgentOutput, PipelineOptions, PipelineResult, ValidationResult,
};
use octoswarm::artifact::generation::{CodeGeneration, TestSuite};
use octoswarm::artifact::plan::{Plan, Task};
use octoswarm::artifact::project::{Project, ProjectContext};
use octoswarm::artifact::server::{
    Aggregate, ChecklistInput, CriticalItem, DebtItem, DocumentationInput, DocumentationMap, ImprovementItem,
    ReviewRequest,
};
use octoswarm::artifact::shelf::{Error, Shelf};
use octoswarm::artifact::status::SwarmStatus;
use octoswarm::artifact::swarm::{
    CodeChanges, CodebaseMap, CurrentIssue, DocsChanges, IssueAnalysis, PrCreated, TestChanges,
};
use octoswarm::artifact::{Document, FORMS, Typed};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{folder, full, golden};

/// Read by the form's type, and written again.
pub fn through_the_type(name: &str, document: &Value) -> Value {
    fn through<T: Typed>(document: &Value) -> Value {
        serde_json::to_value(T::deserialize(document).unwrap()).unwrap()
    }
    fn reader<T: Typed>() -> (&'static str, fn(&Value) -> Value) {
        (T::NAME, through::<T>)
    }
    let readers = [
        reader::<ProjectContext>(),
        reader::<Project>(),
        reader::<Plan>(),
        reader::<Task>(),
        reader::<CodeGeneration>(),
        reader::<TestSuite>(),
        reader::<CodeReview>(),
        reader::<AgentInput>(),
        reader::<AgentOutput>(),
        reader::<ValidationResult>(),
        reader::<AgentError>(),
        reader::<AgentConfig>(),
        reader::<PipelineOptions>(),
        reader::<PipelineResult>(),
        reader::<Document<CurrentIssue>>(),
        reader::<Document<IssueAnalysis>>(),
        reader::<Document<CodebaseMap>>(),
        reader::<Document<CodeChanges>>(),
        reader::<Document<TestChanges>>(),
        reader::<Document<DocsChanges>>(),
        reader::<Document<PrCreated>>(),
        reader::<Document<ReviewActivity>>(),
        reader::<SwarmStatus>(),
        reader::<ReviewRequest>(),
        reader::<Aggregate>(),
        reader::<DocumentationInput>(),
        reader::<DocumentationMap>(),
        reader::<ChecklistInput>(),
        reader::<Vec<DebtItem>>(),
        reader::<Vec<ImprovementItem>>(),
        reader::<Vec<CriticalItem>>(),
        reader::<CreateProposal>(),
        reader::<CreateSpec>(),
        reader::<CreateTasks>(),
        reader::<CreateReview>(),
    ];
    assert!(FORMS.iter().all(|form| readers.iter().any(|(of, _)| *of == form.name)), "a form without its reader");
    readers.iter().find(|(of, _)| *of == name).unwrap().1(document)
}

/// Numbers as JSON has them: 3 and 3.0 are the same.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(list) => list.iter().map(plain).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_golden_document_is_written_as_it_was_read() {
    for (form, name, document) in golden() {
        assert_eq!(plain(&through_the_type(form.name, &document)), plain(&document), "{name}");
    }
}

fn octoswarm(args: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.args(args).current_dir(folder(".")).env_clear().env("NO_COLOR", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that does not read its input may end before it was written.
    let _ended = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[track_caller]
fn says(args: &[&str], input: &str, code: i32, stdout: &str, stderr: &str) {
    let output = octoswarm(args, input);
    let told = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!((told.0.as_str(), told.1.as_str(), output.status.code()), (stdout, stderr, Some(code)));
}

#[test]
fn every_document_is_listed_and_its_schema_printed() {
    let list = String::from_utf8(octoswarm(&["schema"], "").stdout).unwrap();
    assert_eq!(list.lines().count(), FORMS.len());
    for (form, line) in FORMS.iter().zip(list.lines()) {
        assert!(line.starts_with(&format!("{} ", form.name)) && line.ends_with(form.about), "{line}");
        assert!(line.chars().count() <= 120, "{line}");
    }
    let printed = octoswarm(&["schema", "pr-created"], "");
    let published = std::fs::read(folder("src/artifact/schema/pr-created.json")).unwrap();
    assert_eq!((printed.status.code(), printed.stdout), (Some(0), published));
}

#[test]
fn the_page_of_the_documents_names_every_one_with_its_file() {
    let page = std::fs::read_to_string(folder("docs/documents.md")).unwrap();
    let rows: Vec<(&str, &str)> = page
        .lines()
        .filter(|line| line.contains("](../src/artifact/schema/"))
        .map(|line| (line.split('`').nth(1).unwrap(), line.split(" | ").nth(2).unwrap().trim_matches([' ', '|', '`'])))
        .collect();
    let want: Vec<_> = FORMS.iter().map(|form| (form.name, form.file.unwrap_or("-"))).collect();
    assert_eq!(rows, want);
}

#[test]
fn a_name_that_is_none_is_told_with_the_nearest() {
    says(&["schema", "plam"], "", 2, "", "error: no document is called `plam`; did you mean `plan`?\n");
    says(
        &["schema", "check", "pr-create", "-"],
        "",
        2,
        "",
        "error: no document is called `pr-create`; did you mean `pr-created`?\n",
    );
    says(&["schema", "zzz"], "", 2, "", "error: no document is called `zzz`; `octoswarm schema` lists them\n");
}

#[test]
fn a_document_is_checked_from_a_file_and_from_standard_input() {
    says(&["schema", "check", "plan", "fixtures/artifacts/plan/full.json"], "", 0, "", "valid\n");
    let mut plan = full("plan");
    plan["milestones"][0]["tasks"][0]["id"] = json!(7);
    plan["milestones"][0]["tasks"][0]["estimatedEffort"] = json!(41);
    plan["note\u{1b}[2J"] = json!(true);
    says(
        &["schema", "check", "plan", "-"],
        &plan.to_string(),
        1,
        "error: milestones[0].tasks[0].id: is 7, expected a text\n\
         warning: [\"note\\u001b[2J\"]: is no field that is known\n\
         warning: milestones[0].tasks[0].estimatedEffort: is 41 hours, more than 40: split the task\n\
         warning: milestones[0].duration: is 3 days, and its tasks need 47 hours, which are more\n\
         error: milestones[0].tasks[1].inputDependencies[0]: is `1.1`, which is the id of no task\n",
        "invalid: 2 errors, 3 warnings; quality 90 of 100\n",
    );
    says(&["schema", "check", "debt", "-"], "[]", 0, "", "valid\n");
}

#[test]
fn what_is_not_json_is_told_with_line_and_column() {
    says(
        &["schema", "check", "plan", "-"],
        "{\n  \"id\": P-1\n}",
        1,
        "",
        "error: - is not JSON: expected value at line 2 column 9\n",
    );
    says(
        &["schema", "check", "plan", "-"],
        "",
        1,
        "",
        "error: - is not JSON: EOF while parsing a value at line 1 column 0\n",
    );
    let gone = octoswarm(&["schema", "check", "plan", "no/such.json"], "");
    assert_eq!(gone.status.code(), Some(2));
    assert!(String::from_utf8(gone.stderr).unwrap().contains("cannot read no/such.json"));
}

#[test]
fn s2_24_the_shelf_takes_what_is_valid_and_gives_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Shelf::new(dir.path().join("runs/1"));
    assert!(shelf.read::<Document<CodeChanges>>("code-changes.json").unwrap().is_none());
    for file in ["code-changes.json", "swarm-status.json", "current-issue.json", "context.json", "result.json"] {
        let form = FORMS.iter().find(|form| form.file == Some(file)).unwrap();
        shelf.put(file, &full(form.name)).unwrap();
    }
    let changes: Document<CodeChanges> = shelf.read("code-changes.json").unwrap().unwrap();
    assert_eq!(serde_json::to_value(changes).unwrap(), full("code-changes"));
    let plan = Plan::deserialize(&full("plan")).unwrap();
    shelf.write("plans/P-1.json", &plan).unwrap();
    assert_eq!(shelf.read::<Plan>("plans/P-1.json").unwrap(), Some(plan));
    let left: Vec<_> = std::fs::read_dir(shelf.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 6, "nothing unfinished stays: {left:?}");
}

#[test]
fn s2_24_what_does_not_pass_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Shelf::new(dir.path().to_owned());
    shelf.put("code-changes.json", &full("code-changes")).unwrap();
    let mut broken = full("code-changes");
    broken["summary"]["total_additions"] = json!(5);
    broken["surprise"] = json!(1);
    let error = shelf.put("code-changes.json", &broken).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`code-changes.json` does not have its form: surprise: is no field that is known, and 1 other fault"
    );
    let kept: Document<CodeChanges> = shelf.read("code-changes.json").unwrap().unwrap();
    assert_eq!(serde_json::to_value(kept).unwrap(), full("code-changes"), "what was there is still there");
    let mut plan = Plan::deserialize(&full("plan")).unwrap();
    plan.milestones.clear();
    assert!(matches!(shelf.write("plan.json", &plan), Err(Error::Refused { .. })));
    assert!(matches!(shelf.put("notes.json", &json!({})), Err(Error::Unknown { .. })));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn s2_25_a_failed_document_stays_readable_and_others_are_told_from_it() {
    let dir = tempfile::tempdir().unwrap();
    let shelf = Shelf::new(dir.path().to_owned());
    let failed: Document<PrCreated> = Document::failed("2026-11-21T10:15:35Z".into(), "API_001", "no answer");
    shelf.write("pr-created.json", &failed).unwrap();
    assert_eq!(shelf.read("pr-created.json").unwrap(), Some(failed));
    // What another program left there.
    let theirs = |text: &str| std::fs::write(dir.path().join("pr-created.json"), text).unwrap();
    let mut more = full("pr-created");
    more["theirs"] = json!(true);
    theirs(&more.to_string());
    assert!(shelf.read::<Document<PrCreated>>("pr-created.json").unwrap().unwrap().outcome.is_ok());
    theirs("{\"agent\": ");
    assert!(matches!(shelf.read::<Document<PrCreated>>("pr-created.json"), Err(Error::NotJson { .. })));
    theirs("{\"agent\": \"agent-7-pr\"}");
    assert!(matches!(shelf.read::<Document<PrCreated>>("pr-created.json"), Err(Error::Refused { .. })));
}
