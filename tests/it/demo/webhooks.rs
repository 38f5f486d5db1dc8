//! Deliveries: signed, in order, logged, never retried.

use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use hmac::{Hmac, KeyInit, Mac};
use octoswarm::demo::{Change, OpenPull};
use serde_json::{Value, json};

use super::{Client, REPO};

pub type Seen = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

/// A receiver that keeps what it gets and answers with `status`.
pub async fn receiver(status: u16) -> (String, Seen) {
    let seen = Seen::default();
    let keep = seen.clone();
    let app = axum::Router::new().fallback(move |headers: HeaderMap, body: Bytes| {
        keep.lock().unwrap().push((headers, body));
        async move { (StatusCode::from_u16(status).unwrap(), "noted") }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/webhook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, seen)
}

pub fn events(client: &Client) -> Vec<String> {
    let one = |d: octoswarm::demo::Delivery| format!("{}.{}", d.event, d.action.unwrap_or_default());
    client.github.deliveries().into_iter().map(one).collect()
}

#[tokio::test]
async fn a_delivery_is_signed_over_the_raw_body_and_tells_the_whole_story() {
    let client = Client::start().await;
    let (url, seen) = receiver(202).await;
    client.github.set_webhook_url(&url);
    let number = client.pull().await;
    let before = client.head(number);
    client.people.push_to_pull("mona", REPO, number, "more", Change::new().write("b.rs", "b\n")).await.unwrap();
    client.github.deliveries_settled().await;
    assert_eq!(
        events(&client),
        ["check_suite.requested", "pull_request.opened", "check_suite.requested", "pull_request.synchronize"]
    );
    let seen = seen.lock().unwrap().clone();
    for (headers, body) in &seen {
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"s3cret").unwrap();
        mac.update(body);
        let want = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        assert_eq!(headers["x-hub-signature-256"].to_str().unwrap(), want);
        assert_eq!(headers["content-type"], "application/json");
        assert!(headers["user-agent"].to_str().unwrap().starts_with("GitHub-Hookshot/"));
        assert_eq!(headers["x-github-hook-installation-target-type"], "integration");
    }
    let body: Value = serde_json::from_slice(&seen[3].1).unwrap();
    assert_eq!((&body["before"], &body["after"]), (&json!(before), &json!(client.head(number))));
    assert_eq!(body["pull_request"]["head"]["repo"]["full_name"], REPO);
    assert_eq!(body["installation"]["id"], client.github.installation_id());
    assert_eq!((&body["sender"]["login"], &body["sender"]["type"]), (&json!("mona"), &json!("User")));
}

#[tokio::test]
async fn only_subscribed_events_are_sent_and_the_apps_own_acts_are_among_them() {
    let client = Client::with(|o| o.manifest.default_events = vec!["issue_comment".to_owned()]).await;
    let (url, seen) = receiver(200).await;
    client.github.set_webhook_url(&url);
    let number = client.pull().await;
    client.call("POST", &format!("/issues/{number}/comments"), Some(json!({"body": "b"}))).await.ok();
    client.github.deliveries_settled().await;
    assert_eq!(events(&client), ["issue_comment.created"]);
    let body: Value = serde_json::from_slice(&seen.lock().unwrap()[0].1).unwrap();
    assert_eq!((&body["sender"]["login"], &body["sender"]["type"]), (&json!("swarm[bot]"), &json!("Bot")));
    let _ = client.github.take_comments();
}

#[tokio::test]
async fn a_receiver_that_is_down_leaves_a_failed_delivery_and_redelivery_keeps_the_guid() {
    let client = Client::start().await;
    client.github.set_webhook_url("http://127.0.0.1:1/webhook");
    let number = client.pull().await;
    client.github.deliveries_settled().await;
    let listed = client.as_app("GET", "/app/hook/deliveries?status=failure&per_page=1", None).await;
    let lost = &listed.body[0];
    assert_eq!((&lost["event"], &lost["status"]), (&json!("pull_request"), &json!("failed to connect to host")));
    assert!(listed.headers["link"].to_str().unwrap().contains("cursor=v1_"));
    let (url, seen) = receiver(202).await;
    client.github.set_webhook_url(&url);
    let path = format!("/app/hook/deliveries/{}/attempts", lost["id"]);
    assert_eq!(client.as_app("POST", &path, None).await.status, 202);
    client.github.deliveries_settled().await;
    let newest = client.as_app("GET", "/app/hook/deliveries?per_page=1", None).await.ok();
    assert_eq!((&newest[0]["guid"], &newest[0]["redelivery"]), (&lost["guid"], &json!(true)));
    let full = client.as_app("GET", &format!("/app/hook/deliveries/{}", newest[0]["id"]), None).await.ok();
    assert_eq!(full["request"]["payload"]["number"], number);
    assert_eq!((&full["response"]["payload"], &full["status_code"]), (&json!("noted"), &json!(202)));
    let guid = lost["guid"].as_str().unwrap();
    let fresh = client.people.replay(guid).await.unwrap();
    client.github.deliveries_settled().await;
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen[0].1, seen[1].1, "the same bytes");
    assert_eq!(seen[1].0["x-github-delivery"].to_str().unwrap(), fresh);
    assert_ne!(fresh, guid);
}

#[tokio::test]
async fn acts_of_people_are_told_by_their_names() {
    let client = Client::start().await;
    let (url, seen) = receiver(200).await;
    let number = client.pull().await;
    client.people.push("mona", REPO, "next", "m", Change::new().write("n.rs", "n\n")).await.unwrap();
    let check = json!({"name": "swarm", "head_sha": client.head(number)});
    let run = client.call("POST", "/check-runs", Some(check)).await.ok()["id"].as_u64().unwrap();
    client.github.set_webhook_url(&url);
    let people = &client.people;
    people.convert_to_draft("mona", REPO, number).await.unwrap();
    people.ready_for_review("mona", REPO, number).await.unwrap();
    people.change_base("mona", REPO, number, "next").await.unwrap();
    people.close_pull("mona", REPO, number).await.unwrap();
    people.reopen_pull("mona", REPO, number).await.unwrap();
    people.rerequest_check("mona", REPO, run).await.unwrap();
    people.rerequest_suite("mona", REPO, &client.head(number)).await.unwrap();
    people.comment("mona", REPO, number, "hi").await.unwrap();
    people.ping().await;
    people.install("octo").await;
    people.accept_permissions("octo").await;
    people.uninstall("octo").await;
    client.github.deliveries_settled().await;
    assert_eq!(
        events(&client),
        [
            "pull_request.converted_to_draft",
            "pull_request.ready_for_review",
            "pull_request.edited",
            "pull_request.closed",
            "pull_request.reopened",
            "check_run.rerequested",
            "check_suite.rerequested",
            "issue_comment.created",
            "ping.",
            "installation.created",
            "installation.new_permissions_accepted",
            "installation.deleted",
        ]
    );
    let edited: Value = serde_json::from_slice(&seen.lock().unwrap()[2].1).unwrap();
    assert_eq!(edited["changes"]["base"]["ref"]["from"], "main");
    client.mint(json!({})).await.refused(404, "Not Found");
}

#[tokio::test]
async fn a_fork_push_moves_the_pull_request_and_a_force_push_rewrites_it() {
    let client = Client::start().await;
    let open = OpenPull::new("eve", "p", "T", Change::new().write("f.rs", "1\n"));
    let number = client.people.open_pull_from_fork(REPO, open).await.unwrap();
    let (url, _) = receiver(200).await;
    client.github.set_webhook_url(&url);
    client.people.push_to_pull("eve", REPO, number, "2", Change::new().write("f.rs", "2\n")).await.unwrap();
    client.people.force_push_to_pull("eve", REPO, number, "3", Change::new().write("g.rs", "3\n")).await.unwrap();
    client.github.deliveries_settled().await;
    assert_eq!(events(&client), ["pull_request.synchronize", "pull_request.synchronize"]);
    let commits = client.call("GET", &format!("/pulls/{number}/commits"), None).await.ok();
    assert_eq!(commits.as_array().unwrap().len(), 1);
    let files = client.call("GET", &format!("/pulls/{number}/files"), None).await.ok();
    assert_eq!(files[0]["filename"], "g.rs");
}

#[tokio::test]
async fn a_record_tells_calls_and_deliveries_and_no_token() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("record.jsonl");
    let client = Client::with(|options| options.record = Some(file.clone())).await;
    let (url, _seen) = receiver(202).await;
    client.github.set_webhook_url(&url);
    let number = client.pull().await;
    client.github.deliveries_settled().await;
    let token = client.token(json!({"permissions": {"pull_requests": "read"}})).await;
    let path = format!("/repos/{REPO}/pulls/{number}/files?per_page=5");
    client.send("GET", &path, Some(&token), None).await.ok();
    client.send("GET", "/repos/octo/none", Some(&token), None).await.refused(404, "Not Found");

    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["box"]["webhook_secret"], "s3cret");
    let calls: Vec<_> = lines.iter().filter(|line| line["call"].is_object()).map(|line| &line["call"]).collect();
    assert_eq!(calls.iter().map(|call| call["status"].as_u64().unwrap()).collect::<Vec<_>>(), [201, 200, 404]);
    assert_eq!(calls[0]["body"], json!({"permissions": {"pull_requests": "read"}}));
    assert_eq!(calls[1]["path"], format!("/repos/{REPO}/pulls/{number}/files"));
    assert_eq!(calls[1]["query"], json!({"per_page": "5"}));
    let deliveries: Vec<_> = lines.iter().filter(|line| line["delivery"].is_object()).collect();
    assert_eq!(deliveries.len(), client.github.deliveries().len());
    assert_eq!(deliveries[0]["delivery"]["payload"], client.github.deliveries()[0].payload);
    assert!(!text.contains(&token) && !text.contains("PRIVATE KEY"), "{text}");
}

#[tokio::test]
async fn a_suite_that_is_completed_is_told_with_whoever_pushed_as_its_sender() {
    let client = Client::start().await;
    let (url, seen) = receiver(202).await;
    let number = client.pull().await;
    client.github.set_webhook_url(&url);
    let head = client.head(number);
    let (first, second) = (
        client.people.foreign_check(REPO, &head, "build").await.unwrap(),
        client.people.foreign_check(REPO, &head, "lint").await.unwrap(),
    );
    client.people.complete_foreign_check(REPO, first, "success").await.unwrap();
    client.people.complete_foreign_check(REPO, second, "timed_out").await.unwrap();
    client.github.deliveries_settled().await;
    assert_eq!(events(&client).iter().filter(|event| *event == "check_suite.completed").count(), 1);
    let last: Value = serde_json::from_slice(&seen.lock().unwrap().last().unwrap().1).unwrap();
    assert_eq!(last["sender"]["login"], "mona");
    assert_eq!(
        (&last["check_suite"]["conclusion"], &last["check_suite"]["status"]),
        (&json!("timed_out"), &json!("completed"))
    );
    assert_ne!(last["check_suite"]["app"]["id"], client.github.app_id());
    assert_eq!(last["check_suite"]["pull_requests"][0]["number"], number);
}
