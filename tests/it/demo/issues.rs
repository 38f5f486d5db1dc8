//! Issues: listed, labelled, locked and talked about, with their history.

use octoswarm::demo::{Change, OpenPull};
use octoswarm::domain::clock::Clock;
use serde_json::{Value, json};

use super::webhooks::{events, receiver};
use super::{Client, REPO};

fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|issue| issue["number"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn issues_and_pull_requests_are_listed_by_label_state_and_time() {
    let clock = Clock::manual(Clock::system().now());
    let hands = clock.clone();
    let client = Client::with(|options| {
        options.manifest.default_permissions.insert("issues".to_owned(), octoswarm::demo::Level::Write);
        options.clock = clock;
    })
    .await;
    let people = &client.people;
    let first = people.open_issue("mona", REPO, "First", "one").await.unwrap();
    hands.advance(5_000);
    let pull = client.pull().await;
    hands.advance(5_000);
    let third = people.open_issue("mona", REPO, "Third", "").await.unwrap();
    for (number, label) in [(first, "bug"), (pull, "bug"), (third, "Bug"), (third, "help wanted")] {
        people.label("mona", REPO, number, label).await.unwrap();
    }
    let token = client.token(json!({})).await;
    let list = async |query: &str| {
        let path = format!("/repos/{REPO}/issues{query}");
        client.send("GET", &path, Some(&token), None).await.ok()
    };
    assert_eq!(numbers(&list("").await), [third, pull, first]);
    assert_eq!(numbers(&list("?labels=BUG&direction=asc").await), [first, pull, third]);
    assert_eq!(numbers(&list("?labels=bug,help%20wanted").await), [third]);
    let all = list("").await;
    assert!(all[1]["pull_request"]["url"].as_str().unwrap().ends_with(&format!("/pulls/{pull}")));
    assert_eq!((&all[0]["pull_request"], &all[0]["body"]), (&Value::Null, &Value::Null));
    hands.advance(5_000);
    people.close_issue("mona", REPO, third).await.unwrap();
    let closed = list("?state=closed").await;
    assert_eq!(numbers(&closed), [third]);
    let since = closed[0]["updated_at"].as_str().unwrap();
    assert_eq!(numbers(&list(&format!("?state=all&since={since}")).await), [third]);
    assert_eq!(numbers(&list("?state=all&sort=updated").await)[0], third);
    assert_eq!(numbers(&list("?per_page=1&page=2&direction=asc").await), [pull]);
    let reader = client.token(json!({"permissions": {"pull_requests": "write"}})).await;
    client.send("GET", &format!("/repos/{REPO}/issues"), Some(&reader), None).await.refused(403, "not accessible");
    for (query, part) in
        [("?state=odd", "state is one of"), ("?since=today", "ISO 8601"), ("?assignee=x", "unknown query")]
    {
        client.call("GET", &format!("/issues{query}"), None).await.refused(422, part);
    }
}

#[tokio::test]
async fn the_history_tells_who_labelled_and_who_closed() {
    let client = Client::full().await;
    let people = &client.people;
    let number = people.open_issue("mona", REPO, "Broken", "it is").await.unwrap();
    people.label("ada", REPO, number, "swarm").await.unwrap();
    people.unlabel("ada", REPO, number, "swarm").await.unwrap();
    people.label("eve", REPO, number, "swarm").await.unwrap();
    people.close_issue("mona", REPO, number).await.unwrap();
    people.reopen_issue("ada", REPO, number).await.unwrap();
    let listed = client.call("GET", &format!("/issues/{number}/events"), None).await.ok();
    let told: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["event"].as_str().unwrap(), e["actor"]["login"].as_str().unwrap(), e["label"]["name"].as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("labeled", "ada", Some("swarm")),
            ("unlabeled", "ada", Some("swarm")),
            ("labeled", "eve", Some("swarm")),
            ("closed", "mona", None),
            ("reopened", "ada", None),
        ]
    );
    assert_eq!(client.github.issue_events(REPO, number).len(), 5);
    assert_eq!(client.github.labels(REPO, number), ["swarm"]);
    let issue = client.call("GET", &format!("/issues/{number}"), None).await.ok();
    assert_eq!((&issue["state"], &issue["state_reason"]), (&json!("open"), &json!("reopened")));
    people.unlabel("ada", REPO, number, "swarm").await.unwrap();
    assert!(people.unlabel("ada", REPO, number, "swarm").await.is_err());
}

#[tokio::test]
async fn labels_are_found_made_once_and_checked() {
    let client = Client::full().await;
    assert_eq!(client.call("GET", "/labels/Good%20First%20Issue", None).await.ok()["name"], "good first issue");
    client.call("GET", "/labels/swarm", None).await.refused(404, "Not Found");
    let made =
        client.call("POST", "/labels", Some(json!({"name": "swarm", "color": "00ff00", "description": "d"}))).await;
    assert_eq!((made.status, &made.body["color"]), (201, &json!("00ff00")));
    client.call("POST", "/labels", Some(json!({"name": "SWARM"}))).await.refused(422, "already_exists");
    client.call("POST", "/labels", Some(json!({"name": "x", "color": "#00ff00"}))).await.refused(422, "color");
    client.call("POST", "/labels", Some(json!({"name": "x", "colour": "00ff00"}))).await.refused(422, "unknown field");
    client.call("POST", "/labels", Some(json!({"name": " "}))).await.refused(422, "blank");
    client
        .call("POST", "/labels", Some(json!({"name": "x", "description": "d".repeat(101)})))
        .await
        .refused(422, "too long");
    assert_eq!(client.call("GET", "/labels?per_page=100", None).await.ok().as_array().unwrap().len(), 10);
    let blind = client.token(json!({"permissions": {"contents": "write"}})).await;
    client.send("GET", &format!("/repos/{REPO}/labels/bug"), Some(&blind), None).await.refused(403, "not accessible");
}

#[tokio::test]
async fn a_second_identical_reaction_is_the_first_one() {
    let client = Client::full().await;
    let number = client.people.open_issue("mona", REPO, "Broken", "it is").await.unwrap();
    let comment = client.people.comment("mona", REPO, number, "please").await.unwrap();
    for path in [format!("/issues/{number}/reactions"), format!("/issues/comments/{comment}/reactions")] {
        let first = client.call("POST", &path, Some(json!({"content": "eyes"}))).await;
        let second = client.call("POST", &path, Some(json!({"content": "eyes"}))).await;
        assert_eq!((first.status, second.status), (201, 200));
        assert_eq!(first.body["id"], second.body["id"]);
        client.call("POST", &path, Some(json!({"content": "shrug"}))).await.refused(422, "not a reaction");
    }
    assert_eq!(client.github.reactions_on_issue(REPO, number)[0].content, "eyes");
    assert_eq!(client.github.reactions_on_comment(REPO, comment)[0].author, "swarm[bot]");
    let shown = client.call("GET", &format!("/issues/{number}"), None).await.ok();
    assert_eq!((&shown["reactions"]["eyes"], &shown["reactions"]["total_count"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn a_locked_conversation_takes_comments_of_writers_only() {
    let client = Client::full().await;
    let people = &client.people;
    let number = client.pull().await;
    people.add_collaborator(REPO, "ada", "write").await.unwrap();
    people.lock_issue("ada", REPO, number).await.unwrap();
    assert!(people.comment("mona", REPO, number, "but").await.unwrap_err().to_string().contains("locked"));
    assert!(people.comment_as_bot("helper[bot]", REPO, number, "but").await.is_err());
    people.comment("ada", REPO, number, "done").await.unwrap();
    let path = format!("/repos/{REPO}/issues/{number}/comments");
    let narrow = client.token(json!({"permissions": {"pull_requests": "write"}})).await;
    client.send("POST", &path, Some(&narrow), Some(json!({"body": "b"}))).await.refused(403, "issue is locked");
    let wide = client.token(json!({"permissions": {"issues": "write"}})).await;
    client.send("POST", &path, Some(&wide), Some(json!({"body": "b"}))).await.ok();
    assert_eq!(client.call("GET", &format!("/issues/{number}"), None).await.ok()["locked"], true);
    people.unlock_issue("ada", REPO, number).await.unwrap();
    people.comment("mona", REPO, number, "thanks").await.unwrap();
    assert_eq!(client.github.read_comments(REPO, number).len(), 3);
}

#[tokio::test]
async fn issue_deliveries_are_complete() {
    let client = Client::full().await;
    let people = &client.people;
    let pull = client.pull().await;
    let (url, seen) = receiver(202).await;
    client.github.set_webhook_url(&url);
    let number = people.open_issue("mona", REPO, "Broken", "it is").await.unwrap();
    people.label("ada", REPO, number, "swarm").await.unwrap();
    people.unlabel("ada", REPO, number, "swarm").await.unwrap();
    people.close_issue("ada", REPO, number).await.unwrap();
    people.reopen_issue("ada", REPO, number).await.unwrap();
    let comment = people.comment("mona", REPO, number, "before").await.unwrap();
    people.edit_comment("mona", REPO, comment, "after").await.unwrap();
    people.delete_comment("mona", REPO, comment).await.unwrap();
    people.comment_as_bot("helper[bot]", REPO, pull, "beep").await.unwrap();
    client.github.deliveries_settled().await;
    assert_eq!(
        events(&client),
        [
            "issues.opened",
            "issues.labeled",
            "issues.unlabeled",
            "issues.closed",
            "issues.reopened",
            "issue_comment.created",
            "issue_comment.edited",
            "issue_comment.deleted",
            "issue_comment.created",
        ]
    );
    let bodies: Vec<Value> =
        seen.lock().unwrap().iter().map(|(_, body)| serde_json::from_slice(body).unwrap()).collect();
    for body in &bodies {
        assert_eq!(body["installation"]["id"], client.github.installation_id());
        assert_eq!(body["repository"]["default_branch"], "main");
        assert!(body["sender"]["id"].as_u64().unwrap() > 0 && body["issue"]["updated_at"].is_string());
    }
    assert_eq!((&bodies[1]["label"]["name"], &bodies[1]["sender"]["login"]), (&json!("swarm"), &json!("ada")));
    assert_eq!(bodies[1]["issue"]["labels"][0]["name"], "swarm");
    assert_eq!(bodies[2]["issue"]["labels"], json!([]));
    assert_eq!(bodies[3]["issue"]["closed_by"]["login"], "ada");
    assert_eq!(
        (&bodies[6]["changes"]["body"]["from"], &bodies[6]["comment"]["body"]),
        (&json!("before"), &json!("after"))
    );
    assert_eq!(bodies[5]["issue"]["pull_request"], Value::Null);
    assert!(bodies[8]["issue"]["pull_request"]["url"].is_string());
    assert_eq!((&bodies[8]["comment"]["user"]["type"], &bodies[8]["sender"]["type"]), (&json!("Bot"), &json!("Bot")));
}

#[tokio::test]
async fn comments_are_changed_by_their_author_and_by_writers() {
    let client = Client::full().await;
    let people = &client.people;
    let number = people.open_issue("mona", REPO, "Broken", "it is").await.unwrap();
    let comment = people.comment("mona", REPO, number, "mine").await.unwrap();
    assert!(people.edit_comment("eve", REPO, comment, "hers").await.is_err());
    assert!(people.delete_comment("eve", REPO, comment).await.is_err());
    people.add_collaborator(REPO, "ada", "maintain").await.unwrap();
    people.edit_comment("ada", REPO, comment, "ours").await.unwrap();
    assert_eq!(client.github.comments(REPO, number)[0].body, "ours");
}

#[tokio::test]
async fn what_the_app_says_on_an_issue_waits_to_be_read() {
    let client = Client::full().await;
    let number = client.people.open_issue("mona", REPO, "Broken", "it is").await.unwrap();
    let made = client.call("POST", &format!("/issues/{number}/comments"), Some(json!({"body": "on it"}))).await.ok();
    assert_eq!((client.github.unread()[0].kind.as_str(), client.github.unread()[0].number), ("comment", number));
    client.github.read_comments(REPO, number);
    assert!(client.github.unread().is_empty());
    let path = format!("/issues/comments/{}", made["id"]);
    client.call("PATCH", &path, Some(json!({"body": "done"}))).await.ok();
    assert_eq!(client.github.unread()[0].body, "done");
    client.call("PATCH", &path, Some(json!({"body": " "}))).await.refused(422, "blank");
    client.github.read_comments(REPO, number);
}

#[tokio::test]
async fn comments_since_a_moment_are_those_written_later() {
    let clock = Clock::manual(Clock::system().now());
    let hands = clock.clone();
    let client = Client::with(|options| options.clock = clock).await;
    let number = client.pull().await;
    client.people.comment("mona", REPO, number, "early").await.unwrap();
    hands.advance(10_000);
    client.people.comment("mona", REPO, number, "late").await.unwrap();
    let all = client.call("GET", &format!("/issues/{number}/comments"), None).await.ok();
    let since = all[1]["created_at"].as_str().unwrap();
    let later = client.call("GET", &format!("/issues/{number}/comments?since={since}"), None).await.ok();
    assert_eq!((later.as_array().unwrap().len(), &later[0]["body"]), (1, &json!("late")));
    client.call("GET", &format!("/issues/{number}/comments?sort=created"), None).await.refused(422, "unknown query");
}

#[tokio::test]
async fn a_merge_closes_the_issue_that_the_pull_request_names() {
    let client = Client::full().await;
    let people = &client.people;
    let issue = people.open_issue("mona", REPO, "Broken", "it is").await.unwrap();
    let mut open = OpenPull::new("ada", "fix", "Fix", Change::new().write("fix.rs", "f\n"));
    open.body = format!("Fixes #{issue}");
    let number = people.open_pull(REPO, open).await.unwrap();
    let (url, _) = receiver(202).await;
    client.github.set_webhook_url(&url);
    let sha = people.merge_pull("ada", REPO, number).await.unwrap();
    client.github.deliveries_settled().await;
    assert_eq!(events(&client)[..2], ["pull_request.closed", "issues.closed"]);
    assert_eq!(client.github.issue(REPO, issue).unwrap().state, "closed");
    assert_eq!(client.github.issue_events(REPO, issue)[0].commit_id, Some(sha.clone()));
    assert_eq!(client.github.branches(REPO)["main"], sha);
    let pull = client.call("GET", &format!("/pulls/{number}"), None).await.ok();
    assert_eq!((&pull["merged"], pull["merged_at"].is_string()), (&json!(true), true));
    assert!(people.reopen_pull("ada", REPO, number).await.is_err());
}
