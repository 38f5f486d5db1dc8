//! One test a row of `docs/box.md`: a call that is wrong in one way only, and the box's no.

use std::time::Duration;

use octoswarm::demo::{Change, OpenPull};
use octoswarm::domain::clock::Clock;
use serde_json::{Value, json};

use super::{Client, REPO, sign};

// Who is calling

#[tokio::test]
async fn a_call_without_user_agent_is_refused() {
    let client = Client::start().await;
    let bare = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = bare.get(format!("{}/rate_limit", client.github.api_url())).send().await.unwrap();
    assert_eq!(answer.status(), 403);
    assert!(answer.text().await.unwrap().contains("User-Agent"));
}

#[tokio::test]
async fn a_call_without_credentials_is_refused() {
    let client = Client::start().await;
    client.send("GET", "/app", None, None).await.refused(401, "Requires authentication");
    client.send("GET", &format!("/repos/{REPO}/pulls"), None, None).await.refused(401, "Requires authentication");
}

#[tokio::test]
async fn nobody_reads_the_issues_of_a_private_repository() {
    let client = Client::start().await;
    for path in [format!("/repos/{REPO}"), format!("/repos/{REPO}/issues")] {
        client.send("GET", &path, None, None).await.ok();
    }
    client.people.make_private(REPO).await.unwrap();
    for path in [format!("/repos/{REPO}"), format!("/repos/{REPO}/issues")] {
        client.send("GET", &path, None, None).await.refused(404, "Not Found");
    }
}

#[tokio::test]
async fn a_jwt_that_is_wrong_in_one_claim_is_refused() {
    let client = Client::start().await;
    let now = Clock::system().now() / 1000;
    for (claim, value, part) in [
        ("exp", json!(now - 1), "exp"),
        ("exp", json!(now + 700), "too far in the future"),
        ("iat", json!(now + 30), "iat"),
        ("iat", json!("today"), "iat"),
        ("iss", json!("1"), "iss"),
    ] {
        let jwt = client.jwt(|claims| claims[claim] = value);
        client.send("GET", "/app", Some(&jwt), None).await.refused(401, part);
    }
    client.as_app("GET", "/app", None).await.ok();
}

#[tokio::test]
async fn a_jwt_of_a_foreign_key_is_refused() {
    let (client, other) = (Client::start().await, Client::with(|options| options.fresh_key = true).await);
    let now = Clock::system().now() / 1000;
    let claims = json!({"iss": client.github.app_id(), "iat": now - 60, "exp": now + 500});
    let jwt = sign(&claims, &other.github.private_key_pem());
    client.send("GET", "/app", Some(&jwt), None).await.refused(401, "could not be decoded");
}

#[tokio::test]
async fn a_token_at_the_apps_door_and_a_jwt_at_a_repositorys_door_are_refused() {
    let client = Client::start().await;
    let token = client.token(json!({})).await;
    client.send("GET", "/app", Some(&token), None).await.refused(401, "could not be decoded");
    client.as_app("GET", &format!("/repos/{REPO}"), None).await.refused(401, "Bad credentials");
}

#[tokio::test]
async fn an_unknown_token_is_refused() {
    let client = Client::start().await;
    client.send("GET", &format!("/repos/{REPO}"), Some("ghs_1_no.no.no"), None).await.refused(401, "Bad credentials");
}

#[tokio::test]
async fn a_token_is_refused_after_an_hour() {
    let clock = Clock::manual(Clock::system().now());
    let hands = clock.clone();
    let client = Client::with(|options| options.clock = clock).await;
    let token = client.token(json!({})).await;
    client.send("GET", &format!("/repos/{REPO}"), Some(&token), None).await.ok();
    hands.advance(3_600_000);
    client.send("GET", &format!("/repos/{REPO}"), Some(&token), None).await.refused(401, "Bad credentials");
}

#[tokio::test]
async fn a_repository_outside_the_token_does_not_exist() {
    let client = Client::start().await;
    client.people.create_repo("octo/other", Change::new().write("a", "a")).await.unwrap();
    client.people.create_repo("eve/private", Change::new().write("a", "a")).await.unwrap();
    let token = client.token(json!({"repositories": ["other"]})).await;
    client.send("GET", &format!("/repos/{REPO}"), Some(&token), None).await.refused(404, "Not Found");
    client.send("GET", "/repos/octo/other", Some(&token), None).await.ok();
    let all = client.token(json!({})).await;
    client.send("GET", "/repos/eve/private", Some(&all), None).await.refused(404, "Not Found");
}

#[tokio::test]
async fn a_token_for_what_the_app_does_not_hold_is_refused() {
    let client = Client::start().await;
    client.mint(json!({"permissions": {"workflows": "write"}})).await.refused(422, "permissions requested");
    client.mint(json!({"permissions": {"metadata": "write"}})).await.refused(422, "permissions requested");
    client.mint(json!({"repositories": ["nothing"]})).await.refused(422, "does not exist or is not accessible");
    client.people.withhold_permission("pull_requests").await;
    client.mint(json!({"permissions": {"pull_requests": "write"}})).await.refused(422, "permissions requested");
    client.mint(json!({"permissions": {"checks": "write"}})).await.ok();
    client.people.accept_permissions("octo").await;
    client.mint(json!({"permissions": {"pull_requests": "write"}})).await.ok();
}

#[tokio::test]
async fn a_missing_permission_is_forbidden() {
    let client = Client::start().await;
    let number = client.pull().await;
    let token = client.token(json!({"permissions": {"pull_requests": "read"}})).await;
    let ask = |method: &'static str, path: String, body: Option<Value>| {
        let token = token.clone();
        let client = &client;
        async move { client.send(method, &format!("/repos/{REPO}{path}"), Some(&token), body).await }
    };
    ask("GET", format!("/pulls/{number}"), None).await.ok();
    let review = json!({"event": "COMMENT", "body": "b"});
    for (method, path, body) in [
        ("POST", format!("/pulls/{number}/reviews"), Some(review)),
        ("POST", format!("/issues/{number}/comments"), Some(json!({"body": "b"}))),
        ("GET", "/contents/README.md".to_owned(), None),
        ("POST", "/check-runs".to_owned(), Some(json!({"name": "n", "head_sha": client.head(number)}))),
    ] {
        ask(method, path, body).await.refused(403, "Resource not accessible by integration");
    }
}

#[tokio::test]
async fn a_plain_issue_asks_for_the_issues_permission() {
    let client = Client::start().await;
    let number = client.people.open_issue("mona", REPO, "Broken", "it is").await.unwrap();
    let path = format!("/issues/{number}/comments");
    client.call("POST", &path, Some(json!({"body": "b"}))).await.refused(403, "Resource not accessible");
}

// What the request looks like

#[tokio::test]
async fn an_unknown_key_is_refused_at_every_depth() {
    let client = Client::start().await;
    let number = client.pull().await;
    client.review(number, json!({"event": "COMMENT", "body": "b", "draft": 1})).await.refused(422, "unknown field");
    let comment = json!({"path": "new.rs", "line": 1, "body": "b", "position": 1});
    client.inline(number, comment).await.refused(422, "unknown field");
    let output = json!({"title": "t", "summary": "s", "extra": 1});
    let check = json!({"name": "n", "head_sha": client.head(number), "output": output});
    client.call("POST", "/check-runs", Some(check)).await.refused(422, "unknown field");
    client.mint(json!({"repository": "calc"})).await.refused(422, "unknown field");
}

#[tokio::test]
async fn an_unknown_query_key_is_refused() {
    let client = Client::start().await;
    client.call("GET", "/pulls?perpage=3", None).await.refused(422, "unknown query key");
}

#[tokio::test]
async fn broken_json_is_refused() {
    let client = Client::start().await;
    let number = client.pull().await;
    let url = format!("{}/repos/{REPO}/issues/{number}/comments", client.github.api_url());
    let token = client.token(json!({})).await;
    let answer = client.http.post(url).bearer_auth(token).body("{\"body\": ").send().await.unwrap();
    assert_eq!(answer.status(), 400);
}

#[tokio::test]
async fn an_unknown_endpoint_is_not_found() {
    let client = Client::start().await;
    client.call("GET", "/nothing", None).await.refused(404, "Not Found");
}

#[tokio::test]
async fn a_text_over_the_limit_is_refused_wherever_it_stands() {
    let client = Client::start().await;
    let number = client.pull().await;
    let long = "ä".repeat(65_537);
    client.review(number, json!({"event": "COMMENT", "body": long})).await.refused(422, "too long");
    client.inline(number, json!({"path": "new.rs", "line": 1, "body": long})).await.refused(422, "too long");
    let path = format!("/issues/{number}/comments");
    client.call("POST", &path, Some(json!({"body": long}))).await.refused(422, "too long");
    let fits = "ä".repeat(65_536);
    client.call("POST", &path, Some(json!({"body": fits}))).await.ok();
    let _ = client.github.take_comments();
}

#[tokio::test]
async fn an_empty_comment_is_refused() {
    let client = Client::start().await;
    let number = client.pull().await;
    let path = format!("/issues/{number}/comments");
    client.call("POST", &path, Some(json!({"body": " "}))).await.refused(422, "blank");
}

// Reviews

#[tokio::test]
async fn one_comment_off_the_diff_sinks_the_whole_review() {
    let client = Client::start().await;
    let number = client.pull().await;
    let off = "line must be part of the diff";
    let good = json!({"path": "new.rs", "line": 1, "body": "good"});
    let far = json!({"path": "src/lib.rs", "line": 20, "body": "far from any hunk"});
    let both = json!({"event": "COMMENT", "body": "b", "comments": [good, far]});
    client.review(number, both).await.refused(422, off);
    // The deleted line 25 is on the left side only; the right side has no line 4 in the new file.
    client.inline(number, json!({"path": "src/lib.rs", "line": 10, "side": "LEFT", "body": "b"})).await.ok();
    client.inline(number, json!({"path": "new.rs", "line": 1, "side": "LEFT", "body": "b"})).await.refused(422, off);
    client.inline(number, json!({"path": "new.rs", "line": 4, "body": "b"})).await.refused(422, off);
    assert_eq!(client.github.take_comments().len(), 2, "only the good one");
}

#[tokio::test]
async fn a_path_outside_the_diff_is_refused() {
    let client = Client::start().await;
    let number = client.pull().await;
    client.inline(number, json!({"path": "README.md", "line": 1, "body": "b"})).await.refused(422, "not in the diff");
}

#[tokio::test]
async fn a_range_that_is_empty_reversed_or_across_hunks_is_refused() {
    let client = Client::start().await;
    let number = client.pull().await;
    let range = |start: u32, line: u32| json!({"path": "src/lib.rs", "start_line": start, "line": line, "body": "b"});
    client.inline(number, range(10, 10)).await.refused(422, "must precede");
    client.inline(number, range(11, 10)).await.refused(422, "must precede");
    client.inline(number, range(10, 25)).await.refused(422, "same hunk");
}

#[tokio::test]
async fn a_side_that_does_not_exist_is_refused() {
    let client = Client::start().await;
    let number = client.pull().await;
    client
        .inline(number, json!({"path": "new.rs", "line": 1, "side": "MIDDLE", "body": "b"}))
        .await
        .refused(422, "side");
}

#[tokio::test]
async fn a_commit_that_is_not_of_the_pull_request_is_refused_and_an_older_one_of_it_is_not() {
    let client = Client::start().await;
    let number = client.pull().await;
    let (base, old) = (client.github.pull(REPO, number).unwrap().base_sha, client.head(number));
    client.people.push_to_pull("mona", REPO, number, "more", Change::new().write("b.rs", "b\n")).await.unwrap();
    let review = |sha: &str| json!({"event": "COMMENT", "body": "b", "commit_id": sha});
    client.review(number, review(&base)).await.refused(422, "commit_id");
    client.review(number, review(&"0".repeat(40))).await.refused(422, "commit_id");
    client.review(number, review(&old)).await.ok();
    let _ = client.github.take_comments();
}

#[tokio::test]
async fn the_app_cannot_approve_its_own_pull_request() {
    let client = Client::start().await;
    client.people.push("mona", REPO, "own", "m", Change::new().write("own.rs", "x\n")).await.unwrap();
    let made = client.call("POST", "/pulls", Some(json!({"title": "t", "head": "own", "base": "main"}))).await.ok();
    let number = made["number"].as_u64().unwrap();
    let review = |event: &str| json!({"event": event, "body": "b"});
    client.review(number, review("APPROVE")).await.refused(422, "approve your own");
    client.review(number, review("REQUEST_CHANGES")).await.refused(422, "changes on your own");
    client.review(number, review("COMMENT")).await.ok();
    let _ = client.github.take_comments();
}

#[tokio::test]
async fn a_review_that_says_nothing_or_stays_pending_is_refused() {
    let client = Client::start().await;
    let number = client.pull().await;
    client.review(number, json!({"event": "COMMENT"})).await.refused(422, "blank");
    client.review(number, json!({"event": "REQUEST_CHANGES"})).await.refused(422, "blank");
    client.review(number, json!({"body": "b"})).await.refused(422, "event is missing");
    client.review(number, json!({"body": "b", "event": "PRAISE"})).await.refused(422, "invalid value");
}

#[tokio::test]
async fn suggestions_that_overlap_or_touch_unchanged_lines_are_refused() {
    let client = Client::start().await;
    let number = client.pull().await;
    let on = |start: u32, line: u32| {
        let mut comment = json!({"path": "src/lib.rs", "line": line, "body": "```suggestion\nx\n```"});
        if start < line {
            comment["start_line"] = json!(start);
        }
        comment
    };
    let both = json!({"event": "COMMENT", "body": "b", "comments": [on(10, 11), on(11, 11)]});
    client.review(number, both).await.refused(422, "overlap");
    client.inline(number, on(9, 10)).await.refused(422, "only cover lines that the pull request added");
    let left = json!({"path": "src/lib.rs", "line": 25, "side": "LEFT", "body": "```suggestion\nx\n```"});
    client.inline(number, left).await.refused(422, "only cover lines");
    let twice = json!({"path": "new.rs", "line": 1, "body": "```suggestion\na\n```\nor\n```suggestion\nb\n```"});
    client.inline(number, twice).await.refused(422, "overlap");
}

#[tokio::test]
async fn what_somebody_else_wrote_cannot_be_changed() {
    let client = Client::start().await;
    let number = client.pull().await;
    let comment = client.people.comment("mona", REPO, number, "mine").await.unwrap();
    let line = client.people.review_line("mona", REPO, number, "new.rs", 1, "mine").await.unwrap();
    let review = client.github.reviews(REPO, number)[0].id;
    let text = || Some(json!({"body": "yours"}));
    client.call("PATCH", &format!("/issues/comments/{comment}"), text()).await.refused(403, "not accessible");
    client.call("PATCH", &format!("/pulls/comments/{line}"), text()).await.refused(403, "not accessible");
    client.call("DELETE", &format!("/pulls/comments/{line}"), None).await.refused(403, "not accessible");
    client.call("PUT", &format!("/pulls/{number}/reviews/{review}"), text()).await.refused(403, "not accessible");
}

#[tokio::test]
async fn a_reply_to_a_reply_is_refused() {
    let client = Client::start().await;
    let number = client.pull().await;
    let line = client.people.review_line("mona", REPO, number, "new.rs", 1, "why?").await.unwrap();
    let reply = client.people.reply_in_thread("mona", REPO, line, "well?").await.unwrap();
    let path = format!("/pulls/{number}/comments/{reply}/replies");
    client.call("POST", &path, Some(json!({"body": "b"}))).await.refused(422, "replies to replies");
}

// Pull requests and checks

#[tokio::test]
async fn a_second_open_pull_request_for_a_branch_is_refused() {
    let client = Client::start().await;
    client.pull().await;
    let again = json!({"title": "t", "head": "work", "base": "main"});
    client.call("POST", "/pulls", Some(again)).await.refused(422, "A pull request already exists for octo:work.");
}

#[tokio::test]
async fn a_pull_request_without_commits_or_branch_is_refused() {
    let client = Client::start().await;
    let open = |head: &str| Some(json!({"title": "t", "head": head, "base": "main"}));
    client.call("POST", "/pulls", open("main")).await.refused(422, "No commits between");
    client.call("POST", "/pulls", open("nowhere")).await.refused(422, "head is invalid");
}

#[tokio::test]
async fn a_check_run_that_contradicts_itself_is_refused() {
    let client = Client::start().await;
    let number = client.pull().await;
    let sha = client.head(number);
    let note = |start: u32, end: u32| json!({"path": "new.rs", "start_line": start, "end_line": end, "annotation_level": "notice", "message": "m"});
    let output = |notes: Vec<Value>| json!({"output": {"title": "t", "summary": "s", "annotations": notes}});
    for (change, part) in [
        (json!({"conclusion": "splendid"}), "conclusion `splendid`"),
        (json!({"status": "done"}), "status `done`"),
        (json!({"status": "completed"}), "needs a conclusion"),
        (json!({"status": "in_progress", "conclusion": "success"}), "needs the status"),
        (json!({"started_at": "today"}), "ISO 8601"),
        (output((0..51).map(|_| note(1, 1)).collect()), "at most 50"),
        (output(vec![note(3, 2)]), "end_line precedes"),
        (json!({"output": {"title": "t"}}), "summary is missing"),
        (json!({"output": {"title": "t", "summary": "x".repeat(65_536)}}), "maximum length"),
    ] {
        let mut check = json!({"name": "n", "head_sha": sha});
        for (key, value) in change.as_object().unwrap() {
            check[key] = value.clone();
        }
        client.call("POST", "/check-runs", Some(check)).await.refused(422, part);
    }
    let unknown = json!({"name": "n", "head_sha": "0".repeat(40)});
    client.call("POST", "/check-runs", Some(unknown)).await.refused(422, "No commit found");
}

#[tokio::test]
async fn another_apps_check_run_cannot_be_changed() {
    let client = Client::start().await;
    let number = client.pull().await;
    let run = client.people.foreign_check(REPO, &client.head(number), "ci").await.unwrap();
    let change = Some(json!({"status": "completed", "conclusion": "success"}));
    client
        .call("PATCH", &format!("/check-runs/{run}"), change)
        .await
        .refused(403, "only be modified by the GitHub App");
}

#[tokio::test]
async fn writes_that_follow_too_closely_are_refused() {
    let client = Client::with(|options| options.min_write_pace = Some(Duration::from_secs(30))).await;
    let number = client.pull().await;
    let path = format!("/issues/{number}/comments");
    client.call("POST", &path, Some(json!({"body": "one"}))).await.ok();
    let second = client.call("POST", &path, Some(json!({"body": "two"}))).await;
    second.refused(403, "secondary rate limit");
    let wait: u64 = second.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    client.call("GET", &path, None).await.ok();
    let _ = client.github.take_comments();
}

#[tokio::test]
async fn the_hours_requests_are_counted_and_run_out() {
    let clock = Clock::manual(Clock::system().now());
    let hands = clock.clone();
    let client = Client::with(|options| {
        options.clock = clock;
        options.requests_an_hour = 20;
    })
    .await;
    let jwt = client.jwt(|_| {});
    for left in (0..20).rev() {
        let answer = client.send("GET", "/app", Some(&jwt), None).await;
        assert_eq!(answer.headers["x-ratelimit-remaining"].to_str().unwrap(), left.to_string());
    }
    client.send("GET", "/app", Some(&jwt), None).await.refused(403, "API rate limit exceeded");
    hands.advance(3_600_000);
    let later = client.jwt(|claims| {
        claims["iat"] = json!(claims["iat"].as_i64().unwrap() + 3600);
        claims["exp"] = json!(claims["exp"].as_i64().unwrap() + 3600);
    });
    client.send("GET", "/app", Some(&later), None).await.ok();
}

#[tokio::test]
async fn a_suspended_installation_is_refused() {
    let client = Client::start().await;
    let token = client.token(json!({})).await;
    client.people.suspend("octo").await;
    client.mint(json!({})).await.refused(403, "suspended");
    client.send("GET", &format!("/repos/{REPO}"), Some(&token), None).await.refused(403, "suspended");
    client.people.unsuspend("octo").await;
    client.send("GET", &format!("/repos/{REPO}"), Some(&token), None).await.ok();
}

#[tokio::test]
async fn every_refusal_is_on_record() {
    let client = Client::start().await;
    client.call("GET", "/pulls/99", None).await.refused(404, "Not Found");
    let refused = client.github.refusals();
    assert_eq!((refused.len(), refused[0].status, refused[0].auth.as_str()), (1, 404, "installation"));
    let gone = client.people.open_pull(REPO, OpenPull::new("mona", "none", "t", Change::new())).await;
    assert!(gone.unwrap_err().to_string().contains("head is invalid"));
}
