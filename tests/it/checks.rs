//! Which commands a repository is checked with, read from a real one.

use std::path::Path;

use octoswarm::agent::checks::{Kind, checks, counts};
use octoswarm::config::RepoConfig;
use octoswarm::workspace::local;

use crate::support::git;

fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    git(dir.path(), &["init", "-q"]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    dir
}

/// Kind, folder and line of each.
async fn found(dir: &Path, config: &str) -> Vec<(Kind, String, String)> {
    let tree = local::head_tree(dir).await.unwrap();
    let commands = RepoConfig::parse(config).unwrap().commands;
    let found = checks(&tree, &commands).await.unwrap();
    found.into_iter().map(|check| (check.kind, check.dir, check.line)).collect()
}

#[tokio::test]
async fn the_commands_of_a_repository_are_read_from_its_tree() {
    let dir = repository(&[
        ("Cargo.toml", "[package]\nname = 'a'\n"),
        ("Cargo.lock", ""),
        ("src/lib.rs", ""),
        (".github/workflows/ci.yml", "jobs: {a: {steps: [{run: cargo fmt --check}]}}\n"),
        ("web/package.json", r#"{"scripts": {"test": "jest"}}"#),
        ("web/package-lock.json", "{}"),
    ]);
    // What is not committed is not of the tree.
    std::fs::write(dir.path().join("go.mod"), "module a\n").unwrap();
    let line = |kind, dir: &str, line: &str| (kind, dir.to_owned(), line.to_owned());
    let want = [
        line(Kind::Install, "", "cargo fetch --locked"),
        line(Kind::Install, "web", "npm ci --ignore-scripts"),
        line(Kind::Format, "", "cargo fmt --all --check"),
        line(Kind::Build, "", "cargo build --offline --locked"),
        line(Kind::Test, "", "cargo test --offline --locked --no-fail-fast"),
        line(Kind::Test, "web", "npm test"),
    ];
    assert_eq!(found(dir.path(), "").await, want);
    let own = found(dir.path(), "commands: {install: [], format: '', build: [], test: make test}\n").await;
    assert_eq!(own, [line(Kind::Test, "", "make test")]);
}

#[tokio::test]
async fn a_repository_that_shows_nothing_has_no_checks() {
    let dir = repository(&[("README.md", "# a\n")]);
    assert_eq!(found(dir.path(), "").await, []);
}

/// This suite's own harness tells a result that is understood.
#[test]
fn the_output_of_a_real_test_run_is_counted() {
    let this = std::env::current_exe().unwrap();
    let run = std::process::Command::new(this).args(["--exact", "checks::no_such_test"]).output().unwrap();
    let found = counts(&String::from_utf8_lossy(&run.stdout)).unwrap();
    assert_eq!((found.total(), found.is_passed()), (0, false));
    let this = std::env::current_exe().unwrap();
    let name = "checks::a_repository_that_shows_nothing_has_no_checks";
    let run = std::process::Command::new(this).args(["--exact", name]).output().unwrap();
    let found = counts(&String::from_utf8_lossy(&run.stdout)).unwrap();
    assert_eq!((found.passed, found.failed, found.skipped), (1, 0, 0));
}
