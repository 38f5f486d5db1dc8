//! Commands in comments: who is obeyed, what is a command, and what is answered.

use octoswarm::demo::{Change, OpenPull};

use crate::contribute::{BODY, SAFE, TITLE, UNSAFE, with_unsafe_yaml};
use crate::support::world::{CLEAN, DEFECTS, REPO, World};

#[tokio::test]
async fn a_maintainer_has_the_mechanical_fixes_committed() {
    let world = World::start().await;
    let number = world.open("src/read.py", UNSAFE).await;
    let id = world.comment("ada", number, "/swarm fix").await;
    let head = world.github.pull(REPO, number).unwrap().head_sha;
    assert_eq!(world.github.file(REPO, &head, "src/read.py").as_deref(), Some(SAFE));
    let said = world.said(number);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains(&head[..7]), "{}", said[0]);
    let reactions = world.github.reactions(REPO);
    assert!(reactions.iter().any(|r| r.subject == format!("comment/{id}") && r.content == "eyes"), "{reactions:?}");
    assert_eq!(world.conclusion(number), "success", "the new head is reviewed");
    world.reviews(number);
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn a_stranger_is_refused_once_and_nothing_happens() {
    let world = World::start().await;
    let number = world.open("src/read.py", UNSAFE).await;
    let before = world.github.pull(REPO, number).unwrap().head_sha;
    for _ in 0..3 {
        world.comment("eve", number, "/swarm fix").await;
    }
    assert_eq!(world.github.pull(REPO, number).unwrap().head_sha, before);
    let said = world.said(number);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(!said[0].contains("@eve"), "nobody is pinged: {}", said[0]);
    assert!(world.github.reactions(REPO).is_empty());
    world.reviews(number);
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn an_unknown_verb_is_answered_with_the_nearest() {
    let world = World::start().await;
    let number = world.open("src/a.py", CLEAN).await;
    world.comment("ada", number, "/swarm reveiw").await;
    let said = world.said(number);
    assert!(said[0].contains("review"), "{said:?}");
    world.end().await;
}

#[tokio::test]
async fn help_lists_every_verb_also_by_mention() {
    let world = World::start().await;
    let number = world.open("src/a.py", CLEAN).await;
    world.comment("ada", number, &format!("@{} help", world.github.app_slug())).await;
    let said = world.said(number);
    for verb in octoswarm::domain::Verb::ALL {
        assert!(said[0].contains(verb.about()), "{verb}: {}", said[0]);
    }
    world.end().await;
}

#[tokio::test]
async fn text_in_code_quotes_and_html_comments_commands_nothing() {
    let world = World::start().await;
    let number = world.open("src/read.py", UNSAFE).await;
    for body in ["> /swarm fix", "```\n/swarm fix\n```", "`/swarm fix`", "<!-- /swarm fix -->", "    /swarm fix"] {
        world.comment("ada", number, body).await;
        assert!(world.last_reason().await.contains("no command"), "{body:?}");
    }
    assert!(world.said(number).is_empty());
    world.reviews(number);
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn only_what_an_edit_added_is_obeyed() {
    let world = World::start().await;
    let number = world.open("src/a.py", CLEAN).await;
    let id = world.comment("ada", number, "/swarm status").await;
    assert_eq!(world.said(number).len(), 1);
    world.people().edit_comment("ada", REPO, id, "/swarm status\n\nthanks!").await.unwrap();
    world.settle().await;
    assert!(world.last_reason().await.contains("no command"));
    world.people().edit_comment("ada", REPO, id, "/swarm status\n\n/swarm help").await.unwrap();
    world.settle().await;
    let said = world.said(number);
    assert_eq!(said.len(), 1, "one answer, edited in place");
    assert!(said[0].contains("retry"), "the help is in it: {}", said[0]);
    world.end().await;
}

#[tokio::test]
async fn a_person_may_not_command_through_somebody_elses_comment() {
    let world = World::start().await;
    let number = world.open("src/read.py", UNSAFE).await;
    let id = world.comment("ada", number, "Nice!").await;
    world.people().add_collaborator(REPO, "max", "write").await.unwrap();
    world.people().edit_comment("max", REPO, id, "/swarm fix").await.unwrap();
    world.settle().await;
    assert!(world.last_reason().await.contains("edited by somebody else"));
    world.reviews(number);
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn a_fork_is_not_pushed_to() {
    let world = World::start().await;
    let pull = OpenPull::new("eve", "idea", "An idea", Change::new().write("src/read.py", UNSAFE));
    let number = world.people().open_pull_from_fork(REPO, pull).await.unwrap();
    world.settle().await;
    let before = world.github.pull(REPO, number).unwrap().head_sha;
    world.comment("ada", number, "/swarm fix").await;
    assert_eq!(world.github.pull(REPO, number).unwrap().head_sha, before);
    assert!(world.said(number)[0].contains("fork"));
    world.reviews(number);
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn a_review_is_done_again_when_asked_for() {
    let world = World::start().await;
    let number = world.open("src/run.py", DEFECTS).await;
    let (reviews, comments) = (world.reviews(number).len(), world.comments(number).len());
    world.comment("ada", number, "/swarm review").await;
    assert_eq!((world.reviews(number).len(), world.comments(number).len()), (reviews, comments), "nothing twice");
    assert_eq!(world.said(number).len(), 1);
    assert_eq!(world.conclusion(number), "failure");
    world.end().await;
}

#[tokio::test]
async fn an_issue_is_worked_on_by_command_too() {
    let world = with_unsafe_yaml().await;
    let number = world.people().open_issue("eve", REPO, TITLE, BODY).await.unwrap();
    world.comment("ada", number, "/swarm fix").await;
    let pull = world.own_pulls().remove(0);
    let said = world.said(number);
    assert_eq!(said.len(), 1);
    assert!(said[0].contains(&format!("#{}", pull.number)), "{}", said[0]);
    world.end().await;
}

#[tokio::test]
async fn five_hundred_commands_are_a_limited_number_of_answers() {
    let world = World::start().await;
    let number = world.open("src/a.py", CLEAN).await;
    world.comment("ada", number, &"/swarm status\n".repeat(500)).await;
    assert_eq!(world.said(number).len(), 1, "one comment, one answer");
    for _ in 0..60 {
        world.people().comment("ada", REPO, number, "/swarm help").await.unwrap();
    }
    world.settle().await;
    let said = world.said(number).len();
    assert!((2..=32).contains(&said), "{said} answers");
    world.end().await;
}

#[tokio::test]
async fn status_tells_what_was_done() {
    let world = World::start().await;
    let number = world.open("src/a.py", CLEAN).await;
    world.comment("ada", number, "/swarm status").await;
    let said = world.said(number);
    assert!(said[0].contains("review") && said[0].contains("finished"), "{}", said[0]);
    world.end().await;
}
