//! Decides what an event asks of us.
//!
//! Promise: the same configuration and event always give the same answer.
//! Never: no I/O; all it needs is in its arguments.

use crate::config::RepoConfig;
use crate::domain::{Action, Event, PullEvent, ReviewTarget, Sender};

/// What an event asks for, or why it asks for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Review this head; older reviews of the pull request are overtaken.
    Review(ReviewTarget),
    /// End what runs for the pull request, because …
    Cancel { group: String, reason: &'static str },
    /// Nothing, because …
    Ignore(String),
}

/// Applies the repository's configuration to an event. Asking for a review needs no permission: it spends no model and pushes nothing.
pub fn route(config: &RepoConfig, event: &Event) -> Route {
    match event {
        Event::Pull(pull) => match pull.action {
            Action::Closed => cancel(pull, "the pull request was closed"),
            Action::ConvertedToDraft if !config.review_drafts => cancel(pull, "the pull request became a draft"),
            Action::ConvertedToDraft => Route::Ignore("drafts are reviewed as they are".into()),
            Action::Opened | Action::Reopened | Action::ReadyForReview | Action::Pushed | Action::BaseChanged => {
                review(config, pull)
            }
        },
        Event::Rerequested { installation, repository, repo, pull, head, .. } => Route::Review(ReviewTarget {
            installation: *installation,
            repository: *repository,
            repo: repo.clone(),
            number: *pull,
            head: head.clone(),
            base_ref: String::new(),
            forced: true,
        }),
        Event::Issue(_) | Event::Comment(_) | Event::Installation(_) => Route::Ignore("not yet".into()),
    }
}

fn review(config: &RepoConfig, pull: &PullEvent) -> Route {
    if !config.review {
        return Route::Ignore("`review: false` in this repository's configuration".into());
    }
    if pull.draft && !config.review_drafts {
        return Route::Ignore("the pull request is a draft (`review_drafts: true` would review it)".into());
    }
    if let Some(bot) = bot(pull).filter(|_| !config.review_bots) {
        return Route::Ignore(format!(
            "opened or pushed by the bot `{}` (`review_bots: true` would review it)",
            bot.login
        ));
    }
    Route::Review(target(pull))
}

fn bot(pull: &PullEvent) -> Option<&Sender> {
    [&pull.author, &pull.sender].into_iter().find(|who| who.bot)
}

fn cancel(pull: &PullEvent, reason: &'static str) -> Route {
    Route::Cancel { group: target(pull).group(), reason }
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
    use crate::domain::{InstallationId, PullNumber, RepoName, RepositoryId, Sha};

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
        let got = match route(config, &Event::Pull(pull)) {
            Route::Review(target) => target.key(),
            Route::Cancel { reason, .. } => format!("cancel: {reason}"),
            Route::Ignore(reason) => format!("ignore: {reason}"),
        };
        assert!(got.contains(want), "{got}");
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
}
