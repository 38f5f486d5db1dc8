//! `octoswarm plan` as a user calls it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use octoswarm::agent::check_plan;
use octoswarm::artifact::plan::Plan;

use crate::support::git;

fn plan(dir: &Path, args: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.arg("plan").args(args).current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A child that does not want its input closes it.
    let _unread = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[track_caller]
fn exits(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "stdout:\n{out}\nstderr:\n{err}");
    (out, err)
}

/// The example shop, as it is on its main branch.
fn shop() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/repos/shop/main");
    copy(&from, dir.path());
    git(dir.path(), &["init", "-q"]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    dir
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

const FEATURE: &str = "Add CSV export to the orders API. It must include a header row.";

#[test]
fn s1_12_a_feature_becomes_a_plan_that_a_person_can_read() {
    let dir = shop();
    let (out, _) = exits(&plan(dir.path(), &[".", FEATURE], ""), 0);
    for said in [
        "P-1: Add CSV export to the orders API",
        "Milestone 1",
        "1.1 ",
        "api/orders.py",
        "It must include a header row.",
    ] {
        assert!(out.contains(said), "{said}:\n{out}");
    }
    assert_eq!(git(dir.path(), &["status", "--short"]), "", "nothing is touched");
}

#[test]
fn s1_12_the_json_is_exactly_the_plan() {
    let dir = shop();
    let (out, err) = exits(&plan(dir.path(), &[".", FEATURE, "--format", "json"], ""), 0);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let typed: Plan = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(serde_json::to_value(&typed).unwrap(), document, "nothing beside the plan's own fields");
    assert!(check_plan(&document).validation.is_valid);
    let context = typed.project_context.unwrap();
    assert_eq!(Path::new(&context.project.root_path), dir.path().canonicalize().unwrap());
    assert!(context.analysis.languages.iter().any(|language| language == "Python"));
    assert_eq!(err, "");
}

#[test]
fn the_markdown_does_nothing_that_its_text_says() {
    let dir = shop();
    let text = "Add CSV export to the orders API\n\n- the export of orders should mention @octocat and close #7\n- the orders API must answer <img src=x>\n";
    let (out, _) = exits(&plan(dir.path(), &[".", "-", "--format", "markdown"], text), 0);
    assert!(out.starts_with("# Add CSV export") && out.contains("\n## Milestone 1") && out.contains("- [ ] "), "{out}");
    let outside_code: String = out.split('`').step_by(2).collect();
    assert!(!outside_code.contains("@octocat") && !outside_code.contains("<img"), "{out}");
}

#[test]
fn the_text_may_come_from_standard_input_and_the_plan_go_to_a_file() {
    let dir = shop();
    let output = plan(dir.path(), &[".", "-", "--format", "json", "--output", "plan.json"], FEATURE);
    let (out, err) = exits(&output, 0);
    assert!(out.is_empty() && err.contains("plan.json"), "{out}{err}");
    let given: Plan = serde_json::from_slice(&std::fs::read(dir.path().join("plan.json")).unwrap()).unwrap();
    assert_eq!(given.title, "Add CSV export to the orders API");
}

#[test]
fn s1_21_a_thin_text_exits_with_1_and_asks() {
    let dir = shop();
    for text in ["make it better", "Improve the performance of the app", "fix the bug"] {
        let (out, err) = exits(&plan(dir.path(), &[".", text, "--output", "plan.txt"], ""), 1);
        assert!(out.is_empty() && err.contains("PLAN_003") && err.contains('?'), "{text}: {err}");
        assert!(!dir.path().join("plan.txt").exists());
    }
}

#[test]
fn wrong_use_is_said_and_exits_with_2() {
    let dir = shop();
    let bare = tempfile::tempdir().unwrap();
    let nowhere = bare.path().to_str().unwrap();
    for (args, input, said) in [
        (&["gone", FEATURE][..], "", "there is no `gone`"),
        (&[nowhere, FEATURE], "", "not"),
        (&[".", ""], "", "empty"),
        (&[".", "   "], "", "empty"),
        (&[".", "-"], " \n", "empty"),
        (&["."], "", "<FEATURE>"),
        (&[".", FEATURE, "--format", "xml"], "", "xml"),
    ] {
        let (out, err) = exits(&plan(dir.path(), args, input), 2);
        assert!(out.is_empty() && err.contains(said), "{args:?}: {err}");
    }
    let long = "x ".repeat(600_000);
    let (_, err) = exits(&plan(dir.path(), &[".", "-"], &long), 2);
    assert!(err.contains("longer"), "{err}");
}

#[test]
fn a_plan_that_cannot_be_written_leaves_nothing_behind() {
    let dir = shop();
    let (out, err) = exits(&plan(dir.path(), &[".", FEATURE, "--output", "README.md/plan.txt"], ""), 3);
    assert!(out.is_empty() && err.contains("README.md/plan.txt"), "{err}");
    assert_eq!(git(dir.path(), &["status", "--short"]), "");
}

#[test]
fn s1_12_a_list_is_planned_item_by_item() {
    let dir = shop();
    let text = "- Round the price in core to whole cents\n- Add tests for the orders API\n- Fix the crash of the nightly tool\n";
    let (out, _) = exits(&plan(dir.path(), &[".", "-", "--format", "json"], text), 0);
    let document: Plan = serde_json::from_str(&out).unwrap();
    let tasks: Vec<_> = document.milestones.iter().flat_map(|milestone| &milestone.tasks).collect();
    let place = |words: &str| tasks.iter().find(|task| task.title.contains(words)).unwrap().affected_modules.clone();
    assert_eq!(place("Round the price"), ["core/src/price.rs"]);
    assert_eq!(place("nightly"), ["tools/nightly.py"]);
    assert_eq!(place("Add tests").len(), 1);
}
