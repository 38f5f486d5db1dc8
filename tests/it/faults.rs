//! What goes wrong, and what must come of it all the same: nothing lost, nothing twice.

use std::time::Duration;

use octoswarm::app;
use octoswarm::app::runs::{DeliveryState, Observer};
use octoswarm::demo::{Change, Fault, FaultKind, OpenPull};
use octoswarm::domain::{Class, Job, ReviewTarget};
use octoswarm::store::{JobFilter, JobState, NewJob};
use octoswarm::workspace;

use crate::support::world::{CLEAN, DEFECTS, HALF_FIXED, REPO, World};

/// The delivery that opened the pull request.
fn opened(world: &World) -> String {
    delivered(world, "opened")
}

/// The first delivery of that action.
fn delivered(world: &World, action: &str) -> String {
    let deliveries = world.github.deliveries();
    deliveries.into_iter().find(|d| d.action.as_deref() == Some(action)).unwrap().guid
}

/// Returns once every delivery so far came to its verdict; the reviews they asked for may go on.
async fn deliveries_read(world: &World) {
    let observer = Observer::open(world.state_dir()).await.unwrap();
    let all = async {
        loop {
            world.github.deliveries_settled().await;
            let timelines = observer.timelines(100).await.unwrap();
            if timelines.iter().all(|t| t.delivery.state != DeliveryState::Received) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all).await.expect("deliveries are read while a review runs");
}

/// Returns once the latest review failed and waits for its next attempt.
async fn review_waits_again(world: &World) {
    let filter = JobFilter { kind: Some("review".to_owned()), ..JobFilter::default() };
    let waits = async {
        loop {
            let latest = world.app.store().jobs(&filter).await.unwrap().into_iter().next();
            if latest.is_some_and(|job| job.last_error.is_some()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waits).await.expect("the first attempt fails");
}

/// Asks once more for the last review, with so many attempts.
async fn review_again(world: &World, max_attempts: u32) {
    let store = world.app.store();
    let filter = JobFilter { kind: Some("review".to_owned()), ..JobFilter::default() };
    let Some(Job::Review(target)) = store.jobs(&filter).await.unwrap().remove(0).job else { panic!("no review") };
    let again = Job::Review(ReviewTarget { forced: true, ..target });
    let new = NewJob { max_attempts, ..NewJob::at(store.clock().now()) };
    store.enqueue(&again, new).await.unwrap();
}

async fn last_review_state(world: &World) -> JobState {
    let filter = JobFilter { kind: Some("review".to_owned()), ..JobFilter::default() };
    world.app.store().jobs(&filter).await.unwrap().remove(0).state
}

/// Opens the pull request without waiting for the review.
async fn open_unsettled(world: &World) -> u64 {
    let pull = OpenPull::new("ada", "change", "A change", Change::new().write("src/run.py", DEFECTS));
    world.people().open_pull(REPO, pull).await.unwrap()
}

async fn reviewed_once(world: World, number: u64) {
    assert_eq!(world.comments(number).len(), 2);
    assert_eq!(world.reviews(number).len(), 1);
    assert_eq!(world.conclusion(number), "failure");
    world.end().await;
}

#[tokio::test]
async fn the_same_delivery_again_makes_no_second_job() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    let guid = opened(&world);
    for _ in 0..5 {
        world.people().redeliver(&guid).await.unwrap();
    }
    world.settle().await;
    let observer = Observer::open(world.state_dir()).await.unwrap();
    let timelines = observer.timelines(100).await.unwrap();
    let row = timelines.iter().find(|t| t.delivery.guid.as_str() == guid).unwrap();
    assert_eq!(row.delivery.redeliveries, 5);
    let reviews = row.jobs.iter().filter(|job| job.job.kind == "review").count();
    assert_eq!(reviews, 1);
    reviewed_once(world, number).await;
}

#[tokio::test]
async fn a_replay_under_a_new_guid_has_no_second_effect() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    let guid = opened(&world);
    let fresh = world.people().replay(&guid).await.unwrap();
    world.settle().await;
    let observer = Observer::open(world.state_dir()).await.unwrap();
    let timelines = observer.timelines(100).await.unwrap();
    let row = timelines.iter().find(|t| t.delivery.guid.as_str() == fresh).unwrap();
    assert_eq!(row.delivery.replay_of.as_ref().unwrap().as_str(), guid);
    reviewed_once(world, number).await;
}

#[tokio::test]
async fn a_replay_of_an_old_head_does_not_bring_its_review_back() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    let guid = opened(&world);
    world.push(number, "src/run.py", CLEAN).await;
    world.people().replay(&guid).await.unwrap();
    world.settle().await;
    assert_eq!(world.conclusion(number), "success");
    assert_eq!(world.resolved_places(number).len(), 2);
    assert_eq!(world.reviews(number).len(), 1);
    world.end().await;
}

#[tokio::test]
async fn a_crash_during_any_call_loses_nothing_and_doubles_nothing() {
    for (method, path) in [
        ("POST", "/access_tokens"),
        ("GET", "/pulls/1"),
        ("GET", "/contents/"),
        ("POST", "/check-runs"),
        ("POST", "/graphql"),
        ("GET", "/reviews"),
        ("POST", "/reviews"),
        ("PATCH", "/check-runs"),
    ] {
        let mut world = World::start().await;
        world
            .crash_during(method, path, async |world| {
                open_unsettled(world).await;
            })
            .await;
        reviewed_once(world, 1).await;
    }
}

#[tokio::test]
async fn a_crash_after_a_thread_was_resolved_goes_on_where_it_stopped() {
    for (method, path) in [("POST", "/graphql"), ("PUT", "/reviews"), ("PATCH", "/check-runs")] {
        let mut world = World::start().await;
        let number = world.open("src/run.py", DEFECTS).await;
        world
            .crash_during(method, path, async |world| {
                let change = Change::new().write("src/run.py", HALF_FIXED);
                world.people().push_to_pull("ada", REPO, number, "Fix one", change).await.unwrap();
            })
            .await;
        assert_eq!(world.resolved_places(number), ["src/run.py:5"], "{method} {path}");
        assert_eq!(world.comments(number).len(), 2);
        assert_eq!(world.reviews(number).len(), 1);
        assert_eq!(world.conclusion(number), "success");
        world.end().await;
    }
}

#[tokio::test]
async fn an_answer_that_got_lost_does_not_double_the_review() {
    for kind in [FaultKind::RejectAfterEffect { status: 502 }, FaultKind::Truncate] {
        let world = World::start().await;
        world.github.fail_next(Fault::once("POST", "/reviews", kind));
        let number = open_unsettled(&world).await;
        world.settle().await;
        reviewed_once(world, number).await;
    }
}

#[tokio::test]
async fn a_server_error_is_tried_again() {
    for path in ["/pulls/1", "/check-runs", "/reviews", "/graphql", "/access_tokens", "/contents/"] {
        let world = World::start().await;
        world.github.fail_next(Fault::once("", path, FaultKind::Html));
        let number = open_unsettled(&world).await;
        world.settle().await;
        reviewed_once(world, number).await;
    }
}

#[tokio::test]
async fn a_rate_limit_is_waited_out() {
    let world = World::start().await;
    world.github.fail_next(Fault::secondary_limit("POST", "/reviews", 2));
    let began = std::time::Instant::now();
    let number = open_unsettled(&world).await;
    world.settle().await;
    assert!(began.elapsed() >= Duration::from_secs(2), "no call before the time that GitHub named");
    reviewed_once(world, number).await;
}

#[tokio::test]
async fn events_of_a_pull_request_that_was_closed_meanwhile_say_nothing() {
    let world = World::start().await;
    world.github.fail_next(Fault::once("POST", "/access_tokens", FaultKind::Slow(Duration::from_millis(300))));
    let number = open_unsettled(&world).await;
    world.people().close_pull("ada", REPO, number).await.unwrap();
    world.settle().await;
    assert!(world.comments(number).is_empty() && world.reviews(number).is_empty());
    world.end().await;
}

#[tokio::test]
async fn a_head_that_moves_during_the_review_is_never_commented() {
    let world = World::start().await;
    world.github.fail_next(Fault::once("POST", "/graphql", FaultKind::Slow(Duration::from_millis(500))));
    let number = open_unsettled(&world).await;
    let first = world.github.pull(REPO, number).unwrap().head_sha;
    tokio::time::sleep(Duration::from_millis(200)).await;
    world.push(number, "src/run.py", CLEAN).await;
    assert!(world.comments(number).is_empty(), "the old head's findings were not posted");
    assert!(world.reviews(number).iter().all(|review| review.commit_id != first));
    assert_eq!(world.conclusion(number), "success");
    world.end().await;
}

#[tokio::test]
async fn a_missing_permission_is_named_and_the_rest_goes_on() {
    let manifest = include_str!("../../app-manifest.yml").replace("contents: write", "contents: read");
    let world = World::with_manifest(&manifest).await;
    let number = world.open("src/run.py", DEFECTS).await;
    assert_eq!(world.comments(number).len(), 2);
    world.push(number, "src/run.py", HALF_FIXED).await;
    assert!(world.resolved_places(number).is_empty(), "resolving needs contents: write");
    assert_eq!(world.conclusion(number), "success");
    let said: String = world.reviews(number).into_iter().map(|review| review.body).collect();
    assert!(said.contains("contents: write"), "{said}");
    world.end_with_refusals().await;
}

#[test]
fn a_fetch_that_a_shutdown_interrupts_is_no_reason_to_give_the_job_up() {
    assert_eq!(app::Error::from(workspace::Error::Cancelled).class(), Class::Cancelled);
}

#[tokio::test]
async fn a_pull_request_that_is_closed_and_reopened_during_its_review_is_reviewed() {
    let world = World::start().await;
    world.github.fail_next(Fault::withhold("POST", "/check-runs"));
    let number = open_unsettled(&world).await;
    world.github.wait_withheld().await;
    world.people().close_pull("ada", REPO, number).await.unwrap();
    deliveries_read(&world).await;
    world.people().reopen_pull("ada", REPO, number).await.unwrap();
    deliveries_read(&world).await;
    world.github.release_withheld();
    world.settle().await;
    reviewed_once(world, number).await;
}

#[tokio::test]
async fn another_base_during_the_review_is_reviewed_too() {
    let world = World::start().await;
    world.people().push("ada", REPO, "release", "A release", Change::new().write("src/other.py", CLEAN)).await.unwrap();
    world.github.fail_next(Fault::withhold("POST", "/check-runs"));
    let number = open_unsettled(&world).await;
    world.github.wait_withheld().await;
    world.people().change_base("ada", REPO, number, "release").await.unwrap();
    deliveries_read(&world).await;
    world.github.release_withheld();
    world.settle().await;
    assert!(world.last_review_finished().await, "the new base asked for a review of its own");
    reviewed_once(world, number).await;
}

#[tokio::test]
async fn the_check_of_a_head_that_is_overtaken_between_two_attempts_is_ended() {
    let world = World::start().await;
    world.github.fail_next(Fault::status("POST", "/graphql", 500));
    let number = open_unsettled(&world).await;
    let first = world.github.pull(REPO, number).unwrap().head_sha;
    review_waits_again(&world).await;
    world.push(number, "src/run.py", CLEAN).await;
    let checks = world.github.check_runs(REPO, &first);
    assert_eq!(checks.len(), 1);
    assert_eq!(checks[0].status, "completed", "it does not spin for ever");
    assert_eq!(world.conclusion(number), "success");
    world.end().await;
}

#[tokio::test]
async fn the_check_of_a_pull_request_that_is_closed_between_two_attempts_is_ended() {
    let world = World::start().await;
    world.github.fail_next(Fault::status("POST", "/graphql", 500));
    let number = open_unsettled(&world).await;
    review_waits_again(&world).await;
    world.people().close_pull("ada", REPO, number).await.unwrap();
    world.settle().await;
    assert_eq!(world.conclusion(number), "cancelled");
    world.end().await;
}

#[tokio::test]
async fn a_push_during_the_review_is_reviewed_although_its_delivery_is_lost() {
    let mut world = World::start().await;
    world.github.fail_next(Fault::withhold("POST", "/check-runs"));
    let number = open_unsettled(&world).await;
    let first = world.github.pull(REPO, number).unwrap().head_sha;
    world.github.wait_withheld().await;
    world.mute_webhooks();
    let change = Change::new().write("src/run.py", CLEAN);
    world.people().push_to_pull("ada", REPO, number, "Change it", change).await.unwrap();
    world.github.release_withheld();
    world.settle().await;
    assert_eq!(world.conclusion(number), "success");
    assert_eq!(world.github.check_runs(REPO, &first)[0].status, "completed");
    world.end().await;
}

#[tokio::test]
async fn a_late_word_of_closing_does_not_end_the_review_of_a_reopened_pull_request() {
    let world = World::start().await;
    let number = world.open("src/add.py", CLEAN).await;
    world.people().close_pull("ada", REPO, number).await.unwrap();
    world.people().reopen_pull("ada", REPO, number).await.unwrap();
    world.settle().await;
    let closed = delivered(&world, "closed");
    world.github.fail_next(Fault::withhold("POST", "/check-runs"));
    let change = Change::new().write("src/run.py", DEFECTS);
    world.people().push_to_pull("ada", REPO, number, "Change it", change).await.unwrap();
    world.github.wait_withheld().await;
    world.people().replay(&closed).await.unwrap();
    deliveries_read(&world).await;
    world.github.release_withheld();
    world.settle().await;
    reviewed_once(world, number).await;
}

#[tokio::test]
async fn a_review_whose_worker_dies_each_time_says_so_in_the_end() {
    let mut world = World::start().await;
    let number = world.open("src/add.py", CLEAN).await;
    world.github.fail_next(Fault::withhold("POST", "/graphql"));
    review_again(&world, 2).await;
    world.github.wait_withheld().await;
    world.crash().await;
    world.github.release_withheld();
    world.restart().await;
    world.settle().await;
    assert_eq!(last_review_state(&world).await, JobState::Discarded);
    assert_eq!(world.conclusion(number), "neutral");
    assert!(world.check(number).summary.unwrap().contains("gave up"), "{:?}", world.check(number).summary);
    world.end().await;
}

#[tokio::test]
async fn a_rate_limit_uses_up_no_attempt() {
    let world = World::start().await;
    let number = world.open("src/add.py", CLEAN).await;
    world.github.fail_next(Fault::secondary_limit("POST", "/graphql", 1));
    review_again(&world, 1).await;
    world.settle().await;
    assert_eq!(last_review_state(&world).await, JobState::Completed);
    assert_eq!(world.conclusion(number), "success");
    world.end().await;
}

#[tokio::test]
async fn an_outage_of_github_uses_up_no_attempt() {
    for fault in [Fault::status("GET", "/pulls/1", 500), Fault::status("POST", "/access_tokens", 401)] {
        let world = World::start().await;
        let number = world.open("src/add.py", CLEAN).await;
        // Minted tokens are kept; refused ones are not.
        let fault = fault.times(2);
        if fault.path == "/access_tokens" {
            world.github.fail_next(Fault::status("GET", "/pulls/1", 401));
        }
        world.github.fail_next(fault);
        review_again(&world, 1).await;
        world.settle().await;
        assert_eq!(last_review_state(&world).await, JobState::Completed);
        assert_eq!(world.conclusion(number), "success");
        world.end().await;
    }
}

#[tokio::test]
async fn what_github_announces_before_it_shows_it_is_asked_for_again() {
    for path in ["/pulls/1", "/graphql"] {
        let world = World::start().await;
        world.github.fail_next(Fault::status("", path, 404));
        let number = open_unsettled(&world).await;
        world.settle().await;
        reviewed_once(world, number).await;
    }
}

#[tokio::test]
async fn a_failure_that_names_our_folders_does_not_tell_them_to_the_world() {
    let world = World::start().await;
    let number = world.open("src/add.py", CLEAN).await;
    let mirrors = world.state_dir().join("mirrors");
    std::fs::remove_dir_all(&mirrors).unwrap();
    std::fs::write(&mirrors, "not a folder").unwrap();
    review_again(&world, 2).await;
    world.settle().await;
    assert_eq!(last_review_state(&world).await, JobState::Discarded);
    let summary = world.check(number).summary.unwrap();
    assert!(summary.contains("gave up after 1 attempt:") && summary.contains("mirrors"), "{summary}");
    assert!(!summary.contains(world.state_dir().to_str().unwrap()), "{summary}");
    world.end().await;
}

#[tokio::test]
async fn whoever_asks_all_the_time_whether_we_are_ready_does_not_keep_the_disk_busy() {
    let world = World::start().await;
    let mut writes = std::collections::BTreeSet::new();
    for _ in 0..10 {
        assert!(world.app.ready().await.ready);
        writes.insert(world.app.store().get_cursor("ping").await.unwrap());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(writes.len() <= 2, "one write serves a second: {writes:?}");
    world.end().await;
}

#[tokio::test]
async fn what_ended_longer_ago_than_it_is_kept_is_removed_and_nothing_is_said_again() {
    let mut world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    world.crash().await;
    world.restart_keeping(Duration::ZERO).await;
    let observer = Observer::open(world.state_dir()).await.unwrap();
    while !observer.runs(10).await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let run = world.check(number).id;
    world.people().rerequest_check("ada", REPO, run).await.unwrap();
    world.settle().await;
    reviewed_once(world, number).await;
}

/// What the rows say of every run and every effect.
async fn loose_ends(world: &World) -> Vec<String> {
    let observer = Observer::open(world.state_dir()).await.unwrap();
    let jobs = observer.timelines(100).await.unwrap().into_iter().flat_map(|timeline| timeline.jobs);
    let mut loose = Vec::new();
    for run in jobs.flat_map(|job| job.runs) {
        if run.run.finished_at.is_none() {
            loose.push(format!("a {} goes on", run.run.kind));
        }
        let steps = run.steps.iter().filter(|step| step.finished_at.is_none());
        loose.extend(steps.map(|step| format!("the step {} goes on", step.name)));
        let sent = run.effects.iter().filter(|effect| effect.state.as_str() == "sent");
        loose.extend(sent.map(|effect| format!("nobody knows whether {} arrived", effect.key)));
    }
    loose
}

#[tokio::test]
async fn what_a_crash_interrupted_comes_to_its_end_in_the_rows_too() {
    for (method, path) in [("POST", "/reviews"), ("PUT", "/reviews"), ("PATCH", "/check-runs"), ("POST", "/graphql")] {
        let mut world = World::start().await;
        let number = world.open("src/run.py", DEFECTS).await;
        world
            .crash_during(method, path, async |world| {
                let change = Change::new().write("src/run.py", HALF_FIXED).write("src/more.py", DEFECTS);
                let change = if path == "/reviews" && method == "PUT" {
                    Change::new().write("src/run.py", HALF_FIXED)
                } else {
                    change
                };
                world.people().push_to_pull("ada", REPO, number, "Go on", change).await.unwrap();
            })
            .await;
        assert_eq!(loose_ends(&world).await, [""; 0], "{method} {path}");
        world.reviews(number);
        world.comments(number);
        world.end().await;
    }
}

#[tokio::test]
async fn a_finding_that_comes_back_is_told_again_although_a_crash_hid_that_its_thread_was_resolved() {
    let mut world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    // Two questions for the threads come first; the third call resolves one.
    world.github.fail_next(Fault::once("POST", "/graphql", FaultKind::Slow(Duration::ZERO)).times(2));
    world
        .crash_during("POST", "/graphql", async |world| {
            let change = Change::new().write("src/run.py", HALF_FIXED);
            world.people().push_to_pull("ada", REPO, number, "Fix one", change).await.unwrap();
        })
        .await;
    assert_eq!(world.resolved_places(number), ["src/run.py:5"]);
    world.push(number, "src/run.py", DEFECTS).await;
    let places = world.comment_places(number);
    assert_eq!(places.iter().filter(|place| *place == "src/run.py:5").count(), 2, "{places:?}");
    assert_eq!(loose_ends(&world).await, [""; 0]);
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn what_was_sent_for_a_head_that_a_push_overtook_during_the_crash_is_not_left_open() {
    for (method, path) in [("POST", "/check-runs"), ("POST", "/reviews"), ("PUT", "/reviews"), ("PATCH", "/check-runs")]
    {
        let mut world = World::start().await;
        let number = world.open("src/run.py", DEFECTS).await;
        let change = Change::new().write("src/run.py", HALF_FIXED);
        let change = if method == "PUT" { change } else { change.write("src/more.py", DEFECTS) };
        world.github.fail_next(Fault::withhold(method, path));
        world.people().push_to_pull("ada", REPO, number, "Go on", change).await.unwrap();
        world.github.wait_withheld().await;
        world.crash().await;
        world.github.release_withheld();
        let change = Change::new().write("src/again.py", DEFECTS);
        world.people().push_to_pull("ada", REPO, number, "And on", change).await.unwrap();
        world.restart().await;
        world.settle().await;
        assert_eq!(world.conclusion(number), "failure", "{method} {path}");
        assert_eq!(loose_ends(&world).await, [""; 0], "{method} {path}");
        world.reviews(number);
        world.comments(number);
        world.end().await;
    }
}

#[tokio::test]
async fn a_thread_that_a_person_resolved_before_our_word_came_through_stays_theirs() {
    let mut world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    // Two questions for the threads come first; the third call would resolve one, and nothing comes of it.
    world.github.fail_next(Fault::once("POST", "/graphql", FaultKind::Slow(Duration::ZERO)).times(2));
    world.github.fail_next(Fault::status("POST", "/graphql", 500));
    let change = Change::new().write("src/run.py", HALF_FIXED);
    world.people().push_to_pull("ada", REPO, number, "Fix one", change).await.unwrap();
    review_waits_again(&world).await;
    world.crash().await;
    assert!(world.resolved_places(number).is_empty());
    let thread = world.comments(number).iter().find(|comment| comment.original_line == 5).unwrap().thread;
    world.people().resolve_thread("ada", REPO, thread).await.unwrap();
    world.restart().await;
    world.settle().await;
    world.push(number, "src/run.py", DEFECTS).await;
    let places = world.comment_places(number);
    assert_eq!(places.iter().filter(|place| *place == "src/run.py:5").count(), 1, "{places:?}");
    assert_eq!(loose_ends(&world).await, [""; 0]);
    world.reviews(number);
    world.end().await;
}
