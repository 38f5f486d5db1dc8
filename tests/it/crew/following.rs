//! The reviews agent: from facts about a pull request to the document about it.

use octoswarm::agent::Monitoring;
use octoswarm::artifact::MonitorFacts;

use std::sync::Arc;

use super::*;

const DAY: i64 = 24 * 3_600_000;
/// 2026-10-14T17:53:20Z.
const OPENED: i64 = 1_792_000_400_000;
const HEAD: &str = "1111111111111111111111111111111111111111";

/// An open pull request, seen a day after it was opened, to which nothing has happened.
fn quiet() -> Value {
    json!({
        "now": OPENED + DAY,
        "pull": {
            "url": "https://github.example/o/r/pull/8", "number": 8, "state": "open", "head": HEAD, "created_at": OPENED,
            "ended_at": null, "merged_by": null, "merge_commit": null,
        },
        "commits": [{ "sha": HEAD, "by": "octoswarm[bot]", "who": "ours", "at": OPENED - 5_000 }],
        "reviews": [], "threads": [], "comments": [], "checks": [], "earlier": null,
        "settings": { "stale_pr_days": 7, "max_review_wait_days": 14 },
    })
}

fn review(id: u64, by: &str, who: &str, state: &str, at: i64) -> Value {
    json!({ "id": id, "by": by, "who": who, "state": state, "writes": who == "person", "at": at, "url": "https://x" })
}

fn said(id: u64, by: &str, who: &str, at: i64) -> Value {
    json!({ "id": id, "by": by, "who": who, "at": at })
}

/// What the agent makes of it: the document, and why it is escalated.
async fn looked(facts: &Value) -> (Value, Value) {
    let parsed: MonitorFacts = serde_json::from_value(facts.clone()).unwrap();
    let cx = Context {
        engine: Engine::embedded().unwrap(),
        cancel: CancellationToken::new(),
        clock: Clock::manual(OPENED),
        scene: Scene::Monitor(Monitoring { facts: Arc::new(parsed) }),
    };
    let output = play(Role::Reviews, &cx, json!({ "facts": facts })).await.unwrap();
    let document = output["document"].clone();
    let faults = octoswarm::artifact::check("review-activity", &document).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    (document, output["stalled"].clone())
}

/// The same, with the last look's document as the earlier one.
async fn again(facts: &mut Value, document: &Value) -> (Value, Value) {
    facts["earlier"] = document.clone();
    looked(facts).await
}

#[tokio::test]
async fn s2_18_the_same_facts_give_the_same_document() {
    let mut facts = quiet();
    facts["reviews"] = json!([review(1, "ada", "person", "approved", OPENED + 1_000)]);
    facts["checks"] = json!([{ "name": "ci", "state": "passed", "at": OPENED + 9_000 }]);
    let (first, _) = looked(&facts).await;
    assert_eq!(first, looked(&facts).await.0);
    assert_eq!(again(&mut facts, &first).await.0, first, "a look that sees nothing new changes nothing");
}

#[tokio::test]
async fn a2_2_monitoring_without_an_outcome_and_completed_with_one() {
    let mut facts = quiet();
    let (open, _) = looked(&facts).await;
    assert_eq!((&open["status"], &open["final_outcome"]), (&json!("monitoring"), &Value::Null));
    facts["pull"]["state"] = json!("merged");
    facts["pull"]["ended_at"] = json!(OPENED + 7_000);
    facts["pull"]["merged_by"] = json!("ada");
    facts["pull"]["merge_commit"] = json!(HEAD);
    let (merged, _) = looked(&facts).await;
    assert_eq!(merged["status"], "completed");
    assert_eq!(
        merged["final_outcome"],
        json!({"result": "merged", "timestamp": "2026-10-14T17:53:27Z", "merged_by": "ada", "merge_commit": HEAD})
    );
}

#[tokio::test]
async fn s2_18_the_latest_verdict_of_each_person_counts() {
    let mut facts = quiet();
    let mut stranger = review(9, "eve", "person", "approved", OPENED + 9_000);
    stranger["writes"] = json!(false);
    facts["reviews"] = json!([
        review(1, "ada", "person", "approved", OPENED + 1_000),
        review(2, "ada", "person", "changes_requested", OPENED + 2_000),
        review(3, "ada", "person", "commented", OPENED + 3_000),
        review(4, "bob", "person", "changes_requested", OPENED + 4_000),
        review(5, "bob", "person", "approved", OPENED + 5_000),
        review(6, "cleo", "person", "approved", OPENED + 6_000),
        review(7, "cleo", "person", "dismissed", OPENED + 7_000),
        review(8, "helper[bot]", "bot", "approved", OPENED + 8_000),
        review(10, "octoswarm[bot]", "ours", "commented", OPENED + 9_000),
        stranger,
    ]);
    let now = looked(&facts).await.0["current_status"].clone();
    assert_eq!(
        (&now["reviews_received"], &now["approvals"], &now["changes_requested"]),
        (&json!(9), &json!(1), &json!(1))
    );
}

#[tokio::test]
async fn s2_18_threads_that_a_person_had_the_last_word_in_are_pending() {
    let mut facts = quiet();
    let thread = |resolved, who: &str| json!({ "resolved": resolved, "comments": [said(1, "ada", "person", OPENED), said(2, "x", who, OPENED + 1_000)] });
    facts["threads"] = json!([thread(false, "person"), thread(true, "person"), thread(false, "ours")]);
    assert_eq!(looked(&facts).await.0["current_status"]["comments_pending"], 1);
}

#[tokio::test]
async fn s2_18_the_history_of_checks_has_one_entry_for_each_change_of_state() {
    let mut facts = quiet();
    let check = |state: &str, at: i64| json!({ "name": "ci", "state": state, "at": at });
    let (mut document, _) = looked(&facts).await;
    for (state, at, head) in [
        ("pending", 1_000, '1'),
        ("failed", 2_000, '1'),
        ("failed", 2_000, '1'),
        ("failed", 3_000, '2'),
        ("pending", 4_000, '2'),
        ("passed", 5_000, '2'),
    ] {
        facts["pull"]["head"] = json!(head.to_string().repeat(40));
        facts["checks"] = json!([check(state, OPENED + at)]);
        facts["now"] = json!(OPENED + at + 500);
        document = again(&mut facts, &document).await.0;
    }
    let history: Vec<&str> =
        document["ci_history"].as_array().unwrap().iter().map(|entry| entry["status"].as_str().unwrap()).collect();
    assert_eq!(history, ["pending", "failure", "failure", "pending", "success"]);
    let changes = document["activity"].as_array().unwrap().iter().filter(|item| item["type"] == "ci_status_change");
    assert_eq!(changes.count(), history.len());
    assert_eq!(document["ci_history"][1]["checks_failed"], 1);
}

#[tokio::test]
async fn s2_18_one_failed_check_is_a_failure_whatever_still_runs() {
    let mut facts = quiet();
    let check = |name: &str, state: &str| json!({ "name": name, "state": state, "at": OPENED + 1_000 });
    facts["checks"] = json!([check("a", "passed"), check("b", "pending")]);
    assert_eq!(looked(&facts).await.0["current_status"]["ci_status"], "pending");
    facts["checks"] = json!([check("a", "passed"), check("b", "pending"), check("c", "failed")]);
    assert_eq!(looked(&facts).await.0["current_status"]["ci_status"], "failure");
}

#[tokio::test]
async fn what_was_deleted_has_happened_all_the_same() {
    let mut facts = quiet();
    facts["comments"] = json!([said(1, "ada", "person", OPENED + 1_000), said(2, "bob", "person", OPENED + 2_000)]);
    let (before, _) = looked(&facts).await;
    facts["comments"] = json!([said(2, "bob", "person", OPENED + 2_000)]);
    let (after, _) = again(&mut facts, &before).await;
    assert_eq!(before["activity"], after["activity"]);
}

#[tokio::test]
async fn s2_18_five_hundred_entries_stay_and_the_others_are_counted() {
    let mut facts = quiet();
    let talk: Vec<Value> = (0..700).map(|n| said(n, "ada", "person", OPENED + 1_000 * n.cast_signed())).collect();
    facts["comments"] = json!(talk);
    let (document, _) = looked(&facts).await;
    let kept = document["activity"].as_array().unwrap();
    assert_eq!((kept.len(), &kept[0]["details"]["left_out"]), (500, &json!(201)));
    assert_eq!(kept[0]["type"], "ci_status_change", "the last one stays, for the next look to compare with");
    assert_eq!(again(&mut facts, &document).await.0, document, "and again the same");
}

#[track_caller]
fn ended(document: &Value, result: Value) {
    assert_eq!(document["final_outcome"]["result"], result, "{:#}", document["final_outcome"]);
}

#[tokio::test]
async fn a_request_for_changes_that_nobody_answers_for_a_week_is_escalated() {
    let mut facts = quiet();
    let asked = OPENED + DAY;
    facts["reviews"] = json!([review(1, "ada", "person", "changes_requested", asked)]);
    facts["now"] = json!(asked + 7 * DAY - 1);
    ended(&looked(&facts).await.0, Value::Null);
    facts["now"] = json!(asked + 7 * DAY);
    let (document, stalled) = looked(&facts).await;
    ended(&document, json!("escalated"));
    assert_eq!(stalled[0], json!({"stalled": "changes-requested", "by": "ada", "since": "2026-10-15T17:53:20Z"}));
    // The requester's own words are no answer; another person's are, and so is a commit.
    facts["comments"] = json!([said(1, "ada", "person", asked + DAY)]);
    ended(&looked(&facts).await.0, json!("escalated"));
    facts["comments"] = json!([said(1, "stale[bot]", "bot", asked + DAY)]);
    ended(&looked(&facts).await.0, json!("escalated"));
    facts["comments"] = json!([said(1, "bob", "person", asked + DAY)]);
    ended(&looked(&facts).await.0, Value::Null);
    facts["comments"] = json!([]);
    facts["commits"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "sha": "2".repeat(40), "by": "octoswarm[bot]", "who": "ours", "at": asked + DAY }));
    ended(&looked(&facts).await.0, Value::Null);
}

#[tokio::test]
async fn a_pull_request_that_a_person_took_over_is_never_escalated() {
    let mut facts = quiet();
    facts["reviews"] = json!([review(1, "ada", "person", "changes_requested", OPENED + 2_000)]);
    facts["checks"] = json!([{ "name": "ci", "state": "failed", "at": OPENED + 1_000 }]);
    facts["now"] = json!(OPENED + 9 * DAY);
    let (document, stalled) = looked(&facts).await;
    ended(&document, json!("escalated"));
    assert_eq!(stalled.as_array().unwrap().len(), 1, "who asked for changes looked at it after the checks had failed");
    facts["commits"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "sha": "2".repeat(40), "by": "bob", "who": "person", "at": OPENED + 1_000 }));
    ended(&looked(&facts).await.0, Value::Null);
    facts["now"] = json!(OPENED + 15 * DAY);
    ended(&looked(&facts).await.0, json!("abandoned"));
}

#[tokio::test]
async fn a_clock_that_is_wrong_keeps_nothing_open_for_ever() {
    let mut facts = quiet();
    let far = OPENED + 4_000 * DAY;
    facts["commits"][0]["at"] = json!(far);
    facts["checks"] = json!([{ "name": "ci", "state": "failed", "at": far }]);
    facts["now"] = json!(OPENED + 30 * DAY);
    let (document, _) = looked(&facts).await;
    let times = document["activity"].as_array().unwrap().iter().map(|item| item["timestamp"].as_str().unwrap());
    assert!(times.max().unwrap() <= "2026-11-13T17:53:20Z");
}
