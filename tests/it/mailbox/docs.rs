//! The page for authors of outside agents: its samples are messages, and its agent serves an inbox.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use octoswarm::domain::Clock;
use octoswarm::mailbox::content::{Acceptance, Completion};
use octoswarm::mailbox::{AgentName, Bus, Content, Draft, Envelope, MessageType, Options, Timeout, faults};
use serde_json::Value;

use super::*;

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/messages.md")).unwrap()
}

fn samples(language: &str) -> Vec<String> {
    let (page, fence) = (page(), format!("```{language}\n"));
    page.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_sample_of_a_message_on_the_page_is_sound_and_each_type_has_one() {
    let mut types = BTreeSet::new();
    for sample in samples("json") {
        let value: Value = serde_json::from_str(&sample).unwrap_or_else(|error| panic!("{error}: {sample}"));
        if value.get("original_name").is_some() {
            continue;
        }
        assert_eq!(faults(&value), [""; 0], "{sample}");
        types.insert(Envelope::from_value(value).unwrap().message_type.as_str());
    }
    assert_eq!(types, MessageType::ALL.map(MessageType::as_str).into());
}

#[test]
fn the_page_names_every_agent_with_its_code_and_every_folder() {
    let page = page();
    for agent in AgentName::ALL {
        assert!(page.contains(&format!("| `{agent}` | `{}` |", agent.code())), "{agent}");
    }
    for word in ["inbox/", "outbox/", "processed/", "failed/", "10 MiB", "1000", "7 days", "30 days", "1 GiB"] {
        assert!(page.contains(word), "{word}");
    }
}

/// The agent on the page, at work. It dies with this value.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(script: &Path, messages: &Path) -> Agent {
    let mut command = Command::new("python3");
    Agent(command.arg(script).arg(messages).arg("research_agent_1").stdin(Stdio::null()).spawn().unwrap())
}

/// The next message for the orchestrator.
async fn next(bus: &Bus) -> Envelope {
    let mut mailbox = bus.mailbox(PM).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        mailbox.wait().await;
        if let Some(claim) = mailbox.claim().await.unwrap() {
            let envelope = claim.envelope().clone();
            claim.ack().await.unwrap();
            return envelope;
        }
    }
    panic!("the agent does not answer");
}

#[tokio::test]
async fn the_agent_on_the_page_serves_an_inbox() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("NOT RUN: the agent of docs/messages.md needs python3, and there is none");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (script, messages) = (dir.path().join("agent.py"), dir.path().join("messages"));
    let [program] = <[String; 1]>::try_from(samples("python")).unwrap();
    std::fs::write(&script, program).unwrap();
    let bus = Bus::open(&messages, Clock::system(), Options::default()).unwrap();
    let worker = AgentName::ResearchAgent1;
    let to_worker = |text: &str| Draft::new(PM, worker, assignment(text));

    // What waits when it starts: a stale one, a malformed one, and one that it can do.
    let stale = bus.send(to_worker("stale").timeout(Timeout::seconds(0.0).unwrap())).await.unwrap().message_id;
    drop_in(&messages, worker, "pm_20270115_070000_001.json", "{");
    let asked = bus.send(to_worker("count")).await.unwrap().message_id;
    let agent = start(&script, &messages);
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(next(&bus).await);
    }
    // In the order of the words: error_report, research_result, task_acceptance.
    answers.sort_by_key(|answer| answer.message_type.as_str());
    let [expired, result, acceptance] = <[Envelope; 3]>::try_from(answers).unwrap();
    let Content::ErrorReport(report) = expired.content().unwrap() else { panic!("{expired:?}") };
    assert_eq!((report.error_type.as_str(), report.related_task_id), ("timeout", Some(stale.clone())));
    let Content::TaskAcceptance(accepted) = acceptance.content().unwrap() else { panic!("{acceptance:?}") };
    assert_eq!((accepted.status, &accepted.task_id), (Acceptance::Accepted, &asked));
    let Content::ResearchResult(done) = result.content().unwrap() else { panic!("{result:?}") };
    assert_eq!((done.status, &done.task_id), (Completion::Completed, &asked));
    assert_eq!((result.reply_to.as_ref(), result.from), (Some(&asked), worker));

    // Killed and started again, it goes on.
    drop(agent);
    let again = bus.send(to_worker("count again")).await.unwrap().message_id;
    let _agent = start(&script, &messages);
    let mut answers = 0;
    while answers < 2 {
        // Killed between its answer and its acknowledgement, it answers the first once more.
        let answered = next(&bus).await.reply_to;
        assert!(answered.as_ref() == Some(&again) || answered.as_ref() == Some(&asked), "{answered:?}");
        answers += usize::from(answered == Some(again.clone()));
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    let expected = [format!("{asked}.json"), format!("{again}.json")];
    loop {
        let (waiting, done) = (names(&messages.join("inbox/research_agent_1")), names(&messages.join("processed")));
        if waiting.is_empty() && expected.iter().all(|name| done.contains(name)) {
            break;
        }
        assert!(Instant::now() < deadline, "{waiting:?} {done:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let failed = names(&messages.join("failed"));
    for name in [format!("{stale}.json"), "pm_20270115_070000_001.json".into()] {
        let error = name.replace(".json", ".error.json");
        assert!(failed.contains(&name) && failed.contains(&error), "{failed:?}");
    }
}
