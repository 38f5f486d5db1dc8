//! What cannot be handled: tried again, expired, malformed, or no message at all. It ends in `failed/` with the reason beside
//! it, and whoever sent it is told.

use std::os::unix::ffi::OsStrExt;

use octoswarm::mailbox::content::error_type;
use octoswarm::mailbox::{AgentName, Bus, Draft, Error, MAX_BYTES, Priority, Timeout};
use serde_json::{Value, json};

use super::*;

#[tokio::test]
async fn s3_30_a_message_is_tried_four_times_and_then_fails_with_its_last_reason() {
    let post = Post::new();
    let id = post.send(task("a")).await.message_id;
    for (attempt, wait) in [(1, 10), (2, 20), (3, 40), (4, 0)] {
        let claim = post.claim(CODER).await;
        assert_eq!((claim.attempt(), &claim.envelope().message_id), (attempt, &id));
        claim.nack(format!("reason {attempt}")).await.unwrap();
        post.nothing_for(CODER).await;
        // Not a moment too early.
        post.clock.advance(wait * SECOND - 1);
        post.nothing_for(CODER).await;
        post.clock.advance(1);
    }
    assert_eq!(post.names("inbox/coder"), [""; 0]);
    assert_eq!(post.names("failed"), [format!("{id}.error.json"), format!("{id}.json")]);
    let time = Timestamp::from_millis(START + 70 * SECOND);
    assert_eq!(
        post.json(&format!("failed/{id}.error.json")),
        json!({
            "original_name": format!("{id}.json"), "reason": "reason 4", "attempts": 4, "time": time, "agent": "coder",
        })
    );
    let report = post.report_to(PM).await;
    assert_eq!((report.error_type.as_str(), report.impact_level), (error_type::HANDLING_FAILED, Level::High));
    assert!(report.error_message.ends_with("reason 4") && report.context["attempts"] == 4, "{report:?}");
    assert_eq!(report.related_task_id, Some(id));
}

#[tokio::test]
async fn s3_30_attempts_are_counted_across_restarts_and_others_go_first() {
    let post = Post::new();
    post.send(task("bad").priority(Priority::Urgent)).await;
    post.claim(CODER).await.nack("no").await.unwrap();
    post.send(task("good")).await;
    let claim = post.claim(CODER).await;
    assert_eq!(text_of(claim.envelope()), "good", "one that waits for its next try keeps nobody back");
    claim.ack().await.unwrap();
    post.clock.advance(10 * SECOND);
    let again = Bus::open(post.path(""), post.clock.clone(), still()).unwrap();
    let claim = again.claim(CODER).await.unwrap().unwrap();
    assert_eq!((text_of(claim.envelope()).as_str(), claim.attempt()), ("bad", 2));
    claim.ack().await.unwrap();
    assert_eq!((post.names("inbox/coder").len(), post.names("failed").len()), (0, 0));
}

#[tokio::test]
async fn s3_30_a_claim_that_is_dropped_without_a_word_comes_back_and_counts() {
    let post = Post::new();
    let id = post.send(task("a")).await.message_id;
    for attempt in 1..=4 {
        let claim = post.claim(CODER).await;
        assert_eq!(claim.attempt(), attempt);
        drop(claim);
    }
    post.nothing_for(CODER).await;
    let told = post.json(&format!("failed/{id}.error.json"));
    assert_eq!(told["attempts"], 4);
    let process = std::process::id();
    assert_eq!(told["reason"], format!("process {process} on node-a ended while it handled the message"));
    assert_eq!(post.report_to(PM).await.error_type, error_type::HANDLING_FAILED);
}

#[tokio::test]
async fn s3_32_a_message_whose_time_is_over_is_not_handed_out_and_its_sender_is_told() {
    let post = Post::new();
    let in_time = post.send(task("in time").timeout(Timeout::seconds(30.0).unwrap())).await;
    let late = post.send(task("late").timeout(Timeout::seconds(1.5).unwrap())).await.message_id;
    post.clock.advance(1499);
    let claim = post.claim(CODER).await;
    assert_eq!(claim.envelope(), &in_time);
    claim.ack().await.unwrap();
    post.clock.advance(1);
    post.nothing_for(CODER).await;
    assert!(post.bus.receive(CODER).await.unwrap().is_empty());
    let told = post.json(&format!("failed/{late}.error.json"));
    assert_eq!((told["reason"].as_str(), told["attempts"].as_u64()), (Some("expired"), Some(0)));
    let report = post.report_to(PM).await;
    assert_eq!(report.error_type, error_type::TIMEOUT);
    assert_eq!(
        (report.related_task_id, report.context["message_id"].as_str()),
        (Some(late.clone()), Some(late.as_str()))
    );
}

#[tokio::test]
async fn s3_32_where_nobody_reads_the_sweep_ends_it() {
    let post = Post::new();
    post.send(task("late").timeout(Timeout::seconds(60.0).unwrap())).await;
    let held = post.claim(CODER).await;
    post.send(task("late too").timeout(Timeout::seconds(60.0).unwrap())).await;
    post.clock.advance(61 * SECOND);
    post.bus.sweep().await.unwrap();
    assert_eq!(post.names("failed").len(), 2, "the one that is being handled is its holder's");
    assert_eq!(post.report_to(PM).await.error_type, error_type::TIMEOUT);
    held.ack().await.unwrap();
}

#[tokio::test]
async fn s3_29_a_malformed_message_fails_at_once_with_every_fault() {
    let post = Post::new();
    let id = |n: u32| format!("pm_20270115_070000_{n:03}");
    let spoiled: Vec<(String, &str)> = vec![
        ("{".into(), "$: not JSON"),
        ("[1]".into(), "$: not an object"),
        (String::new(), "$: not JSON"),
        (file(&id(3), |message| message["from"] = json!("reviewer")), "$.from: no agent is called"),
        (file(&id(4), |message| message["type"] = json!("broadcast")), "$.type: unknown variant"),
        (file(&id(5), |message| message["to"] = json!("webhook")), "$.to: webhook has no inbox"),
        (file(&id(6), |message| message["to"] = json!("tester")), "$.to: tester is not whose inbox it was in"),
        (file(&id(1), |_| ()), "$.message_id: pm_20270115_070000_001 is not what the file is called"),
        (file("../../x", |_| ()), "$.message_id: \"../../x\" is no id"),
        (file(&id(9), |message| message["content"] = json!([])), "$.content: is a list, expected an object"),
        (file(&id(10), |message| drop(message.as_object_mut().unwrap().remove("timestamp"))), "$.timestamp: missing"),
    ];
    for (n, (text, _)) in spoiled.iter().enumerate() {
        post.drop_in(CODER, &format!("{}.json", id(u32::try_from(n).unwrap())), text);
    }
    let sound = post.send(task("sound").priority(Priority::Low)).await;
    assert_eq!(post.claim(CODER).await.envelope(), &sound, "they keep nobody back");
    for (n, (text, fault)) in spoiled.iter().enumerate() {
        let id = id(u32::try_from(n).unwrap());
        assert_eq!(&std::fs::read_to_string(post.path(&format!("failed/{id}.json"))).unwrap(), text);
        let told = post.json(&format!("failed/{id}.error.json"));
        assert_eq!((&told["reason"], &told["agent"]), (&json!("malformed"), &json!("coder")));
        assert!(told["details"][0].as_str().unwrap().starts_with(fault), "{told}");
    }
    assert_eq!(post.names("inbox"), ["coder"], "nobody was told: who sent them is not known");
}

#[tokio::test]
async fn s3_29_the_reason_names_every_fault_of_the_frame_of_the_place_and_of_the_content() {
    let post = Post::new();
    let id = "pm_20270115_070000_001";
    let text = file(id, |message| {
        message["to"] = json!("tester");
        message["priority"] = json!("High");
        message["timeout"] = json!(-1);
        message["content"]["deadline"] = json!("soon");
    });
    post.drop_in(CODER, &format!("{id}.json"), &text);
    post.nothing_for(CODER).await;
    let told = post.json(&format!("failed/{id}.error.json"));
    let faults: Vec<&str> = told["details"].as_array().unwrap().iter().map(|fault| fault.as_str().unwrap()).collect();
    let at: Vec<&str> = faults.iter().map(|fault| fault.split(": ").next().unwrap()).collect();
    assert_eq!(at, ["$.priority", "$.timeout", "$.content.deadline", "$.to"], "{faults:?}");
}

#[tokio::test]
async fn s3_29_malformed_content_fails_at_once_and_its_sender_is_told_what_is_wrong() {
    let post = Post::new();
    let id = "product_manager_20270115_080000_abcdef";
    let text = file(id, |message| {
        message["content"]["deadline"] = json!("soon");
        message["content"].as_object_mut().unwrap().remove("task_type");
    });
    post.drop_in(CODER, &format!("{id}.json"), &text);
    post.nothing_for(CODER).await;
    let told = post.json(&format!("failed/{id}.error.json"));
    assert_eq!((&told["reason"], &told["attempts"]), (&json!("malformed content"), &json!(0)));
    let report = post.report_to(PM).await;
    assert_eq!((report.error_type.as_str(), report.impact_level), (error_type::DATA_FORMAT, Level::High));
    let faults = report.context["faults"].clone();
    assert_eq!(faults, told["details"]);
    assert_eq!(faults[0], "$.content.task_type: missing");
    assert!(faults[1].as_str().unwrap().starts_with("$.content.deadline: \"soon\" is no time"), "{faults}");
    assert_eq!(report.related_task_id.unwrap().as_str(), id);
}

#[tokio::test]
async fn a_report_is_not_answered_with_a_report_and_the_webhook_is_not_told() {
    let post = Post::new();
    for (id, from, message_type) in [
        ("tester_20270115_080000_001", "tester", "error_report"),
        ("web_20270115_080000_001", "webhook", "task_assignment"),
    ] {
        let text = file(id, |message| {
            message["from"] = json!(from);
            message["type"] = json!(message_type);
            message["content"] = json!({});
        });
        post.drop_in(CODER, &format!("{id}.json"), &text);
    }
    post.nothing_for(CODER).await;
    assert_eq!((post.names("failed").len(), post.names("inbox").len()), (4, 1));
    assert_eq!(post.names("outbox"), [""; 0]);
}

#[tokio::test]
async fn a_full_inbox_of_the_sender_does_not_keep_a_failure_from_being_settled() {
    let post = Post::new();
    for n in 0..1000 {
        let id = format!("coder_20270115_070000_{n:03}");
        post.drop_in(PM, &format!("{id}.json"), "{}");
    }
    post.send(task("late").timeout(Timeout::seconds(0.0).unwrap())).await;
    post.nothing_for(CODER).await;
    assert_eq!(post.names("failed").len(), 2);
    assert_eq!(post.names("inbox/product_manager").len(), 1000);
}

#[tokio::test]
async fn what_is_no_plain_file_is_neither_followed_nor_waited_for() {
    let post = Post::new();
    let sound = post.send(task("sound").priority(Priority::Low)).await;
    let inbox = post.path("inbox/coder");
    let secret = post.dir.path().join("secret");
    std::fs::write(&secret, file("pm_20270115_070000_001", |_| ())).unwrap();
    std::os::unix::fs::symlink(&secret, inbox.join("pm_20270115_070000_001.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", inbox.join("pm_20270115_070000_002.json")).unwrap();
    std::os::unix::fs::symlink(&secret, inbox.join("pm_20270115_070000_003.claimed")).unwrap();
    assert!(
        std::process::Command::new("mkfifo").arg(inbox.join("pm_20270115_070000_004.json")).status().unwrap().success()
    );
    std::fs::create_dir(inbox.join("pm_20270115_070000_005.json")).unwrap();
    std::fs::write(inbox.join("pm_20270115_070000_005.json/kept"), "").unwrap();
    // Not ours, and called like no message.
    std::fs::write(inbox.join("notes.txt"), "buy milk").unwrap();
    std::fs::write(inbox.join(std::ffi::OsStr::from_bytes(b"\xff.json")), "{}").unwrap();
    std::fs::write(inbox.join("pm_20270115_070000_001.error.json"), "{}").unwrap();
    let huge = std::fs::File::create(inbox.join("pm_20270115_070000_006.json")).unwrap();
    huge.set_len(MAX_BYTES + 1).unwrap();

    let received = tokio::time::timeout(std::time::Duration::from_secs(60), post.bus.receive(CODER));
    assert_eq!(received.await.expect("nothing is waited for").unwrap(), [sound]);
    let mut left: Vec<String> = std::fs::read_dir(&inbox)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["notes.txt", "pm_20270115_070000_005.json"]);
    assert!(inbox.join("pm_20270115_070000_005.json/kept").exists(), "a folder is left as it is");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), file("pm_20270115_070000_001", |_| ()));
    for (name, detail) in [
        ("pm_20270115_070000_001", "not a plain file but a symbolic link"),
        ("pm_20270115_070000_002", "not a plain file but a symbolic link"),
        ("pm_20270115_070000_003", "not a plain file but a symbolic link"),
        ("pm_20270115_070000_004", "not a plain file but a pipe or a device"),
        ("pm_20270115_070000_006", "$: more than 10485760 bytes"),
        ("misnamed-pm_20270115_070000_001_error", "the name of the file is no id of a message"),
        ("misnamed-_", "the name of the file is no id of a message"),
    ] {
        let told = post.json(&format!("failed/{name}.error.json"));
        assert!(told["details"][0].as_str().unwrap().starts_with(detail), "{name}: {told}");
        assert!(post.path(&format!("failed/{name}.json")).symlink_metadata().is_ok(), "{name}");
    }
    post.bus.sweep().await.unwrap();
    assert!(secret.exists());
}

#[tokio::test]
async fn two_that_fail_under_one_name_are_both_kept() {
    let post = Post::new();
    for text in ["1", "2", "3"] {
        post.drop_in(CODER, "task.json", text);
        post.nothing_for(CODER).await;
    }
    assert_eq!(
        post.names("failed"),
        [
            "misnamed-task.2.error.json",
            "misnamed-task.2.json",
            "misnamed-task.3.error.json",
            "misnamed-task.3.json",
            "misnamed-task.error.json",
            "misnamed-task.json",
        ]
    );
    let texts = ["misnamed-task.json", "misnamed-task.2.json", "misnamed-task.3.json"]
        .map(|name| std::fs::read_to_string(post.path("failed").join(name)).unwrap());
    assert_eq!(texts, ["1", "2", "3"]);
}

#[tokio::test]
async fn a_claim_whose_file_somebody_took_away_says_so() {
    let post = Post::new();
    let id = post.send(task("a")).await.message_id;
    for way in ["ack", "nack"] {
        let claim = post.claim(CODER).await;
        let held = post.path(&format!("inbox/coder/{id}.claimed"));
        std::fs::rename(&held, post.path("elsewhere")).unwrap();
        let done = if way == "ack" { claim.ack().await } else { claim.nack("no").await };
        let error = done.unwrap_err();
        assert!(matches!(&error, Error::Lost { id: lost } if *lost == id) && error.hint().is_some(), "{way}: {error}");
        std::fs::rename(post.path("elsewhere"), &held).unwrap();
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let error = Bus::open(dir.path().join("file"), Clock::manual(START), still()).unwrap_err();
    assert!(error.to_string().contains("cannot make the folder of messages") && error.hint().is_some(), "{error}");
    let post = Post::new();
    std::fs::write(post.path("inbox"), "in the way").unwrap();
    let error = post.bus.send(task("a")).await.unwrap_err();
    assert!(error.to_string().contains("inbox/coder"), "{error}");
    let error: Value = json!(post.bus.claim(CODER).await.unwrap_err().to_string());
    assert!(error.as_str().unwrap().contains("inbox/coder"), "{error}");
}

#[tokio::test]
async fn a_copy_that_comes_while_one_waits_for_its_next_try_is_the_same_message() {
    let post = Post::new();
    let id = post.send(task("a")).await.message_id;
    let claim = post.claim(CODER).await;
    post.drop_in(CODER, &format!("{id}.json"), &file(id.as_str(), |_| ()));
    claim.nack("later").await.unwrap();
    post.clock.advance(10 * SECOND);
    let claim = post.claim(CODER).await;
    assert_eq!((claim.attempt(), text_of(claim.envelope())), (2, "a".into()));
    claim.ack().await.unwrap();
    post.nothing_for(CODER).await;
    assert_eq!(post.names("inbox/coder"), [""; 0]);
}

#[tokio::test]
async fn what_the_receiver_of_a_report_does_wrong_is_not_reported_to_itself_forever() {
    let post = Post::new();
    post.send(Draft::new(AgentName::Tester, CODER, report("down")).timeout(Timeout::seconds(1.0).unwrap())).await;
    post.clock.advance(2 * SECOND);
    post.nothing_for(CODER).await;
    assert_eq!((post.names("failed").len(), post.names("inbox/tester").len()), (2, 0));
}
