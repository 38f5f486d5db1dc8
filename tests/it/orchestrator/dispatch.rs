//! What stands in the messages, and who gets them.

use octoswarm::mailbox::content::{Acceptance, Completion};
use octoswarm::pipeline::{contribute, review};

use super::*;

#[tokio::test]
async fn s3_19_a_step_goes_from_its_assignment_to_a_validated_result() {
    let bench = Bench::new();
    let cx = bench.review().await;
    let served = bench.crew(Registry::builtin(), strict());
    let journal = served.journal().about("octo/calc#7".to_owned(), Priority::High);
    review::run(&cx, &journal).await.unwrap();
    bench.settled().await;
    let sent = bench.sent();
    let assignment =
        sent.iter().find(|e| e.message_type == MessageType::TaskAssignment && e.to == AgentName::Critical).unwrap();
    let Ok(Content::TaskAssignment(asked)) = assignment.content() else { panic!("an assignment") };
    let facts = &cx.reviewing().unwrap().facts;
    assert_eq!((asked.task_type.as_str(), asked.focus_area.as_str()), ("pr_review", "octo/calc#7"));
    assert_eq!(asked.timeframe, format!("{}..{}", facts.base, facts.head));
    assert_eq!(asked.target_pairs, ["run.py"]);
    assert_eq!(
        (asked.output_format.as_str(), asked.data_sources),
        ("agent-findings", vec!["facts".into(), "context.json".into()])
    );
    let left = asked.deadline.millis() - bench.clock.now();
    assert!((590_000..=600_000).contains(&left), "ten minutes for all that a reviewer is asked: {left}");
    assert!((left - (assignment.expires_at().unwrap() - bench.clock.now())).abs() <= 1, "{assignment:?}");
    assert_eq!(assignment.priority, Priority::High);

    let task = &assignment.message_id;
    let result =
        sent.iter().find(|e| e.from == AgentName::Critical && e.message_type == MessageType::ResearchResult).unwrap();
    let story: Vec<(AgentName, AgentName, MessageType)> = sent
        .iter()
        .filter(|e| {
            let names = |id: &MessageId| serde_json::to_string(&e.content).unwrap().contains(id.as_str());
            e.message_id == *task
                || names(task)
                || names(&result.message_id)
                || e.reply_to.as_ref().is_some_and(|id| {
                    sent.iter().any(|o| {
                        o.message_id == *id
                            && serde_json::to_string(&o.content).unwrap().contains(result.message_id.as_str())
                    })
                })
        })
        .map(|e| (e.from, e.to, e.message_type))
        .collect();
    let (pm, critical, validator) = (AgentName::ProductManager, AgentName::Critical, AgentName::ValidatorAgent);
    assert_eq!(
        story,
        [
            (pm, critical, MessageType::TaskAssignment),
            (critical, pm, MessageType::TaskAcceptance),
            (critical, pm, MessageType::ResearchResult),
            (pm, validator, MessageType::ValidationRequest),
            (validator, pm, MessageType::ValidationResult),
        ]
    );
    let Ok(Content::ResearchResult(said)) = result.content() else { panic!("a result") };
    let body = &said.raw_data["body"];
    let found = body["result"]["findings"].as_array().unwrap().len() as u64;
    assert_eq!(
        (said.status, said.confidence_score.get(), said.data_points_collected),
        (Completion::Completed, 1.0, found)
    );
    assert_eq!(body["agentName"], "critical");
    assert_eq!(
        said.raw_data["bytes"],
        serde_json::to_vec(&serde_json::from_value::<AgentOutput>(body.clone()).unwrap()).unwrap().len()
    );
    served.end().await;
}

#[tokio::test]
async fn a_review_by_messages_is_the_review_without_them() {
    let bench = Bench::new();
    let direct = Journal::unkept(Crew::direct(Registry::builtin()));
    let without = review::run(&bench.review().await, &direct).await.unwrap();
    let served = bench.crew(Registry::builtin(), strict());
    let with = review::run(&bench.review().await, &served.journal()).await.unwrap();
    assert_eq!(serde_json::to_string(&with).unwrap(), serde_json::to_string(&without).unwrap());
    assert!(with.findings.len() >= 3, "{:?}", with.findings);
    served.end().await;
}

#[tokio::test]
async fn a_contribution_by_messages_is_the_one_without_them() {
    let bench = Bench::new();
    let issue = "run.py compares with None\n\nReplace `x == None` by `x is None` in run.py.";
    let cx = contribution(&bench, issue).await;
    let direct = Journal::unkept(Crew::direct(Registry::builtin()));
    let without = contribute::run(&cx, &direct).await.unwrap();
    let served = bench.crew(Registry::builtin(), strict());
    let with = contribute::run(&contribution(&bench, issue).await, &served.journal()).await.unwrap();
    for role in [Role::Scout, Role::Analyst, Role::Explorer, Role::Coder, Role::Tester, Role::Docs, Role::Pr] {
        let (with, without): (Value, Value) = (with.get(role).unwrap(), without.get(role).unwrap());
        assert_eq!(with.to_string(), without.to_string(), "{}", role.name());
    }
    let change: Value = with.get(Role::Coder).unwrap();
    assert_eq!(change["commit_ready"], true, "{change:#}");
    served.end().await;
}

#[tokio::test(start_paused = true)]
async fn s3_20_a_failed_task_goes_to_the_other_worker() {
    let bench = Bench::new();
    let double = Double::new(Role::Analyst, &[failing(ErrorCode::ApiRateLimit)], Play::Real);
    let served = bench.crew(double.alone(), strict());
    let cx = contribution(&bench, "Replace `x == None` by `x is None` in run.py.").await;
    contribute::run(&cx, &served.journal()).await.unwrap();
    bench.settled().await;
    let (first, second) = (AgentName::ResearchAgent1, AgentName::ResearchAgent2);
    let story: Vec<(AgentName, AgentName, MessageType)> = bench
        .sent()
        .iter()
        .map(|e| (e.from, e.to, e.message_type))
        .filter(|(from, to, _)| [from, to].iter().any(|name| [first, second].contains(name)))
        .take(6)
        .collect();
    let pm = AgentName::ProductManager;
    assert_eq!(
        story,
        [
            (pm, first, MessageType::TaskAssignment),
            (first, pm, MessageType::TaskAcceptance),
            (first, pm, MessageType::ErrorReport),
            (pm, second, MessageType::TaskAssignment),
            (second, pm, MessageType::TaskAcceptance),
            (second, pm, MessageType::ResearchResult),
        ]
    );
    let Ok(Content::ErrorReport(report)) = bench.sent_of(first, MessageType::ErrorReport)[0].content() else {
        panic!()
    };
    assert_eq!((report.error_type.as_str(), report.context["code"].as_str()), ("api_failure", Some("API_002")));
    assert_eq!(report.recovery_action.as_deref(), Some("reassign"));
    served.end().await;
}

#[tokio::test(start_paused = true)]
async fn s3_20_a_lost_deadline_gives_the_task_to_the_other_worker() {
    let bench = Bench::new();
    let double = Double::new(Role::Explorer, &[Play::Hang], Play::Real);
    let served = bench.crew(double.alone(), strict());
    let cx = contribution(&bench, "Replace `x == None` by `x is None` in run.py.").await;
    let began = tokio::time::Instant::now();
    contribute::run(&cx, &served.journal()).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 601);
    assert!(double.cancelled.is_cancelled(), "nobody works for nobody");
    let to = |agent| {
        let of_explorer = |e: &Envelope| e.content["task_type"] == "codebase_map";
        bench.sent_of(agent, MessageType::TaskAssignment).into_iter().filter(of_explorer).count()
    };
    assert_eq!((to(AgentName::ResearchAgent1), to(AgentName::ResearchAgent2)), (1, 1));
    bench.settled().await;
    served.end().await;
}

#[tokio::test]
async fn what_belongs_to_no_run_is_answered_and_put_away() {
    let bench = Bench::new();
    let bus = bench.bus();
    // Left by a life that was killed, or put there by hand.
    let assignment = r#"{"task_type": "code_changes", "focus_area": "octo/calc#7", "target_pairs": [], "timeframe": "now",
        "data_sources": [], "deadline": "2030-01-01T00:00:00Z", "output_format": "code-changes.json"}"#;
    let assignment = Draft::untyped(
        AgentName::ProductManager,
        AgentName::Coder,
        MessageType::TaskAssignment,
        serde_json::from_str(assignment).unwrap(),
    );
    let left = bus.send(assignment).await.unwrap();
    let result = serde_json::json!({
        "task_id": left.message_id, "status": "completed", "execution_time_minutes": 0.1, "data_points_collected": 1,
        "sources_accessed": [], "key_findings": [], "raw_data": {"body": {}}, "confidence_score": 1.0,
        "data_freshness_hours": 0.0, "warnings": []
    });
    let Value::Object(result) = result else { panic!() };
    let late = Draft::untyped(AgentName::Coder, AgentName::ProductManager, MessageType::ResearchResult, result);
    bus.send(late).await.unwrap();
    let served = bench.crew(Registry::builtin(), strict());
    review::run(&bench.review().await, &served.journal()).await.unwrap();
    bench.settled().await;
    let sent = || bench.sent_of(AgentName::Coder, MessageType::TaskAcceptance);
    // A message leaves its inbox before its answer is written.
    for _ in 0..2000 {
        if !sent().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let answers = sent();
    let Ok(Content::TaskAcceptance(answer)) = answers[0].content() else { panic!() };
    assert_eq!((answer.status, answers.len()), (Acceptance::Rejected, 1));
    assert!(answer.rejection_reason.unwrap().contains("no run of this server"));
    let failed = std::fs::read_dir(bench.messages().join("failed")).into_iter().flatten().flatten();
    let failed: Vec<_> = failed.map(|entry| (entry.file_name(), std::fs::read_to_string(entry.path()))).collect();
    assert!(failed.is_empty(), "nothing of it is an error: {failed:#?}");
    served.end().await;
}

#[tokio::test]
async fn several_runs_share_the_agents_and_what_is_beyond_their_capacity_waits() {
    let bench = Bench::new();
    let served = bench.crew(Registry::builtin(), Settings { capacity: 1, ..strict() });
    let contexts = [bench.review().await, bench.review().await, bench.review().await];
    let journals: Vec<Journal> = contexts.iter().map(|_| served.journal()).collect();
    let runs = contexts.iter().zip(&journals).map(|(cx, journal)| review::run(cx, journal));
    let reports = futures::future::join_all(runs).await;
    let reports: Vec<String> = reports.into_iter().map(|r| serde_json::to_string(&r.unwrap()).unwrap()).collect();
    assert!(reports.iter().all(|report| *report == reports[0]));
    let queued = |e: &Envelope| e.message_type == MessageType::TaskAcceptance && e.content["status"] == "queued";
    assert!(bench.sent().iter().any(queued), "one at a time");
    served.end().await;
}

#[tokio::test]
async fn a_result_that_is_too_large_for_a_message_lies_beside_it_for_as_long_as_it_is_needed() {
    let many: String = (0..900).map(|n| format!("def run{n}(text):\n    return eval(text + '{n}')\n\n\n")).collect();
    let bench = Bench::of(OLD, &many);
    let served = bench.crew(Registry::builtin(), strict());
    let report = review::run(&bench.review().await, &served.journal()).await.unwrap();
    assert!(report.findings.len() >= 900);
    let results = bench.sent_of(AgentName::Critical, MessageType::ResearchResult);
    let raw = &results[0].content["raw_data"];
    assert!(raw.get("body").is_none() && raw["bytes"].as_u64() > Some(256 * 1024), "{raw}");
    assert!(raw["path"].as_str().unwrap().starts_with(bench.inputs().to_str().unwrap()));
    assert!(files(&bench.inputs(), "json").is_empty(), "removed when the step had ended");
    served.end().await;
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_are_given_every_half_minute_and_the_state_every_five() {
    let bench = Bench::new();
    let served = bench.crew(Registry::builtin(), strict());
    tokio::time::sleep(Duration::from_secs(10 * 60 + 1)).await;
    let of = |kind| bench.sent_of(AgentName::ProductManager, kind);
    assert_eq!((of(MessageType::Heartbeat).len(), of(MessageType::SystemStatus).len()), (20, 2));
    let status = &of(MessageType::SystemStatus)[1];
    assert_eq!((status.priority, &status.content["agent_status"]), (Priority::Low, &"healthy".into()));
    assert_eq!(served.crew.trouble(), None);
    served.end().await;
}

/// What a contribution on the bench's head starts from.
pub(super) async fn contribution(bench: &Bench, issue: &str) -> Context {
    let tree = local::change(&bench.repo, Some("topic"), Some("topic")).await.unwrap().head_tree();
    let (title, body) = issue.split_once('\n').unwrap_or((issue, issue));
    let facts = serde_json::json!({
        "repository": {"owner": "octo", "name": "calc", "url": "https://github.com/octo/calc", "default_branch": "main",
            "language": "Python", "stars": 1, "license": "MIT"},
        "base": tree.commit(),
        "issue": {"number": 7, "url": "https://github.com/octo/calc/issues/7", "title": title, "body": body.trim(),
            "labels": ["swarm"], "author": "ada", "created_at": "2026-11-01T00:00:00Z", "comments": 0, "locked": false,
            "is_pull": false},
        "asked_by": "ada", "candidates": [], "linked": [],
        "settings": octoswarm::artifact::facts::ContributeSettings::default(),
        "warnings": []
    });
    Context {
        engine: Engine::embedded().unwrap(),
        cancel: CancellationToken::new(),
        clock: bench.clock.clone(),
        scene: Scene::Contribute(agent::Contributing::new(tree, serde_json::from_value(facts).unwrap())),
    }
}
