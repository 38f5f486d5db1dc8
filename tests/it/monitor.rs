//! What becomes of a pull request after our App has opened it for an issue, through the real doors: webhooks in, documents
//! on the disk, at most one word to people.

use std::path::PathBuf;

use octoswarm::demo::{Change, OpenPull, Pull};
use serde_json::{Value, json};

use crate::contribute::{BODY, SAFE, TITLE, with_unsafe_yaml};
use crate::support::world::{CLEAN, REPO, World};

const DAY: i64 = 24 * 3_600_000;

/// A repository whose issue has its pull request.
async fn contributed() -> (World, u64, Pull) {
    let world = with_unsafe_yaml().await;
    let issue = world.ask(TITLE, BODY).await;
    let pull = world.own_pulls().pop().unwrap_or_else(|| panic!("no pull request"));
    (world, issue, pull)
}

fn swarm(world: &World) -> PathBuf {
    world.state_dir().join("swarms").join(REPO.replace('/', "__"))
}

#[track_caller]
fn read(path: PathBuf) -> Value {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn activity(world: &World) -> Value {
    read(swarm(world).join("review-activity.json"))
}

#[track_caller]
fn status(world: &World) -> Value {
    read(swarm(world).join("swarm-status.json"))
}

/// The documents that looks at the pull request left in the folders of their runs.
fn looks(world: &World) -> Vec<Value> {
    let runs = std::fs::read_dir(world.state_dir().join("runs")).unwrap().map(|entry| entry.unwrap().path());
    runs.map(|run| run.join("review-activity.json")).filter(|file| file.exists()).map(read).collect()
}

/// `<type> by <who>` of each entry, oldest first.
fn entries(activity: &Value) -> Vec<String> {
    let words = |item: &Value| {
        let details = &item["details"];
        let who = details["by"].as_str().or_else(|| details["status"].as_str()).unwrap_or_default();
        format!("{} {who}", item["type"].as_str().unwrap())
    };
    activity["activity"].as_array().unwrap().iter().map(words).collect()
}

async fn days_pass(world: &World, days: i64) {
    world.clock.advance(days * DAY);
    world.app.sweep().await.unwrap();
    world.settle().await;
}

/// A draft is marked as ready first; the merge commit.
async fn merge(world: &World, number: u64) -> String {
    world.people().ready_for_review("ada", REPO, number).await.unwrap();
    world.people().merge_pull("ada", REPO, number).await.unwrap()
}

/// A sweep compares what changed since the one before: the first one only marks the time.
async fn swept(world: &World) {
    world.app.sweep().await.unwrap();
    world.settle().await;
}

#[tokio::test]
async fn s2_7_a_pull_request_is_followed_from_its_opening_on() {
    let (world, _, pull) = contributed().await;
    let found = activity(&world);
    assert_eq!((&found["agent"], &found["status"]), (&json!("agent-8-reviews"), &json!("monitoring")));
    assert_eq!((&found["pr"]["number"], &found["pr"]["state"]), (&json!(pull.number), &json!("open")));
    assert_eq!(found["final_outcome"], Value::Null);
    assert_eq!(found["current_status"]["ci_status"], "pending", "A2.9: nothing at all is pending");
    assert!(looks(&world).contains(&found), "the run's folder has the same document");
    let status = status(&world);
    assert_eq!(
        (&status["current_phase"], &status["agents"]["8-reviews"]["status"]),
        (&"review_monitoring".into(), &"running".into())
    );
    world.end().await;
}

#[tokio::test]
async fn s2_18_reviews_comments_commits_and_checks_stand_in_their_order() {
    let (world, _, pull) = contributed().await;
    let people = world.people();
    people.add_collaborator(REPO, "mona", "write").await.unwrap();
    let ci = people.foreign_check(REPO, &pull.head_sha, "build").await.unwrap();
    people.complete_foreign_check(REPO, ci, "failure").await.unwrap();
    world.settle().await;
    assert_eq!(activity(&world)["current_status"]["ci_status"], "failure");
    world.clock.advance(2_000);
    let asked = people.review("mona", REPO, pull.number, "REQUEST_CHANGES", "Please add a test.").await.unwrap();
    world.settle().await;
    world.clock.advance(2_000);
    let comment = people.review_line("mona", REPO, pull.number, "src/a.py", 6, "Here.").await.unwrap();
    world.settle().await;
    assert_eq!(activity(&world)["current_status"]["comments_pending"], 1);
    world.clock.advance(2_000);
    let head = people
        .push_to_pull(
            "ada",
            REPO,
            pull.number,
            "Add a test",
            Change::new().write("tests/test_a.py", "def test(): pass\n"),
        )
        .await
        .unwrap();
    world.settle().await;
    let ci = people.foreign_check(REPO, &head, "build").await.unwrap();
    people.complete_foreign_check(REPO, ci, "success").await.unwrap();
    world.settle().await;
    world.clock.advance(2_000);
    people.comment("ada", REPO, pull.number, "Done.").await.unwrap();
    let thread = world.github.threads(REPO, pull.number).into_iter().find(|t| t.comments[0] == comment).unwrap();
    people.resolve_thread("mona", REPO, thread.id).await.unwrap();
    people.dismiss_review("ada", REPO, asked).await.unwrap();
    people.review("mona", REPO, pull.number, "APPROVE", "").await.unwrap();
    world.settle().await;
    let found = activity(&world);
    let entries = entries(&found);
    let order = [
        "ci_status_change pending",
        "ci_status_change failure",
        "review_received mona",
        "comment_replied mona",
        "changes_made ada",
        "ci_status_change success",
        "comment_replied ada",
        "review_received mona",
    ];
    let mut left = entries.iter();
    for want in order {
        assert!(left.any(|entry| entry == want), "{want} is not in its place: {entries:#?}");
    }
    let history: Vec<&str> =
        found["ci_history"].as_array().unwrap().iter().map(|entry| entry["status"].as_str().unwrap()).collect();
    assert_eq!((history.first(), history.last()), (Some(&"pending"), Some(&"success")), "{history:?}");
    assert!(history.windows(2).all(|pair| pair[0] != pair[1] || pair[0] == "pending"), "{history:?}");
    assert_eq!(
        found["current_status"],
        json!({"reviews_received": 3, "approvals": 1, "changes_requested": 0, "comments_pending": 0, "ci_status": "success"})
    );
    world.reviews(pull.number);
    world.end().await;
}

#[tokio::test]
async fn s2_18_a_merge_ends_the_watch_with_who_and_what() {
    let (world, issue, pull) = contributed().await;
    let sha = merge(&world, pull.number).await;
    world.settle().await;
    let found = activity(&world);
    let outcome = &found["final_outcome"];
    assert_eq!((&found["status"], &found["pr"]["state"]), (&json!("completed"), &json!("merged")));
    assert_eq!(
        (&outcome["result"], &outcome["merged_by"], &outcome["merge_commit"]),
        (&json!("merged"), &json!("ada"), &json!(sha))
    );
    let status = status(&world);
    assert_eq!((&status["current_phase"], &status["stats"]["prs_merged"]), (&json!("idle"), &json!(1)));
    assert_eq!(status["agents"]["8-reviews"]["status"], "completed");
    assert!(world.said(pull.number).is_empty() && world.said(issue).is_empty(), "a merge needs no word");
    world.end().await;
}

#[tokio::test]
async fn s2_19_a_merge_that_is_told_again_counts_once() {
    let (world, _, pull) = contributed().await;
    merge(&world, pull.number).await;
    world.settle().await;
    let closed = world.github.deliveries().into_iter().rfind(|delivery| delivery.action.as_deref() == Some("closed"));
    let guid = closed.unwrap().guid;
    for _ in 0..3 {
        world.people().redeliver(&guid).await.unwrap();
        world.people().replay(&guid).await.unwrap();
    }
    world.people().comment("ada", REPO, pull.number, "Thanks!").await.unwrap();
    world.settle().await;
    assert_eq!(status(&world)["stats"]["prs_merged"], 1);
    assert_eq!(activity(&world)["final_outcome"]["result"], "merged");
    world.end().await;
}

#[tokio::test]
async fn a_closed_pull_request_is_over_and_the_label_again_begins_a_new_cycle() {
    let (world, issue, pull) = contributed().await;
    let people = world.people();
    people.close_pull("ada", REPO, pull.number).await.unwrap();
    world.settle().await;
    let found = activity(&world);
    assert_eq!((&found["final_outcome"]["result"], &found["pr"]["state"]), (&json!("closed"), &json!("closed")));
    assert_eq!(found["final_outcome"]["merge_commit"], Value::Null);
    people.unlabel("ada", REPO, issue, "swarm").await.unwrap();
    people.label("ada", REPO, issue, "swarm").await.unwrap();
    world.settle().await;
    let second = world.own_pulls().into_iter().find(|other| other.number != pull.number).unwrap();
    let now = status(&world);
    assert_eq!((&now["cycle"], &now["stats"]["prs_created"]), (&json!(2), &json!(2)));
    assert_eq!(activity(&world)["pr"]["number"], second.number);
    let former = read(swarm(&world).join("cycles/1/review-activity.json"));
    assert_eq!(former["final_outcome"]["result"], "closed");
    world.end().await;
}

#[tokio::test]
async fn a_pull_request_of_a_cycle_that_is_over_is_followed_in_its_own_folder() {
    let (world, _, first) = contributed().await;
    let other = "In src/c.py, please replace `return a + b` by `return b + a`.";
    world.ask("The sum reads the wrong way round", other).await;
    let second = world.own_pulls().into_iter().find(|pull| pull.number != first.number).unwrap();
    let sha = merge(&world, first.number).await;
    world.settle().await;
    let former = read(swarm(&world).join("cycles/1/review-activity.json"));
    assert_eq!(
        (&former["pr"]["number"], &former["final_outcome"]["merge_commit"]),
        (&json!(first.number), &json!(sha))
    );
    let found = activity(&world);
    assert_eq!((&found["pr"]["number"], &found["final_outcome"]), (&json!(second.number), &Value::Null));
    let status = status(&world);
    assert_eq!((&status["current_phase"], &status["stats"]["prs_merged"]), (&"review_monitoring".into(), &json!(1)));
    merge(&world, second.number).await;
    world.settle().await;
    assert_eq!(self::status(&world)["stats"]["prs_merged"], 2);
    world.end().await;
}

#[tokio::test]
async fn s2_18_only_people_who_may_write_approve_and_the_last_word_of_each_counts() {
    let (world, _, pull) = contributed().await;
    let (people, number) = (world.people(), pull.number);
    for login in ["mona", "lisa"] {
        people.add_collaborator(REPO, login, "write").await.unwrap();
    }
    people.add_collaborator(REPO, "tim", "triage").await.unwrap();
    for (who, verdict) in [
        ("mona", "APPROVE"),
        ("mona", "REQUEST_CHANGES"),
        ("lisa", "REQUEST_CHANGES"),
        ("lisa", "APPROVE"),
        ("lisa", "COMMENT"),
        ("eve", "APPROVE"),
        ("tim", "APPROVE"),
    ] {
        people.review(who, REPO, number, verdict, "So I think.").await.unwrap();
    }
    people.review_as_bot("helper[bot]", REPO, number, "APPROVE").await.unwrap();
    world.settle().await;
    let now = activity(&world)["current_status"].clone();
    assert_eq!(
        (&now["reviews_received"], &now["approvals"], &now["changes_requested"]),
        (&json!(8), &json!(1), &json!(1)),
        "{now}"
    );
    world.end_with_refusals().await;
}

#[tokio::test]
async fn s2_18_three_hundred_reviews_are_read_counted_and_bounded() {
    let (world, _, pull) = contributed().await;
    let (people, number) = (world.people(), pull.number);
    for n in 0..300 {
        people.review(&format!("person-{}", n % 40), REPO, number, "APPROVE", "Fine.").await.unwrap();
        people.comment(&format!("person-{}", n % 40), REPO, number, "Fine, I say.").await.unwrap();
    }
    world.settle().await;
    let found = activity(&world);
    assert_eq!(found["current_status"]["reviews_received"], 300);
    assert_eq!(found["current_status"]["approvals"], 0, "none of them may write here");
    let kept = found["activity"].as_array().unwrap();
    assert_eq!(kept.len(), 500);
    // One for each review and comment, and the state of the checks at the beginning.
    assert_eq!(kept[0]["details"]["left_out"], 101, "what is left out is said");
    assert!(looks(&world).len() < 100, "600 events were answered by {} looks", looks(&world).len());
    world.end_with_refusals().await;
}

#[tokio::test]
async fn s2_18_the_same_delivery_again_adds_nothing() {
    let (world, _, pull) = contributed().await;
    world.people().review("ada", REPO, pull.number, "COMMENT", "Looks right.").await.unwrap();
    world.settle().await;
    let before = activity(&world);
    let review =
        world.github.deliveries().into_iter().rfind(|delivery| delivery.event == "pull_request_review").unwrap();
    world.people().redeliver(&review.guid).await.unwrap();
    world.people().replay(&review.guid).await.unwrap();
    world.settle().await;
    let after = activity(&world);
    assert_eq!((&before["activity"], &before["current_status"]), (&after["activity"], &after["current_status"]));
    world.end().await;
}

#[tokio::test]
async fn what_strangers_write_makes_no_pull_request_ours() {
    let (world, _, pull) = contributed().await;
    let (people, looks_before) = (world.people(), looks(&world).len());
    let mut copy = OpenPull::new("eve", "mine", "Mine", Change::new().write("src/d.py", CLEAN));
    copy.body = pull.body.clone().unwrap();
    let theirs = people.open_pull_from_fork(REPO, copy).await.unwrap();
    world.settle().await;
    people.comment("eve", REPO, theirs, "Look!").await.unwrap();
    people.review("ada", REPO, theirs, "APPROVE", "").await.unwrap();
    people.merge_pull("ada", REPO, theirs).await.unwrap();
    world.settle().await;
    let number = |document: &Value| document["pr"]["number"].as_u64();
    assert!(looks(&world).iter().all(|document| number(document) == Some(pull.number)));
    assert_eq!(looks(&world).len(), looks_before, "nobody looked at it");
    assert_eq!(status(&world)["stats"]["prs_merged"], 0);
    world.reviews(theirs);
    world.end().await;
}

#[tokio::test]
async fn a_description_that_a_maintainer_has_rewritten_leaves_the_pull_request_ours() {
    let (world, _, pull) = contributed().await;
    world.people().edit_pull("ada", REPO, pull.number, "Safe loader", "Short.").await.unwrap();
    merge(&world, pull.number).await;
    world.settle().await;
    assert_eq!(activity(&world)["final_outcome"]["result"], "merged");
    world.end().await;
}

#[tokio::test]
async fn checks_that_nobody_looks_after_are_told_of_once() {
    let (world, _, pull) = contributed().await;
    let people = world.people();
    swept(&world).await;
    for (name, conclusion) in [("build", "failure"), ("lint", "success"), ("`rm -rf` @ada", "timed_out")] {
        let run = people.foreign_check(REPO, &pull.head_sha, name).await.unwrap();
        people.complete_foreign_check(REPO, run, conclusion).await.unwrap();
    }
    world.settle().await;
    days_pass(&world, 6).await;
    assert_eq!(activity(&world)["final_outcome"], Value::Null);
    assert!(world.said(pull.number).is_empty());
    days_pass(&world, 2).await;
    let found = activity(&world);
    assert_eq!((&found["status"], &found["final_outcome"]["result"]), (&json!("completed"), &json!("escalated")));
    let said = world.said(pull.number);
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("build") && !said[0].contains("lint"), "{}", said[0]);
    assert!(!said[0].contains("\n@ada"), "{}", said[0]);
    assert_eq!(status(&world)["current_phase"], "idle");
    // Silence after that changes nothing, and nothing is said again when it happens once more.
    days_pass(&world, 8).await;
    people.comment("ada", REPO, pull.number, "I will look.").await.unwrap();
    world.settle().await;
    assert_eq!(activity(&world)["final_outcome"], Value::Null, "somebody is there again");
    assert_eq!(status(&world)["current_phase"], "review_monitoring");
    let run = people.foreign_check(REPO, &pull.head_sha, "build").await.unwrap();
    world.clock.advance(60_000);
    people.complete_foreign_check(REPO, run, "failure").await.unwrap();
    world.settle().await;
    days_pass(&world, 8).await;
    days_pass(&world, 8).await;
    assert_eq!(world.said(pull.number).len(), 1, "said once a pull request, ever");
    world.end().await;
}

#[tokio::test]
async fn changes_that_nobody_makes_are_handed_to_the_maintainers_unless_somebody_took_over() {
    for took_over in [false, true] {
        let (world, _, pull) = contributed().await;
        let people = world.people();
        swept(&world).await;
        people.review("ada", REPO, pull.number, "REQUEST_CHANGES", "Please also handle JSON.").await.unwrap();
        if took_over {
            let change = Change::new().write("src/a.py", SAFE.replace("path", "name"));
            people.push_to_pull("ada", REPO, pull.number, "Rename", change).await.unwrap();
        }
        world.settle().await;
        days_pass(&world, 8).await;
        let result = activity(&world)["final_outcome"]["result"].clone();
        let said = world.said(pull.number);
        if took_over {
            assert_eq!((result, said.len()), (Value::Null, 0));
        } else {
            assert_eq!((result, said.len()), (json!("escalated"), 1));
            assert!(said[0].contains("`ada`"), "{}", said[0]);
        }
        world.reviews(pull.number);
        world.end().await;
    }
}

#[tokio::test]
async fn a_strangers_request_for_changes_makes_us_say_nothing() {
    let (world, _, pull) = contributed().await;
    swept(&world).await;
    world.people().review("eve", REPO, pull.number, "REQUEST_CHANGES", "No!").await.unwrap();
    world.settle().await;
    days_pass(&world, 8).await;
    assert_eq!(activity(&world)["final_outcome"], Value::Null);
    assert!(world.said(pull.number).is_empty());
    world.end_with_refusals().await;
}

#[tokio::test]
async fn silence_for_two_weeks_is_abandoned_without_a_word() {
    let (world, _, pull) = contributed().await;
    swept(&world).await;
    days_pass(&world, 13).await;
    assert_eq!(activity(&world)["status"], "monitoring");
    days_pass(&world, 2).await;
    let found = activity(&world);
    assert_eq!((&found["final_outcome"]["result"], &found["pr"]["state"]), (&json!("abandoned"), &json!("open")));
    assert!(world.said(pull.number).is_empty());
    merge(&world, pull.number).await;
    world.settle().await;
    assert_eq!(activity(&world)["final_outcome"]["result"], "merged", "later is not too late");
    assert_eq!(status(&world)["stats"]["prs_merged"], 1);
    world.end().await;
}

#[tokio::test]
async fn a2_10_what_happened_while_nobody_listened_is_found_by_the_sweep() {
    let (mut world, _, pull) = contributed().await;
    swept(&world).await;
    world.mute_webhooks();
    world.people().review("ada", REPO, pull.number, "APPROVE", "").await.unwrap();
    world.clock.advance(2_000);
    merge(&world, pull.number).await;
    world.settle().await;
    assert_eq!(activity(&world)["final_outcome"], Value::Null);
    swept(&world).await;
    let found = activity(&world);
    assert_eq!(
        (&found["final_outcome"]["result"], &found["current_status"]["approvals"]),
        (&json!("merged"), &json!(1))
    );
    let looked = looks(&world).len();
    swept(&world).await;
    assert_eq!(looks(&world).len(), looked, "what has ended is left alone");
    world.end().await;
}

#[tokio::test]
async fn a_crash_during_any_call_of_a_look_leaves_one_document_and_one_count() {
    for path in ["/pulls/", "/reviews", "/check-runs", "/commits", "/graphql", "/comments"] {
        let (mut world, _, pull) = contributed().await;
        let method = if path == "/graphql" { "POST" } else { "GET" };
        world
            .crash_during(method, path, async |world| {
                merge(world, pull.number).await;
            })
            .await;
        assert_eq!(activity(&world)["final_outcome"]["result"], "merged", "{path}");
        assert_eq!(status(&world)["stats"]["prs_merged"], 1, "{path}");
        world.end().await;
    }
}

#[tokio::test]
async fn a_crash_while_the_maintainers_are_told_tells_them_once() {
    let (mut world, _, pull) = contributed().await;
    swept(&world).await;
    let run = world.people().foreign_check(REPO, &pull.head_sha, "build").await.unwrap();
    world.people().complete_foreign_check(REPO, run, "failure").await.unwrap();
    world.settle().await;
    world.clock.advance(8 * DAY);
    world
        .crash_during("POST", "/comments", async |world| {
            world.app.sweep().await.unwrap();
        })
        .await;
    assert_eq!(world.said(pull.number).len(), 1);
    assert_eq!(activity(&world)["final_outcome"]["result"], "escalated");
    world.end().await;
}

#[tokio::test]
async fn an_event_that_comes_while_a_look_is_at_work_is_looked_at_after_it() {
    let (world, _, pull) = contributed().await;
    // The reviews were read; the review comes while their answer is on its way.
    world.github.fail_next(octoswarm::demo::Fault::withhold("GET", "/reviews"));
    world.people().comment("ada", REPO, pull.number, "Nice.").await.unwrap();
    world.github.wait_withheld().await;
    for _ in 0..5 {
        world.people().review("ada", REPO, pull.number, "COMMENT", "One more thing.").await.unwrap();
    }
    world.github.deliveries_settled().await;
    world.github.release_withheld();
    world.settle().await;
    assert_eq!(activity(&world)["current_status"]["reviews_received"], 5);
    world.end().await;
}
