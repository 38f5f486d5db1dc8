//! `octoswarm run` as a user calls it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use octoswarm::artifact::agentd::Verdict;
use octoswarm::artifact::check;
use octoswarm::change::{Changes, Phase};
use serde_json::{Value, json};

use crate::contribute::UNSAFE;
use crate::support::git;

const TEXT: &str = "def slug(text):\n    return text.strip()\n";
const TEST: &str = "from shop.text import slug\n\n\ndef test_slug():\n    assert slug('a') == 'a'\n";
const WISH: &str = "slug() keeps capitals\n\n`slug('A')` should return `'a'`. This patch does it:\n\n```diff\n--- a/shop/text.py\n\
                    +++ b/shop/text.py\n@@ -1,2 +1,2 @@\n def slug(text):\n-    return text.strip()\n\
                    +    return text.strip().lower()\n```\n";

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.arg("run").args(args).current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(dir: &Path, args: &[&str], input: &str) -> Child {
    let mut child = command(dir, args).spawn().unwrap();
    // A child that refuses its arguments does not read its input.
    let _refused = child.stdin.take().unwrap().write_all(input.as_bytes());
    child
}

fn run(dir: &Path, args: &[&str], input: &str) -> Output {
    start(dir, args, input).wait_with_output().unwrap()
}

#[track_caller]
fn exits(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "stdout:\n{out}\nstderr:\n{err}");
    (out, err)
}

/// The result that `--json` printed; it has its form, and lies in the state's folder as well.
#[track_caller]
fn result(dir: &Path, output: &Output, code: i32) -> Value {
    let (out, _) = exits(output, code);
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(check("pipeline-result", &result), Some(Vec::new()), "{result:#}");
    assert_eq!(kept(dir), result);
    result
}

fn kept(dir: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(dir.join(".octoswarm/result.json")).unwrap()).unwrap()
}

fn agents(result: &Value) -> Vec<&str> {
    result["results"].as_array().unwrap().iter().map(|output| output["agentName"].as_str().unwrap()).collect()
}

fn of<'a>(result: &'a Value, agent: &str) -> &'a Value {
    let found = result["results"].as_array().unwrap().iter().find(|output| output["agentName"] == agent);
    found.unwrap_or_else(|| panic!("{agent}: {result:#}"))
}

fn shop() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    for (path, text) in
        [("shop/text.py", TEXT), ("tests/test_text.py", TEST), ("CHANGELOG.md", "# Log\n\n## Unreleased\n\n- One\n")]
    {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    git(dir.path(), &["config", "user.name", "ada"]);
    git(dir.path(), &["config", "user.email", "ada@example.com"]);
    dir
}

fn read(dir: &Path, path: &str) -> String {
    std::fs::read_to_string(dir.join(path)).unwrap()
}

/// What waits in an agent's inbox.
fn waiting(dir: &Path, agent: &str) -> Vec<PathBuf> {
    let inbox = dir.join(".octoswarm/messages/inbox").join(agent);
    let entries = std::fs::read_dir(inbox).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect()
}

/// Until that agent, whom nobody plays, is asked.
#[track_caller]
fn asked(dir: &Path, agent: &str) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while waiting(dir, agent).is_empty() {
        assert!(Instant::now() < deadline, "{agent} is not asked");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn s1_16_a_feature_is_planned_changed_tested_and_reviewed() {
    let dir = shop();
    let (out, err) = exits(&run(dir.path(), &[".", "-"], WISH), 0);
    for said in ["Planned: ", "Changed: 3 files", "shop/text.py", "Tested: ", "Found: 0 findings", "All of it: "] {
        assert!(out.contains(said), "{said}:\n{out}");
    }
    assert!(err.contains("coder") && err.contains("were not run"), "{err}");
    assert_eq!(git(dir.path(), &["status", "--short"]), "", "nothing of the repository is touched");
    assert_eq!(read(dir.path(), ".octoswarm/.gitignore"), "*\n");
    let result = kept(dir.path());
    assert_eq!(check("pipeline-result", &result), Some(Vec::new()));
    assert_eq!(agents(&result)[0], "manager", "it always comes first");
    for (agent, form) in [
        ("manager", "project-context"),
        ("planner", "plan"),
        ("coder", "code-generation"),
        ("tester", "test-suite"),
        ("master", "code-review"),
    ] {
        assert_eq!(check(form, &of(&result, agent)["result"]), Some(Vec::new()), "{agent}");
    }
    assert_eq!(of(&result, "coder")["result"]["generatedFiles"][0]["path"], "shop/text.py");
    assert_eq!(of(&result, "coder")["result"]["taskId"], "RUN");
    let folder = PathBuf::from(result["outputs"]["plan"].as_str().unwrap()).parent().unwrap().to_owned();
    let document =
        |name: &str| -> Value { serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap() };
    let context = document("context.json");
    assert_eq!(context, of(&result, "manager")["result"], "the review's glance at the repository is not the last word");
    let root = dir.path().canonicalize().unwrap();
    assert_eq!(context["project"]["rootPath"], root.to_str().unwrap());
    let repository = &document("codebase-map.json")["repository"];
    assert_eq!((&repository["local_path"], &repository["name"]), (&json!(root), &context["project"]["name"]));
    assert_eq!(repository["default_branch"], git(dir.path(), &["branch", "--show-current"]).trim());
    let changes = Changes::new(folder);
    let change = changes.read(&changes.list().unwrap()[0].id).unwrap();
    let verdict = change.review.unwrap().content.review.verdict;
    assert_eq!((change.state.phase, verdict), (Phase::Implemented, Verdict::Approved));
    assert!(change.tasks.unwrap().content.list.tasks.iter().any(|task| task.file.path == "shop/text.py"));
    git(dir.path(), &["apply", ".octoswarm/change.diff"]);
    assert!(read(dir.path(), "shop/text.py").contains(".lower()"));
    assert!(read(dir.path(), "tests/test_text.py").contains("slug('A') == 'a'"));
}

#[test]
fn s2_1_to_s2_6_each_agent_is_given_the_documents_that_it_builds_on() {
    for (agent, given) in [
        ("analyst", &["current-issue"][..]),
        ("explorer", &["issue-analysis"]),
        ("coder", &["codebase-map"]),
        ("tester", &["codebase-map", "code-changes"]),
        ("docs", &["codebase-map", "code-changes"]),
        ("pr", &["code-changes", "test-changes", "docs-changes"]),
    ] {
        let dir = shop();
        let mut running = start(dir.path(), &[".", WISH, "--outside", agent], "");
        asked(dir.path(), agent);
        let json = |path: &Path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
        let task = json(&waiting(dir.path(), agent)[0]);
        let input = json(Path::new(task["content"]["data_sources"][0].as_str().unwrap()));
        running.kill().unwrap();
        running.wait().unwrap();
        let runs = std::fs::read_dir(dir.path().join(".octoswarm/runs")).unwrap();
        let folder = runs.map(|run| run.unwrap().path()).next().unwrap();
        for name in given {
            let document = json(&folder.join(format!("{name}.json")));
            let has = |output: &Value| output["result"] == document || output["result"]["document"] == document;
            assert!(input["history"].as_array().unwrap().iter().any(has), "{agent} is not given {name}: {input:#}");
        }
    }
}

#[test]
fn a_run_in_a_folder_of_a_repository_speaks_of_the_repository() {
    let dir = shop();
    let below = result(
        &dir.path().join("shop"),
        &run(dir.path(), &["shop/", WISH, "--agents", "planner, coder", "--json"], ""),
        0,
    );
    let project = &of(&below, "manager")["result"]["project"];
    let root = dir.path().canonicalize().unwrap();
    assert_eq!(project["rootPath"], root.to_str().unwrap());
    assert_eq!(project["name"], root.file_name().unwrap().to_str().unwrap());
    assert_eq!(of(&below, "coder")["result"]["generatedFiles"][0]["path"], "shop/text.py");
}

#[test]
fn s1_17_a_subset_works_in_its_order_and_a_review_takes_the_change_that_is_there() {
    let dir = shop();
    let planned = result(dir.path(), &run(dir.path(), &[".", WISH, "--agents", "planner", "--json"], ""), 0);
    assert_eq!(agents(&planned), ["manager", "scout", "analyst", "explorer", "planner"]);
    assert!(planned["outputs"]["plan"].is_string() && planned["outputs"].get("code").is_none());
    let made = result(dir.path(), &run(dir.path(), &[".", WISH, "--agents", "coder,reviewer", "--json"], ""), 0);
    assert!(
        agents(&made).contains(&"master") && !agents(&made).contains(&"tester") && !agents(&made).contains(&"planner")
    );
    assert_eq!(made["summary"]["codeGenerated"], json!(true));
    std::fs::write(dir.path().join("a.py"), UNSAFE).unwrap();
    let reviewed = result(dir.path(), &run(dir.path(), &[".", "--agents", "reviewer", "--json"], ""), 0);
    let review = &of(&reviewed, "master")["result"];
    assert_eq!(review["findings"][0]["location"]["file"], "a.py", "{review:#}");
    assert_eq!(reviewed["summary"]["findingsCount"], review["summary"]["totalFindings"]);
    assert!(!dir.path().join(".octoswarm/change.diff").exists(), "of the last run, which changed nothing");
}

#[test]
fn s1_18_known_results_are_taken_unless_it_is_forced() {
    let dir = shop();
    let args = [".", WISH, "--json"];
    let first = result(dir.path(), &run(dir.path(), &args, ""), 0);
    let hits = |result: &Value| -> Vec<bool> {
        let outputs = result["results"].as_array().unwrap().iter();
        outputs
            .map(|output| output["metadata"]["cacheHit"] == json!(true) && output["metadata"]["cacheKey"].is_string())
            .collect()
    };
    assert!(!hits(&first).contains(&true));
    let again = result(dir.path(), &run(dir.path(), &args, ""), 0);
    assert!(!hits(&again).contains(&false), "{again:#}");
    assert_eq!(of(&first, "coder")["result"]["generatedFiles"], of(&again, "coder")["result"]["generatedFiles"]);
    let forced = result(dir.path(), &run(dir.path(), &[".", WISH, "--json", "--force"], ""), 0);
    assert!(!hits(&forced).contains(&true));
    std::fs::write(dir.path().join("more.py"), "X = 1\n").unwrap();
    let other = result(dir.path(), &run(dir.path(), &args, ""), 0);
    assert!(!hits(&other)[0], "of another tree nothing is known");
}

#[test]
fn s1_18_who_can_do_without_the_one_that_failed_goes_on_unless_it_is_to_fail_fast() {
    let dir = shop();
    std::fs::write(dir.path().join(".git/late.json"), r#"{"planner": {"timeout": 200, "retries": 0}}"#).unwrap();
    let args = [".", WISH, "--json", "--outside", "planner", "--agent-configs", ".git/late.json"];
    let on = result(dir.path(), &run(dir.path(), &args, ""), 1);
    assert_eq!((&on["success"], &on["errors"][0]["code"]), (&json!(false), &json!("API_001")), "{on:#}");
    assert_eq!((&on["summary"]["planGenerated"], &on["summary"]["codeGenerated"]), (&json!(false), &json!(true)));
    assert!(agents(&on).contains(&"master"));
    let mut fast = args.to_vec();
    fast.extend(["--fail-fast", "--apply"]);
    let fast = result(dir.path(), &run(dir.path(), &fast, ""), 1);
    assert_eq!(agents(&fast), ["manager", "scout", "analyst", "explorer"]);
    assert_eq!(read(dir.path(), "shop/text.py"), TEXT, "a run that was ended keeps no change");
}

#[test]
fn s1_18_in_parallel_those_who_need_nothing_of_each_other_are_asked_at_once_and_ctrl_c_keeps_what_has_ended() {
    let dir = shop();
    let outside = [".", WISH, "--outside", "tester", "docs"];
    let mut one = start(dir.path(), &outside, "");
    asked(dir.path(), "tester");
    assert!(waiting(dir.path(), "docs").is_empty(), "one after the other");
    // Two runs in one state would take each other's messages.
    let (_, err) = exits(&run(dir.path(), &[".", WISH], ""), 3);
    assert!(err.contains("process") && err.contains(".octoswarm"), "{err}");
    one.kill().unwrap();
    one.wait().unwrap();
    for tester in waiting(dir.path(), "tester") {
        std::fs::remove_file(tester).unwrap();
    }
    let both = start(dir.path(), &[&outside[..], &["--parallel", "--json"]].concat(), "");
    asked(dir.path(), "tester");
    asked(dir.path(), "docs");
    let stopped = Command::new("sh").args(["-c", &format!("kill -INT {}", both.id())]).status().unwrap();
    assert!(stopped.success());
    let cut = result(dir.path(), &both.wait_with_output().unwrap(), 130);
    assert_eq!(cut["success"], json!(false));
    assert!(cut["errors"].as_array().unwrap().iter().any(|error| error["code"] == "cancelled"), "{cut:#}");
    assert!(agents(&cut).contains(&"coder"), "what had ended is kept");
}

#[test]
fn s1_20_a_run_that_was_killed_after_the_coder_goes_on_with_the_tester() {
    let dir = shop();
    let mut first = start(dir.path(), &[".", WISH, "--outside", "tester"], "");
    asked(dir.path(), "tester");
    first.kill().unwrap();
    first.wait().unwrap();
    let after = result(dir.path(), &run(dir.path(), &[".", WISH, "--json"], ""), 0);
    for (agent, known) in [("manager", true), ("planner", true), ("coder", true), ("tester", false), ("master", false)]
    {
        assert_eq!(of(&after, agent)["metadata"]["cacheHit"] == json!(true), known, "{agent}");
    }
    let runs = std::fs::read_dir(dir.path().join(".octoswarm/runs")).unwrap().count();
    assert_eq!(runs, 2);
    let (out, _) = exits(&octoswarm(dir.path(), &["runs", "--state", ".octoswarm", "--json"]), 0);
    let killed = serde_json::from_str::<Value>(&out).unwrap()["runs"][1].clone();
    let why = killed["detail"].as_str().unwrap();
    assert!(killed["state"] == "cancelled" && why.contains("`octoswarm run`") && !why.contains("server"), "{killed}");
}

/// What lies in the folder for temporary files, all of it two hours old.
fn scratch(tmp: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(tmp).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("octoswarm-"));
    for path in &found {
        assert!(Command::new("touch").args(["-d", "2 hours ago"]).arg(path).status().unwrap().success());
    }
    found
}

#[test]
fn what_a_killed_run_left_for_a_while_is_removed_by_the_next_program_that_reads_a_repository() {
    let (dir, other, tmp) = (shop(), shop(), tempfile::tempdir().unwrap());
    let start = |dir: &Path| {
        let mut command = command(dir, &[".", WISH, "--outside", "tester"]);
        let child = command.env("TMPDIR", tmp.path()).spawn().unwrap();
        asked(dir, "tester");
        child
    };
    let mut killed = start(dir.path());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = scratch(tmp.path());
    assert!(!left.is_empty(), "nothing to be removed");
    let mut alive = start(other.path());
    assert!(left.iter().all(|path| !path.exists()), "{left:?}");
    let held = scratch(tmp.path());
    let mut review = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    review.args(["review", "."]).current_dir(dir.path()).env_clear().env("HOME", dir.path()).env("TMPDIR", tmp.path());
    exits(&review.output().unwrap(), 0);
    assert!(!held.is_empty() && held.iter().all(|path| path.exists()), "they are of one that goes on: {held:?}");
    assert_eq!(scratch(tmp.path()).len(), held.len(), "the review took its own along");
    alive.kill().unwrap();
    alive.wait().unwrap();
}

#[test]
fn s1_19_an_agent_that_is_switched_off_is_left_out_and_every_wrong_setting_is_told_with_its_path() {
    let dir = shop();
    let configs = dir.path().join(".git/configs.json");
    let args = [".", WISH, "--json", "--agent-configs", ".git/configs.json"];
    std::fs::write(&configs, r#"{"tester": {"enabled": false}, "reviewer": {"retries": 0}}"#).unwrap();
    let without = result(dir.path(), &run(dir.path(), &args, ""), 0);
    assert!(!agents(&without).contains(&"tester") && agents(&without).contains(&"master"));
    let wrong = r#"{"coder": {"timeout": "x", "modle": "m"}, "testr": {}, "manager": {"enabled": false}}"#;
    std::fs::write(&configs, wrong).unwrap();
    let (_, err) = exits(&run(dir.path(), &args, ""), 2);
    for told in ["coder.timeout", "coder.modle", "testr", "did you mean `tester`", "manager.enabled"] {
        assert!(err.contains(told), "{told}: {err}");
    }
    for wrong in ["[]", "{", "7"] {
        std::fs::write(&configs, wrong).unwrap();
        exits(&run(dir.path(), &args, ""), 2);
    }
}

#[test]
fn the_change_is_applied_or_becomes_a_branch_when_asked_for() {
    let dir = shop();
    let (out, _) = exits(&run(dir.path(), &[".", WISH, "--branch", "low"], ""), 0);
    assert!(out.contains("branch low at "), "{out}");
    assert_eq!(git(dir.path(), &["status", "--short"]), "");
    assert!(git(dir.path(), &["show", "low:shop/text.py"]).contains(".lower()"));
    let (_, err) = exits(&run(dir.path(), &[".", WISH, "--branch", "low"], ""), 2);
    assert!(err.contains("low"), "{err}");
    exits(&run(dir.path(), &[".", WISH, "--apply"], ""), 0);
    assert!(read(dir.path(), "shop/text.py").contains(".lower()"));
    assert_eq!(git(dir.path(), &["status", "--short"]), " M CHANGELOG.md\n M shop/text.py\n M tests/test_text.py\n");
}

#[test]
fn what_no_mechanic_can_do_is_said_and_exits_with_1() {
    let dir = shop();
    let result = result(dir.path(), &run(dir.path(), &[".", "make it better", "--json"], ""), 1);
    let codes: Vec<&str> = result["errors"].as_array().unwrap().iter().map(|e| e["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"PLAN_003") && codes.contains(&"declined"), "{codes:?}");
    assert_eq!(result["summary"]["codeGenerated"], json!(false));
    assert_eq!(git(dir.path(), &["status", "--short"]), "");
}

#[test]
fn s1_18_too_little_to_plan_from_is_a_failure_that_ends_a_run_which_is_to_fail_fast() {
    let dir = shop();
    let args = [".", "make it better", "--json", "--fail-fast"];
    // The second time all that ended is known, and that it fell short as well.
    for _ in 0..2 {
        let fast = result(dir.path(), &run(dir.path(), &args, ""), 1);
        let errors = fast["errors"].as_array().unwrap();
        assert!(errors.len() == 1 && errors[0]["code"] == "PLAN_003", "{errors:?}");
        assert_eq!(agents(&fast), ["manager", "scout", "analyst", "explorer", "planner"]);
    }
    let two = [&args[..], &["--agents", "planner,reviewer"]].concat();
    std::fs::write(dir.path().join("a.py"), UNSAFE).unwrap();
    let reviewed = result(dir.path(), &run(dir.path(), &two, ""), 1);
    assert_eq!(reviewed["summary"]["reviewCompleted"], json!(false), "nor does the reviewer begin");
}

fn octoswarm(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.args(args).current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1").output().unwrap()
}

/// The steps of the latest run with their flows, after it was replayed.
#[track_caller]
fn replayed(dir: &Path, code: i32) -> Vec<(String, Value)> {
    let (out, _) = exits(&octoswarm(dir, &["replay", "latest", "--state", ".octoswarm", "--json"]), code);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["same"], json!(code == 0), "{told:#}");
    let of = |step: &Value| {
        assert_eq!(step["other_maker"], json!(false), "{step:#}");
        (format!("{}/{}", step["flow"].as_str().unwrap(), step["name"].as_str().unwrap()), step["verdict"].clone())
    };
    told["steps"].as_array().unwrap().iter().map(of).collect()
}

#[track_caller]
fn replayed_the_same(dir: &Path) -> Vec<String> {
    let steps = replayed(dir, 0);
    assert!(steps.iter().all(|(_, verdict)| verdict == "same"), "{steps:?}");
    steps.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_run_is_replayed_from_the_plan_to_the_review() {
    let dir = shop();
    exits(&run(dir.path(), &[".", "-"], WISH), 0);
    let steps = replayed_the_same(dir.path());
    let made = ["manager", "scout", "analyst", "explorer", "planner", "coder", "tester", "docs", "pr"];
    let review = ["manager", "documentation", "debt", "improvement", "critical", "master"];
    let all = made.iter().map(|name| format!("run/{name}")).chain(review.iter().map(|name| format!("review/{name}")));
    assert_eq!(steps, all.collect::<Vec<_>>());
    let (text, _) = exits(&octoswarm(dir.path(), &["replay", "latest", "--state", ".octoswarm"]), 0);
    assert!(text.contains("review/manager") && text.ends_with("15 steps: 15 the same, 0 differ\n"), "{text}");
    assert_eq!(git(dir.path(), &["status", "--short"]), "", "nothing is kept");

    // The commit holds what the work tree held.
    git(dir.path(), &["apply", ".octoswarm/change.diff"]);
    git(dir.path(), &["commit", "-qam", "Lower"]);
    assert_eq!(replayed_the_same(dir.path()).len(), 15);

    let rows = dir.path().join(".octoswarm/octoswarm.db");
    let sql = "UPDATE step SET artifact = json_set(artifact, '$.findings', json('[]'), '$.outcome', 'x') WHERE name = 'master'";
    change(&rows, sql);
    let differing: Vec<String> =
        replayed(dir.path(), 1).into_iter().filter(|(_, verdict)| verdict != "same").map(|(name, _)| name).collect();
    assert_eq!(differing, ["review/master"]);
}

fn change(rows: &Path, sql: &'static str) {
    use sqlx::{ConnectOptions, Connection};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut conn = sqlx::sqlite::SqliteConnectOptions::new().filename(rows).connect().await.unwrap();
        assert!(sqlx::query(sql).execute(&mut conn).await.unwrap().rows_affected() > 0, "{sql}");
        conn.close().await.unwrap();
    });
}

#[test]
fn a_run_of_some_agents_on_a_work_tree_is_replayed_while_its_files_are_there() {
    let dir = shop();
    std::fs::write(dir.path().join("a.py"), UNSAFE).unwrap();
    let configs = r#"{"debt": {"enabled": false}, "critical": {"model": "m"}}"#;
    std::fs::write(dir.path().join(".git/configs.json"), configs).unwrap();
    let some = ["--agents", "coder,reviewer", "--agent-configs", ".git/configs.json"];
    exits(&run(dir.path(), &[&[".", WISH][..], &some].concat(), ""), 0);
    let steps = replayed_the_same(dir.path());
    assert!(steps.contains(&"run/pr".to_owned()) && steps.contains(&"review/master".to_owned()), "{steps:?}");
    for left_out in ["run/planner", "run/tester", "review/debt"] {
        assert!(!steps.contains(&left_out.to_owned()), "{steps:?}");
    }
    exits(&run(dir.path(), &[".", "--agents", "reviewer"], ""), 0);
    assert_eq!(replayed_the_same(dir.path()).len(), 6);

    // From elsewhere the path is named.
    let elsewhere = tempfile::tempdir().unwrap();
    let (state, path) = (dir.path().join(".octoswarm"), dir.path().to_str().unwrap());
    let named = ["replay", "latest", "--state", state.to_str().unwrap(), "--path", path];
    exits(&octoswarm(elsewhere.path(), &named), 0);

    std::fs::write(dir.path().join("a.py"), "X = 1\n").unwrap();
    let (_, err) = exits(&octoswarm(dir.path(), &["replay", "latest", "--state", ".octoswarm"]), 3);
    assert!(err.contains("are not those that it worked on any more") && err.contains("--path"), "{err}");
}

#[test]
fn odd_input_is_refused_before_anything_is_written() {
    let dir = shop();
    let (empty, bare) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    git(empty.path(), &["init", "-q"]);
    let (unborn, nowhere) = (empty.path().to_str().unwrap(), bare.path().to_str().unwrap());
    let cases: &[(&[&str], &str, &str)] = &[
        (&["."], "", "say what should be done"),
        (&[".", ""], "", "empty"),
        (&[".", "-"], " \n", "empty"),
        (&[".", "-"], "Add\0it", "NUL"),
        (&["elsewhere", WISH], "", "there is no `elsewhere`"),
        (&["CHANGELOG.md", WISH], "", "`CHANGELOG.md` is a file: name the repository"),
        (&[".", WISH, "--output-dir", "CHANGELOG.md/state"], "", "CHANGELOG.md is a file, where"),
        (&[nowhere, WISH], "", "repository"),
        (&[unborn, WISH], "", "no commit"),
        (&[".", WISH, "--agents", "tester,coder"], "", "the order is planner, coder, tester, reviewer"),
        (&[".", WISH, "--agents", "coder,plannr"], "", "did you mean `planner`"),
        (&[".", WISH, "--agents", "planner", "--apply"], "", "name `coder`"),
        (&[".", WISH, "--outside", "improvment"], "", "did you mean `improvement`"),
        (&[".", WISH, "--output-dir", "shop"], "", "holds `text.py`"),
        (&[".", WISH, "--output-dir", "shop/text.py"], "", "is a file"),
        (&[".", WISH, "--output-dir", ".git/state"], "", "git's own"),
        (&[".", WISH, "--message-dir", "tests"], "", "holds `test_text.py`"),
        (&[".", WISH, "--agent-configs", "nothing.json"], "", "nothing.json"),
        (&[".", "--frobnicate"], "", "frobnicate"),
    ];
    for (args, input, want) in cases {
        let (out, err) = exits(&run(dir.path(), args, input), 2);
        assert!(out.is_empty() && err.contains(want), "{args:?}: {err}");
    }
    let long = "Add a thing. ".repeat(100_000);
    exits(&run(dir.path(), &[".", "-"], &long), 2);
    assert_eq!(git(dir.path(), &["status", "--short", "--ignored"]), "", "nothing is left behind");
    let locked = dir.path().join("locked");
    std::fs::create_dir(&locked).unwrap();
    let mode = |mode| std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    mode(0o500);
    let may_all = std::fs::write(locked.join("probe"), "").is_ok();
    if may_all {
        eprintln!("NOT RUN: this user may write everywhere");
    } else {
        exits(&run(dir.path(), &[".", WISH, "--output-dir", "locked/state"], ""), 3);
    }
    mode(0o700);
}

#[tokio::test]
async fn the_repositorys_own_checks_run_over_the_change_where_that_is_wanted() {
    if !crate::trial::sandboxed().await {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    for (path, text) in [
        ("shop/text.py", TEXT),
        ("tests/test_text.py", TEST),
        (".github/octoswarm.yml", "commands: {lint: grep -q lower shop/text.py, test: exit 3}\n"),
    ] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    let (_, err) = exits(&run(dir.path(), &[".", "-", "--checks"], WISH), 0);
    assert!(err.contains("passed: `grep -q lower shop/text.py`") && err.contains("failed: `exit 3`"), "{err}");
    // What a program reads stays alone on standard output.
    let output = run(dir.path(), &[".", "-", "--checks", "--json"], WISH);
    result(dir.path(), &output, 0);
    assert!(String::from_utf8_lossy(&output.stderr).contains("passed: `grep -q lower"));
}
