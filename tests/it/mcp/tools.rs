//! What the tools do.

use std::collections::BTreeSet;

use octoswarm::domain::Clock;
use octoswarm::store::{NewRun, RunState, Store};
use serde_json::{Value, json};

use super::{Client, repository, text};
use crate::support::git;

fn tools(client: &mut Client) -> Vec<Value> {
    client.request("tools/list", json!({})).unwrap()["tools"].as_array().unwrap().clone()
}

#[test]
fn each_tool_says_what_it_takes_answers_and_may_do() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let tools = tools(&mut client);
    let reads: BTreeSet<&str> = tools
        .iter()
        .filter(|tool| tool["annotations"]["readOnlyHint"] == true)
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    for name in ["review_diff", "review_repository", "scan", "explain_rule", "plan_issue", "run_status"] {
        assert!(reads.contains(name), "{name}: {reads:?}");
    }
    for name in ["apply_fix", "cancel_run"] {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!(tool["annotations"]["destructiveHint"], true, "{tool}");
        assert_eq!(tool["annotations"]["readOnlyHint"], false, "{tool}");
    }
    for tool in &tools {
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{tool}");
            jsonschema::draft202012::new(&tool[schema]).unwrap();
        }
        assert!(tool["title"].is_string() && tool["description"].as_str().unwrap().len() > 40, "{tool}");
        for (name, property) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{}: {name} has no description", tool["name"]);
        }
    }
}

#[test]
fn what_a_tool_answers_has_the_form_that_it_promises() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let tools = tools(&mut client);
    for (name, arguments) in [
        ("scan", json!({})),
        ("review_diff", json!({})),
        ("review_repository", json!({ "parts": ["documentation", "debt", "improvement", "critical"] })),
        ("explain_rule", json!({ "rule": "eval-of-data" })),
        ("apply_fix", json!({ "rules": ["compare-to-none"], "dry_run": true })),
        (
            "plan_issue",
            json!({ "title": "Rename `new` in src/new.py to `fresh`", "body": "- [ ] `src/new.py` has a function `fresh`" }),
        ),
    ] {
        let answer = client.done(name, arguments);
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let schema = jsonschema::draft202012::new(&tool["outputSchema"]).unwrap();
        let faults: Vec<String> =
            schema.iter_errors(&answer).map(|error| format!("{} at {}", error, error.instance_path())).collect();
        assert!(faults.is_empty(), "{name}: {faults:?}\n{answer}");
    }
}

#[test]
fn a_scan_finds_what_is_there_by_pages_that_hold_everything_once() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let whole = client.done("scan", json!({}));
    assert_eq!((&whole["outcome"], &whole["total"]), (&json!("findings"), &json!(3)), "{whole}");
    let (mut paged, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = client.done("scan", json!({ "limit": 1, "cursor": cursor }));
        paged.extend(page["findings"].as_array().unwrap().clone());
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(Value::from(paged), whole["findings"]);
    // A finding has the same name wherever the scan began.
    let part = client.done("scan", json!({ "paths": ["src/new.py"] }));
    let known: BTreeSet<&str> =
        whole["findings"].as_array().unwrap().iter().filter_map(|finding| finding["fingerprint"].as_str()).collect();
    let named = part["findings"].as_array().unwrap();
    assert!(
        named.len() == 2 && named.iter().all(|finding| known.contains(finding["fingerprint"].as_str().unwrap())),
        "{part}"
    );
    assert!(client.refused("scan", json!({ "cursor": "later" })).contains("`later` is no cursor"));
}

#[test]
fn a_review_looks_at_what_changed_and_says_what_it_compared() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let review = client.done("review_diff", json!({}));
    assert_eq!(review["work_tree"], true);
    let paths: BTreeSet<&str> =
        review["findings"].as_array().unwrap().iter().filter_map(|finding| finding["path"].as_str()).collect();
    assert_eq!(paths, BTreeSet::from(["src/new.py"]), "{review}");
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "More"]);
    let review = client.done("review_diff", json!({ "base": "HEAD~1", "head": "HEAD" }));
    assert_eq!((&review["work_tree"], &review["total"]), (&json!(false), &json!(2)), "{review}");
    let clean = client.call("review_diff", json!({ "base": "HEAD", "head": "HEAD" }));
    assert!(text(&clean).starts_with("There is no difference"), "{clean}");
    let unknown = client.refused("review_diff", json!({ "base": "mian" }));
    assert!(unknown.contains("mian") && unknown.contains("main"), "{unknown}");
    for hostile in ["--output=/tmp/x", "-h", "main..HEAD", "HEAD\u{0}", "@{-1}"] {
        client.refused("review_diff", json!({ "base": hostile }));
    }
}

#[test]
fn a_fix_is_shown_first_then_made_and_not_made_twice() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let file = dir.path().join("src/new.py");
    let before = std::fs::read_to_string(&file).unwrap();
    let findings = client.done("scan", json!({}))["findings"].as_array().unwrap().clone();
    let fixable = findings.iter().find(|finding| finding.get("fix").is_some()).unwrap();
    let name = fixable["fingerprint"].clone();
    let dry = client.done("apply_fix", json!({ "fingerprints": [name], "dry_run": true }));
    assert_eq!((&dry["written"], dry["fixed"].as_array().unwrap().len()), (&json!(false), 1), "{dry}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "a dry run wrote");
    let done = client.done("apply_fix", json!({ "fingerprints": [name] }));
    assert_eq!((&done["written"], &done["diff"]), (&json!(true), &dry["diff"]));
    assert!(std::fs::read_to_string(&file).unwrap().contains("if text is None:"));
    let again = client.done("apply_fix", json!({ "fingerprints": [name] }));
    assert_eq!((&again["written"], &again["diff"]), (&json!(false), &json!("")));
    assert!(again["left"][0].as_str().unwrap().contains("is not there (any more)"), "{again}");
    // One without a fix, and one that nobody has ever seen.
    let eval = findings.iter().find(|finding| finding["rule"] == "eval-of-data").unwrap();
    let left = client.done("apply_fix", json!({ "fingerprints": [eval["fingerprint"], "0123456789abcdef01234567"] }));
    assert_eq!(left["left"].as_array().unwrap().len(), 2, "{left}");
    assert_eq!(left["written"], false);
}

#[test]
fn what_a_configuration_says_to_leave_alone_is_left_alone() {
    let dir = repository();
    std::fs::create_dir_all(dir.path().join(".github")).unwrap();
    std::fs::write(dir.path().join(".github/octoswarm.yml"), "ignore: [\"src/new.py\"]\n").unwrap();
    let mut client = Client::over(dir.path());
    let obeyed = client.done("apply_fix", json!({ "rules": ["compare-to-none"] }));
    assert_eq!((&obeyed["written"], obeyed["fixed"].as_array().unwrap().len()), (&json!(false), 0), "{obeyed}");
    let forced =
        client.done("apply_fix", json!({ "rules": ["compare-to-none"], "obey_config": false, "dry_run": true }));
    assert_eq!(forced["fixed"].as_array().unwrap().len(), 1, "{forced}");
}

#[test]
fn every_fault_of_the_arguments_is_told_at_once_and_nothing_is_done() {
    let dir = repository();
    let before = git(dir.path(), &["status", "--porcelain"]);
    let mut client = Client::over(dir.path());
    let said = client.refused("scan", json!({ "pahts": ["src"], "limit": "all", "obey_config": 1 }));
    for part in ["pahts", "limit", "obey_config"] {
        assert!(said.contains(part), "{said}");
    }
    let said = client.refused("apply_fix", json!({ "fingerprints": ["nope", 7], "rules": "x" }));
    for part in ["fingerprints[0]", "fingerprints[1]", "rules"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(client.refused("apply_fix", json!({})).contains("Nothing was named"));
    assert!(
        client.refused("apply_fix", json!({ "rules": ["compare-to-non"] })).contains("did you mean `compare-to-none`?")
    );
    assert!(client.refused("explain_rule", json!({})).contains("rule: is missing"));
    assert!(client.refused("plan_issue", json!({ "title": "   " })).contains("title is empty"));
    // What is left out may be written as null.
    assert_eq!(client.done("scan", json!({ "paths": null, "cursor": null }))["total"], 3);
    assert_eq!(git(dir.path(), &["status", "--porcelain"]), before);
}

#[test]
fn a_plan_has_tasks_or_questions() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let vague = client.done("plan_issue", json!({ "title": "Make it better" }));
    assert!(vague.get("plan").is_none() && !vague["questions"].as_array().unwrap().is_empty(), "{vague}");
    let arguments = json!({ "title": "Rename the function `new` in src/new.py to `fresh`", "body": "- [ ] `src/new.py` has a function `fresh`\n- [ ] nothing is called `new`" });
    let plan = client.done("plan_issue", arguments)["plan"].clone();
    assert!(plan["milestones"][0]["tasks"][0]["title"].is_string(), "{plan}");
}

#[tokio::test]
async fn runs_of_a_state_are_listed_shown_and_cancelled() {
    let dir = repository();
    let state = tempfile::tempdir().unwrap();
    let ids = {
        let store = Store::open(state.path(), Clock::system()).await.unwrap();
        let mut ids = Vec::new();
        for number in 1..=3 {
            let new = NewRun {
                kind: "review".into(),
                repository: None,
                repo: "acme/shop".parse().unwrap(),
                number: Some(octoswarm::domain::PullNumber(number)),
                head: None,
                job: None,
            };
            let run = store.start_run(new).await.unwrap();
            store.add_progress(run, "reading").await.unwrap();
            store.finish_run(run, RunState::Finished, Some(&json!({ "outcome": "clean" })), None).await.unwrap();
            let folder = state.path().join("runs").join(run.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("context.json"), "{\"a\": 1}").unwrap();
            ids.push(run.to_string());
        }
        ids
    };
    let told = state.path().to_str().unwrap().to_owned();
    let repository = dir.path().to_owned();
    tokio::task::spawn_blocking(move || {
        let mut client = Client::with(&repository, &["--state", &told]);
        let page = client.done("run_status", json!({ "limit": 2 }));
        assert_eq!((&page["runs"][0]["id"], &page["runs"][1]["id"]), (&json!(ids[2]), &json!(ids[1])), "{page}");
        let rest = client.done("run_status", json!({ "limit": 2, "cursor": page["next_cursor"] }));
        assert_eq!(rest["runs"][0]["id"], ids[0]);
        assert!(rest.get("next_cursor").is_none(), "{rest}");
        let one = client.done("run_status", json!({ "run": "latest" }))["run"].clone();
        assert_eq!(
            (&one["outcome"], &one["progress"], &one["documents"]),
            (&json!("clean"), &json!(["reading"]), &json!(["context.json"]))
        );
        let uri = format!("octoswarm://runs/{}/context.json", ids[2]);
        let read = client.request("resources/read", json!({ "uri": uri })).unwrap();
        assert_eq!(read["contents"][0]["text"], "{\"a\": 1}");
        for hostile in ["../octoswarm.db", "..%2f", ".", "context.json\u{0}", "nothing.json"] {
            let uri = format!("octoswarm://runs/{}/{hostile}", ids[2]);
            assert!(client.request("resources/read", json!({ "uri": uri })).is_err(), "{hostile}");
        }
        let over = client.done("cancel_run", json!({ "run": ids[0] }));
        assert_eq!(over["outcome"], "over", "{over}");
        assert!(client.refused("cancel_run", json!({ "run": "ffffffff" })).contains("ffffffff"));
        assert!(client.refused("run_status", json!({ "run": "../../x" })).contains("No run's id begins"));
    })
    .await
    .unwrap();
}

#[test]
fn s0_1_a_folder_below_the_roots_is_taken_reviewed_and_fetched() {
    let dir = repository();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("passwd.py")).unwrap();
    let mut client = Client::over(dir.path());
    let uploaded = client.done("upload_codebase", json!({ "path": "src" }));
    assert_eq!(uploaded["status"], "uploaded");
    // What is taken is as it was then.
    std::fs::write(dir.path().join("src/new.py"), "").unwrap();
    let review = client.done("trigger_review", json!({ "id": uploaded["id"] }));
    let done = client.done("get_results", json!({ "id": review["id"], "wait_seconds": 60 }));
    assert_eq!(done["status"], "review_done");
    let files: BTreeSet<&str> =
        done["results"]["critical"].as_array().unwrap().iter().filter_map(|item| item["file"].as_str()).collect();
    assert_eq!(files, BTreeSet::from(["new.py", "old.py"]), "{done}");
    client.refused("upload_codebase", json!({ "path": "../.." }));
    client.refused("upload_codebase", json!({ "path": "passwd.py" }));
}
