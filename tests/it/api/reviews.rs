//! From an upload to what came of it, also across deaths of the server.

use std::time::Duration;

use octoswarm::artifact::Form;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{Server, events, packed, refused};
use crate::support::world::{CLEAN, DEFECTS};

#[tokio::test(flavor = "multi_thread")]
async fn s0_1_to_s0_16_a_codebase_is_uploaded_reviewed_and_its_aggregate_fetched() {
    let server = Server::start().await;
    let codebase = server
        .uploaded(&packed(&[
            ("calc-1/src/run.py", DEFECTS),
            ("calc-1/README.md", "# calc\n\nAdds.\n"),
            ("calc-1/.git/HEAD", "x"),
        ]))
        .await;
    let answer = server.post("/trigger_review").json(&json!({ "id": codebase, "params": { "any": 1 }, "more": 2 }));
    let answer = answer.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::ACCEPTED, "unknown fields are tolerated in what is read");
    let review = answer.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    let aggregate = server.reviewed(&review).await;
    let faults = octoswarm::artifact::check("review-aggregate", &aggregate).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    assert!(!Form::find("review-aggregate").unwrap().check_own(&aggregate).iter().any(|fault| fault.is_error()));
    assert_eq!(
        aggregate.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["critical", "debt", "documentation", "improvement"]
    );
    let critical = &aggregate["critical"].as_array().unwrap()[0];
    assert_eq!((critical["file"].as_str(), critical["line"].as_u64()), (Some("src/run.py"), Some(5)), "{critical}");
    assert!(aggregate["documentation"]["README.md"].as_str().unwrap().contains("calc-1"));

    // The order is fixed, and each part is stored before the next begins.
    let told = server.events(&review, None).await;
    let lines: Vec<&str> = told.iter().filter_map(|told| told.data["text"].as_str()).collect();
    let at = |what: &str| {
        lines.iter().position(|line| line.starts_with(what)).unwrap_or_else(|| panic!("{what}: {lines:?}"))
    };
    let parts = ["documentation: begins", "debt: begins", "improvement: begins", "critical: begins"].map(at);
    assert!(parts.is_sorted(), "{lines:?}");
    assert!(at("debt: begins") > lines.iter().position(|line| line.contains("documents")).unwrap());
    let ids: Vec<String> = told.iter().filter_map(|told| told.id.clone()).collect();
    assert_eq!(ids, (1..=lines.len()).map(|n| n.to_string()).collect::<Vec<_>>());
    let last = told.last().unwrap();
    assert_eq!((last.name.as_str(), &last.data), ("done", &json!({ "status": "done", "id": review })));
    // From where it was left; and from the end there is only the end.
    let rest = server.events(&review, Some("2")).await;
    assert_eq!(rest[0].id.as_deref(), Some("3"));
    assert_eq!(rest.len(), told.len() - 2);
    let end = server.events(&review, ids.last().map(String::as_str)).await;
    assert_eq!(end.iter().map(|told| told.name.as_str()).collect::<Vec<_>>(), ["done"]);

    // The run has its documents, as the other runs have.
    let shown = server.beside(&["runs", "show", "latest", "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let files: Vec<&str> = shown["documents"].as_array().unwrap().iter().map(|d| d["file"].as_str().unwrap()).collect();
    assert_eq!(
        files,
        ["critical.json", "debt.json", "documentation-map.json", "improvement.json", "review-aggregate.json"]
    );
    assert_eq!((&shown["run"]["kind"], &shown["run"]["outcome"]["outcome"]), (&json!("audit"), &json!("findings")));

    // S0.15: each call and each agent has its record, and none of them the token or what was sent.
    let log = server.log();
    let told = |message: &str| -> Vec<&Value> {
        log.iter().map(|record| &record["fields"]).filter(|fields| fields["message"] == message).collect()
    };
    let calls = told("a call was answered");
    assert!(
        calls
            .iter()
            .any(|call| call["route"] == "/upload_codebase" && call["status"] == 200 && call["method"] == "POST")
    );
    assert!(calls.iter().any(|call| call["route"] == "/get_results" && call["duration_ms"].is_u64()));
    let agents: Vec<&str> =
        told("an agent has answered").iter().map(|fields| fields["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["documentation", "debt", "improvement", "critical"]);
    let text = std::fs::read_to_string(server.state.path().join("server.log")).unwrap();
    assert!(!text.contains(super::TOKEN) && !text.contains("eval("), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_2_nothing_that_could_be_read_is_not_called_clean() {
    let server = Server::start().await;
    let codebase = server.uploaded(&super::tar_of(&[("picture.png", b"\x89PNG\r\n\x1a\n\0\0")])).await;
    let review = server.triggered(&codebase).await;
    let aggregate = server.reviewed(&review).await;
    let error = aggregate["errors"]["master"]["message"].as_str().unwrap();
    assert!(error.contains("0 of 1 file read") && error.contains("binary"), "{error}");
    assert!(aggregate["documentation"]["README.md"].as_str().unwrap().contains("no file with text"));
    assert!(octoswarm::artifact::check("review-aggregate", &aggregate).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_3_a_review_that_is_not_there_or_not_asked_for_rightly_is_refused() {
    let server = Server::start().await;
    let unknown = "0123456789abcdef0123456789abcdef";
    for (path, status, want) in [
        ("/get_results".to_owned(), 400, "no id is given"),
        ("/get_results?id=".to_owned(), 400, "not the id of a review"),
        ("/get_results?id=rv_1".to_owned(), 400, "not the id of a review"),
        ("/get_results?id=rv_..%2F..%2Fetc%2Fpasswd".to_owned(), 400, "not the id of a review"),
        (format!("/get_results?id=cb_{unknown}"), 400, "not the id of a review"),
        (format!("/get_results?id=rv_{unknown}&id=rv_{unknown}"), 400, "the query cannot be read"),
        (format!("/get_results?id=rv_{unknown}"), 404, "there is no review"),
        (format!("/reviews/rv_{unknown}/events"), 404, "there is no review"),
        ("/reviews/rv_1/events".to_owned(), 400, "not the id of a review"),
        ("/reviews/rv_1/more".to_owned(), 404, "nothing here"),
        ("/reviews".to_owned(), 404, "nothing here"),
        ("/anything".to_owned(), 404, "nothing here"),
    ] {
        let said = refused(server.get(&path).send().await.unwrap(), status).await;
        assert!(said.contains(want), "{path}: {said}");
    }
    let large = format!("{{\"id\": \"{}\"}}", "x".repeat(70_000));
    let deep = format!("{{\"params\": {}1{}}}", "{\"a\":".repeat(1000), "}".repeat(1000));
    let codebase = format!("{{\"id\": \"cb_{unknown}\"}}");
    for (body, kind, status, want) in [
        ("{", "application/json", 400, "not a request for a review"),
        ("[]", "application/json", 400, "not a request for a review"),
        ("{}", "application/json", 400, "missing field `id`"),
        ("{\"id\": 7}", "application/json", 400, "not a request for a review"),
        ("{\"id\": \"cb_1\", \"params\": []}", "application/json", 400, "not a request for a review"),
        ("{\"id\": \"cb_1\"}", "application/json", 400, "not the id of a codebase"),
        ("{\"id\": \"\\u001b[31m<b>\"}", "application/json; charset=utf-8", 400, "not the id of a codebase"),
        (&deep, "application/json", 400, "not a request for a review"),
        (&codebase, "text/plain", 400, "not JSON by its type"),
        (&codebase, "application/json", 404, "there is no codebase"),
        (&large, "application/json", 413, "larger than 65536 bytes"),
    ] {
        let asked = server.post("/trigger_review").header("content-type", kind).body(body.to_owned());
        let said = refused(asked.send().await.unwrap(), status).await;
        assert!(said.contains(want) && !said.contains('\u{1b}'), "{said}");
    }
    for (path, allowed) in [
        ("/upload_codebase", "POST"),
        ("/trigger_review", "POST"),
        ("/get_results", "GET, HEAD"),
        ("/openapi.json", "GET, HEAD"),
        ("/reviews/rv_1/events", "GET, HEAD"),
    ] {
        let asked = server.http.request(reqwest::Method::PATCH, server.url(path)).bearer_auth(super::TOKEN);
        let answer = asked.send().await.unwrap();
        assert_eq!(answer.headers()["allow"], allowed);
        assert!(refused(answer, 405).await.contains(allowed));
    }
    let codebase = server.uploaded(&packed(&[("a.py", CLEAN)])).await;
    let review = server.triggered(&codebase).await;
    let odd = server.get(&format!("/reviews/{review}/events")).header("last-event-id", "-1").send().await.unwrap();
    assert!(refused(odd, 400).await.contains("Last-Event-ID"));
}

/// Files enough for a review that takes a while.
fn many() -> Vec<u8> {
    let text: String = (0..150).map(|n| format!("def run_{n}(text):\n    return eval(text)\n\n\n")).collect();
    let files: Vec<(String, String)> = (0..250).map(|n| (format!("src/part_{n}.py"), text.clone())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    packed(&files)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_survives_the_death_of_its_server_and_repeats_nothing_that_was_stored() {
    let server = Server::start().await;
    let codebase = server.uploaded(&many()).await;
    let review = server.triggered(&codebase).await;
    let mut answer = server.get(&format!("/reviews/{review}/events")).send().await.unwrap();
    let mut seen = String::new();
    while !seen.contains("\"text\":\"debt: begins\"") {
        seen.push_str(std::str::from_utf8(&answer.chunk().await.unwrap().expect("it goes on")).unwrap());
    }
    let before = events(&seen);
    let server = server.killed().await;
    let aggregate = server.reviewed(&review).await;
    assert!(aggregate["critical"].as_array().unwrap().len() >= 250 * 150);
    // Whoever followed goes on with the number where the stream broke off.
    let last = before.iter().rev().find_map(|told| told.id.clone()).unwrap();
    let after = server.events(&review, Some(&last)).await;
    let lines: Vec<&str> = after.iter().filter_map(|told| told.data["text"].as_str()).collect();
    assert!(
        lines.iter().any(|line| line.starts_with("documentation: ") && line.contains("earlier attempt")),
        "{lines:?}"
    );
    assert!(!lines.contains(&"documentation: begins"), "{lines:?}");
    assert_eq!(after.last().unwrap().name, "done");
    let next = (last.parse::<u64>().unwrap() + 1).to_string();
    assert_eq!(after[0].id.as_deref(), Some(next.as_str()), "no line is told twice, and none left out");
    assert_eq!(server.reviewed(&review).await, aggregate, "it stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_reviews_go_on_at_once_and_one_is_cancelled_without_the_other() {
    let server = Server::start().await;
    let codebase = server.uploaded(&many()).await;
    let (one, other) = (server.triggered(&codebase).await, server.triggered(&codebase).await);
    assert_ne!(one, other, "the same codebase may be reviewed again");
    let running = || {
        let listed = server.beside(&["runs", "list", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
        let runs = listed["runs"].as_array().or_else(|| listed.as_array()).cloned().unwrap_or_default();
        runs.into_iter().filter(|run| run["state"] == "running").collect::<Vec<_>>()
    };
    let waiting = async {
        while running().len() < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("both go on at once");
    let cancelled = server.beside(&["runs", "cancel", "latest"]);
    assert!(cancelled.status.success(), "{}", String::from_utf8_lossy(&cancelled.stderr));
    let mut ended = Vec::new();
    for review in [&one, &other] {
        let told = server.events(review, None).await;
        ended.push(told.last().unwrap().name.clone());
        let (status, body) = server.results(review).await;
        match told.last().unwrap().name.as_str() {
            "done" => assert_eq!(status, StatusCode::OK),
            _ => {
                assert_eq!(status, StatusCode::NOT_FOUND);
                assert!(body["error"].as_str().unwrap().contains("was cancelled"), "{body}");
            }
        }
    }
    ended.sort();
    assert_eq!(ended, ["cancelled", "done"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_dies_after_a_day_and_a_review_of_it_keeps_its_result() {
    let server = Server::start().await;
    let codebase = server.uploaded(&packed(&[("a.py", DEFECTS)])).await;
    let review = server.triggered(&codebase).await;
    let aggregate = server.reviewed(&review).await;
    let record = server.state.path().join("state/uploads").join(&codebase).join("upload.json");
    let mut upload: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    upload["received_at"] = json!(upload["received_at"].as_i64().unwrap() - 24 * 60 * 60 * 1000);
    std::fs::write(&record, upload.to_string()).unwrap();
    let asked = server.post("/trigger_review").json(&json!({ "id": codebase })).send().await.unwrap();
    assert!(refused(asked, 404).await.contains("more than a day ago"));
    // What was being received when the server died is gone with the next start, and so is what is over.
    std::fs::create_dir_all(server.state.path().join("state/uploads/.arriving-x/codebase")).unwrap();
    let server = server.killed().await;
    let gone = async {
        while !server.kept().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("the upload is removed");
    assert_eq!(server.reviewed(&review).await, aggregate);
}
