//! The memory: what was answered is on the disk, and what cannot be trusted is refused and left alone.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::join_all;
use octoswarm::domain::{Clock, DeliveryId, InstallationId, Job, JobId, PullNumber, RepositoryId, ReviewTarget, Sha};
use octoswarm::store::{
    Accepted, Beat, DeliveryState, EffectState, Enqueued, Error, Fail, JobFilter, JobState, MAX_ARTIFACT, NewDelivery,
    NewJob, NewRun, Options, Pruned, RunState, StepState, Store, Taken, Target, Turn,
};
use serde_json::json;
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

const START: i64 = 1_800_000_000_000;
const LEASE: i64 = 60_000;

async fn fresh() -> (TempDir, Store, Clock) {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let store = Store::open(dir.path(), clock.clone()).await.unwrap();
    (dir, store, clock)
}

fn delivery(guid: &str, body: &str) -> NewDelivery {
    NewDelivery {
        guid: DeliveryId::parse(guid).unwrap(),
        event: "pull_request".to_owned(),
        body: Bytes::copy_from_slice(body.as_bytes()),
        target: Target::default(),
        received_at: START,
    }
}

fn review(number: u64, head: char) -> Job {
    Job::Review(ReviewTarget {
        installation: InstallationId(1),
        repository: RepositoryId(9),
        repo: "octo/calc".parse().unwrap(),
        number: PullNumber(number),
        head: Sha::parse(&head.to_string().repeat(40)).unwrap(),
        base_ref: "main".to_owned(),
        forced: false,
    })
}

fn new_run() -> NewRun {
    NewRun {
        kind: "review".to_owned(),
        repository: Some(RepositoryId(9)),
        repo: "octo/calc".parse().unwrap(),
        number: Some(PullNumber(7)),
        head: Sha::parse(&"a".repeat(40)),
        job: Some(JobId(3)),
    }
}

/// A connection of somebody else, past the room's door.
async fn stranger(dir: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(dir.join("octoswarm.db")).connect().await.unwrap()
}

/// A filled database in one file, with nobody holding it.
async fn filled_and_closed() -> TempDir {
    let (dir, store, _) = fresh().await;
    for n in 0..40 {
        store.accept(delivery(&format!("guid-{n}"), &format!("{n}{}", "x".repeat(3_000)))).await.unwrap();
    }
    drop(store);
    let mut conn = stranger(dir.path()).await;
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    dir
}

// Opening.

#[tokio::test]
async fn a_second_daemon_on_the_same_state_is_refused_and_told_who_holds_it() {
    let (dir, store, clock) = fresh().await;
    let error = Store::open(dir.path(), clock.clone()).await.unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error:?}");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    assert!(error.to_string().contains(&dir.path().display().to_string()), "{error}");
    assert!(error.hint().unwrap().contains("stop that process"));
    drop(store);
    Store::open(dir.path(), clock).await.unwrap();
}

#[tokio::test]
async fn the_node_keeps_its_name_across_restarts_and_differs_from_others() {
    let (dir, store, clock) = fresh().await;
    let (_other_dir, other, _) = fresh().await;
    let node = store.node().to_owned();
    assert_ne!(node, other.node());
    drop(store);
    assert_eq!(Store::open(dir.path(), clock).await.unwrap().node(), node);
}

#[tokio::test]
async fn commits_are_synced_in_a_write_ahead_log_and_foreign_keys_hold() {
    let (dir, store, _) = fresh().await;
    store.ping().await.unwrap();
    let mut conn = stranger(dir.path()).await;
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut conn).await.unwrap();
    assert_eq!(mode, "wal");
    let unknown = octoswarm::domain::RunId(uuid::Uuid::now_v7());
    assert!(matches!(store.start_step(unknown, "scout", "k").await, Err(Error::NotFound { .. })));
    assert!(matches!(store.add_progress(unknown, "hello").await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_damaged_page_is_refused_with_a_hint_and_the_file_is_left_as_it_was() {
    let dir = filled_and_closed().await;
    let path = dir.path().join("octoswarm.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes[4096..half].fill(0xA5);
    std::fs::write(&path, &bytes).unwrap();

    let error = Store::open(dir.path(), Clock::manual(START)).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("left as it is"));
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[tokio::test]
async fn a_shortened_file_is_refused_and_left_as_it_was() {
    let dir = filled_and_closed().await;
    let path = dir.path().join("octoswarm.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&path, &bytes).unwrap();

    let error = Store::open(dir.path(), Clock::manual(START)).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[tokio::test]
async fn what_is_no_database_of_ours_is_never_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("octoswarm.db");
    std::fs::write(&path, "my notes").unwrap();
    let error = Store::open(dir.path(), Clock::manual(START)).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    assert_eq!(std::fs::read(&path).unwrap(), b"my notes");

    std::fs::remove_file(&path).unwrap();
    let mut conn = SqliteConnectOptions::new().filename(&path).create_if_missing(true).connect().await.unwrap();
    sqlx::query("CREATE TABLE bookmarks (url TEXT)").execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Store::open(dir.path(), Clock::manual(START)).await.unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_missing_database_beside_its_log_is_not_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("octoswarm.db-wal"), "frames").unwrap();
    let error = Store::open(dir.path(), Clock::manual(START)).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    assert_eq!(std::fs::read(dir.path().join("octoswarm.db-wal")).unwrap(), b"frames");
}

#[tokio::test]
async fn a_body_that_an_older_schema_stored_is_read_after_the_upgrade() {
    let dir = filled_and_closed().await;
    let mut conn = stranger(dir.path()).await;
    // As version 1 left it: no such column, the body as it was received.
    for sql in [
        "ALTER TABLE step DROP COLUMN told",
        "ALTER TABLE delivery DROP COLUMN packed",
        "DELETE FROM _sqlx_migrations WHERE version >= 2",
        "UPDATE delivery SET body = CAST('{\"zen\": \"old\"}' AS BLOB)",
    ] {
        sqlx::query(sql).execute(&mut conn).await.unwrap();
    }
    conn.close().await.unwrap();

    let store = Store::open(dir.path(), Clock::manual(START)).await.unwrap();
    let guid = store.deliveries(1, None).await.unwrap()[0].guid.clone();
    assert_eq!(&store.delivery(&guid).await.unwrap().unwrap().body[..], br#"{"zen": "old"}"#);
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_as_it_was() {
    let dir = filled_and_closed().await;
    let mut conn = stranger(dir.path()).await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', 1, x'00', 1)",
    )
    .execute(&mut conn)
    .await
    .unwrap();
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let before = std::fs::read(dir.path().join("octoswarm.db")).unwrap();

    let error = Store::open(dir.path(), Clock::manual(START)).await.unwrap_err();
    assert!(matches!(error, Error::NewerSchema { found: 9999, .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("newer octoswarm"));
    assert_eq!(std::fs::read(dir.path().join("octoswarm.db")).unwrap(), before);
    let error = Store::open_read_only(dir.path(), Clock::manual(START)).await.unwrap_err();
    assert!(matches!(error, Error::NewerSchema { .. }), "{error:?}");
}

#[tokio::test]
async fn a_database_that_somebody_else_holds_is_waited_for_and_then_refused() {
    let dir = filled_and_closed().await;
    let mut conn = stranger(dir.path()).await;
    let options = Options { busy_timeout: Duration::from_millis(100), ..Options::default() };
    let tx = conn.begin_with("BEGIN EXCLUSIVE").await.unwrap();
    let error = Store::open_with(dir.path(), Clock::manual(START), options.clone()).await.unwrap_err();
    assert!(matches!(error, Error::Contended(_)), "{error:?}");
    tx.rollback().await.unwrap();
    Store::open_with(dir.path(), Clock::manual(START), options).await.unwrap();
}

#[tokio::test]
async fn another_process_may_look_on_but_not_write() {
    let (dir, store, clock) = fresh().await;
    store.accept(delivery("a", "{}")).await.unwrap();
    let onlooker = Store::open_read_only(dir.path(), clock.clone()).await.unwrap();
    assert_eq!(onlooker.deliveries(10, None).await.unwrap().len(), 1);
    assert!(matches!(onlooker.accept(delivery("b", "{}")).await, Err(Error::ReadOnly)));
    assert!(matches!(onlooker.ping().await, Err(Error::ReadOnly)));
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(Store::open_read_only(empty.path(), clock).await, Err(Error::Io { .. })));
}

#[tokio::test]
async fn ten_thousand_queued_jobs_do_not_slow_a_start_down() {
    let (dir, store, clock) = fresh().await;
    drop(store);
    let mut conn = stranger(dir.path()).await;
    sqlx::query(
        r#"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
           INSERT INTO job (kind, unique_key, group_key, payload, state, max_attempts, run_at, created_at, updated_at)
           SELECT 'delivery', 'delivery/' || i, 'g/' || (i % 100), '{"kind":"delivery","guid":"' || i || '"}', 'available', 3, 0, 0, 0 FROM n"#,
    )
    .execute(&mut conn)
    .await
    .unwrap();
    conn.close().await.unwrap();
    let began = Instant::now();
    let store = Store::open(dir.path(), clock).await.unwrap();
    for _ in 0..20 {
        assert!(store.claim("n", LEASE, &[]).await.unwrap().is_some());
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(store.job_counts().await.unwrap()[&JobState::Running], 20);
}

// Deliveries.

#[tokio::test]
async fn an_accepted_delivery_has_its_body_and_one_job() {
    let (_dir, store, _) = fresh().await;
    assert_eq!(store.accept(delivery("a-1", "{\"x\": 1}")).await.unwrap(), Accepted::New);
    let row = store.delivery(&DeliveryId::parse("a-1").unwrap()).await.unwrap().unwrap();
    assert_eq!((row.state, &row.body[..]), (DeliveryState::Received, &b"{\"x\": 1}"[..]));
    let jobs = store.unfinished_jobs().await.unwrap();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].job, Some(Job::Delivery { guid: row.guid.clone() }));
    assert_eq!(jobs[0].cause, Some(row.guid));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_guid_fifty_times_at_once_is_one_delivery_and_one_job() {
    let (_dir, store, _) = fresh().await;
    let answers = join_all((0..50).map(|_| store.accept(delivery("same", "{}")))).await;
    let new = answers.iter().filter(|answer| matches!(answer, Ok(Accepted::New))).count();
    let known = answers.iter().filter(|answer| matches!(answer, Ok(Accepted::Known))).count();
    assert_eq!((new, known), (1, 49));
    assert_eq!(store.unfinished_jobs().await.unwrap().len(), 1);
    assert_eq!(store.deliveries(10, None).await.unwrap()[0].redeliveries, 49);
}

#[tokio::test(flavor = "multi_thread")]
async fn neighbouring_deliveries_share_commits() {
    let (_dir, store, _) = fresh().await;
    let answers =
        join_all((0..200).map(|n| store.accept(delivery(&format!("guid-{n}"), &format!("{{\"n\": {n}}}"))))).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Accepted::New))), "{answers:?}");
    assert_eq!(store.deliveries(1000, None).await.unwrap().len(), 200);
    assert_eq!(store.unfinished_jobs().await.unwrap().len(), 200);
    let commits = store.inbox_commits().unwrap();
    assert!((1..=20).contains(&commits), "{commits} commits for 200 deliveries");
}

#[tokio::test]
async fn a_refused_row_leaves_its_neighbours_alone() {
    let (_dir, store, _) = fresh().await;
    let answers = join_all((0..20).map(|n| {
        let mut new = delivery(&format!("guid-{n}"), &format!("{n}"));
        if n == 7 {
            new.event = String::new();
        }
        store.accept(new)
    }))
    .await;
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(answer.is_err(), n == 7, "{n}: {answer:?}");
    }
    assert_eq!(store.deliveries(100, None).await.unwrap().len(), 19);
    assert!(store.inbox_commits().unwrap() < 10, "they were not stored together");
}

#[tokio::test]
async fn beyond_its_cap_the_inbox_refuses_and_what_it_accepted_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { inbox: 4, ..Options::default() };
    let store = Store::open_with(dir.path(), Clock::manual(START), options).await.unwrap();
    let mut conn = stranger(dir.path()).await;
    let hold = conn.begin_with("BEGIN IMMEDIATE").await.unwrap();
    // One thread runs all tasks: when this comes back, the first delivery has been taken and waits for the database.
    let first = tokio::spawn({
        let store = store.clone();
        async move { store.accept(delivery("first", "{}")).await }
    });
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let waiting: Vec<_> = (0..50)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move { store.accept(delivery(&format!("guid-{n}"), &format!("{n}"))).await })
        })
        .collect();
    while waiting.iter().filter(|task| task.is_finished()).count() < 46 {
        tokio::task::yield_now().await;
    }
    hold.rollback().await.unwrap();
    assert_eq!(first.await.unwrap().unwrap(), Accepted::New);
    let answers: Vec<_> = join_all(waiting).await.into_iter().map(Result::unwrap).collect();
    let stored = answers.iter().filter(|answer| matches!(answer, Ok(Accepted::New))).count();
    let busy = answers.iter().filter(|answer| matches!(answer, Err(Error::Busy))).count();
    assert_eq!((stored, busy), (4, 46), "{answers:?}");
    assert_eq!(store.deliveries(100, None).await.unwrap().len(), 5);
}

#[tokio::test]
async fn a_body_under_a_new_guid_is_marked_as_a_replay_and_still_gets_its_job() {
    let (_dir, store, _) = fresh().await;
    store.accept(delivery("first", "{\"same\": 1}")).await.unwrap();
    let first = DeliveryId::parse("first").unwrap();
    let again = store.accept(delivery("second", "{\"same\": 1}")).await.unwrap();
    assert_eq!(again, Accepted::Replay { of: first.clone() });
    let row = store.delivery(&DeliveryId::parse("second").unwrap()).await.unwrap().unwrap();
    assert_eq!(row.replay_of, Some(first));
    assert_eq!(store.unfinished_jobs().await.unwrap().len(), 2);
    // Under another event name it is something else.
    let mut other = delivery("third", "{\"same\": 1}");
    other.event = "push".to_owned();
    assert_eq!(store.accept(other).await.unwrap(), Accepted::New);
}

#[tokio::test]
async fn an_ignored_delivery_has_a_reason_and_no_job_until_its_event_is_known() {
    let (_dir, store, _) = fresh().await;
    let guid = DeliveryId::parse("odd").unwrap();
    store.accept_ignored(delivery("odd", "{}"), "unknown event").await.unwrap();
    let row = store.delivery(&guid).await.unwrap().unwrap();
    assert_eq!((row.state, row.reason.as_deref()), (DeliveryState::Ignored, Some("unknown event")));
    assert!(store.unfinished_jobs().await.unwrap().is_empty());
    assert_eq!(store.accept_ignored(delivery("odd", "{}"), "unknown event").await.unwrap(), Accepted::Known);
    assert_eq!(store.accept(delivery("odd", "{}")).await.unwrap(), Accepted::Revived);
    assert_eq!(store.unfinished_jobs().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_redelivery_revives_a_dead_job_once_and_leaves_a_living_or_finished_one_alone() {
    let (_dir, store, _) = fresh().await;
    store.accept(delivery("g", "{}")).await.unwrap();
    let claimed = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    assert_eq!(store.accept(delivery("g", "{}")).await.unwrap(), Accepted::Known, "it runs");
    store.fail(&claimed.lease, Fail::Discard, "no").await.unwrap();
    assert_eq!(store.accept(delivery("g", "{}")).await.unwrap(), Accepted::Revived);
    assert_eq!(store.accept(delivery("g", "{}")).await.unwrap(), Accepted::Known, "once");
    let again = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    assert_eq!((again.row.id, again.row.attempt), (claimed.row.id, 1));
    store.complete(&again.lease).await.unwrap();
    store.settle_delivery(&DeliveryId::parse("g").unwrap(), DeliveryState::Handled, None).await.unwrap();
    assert_eq!(store.accept(delivery("g", "{}")).await.unwrap(), Accepted::Known, "it is done");
    assert!(store.unfinished_jobs().await.unwrap().is_empty());
}

/// Started by the next test in a process of its own; on its own it has nowhere to write and fails.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs in a child process that is killed"]
async fn child_that_accepts_until_it_is_killed() {
    let dir = std::env::var("OCTOSWARM_TEST_DIR").expect("started by the kill test");
    let store = Store::open(Path::new(&dir), Clock::system()).await.unwrap();
    let life = uuid::Uuid::new_v4();
    join_all((0..8).map(|lane| {
        let store = store.clone();
        async move {
            for n in 0.. {
                let guid = format!("{life}-{lane}-{n}");
                store.accept(delivery(&guid, &guid)).await.unwrap();
                let mut out = std::io::stdout().lock();
                writeln!(out, "\nacked {guid}").unwrap();
                out.flush().unwrap();
            }
        }
    }))
    .await;
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let mut acked = Vec::new();
    for enough in [1, 40, 90, 150, 300] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["store::child_that_accepts_until_it_is_killed", "--exact", "--ignored", "--nocapture"])
            .env("OCTOSWARM_TEST_DIR", dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let before = acked.len();
        let mut killed = false;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            if let Some(guid) = line.unwrap().strip_prefix("acked ") {
                acked.push(guid.to_owned());
            }
            if acked.len() - before >= enough && !killed {
                child.kill().unwrap();
                killed = true;
            }
        }
        child.wait().unwrap();
        assert!(killed, "the child ended by itself after {} deliveries", acked.len() - before);
    }
    let store = Store::open(dir.path(), Clock::system()).await.unwrap();
    let jobs: std::collections::HashSet<String> =
        store.unfinished_jobs().await.unwrap().into_iter().map(|job| job.unique_key).collect();
    for guid in &acked {
        let row = store.delivery(&DeliveryId::parse(guid).unwrap()).await.unwrap();
        assert!(row.is_some_and(|row| row.body == guid.as_bytes()), "{guid} was acknowledged and is gone");
        assert!(jobs.contains(&format!("delivery/{guid}")), "{guid} lost its job");
    }
    assert!(acked.len() >= 581);
}

// Jobs and leases.

#[tokio::test(flavor = "multi_thread")]
async fn one_key_enqueued_fifty_times_at_once_is_one_job() {
    let (dir, store, _) = fresh().await;
    let answers = join_all((0..50).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { store.enqueue(&review(7, 'a'), NewJob::at(START)).await.unwrap() })
    }))
    .await;
    let new = answers.iter().filter(|answer| matches!(answer, Ok(Enqueued::New(_)))).count();
    assert_eq!(new, 1);
    assert_eq!(store.unfinished_jobs().await.unwrap().len(), 1);
    // The index is the constraint: not even a stranger gets past it.
    let mut conn = stranger(dir.path()).await;
    let copy = sqlx::query(
        "INSERT INTO job (kind, unique_key, payload, state, max_attempts, run_at, created_at, updated_at)
         SELECT kind, unique_key, payload, 'retryable', 3, 0, 0, 0 FROM job",
    )
    .execute(&mut conn)
    .await;
    assert!(copy.unwrap_err().to_string().contains("UNIQUE"));
}

#[tokio::test]
async fn a_caller_that_gives_up_half_way_leaves_the_store_usable() {
    let (_dir, store, _) = fresh().await;
    for turns in 0..60 {
        let job = review(turns, 'a');
        tokio::select! {
            biased;
            _ = store.enqueue(&job, NewJob::at(START)) => {}
            () = async { for _ in 0..turns { tokio::task::yield_now().await } } => {}
        }
        // What is written next belongs to no transaction of somebody else.
        store.set_cursor("turn", &turns.to_string()).await.unwrap();
        assert_eq!(store.get_cursor("turn").await.unwrap(), Some(turns.to_string()));
    }
    // Some are in, some are not, none is in the way.
    for number in 0..60 {
        store.enqueue(&review(number, 'a'), NewJob::at(START)).await.unwrap();
    }
    assert_eq!(store.unfinished_jobs().await.unwrap().len(), 60);
}

#[tokio::test]
async fn a_finished_key_may_be_enqueued_again_and_is_remembered() {
    let (_dir, store, _) = fresh().await;
    let job = review(7, 'a');
    let first = store.enqueue(&job, NewJob::at(START)).await.unwrap();
    assert!(store.last_completed(&job.group_key().unwrap()).await.unwrap().is_none());
    let claimed = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    assert_eq!(store.complete(&claimed.lease).await.unwrap(), Some(JobState::Completed));
    let last = store.last_completed(&job.group_key().unwrap()).await.unwrap().unwrap();
    assert_eq!((last.id, last.state), (first.id(), JobState::Completed));
    assert!(matches!(store.enqueue(&job, NewJob::at(START)).await.unwrap(), Enqueued::New(id) if id != first.id()));
}

#[tokio::test]
async fn a_worker_that_slept_past_its_lease_can_change_nothing_any_more() {
    let (_dir, store, clock) = fresh().await;
    store.enqueue(&review(7, 'a'), NewJob::at(START)).await.unwrap();
    let stale = store.claim("sleeper", LEASE, &[]).await.unwrap().unwrap();
    clock.advance(LEASE - 1);
    assert!(store.claim("other", LEASE, &[]).await.unwrap().is_none(), "the lease still holds");
    clock.advance(1);
    let fresh = store.claim("other", LEASE, &[]).await.unwrap().unwrap();
    assert_eq!((fresh.row.id, fresh.row.attempt), (stale.row.id, 2));

    assert_eq!(store.heartbeat(&stale.lease, LEASE).await.unwrap(), Beat::Lost);
    assert_eq!(store.lease_state(&stale.lease).await.unwrap(), Beat::Lost);
    assert_eq!(store.complete(&stale.lease).await.unwrap(), None);
    assert_eq!(store.fail(&stale.lease, Fail::Discard, "x").await.unwrap(), None);
    assert_eq!(store.fail(&stale.lease, Fail::Retry { at: 0 }, "x").await.unwrap(), None);
    assert_eq!(store.snooze(&stale.lease, 0, "x").await.unwrap(), None);
    assert_eq!(store.release(&stale.lease).await.unwrap(), None);

    let row = store.job(fresh.row.id).await.unwrap().unwrap();
    assert_eq!((row.state, row.lease_node.as_deref(), row.last_error), (JobState::Running, Some("other"), None));
    assert_eq!(store.complete(&fresh.lease).await.unwrap(), Some(JobState::Completed));
}

#[tokio::test]
async fn a_heartbeat_keeps_the_lease() {
    let (_dir, store, clock) = fresh().await;
    store.enqueue(&review(7, 'a'), NewJob::at(START)).await.unwrap();
    let claimed = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    for _ in 0..10 {
        clock.advance(LEASE / 2);
        assert_eq!(store.heartbeat(&claimed.lease, LEASE).await.unwrap(), Beat::Alive);
        assert!(store.claim("other", LEASE, &[]).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_job_that_kills_its_worker_each_time_ends_in_the_dead_letter_and_can_be_redriven() {
    let (_dir, store, clock) = fresh().await;
    let job = review(7, 'a');
    store.enqueue(&job, NewJob { max_attempts: 3, ..NewJob::at(START) }).await.unwrap();
    for attempt in 1..=3 {
        let claimed = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
        assert_eq!(claimed.row.attempt, attempt);
        clock.advance(LEASE);
    }
    assert!(store.claim("n", LEASE, &[]).await.unwrap().is_none());
    let dead = store.jobs(&JobFilter { states: vec![JobState::Discarded], ..JobFilter::default() }).await.unwrap();
    assert_eq!(dead.len(), 1);
    assert!(dead[0].last_error.as_deref().unwrap().contains("attempt 3 of 3"), "{:?}", dead[0].last_error);

    store.redrive(dead[0].id).await.unwrap();
    assert!(matches!(store.redrive(dead[0].id).await, Err(Error::Conflict { .. })), "it is available now");
    assert_eq!(store.claim("n", LEASE, &[]).await.unwrap().unwrap().row.attempt, 1);
}

#[tokio::test]
async fn a_dead_job_is_not_redriven_beside_its_successor() {
    let (_dir, store, _) = fresh().await;
    let job = review(7, 'a');
    let first = store.enqueue(&job, NewJob::at(START)).await.unwrap().id();
    let claimed = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    store.fail(&claimed.lease, Fail::Discard, "no").await.unwrap();
    let second = store.enqueue(&job, NewJob::at(START)).await.unwrap().id();
    let error = store.redrive(first).await.unwrap_err();
    assert!(error.to_string().contains(&format!("job {second}")), "{error}");
}

#[tokio::test]
async fn a_restart_frees_the_leases_of_the_former_life_at_once_and_counts_the_attempt() {
    let (dir, store, clock) = fresh().await;
    store.enqueue(&review(7, 'a'), NewJob::at(START)).await.unwrap();
    store.enqueue(&review(8, 'b'), NewJob { max_attempts: 1, ..NewJob::at(START) }).await.unwrap();
    let node = store.node().to_owned();
    let old = store.claim(&node, LEASE, &[]).await.unwrap().unwrap();
    store.claim(&node, LEASE, &[]).await.unwrap().unwrap();
    drop(store);

    let store = Store::open(dir.path(), clock).await.unwrap();
    let counts = store.job_counts().await.unwrap();
    assert_eq!((counts[&JobState::Available], counts[&JobState::Discarded], counts[&JobState::Running]), (1, 1, 0));
    assert_eq!(store.claim(&node, LEASE, &[]).await.unwrap().unwrap().row.attempt, 2);
    assert_eq!(store.complete(&old.lease).await.unwrap(), None, "the former life is fenced off");
}

#[tokio::test]
async fn two_jobs_of_one_group_never_run_at_once() {
    let (_dir, store, _) = fresh().await;
    for head in ['a', 'b'] {
        store.enqueue(&review(7, head), NewJob::at(START)).await.unwrap();
    }
    store.enqueue(&review(8, 'c'), NewJob::at(START)).await.unwrap();
    let first = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    let second = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    assert_eq!((first.job, second.job), (review(7, 'a'), review(8, 'c')));
    assert!(store.claim("n", LEASE, &[]).await.unwrap().is_none(), "7@b waits for 7@a");
    store.complete(&first.lease).await.unwrap();
    assert_eq!(store.claim("n", LEASE, &[]).await.unwrap().unwrap().job, review(7, 'b'));
}

#[tokio::test]
async fn lower_priority_numbers_run_first_and_the_future_waits() {
    let (_dir, store, clock) = fresh().await;
    store.enqueue(&review(1, 'a'), NewJob { priority: 5, ..NewJob::at(START) }).await.unwrap();
    store.enqueue(&review(2, 'a'), NewJob { priority: 1, ..NewJob::at(START) }).await.unwrap();
    store.enqueue(&review(3, 'a'), NewJob::at(START + 1_000)).await.unwrap();
    assert_eq!(store.job_counts().await.unwrap()[&JobState::Scheduled], 1);
    assert_eq!(store.claim("n", LEASE, &[]).await.unwrap().unwrap().job, review(2, 'a'));
    assert_eq!(store.claim("n", LEASE, &[]).await.unwrap().unwrap().job, review(1, 'a'));
    assert!(store.claim("n", LEASE, &[]).await.unwrap().is_none());
    assert_eq!(store.next_due().await.unwrap(), Some(START + 1_000));
    clock.advance(4_000);
    assert_eq!(store.oldest_wait().await.unwrap(), Some(3_000));
    assert!(store.claim("n", LEASE, &[]).await.unwrap().is_some());
}

#[tokio::test]
async fn a_cancelled_group_drops_what_waits_and_asks_what_runs_to_stop() {
    let (_dir, store, _) = fresh().await;
    store.enqueue(&review(7, 'a'), NewJob::at(START)).await.unwrap();
    let running = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    let waiting = store.enqueue(&review(7, 'b'), NewJob::at(START)).await.unwrap().id();
    let newest = review(7, 'c');
    store.enqueue(&newest, NewJob::at(START)).await.unwrap();
    let other = store.enqueue(&review(8, 'a'), NewJob::at(START)).await.unwrap().id();

    let group = newest.group_key().unwrap();
    let touched = store.cancel_group(&group, Some(&newest.unique_key()), "overtaken by a push").await.unwrap();
    assert_eq!(touched, 2);
    assert_eq!(store.heartbeat(&running.lease, LEASE).await.unwrap(), Beat::CancelRequested);
    let row = store.job(waiting).await.unwrap().unwrap();
    assert_eq!((row.state, row.last_error.as_deref()), (JobState::Cancelled, Some("overtaken by a push")));
    assert_eq!(store.job(other).await.unwrap().unwrap().state, JobState::Available);

    // A worker that has not heard of it and fails or naps gets the job once more, at once, to clear up.
    store.fail(&running.lease, Fail::Retry { at: START + LEASE }, "x").await.unwrap();
    let again = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    assert_eq!(again.row.id, running.row.id);
    assert!(again.row.cancel_requested_at.is_some());
    store.snooze(&again.lease, START + LEASE, "x").await.unwrap();
    let again = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    assert_eq!((again.row.id, again.row.attempt), (running.row.id, 2));
    assert_eq!(store.fail(&again.lease, Fail::Cancel, "x").await.unwrap(), Some(JobState::Cancelled));
    let row = store.job(running.row.id).await.unwrap().unwrap();
    assert_eq!(row.last_error.as_deref(), Some("overtaken by a push"));
    assert_eq!(store.claim("n", LEASE, &[]).await.unwrap().unwrap().job, newest);
}

#[tokio::test]
async fn a_job_that_was_begun_is_claimed_once_more_when_it_is_cancelled_while_it_waits() {
    let (_dir, store, _) = fresh().await;
    let job = review(7, 'a');
    let id = store.enqueue(&job, NewJob::at(START)).await.unwrap().id();
    let first = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    store.fail(&first.lease, Fail::Retry { at: START + LEASE }, "later").await.unwrap();
    assert!(store.claim("n", LEASE, &[]).await.unwrap().is_none());
    assert_eq!(store.cancel_group(&job.group_key().unwrap(), None, "closed").await.unwrap(), 1);
    assert_eq!(store.cancel_group(&job.group_key().unwrap(), None, "closed").await.unwrap(), 0, "it knows");
    let again = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    assert_eq!(again.row.id, id);
    assert!(again.row.cancel_requested_at.is_some());
}

#[tokio::test]
async fn a_job_that_was_told_to_stop_does_not_stand_in_for_one_that_is_asked_for_now() {
    let (_dir, store, _) = fresh().await;
    let job = review(7, 'a');
    store.enqueue(&job, NewJob::at(START)).await.unwrap();
    let stopping = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    store.cancel_group(&job.group_key().unwrap(), None, "closed").await.unwrap();
    let reopened = store.enqueue(&job, NewJob::at(START)).await.unwrap();
    assert!(matches!(reopened, Enqueued::New(id) if id != stopping.row.id), "{reopened:?}");
    assert_eq!(store.enqueue(&job, NewJob::at(START)).await.unwrap(), Enqueued::Existing(reopened.id()));
    assert!(store.claim("n", LEASE, &[]).await.unwrap().is_none(), "never two of one pull request");
    store.fail(&stopping.lease, Fail::Cancel, "x").await.unwrap();
    assert_eq!(store.claim("n", LEASE, &[]).await.unwrap().unwrap().row.id, reopened.id());
}

#[tokio::test]
async fn a_stored_job_that_cannot_be_read_is_discarded_visibly_and_others_move_on() {
    let (dir, store, _) = fresh().await;
    let broken = store.enqueue(&review(7, 'a'), NewJob::at(START)).await.unwrap().id();
    let mut conn = stranger(dir.path()).await;
    sqlx::query("UPDATE job SET payload = '{\"kind\":\"dance\"}'").execute(&mut conn).await.unwrap();
    store.enqueue(&review(8, 'b'), NewJob::at(START)).await.unwrap();
    assert_eq!(store.claim("n", LEASE, &[]).await.unwrap().unwrap().job, review(8, 'b'));
    let row = store.job(broken).await.unwrap().unwrap();
    assert_eq!((row.state, row.job), (JobState::Discarded, None));
    assert!(row.last_error.unwrap().contains("dance"));
}

#[tokio::test]
async fn a_clock_set_back_leaves_no_job_waiting_for_hours_and_no_lease_stuck() {
    let (_dir, store, clock) = fresh().await;
    store.enqueue(&review(7, 'a'), NewJob::at(START)).await.unwrap();
    store.enqueue(&review(8, 'b'), NewJob::at(START)).await.unwrap();
    let failed = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    store.fail(&failed.lease, Fail::Retry { at: START + 10_000 }, "later").await.unwrap();
    let hung = store.claim("n", LEASE, &[]).await.unwrap().unwrap();

    clock.advance(-24 * 3_600_000);
    assert!(store.claim("n", LEASE, &[]).await.unwrap().is_none(), "the backoff is not cut short");
    clock.advance(10_000);
    assert_eq!(store.claim("n", LEASE, &[]).await.unwrap().unwrap().row.id, failed.row.id);
    clock.advance(LEASE - 10_000);
    assert_eq!(store.claim("n", LEASE, &[]).await.unwrap().unwrap().row.id, hung.row.id);
}

// Runs, steps, progress, effects, cursors.

#[tokio::test]
async fn a_run_tells_its_story() {
    let (_dir, store, clock) = fresh().await;
    let run = store.start_run(new_run()).await.unwrap();
    let step = store.start_step(run, "critical", "key-1").await.unwrap();
    assert!(store.step_by_key("key-1").await.unwrap().is_none(), "not done yet");
    clock.advance(5);
    store.finish_step(step, StepState::Done, Some(&json!({"findings": []})), Some("0 findings")).await.unwrap();
    let cached = store.step_by_key("key-1").await.unwrap().unwrap();
    assert_eq!(cached.artifact, Some(json!({"findings": []})));

    assert_eq!(store.add_progress(run, "reading").await.unwrap(), 1);
    assert_eq!(store.add_progress(run, "done").await.unwrap(), 2);
    let lines = store.progress_since(run, 1, 10).await.unwrap();
    assert_eq!((lines.len(), lines[0].text.as_str()), (1, "done"));

    store.finish_run(run, RunState::Finished, Some(&json!({"outcome": "clean"})), None).await.unwrap();
    let row = store.run(run).await.unwrap().unwrap();
    assert_eq!((row.state, row.finished_at), (RunState::Finished, Some(START + 5)));
    assert_eq!((row.repo.to_string().as_str(), row.number), ("octo/calc", Some(PullNumber(7))));
    assert_eq!(store.runs(10).await.unwrap().len(), 1);
    assert_eq!(store.runs_of_job(JobId(3)).await.unwrap().len(), 1);
    assert_eq!(store.steps(run).await.unwrap()[0].detail.as_deref(), Some("0 findings"));
}

#[tokio::test]
async fn an_artifact_over_one_mebibyte_is_refused_and_a_damaged_one_is_made_again() {
    let (dir, store, _) = fresh().await;
    let run = store.start_run(new_run()).await.unwrap();
    let step = store.start_step(run, "debt", "k").await.unwrap();
    let exactly = json!("x".repeat(MAX_ARTIFACT - 2));
    let over = json!("x".repeat(MAX_ARTIFACT - 1));
    let error = store.finish_step(step, StepState::Done, Some(&over), None).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { size, .. } if size == MAX_ARTIFACT + 1), "{error:?}");
    store.finish_step(step, StepState::Done, Some(&exactly), None).await.unwrap();
    assert!(store.step_by_key("k").await.unwrap().is_some());
    let mut conn = stranger(dir.path()).await;
    sqlx::query("UPDATE step SET artifact = '{\"cut\": '").execute(&mut conn).await.unwrap();
    assert!(store.step_by_key("k").await.unwrap().is_none());
}

#[tokio::test]
async fn whoever_took_an_ear_before_looking_misses_no_ring() {
    let (_dir, store, _) = fresh().await;
    let run = store.start_run(new_run()).await.unwrap();
    let mut ear = store.bell().progress();
    store.add_progress(run, "between look and wait").await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), ear.heard()).await.expect("rang before the wait");
    let mut jobs = store.bell().jobs();
    store.accept(delivery("g", "{}")).await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), jobs.heard()).await.expect("an accepted delivery rings");
}

#[tokio::test]
async fn an_effect_is_intended_once_sent_before_it_leaves_and_proved_for_good() {
    let (_dir, store, clock) = fresh().await;
    let run = store.start_run(new_run()).await.unwrap();
    let first = store.intend("review/9/7@a", run, "review", &json!({"body": "one"})).await.unwrap();
    assert_eq!((first.state, first.sent_at, first.attempts), (EffectState::Intended, None, 0));
    let later = store.start_run(new_run()).await.unwrap();
    let again = store.intend("review/9/7@a", later, "review", &json!({"body": "two"})).await.unwrap();
    assert_eq!((again.run, again.intent), (Some(run), json!({"body": "one"})), "the first intent stands");

    clock.advance(7);
    store.mark_sent("review/9/7@a", clock.now()).await.unwrap();
    let sent = store.effect("review/9/7@a").await.unwrap().unwrap();
    assert_eq!((sent.state, sent.sent_at, sent.attempts), (EffectState::Sent, Some(START + 7), 1));
    store.prove("review/9/7@a", &json!({"id": 99})).await.unwrap();
    assert!(matches!(store.mark_sent("review/9/7@a", 0).await, Err(Error::Conflict { .. })), "proved stays proved");
    assert!(matches!(store.fail_effect("review/9/7@a", "no").await, Err(Error::Conflict { .. })));
    assert!(matches!(store.mark_sent("unknown", 0).await, Err(Error::NotFound { .. })));
    let proved = &store.effects(run).await.unwrap()[0];
    assert_eq!((proved.state, proved.proof.clone()), (EffectState::Proved, Some(json!({"id": 99}))));
    assert!(store.effects(later).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_amended_effect_is_open_again_and_remembers_what_was_said() {
    let (_dir, store, clock) = fresh().await;
    let run = store.start_run(new_run()).await.unwrap();
    let key = "answer/9/7";
    let add = |topic: &'static str| {
        move |was: Option<&serde_json::Value>| {
            let mut all = was.and_then(|was| was.as_array().cloned()).unwrap_or_default();
            if !all.contains(&json!(topic)) {
                all.push(json!(topic));
            }
            json!(all)
        }
    };
    let first = store.amend_effect(key, None, "comment", add("review")).await.unwrap();
    assert_eq!((first.run, first.state, first.intent), (None, EffectState::Intended, json!(["review"])));
    store.mark_sent(key, clock.now()).await.unwrap();
    store.prove(key, &json!({"comment": 99})).await.unwrap();

    let same = store.amend_effect(key, run, "comment", add("review")).await.unwrap();
    assert_eq!((same.run, same.state), (None, EffectState::Proved), "nothing changed");
    let more = store.amend_effect(key, run, "comment", add("fix")).await.unwrap();
    assert_eq!((more.run, more.state, more.intent), (Some(run), EffectState::Intended, json!(["review", "fix"])));
    assert_eq!((more.proof, more.sent_at), (Some(json!({"comment": 99})), Some(START)), "the trace stays");
    store.mark_sent(key, clock.now()).await.unwrap();
    let other = store.amend_effect(key, run, "comment", |_| json!(["review", "help"])).await.unwrap();
    assert_eq!(other.state, EffectState::Sent, "what may have left is not forgotten");
    store.prove(key, &json!({"comment": 99})).await.unwrap();

    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    futures::future::join_all(names.map(|name| store.amend_effect(key, None, "comment", add(name)))).await;
    let all = store.effect(key).await.unwrap().unwrap();
    assert_eq!(all.intent.as_array().map(Vec::len), Some(10), "no amendment is lost: {}", all.intent);
    assert_eq!(all.run, Some(run), "who spoke without a run takes it from nobody");
}

#[tokio::test]
async fn cursors_keep_their_last_value() {
    let (_dir, store, _) = fresh().await;
    assert_eq!(store.get_cursor("deliveries").await.unwrap(), None);
    store.set_cursor("deliveries", "1").await.unwrap();
    store.set_cursor("deliveries", "2").await.unwrap();
    assert_eq!(store.get_cursor("deliveries").await.unwrap().as_deref(), Some("2"));
}

#[tokio::test]
async fn retention_drops_what_ended_long_ago_and_keeps_what_somebody_must_see() {
    let (_dir, store, clock) = fresh().await;
    for guid in ["done", "dead", "waiting"] {
        store.accept(delivery(guid, guid)).await.unwrap();
    }
    let done = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    store.complete(&done.lease).await.unwrap();
    store.settle_delivery(&DeliveryId::parse("done").unwrap(), DeliveryState::Handled, None).await.unwrap();
    let dead = store.claim("n", LEASE, &[]).await.unwrap().unwrap();
    store.fail(&dead.lease, Fail::Discard, "no").await.unwrap();
    let run = store.start_run(new_run()).await.unwrap();
    store.add_progress(run, "hello").await.unwrap();
    store.intend("k", run, "review", &json!({})).await.unwrap();
    store.finish_run(run, RunState::Finished, None, None).await.unwrap();
    let open = store.start_run(new_run()).await.unwrap();

    assert_eq!(store.prune(START).await.unwrap(), Pruned::default());
    clock.advance(1_000);
    assert_eq!(store.prune(clock.now()).await.unwrap(), Pruned { deliveries: 1, jobs: 1, runs: 1 });
    let left: Vec<String> = store.deliveries(9, None).await.unwrap().iter().map(|row| row.guid.to_string()).collect();
    assert_eq!(left, ["waiting", "dead"]);
    assert!(store.run(run).await.unwrap().is_none());
    assert!(store.run(open).await.unwrap().is_some());
    assert!(store.effect("k").await.unwrap().is_some_and(|effect| effect.run.is_none()), "the ledger outlives its run");
}

#[tokio::test]
async fn turns_are_counted_by_the_day_and_each_thing_is_taken_once_as_it_is() {
    let (_dir, store, clock) = fresh().await;
    let take = async |number: u64, looks: &str| {
        let turn = Turn {
            series: "scout/1".into(),
            item: number.to_string(),
            looks: looks.into(),
            most: 2,
            within: 86_400_000,
            kept: 90 * 86_400_000,
        };
        store.take_turn(&review(number, 'a'), NewJob::at(clock.now()), &turn).await.unwrap()
    };
    let Taken::New(first) = take(7, "as it was").await else { panic!("the first is free") };
    assert_eq!(take(7, "as it was").await, Taken::Before);
    assert_eq!(take(7, "edited").await, Taken::Busy, "its job is unfinished, and nothing is counted");
    assert_eq!(store.turn_taken("scout/1", "7").await.unwrap().as_deref(), Some("as it was"));
    clock.advance(3_600_000);
    assert!(matches!(take(8, "x").await, Taken::New(_)));
    assert_eq!(take(9, "x").await, Taken::Full);
    assert_eq!(store.turns_since("scout/1", clock.now() - 86_400_000).await.unwrap(), 2);
    assert_eq!(store.turns_since("scout/10", 0).await.unwrap(), 0, "another series that begins alike");
    store.give_turn_back("scout/1", "7", first).await.unwrap();
    assert!(matches!(take(9, "x").await, Taken::New(_)), "what was given back counts no more");
    assert_eq!(take(10, "x").await, Taken::Full);
    clock.advance(24 * 3_600_000);
    assert!(matches!(take(10, "x").await, Taken::New(_)), "the turn of yesterday counts no more");
    assert_eq!(take(8, "x").await, Taken::Before, "and is known all the same");
    clock.advance(91 * 86_400_000);
    take(11, "x").await;
    assert_eq!(store.turn_taken("scout/1", "8").await.unwrap(), None);
}
