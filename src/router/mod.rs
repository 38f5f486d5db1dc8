//! Decides what an event asks of us.
//!
//! Promise: the same configuration and event always give the same answer.
//! Never: no I/O; all it needs is in its arguments.

pub use crate::command::Names;

use crate::command::{self, Commands};
use crate::config::RepoConfig;
use crate::domain::{
    Action, Asker, CommandTarget, CommentAction, CommentEvent, ContributeTarget, Event, IssueAction, IssueEvent,
    MonitorTarget, Place, PullActivity, PullEvent, PullNumber, ReviewTarget, Sender, UnknownWord, fix_group,
    issue_group, test_group,
};
use crate::stdx::hash;

/// What an event asks for, or why it asks for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Review this head; older reviews of the pull request are overtaken, and so are fixes of an older head unless the
    /// push was our own.
    Review { target: ReviewTarget, ours: bool },
    /// Work on this issue, if `target.by` may write to the repository.
    Contribute(Box<ContributeTarget>),
    /// Obey these commands, if `target.by` may write to the repository.
    Command(Box<CommandTarget>),
    /// End what runs for the pull request or the issue, because …
    Cancel { groups: Vec<String>, reason: &'static str },
    /// Nothing, because …
    Ignore(String),
}

/// Applies the repository's configuration to an event. Asking for a review needs no permission: it spends no model and
/// pushes nothing. `Contribute` and `Command` need the permission to write, which the caller checks with GitHub.
pub fn route(config: &RepoConfig, names: &Names, event: &Event) -> Route {
    match event {
        Event::Pull(pull) => match pull.action {
            Action::Closed => cancel(pull, "the pull request was closed"),
            Action::ConvertedToDraft if !config.review_drafts => cancel(pull, "the pull request became a draft"),
            Action::ConvertedToDraft => Route::Ignore("drafts are reviewed as they are".into()),
            Action::Opened | Action::Reopened | Action::ReadyForReview | Action::Pushed | Action::BaseChanged => {
                review(config, names, pull)
            }
        },
        Event::Rerequested { installation, repository, repo, pull, head, .. } => Route::Review {
            target: ReviewTarget {
                installation: *installation,
                repository: *repository,
                repo: repo.clone(),
                number: *pull,
                head: head.clone(),
                base_ref: String::new(),
                forced: true,
            },
            ours: false,
        },
        Event::Issue(issue) => of_issue(config, issue),
        Event::Comment(comment) => of_comment(names, comment),
        Event::Activity(_) => Route::Ignore("asks for nothing by itself".into()),
        Event::Installation(_) => Route::Ignore("of no repository".into()),
    }
}

/// Whose follower wants to know of an event, whatever else it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    pub target: MonitorTarget,
    /// The payload says that we opened it. A check suite's does not tell who did.
    pub ours: bool,
}

/// Which pull request of ours an event is about; `None` when its author is somebody else, and for what we did ourselves.
/// A first sieve: whether the pull request is ours is asked of GitHub when it is looked at. `app` is our App's id.
pub fn followed(names: &Names, app: u64, event: &Event) -> Option<Followed> {
    let us = |who: &Sender| who.bot && who.login == names.bot_login();
    let (place, number, ours) = match event {
        Event::Pull(pull) if us(&pull.author) => {
            let place = Place {
                installation: pull.installation,
                repository: pull.repository,
                repo: pull.repo.clone(),
                default_branch: pull.default_branch.clone(),
            };
            (place, pull.number, true)
        }
        Event::Comment(comment) if comment.issue.pull && us(&comment.issue.author) && !us(&comment.sender) => {
            (comment.place.clone(), PullNumber(comment.issue.number.0), true)
        }
        Event::Activity(PullActivity { checks_of: Some(by), place, number, .. }) if *by != app => {
            (place.clone(), *number, false)
        }
        Event::Activity(PullActivity { checks_of: None, author: Some(author), place, number, sender })
            if us(author) && !us(sender) =>
        {
            (place.clone(), *number, true)
        }
        _ => return None,
    };
    Some(Followed { target: MonitorTarget { place, number, again: false }, ours })
}

fn of_issue(config: &RepoConfig, event: &IssueEvent) -> Route {
    let group = || vec![issue_group(event.place.repository, event.issue.number)];
    match &event.action {
        IssueAction::Labeled { label } if is_trigger(config, label) => labelled(config, event),
        IssueAction::Unlabeled { label } if is_trigger(config, label) => {
            Route::Cancel { groups: group(), reason: "the label was taken off" }
        }
        IssueAction::Labeled { label } | IssueAction::Unlabeled { label } => {
            Route::Ignore(format!("the label `{label}` asks for nothing (`{}` does)", config.label))
        }
        IssueAction::Closed => Route::Cancel { groups: group(), reason: "the issue was closed" },
        IssueAction::Reopened => Route::Ignore("a reopened issue is worked on when the label is set again".into()),
    }
}

/// Labels' names do not differ by case on GitHub.
fn is_trigger(config: &RepoConfig, label: &str) -> bool {
    label.trim().to_lowercase() == config.label.trim().to_lowercase()
}

fn labelled(config: &RepoConfig, event: &IssueEvent) -> Route {
    if !config.contribute {
        return Route::Ignore("`contribute: false` in this repository's configuration".into());
    }
    if event.issue.pull {
        return Route::Ignore("the label asks for work on issues; on a pull request comment `/swarm fix`".into());
    }
    if event.sender.bot {
        return Route::Ignore(format!("the bot `{}` set the label; only people ask for work", event.sender.login));
    }
    if !event.issue.open {
        return Route::Ignore("the issue is closed".into());
    }
    Route::Contribute(Box::new(ContributeTarget {
        place: event.place.clone(),
        issue: event.issue.clone(),
        by: Asker::Person(event.sender.clone()),
        comment: None,
    }))
}

fn of_comment(names: &Names, event: &CommentEvent) -> Route {
    if event.sender.bot || event.author.bot {
        return Route::Ignore("a bot's comment".into());
    }
    let Commands { verbs, commit, unknown } = match &event.action {
        CommentAction::Created => command::parse(&event.body, names),
        CommentAction::Edited { .. } if event.author.id != event.sender.id => {
            return Route::Ignore("edited by somebody else than its author".into());
        }
        CommentAction::Edited { before: None } => return Route::Ignore("the text was not edited".into()),
        CommentAction::Edited { before: Some(before) } => command::new_in(before, &event.body, names),
    };
    if verbs.is_empty() && unknown.is_empty() {
        return Route::Ignore("no command in the comment".into());
    }
    Route::Command(Box::new(CommandTarget {
        place: event.place.clone(),
        issue: event.issue.clone(),
        pinned: None,
        comment: event.comment,
        text: hash::sha256(event.body.open().as_bytes()),
        verbs,
        commit,
        unknown: unknown.into_iter().map(|word| UnknownWord { nearest: command::nearest(&word), word }).collect(),
        by: event.sender.clone(),
    }))
}

fn review(config: &RepoConfig, names: &Names, pull: &PullEvent) -> Route {
    if !config.review {
        return Route::Ignore("`review: false` in this repository's configuration".into());
    }
    if pull.draft && !config.review_drafts {
        return Route::Ignore("the pull request is a draft (`review_drafts: true` would review it)".into());
    }
    let ours = |who: &Sender| who.bot && who.login == names.bot_login();
    // What we opened or pushed ourselves is reviewed like a person's: a branch rule may wait for the check.
    let robot = [&pull.author, &pull.sender].into_iter().find(|who| who.bot && !ours(who));
    if let Some(bot) = robot.filter(|_| !config.review_bots) {
        return Route::Ignore(format!(
            "opened or pushed by the bot `{}` (`review_bots: true` would review it)",
            bot.login
        ));
    }
    Route::Review { target: target(pull), ours: ours(&pull.sender) }
}

fn cancel(pull: &PullEvent, reason: &'static str) -> Route {
    let (repository, number) = (pull.repository, pull.number);
    let groups = vec![target(pull).group(), fix_group(repository, number), test_group(repository, number)];
    Route::Cancel { groups, reason }
}

fn target(pull: &PullEvent) -> ReviewTarget {
    ReviewTarget {
        installation: pull.installation,
        repository: pull.repository,
        repo: pull.repo.clone(),
        number: pull.number,
        head: pull.head.clone(),
        base_ref: pull.base_ref.clone(),
        // A new base is a new diff, although the head is the old one.
        forced: pull.action == Action::BaseChanged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        CommentId, InstallationId, Issue, IssueNumber, Place, PullNumber, RepoName, RepositoryId, Sha, Untrusted,
    };

    fn pull(action: Action) -> PullEvent {
        let person = |id, login: &str| Sender { id, login: login.into(), bot: false };
        PullEvent {
            action,
            installation: InstallationId(1),
            repository: RepositoryId(2),
            repo: RepoName::new("octo", "calc").unwrap(),
            default_branch: "main".into(),
            number: PullNumber(3),
            head: Sha::parse(&"a".repeat(40)).unwrap(),
            base_ref: "main".into(),
            draft: false,
            author: person(10, "ada"),
            sender: person(10, "ada"),
        }
    }

    #[track_caller]
    fn check(config: &RepoConfig, pull: PullEvent, want: &str) {
        let got = shown(config, &Event::Pull(pull));
        assert!(got.contains(want), "{got}");
    }

    fn shown(config: &RepoConfig, event: &Event) -> String {
        match route(config, &Names::new("octoswarm"), event) {
            Route::Review { target, ours } => format!("{}{}", target.key(), if ours { " ours" } else { "" }),
            Route::Contribute(target) => {
                format!("{} by {}", target.key(), target.by.person().map_or("nobody", |by| &by.login))
            }
            Route::Command(target) => format!("{:?} {:?}", target.verbs, target.unknown),
            Route::Cancel { groups, reason } => format!("cancel: {reason}: {}", groups.join(" ")),
            Route::Ignore(reason) => format!("ignore: {reason}"),
        }
    }

    fn sender(id: u64, login: &str, bot: bool) -> Sender {
        Sender { id, login: login.into(), bot }
    }

    fn issue(pull: bool) -> Issue {
        Issue {
            number: IssueNumber(7),
            title: Untrusted::new("Title"),
            body: Untrusted::new("Body"),
            labels: Vec::new(),
            author: sender(10, "ada", false),
            created_at: "2026-01-01T00:00:00Z".into(),
            comments: 0,
            open: true,
            locked: false,
            pull,
            url: "https://github.com/octo/calc/issues/7".into(),
        }
    }

    fn place() -> Place {
        Place {
            installation: InstallationId(1),
            repository: RepositoryId(2),
            repo: RepoName::new("octo", "calc").unwrap(),
            default_branch: "main".into(),
        }
    }

    fn labeled(label: &str) -> IssueEvent {
        IssueEvent {
            action: IssueAction::Labeled { label: label.into() },
            place: place(),
            issue: issue(false),
            sender: sender(11, "mona", false),
        }
    }

    fn comment(action: CommentAction, body: &str) -> CommentEvent {
        CommentEvent {
            action,
            place: place(),
            issue: issue(true),
            comment: CommentId(99),
            body: Untrusted::new(body),
            author: sender(11, "mona", false),
            sender: sender(11, "mona", false),
            written_at: 0,
        }
    }

    #[track_caller]
    fn check_event(event: Event, want: &str) {
        let got = shown(&RepoConfig::default(), &event);
        assert!(got.contains(want), "{got}");
    }

    #[test]
    fn the_label_asks_for_work_whatever_its_case() {
        check_event(Event::Issue(labeled("swarm")), "contribute/2/7 by mona");
        check_event(Event::Issue(labeled("Swarm")), "contribute/2/7 by mona");
        check_event(Event::Issue(labeled("bug")), "ignore: the label `bug` asks for nothing");
        let off = RepoConfig { contribute: false, ..RepoConfig::default() };
        assert!(shown(&off, &Event::Issue(labeled("swarm"))).starts_with("ignore: `contribute: false`"));
    }

    #[test]
    fn the_label_asks_nothing_of_a_pull_request_a_closed_issue_or_when_a_bot_set_it() {
        check_event(
            Event::Issue(IssueEvent { issue: issue(true), ..labeled("swarm") }),
            "ignore: the label asks for work",
        );
        let closed = Issue { open: false, ..issue(false) };
        check_event(Event::Issue(IssueEvent { issue: closed, ..labeled("swarm") }), "ignore: the issue is closed");
        let robot = IssueEvent { sender: sender(12, "triage[bot]", true), ..labeled("swarm") };
        check_event(Event::Issue(robot), "ignore: the bot `triage[bot]`");
    }

    #[test]
    fn closing_or_unlabelling_an_issue_ends_the_work_on_it() {
        let closed = IssueEvent { action: IssueAction::Closed, ..labeled("") };
        check_event(Event::Issue(closed), "cancel: the issue was closed: issue/2/7");
        let off = IssueEvent { action: IssueAction::Unlabeled { label: "swarm".into() }, ..labeled("") };
        check_event(Event::Issue(off), "cancel: the label was taken off: issue/2/7");
    }

    #[test]
    fn commands_are_read_from_new_comments_and_from_what_an_edit_added() {
        check_event(Event::Comment(comment(CommentAction::Created, "/swarm fix")), "[Fix]");
        check_event(Event::Comment(comment(CommentAction::Created, "/swarm test abc1234")), "[Test]");
        check_event(Event::Comment(comment(CommentAction::Created, "hello")), "ignore: no command");
        let before = |text: &str| CommentAction::Edited { before: Some(Untrusted::new(text)) };
        check_event(Event::Comment(comment(before("/swarm fix"), "/swarm fix\n/swarm status")), "[Status]");
        check_event(Event::Comment(comment(CommentAction::Edited { before: None }, "/swarm fix")), "ignore:");
    }

    #[test]
    fn neither_bots_nor_those_who_edit_others_comments_command() {
        let robot = CommentEvent { author: sender(5, "x[bot]", true), ..comment(CommentAction::Created, "/swarm fix") };
        check_event(Event::Comment(robot), "ignore: a bot's comment");
        let edited = CommentAction::Edited { before: Some(Untrusted::new("")) };
        let other = CommentEvent { sender: sender(66, "eve", false), ..comment(edited, "/swarm fix") };
        check_event(Event::Comment(other), "ignore: edited by somebody else");
    }

    #[test]
    fn what_we_pushed_ourselves_is_reviewed_too() {
        let mut own = pull(Action::Pushed);
        own.sender = sender(77, "octoswarm[bot]", true);
        check(&RepoConfig::default(), own.clone(), "ours");
        own.author = own.sender.clone();
        check(&RepoConfig::default(), own, "ours");
    }

    #[test]
    fn new_commits_ask_for_a_review_of_that_head() {
        for action in [Action::Opened, Action::Reopened, Action::ReadyForReview, Action::Pushed, Action::BaseChanged] {
            check(&RepoConfig::default(), pull(action), "review/2/3@aaaa");
        }
    }

    #[test]
    fn closing_ends_what_runs() {
        check(&RepoConfig::default(), pull(Action::Closed), "cancel: the pull request was closed");
        check(&RepoConfig::default(), pull(Action::ConvertedToDraft), "cancel: the pull request became a draft");
    }

    #[test]
    fn drafts_and_bots_wait_for_the_setting() {
        let draft = PullEvent { draft: true, ..pull(Action::Opened) };
        check(&RepoConfig::default(), draft.clone(), "ignore: the pull request is a draft");
        check(&RepoConfig { review_drafts: true, ..RepoConfig::default() }, draft, "review/");

        let mut robot = pull(Action::Opened);
        robot.author.bot = true;
        check(&RepoConfig::default(), robot.clone(), "ignore: opened or pushed by the bot");
        check(&RepoConfig { review_bots: true, ..RepoConfig::default() }, robot, "review/");
    }

    #[test]
    fn a_repository_may_decline() {
        let config = RepoConfig { review: false, ..RepoConfig::default() };
        check(&config, pull(Action::Opened), "ignore: `review: false`");
    }

    /// The key of the look that the event asks for, or nothing.
    #[track_caller]
    fn check_followed(event: Event, want: &str) {
        let found = followed(&Names::new("octoswarm"), 42, &event);
        let shown = found.map(|it| format!("{}{}", it.target.key(), if it.ours { " ours" } else { "" }));
        assert_eq!(shown.unwrap_or_default(), want, "{event:?}");
    }

    fn activity(author: Option<Sender>, checks_of: Option<u64>, by: Sender) -> Event {
        Event::Activity(PullActivity { place: place(), number: PullNumber(3), author, checks_of, sender: by })
    }

    #[test]
    fn s2_7_what_happens_to_our_pull_request_is_followed_and_what_we_do_ourselves_is_not() {
        let us = || sender(77, "octoswarm[bot]", true);
        let mona = || sender(11, "mona", false);
        for action in [Action::Opened, Action::Pushed, Action::Closed, Action::Reopened, Action::ConvertedToDraft] {
            check_followed(Event::Pull(PullEvent { author: us(), ..pull(action) }), "monitor/2/3 ours");
            check_followed(Event::Pull(pull(action)), "");
        }
        let on_ours = |by: Sender| {
            let issue = Issue { author: us(), ..issue(true) };
            Event::Comment(CommentEvent { issue, sender: by, ..comment(CommentAction::Created, "Nice.") })
        };
        check_followed(on_ours(mona()), "monitor/2/7 ours");
        check_followed(on_ours(us()), "");
        check_followed(activity(Some(us()), None, mona()), "monitor/2/3 ours");
        check_followed(activity(Some(us()), None, us()), "");
        check_followed(activity(Some(mona()), None, mona()), "");
        check_followed(activity(Some(sender(5, "octoswarm[bot]", false)), None, mona()), "");
    }

    #[test]
    fn s2_7_checks_of_others_may_be_about_ours_whoever_pushed() {
        let us = || sender(77, "octoswarm[bot]", true);
        check_followed(activity(None, Some(99), us()), "monitor/2/3");
        check_followed(activity(None, Some(42), us()), "");
    }

    #[test]
    fn what_only_tells_of_a_pull_request_asks_for_nothing_by_itself() {
        check_event(activity(None, Some(99), sender(11, "mona", false)), "ignore: asks for nothing by itself");
    }
}
