//! What goes wrong while an issue is worked on or a command is obeyed, and what must come of it all the same.

use std::process::Command;

use octoswarm::demo::{Change, Fault, FaultKind, OpenPull, PASSWORD};

use crate::contribute::{BODY, SAFE, TITLE, UNSAFE, with_unsafe_yaml};
use crate::support::world::{CLEAN, REPO, World};

async fn label(world: &World) -> u64 {
    let number = world.people().open_issue("ada", REPO, TITLE, BODY).await.unwrap();
    world.people().label("ada", REPO, number, "swarm").await.unwrap();
    number
}

/// One branch, one commit, one pull request, with the right content.
#[track_caller]
fn one_pull(world: &World, branches_before: usize) {
    let pulls = world.own_pulls();
    assert_eq!(pulls.len(), 1, "{pulls:#?}");
    assert_eq!(world.github.branches(REPO).len(), branches_before + 1);
    assert_eq!(world.github.commits(REPO, &pulls[0].head_ref)[0].parents.len(), 1);
    assert_eq!(world.github.file(REPO, &pulls[0].head_sha, "src/a.py").as_deref(), Some(SAFE));
}

/// Dies during that call while an issue is worked on.
async fn crash_while_contributing(signed: bool, method: &str, path: &str) {
    let mut world = with_unsafe_yaml().await;
    if signed {
        world.people().require_signatures(REPO, "**").await.unwrap();
    }
    let branches = world.github.branches(REPO).len();
    world
        .crash_during(method, path, async |world| {
            label(world).await;
        })
        .await;
    one_pull(&world, branches);
    world.end().await;
}

#[tokio::test]
async fn a_crash_during_any_call_of_a_contribution_leaves_one_branch_and_one_pull_request() {
    for (method, path) in [
        ("POST", "/reactions"),
        ("GET", "/permission"),
        ("GET", "/contents/"),
        ("POST", "/graphql"),
        ("GET", "/rules/branches"),
        ("POST", "/git-receive-pack"),
        ("POST", "/pulls"),
    ] {
        crash_while_contributing(false, method, path).await;
    }
}

#[tokio::test]
async fn a_crash_between_the_api_calls_of_a_signed_commit_leaves_one_branch_and_one_pull_request() {
    for (method, path) in [("POST", "/git/trees"), ("POST", "/git/commits"), ("POST", "/git/refs"), ("POST", "/pulls")]
    {
        crash_while_contributing(true, method, path).await;
    }
}

#[tokio::test]
async fn a_crash_during_any_call_of_a_fix_leaves_one_commit_and_one_answer() {
    for (method, path) in [
        ("POST", "/reactions"),
        ("GET", "/permission"),
        ("POST", "/comments"),
        ("POST", "/git-receive-pack"),
        ("PATCH", "/comments"),
    ] {
        let mut world = World::start().await;
        let number = world.open("src/read.py", UNSAFE).await;
        let before = world.github.pull(REPO, number).unwrap();
        world
            .crash_during(method, path, async |world| {
                world.people().comment("ada", REPO, number, "/swarm fix").await.unwrap();
            })
            .await;
        let commits = world.github.commits(REPO, &before.head_ref);
        assert_eq!(commits[0].parents, std::slice::from_ref(&before.head_sha), "{method} {path}: one commit on top");
        assert_eq!(world.github.file(REPO, &before.head_ref, "src/read.py").as_deref(), Some(SAFE));
        let said = world.said(number);
        assert_eq!(said.len(), 1, "{method} {path}: {said:?}");
        assert!(said[0].contains(&commits[0].sha[..7]), "{method} {path}: {}", said[0]);
        world.reviews(number);
        world.comments(number);
        world.end().await;
    }
}

#[tokio::test]
async fn a_write_that_fails_once_is_done_once() {
    for path in ["/reactions", "/git-receive-pack", "/pulls"] {
        for status in [500, 502, 503] {
            let world = with_unsafe_yaml().await;
            let branches = world.github.branches(REPO).len();
            world.github.fail_next(Fault::status("POST", path, status));
            label(&world).await;
            world.settle().await;
            one_pull(&world, branches);
            world.end_with_refusals().await;
        }
    }
}

#[tokio::test]
async fn a_fix_that_arrived_although_github_failed_to_say_so_is_told_of() {
    let world = World::start().await;
    let number = world.open("src/read.py", UNSAFE).await;
    let fault = FaultKind::RejectAfterEffect { status: 502 };
    world.github.fail_next(Fault::once("POST", "/git-receive-pack", fault));
    world.comment("ada", number, "/swarm fix").await;
    let head = world.github.pull(REPO, number).unwrap().head_sha;
    assert_eq!(world.github.file(REPO, &head, "src/read.py").as_deref(), Some(SAFE));
    let said = world.said(number);
    assert!(said.len() == 1 && said[0].contains(&head[..7]), "{said:?}");
    world.reviews(number);
    world.comments(number);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn a_secondary_limit_in_a_burst_of_comments_delays_and_loses_none() {
    let world = World::start().await;
    let number = world.open("src/a.py", CLEAN).await;
    world.github.fail_next(Fault::secondary_limit("POST", "/comments", 1));
    for _ in 0..5 {
        world.people().comment("ada", REPO, number, "/swarm help").await.unwrap();
    }
    world.settle().await;
    assert_eq!(world.said(number).len(), 5);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn an_issue_that_is_closed_while_it_is_worked_on_gets_no_pull_request() {
    let mut world = with_unsafe_yaml().await;
    let mut number = 0;
    world.github.fail_next(Fault::withhold("POST", "/graphql"));
    number += label(&world).await;
    world.github.wait_withheld().await;
    world.people().close_issue("ada", REPO, number).await.unwrap();
    world.github.deliveries_settled().await;
    world.github.release_withheld();
    world.settle().await;
    assert!(world.own_pulls().is_empty());
    assert!(world.said(number).is_empty(), "whoever closed it knows");
    world.mute_webhooks();
    world.end_with_refusals().await;
}

#[tokio::test]
async fn a_push_while_fixing_is_not_overwritten() {
    let world = World::start().await;
    let number = world.open("src/read.py", UNSAFE).await;
    world.github.fail_next(Fault::withhold("GET", "/rules/branches"));
    world.people().comment("ada", REPO, number, "/swarm fix").await.unwrap();
    world.github.wait_withheld().await;
    let change = Change::new().write("src/read.py", CLEAN);
    world.people().force_push_to_pull("ada", REPO, number, "Another idea", change).await.unwrap();
    world.github.release_withheld();
    world.settle().await;
    let head = world.github.pull(REPO, number).unwrap().head_sha;
    assert_eq!(world.github.file(REPO, &head, "src/read.py").as_deref(), Some(CLEAN));
    assert_eq!(world.said(number).len(), 1);
    world.reviews(number);
    world.comments(number);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn a_protected_branch_is_told_of_once() {
    let world = World::start().await;
    let number = world.open("src/read.py", UNSAFE).await;
    let branch = world.github.pull(REPO, number).unwrap().head_ref;
    world.people().protect_branch(REPO, &branch).await.unwrap();
    world.comment("ada", number, "/swarm fix").await;
    let said = world.said(number);
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("protected"), "{}", said[0]);
    world.reviews(number);
    world.comments(number);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn a_repository_renamed_meanwhile_is_followed() {
    let mut world = with_unsafe_yaml().await;
    let number = world.people().open_issue("ada", REPO, TITLE, BODY).await.unwrap();
    world.crash().await;
    world.people().label("ada", REPO, number, "swarm").await.unwrap();
    world.github.deliveries_settled().await;
    world.people().rename_repo("ada", REPO, "abacus").await.unwrap();
    world.github.deliveries_settled().await;
    world.restart().await;
    world.caught_up().await;
    let bot = world.github.bot_login();
    let own = world.github.pulls("octo/abacus").into_iter().filter(|pull| pull.author == bot).count();
    assert_eq!(own, 1);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn a_suspended_installation_is_left_in_peace() {
    let mut world = with_unsafe_yaml().await;
    let number = world.people().open_issue("ada", REPO, TITLE, BODY).await.unwrap();
    world.crash().await;
    world.people().label("ada", REPO, number, "swarm").await.unwrap();
    world.github.deliveries_settled().await;
    world.people().suspend("ada").await;
    world.restart().await;
    world.caught_up().await;
    assert!(world.own_pulls().is_empty());
    world.end_with_refusals().await;
}

#[tokio::test]
async fn a_command_whose_comment_is_deleted_does_nothing() {
    let mut world = World::start().await;
    let number = world.open("src/read.py", UNSAFE).await;
    let before = world.github.pull(REPO, number).unwrap().head_sha;
    world.crash().await;
    let id = world.people().comment("ada", REPO, number, "/swarm fix").await.unwrap();
    world.github.deliveries_settled().await;
    world.people().delete_comment("ada", REPO, id).await.unwrap();
    world.restart().await;
    world.caught_up().await;
    assert_eq!(world.github.pull(REPO, number).unwrap().head_sha, before);
    assert!(world.said(number).is_empty());
    world.reviews(number);
    world.comments(number);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn a_permission_lost_between_command_and_work_is_seen() {
    let world = World::start().await;
    let number = world.open("src/read.py", UNSAFE).await;
    world.people().add_collaborator(REPO, "max", "write").await.unwrap();
    let before = world.github.pull(REPO, number).unwrap().head_sha;
    // The answer to the first question, at the command, is held back; by the second one max may only read.
    world.github.fail_next(Fault::withhold("GET", "/permission"));
    world.people().comment("max", REPO, number, "/swarm fix").await.unwrap();
    world.github.wait_withheld().await;
    world.people().add_collaborator(REPO, "max", "read").await.unwrap();
    world.github.release_withheld();
    world.settle().await;
    assert_eq!(world.github.pull(REPO, number).unwrap().head_sha, before);
    world.said(number);
    world.reviews(number);
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn an_app_without_the_permission_to_write_contents_says_so() {
    let manifest = include_str!("../../app-manifest.yml").replace("contents: write", "contents: read");
    let world = World::with_manifest(&manifest).await;
    let number = world.open("src/read.py", UNSAFE).await;
    world.comment("ada", number, "/swarm fix").await;
    let said = world.said(number);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("contents"), "{}", said[0]);
    world.reviews(number);
    world.comments(number);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn deliveries_out_of_order_end_in_the_state_that_github_shows() {
    let mut world = with_unsafe_yaml().await;
    world.crash().await;
    let number = label(&world).await;
    world.people().close_issue("ada", REPO, number).await.unwrap();
    world.people().reopen_issue("ada", REPO, number).await.unwrap();
    world.github.deliveries_settled().await;
    world.restart().await;
    let deliveries = world.github.deliveries();
    for action in ["reopened", "closed", "labeled"] {
        let one = deliveries.iter().find(|d| d.event == "issues" && d.action.as_deref() == Some(action)).unwrap();
        world.people().redeliver(&one.guid).await.unwrap();
        world.settle().await;
    }
    assert_eq!(world.own_pulls().len(), 1);
    world.end().await;
}

/// With the machine's git, for people in the box write plain files only.
fn push_links(world: &World, links: &[(&str, &str)]) {
    let clone = tempfile::tempdir().unwrap();
    let url = world.github.clone_url(REPO).replacen("://", &format!("://ada:{PASSWORD}@"), 1);
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=ada", "-c", "user.email=ada@example.com"])
            .args(args)
            .current_dir(clone.path())
            .env("HOME", clone.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["clone", "-q", &url, "."]);
    for (path, target) in links {
        std::os::unix::fs::symlink(target, clone.path().join(path)).unwrap();
    }
    git(&["add", "."]);
    git(&["commit", "-qm", "Links"]);
    git(&["push", "-q", "origin", "HEAD:main"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn links_in_the_tree_lead_nowhere() {
    let world = with_unsafe_yaml().await;
    push_links(&world, &[("src/evil.py", "/etc/passwd"), ("data", "/etc")]);
    world.settle().await;
    let body = "Please replace `root` by `toor` in `src/evil.py` and `data/passwd`.";
    let number = world.ask("Rename the user", body).await;
    assert!(world.own_pulls().is_empty());
    assert_eq!(world.said(number).len(), 1);
    world.end().await;
}

#[tokio::test]
async fn a_tree_of_a_hundred_thousand_entries_is_still_worked_on() {
    let world = with_unsafe_yaml().await;
    let many = (0..100_000).fold(Change::new(), |change, n| change.write(&format!("data/{}/{n}.txt", n % 100), "x\n"));
    world.people().push("ada", REPO, "main", "Much data", many).await.unwrap();
    world.ask(TITLE, BODY).await;
    let pulls = world.own_pulls();
    assert!(pulls.len() <= 1);
    world.said(pulls.first().map_or(1, |pull| pull.number - 1));
    world.end().await;
}

#[tokio::test]
async fn a_pull_request_whose_fork_is_gone_is_not_pushed_to() {
    let world = World::start().await;
    let pull = OpenPull::new("eve", "idea", "An idea", Change::new().write("src/read.py", UNSAFE));
    let number = world.people().open_pull_from_fork(REPO, pull).await.unwrap();
    world.settle().await;
    world.people().delete_fork(REPO, number).await.unwrap();
    world.comment("ada", number, "/swarm fix").await;
    assert_eq!(world.said(number).len(), 1);
    world.reviews(number);
    world.comments(number);
    world.end().await;
}
