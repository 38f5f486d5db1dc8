//! Git over smart HTTP, asked by the machine's own git.

use std::path::Path;
use std::process::{Command, Output};

use octoswarm::demo::{Change, OpenPull};
use serde_json::json;

use super::{Client, REPO};

/// Runs off the runtime's thread, which has to serve the box meanwhile.
pub async fn git(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command
        .current_dir(dir)
        .args(["-c", "credential.helper=", "-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", dir)
        .env("LC_ALL", "C")
        .env_remove("GIT_DIR");
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[track_caller]
pub fn worked(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
pub fn failed(output: &Output, part: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains(part), "{text}");
}

pub fn url(client: &Client, user: &str, password: &str, repo: &str) -> String {
    client.github.clone_url(repo).replacen("://", &format!("://{user}:{password}@"), 1)
}

#[tokio::test]
async fn a_token_fetches_shallowly_by_pull_ref_and_by_commit() {
    let client = Client::start().await;
    let change = Change::new().write("fork.rs", "x\n");
    let number = client.people.open_pull_from_fork(REPO, OpenPull::new("eve", "p", "T", change)).await.unwrap();
    let token = client.token(json!({"permissions": {"contents": "read"}})).await;
    let dir = tempfile::tempdir().unwrap();
    worked(&git(dir.path(), &["init", "-q"]).await);
    let from = url(&client, "x-access-token", &token, REPO);
    worked(&git(dir.path(), &["fetch", "-q", "--depth=1", &from, &format!("refs/pull/{number}/head")]).await);
    assert_eq!(worked(&git(dir.path(), &["rev-parse", "FETCH_HEAD"]).await).trim(), client.head(number));
    assert_eq!(worked(&git(dir.path(), &["rev-list", "--count", "FETCH_HEAD"]).await).trim(), "1");
    let refs = worked(&git(dir.path(), &["ls-remote", &from]).await);
    let names: Vec<&str> = refs.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    let (head, merge) = (format!("refs/pull/{number}/head"), format!("refs/pull/{number}/merge"));
    assert_eq!(names, ["HEAD", "refs/heads/main", head.as_str(), merge.as_str()]);
    let base = client.github.pull(REPO, number).unwrap().base_sha;
    worked(&git(dir.path(), &["fetch", "-q", "--depth=1", &from, &base]).await);
    assert_eq!(worked(&git(dir.path(), &["rev-parse", "FETCH_HEAD"]).await).trim(), base);
    worked(&git(dir.path(), &["fetch", "-q", "--unshallow", &from, &merge]).await);
    assert_eq!(worked(&git(dir.path(), &["rev-list", "--parents", "-1", "FETCH_HEAD"]).await).split(' ').count(), 3);
}

#[tokio::test]
async fn a_person_clones_and_pushes_and_the_pull_request_follows() {
    let client = Client::start().await;
    let number = client.pull().await;
    let dir = tempfile::tempdir().unwrap();
    worked(&git(dir.path(), &["clone", "-q", "-b", "work", &url(&client, "mona", "demo", REPO), "c"]).await);
    let work = dir.path().join("c");
    std::fs::write(work.join("pushed.rs"), "p\n").unwrap();
    worked(&git(&work, &["add", "."]).await);
    worked(&git(&work, &["commit", "-qm", "pushed"]).await);
    worked(&git(&work, &["push", "-q", "origin", "work"]).await);
    let head = worked(&git(&work, &["rev-parse", "HEAD"]).await);
    assert_eq!(client.head(number), head.trim());
    let files = client.call("GET", &format!("/pulls/{number}/files"), None).await.ok();
    assert!(files.to_string().contains("pushed.rs"));
}

#[tokio::test]
async fn wrong_credentials_fetch_nothing() {
    let client = Client::start().await;
    client.people.create_repo("octo/other", Change::new().write("a", "a")).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let anonymous = client.github.clone_url(REPO);
    failed(&git(dir, &["ls-remote", &anonymous]).await, "could not read Username");
    failed(&git(dir, &["ls-remote", &url(&client, "mona", "guess", REPO)]).await, "Authentication failed");
    failed(&git(dir, &["ls-remote", &url(&client, "x-access-token", "ghs_1_x", REPO)]).await, "Authentication failed");
    let other = client.token(json!({"repositories": ["other"]})).await;
    failed(&git(dir, &["ls-remote", &url(&client, "x-access-token", &other, REPO)]).await, "not found");
    let blind = client.token(json!({"permissions": {"checks": "write"}})).await;
    failed(&git(dir, &["ls-remote", &url(&client, "x-access-token", &blind, REPO)]).await, "403");
    let answer = client.http.get(format!("{anonymous}/info/refs?service=git-upload-pack")).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers().contains_key("www-authenticate")), (401, true));
}

#[tokio::test]
async fn a_file_whose_folder_is_named_like_a_repository_is_still_content() {
    let client = Client::start().await;
    client.people.push("mona", REPO, "main", "m", Change::new().write("a.git/b", "c\n")).await.unwrap();
    assert_eq!(client.call("GET", "/contents/a.git/b", None).await.ok()["path"], "a.git/b");
}

#[tokio::test]
async fn a_push_needs_contents_write_and_leaves_pull_refs_alone() {
    let client = Client::start().await;
    let number = client.pull().await;
    let dir = tempfile::tempdir().unwrap();
    worked(&git(dir.path(), &["clone", "-q", &url(&client, "mona", "demo", REPO), "c"]).await);
    let work = dir.path().join("c");
    let reader = client.token(json!({"permissions": {"contents": "read"}})).await;
    let from = url(&client, "x-access-token", &reader, REPO);
    failed(&git(&work, &["push", &from, "HEAD:refs/heads/mine"]).await, "403");
    let writer = client.token(json!({"permissions": {"contents": "write"}})).await;
    let to = url(&client, "x-access-token", &writer, REPO);
    let hidden = format!("HEAD:refs/pull/{number}/head");
    failed(&git(&work, &["push", "-f", &to, &hidden]).await, "hidden ref");
    worked(&git(&work, &["push", "-q", &to, "HEAD:refs/heads/mine"]).await);
    client.call("GET", "/git/ref/heads/mine", None).await.ok();
}
