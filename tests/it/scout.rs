//! `octoswarm scout` as a user calls it: over files of both shapes, and over a box as nobody and as the App.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use octoswarm::demo::{AppManifest, Change, Fault, GitHubBox, OpenPull, Options};
use octoswarm::domain::Clock;
use octoswarm::stdx::text::iso8601;
use serde_json::{Value, json};

const REPO: &str = "octo/calc";
const TEXT: &str = "The totals of a month are shown without the separators that every other page has. It would help to have \
                    them there as well, so that large sums can be read at a glance.";
const ASK: &str = "Please replace `recieve` with `receive` in `src/mail.py`.";

fn command(dir: &Path, args: &[&str], env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.arg("scout").args(args).current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1");
    command.envs(env.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn scout(dir: &Path, args: &[&str], input: &str) -> Output {
    let mut child = command(dir, args, &[]).spawn().unwrap();
    // A child that refuses its arguments does not read its input.
    let _refused = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Beside the box, whose tasks must go on meanwhile.
async fn scout_box(dir: &Path, args: &[&str], env: &[(&str, &str)]) -> Output {
    let mut command = command(dir, args, env);
    tokio::task::spawn_blocking(move || command.stdin(Stdio::null()).output().unwrap()).await.unwrap()
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

#[track_caller]
fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", out(output)))
}

/// Days before now.
fn ago(days: i64) -> String {
    iso8601(Clock::system().now() - days * 86_400_000)
}

fn rest(number: u64, title: &str, body: &str) -> Value {
    json!({
        "number": number, "html_url": format!("https://github.com/octo/calc/issues/{number}"), "title": title, "body": body,
        "labels": [{ "name": "help wanted" }], "created_at": ago(10), "comments": 0, "assignees": [], "locked": false,
        "state": "open"
    })
}

fn gh(number: u64, title: &str, body: &str) -> Value {
    json!({
        "number": number, "url": format!("https://github.com/octo/calc/issues/{number}"), "title": title, "body": body,
        "labels": [{ "name": "help wanted" }], "createdAt": ago(10), "comments": [], "assignees": [],
        "author": { "login": "eve" }
    })
}

#[test]
fn s2_11_a_file_of_either_shape_becomes_the_scouts_document() {
    let dir = tempfile::tempdir().unwrap();
    for one in [rest, gh] {
        let mut taken = one(3, "Totals are wrong", TEXT);
        taken["assignees"] = json!([{ "login": "ada" }]);
        let list = json!([one(1, "Show separators", TEXT), one(2, "A word is misspelt", ASK), taken]);
        std::fs::write(dir.path().join("issues.json"), list.to_string()).unwrap();
        let output = scout(dir.path(), &["issues.json", "--json"], "");
        exits(&output, 0);
        let document = document(&output);
        assert_eq!((&document["agent"], &document["status"]), (&json!("agent-1-scout"), &json!("completed")));
        let issue = &document["selected_issue"];
        assert_eq!(issue["url"], "https://github.com/octo/calc/issues/2", "what a mechanic can do comes first");
        assert_eq!((&issue["repository"]["owner"], &issue["repository"]["name"]), (&json!("octo"), &json!("calc")));
        assert_eq!(issue["labels"], json!(["help wanted"]));
        let numbers = json!({ "total_searched": 3, "filtered_out": 1, "candidates_found": 2 });
        assert_eq!(document["search_stats"], numbers);
        let others: Vec<&str> =
            document["alternatives"].as_array().unwrap().iter().map(|a| a["title"].as_str().unwrap()).collect();
        assert_eq!(others, ["Show separators", "Totals are wrong"]);
        // It passes the check that every document passes.
        std::fs::write(dir.path().join("document.json"), out(&output)).unwrap();
        let mut check = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
        check.args(["schema", "check", "current-issue", "document.json"]).current_dir(dir.path());
        assert!(check.output().unwrap().status.success());
    }
}

#[test]
fn a_person_gets_a_table_with_reasons_and_nothing_that_steers_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let mut old = rest(4, "Old", TEXT);
    old["created_at"] = json!(ago(100));
    let list = json!([rest(12, "Show \u{1b}]0;owned\u{7}separators\u{202e}", TEXT), rest(2, "A word", ASK), old]);
    let output = scout(dir.path(), &["-"], &list.to_string());
    exits(&output, 0);
    let text = out(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("rank  score") && lines[0].ends_with("why"), "{text}");
    assert!(
        lines[1].trim_start().starts_with('1') && lines[1].contains("#2") && lines[1].contains("recieve"),
        "{text}"
    );
    assert!(lines[2].contains("#12") && lines[2].contains("separators"), "{text}");
    assert!(text.contains("octo/calc: 2 of 3 issues may be taken up"), "{text}");
    assert!(text.contains("1 old"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    assert!(err(&output).contains("not known from a file"), "{}", err(&output));
}

#[test]
fn labels_and_the_limit_hold() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = rest(1, "Show separators", TEXT);
    other["labels"] = json!([{ "name": "easy" }]);
    let mut third = rest(3, "Another", TEXT);
    third["labels"] = json!([]);
    let list = json!([other, rest(2, "A word", ASK), third]).to_string();
    let output = scout(dir.path(), &["-", "--json", "--label", "Easy"], &list);
    exits(&output, 0);
    assert_eq!(document(&output)["search_stats"]["filtered_out"], 2);
    let output =
        scout(dir.path(), &["-", "--json", "--label", "easy", "--label", "help wanted", "--limit", "1"], &list);
    let document = document(&output);
    assert_eq!(document["search_stats"], json!({ "total_searched": 3, "filtered_out": 1, "candidates_found": 2 }));
    assert_eq!(document["alternatives"].as_array().unwrap().len(), 1);
}

#[test]
fn s2_25_nothing_to_take_up_is_a_failed_document_and_exit_code_1() {
    let dir = tempfile::tempdir().unwrap();
    let mut locked = rest(1, "Show separators", TEXT);
    locked["locked"] = json!(true);
    for (list, code) in [(json!([locked]), "nothing-eligible"), (json!([]), "no-issues")] {
        let output = scout(dir.path(), &["-", "--json"], &list.to_string());
        exits(&output, 1);
        let document = document(&output);
        assert_eq!((&document["status"], &document["errors"][0]["code"]), (&json!("failed"), &json!(code)));
        assert!(document.get("selected_issue").is_none());
    }
}

#[test]
fn what_is_no_list_of_issues_is_refused_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = rest(1, "T", TEXT);
    wrong["labels"] = json!([{ "name": 7 }]);
    for (input, want) in [
        (json!([wrong]).to_string(), "[0].labels[0].name is a number, not a text"),
        (json!({ "message": "Not Found" }).to_string(), "it says \"Not Found\""),
        ("{".to_owned(), "this is not JSON"),
        (String::new(), "this is not JSON"),
    ] {
        let output = scout(dir.path(), &["-"], &input);
        exits(&output, 2);
        assert!(err(&output).contains(want), "{}", err(&output));
        assert!(out(&output).is_empty());
    }
    for target in ["missing.json", "some/missing.json", "a b", "a/b/c", "../x"] {
        let output = scout(dir.path(), &[target], "");
        exits(&output, 2);
        assert!(err(&output).contains("there is no file"), "{}", err(&output));
    }
    exits(&scout(dir.path(), &["-", "--limit", "51"], "[]"), 2);
}

async fn a_box() -> GitHubBox {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let manifest = AppManifest::parse(include_str!("../../app-manifest.yml")).unwrap();
    let github = GitHubBox::start(Options::new(manifest, "a secret for one test")).await.unwrap();
    let people = github.people();
    people.create_repo(REPO, Change::new().write("README.md", "# calc\n")).await.unwrap();
    people.describe_repo(REPO, Some("Python"), 12, Some("MIT")).await.unwrap();
    github
}

async fn open(github: &GitHubBox, title: &str, body: &str) -> u64 {
    let number = github.people().open_issue("eve", REPO, title, body).await.unwrap();
    github.people().backdate_issue(REPO, number, 10).await.unwrap();
    number
}

#[tokio::test]
async fn a_public_repository_is_read_page_by_page_by_anybody() {
    let (github, dir) = (a_box().await, tempfile::tempdir().unwrap());
    for nth in 0..150 {
        open(&github, &format!("Totals {nth}"), TEXT).await;
    }
    let number = open(&github, "A word is misspelt", ASK).await;
    let env = [("OCTOSWARM_API_URL", github.api_url())];
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let output = scout_box(dir.path(), &[REPO, "--json"], &env).await;
    exits(&output, 0);
    let document = document(&output);
    assert!(document["selected_issue"]["url"].as_str().unwrap().ends_with(&format!("/issues/{number}")));
    let repository = &document["selected_issue"]["repository"];
    assert_eq!(
        (&repository["language"], &repository["stars"], &repository["license"]),
        (&json!("Python"), &json!(12), &json!("MIT"))
    );
    let numbers = json!({ "total_searched": 151, "filtered_out": 0, "candidates_found": 151 });
    assert_eq!(document["search_stats"], numbers, "both pages");
    assert!(err(&output).contains("not asked without an App"), "{}", err(&output));
    assert!(github.calls().iter().all(|call| call.auth == "none" && call.method == "GET"), "{:?}", github.calls());
    github.stop().await;
}

#[tokio::test]
async fn what_was_not_read_of_a_long_list_is_said() {
    let (github, dir) = (a_box().await, tempfile::tempdir().unwrap());
    for nth in 0..1_001 {
        github.people().open_issue("eve", REPO, &format!("Totals {nth}"), "").await.unwrap();
    }
    let api = github.api_url();
    let output = scout_box(dir.path(), &[REPO], &[("OCTOSWARM_API_URL", &api)]).await;
    exits(&output, 1);
    assert!(err(&output).contains("only the newest 1000 entries of the list were read"), "{}", err(&output));
    assert!(out(&output).contains("0 of 1000 issues may be taken up"), "{}", out(&output));
    github.stop().await;
}

#[tokio::test]
async fn through_the_app_a_private_repository_is_read_and_linked_pull_requests_are_known() {
    let (github, dir) = (a_box().await, tempfile::tempdir().unwrap());
    let people = github.people();
    people.make_private(REPO).await.unwrap();
    let addressed = open(&github, "A word is misspelt", ASK).await;
    let free = open(&github, "Show separators", TEXT).await;
    let mut pull = OpenPull::new("ada", "mine", "Spelling", Change::new().write("a.txt", "a\n"));
    pull.body = format!("Fixes #{addressed}");
    people.open_pull(REPO, pull).await.unwrap();
    std::fs::write(dir.path().join("app.pem"), github.private_key_pem()).unwrap();
    std::fs::write(dir.path().join("hook"), "a secret for one test").unwrap();
    let config = format!(
        "app_id = {}\nprivate_key_file = \"app.pem\"\nwebhook_secret_files = [\"hook\"]\napi_url = \"{}\"\nweb_url = \"{}\"\n",
        github.app_id(),
        github.api_url(),
        github.web_url()
    );
    std::fs::write(dir.path().join("octoswarm.toml"), config).unwrap();
    let output = scout_box(dir.path(), &["OCTO/calc", "--json"], &[]).await;
    exits(&output, 0);
    let document = document(&output);
    assert!(document["selected_issue"]["url"].as_str().unwrap().ends_with(&format!("/issues/{free}")), "{document:#}");
    let reasons: Vec<&str> = document["alternatives"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["reason_not_selected"].as_str().unwrap())
        .collect();
    assert!(reasons.iter().any(|reason| reason.contains("by ada addresses it")), "{reasons:?}");
    assert_eq!(github.refusals().len(), 0, "{:?}", github.refusals());
    let minted = "/access_tokens";
    let written = github.calls().into_iter().filter(|call| call.method != "GET" && !call.path.ends_with(minted));
    assert!(
        written.clone().all(|call| call.path.ends_with("/graphql")),
        "reads only: {:?}",
        written.collect::<Vec<_>>()
    );
    github.stop().await;
}

#[tokio::test]
async fn a_repository_that_is_not_there_and_a_limit_are_told_in_words() {
    let (github, dir) = (a_box().await, tempfile::tempdir().unwrap());
    let api = github.api_url();
    let env = [("OCTOSWARM_API_URL", api.as_str())];
    let output = scout_box(dir.path(), &["octo/nothing"], &env).await;
    exits(&output, 3);
    assert!(
        err(&output).contains("octo/nothing") && err(&output).contains("only public repositories"),
        "{}",
        err(&output)
    );
    github.fail_next(Fault::secondary_limit("GET", "/repos/", 60).times(10));
    let output = scout_box(dir.path(), &[REPO], &env).await;
    exits(&output, 3);
    assert!(
        err(&output).contains("limits our requests") && err(&output).contains("60 requests an hour"),
        "{}",
        err(&output)
    );
    github.forgive();
    let output = scout_box(dir.path(), &[REPO], &[("OCTOSWARM_API_URL", "http://127.0.0.1:1")]).await;
    exits(&output, 3);
    let output = scout_box(dir.path(), &[REPO], &[("OCTOSWARM_APP_ID", "7")]).await;
    exits(&output, 2);
    github.stop().await;
}
