//! Which failure is tried again, how often and after which wait, in place and by messages alike.

use octoswarm::artifact::exchange::AgentConfig;
use octoswarm::domain::Outcome;
use octoswarm::pipeline::review;
use tokio::time::Instant;

use super::*;

/// Runs a review with doubles both ways; what each came to, and how long it took in whole seconds.
async fn both_ways<T: std::fmt::Debug + PartialEq>(
    double: impl Fn() -> Double,
    settings: &Settings,
    look: impl Fn(&Double, Result<octoswarm::artifact::ReviewReport, octoswarm::pipeline::Error>) -> T,
) -> (T, u64) {
    let bench = Bench::new();
    let (cx, one) = (bench.review().await, double());
    let began = Instant::now();
    let direct = Crew::direct_with(one.alone(), settings.clone());
    let first = look(&one, review::run(&cx, &Journal::unkept(direct)).await);
    let took = began.elapsed().as_secs();
    let (cx, other) = (bench.review().await, double());
    let served = bench.crew(other.alone(), settings.clone());
    let began = Instant::now();
    let second = look(&other, review::run(&cx, &served.journal()).await);
    assert_eq!(first, second, "in place, and by messages");
    assert_eq!(took, began.elapsed().as_secs(), "in place, and by messages");
    served.end().await;
    (first, took)
}

#[tokio::test(start_paused = true)]
async fn s0_4_a_failed_reviewer_is_asked_again_three_times_with_growing_waits() {
    let double = || Double::new(Role::Debt, &[], failing(ErrorCode::ReviewAnalysisFailed));
    let ((calls, absent), took) =
        both_ways(double, &strict(), |double, report| (double.calls(), report.unwrap().coverage.unreviewed())).await;
    assert_eq!((calls, took), (4, 1 + 2 + 4));
    assert_eq!(absent, ["the debt reviewer failed: REVIEW_001 in a test (REVIEW_001)"]);
}

#[tokio::test(start_paused = true)]
async fn s0_13_a_reviewer_tries_transient_failures_again_within_its_invocation() {
    let plays = [failing(ErrorCode::ApiTimeout), failing(ErrorCode::ApiRateLimit)];
    let double = || Double::new(Role::Improvement, &plays, Play::Real);
    let ((calls, absent), took) =
        both_ways(double, &strict(), |double, report| (double.calls(), report.unwrap().coverage.absent.len())).await;
    assert_eq!((calls, absent, took), (3, 0, 1 + 2));
    let bench = Bench::new();
    let (cx, double) = (bench.review().await, double());
    let served = bench.crew(double.alone(), strict());
    review::run(&cx, &served.journal()).await.unwrap();
    assert_eq!(bench.sent_of(AgentName::Improvement, MessageType::TaskAssignment).len(), 1, "one invocation");
    assert_eq!(bench.sent_of(AgentName::Improvement, MessageType::TaskProgress).len(), 2, "that tells of its attempts");
    served.end().await;
}

#[tokio::test(start_paused = true)]
async fn s0_13_what_is_wrong_with_the_input_is_never_tried_again() {
    let double = || Double::new(Role::Critical, &[], failing(ErrorCode::InvalidInput));
    let (calls, took) = both_ways(double, &strict(), |double, _| double.calls()).await;
    assert_eq!((calls, took), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn s0_8_documentation_tries_once_more_with_less() {
    let double = || Double::new(Role::Documentation, &[failing(ErrorCode::ApiTimeout)], Play::Real);
    let (told, took) = both_ways(double, &strict(), |double, report| {
        assert!(report.unwrap().coverage.absent.is_empty());
        let calls = double.calls.lock().unwrap();
        calls
            .iter()
            .map(|input| input.config.clone().unwrap_or_default().get("simplified").cloned())
            .collect::<Vec<_>>()
    })
    .await;
    assert_eq!((told, took), (vec![None, Some(true.into())], 1));
}

#[tokio::test(start_paused = true)]
async fn an_output_that_is_not_valid_gets_one_more_attempt() {
    let double = || Double::new(Role::Manager, &[], failing(ErrorCode::OutputValidationFailed));
    let ((calls, failed), took) =
        both_ways(double, &strict(), |double, report| (double.calls(), report.is_err())).await;
    assert_eq!((calls, failed, took), (2, true, 1));
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_of_the_agent_and_may_pass() {
    let double = || Double::new(Role::Manager, &[Play::Panic], Play::Real);
    let ((calls, fine), took) = both_ways(double, &strict(), |double, report| (double.calls(), report.is_ok())).await;
    assert_eq!((calls, fine, took), (2, true, 1));
}

#[tokio::test(start_paused = true)]
async fn s1_19_an_agent_that_gives_no_answer_is_cancelled_at_its_deadline() {
    let double = || Double::new(Role::Manager, &[], Play::Hang);
    let config = AgentConfig { timeout: Some(5_000), retries: Some(1), ..AgentConfig::default() };
    let agents = [(AgentName::Manager, AgentSettings { outside: false, config })].into_iter().collect();
    let settings = Settings { agents, ..strict() };
    let ((calls, error), took) =
        both_ways(double, &settings, |double, report| (double.calls(), chain(&report.unwrap_err()))).await;
    assert_eq!((calls, took), (2, 5 + 1 + 5));
    assert!(error.contains("the manager agent gave no answer within 5 s"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn one_deadline_bounds_all_that_a_reviewer_is_asked() {
    let double = || Double::new(Role::Debt, &[failing(ErrorCode::ReviewAnalysisFailed)], Play::Hang);
    let ((calls, absent), took) = both_ways(double, &strict(), |double, report| {
        (double.calls(), report.unwrap().coverage.absent.pop().unwrap().code)
    })
    .await;
    assert_eq!((calls, absent.as_str(), took), (2, "API_001", 600));
}

#[tokio::test]
async fn nothing_found_while_a_reviewer_failed_is_not_clean() {
    let bench = Bench::of(OLD, &format!("{OLD}\n\ndef add(a, b):\n    return a + b\n"));
    let cx = bench.review().await;
    let double = Double::new(Role::Critical, &[], failing(ErrorCode::InvalidInput));
    let report = review::run(&cx, &Journal::unkept(Crew::direct(double.alone()))).await.unwrap();
    let Outcome::CouldNotReview { reason } = report.outcome else { panic!("{:?}", report.outcome) };
    assert!(reason.contains("the critical reviewer failed"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn when_all_four_reviewers_fail_the_review_does() {
    let bench = Bench::new();
    let cx = bench.review().await;
    let mut registry = Registry::builtin();
    for role in [Role::Documentation, Role::Debt, Role::Improvement, Role::Critical] {
        registry.put(Double::new(role, &[], failing(ErrorCode::ApiTimeout)));
    }
    let error = review::run(&cx, &Journal::unkept(Crew::direct_with(registry, strict()))).await.unwrap_err();
    assert!(chain(&error).contains("API_001"), "{error}");
}

/// An error with its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        said.push_str(&format!(": {inner}"));
        source = inner.source();
    }
    said
}
