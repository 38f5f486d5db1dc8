//! Pull requests that are listed, opened and changed; repositories; what a rename leaves working.

use octoswarm::github::{NewPull, PullUpdate};

use super::*;

fn from(number: u64, branch: &str, repo: Value) -> Value {
    let mut pull = pull();
    pull["number"] = json!(number);
    pull["head"]["ref"] = json!(branch);
    pull["head"]["repo"] = repo;
    // Lists do not tell whether a pull request was merged.
    pull.as_object_mut().unwrap().remove("merged");
    pull["merged_at"] = Value::Null;
    pull
}

fn repository(id: u64, name: &str) -> Value {
    json!({
        "id": id, "full_name": name, "default_branch": "trunk", "language": "Rust", "stargazers_count": 12,
        "license": { "key": "mit", "spdx_id": "MIT" }, "private": true, "archived": false, "html_url": "https://github.com/octo/calc",
    })
}

#[tokio::test]
async fn a_pull_request_tells_its_branch_text_and_times() {
    let world = world(|_, _| ok(pull())).await;
    let pull = world.repo.pull(THREE).await.unwrap();
    assert_eq!((pull.head_ref.as_str(), pull.title.as_str(), pull.body.as_str()), ("add", "Add", ""));
    assert_eq!((pull.url.as_str(), pull.updated_at - pull.created_at), ("https://github.com/octo/calc/pull/3", 1000));
}

#[tokio::test]
async fn open_pull_requests_come_from_all_pages_and_closed_ones_are_left_out() {
    let world = world(|seen, nth| {
        let mut closed = from(5, "old", Value::Null);
        closed["state"] = json!("closed");
        closed["merged_at"] = json!("2027-01-15T08:00:00Z");
        let next = format!("<{}?page=2>; rel=\"next\"", seen.path);
        match nth {
            0 => refuse(200, &[("link", &next)], json!([from(3, "a", Value::Null), closed])),
            _ => ok(json!([from(4, "b", Value::Null)])),
        }
    })
    .await;
    let pulls = world.repo.pulls_open().await.unwrap();
    assert_eq!(pulls.iter().map(|pull| (pull.number.0, pull.merged)).collect::<Vec<_>>(), [(3, false), (4, false)]);
    assert_eq!(world.stub.seen()[0].query, "state=open&per_page=100");
}

#[tokio::test]
async fn only_pull_requests_from_our_own_branch_of_that_name_are_found() {
    let world = world(|_, _| {
        ok(json!([
            from(3, "swarm/9", json!({ "id": 7 })),
            from(4, "swarm/9", json!({ "id": 8 })),
            from(5, "swarm/9", Value::Null),
            from(6, "swarm/90", json!({ "id": 7 })),
        ]))
    })
    .await;
    let pulls = world.repo.pulls_of_head("swarm/9").await.unwrap();
    assert_eq!(pulls.iter().map(|pull| pull.number.0).collect::<Vec<_>>(), [3]);
    assert_eq!(world.stub.seen()[0].query, "state=open&head=octo%3Aswarm%2F9&per_page=100");
}

#[tokio::test]
async fn a_renamed_owners_pull_requests_are_found_under_the_new_name() {
    let world = world(|seen, _| {
        let found = from(3, "swarm/9", json!({ "id": 7 }));
        match seen.path.as_str() {
            "/api/v3/repos/octo/calc" => ok(repository(7, "newocto/calc")),
            _ => ok(if seen.query.contains("head=newocto%3A") { json!([found]) } else { json!([]) }),
        }
    })
    .await;
    assert_eq!(world.repo.pulls_of_head("swarm/9").await.unwrap().len(), 1);

    let none =
        super::world(|seen, _| ok(if seen.path.ends_with("/pulls") { json!([]) } else { repository(7, "Octo/calc") }))
            .await;
    assert!(none.repo.pulls_of_head("swarm/9").await.unwrap().is_empty());
    assert_eq!(none.stub.seen().len(), 2);
}

#[tokio::test]
async fn a_pull_request_is_opened_as_asked_and_changed_in_what_is_given() {
    let world = world(|seen, _| refuse(if seen.method == Method::POST { 201 } else { 200 }, &[], pull())).await;
    let new = NewPull { title: "t".into(), body: "b".into(), head: "swarm/9".into(), base: "main".into(), draft: true };
    assert_eq!(world.repo.create_pull(&new).await.unwrap().number, THREE);
    let update = PullUpdate { body: Some("c".into()), ..PullUpdate::default() };
    world.repo.update_pull(THREE, &update).await.unwrap();
    let seen = world.stub.seen();
    assert_eq!(seen[0].body, json!({ "title": "t", "body": "b", "head": "swarm/9", "base": "main", "draft": true }));
    assert_eq!((seen[1].method.as_str(), seen[1].path.as_str()), ("PATCH", "/api/v3/repos/octo/calc/pulls/3"));
    assert_eq!(seen[1].body, json!({ "body": "c" }));
    let minted = world.stub.minted.lock().unwrap()[0].clone();
    assert_eq!(minted["permissions"], json!({ "checks": "write", "pull_requests": "write" }));
}

#[tokio::test]
async fn why_a_pull_request_was_refused_reaches_the_caller() {
    let world = world(|_, _| {
        refuse(
            422,
            &[],
            json!({ "message": "Validation Failed", "errors": [{ "resource": "PullRequest", "code": "custom", "message": "A pull request already exists for octo:swarm/9." }] }),
        )
    })
    .await;
    let new =
        NewPull { title: "t".into(), body: "b".into(), head: "swarm/9".into(), base: "main".into(), draft: false };
    let error = world.repo.create_pull(&new).await.unwrap_err();
    assert!(matches!(&error, Error::Validation { errors, .. } if errors[0].contains("already exists")), "{error:?}");
    assert_eq!(world.stub.seen().len(), 1);
}

#[tokio::test]
async fn a_repository_is_described_by_its_present_name_and_known_by_its_id() {
    let renamed = world(|seen, _| {
        let target = "/api/v3/repositories/7";
        if seen.path == target {
            ok(repository(7, "octo/new-name"))
        } else {
            refuse(301, &[("location", target)], json!({}))
        }
    })
    .await;
    let info = renamed.repo.info().await.unwrap();
    assert_eq!(
        (info.id, info.name.to_string().as_str(), info.default_branch.as_str()),
        (RepositoryId(7), "octo/new-name", "trunk")
    );
    assert_eq!((info.language.as_deref(), info.stars, info.license.as_deref()), (Some("Rust"), 12, Some("MIT")));
    assert_eq!((info.private, info.archived), (true, false));

    let reused = world(|_, _| ok(repository(8, "octo/calc"))).await;
    assert!(matches!(reused.repo.info().await, Err(Error::NotFound { .. })), "the name belongs to another repository");

    let bare = world(|_, _| ok(json!({ "id": 7, "full_name": "octo/calc", "default_branch": "main", "language": null, "license": { "spdx_id": "NOASSERTION" } }))).await;
    let info = bare.repo.info().await.unwrap();
    assert_eq!((info.language, info.license), (None, None));
}

/// GitHub answers reads with 301 and everything else with 307, to `/repositories/{id}`.
#[tokio::test]
async fn a_rename_in_the_middle_leaves_every_call_working() {
    let world = world(|seen, _| {
        let Some(rest) = seen.path.strip_prefix("/api/v3/repos/octo/calc") else {
            return match (seen.method.as_str(), seen.path.as_str()) {
                ("GET", "/api/v3/repositories/7/pulls") if !seen.query.contains("page=2") => {
                    let next = format!("<{}?page=2>; rel=\"next\"", seen.path);
                    refuse(200, &[("link", &next)], json!([from(3, "a", Value::Null)]))
                }
                ("GET", "/api/v3/repositories/7/pulls") => ok(json!([from(4, "a", Value::Null)])),
                ("POST", "/api/v3/repositories/7/issues/9/comments") => ok(json!({
                    "id": 1, "user": null, "body": seen.body["body"], "html_url": "x",
                    "created_at": "2027-01-15T08:00:00Z", "updated_at": "2027-01-15T08:00:00Z",
                })),
                other => panic!("{other:?}"),
            };
        };
        let query = if seen.query.is_empty() { String::new() } else { format!("?{}", seen.query) };
        let to = format!("/api/v3/repositories/7{rest}{query}");
        refuse(if seen.method == Method::GET { 301 } else { 307 }, &[("location", &to)], json!({ "message": "Moved" }))
    })
    .await;
    assert_eq!(world.repo.pulls_open().await.unwrap().len(), 2);
    let comment = world.repo.create_comment(octoswarm::domain::IssueNumber(9), "hi").await.unwrap();
    assert_eq!(comment.body, "hi");
    assert_eq!(world.stub.seen().iter().filter(|seen| seen.token.starts_with("ghs_")).count(), 5);
}
