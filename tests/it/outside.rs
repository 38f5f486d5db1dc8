//! Programs of others in the place of our agents: the example of docs/agent-protocol.md as a process of its own, in real runs.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use octoswarm::artifact::check;
use octoswarm::mailbox::Envelope;
use octoswarm::pipeline::FLOWS;
use serde_json::{Value, json};

use crate::support::git;

const ASKED: &[&str] = &[".", "--agents", "reviewer", "--outside", "improvement", "--json"];
/// A shared default and a bare `except:`, on the fourth and the seventh line of the file.
const NEW: &str =
    "def read(path, seen=[]):\n    try:\n        return open(path).read()\n    except:\n        return seen\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Nothing here runs without it, and to pass over that in silence would be to claim what nobody saw.
fn python() -> Command {
    let there = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(there, "programs of others are tried with python3, and there is none on this machine");
    let mut command = Command::new("python3");
    command.arg("-B").stdin(Stdio::null());
    command
}

/// Killed with SIGKILL when it goes.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        self.0.wait().unwrap();
    }
}

fn example(messages: &Path) -> Agent {
    Agent(python().arg(root().join("docs/examples/improvement_agent.py")).arg(messages).spawn().unwrap())
}

fn odd(messages: &Path, mind: &str) -> Agent {
    let script = root().join("fixtures/agents/odd_improvement_agent.py");
    Agent(python().arg(script).arg(root().join("docs/examples")).arg(messages).arg(mind).spawn().unwrap())
}

/// A repository with a change that is not committed.
fn changed() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    std::fs::write(dir.path().join("a.py"), "NAME = 'a'\n").unwrap();
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    std::fs::write(dir.path().join("a.py"), format!("NAME = 'a'\n\n\n{NEW}")).unwrap();
    dir
}

fn messages(dir: &Path) -> PathBuf {
    dir.join(".octoswarm/messages")
}

fn start(dir: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.arg("run").args(ASKED).current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn result(output: &Output, code: i32) -> (Value, String) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(code), "stdout:\n{out}\nstderr:\n{said}");
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(check("pipeline-result", &result), Some(Vec::new()));
    (result, said)
}

/// What an agent's output in a result says.
fn of<'a>(result: &'a Value, agent: &str) -> Option<&'a Value> {
    result["results"].as_array().unwrap().iter().find(|output| output["agentName"] == agent)
}

fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
    found.sort();
    found
}

/// Until there is something; a wait that fails after a minute has waited for nothing.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn lines(result: &Value) -> Vec<u64> {
    let items = of(result, "improvement").unwrap()["result"].as_array().unwrap();
    let mut lines: Vec<u64> = items.iter().map(|item| item["line"].as_u64().unwrap()).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn s3_25_the_example_plays_the_improvement_agent() {
    let dir = changed();
    let _agent = example(&messages(dir.path()));
    let (result, said) = result(&start(dir.path()).wait_with_output().unwrap(), 0);
    assert_eq!(lines(&result), [4, 7], "a shared default and a bare except: {result:#}");
    let review = of(&result, "master").unwrap();
    let told = review["result"]["findings"].to_string();
    assert!(told.contains("bare `except:`") && told.contains("shares this default"), "{told}");
    assert!(said.contains("improvement") && said.contains("a program outside plays it"), "{said}");
    assert_eq!(files(&dir.path().join(".octoswarm/inputs"), "").len(), 0, "inputs go with their task");
}

#[test]
fn a_rule_that_the_repository_has_switched_off_is_silent_whoever_finds_something_by_it() {
    let dir = changed();
    let review = |disable: &str| {
        std::fs::create_dir_all(dir.path().join(".github")).unwrap();
        std::fs::write(dir.path().join(".github/octoswarm.yml"), format!("disable: [{disable}]\n")).unwrap();
        git(dir.path(), &["add", ".github"]);
        git(dir.path(), &["commit", "-qm", disable]);
        let _agent = example(&messages(dir.path()));
        result(&start(dir.path()).wait_with_output().unwrap(), 0)
    };
    let (other, _) = review("eval-call");
    assert_eq!(lines(&other), [4, 7], "another rule is another matter");
    let (off, said) = review("improvement-agent");
    assert_eq!(lines(&off), [] as [u64; 0], "{off:#}");
    let told = of(&off, "master").unwrap()["result"]["findings"].to_string();
    assert!(!told.contains("shares this default"), "{told}");
    assert!(!said.contains("there is no rule"), "{said}");
}

#[test]
fn a_result_that_is_too_large_for_its_message_goes_through_a_file() {
    let dir = changed();
    let _agent = odd(&messages(dir.path()), "large");
    let (result, _) = result(&start(dir.path()).wait_with_output().unwrap(), 0);
    assert_eq!(lines(&result), [4, 7]);
    let answers = files(&messages(dir.path()).join("outbox/improvement"), ".json").into_iter();
    let answers: Vec<Value> =
        answers.map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect();
    let large = answers.iter().find(|answer| answer["type"] == "research_result").unwrap();
    assert!(large["content"]["raw_data"]["bytes"].as_u64().unwrap() > 256 * 1024);
}

#[test]
fn an_agent_that_is_killed_in_the_middle_of_a_task_does_it_when_it_is_back() {
    let dir = changed();
    let messages = messages(dir.path());
    let slow = odd(&messages, "slow");
    let run = start(dir.path());
    let outbox = messages.join("outbox/improvement");
    until("the task is not accepted", || files(&outbox, ".json").pop());
    let inbox = messages.join("inbox/improvement");
    assert_eq!(files(&inbox, ".claimed").len(), 1, "in the middle of it");
    drop(slow);
    let _again = example(&messages);
    let (result, _) = result(&run.wait_with_output().unwrap(), 0);
    assert_eq!(lines(&result), [4, 7]);
    until("the task is not put away", || (files(&inbox, "").is_empty()).then_some(()));
}

#[test]
fn a_run_that_is_killed_while_a_program_works_goes_on_when_it_is_asked_again() {
    let dir = changed();
    let messages = messages(dir.path());
    let mut run = start(dir.path());
    let inbox = messages.join("inbox/improvement");
    until("nobody is asked", || files(&inbox, ".json").pop());
    run.kill().unwrap();
    run.wait().unwrap();
    let _agent = example(&messages);
    let (result, said) = result(&start(dir.path()).wait_with_output().unwrap(), 0);
    assert_eq!(lines(&result), [4, 7]);
    // Steps are done one after the other: whoever came before has been asked once.
    assert_eq!(of(&result, "manager").unwrap()["metadata"]["cacheHit"], json!(true), "{said}");
    assert_eq!(of(&result, "improvement").unwrap()["metadata"].get("cacheHit"), None);
    until("what the dead run asked is not put away", || (files(&inbox, "").is_empty()).then_some(()));
}

#[test]
fn a_wrong_answer_ends_in_failed_with_its_faults_and_the_run_goes_on_without_it() {
    let dir = changed();
    let messages = messages(dir.path());
    let _agent = odd(&messages, "wrong");
    let (result, _) = result(&start(dir.path()).wait_with_output().unwrap(), 1);
    assert_eq!(result["success"], json!(false));
    let error = &result["errors"][0];
    assert!(error["agentName"] == "improvement" && error["code"] == "ERR_002", "{error}");
    for fault in ["severity", "line", "suggestion"] {
        assert!(error["message"].as_str().unwrap().contains(fault), "{fault}: {error}");
    }
    assert_eq!(result["summary"]["reviewCompleted"], json!(true), "the others' review is there");
    let concerns = of(&result, "master").unwrap()["result"]["summary"]["concerns"].to_string();
    assert!(concerns.contains("the improvement reviewer failed"), "and says who is missing: {concerns}");
    assert!(of(&result, "improvement").is_none() && of(&result, "critical").is_some());
    let review = of(&result, "master").unwrap()["result"].to_string();
    assert!(review.contains("the improvement reviewer failed"), "{review}");
    let refused = files(&messages.join("failed"), ".error.json");
    assert!(!refused.is_empty());
    for reason in refused {
        let reason: Value = serde_json::from_slice(&std::fs::read(reason).unwrap()).unwrap();
        assert!(reason["reason"].as_str().unwrap().contains("not valid"), "{reason}");
    }
}

fn shown(dir: &Path, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.args(["runs", "show", "latest", "--state", ".octoswarm"]).args(more);
    let output = command.current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn s1_18_a_known_result_comes_back_as_what_it_was_with_its_errors() {
    let dir = changed();
    let agent = odd(&messages(dir.path()), "partial");
    let (first, _) = result(&start(dir.path()).wait_with_output().unwrap(), 0);
    assert!(shown(dir.path(), &[]).contains("done in part"), "{}", shown(dir.path(), &[]));
    // Nobody plays it any more: the second run has what the first one left.
    drop(agent);
    let (second, _) = result(&start(dir.path()).wait_with_output().unwrap(), 0);
    let (then, now) = (of(&first, "improvement").unwrap(), of(&second, "improvement").unwrap());
    assert_eq!((&then["status"], &now["status"]), (&json!("partial"), &json!("partial")), "{now:#}");
    assert_eq!((&then["metadata"]["cacheHit"], &now["metadata"]["cacheHit"]), (&Value::Null, &json!(true)));
    for told in ["errors", "warnings"] {
        assert!(!now["metadata"][told].is_null(), "{told}: {now:#}");
        assert_eq!(then["metadata"][told], now["metadata"][told]);
    }
    assert_eq!((lines(&second), &then["result"]), (vec![4, 7], &now["result"]));
    assert_eq!(of(&second, "critical").unwrap()["status"], "success");
    let text = shown(dir.path(), &[]);
    let row = text.lines().find(|line| line.contains("improvement")).unwrap();
    assert!(row.contains("known in part") && row.contains("too odd to read") && row.contains("only half"), "{text}");
    let rows: Value = serde_json::from_str(&shown(dir.path(), &["--json"])).unwrap();
    let row = rows["steps"].as_array().unwrap().iter().find(|step| step["name"] == "improvement").unwrap();
    assert_eq!((&row["state"], &row["told"]["status"]), (&json!("skipped"), &json!("partial")));
}

#[test]
fn s3_14_what_a_program_says_of_its_progress_becomes_a_few_harmless_lines_of_the_run() {
    let dir = changed();
    let _agent = odd(&messages(dir.path()), "telling");
    let (result, _) = result(&start(dir.path()).wait_with_output().unwrap(), 0);
    assert_eq!(lines(&result), [4, 7]);
    let rows: Value = serde_json::from_str(&shown(dir.path(), &["--json"])).unwrap();
    let all = rows["progress"].as_array().unwrap().iter().map(|row| row["text"].as_str().unwrap());
    let said: Vec<&str> = all.filter(|text| text.starts_with("improvement: ") && text.contains("of 300")).collect();
    assert!(!said.is_empty() && said.len() < 100, "of 300: {said:#?}");
    assert!(said.last().unwrap().starts_with("improvement: 100 %, ⟨U+001B⟩[31m300 of 300 for"), "{said:#?}");
    for text in &said {
        assert!(text.chars().count() < 250 && !text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
    }
    assert!(shown(dir.path(), &[]).contains("300 of 300 for"));
}

#[test]
fn s1_19_how_often_a_reviewer_is_asked_again_is_what_the_settings_say() {
    let dir = changed();
    let inbox = messages(dir.path()).join("inbox");
    std::fs::write(
        dir.path().join(".git/configs.json"),
        r#"{"reviewer": {"retries": 0}, "improvement": {"retries": 0}}"#,
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.arg("run").args(ASKED).args(["--agent-configs", ".git/configs.json"]).current_dir(dir.path());
    command.env_clear().env("HOME", dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    let asked = until("nobody is asked", || files(&inbox.join("improvement"), ".json").pop());
    let task: Value = serde_json::from_slice(&std::fs::read(asked).unwrap()).unwrap();
    let id = "improvement_20261121_212611_0a1b2c";
    let report = json!({
        "message_id": id, "from": "improvement", "to": "product_manager", "type": "error_report",
        "timestamp": task["timestamp"], "reply_to": task["message_id"],
        "content": {
            "error_type": "api_failure", "error_message": "the model is away", "context": {"code": "API_002"},
            "impact_level": "medium", "related_task_id": task["message_id"],
        },
    });
    let staged = inbox.join("product_manager").join(format!("{id}.tmp"));
    std::fs::write(&staged, report.to_string()).unwrap();
    std::fs::rename(&staged, staged.with_extension("json")).unwrap();
    let (result, _) = result(&running.wait_with_output().unwrap(), 1);
    assert_eq!(result["errors"][0]["code"], "API_002", "it was tried again: {}", result["errors"]);
    assert_eq!(files(&inbox.join("improvement"), ".json").len(), 1, "one task, and no other");
}

#[test]
fn the_page_says_what_the_example_and_the_program_do() {
    let page = std::fs::read_to_string(root().join("docs/agent-protocol.md")).unwrap();
    assert!(page.contains("](examples/improvement_agent.py)"));
    let blocks = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let samples: Vec<Value> = blocks.map(|block| serde_json::from_str(block).unwrap()).collect();
    let (mut envelopes, mut answers, mut inputs) = (0, 0, 0);
    for sample in samples {
        if sample.get("message_id").is_some() {
            let envelope: Envelope = Envelope::from_value(sample.clone()).unwrap();
            envelope.content().unwrap_or_else(|error| panic!("{error:?}: {sample:#}"));
            envelopes += 1;
        } else if sample.get("history").is_some() {
            assert_eq!(check("agent-input", &sample), Some(Vec::new()), "{sample:#}");
            inputs += 1;
        } else if sample.is_array() {
            let kind = sample[0]["type"].as_str().unwrap();
            assert_eq!(check(kind, &sample), Some(Vec::new()), "{sample:#}");
            answers += 1;
        } else if sample.get("agentName").is_some() {
            assert_eq!(check("agent-output", &sample), Some(Vec::new()), "{sample:#}");
            answers += 1;
        } else {
            let carried = sample.get("body").is_some() || sample.get("sha256").is_some();
            assert!(carried, "what kind of sample is this? {sample:#}");
        }
    }
    assert!(envelopes >= 3 && answers >= 2 && inputs >= 1, "{envelopes} {answers} {inputs}");
    // Every agent that may be played has its row.
    for role in FLOWS.iter().flat_map(|flow| flow.steps).map(|step| step.role.name()) {
        assert!(page.contains(&format!("| `{role}` |")), "{role} has no row");
    }
}
