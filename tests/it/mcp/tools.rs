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
fn the_page_names_every_tool_and_no_other() {
    let dir = repository();
    let listed: BTreeSet<String> = tools(&mut Client::over(dir.path()))
        .iter()
        .filter_map(|tool| Some(tool["name"].as_str()?.to_owned()))
        .collect();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/mcp.md")).unwrap();
    let table = page.split("\n## ").find(|section| section.starts_with("Tools\n")).unwrap();
    let named =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name.to_owned());
    assert_eq!(named.collect::<BTreeSet<String>>(), listed);
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
fn a_codebase_is_reviewed_in_the_parts_that_are_asked_for_and_no_longer_than_that() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let whole = client.done("review_repository", json!({}));
    assert_eq!(whole["aggregate"]["critical"].as_array().unwrap().len(), 2, "{whole}");
    assert_eq!(whole["aggregate"]["documentation"], json!({}), "it was not asked for");
    let part = client.done("review_repository", json!({ "parts": ["critical", "documentation"], "limit": 1 }));
    assert_eq!((part["aggregate"]["critical"].as_array().unwrap().len(), &part["total"]["critical"]), (1, &json!(2)));
    assert_eq!(part["aggregate"]["improvement"], json!([]));
    assert!(part["aggregate"]["documentation"]["README.md"].is_string(), "{part}");
    assert!(client.refused("review_repository", json!({ "path": "src/old.py" })).contains("is a file"));
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

fn proposal(id: &str) -> Value {
    json!({
        "change_id": id,
        "summary": "Review findings are structured and kept as a document.",
        "why": "Reviewers write free text today, which no tool can read, count or follow up on.",
        "what_changes": ["A tool writes REVIEW.md from findings"],
        "impact": {
            "scope": "minor",
            "affected_files": 2,
            "new_files": 1,
            "affected_specs": [{ "id": "review-tool", "depends": [] }],
            "affected_code": ["src/review.rs"],
        },
    })
}

fn spec(id: &str) -> Value {
    json!({
        "change_id": id,
        "spec_id": "review-tool",
        "title": "Review tool",
        "overview": "A tool takes the findings of a review and writes them down by severity, with a verdict.",
        "requirements": [{ "id": "R1", "title": "Verdict", "description": "The review has one verdict.", "priority": "high" }],
        "scenarios": [{ "name": "A review is written", "when": "the tool is called", "then": "REVIEW.md is there" }],
    })
}

fn tasks(id: &str) -> Value {
    json!({
        "change_id": id,
        "tasks": [{
            "layer": "logic", "number": 1, "title": "Write the review",
            "file": { "path": "src/review.rs", "action": "CREATE" },
            "spec_ref": "review-tool", "description": "Takes the findings and writes the document.", "depends": [],
        }],
    })
}

fn review(id: &str, verdict: &str) -> Value {
    json!({
        "change_id": id,
        "verdict": verdict,
        "summary": "The document is written, and one case is open.",
        "issues": [
            { "title": "No test", "severity": "Medium", "description": "Nothing covers an empty list." },
            { "title": "Lost update", "severity": "High", "description": "Two calls at once lose one." },
        ],
    })
}

#[test]
fn s4_1_s4_6_s4_8_a_review_is_written_with_its_verdict_and_its_issues_by_severity() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    client.done("create_proposal", proposal("fix-workflow-bugs"));
    let made = client.done("create_review", review("fix-workflow-bugs", "NEEDS_FIX"));
    assert_eq!(made["path"], "agentd/changes/fix-workflow-bugs/REVIEW.md", "{made}");
    let text = std::fs::read_to_string(dir.path().join("agentd/changes/fix-workflow-bugs/REVIEW.md")).unwrap();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no `{part}`:\n{text}"));
    assert!(at("\n## Verdict\n") < at("\n## Issues\n") && at("\n### High\n") < at("\n### Medium\n"), "{text}");
    assert!(text.contains("\nNEEDS_FIX\n") && !text.contains("### Low"), "{text}");
    // A verdict that is no better than one of its issues is taken, with a word about it.
    let approved = client.done("create_review", review("fix-workflow-bugs", "APPROVED"));
    assert!(!approved["warnings"].as_array().unwrap().is_empty(), "{approved}");
}

#[test]
fn s4_2_s4_7_s4_9_the_tasks_of_a_change_bear_its_id_twice() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    client.done("create_proposal", proposal("fix-workflow-bugs"));
    client.done("create_spec", spec("fix-workflow-bugs"));
    let made = client.done("create_tasks", tasks("fix-workflow-bugs"));
    assert_eq!(made["path"], "agentd/changes/fix-workflow-bugs/tasks.md");
    let text = std::fs::read_to_string(dir.path().join("agentd/changes/fix-workflow-bugs/tasks.md")).unwrap();
    let front = text.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n")).unwrap().0;
    for line in ["id: fix-workflow-bugs", "change_id: fix-workflow-bugs"] {
        assert!(front.lines().any(|has| has == line), "no `{line}`:\n{front}");
    }
    let read = client.done("read_change", json!({ "change_id": "fix-workflow-bugs" }));
    let names: Vec<&str> =
        read["documents"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["proposal.md", "specs/review-tool.md", "tasks.md"], "{read}");
    let one = client.done("read_change", json!({ "change_id": "fix-workflow-bugs", "documents": ["tasks.md"] }));
    assert_eq!(
        (&one["documents"][0]["markdown"], &one["left_out"]),
        (&json!(text), &json!(["proposal.md", "specs/review-tool.md"]))
    );
    let listed = client.done("list_changes", json!({}));
    assert_eq!((&listed["total"], &listed["changes"][0]["id"]), (&json!(1), &json!("fix-workflow-bugs")));
    assert!(client.refused("read_change", json!({ "change_id": "../../etc" })).contains("create_proposal"));
}

#[test]
fn s4_3_s4_7_a_tool_that_is_called_out_of_turn_says_which_comes_first_and_writes_nothing() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    for (tool, arguments) in [
        ("create_spec", spec("later")),
        ("create_tasks", tasks("later")),
        ("create_review", review("later", "APPROVED")),
    ] {
        let said = client.refused(tool, arguments);
        assert!(said.contains("create_proposal"), "{tool}: {said}");
    }
    assert!(!dir.path().join("agentd/changes/later").exists());
    client.done("create_proposal", proposal("later"));
    let said = client.refused("create_tasks", tasks("later"));
    assert!(said.contains("create_spec") && said.contains("review-tool"), "{said}");
    assert!(!dir.path().join("agentd/changes/later/tasks.md").exists());
}

#[test]
fn s4_4_s4_10_everything_is_judged_before_a_file_is_touched_and_every_fault_has_its_path() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let mut wrong = proposal("Fix It");
    wrong["why"] = "because".into();
    wrong["impact"]["scope"] = "huge".into();
    let said = client.refused("create_proposal", wrong);
    for part in ["change_id", "why", "impact.scope"] {
        assert!(said.contains(part), "no {part}: {said}");
    }
    assert!(!dir.path().join("agentd").exists(), "an invalid call made a folder");
    client.done("create_proposal", proposal("fix-it"));
    // 49 characters are too few, 50 are enough.
    let mut short = spec("fix-it");
    short["overview"] = "é".repeat(49).into();
    let said = client.refused("create_spec", short.clone());
    assert!(said.contains("overview") && said.contains("50"), "{said}");
    assert!(!dir.path().join("agentd/changes/fix-it/specs/review-tool.md").exists());
    short["overview"] = "é".repeat(50).into();
    client.done("create_spec", short);
    let mut away = tasks("fix-it");
    away["tasks"][0]["file"]["path"] = "../../etc/passwd".into();
    let said = client.refused("create_tasks", away);
    assert!(said.contains("tasks[0].file.path"), "{said}");
    for hostile in ["../x", "a/b", "-x", "a\u{0}", "A", "", "x--y"] {
        client.refused("create_proposal", proposal(hostile));
    }
}

#[test]
fn what_was_taken_in_goes_with_the_process_however_it_is_told_to_stop() {
    let dir = repository();
    let left = |temporary: &std::path::Path| std::fs::read_dir(temporary).unwrap().count();
    for signal in ["TERM", "INT", "EOF"] {
        let temporary = tempfile::tempdir().unwrap();
        let mut client = Client::within(dir.path(), temporary.path());
        client.done("upload_codebase", json!({ "path": "src" }));
        assert_eq!(left(temporary.path()), 1, "{signal}");
        if signal == "EOF" {
            client.end();
        } else {
            let pid = client.child.id().to_string();
            assert!(std::process::Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
            client.child.wait().unwrap();
        }
        assert_eq!(left(temporary.path()), 0, "{signal}");
    }
}
