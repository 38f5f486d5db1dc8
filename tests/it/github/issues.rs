//! Issues, comments, reactions, labels, roles and linked pull requests.

use octoswarm::domain::{CommentId, IssueNumber};
use octoswarm::github::{DOCUMENTS, Reaction};

use super::*;

const NINE: IssueNumber = IssueNumber(9);

fn user(id: u64, login: &str) -> Value {
    json!({ "id": id, "login": login, "type": if login.ends_with("[bot]") { "Bot" } else { "User" } })
}

fn issue(number: u64) -> Value {
    json!({
        "number": number, "title": "Broken link", "body": null, "state": "open", "locked": false, "comments": 2,
        "user": user(5, "mona"), "labels": [{ "name": "Swarm" }, "bug", { "name": null }],
        "created_at": "2027-01-15T08:00:00Z", "updated_at": "2027-01-15T09:00:00Z",
        "html_url": "https://github.com/octo/calc/issues/9", "author_association": "OWNER",
    })
}

fn comment(id: u64) -> Value {
    json!({
        "id": id, "user": user(9, "octoswarm[bot]"), "body": "hello", "html_url": "https://github.com/octo/calc/issues/9#c",
        "created_at": "2027-01-15T08:00:00Z", "updated_at": "2027-01-15T08:00:01Z",
    })
}

#[tokio::test]
async fn an_issue_is_read_also_where_its_author_and_body_are_gone() {
    let world = world(|_, _| {
        let mut issue = issue(9);
        issue["user"] = Value::Null;
        ok(issue)
    })
    .await;
    let issue = world.repo.issue(NINE).await.unwrap();
    assert_eq!((issue.number, issue.title.as_str(), issue.body.as_str()), (NINE, "Broken link", ""));
    assert_eq!((issue.author.login.as_str(), issue.author.id, issue.comments), ("ghost", 0, 2));
    assert_eq!(issue.labels, ["Swarm", "bug"]);
    assert_eq!((issue.open, issue.locked, issue.pull), (true, false, false));
    assert_eq!(issue.created_at, "2027-01-15T08:00:00Z");
    assert!(issue.has_label("swarm") && !issue.has_label("swar"));
}

#[tokio::test]
async fn a_transferred_issue_is_not_read_in_its_new_home() {
    for to in ["/api/v3/repositories/8/issues/9", "/api/v3/repositories/7/issues/4"] {
        let world = world(
            move |seen, _| {
                if seen.path == to { ok(issue(4)) } else { refuse(301, &[("location", to)], json!({})) }
            },
        )
        .await;
        assert!(matches!(world.repo.issue(NINE).await, Err(Error::NotFound { .. })), "{to}");
    }
    let elsewhere = world(|_, _| refuse(301, &[("location", "/api/v3/repositories/8/issues/9")], json!({}))).await;
    elsewhere.repo.issue(NINE).await.unwrap_err();
    assert_eq!(elsewhere.stub.seen().len(), 1, "the other repository is not even asked");
}

#[tokio::test]
async fn a_deleted_issue_and_switched_off_issues_are_not_found() {
    let world = world(|_, _| refuse(410, &[], json!({ "message": "Issues are disabled for this repo" }))).await;
    let error = world.repo.issue(NINE).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }) && error.hint().unwrap().contains("switched on"), "{error:?}");
    assert!(matches!(world.repo.create_comment(NINE, "x").await, Err(Error::NotFound { .. })));
    assert!(world.repo.issues_labeled("swarm").await.unwrap().is_empty());
}

#[tokio::test]
async fn only_open_issues_that_carry_the_label_are_listed_whatever_the_server_filters() {
    let world = world(|seen, nth| {
        let mut pull = issue(10);
        pull["pull_request"] = json!({ "url": "x" });
        let mut other = issue(11);
        other["labels"] = json!([{ "name": "swarm, later" }]);
        let mut closed = issue(12);
        closed["state"] = json!("closed");
        let next = format!("<{}?page=2>; rel=\"next\"", seen.path);
        match nth {
            0 => refuse(200, &[("link", &next)], json!([issue(9), pull, other])),
            1 => ok(json!([closed, issue(13)])),
            _ => ok(json!([issue(9), other])),
        }
    })
    .await;
    let numbers: Vec<_> =
        world.repo.issues_labeled("swarm").await.unwrap().iter().map(|issue| issue.number.0).collect();
    assert_eq!(numbers, [9, 13]);
    assert_eq!(world.stub.seen()[0].query, "state=open&labels=swarm&per_page=100");
    let comma: Vec<_> =
        world.repo.issues_labeled("swarm, later").await.unwrap().iter().map(|issue| issue.number.0).collect();
    assert_eq!(comma, [11]);
    assert_eq!(world.stub.seen()[2].query, "state=open&per_page=100", "a comma cannot be asked for");
}

#[tokio::test]
async fn the_label_stands_in_the_name_of_who_set_it_last() {
    let event =
        |kind: &str, label: Value, actor: Value| json!({ "id": 1, "event": kind, "label": label, "actor": actor });
    let swarm = || json!({ "name": "swarm", "color": "x" });
    let by = |id: u64| user(id, "someone");
    let histories = [
        (json!([]), None),
        (json!([event("labeled", swarm(), by(1))]), Some(1)),
        (json!([event("labeled", swarm(), by(1)), event("labeled", json!({ "name": "bug" }), by(2))]), Some(1)),
        (json!([event("labeled", swarm(), by(1)), event("unlabeled", swarm(), by(2))]), None),
        (
            json!([
                event("labeled", swarm(), by(1)),
                event("unlabeled", swarm(), by(2)),
                event("labeled", json!({ "name": "SWARM" }), by(3))
            ]),
            Some(3),
        ),
        (json!([event("labeled", swarm(), by(1)), { "event": "closed", "actor": by(4) }, { "event": null }]), Some(1)),
        // Whoever set it last has left GitHub: nobody stands for the label, and no former one either.
        (json!([event("labeled", swarm(), by(1)), event("labeled", swarm(), Value::Null)]), None),
    ];
    for (history, want) in histories {
        let told = history.to_string();
        let world = world(move |_, _| ok(history.clone())).await;
        let actor = world.repo.label_actor(NINE, "Swarm").await.unwrap();
        assert_eq!(actor.map(|user| user.id), want, "{told}");
    }
    let paged = world(move |seen, nth| {
        let next = format!("<{}?page=2>; rel=\"next\"", seen.path);
        let page = json!([{ "event": "labeled", "label": { "name": "swarm" }, "actor": user(nth as u64 + 1, "x") }]);
        if nth == 0 { refuse(200, &[("link", &next)], page) } else { ok(page) }
    })
    .await;
    assert_eq!(paged.repo.label_actor(NINE, "swarm").await.unwrap().unwrap().id, 2);
}

#[tokio::test]
async fn comments_come_with_all_their_pages_and_ghosts() {
    let world = world(|seen, nth| {
        let mut ghost = comment(2);
        ghost["user"] = Value::Null;
        ghost["body"] = Value::Null;
        let next = format!("<{}?page=2>; rel=\"next\"", seen.path);
        if nth == 0 { refuse(200, &[("link", &next)], json!([comment(1)])) } else { ok(json!([ghost])) }
    })
    .await;
    let comments = world.repo.comments(NINE).await.unwrap();
    assert_eq!(comments.iter().map(|comment| comment.id.0).collect::<Vec<_>>(), [1, 2]);
    assert!(comments[0].author.bot && comments[1].author.login == "ghost" && comments[1].body.is_empty());
    assert_eq!(comments[0].updated_at - comments[0].created_at, 1000);
}

#[tokio::test]
async fn a_comment_is_written_changed_and_missed() {
    let world = world(|seen, _| match (seen.method.as_str(), seen.path.rsplit('/').next().unwrap()) {
        ("POST", "comments") => refuse(201, &[], comment(77)),
        ("PATCH", "77") | ("GET", "77") => ok(comment(77)),
        _ => refuse(404, &[], json!({ "message": "Not Found" })),
    })
    .await;
    assert_eq!(world.repo.create_comment(NINE, "a").await.unwrap().id, CommentId(77));
    assert_eq!(world.repo.update_comment(CommentId(77), "b").await.unwrap().id, CommentId(77));
    assert_eq!(world.repo.comment(CommentId(77)).await.unwrap().unwrap().body, "hello");
    assert_eq!(world.repo.comment(CommentId(78)).await.unwrap(), None);
    assert!(matches!(world.repo.update_comment(CommentId(78), "b").await, Err(Error::NotFound { .. })));
    let seen = world.stub.seen();
    assert_eq!(
        (seen[0].path.as_str(), &seen[0].body),
        ("/api/v3/repos/octo/calc/issues/9/comments", &json!({ "body": "a" }))
    );
    assert_eq!(seen[1].path, "/api/v3/repos/octo/calc/issues/comments/77");
}

#[tokio::test]
async fn comments_hold_no_power_over_contents_and_reading_none_to_write() {
    let world = world(|seen, _| if seen.method == Method::GET { ok(json!([])) } else { ok(comment(77)) }).await;
    world.repo.comments(NINE).await.unwrap();
    world.repo.create_comment(NINE, "a").await.unwrap();
    let minted = world.stub.minted.lock().unwrap().clone();
    assert_eq!(
        minted[0],
        json!({ "repository_ids": [7], "permissions": { "issues": "read", "pull_requests": "read" } })
    );
    assert_eq!(
        minted[1],
        json!({ "repository_ids": [7], "permissions": { "issues": "write", "pull_requests": "write" } })
    );
}

#[tokio::test]
async fn reactions_are_spelt_as_github_spells_them_and_an_old_one_is_no_error() {
    let world =
        world(|_, nth| refuse(if nth == 0 { 201 } else { 200 }, &[], json!({ "id": 1, "content": "eyes" }))).await;
    let all = [
        (Reaction::Eyes, "eyes"),
        (Reaction::Rocket, "rocket"),
        (Reaction::Confused, "confused"),
        (Reaction::PlusOne, "+1"),
        (Reaction::MinusOne, "-1"),
        (Reaction::Laugh, "laugh"),
        (Reaction::Heart, "heart"),
        (Reaction::Hooray, "hooray"),
    ];
    for (reaction, _) in all {
        world.repo.react_to_issue(NINE, reaction).await.unwrap();
    }
    world.repo.react_to_comment(CommentId(77), Reaction::Eyes).await.unwrap();
    let seen = world.stub.seen();
    for ((_, content), seen) in all.iter().zip(&seen) {
        assert_eq!(
            (seen.path.as_str(), &seen.body),
            ("/api/v3/repos/octo/calc/issues/9/reactions", &json!({ "content": content }))
        );
    }
    assert_eq!(seen[8].path, "/api/v3/repos/octo/calc/issues/comments/77/reactions");
}

#[tokio::test]
async fn comments_and_reactions_keep_the_pace_of_writes() {
    let pace = Duration::from_millis(150);
    let script = |_: &Seen, _| ok(comment(77));
    let world = world_with(script, |options| Options { write_pace: pace, ..options }).await;
    world.repo.react_to_comment(CommentId(77), Reaction::Eyes).await.unwrap();
    world.repo.create_comment(NINE, "a").await.unwrap();
    world.repo.update_comment(CommentId(77), "a").await.unwrap();
    let times: Vec<_> = world.stub.seen().iter().map(|seen| seen.at).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= pace));
}

#[tokio::test]
async fn what_a_refusal_means_is_told_by_its_message() {
    for (message, part) in [
        ("Unable to create comment because issue is locked.", "unlock"),
        ("Repository was archived so is read-only.", "unarchive"),
        ("This installation has been suspended", "unsuspend"),
        ("Resource not accessible by integration", "`issues: write`"),
    ] {
        let world = world(move |_, _| refuse(403, &[], json!({ "message": message }))).await;
        let error = world.repo.create_comment(NINE, "a").await.unwrap_err();
        assert!(matches!(error, Error::Forbidden { .. }), "{error:?}");
        assert_eq!(error.class(), Class::Discard);
        assert!(error.hint().unwrap().contains(part), "{message}: {:?}", error.hint());
    }
}

#[tokio::test]
async fn a_role_names_its_account_and_what_it_may() {
    let world = world(|seen, _| match seen.path.split('/').nth_back(1).unwrap() {
        "mona" => ok(json!({ "permission": "write", "role_name": "maintain", "user": user(5, "mona") })),
        "renovate%5Bbot%5D" => {
            ok(json!({ "permission": "read", "role_name": "read", "user": user(6, "renovate[bot]") }))
        }
        "special" => ok(json!({ "permission": "write", "role_name": "releaser", "user": user(8, "special") })),
        _ => refuse(404, &[], json!({ "message": "x is not a user" })),
    })
    .await;
    let role = async |login: &str| world.repo.role_of(login).await.unwrap();
    let mona = role("mona").await;
    assert_eq!(
        (mona.user_id, mona.role.as_str(), mona.permission.as_str(), mona.writes),
        (5, "maintain", "write", true)
    );
    assert!(role("special").await.writes);
    let bot = role("renovate[bot]").await;
    assert_eq!((bot.user_id, bot.writes), (6, false));
    for stranger in ["nobody", "../x?y#z", ""] {
        let role = role(stranger).await;
        assert_eq!(
            (role.user_id, role.role.as_str(), role.permission.as_str(), role.writes),
            (0, "none", "none", false)
        );
    }
    assert_eq!(world.stub.seen().len(), 5, "an empty login asks for nobody");
}

#[tokio::test]
async fn a_role_that_could_not_be_asked_for_is_an_error_and_no_refusal() {
    let world = world(|_, _| StatusCode::BAD_GATEWAY.into_response()).await;
    assert_eq!(world.repo.role_of("mona").await.unwrap_err().class(), Class::Retry);
}

fn linked(number: u64, state: &str, author: Value) -> Value {
    json!({
        "number": number, "url": "https://github.com/octo/calc/pull/4", "state": state, "body": "Closes #9", "headRefName": "fix",
        "author": author, "repository": { "databaseId": 7 },
    })
}

#[tokio::test]
async fn open_linked_pull_requests_come_from_all_pages() {
    let world = world(|seen, _| {
        let after = seen.body["variables"]["after"].as_str();
        let (more, nodes) = match after {
            None => (true, json!([linked(4, "OPEN", json!({ "__typename": "Bot", "login": "octoswarm" })), null, linked(5, "MERGED", Value::Null)])),
            Some("c1") => (false, json!([linked(6, "OPEN", Value::Null), linked(7, "CLOSED", Value::Null)])),
            Some(other) => panic!("{other}"),
        };
        let page = json!({ "pageInfo": { "hasNextPage": more, "endCursor": "c1" }, "nodes": nodes });
        ok(json!({
            "data": { "repository": { "issue": { "closedByPullRequestsReferences": page } } },
            "errors": [{ "type": "FORBIDDEN", "message": "hidden", "path": ["repository", "issue", "closedByPullRequestsReferences", "nodes", 1] }],
        }))
    })
    .await;
    let pulls = world.repo.linked_pulls(NINE).await.unwrap();
    assert_eq!(pulls.iter().map(|pull| pull.number.0).collect::<Vec<_>>(), [4, 6]);
    assert!(pulls[0].author_bot && pulls[0].author_login == "octoswarm" && pulls[0].repository == RepositoryId(7));
    assert_eq!(
        (pulls[1].author_login.as_str(), pulls[1].author_bot, pulls[1].head_ref.as_str()),
        ("ghost", false, "fix")
    );
    assert_eq!(world.stub.seen().len(), 2);
}

#[tokio::test]
async fn linked_pull_requests_of_nothing_are_not_found_and_without_end_stopped() {
    let missing = world(|_, _| ok(json!({ "data": { "repository": { "issue": null } } }))).await;
    assert!(matches!(missing.repo.linked_pulls(NINE).await, Err(Error::NotFound { .. })));
    let forbidden = world(|_, _| {
        ok(json!({ "data": null, "errors": [{ "type": "FORBIDDEN", "message": "no", "path": ["repository"] }] }))
    })
    .await;
    let error = forbidden.repo.linked_pulls(NINE).await.unwrap_err();
    assert!(matches!(&error, Error::Forbidden { needs, .. } if needs.contains("`issues: read`")), "{error:?}");
    let endless = world(|_, _| {
        let page = json!({ "pageInfo": { "hasNextPage": true, "endCursor": "c" }, "nodes": [] });
        ok(json!({ "data": { "repository": { "issue": { "closedByPullRequestsReferences": page } } } }))
    })
    .await;
    assert!(matches!(endless.repo.linked_pulls(NINE).await, Err(Error::TooLarge { .. })));
}

#[test]
fn every_graphql_call_has_its_document() {
    let calls: Vec<_> =
        octoswarm::github::ENDPOINTS.iter().filter(|e| e.template == "graphql").map(|e| e.name).collect();
    let documents: Vec<_> = DOCUMENTS.iter().map(|(name, _)| *name).collect();
    assert_eq!(calls, documents);
}
