//! From what people do on GitHub to what they read there: the whole way, through the real doors.

use std::collections::BTreeSet;

use octoswarm::artifact::project::ProjectContext;
use octoswarm::demo::{Change, OpenPull};

use crate::support::world::{CLEAN, DEFECTS, HALF_FIXED, REPO, World};

const CONFIG: &str = ".github/octoswarm.yml";

#[tokio::test]
async fn an_opened_pull_request_gets_one_review_on_exactly_the_right_lines() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    assert_eq!(world.comment_places(number), ["src/run.py:5", "src/run.py:9"]);
    let reviews = world.reviews(number);
    assert_eq!(reviews.len(), 1);
    assert_eq!(reviews[0].state, "COMMENTED");
    assert_eq!(world.conclusion(number), "failure");
    world.end().await;
}

#[tokio::test]
async fn s1_11_a_review_leaves_the_snapshot_at_a_glance() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    assert_eq!((world.comment_places(number).len(), world.reviews(number).len()), (2, 1));
    assert_eq!(world.conclusion(number), "failure");
    let runs = world.state_dir().join("runs");
    let folder = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read(folder.join("context.json")).unwrap();
    let context: ProjectContext = serde_json::from_slice(&text).unwrap();
    assert_eq!(context.analysis.languages, ["Python"]);
    assert!(context.analysis.file_count > 0);
    assert_eq!((context.analysis.total_loc, context.model), (None, None), "nothing was counted for it");
    world.end().await;
}

#[tokio::test]
async fn a_pushed_fix_edits_the_review_repeats_nothing_and_resolves_the_thread() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    world.push(number, "src/run.py", HALF_FIXED).await;
    assert_eq!(world.comment_places(number), ["src/run.py:5", "src/run.py:9"], "nothing repeated");
    assert_eq!(world.resolved_places(number), ["src/run.py:5"]);
    let reviews = world.reviews(number);
    assert_eq!(reviews.len(), 1);
    assert_eq!(reviews[0].former_bodies.len(), 1, "the summary was edited once");
    assert_eq!(world.conclusion(number), "success", "what is left is below the bar");
    world.end().await;
}

#[tokio::test]
async fn lines_that_move_do_not_bring_their_comment_again() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    world.push(number, "src/run.py", &format!("\"\"\"A page of prose.\"\"\"\n\n\n{DEFECTS}")).await;
    assert_eq!(world.comments(number).len(), 2);
    assert!(world.resolved_places(number).is_empty());
    assert_eq!(world.reviews(number).len(), 1);
    world.end().await;
}

#[tokio::test]
async fn a_new_finding_on_a_later_push_is_said_once() {
    let world = World::start().await;
    let number = world.open("src/run.py", HALF_FIXED).await;
    assert_eq!(world.comments(number).len(), 1);
    world.push(number, "src/run.py", DEFECTS).await;
    assert_eq!(world.comment_places(number), ["src/run.py:5", "src/run.py:9"]);
    assert_eq!(world.reviews(number).len(), 2, "new inline findings make a new review");
    world.end().await;
}

#[tokio::test]
async fn a_force_push_that_rewrites_history_repeats_nothing() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    let change = Change::new().write("src/run.py", DEFECTS).write("src/other.py", CLEAN);
    world.people().force_push_to_pull("ada", REPO, number, "Once more, with feeling", change).await.unwrap();
    world.settle().await;
    assert_eq!(world.comments(number).len(), 2);
    assert_eq!(world.reviews(number).len(), 1);
    world.end().await;
}

#[tokio::test]
async fn the_thread_of_a_deleted_file_is_resolved() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    let change = Change::new().delete("src/run.py").write("src/other.py", CLEAN);
    world.people().push_to_pull("ada", REPO, number, "Take it back", change).await.unwrap();
    world.settle().await;
    assert_eq!(world.resolved_places(number), ["src/run.py:5", "src/run.py:9"]);
    assert_eq!(world.conclusion(number), "success");
    assert_eq!(world.reviews(number).len(), 1);
    world.end().await;
}

#[tokio::test]
async fn a_thread_in_which_a_person_spoke_is_left_to_people() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    let eval = world.comments(number).into_iter().find(|c| c.original_line == 5).unwrap();
    world.people().reply_in_thread("ada", REPO, eval.id, "Are you sure?").await.unwrap();
    world.push(number, "src/run.py", HALF_FIXED).await;
    assert!(world.resolved_places(number).is_empty());
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn a_thread_longer_than_a_page_is_read_to_its_last_comment() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    let (people, bot) = (world.people(), world.github.bot_login());
    let at = |line: u32| world.comments(number).into_iter().find(|c| c.original_line == line).unwrap().id;
    let (eval, none) = (at(5), at(9));
    // GitHub gives 100 comments a page: a person has the last word of one thread on its third page, in the other all are ours.
    for (thread, replies) in [(eval, 200), (none, 101)] {
        for n in 0..replies {
            people.reply_in_thread(&bot, REPO, thread, &format!("Still so, {n}.")).await.unwrap();
        }
    }
    people.reply_in_thread("ada", REPO, eval, "Are you sure?").await.unwrap();
    world.settle().await;
    let before = world.comments(number).len();
    world.push(number, "src/run.py", CLEAN).await;
    assert_eq!(world.conclusion(number), "success");
    let resolved: BTreeSet<String> = world.resolved_places(number).into_iter().collect();
    assert_eq!(resolved, BTreeSet::from(["src/run.py:9".to_owned()]), "ada's word leaves hers to people");
    assert_eq!(world.comments(number).len(), before);
    world.push(number, "src/run.py", DEFECTS).await;
    let after = world.comments(number);
    assert_eq!(after.len(), before + 1, "what stands in an open thread is not said again, what came back is");
    assert_eq!(after.iter().max_by_key(|comment| comment.id).unwrap().original_line, 9);
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn a_thread_that_a_person_resolved_is_not_opened_again() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    for thread in world.github.threads(REPO, number) {
        world.people().resolve_thread("ada", REPO, thread.id).await.unwrap();
    }
    world.push(number, "src/more.py", CLEAN).await;
    assert_eq!(world.comments(number).len(), 2);
    assert_eq!(world.reviews(number).len(), 1);
    world.end().await;
}

#[tokio::test]
async fn old_code_beside_the_change_is_not_commented() {
    let world = World::start().await;
    let change = Change::new().write("src/old.py", DEFECTS);
    world.people().push("ada", REPO, "main", "Before anyone reviewed", change).await.unwrap();
    let number = world.open("src/old.py", &DEFECTS.replace("import os", "import sys")).await;
    assert!(world.comments(number).is_empty());
    assert_eq!(world.conclusion(number), "success");
    world.end().await;
}

#[tokio::test]
async fn a_fork_is_reviewed_even_after_it_was_deleted() {
    let world = World::start().await;
    let pull = OpenPull::new("stranger", "patch", "From outside", Change::new().write("src/run.py", DEFECTS));
    let number = world.people().open_pull_from_fork(REPO, pull).await.unwrap();
    world.settle().await;
    assert_eq!(world.comments(number).len(), 2);
    world.people().delete_fork(REPO, number).await.unwrap();
    let run = world.check(number).id;
    world.people().rerequest_check("ada", REPO, run).await.unwrap();
    world.settle().await;
    assert_eq!(world.comments(number).len(), 2, "re-run, and nothing said twice");
    assert_eq!(world.reviews(number).len(), 1);
    world.end().await;
}

#[tokio::test]
async fn a_clean_pull_request_gets_a_green_check_and_silence() {
    let world = World::start().await;
    let number = world.open("src/add.py", CLEAN).await;
    assert!(world.comments(number).is_empty() && world.reviews(number).is_empty());
    assert_eq!(world.conclusion(number), "success");
    world.end().await;
}

#[tokio::test]
async fn what_could_not_be_read_is_neither_clean_nor_a_failure() {
    let world = World::start().await;
    let number = world.open("logo.bin", "\0\u{1}\u{2}binary\0").await;
    assert_eq!(world.conclusion(number), "neutral");
    assert!(world.check(number).summary.unwrap().contains("logo.bin"), "the summary names what was not read");
    world.end().await;
}

#[tokio::test]
async fn a_team_may_let_unreviewed_changes_fail() {
    let world = World::start().await;
    let change = Change::new().write(CONFIG, "on_unreviewed: action_required\n");
    world.people().push("ada", REPO, "main", "Be strict", change).await.unwrap();
    let number = world.open("logo.py", "\0binary\0").await;
    assert_eq!(world.conclusion(number), "action_required");
    world.end().await;
}

#[tokio::test]
async fn a_pull_request_cannot_change_its_own_rules() {
    let world = World::start().await;
    let change = Change::new().write("src/run.py", DEFECTS).write(CONFIG, "review: false\nfail_on: never\n");
    let pull = OpenPull::new("ada", "sly", "Look away", change);
    let number = world.people().open_pull(REPO, pull).await.unwrap();
    world.settle().await;
    assert_eq!(world.comments(number).len(), 2);
    assert_eq!(world.conclusion(number), "failure");
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn the_default_branch_decides_what_is_reviewed() {
    let world = World::start().await;
    let change = Change::new().write(CONFIG, "fail_on: never\nignore: ['generated/**']\nmin_severity: high\n");
    world.people().push("ada", REPO, "main", "Settings", change).await.unwrap();
    let number = world.open("src/run.py", DEFECTS).await;
    assert!(world.comment_places(number).contains(&"src/run.py:5".to_owned()));
    assert_eq!(world.conclusion(number), "success", "`fail_on: never`");
    let ignored = world.open("generated/run.py", DEFECTS).await;
    assert!(world.comments(ignored).is_empty());
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn an_invalid_configuration_means_defaults_and_is_said() {
    let world = World::start().await;
    let change = Change::new().write(CONFIG, "reviw: false\n");
    world.people().push("ada", REPO, "main", "A typo", change).await.unwrap();
    let number = world.open("src/run.py", DEFECTS).await;
    assert_eq!(world.comments(number).len(), 2);
    let body = world.reviews(number).remove(0).body;
    assert!(body.contains("octoswarm.yml") && body.contains("reviw"), "{body}");
    world.end().await;
}

#[tokio::test]
async fn a_draft_waits_until_it_is_ready() {
    let world = World::start().await;
    let mut pull = OpenPull::new("ada", "draft", "Not yet", Change::new().write("src/run.py", DEFECTS));
    pull.draft = true;
    let number = world.people().open_pull(REPO, pull).await.unwrap();
    world.settle().await;
    assert!(world.github.check_runs(REPO, &world.github.pull(REPO, number).unwrap().head_sha).is_empty());
    assert!(world.last_reason().await.contains("review_drafts"));
    world.people().ready_for_review("ada", REPO, number).await.unwrap();
    world.settle().await;
    assert_eq!(world.comments(number).len(), 2);
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn another_base_is_reviewed_anew_and_nothing_is_said_twice() {
    let world = World::start().await;
    let change = Change::new().write("src/other.py", CLEAN);
    world.people().push("ada", REPO, "release", "A release", change).await.unwrap();
    let number = world.open("src/run.py", DEFECTS).await;
    world.people().change_base("ada", REPO, number, "release").await.unwrap();
    world.settle().await;
    assert!(world.last_review_finished().await, "the head is the old one, the diff may not be");
    assert_eq!(world.comments(number).len(), 2);
    assert_eq!(world.reviews(number).len(), 1);
    world.end().await;
}

#[tokio::test]
async fn more_findings_than_a_review_carries_are_all_told() {
    let world = World::start().await;
    let text: String = (0..45).map(|n| format!("def run{n}(text):\n    return eval(text + '{n}')\n\n\n")).collect();
    let number = world.open("src/many.py", &text).await;
    assert_eq!(world.comments(number).len(), 30, "inline, as many as one review may carry");
    let body = world.reviews(number).remove(0).body;
    assert!(body.contains("src/many.py"), "the rest stands in the summary: {body}");
    assert_eq!(world.check(number).annotations.len(), 15, "and as annotations");
    world.end().await;
}

#[tokio::test]
async fn all_suggestions_apply_together_and_settle_their_threads() {
    let world = World::start().await;
    let text = "def a(x):\n    breakpoint()\n    if x == None:\n        return 0\n    return x\n\n\n\
                def b(y):\n    breakpoint()\n    return y == None\n";
    let number = world.open("src/fix.py", text).await;
    let files = world.people().apply_suggestions("ada", REPO, number).await.unwrap();
    world.settle().await;
    assert_eq!(
        files["src/fix.py"],
        "def a(x):\n    if x is None:\n        return 0\n    return x\n\n\ndef b(y):\n    return y is None\n"
    );
    assert_eq!(world.resolved_places(number).len(), world.comments(number).len());
    assert_eq!(world.conclusion(number), "success");
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn text_from_a_pull_request_wakes_nobody_up() {
    let world = World::start().await;
    let path = "src/@octocat/team #1 <img src=x>.py";
    let number = world.open(path, DEFECTS).await;
    let bodies: Vec<String> = world
        .reviews(number)
        .into_iter()
        .map(|review| review.body)
        .chain(world.comments(number).into_iter().map(|comment| comment.body))
        .chain(world.check(number).summary)
        .collect();
    assert!(!bodies.is_empty());
    for body in bodies {
        assert!(!body.contains("<img"), "{body}");
        let outside_code: String = body.split('`').step_by(2).collect();
        assert!(!outside_code.contains("@octocat"), "{body}");
    }
    world.end().await;
}

#[tokio::test]
async fn two_repositories_do_not_meet() {
    let world = World::start().await;
    let other = "octo/other";
    world.people().create_repo(other, Change::new().write("src/base.py", CLEAN)).await.unwrap();
    world.people().add_collaborator(other, "ada", "write").await.unwrap();
    let here = world.open("src/run.py", DEFECTS).await;
    let pull = OpenPull::new("ada", "x", "The same", Change::new().write("src/run.py", DEFECTS));
    let there = world.people().open_pull(other, pull).await.unwrap();
    world.settle().await;
    assert_eq!(here, there, "the same number in both");
    assert_eq!(world.comments(here).len(), 2);
    assert_eq!(world.github.read_review_comments(other, there).len(), 2);
    world.reviews(here);
    world.github.read_reviews(other, there);
    world.end().await;
}

#[tokio::test]
async fn our_own_doings_come_back_and_are_dropped() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    let observer = octoswarm::app::runs::Observer::open(world.state_dir()).await.unwrap();
    let timelines = observer.timelines(50).await.unwrap();
    let echoes: Vec<_> = timelines.iter().filter(|t| t.delivery.event.starts_with("check_")).collect();
    assert!(!echoes.is_empty(), "the check run's events come back to us");
    assert!(echoes.iter().all(|t| t.delivery.state.as_str() == "ignored"));
    world.comments(number);
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn a_configuration_that_is_no_file_means_defaults_and_is_said() {
    let world = World::start().await;
    let change = Change::new().write(&format!("{CONFIG}/review.yml"), "review: false\n");
    world.people().push("ada", REPO, "main", "A folder where a file belongs", change).await.unwrap();
    let number = world.open("src/run.py", DEFECTS).await;
    assert_eq!(world.comments(number).len(), 2);
    let body = world.reviews(number).remove(0).body;
    assert!(body.contains("octoswarm.yml"), "{body}");
    world.end().await;
}
