//! Scripted misfortune.

use std::time::Duration;

use octoswarm::demo::{Fault, FaultKind};
use serde_json::json;

use super::{Client, REPO};

#[tokio::test]
async fn a_scripted_status_has_no_effect_and_is_used_up() {
    let client = Client::start().await;
    let number = client.pull().await;
    let path = format!("/issues/{number}/comments");
    client.github.fail_next(Fault::status("POST", &path, 502).times(2));
    for status in [502, 502, 201] {
        let answer = client.call("POST", &path, Some(json!({"body": "hello"}))).await;
        assert_eq!(answer.status, status);
    }
    assert_eq!(client.github.read_comments(REPO, number).len(), 1);
    assert_eq!(client.github.faults_left(), 0);
}

#[tokio::test]
async fn an_answer_is_withheld_after_its_effect_until_the_story_goes_on() {
    let client = Client::start().await;
    let number = client.pull().await;
    let path = format!("/issues/{number}/comments");
    client.github.fail_next(Fault::withhold("POST", &path));
    let call = client.call("POST", &path, Some(json!({"body": "hello"})));
    let watch = async {
        client.github.wait_withheld().await;
        let seen = client.github.read_comments(REPO, number).len();
        client.github.release_withheld();
        seen
    };
    let (answer, seen) = tokio::join!(call, watch);
    assert_eq!((answer.status, seen), (201, 1));
}

#[tokio::test]
async fn a_box_stops_while_an_answer_is_withheld() {
    let client = Client::start().await;
    let number = client.pull().await;
    let path = format!("/pulls/{number}");
    client.github.fail_next(Fault::withhold("GET", &path));
    let token = client.token(json!({})).await;
    let url = format!("{}/repos/{REPO}{path}", client.github.api_url());
    let call = tokio::spawn(client.http.get(url).bearer_auth(token).send());
    client.github.wait_withheld().await;
    tokio::time::timeout(Duration::from_secs(5), client.github.stop()).await.unwrap();
    let _ = call.await.unwrap();
}

#[tokio::test]
async fn an_effect_may_take_place_behind_an_error() {
    let client = Client::start().await;
    let number = client.pull().await;
    let path = format!("/issues/{number}/comments");
    client.github.fail_next(Fault::once("POST", &path, FaultKind::RejectAfterEffect { status: 502 }));
    assert_eq!(client.call("POST", &path, Some(json!({"body": "hello"}))).await.status, 502);
    assert_eq!(client.github.read_comments(REPO, number).len(), 1);
}

#[tokio::test]
async fn the_other_misfortunes_look_as_they_do_on_github() {
    let client = Client::start().await;
    let number = client.pull().await;
    let path = format!("/pulls/{number}");
    client.github.fail_next(Fault::once("GET", &path, FaultKind::Truncate));
    let cut = client.call("GET", &path, None).await;
    assert_eq!((cut.status, cut.body.is_null()), (200, true));
    client.github.fail_next(Fault::once("GET", &path, FaultKind::Html));
    let page = client.call("GET", &path, None).await;
    assert_eq!(page.status, 502);
    assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"));
    client.github.fail_next(Fault::secondary_limit("GET", &path, 7));
    assert_eq!(client.call("GET", &path, None).await.headers["retry-after"], "7");
    client.github.fail_next(Fault::once("GET", &path, FaultKind::RateLimit { reset_in: 60 }));
    let limited = client.call("GET", &path, None).await;
    assert_eq!((limited.status, limited.headers["x-ratelimit-remaining"].to_str().unwrap()), (403, "0"));
    client.github.fail_next(Fault::once("GET", &path, FaultKind::Redirect("http://other.example/".to_owned())));
    let moved = client.call("GET", &path, None).await;
    assert_eq!((moved.status, moved.headers["location"].to_str().unwrap()), (307, "http://other.example/"));
    client.github.fail_next(Fault::once("GET", &path, FaultKind::Slow(Duration::from_millis(120))));
    let began = std::time::Instant::now();
    client.call("GET", &path, None).await.ok();
    assert!(began.elapsed() >= Duration::from_millis(120));
    assert_eq!(client.github.calls().iter().filter(|c| c.fault.is_some()).count(), 6);
}
