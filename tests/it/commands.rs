//! Commands in comments: who is obeyed, what is a command, and what is answered.

use octoswarm::demo::{Change, Fault, OpenPull};
use octoswarm::domain::{CommentId, Conversation, FixTarget, Job, Place, Sender, Verb};
use octoswarm::store::{JobFilter, NewJob};

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
async fn help_lists_what_applies_where_it_was_asked_also_by_mention() {
    let world = World::start().await;
    let pull = world.open("src/a.py", CLEAN).await;
    let issue = world.people().open_issue("ada", REPO, "A question", "What can be done here?").await.unwrap();
    for (number, on, elsewhere) in
        [(pull, Conversation::Pull, Conversation::Issue), (issue, Conversation::Issue, Conversation::Pull)]
    {
        world.comment("ada", number, &format!("@{} help", world.github.app_slug())).await;
        let said = world.said(number);
        for verb in Verb::ALL {
            let row = |on| verb.about(on).map(|about| format!("| `/swarm {verb}` | {about} |"));
            assert!(row(on).is_none_or(|row| said[0].contains(&row)), "{verb} on {on:?}: {}", said[0]);
            let foreign = row(elsewhere).filter(|_| row(elsewhere) != row(on));
            assert!(!foreign.is_some_and(|row| said[0].contains(&row)), "{verb} on {on:?}: {}", said[0]);
        }
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

#[tokio::test]
async fn a_command_for_what_is_under_way_says_where_the_outcome_will_stand() {
    let world = with_unsafe_yaml().await;
    let issue = world.people().open_issue("ada", REPO, TITLE, BODY).await.unwrap();
    world.github.fail_next(Fault::withhold("POST", "/git-receive-pack"));
    world.people().label("ada", REPO, issue, "swarm").await.unwrap();
    world.github.wait_withheld().await;
    // The command's own work ends before the label's may go on.
    world.github.fail_next(Fault::withhold("PATCH", "/comments"));
    world.people().comment("ada", REPO, issue, "/swarm fix").await.unwrap();
    world.github.wait_withheld().await;
    world.github.release_withheld();
    world.settle().await;
    let said = world.said(issue);
    assert!(said[0].contains("under way already"), "{said:?}");
    assert_eq!(world.own_pulls().len(), 1);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn what_was_obeyed_is_not_begun_again_when_a_later_verb_fails() {
    let world = World::start().await;
    let number = world.open("src/read.py", UNSAFE).await;
    let before = world.github.pull(REPO, number).unwrap();
    // The second answer in the comment fails until the fix is done.
    world.github.fail_next(Fault::status("PATCH", "/comments", 502));
    world.comment("ada", number, "/swarm fix\n/swarm help").await;
    let commits = world.github.commits(REPO, &before.head_ref);
    assert_eq!(commits[0].parents, std::slice::from_ref(&before.head_sha), "one commit on top");
    let said = world.said(number);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains(&commits[0].sha[..7]) && said[0].contains("retry"), "{}", said[0]);
    world.reviews(number);
    world.comments(number);
    world.end_with_refusals().await;
}

#[tokio::test]
async fn a_command_that_is_cancelled_before_it_began_gets_its_answer() {
    let world = World::start().await;
    let number = world.open("src/read.py", UNSAFE).await;
    let id = world.people().comment("ada", REPO, number, "Please fix this some day.").await.unwrap();
    let pull = world.github.pull(REPO, number).unwrap();
    let store = world.app.store();
    let review =
        store.jobs(&JobFilter { kind: Some("review".into()), ..JobFilter::default() }).await.unwrap().remove(0);
    let Some(Job::Review(review)) = review.job else { panic!("no review") };
    let fix = Job::Fix(FixTarget {
        place: Place {
            installation: review.installation,
            repository: review.repository,
            repo: review.repo,
            default_branch: "main".into(),
        },
        number: review.number,
        head: review.head,
        base_ref: pull.base_ref.clone(),
        comment: CommentId(id),
        by: Sender { id: 0, login: "ada".into(), bot: false },
    });
    store.enqueue(&fix, NewJob::at(store.clock().now() + 3_600_000)).await.unwrap();
    world.comment("ada", number, "/swarm cancel").await;
    let said = world.said(number);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().any(|text| text.contains("cancelled by")), "{said:?}");
    assert_eq!(world.github.pull(REPO, number).unwrap().head_sha, pull.head_sha);
    world.reviews(number);
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn with_a_configuration_that_cannot_be_read_nothing_is_changed_and_the_asker_learns_why() {
    let world = with_unsafe_yaml().await;
    let config = Change::new().write(".github/octoswarm.yml", "protectd: ['src/**']\n");
    world.people().push("ada", REPO, "main", "Protect the sources", config).await.unwrap();
    let issue = world.ask(TITLE, BODY).await;
    let number = world.open("src/read.py", UNSAFE).await;
    world.comment("ada", number, "/swarm fix").await;
    assert!(world.own_pulls().is_empty());
    for place in [issue, number] {
        let said = world.said(place);
        assert!(said.len() == 1 && said[0].contains("protectd"), "{said:?}");
    }
    world.reviews(number);
    world.comments(number);
    world.end().await;
}
