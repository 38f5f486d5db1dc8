//! `/swarm test`: whose code is run, on whose word, by which commands, and what is said of it.

use std::time::Duration;

use octoswarm::demo::{Change, Fault, FaultKind, OpenPull};
use octoswarm::store::{JobFilter, JobState, RunRow, RunState};

use crate::support::world::{CLEAN, REPO, World};
use crate::trial::{sandboxed, with_checks};

/// Passes but where somebody left a file that says otherwise.
const BROKEN: &str = "commands:\n  lint: echo fine\n  test: sh test.sh\n";
const SCRIPT: &str = "if test -e src/broken.py; then echo 'test calc::adds ... FAILED'; echo; echo failures:; echo '    calc::adds'; echo; \
     echo 'test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s'; exit 101; fi; \
     echo 'test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s'\n";
/// Runs until it is stopped.
const ENDLESS: &str = "commands:\n  test: sleep 100\n";

async fn runs(world: &World) -> Vec<RunRow> {
    let all = world.app.store().runs(100).await.unwrap();
    all.into_iter().filter(|run| run.kind == "test").collect()
}

/// Waits until the command is at work.
async fn is_running(world: &World) {
    for _ in 0..600 {
        if let Some(run) = runs(world).await.into_iter().find(|run| run.state == RunState::Running) {
            let said = world.app.store().progress_since(run.id, 0, 10).await.unwrap();
            if said.iter().any(|row| row.text.starts_with("testing")) {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no test has begun");
}

async fn open_fork(world: &World, path: &str, text: &str) -> u64 {
    let pull = OpenPull::new("eve", "idea", "An idea", Change::new().write(path, text));
    let number = world.people().open_pull_from_fork(REPO, pull).await.unwrap();
    world.settle().await;
    number
}

fn head(world: &World, number: u64) -> String {
    world.github.pull(REPO, number).unwrap().head_sha
}

/// The only answer.
#[track_caller]
fn answer(world: &World, number: u64) -> String {
    let mut said = world.said(number);
    assert_eq!(said.len(), 1, "{said:?}");
    said.remove(0)
}

async fn end(world: World, number: u64) {
    world.reviews(number);
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn a_branch_of_the_repository_is_run_at_its_head_and_the_numbers_are_told() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks(BROKEN, &[("test.sh", SCRIPT)]).await;
    let number = world.open("src/new.py", CLEAN).await;
    world.comment("ada", number, "/swarm test").await;
    let said = answer(&world, number);
    assert!(said.contains(&format!("**2 checks at `{}`:** 2 passed.", &head(&world, number)[..7])), "{said}");
    assert!(
        said.contains("✅ lint · `echo fine`: passed") && said.contains("`sh test.sh`: passed, 3 passed"),
        "{said}"
    );
    assert!(!said.contains("<details>"), "{said}");
    let runs = runs(&world).await;
    assert_eq!((runs.len(), runs[0].state), (1, RunState::Finished));
    assert_eq!(runs[0].outcome.as_ref().unwrap()["outcome"], "passed");
    let rows = world.app.store().progress_since(runs[0].id, 0, 10).await.unwrap();
    let lines: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    assert!(lines.contains(&"lint: passed") && lines.contains(&"test: passed"), "{lines:?}");
    end(world, number).await;
}

#[tokio::test]
async fn what_fails_is_named_with_the_end_of_what_it_printed() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks(BROKEN, &[("test.sh", SCRIPT)]).await;
    let number = world.open("src/broken.py", CLEAN).await;
    world.comment("ada", number, "/swarm test").await;
    let said = answer(&world, number);
    assert!(said.contains("1 passed, 1 failed") && said.contains("exit code 101"), "{said}");
    assert!(said.contains("- `calc::adds`\n") && said.contains("<details>"), "{said}");
    assert!(said.contains("test result: FAILED. 2 passed; 1 failed"), "{said}");
    assert!(!said.contains("fails without the change"), "{said}");
    assert_eq!(runs(&world).await[0].outcome.as_ref().unwrap()["outcome"], "checks-failed");
    end(world, number).await;
}

#[tokio::test]
async fn what_fails_without_the_pull_request_too_is_told_so() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks("commands:\n  build: echo no; exit 3\n", &[]).await;
    let number = world.open("src/new.py", CLEAN).await;
    world.comment("ada", number, "/swarm test").await;
    let said = answer(&world, number);
    assert!(said.contains("exit code 3; the same fails without the change"), "{said}");
    end(world, number).await;
}

#[tokio::test]
async fn a_fork_is_not_run_until_its_head_is_named() {
    let world = with_checks("commands:\n  test: exit 9\n", &[]).await;
    let number = open_fork(&world, "src/new.py", CLEAN).await;
    world.comment("ada", number, "/swarm test").await;
    let said = answer(&world, number);
    let ask = format!("`/swarm test {}`", head(&world, number));
    assert!(said.contains("Nothing was run") && said.contains("comes from a fork") && said.contains(&ask), "{said}");
    assert!(runs(&world).await.is_empty());
    end(world, number).await;
}

#[tokio::test]
async fn a_fork_is_run_at_the_head_that_a_maintainer_has_named() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks("commands:\n  test: test -e src/new.py\n", &[]).await;
    let number = open_fork(&world, "src/new.py", CLEAN).await;
    let head = head(&world, number);
    world.comment("ada", number, &format!("Looks harmless.\n\n/swarm test {head}")).await;
    let said = answer(&world, number);
    assert!(said.contains(&format!("**1 check at `{}`:** 1 passed.", &head[..7])), "{said}");
    end(world, number).await;
}

#[tokio::test]
async fn of_a_fork_the_beginning_of_a_commit_is_not_enough() {
    let world = with_checks("commands:\n  test: exit 9\n", &[]).await;
    let number = open_fork(&world, "src/new.py", CLEAN).await;
    let head = head(&world, number);
    world.comment("ada", number, &format!("/swarm test {}", &head[..39])).await;
    let said = answer(&world, number);
    assert!(said.contains("only the beginning") && said.contains(&format!("`/swarm test {head}`")), "{said}");
    assert!(runs(&world).await.is_empty());
    end(world, number).await;
}

#[tokio::test]
async fn a_commit_that_is_the_head_no_more_is_not_run_and_neither_is_the_new_one() {
    let world = with_checks("commands:\n  test: exit 9\n", &[]).await;
    let number = open_fork(&world, "src/new.py", CLEAN).await;
    let read = head(&world, number);
    let change = Change::new().write("src/new.py", "import os\n\nos.remove('x')\n");
    world.people().push_to_pull("eve", REPO, number, "One more thing", change).await.unwrap();
    world.settle().await;
    world.comment("ada", number, &format!("/swarm test {read}")).await;
    let said = answer(&world, number);
    let ask = format!("`/swarm test {}`", head(&world, number));
    assert!(said.contains("is not the head of this pull request") && said.contains(&ask), "{said}");
    assert!(runs(&world).await.is_empty());
    end(world, number).await;
}

#[tokio::test]
async fn a_triager_may_not_have_anything_run() {
    let world = with_checks("commands:\n  test: exit 9\n", &[]).await;
    world.people().add_collaborator(REPO, "tia", "triage").await.unwrap();
    let number = open_fork(&world, "src/new.py", CLEAN).await;
    let head = head(&world, number);
    for who in ["tia", "eve"] {
        world.comment(who, number, &format!("/swarm test {head}")).await;
    }
    let said = world.said(number);
    assert!(said.len() == 2 && said.iter().all(|text| text.contains("Not done")), "{said:?}");
    assert!(runs(&world).await.is_empty());
    end(world, number).await;
}

#[tokio::test]
async fn what_the_code_prints_is_shown_and_does_nothing() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks("commands:\n  test: sh test.sh\n", &[("test.sh", "exit 0\n")]).await;
    let secret = format!("ghp_{}", "A1".repeat(18));
    let script = format!(
        "cat <<'X'\nthanks @ada, fixes #1\n```\n````\n</details>\n<img src=https://evil.invalid/i.png>\n\
         ![i](https://evil.invalid/i.png)\n/approve\ntoken {secret}\n<!-- octoswarm:v1 answer 1/1 -->\nX\nexit 4\n"
    );
    let number = world.open("test.sh", &script).await;
    world.comment("ada", number, "/swarm test").await;
    let said = answer(&world, number);
    let (before, rest) = said.split_once("\n`````text\n").unwrap_or_else(|| panic!("no long fence: {said}"));
    let (inside, after) = rest.split_once("\n`````\n").unwrap();
    for bad in ["@ada", "evil.invalid", "<img", "fixes #1"] {
        assert!(inside.contains(bad) && !before.contains(bad) && !after.contains(bad), "{bad}: {said}");
    }
    assert!(!said.contains(&secret) && inside.contains("[redacted]"), "{said}");
    assert!(!said.lines().any(|line| line.trim_start().starts_with('/')), "{said}");
    end(world, number).await;
}

#[tokio::test]
async fn very_long_output_of_many_checks_fits_into_one_comment() {
    if !sandboxed().await {
        return;
    }
    let noise = "i=0; while [ $i -lt 3000 ]; do echo \"noise $i @ada\"; i=$((i+1)); done; exit 1";
    let lines: String = (0..10).map(|n| format!("    - '{noise} # {n}'\n")).collect();
    let world = with_checks(&format!("commands:\n  lint:\n{lines}  test:\n{lines}"), &[]).await;
    let number = world.open("src/new.py", CLEAN).await;
    world.comment("ada", number, "/swarm test").await;
    let said = answer(&world, number);
    assert!(said.contains("20 failed") && said.contains("noise 2999") && !said.contains("noise 0 "), "{said}");
    assert!(said.encode_utf16().count() < 65_536);
    end(world, number).await;
}

#[tokio::test]
async fn a_second_command_for_a_head_that_is_being_run_starts_no_second_run() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks(ENDLESS, &[]).await;
    let number = world.open("src/new.py", CLEAN).await;
    world.people().comment("ada", REPO, number, "/swarm test").await.unwrap();
    is_running(&world).await;
    world.people().comment("ada", REPO, number, "/swarm test").await.unwrap();
    for _ in 0..600 {
        if world.said(number).last().unwrap().contains("under way already") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.comment("ada", number, "/swarm cancel").await;
    let said = world.said(number);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].contains("cancelled by ada") && said[1].contains("under way already"), "{said:?}");
    assert_eq!(runs(&world).await.len(), 1);
    end(world, number).await;
}

#[tokio::test]
async fn a_push_ends_the_run_and_the_answer_says_so() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks(ENDLESS, &[]).await;
    let number = world.open("src/new.py", CLEAN).await;
    world.people().comment("ada", REPO, number, "/swarm test").await.unwrap();
    is_running(&world).await;
    world.push(number, "src/new.py", "def one():\n    return 1\n").await;
    let said = answer(&world, number);
    assert!(said.contains("the head has moved"), "{said}");
    assert_eq!(runs(&world).await[0].state, RunState::Cancelled);
    end(world, number).await;
}

#[tokio::test]
async fn a_run_is_shown_cancelled_and_tried_again_at_the_same_commit() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks(ENDLESS, &[]).await;
    let number = open_fork(&world, "src/new.py", CLEAN).await;
    let head = head(&world, number);
    world.people().comment("ada", REPO, number, &format!("/swarm test {head}")).await.unwrap();
    is_running(&world).await;
    world.comment("ada", number, "/swarm status\n/swarm cancel").await;
    let said = world.said(number);
    assert!(said[0].contains("cancelled by ada"), "{said:?}");
    assert!(said[1].contains("**test**") && said[1].contains("running"), "{said:?}");
    assert!(said[1].contains("Cancelled:** 1 job"), "{said:?}");
    let config = Change::new().write(".github/octoswarm.yml", "commands:\n  test: exit 0\n");
    world.people().push("ada", REPO, "main", "End", config).await.unwrap();
    world.comment("ada", number, "/swarm retry").await;
    let said = world.said(number);
    assert!(said[2].contains(&format!("**1 check at `{}`:** 1 passed.", &head[..7])), "{said:?}");
    end(world, number).await;
}

#[tokio::test]
async fn where_checks_are_off_nothing_is_run() {
    let world = with_checks("checks: off\ncommands:\n  test: exit 9\n", &[]).await;
    let number = world.open("src/new.py", CLEAN).await;
    world.comment("ada", number, "/swarm test").await;
    assert!(answer(&world, number).contains("`checks: off`"));
    assert!(runs(&world).await.is_empty());
    end(world, number).await;
}

#[tokio::test]
async fn without_a_sandbox_nothing_is_run_and_the_reason_is_told() {
    let mut world = with_checks("commands:\n  test: exit 9\n", &[]).await;
    world.restart_with(|config| config.sandbox.bwrap = Some("/nonexistent/bwrap".into())).await;
    let number = world.open("src/new.py", CLEAN).await;
    world.comment("ada", number, "/swarm test").await;
    let said = answer(&world, number);
    assert!(said.contains("⚪ test · `exit 9`: not run; there is no sandbox here"), "{said}");
    assert_eq!(runs(&world).await[0].outcome.as_ref().unwrap()["outcome"], "not-run");
    end(world, number).await;
}

#[tokio::test]
async fn a_pull_request_does_not_choose_what_it_is_checked_with() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks("commands:\n  test: echo as merged\n", &[]).await;
    let own = "checks: off\ncommands:\n  test: echo as wished; exit 9\n  build: exit 9\n";
    let number = world.open(".github/octoswarm.yml", own).await;
    world.comment("ada", number, "/swarm test").await;
    let said = answer(&world, number);
    assert!(said.contains("`echo as merged`: passed") && said.contains("**1 check at"), "{said}");
    end(world, number).await;
}

#[tokio::test]
async fn what_only_the_pull_request_brings_to_be_run_is_not_found() {
    if !sandboxed().await {
        return;
    }
    let world = World::start().await;
    let number = world.open("package.json", "{\"scripts\": {\"test\": \"exit 9\"}}\n").await;
    world.comment("ada", number, "/swarm test").await;
    let said = answer(&world, number);
    assert!(said.contains("no commands were found"), "{said}");
    end(world, number).await;
}

#[tokio::test]
async fn an_issue_and_a_closed_pull_request_are_not_run() {
    let world = with_checks("commands:\n  test: exit 9\n", &[]).await;
    let issue = world.people().open_issue("ada", REPO, "A question", "Does it work?").await.unwrap();
    world.comment("ada", issue, "/swarm test").await;
    assert!(answer(&world, issue).contains("only pull requests"));
    let number = world.open("src/new.py", CLEAN).await;
    world.people().close_pull("ada", REPO, number).await.unwrap();
    world.comment("ada", number, "/swarm test").await;
    assert!(answer(&world, number).contains("is closed"));
    assert!(runs(&world).await.is_empty());
    end(world, number).await;
}

#[tokio::test]
async fn a_push_that_is_not_reviewed_ends_the_run_too() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks(&format!("review: false\n{ENDLESS}"), &[]).await;
    let number = world.open("src/new.py", CLEAN).await;
    world.people().comment("ada", REPO, number, "/swarm test").await.unwrap();
    is_running(&world).await;
    world.push(number, "src/new.py", "def one():\n    return 1\n").await;
    let said = answer(&world, number);
    assert!(said.contains("the head has moved"), "{said}");
    assert_eq!(runs(&world).await[0].state, RunState::Cancelled);
    end(world, number).await;
}

/// Word of an old push that comes late, as after an outage, does not end what runs at the head.
#[tokio::test]
async fn word_of_an_old_push_does_not_end_the_run_of_the_head() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks("review: false\ncommands:\n  test: sleep 4\n", &[]).await;
    let number = world.open("src/new.py", CLEAN).await;
    world.push(number, "src/new.py", "def one():\n    return 1\n").await;
    let deliveries = world.github.deliveries();
    let first = deliveries.iter().find(|d| d.action.as_deref() == Some("opened")).unwrap().guid.clone();
    world.people().comment("ada", REPO, number, "/swarm test").await.unwrap();
    is_running(&world).await;
    world.people().replay(&first).await.unwrap();
    world.settle().await;
    let said = answer(&world, number);
    assert!(said.contains(&format!("**1 check at `{}`:** 1 passed.", &head(&world, number)[..7])), "{said}");
    end(world, number).await;
}

#[tokio::test]
async fn an_answer_that_could_not_be_said_is_said_later_without_another_run() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks(BROKEN, &[("test.sh", SCRIPT)]).await;
    let number = world.open("src/broken.py", CLEAN).await;
    // The first word of a command is a new comment; its outcome takes that one's place.
    world.github.fail_next(Fault::once("PATCH", "/issues/comments/", FaultKind::Html));
    world.comment("ada", number, "/swarm test").await;
    assert_eq!(world.github.faults_left(), 0);
    let said = answer(&world, number);
    assert!(said.contains("1 passed, 1 failed") && said.contains("- `calc::adds`\n"), "{said}");
    let runs = runs(&world).await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    let filter = JobFilter { kind: Some("test".to_owned()), ..JobFilter::default() };
    let job = world.app.store().jobs(&filter).await.unwrap().remove(0);
    assert!(job.last_error.is_some() && job.state == JobState::Completed, "{job:?}");
    end(world, number).await;
}
