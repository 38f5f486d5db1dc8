//! Jobs at work: every accepted one runs, a poisonous one dies alone, and whoever lost its lease is out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use octoswarm::domain::{
    Class, Clock, DeliveryId, InstallationId, Job, JobId, PullNumber, RepositoryId, ReviewTarget, Sha,
};
use octoswarm::queue::{Backoff, Failure, Idle, Leased, Options, Queue};
use octoswarm::store::{Beat, Fail, JobState, NewJob, Retried, Store};
use tempfile::TempDir;
use tokio::sync::{Barrier, Notify};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const START: i64 = 1_800_000_000_000;
const HOUR: Duration = Duration::from_secs(3600);
/// Long enough for a slow machine, short enough to fail today.
const SOON: Duration = Duration::from_secs(20);

async fn fresh() -> (TempDir, Store, Clock) {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let store = Store::open(dir.path(), clock.clone()).await.unwrap();
    (dir, store, clock)
}

/// Nothing happens by the passing of time unless a test says so.
fn patient() -> Options {
    Options {
        poll: HOUR,
        heartbeat: HOUR,
        backoff: Backoff { base: Duration::from_secs(10), max: HOUR, jitter: false },
        ..Options::default()
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

fn plain(n: usize) -> Job {
    Job::Delivery { guid: DeliveryId::parse(&format!("d-{n}")).unwrap() }
}

async fn put(store: &Store, job: &Job) -> JobId {
    store.enqueue(job, NewJob::at(START)).await.unwrap().id()
}

async fn state(store: &Store, id: JobId) -> JobState {
    store.job(id).await.unwrap().unwrap().state
}

/// A pool that runs beside the test, and how to end it.
struct Running {
    shutdown: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    fn start<H, F>(store: &Store, options: Options, handler: H) -> Self
    where
        H: Fn(Leased) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        let shutdown = CancellationToken::new();
        let queue = Queue::new(store.clone(), options);
        let token = shutdown.clone();
        Self { shutdown, task: tokio::spawn(async move { queue.run(handler, token).await }) }
    }

    async fn stop(self) {
        self.shutdown.cancel();
        timeout(SOON, self.task).await.expect("the pool winds down").unwrap();
    }
}

#[tokio::test]
async fn a_failing_job_backs_off_and_ends_in_the_dead_letter_while_others_move_on() {
    let (_dir, store, clock) = fresh().await;
    let poison = store.enqueue(&plain(0), NewJob { max_attempts: 3, ..NewJob::at(START) }).await.unwrap().id();
    for n in 1..=5 {
        put(&store, &plain(n)).await;
    }
    let queue = Queue::new(store.clone(), patient());
    let handler = move |leased: Leased| async move {
        if leased.id == poison { Err(Failure::new(Class::Retry, "no luck")) } else { Ok(()) }
    };
    let idle = queue.run_until_idle(handler).await.unwrap();
    assert_eq!(idle, Idle { ran: 6, next_due: Some(START + 10_000) });
    assert_eq!(store.job_counts().await.unwrap()[&JobState::Completed], 5);
    assert_eq!(state(&store, poison).await, JobState::Retryable);

    clock.advance(9_999);
    assert_eq!(queue.run_until_idle(handler).await.unwrap().ran, 0, "not due yet");
    clock.advance(1);
    assert_eq!(queue.run_until_idle(handler).await.unwrap().next_due, Some(START + 30_000), "the wait doubles");
    clock.advance(20_000);
    assert_eq!(queue.run_until_idle(handler).await.unwrap(), Idle { ran: 1, next_due: None });
    let row = store.job(poison).await.unwrap().unwrap();
    assert_eq!((row.state, row.attempt, row.last_error.as_deref()), (JobState::Discarded, 3, Some("no luck")));
}

#[tokio::test]
async fn a_job_that_panics_each_time_dies_alone() {
    let (_dir, store, clock) = fresh().await;
    let poison = store.enqueue(&plain(0), NewJob { max_attempts: 2, ..NewJob::at(START) }).await.unwrap().id();
    let good = put(&store, &plain(1)).await;
    let queue = Queue::new(store.clone(), Options { workers: 1, ..patient() });
    let handler = move |leased: Leased| async move {
        assert_ne!(leased.id, poison, "poisoned in attempt {}", leased.attempt);
        Ok(())
    };
    queue.run_until_idle(handler).await.unwrap();
    assert_eq!(state(&store, good).await, JobState::Completed);
    clock.advance(10_000);
    queue.run_until_idle(handler).await.unwrap();
    let row = store.job(poison).await.unwrap().unwrap();
    assert_eq!((row.state, row.attempt), (JobState::Discarded, 2));
    assert!(row.last_error.as_deref().unwrap().contains("poisoned in attempt 2"), "{:?}", row.last_error);
}

#[tokio::test]
async fn each_class_of_failure_leads_where_it_says() {
    let (_dir, store, clock) = fresh().await;
    let classes = [
        Class::Discard,
        Class::Cancelled,
        Class::RetryAfter(Duration::from_secs(77)),
        Class::Snooze(Duration::from_secs(33)),
    ];
    let mut ids = Vec::new();
    for n in 0..classes.len() {
        ids.push(put(&store, &plain(n)).await);
    }
    let by_id: HashMap<JobId, Class> = ids.iter().copied().zip(classes).collect();
    let queue = Queue::new(store.clone(), patient());
    queue
        .run_until_idle(move |leased| {
            let class = by_id[&leased.id];
            async move { Err(Failure::new(class, "because")) }
        })
        .await
        .unwrap();
    let mut ends = Vec::new();
    for id in &ids {
        let row = store.job(*id).await.unwrap().unwrap();
        assert_eq!(row.last_error.as_deref(), Some("because"));
        ends.push((row.state, row.attempt, row.run_at - clock.now()));
    }
    assert_eq!(
        ends,
        [
            (JobState::Discarded, 1, 0),
            (JobState::Cancelled, 1, 0),
            (JobState::Retryable, 1, 77_000),
            (JobState::Scheduled, 0, 33_000),
        ]
    );
}

#[tokio::test]
async fn what_a_job_enqueues_runs_before_the_queue_is_idle() {
    let (_dir, store, _) = fresh().await;
    put(&store, &plain(0)).await;
    let queue = Queue::new(store.clone(), patient());
    let idle = queue
        .run_until_idle({
            let store = store.clone();
            move |leased| {
                let store = store.clone();
                async move {
                    if matches!(leased.job, Job::Delivery { .. }) {
                        put(&store, &review(7, 'a')).await;
                    }
                    Ok(())
                }
            }
        })
        .await
        .unwrap();
    assert_eq!(idle.ran, 2);
    assert!(store.unfinished_jobs().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_sleeping_pool_is_woken_by_a_new_job_at_once() {
    let (_dir, store, _) = fresh().await;
    let ran = Arc::new(Notify::new());
    let running = Running::start(&store, patient(), {
        let ran = ran.clone();
        move |_| {
            let ran = ran.clone();
            async move {
                ran.notify_one();
                Ok(())
            }
        }
    });
    // It polls once an hour: only the bell can explain these.
    for n in 0..5 {
        put(&store, &plain(n)).await;
        timeout(SOON, ran.notified()).await.expect("woken");
    }
    running.stop().await;
    assert_eq!(store.job_counts().await.unwrap()[&JobState::Completed], 5);
}

#[tokio::test]
async fn groups_run_side_by_side_and_a_group_never_beside_itself() {
    let (_dir, store, _) = fresh().await;
    for number in [7, 8] {
        for head in ['a', 'b', 'c'] {
            put(&store, &review(number, head)).await;
        }
    }
    let both = Arc::new(Barrier::new(2));
    let busy: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let queue = Queue::new(store.clone(), patient());
    let handler = move |leased: Leased| {
        let (both, busy) = (both.clone(), busy.clone());
        async move {
            let group = leased.job.group_key().unwrap();
            let now = {
                let mut busy = busy.lock().unwrap();
                let count = busy.entry(group.clone()).or_default();
                *count += 1;
                *count
            };
            assert_eq!(now, 1, "{group} runs beside itself");
            // Passes only when the other group runs too.
            both.wait().await;
            busy.lock().unwrap().insert(group, 0);
            Ok(())
        }
    };
    let idle = timeout(SOON, queue.run_until_idle(handler)).await.expect("both groups run at once").unwrap();
    assert_eq!(idle.ran, 6);
    assert_eq!(store.job_counts().await.unwrap()[&JobState::Completed], 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_pools_share_the_work_and_double_none_of_it() {
    let (_dir, store, _) = fresh().await;
    for n in 0..60 {
        put(&store, &plain(n)).await;
    }
    let seen: Arc<Mutex<HashMap<JobId, usize>>> = Arc::default();
    let run = |node: &str| {
        let queue = Queue::new(store.clone(), Options { node: Some(node.to_owned()), ..patient() });
        let seen = seen.clone();
        async move {
            queue
                .run_until_idle(move |leased| {
                    *seen.lock().unwrap().entry(leased.id).or_default() += 1;
                    async { Ok(()) }
                })
                .await
                .unwrap()
        }
    };
    let (one, two) = tokio::join!(run("one"), run("two"));
    assert_eq!(one.ran + two.ran, 60);
    let seen = seen.lock().unwrap();
    assert!(seen.len() == 60 && seen.values().all(|&times| times == 1), "{seen:?}");
}

#[tokio::test]
async fn a_worker_whose_lease_went_to_another_is_told_to_stop_and_cannot_complete() {
    let (_dir, store, clock) = fresh().await;
    let id = put(&store, &plain(0)).await;
    let lost = Arc::new(Notify::new());
    let options = Options { workers: 1, heartbeat: Duration::from_millis(5), ..patient() };
    let running = Running::start(&store, options, {
        let (store, clock, lost) = (store.clone(), clock.clone(), lost.clone());
        move |leased| {
            let (store, clock, lost) = (store.clone(), clock.clone(), lost.clone());
            async move {
                // The process stood still for longer than the lease, and another worker came by.
                loop {
                    clock.advance(60_000);
                    if store.claim("other", 60_000, &[]).await?.is_some() {
                        break;
                    }
                }
                leased.cancel.cancelled().await;
                assert_eq!(store.lease_state(&leased.lease).await?, Beat::Lost);
                lost.notify_one();
                Ok(())
            }
        }
    });
    timeout(SOON, lost.notified()).await.expect("the token fires");
    running.stop().await;
    let row = store.job(id).await.unwrap().unwrap();
    assert_eq!(
        (row.state, row.lease_node.as_deref()),
        (JobState::Running, Some("other")),
        "its completion was refused"
    );
}

#[tokio::test]
async fn a_clock_that_leaps_forward_does_not_make_a_pool_run_its_own_job_twice() {
    let (_dir, store, clock) = fresh().await;
    let id = put(&store, &plain(0)).await;
    let (started, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let attempts = Arc::new(AtomicUsize::new(0));
    let running = Running::start(&store, patient(), {
        let (started, go_on, attempts) = (started.clone(), go_on.clone(), attempts.clone());
        move |leased| {
            let (started, go_on, attempts) = (started.clone(), go_on.clone(), attempts.clone());
            async move {
                started.notify_one();
                if leased.id == id {
                    attempts.fetch_add(1, Ordering::SeqCst);
                    go_on.notified().await;
                }
                Ok(())
            }
        }
    });
    timeout(SOON, started.notified()).await.unwrap();
    clock.advance(24 * 3_600_000);
    put(&store, &plain(1)).await;
    timeout(SOON, started.notified()).await.expect("the pool claims another job, so it looked");
    go_on.notify_one();
    running.stop().await;
    let row = store.job(id).await.unwrap().unwrap();
    assert_eq!((row.state, row.attempt, attempts.load(Ordering::SeqCst)), (JobState::Completed, 1, 1));
}

#[tokio::test]
async fn heartbeats_keep_a_long_job_from_others() {
    let (_dir, store, clock) = fresh().await;
    let id = put(&store, &plain(0)).await;
    let options = Options { heartbeat: Duration::from_millis(2), ..patient() };
    let done = Arc::new(Notify::new());
    let running = Running::start(&store, options, {
        let done = done.clone();
        move |_| {
            let done = done.clone();
            async move {
                done.notified().await;
                Ok(())
            }
        }
    });
    let lease_until = || async { store.job(id).await.unwrap().unwrap().lease_until.unwrap_or_default() };
    for _ in 0..5 {
        clock.advance(50_000);
        let wanted = clock.now() + 60_000;
        timeout(SOON, async {
            while lease_until().await != wanted {
                tokio::task::yield_now().await;
            }
        })
        .await
        .expect("a heartbeat extends the lease");
        assert!(store.claim("other", 60_000, &[]).await.unwrap().is_none());
    }
    done.notify_one();
    running.stop().await;
    assert_eq!(state(&store, id).await, JobState::Completed);
}

#[tokio::test]
async fn a_cancelled_job_is_told_at_once_and_ends_cancelled_with_the_reason() {
    let (_dir, store, _) = fresh().await;
    let job = review(7, 'a');
    let id = put(&store, &job).await;
    let (started, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let running = Running::start(&store, patient(), {
        let (started, ended) = (started.clone(), ended.clone());
        move |leased| {
            let (started, ended) = (started.clone(), ended.clone());
            async move {
                started.notify_one();
                leased.cancel.cancelled().await;
                ended.notify_one();
                Err(Failure::new(Class::Retry, "interrupted"))
            }
        }
    });
    timeout(SOON, started.notified()).await.unwrap();
    // Heartbeats come once an hour: the bell brings it.
    store.cancel_group(&job.group_key().unwrap(), None, "the pull request was closed").await.unwrap();
    timeout(SOON, ended.notified()).await.expect("told at once");
    running.stop().await;
    let row = store.job(id).await.unwrap().unwrap();
    assert_eq!((row.state, row.last_error.as_deref()), (JobState::Cancelled, Some("the pull request was closed")));
}

#[tokio::test]
async fn a_job_that_another_process_cancels_is_told_at_the_next_look() {
    let (dir, store, clock) = fresh().await;
    let id = put(&store, &review(7, 'a')).await;
    let started = Arc::new(Notify::new());
    let running = Running::start(&store, Options { poll: Duration::from_millis(5), ..patient() }, {
        let started = started.clone();
        move |leased| {
            let started = started.clone();
            async move {
                started.notify_one();
                leased.cancel.cancelled().await;
                Err(Failure::new(Class::Retry, "interrupted"))
            }
        }
    });
    timeout(SOON, started.notified()).await.unwrap();
    // No bell rings from there, and heartbeats come once an hour.
    let beside = Store::open_beside(dir.path(), clock).await.unwrap();
    assert!(beside.cancel_job(id, "by the operator").await.unwrap());
    assert!(!beside.cancel_job(id, "twice").await.unwrap());
    let ended = async {
        while state(&store, id).await == JobState::Running {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, ended).await.expect("it stops");
    running.stop().await;
    let row = store.job(id).await.unwrap().unwrap();
    assert_eq!((row.state, row.last_error.as_deref()), (JobState::Cancelled, Some("by the operator")));
}

#[tokio::test]
async fn a_job_is_retried_once_it_is_over_and_only_once_at_a_time() {
    let (dir, store, clock) = fresh().await;
    let id = put(&store, &review(7, 'a')).await;
    let beside = Store::open_beside(dir.path(), clock).await.unwrap();
    assert!(matches!(beside.retry_job(id, false).await.unwrap(), Retried::Unfinished { cancelling: false, .. }));
    assert!(beside.cancel_job(id, "by the operator").await.unwrap());
    let Retried::Queued(again) = beside.retry_job(id, false).await.unwrap() else { panic!("it was cancelled") };
    let (old, new) = (store.job(id).await.unwrap().unwrap(), store.job(again).await.unwrap().unwrap());
    assert_eq!((old.state, new.state, new.attempt), (JobState::Cancelled, JobState::Available, 0));
    assert_eq!((old.unique_key, old.payload), (new.unique_key, new.payload));
    assert_eq!(beside.retry_job(id, false).await.unwrap(), Retried::Taken(again));
    let lease = store.claim("node", 60_000, &[]).await.unwrap().unwrap().lease;
    assert!(matches!(beside.retry_job(again, false).await.unwrap(), Retried::Unfinished { .. }));
    store.fail(&lease, Fail::Discard, "it cannot be done").await.unwrap();
    assert_eq!(beside.retry_job(again, false).await.unwrap(), Retried::Queued(again), "out of the dead letter");
    let lease = store.claim("node", 60_000, &[]).await.unwrap().unwrap().lease;
    store.complete(&lease).await.unwrap();
    assert_eq!(beside.retry_job(again, false).await.unwrap(), Retried::Completed);
    assert!(matches!(beside.retry_job(again, true).await.unwrap(), Retried::Queued(third) if third != again));
    assert!(beside.retry_job(JobId(99), false).await.is_err());
}

#[tokio::test]
async fn shutdown_lets_running_jobs_finish_and_claims_no_more() {
    let (_dir, store, _) = fresh().await;
    let first = put(&store, &plain(0)).await;
    let second = put(&store, &plain(1)).await;
    let (started, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let running = Running::start(&store, Options { workers: 1, grace: SOON, ..patient() }, {
        let (started, go_on) = (started.clone(), go_on.clone());
        move |leased| {
            let (started, go_on) = (started.clone(), go_on.clone());
            async move {
                started.notify_one();
                go_on.notified().await;
                assert!(!leased.cancel.is_cancelled());
                Ok(())
            }
        }
    });
    timeout(SOON, started.notified()).await.unwrap();
    running.shutdown.cancel();
    go_on.notify_one();
    running.stop().await;
    assert_eq!((state(&store, first).await, state(&store, second).await), (JobState::Completed, JobState::Available));
}

#[tokio::test]
async fn a_job_that_outlasts_the_grace_is_given_back_with_its_attempt() {
    let (_dir, store, _) = fresh().await;
    let polite = put(&store, &plain(0)).await;
    let deaf = put(&store, &plain(1)).await;
    let started = Arc::new(Barrier::new(3));
    let dropped = Arc::new(AtomicBool::new(false));
    let options = Options { grace: Duration::from_millis(50), ..patient() };
    let running = Running::start(&store, options, {
        let (started, dropped) = (started.clone(), dropped.clone());
        move |leased| {
            let (started, dropped) = (started.clone(), dropped.clone());
            async move {
                struct Tell(Arc<AtomicBool>);
                impl Drop for Tell {
                    fn drop(&mut self) {
                        self.0.store(true, Ordering::SeqCst);
                    }
                }
                started.wait().await;
                if leased.id == polite {
                    leased.cancel.cancelled().await;
                    return Err(Failure::new(Class::Cancelled, "stopped"));
                }
                let _tell = Tell(dropped);
                std::future::pending().await
            }
        }
    });
    timeout(SOON, started.wait()).await.unwrap();
    running.stop().await;
    assert!(dropped.load(Ordering::SeqCst), "the deaf job was dropped");
    for id in [polite, deaf] {
        let row = store.job(id).await.unwrap().unwrap();
        assert_eq!((row.state, row.attempt), (JobState::Available, 0), "claimable at once, no attempt used up");
    }
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_is_ended_and_tried_again() {
    let (_dir, store, _) = fresh().await;
    let id = put(&store, &plain(0)).await;
    let queue = Queue::new(store.clone(), Options { attempt: Duration::from_millis(20), ..patient() });
    queue.run_until_idle(|_| std::future::pending()).await.unwrap();
    let row = store.job(id).await.unwrap().unwrap();
    assert_eq!(row.state, JobState::Retryable);
    assert!(row.last_error.unwrap().contains("took longer"));
}

#[tokio::test(start_paused = true)]
async fn under_a_paused_clock_nothing_times_out_but_what_waits_by_tokios_time() {
    let (_dir, store, _) = fresh().await;
    let id = put(&store, &plain(0)).await;
    let queue = Queue::new(store.clone(), patient());
    let idle = queue.run_until_idle(|_| async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok(())
    });
    assert_eq!(idle.await.unwrap().ran, 1);
    assert_eq!(state(&store, id).await, JobState::Completed);
}
