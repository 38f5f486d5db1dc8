//! `octoswarm runs`, `replay` and `agents`: the operator's eyes and hands, beside the server and without one.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use octoswarm::agent::Role;
use octoswarm::app::runs::Observer;
use octoswarm::artifact::ReviewFacts;
use octoswarm::artifact::facts::ReviewSettings;
use octoswarm::demo::{Change, Fault, OpenPull};
use octoswarm::domain::{Clock, Job, JobId, PullNumber, RepositoryId, ReviewTarget, RunId, Sha};
use octoswarm::store::{JobFilter, JobState, NewJob, NewRun, RunRow, RunState, StepState, Store};
use octoswarm::workspace;
use serde_json::Value;
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::cli::{exits, octoswarm, stderr, stdout};
use crate::contribute::{BODY, TITLE, with_unsafe_yaml};
use crate::support::process;
use crate::support::world::{CLEAN, DEFECTS, REPO, World};

/// Long enough for a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// The program in its own process while the world goes on in this one.
fn command(state: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.args(args).arg("--state").arg(state).current_dir(state).env_clear().env("HOME", state).env("NO_COLOR", "1");
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

async fn run(state: &Path, args: &[&str]) -> Output {
    command(state, args).output().await.unwrap()
}

async fn document(state: &Path, args: &[&str]) -> Value {
    let output = run(state, args).await;
    exits(&output, 0);
    serde_json::from_str(&stdout(&output)).unwrap()
}

async fn rows(state: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(state.join("octoswarm.db")).connect().await.unwrap()
}

async fn change(state: &Path, sql: &'static str) {
    let mut conn = rows(state).await;
    assert!(sqlx::query(sql).execute(&mut conn).await.unwrap().rows_affected() > 0, "{sql} touches nothing");
    conn.close().await.unwrap();
}

async fn latest(world: &World) -> RunRow {
    world.app.store().runs(1).await.unwrap().remove(0)
}

/// The state as it would lie after its server was killed: nobody holds it.
fn left_behind(world: &World) -> TempDir {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &target);
            } else if !entry.file_name().to_string_lossy().ends_with("-shm") {
                std::fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    let dir = tempfile::tempdir().unwrap();
    copy(world.state_dir(), dir.path());
    dir
}

/// Every file with its content.
fn content(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(content(&path));
        } else {
            files.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

/// A review that cannot go on: GitHub keeps the answer to its fetch back.
async fn held_up(world: &World) -> u64 {
    world.github.fail_next(Fault::withhold("POST", "/git-upload-pack"));
    let pull = OpenPull::new("ada", "change", "A change", Change::new().write("src/run.py", DEFECTS));
    let number = world.people().open_pull(REPO, pull).await.unwrap();
    world.github.wait_withheld().await;
    number
}

async fn job_ends(world: &World, id: JobId) -> JobState {
    let ended = async {
        loop {
            let state = world.app.store().job(id).await.unwrap().unwrap().state;
            if matches!(state, JobState::Completed | JobState::Cancelled | JobState::Discarded) {
                return state;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, ended).await.expect("the job ends")
}

/// A reviewed pull request with two findings.
async fn reviewed() -> World {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    assert_eq!((world.comments(number).len(), world.reviews(number).len()), (2, 1));
    assert_eq!(world.conclusion(number), "failure");
    world
}

/// What a review started from stands in a row of its own. A run that has none gets the one it would have had.
async fn with_facts(world: &World, run: &RunRow) {
    let store = world.app.store();
    if store.steps(run.id).await.unwrap().iter().any(|step| step.name == "facts") {
        return;
    }
    let pull = world.github.pull(REPO, run.number.unwrap().0).unwrap();
    let base = Sha::parse(&world.github.commits(REPO, "main")[0].sha).unwrap();
    assert_eq!(Some(pull.head_sha.as_str()), run.head.as_ref().map(Sha::as_str));
    let (mirrors, head) = (world.state_dir().join("mirrors"), run.head.clone().unwrap());
    let change = workspace::recorded(&mirrors, run.repository.unwrap(), &base, &head).await.unwrap();
    let diff = change.diff().await.unwrap();
    let facts = ReviewFacts {
        repo: run.repo.to_string(),
        base,
        head,
        files: diff.files,
        not_read: diff.not_read,
        watched: Vec::new(),
        settings: ReviewSettings::default(),
        linted: Default::default(),
    };
    let step = store.start_step(run.id, "facts", "facts").await.unwrap();
    let facts = serde_json::to_value(facts).unwrap();
    store.finish_step(step, StepState::Done, Some(&facts), None).await.unwrap();
}

#[tokio::test]
async fn runs_are_listed_beside_a_running_server_newest_first() {
    let world = reviewed().await;
    let number = world.open("src/add.py", CLEAN).await;
    assert_eq!((world.conclusion(number).as_str(), world.reviews(number).len()), ("success", 0));
    let state = world.state_dir();
    let told = document(state, &["runs", "--json"]).await;
    let known: Vec<String> = world.app.store().runs(9).await.unwrap().iter().map(|run| run.id.to_string()).collect();
    let listed: Vec<&str> = told["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(listed, known);
    assert_eq!((&told["served"], &told["more"]), (&Value::Bool(true), &Value::Bool(false)));
    assert_eq!((told["runs"][1]["kind"].as_str(), told["runs"][1]["number"].as_u64()), (Some("review"), Some(1)));

    let text = stdout(&run(state, &["runs", "list"]).await);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].contains("octo/calc#2") && lines[1].ends_with("clean"), "{text}");
    assert!(lines[2].contains("octo/calc#1") && lines[2].ends_with("2 findings"), "{text}");
    assert!(lines.iter().all(|line| *line == line.trim_end()), "{text}");
    let id = lines[1].split_whitespace().next().unwrap();
    assert_eq!(document(state, &["runs", "show", id, "--json"]).await["run"]["id"], known[0].as_str());

    let one = document(state, &["runs", "--limit", "1", "--json"]).await;
    assert_eq!((one["runs"].as_array().unwrap().len(), &one["more"]), (1, &Value::Bool(true)));
    for (filter, count) in [
        (["--repo", "Octo/Calc"], 2),
        (["--repo", "octo/other"], 0),
        (["--state-of", "finished"], 2),
        (["--state-of", "failed"], 0),
    ] {
        let found = document(state, &["runs", "list", filter[0], filter[1], "--json"]).await;
        assert_eq!(found["runs"].as_array().unwrap().len(), count, "{filter:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_state_without_a_server_is_read_and_left_as_it_is() {
    let world = reviewed().await;
    let left = left_behind(&world);
    let before = content(left.path());
    let told = document(left.path(), &["runs", "--json"]).await;
    assert_eq!((told["runs"].as_array().unwrap().len(), &told["served"]), (1, &Value::Bool(false)));
    exits(&run(left.path(), &["runs", "show", "latest"]).await, 0);
    let output = run(left.path(), &["runs", "watch", "latest"]).await;
    exits(&output, 0);
    let output = run(left.path(), &["runs", "watch"]).await;
    exits(&output, 3);
    assert!(stderr(&output).contains("no server works on this state"), "{}", stderr(&output));
    assert!(content(left.path()) == before, "something was written");
    world.end().await;
}

#[tokio::test]
async fn a_run_is_shown_with_its_steps_its_documents_as_they_are_and_what_was_posted() {
    let world = with_unsafe_yaml().await;
    let number = world.ask(TITLE, BODY).await;
    assert!(world.said(number).is_empty());
    let pull = world.own_pulls().remove(0);
    let run_row = world.app.store().runs(9).await.unwrap().into_iter().find(|run| run.kind == "contribute").unwrap();
    let (state, id) = (world.state_dir(), run_row.id.to_string());
    let output = run(state, &["runs", "show", &id, "--json"]).await;
    exits(&output, 0);
    let (text, told) = (stdout(&output), serde_json::from_slice::<Value>(&output.stdout).unwrap());
    let folder = state.join("runs").join(&id);
    let files = std::fs::read_dir(&folder).unwrap().count();
    let documents = told["documents"].as_array().unwrap();
    assert!(files >= 6 && documents.len() == files, "{files} files, {} documents", documents.len());
    for document in documents {
        let on_disk = std::fs::read_to_string(folder.join(document["file"].as_str().unwrap())).unwrap();
        assert!(text.contains(on_disk.trim_end()), "{} is not as it stands on the disk", document["file"]);
        assert_eq!(document["bytes"], on_disk.len());
    }
    let steps: Vec<&str> =
        told["steps"].as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap()).collect();
    assert!(steps.starts_with(&["scout"]) && steps.ends_with(&["pr"]) && steps.contains(&"coder"), "{steps:?}");
    assert_eq!(told["errors"], serde_json::json!([]));
    let effects = told["effects"].as_array().unwrap();
    let opened = effects.iter().find(|effect| effect["kind"] == "pull-request").unwrap();
    assert!(opened["link"].as_str().unwrap().ends_with(&format!("/pull/{}", pull.number)), "{opened}");

    std::fs::write(folder.join("codebase-map.json"), "{\"agent\": ").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.join("elsewhere.json")).unwrap();
    let told = document(state, &["runs", "show", &id, "--json"]).await;
    let broken: Vec<&str> = told["errors"].as_array().unwrap().iter().map(|it| it["file"].as_str().unwrap()).collect();
    assert_eq!(broken, ["codebase-map.json", "elsewhere.json"]);
    let of = |name: &str| told["documents"].as_array().unwrap().iter().find(|it| it["file"] == name).unwrap().clone();
    assert!(of("codebase-map.json")["content"].is_null() && of("current-issue.json")["content"].is_object());
    let text = stdout(&run(state, &["runs", "show", &id]).await);
    for part in ["steps", "progress", "documents", "on GitHub", "could not be read", "codebase-map.json  not JSON"] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
    world.end().await;
}

#[tokio::test]
async fn text_of_others_steers_no_terminal() {
    let world = reviewed().await;
    let id = latest(&world).await.id;
    world.app.store().add_progress(id, "a \u{1b}[31mred\u{7} \u{202e}line").await.unwrap();
    let told = serde_json::json!({ "outcome": "clean\u{1b}]0;title\u{7}" });
    world.app.store().finish_run(id, RunState::Finished, Some(&told), None).await.unwrap();
    for verb in ["show", "watch"] {
        let text = stdout(&run(world.state_dir(), &["runs", verb, "latest"]).await);
        assert!(text.contains("⟨U+001B⟩[31mred⟨U+0007⟩ ⟨U+202E⟩line"), "{text}");
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
    let text = stdout(&run(world.state_dir(), &["runs"]).await);
    assert!(text.contains("clean⟨U+001B⟩]0;title⟨U+0007⟩"), "{text}");
    world.end().await;
}

#[tokio::test]
async fn a_run_is_found_by_the_beginning_of_its_id_and_a_slip_is_told() {
    let world = reviewed().await;
    let number = world.open("src/add.py", CLEAN).await;
    assert_eq!(world.conclusion(number), "success");
    let (state, id) = (world.state_dir(), latest(&world).await.id.to_string());
    let shown = async |typed: &str| document(state, &["runs", "show", typed, "--json"]).await["run"]["id"].clone();
    assert_eq!(shown("latest").await, id);
    assert_eq!(shown(&id.to_uppercase()).await, id);
    let output = run(state, &["runs", "show", "0"]).await;
    exits(&output, 2);
    assert!(stderr(&output).contains("2 runs begin") && stderr(&output).contains(&id), "{}", stderr(&output));
    let mut slip = id.clone();
    slip.replace_range(35..36, if id.ends_with('0') { "1" } else { "0" });
    for (typed, meant) in [(slip.as_str(), id.as_str()), ("lastest", "latest")] {
        let output = run(state, &["runs", "show", typed]).await;
        exits(&output, 2);
        assert!(stderr(&output).contains(&format!("did you mean `{meant}`?")), "{}", stderr(&output));
        assert!(stderr(&output).contains("octoswarm runs list"), "{}", stderr(&output));
    }
    for verb in [&["runs", "cancel"][..], &["runs", "retry"], &["runs", "watch"], &["replay"]] {
        let output = run(state, &[verb, &["ffff"]].concat()).await;
        exits(&output, 2);
        assert!(stderr(&output).contains("no run's id begins with `ffff`"), "{}", stderr(&output));
    }
    world.end().await;
}

#[tokio::test]
async fn a_folder_without_a_state_is_told_from_one_without_runs() {
    let dir = tempfile::tempdir().unwrap();
    for verb in [&["runs"][..], &["runs", "show", "latest"], &["runs", "cancel", "latest"], &["replay", "latest"]] {
        let output = run(dir.path(), verb).await;
        exits(&output, 2);
        assert!(stderr(&output).contains("there is no octoswarm state in"), "{}", stderr(&output));
        assert!(stderr(&output).contains("--state"), "{}", stderr(&output));
    }
    assert_eq!(content(dir.path()), [], "nothing was made there");

    drop(Store::open(dir.path(), Clock::system()).await.unwrap());
    let output = run(dir.path(), &["runs"]).await;
    exits(&output, 0);
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("", "no runs yet\n"));
    assert_eq!(document(dir.path(), &["runs", "--json"]).await["runs"], serde_json::json!([]));
    let output = run(dir.path(), &["runs", "show", "latest"]).await;
    exits(&output, 2);
    assert!(stderr(&output).contains("there are no runs yet"), "{}", stderr(&output));
}

#[tokio::test]
async fn a_state_of_another_program_or_version_is_refused_and_left_alone() {
    for (sql, says) in [
        ("DROP TABLE _sqlx_migrations", "belongs to another program"),
        ("UPDATE _sqlx_migrations SET version = 9999 WHERE version = 3", "newer octoswarm"),
        ("DELETE FROM _sqlx_migrations WHERE version = 3", "older octoswarm"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        drop(Store::open(dir.path(), Clock::system()).await.unwrap());
        let mut conn = rows(dir.path()).await;
        sqlx::query(sql).execute(&mut conn).await.unwrap();
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        let before = std::fs::read(dir.path().join("octoswarm.db")).unwrap();
        for verb in [&["runs"][..], &["runs", "cancel", "latest"], &["runs", "retry", "latest"], &["replay", "latest"]]
        {
            let output = run(dir.path(), verb).await;
            exits(&output, 3);
            let told = stderr(&output);
            assert!(told.contains(says) && told.contains("hint:"), "{verb:?}: {told}");
        }
        assert!(std::fs::read(dir.path().join("octoswarm.db")).unwrap() == before, "{says}");
    }
}

#[tokio::test]
async fn a_running_job_that_is_cancelled_from_outside_stops() {
    let world = World::start().await;
    let number = held_up(&world).await;
    let row = latest(&world).await;
    let output = run(world.state_dir(), &["runs", "cancel", "latest"]).await;
    exits(&output, 0);
    assert!(stdout(&output).contains("within seconds"), "{}", stdout(&output));
    // GitHub has not answered: nothing but the wish to stop ends it.
    assert_eq!(job_ends(&world, row.job.unwrap()).await, JobState::Cancelled);
    world.github.release_withheld();
    world.settle().await;
    let job = world.app.store().job(row.job.unwrap()).await.unwrap().unwrap();
    assert_eq!(job.last_error.as_deref(), Some("cancelled by the operator"));
    assert_eq!(latest(&world).await.state, RunState::Cancelled);
    assert_eq!(world.conclusion(number), "cancelled");
    assert_eq!(world.reviews(number).len(), 0);

    let output = run(world.state_dir(), &["runs", "cancel", "latest"]).await;
    exits(&output, 1);
    assert!(stderr(&output).contains("is over: its job is cancelled"), "{}", stderr(&output));
    let output = run(world.state_dir(), &["runs", "watch", "latest"]).await;
    exits(&output, 1);
    assert!(stdout(&output).contains("cancelled after"), "{}", stdout(&output));

    // And tried again, it does what it was for.
    let output = run(world.state_dir(), &["runs", "retry", "latest"]).await;
    exits(&output, 0);
    world.settle().await;
    assert_eq!((world.comments(number).len(), world.reviews(number).len()), (2, 1));
    assert_eq!(world.conclusion(number), "failure");
    world.end().await;
}

#[tokio::test]
async fn a_job_that_is_cancelled_while_no_server_runs_stops_at_the_next_start() {
    let mut world = World::start().await;
    let number = held_up(&world).await;
    let job = latest(&world).await.job.unwrap();
    world.crash().await;
    let left = left_behind(&world);
    let output = run(left.path(), &["runs", "watch", "latest"]).await;
    exits(&output, 3);
    assert!(stderr(&output).contains("was going on when its server ended"), "{}", stderr(&output));
    let output = run(left.path(), &["runs", "cancel", "latest"]).await;
    exits(&output, 0);
    assert!(stdout(&output).contains("when a server starts on this state"), "{}", stdout(&output));
    let output = run(left.path(), &["runs", "cancel", "latest"]).await;
    exits(&output, 0);
    assert!(stdout(&output).contains("asked to stop already"), "{}", stdout(&output));

    exits(&run(world.state_dir(), &["runs", "cancel", "latest"]).await, 0);
    world.github.release_withheld();
    world.restart().await;
    assert_eq!(job_ends(&world, job).await, JobState::Cancelled);
    world.settle().await;
    assert_eq!(world.conclusion(number), "cancelled");
    assert_eq!(world.reviews(number).len(), 0);
    world.end().await;
}

#[tokio::test]
async fn a_run_that_failed_for_good_is_tried_again() {
    let mut world = World::start().await;
    let number = world.open("src/add.py", CLEAN).await;
    // Its worker dies in every attempt.
    world.github.fail_next(Fault::withhold("POST", "/graphql"));
    let store = world.app.store().clone();
    let filter = JobFilter { kind: Some("review".to_owned()), ..JobFilter::default() };
    let Some(Job::Review(target)) = store.jobs(&filter).await.unwrap().remove(0).job else { panic!("no review") };
    let again = Job::Review(ReviewTarget { forced: true, ..target });
    store.enqueue(&again, NewJob { max_attempts: 2, ..NewJob::at(store.clock().now()) }).await.unwrap();
    drop(store);
    world.github.wait_withheld().await;
    world.crash().await;
    world.github.release_withheld();
    world.restart().await;
    world.settle().await;
    assert_eq!((latest(&world).await.state, world.conclusion(number).as_str()), (RunState::Failed, "neutral"));

    let failed = latest(&world).await;
    let output = run(world.state_dir(), &["runs", "retry", "latest"]).await;
    exits(&output, 0);
    assert!(stdout(&output).contains("queued job") && stdout(&output).contains("octo/calc#1"), "{}", stdout(&output));
    assert_eq!(job_ends(&world, failed.job.unwrap()).await, JobState::Completed);
    world.settle().await;
    assert_eq!((latest(&world).await.state, world.conclusion(number).as_str()), (RunState::Finished, "success"));

    let output = run(world.state_dir(), &["runs", "retry", &failed.id.to_string()]).await;
    exits(&output, 1);
    assert!(stderr(&output).contains("was followed by run"), "{}", stderr(&output));
    let output = run(world.state_dir(), &["runs", "retry", "latest"]).await;
    exits(&output, 1);
    assert!(stderr(&output).contains("came to its end") && stderr(&output).contains("/swarm review"));
    change(world.state_dir(), "DELETE FROM job WHERE kind = 'review'").await;
    for (verb, says) in [("retry", "its job is not any more"), ("cancel", "its job is not kept any more")] {
        let output = run(world.state_dir(), &["runs", verb, "latest"]).await;
        exits(&output, 1);
        assert!(stderr(&output).contains(says) && stderr(&output).contains("hint:"), "{}", stderr(&output));
    }
    world.end().await;
}

#[tokio::test]
async fn a_run_that_goes_on_is_not_tried_again_beside_itself() {
    let world = World::start().await;
    let number = held_up(&world).await;
    let output = run(world.state_dir(), &["runs", "retry", "latest"]).await;
    exits(&output, 1);
    assert!(stderr(&output).contains("is going on") && stderr(&output).contains("runs cancel"), "{}", stderr(&output));
    let output = run(world.state_dir(), &["replay", "latest"]).await;
    exits(&output, 3);
    assert!(stderr(&output).contains("cannot be replayed: it goes on"), "{}", stderr(&output));
    world.github.release_withheld();
    world.settle().await;
    assert_eq!((world.comments(number).len(), world.reviews(number).len()), (2, 1));
    assert_eq!(world.conclusion(number), "failure");
    world.end().await;
}

/// A watcher in a pipe, and the line that begins so after the run's id.
async fn watcher(state: &Path, args: &[&str]) -> (Child, tokio::io::Lines<BufReader<tokio::process::ChildStdout>>) {
    let mut child = command(state, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

#[tokio::test]
async fn a_run_is_watched_to_its_end_line_by_line() {
    let world = World::start().await;
    let number = held_up(&world).await;
    for args in [&["runs", "watch", "latest"][..], &["runs", "watch"]] {
        // The first watcher ends by Ctrl-C, the second with the run, which does not mind.
        let (mut child, mut lines) = watcher(world.state_dir(), args).await;
        let first = lines.next_line().await.unwrap().unwrap();
        assert!(first.ends_with("review of octo/calc#1: running"), "{first}");
        if args.len() == 3 {
            process::signal(&child, "INT");
            assert_eq!(tokio::time::timeout(SOON, child.wait()).await.unwrap().unwrap().code(), Some(130));
            assert_eq!(latest(&world).await.state, RunState::Running);
            continue;
        }
        world.github.release_withheld();
        let mut said = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            said.push(line);
        }
        assert_eq!(tokio::time::timeout(SOON, child.wait()).await.unwrap().unwrap().code(), Some(0));
        let has = |part: &str| said.iter().any(|line| line.contains(part));
        for part in ["| both sides fetched", "manager done", "critical done", "master done"] {
            assert!(has(part), "`{part}` is not in {said:#?}");
        }
        assert!(said.last().unwrap().contains("finished after") && said.last().unwrap().ends_with(": 2 findings"));
        assert!(said.iter().all(|line| !line.contains('\u{1b}') && line.trim_end() == line), "{said:#?}");
    }
    world.settle().await;
    assert_eq!((world.comments(number).len(), world.reviews(number).len()), (2, 1));
    assert_eq!(world.conclusion(number), "failure");
    world.end().await;
}

#[tokio::test]
async fn a_replayed_review_is_the_same_until_something_is_changed() {
    let world = reviewed().await;
    let (state, row) = (world.state_dir(), latest(&world).await);
    with_facts(&world, &row).await;
    let posts = world.github.calls().len();
    let told = document(state, &["replay", "latest", "--json"]).await;
    let steps = told["steps"].as_array().unwrap();
    assert_eq!((&told["same"], steps.len()), (&Value::Bool(true), 6), "{told:#}");
    for step in steps {
        assert_eq!((&step["verdict"], &step["other_maker"]), (&"same".into(), &Value::Bool(false)), "{step}");
    }
    let text = stdout(&run(state, &["replay", "latest"]).await);
    assert!(text.ends_with("6 steps: 6 the same, 0 differ\n"), "{text}");

    change(
        state,
        "UPDATE step SET artifact = json_set(artifact, '$.findings[0].message', 'changed by \u{1b}[31m hand')
         WHERE name = 'master'",
    )
    .await;
    let output = run(state, &["replay", "latest", "--json"]).await;
    exits(&output, 1);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let differing: Vec<&Value> =
        told["steps"].as_array().unwrap().iter().filter(|step| step["verdict"] == "differs").collect();
    assert_eq!(differing.len(), 1, "{told:#}");
    assert_eq!(differing[0]["name"], "master");
    assert_eq!(differing[0]["differences"][0]["path"], "/findings/0/message");
    assert_eq!(differing[0]["differences"][0]["recorded"], "changed by \u{1b}[31m hand");
    let output = run(state, &["replay", "latest"]).await;
    exits(&output, 1);
    let text = stdout(&output);
    assert!(text.contains("differs in 1 place") && text.contains("/findings/0/message"), "{text}");
    assert!(!text.contains('\u{1b}') && text.lines().all(|line| line == line.trim_end()), "{text:?}");

    change(state, "UPDATE step SET key = 'another version' WHERE name = 'critical'").await;
    let told: Value = serde_json::from_slice(&run(state, &["replay", "latest", "--json"]).await.stdout).unwrap();
    let others: Vec<&Value> =
        told["steps"].as_array().unwrap().iter().filter(|step| step["other_maker"] == true).collect();
    assert!(others.len() == 1 && others[0]["name"] == "critical", "{told:#}");
    assert_eq!(world.app.store().runs(9).await.unwrap().len(), 1, "a replay is no run");
    assert_eq!(world.github.calls().len(), posts, "GitHub was asked");
    world.end().await;
}

/// Every step that a replay tells of, by its flow; all of them the same, and made by the same.
#[track_caller]
fn all_the_same(told: &Value) -> Vec<String> {
    assert_eq!(told["same"], Value::Bool(true), "{told:#}");
    let of = |step: &Value| {
        assert_eq!((&step["verdict"], &step["other_maker"]), (&"same".into(), &Value::Bool(false)), "{step}");
        format!("{}/{}", step["flow"].as_str().unwrap(), step["name"].as_str().unwrap())
    };
    told["steps"].as_array().unwrap().iter().map(of).collect()
}

#[tokio::test]
async fn a_contribution_its_plan_and_what_became_of_it_are_replayed() {
    let world = with_unsafe_yaml().await;
    world.ask(TITLE, BODY).await;
    let pull = world.own_pulls().remove(0);
    world.people().review("ada", REPO, pull.number, "COMMENT", "Looks right.").await.unwrap();
    world.settle().await;
    let (state, posts) = (world.state_dir(), world.github.calls().len());
    let runs = world.app.store().runs(9).await.unwrap();
    let id = |kind: &str| runs.iter().find(|run| run.kind == kind).unwrap().id.to_string();
    let replayed = async |id: &str| all_the_same(&document(state, &["replay", id, "--json"]).await);
    assert_eq!(replayed(&id("monitor")).await, ["monitor/reviews"]);
    let steps = replayed(&id("contribute")).await;
    assert!(steps.len() == 9 && steps.last().unwrap() == "contribute/pr", "{steps:?}");
    // A plan begins as a contribution does.
    let contribution = id("contribute");
    change(state, "DELETE FROM step WHERE name IN ('coder', 'tester', 'docs', 'pr')").await;
    change(state, "UPDATE run SET kind = 'plan' WHERE kind = 'contribute'").await;
    change(state, "UPDATE step SET detail = 'plan' WHERE name = 'facts' AND detail = 'contribute'").await;
    let steps = replayed(&contribution).await;
    assert_eq!(steps, ["plan/scout", "plan/manager", "plan/analyst", "plan/explorer", "plan/planner"]);
    assert_eq!(world.github.calls().len(), posts, "GitHub was asked");
    world.end().await;
}

#[tokio::test]
async fn what_cannot_be_replayed_says_why() {
    let world = reviewed().await;
    let (state, row) = (world.state_dir(), latest(&world).await);
    with_facts(&world, &row).await;
    let not = async |says: &str| {
        let output = run(state, &["replay", "latest"]).await;
        exits(&output, 3);
        let told = stderr(&output);
        assert!(told.contains(says) && told.contains("hint:"), "{told}");
    };
    change(state, "UPDATE step SET artifact = json_set(artifact, '$.head', printf('%040d', 7)) WHERE name = 'facts'")
        .await;
    not("the mirror does not hold the commit").await;
    std::fs::rename(state.join("mirrors"), state.join("elsewhere")).unwrap();
    not("there is no mirror").await;
    std::fs::rename(state.join("elsewhere"), state.join("mirrors")).unwrap();
    change(state, "UPDATE step SET artifact = '{}' WHERE name = 'facts'").await;
    not("this version cannot read its facts").await;
    change(state, "DELETE FROM step WHERE name = 'facts'").await;
    not("it was recorded before a run's facts were kept").await;
    change(state, "UPDATE run SET kind = 'dance'").await;
    not("no flow of the kind `dance`").await;
    world.end().await;
}

#[tokio::test]
async fn a_run_without_a_job_or_an_agent_is_told_as_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Clock::system()).await.unwrap();
    let new = NewRun {
        kind: "review".to_owned(),
        repository: Some(RepositoryId(9)),
        repo: REPO.parse().unwrap(),
        number: Some(PullNumber(7)),
        head: None,
        job: None,
    };
    let id: RunId = store.start_run(new).await.unwrap();
    store.finish_run(id, RunState::Failed, None, Some("GitHub was away")).await.unwrap();
    drop(store);
    for verb in ["cancel", "retry"] {
        let output = run(dir.path(), &["runs", verb, "latest"]).await;
        exits(&output, 1);
        assert!(stderr(&output).contains("belongs to no job"), "{}", stderr(&output));
    }
    let output = run(dir.path(), &["replay", "latest"]).await;
    exits(&output, 3);
    assert!(stderr(&output).contains("ended before its first agent began"), "{}", stderr(&output));
    let text = stdout(&run(dir.path(), &["runs"]).await);
    assert!(text.contains("octo/calc#7") && text.contains("GitHub was away"), "{text}");
}

#[test]
fn every_agent_stands_in_the_table_as_the_registry_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let told: Value = serde_json::from_str(&stdout(&octoswarm(dir.path(), &["agents", "--json"]))).unwrap();
    let agents = told["agents"].as_array().unwrap();
    let text = stdout(&octoswarm(dir.path(), &["agents"]));
    assert_eq!(agents.len(), Role::all().count());
    for (role, agent) in Role::all().zip(agents) {
        assert_eq!(agent["id"], role.name());
        assert_eq!(agent["document"].as_str(), role.file());
        assert_eq!(agent["aliases"].as_array().unwrap().len(), role.aliases().len());
        assert_eq!(agent["retries"], role.retry_policy().retries);
        assert_eq!(agent["deadline_seconds"], role.retry_policy().deadline.as_secs());
        let line = text.lines().find(|line| line.starts_with(&format!("{} ", role.name()))).unwrap();
        assert!(line.ends_with(role.about()), "{line}");
    }
    let coder = agents.iter().find(|agent| agent["id"] == "coder").unwrap();
    assert_eq!(coder["tasks"], serde_json::json!(["feature", "refactor", "bugfix", "infrastructure"]));
    assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
}

#[test]
fn agents_are_shown_as_the_servers_configuration_sets_them() {
    let dir = tempfile::tempdir().unwrap();
    let text = "app_id = 7\n[agents.debt]\noutside = true\nretries = 0\ntimeout_ms = 90000\n[agents.docs]\nenabled = false\n\
                [agents.research_agent_2]\noutside = true\n";
    std::fs::write(dir.path().join("octoswarm.toml"), text).unwrap();
    let output = octoswarm(dir.path(), &["agents", "--json"]);
    exits(&output, 0);
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let of = |id: &str| told["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == id).unwrap();
    let mailboxes = |id: &str| -> Vec<(&str, bool)> {
        let all = of(id)["mailboxes"].as_array().unwrap().iter();
        all.map(|one| (one["name"].as_str().unwrap(), one["outside"].as_bool().unwrap())).collect()
    };
    assert_eq!(mailboxes("debt"), [("debt", true)]);
    assert_eq!((&of("debt")["retries"], &of("debt")["deadline_seconds"]), (&0.into(), &90.into()));
    assert_eq!(mailboxes("coder"), [("coder", false)]);
    assert_eq!(mailboxes("analyst"), [("research_agent_1", false), ("research_agent_2", true)]);
    let off: Vec<&Value> =
        told["agents"].as_array().unwrap().iter().filter(|agent| agent["enabled"] == false).collect();
    assert!(off.len() == 1 && off[0]["id"] == "docs", "{off:?}");

    let output = octoswarm(dir.path(), &["agents"]);
    let text = stdout(&output);
    let by = |id: &str| text.lines().find(|line| line.starts_with(&format!("{id} "))).unwrap().to_owned();
    assert!(by("debt").contains(" outside ") && by("debt").contains(" 90 s "), "{text}");
    assert!(by("docs").contains(" off ") && by("coder").contains(" octoswarm "), "{text}");
    assert!(by("explorer").contains(" octoswarm; outside: research_agent_2 "), "{text}");
    assert!(stderr(&output).contains("3 by programs outside, 1 off"), "{}", stderr(&output));

    // Another file, and one that cannot be meant.
    std::fs::write(dir.path().join("other.toml"), "[agents.codr]\noutside = true\n").unwrap();
    let output = octoswarm(dir.path(), &["agents", "--config", "other.toml"]);
    exits(&output, 2);
    assert!(stderr(&output).contains("did you mean `coder`"), "{}", stderr(&output));
}

/// The rows alone, without the program: what the server goes by.
#[tokio::test]
async fn onlookers_of_a_state_that_moves_on_see_what_is_there() {
    let world = reviewed().await;
    let beside = Store::open_untouched(world.state_dir(), Clock::system()).await.unwrap();
    assert_eq!(beside.runs(9).await.unwrap().len(), 1);
    let number = world.open("src/add.py", CLEAN).await;
    assert_eq!(world.conclusion(number), "success");
    assert_eq!(beside.runs(9).await.unwrap().len(), 2, "it reads beside the server");
    assert!(Observer::open(world.state_dir()).await.unwrap().is_idle().await.unwrap());
    world.end().await;
}
