//! `accounts`: whom a public App serves. The box's App is installed on `octo`.

use octoswarm::demo::{Change, Fault, OpenPull};

use crate::support::world::{DEFECTS, REPO, World};

#[tokio::test]
async fn an_account_on_the_list_is_served_however_it_is_written() {
    let mut world = World::start().await;
    world.restart_serving(&["OCTO", "somebody"]).await;
    let number = world.open("src/run.py", DEFECTS).await;
    assert!(!world.reviews(number).is_empty());
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn an_account_that_is_not_on_the_list_is_ignored_and_no_token_is_minted_for_it() {
    let mut world = World::start().await;
    world.restart_serving(&["somebody-else"]).await;
    let before = world.github.calls().len();
    let number = world.open("src/run.py", DEFECTS).await;
    assert!(
        world.last_reason().await.contains("ignored: `octo` is not among `accounts`"),
        "{}",
        world.last_reason().await
    );
    let issue = world.ask("Change it", "Replace `a` with `b` in `src/base.py`.").await;
    world.comment("ada", issue, "/swarm status").await;
    world.people().install("octo").await;
    world.settle().await;
    assert!(world.last_reason().await.contains("is not among `accounts`"));
    assert_eq!(world.app.sweep().await.unwrap(), 0);
    let calls: Vec<String> =
        world.github.calls().into_iter().skip(before).map(|call| format!("{} {}", call.method, call.path)).collect();
    assert_eq!(calls, ["GET /app/installations"], "only the App itself asked, and of itself");
    assert!(world.reviews(number).is_empty() && world.said(issue).is_empty());
    let store = world.app.store();
    let mut dismissed = 0;
    for row in store.deliveries(50, None).await.unwrap() {
        let row = store.delivery(&row.guid).await.unwrap().unwrap();
        if row.reason.as_deref().is_some_and(|reason| reason.contains("is not among `accounts`")) {
            assert!(row.body.is_empty() && !row.body_hash.is_empty(), "what strangers send is not kept: {row:?}");
            dismissed += 1;
        }
    }
    assert!(dismissed >= 3, "the pull request, the issue and the comment");
    world.end().await;
}

#[tokio::test]
async fn work_that_waits_when_its_account_leaves_the_list_is_not_done() {
    let mut world = World::start().await;
    // The review has been begun, and dies with its process.
    world.github.fail_next(Fault::withhold("POST", "/check-runs"));
    world
        .people()
        .open_pull(REPO, OpenPull::new("ada", "change", "A change", Change::new().write("src/run.py", DEFECTS)))
        .await
        .unwrap();
    world.github.wait_withheld().await;
    world.restart_serving(&["somebody-else"]).await;
    world.github.release_withheld();
    let before = world.github.calls().len();
    world.settle().await;
    assert!(world.reviews(1).is_empty());
    assert_eq!(world.github.calls().len(), before, "nothing is asked on its behalf any more");
    world.end().await;
}

#[tokio::test]
async fn what_is_taken_away_is_forgotten_for_everybody() {
    let mut world = World::start().await;
    world.open("src/run.py", DEFECTS).await;
    world.restart_serving(&["somebody-else"]).await;
    world.people().uninstall("octo").await;
    world.settle().await;
    assert!(world.last_reason().await.contains("handled: uninstalled by octo"), "{}", world.last_reason().await);
    world.reviews(1);
    world.comments(1);
    world.end().await;
}
