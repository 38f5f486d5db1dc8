//! Branches, commits and trees by GitHub's API, and the credential for git.

use octoswarm::github::TreeEntry;

use super::*;

fn sha(digit: &str) -> Sha {
    Sha::parse(&digit.repeat(40)).unwrap()
}

#[tokio::test]
async fn a_branch_head_is_read_and_what_is_no_such_branch_has_none() {
    let world = world(|seen, _| {
        let object = json!({ "type": "commit", "sha": HEAD });
        match seen.path.strip_prefix("/api/v3/repos/octo/calc/git/ref/heads/").unwrap() {
            "swarm/issue-9" => ok(json!({ "ref": "refs/heads/swarm/issue-9", "object": object })),
            "a%23b" => ok(json!({ "ref": "refs/heads/a#b", "object": object })),
            "swarm" => ok(json!({ "ref": "refs/heads/swarm/issue-9", "object": object })),
            "empty" => refuse(409, &[], json!({ "message": "Git Repository is empty." })),
            _ => refuse(404, &[], json!({ "message": "Not Found" })),
        }
    })
    .await;
    let head = async |branch: &str| world.repo.branch_head(branch).await.unwrap().map(|sha| sha.to_string());
    assert_eq!(head("swarm/issue-9").await.as_deref(), Some(HEAD));
    assert_eq!(head("a#b").await.as_deref(), Some(HEAD));
    for missing in ["swarm", "empty", "gone"] {
        assert_eq!(head(missing).await, None, "{missing}");
    }
    let asked = world.stub.seen().len();
    for none in ["", "..", "a/../../../x", "a//b", "/"] {
        assert_eq!(head(none).await, None, "{none}");
    }
    assert_eq!(world.stub.seen().len(), asked);
}

#[tokio::test]
async fn a_commit_tells_its_tree_parents_and_signature() {
    let world = world(|seen, nth| {
        assert_eq!(seen.path, format!("/api/v3/repos/octo/calc/commits/{HEAD}"));
        let author = match nth {
            0 => json!({ "id": 9, "login": "octoswarm[bot]", "type": "Bot" }),
            1 => json!({}),
            _ => Value::Null,
        };
        if nth == 3 {
            return refuse(422, &[], json!({ "message": format!("No commit found for SHA: {HEAD}") }));
        }
        ok(json!({
            "sha": HEAD, "author": author, "parents": [{ "sha": "2".repeat(40), "url": "x" }],
            "commit": { "message": "a\n\nb", "tree": { "sha": "3".repeat(40) }, "verification": { "verified": nth == 0, "reason": "valid" } },
        }))
    })
    .await;
    let head = sha("1");
    let commit = world.repo.commit(&head).await.unwrap();
    assert_eq!((&commit.sha, &commit.tree, &commit.parents), (&head, &sha("3"), &vec![sha("2")]));
    assert_eq!(
        (commit.message.as_str(), commit.author_login.as_deref(), commit.verified),
        ("a\n\nb", Some("octoswarm[bot]"), true)
    );
    for _ in 0..2 {
        let commit = world.repo.commit(&head).await.unwrap();
        assert_eq!((commit.author_login, commit.verified), (None, false));
    }
    assert!(matches!(world.repo.commit(&head).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn text_goes_into_the_tree_and_other_bytes_into_blobs_before() {
    let world = world(|seen, _| match seen.path.rsplit('/').next().unwrap() {
        "blobs" => refuse(201, &[], json!({ "sha": "b".repeat(40) })),
        "trees" => refuse(201, &[], json!({ "sha": "c".repeat(40), "tree": [] })),
        other => panic!("{other}"),
    })
    .await;
    let entry = |path: &str, mode: &'static str, content: Option<&[u8]>| TreeEntry {
        path: path.into(),
        mode,
        content: content.map(<[u8]>::to_vec),
    };
    let entries = [
        entry("docs/ü.md", "100644", Some("für\r\n".as_bytes())),
        entry("run.sh", "100755", Some(b"")),
        entry("logo.png", "100644", Some(b"\x89PNG\xff")),
        entry("nul.txt", "100644", Some(b"a\0b")),
        entry("gone.txt", "100644", None),
    ];
    assert_eq!(world.repo.create_tree(&sha("a"), &entries).await.unwrap(), sha("c"));
    let seen = world.stub.seen();
    assert_eq!(
        seen.iter().map(|seen| seen.path.rsplit('/').next().unwrap()).collect::<Vec<_>>(),
        ["blobs", "blobs", "trees"]
    );
    assert_eq!(seen[0].body, json!({ "content": "iVBOR/8=", "encoding": "base64" }));
    assert_eq!(seen[1].body["content"], "YQBi");
    assert_eq!(
        seen[2].body,
        json!({ "base_tree": "a".repeat(40), "tree": [
            { "path": "docs/ü.md", "mode": "100644", "type": "blob", "content": "für\r\n" },
            { "path": "run.sh", "mode": "100755", "type": "blob", "content": "" },
            { "path": "logo.png", "mode": "100644", "type": "blob", "sha": "b".repeat(40) },
            { "path": "nul.txt", "mode": "100644", "type": "blob", "sha": "b".repeat(40) },
            { "path": "gone.txt", "mode": "100644", "type": "blob", "sha": null },
        ] })
    );
}

#[tokio::test]
async fn a_commit_names_no_author_and_a_branch_is_never_forced() {
    let world = world(|seen, _| {
        refuse(201, &[], json!({ "sha": "d".repeat(40), "ref": "refs/heads/x", "object": { "sha": seen.body["sha"] } }))
    })
    .await;
    assert_eq!(world.repo.create_commit("m", &sha("a"), &sha("b")).await.unwrap(), sha("d"));
    world.repo.create_branch("swarm/9", &sha("d")).await.unwrap();
    world.repo.move_branch("swarm/9", &sha("e")).await.unwrap();
    let seen = world.stub.seen();
    assert_eq!(seen[0].body, json!({ "message": "m", "tree": "a".repeat(40), "parents": ["b".repeat(40)] }));
    assert_eq!(seen[1].body, json!({ "ref": "refs/heads/swarm/9", "sha": "d".repeat(40) }));
    assert_eq!(
        (seen[2].method.as_str(), seen[2].path.as_str()),
        ("PATCH", "/api/v3/repos/octo/calc/git/refs/heads/swarm/9")
    );
    assert_eq!(seen[2].body, json!({ "sha": "e".repeat(40), "force": false }));
    let minted = world.stub.minted.lock().unwrap().clone();
    assert_eq!(minted, [json!({ "repository_ids": [7], "permissions": { "contents": "write" } })]);
}

#[tokio::test]
async fn a_conflict_is_tried_again_and_an_empty_repository_is_not() {
    for (message, class) in [("Git Repository is empty.", Class::Discard), ("Conflict", Class::Retry)] {
        let world = world(move |_, _| refuse(409, &[], json!({ "message": message }))).await;
        let error = world.repo.create_tree(&sha("a"), &[]).await.unwrap_err();
        assert_eq!(error.class(), class, "{error:?}");
        assert!(error.hint().is_some());
    }
}

#[tokio::test]
async fn rules_tell_whether_commits_must_be_signed() {
    let world = world(|seen, _| match seen.path.rsplit('/').next().unwrap() {
        "signed%2Fx" => ok(json!([{ "type": "deletion" }, { "type": "required_signatures", "ruleset_id": 1 }])),
        "main" => ok(json!([{ "type": "pull_request", "parameters": {} }])),
        "private" => refuse(
            403,
            &[],
            json!({ "message": "Upgrade to GitHub Pro or make this repository public to enable this feature." }),
        ),
        "old-server" => refuse(404, &[], json!({ "message": "Not Found" })),
        _ => refuse(403, &[], json!({ "message": "Resource not accessible by integration" })),
    })
    .await;
    let needs = async |branch: &str| world.repo.needs_signatures(branch).await;
    assert!(needs("signed/x").await.unwrap());
    for unsigned in ["main", "private", "old-server"] {
        assert!(!needs(unsigned).await.unwrap(), "{unsigned}");
    }
    assert!(matches!(needs("other").await, Err(Error::Forbidden { .. })));
}

#[tokio::test]
async fn git_pushes_with_another_credential_than_it_fetches_with() {
    let world = world(|_, _| ok(pull())).await;
    let push = world.repo.push_credential().await.unwrap();
    let fetch = world.repo.credential().await.unwrap();
    assert_ne!(push.token.expose(), fetch.token.expose());
    assert_eq!((push.origin.as_str(), push.user.as_str()), (world.stub.url.as_str(), "x-access-token"));
    let minted = world.stub.minted.lock().unwrap().clone();
    assert_eq!(minted[0], json!({ "repository_ids": [7], "permissions": { "contents": "write" } }));
    assert_eq!(minted[1], json!({ "repository_ids": [7], "permissions": { "contents": "read" } }));
}
