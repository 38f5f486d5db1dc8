//! Programs outside that play an agent's role: what they are given, and what of theirs is taken.

use octoswarm::artifact::{AgentFindings, Form, ReviewReport};
use octoswarm::domain::Category;
use octoswarm::pipeline::run::RUN;
use octoswarm::pipeline::{Error, RunOptions, StepEnd, review};
use serde_json::json;

use super::*;

/// A program beside the server, with a bus of its own over the same folder.
struct Program {
    bus: Bus,
    me: AgentName,
}

/// A task as the program got it.
struct Given {
    envelope: Envelope,
    input: Value,
    place: PathBuf,
}

impl Program {
    fn of(bench: &Bench, me: AgentName) -> Self {
        let options = Options { poll: Duration::from_millis(20), ..Options::default() };
        Self { bus: Bus::open(bench.messages(), bench.clock.clone(), options).unwrap(), me }
    }

    async fn next(&self) -> Given {
        let mut mailbox = self.bus.mailbox(self.me).await.unwrap();
        loop {
            mailbox.wait().await;
            while let Some(claim) = mailbox.claim().await.unwrap() {
                let (envelope, content) = (claim.envelope().clone(), claim.content().clone());
                claim.ack().await.unwrap();
                if let Content::TaskAssignment(asked) = content {
                    let place = PathBuf::from(&asked.data_sources[0]);
                    let input = serde_json::from_slice(&std::fs::read(&place).unwrap()).unwrap();
                    return Given { envelope, input, place };
                }
            }
        }
    }

    /// Answers with `raw_data`, and with what `more` says otherwise.
    async fn answer(&self, task: &Envelope, raw_data: Value, more: Value) {
        let mut content = json!({
            "task_id": task.message_id, "status": "completed", "execution_time_minutes": 0.1, "data_points_collected": 1,
            "sources_accessed": [], "key_findings": [], "raw_data": raw_data, "confidence_score": 1.0,
            "data_freshness_hours": 0.0, "warnings": []
        });
        content.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let content = content.as_object().unwrap().clone();
        let draft = Draft::untyped(self.me, task.from, MessageType::ResearchResult, content);
        // The program counts under a code that the server uses too where it speaks for that agent; here it does not.
        self.bus.send(draft.reply_to(task.message_id.clone())).await.unwrap();
    }

    async fn reject(&self, task: &Envelope, why: &str) {
        let content = json!({
            "task_id": task.message_id, "status": "rejected", "estimated_completion": "2030-01-01T00:00:00Z",
            "agent_capacity": 1.0, "rejection_reason": why
        });
        let content = content.as_object().unwrap().clone();
        let draft = Draft::untyped(self.me, task.from, MessageType::TaskAcceptance, content);
        self.bus.send(draft.reply_to(task.message_id.clone())).await.unwrap();
    }
}

/// What the debt reviewer says when it finds one thing of its own.
async fn finding(bench: &Bench) -> Value {
    let direct = Journal::unkept(Crew::direct(Registry::builtin()));
    let report = review::run(&bench.review().await, &direct).await.unwrap();
    let mut finding = report.findings.into_iter().next().unwrap();
    finding.category = Category::Debt;
    finding.message = "Found by a program outside.".to_owned();
    serde_json::to_value(AgentFindings { category: finding.category, findings: vec![finding] }).unwrap()
}

async fn reviewed(bench: &Bench, served: &Served) -> Result<ReviewReport, Error> {
    review::run(&bench.review().await, &served.journal()).await
}

fn said(report: &ReviewReport) -> Vec<&str> {
    report.findings.iter().filter(|f| f.category.name() == "debt").map(|f| f.message.as_str()).collect()
}

#[tokio::test]
async fn a_program_outside_plays_an_agents_role() {
    let bench = Bench::new();
    let document = finding(&bench).await;
    let served = bench.crew(Registry::builtin(), outside(&[AgentName::Debt]));
    let program = Program::of(&bench, AgentName::Debt);
    let play = async {
        let task = program.next().await;
        assert_eq!(task.place.parent(), Some(bench.inputs().as_path()));
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&task.place).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        let faults = Form::of::<AgentInput>().check(&task.input);
        assert!(task.input["history"][0]["agentName"] == "manager" && !task.input["facts"].is_null(), "{faults:?}");
        program.answer(&task.envelope, json!({ "body": document }), json!({})).await;
        task.place
    };
    let (report, place) = tokio::join!(reviewed(&bench, &served), play);
    assert_eq!(said(&report.unwrap()), ["Found by a program outside."]);
    assert!(!place.exists(), "removed when the step had ended");
    bench.settled().await;
    served.end().await;
}

#[tokio::test]
async fn a_program_may_answer_with_a_whole_output_in_a_file() {
    let bench = Bench::new();
    let output = json!({
        "agentName": "debt-agent", "timestamp": "2026-11-21T10:00:00Z", "status": "partial",
        "result": finding(&bench).await, "metadata": {"durationMs": 5, "tokenUsage": {"input": 1, "output": 2, "total": 3}}
    });
    let served = bench.crew(Registry::builtin(), outside(&[AgentName::Debt]));
    let program = Program::of(&bench, AgentName::Debt);
    let play = async {
        let task = program.next().await;
        let bytes = serde_json::to_vec(&output).unwrap();
        let path = bench.inputs().join(format!("{}.result.json", task.envelope.message_id));
        std::fs::write(&path, &bytes).unwrap();
        let raw = json!({ "path": path, "sha256": sha256(&bytes), "bytes": bytes.len() });
        program.answer(&task.envelope, raw, json!({ "status": "partial" })).await;
        path
    };
    let (report, path) = tokio::join!(reviewed(&bench, &served), play);
    assert_eq!(said(&report.unwrap()), ["Found by a program outside."]);
    assert!(!path.exists());
    served.end().await;
}

fn sha256(bytes: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Answers both attempts with this; what the report says of the reviewer, and why each message was refused.
async fn refused(raw: impl Fn(&Bench, &Given) -> Value) -> (String, Vec<Value>) {
    let bench = Bench::new();
    let fast = Settings {
        backoff: Backoff { base: Duration::from_millis(1), ..strict().backoff },
        ..outside(&[AgentName::Debt])
    };
    let served = bench.crew(Registry::builtin(), fast);
    let program = Program::of(&bench, AgentName::Debt);
    let play = async {
        for _ in 0..2 {
            let task = program.next().await;
            program.answer(&task.envelope, raw(&bench, &task), json!({})).await;
        }
    };
    let (report, ()) = tokio::join!(reviewed(&bench, &served), play);
    let absent = report.unwrap().coverage.unreviewed().join("; ");
    let reasons = files(&bench.messages().join("failed"), "json").into_iter();
    let reasons = reasons.filter(|path| path.to_str().unwrap().ends_with(".error.json"));
    let reasons = reasons.map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect();
    served.end().await;
    (absent, reasons)
}

#[tokio::test]
async fn an_answer_that_does_not_fit_fails_the_step_with_every_fault_after_one_more_attempt() {
    let (absent, reasons) = refused(|_, _| json!({ "body": {"category": "debt", "findings": [{}]} })).await;
    assert!(absent.contains("the debt reviewer failed") && absent.contains("ERR_002"), "{absent}");
    assert_eq!(reasons.len(), 2, "both messages lie in failed/");
    assert!(reasons[0]["reason"].as_str().unwrap().contains("not valid"), "{reasons:#?}");
}

#[tokio::test]
async fn an_answer_about_a_file_outside_the_change_is_refused_by_the_validator() {
    let bench = Bench::new();
    let mut document = finding(&bench).await;
    document["findings"][0]["path"] = "elsewhere.py".into();
    let (absent, reasons) = refused(|_, _| json!({ "body": document })).await;
    assert!(absent.contains("elsewhere.py:") && absent.contains("not a file of the change"), "{absent}");
    assert!(reasons[0]["details"][0].as_str().unwrap().contains("not a file of the change"), "{reasons:#?}");
}

#[tokio::test]
async fn a_file_is_taken_only_from_its_folder_without_links_and_as_it_was_announced() {
    type Raw = fn(&Bench, &Given) -> Value;
    let cases: [(Raw, &str); 6] = [
        (|bench, _| json!({"path": bench.repo.join("run.py"), "sha256": "00", "bytes": 3}), "does not lie in"),
        (|_, _| json!({"path": "../repo/run.py", "sha256": "00", "bytes": 3}), "does not lie in"),
        (
            |bench, task| {
                let link = bench.inputs().join(format!("{}.link.json", task.envelope.message_id));
                std::os::unix::fs::symlink(bench.repo.join("run.py"), &link).unwrap();
                json!({"path": link, "sha256": "00", "bytes": 3})
            },
            "not a plain file",
        ),
        (|_, task| json!({"path": task.place, "sha256": "00", "bytes": 3}), "does not have the 3 bytes"),
        (
            |_, task| {
                let bytes = std::fs::metadata(&task.place).unwrap().len();
                json!({"path": task.place, "sha256": "00", "bytes": bytes})
            },
            "digest",
        ),
        (|_, task| json!({"path": task.place}), "sha256: is missing"),
    ];
    for (raw, want) in cases {
        let (absent, reasons) = refused(raw).await;
        let told = serde_json::to_string(&reasons).unwrap();
        assert!(told.contains(want) && absent.contains("ERR_002"), "{want}: {told} {absent}");
    }
}

#[tokio::test]
async fn who_was_not_asked_cannot_answer_for_another() {
    let bench = Bench::new();
    let document = finding(&bench).await;
    let served = bench.crew(Registry::builtin(), outside(&[AgentName::Debt, AgentName::Critical]));
    let (program, stranger) = (Program::of(&bench, AgentName::Debt), Program::of(&bench, AgentName::Critical));
    let play = async {
        let (task, other) = (program.next().await, stranger.next().await);
        stranger.answer(&task.envelope, json!({ "body": document }), json!({})).await;
        let nothing = json!({ "body": {"category": "debt", "findings": []} });
        program.answer(&task.envelope, nothing, json!({})).await;
        let nothing = json!({ "body": {"category": "critical", "findings": []} });
        stranger.answer(&other.envelope, nothing, json!({})).await;
    };
    let (report, ()) = tokio::join!(reviewed(&bench, &served), play);
    let report = report.unwrap();
    assert!(said(&report).is_empty() && report.coverage.absent.is_empty(), "{:?}", report.coverage);
    let failed = files(&bench.messages().join("failed"), "json");
    assert!(failed.iter().any(|path| path.to_str().unwrap().ends_with(".error.json")), "{failed:?}");
    served.end().await;
}

#[tokio::test]
async fn one_worker_of_the_pool_may_be_outside_and_an_error_report_gives_its_task_to_the_other() {
    let bench = Bench::new();
    let settings = Settings {
        backoff: Backoff { base: Duration::from_millis(1), ..strict().backoff },
        ..outside(&[AgentName::ResearchAgent1])
    };
    let served = bench.crew(Registry::builtin(), settings);
    let program = Program::of(&bench, AgentName::ResearchAgent1);
    let play = async {
        for _ in 0..2 {
            let task = program.next().await;
            let report = json!({
                "error_type": "api_failure", "error_message": "the model is away", "context": {"code": "API_002"},
                "impact_level": "medium", "recovery_action": "reassign", "related_task_id": task.envelope.message_id
            });
            let report = report.as_object().unwrap().clone();
            let draft = Draft::untyped(program.me, task.envelope.from, MessageType::ErrorReport, report);
            program.bus.send(draft).await.unwrap();
        }
    };
    let cx = super::dispatch::contribution(&bench, "Replace `x == None` by `x is None` in run.py.").await;
    let journal = served.journal();
    let (outputs, ()) = tokio::join!(octoswarm::pipeline::contribute::run(&cx, &journal), play);
    assert!(outputs.unwrap().get::<Value>(Role::Pr).is_ok());
    let taken = bench.sent_of(AgentName::ResearchAgent2, MessageType::ResearchResult);
    assert_eq!(taken.len(), 2, "analyst and explorer");
    served.end().await;
}

#[tokio::test]
async fn s3_20_a_task_that_one_worker_rejects_goes_to_the_other() {
    let bench = Bench::new();
    let settings = Settings {
        backoff: Backoff { base: Duration::from_millis(1), ..strict().backoff },
        ..outside(&[AgentName::ResearchAgent1])
    };
    let served = bench.crew(Registry::builtin(), settings);
    let program = Program::of(&bench, AgentName::ResearchAgent1);
    let play = async {
        for _ in 0..2 {
            let task = program.next().await;
            program.reject(&task.envelope, "I do not speak Python").await;
        }
    };
    let cx = super::dispatch::contribution(&bench, "Replace `x == None` by `x is None` in run.py.").await;
    let store = bench.store().await;
    let (journal, run) = bench.kept(&served.crew, &store).await;
    let (outputs, ()) = tokio::join!(octoswarm::pipeline::contribute::run(&cx, &journal), play);
    assert!(outputs.unwrap().get::<Value>(Role::Pr).is_ok());
    let taken = bench.sent_of(AgentName::ResearchAgent2, MessageType::ResearchResult);
    assert_eq!(taken.len(), 2, "analyst and explorer");
    let steps = store.steps(run).await.unwrap();
    for name in ["analyst", "explorer"] {
        let step = steps.iter().find(|step| step.name == name).unwrap();
        let detail = step.detail.as_deref().unwrap_or_default();
        assert!(detail.contains("1 failed attempt") && detail.contains("I do not speak Python"), "{name}: {detail}");
    }
    served.end().await;
}

#[tokio::test]
async fn s3_20_a_task_that_nobody_else_does_fails_with_the_reason_of_who_rejected_it() {
    let bench = Bench::new();
    let served = bench.crew(Registry::builtin(), outside(&[AgentName::Debt]));
    let program = Program::of(&bench, AgentName::Debt);
    let play = async {
        let task = program.next().await;
        program.reject(&task.envelope, "on\nstrike\u{1b}[2J").await;
    };
    let (report, ()) = tokio::join!(reviewed(&bench, &served), play);
    let absent = report.unwrap().coverage.unreviewed();
    assert_eq!(absent, ["the debt reviewer failed: the task was rejected: on strike⟨U+001B⟩[2J (rejected)"]);
    assert_eq!(bench.sent_of(AgentName::Debt, MessageType::TaskAssignment).len(), 1, "who said no is not asked again");
    served.end().await;
}

#[tokio::test]
async fn s1_4_a_task_that_its_agent_cannot_handle_is_rejected_and_the_run_says_so() {
    let bench = Bench::new();
    let double = Double { takes_tasks: false, ..Double::new(Role::Coder, &[], Play::Real) };
    let served = bench.crew(double.alone(), strict());
    let cx = super::dispatch::contribution(&bench, "Replace `x == None` by `x is None` in run.py.").await;
    let task = json!({
        "id": "1.1", "title": "Compare by identity", "description": "", "type": "bugfix", "estimatedEffort": 1.0,
        "status": "planned", "acceptanceCriteria": [], "inputDependencies": [], "outputDependencies": [], "affectedModules": []
    });
    let task: octoswarm::artifact::plan::Task = serde_json::from_value(task).unwrap();
    let options = RunOptions { task: Some(task), ..RunOptions::default() };
    let facts = &cx.contributing().unwrap().facts;
    let outputs = RUN.run(&cx, &served.journal(), &**facts, &options).await.unwrap();
    let Some(StepEnd::Failed(error)) = outputs.ends().get(&Role::Coder) else { panic!("{:?}", outputs.ends()) };
    assert_eq!((error.code.as_str(), double.calls()), ("rejected", 0));
    assert!(error.message.contains("the coder agent does not work on tasks of the type of task 1.1"), "{error}");
    let answers = bench.sent_of(AgentName::Coder, MessageType::TaskAcceptance);
    assert_eq!((answers.len(), &answers[0].content["status"]), (1, &json!("rejected")));
    assert!(matches!(outputs.ends()[&Role::Pr], StepEnd::Skipped(_)), "{:?}", outputs.ends());
    served.end().await;
}
