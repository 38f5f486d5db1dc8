//! The program as a user calls it: arguments, exit codes, what stands on standard output.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use octoswarm::demo::{AppManifest, Change, Fault, GitHubBox, Options};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt};

use crate::support::{git, process};

use crate::contribute::{BODY, SAFE, TITLE, UNSAFE};
use crate::support::world::REPO;

pub(crate) const DEFECTS: &str =
    "def run(text):\n    return eval(text)\n\n\ndef show(x):\n    breakpoint()\n    return x\n";
pub(crate) const CLEAN: &str = "def add(a, b):\n    return a + b\n";

pub(crate) fn program(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.args(args).current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1");
    command
}

pub(crate) fn octoswarm(dir: &Path, args: &[&str]) -> Output {
    program(dir, args).output().unwrap()
}

#[track_caller]
pub(crate) fn exits(output: &Output, code: i32) {
    let told = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(code), "stdout:\n{said}\nstderr:\n{told}");
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// `main` with a clean file, and a branch `change` with that file's successor.
pub(crate) fn repository(changed: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    std::fs::write(dir.path().join("a.py"), CLEAN).unwrap();
    git(dir.path(), &["add", "a.py"]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    git(dir.path(), &["checkout", "-qb", "change"]);
    std::fs::write(dir.path().join("a.py"), changed).unwrap();
    git(dir.path(), &["commit", "-qam", "Change"]);
    dir
}

#[test]
fn every_call_to_github_is_told_with_its_permission() {
    let dir = tempfile::tempdir().unwrap();
    let output = octoswarm(dir.path(), &["calls"]);
    exits(&output, 0);
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let calls = told["calls"].as_array().unwrap();
    let names: Vec<_> = calls.iter().map(|call| call["name"].as_str().unwrap()).collect();
    assert_eq!(names, octoswarm::github::ENDPOINTS.iter().map(|e| e.name).collect::<Vec<_>>());
    for call in calls {
        assert_eq!(call["document"].is_string(), call["template"] == "graphql", "{call}");
    }
    let pull = calls.iter().find(|call| call["name"] == "CREATE_PULL").unwrap();
    assert_eq!(pull["method"], "POST");
    assert_eq!(pull["permissions"], serde_json::json!({"pull_requests": "write"}));
    assert_eq!(told["permissions"]["metadata"], "read");
}

#[test]
fn a_clean_change_exits_with_0() {
    let dir = repository("def add(a, b):\n    return b + a\n");
    let output = octoswarm(dir.path(), &["review"]);
    exits(&output, 0);
    assert!(stdout(&output).contains("clean") && stdout(&output).contains("read 1 of 1 file"));
}

#[test]
fn findings_at_the_bar_exit_with_1_and_below_it_with_0() {
    let dir = repository(DEFECTS);
    exits(&octoswarm(dir.path(), &["review"]), 1);
    exits(&octoswarm(dir.path(), &["review", "--fail-on", "low"]), 1);
    exits(&octoswarm(dir.path(), &["review", "--fail-on", "never"]), 0);
    let low = repository("def add(a, b):\n    breakpoint()\n    return a + b\n");
    let json: Value = serde_json::from_slice(&octoswarm(low.path(), &["review", "--format", "json"]).stdout).unwrap();
    let severity = json["findings"][0]["severity"].as_str().unwrap();
    assert_ne!(severity, "low", "the example has to stand between the bars");
    exits(&octoswarm(low.path(), &["review", "--fail-on", severity]), 1);
}

#[test]
fn the_work_tree_is_reviewed_with_what_is_not_committed() {
    let dir = repository(CLEAN.replace("a + b", "b + a").as_str());
    std::fs::write(dir.path().join("new.py"), DEFECTS).unwrap();
    let output = octoswarm(dir.path(), &["review", "--format", "json"]);
    exits(&output, 1);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["findings"][0]["path"], "new.py");
    let committed = octoswarm(dir.path(), &["review", "--head", "HEAD", "--format", "json"]);
    exits(&committed, 0);
}

#[test]
fn a_revision_that_is_not_there_is_wrong_usage_with_a_way_out() {
    let dir = repository(DEFECTS);
    let output = octoswarm(dir.path(), &["review", "--base", "mian"]);
    exits(&output, 2);
    assert!(stderr(&output).contains("mian") && stderr(&output).contains("main"), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
}

#[test]
fn places_that_cannot_be_reviewed_are_said_to_be_so() {
    let dir = tempfile::tempdir().unwrap();
    let nothing = octoswarm(dir.path(), &["review", "missing"]);
    exits(&nothing, 2);
    assert!(stderr(&nothing).contains("missing"));
    let no_repository = octoswarm(dir.path(), &["review"]);
    exits(&no_repository, 2);
    assert!(stderr(&no_repository).contains("git"), "{}", stderr(&no_repository));
    exits(&octoswarm(dir.path(), &["review", "--format", "pdf"]), 2);
    exits(&octoswarm(dir.path(), &["scan"]), 2);
}

#[test]
fn sarif_is_a_log_with_rules_results_and_fingerprints() {
    let dir = repository(DEFECTS);
    let output = octoswarm(dir.path(), &["review", "--format", "sarif"]);
    exits(&output, 1);
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "octoswarm");
    let result = &run["results"][0];
    assert_eq!(result["level"], "error");
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a.py");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 2);
    assert!(result["partialFingerprints"].as_object().is_some_and(|prints| !prints.is_empty()));
}

#[test]
fn markdown_and_workflow_commands_tell_the_same_findings() {
    let dir = repository(DEFECTS);
    let markdown = stdout(&octoswarm(dir.path(), &["review", "--format", "markdown"]));
    assert!(markdown.contains("a.py") && markdown.contains("eval"), "{markdown}");
    let commands = stdout(&octoswarm(dir.path(), &["review", "--format", "github"]));
    assert!(commands.lines().any(|line| line.starts_with("::error file=a.py,line=2,")), "{commands}");
}

#[test]
fn a_scan_reads_whole_files_and_says_what_it_did_not_read() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("src")).unwrap();
    std::fs::write(dir.path().join("src/a.py"), DEFECTS).unwrap();
    std::fs::write(dir.path().join("src/logo.png"), b"\x89PNG\0\0").unwrap();
    let output = octoswarm(dir.path(), &["scan", "src"]);
    exits(&output, 1);
    let text = stdout(&output);
    assert!(text.contains("src/a.py:2") && text.contains("read 1 of 2 files"), "{text}");
}

#[test]
fn the_text_shows_the_line_and_the_fix() {
    let dir = repository(DEFECTS);
    let text = stdout(&octoswarm(dir.path(), &["review"]));
    assert!(text.contains("return eval(text)"), "{text}");
    assert!(text.contains("-     breakpoint()"), "the fix as a removed line: {text}");
}

#[test]
fn the_help_tells_the_exit_codes() {
    let dir = tempfile::tempdir().unwrap();
    for verb in ["review", "scan"] {
        assert!(
            stdout(&octoswarm(dir.path(), &[verb, "--help"])).contains("Exit code: 0 clean, below the bar"),
            "{verb}"
        );
    }
    assert!(stdout(&octoswarm(dir.path(), &["fix", "--help"])).contains("Exit code: 0 a change was made, 1 nothing"));
    assert!(stdout(&octoswarm(dir.path(), &["--help"])).contains("turns issues into them"));
}

#[test]
fn a_reader_that_goes_away_ends_the_output_quietly() {
    let dir = tempfile::tempdir().unwrap();
    let scan = |out: Stdio, format: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
        command.args(["scan", "a.py", "--format", format]).current_dir(dir.path());
        command.stdout(out).stderr(Stdio::piped()).spawn().unwrap()
    };
    let ends_quietly = |child: Child| {
        let output = child.wait_with_output().unwrap();
        exits(&output, 1);
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    };
    // More than a pipe and the reader's buffer hold: whenever the reader goes, something is still to be written.
    let many: String = (0..300).map(|n| format!("def f{n}(x):\n    return eval(x)\n\n\n")).collect();
    std::fs::write(dir.path().join("a.py"), many).unwrap();
    let mut child = scan(Stdio::piped(), "text");
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(!first.is_empty());
    ends_quietly(child);
    std::fs::write(dir.path().join("a.py"), DEFECTS).unwrap();
    for format in ["text", "json", "sarif", "markdown", "github"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        ends_quietly(scan(writer.into(), format));
    }
}

#[test]
fn a_rule_explains_itself_and_a_typo_gets_the_nearest() {
    let dir = tempfile::tempdir().unwrap();
    let list = octoswarm(dir.path(), &["rules"]);
    exits(&list, 0);
    assert!(stdout(&list).lines().count() >= 40);
    let id = stdout(&list).split_whitespace().nth(2).unwrap().to_owned();
    let one = octoswarm(dir.path(), &["rules", &id]);
    exits(&one, 0);
    assert!(stdout(&one).contains("Languages:"));
    let typo = octoswarm(dir.path(), &["rules", &format!("{id}-x")]);
    exits(&typo, 2);
    assert!(stderr(&typo).contains("did you mean"));
}

#[test]
fn a_server_without_its_secrets_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("octoswarm.toml"), "private_key_file = 'k'\n").unwrap();
    let output = octoswarm(dir.path(), &["serve"]);
    exits(&output, 2);
    assert!(stderr(&output).contains("OCTOSWARM_APP_ID"));
    std::fs::write(
        dir.path().join("octoswarm.toml"),
        "app_id = 1\nprivate_key_file = 'k'\nwebhook_secret_files = ['s']\n",
    )
    .unwrap();
    std::fs::write(dir.path().join("k"), "not a key").unwrap();
    std::fs::write(dir.path().join("s"), "\n").unwrap();
    let empty = octoswarm(dir.path(), &["serve"]);
    exits(&empty, 2);
    assert!(stderr(&empty).contains("empty"), "{}", stderr(&empty));
    std::fs::write(dir.path().join("octoswarm.toml"), "app_idd = 1\n").unwrap();
    let unknown = octoswarm(dir.path(), &["serve"]);
    exits(&unknown, 2);
    assert!(stderr(&unknown).contains("app_idd"));
    std::fs::write(dir.path().join("octoswarm.toml"), "app_id = 1\nprivate_key_file = 'k'\n").unwrap();
    let no_secret = octoswarm(dir.path(), &["serve"]);
    exits(&no_secret, 2);
    assert!(stderr(&no_secret).contains("webhook secret") && stderr(&no_secret).contains("--poll"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_answers_health_and_stops_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let key = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
    let der = aws_lc_rs::encoding::AsDer::<aws_lc_rs::encoding::Pkcs8V1Der>::as_der(&key).unwrap();
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, der.as_ref());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
    std::fs::write(dir.path().join("k"), pem).unwrap();
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_octoswarm"))
        .args(["serve", "--listen", "127.0.0.1:0", "--state", "state"])
        .current_dir(dir.path())
        .env("OCTOSWARM_APP_ID", "1")
        .env("OCTOSWARM_PRIVATE_KEY_FILE", "k")
        .env("OCTOSWARM_WEBHOOK_SECRET", "s3cret-canary")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let address = process::listens(&mut child).await.expect("it says where it listens");
    let get = |path: &str| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        std::io::read_to_string(stream).unwrap()
    };
    assert!(get("/healthz").starts_with("HTTP/1.1 200"));
    assert!(get("/readyz").contains("\"ready\":true"));
    assert!(get("/nothing").starts_with("HTTP/1.1 404"));
    let second = octoswarm_serve_again(dir.path());
    exits(&second, 3);
    assert!(stderr(&second).contains("in use") || stderr(&second).contains("another"), "{}", stderr(&second));
    // A daemon without a terminal goes on, and says what would help.
    process::signal(&child, "HUP");
    let mut told = tokio::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("SIGHUP changes nothing") {
        assert!(told.read_line(&mut said).await.unwrap() > 0, "it ended: {said}");
    }
    assert!(said.contains("restart the server"), "{said}");
    assert!(get("/readyz").contains("\"ready\":true"));
    process::signal(&child, "TERM");
    told.read_to_string(&mut said).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("s3cret-canary"));
}

fn octoswarm_serve_again(dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_octoswarm"))
        .args(["serve", "--listen", "127.0.0.1:0", "--state", "state"])
        .current_dir(dir)
        .env("OCTOSWARM_APP_ID", "1")
        .env("OCTOSWARM_PRIVATE_KEY_FILE", "k")
        .env("OCTOSWARM_WEBHOOK_SECRET", "s3cret-canary")
        .output()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_terminal_files_an_issue_and_labels_it() {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let manifest = AppManifest::parse(include_str!("../../app-manifest.yml")).unwrap();
    let github = GitHubBox::start(Options::new(manifest, "s")).await.unwrap();
    let repo = "octo/shop";
    github.people().create_repo(repo, Change::new().write("a.py", CLEAN)).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    exits(&octoswarm(dir.path(), &["demo", "label", "1"]), 2);
    let state = dir.path().join(".local/state/octoswarm");
    std::fs::create_dir_all(&state).unwrap();
    let address = serde_json::json!({"url": github.web_url(), "token": github.control_token()});
    std::fs::write(state.join("demo.json"), address.to_string()).unwrap();
    std::fs::write(dir.path().join("text.md"), BODY).unwrap();
    exits(&octoswarm(dir.path(), &["demo", "issue", TITLE, "text.md"]), 0);
    let number = 1;
    assert_eq!(github.issue(repo, number).unwrap().title, TITLE);
    assert_eq!(github.issue(repo, number).unwrap().body.as_deref(), Some(BODY));
    exits(&octoswarm(dir.path(), &["demo", "label", "1"]), 0);
    exits(&octoswarm(dir.path(), &["demo", "label", "1", "bug", "--as", "ann"]), 0);
    assert_eq!(github.labels(repo, number), ["swarm", "bug"]);
    let missing = octoswarm(dir.path(), &["demo", "comment", "9", "hello"]);
    exits(&missing, 2);
    assert!(stderr(&missing).contains("no issue or pull request"), "{}", stderr(&missing));
    exits(&octoswarm(dir.path(), &["demo", "issue", "T", "missing.md"]), 2);
}

#[tokio::test]
async fn a_server_that_polls_makes_a_pull_request_without_a_webhook() {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let manifest = AppManifest::parse(include_str!("../../app-manifest.yml")).unwrap();
    let github = GitHubBox::start(Options::new(manifest, "nobody here knows it")).await.unwrap();
    github.set_webhook_url("http://127.0.0.1:1/webhook");
    let people = github.people();
    people.create_repo(REPO, Change::new().write("src/a.py", UNSAFE)).await.unwrap();
    people.add_collaborator(REPO, "ada", "write").await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("k"), github.private_key_pem()).unwrap();
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_octoswarm"))
        .args(["serve", "--poll", "--listen", "127.0.0.1:0", "--state", "state"])
        .current_dir(dir.path())
        .env_clear()
        .env("OCTOSWARM_APP_ID", github.app_id().to_string())
        .env("OCTOSWARM_PRIVATE_KEY_FILE", "k")
        .env("OCTOSWARM_API_URL", github.api_url())
        .env("OCTOSWARM_WEB_URL", github.web_url())
        .env("OCTOSWARM_RECONCILE_SECONDS", "1")
        .env("OCTOSWARM_SETTLE_MS", "50")
        .env("OCTOSWARM_WRITE_PACE_MS", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    process::listens(&mut child).await.expect("it says where it listens");
    github.fail_next(Fault::withhold("POST", "/pulls"));
    let number = people.open_issue("ada", REPO, TITLE, BODY).await.unwrap();
    people.label("ada", REPO, number, "swarm").await.unwrap();
    github.wait_withheld().await;
    github.release_withheld();
    let pulls = github.pulls(REPO);
    assert_eq!(pulls.len(), 1);
    assert_eq!(github.file(REPO, &pulls[0].head_sha, "src/a.py").as_deref(), Some(SAFE));
    process::signal(&child, "TERM");
    let output = child.wait_with_output().await.unwrap();
    exits(&output, 0);
    assert!(stderr(&output).contains("delivery log"), "{}", stderr(&output));
}

#[test]
fn the_demo_comes_out_right_and_says_so_in_one_document() {
    let dir = tempfile::tempdir().unwrap();
    let output = octoswarm_in_path(dir.path(), &["demo", "--once", "--json"]);
    exits(&output, 0);
    let story: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(story["ok"], true);
    let scenarios = story["scenarios"].as_array().unwrap();
    assert!(scenarios.len() >= 14 && scenarios.iter().all(|scenario| scenario["ok"] == true));
    let comments = story["review_comments"].as_array().unwrap();
    for key in ["path", "line", "side", "category", "severity", "rule"] {
        assert!(comments.iter().all(|comment| !comment[key].is_null()), "every comment has its {key}");
    }
    assert!(comments.iter().any(|comment| comment["suggestion"].is_string()));
    let pulls = story["pull_requests"].as_array().unwrap();
    let own = |pull: &&Value| pull["author"] == "octoswarm[bot]";
    assert!(pulls.iter().filter(own).all(|pull| pull["body"].as_str().is_some_and(|body| body.contains("Fixes #"))));
    assert_eq!(pulls.iter().filter(own).count(), 3);
    assert!(story["replies"].as_array().unwrap().iter().any(|reply| reply["body"].to_string().contains("Not done")));
    assert_eq!(story["refused_calls"], serde_json::json!([]));
}

/// The demo needs git, and so the machine's PATH.
fn octoswarm_in_path(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_octoswarm")).args(args).current_dir(dir).env("HOME", dir).output().unwrap()
}

/// As on a terminal that shows colours: nothing is stripped from what is printed.
fn on_a_terminal(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.args(args).current_dir(dir).env_clear().env("HOME", dir).env("CLICOLOR_FORCE", "1").output().unwrap()
}

#[test]
fn names_and_code_of_a_stranger_cannot_steer_the_terminal() {
    let dir = repository(DEFECTS);
    let hostile = "x\u{1b}]0;pwned\u{7}\u{1b}[2J\u{202e}\u{9b}31m";
    std::fs::write(dir.path().join(format!("{hostile}.py")), format!("# {hostile}\n{DEFECTS}")).unwrap();
    let code = format!("def run(text):\n    return eval(text)  # {hostile}\n");
    std::fs::write(dir.path().join("b.py"), code).unwrap();
    std::fs::write(dir.path().join(format!("data.{hostile}")), "text\n").unwrap();
    let missing = format!("no{hostile}");
    for args in
        [&["scan", "."][..], &["review"], &["scan", ".", "--format", "markdown"], &["review", "--base", &missing]]
    {
        let output = on_a_terminal(dir.path(), args);
        let text = stdout(&output) + &stderr(&output);
        assert!(args.contains(&"markdown") || text.contains("\u{1b}["), "colours are on: {text:?}");
        for bad in ["\u{1b}]", "\u{7}", "\u{1b}[2J", "\u{202e}", "\u{9b}"] {
            assert!(!text.contains(bad), "{args:?} lets {bad:?} through: {text:?}");
        }
    }
}

#[test]
fn no_name_of_a_file_starts_a_workflow_command() {
    let dir = repository(DEFECTS);
    std::fs::write(dir.path().join("data.x\n::error title=a::pwned"), "text\n").unwrap();
    for verb in ["review", "scan ."] {
        let args: Vec<&str> = verb.split(' ').chain(["--format", "github"]).collect();
        let text = stdout(&octoswarm(dir.path(), &args));
        assert!(!text.lines().any(|line| line.starts_with("::error title=a")), "{text}");
    }
}

#[test]
fn no_line_of_a_report_ends_in_blanks() {
    // A line of the source itself does.
    let dir =
        repository("def run(text):  \n    return eval(text)\t\n\n\ndef show(x):\n    breakpoint()  \n    return x\n");
    let issue = dir.path().join("issue.md");
    std::fs::write(&issue, format!("{TITLE}\n\n{BODY}")).unwrap();
    for args in [
        ["config", "check"].as_slice(),
        &["doctor", "--offline"],
        &["rules"],
        &["rules", "eval-of-data"],
        &["scan", "."],
        &["scan", ".", "--format", "github"],
        &["scan", ".", "--format", "json"],
        &["review"],
        &["review", "--format", "markdown"],
        &["audit"],
        &["schema"],
        &["fix", "--issue", "issue.md"],
        &["health", "--listen", "127.0.0.1:1"],
        &["--help"],
        &["demo", "--help"],
    ] {
        for colours in [false, true] {
            let mut command = program(dir.path(), args);
            if colours {
                command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
            }
            let output = command.output().unwrap();
            let said = stdout(&output) + &stderr(&output);
            assert!(!said.trim().is_empty(), "{args:?}");
            for line in said.lines() {
                let plain = anstream::adapter::strip_str(line).to_string();
                assert_eq!(plain, plain.trim_end(), "{args:?}, colours: {colours}");
            }
        }
    }
}
