//! Where there is a sandbox and where there is none, as the doctor tells it (row 63 of the list of faults).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::place;

/// The program where any user can start it, and a folder for any user's state.
struct Shared {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Shared {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("octoswarm");
        std::fs::copy(env!("CARGO_BIN_EXE_octoswarm"), &program).unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        Self { folder, program }
    }

    /// Checks of the group, each with its outcome and what was said.
    fn doctor(&self, around: &[&str], config: Option<&Path>) -> Vec<(String, String, String)> {
        let mut words: Vec<String> = around.iter().map(|word| (*word).to_owned()).collect();
        let state = self.folder.path().join("no-state");
        words.extend([
            self.program.display().to_string(),
            "doctor".into(),
            "--offline".into(),
            "--format".into(),
            "json".into(),
        ]);
        words.extend(["--state".into(), state.display().to_string()]);
        words.extend(config.into_iter().flat_map(|path| ["--config".to_owned(), path.display().to_string()]));
        let output = Command::new(&words[0])
            .args(&words[1..])
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", "/tmp")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let report: serde_json::Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}{output:?}"));
        let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["group"] == "sandbox");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        checks
            .map(|check| {
                (text(&check["name"]), text(&check["outcome"]), text(&check["seen"]) + " -> " + &text(&check["advice"]))
            })
            .collect()
    }
}

#[track_caller]
fn says(checks: &[(String, String, String)], name: &str, outcome: &str, words: &str) {
    let found = checks.iter().find(|check| check.0 == name).unwrap_or_else(|| panic!("no {name}: {checks:?}"));
    assert!(found.1 == outcome && found.2.contains(words), "{name} is not {outcome} with {words:?}: {found:?}");
}

#[tokio::test]
async fn root_and_an_ordinary_user_have_one() {
    if place().await.is_none() {
        return;
    }
    let shared = Shared::new();
    says(&shared.doctor(&[], None), "trial", "pass", "no network, no privileges");
    if is_root() {
        let ordinary = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
        let checks = shared.doctor(&ordinary, None);
        says(&checks, "user", "pass", "an ordinary one");
        says(&checks, "trial", "pass", "no network, no privileges");
    }
}

#[tokio::test]
async fn without_bubblewrap_there_is_none_and_the_doctor_says_what_to_install() {
    let shared = Shared::new();
    let config = shared.folder.path().join("octoswarm.toml");
    std::fs::write(&config, "[sandbox]\nbwrap = \"/nowhere/bwrap\"\n").unwrap();
    let checks = shared.doctor(&[], Some(&config));
    says(&checks, "bubblewrap", "warn", "/nowhere/bwrap is not there");
    says(&checks, "bubblewrap", "warn", "install the package `bubblewrap`");
    assert!(checks.iter().all(|check| check.0 != "trial"), "{checks:?}");
}

#[tokio::test]
async fn a_proxy_for_registries_is_shown_and_one_with_a_password_is_refused() {
    let shared = Shared::new();
    let config = shared.folder.path().join("octoswarm.toml");
    std::fs::write(&config, "[sandbox]\nproxy = \"http://proxy.example.com:3128\"\n").unwrap();
    says(&shared.doctor(&[], Some(&config)), "proxy", "pass", "proxy.example.com:3128");
    std::fs::write(&config, "[sandbox]\nproxy = \"http://ada:hunter2@proxy.example.com\"\n").unwrap();
    assert!(shared.doctor(&[], Some(&config)).iter().all(|check| check.0 != "proxy"));
    let output = Command::new(&shared.program).args(["config", "check", "--config"]).arg(&config).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("`proxy`: the address holds credentials") && !said.contains("hunter2"), "{said}");
    assert_eq!(output.status.code(), Some(2), "{said}");
}

#[tokio::test]
async fn where_namespaces_are_forbidden_there_is_none_and_nothing_runs_without() {
    if place().await.is_none() {
        return;
    }
    let shared = Shared::new();
    let inside =
        ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-user", "--disable-userns"];
    // As an ordinary user of that namespace, and as its root.
    let ordinary: Vec<&str> = inside.iter().copied().chain(["--uid", "1000", "--"]).collect();
    let checks = shared.doctor(&ordinary, None);
    says(&checks, "trial", "warn", "namespace");
    assert!(checks.iter().any(|check| check.2.contains("docs/sandbox.md")), "{checks:?}");
    let root: Vec<&str> = inside.iter().copied().chain(["--uid", "0", "--"]).collect();
    says(&shared.doctor(&root, None), "user", "warn", "without any other user");
}

fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status").unwrap().lines().any(|line| line.starts_with("Uid:\t0\t"))
}
