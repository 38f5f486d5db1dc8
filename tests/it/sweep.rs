//! The scout's scheduled sweep, against the box: who has asked for it gets drafts within its caps, and nobody else anything.

use std::collections::BTreeSet;
use std::time::Duration;

use octoswarm::app::runs::Observer;
use octoswarm::demo::{Change, Fault, OpenPull};
use octoswarm::mailbox::{Envelope, MessageType};
use octoswarm::store::JobState;
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

use crate::contribute::{BODY, SAFE, TITLE, with_unsafe_yaml};
use crate::support::world::{REPO, World};

/// So long that the schedule itself stays out of a test.
const NOT_BY_ITSELF: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const WELCOME: &str = "good first issue";

/// A repository whose configuration says so much about sweeps, on a server that allows them.
async fn world(scout: &str) -> World {
    let mut world = with_unsafe_yaml().await;
    configure(&world, scout).await;
    world.restart_scouting(Some(NOT_BY_ITSELF)).await;
    world
}

async fn configure(world: &World, scout: &str) {
    let config = Change::new().write(".github/octoswarm.yml", format!("scout: {scout}\n"));
    world.people().push("ada", REPO, "main", "Say what the scout may do", config).await.unwrap();
    world.settle().await;
}

fn on(daily: u64, open: u64) -> String {
    format!("{{enabled: true, labels: [{WELCOME}], daily: {daily}, open: {open}}}")
}

/// Ten days old, opened by a stranger and labelled by a writer.
async fn issue(world: &World, title: &str, body: &str, label: Option<&str>) -> u64 {
    let number = world.people().open_issue("eve", REPO, title, body).await.unwrap();
    world.people().backdate_issue(REPO, number, 10).await.unwrap();
    if let Some(label) = label {
        world.people().label("ada", REPO, number, label).await.unwrap();
    }
    world.settle().await;
    number
}

/// Another one that a mechanic can solve, in a file of its own.
async fn solvable(world: &World, nth: usize) -> u64 {
    let path = format!("docs/page{nth}.md");
    let page = Change::new().write(&path, format!("# Page {nth}\n\nWe recieve{nth} letters.\n"));
    world.people().push("ada", REPO, "main", "Another page", page).await.unwrap();
    let body = format!("Please replace `recieve{nth}` with `receive{nth}` in `{path}`.");
    issue(world, &format!("Page {nth} is misspelt"), &body, Some(WELCOME)).await
}

/// That no mechanic can solve.
async fn hopeless(world: &World) -> u64 {
    let body = "It would be lovely to see the totals per month as a chart on the start page, with a legend and a title, in the \
                colours of the house.";
    issue(world, "Show a chart of the totals", body, Some(WELCOME)).await
}

async fn sweep(world: &World) -> usize {
    let taken = world.app.scout_all().await.unwrap();
    world.settle().await;
    taken
}

async fn contributions(world: &World) -> Vec<(JobState, String)> {
    let jobs = world.app.store().jobs(&octoswarm::store::JobFilter::default()).await.unwrap();
    let ours = jobs.into_iter().filter(|job| job.kind == "contribute");
    ours.map(|job| (job.state, job.last_error.unwrap_or_default())).collect()
}

#[tokio::test]
async fn s2_11_a_sweep_opens_a_draft_that_says_so_and_leaves_true_documents() {
    let world = world(&on(1, 3)).await;
    let number = issue(&world, TITLE, BODY, Some(WELCOME)).await;
    let other = hopeless(&world).await;
    let unwanted = issue(&world, "Another thing", BODY, Some("question")).await;
    assert_eq!(sweep(&world).await, 1);
    let pulls = world.own_pulls();
    assert_eq!(pulls.len(), 1, "{:?}", contributions(&world).await);
    assert!(pulls[0].draft, "what nobody asked for is a draft");
    assert_eq!(world.github.file(REPO, &pulls[0].head_sha, "src/a.py").as_deref(), Some(SAFE));
    let body = pulls[0].body.clone().unwrap();
    assert!(body.contains("Nobody asked for this pull request") && body.contains("scheduled sweep"), "{body}");
    assert!(body.contains(&format!("Fixes #{number}")), "{body}");
    assert!(!body.contains("asked for by"), "{body}");
    for issue in [number, other, unwanted] {
        assert!(world.said(issue).is_empty() && world.github.reactions_on_issue(REPO, issue).is_empty());
    }
    // S2.19: the swarm's folder.
    let folder = world.state_dir().join("swarms/octo__calc");
    let read = |name: &str| -> Value { serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap() };
    let document = read("current-issue.json");
    let url = |number: u64| format!("{}/{REPO}/issues/{number}", world.github.web_url());
    assert_eq!(document["selected_issue"]["url"], url(number));
    assert_eq!(document["search_stats"], json!({ "total_searched": 2, "filtered_out": 0, "candidates_found": 2 }));
    assert_eq!(document["alternatives"].as_array().unwrap().len(), 1);
    assert_eq!(document["alternatives"][0]["url"], url(other));
    assert!(document["alternatives"][0]["reason_not_selected"].as_str().unwrap().starts_with("a mechanic can do less"));
    let status = read("swarm-status.json");
    assert_eq!((&status["cycle"], &status["current_issue"]), (&json!(1), &json!(url(number))));
    assert_eq!(status["stats"]["prs_created"], 1);
    world.end().await;
}

/// Of a pull request on whose way the server died before it pushed: the pr agent has said meanwhile that it is ready.
async fn ready_by_the_agents_word(world: &mut World, ask: impl AsyncFnOnce(&World)) -> bool {
    world.github.fail_next(Fault::withhold("POST", "/git-receive-pack"));
    ask(world).await;
    world.github.wait_withheld().await;
    world.crash().await;
    let rows = world.state_dir().join("octoswarm.db");
    let mut rows = SqliteConnectOptions::new().filename(rows).connect().await.unwrap();
    let sql = "UPDATE step SET artifact = json_set(artifact, '$.draft', json('false')) WHERE name = 'pr' AND artifact ->> '$.draft'";
    assert_eq!(sqlx::query(sql).execute(&mut rows).await.unwrap().rows_affected(), 1);
    rows.close().await.unwrap();
    world.github.release_withheld();
    world.restart().await;
    world.settle().await;
    let pulls = world.own_pulls();
    assert_eq!(pulls.len(), 1, "{:?}", contributions(world).await);
    pulls[0].draft
}

#[tokio::test]
async fn what_a_sweep_opens_is_a_draft_also_where_the_work_itself_is_ready() {
    let mut asked = with_unsafe_yaml().await;
    let label = async |world: &World| {
        let number = world.people().open_issue("ada", REPO, TITLE, BODY).await.unwrap();
        world.people().label("ada", REPO, number, "swarm").await.unwrap();
    };
    assert!(!ready_by_the_agents_word(&mut asked, label).await, "asked for by a person, the agent's word counts");
    asked.end().await;
    let mut swept = world(&on(1, 3)).await;
    issue(&swept, TITLE, BODY, Some(WELCOME)).await;
    let taken = async |world: &World| assert_eq!(world.app.scout_all().await.unwrap(), 1);
    assert!(ready_by_the_agents_word(&mut swept, taken).await, "nobody asked for it");
    swept.end().await;
}

#[tokio::test]
async fn nothing_is_taken_up_where_nobody_opted_in() {
    for scout in ["{enabled: false, labels: [good first issue]}", "{labels: [good first issue], daily: 10}"] {
        let world = world(scout).await;
        solvable(&world, 1).await;
        assert_eq!(sweep(&world).await, 0);
        assert!(world.own_pulls().is_empty());
        world.end().await;
    }
    // Nor where the file cannot be read, or forbids all work.
    let world = world("{enabled: true}").await;
    solvable(&world, 1).await;
    assert_eq!(sweep(&world).await, 0);
    let config = format!("contribute: false\nscout: {}\n", on(1, 3));
    let config = Change::new().write(".github/octoswarm.yml", config);
    world.people().push("ada", REPO, "main", "No work at all", config).await.unwrap();
    assert_eq!(sweep(&world).await, 0);
    world.end().await;
}

#[tokio::test]
async fn a_strangers_issue_without_a_label_and_one_with_another_are_left_alone() {
    let world = world(&on(10, 3)).await;
    issue(&world, TITLE, BODY, None).await;
    issue(&world, TITLE, BODY, Some("bug")).await;
    assert_eq!(sweep(&world).await, 0);
    assert!(world.own_pulls().is_empty());
    world.end().await;
}

#[tokio::test]
async fn s2b_the_caps_of_a_day_and_of_open_pull_requests_hold() {
    let world = world(&on(2, 3)).await;
    for nth in 1..=4 {
        solvable(&world, nth).await;
    }
    assert_eq!(sweep(&world).await, 2, "the day's");
    assert_eq!(sweep(&world).await, 0);
    assert_eq!(world.own_pulls().len(), 2);
    configure(&world, &on(10, 3)).await;
    assert_eq!(sweep(&world).await, 1, "three may stand open");
    assert_eq!(sweep(&world).await, 0);
    let first = world.own_pulls().remove(0);
    world.people().close_pull("ada", REPO, first.number).await.unwrap();
    world.settle().await;
    assert_eq!(sweep(&world).await, 1, "the fourth issue, and not the one whose pull request was closed");
    assert_eq!(world.own_pulls().iter().filter(|pull| pull.state == "open").count(), 3);
    let last = world.own_pulls().remove(3);
    world.people().close_pull("ada", REPO, last.number).await.unwrap();
    world.settle().await;
    assert_eq!(sweep(&world).await, 0, "a person has closed both that are left");
    world.end().await;
}

#[tokio::test]
async fn what_was_taken_up_is_known_after_a_crash_and_a_restart() {
    let mut world = world(&on(1, 3)).await;
    solvable(&world, 1).await;
    solvable(&world, 2).await;
    world.crash_during("POST", "/pulls", async |world| assert_eq!(world.app.scout_all().await.unwrap(), 1)).await;
    assert_eq!(world.own_pulls().len(), 1, "{:?}", contributions(&world).await);
    assert_eq!(sweep(&world).await, 0, "the day's cap outlives the process");
    world.crash().await;
    world.restart_keeping(Duration::ZERO).await;
    assert_eq!(sweep(&world).await, 0, "and the rows of jobs");
    assert_eq!(world.own_pulls().len(), 1);
    world.end().await;
}

#[tokio::test]
async fn two_sweeps_at_once_take_up_no_more_than_one() {
    let world = world(&on(1, 1)).await;
    for nth in 1..=3 {
        solvable(&world, nth).await;
    }
    let (one, other) = tokio::join!(world.app.scout_all(), world.app.scout_all());
    assert_eq!(one.unwrap() + other.unwrap(), 1);
    world.settle().await;
    assert_eq!(world.own_pulls().len(), 1);
    world.end().await;
}

#[tokio::test]
async fn what_failed_is_silent_and_tried_again_only_when_it_changed() {
    let world = world(&on(10, 3)).await;
    let number = hopeless(&world).await;
    assert_eq!(sweep(&world).await, 1);
    assert!(world.own_pulls().is_empty());
    assert!(world.said(number).is_empty(), "nobody asked");
    let runs = Observer::open(world.state_dir()).await.unwrap().runs(10).await.unwrap();
    let run = runs.iter().find(|run| run.kind == "contribute").unwrap();
    assert!(run.outcome.as_ref().unwrap().to_string().contains("nothing that could be done"), "visible: {run:?}");
    assert_eq!(sweep(&world).await, 0, "as it was");
    world.people().label("ada", REPO, number, "enhancement").await.unwrap();
    assert_eq!(sweep(&world).await, 0, "a label is no news");
    world.comment("eve", number, "I would like that, too.").await;
    assert_eq!(sweep(&world).await, 1, "somebody spoke");
    let better = "Please replace `yaml.load(file)` with `yaml.safe_load(file)` in `src/a.py`.";
    world.people().edit_issue("eve", REPO, number, "Load safely", better).await.unwrap();
    world.settle().await;
    assert_eq!(sweep(&world).await, 1, "it was edited");
    assert_eq!(world.own_pulls().len(), 1);
    assert!(world.said(number).is_empty());
    world.end().await;
}

#[tokio::test]
async fn a_job_of_a_sweep_does_nothing_once_the_repository_has_them_off() {
    let mut world = world(&on(1, 3)).await;
    let number = solvable(&world, 1).await;
    world.crash().await;
    assert_eq!(world.app.scout_all().await.unwrap(), 1, "taken up, and nobody works");
    configure_unheard(&world, "{enabled: false, labels: [good first issue]}").await;
    world.restart().await;
    world.settle().await;
    assert!(world.own_pulls().is_empty() && world.said(number).is_empty());
    let jobs = contributions(&world).await;
    assert_eq!(jobs[0].0, JobState::Cancelled, "{jobs:?}");
    assert!(jobs[0].1.contains("has sweeps off"), "{jobs:?}");
    // Nothing was done, so nothing is counted.
    configure(&world, &on(1, 3)).await;
    assert_eq!(sweep(&world).await, 1);
    assert_eq!(world.own_pulls().len(), 1);
    world.end().await;
}

/// While no server runs.
async fn configure_unheard(world: &World, scout: &str) {
    let config = Change::new().write(".github/octoswarm.yml", format!("scout: {scout}\n"));
    world.people().push("ada", REPO, "main", "Say what the scout may do", config).await.unwrap();
    world.github.deliveries_settled().await;
}

#[tokio::test]
async fn the_servers_switch_ends_what_was_taken_up() {
    let mut world = world(&on(1, 3)).await;
    solvable(&world, 1).await;
    world.crash().await;
    assert_eq!(world.app.scout_all().await.unwrap(), 1, "taken up, and nobody works");
    world.begin_scouting(None).await;
    world.settle().await;
    let jobs = contributions(&world).await;
    assert!(jobs[0].1.contains("scout_sweep"), "{jobs:?}");
    assert!(world.own_pulls().is_empty());
    world.end().await;
}

#[tokio::test]
async fn an_edit_between_the_choice_and_the_work_is_left_to_the_next_sweep() {
    let mut world = world(&on(1, 3)).await;
    let number = solvable(&world, 1).await;
    world.crash().await;
    assert_eq!(world.app.scout_all().await.unwrap(), 1);
    let evil = "Please replace `return a + b` by `return eval(a)` in `src/c.py`.";
    world.people().edit_issue("eve", REPO, number, "Page 1 is misspelt", evil).await.unwrap();
    world.github.deliveries_settled().await;
    world.restart().await;
    world.settle().await;
    assert!(world.own_pulls().is_empty());
    assert!(contributions(&world).await[0].1.contains("edited since"));
    world.end().await;
}

#[tokio::test]
async fn a_person_who_asks_is_answered_although_a_sweep_is_at_it() {
    let mut world = world(&on(1, 3)).await;
    let number = hopeless(&world).await;
    world.crash().await;
    assert_eq!(world.app.scout_all().await.unwrap(), 1);
    world.people().label("ada", REPO, number, "swarm").await.unwrap();
    world.github.deliveries_settled().await;
    world.restart().await;
    world.caught_up().await;
    let said = world.said(number);
    assert_eq!(said.len(), 1, "the asker is owed an answer: {said:?} {:?}", contributions(&world).await);
    assert!(said[0].contains("chart"), "{}", said[0]);
    // And what a person has asked for is no sweep's any more.
    world.people().unlabel("ada", REPO, number, "swarm").await.unwrap();
    world.comment("eve", number, "Please!").await;
    assert_eq!(sweep(&world).await, 0);
    world.end().await;
}

#[tokio::test]
async fn a_sweep_in_the_middle_of_its_work_makes_way_for_a_person() {
    let world = world(&on(1, 3)).await;
    let number = hopeless(&world).await;
    world.github.fail_next(Fault::withhold("GET", &format!("/issues/{number}")));
    assert_eq!(world.app.scout_all().await.unwrap(), 1);
    world.github.wait_withheld().await;
    world.people().comment("ada", REPO, number, "/swarm fix").await.unwrap();
    let asked = async {
        while contributions(&world).await.len() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), asked).await.unwrap();
    world.github.release_withheld();
    world.settle().await;
    let jobs = contributions(&world).await;
    assert_eq!((jobs[0].0, jobs[1].0), (JobState::Completed, JobState::Cancelled), "newest first: {jobs:?}");
    let said = world.said(number);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("chart"), "{}", said[0]);
    world.end().await;
}

#[tokio::test]
async fn an_issue_that_carries_the_trigger_label_or_has_a_pull_request_is_not_a_sweeps() {
    let world = world(&on(10, 3)).await;
    let number = issue(&world, TITLE, BODY, Some(WELCOME)).await;
    let mut pull = OpenPull::new("ada", "mine", "Safe loader", Change::new().write("src/a.py", SAFE));
    pull.body = format!("Fixes #{number}");
    world.people().open_pull(REPO, pull).await.unwrap();
    world.settle().await;
    assert_eq!(sweep(&world).await, 0);
    let asked = hopeless(&world).await;
    world.people().label("ada", REPO, asked, "swarm").await.unwrap();
    world.settle().await;
    assert_eq!(world.said(asked).len(), 1);
    assert_eq!(sweep(&world).await, 0);
    world.end().await;
}

#[tokio::test]
async fn the_schedule_sweeps_by_itself() {
    let mut world = world(&on(1, 3)).await;
    solvable(&world, 1).await;
    world.restart_scouting(Some(Duration::from_millis(20))).await;
    let opened = async {
        while world.own_pulls().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), opened).await.unwrap();
    world.restart_scouting(Some(NOT_BY_ITSELF)).await;
    world.settle().await;
    assert_eq!(world.own_pulls().len(), 1);
    world.end().await;
}

/// The priorities of what came out of the inboxes since then, by what it was about.
fn priorities(world: &World, number: u64) -> BTreeSet<String> {
    let messages = std::fs::read_dir(world.state_dir().join("messages/processed")).unwrap();
    let messages = messages.map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    let assignments = messages.map(|bytes| Envelope::parse(&bytes).unwrap()).filter(|message| {
        message.message_type == MessageType::TaskAssignment
            && message.content["focus_area"] == format!("{REPO}#{number}")
    });
    assignments.map(|message| format!("{:?}", message.priority)).collect()
}

#[tokio::test]
async fn a_sweep_asks_its_agents_at_low_priority_a_label_at_normal_and_a_command_at_high() {
    let world = world(&on(1, 3)).await;
    let swept = issue(&world, TITLE, BODY, Some(WELCOME)).await;
    assert_eq!(sweep(&world).await, 1);
    let labelled = world.ask(TITLE, BODY).await;
    let asked = world.people().open_issue("ada", REPO, TITLE, BODY).await.unwrap();
    world.comment("ada", asked, "/swarm fix").await;
    world.settle().await;
    for (number, priority) in [(swept, "Low"), (labelled, "Normal"), (asked, "High")] {
        assert_eq!(priorities(&world, number), BTreeSet::from([priority.to_owned()]), "#{number}");
    }
    for number in [swept, labelled, asked] {
        world.said(number);
    }
    world.end().await;
}
