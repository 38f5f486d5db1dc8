//! `octoswarm fix` as a user calls it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::contribute::{BODY, SAFE, TITLE, UNSAFE};
use crate::support::git;

fn fix(dir: &Path, args: &[&str], issue: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.arg("fix").args(args).current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A child that refuses its arguments does not read its input.
    let _refused = child.stdin.take().unwrap().write_all(issue.as_bytes());
    child.wait_with_output().unwrap()
}

#[track_caller]
fn exits(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "stdout:\n{}\nstderr:\n{}", out(output), err(output));
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    std::fs::write(dir.path().join("a.py"), UNSAFE).unwrap();
    std::fs::write(dir.path().join("b.txt"), "plain\n").unwrap();
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    git(dir.path(), &["config", "user.name", "ada"]);
    git(dir.path(), &["config", "user.email", "ada@example.com"]);
    dir
}

fn issue() -> String {
    format!("{TITLE}\n\n{BODY}")
}

#[test]
fn the_change_is_a_diff_on_standard_output_that_git_applies() {
    let dir = repository();
    let output = fix(dir.path(), &["--issue", "-"], &issue());
    exits(&output, 0);
    assert_eq!(std::fs::read_to_string(dir.path().join("a.py")).unwrap(), UNSAFE, "nothing is touched");
    std::fs::write(dir.path().join("change.diff"), out(&output)).unwrap();
    git(dir.path(), &["apply", "change.diff"]);
    assert_eq!(std::fs::read_to_string(dir.path().join("a.py")).unwrap(), SAFE);
    assert!(err(&output).contains("a.py") && err(&output).contains("not run"), "{}", err(&output));
}

/// A repository whose configuration has those lines, and beside it a file that is a server's, not the repository's to write.
fn with_checks(config: &str) -> tempfile::TempDir {
    let dir = repository();
    std::fs::create_dir(dir.path().join(".github")).unwrap();
    std::fs::write(dir.path().join(".github/octoswarm.yml"), config).unwrap();
    std::fs::write(dir.path().join("octoswarm.toml"), "[sandbox]\nbwrap = '/nonexistent/bwrap'\n").unwrap();
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Configure"]);
    dir
}

#[tokio::test]
async fn the_repositorys_own_checks_run_over_the_change_where_that_is_wanted() {
    if !crate::trial::sandboxed().await {
        return;
    }
    let result = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s";
    let format = "test ! -e .git && ! grep -q 'safe_load(file)$' a.py";
    let reformat = "sed -i 's/safe_load(file)$/safe_load(file)  # safe/' a.py";
    let test = format!("grep -q safe_load a.py && echo '{result}'");
    let config =
        format!("commands:\n  format: {format:?}\n  reformat: {reformat:?}\n  lint: exit 4\n  test: {test:?}\n");
    let dir = with_checks(&config);
    let output = fix(dir.path(), &["--issue", "-", "--checks"], &issue());
    exits(&output, 0);
    let said = err(&output);
    assert!(said.contains("passed: `grep -q safe_load") && said.contains("3 passed"), "{said}");
    assert!(said.contains("failed: `exit 4`") && said.contains("the same fails without the change"), "{said}");
    assert!(said.contains("Formatting: `a.py` by") && !said.contains("were not run"), "{said}");
    assert!(out(&output).contains("+        return yaml.safe_load(file)  # safe\n"), "{}", out(&output));
    std::fs::write(dir.path().join("change.diff"), out(&output)).unwrap();
    git(dir.path(), &["apply", "change.diff"]);
}

#[tokio::test]
async fn where_checks_are_required_and_fail_nothing_is_changed() {
    if !crate::trial::sandboxed().await {
        return;
    }
    let dir = with_checks("checks: require\ncommands: {test: exit 7}\n");
    let output = fix(dir.path(), &["--issue", "-", "--checks", "--apply"], &issue());
    exits(&output, 1);
    assert!(out(&output).is_empty() && err(&output).contains("exit code 7"), "{}", err(&output));
    assert_eq!(std::fs::read_to_string(dir.path().join("a.py")).unwrap(), UNSAFE);
    // Nobody has asked for them here.
    let output = fix(dir.path(), &["--issue", "-", "--apply"], &issue());
    exits(&output, 0);
    assert!(err(&output).contains("were not run"), "{}", err(&output));
}

#[test]
fn s2_15_s2_16_tests_and_changelog_are_part_of_the_local_change() {
    let dir = repository();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let test = "from shop.text import slug\n\n\ndef test_slug():\n    assert slug('a') == 'a'\n";
    write("shop/text.py", "def slug(text):\n    return text.strip()\n");
    write("tests/test_text.py", test);
    write("CHANGELOG.md", "# Log\n\n## Unreleased\n\n- One\n");
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "More"]);
    let issue = "slug() keeps capitals\n\n`slug('A')` should return `'a'`. This patch does it:\n\n```diff\n--- a/shop/text.py\n+++ b/shop/text.py\n\
                 @@ -1,2 +1,2 @@\n def slug(text):\n-    return text.strip()\n+    return text.strip().lower()\n```\n";
    let output = fix(dir.path(), &["--issue", "-", "--branch", "low"], issue);
    exits(&output, 0);
    let new = "\n\ndef test_slug_as_the_issue_expects():\n    assert slug('A') == 'a'\n";
    assert_eq!(git(dir.path(), &["show", "low:tests/test_text.py"]), format!("{test}{new}"));
    assert_eq!(
        git(dir.path(), &["show", "low:CHANGELOG.md"]),
        "# Log\n\n## Unreleased\n\n- One\n- `slug()` keeps capitals\n"
    );
    assert_eq!(git(dir.path(), &["rev-list", "--count", "main..low"]).trim(), "1");
    for path in ["shop/text.py", "tests/test_text.py", "CHANGELOG.md"] {
        assert!(err(&output).contains(path), "{path}: {}", err(&output));
    }
}

#[test]
fn the_issue_may_stand_in_a_file() {
    let dir = repository();
    std::fs::write(dir.path().join("issue.md"), issue()).unwrap();
    let output = fix(dir.path(), &[".", "--issue", "issue.md", "--diff"], "");
    exits(&output, 0);
    assert!(out(&output).contains("+        return yaml.safe_load(file)"));
}

#[test]
fn the_work_tree_is_changed_when_asked_for() {
    let dir = repository();
    let output = fix(dir.path(), &["--issue", "-", "--apply"], &issue());
    exits(&output, 0);
    assert_eq!(out(&output), "a.py\n");
    assert_eq!(std::fs::read_to_string(dir.path().join("a.py")).unwrap(), SAFE);
    assert_eq!(git(dir.path(), &["status", "--short"]), " M a.py\n");
}

#[test]
fn work_that_is_not_committed_is_kept() {
    let dir = repository();
    let mine = format!("{UNSAFE}\n\nMINE = 1\n");
    std::fs::write(dir.path().join("a.py"), &mine).unwrap();
    exits(&fix(dir.path(), &["--issue", "-", "--apply"], &issue()), 0);
    assert_eq!(std::fs::read_to_string(dir.path().join("a.py")).unwrap(), format!("{SAFE}\n\nMINE = 1\n"));
}

#[test]
fn a_branch_is_made_and_the_work_tree_left_alone() {
    let dir = repository();
    let output = fix(dir.path(), &["--issue", "-", "--branch", "safe"], &issue());
    exits(&output, 0);
    assert_eq!(std::fs::read_to_string(dir.path().join("a.py")).unwrap(), UNSAFE);
    assert_eq!(git(dir.path(), &["show", "safe:a.py"]), SAFE);
    assert_eq!(git(dir.path(), &["rev-parse", "safe^"]), git(dir.path(), &["rev-parse", "main"]));
    assert_eq!(git(dir.path(), &["status", "--short"]), "");
    let again = fix(dir.path(), &["--issue", "-", "--branch", "safe"], &issue());
    exits(&again, 2);
    assert!(err(&again).contains("safe"), "{}", err(&again));
}

#[test]
fn a_commit_without_a_name_is_refused_and_no_branch_is_left() {
    let dir = repository();
    git(dir.path(), &["config", "--unset", "user.name"]);
    git(dir.path(), &["config", "--unset", "user.email"]);
    let output = fix(dir.path(), &["--issue", "-", "--branch", "safe"], &issue());
    exits(&output, 3);
    assert!(err(&output).contains("git config"), "{}", err(&output));
    assert_eq!(git(dir.path(), &["branch", "--list", "safe"]), "");
}

#[test]
fn what_no_mechanic_solves_exits_with_1_and_says_why() {
    let dir = repository();
    let output = fix(dir.path(), &["--issue", "-"], "Add a dark mode\n\nIt should follow the system's setting.\n");
    exits(&output, 1);
    assert_eq!(out(&output), "");
    assert!(err(&output).contains("Nothing was changed"), "{}", err(&output));
}

#[test]
fn wrong_use_exits_with_2_and_changes_nothing() {
    let dir = repository();
    for args in [
        &["--issue", "missing.md"][..],
        &[],
        &["--issue", "-", "--apply", "--diff"],
        &["nowhere", "--issue", "-"],
        &["--issue", "-", "--branch", "a..b"],
    ] {
        let output = fix(dir.path(), args, &issue());
        exits(&output, 2);
        assert!(!err(&output).is_empty(), "{args:?}");
    }
    exits(&fix(dir.path(), &["--issue", "-"], "   \n"), 2);
    let outside = tempfile::tempdir().unwrap();
    exits(&fix(outside.path(), &["--issue", "-"], &issue()), 2);
    assert_eq!(git(dir.path(), &["status", "--short"]), "");
}

#[test]
fn a_text_that_does_not_occur_is_said_once_and_not_asked_for_again() {
    let dir = repository();
    let output = fix(dir.path(), &["--issue", "-"], "Wrong word\n\nReplace `frobnicate` by `tweak`.\n");
    exits(&output, 1);
    let told = err(&output);
    assert!(told.contains("`frobnicate` does not occur in any text file of the repository"), "{told}");
    assert!(!told.contains("\"replace `a` by `b`\"") && told.contains("What would help: a patch"), "{told}");
    let gist = |line: &&str| line.trim_start_matches([' ', '-']).trim_end_matches('.').to_lowercase();
    let lines: Vec<String> = told.lines().filter(|line| line.starts_with("  - ")).map(|line| gist(&line)).collect();
    let once: std::collections::BTreeSet<&String> = lines.iter().collect();
    assert_eq!(once.len(), lines.len(), "{told}");
    let neither = fix(dir.path(), &["--issue", "-"], "Add a dark mode\n\nIt should follow the system's setting.\n");
    assert!(err(&neither).contains("\"replace `a` by `b`\""), "{}", err(&neither));
}

#[test]
fn only_code_is_missed_a_test() {
    let dir = repository();
    for text in
        ["Add an .editorconfig\n\nThe file `.editorconfig` is missing.\n", "Add a LICENSE\n\nAdd the MIT license.\n"]
    {
        let output = fix(dir.path(), &["--issue", "-"], text);
        exits(&output, 0);
        assert!(!err(&output).contains("no test was added"), "{}", err(&output));
    }
    // Where there are tests at all.
    std::fs::create_dir(dir.path().join("tests")).unwrap();
    std::fs::write(dir.path().join("tests/test_other.py"), "def test_other():\n    assert True\n").unwrap();
    let code = fix(dir.path(), &["--issue", "-"], &issue());
    assert!(err(&code).contains("no test was added"), "{}", err(&code));
}

#[test]
fn the_repository_s_own_file_bounds_a_change() {
    let dir = repository();
    let config = dir.path().join(".github/octoswarm.yml");
    std::fs::create_dir(dir.path().join(".github")).unwrap();
    std::fs::write(&config, "protected: ['a.py']\n").unwrap();
    let kept = fix(dir.path(), &["--issue", "-"], &issue());
    exits(&kept, 1);
    assert_eq!(out(&kept), "");
    exits(&fix(dir.path(), &["--issue", "-", "--no-config"], &issue()), 0);
    // A branch is made on HEAD, whose tree has no such file yet.
    exits(&fix(dir.path(), &["--issue", "-", "--branch", "free"], &issue()), 0);
    std::fs::write(&config, "max_lines: many\n").unwrap();
    let invalid = fix(dir.path(), &["--issue", "-"], &issue());
    exits(&invalid, 0);
    assert!(err(&invalid).contains("warning: .github/octoswarm.yml:1:12: `max_lines`"), "{}", err(&invalid));
}

#[test]
fn what_is_protected_is_named_with_what_protects_it() {
    let dir = repository();
    let text = dir.path().join(".github/workflows/load.py");
    std::fs::create_dir_all(text.parent().unwrap()).unwrap();
    std::fs::write(&text, UNSAFE).unwrap();
    let config = dir.path().join(".github/octoswarm.yml");
    let line = UNSAFE.lines().position(|line| line.contains("yaml.load")).unwrap() + 1;
    let by_nobody = format!("line {line} of `.github/workflows/load.py` is protected: ");
    let by_config = format!("line {line} of `a.py` is protected: ");
    let setting = "(`protected` in `.github/octoswarm.yml`)";
    // One place is open: it is repaired, and the other is told.
    let some = fix(dir.path(), &["--issue", "-"], &issue());
    exits(&some, 0);
    assert!(err(&some).contains(&by_nobody) && !err(&some).contains(setting), "{}", err(&some));
    // None is.
    std::fs::write(&config, "protected: ['a.py']\n").unwrap();
    let none = fix(dir.path(), &["--issue", "-"], &issue());
    exits(&none, 1);
    assert!(err(&none).contains(&by_config) && err(&none).contains(setting), "{}", err(&none));
    assert!(err(&none).contains(&by_nobody) && err(&none).contains("no setting lifts that"), "{}", err(&none));
    // The same for a replacement and a patch.
    let replaced =
        fix(dir.path(), &["--issue", "-"], "Replace `plain` by `simple`\n\nReplace `plain` by `simple` in b.txt.\n");
    exits(&replaced, 0);
    std::fs::write(&config, "protected: [b.txt]\n").unwrap();
    for issue in [
        "Replace `plain` by `simple`\n\nReplace `plain` by `simple` in b.txt.\n",
        "Apply this\n\n```diff\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-plain\n+simple\n```\n",
    ] {
        let kept = fix(dir.path(), &["--issue", "-"], issue);
        exits(&kept, 1);
        assert!(err(&kept).contains("`b.txt` is protected: ") && err(&kept).contains(setting), "{}", err(&kept));
    }
}
