//! What a `git push` may do, and how it is told when it may not.

use std::path::{Path, PathBuf};

use octoswarm::demo::{Change, Fault, FaultKind};
use serde_json::{Value, json};

use super::gitwire::{failed, git, url, worked};
use super::webhooks::{events, receiver};
use super::{Client, REPO};

struct Work {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

/// A clone of the repository, and the address to push to as the App.
async fn cloned(client: &Client, repo: &str) -> (Work, String) {
    let dir = tempfile::tempdir().unwrap();
    worked(&git(dir.path(), &["clone", "-q", &url(client, "mona", "demo", repo), "c"]).await);
    let path = dir.path().join("c");
    let token = client.token(json!({"permissions": {"contents": "write"}})).await;
    (Work { _dir: dir, path }, url(client, "x-access-token", &token, repo))
}

async fn commit(work: &Path, file: &str, text: &str) -> String {
    let at = work.join(file);
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::write(at, text).unwrap();
    worked(&git(work, &["add", "-A"]).await);
    worked(&git(work, &["commit", "-qm", file]).await);
    worked(&git(work, &["rev-parse", "HEAD"]).await).trim().to_owned()
}

#[tokio::test]
async fn a_push_of_the_app_moves_its_pull_request_in_its_name_and_is_unsigned() {
    let client = Client::full().await;
    let number = client.pull().await;
    let (work, to) = cloned(&client, REPO).await;
    worked(&git(&work.path, &["checkout", "-q", "work"]).await);
    let sha = commit(&work.path, "more.rs", "m\n").await;
    let (address, seen) = receiver(202).await;
    client.github.set_webhook_url(&address);
    worked(&git(&work.path, &["push", "-q", &to, "work"]).await);
    client.github.deliveries_settled().await;
    assert_eq!(events(&client), ["check_suite.requested", "pull_request.synchronize"]);
    let told: Value = serde_json::from_slice(&seen.lock().unwrap()[1].1).unwrap();
    assert_eq!((&told["sender"]["login"], &told["after"]), (&json!("swarm[bot]"), &json!(sha)));
    assert_eq!(client.head(number), sha);
    assert!(!client.github.commits(REPO, "work")[0].verified);
    let push = &client.github.pushes()[0];
    assert_eq!((push.reference.as_str(), push.by.as_str()), ("refs/heads/work", "swarm[bot]"));
    assert_eq!((push.after.as_deref(), &push.refused), (Some(sha.as_str()), &None));
}

#[tokio::test]
async fn a_workflow_file_is_refused_wherever_in_the_push_it_stands() {
    let client = Client::full().await;
    let (work, to) = cloned(&client, REPO).await;
    commit(&work.path, ".github/workflows/ci.yml", "on: push\n").await;
    commit(&work.path, "later.rs", "x\n").await;
    let refusal = "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission";
    failed(&git(&work.path, &["push", &to, "HEAD:refs/heads/mine"]).await, refusal);
    assert!(!client.github.branches(REPO).contains_key("mine"));
    assert_eq!(client.github.pushes()[0].refused.as_deref(), Some(refusal));
    // A person may, and from then on the App may build upon it.
    worked(&git(&work.path, &["push", "-q", "origin", "HEAD:refs/heads/hers"]).await);
    commit(&work.path, "on-top.rs", "x\n").await;
    worked(&git(&work.path, &["push", "-q", &to, "HEAD:refs/heads/mine"]).await);
}

#[tokio::test]
async fn a_token_with_workflows_may_push_workflow_files() {
    let client = Client::with(|options| {
        options.manifest.default_permissions.insert("workflows".to_owned(), octoswarm::demo::Level::Write);
    })
    .await;
    let (work, narrow) = cloned(&client, REPO).await;
    commit(&work.path, ".github/workflows/ci.yml", "on: push\n").await;
    failed(&git(&work.path, &["push", &narrow, "HEAD:refs/heads/mine"]).await, "without `workflows` permission");
    let token = client.token(json!({"permissions": {"contents": "write", "workflows": "write"}})).await;
    let wide = url(&client, "x-access-token", &token, REPO);
    worked(&git(&work.path, &["push", "-q", &wide, "HEAD:refs/heads/mine"]).await);
}

#[tokio::test]
async fn a_protected_branch_declines_and_takes_the_rest_of_the_push_with_it() {
    let client = Client::full().await;
    client.people.protect_branch(REPO, "main").await.unwrap();
    let (work, to) = cloned(&client, REPO).await;
    commit(&work.path, "a.rs", "a\n").await;
    let push = git(&work.path, &["push", &to, "HEAD:refs/heads/main", "HEAD:refs/heads/other"]).await;
    failed(&push, "(protected branch hook declined)");
    failed(&push, "GH006: Protected branch update failed for refs/heads/main.");
    failed(&push, "(pre-receive hook declined)");
    failed(&git(&work.path, &["push", &to, ":refs/heads/main"]).await, "protected branch hook declined");
    assert_eq!(client.github.branches(REPO).len(), 1);
    client.people.unprotect_branch(REPO, "main").await.unwrap();
    worked(&git(&work.path, &["push", "-q", &to, "HEAD:refs/heads/main"]).await);
}

#[tokio::test]
async fn unsigned_commits_are_declined_where_signatures_are_required() {
    let client = Client::full().await;
    client.people.require_signatures(REPO, "~ALL").await.unwrap();
    let (work, to) = cloned(&client, REPO).await;
    let sha = commit(&work.path, "a.rs", "a\n").await;
    let push = git(&work.path, &["push", &to, "HEAD:refs/heads/mine"]).await;
    failed(&push, "GH013: Repository rule violations found for refs/heads/mine.");
    failed(&push, "Commits must have verified signatures.");
    failed(&push, &sha);
    failed(&push, "(push declined due to repository rule violations)");
    client.people.drop_signatures(REPO, "~ALL").await.unwrap();
    worked(&git(&work.path, &["push", "-q", &to, "HEAD:refs/heads/mine"]).await);
}

#[tokio::test]
async fn the_app_rewrites_no_branch_until_it_is_allowed_to() {
    let client = Client::full().await;
    client.people.push("mona", REPO, "mine", "m", Change::new().write("m.rs", "m\n")).await.unwrap();
    let (work, to) = cloned(&client, REPO).await;
    commit(&work.path, "a.rs", "a\n").await;
    failed(&git(&work.path, &["push", &to, "HEAD:refs/heads/mine"]).await, "rejected");
    failed(&git(&work.path, &["push", "-f", &to, "HEAD:refs/heads/mine"]).await, "non-fast-forward");
    assert_eq!(client.github.commits(REPO, "mine")[0].message, "m");
    client.people.allow_force_pushes(REPO, true).await.unwrap();
    worked(&git(&work.path, &["push", "-qf", &to, "HEAD:refs/heads/mine"]).await);
}

#[tokio::test]
async fn suspension_archiving_and_missing_permission_close_the_door() {
    let client = Client::full().await;
    let (work, to) = cloned(&client, REPO).await;
    commit(&work.path, "a.rs", "a\n").await;
    let reader = client.token(json!({"permissions": {"contents": "read"}})).await;
    let read = url(&client, "x-access-token", &reader, REPO);
    failed(&git(&work.path, &["push", &read, "HEAD:refs/heads/mine"]).await, "403");
    client.people.suspend("octo").await;
    failed(&git(&work.path, &["ls-remote", &to]).await, "This installation has been suspended");
    client.people.unsuspend("octo").await;
    client.people.archive_repo("octo", REPO).await.unwrap();
    failed(&git(&work.path, &["push", &to, "HEAD:refs/heads/mine"]).await, "archived so it is read-only");
    worked(&git(&work.path, &["ls-remote", &to]).await);
    client.people.unarchive_repo("octo", REPO).await.unwrap();
    worked(&git(&work.path, &["push", "-q", &to, "HEAD:refs/heads/mine"]).await);
}

#[tokio::test]
async fn an_empty_repository_takes_a_first_push() {
    let client = Client::full().await;
    client.people.create_empty_repo("octo/fresh").await.unwrap();
    let (work, to) = cloned(&client, "octo/fresh").await;
    commit(&work.path, "a.rs", "a\n").await;
    worked(&git(&work.path, &["push", "-q", &to, "HEAD:refs/heads/main"]).await);
    assert_eq!(client.github.file("octo/fresh", "main", "a.rs").as_deref(), Some("a\n"));
}

#[tokio::test]
async fn a_former_name_leads_git_to_the_repository() {
    let client = Client::full().await;
    let (work, to) = cloned(&client, REPO).await;
    client.people.rename_repo("octo", REPO, "abacus").await.unwrap();
    commit(&work.path, "a.rs", "a\n").await;
    let answer = client.http.get(format!("{}/info/refs?service=git-upload-pack", client.github.clone_url(REPO)));
    let answer = answer.send().await.unwrap();
    assert_eq!(answer.status(), 301);
    assert!(
        answer.headers()["location"].to_str().unwrap().ends_with("/octo/abacus.git/info/refs?service=git-upload-pack")
    );
    worked(&git(&work.path, &["fetch", "-q", &to, "main"]).await);
    worked(&git(&work.path, &["push", "-q", &to, "HEAD:refs/heads/mine"]).await);
    assert!(client.github.branches("octo/abacus").contains_key("mine"));
}

#[tokio::test]
async fn a_push_that_cannot_be_read_is_refused() {
    let client = Client::full().await;
    let token = client.token(json!({"permissions": {"contents": "write"}})).await;
    let address = format!("{}/git-receive-pack", client.github.clone_url(REPO));
    for body in [&b"zzzz"[..], &b"0009abc"[..], &b"\x1f\x8b\x08\x00"[..]] {
        let push = client.http.post(&address).basic_auth("x-access-token", Some(&token)).body(body);
        assert_eq!(push.send().await.unwrap().status(), 400);
    }
}

#[tokio::test]
async fn misfortune_strikes_a_push_before_and_after_its_effect() {
    let client = Client::full().await;
    let (work, to) = cloned(&client, REPO).await;
    commit(&work.path, "a.rs", "a\n").await;
    let path = format!("/{REPO}.git/git-receive-pack");
    client.github.fail_next(Fault::status("POST", &path, 503));
    failed(&git(&work.path, &["push", &to, "HEAD:refs/heads/one"]).await, "503");
    assert!(!client.github.branches(REPO).contains_key("one"));
    client.github.fail_next(Fault::once("POST", &path, FaultKind::RejectAfterEffect { status: 502 }));
    failed(&git(&work.path, &["push", &to, "HEAD:refs/heads/two"]).await, "502");
    assert!(client.github.branches(REPO).contains_key("two"));
    client.github.fail_next(Fault::once("POST", &path, FaultKind::Truncate));
    assert!(!git(&work.path, &["push", &to, "HEAD:refs/heads/three"]).await.status.success());
    assert!(client.github.branches(REPO).contains_key("three"));
    assert_eq!(client.github.faults_left(), 0);
}
