//! `octoswarm review` with linters, and with logs of other tools.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use super::{RUFF, tools};
use crate::cli::{exits, program, stderr, stdout};
use crate::support::git;
use crate::trial::sandboxed;

/// A change of two lines in `src/app.py`, on top of a commit with one.
fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("src/app.py", "import old  # F401\n\n\ndef f(x):\n    return x\n");
    write("ruff.toml", "");
    git(dir.path(), &["init", "-q"]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    write("src/app.py", "import old  # F401\nimport new  # F401\n\n\ndef f(x):\n    return eval(x)\n");
    dir
}

fn review(dir: &Path, config: Option<&Path>, args: &[&str]) -> Output {
    let mut command = program(dir, &[&["review"], args].concat());
    if let Some(config) = config {
        command.env("OCTOSWARM_CONFIG", config);
    }
    command.output().unwrap()
}

fn log(tool: &str, results: Value) -> String {
    json!({ "version": "2.1.0", "runs": [{ "tool": { "driver": { "name": tool, "rules": [
        { "id": "W1", "helpUri": "https://example.com/w1", "shortDescription": { "text": "About W1." } },
        { "id": "X1", "properties": { "tags": ["security", "external/cwe/cwe-095"], "security-severity": "9.1" } },
    ]}}, "results": results }]})
    .to_string()
}

fn result(rule: &str, uri: &str, line: u32) -> Value {
    json!({ "ruleId": rule, "message": { "text": format!("{rule} at {line}") }, "locations": [{ "physicalLocation": {
        "artifactLocation": { "uri": uri }, "region": { "startLine": line } } }] })
}

fn rules(output: &Output) -> Vec<String> {
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(output)));
    let mut rules: Vec<String> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{}:{}", one["rule"].as_str().unwrap(), one["span"]["start_line"]))
        .collect();
    rules.sort();
    rules
}

#[test]
fn a_log_of_any_tool_is_told_on_changed_lines_and_without_what_our_rules_say() {
    let dir = repository();
    let results = json!([
        result("W1", "src/app.py", 1),
        result("W1", "src/app.py", 2),
        result("X1", "src/app.py", 6),
        result("W1", "src/other.py", 1),
        result("W1", "../elsewhere.py", 1),
    ]);
    let file = dir.path().join("out.sarif");
    std::fs::write(&file, log("Some Tool", results)).unwrap();
    let output = review(dir.path(), None, &["--sarif", "out.sarif", "--format", "json"]);
    assert_eq!(rules(&output), ["eval-of-data:6", "some-tool/W1:2"]);
    let twice = review(dir.path(), None, &["--sarif", "out.sarif", "--sarif", "out.sarif", "--format", "json"]);
    assert_eq!(rules(&twice), rules(&output), "a log that is given twice says nothing twice");
    let text = stdout(&review(dir.path(), None, &["--sarif", "out.sarif"]));
    assert!(text.contains("some-tool/W1") && text.contains("About W1."), "{text}");
    assert!(text.contains("linters asked: some-tool (1 result about no file of the repository)"), "{text}");
    let actions = stdout(&review(dir.path(), None, &["--sarif", "out.sarif", "--format", "github"]));
    assert!(
        actions.contains("file=src/app.py,line=2,endLine=2,title=improvement%3A some-tool/W1::W1 at 2"),
        "{actions}"
    );
    let markdown = stdout(&review(dir.path(), None, &["--sarif", "out.sarif", "--format", "markdown"]));
    assert!(markdown.contains("rule `some-tool/W1`"), "{markdown}");
}

#[test]
fn our_own_log_names_where_a_rule_comes_from_and_can_be_read_again() {
    let dir = repository();
    std::fs::write(dir.path().join("out.sarif"), log("Some Tool", json!([result("W1", "src/app.py", 2)]))).unwrap();
    let output = review(dir.path(), None, &["--sarif", "out.sarif", "--format", "sarif"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &told["runs"][0];
    assert_eq!(run["tool"]["extensions"][0]["name"], "some-tool");
    assert_eq!(run["tool"]["extensions"][0]["rules"][0]["id"], "some-tool/W1");
    assert_eq!(run["tool"]["extensions"][0]["rules"][0]["helpUri"], "https://example.com/w1");
    let theirs = run["results"].as_array().unwrap().iter().find(|one| one["ruleId"] == "some-tool/W1").unwrap();
    assert_eq!(theirs["rule"]["toolComponent"], json!({ "name": "some-tool", "index": 0 }));
    std::fs::write(dir.path().join("ours.sarif"), &output.stdout).unwrap();
    let again = review(dir.path(), None, &["--sarif", "ours.sarif", "--format", "json"]);
    assert_eq!(rules(&again), ["eval-of-data:6", "some-tool/W1:2"]);
}

#[test]
fn a_log_comes_over_standard_input_too() {
    use std::io::Write;
    let dir = repository();
    let mut command = program(dir.path(), &["review", "--sarif", "-", "--format", "json"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let text = log("Some Tool", json!([result("W1", "src/app.py", 2)]));
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert_eq!(rules(&child.wait_with_output().unwrap()), ["eval-of-data:6", "some-tool/W1:2"]);
}

#[test]
fn a_file_that_is_no_log_is_wrong_usage_with_a_way_out() {
    let dir = repository();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("old.sarif", r#"{"version": "1.0.0", "runs": []}"#);
    write("not.sarif", "hello");
    write("half.sarif", r#"{"version": "2.1.0", "runs": [{"results": ["#);
    for (file, why) in [
        ("none.sarif", "No such file"),
        ("old.sarif", "it is SARIF 1.0.0, and only 2.1.0 is read"),
        ("not.sarif", "it is no SARIF log"),
        ("half.sarif", "it is no SARIF log"),
    ] {
        let output = review(dir.path(), None, &["--sarif", file]);
        exits(&output, 2);
        let said = stderr(&output);
        assert!(said.contains(file) && said.contains(why) && said.contains("write it with"), "{said}");
    }
}

#[tokio::test]
async fn a_local_review_asks_the_linters_that_the_repository_has_set_up() {
    if !sandboxed().await {
        return;
    }
    let (dir, tools) = (repository(), tools(&[("ruff", RUFF)]));
    let config = tools.path().join("octoswarm.toml");
    std::fs::write(&config, format!("[sandbox]\ntools = [{:?}]\n", tools.path())).unwrap();
    let output = review(dir.path(), Some(&config), &["--format", "json"]);
    assert_eq!(rules(&output), ["eval-of-data:6", "ruff/F401:2"]);
    let without = review(dir.path(), Some(&config), &["--format", "json", "--no-config"]);
    assert_eq!(rules(&without), ["eval-of-data:6"]);
    std::fs::write(&config, format!("[sandbox]\ntools = [{:?}]\nbwrap = \"/nonexistent/bwrap\"\n", tools.path()))
        .unwrap();
    let text = stdout(&review(dir.path(), Some(&config), &[]));
    assert!(text.contains("linter not asked: ruff: there is no sandbox here"), "{text}");
}
