//! `octoswarm checks`: a repository's own commands on a developer's machine.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::cli::{DEFECTS, exits, octoswarm, program, repository, stderr, stdout};
use crate::trial::sandboxed;

const CONFIG: &str = ".github/octoswarm.yml";

fn with(config: &str) -> tempfile::TempDir {
    let dir = repository(DEFECTS);
    write(dir.path(), CONFIG, config);
    dir
}

fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Waits without holding up the others.
async fn checks(dir: &Path, args: &[&str]) -> Output {
    let mut command = program(dir, &["checks"]);
    command.args(args).env("PATH", std::env::var_os("PATH").unwrap());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[tokio::test]
async fn commands_are_listed_and_none_is_run() {
    let dir = with("commands:\n  lint: [touch a, touch b]\n  test: touch c\n");
    let listed = octoswarm(dir.path(), &["checks", "--list"]);
    exits(&listed, 0);
    assert_eq!(stdout(&listed), "lint    touch a\nlint    touch b\ntest    touch c\n");
    let json = octoswarm(dir.path(), &["checks", "--list", "--format", "json"]);
    let json: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!((json[2]["kind"].as_str(), json[2]["line"].as_str()), (Some("test"), Some("touch c")), "{json}");
    assert!(!dir.path().join("c").exists());
}

#[tokio::test]
async fn what_passes_and_fails_is_told_and_the_work_tree_stays_as_it_is() {
    if !sandboxed().await {
        return;
    }
    let dir = with("commands:\n  lint: echo made > left.txt\n  test: test ! -e .git && cat new.txt && exit 7\n");
    // Not committed: it is there all the same.
    write(dir.path(), "new.txt", "something is wrong\n");
    let ran = checks(dir.path(), &[]).await;
    exits(&ran, 1);
    let said = stdout(&ran);
    assert!(said.contains("pass lint    echo made > left.txt: "), "{said}");
    assert!(said.contains("FAIL test") && said.contains("it ended with exit code 7"), "{said}");
    assert!(
        said.contains("| something is wrong") && said.ends_with("2 checks: 1 passed, 1 failed, 0 not run\n"),
        "{said}"
    );
    assert!(stderr(&ran).contains("lint: passed"), "{}", stderr(&ran));
    assert!(!dir.path().join("left.txt").exists());

    let only = checks(dir.path(), &["--only", "lint,build", "--format", "json"]).await;
    exits(&only, 0);
    let json: Value = serde_json::from_str(&stdout(&only)).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 1, "{json}");
    assert_eq!(json[0]["kind"], "lint");
}

#[tokio::test]
async fn without_a_sandbox_nothing_is_run_and_the_exit_code_says_so() {
    let dir = with("commands:\n  test: touch c\n");
    write(dir.path(), "server.toml", "[sandbox]\nbwrap = '/nonexistent/bwrap'\n");
    let ran = checks(dir.path(), &["--config", "server.toml"]).await;
    exits(&ran, 3);
    assert!(stdout(&ran).contains("not run: there is no sandbox here"), "{}", stdout(&ran));
}

#[test]
fn nothing_to_run_is_said() {
    let dir = repository(DEFECTS);
    let none = octoswarm(dir.path(), &["checks"]);
    exits(&none, 0);
    assert!(stdout(&none).is_empty() && stderr(&none).contains("shows no commands"), "{}", stderr(&none));
    write(dir.path(), CONFIG, "checks: off\ncommands:\n  test: touch c\n");
    let off = octoswarm(dir.path(), &["checks"]);
    exits(&off, 0);
    assert!(stderr(&off).contains("`checks: off`"), "{}", stderr(&off));
}

#[test]
fn what_is_no_repository_or_no_kind_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let none = octoswarm(dir.path(), &["checks"]);
    assert!(none.status.code() != Some(0) && stdout(&none).is_empty(), "{none:?}");
    for args in [&["checks", "nowhere"][..], &["checks", "--only", "deploy"]] {
        exits(&octoswarm(dir.path(), args), 2);
    }
    write(dir.path(), "server.toml", "[sandbox]\nseconds = 'many'\n");
    let wrong = octoswarm(
        repository(DEFECTS).path(),
        &["checks", "--config", dir.path().join("server.toml").to_str().unwrap()],
    );
    exits(&wrong, 2);
}
