//! What tests share.

use std::path::Path;
use std::process::Command;

pub mod agents;
pub mod browser;
pub mod git_server;
pub mod process;
pub mod world;

/// A box whose calls are written down where the environment asks for it: `tests/conformance` does.
pub fn recorded(options: octoswarm::demo::Options) -> octoswarm::demo::Options {
    octoswarm::demo::Options { record: std::env::var_os("OCTOSWARM_TEST_RECORD").map(Into::into), ..options }
}

/// The machine's own git, as a person would call it there; what it printed.
#[track_caller]
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(dir)
        .env("HOME", dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
