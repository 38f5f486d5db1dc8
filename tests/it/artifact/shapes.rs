//! The shape of each document, field by field, as the contracts have it.

use serde_json::{Value, json};

use super::{accepted, drop_field, errors, full, refused};

/// Fields that a contract marks with a question mark or gives a default, by how the path to them ends. Of some documents all
/// fields are.
pub fn is_optional(form: &str, pointer: &str) -> bool {
    let ends: &[&str] = &[
        // Project and its snapshot.
        "/project/description",
        "/model/description",
        "/frameworks",
        "/goals",
        // Plan and task.
        "/clarifications",
        "/effortBreakdown",
        "/targetModule",
        "/suggestedApproach",
        "/technicalNotes",
        "/riskFactors",
        // Code and tests.
        "/estimatedCoverage",
        "/lintingIssues/0/suggestion",
        "/tokenUsed",
        "/metadata/model",
        "/metadata/temperature",
        "/testFiles/0/coverage",
        "/byModule",
        "/estimatedDurationMs",
        "/requiredSetup",
        "/knownLimitations",
        // Reviews.
        "/location/line",
        "/location/column",
        "/location/snippet",
        "/exampleImprovement",
        "/references",
        "/estimatedFixTime",
        // What goes into an agent and comes out of it.
        "/userInput",
        "/config",
        "/useCache",
        "/force",
        "/facts",
        "/tokenUsage",
        "/metadata/errors",
        "/metadata/warnings",
        "/cacheHit",
        "/cacheKey",
        "/contextPath",
        "/iterations",
        "/askedClarifications",
        "/filesGenerated",
        "/metadata/totalLOC",
        "/analysis/totalLOC",
        "/syntaxErrors",
        "/metadata/lintingIssues",
        "/testsExecuted",
        "/executionResults",
        "/coverageAchieved",
        "/findingsCount",
        "/metadata/bySeverity",
        "/metadata/readiness",
        "/promptVersion",
        "/field",
        "/issues/0/suggestion",
        "/recoverable",
        "/totalTestLOC",
        "/outputs/plan",
        "/outputs/code",
        "/outputs/tests",
        "/outputs/review",
        // The swarm's and the review server's.
        "/line_numbers",
        "/content_preview",
        "/repo_url",
        "/reference",
    ];
    let whole = match form {
        "test-suite" if pointer == "/coverage" => true,
        "plan" | "task" | "agent-input" | "agent-output" | "pipeline-result" if pointer.ends_with("/blockers") => true,
        "project" => pointer == "/description",
        "project-context" => pointer == "/model",
        "plan" => pointer == "/projectContext",
        "agent-input" => pointer == "/plan/projectContext",
        "pipeline-result" => pointer == "/summary/totalLOC",
        "review-request" => pointer == "/params",
        "review-aggregate" => pointer == "/errors",
        "agent-config" | "pipeline-options" => true,
        "create-proposal" => {
            pointer.starts_with("/impact/")
                && !["/scope", "/affected_files", "/0/id"].iter().any(|end| pointer.ends_with(end))
        }
        "create-spec" => {
            ["/priority", "/given", "/flow_diagram", "/data_model"].iter().any(|end| pointer.ends_with(end))
        }
        "create-tasks" => pointer.ends_with("/spec_ref") || pointer.ends_with("/depends"),
        "create-review" => {
            let free = ["/issues", "/test_results", "/category", "/file", "/line", "/recommendation"];
            free.iter().any(|end| pointer.ends_with(end))
        }
        // What was found out before a failure stays beside it; the rest of the frame does not.
        _ => false,
    };
    // The larger model counts its lines in a field of that name, and there it is not the coder's.
    let model = matches!(form, "project" | "project-context") && pointer.ends_with("/metadata/totalLOC");
    let nested_plan = pointer.ends_with("/result/projectContext");
    whole || nested_plan || !model && ends.iter().any(|end| pointer.ends_with(end))
}

#[test]
fn s1_5_an_input_has_its_context_plan_task_and_history() {
    accepted("agent-input", |input| input["plan"] = Value::Null);
    accepted("agent-input", |input| input["task"] = Value::Null);
    accepted("agent-input", |input| input["history"] = json!([]));
    refused("agent-input", |input| drop_field(input, "/history"), &["history: is missing"]);
    refused(
        "agent-input",
        |input| input["task"]["estimatedEffort"] = json!("long"),
        &["task.estimatedEffort: is `long`, expected a number"],
    );
    refused("agent-input", |input| input["useCache"] = json!("yes"), &["useCache: is `yes`, expected true or false"]);
}

#[test]
fn s1_6_an_output_carries_a_document_of_its_kind() {
    for name in [
        "project-context",
        "plan",
        "code-generation",
        "test-suite",
        "code-review",
        "current-issue",
        "issue-analysis",
        "codebase-map",
        "code-changes",
        "test-changes",
        "docs-changes",
        "pr-created",
        "review-activity",
        "review-aggregate",
        "documentation-map",
        "debt",
        "improvement",
        "critical",
    ] {
        accepted("agent-output", |output| output["result"] = full(name));
    }
    refused(
        "agent-output",
        |output| output["status"] = json!("done"),
        &["status: is `done`, expected `success`, `partial` or `failed`"],
    );
    refused(
        "agent-output",
        |output| output["result"] = json!("a review"),
        &["result: is `a review`, expected an object, a list or null"],
    );
    refused(
        "agent-output",
        |output| output["result"] = Value::Null,
        &["result: is null, expected a document: `status` is `partial`"],
    );
    refused(
        "agent-output",
        |output| {
            output["result"] = full("plan");
            output["result"]["milestones"][0]["tasks"][1]["status"] = json!("open");
        },
        &[
            "result.milestones[0].tasks[1].status: is `open`, expected `planned`, `in-progress`, `blocked`, `completed` or \
           `deferred`",
        ],
    );
    refused(
        "agent-output",
        |output| {
            output["result"] = full("code-changes");
            output["result"]["summary"]["total_additions"] = json!(9);
        },
        &["result.summary.total_additions: is 9, expected 1: the sum over the changes"],
    );
}

#[test]
fn s1_7_metadata_tells_how_it_went() {
    accepted("agent-output", |output| output["metadata"] = json!({ "durationMs": 0 }));
    refused("agent-output", |output| drop_field(output, "/metadata/durationMs"), &["metadata.durationMs: is missing"]);
    refused(
        "agent-output",
        |output| drop_field(output, "/metadata/tokenUsage/total"),
        &["metadata.tokenUsage.total: is missing"],
    );
    refused(
        "agent-output",
        |output| output["metadata"]["durationMs"] = json!(-1),
        &["metadata.durationMs: is -1, expected at least 0"],
    );
}

#[test]
fn s1_11_to_s1_15_each_kind_of_agent_adds_its_own_metadata() {
    for (field, value) in [
        ("contextPath", json!(1)),
        ("iterations", json!("twice")),
        ("askedClarifications", json!("no")),
        ("filesGenerated", json!(-1)),
        ("testsExecuted", json!(1)),
        ("executionResults", json!({ "passed": 1, "failed": 0 })),
        ("coverageAchieved", json!(101)),
        ("bySeverity", json!({ "critical": 1, "major": 0, "minor": 0 })),
        ("readiness", json!("ready")),
    ] {
        let mut output = full("agent-output");
        output["metadata"][field] = value;
        let told = errors("agent-output", &output);
        assert!(told.len() == 1 && told[0].starts_with(&format!("metadata.{field}")), "{told:?}");
    }
}

#[test]
fn s1_8_a_verdict_has_a_score_from_0_to_100() {
    for score in [0, 100] {
        accepted("validation-result", |verdict| verdict["qualityScore"] = json!(score));
    }
    refused(
        "validation-result",
        |verdict| verdict["qualityScore"] = json!(101),
        &["qualityScore: is 101, expected at most 100"],
    );
    refused(
        "validation-result",
        |verdict| verdict["isValid"] = json!(true),
        &["isValid: is true, but issues of severity `error` are 1"],
    );
}

#[test]
fn s1_9_an_issue_is_an_error_or_a_warning() {
    refused(
        "validation-result",
        |verdict| {
            verdict["issues"][0]["severity"] = json!("errors");
            verdict["isValid"] = json!(true);
        },
        &["issues[0].severity: is `errors`, expected `error` or `warning`; did you mean `error`?"],
    );
    accepted("validation-result", |verdict| {
        verdict["issues"] = json!([{ "severity": "warning", "message": "is long" }]);
        verdict["isValid"] = json!(true);
    });
}

#[test]
fn s1_10_an_error_has_message_code_and_agent_and_is_not_recoverable_unless_it_says_so() {
    accepted("agent-error", |error| drop_field(error, "/recoverable"));
    for field in ["message", "code", "agentName"] {
        refused("agent-error", |error| drop_field(error, &format!("/{field}")), &[&format!("{field}: is missing")]);
    }
    let error: octoswarm::artifact::AgentError =
        serde_json::from_value(json!({ "message": "m", "code": "ERR_001", "agentName": "coder" })).unwrap();
    assert!(!error.recoverable);
}

#[test]
fn s1_18_a_pipeline_takes_the_four_agents_that_can_be_chosen() {
    accepted("pipeline-options", |options| *options = json!({}));
    accepted("pipeline-options", |options| options["agents"] = json!(["reviewer", "planner"]));
    refused(
        "pipeline-options",
        |options| options["agents"][1] = json!("manager"),
        &["agents[1]: is `manager`, expected `planner`, `coder`, `tester` or `reviewer`"],
    );
    refused(
        "pipeline-options",
        |options| options["agentConfigs"]["coder"]["timeout"] = json!("10m"),
        &["agentConfigs.coder.timeout: is `10m`, expected a whole number"],
    );
}

#[test]
fn s1_19_an_agents_settings_are_all_optional() {
    accepted("agent-config", |config| *config = json!({}));
    refused("agent-config", |config| config["timeout"] = json!(0), &["timeout: is 0, expected at least 1"]);
    refused("agent-config", |config| config["retries"] = json!(0.5), &["retries: is 0.5, expected a whole number"]);
    refused("agent-config", |config| config["temperature"] = json!(3), &["temperature: is 3, expected at most 2"]);
    refused("agent-config", |config| config["enabled"] = json!("on"), &["enabled: is `on`, expected true or false"]);
}

#[test]
fn s1_20_a_result_has_a_summary_errors_and_paths() {
    accepted("pipeline-result", |result| result["outputs"] = json!({}));
    accepted("pipeline-result", |result| drop_field(result, "/summary/totalTestLOC"));
    for field in ["planGenerated", "codeGenerated", "testsGenerated", "reviewCompleted"] {
        let want = format!("summary.{field}: is missing");
        refused("pipeline-result", |result| drop_field(result, &format!("/summary/{field}")), &[&want]);
    }
    refused(
        "pipeline-result",
        |result| result["results"][1]["result"]["summary"]["totalFindings"] = json!(3),
        &["results[1].result.summary.totalFindings: is 3, expected 2: as many as there are findings"],
    );
}

#[test]
fn s0_10_to_s0_12_items_have_the_fields_of_their_kind() {
    for (name, text, other) in
        [("debt", "suggestion", "critical"), ("improvement", "suggestion", "debt"), ("critical", "remediation", "debt")]
    {
        refused(name, |items| drop_field(items, &format!("/0/{text}")), &[&format!("[0].{text}: is missing")]);
        let want = format!("[0].type: is `{other}`, expected `{name}`");
        refused(name, |items| items[0]["type"] = json!(other), &[&want]);
        accepted(name, |items| drop_field(items, "/0/reference"));
        accepted(name, |items| *items = json!([]));
        refused(name, |items| items[0]["line"] = json!(0), &["[0].line: is 0, expected at least 1"]);
        refused(name, |items| items[0]["line"] = json!(-3), &["[0].line: is -3, expected at least 1"]);
        refused(name, |items| items[0]["file"] = json!(""), &["[0].file: is empty, expected a text"]);
    }
    refused(
        "critical",
        |items| items[0]["severity"] = json!("medium"),
        &["[0].severity: is `medium`, expected `high`"],
    );
    refused(
        "debt",
        |items| items[0]["severity"] = json!("critical"),
        &["[0].severity: is `critical`, expected `low`, `medium` or `high`"],
    );
}

#[test]
fn s0_1_to_s0_9_inputs_and_the_aggregate_have_their_parts() {
    accepted("review-request", |request| *request = json!({ "id": "cb_1" }));
    refused("review-request", |request| drop_field(request, "/id"), &["id: is missing"]);
    for part in ["documentation", "debt", "improvement", "critical"] {
        refused("review-aggregate", |all| drop_field(all, &format!("/{part}")), &[&format!("{part}: is missing")]);
    }
    accepted("review-aggregate", |all| drop_field(all, "/errors"));
    refused(
        "review-aggregate",
        |all| all["critical"][0]["severity"] = json!("low"),
        &["critical[0].severity: is `low`, expected `high`"],
    );
    refused("documentation-input", |input| drop_field(input, "/codebase/files"), &["codebase.files: is missing"]);
    refused("checklist-input", |input| drop_field(input, "/checklist"), &["checklist: is missing"]);
    refused("documentation-map", |map| map["README.md"] = json!(7), &["[\"README.md\"]: is 7, expected a text"]);
    refused(
        "documentation-map",
        |map| map["../x.md"] = json!("x"),
        &["[\"../x.md\"]: is `../x.md`, expected a path relative to the root, without `..`"],
    );
}

#[test]
fn s2_20_to_s2_23_every_document_says_who_wrote_it_when_and_how_it_ended() {
    for (at, name) in [
        "current-issue",
        "issue-analysis",
        "codebase-map",
        "code-changes",
        "test-changes",
        "docs-changes",
        "pr-created",
        "review-activity",
    ]
    .into_iter()
    .enumerate()
    {
        for field in ["agent", "timestamp", "status"] {
            let mut document = full(name);
            drop_field(&mut document, &format!("/{field}"));
            let told = errors(name, &document);
            assert!(told.contains(&format!("{field}: is missing")), "{name}: {told:?}");
        }
        let agent = full(name)["agent"].as_str().unwrap().to_owned();
        assert!(agent.starts_with(&format!("agent-{}-", at + 1)), "{agent}");
        let want = format!("agent: is `agent-9-nobody`, expected `{agent}`");
        refused(name, |document| document["agent"] = json!("agent-9-nobody"), &[&want]);
        refused(
            name,
            |document| document["timestamp"] = json!("2026-02-30T10:00:00Z"),
            &["timestamp: is `2026-02-30T10:00:00Z`, expected a time such as `2026-11-21T10:15:35Z`"],
        );
        let mut document = full(name);
        document["status"] = json!("done");
        let told = errors(name, &document);
        assert!(told.iter().any(|fault| fault.starts_with("status: is `done`, expected")), "{name}: {told:?}");
    }
}

#[test]
fn s2_22_times_are_instants() {
    for time in
        ["2026-11-21T10:15:35Z", "2026-11-21T10:15:35.123456Z", "2026-11-21T10:15:35+02:00", "2028-02-29T00:00:00Z"]
    {
        accepted("swarm-status", |status| status["started_at"] = json!(time));
    }
    for time in [
        "",
        "today",
        "2026-11-21",
        "2026-11-21 10:15:35Z",
        "2026-13-01T00:00:00Z",
        "2026-11-21T25:00:00Z",
        "1795280796",
    ] {
        let want = format!("started_at: is `{time}`, expected a time such as `2026-11-21T10:15:35Z`");
        refused("swarm-status", |status| status["started_at"] = json!(time), &[&want]);
    }
}

#[test]
fn s2_25_and_s2_26_a_failed_document_needs_its_errors_and_nothing_else() {
    let failed = |errors: Value| json!({ "agent": "agent-4-coder", "timestamp": "2026-11-21T10:15:35Z", "status": "failed", "errors": errors });
    let error = json!({ "code": "CODE_001", "message": "m", "agentName": "agent-4-coder", "recoverable": true });
    assert_eq!(errors("code-changes", &failed(json!([error]))), [""; 0]);
    let mut partial = failed(json!([error]));
    partial["branch"] = Value::Null;
    partial["summary"] = json!({ "total_files_changed": "unknown" });
    assert_eq!(errors("code-changes", &partial), [""; 0], "what was found out before may stand there");
    let mut silent = failed(json!([]));
    drop_field(&mut silent, "/errors");
    assert_eq!(errors("code-changes", &silent), ["errors: is missing"]);
    assert_eq!(errors("code-changes", &failed(json!("it broke"))), ["errors: is `it broke`, expected a list"]);
    assert_eq!(
        errors("code-changes", &failed(json!([{ "code": "X", "message": "m" }]))),
        ["errors[0].agentName: is missing"]
    );
    // A document that did not fail is not excused by errors.
    let mut completed = failed(json!([error]));
    completed["status"] = json!("completed");
    assert!(errors("code-changes", &completed).contains(&"branch: is missing".to_owned()));
}

#[test]
fn s2_18_reviews_are_monitored_until_there_is_an_outcome() {
    let path = super::folder("fixtures/artifacts/review-activity/monitoring.json");
    let mut watching: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(errors("review-activity", &watching), [""; 0]);
    watching["status"] = json!("completed");
    assert_eq!(errors("review-activity", &watching), ["final_outcome: is null, expected an object"]);
    refused(
        "review-activity",
        |document| document["status"] = json!("monitoring"),
        &["final_outcome: is an object, expected null"],
    );
    accepted("review-activity", |document| document["final_outcome"]["merged_by"] = Value::Null);
    refused(
        "code-changes",
        |document| document["status"] = json!("monitoring"),
        &["status: is `monitoring`, expected `completed` or `failed`"],
    );
}

#[test]
fn s2_19_a_status_names_the_eight_agents() {
    accepted("swarm-status", |status| status["agents"] = json!({}));
    refused(
        "swarm-status",
        |status| {
            status["agents"]["scout"] = json!({ "status": "idle", "last_run": null });
        },
        &[
            "agents.scout: is no key that is known, expected `1-scout`, `2-analyst`, `3-explorer`, `4-coder`, `5-tester`, \
           `6-docs`, `7-pr` or `8-reviews`",
        ],
    );
    refused(
        "swarm-status",
        |status| status["agents"]["1-scout"]["last_run"] = json!(1_700_000_000),
        &["agents[\"1-scout\"].last_run: is 1700000000, expected null or a text"],
    );
    refused(
        "swarm-status",
        |status| status["current_phase"] = json!("coding"),
        &["current_phase: is `coding`, expected `idle`, `discovery`, `analysis`, `exploration`, `development`, \
           `pr_creation` or `review_monitoring`"],
    );
    refused("swarm-status", |status| drop_field(status, "/current_pr"), &["current_pr: is missing"]);
}
