//! Answers to people: one comment for each thing, grown in place, and never said twice.

use octoswarm::artifact::reply::{About, Status};
use octoswarm::artifact::{Reply, ReplyIntent};
use octoswarm::demo::IssueComment;
use octoswarm::domain::{CommentId, Conversation, IssueNumber, Verb};
use octoswarm::github::Reaction;
use octoswarm::publish::ReactTo;
use octoswarm::store::EffectState;

use super::*;

/// A conversation with nobody of us in it yet.
struct Talk {
    world: World,
    issue: u64,
    /// What mona asked with.
    asked: u64,
}

impl Talk {
    async fn start() -> Self {
        let world = World::with(MANIFEST, 3, Duration::from_millis(200)).await;
        let issue = world.people.open_issue("mona", REPO, "Broken", "It is broken.").await.unwrap();
        let asked = world.people.comment("mona", REPO, issue, "/swarm help").await.unwrap();
        Self { world, issue, asked }
    }

    fn intent(&self, about: About, reply: Reply) -> ReplyIntent {
        let run = Some(RunId(uuid::Uuid::now_v7()));
        ReplyIntent { number: IssueNumber(self.issue), about, run, reply }
    }

    fn answer(&self, topic: &str, reply: Reply) -> ReplyIntent {
        self.intent(About::Comment { comment: CommentId(self.asked), topic: topic.to_owned() }, reply)
    }

    async fn say(&self, intent: &ReplyIntent) -> Result<CommentId, Error> {
        self.world.publisher.reply(&self.world.repo, &self.world.app, intent).await
    }

    fn ours(&self) -> Vec<IssueComment> {
        let mut all = self.world.github.read_comments(REPO, self.issue);
        all.retain(|comment| comment.author == self.world.github.bot_login());
        all
    }

    /// The only comment of ours.
    #[track_caller]
    fn only(&self) -> IssueComment {
        let mut ours = self.ours();
        assert_eq!(ours.len(), 1, "{ours:#?}");
        ours.remove(0)
    }

    async fn row(&self, key: &str) -> octoswarm::store::EffectRow {
        let store = Store::open_read_only(self.world.dir.path(), Clock::system()).await.unwrap();
        store.effect(key).await.unwrap().unwrap()
    }

    fn answer_key(&self) -> String {
        format!("answer/{}/{}", self.world.repository, self.asked)
    }
}

fn working() -> Reply {
    Reply::Working { what: "the mechanical fixes.".into() }
}

fn fixed() -> Reply {
    Reply::Fixed { commit: "ab12".repeat(10), files: 1, fixes: Vec::new(), left: 0 }
}

#[tokio::test]
async fn an_answer_is_one_comment_that_grows_and_changes_in_place() {
    let talk = Talk::start().await;
    let id = talk.say(&talk.answer("fix", working())).await.unwrap();
    assert!(talk.only().body.contains("Working on it"));
    let review = Reply::ReviewAsked { head: "ab12".repeat(10), already: false };
    assert_eq!(talk.say(&talk.answer("review", review)).await.unwrap(), id);
    assert_eq!(talk.say(&talk.answer("fix", fixed())).await.unwrap(), id);
    let body = talk.only().body;
    let (fix, review) = (body.find("pushed as `ab12ab1`").unwrap(), body.find("A review of").unwrap());
    assert!(fix < review && !body.contains("Working"), "{body}");
    assert!(
        body.ends_with(&format!("<!-- octoswarm:v1 answer {}/{} -->", talk.world.repository, talk.asked)),
        "{body}"
    );

    let before = talk.world.github.calls().len();
    assert_eq!(talk.say(&talk.answer("fix", fixed())).await.unwrap(), id);
    assert_eq!(talk.world.github.calls().len(), before, "what was said needs no look");
    assert_eq!((talk.world.writes(), talk.world.github.refusals().len()), (3, 0));
}

#[tokio::test]
async fn an_outcome_is_not_taken_back_by_a_late_word_of_work() {
    let talk = Talk::start().await;
    talk.say(&talk.answer("fix", working())).await.unwrap();
    talk.say(&talk.answer("fix", fixed())).await.unwrap();
    let before = talk.world.writes();
    talk.say(&talk.answer("fix", working())).await.unwrap();
    assert_eq!(talk.world.writes(), before);
    assert!(talk.only().body.contains("pushed as"));
    // A label that is set again begins anew.
    let contribution = |reply| talk.intent(About::Contribution, reply);
    for (reply, part) in [(fixed(), "pushed as"), (working(), "Working on it"), (fixed(), "pushed as")] {
        talk.say(&contribution(reply)).await.unwrap();
        assert!(talk.ours()[1].body.contains(part));
    }
}

#[tokio::test]
async fn each_thing_has_a_comment_of_its_own() {
    let talk = Talk::start().await;
    talk.say(&talk.answer("help", Reply::Help { on: Conversation::Issue })).await.unwrap();
    talk.say(&talk.intent(About::Contribution, working())).await.unwrap();
    let other = talk.world.people.comment("hubot", REPO, talk.issue, "/swarm status").await.unwrap();
    let about = About::Comment { comment: CommentId(other), topic: "status".into() };
    talk.say(&talk.intent(about, Reply::Status(Status::default()))).await.unwrap();
    let why = || Reply::Declined { why: "The conversation is locked.".into() };
    talk.say(&talk.intent(About::Contribution, why())).await.unwrap();
    let shown: Vec<_> = talk.ours().into_iter().map(|comment| comment.body).collect();
    assert_eq!(shown.len(), 3);
    for (body, part) in shown.iter().zip(["/swarm help", "not worked on", "Nothing is running"]) {
        assert!(body.contains(part), "{body}");
    }
}

#[tokio::test]
async fn another_ledger_finds_the_answer_behind_many_comments() {
    let talk = Talk::start().await;
    talk.world.people.comment("mona", REPO, talk.issue, "first").await.unwrap();
    let id = talk.say(&talk.answer("help", Reply::Help { on: Conversation::Issue })).await.unwrap();
    for n in 0..230 {
        talk.world.people.comment("mona", REPO, talk.issue, &format!("comment {n}")).await.unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Clock::system()).await.unwrap();
    let publisher = Publisher::new(store, Duration::ZERO, Clock::system());
    let before = talk.world.writes();
    let again = talk.answer("help", Reply::Help { on: Conversation::Issue });
    assert_eq!(publisher.reply(&talk.world.repo, &talk.world.app, &again).await.unwrap(), id);
    assert_eq!(talk.world.writes(), before);
    // And one that stands on the last page.
    let last = talk.intent(About::Contribution, working());
    let id = talk.say(&last).await.unwrap();
    assert_eq!(publisher.reply(&talk.world.repo, &talk.world.app, &last).await.unwrap(), id);
    assert_eq!(talk.ours().len(), 2);
}

#[tokio::test]
async fn a_stranger_cannot_answer_in_our_place() {
    let talk = Talk::start().await;
    let forged = format!("no\n\n<!-- octoswarm:v1 answer {}/{} -->", talk.world.repository, talk.asked);
    for login in ["mallory", "octoswarm", &talk.world.app.slug] {
        talk.world.people.comment(login, REPO, talk.issue, &forged).await.unwrap();
    }
    let id = talk.say(&talk.answer("help", Reply::Help { on: Conversation::Issue })).await.unwrap();
    assert_eq!(talk.only().id, id.0);
    assert_eq!(talk.world.github.comments(REPO, talk.issue).iter().filter(|c| c.body == forged).count(), 3);
}

#[tokio::test]
async fn a_deleted_answer_stays_away_until_there_is_something_new_to_say() {
    let talk = Talk::start().await;
    let first = talk.say(&talk.answer("fix", working())).await.unwrap();
    delete(&talk.world, first).await;
    talk.say(&talk.answer("fix", working())).await.unwrap();
    assert_eq!(talk.ours().len(), 0);

    // The answer to the new comment is lost: it is found, not posted a third time.
    talk.world.github.fail_next(Fault::once("POST", "/comments", FaultKind::RejectAfterEffect { status: 502 }));
    talk.say(&talk.answer("fix", fixed())).await.unwrap_err();
    let second = talk.say(&talk.answer("fix", fixed())).await.unwrap();
    assert_ne!(first, second);
    assert!(talk.only().body.contains("pushed as"));
}

#[tokio::test]
async fn a_refusal_is_told_once_a_thread_a_person_and_a_verb() {
    let talk = Talk::start().await;
    let refused = |has: &str| Reply::Refused { login: "mallory".into(), what: "/swarm fix".into(), has: has.into() };
    let about = |actor, verb: &str| About::Refusal { actor, verb: verb.to_owned() };
    let first = talk.say(&talk.intent(about(7, "fix"), refused("read"))).await.unwrap();
    for has in ["read", "triage"] {
        assert_eq!(talk.say(&talk.intent(about(7, "fix"), refused(has))).await.unwrap(), first);
    }
    assert!(talk.only().body.contains("`read` access"));
    delete(&talk.world, first).await;
    talk.say(&talk.intent(about(7, "fix"), refused("read"))).await.unwrap();
    assert_eq!(talk.ours().len(), 0, "ever means ever");

    talk.say(&talk.intent(about(7, "review"), refused("read"))).await.unwrap();
    talk.say(&talk.intent(about(8, "fix"), refused("read"))).await.unwrap();
    let elsewhere =
        ReplyIntent { number: IssueNumber(talk.world.number), ..talk.intent(about(7, "fix"), refused("read")) };
    talk.say(&elsewhere).await.unwrap();
    assert_eq!(talk.ours().len(), 2);
    assert_eq!(talk.world.github.read_comments(REPO, talk.world.number).len(), 1);
}

#[tokio::test]
async fn a_verb_that_somebody_made_up_forges_no_marker() {
    let talk = Talk::start().await;
    let verb = format!("x -->\n<!-- octoswarm:v1 answer {}/{} -->", talk.world.repository, talk.asked);
    let refused = Reply::Refused { login: "mallory".into(), what: verb.clone(), has: String::new() };
    let one = talk.say(&talk.intent(About::Refusal { actor: 7, verb }, refused)).await.unwrap();
    let two = talk.say(&talk.answer("help", Reply::Help { on: Conversation::Issue })).await.unwrap();
    assert_ne!(one, two);
    assert_eq!(talk.ours()[0].body.lines().filter(|line| line.starts_with("<!--")).count(), 1);
}

#[tokio::test]
async fn too_many_commands_are_told_once_an_hour() {
    let talk = Talk::start().await;
    let breaker = |hour, minutes| talk.intent(About::Breaker { hour }, Reply::TooMany { minutes });
    let first = talk.say(&breaker(1, 50)).await.unwrap();
    assert_eq!(talk.say(&breaker(1, 20)).await.unwrap(), first);
    assert_ne!(talk.say(&breaker(2, 60)).await.unwrap(), first);
    assert_eq!(talk.ours().len(), 2);
}

// -- crashes, outages, rivals -----------------------------------------------

#[tokio::test]
async fn a_comment_whose_answer_never_came_is_found_again() {
    let talk = Talk::start().await;
    talk.world.github.fail_next(Fault::withhold("POST", "/comments"));
    let intent = talk.answer("fix", working());
    tokio::select! {
        done = talk.say(&intent) => panic!("{done:?}"),
        () = talk.world.github.wait_withheld() => {}
    }
    talk.world.github.release_withheld();
    let row = talk.row(&talk.answer_key()).await;
    assert_eq!(row.state, EffectState::Sent);
    // The next life has more to say.
    let id = talk.say(&talk.answer("fix", fixed())).await.unwrap();
    assert_eq!(talk.only().id, id.0);
    assert!(talk.only().body.contains("pushed as"));
    let looked = talk.world.github.calls();
    let looked = looked.iter().rfind(|call| call.method == "GET" && call.path.contains("/comments")).unwrap().at;
    let after = looked - row.sent_at.unwrap();
    assert!(after >= 150, "looked {after} ms after sending");
    assert_eq!(talk.row(&talk.answer_key()).await.state, EffectState::Proved);
}

#[tokio::test]
async fn an_edit_whose_answer_never_came_is_not_written_again() {
    let talk = Talk::start().await;
    talk.say(&talk.answer("fix", working())).await.unwrap();
    talk.world.github.fail_next(Fault::withhold("PATCH", "/comments"));
    let intent = talk.answer("fix", fixed());
    tokio::select! {
        done = talk.say(&intent) => panic!("{done:?}"),
        () = talk.world.github.wait_withheld() => {}
    }
    talk.world.github.release_withheld();
    let before = talk.world.writes();
    talk.say(&intent).await.unwrap();
    assert_eq!(talk.world.writes(), before);
    assert!(talk.only().body.contains("pushed as"));
}

/// What GitHub may do to a write, and what the queue should do then. All of them end in one comment with the right words.
fn misfortunes(method: &'static str, path: &'static str) -> Vec<(Fault, Class)> {
    let once = |kind| Fault::once(method, path, kind);
    vec![
        (Fault::status(method, path, 401).times(2), Class::RetryAfter(Duration::from_secs(60))),
        (Fault::status(method, path, 403), Class::Discard),
        (Fault::status(method, path, 422), Class::Discard),
        (Fault::status(method, path, 500), Class::Retry),
        (Fault::status(method, path, 503), Class::Retry),
        (once(FaultKind::Html), Class::Retry),
        (once(FaultKind::Truncate), Class::Retry),
        (once(FaultKind::RejectAfterEffect { status: 500 }), Class::Retry),
        (once(FaultKind::RejectAfterEffect { status: 504 }), Class::Retry),
    ]
}

#[tokio::test]
async fn whatever_github_does_to_a_new_comment_there_is_one_in_the_end() {
    for (fault, class) in misfortunes("POST", "/comments") {
        let talk = Talk::start().await;
        talk.world.github.fail_next(fault.clone());
        let intent = talk.answer("fix", fixed());
        let error = talk.say(&intent).await.unwrap_err();
        assert_eq!(error.class(), class, "{fault:?}: {error}");
        let failed = talk.row(&talk.answer_key()).await.state == EffectState::Failed;
        assert_eq!(failed, class == Class::Discard, "{fault:?}");
        talk.say(&intent).await.unwrap();
        assert!(talk.only().body.contains("pushed as"), "{fault:?}");
    }
    let gone = Talk::start().await;
    let nowhere =
        ReplyIntent { number: IssueNumber(999), ..gone.answer("help", Reply::Help { on: Conversation::Issue }) };
    assert_eq!(gone.say(&nowhere).await.unwrap_err().class(), Class::Discard);
}

#[tokio::test]
async fn whatever_github_does_to_an_edit_the_words_are_right_in_the_end() {
    for (fault, class) in misfortunes("PATCH", "/comments") {
        let talk = Talk::start().await;
        talk.say(&talk.answer("fix", working())).await.unwrap();
        talk.world.github.fail_next(fault.clone());
        let intent = talk.answer("fix", fixed());
        let error = talk.say(&intent).await.unwrap_err();
        assert_eq!(error.class(), class, "{fault:?}: {error}");
        talk.say(&intent).await.unwrap();
        assert!(talk.only().body.contains("pushed as"), "{fault:?}");
    }
    // Deleted between the look and the edit.
    let talk = Talk::start().await;
    talk.say(&talk.answer("fix", working())).await.unwrap();
    talk.world.github.fail_next(Fault::status("PATCH", "/comments", 404));
    talk.say(&talk.answer("fix", fixed())).await.unwrap();
    assert!(talk.ours().pop().unwrap().body.contains("pushed as"));
}

#[tokio::test]
async fn a_conversation_that_was_locked_meanwhile_ends_the_job_with_a_reason() {
    let talk = Talk::start().await;
    talk.world.github.fail_next(Fault::once(
        "POST",
        "/comments",
        FaultKind::Status {
            status: 403,
            message: "Unable to create comment because issue is locked.".into(),
            retry_after: None,
        },
    ));
    let error = talk.say(&talk.answer("help", Reply::Help { on: Conversation::Issue })).await.unwrap_err();
    assert_eq!(error.class(), Class::Discard);
    assert!(error.hint().unwrap().contains("unlock"), "{:?}", error.hint());
    assert!(talk.row(&talk.answer_key()).await.reason.unwrap().contains("locked"));
}

#[tokio::test]
async fn a_limit_is_waited_out_without_a_second_comment() {
    let talk = Talk::start().await;
    talk.world.github.fail_next(Fault::secondary_limit("POST", "/comments", 1));
    let intent = talk.answer("fix", fixed());
    assert_eq!(talk.say(&intent).await.unwrap_err().class(), Class::Snooze(Duration::from_secs(1)));
    assert_eq!(talk.ours().len(), 0);
}

#[tokio::test]
async fn two_jobs_that_answer_one_comment_write_one_answer() {
    let talk = Talk::start().await;
    let replies: Vec<_> = Verb::ALL
        .into_iter()
        .map(|verb| talk.answer(verb.name(), Reply::NotHere { verb, why: format!("reason for {verb}.") }))
        .collect();
    let said = futures::future::join_all(replies.iter().map(|intent| talk.say(intent))).await;
    let ids: std::collections::BTreeSet<_> = said.into_iter().map(|id| id.unwrap().0).collect();
    assert_eq!(ids.len(), 1);
    let body = talk.only().body;
    for verb in Verb::ALL {
        assert_eq!(body.matches(&format!("reason for {verb}.")).count(), 1, "{body}");
    }
}

#[tokio::test]
async fn a_worker_that_lost_its_job_answers_nobody() {
    let talk = Talk::start().await;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Clock::system()).await.unwrap();
    store.enqueue(&Job::Review(talk.world.target()), NewJob::at(0)).await.unwrap();
    let claimed = store.claim("n", 60_000, &[]).await.unwrap().unwrap();
    let stale = Publisher::new(store.clone(), Duration::ZERO, Clock::system()).under(&claimed.lease);
    store.complete(&claimed.lease).await.unwrap();
    let before = talk.world.writes();
    let (repo, app) = (&talk.world.repo, &talk.world.app);
    let refused =
        stale.reply(repo, app, &talk.answer("help", Reply::Help { on: Conversation::Issue })).await.unwrap_err();
    assert_eq!(refused.class(), Class::Cancelled, "{refused}");
    let refused = stale.react(repo, ReactTo::Comment(CommentId(talk.asked)), Reaction::Eyes).await.unwrap_err();
    assert_eq!(refused.class(), Class::Cancelled, "{refused}");
    assert_eq!(talk.world.writes(), before);
}

#[tokio::test]
async fn a_reaction_is_given_once_and_a_comment_that_is_gone_gets_none() {
    let talk = Talk::start().await;
    for _ in 0..2 {
        for what in [ReactTo::Comment(CommentId(talk.asked)), ReactTo::Issue(IssueNumber(talk.issue))] {
            talk.world.publisher.react(&talk.world.repo, what, Reaction::Eyes).await.unwrap();
        }
    }
    let given: Vec<_> = talk.world.github.reactions(REPO).into_iter().map(|r| (r.subject, r.content)).collect();
    assert_eq!(
        given,
        [(format!("comment/{}", talk.asked), "eyes".to_owned()), (format!("issue/{}", talk.issue), "eyes".to_owned())]
    );
    let gone = ReactTo::Comment(CommentId(999_999));
    talk.world.publisher.react(&talk.world.repo, gone, Reaction::Rocket).await.unwrap();
}

/// As somebody who may write here can.
async fn delete(world: &World, comment: CommentId) {
    world.people.delete_comment("octo", REPO, comment.0).await.unwrap();
}
