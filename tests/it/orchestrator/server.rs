//! The server's own bus: messages beside real deliveries, and lives that end in the middle of a step.

use octoswarm::config;
use octoswarm::pipeline::FACTS;
use octoswarm::store::StepState;

use super::*;
use crate::support::world::{CLEAN, DEFECTS, REPO, World};

fn agent(name: &str, agent: config::Agent) -> (String, config::Agent) {
    (name.to_owned(), agent)
}

fn sent(world: &World, message_type: MessageType) -> Vec<Envelope> {
    let mut all = Vec::new();
    for folder in folders(&world.state_dir().join("messages/outbox")) {
        all.extend(files(&folder, "json").iter().map(|path| Envelope::parse(&std::fs::read(path).unwrap()).unwrap()));
    }
    all.retain(|envelope| envelope.message_type == message_type);
    all
}

#[tokio::test]
async fn every_agent_of_a_review_is_asked_by_a_message_and_the_run_is_announced() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    assert_eq!(world.comment_places(number), ["src/run.py:5", "src/run.py:9"]);
    let asked = sent(&world, MessageType::TaskAssignment);
    let mut to: Vec<&str> =
        asked.iter().filter(|e| e.from == AgentName::ProductManager).map(|e| e.to.as_str()).collect();
    to.sort_unstable();
    assert_eq!(to, ["critical", "debt", "documentation", "improvement", "manager", "master"]);
    let of_github: Vec<&Envelope> = asked.iter().filter(|e| e.from == AgentName::Webhook).collect();
    assert_eq!((of_github.len(), of_github[0].to), (1, AgentName::ProductManager));
    assert_eq!(of_github[0].content["focus_area"], format!("{REPO}#{number}"));
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn threads_of_a_reviewer_that_is_switched_off_stay_open_and_those_of_others_are_resolved() {
    let mut world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    let off = config::Agent { enabled: Some(false), ..config::Agent::default() };
    world.restart_with(|config| config.agents = [agent("critical", off.clone())].into()).await;
    world.push(number, "src/run.py", CLEAN).await;
    assert_eq!(world.resolved_places(number), ["src/run.py:9"], "the finding on line 5 was not looked for");
    assert!(world.reviews(number)[0].body.contains("critical reviewer was not asked"));
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn a_review_tells_of_a_reviewer_that_failed_and_its_check_is_no_success() {
    let mut world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    let late = config::Agent { outside: true, timeout_ms: Some(50), ..config::Agent::default() };
    let once = config::Agent { retries: Some(0), ..config::Agent::default() };
    let agents = [agent("critical", late), agent("master", once)];
    world.restart_with(|config| config.agents = agents.clone().into()).await;
    world.push(number, "src/run.py", CLEAN).await;
    assert_eq!(world.resolved_places(number), ["src/run.py:9"]);
    assert_eq!(world.conclusion(number), "neutral");
    let check = world.check(number);
    assert!(check.summary.unwrap().contains("critical reviewer failed"));
    world.reviews(number);
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn a_server_killed_while_an_agent_works_goes_on_from_the_rows_and_says_nothing_twice() {
    let mut world = World::start().await;
    let outside = config::Agent { outside: true, ..config::Agent::default() };
    world.restart_with(|config| config.agents = [agent("debt", outside.clone())].into()).await;
    let pull = octoswarm::demo::OpenPull::new(
        "ada",
        "change",
        "A change",
        octoswarm::demo::Change::new().write("src/run.py", DEFECTS),
    );
    let number = world.people().open_pull(REPO, pull).await.unwrap();
    // Its inbox has no reader: the step is under way as long as nobody answers.
    let inbox = world.state_dir().join("messages/inbox/debt");
    for _ in 0..2000 {
        if let Some(run) = world.app.store().runs(1).await.unwrap().first() {
            let steps = world.app.store().steps(run.id).await.unwrap();
            let done = steps.iter().filter(|step| step.state == StepState::Done && step.name != FACTS).count();
            if done == 4 && !files(&inbox, "json").is_empty() {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!((files(&inbox, "json").len(), files(&world.state_dir().join("inputs"), "json").len()), (1, 1));
    world.restart_with(|config| config.agents.clear()).await;
    world.settle().await;
    assert_eq!(world.comment_places(number), ["src/run.py:5", "src/run.py:9"]);
    assert_eq!(world.reviews(number).len(), 1);
    let asked = sent(&world, MessageType::TaskAssignment);
    let again = |agent| asked.iter().filter(|e| e.to == agent).count();
    assert_eq!((again(AgentName::Critical), again(AgentName::Debt)), (1, 2), "what was finished is not done again");
    let rejected = sent(&world, MessageType::TaskAcceptance);
    let rejected: Vec<_> = rejected.iter().filter(|e| e.content["status"] == "rejected").collect();
    assert_eq!((rejected.len(), rejected[0].from), (1, AgentName::Debt), "the leftover is answered");
    assert!(files(&world.state_dir().join("inputs"), "json").is_empty());
    world.end().await;
}

#[test]
fn the_agents_that_can_be_set_are_those_that_have_a_mailbox() {
    let orchestrator = [AgentName::ProductManager, AgentName::ValidatorAgent, AgentName::Webhook];
    let mut want: Vec<&str> =
        AgentName::ALL.into_iter().filter(|name| !orchestrator.contains(name)).map(AgentName::as_str).collect();
    let mut given = config::AGENTS.to_vec();
    want.sort_unstable();
    given.sort_unstable();
    assert_eq!(given, want);
    for role in Role::all() {
        assert!(AgentName::parse(role.name()).is_some(), "{} has no mailbox", role.name());
    }
}
