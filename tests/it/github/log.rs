//! What the App asks as itself: installations, the delivery log, its bot account.

use super::*;

fn entry(id: u64, guid: &str, code: Value) -> Value {
    json!({
        "id": id, "guid": guid, "delivered_at": "2027-01-15T08:00:00Z", "redelivery": id % 2 == 1, "duration": 0.1,
        "status": "whatever", "status_code": code, "event": "issues", "action": null, "installation_id": 11,
        "repository_id": null, "throttled_at": null,
    })
}

#[tokio::test]
async fn the_delivery_log_is_read_page_by_page_with_the_apps_own_jwt() {
    let world = world(|seen, _| {
        assert_eq!(seen.path, "/api/v3/app/hook/deliveries");
        let next = format!("<{}?per_page=100&cursor=v1_a%2Bb%3D>; rel=\"next\"", seen.path);
        if seen.query == "per_page=100" {
            let mut held_back = entry(10, "g-10", json!(0));
            held_back["delivered_at"] = Value::Null;
            return refuse(
                200,
                &[("link", &next)],
                json!([
                    held_back,
                    entry(9, "g-9", json!(202)),
                    entry(8, "not a guid!", json!(200)),
                    entry(7, "g-9", json!(502))
                ]),
            );
        }
        assert_eq!(seen.query, "per_page=100&cursor=v1_a%2Bb%3D");
        ok(json!([
            entry(6, "g-6", json!(0)),
            entry(5, "g-5", Value::Null),
            entry(4, "g-4", json!(302)),
            entry(u64::MAX, "g-3", json!(200))
        ]))
    })
    .await;
    let first = world.github.deliveries(None).await.unwrap();
    let second = world.github.deliveries(first.next.as_deref()).await.unwrap();
    assert_eq!((first.next.as_deref(), second.next.as_deref()), (Some("v1_a+b="), None));
    let all: Vec<_> = first.deliveries.iter().chain(&second.deliveries).collect();
    let told: Vec<_> = all.iter().map(|d| (d.guid.as_str(), d.status_code, d.ok)).collect();
    assert_eq!(
        told,
        [
            ("g-9", 202, true),
            ("g-9", 502, false),
            ("g-6", 0, false),
            ("g-5", 0, false),
            ("g-4", 302, false),
            ("g-3", 200, true)
        ]
    );
    assert_eq!(
        (all[0].id, all[0].event.as_str(), all[0].redelivery, all[0].delivered_at),
        (9, "issues", true, 1_800_000_000_000)
    );
    assert_eq!(
        (all[0].installation, all[0].repository, all[0].action.as_deref()),
        (Some(InstallationId(11)), None, None)
    );
    assert_eq!(world.stub.mints(), 0);
    assert!(world.stub.seen().iter().all(|seen| seen.token.starts_with("eyJ")));
}

#[tokio::test]
async fn the_delivery_logs_next_page_never_leads_away_or_in_a_circle() {
    let foreign = world(|_, _| {
        refuse(200, &[("link", "<https://evil.example/app/hook/deliveries?cursor=x>; rel=\"next\"")], json!([]))
    })
    .await;
    assert!(matches!(foreign.github.deliveries(None).await, Err(Error::Redirected { .. })));
    assert_eq!(foreign.stub.seen().len(), 1);
    let circle =
        world(|seen, _| refuse(200, &[("link", &format!("<{}?cursor=c>; rel=\"next\"", seen.path))], json!([]))).await;
    assert_eq!(circle.github.deliveries(None).await.unwrap().next.as_deref(), Some("c"));
    assert_eq!(circle.github.deliveries(Some("c")).await.unwrap().next, None);
    let odd =
        world(|seen, _| refuse(200, &[("link", &format!("<{}?page=2>; rel=\"next\"", seen.path))], json!([]))).await;
    assert_eq!(odd.github.deliveries(None).await.unwrap().next, None);
}

#[tokio::test]
async fn what_was_delivered_is_read_and_asked_for_again_once() {
    let payload = json!({ "action": "labeled", "issue": { "title": "ü \u{1f980}", "number": 9 } });
    let sent = payload.clone();
    let world = world(move |seen, _| match seen.path.strip_prefix("/api/v3/app/hook/deliveries/").unwrap() {
        "9" => {
            let mut whole = entry(9, "g-9", json!(502));
            whole["request"] =
                json!({ "headers": { "X-GitHub-Event": "issues", "X-GitHub-Hook-ID": 5 }, "payload": sent });
            whole["response"] = json!({ "headers": null, "payload": null });
            ok(whole)
        }
        "8" => {
            let mut pruned = entry(8, "g-8", json!(502));
            pruned["request"] = json!({ "headers": null, "payload": null });
            ok(pruned)
        }
        "9/attempts" => refuse(202, &[], json!({})),
        "10/attempts" => StatusCode::BAD_GATEWAY.into_response(),
        _ => refuse(404, &[], json!({ "message": "Not Found" })),
    })
    .await;
    let content = world.github.delivery(9).await.unwrap();
    assert_eq!((content.guid.as_str(), content.event.as_str()), ("g-9", "issues"));
    assert_eq!(
        (content.headers["x-github-event"].as_str(), content.headers["x-github-hook-id"].as_str()),
        ("issues", "5")
    );
    assert_eq!(serde_json::from_slice::<Value>(&content.payload).unwrap(), payload);
    for gone in [7, 8] {
        assert!(matches!(world.github.delivery(gone).await, Err(Error::NotFound { .. })));
    }
    world.github.redeliver(9).await.unwrap();
    assert!(matches!(world.github.redeliver(7).await, Err(Error::NotFound { .. })));
    let before = world.stub.seen().len();
    assert!(matches!(world.github.redeliver(10).await, Err(Error::Server { .. })));
    assert_eq!(world.stub.seen().len(), before + 1, "a redelivery is never asked for twice from here");
    assert!(world.stub.seen().iter().all(|seen| seen.token.starts_with("eyJ")));
}

#[tokio::test]
async fn installations_and_their_repositories_are_listed_with_the_least_power() {
    let world = world(|seen, nth| match (seen.path.as_str(), nth) {
        ("/api/v3/app/installations", 0) => {
            let next = "</api/v3/app/installations?page=2>; rel=\"next\"";
            refuse(200, &[("link", next)], json!([{ "id": 1, "account": { "login": "octo" }, "suspended_at": null }]))
        }
        ("/api/v3/app/installations", _) => ok(json!([
            { "id": 2, "account": { "slug": "big", "name": "Big" }, "suspended_at": "2027-01-15T08:00:00Z" },
            { "id": 3, "account": null },
        ])),
        ("/api/v3/installation/repositories", _) => ok(json!({ "total_count": 1, "repositories": [
            { "id": 7, "full_name": "octo/calc", "default_branch": "main", "archived": true, "language": null, "license": null },
        ] })),
        other => panic!("{other:?}"),
    })
    .await;
    let listed = world.github.installations().await.unwrap();
    let told: Vec<_> = listed.iter().map(|one| (one.id.0, one.account.as_str(), one.suspended)).collect();
    assert_eq!(told, [(1, "octo", false), (2, "big", true), (3, "ghost", false)]);
    assert_eq!(world.stub.mints(), 0);
    let repositories = world.github.repositories(InstallationId(1)).await.unwrap();
    assert_eq!(
        (repositories[0].id, repositories[0].name.to_string().as_str(), repositories[0].archived),
        (RepositoryId(7), "octo/calc", true)
    );
    assert_eq!(world.stub.minted.lock().unwrap()[0], json!({ "permissions": { "metadata": "read" } }));
}

#[tokio::test]
async fn a_suspended_installation_is_refused_with_what_to_do() {
    let clock = Clock::manual(NOW);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new()
        .fallback(|| async { refuse(403, &[], json!({ "message": "This installation has been suspended" })) });
    tokio::spawn(async move { axum::serve(listener, app).await });
    let stub = Stub { url, seen: Arc::default(), minted: Arc::default() };
    let github = Github::new(options(&stub, &clock)).unwrap();
    for error in [
        github.repositories(InstallationId(1)).await.unwrap_err(),
        repo_of(&github, 1).issue(octoswarm::domain::IssueNumber(9)).await.unwrap_err(),
    ] {
        assert!(matches!(error.root(), Error::Forbidden { .. }), "{error:?}");
        assert_eq!(error.class(), Class::Discard);
        assert!(error.hint().unwrap().contains("unsuspend"));
    }
}

#[tokio::test]
async fn commits_carry_the_bots_name_and_the_address_that_belongs_to_it() {
    let world = world(|seen, _| match seen.path.as_str() {
        "/api/v3/app" => ok(json!({ "id": 42, "slug": "octoswarm", "name": "Octoswarm" })),
        "/api/v3/users/octoswarm%5Bbot%5D" => ok(json!({ "id": 1234, "login": "octoswarm[bot]", "type": "Bot" })),
        other => panic!("{other}"),
    })
    .await;
    let app = world.github.app().await.unwrap();
    assert_eq!(app.bot_id, None);
    for _ in 0..3 {
        let identity = world.github.bot_identity(&app, InstallationId(2)).await.unwrap();
        assert_eq!(identity.name, "octoswarm[bot]");
        assert_eq!(identity.email, "1234+octoswarm[bot]@users.noreply.127.0.0.1");
    }
    assert_eq!(world.stub.seen().len(), 2, "asked for once");
    assert_eq!(world.github.app().await.unwrap().bot_id, Some(1234));
}

#[tokio::test]
async fn the_bots_address_is_of_the_server_it_lives_on() {
    let world = world(|_, _| ok(json!({ "id": 42, "slug": "octoswarm", "name": "Octoswarm" }))).await;
    let app = octoswarm::github::AppInfo { bot_id: Some(5), ..world.github.app().await.unwrap() };
    for (web_base, want) in [
        ("https://github.com", "5+octoswarm[bot]@users.noreply.github.com"),
        ("https://ghe.example.com:8443", "5+octoswarm[bot]@users.noreply.ghe.example.com"),
    ] {
        let github =
            Github::new(Options { web_base: web_base.to_owned(), ..options(&world.stub, &world.clock) }).unwrap();
        assert_eq!(github.bot_identity(&app, InstallationId(2)).await.unwrap().email, want);
    }
}
