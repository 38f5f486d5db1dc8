//! What a missed webhook lost is found again.

use octoswarm::demo::{Change, Fault, OpenPull};

use crate::contribute::{BODY, TITLE, with_unsafe_yaml};
use crate::support::world::{CLEAN, DEFECTS, REPO, World};

/// Opens a pull request that nobody waits for.
async fn open_unheard(world: &World) -> u64 {
    let pull = OpenPull::new("ada", "unheard", "A change", Change::new().write("src/run.py", DEFECTS));
    let number = world.people().open_pull(REPO, pull).await.unwrap();
    world.github.deliveries_settled().await;
    number
}

#[tokio::test]
async fn what_happened_while_the_server_was_down_is_fetched_at_its_start() {
    let mut world = with_unsafe_yaml().await;
    world.crash().await;
    let number = open_unheard(&world).await;
    let issue = world.people().open_issue("ada", REPO, TITLE, BODY).await.unwrap();
    world.people().label("ada", REPO, issue, "swarm").await.unwrap();
    world.github.deliveries_settled().await;
    world.restart().await;
    world.caught_up().await;
    assert_eq!(world.comments(number).len(), 2);
    assert_eq!(world.reviews(number).len(), 1);
    assert_eq!(world.own_pulls().len(), 1);
    world.end().await;
}

#[tokio::test]
async fn what_github_cannot_deliver_is_taken_from_the_log() {
    let mut world = World::start().await;
    world.mute_webhooks();
    let number = open_unheard(&world).await;
    let all = world.caught_up().await;
    assert!(all.redelivered > 0 && all.taken > 0, "asked for again first: {all:?}");
    assert_eq!(world.comments(number).len(), 2);
    assert_eq!(world.reviews(number).len(), 1);
    assert_eq!(world.app.catch_up().await.unwrap(), Default::default(), "nothing is left");
    world.end().await;
}

#[tokio::test]
async fn a_log_that_cannot_be_read_loses_nothing() {
    let mut world = World::start().await;
    world.mute_webhooks();
    let number = open_unheard(&world).await;
    world.github.fail_next(Fault::status("GET", "/app/hook/deliveries", 502).times(100));
    world.app.catch_up().await.unwrap_err();
    world.github.forgive();
    world.caught_up().await;
    assert_eq!(world.comments(number).len(), 2);
    world.reviews(number);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn open_pull_requests_and_labels_are_compared_with_the_rows() {
    let mut world = with_unsafe_yaml().await;
    world.app.sweep().await.unwrap();
    world.mute_webhooks();
    let number = open_unheard(&world).await;
    let issue = world.people().open_issue("ada", REPO, TITLE, BODY).await.unwrap();
    world.people().label("ada", REPO, issue, "swarm").await.unwrap();
    world.github.deliveries_settled().await;
    assert_eq!(world.app.sweep().await.unwrap(), 2);
    world.settle().await;
    assert_eq!(world.comments(number).len(), 2);
    assert_eq!(world.own_pulls().len(), 1);
    assert_eq!(world.app.sweep().await.unwrap(), 1, "nothing told of our own pull request: it is looked at");
    world.settle().await;
    assert_eq!(world.app.sweep().await.unwrap(), 0, "nothing is done twice");
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn the_first_sweep_reviews_nothing_that_was_there_before() {
    let mut world = World::start().await;
    world.mute_webhooks();
    open_unheard(&world).await;
    assert_eq!(world.app.sweep().await.unwrap(), 0);
    world.settle().await;
    world.end().await;
}

#[tokio::test]
async fn a_server_that_polls_needs_no_webhook() {
    let mut world = World::start().await;
    world.poll().await;
    let number = open_unheard(&world).await;
    world.caught_up().await;
    assert_eq!(world.comments(number).len(), 2);
    assert_eq!(world.reviews(number).len(), 1);
    world.end().await;
}

/// What one repository's commands have fetched goes with it; another account's stays.
#[tokio::test]
async fn an_uninstalled_app_keeps_no_dependencies() {
    if !crate::trial::sandboxed().await {
        return;
    }
    let config = "commands:\n  install: echo fetched > /deps/fetched\n  test: test -e /deps/fetched\n";
    let world = crate::trial::with_checks(config, &[("Cargo.lock", "version = 4\n")]).await;
    let kept = || {
        let all = std::fs::read_dir(world.state_dir().join("dependencies")).unwrap();
        all.filter(|entry| entry.as_ref().unwrap().path().join("tree/fetched").is_file()).count()
    };
    let number = world.open("src/a.py", CLEAN).await;
    world.comment("ada", number, "/swarm test").await;
    assert!(world.said(number)[0].contains("1 passed"), "{:?}", world.said(number));
    assert_eq!(kept(), 1);
    world.people().uninstall("octo").await;
    world.settle().await;
    assert_eq!(kept(), 0, "{}", world.last_reason().await);
    world.reviews(number);
    world.comments(number);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn an_uninstalled_app_keeps_no_clone() {
    let world = World::start().await;
    world.open("src/a.py", CLEAN).await;
    let mirrors = world.state_dir().join("mirrors");
    let count = || std::fs::read_dir(&mirrors).unwrap().filter(|e| e.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(count(), 1);
    world.people().uninstall("ada").await;
    world.settle().await;
    assert_eq!(count(), 0);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn one_delivery_that_nobody_can_bring_keeps_back_no_other() {
    let mut world = World::start().await;
    let issue = world.people().open_issue("ada", REPO, "A question", "Why?").await.unwrap();
    world.settle().await;
    world.mute_webhooks();
    world.people().comment("ada", REPO, issue, "Nobody needs to hear this.").await.unwrap();
    let number = open_unheard(&world).await;
    world.github.fail_next(Fault::status("POST", "/attempts", 422));
    world.github.fail_next(Fault::status("GET", "/app/hook/deliveries/", 404));
    world.caught_up().await;
    assert_eq!(world.comments(number).len(), 2);
    world.reviews(number);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn a_repository_that_cannot_be_compared_is_no_reason_to_compare_all_of_them_again() {
    let world = World::start().await;
    world.app.sweep().await.unwrap();
    world.github.fail_next(Fault::status("GET", "/installation/repositories", 403));
    assert_eq!(world.app.sweep().await.unwrap(), 0);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn a_stranger_cannot_change_what_was_asked_for_while_nobody_heard_of_the_label() {
    let mut world = with_unsafe_yaml().await;
    world.app.sweep().await.unwrap();
    world.mute_webhooks();
    let issue = world.people().open_issue("eve", REPO, TITLE, BODY).await.unwrap();
    world.people().label("ada", REPO, issue, "swarm").await.unwrap();
    world.people().edit_issue("eve", REPO, issue, TITLE, "Please replace `+` by `-` in `src/c.py`.").await.unwrap();
    world.github.deliveries_settled().await;
    for _ in 0..2 {
        assert_eq!(world.app.sweep().await.unwrap(), 0);
    }
    world.settle().await;
    assert!(world.own_pulls().is_empty());
    let said = world.said(issue);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("set it again"), "{}", said[0]);
    world.end().await;
}
