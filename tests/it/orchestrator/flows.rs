//! How a flow goes on, and what is written down of it, when a step is switched off, fails or was done before.

use std::collections::BTreeMap;

use octoswarm::artifact::exchange::{AgentConfig, PipelineResult};
use octoswarm::artifact::{Document, Proposal};
use octoswarm::pipeline::{FACTS, RESULT, RunOptions, StepEnd, contribute, review};
use octoswarm::store::StepState;

use super::dispatch::contribution;
use super::*;

const ISSUE: &str = "Replace `x == None` by `x is None` in run.py.";

fn bad_critical() -> Double {
    Double::new(Role::Critical, &[], failing(ErrorCode::InvalidInput))
}

#[tokio::test]
async fn s1_18_fail_fast_ends_the_run_at_the_first_failure() {
    let (bench, double) = (Bench::new(), bad_critical());
    let journal = Journal::unkept(Crew::direct_with(double.alone(), strict()));
    let options = RunOptions { fail_fast: true, ..RunOptions::default() };
    let error = review::run_with(&bench.review().await, &journal, &options).await.unwrap_err();
    assert!(error.to_string().contains("critical"), "{error}");
}

#[tokio::test]
async fn s1_18_without_fail_fast_only_those_who_need_a_failed_step_are_skipped() {
    let bench = Bench::new();
    let double = Double::new(Role::Coder, &[], failing(ErrorCode::InvalidInput));
    let journal = Journal::unkept(Crew::direct_with(double.alone(), strict()));
    let cx = contribution(&bench, ISSUE).await;
    let outputs = contribute::run_with(&cx, &journal, &RunOptions::default()).await.unwrap();
    let ends: BTreeMap<&str, &StepEnd> = outputs.ends().iter().map(|(role, end)| (role.name(), end)).collect();
    assert_eq!(ends["explorer"], &StepEnd::Done);
    assert!(matches!(ends["coder"], StepEnd::Failed(error) if error.code == "ERR_001"), "{ends:?}");
    for skipped in ["tester", "docs", "pr"] {
        assert!(matches!(ends[skipped], StepEnd::Skipped(why) if why.contains("coder")), "{ends:?}");
    }
    assert!(contribute::run(&cx, &journal).await.is_err(), "the server has nothing to publish");
}

#[tokio::test]
async fn s1_18_one_at_a_time_steps_run_in_the_flows_order() {
    let bench = Bench::new();
    let served = bench.crew(Registry::builtin(), strict());
    let options = RunOptions { parallel: false, ..RunOptions::default() };
    let outputs = review::run_with(&bench.review().await, &served.journal(), &options).await.unwrap();
    let order: Vec<&str> = outputs.in_order().map(|(role, _)| role.name()).collect();
    assert_eq!(order, ["manager", "documentation", "debt", "improvement", "critical", "master"]);
    let kinds = [MessageType::TaskAssignment, MessageType::ResearchResult];
    let turns: Vec<MessageType> =
        bench.sent().iter().map(|e| e.message_type).filter(|kind| kinds.contains(kind)).collect();
    assert_eq!(turns, kinds.repeat(6), "no task before the result of the one before");
    served.end().await;
}

#[tokio::test]
async fn s1_18_force_takes_nothing_from_an_earlier_run() {
    let bench = Bench::new();
    let (store, double) = (bench.store().await, Double::new(Role::Debt, &[], Play::Real));
    let crew = Crew::direct_with(double.alone(), strict());
    for (force, calls, known) in [(false, 1, None), (false, 1, Some(true)), (true, 2, None)] {
        let (journal, _) = bench.kept(&crew, &store).await;
        let options = RunOptions { force, ..RunOptions::default() };
        let outputs = review::run_with(&bench.review().await, &journal, &options).await.unwrap();
        let (_, debt) = outputs.in_order().find(|(role, _)| *role == Role::Debt).unwrap();
        assert_eq!((double.calls(), debt.metadata.cache_hit), (calls, known));
    }
}

#[tokio::test]
async fn s1_18_a_part_of_a_flow_is_run_with_what_it_needs() {
    let bench = Bench::new();
    let journal = Journal::unkept(Crew::direct_with(Registry::builtin(), strict()));
    let only = review::REVIEW.with_needs(&[Role::Master, Role::Debt]);
    let options = RunOptions { only: Some(only), ..RunOptions::default() };
    let outputs = review::run_with(&bench.review().await, &journal, &options).await.unwrap();
    let done: Vec<&str> = outputs.in_order().map(|(role, _)| role.name()).collect();
    assert_eq!(done, ["manager", "debt", "master"]);
    let report: octoswarm::artifact::ReviewReport = outputs.get(Role::Master).unwrap();
    assert!(report.findings.iter().all(|finding| finding.category.name() == "debt"));
    assert_eq!(report.coverage.absent.iter().filter(|absent| absent.left_out).count(), 3, "nobody expects them");
}

#[tokio::test]
async fn s1_19_an_agent_that_is_switched_off_is_skipped() {
    let (bench, double) = (Bench::new(), Double::new(Role::Tester, &[], Play::Real));
    let journal = Journal::unkept(Crew::direct_with(double.alone(), strict()));
    let off = AgentConfig { enabled: Some(false), ..AgentConfig::default() };
    let options = RunOptions { configs: [(Role::Tester, off)].into(), ..RunOptions::default() };
    let outputs = contribute::run_with(&contribution(&bench, ISSUE).await, &journal, &options).await.unwrap();
    assert_eq!(double.calls(), 0);
    assert!(matches!(&outputs.ends()[&Role::Tester], StepEnd::Skipped(why) if why.contains("off")));
    assert_eq!(outputs.ends()[&Role::Pr], StepEnd::Done);
}

#[tokio::test]
async fn a_pull_request_opens_without_tests_when_their_agent_failed_and_says_so() {
    let bench = Bench::new();
    let double = Double::new(Role::Tester, &[], failing(ErrorCode::InvalidInput));
    let journal = Journal::unkept(Crew::direct_with(double.alone(), strict()));
    let outputs = contribute::run(&contribution(&bench, ISSUE).await, &journal).await.unwrap();
    let Proposal { draft, commit } = outputs.get(Role::Pr).unwrap();
    assert!(draft.draft && commit.is_some());
    let told = serde_json::to_string(&draft.checks).unwrap();
    assert!(told.contains("the tester agent failed: ERR_001 in a test"), "{told}");
}

#[tokio::test]
async fn s2_25_s2_27_a_document_that_says_it_failed_ends_the_flow_with_its_errors() {
    let bench = Bench::new();
    let mut cx = contribution(&bench, ISSUE).await;
    if let Scene::Contribute(scene) = &mut cx.scene {
        Arc::make_mut(&mut scene.facts).issue.locked = true;
    }
    let served = bench.crew(Registry::builtin(), strict());
    let outputs = contribute::run(&cx, &served.journal()).await.unwrap();
    let stopped = outputs.stopped.as_ref().unwrap();
    assert_eq!((stopped.role, stopped.faults[0].code.as_str()), (Role::Scout, "locked"));
    let document: Value = outputs.get(Role::Scout).unwrap();
    assert_eq!(document["status"], "failed");
    assert_eq!(outputs.in_order().count(), 1);
    assert_eq!(bench.sent_of(AgentName::Scout, MessageType::TaskAssignment).len(), 1, "no answer that may change");
    served.end().await;
}

#[tokio::test(start_paused = true)]
async fn s0_15_a_steps_row_tells_of_each_attempt_with_its_code() {
    let bench = Bench::new();
    let store = bench.store().await;
    let plays = [failing(ErrorCode::ReviewAnalysisFailed), failing(ErrorCode::ReviewAnalysisFailed)];
    let served = bench.crew(Double::new(Role::Debt, &plays, Play::Real).alone(), strict());
    let (journal, run) = bench.kept(&served.crew, &store).await;
    review::run(&bench.review().await, &journal).await.unwrap();
    let steps = store.steps(run).await.unwrap();
    let debt = steps.iter().find(|step| step.name == "debt").unwrap();
    let detail = debt.detail.as_deref().unwrap();
    assert_eq!(debt.state, StepState::Done);
    assert!(detail.starts_with("after 2 failed attempts: REVIEW_001 in a test (REVIEW_001, double)"), "{detail}");
    let facts = steps.iter().find(|step| step.name == FACTS).unwrap();
    assert_eq!(facts.artifact.as_ref().unwrap()["repo"], "octo/calc", "a run can be done again from there");
    served.end().await;
}

#[tokio::test]
async fn s1_20_every_kept_run_leaves_its_result() {
    let bench = Bench::new();
    let store = bench.store().await;
    let good = Crew::direct_with(Registry::builtin(), strict());
    let bad = Crew::direct_with(Double::new(Role::Manager, &[], failing(ErrorCode::InvalidInput)).alone(), strict());
    let half = Crew::direct_with(bad_critical().alone(), strict());
    for (crew, success, results, errors) in [(&good, true, 5, 0), (&half, false, 4, 1), (&bad, false, 0, 1)] {
        let (journal, run) = bench.kept(crew, &store).await;
        let came =
            review::run_with(&bench.review().await, &journal, &RunOptions { force: true, ..RunOptions::default() })
                .await;
        assert!(came.is_ok());
        let shelf = Shelf::new(bench.dir.path().join("runs").join(run.to_string()));
        let result: PipelineResult = shelf.read(RESULT).unwrap().unwrap();
        assert_eq!((result.success, result.results.len(), result.errors.len()), (success, results, errors));
        assert_eq!(result.summary.review_completed, results > 0);
    }
}

#[tokio::test]
async fn a_cancelled_run_keeps_what_is_finished_and_leaves_its_result() {
    let bench = Bench::new();
    let store = bench.store().await;
    let double = Double::new(Role::Explorer, &[], Play::Hang);
    let served = bench.crew(double.alone(), strict());
    let (journal, run) = bench.kept(&served.crew, &store).await;
    let cx = contribution(&bench, ISSUE).await;
    let cancel = async {
        while double.calls() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cx.cancel.cancel();
    };
    let (came, ()) = tokio::join!(contribute::run(&cx, &journal), cancel);
    assert!(came.unwrap_err().is_cancelled());
    let shelf = Shelf::new(bench.dir.path().join("runs").join(run.to_string()));
    let result: PipelineResult = shelf.read(RESULT).unwrap().unwrap();
    let done: Vec<&str> = result.results.iter().map(|output| output.agent_name.as_str()).collect();
    assert_eq!((result.success, done), (false, vec!["scout", "manager", "analyst"]));
    let analysis: Document<octoswarm::artifact::swarm::IssueAnalysis> =
        shelf.read("issue-analysis.json").unwrap().unwrap();
    assert!(analysis.outcome.is_ok());
    bench.settled().await;
    served.end().await;
}
