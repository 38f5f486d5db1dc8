//! Commits without git: blobs, trees, commits and refs over REST.

use octoswarm::demo::{Change, OpenPull};
use serde_json::{Value, json};

use super::webhooks::{events, receiver};
use super::{Client, REPO};

/// The head of `main`: its commit and tree.
async fn main_of(client: &Client) -> (String, String) {
    let head = client.github.branches(REPO)["main"].clone();
    let commit = client.call("GET", &format!("/git/commits/{head}"), None).await.ok();
    (head, commit["tree"]["sha"].as_str().unwrap().to_owned())
}

async fn tree(client: &Client, base: &str, entries: Value) -> String {
    let made = client.call("POST", "/git/trees", Some(json!({"base_tree": base, "tree": entries}))).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body["sha"].as_str().unwrap().to_owned()
}

async fn commit(client: &Client, tree: &str, parent: &str) -> Value {
    let body = json!({"message": "one\n\nmore", "tree": tree, "parents": [parent]});
    client.call("POST", "/git/commits", Some(body)).await.ok()
}

fn sha(value: &Value) -> &str {
    value["sha"].as_str().unwrap()
}

#[tokio::test]
async fn a_commit_of_the_app_is_written_signed_and_becomes_a_branch() {
    let client = Client::full().await;
    let (head, base) = main_of(&client).await;
    let blob = client.call("POST", "/git/blobs", Some(json!({"content": "AP8=", "encoding": "base64"}))).await.ok();
    let entries = json!([
        {"path": "bin", "mode": "100644", "type": "blob", "sha": blob["sha"]},
        {"path": "run.sh", "mode": "100755", "type": "blob", "content": "#!/bin/sh\n"},
        {"path": "deep/er/a.rs", "mode": "100644", "type": "blob", "content": "a\n"},
        {"path": "README.md", "mode": "100644", "type": "blob", "sha": null},
    ]);
    let new = tree(&client, &base, entries).await;
    let made = commit(&client, &new, &head).await;
    assert_eq!((&made["verification"]["verified"], &made["verification"]["reason"]), (&json!(true), &json!("valid")));
    assert_eq!(made["author"]["name"], "swarm[bot]");
    assert_eq!((&made["message"], &made["parents"][0]["sha"]), (&json!("one\n\nmore"), &json!(head)));
    let answer = client.call("POST", "/git/refs", Some(json!({"ref": "refs/heads/work/1", "sha": made["sha"]}))).await;
    assert_eq!((answer.status, &answer.body["object"]["sha"]), (201, &made["sha"]));
    assert_eq!(client.call("GET", "/git/ref/heads/work/1", None).await.ok()["object"]["sha"], made["sha"]);
    let commits = client.github.commits(REPO, "work/1");
    assert_eq!(commits[0].files, ["README.md", "bin", "deep/er/a.rs", "run.sh"]);
    assert_eq!((commits[0].verified, commits[1].verified, commits.len()), (true, false, 2));
    assert_eq!(commits[0].parents, [head]);
    assert_eq!(client.github.file_bytes(REPO, "work/1", "bin").unwrap(), [0, 255]);
    assert_eq!(client.github.file(REPO, "work/1", "README.md"), None);
    assert_eq!(client.github.files(REPO, "work/1")["run.sh"], 0o100_755);
    let shown = client.call("GET", &format!("/commits/{}", sha(&made)), None).await.ok();
    assert_eq!((&shown["author"]["login"], &shown["author"]["type"]), (&json!("swarm[bot]"), &json!("Bot")));
    assert_eq!(shown["commit"]["verification"]["verified"], true);
}

#[tokio::test]
async fn a_commit_with_an_author_or_a_committer_is_not_signed() {
    let client = Client::full().await;
    let (head, base) = main_of(&client).await;
    for key in ["author", "committer"] {
        let mut body = json!({"message": "m", "tree": base, "parents": [head]});
        body[key] = json!({"name": "Mona", "email": "mona@example.com", "date": "2026-01-02T03:04:05Z"});
        let made = client.call("POST", "/git/commits", Some(body)).await.ok();
        assert_eq!((&made["verification"]["verified"], &made[key]["name"]), (&json!(false), &json!("Mona")), "{key}");
        assert_eq!(made[key]["date"], "2026-01-02T03:04:05Z");
    }
}

#[tokio::test]
async fn a_commit_belongs_to_the_account_of_its_address_whatever_its_name() {
    let client = Client::full().await;
    let (head, base) = main_of(&client).await;
    let token = client.token(json!({})).await;
    let bot = client.send("GET", "/users/swarm%5Bbot%5D", Some(&token), None).await.ok()["id"].as_u64().unwrap();
    for (email, whose) in [
        (format!("{bot}+swarm[bot]@users.noreply.127.0.0.1"), json!("swarm[bot]")),
        (format!("{}+swarm[bot]@users.noreply.127.0.0.1", bot + 1), Value::Null),
        (format!("{bot}+swarm[bot]@users.noreply.example.com"), Value::Null),
        ("swarm[bot]@users.noreply.127.0.0.1".to_owned(), Value::Null),
        ("swarm[bot]@example.com".to_owned(), Value::Null),
    ] {
        let author = json!({"name": "swarm[bot]", "email": email});
        let body = json!({"message": "m", "tree": base, "parents": [head], "author": author});
        let made = client.call("POST", "/git/commits", Some(body)).await.ok();
        let shown = client.call("GET", &format!("/commits/{}", sha(&made)), None).await.ok();
        assert_eq!(shown["author"]["login"], whose, "{email}");
    }
}

#[tokio::test]
async fn a_tree_that_makes_no_sense_is_refused() {
    let client = Client::full().await;
    let (head, base) = main_of(&client).await;
    let blob = json!({"path": "a", "mode": "100644", "type": "blob", "content": "x"});
    let with = |key: &str, value: Value| {
        let mut entry = blob.clone();
        entry[key] = value;
        json!([entry])
    };
    let absent = json!({"path": "nothing", "mode": "100644", "type": "blob", "sha": null});
    let zero = json!({"path": "a", "mode": "100644", "type": "blob", "sha": "0".repeat(40)});
    let bare = json!({"path": "a", "mode": "100644", "type": "blob"});
    for (entries, part) in [
        (json!([]), "Invalid tree info"),
        (with("path", json!("../a")), "malformed path component"),
        (with("path", json!("/a")), "malformed path component"),
        (with("path", json!("a//b")), "malformed path component"),
        (with("path", json!(".GIT/config")), "malformed path component"),
        (with("mode", json!("100600")), "tree.mode"),
        (with("type", json!("tree")), "tree.mode"),
        (with("sha", json!(base)), "either tree.sha or tree.content"),
        (with("size", json!(1)), "unknown field"),
        (json!([bare]), "either tree.sha or tree.content"),
        (json!([zero]), "is not a valid blob"),
        (json!([absent]), "BadObjectState"),
        (json!([blob, blob]), "given twice"),
    ] {
        let body = json!({"base_tree": base, "tree": entries});
        client.call("POST", "/git/trees", Some(body)).await.refused(422, part);
    }
    for odd in [head.as_str(), "main", &"0".repeat(40)] {
        let body = json!({"base_tree": odd, "tree": [blob]});
        client.call("POST", "/git/trees", Some(body)).await.refused(422, "base_tree");
    }
}

#[tokio::test]
async fn a_file_takes_a_folders_place_and_the_other_way_round() {
    let client = Client::full().await;
    let (head, base) = main_of(&client).await;
    let entries = json!([
        {"path": "src", "mode": "100644", "type": "blob", "content": "a file now\n"},
        {"path": "README.md/deep", "mode": "100644", "type": "blob", "content": "x\n"},
    ]);
    let new = tree(&client, &base, entries).await;
    let made = commit(&client, &new, &head).await;
    let files: Vec<String> = client.github.files(REPO, sha(&made)).into_keys().collect();
    assert_eq!(files, ["README.md/deep", "src"]);
    let moved = tree(&client, &new, json!([{"path": "old", "mode": "040000", "type": "tree", "sha": base}])).await;
    let made = commit(&client, &moved, &head).await;
    let files: Vec<String> = client.github.files(REPO, sha(&made)).into_keys().collect();
    assert_eq!(files, ["README.md/deep", "old/README.md", "old/src/lib.rs", "src"]);
}

#[tokio::test]
async fn blobs_and_commits_that_make_no_sense_are_refused() {
    let client = Client::full().await;
    let (head, base) = main_of(&client).await;
    for (body, part) in [
        (json!({"content": "%%", "encoding": "base64"}), "not valid Base64"),
        (json!({"content": "a", "encoding": "utf-16"}), "encoding"),
        (json!({"encoding": "utf-8"}), "missing field"),
        (json!({"content": 7}), "invalid type"),
    ] {
        client.call("POST", "/git/blobs", Some(body)).await.refused(422, part);
    }
    for (body, part) in [
        (json!({"message": "m", "tree": head, "parents": [head]}), "Tree SHA does not exist"),
        (json!({"message": "m", "tree": base, "parents": [base]}), "Parent SHA does not exist"),
        (json!({"message": "m", "tree": base, "parents": [&head[..7]]}), "Parent SHA does not exist"),
        (json!({"message": " ", "tree": base, "parents": [head]}), "blank"),
        (json!({"tree": base, "parents": [head]}), "missing field"),
        (json!({"message": "m", "tree": base, "author": {"name": "x"}}), "missing field"),
        (json!({"message": "m", "tree": base, "author": {"name": "x", "email": "y", "date": "now"}}), "date"),
    ] {
        client.call("POST", "/git/commits", Some(body)).await.refused(422, part);
    }
    let reader = client.token(json!({"permissions": {"contents": "read"}})).await;
    for (path, body) in [
        ("blobs", json!({"content": "a"})),
        ("trees", json!({"tree": []})),
        ("commits", json!({"message": "m", "tree": base})),
        ("refs", json!({"ref": "refs/heads/x", "sha": head})),
    ] {
        let path = format!("/repos/{REPO}/git/{path}");
        client.send("POST", &path, Some(&reader), Some(body)).await.refused(403, "not accessible by integration");
    }
}

#[tokio::test]
async fn a_ref_is_made_once_moves_forward_only_and_goes() {
    let client = Client::full().await;
    let (head, base) = main_of(&client).await;
    let one = commit(&client, &base, &head).await;
    let new = |name: &str, to: &str| Some(json!({"ref": name, "sha": to}));
    client.call("POST", "/git/refs", new("refs/heads/work", sha(&one))).await.ok();
    client.call("POST", "/git/refs", new("refs/heads/work", &head)).await.refused(422, "Reference already exists");
    client
        .call("POST", "/git/refs", new("refs/heads/work/deeper", &head))
        .await
        .refused(422, "Reference update failed");
    client.call("POST", "/git/refs", new("refs/heads/x", &"0".repeat(40))).await.refused(422, "Object does not exist");
    for odd in ["heads/x", "refs/heads/a..b", "refs/pull/1/head", "refs/heads/", "work"] {
        client.call("POST", "/git/refs", new(odd, &head)).await.refused(422, "is not a valid ref name");
    }
    let to = |sha: &str| Some(json!({"sha": sha}));
    let back = "/git/refs/heads/work";
    client.call("PATCH", back, to(&head)).await.refused(422, "Update is not a fast forward");
    client.call("PATCH", back, Some(json!({"sha": head, "force": "no"}))).await.refused(422, "invalid type");
    client.call("PATCH", back, Some(json!({"sha": head, "force": true}))).await.ok();
    assert_eq!(client.github.branches(REPO)["work"], head);
    client.call("PATCH", back, to(sha(&one))).await.ok();
    client.call("PATCH", "/git/refs/heads/none", to(&head)).await.refused(422, "Reference does not exist");
    assert_eq!(client.call("DELETE", back, None).await.status, 204);
    client.call("DELETE", back, None).await.refused(422, "Reference does not exist");
    client.call("DELETE", "/git/refs/heads/main", None).await.refused(422, "default branch");
    client.call("GET", "/git/ref/heads/work", None).await.refused(404, "Not Found");
}

#[tokio::test]
async fn a_moved_branch_moves_its_pull_request_in_the_apps_name() {
    let client = Client::full().await;
    let number = client.pull().await;
    let (url, seen) = receiver(202).await;
    client.github.set_webhook_url(&url);
    let head = client.head(number);
    let current = client.call("GET", &format!("/git/commits/{head}"), None).await.ok();
    let made = commit(&client, sha(&current["tree"]), &head).await;
    client.call("PATCH", "/git/refs/heads/work", Some(json!({"sha": made["sha"]}))).await.ok();
    client.github.deliveries_settled().await;
    assert_eq!(events(&client), ["check_suite.requested", "pull_request.synchronize"]);
    let told: Value = serde_json::from_slice(&seen.lock().unwrap()[1].1).unwrap();
    assert_eq!((&told["sender"]["login"], &told["sender"]["type"]), (&json!("swarm[bot]"), &json!("Bot")));
    assert_eq!((&told["before"], &told["after"]), (&json!(head), &made["sha"]));
    client.call("DELETE", "/git/refs/heads/work", None).await.ok();
    assert_eq!(client.github.pull(REPO, number).unwrap().state, "closed", "its head branch is gone");
}

#[tokio::test]
async fn workflow_files_ask_for_their_own_permission() {
    let client = Client::full().await;
    let (head, base) = main_of(&client).await;
    let refusal = "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission";
    let entries =
        json!([{"path": ".github/workflows/ci.yml", "mode": "100644", "type": "blob", "content": "on: push\n"}]);
    let body = json!({"base_tree": base, "tree": entries});
    client.call("POST", "/git/trees", Some(body)).await.refused(403, refusal);
    // The same smuggled in as a whole folder.
    let file = json!([{"path": "ci.yml", "mode": "100644", "type": "blob", "content": "on: push\n"}]);
    let folder = client.call("POST", "/git/trees", Some(json!({"tree": file}))).await.ok();
    let entries = json!([{"path": ".github/workflows", "mode": "040000", "type": "tree", "sha": folder["sha"]}]);
    let new = tree(&client, &base, entries).await;
    let made = commit(&client, &new, &head).await;
    let body = json!({"ref": "refs/heads/ci", "sha": made["sha"]});
    client.call("POST", "/git/refs", Some(body)).await.refused(403, refusal);
    assert!(!client.github.branches(REPO).contains_key("ci"));
}

#[tokio::test]
async fn protection_and_required_signatures_hold_for_refs() {
    let client = Client::full().await;
    let people = &client.people;
    let (head, base) = main_of(&client).await;
    people.protect_branch(REPO, "main").await.unwrap();
    people.require_signatures(REPO, "signed/*").await.unwrap();
    let one = commit(&client, &base, &head).await;
    let to_main = Some(json!({"sha": one["sha"]}));
    client.call("PATCH", "/git/refs/heads/main", to_main).await.refused(422, "Cannot update this protected branch");
    assert_eq!(client.call("GET", "/branches/main", None).await.ok()["protected"], true);
    let rules = client.call("GET", "/rules/branches/signed/new", None).await.ok();
    assert_eq!((rules.as_array().unwrap().len(), &rules[0]["type"]), (1, &json!("required_signatures")));
    assert_eq!(client.call("GET", "/rules/branches/signed/new/deep", None).await.ok(), json!([]));
    let author = json!({"name": "Mona", "email": "mona@example.com"});
    let body = json!({"message": "m", "tree": base, "parents": [head], "author": author});
    let unsigned = client.call("POST", "/git/commits", Some(body)).await.ok();
    let new = |sha: &Value| Some(json!({"ref": "refs/heads/signed/new", "sha": sha}));
    client.call("POST", "/git/refs", new(&unsigned["sha"])).await.refused(422, "must have verified signatures");
    client.call("POST", "/git/refs", new(&one["sha"])).await.ok();
}

#[tokio::test]
async fn an_empty_repository_has_no_objects_to_speak_of() {
    let client = Client::full().await;
    client.people.create_empty_repo("octo/fresh").await.unwrap();
    let token = client.token(json!({})).await;
    let ask = async |method: &str, path: &str, body: Option<Value>| {
        client.send(method, &format!("/repos/octo/fresh{path}"), Some(&token), body).await
    };
    ask("GET", "/git/ref/heads/main", None).await.refused(409, "Git Repository is empty.");
    ask("POST", "/git/blobs", Some(json!({"content": "a"}))).await.refused(409, "Git Repository is empty.");
    ask("GET", "/contents/README.md", None).await.refused(404, "empty");
    ask("GET", "/commits/main", None).await.refused(409, "Git Repository is empty.");
    assert_eq!(ask("GET", "", None).await.ok()["default_branch"], "main");
    client.people.push("mona", "octo/fresh", "main", "first", Change::new().write("a", "a\n")).await.unwrap();
    ask("GET", "/git/ref/heads/main", None).await.ok();
}

#[tokio::test]
async fn a_pull_request_of_the_app_is_told_in_its_name() {
    let client = Client::full().await;
    let (head, base) = main_of(&client).await;
    let file = json!([{"path": "new.rs", "mode": "100644", "type": "blob", "content": "x\n"}]);
    let made = commit(&client, &tree(&client, &base, file).await, &head).await;
    client.call("POST", "/git/refs", Some(json!({"ref": "refs/heads/work", "sha": made["sha"]}))).await.ok();
    let (url, seen) = receiver(202).await;
    client.github.set_webhook_url(&url);
    let open = |draft: bool| Some(json!({"title": "T", "head": "work", "base": "main", "body": "b", "draft": draft}));
    client.people.allow_drafts(REPO, false).await.unwrap();
    let refusal = "Draft pull requests are not supported in this repository.";
    client.call("POST", "/pulls", open(true)).await.refused(422, refusal);
    client.people.allow_drafts(REPO, true).await.unwrap();
    let pull = client.call("POST", "/pulls", open(true)).await;
    assert_eq!((pull.status, &pull.body["draft"], &pull.body["user"]["type"]), (201, &json!(true), &json!("Bot")));
    client.github.deliveries_settled().await;
    assert_eq!(events(&client), ["pull_request.opened"]);
    let told: Value = serde_json::from_slice(&seen.lock().unwrap()[0].1).unwrap();
    assert_eq!(told["sender"]["login"], "swarm[bot]");
    client.call("POST", "/pulls", open(false)).await.refused(422, "A pull request already exists for octo:work.");
    let found = client.call("GET", "/pulls?head=octo:work&state=open&base=main", None).await.ok();
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(client.call("GET", "/pulls?head=eve:work", None).await.ok(), json!([]));
    client.call("GET", "/pulls?head=work", None).await.refused(422, "owner:branch");
    let other = OpenPull::new("mona", "second", "S", Change::new().write("s.rs", "s\n"));
    client.people.open_pull(REPO, other).await.unwrap();
    assert_eq!(client.call("GET", "/pulls?direction=asc", None).await.ok()[0]["title"], "T");
}
