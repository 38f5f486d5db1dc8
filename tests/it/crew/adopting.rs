//! Programs in the place of our agents: what they are given, what their answers come to, and what is refused.

use octoswarm::agent::{Error, Pack, Registry, Reviewing};
use octoswarm::artifact::ReviewFacts;
use octoswarm::artifact::exchange::{AgentOutput, OutputMetadata, OutputStatus};
use octoswarm::artifact::facts::ReviewSettings;
use octoswarm::domain::Severity;

use std::sync::Arc;

use super::*;
use crate::support::agents::given;

const AT: &str = "2026-11-21T10:00:00Z";

fn answer(role: Role, result: Value) -> AgentOutput {
    AgentOutput {
        agent_name: role.name().to_owned(),
        timestamp: AT.to_owned(),
        status: OutputStatus::Success,
        result,
        metadata: OutputMetadata::default(),
    }
}

/// What the answer of a program comes to, once it passed the agent's own validation.
async fn adopted(role: Role, cx: &Context, input: Value, result: Value) -> Result<AgentOutput, Error> {
    let agent = Registry::builtin().get(role).clone();
    let output = agent.adopt(cx, &given(input), answer(role, result)).await?;
    let verdict = agent.validate(cx, &output).await;
    assert!(verdict.is_valid, "{verdict:?}");
    Ok(output)
}

fn generation(path: &str, content: &str) -> Value {
    json!({
        "taskId": "ISSUE-7", "language": "Python", "timestamp": AT,
        "generatedFiles": [{
            "path": path, "content": content, "language": "Python", "purpose": "implementation",
            "dependencies": { "internal": [], "external": [] }
        }],
        "summary": { "totalLOC": 2, "filesCreated": 0, "filesModified": 1, "newDependencies": [] },
        "quality": { "syntaxValid": true, "lintingIssues": [], "suggestedImprovements": [] },
        "metadata": { "generationDurationMs": 5, "confidence": 0.7 }
    })
}

async fn bench() -> (Bench, Value) {
    let bench = Bench::new(&[("cart.py", "def total(items):\n    return 0\n")]).await;
    let bench = bench.issue("total() is always 0", "`total` in `cart.py` should add the prices up.");
    let mut input = json!({ "facts": bench.facts });
    for (name, document) in bench.documents().await {
        input[name] = document;
    }
    (bench, input)
}

#[tokio::test]
async fn s1_13_whole_files_of_another_coder_become_diffs_and_come_back_the_same() {
    let (bench, input) = bench().await;
    let cx = bench.context();
    let text = "def total(items):\n    return sum(item.price for item in items)\n";
    let output = adopted(Role::Coder, &cx, input.clone(), generation("cart.py", text)).await.unwrap();
    let change = &output.result["changes"][0];
    assert_eq!((change["action"].as_str(), change["lines_changed"]["added"].as_u64()), (Some("modified"), Some(1)));
    assert!(change["diff"].as_str().unwrap().contains("+    return sum("), "{change:#}");
    assert_eq!(output.result["branch"], input["explorer"]["repository"]["branch"]);
    let told = Registry::builtin().get(Role::Coder).present(&cx, &given(input), &output).await.unwrap();
    assert_eq!((&told["taskId"], &told["generatedFiles"][0]["content"]), (&json!("ISSUE-7"), &json!(text)));
    assert_eq!(told["summary"]["filesModified"], 1);
    assert_eq!(octoswarm::artifact::check("code-generation", &told), Some(Vec::new()), "{told:#}");
}

#[tokio::test]
async fn s1_22_code_that_does_not_parse_by_its_own_word_is_code_001_and_may_be_tried_again() {
    let (bench, input) = bench().await;
    let mut made = generation("cart.py", "def total(:\n");
    made["quality"]["syntaxValid"] = false.into();
    let error = adopted(Role::Coder, &bench.context(), input, made).await.unwrap_err().report(Role::Coder);
    assert_eq!((error.code.as_str(), error.recoverable), ("CODE_001", true));
}

#[tokio::test]
async fn a_generation_that_leads_outside_or_lacks_a_field_is_refused_with_its_place() {
    let (bench, input) = bench().await;
    let cx = bench.context();
    for path in ["../cart.py", "/etc/passwd", ""] {
        let error = adopted(Role::Coder, &cx, input.clone(), generation(path, "x = 1\n")).await.unwrap_err();
        assert!(error.to_string().contains("generatedFiles[0].path"), "{path}: {error}");
    }
    let mut made = generation("cart.py", "x = 1\n");
    made.as_object_mut().unwrap().remove("quality");
    let error = adopted(Role::Coder, &cx, input.clone(), made).await.unwrap_err();
    assert!(error.to_string().contains("quality"), "{error}");
    assert_eq!(error.report(Role::Coder).code, "ERR_002");
    // What changes nothing is nothing to commit, and says so.
    let same = generation("cart.py", "def total(items):\n    return 0\n");
    let output = adopted(Role::Coder, &cx, input, same).await.unwrap();
    assert_eq!(output.result["commit_ready"], false);
}

#[tokio::test]
async fn s1_14_test_files_of_another_tester_become_edits_beside_the_change() {
    let (bench, mut input) = bench().await;
    let cx = bench.context();
    let coder = adopted(Role::Coder, &cx, input.clone(), generation("cart.py", "def total(items):\n    return 1\n"));
    input["coder"] = coder.await.unwrap().result;
    let suite = json!({
        "taskId": "ISSUE-7", "language": "Python", "testFramework": "pytest", "timestamp": AT,
        "testFiles": [{
            "path": "tests/test_cart.py", "content": "from cart import total\n\n\ndef test_total():\n    assert total([]) == 1\n",
            "testCount": 1, "testNames": ["test_total"],
            "categories": { "unitTests": 1, "integrationTests": 0, "edgeCaseTests": 0, "errorPathTests": 0 }
        }],
        "summary": { "totalTests": 1, "passingTests": 0, "failingTests": 0, "skippedTests": 0 },
        "metadata": { "generationDurationMs": 3 }
    });
    let output = adopted(Role::Tester, &cx, input.clone(), suite.clone()).await.unwrap();
    assert_eq!(output.result["edits"][0]["file"], "tests/test_cart.py");
    assert_eq!(output.result["document"]["summary"]["tests_added"], 1);
    assert_eq!(output.result["document"]["validation"]["new_tests_pass"], false, "nobody ran it here");
    let told = Registry::builtin().get(Role::Tester).present(&cx, &given(input), &output).await.unwrap();
    assert_eq!(told, suite);
}

/// A change of one file, as a review sees it.
async fn review() -> (Bench, Context, Value) {
    let bench = Bench::new(&[("a.py", "x = 1\ny = 2\n")]).await;
    git(bench.tree_dir(), &["checkout", "-q", "-b", "topic"]);
    fs::write(bench.tree_dir().join("a.py"), "x = 1\ny = 3\nz = x + y\n").unwrap();
    git(bench.tree_dir(), &["commit", "-q", "-am", "topic"]);
    let change = local::change(bench.tree_dir(), Some("main"), Some("topic")).await.unwrap();
    let diff = change.diff().await.unwrap();
    let facts = ReviewFacts {
        repo: "local/r".into(),
        base: change.base.clone(),
        head: change.head.clone(),
        files: diff.files,
        not_read: diff.not_read,
        watched: Vec::new(),
        settings: ReviewSettings::default(),
        linted: Default::default(),
    };
    let mut input = json!({ "facts": facts });
    let scene = Reviewing { change, facts: Arc::new(facts), pack: Arc::new(Pack::default()) };
    let cx = Context { scene: Scene::Review(scene), ..bench.context() };
    input["manager"] = play(Role::Manager, &cx, input.clone()).await.unwrap();
    (bench, cx, input)
}

fn item(line: u32, file: &str) -> Value {
    json!({
        "type": "improvement", "severity": "medium", "description": "a better name is known", "file": file, "line": line,
        "suggestion": "call it `sum`"
    })
}

#[tokio::test]
async fn s0_9_a_program_in_a_reviewers_place_is_given_files_and_checklist() {
    let (_bench, cx, input) = review().await;
    let agents = Registry::builtin();
    let brief = agents.get(Role::Improvement).brief(&cx, &given(input.clone())).await.unwrap();
    assert_eq!(brief["files"], json!([{ "path": "a.py", "content": "x = 1\ny = 3\nz = x + y\n" }]));
    assert_eq!(brief["changed"], json!([{ "path": "a.py", "lines": [2, 3] }]));
    assert_eq!(brief["checklist"].as_array().unwrap().len(), 11);
    let documentation = agents.get(Role::Documentation).brief(&cx, &given(input)).await.unwrap();
    assert_eq!(documentation["codebase"]["files"], brief["files"]);
}

#[tokio::test]
async fn s0_11_its_items_become_findings_on_the_lines_that_the_change_wrote() {
    let (_bench, cx, input) = review().await;
    let answer = json!([item(3, "a.py"), item(1, "a.py"), item(3, "a.py")]);
    let output = adopted(Role::Improvement, &cx, input.clone(), answer.clone()).await.unwrap();
    let findings = output.result["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 2, "line 1 was there before");
    assert_eq!((&findings[0]["span"]["start_line"], &findings[0]["rule"]), (&json!(3), &json!("improvement-agent")));
    assert_ne!(findings[0]["fingerprint"], findings[1]["fingerprint"]);
    let again = adopted(Role::Improvement, &cx, input, answer).await.unwrap();
    assert_eq!(again.result, output.result, "the same words are the same finding");
}

#[tokio::test]
async fn findings_of_a_program_pass_the_repositorys_own_bar_in_either_form() {
    let (_bench, cx, input) = review().await;
    let made = adopted(Role::Improvement, &cx, input.clone(), json!([item(3, "a.py")])).await.unwrap().result;
    let mut whole = made.clone();
    whole["findings"][0]["rule"] = "yaml-load".into();
    let Scene::Review(scene) = &cx.scene else { panic!("no review") };
    let count = async |settings: ReviewSettings, answer: &Value| {
        let facts = ReviewFacts { settings, ..(*scene.facts).clone() };
        let scene = Scene::Review(Reviewing { facts: Arc::new(facts), ..scene.clone() });
        let cx = Context { scene, ..cx.clone() };
        let output = adopted(Role::Improvement, &cx, input.clone(), answer.clone()).await.unwrap();
        output.result["findings"].as_array().unwrap().len()
    };
    let disable = |rule: &str| ReviewSettings { disable: vec![rule.to_owned()], ..ReviewSettings::default() };
    let items = json!([item(3, "a.py")]);
    assert_eq!((count(disable("yaml-load"), &items).await, count(disable("yaml-load"), &whole).await), (1, 0));
    assert_eq!(
        (count(disable("improvement-agent"), &items).await, count(disable("improvement-agent"), &whole).await),
        (0, 1)
    );
    let high = || ReviewSettings { min_severity: Severity::High, ..ReviewSettings::default() };
    assert_eq!((count(high(), &items).await, count(high(), &whole).await), (0, 0), "both are of medium severity");
}

#[tokio::test]
async fn s0_13_items_of_another_form_or_place_are_refused_with_every_fault() {
    let (_bench, cx, input) = review().await;
    let mut wrong = vec![item(9, "a.py"), item(1, "b.py")];
    let refuse = async |answer: Vec<Value>| {
        adopted(Role::Improvement, &cx, input.clone(), json!(answer)).await.unwrap_err().to_string()
    };
    let said = refuse(wrong.clone()).await;
    assert!(said.contains("[0]: `a.py`, line 9") && said.contains("[1]: `b.py`"), "{said}");
    wrong[0]["severity"] = "critical".into();
    wrong[1].as_object_mut().unwrap().remove("suggestion");
    let said = refuse(wrong).await;
    assert!(said.contains("[0].severity") && said.contains("[1].suggestion"), "{said}");
}

#[tokio::test]
async fn s1_1_to_s1_3_every_agent_has_a_name_and_a_version_and_its_output_is_judged_by_itself() {
    let agents = Registry::builtin();
    let names: Vec<&str> = Role::all().map(Role::name).collect();
    assert_eq!(names.len(), 15);
    for role in Role::all() {
        assert_eq!((agents.get(role).role(), agents.get(role).version().is_empty()), (role, false));
    }
    let (bench, input) = bench().await;
    let (cx, scout) = (bench.context(), agents.get(Role::Scout));
    let output = scout.execute(&cx, &given(input)).await.unwrap();
    assert_eq!((output.agent_name.as_str(), output.status), ("scout", OutputStatus::Success));
    let verdict = scout.validate(&cx, &output).await;
    assert_eq!((verdict.is_valid, verdict.quality_score), (true, 100), "{verdict:?}");
    let mut broken = output.clone();
    broken.result.as_object_mut().unwrap().remove("alternatives");
    let verdict = scout.validate(&cx, &broken).await;
    assert_eq!((verdict.is_valid, verdict.quality_score), (false, 75), "{verdict:?}");
    assert_eq!(verdict.issues[0].field.as_deref(), Some("alternatives"));
    let of_another = AgentOutput { agent_name: "coder".to_owned(), ..output };
    assert!(!scout.validate(&cx, &of_another).await.is_valid);
    let error = scout.execute(&cx, &given(json!({ "facts": { "issue": 7 } }))).await.unwrap_err();
    assert_eq!((error.report(Role::Scout).code.as_str(), error.report(Role::Scout).recoverable), ("ERR_001", false));
}
