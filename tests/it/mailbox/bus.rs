//! Messages on their way: written, in order, claimed, acknowledged, kept.

use std::collections::{BTreeSet, HashSet};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use octoswarm::domain::Clock;
use octoswarm::mailbox::content::{
    Acceptance, AgentStatus, Completion, Heartbeat, Phase, ResearchResult, SystemStatus, TaskAcceptance, TaskProgress,
    TaskStatus, ValidationIssue, ValidationRequest, ValidationResult, ValidationType, Version,
};
use octoswarm::mailbox::{
    AgentName, Amount, Bus, Content, Draft, Envelope, Error, Fraction, MAX_BYTES, MAX_PENDING, MessageId, MessageType,
    Options, Percent, Priority, Swept, Timestamp, validate_message,
};
use serde_json::{Value, json};

use super::*;

#[tokio::test]
async fn s3_02_and_s3_16_a_message_has_an_id_that_counts_and_is_called_by_it() {
    let post = Post::new();
    let first = post.send(task("a").priority(Priority::High)).await;
    let second = post.send(task("b")).await;
    let other = post.send(Draft::new(AgentName::ValidatorAgent, CODER, report("c"))).await;
    assert_eq!(first.message_id.as_str(), "pm_20270115_080000_001");
    assert_eq!(second.message_id.as_str(), "pm_20270115_080000_002");
    assert_eq!(other.message_id.as_str(), "val_20270115_080000_001");
    let written = post.json("inbox/coder/pm_20270115_080000_001.json");
    assert_eq!(
        written,
        json!({
            "message_id": "pm_20270115_080000_001", "from": "product_manager", "to": "coder", "type": "task_assignment",
            "timestamp": "2027-01-15T08:00:00Z", "content": assignment("a"), "priority": "high",
        })
    );
    assert_eq!(post.json("inbox/coder/pm_20270115_080000_002.json")["priority"], "normal");
    assert_eq!(post.bus.receive(CODER).await.unwrap(), [first, second, other]);
}

#[tokio::test]
async fn s3_03_every_agent_but_the_webhook_receives_and_all_of_them_send() {
    let post = Post::new();
    for agent in AgentName::ALL {
        post.send(Draft::new(agent, PM, report("from all"))).await;
        let sent = post.bus.send(Draft::new(PM, agent, report("to all"))).await;
        if agent == AgentName::Webhook {
            let error = sent.unwrap_err();
            assert!(matches!(error, Error::CannotReceive { .. }) && error.hint().is_some(), "{error}");
            assert!(post.bus.mailbox(agent).await.is_err());
        } else {
            sent.unwrap();
        }
    }
    assert_eq!(post.names("outbox").len(), 20);
    assert_eq!(post.names("inbox").len(), 19);
    let senders: HashSet<AgentName> =
        post.bus.receive(PM).await.unwrap().iter().map(|envelope| envelope.from).collect();
    assert_eq!(senders.len(), 20);
}

#[tokio::test]
async fn s3_04_the_urgent_come_first_then_the_old_then_by_id() {
    let post = Post::new();
    for (text, priority) in
        [("low", Priority::Low), ("n1", Priority::Normal), ("n2", Priority::Normal), ("high", Priority::High)]
    {
        post.send(task(text).priority(priority)).await;
    }
    post.clock.advance(SECOND);
    for (text, priority) in [("late high", Priority::High), ("urgent", Priority::Urgent)] {
        post.send(task(text).priority(priority)).await;
    }
    let early = file("coder_20270115_080100_001", |message| message["timestamp"] = json!("2027-01-15T07:59:59.999"));
    post.drop_in(CODER, "coder_20270115_080100_001.json", &early);
    let mut order = Vec::new();
    while let Some(claim) = post.bus.claim(CODER).await.unwrap() {
        order.push(text_of(claim.envelope()));
        claim.ack().await.unwrap();
    }
    assert_eq!(order, ["urgent", "high", "late high", "from outside", "n1", "n2", "low"]);
}

#[tokio::test]
async fn s3_04_one_that_comes_late_and_is_more_urgent_is_the_next() {
    let post = Post::new();
    for text in ["1", "2", "3"] {
        post.send(task(text)).await;
    }
    post.claim(CODER).await.ack().await.unwrap();
    post.send(task("now").priority(Priority::Urgent)).await;
    let order: Vec<String> = post.bus.receive(CODER).await.unwrap().iter().map(text_of).collect();
    assert_eq!(order, ["now", "2", "3"]);
}

#[tokio::test]
async fn s3_05_to_s3_14_each_of_the_nine_contents_arrives_as_it_was_sent() {
    let post = Post::new();
    let time = Timestamp::from_millis(START + 1);
    let id = MessageId::parse("pm_20241220_150000_001").unwrap();
    let share = Fraction::new(0.25).unwrap();
    let amount = Amount::new(1.5).unwrap();
    let words = vec!["a".to_owned(), "b".to_owned()];
    let map = json!({"x": {"y": [1, null, "z"]}}).as_object().unwrap().clone();
    let contents: Vec<Content> = vec![
        assignment("").into(),
        TaskAcceptance {
            task_id: id.clone(),
            status: Acceptance::Rejected,
            estimated_completion: time,
            agent_capacity: share,
            rejection_reason: Some("busy".into()),
        }
        .into(),
        TaskProgress {
            task_id: id.clone(),
            status: TaskStatus::InProgress,
            percent: Percent::new(50.0).unwrap(),
            phase: Phase::PrCreation,
            message: "half".into(),
            artifact: None,
        }
        .into(),
        ResearchResult {
            task_id: id.clone(),
            status: Completion::Partial,
            execution_time_minutes: amount,
            data_points_collected: u64::MAX,
            sources_accessed: words.clone(),
            key_findings: Vec::new(),
            raw_data: map.clone(),
            confidence_score: share,
            data_freshness_hours: amount,
            warnings: words.clone(),
        }
        .into(),
        ValidationRequest {
            research_results_to_validate: vec![id.clone()],
            validation_type: ValidationType::FactCheck,
            validation_sources: words.clone(),
            priority_areas: words.clone(),
            deadline: time,
        }
        .into(),
        ValidationResult {
            validation_id: id.clone(),
            research_results_validated: vec![id.clone()],
            overall_confidence: share,
            issues_found: vec![ValidationIssue {
                issue_type: "conflict".into(),
                severity: Level::Critical,
                description: "two truths".into(),
                affected_data: map.clone(),
                recommendation: "ask".into(),
                confidence: share,
            }],
            validated_findings: words.clone(),
            execution_time_minutes: amount,
            sources_consulted: words,
        }
        .into(),
        report("502").into(),
        Heartbeat {
            agent_version: Version::default(),
            uptime_seconds: amount,
            last_activity: time,
            health_score: share,
        }
        .into(),
        SystemStatus {
            agent_status: AgentStatus::Degraded,
            cpu_usage_percent: amount,
            memory_usage_mb: amount,
            active_tasks: 1,
            completed_tasks_today: 2,
            error_count_today: 3,
            last_successful_operation: time,
            performance_metrics: [("p99".to_owned(), 4.5)].into(),
        }
        .into(),
    ];
    let types: BTreeSet<&str> = contents.iter().map(|content| content.message_type().as_str()).collect();
    assert_eq!(types.len(), 9);
    for content in contents {
        let sent = post.send(Draft::new(CODER, PM, content.clone())).await;
        let low = matches!(content, Content::Heartbeat(_) | Content::SystemStatus(_));
        assert_eq!(sent.priority, if low { Priority::Low } else { Priority::Normal });
        assert!(validate_message(&post.json(&format!("inbox/product_manager/{}.json", sent.message_id))));
        let claim = post.claim(PM).await;
        assert_eq!((claim.envelope(), claim.content()), (&sent, &content));
        claim.ack().await.unwrap();
    }
}

#[tokio::test]
async fn s3_06_a_message_of_another_program_may_be_spelled_its_way() {
    let post = Post::new();
    let id = "product_manager_20270115_080000_0a1b2c";
    let text = file(id, |message| {
        let map = message.as_object_mut().unwrap();
        for name in ["from", "to"] {
            let agent = map.remove(name).unwrap();
            map.insert(format!("{name}_agent"), agent);
        }
        map.insert("timestamp".into(), json!("2027-01-15T08:00:00.123456"));
        map.insert("priority".into(), json!("normal"));
        map.insert("reply_to".into(), Value::Null);
        map.insert("timeout".into(), Value::Null);
        map.insert("signature".into(), json!("unknown"));
    });
    post.drop_in(CODER, &format!("{id}.json"), &text);
    let claim = post.claim(CODER).await;
    assert_eq!((claim.envelope().from, claim.envelope().message_id.as_str()), (PM, id));
    assert_eq!(claim.envelope().timestamp.to_string(), "2027-01-15T08:00:00.123456Z");
    claim.ack().await.unwrap();
    assert_eq!(post.names("processed"), [format!("{id}.json")]);
}

#[tokio::test]
async fn s3_06_other_languages_may_begin_a_text_with_a_mark_and_write_whole_numbers_their_way() {
    let post = Post::new();
    let id = "tester_20270115_075900_0a1b2c";
    let result = json!({
        "message_id": id, "from": "tester", "to": "coder", "type": "research_result", "timestamp": "2027-01-15T07:59:00Z",
        "content": {
            "task_id": "pm_20270115_075800_001", "status": "completed", "execution_time_minutes": 1,
            "data_points_collected": 3.0, "sources_accessed": [], "key_findings": [], "raw_data": {},
            "confidence_score": 1, "data_freshness_hours": 0, "warnings": [],
        },
    });
    post.drop_in(CODER, &format!("{id}.json"), &format!("\u{feff}{}", result.to_string().replace(',', ",\r\n")));
    let claim = post.claim(CODER).await;
    let Content::ResearchResult(result) = claim.content() else { panic!("{:?}", claim.content()) };
    assert_eq!(result.data_points_collected, 3);
    claim.ack().await.unwrap();
}

#[tokio::test]
async fn s3_15_and_s3_18_folders_are_made_when_they_are_needed_for_their_owner_alone() {
    let post = Post::new();
    assert_eq!(post.names(""), [""; 0]);
    post.nothing_for(CODER).await;
    assert_eq!(post.names(""), [""; 0], "looking makes no folder");
    let sent = post.send(task("a")).await;
    let file = format!("{}.json", sent.message_id);
    assert_eq!(post.names(""), ["inbox", "outbox"]);
    assert_eq!(post.names("inbox/coder"), [file.as_str()]);
    assert_eq!(post.names("outbox/product_manager"), [file.as_str()]);
    let copy = post.json(&format!("outbox/product_manager/{file}"));
    assert_eq!(copy, post.json(&format!("inbox/coder/{file}")));
    post.claim(CODER).await.ack().await.unwrap();
    assert_eq!((post.names("inbox/coder"), post.names("processed")), (vec![], vec![file.clone()]));
    assert_eq!(post.names("outbox/product_manager"), [file.as_str()], "the copy stays");
    let mode = |path: &str| post.path(path).metadata().unwrap().permissions().mode() & 0o777;
    for folder in ["", "inbox", "inbox/coder", "outbox/product_manager", "processed"] {
        assert_eq!(mode(folder), 0o700, "{folder}");
    }
    assert_eq!(mode(&format!("processed/{file}")), 0o600);
}

#[tokio::test]
async fn s3_01_and_s3_17_whoever_looks_sees_whole_messages_only() {
    let post = Post::new();
    let (inbox, stop) = (post.path("inbox/coder"), Arc::new(AtomicBool::new(false)));
    let stopped = stop.clone();
    let looker = std::thread::spawn(move || {
        let mut seen = 0;
        while !stopped.load(Ordering::SeqCst) {
            for name in names(&inbox).into_iter().filter(|name| name.ends_with(".json")) {
                let bytes = std::fs::read(inbox.join(&name)).unwrap();
                Envelope::parse(&bytes).unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
                seen += 1;
            }
        }
        seen
    });
    for _ in 0..40 {
        post.send(task(&"x".repeat(300_000))).await;
    }
    stop.store(true, Ordering::SeqCst);
    assert!(looker.join().unwrap() > 0);
    assert!(post.names("inbox/coder").iter().all(|name| name.ends_with(".json")), "nothing unfinished is left");
}

#[tokio::test]
async fn s3_17_readers_ignore_what_is_being_written() {
    let post = Post::new();
    let sent = post.send(task("a")).await;
    let text = std::fs::read_to_string(post.path(&format!("inbox/coder/{}.json", sent.message_id))).unwrap();
    for name in ["pm_20270115_080000_777.tmp", "pm_20270115_080000_777.json.tmp", ".tmp_777.tmp"] {
        std::fs::write(post.path("inbox/coder").join(name), &text[..40]).unwrap();
    }
    assert_eq!(post.bus.receive(CODER).await.unwrap(), [sent]);
    assert_eq!(post.names("inbox/coder").len(), 3, "they are left alone");
    assert_eq!(post.names("failed"), [""; 0]);
}

#[tokio::test]
async fn s3_17_a_reader_that_only_moves_files_works_beside_ours() {
    let post = Post::new();
    for text in ["ours", "theirs", "ours too"] {
        post.send(task(text)).await;
    }
    let claim = post.claim(CODER).await;
    assert_eq!(text_of(claim.envelope()), "ours");
    // A claimed message is none of theirs: they look for *.json.
    let waiting: Vec<String> = post.names("inbox/coder").into_iter().filter(|name| name.ends_with(".json")).collect();
    assert_eq!(waiting.len(), 2);
    std::fs::create_dir_all(post.path("processed")).unwrap();
    std::fs::rename(post.path("inbox/coder").join(&waiting[0]), post.path("processed").join(&waiting[0])).unwrap();
    claim.ack().await.unwrap();
    assert_eq!(post.bus.receive(CODER).await.unwrap().iter().map(text_of).collect::<Vec<_>>(), ["ours too"]);
    assert_eq!((post.names("processed").len(), post.names("inbox/coder").len()), (3, 0));
}

#[tokio::test]
async fn s3_21_an_answer_knows_its_question() {
    let post = Post::new();
    let question = post.send(task("a").priority(Priority::Urgent)).await;
    let claim = post.claim(CODER).await;
    let answer = post.send(claim.envelope().answer(report("no"))).await;
    assert_eq!((answer.from, answer.to, answer.priority), (CODER, PM, Priority::Urgent));
    assert_eq!(answer.reply_to, Some(question.message_id));
    assert_eq!(post.bus.receive(PM).await.unwrap(), [answer]);
}

#[tokio::test]
async fn s3_22_content_that_is_not_sound_is_not_sent() {
    let post = Post::new();
    let content = json!({"task_type": "forex_research", "pairs": ["USD/JPY"]}).as_object().unwrap().clone();
    let error = post.bus.send(Draft::untyped(PM, CODER, MessageType::TaskAssignment, content)).await.unwrap_err();
    let Error::Content { faults } = &error else { panic!("{error}") };
    assert!(faults.contains(&"$.content.deadline: missing".to_owned()), "{faults:?}");
    assert!(error.hint().unwrap().contains("docs/messages.md"));
    assert_eq!((post.names("inbox/coder"), post.names("outbox/product_manager")), (vec![], vec![]));
}

#[tokio::test]
async fn s3_23_what_is_sent_is_received_once_and_keeps_its_type_whatever_it_carries() {
    let post = Post::new();
    // Another program's, whose content is not what its type asks for.
    let id = "product_manager_20270115_080000_abcdef";
    let text = file(id, |message| {
        message["to"] = json!("research_agent_1");
        message["content"] = json!({"task_type": "forex_research", "pairs": ["USD/JPY"]});
    });
    post.drop_in(AgentName::ResearchAgent1, &format!("{id}.json"), &text);
    let received = post.bus.receive(AgentName::ResearchAgent1).await.unwrap();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].message_type, MessageType::TaskAssignment);
    assert_eq!(received[0].content["pairs"], json!(["USD/JPY"]));
    assert!(post.bus.receive(AgentName::ResearchAgent1).await.unwrap().is_empty());
    assert_eq!((post.names("processed").len(), post.names("failed").len()), (1, 0));
}

#[tokio::test]
async fn s3_24_a_sleeper_is_woken_by_a_message_of_this_process() {
    let post = Post::new();
    let mut mailbox = post.bus.mailbox(CODER).await.unwrap();
    // The first time it returns at once: something may have been there before.
    mailbox.wait().await;
    assert!(mailbox.claim().await.unwrap().is_none());
    let bus = post.bus.clone();
    let began = Instant::now();
    let sleeper = async {
        mailbox.wait().await;
        mailbox.claim().await.unwrap().unwrap().ack().await.unwrap();
        began.elapsed()
    };
    let sender = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        bus.send(task("a")).await.unwrap();
    };
    let (delivered, ()) = tokio::join!(sleeper, sender);
    assert!(delivered < Duration::from_secs(20), "by the bell: no look is due for an hour, and none was needed");
}

#[tokio::test]
async fn s3_24_the_system_tells_of_messages_of_other_programs() {
    let dir = tempfile::tempdir().unwrap();
    let bus = Bus::open(dir.path(), Clock::manual(START), Options { watch: true, ..still() }).unwrap();
    let mut mailbox = bus.mailbox(CODER).await.unwrap();
    mailbox.wait().await;
    for n in 1..=3 {
        let id = format!("pm_20270115_080000_00{n}");
        drop_in(dir.path(), CODER, &format!("{id}.json"), &file(&id, |_| ()));
        let claim = tokio::time::timeout(Duration::from_secs(20), async {
            loop {
                mailbox.wait().await;
                if let Some(claim) = mailbox.claim().await.unwrap() {
                    return claim;
                }
            }
        });
        let claim = claim.await.expect("no look is due for an hour, so the watch has to tell");
        assert_eq!(claim.envelope().message_id.as_str(), id);
        claim.ack().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn s3_24_looking_alone_finds_it_within_a_quarter_of_a_second_and_does_not_spin() {
    let dir = tempfile::tempdir().unwrap();
    let bus = Bus::open(dir.path(), Clock::manual(START), Options { watch: false, ..Options::default() }).unwrap();
    let mut mailbox = bus.mailbox(CODER).await.unwrap();
    mailbox.wait().await;
    assert!(
        tokio::time::timeout(Duration::from_secs(60), mailbox.wait()).await.is_err(),
        "an empty inbox wakes nobody"
    );
    let id = "pm_20270115_080000_001";
    drop_in(dir.path(), CODER, &format!("{id}.json"), &file(id, |_| ()));
    let began = tokio::time::Instant::now();
    mailbox.wait().await;
    assert!(began.elapsed() <= Duration::from_millis(251), "{:?}", began.elapsed());
    // Somebody else holds it: each further look takes its time.
    let _held = bus.claim(CODER).await.unwrap().unwrap();
    let began = tokio::time::Instant::now();
    for _ in 0..8 {
        mailbox.wait().await;
        assert!(mailbox.claim().await.unwrap().is_none());
    }
    assert!(began.elapsed() >= Duration::from_millis(7 * 250), "{:?}", began.elapsed());
}

#[tokio::test]
async fn s3_25_to_claim_and_acknowledge_takes_a_small_part_of_a_tenth_of_a_second() {
    let post = Post::new();
    for n in 0..200 {
        post.send(task(&n.to_string())).await;
    }
    let began = Instant::now();
    for _ in 0..200 {
        post.claim(CODER).await.ack().await.unwrap();
    }
    assert!(began.elapsed() < Duration::from_secs(20), "100 ms each would be {:?}", began.elapsed());
}

#[tokio::test]
async fn s3_26_the_1001st_pending_message_is_refused() {
    let post = Post::new();
    for n in 0..MAX_PENDING {
        let id = format!("pm_20270115_070000_{n:03}");
        post.drop_in(CODER, &format!("{id}.json"), &file(&id, |_| ()));
    }
    let error = post.bus.send(task("too much")).await.unwrap_err();
    assert!(matches!(error, Error::Full { agent: CODER, pending: 1000 }), "{error}");
    assert!(error.to_string().contains("1000 messages wait for coder") && error.hint().is_some(), "{error}");
    assert_eq!(post.names("outbox/product_manager"), [""; 0], "nothing was sent, so nothing is copied");
    post.send(Draft::new(PM, AgentName::Tester, assignment("another inbox has room"))).await;
    // One that is being handled waits no more.
    let claim = post.claim(CODER).await;
    post.send(task("room for one")).await;
    assert!(matches!(post.bus.send(task("and no more")).await, Err(Error::Full { .. })));
    claim.ack().await.unwrap();
    assert_eq!(post.bus.receive(CODER).await.unwrap().len(), MAX_PENDING);
}

#[tokio::test]
async fn s3_27_a_message_of_10_mib_is_sent_and_one_of_10_mib_plus_one_is_refused() {
    let post = Post::new();
    let sent = post.send(task("")).await;
    let frame = post.path(&format!("inbox/coder/{}.json", sent.message_id)).metadata().unwrap().len();
    let room = usize::try_from(MAX_BYTES - frame).unwrap();
    let error = post.bus.send(task(&"x".repeat(room + 1))).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { bytes } if bytes == MAX_BYTES + 1), "{error}");
    assert!(error.hint().is_some());
    let largest = post.send(task(&"x".repeat(room))).await;
    let path = post.path(&format!("inbox/coder/{}.json", largest.message_id));
    assert_eq!(path.metadata().unwrap().len(), 10 * 1024 * 1024);
    assert_eq!(post.bus.receive(CODER).await.unwrap(), [sent, largest]);
    assert_eq!(post.names("outbox/product_manager").len(), 2);
}

#[tokio::test]
async fn s3_28_handled_ones_are_kept_for_7_days_and_failed_ones_for_30() {
    let post = Post::at(Clock::system().now());
    post.send(task("handled")).await;
    post.claim(CODER).await.ack().await.unwrap();
    post.drop_in(CODER, "broken.json", "{");
    post.nothing_for(CODER).await;
    post.send(task("waits")).await;
    let files =
        |post: &Post| ["processed", "outbox/product_manager", "failed", "inbox/coder"].map(|f| post.names(f).len());
    for (days, want) in
        [(0, [1, 2, 2, 1]), (7, [1, 2, 2, 1]), (8, [0, 0, 2, 1]), (30, [0, 0, 2, 1]), (31, [0, 0, 0, 1])]
    {
        post.clock.advance(days * DAY);
        let swept = post.bus.sweep().await.unwrap();
        post.clock.advance(-days * DAY);
        assert_eq!(files(&post), want, "after {days} days");
        assert!(!swept.alarm);
    }
    assert_eq!(text_of(post.claim(CODER).await.envelope()), "waits", "what waits is kept however long");
}

#[tokio::test]
async fn s3_28_what_was_processed_late_is_kept_as_long_as_any() {
    let post = Post::at(Clock::system().now());
    post.send(task("waited for long")).await;
    post.clock.advance(20 * DAY);
    post.claim(CODER).await.ack().await.unwrap();
    post.clock.advance(7 * DAY);
    post.bus.sweep().await.unwrap();
    assert_eq!(post.names("processed").len(), 1);
    post.clock.advance(1);
    assert!(post.bus.sweep().await.unwrap().removed > 0);
    assert_eq!(post.names("processed"), [""; 0]);
}

#[tokio::test]
async fn s3_28_what_killed_writers_left_is_cleared_after_a_day() {
    let post = Post::at(Clock::system().now());
    post.send(task("waits")).await;
    for name in ["inbox/coder/pm_20270115_080000_777.tmp", "outbox/product_manager/pm_20270115_080000_777.tmp"] {
        std::fs::write(post.path(name), "{").unwrap();
    }
    // A record whose message another reader moved away, and one whose message is still there.
    std::fs::write(post.path("inbox/coder/pm_20270115_080000_778.claim"), r#"{"attempts":1}"#).unwrap();
    let claim = post.claim(CODER).await;
    post.bus.sweep().await.unwrap();
    assert_eq!(post.names("inbox/coder").len(), 4, "somebody may be writing yet");
    post.clock.advance(8 * DAY);
    post.bus.sweep().await.unwrap();
    let id = claim.envelope().message_id.clone();
    assert_eq!(post.names("inbox/coder"), [format!("{id}.claim"), format!("{id}.claimed")]);
    assert_eq!(post.names("outbox/product_manager"), [""; 0]);
    claim.ack().await.unwrap();
}

#[tokio::test]
async fn s3_31_more_than_a_gibibyte_raises_the_alarm() {
    let post = Post::at(Clock::system().now());
    post.send(task("a")).await;
    let before = post.bus.sweep().await.unwrap();
    assert!(!before.alarm && before.bytes > 0, "{before:?}");
    std::fs::create_dir_all(post.path("failed")).unwrap();
    // A hole has a size and takes no room.
    let hole = std::fs::File::create(post.path("failed/pm_20270115_080000_777.json")).unwrap();
    hole.set_len((1 << 30) - before.bytes).unwrap();
    assert_eq!(post.bus.sweep().await.unwrap(), Swept { removed: 0, bytes: 1 << 30, alarm: false });
    hole.set_len((1 << 30) - before.bytes + 1).unwrap();
    assert!(post.bus.sweep().await.unwrap().alarm);
    // A link to a large file is as small as a link is.
    std::fs::rename(post.path("failed/pm_20270115_080000_777.json"), post.dir.path().join("large")).unwrap();
    std::os::unix::fs::symlink(post.dir.path().join("large"), post.path("failed/link.json")).unwrap();
    assert!(!post.bus.sweep().await.unwrap().alarm);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_claimers_never_get_the_same_message() {
    let post = Post::new();
    for n in 0..300 {
        post.send(task(&n.to_string())).await;
    }
    // Each has a bus of its own, as four processes have.
    let buses = (0..4).map(|_| Bus::open(post.path(""), post.clock.clone(), still()).unwrap());
    let claimers: Vec<_> = buses
        .map(|bus| {
            tokio::spawn(async move {
                let mut mine = Vec::new();
                // Another's claim may hide the last one for a moment.
                let mut empty = 0;
                while empty < 20 {
                    match bus.claim(CODER).await.unwrap() {
                        Some(claim) => {
                            assert_eq!(claim.attempt(), 1);
                            mine.push(text_of(claim.envelope()));
                            claim.ack().await.unwrap();
                        }
                        None => empty += 1,
                    }
                }
                mine
            })
        })
        .collect();
    let mut all = Vec::new();
    for claimer in claimers {
        all.extend(claimer.await.unwrap());
    }
    let distinct: HashSet<&String> = all.iter().collect();
    assert_eq!((all.len(), distinct.len()), (300, 300));
    assert_eq!((post.names("processed").len(), post.names("inbox/coder").len()), (300, 0));
}

#[tokio::test]
async fn a_message_that_came_twice_is_handled_once() {
    let post = Post::new();
    let id = "product_manager_20270115_080000_abcdef";
    post.drop_in(CODER, &format!("{id}.json"), &file(id, |_| ()));
    let claim = post.claim(CODER).await;
    // Its sender did not know whether it had come.
    post.drop_in(CODER, &format!("{id}.json"), &file(id, |_| ()));
    post.nothing_for(CODER).await;
    claim.ack().await.unwrap();
    post.nothing_for(CODER).await;
    // And again after a restart.
    post.drop_in(CODER, &format!("{id}.json"), &file(id, |_| ()));
    let again = Bus::open(post.path(""), post.clock.clone(), still()).unwrap();
    assert!(again.claim(CODER).await.unwrap().is_none());
    assert!(again.receive(CODER).await.unwrap().is_empty());
    assert_eq!(post.names("inbox/coder"), [""; 0]);
    assert_eq!(post.names("processed"), [format!("{id}.duplicate.json"), format!("{id}.json")]);
}

#[tokio::test]
async fn an_id_that_was_ever_used_is_not_given_again() {
    let post = Post::new();
    std::fs::create_dir_all(post.path("processed")).unwrap();
    std::fs::create_dir_all(post.path("failed")).unwrap();
    std::fs::create_dir_all(post.path("outbox/product_manager")).unwrap();
    std::fs::create_dir_all(post.path("inbox/coder")).unwrap();
    for taken in [
        "processed/pm_20270115_080000_001.json",
        "failed/pm_20270115_080000_002.json",
        "outbox/product_manager/pm_20270115_080000_003.tmp",
        "outbox/product_manager/pm_20270115_080000_004.json",
        "inbox/coder/pm_20270115_080000_005.tmp",
        "inbox/coder/pm_20270115_080000_006.claimed",
        "inbox/coder/pm_20270115_080000_007.json",
    ] {
        std::fs::write(post.path(taken), "taken").unwrap();
    }
    let sent = post.send(task("a")).await;
    assert_eq!(sent.message_id.as_str(), "pm_20270115_080000_008");
    assert_eq!(std::fs::read_to_string(post.path("inbox/coder/pm_20270115_080000_007.json")).unwrap(), "taken");
    assert_eq!(post.names("outbox/product_manager").len(), 3, "no reservation is left behind");
}

#[tokio::test]
async fn a_caller_that_leaves_while_it_claims_leaves_the_message_to_the_next() {
    let post = Post::new();
    post.send(task("a")).await;
    for _ in 0..20 {
        let bus = post.bus.clone();
        let claiming = tokio::spawn(async move { bus.claim(CODER).await.map(|claim| claim.is_some()) });
        tokio::task::yield_now().await;
        claiming.abort();
        let _ = claiming.await;
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    let claim = loop {
        match post.bus.claim(CODER).await.unwrap() {
            Some(claim) => break claim,
            None => assert!(Instant::now() < deadline, "{:?}", post.names("inbox/coder")),
        }
    };
    claim.ack().await.unwrap();
    assert_eq!(post.names("failed"), [""; 0]);
}
