//! Whether an issue may be worked on.

use super::*;

async fn bench() -> Bench {
    Bench::new(&[("README.md", "# r\n")]).await.issue("Login crashes", "It should not.")
}

async fn refusal(bench: &Bench) -> (String, String) {
    let document = bench.document(Role::Scout).await;
    assert_eq!((&document["agent"], &document["status"]), (&json!("agent-1-scout"), &json!("failed")));
    let fields: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["agent", "errors", "status", "timestamp"]);
    let fault = &document["errors"][0];
    assert_eq!((&fault["agentName"], &fault["recoverable"]), (&json!("agent-1-scout"), &json!(false)));
    (fault["code"].as_str().unwrap().to_owned(), fault["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn only_a_plain_obstacle_rejects() {
    let mut bench = bench().await;
    bench.facts["issue"]["locked"] = true.into();
    assert_eq!(refusal(&bench).await.0, "locked");
    bench.facts["issue"]["is_pull"] = true.into();
    assert_eq!(refusal(&bench).await.0, "pull-request");
    bench.facts["issue"]["locked"] = false.into();
    bench.facts["issue"]["is_pull"] = false.into();
    let pull =
        |number: u64, author: &str, ours: bool| json!({ "number": number, "url": "u", "author": author, "ours": ours });
    bench.facts["linked"] = json!([pull(31, "bob", false), pull(12, "eve", false)]);
    let (code, message) = refusal(&bench).await;
    assert_eq!(code, "already-addressed");
    assert!(message.contains("#12 by eve") && message.contains("1 more"), "{message}");
    bench.facts["linked"] = json!([pull(12, "octoswarm[bot]", true)]);
    assert_eq!(bench.document(Role::Scout).await["status"], "completed");
}

#[tokio::test]
async fn age_labels_length_and_talk_only_score() {
    let mut bench = bench().await.issue("Security: rewrite everything, a breaking change", "");
    bench.facts["issue"]["labels"] = json!(["wontfix", "question", "stale"]);
    bench.facts["issue"]["created_at"] = "2011-01-01T00:00:00Z".into();
    bench.facts["issue"]["comments"] = 900.into();
    assert_eq!(bench.document(Role::Scout).await["status"], "completed");
}

#[tokio::test]
async fn other_candidates_are_told_with_their_reasons() {
    let mut bench = bench().await;
    let other = |number: u64, title: &str, labels: Value, comments: u64| {
        json!({ "number": number, "url": format!("https://github.com/o/r/issues/{number}"), "title": title, "labels": labels,
            "created_at": "2026-11-02T10:00:00Z", "comments": comments })
    };
    bench.facts["candidates"] = json!([
        other(9, "Rewrite the payment page", json!([]), 40),
        other(8, "Typo in README", json!(["good first issue", "docs"]), 0),
        other(7, "Login crashes", json!([]), 1),
    ]);
    let document = bench.document(Role::Scout).await;
    assert_eq!(document["search_stats"], json!({ "total_searched": 3, "filtered_out": 1, "candidates_found": 2 }));
    let alternatives = document["alternatives"].as_array().unwrap();
    let reasons: Vec<&str> = alternatives.iter().map(|a| a["reason_not_selected"].as_str().unwrap()).collect();
    assert_eq!(alternatives[0]["title"], "Typo in README");
    assert!(reasons[0].contains("suits better") && reasons[0].contains("good first issue"), "{}", reasons[0]);
    assert!(reasons[1].contains("a rewrite") && reasons[1].contains("40 comments"), "{}", reasons[1]);
}

#[tokio::test]
async fn the_issue_is_told_whole_but_for_secrets_and_steering() {
    let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let body = format!("Line one\u{202e}\nT={token}\nline three");
    let issue = bench().await.issue("Add\u{1b}[31m a flag\nplease", &body).document(Role::Scout).await;
    let selected = &issue["selected_issue"];
    assert_eq!(selected["title"], "Add[31m a flag please");
    let body = selected["body"].as_str().unwrap();
    assert!(body.starts_with("Line one\n") && body.ends_with("line three") && !body.contains(&token), "{body}");
    assert_eq!((&selected["type"], &selected["difficulty_estimate"]), (&json!("feature"), &json!("easy")));
    assert_eq!(selected["repository"]["language"], "unknown");
    assert_eq!(issue["timestamp"], "2026-11-21T10:00:00Z");
}

#[tokio::test]
async fn s2_11_what_a_sweep_found_stands_in_the_document_and_what_it_learned_since_ends_the_work() {
    let mut bench = bench().await;
    let other =
        json!({ "url": "https://github.com/o/r/issues/9", "title": "Another", "reason_not_selected": "ranked lower" });
    let search = json!({ "total_searched": 40, "filtered_out": 38, "candidates_found": 2 });
    bench.facts["asked_by"] = Value::Null;
    bench.facts["swept"] = json!({ "search": search, "others": [other], "obstacles": [] });
    let document = bench.document(Role::Scout).await;
    assert_eq!((&document["search_stats"], &document["alternatives"]), (&search, &json!([other])));
    bench.facts["swept"]["obstacles"] = json!(["ada works on it"]);
    let (code, message) = refusal(&bench).await;
    assert_eq!(code, "not-eligible");
    assert!(message.contains("ada works on it"), "{message}");
}
