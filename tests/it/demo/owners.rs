//! What owners do with repositories, roles and the installation.

use octoswarm::demo::{Change, Fault, FaultKind};
use octoswarm::domain::clock::Clock;
use serde_json::{Value, json};

use super::webhooks::{events, receiver};
use super::{Client, REPO};

#[tokio::test]
async fn a_former_name_answers_with_the_number_of_the_repository() {
    let client = Client::full().await;
    let id = client.github.repos()[0].id;
    client.people.rename_repo("octo", REPO, "abacus").await.unwrap();
    let token = client.token(json!({})).await;
    let moved = client.send("GET", &format!("/repos/{REPO}/pulls?state=all&per_page=3"), Some(&token), None).await;
    moved.refused(301, "Moved Permanently");
    let to = moved.headers["location"].to_str().unwrap().to_owned();
    assert_eq!(to, format!("{}/repositories/{id}/pulls?per_page=3&state=all", client.github.api_url()));
    assert_eq!(client.send("GET", &to, Some(&token), None).await.ok(), json!([]));
    let write = client.send("POST", &format!("/repos/{REPO}/issues/1/comments"), Some(&token), Some(json!({}))).await;
    assert_eq!(write.status, 307);
    let there = client.send("GET", &format!("/repositories/{id}"), Some(&token), None).await.ok();
    assert_eq!(there["full_name"], "octo/abacus");
    let query = "query { repository(owner: \"octo\", name: \"calc\") { nameWithOwner } }";
    assert_eq!(client.graphql(&token, query, json!({})).await["data"]["repository"]["nameWithOwner"], "octo/abacus");
    // A new repository takes the name over.
    client.people.create_repo(REPO, Change::new().write("a", "a")).await.unwrap();
    assert_ne!(client.send("GET", &format!("/repos/{REPO}"), Some(&token), None).await.ok()["id"], id);
    client.send("GET", "/repos/octo/never", Some(&token), None).await.refused(404, "Not Found");
}

#[tokio::test]
async fn an_archived_repository_is_read_and_not_written() {
    let client = Client::full().await;
    let number = client.pull().await;
    client.people.archive_repo("octo", REPO).await.unwrap();
    let path = format!("/issues/{number}/comments");
    client.call("POST", &path, Some(json!({"body": "b"}))).await.refused(403, "archived so is read-only");
    client.call("POST", "/git/blobs", Some(json!({"content": "b"}))).await.refused(403, "archived so is read-only");
    assert_eq!(client.call("GET", "", None).await.ok()["archived"], true);
}

#[tokio::test]
async fn a_repository_is_described() {
    let client = Client::full().await;
    let bare = client.call("GET", "", None).await.ok();
    assert_eq!(
        (&bare["language"], &bare["license"], &bare["stargazers_count"]),
        (&Value::Null, &Value::Null, &json!(0))
    );
    client.people.describe_repo(REPO, Some("Rust"), 42, Some("MIT")).await.unwrap();
    let told = client.call("GET", "", None).await.ok();
    assert_eq!((&told["language"], &told["license"]["spdx_id"]), (&json!("Rust"), &json!("MIT")));
    assert_eq!(told["stargazers_count"], 42);
}

#[tokio::test]
async fn roles_are_told_with_the_permission_they_amount_to() {
    let client = Client::full().await;
    let people = &client.people;
    people.create_role(REPO, "shepherd", "write").await.unwrap();
    people.create_role(REPO, "watcher", "triage").await.unwrap();
    for (login, role, permission, push) in [
        ("ada", "shepherd", "write", true),
        ("ben", "watcher", "read", false),
        ("cy", "maintain", "write", true),
        ("di", "admin", "admin", true),
        ("ed", "triage", "read", false),
    ] {
        people.add_collaborator(REPO, login, role).await.unwrap();
        let told = client.call("GET", &format!("/collaborators/{login}/permission"), None).await.ok();
        assert_eq!((&told["role_name"], &told["permission"]), (&json!(role), &json!(permission)), "{login}");
        assert_eq!(told["user"]["permissions"]["push"], push);
        assert!(told["user"]["id"].as_u64().unwrap() > 0);
    }
    people.comment("eve", REPO, client.pull().await, "hi").await.unwrap();
    assert_eq!(client.call("GET", "/collaborators/eve/permission", None).await.ok()["permission"], "read");
    people.make_private(REPO).await.unwrap();
    assert_eq!(client.call("GET", "/collaborators/eve/permission", None).await.ok()["permission"], "none");
    client.call("GET", "/collaborators/nobody/permission", None).await.refused(404, "is not a user");
    client.call("GET", "/collaborators/swarm%5Bbot%5D/permission", None).await.refused(404, "is not a user");
    assert!(people.add_collaborator(REPO, "ada", "king").await.unwrap_err().to_string().contains("no role `king`"));
}

#[tokio::test]
async fn the_apps_bot_is_a_user_with_a_number() {
    let client = Client::full().await;
    let token = client.token(json!({})).await;
    let bot = client.send("GET", "/users/swarm%5Bbot%5D", Some(&token), None).await.ok();
    assert_eq!((&bot["login"], &bot["type"]), (&json!("swarm[bot]"), &json!("Bot")));
    let number = client.pull().await;
    let made = client.call("POST", &format!("/issues/{number}/comments"), Some(json!({"body": "b"}))).await.ok();
    assert_eq!(made["user"]["id"], bot["id"]);
    client.github.read_comments(REPO, number);
    client.send("GET", "/users/nobody", Some(&token), None).await.refused(404, "Not Found");
}

#[tokio::test]
async fn repositories_come_and_go_with_the_installation() {
    let client = Client::full().await;
    let (url, seen) = receiver(202).await;
    client.github.set_webhook_url(&url);
    client.people.create_repo("octo/other", Change::new().write("a", "a")).await.unwrap();
    let token = client.token(json!({"permissions": {"metadata": "read"}})).await;
    let names = async || {
        let all = client.send("GET", "/installation/repositories?per_page=100", Some(&token), None).await.ok();
        let names = all["repositories"].as_array().unwrap().iter().map(|r| r["full_name"].as_str().unwrap().to_owned());
        (all["total_count"].as_u64().unwrap(), names.collect::<Vec<_>>())
    };
    assert_eq!(names().await, (2, vec!["octo/calc".to_owned(), "octo/other".to_owned()]));
    client.people.remove_repo_from_installation("octo", REPO).await.unwrap();
    assert_eq!(names().await, (1, vec!["octo/other".to_owned()]));
    client.send("GET", &format!("/repos/{REPO}"), Some(&token), None).await.refused(404, "Not Found");
    client.mint(json!({"repositories": ["calc"]})).await.refused(422, "not accessible");
    client.people.open_issue("mona", REPO, "unheard", "").await.unwrap();
    client.people.add_repo_to_installation("octo", REPO).await.unwrap();
    assert_eq!(names().await.0, 2);
    client.github.deliveries_settled().await;
    let told = ["added", "removed", "added"].map(|action| format!("installation_repositories.{action}"));
    assert_eq!(events(&client), told);
    let removed: Value = serde_json::from_slice(&seen.lock().unwrap()[1].1).unwrap();
    assert_eq!(removed["repositories_removed"][0]["full_name"], REPO);
    assert_eq!(removed["installation"]["id"], client.github.installation_id());
}

#[tokio::test]
async fn a_suspended_installation_is_told_and_then_hears_nothing() {
    let client = Client::full().await;
    let number = client.pull().await;
    let (url, _) = receiver(202).await;
    client.github.set_webhook_url(&url);
    let token = client.token(json!({})).await;
    let run = json!({"name": "swarm", "head_sha": client.head(number)});
    let run = client.call("POST", "/check-runs", Some(run)).await.ok()["id"].as_u64().unwrap();
    client.github.deliveries_settled().await;
    let before = events(&client).len();
    client.people.suspend("octo").await;
    client.people.comment("mona", REPO, number, "anybody?").await.unwrap();
    client.people.rerequest_check("mona", REPO, run).await.unwrap();
    let query = json!({"query": "query { rateLimit { cost } }"});
    client
        .send("POST", "/graphql", Some(&token), Some(query))
        .await
        .refused(403, "This installation has been suspended");
    let shown = client.as_app("GET", "/app/installations", None).await.ok();
    assert!(shown[0]["suspended_at"].is_string());
    client.people.unsuspend("octo").await;
    client.github.deliveries_settled().await;
    assert_eq!(events(&client)[before..], ["installation.suspend", "installation.unsuspend"]);
    let shown = client.as_app("GET", "/app/installations?per_page=100", None).await.ok();
    assert_eq!((&shown[0]["suspended_at"], &shown[0]["account"]["login"]), (&Value::Null, &json!("octo")));
}

#[tokio::test]
async fn deliveries_are_listed_by_cursor_and_forgotten_after_three_days() {
    let clock = Clock::manual(Clock::system().now());
    let hands = clock.clone();
    let client = Client::with(|options| {
        options.clock = clock;
        options.manifest.default_events = vec!["issue_comment".to_owned()];
    })
    .await;
    let number = client.pull().await;
    let (good, _) = receiver(202).await;
    for n in 0..5 {
        let url = if n == 3 { "http://127.0.0.1:1/webhook" } else { good.as_str() };
        client.github.set_webhook_url(url);
        client.people.comment("mona", REPO, number, &format!("{n}")).await.unwrap();
        client.github.deliveries_settled().await;
    }
    let mut found = Vec::new();
    let mut path = "/app/hook/deliveries?per_page=2".to_owned();
    loop {
        let page = client.as_app("GET", &path, None).await;
        found.extend(page.body.as_array().unwrap().iter().map(|d| d["id"].as_u64().unwrap()));
        let Some(link) = page.headers.get("link") else { break };
        let link = link.to_str().unwrap();
        assert!(link.ends_with("rel=\"next\""), "{link}");
        path = link.split(['<', '>']).nth(1).unwrap().to_owned();
        assert!(path.starts_with(&client.github.api_url()));
    }
    assert_eq!(found.len(), 5);
    assert!(found.is_sorted_by(|a, b| a > b), "newest first: {found:?}");
    let failed = client.as_app("GET", "/app/hook/deliveries?status=failure", None).await.ok();
    assert_eq!((failed.as_array().unwrap().len(), &failed[0]["status_code"]), (1, &json!(502)));
    assert_eq!(
        client.as_app("GET", "/app/hook/deliveries?status=success", None).await.ok().as_array().unwrap().len(),
        4
    );
    client.as_app("GET", "/app/hook/deliveries?status=odd", None).await.refused(422, "success or failure");
    client.as_app("GET", "/app/hook/deliveries?cursor=odd", None).await.refused(422, "cursor");
    client.as_app("GET", "/app/hook/deliveries?page=2", None).await.refused(422, "unknown query");
    let lost = failed[0]["id"].as_u64().unwrap();
    let full = client.as_app("GET", &format!("/app/hook/deliveries/{lost}"), None).await.ok();
    assert_eq!(full["request"]["payload"]["comment"]["body"], "3");
    assert_eq!(full["request"]["headers"]["X-GitHub-Event"], "issue_comment");
    hands.advance(3 * 24 * 3_600_000 + 1);
    let later = |claims: &mut Value| {
        for key in ["iat", "exp"] {
            claims[key] = json!(claims[key].as_i64().unwrap() + 3 * 24 * 3600);
        }
    };
    let jwt = client.jwt(later);
    assert_eq!(client.send("GET", "/app/hook/deliveries", Some(&jwt), None).await.ok(), json!([]));
    let path = format!("/app/hook/deliveries/{lost}");
    client.send("GET", &path, Some(&jwt), None).await.refused(404, "Not Found");
    client.send("POST", &format!("{path}/attempts"), Some(&jwt), None).await.refused(404, "Not Found");
}

#[tokio::test]
async fn misfortune_strikes_every_new_write_before_or_after_its_effect() {
    let client = Client::full().await;
    let number = client.people.open_issue("mona", REPO, "Broken", "").await.unwrap();
    let head = client.github.branches(REPO)["main"].clone();
    let branch = |name: &str| Some(json!({"ref": format!("refs/heads/{name}"), "sha": head}));
    client.github.fail_next(Fault::status("POST", "/git/refs", 502));
    client.github.fail_next(Fault::once("POST", "/git/refs", FaultKind::RejectAfterEffect { status: 502 }));
    client.github.fail_next(Fault::secondary_limit("POST", "/reactions", 9));
    client.github.fail_next(Fault::once("POST", "/reactions", FaultKind::RejectAfterEffect { status: 500 }));
    assert_eq!(client.call("POST", "/git/refs", branch("one")).await.status, 502);
    assert_eq!(client.call("POST", "/git/refs", branch("two")).await.status, 502);
    let branches: Vec<String> = client.github.branches(REPO).into_keys().collect();
    assert_eq!(branches, ["main", "two"]);
    let path = format!("/issues/{number}/reactions");
    let eyes = || Some(json!({"content": "eyes"}));
    assert_eq!(client.call("POST", &path, eyes()).await.headers["retry-after"], "9");
    assert!(client.github.reactions_on_issue(REPO, number).is_empty());
    assert_eq!(client.call("POST", &path, eyes()).await.status, 500);
    assert_eq!(client.github.reactions_on_issue(REPO, number).len(), 1);
}
