//! A stored delivery: read, routed, and turned into jobs.

use crate::artifact::reply::About;
use crate::artifact::{Reply, ReplyIntent};
use crate::config::{CONFIG_PATH, RepoConfig};
use crate::domain::{
    Checks, CommandTarget, ContributeTarget, DeliveryId, Event, InstallationAction, InstallationEvent, IssueNumber,
    Job, Millis, Pinned, Place, PullEvent, ReviewTarget, Sender, fix_group, test_group,
};
use crate::github::{self, Reaction, Repo, payload::Parsed};
use crate::publish::ReactTo;
use crate::router::{self, Names, Route};
use crate::stdx::text::visible_line;
use crate::store::{DeliveryState, Enqueued, JobRow, JobState, NewJob};

use super::{App, Error, HANDLED};

/// Commands older than this were meant for another day.
const FRESH: Millis = 24 * 3_600_000;
/// What a label asks, beside the verbs of comments.
const LABEL: &str = "label";
/// Of a pull request, one runs and one waits at most.
const TESTS: usize = 20;
/// People wait for their answer.
const COMMAND_PRIORITY: i32 = -5;

/// A repository's configuration, or the defaults and why its own could not be used.
pub struct Configured {
    pub config: RepoConfig,
    problem: Option<String>,
}

impl Configured {
    /// What to tell those who read something that was made with the defaults.
    pub fn notice(&self) -> Option<String> {
        let problem = self.problem.as_ref()?;
        Some(format!("`{CONFIG_PATH}` on the default branch is not valid, so defaults apply: {problem}"))
    }

    /// For those who run what the repository says: a file that cannot be read may forbid it.
    ///
    /// # Errors
    /// Why nothing is run, for the asker.
    pub fn for_checks(self) -> Result<RepoConfig, String> {
        match (self.problem, self.config.checks) {
            (Some(problem), _) => Err(format!(
                "`{CONFIG_PATH}` on the default branch is not valid, and nothing is run until it is: {problem}"
            )),
            (None, Checks::Off) => Err("this repository's configuration says `checks: off`".to_owned()),
            (None, Checks::Auto | Checks::Require) => Ok(self.config),
        }
    }

    /// For those who write to the repository: a file that cannot be read may forbid it, or protect paths.
    ///
    /// # Errors
    /// Why nothing may be changed, for the asker.
    pub fn for_changes(self) -> Result<RepoConfig, String> {
        match self.problem {
            Some(problem) => Err(format!(
                "`{CONFIG_PATH}` on the default branch is not valid, and nothing is changed until it is: {problem}"
            )),
            None if !self.config.contribute => {
                Err("this repository's configuration says `contribute: false`".to_owned())
            }
            None => Ok(self.config),
        }
    }
}

/// What became of an event, and why: written on the delivery's row.
type Settled = (DeliveryState, String);

impl App {
    pub(super) async fn delivery(&self, guid: &DeliveryId) -> Result<(), Error> {
        let Some(row) = self.store.delivery(guid).await? else {
            return Err(Error::Overtaken(format!("delivery {guid} is no longer stored")));
        };
        if row.state == DeliveryState::Ignored && row.body.is_empty() {
            // Dismissed by an attempt that died before its job could end.
            return Ok(());
        }
        let (mut strangers, parsed) = (false, github::payload::parse(&row.event, &row.body));
        let (state, reason) = match parsed {
            Parsed::Events(events) => {
                strangers = !events.is_empty() && events.iter().all(|event| self.unserved(event).is_some());
                self.events(guid, &events).await?
            }
            Parsed::Ignored(reason) => (DeliveryState::Ignored, reason),
            Parsed::Malformed(reason) => (DeliveryState::Quarantined, reason),
        };
        tracing::info!(delivery.id = %guid, event = row.event, "delivery {}: {reason}", state.as_str());
        if strangers {
            // Anybody may install a public App: what they send must not fill the disk.
            self.store.dismiss_delivery(guid, &reason).await?;
        } else {
            self.store.settle_delivery(guid, state, Some(&reason)).await?;
        }
        let event = HANDLED.iter().find(|event| **event == row.event).copied().unwrap_or("other");
        let lag = self.store.clock().now().saturating_sub(row.received_at);
        self.store.meter().settled(event, state.as_str(), lag);
        Ok(())
    }

    /// A re-run check suite may belong to several pull requests; the delivery was handled if one of them was.
    async fn events(&self, guid: &DeliveryId, events: &[Event]) -> Result<Settled, Error> {
        let (mut state, mut reasons) = (DeliveryState::Ignored, Vec::new());
        for event in events {
            let (of_this, reason) = self.event(Some(guid), event).await?;
            if of_this == DeliveryState::Handled {
                state = of_this;
            }
            reasons.push(reason);
        }
        Ok((state, reasons.join("; ")))
    }

    /// Does what one event asks for, and tells whoever follows the pull request that it is about; `cause` is absent when no
    /// delivery told of it.
    pub(super) async fn event(&self, cause: Option<&DeliveryId>, event: &Event) -> Result<Settled, Error> {
        let (state, reason) = self.routed(cause, event).await?;
        Ok(match self.tell_follower(cause, event).await? {
            None => (state, reason),
            Some(told) if state == DeliveryState::Handled => (state, format!("{reason}; {told}")),
            Some(told) => handled(told),
        })
    }

    /// Without telling any follower.
    pub(super) async fn routed(&self, cause: Option<&DeliveryId>, event: &Event) -> Result<Settled, Error> {
        // Before anything is asked of GitHub: for a stranger's installation not even a token is minted.
        if let Some(reason) = self.unserved(event) {
            return Ok(ignored(reason));
        }
        let identity = self.identity().await?;
        let sender = sender(event);
        // What we opened or pushed wants its review; all else that we caused is over with having been done.
        let is_pull = matches!(event, Event::Pull(_));
        if sender.bot && sender.login == identity.bot_login && !is_pull {
            return Ok(ignored("caused by ourselves"));
        }
        let (repo, default_branch) = match event {
            Event::Pull(pull) => {
                (self.github.repo(pull.installation, pull.repository, pull.repo.clone()), Some(&pull.default_branch))
            }
            Event::Rerequested { installation, repository, repo, .. } => {
                (self.github.repo(*installation, *repository, repo.clone()), None)
            }
            Event::Issue(issue) => (self.repo(&issue.place), Some(&issue.place.default_branch)),
            Event::Comment(comment) => (self.repo(&comment.place), Some(&comment.place.default_branch)),
            Event::Activity(_) => return Ok(ignored("it is about no pull request that this App follows")),
            Event::Installation(event) => return self.installation(event).await,
        };
        let names = Names::new(&identity.slug);
        // Most comments ask for nothing: that is known without a question to GitHub.
        if let (Event::Comment(_), Route::Ignore(reason)) =
            (event, router::route(&RepoConfig::default(), &names, event))
        {
            return Ok(ignored(reason));
        }
        let configured = self.configuration(&repo, default_branch.map(String::as_str)).await?;
        let overtaken = match event {
            Event::Pull(pull) => self.overtake_tests(&repo, pull).await?,
            _ => 0,
        };
        match router::route(&configured.config, &names, event) {
            Route::Ignore(reason) if overtaken > 0 => Ok(handled(format!("{reason}; the test of an older head ended"))),
            Route::Ignore(reason) => Ok(ignored(reason)),
            Route::Cancel { groups, reason } => {
                if self.holds_no_more(&repo, event, &configured.config).await? {
                    return Ok(ignored(format!("{reason}, but it is not so any more")));
                }
                let mut ended = 0;
                for group in &groups {
                    ended += self.store.cancel_group(group, None, reason).await?;
                }
                Ok(handled(format!("{reason}; {ended} jobs ended")))
            }
            Route::Review { target, ours } => self.ask_for_review(cause, target, ours).await,
            Route::Contribute(target) => self.ask_for_contribution(cause, &repo, *target).await,
            Route::Command(target) => {
                let Event::Comment(comment) = event else { return Ok(ignored("no comment")) };
                self.ask_for_commands(cause, &repo, *target, comment.written_at).await
            }
        }
    }

    /// Whether the head is reviewed or not: checks that still run over an older one tell nobody anything. How many ended.
    async fn overtake_tests(&self, repo: &Repo, pull: &PullEvent) -> Result<u64, Error> {
        let group = test_group(pull.repository, pull.number);
        let over = [JobState::Completed, JobState::Discarded, JobState::Cancelled];
        let is_older = |job: &JobRow| !over.contains(&job.state) && job.unique_key != format!("{group}@{}", pull.head);
        if !self.store.group_jobs(&group, TESTS).await?.iter().any(is_older) {
            return Ok(0);
        }
        // The word of a push may come late: what GitHub says now counts.
        let now = still_there(repo.pull(pull.number).await)?.map_or_else(|| pull.head.clone(), |pull| pull.head_sha);
        Ok(self.store.cancel_group(&group, Some(&format!("{group}@{now}")), "the head has moved").await?)
    }

    /// Why nothing is done about the event, when its account is not on the list. What takes something away is always heard.
    pub(super) fn unserved(&self, event: &Event) -> Option<String> {
        let account = match event {
            Event::Pull(pull) => pull.repo.owner(),
            Event::Rerequested { repo, .. } => repo.owner(),
            Event::Issue(issue) => issue.place.repo.owner(),
            Event::Comment(comment) => comment.place.repo.owner(),
            Event::Activity(activity) => activity.place.repo.owner(),
            Event::Installation(event) => match event.action {
                InstallationAction::Deleted { .. }
                | InstallationAction::Suspended
                | InstallationAction::Removed { .. } => return None,
                InstallationAction::Created
                | InstallationAction::Unsuspended
                | InstallationAction::PermissionsAccepted
                | InstallationAction::Added { .. } => event.account.as_str(),
            },
        };
        if self.serves(account) {
            return None;
        }
        if let Event::Installation(InstallationEvent { action: InstallationAction::Created, sender, .. }) = event {
            tracing::warn!(
                "`{}` installed the App on `{}`, which is not among `accounts`: nothing is done there",
                visible_line(&sender.login),
                visible_line(account)
            );
        }
        Some(format!("`{account}` is not among `accounts`, so nothing is done there"))
    }

    /// The word that something ended may come late, or again: what GitHub says now counts.
    async fn holds_no_more(&self, repo: &Repo, event: &Event, config: &RepoConfig) -> Result<bool, Error> {
        Ok(match event {
            Event::Pull(pull) => still_there(repo.pull(pull.number).await)?
                .is_some_and(|pull| pull.is_open() && (!pull.draft || config.review_drafts)),
            Event::Issue(event) => still_there(repo.issue(event.issue.number).await)?.is_some_and(|issue| {
                issue.open && issue.labels.iter().any(|label| label.eq_ignore_ascii_case(&config.label))
            }),
            Event::Rerequested { .. } | Event::Comment(_) | Event::Activity(_) | Event::Installation(_) => false,
        })
    }

    async fn ask_for_review(
        &self,
        cause: Option<&DeliveryId>,
        target: ReviewTarget,
        ours: bool,
    ) -> Result<Settled, Error> {
        let job = Job::Review(target.clone());
        let key = job.unique_key();
        if !target.forced && self.reviewed_last(&target).await? {
            return Ok(ignored(format!("{key} was reviewed before")));
        }
        // Asked for by a person or by a new base, the same head is begun anew.
        let kept = (!target.forced).then_some(key.as_str());
        self.store.cancel_group(&target.group(), kept, "overtaken by a newer request").await?;
        if !ours && !target.forced {
            let fixes = fix_group(target.repository, target.number);
            let same_head = format!("{fixes}@{}", target.head);
            self.store.cancel_group(&fixes, Some(&same_head), "overtaken by a newer commit").await?;
        }
        let enqueued = self.store.enqueue(&job, self.now_because(cause)).await?;
        Ok(handled(under_way(enqueued, key)))
    }

    async fn ask_for_contribution(
        &self,
        cause: Option<&DeliveryId>,
        repo: &Repo,
        target: ContributeTarget,
    ) -> Result<Settled, Error> {
        if let Some(by) = target.by.person()
            && let Some(settled) = self.turned_away(repo, target.issue.number, by, LABEL).await?
        {
            return Ok(settled);
        }
        self.acknowledge(repo, ReactTo::Issue(target.issue.number)).await?;
        let job = Job::Contribute(Box::new(target));
        self.make_way(&job).await?;
        let enqueued = self.store.enqueue(&job, self.now_because(cause)).await?;
        Ok(handled(under_way(enqueued, job.unique_key())))
    }

    async fn ask_for_commands(
        &self,
        cause: Option<&DeliveryId>,
        repo: &Repo,
        mut target: CommandTarget,
        written_at: Millis,
    ) -> Result<Settled, Error> {
        let now = self.store.clock().now();
        if now.saturating_sub(written_at) > FRESH {
            return Ok(ignored("the command is older than a day"));
        }
        if self.store.knows_job(&target.key()).await? {
            return Ok(ignored(format!("{} was obeyed before", target.key())));
        }
        let number = target.issue.number;
        if let Some(minutes) = self.breaker.trips(target.place.repository, number, target.by.id, &target.key(), now) {
            let about = About::Breaker { hour: now / 3_600_000 };
            self.reply(repo, number, about, None, Reply::TooMany { minutes }).await?;
            return Ok(ignored("too many commands in this conversation"));
        }
        let word = target.verbs.first().map_or_else(|| "help".to_owned(), |verb| verb.name().to_owned());
        if let Some(settled) = self.turned_away(repo, number, &target.by, &word).await? {
            return Ok(settled);
        }
        if target.issue.pull {
            let pull = repo.pull(crate::domain::PullNumber(number.0)).await?;
            target.pinned = Some(Pinned { head: pull.head_sha, base_ref: pull.base_ref });
        }
        self.acknowledge(repo, ReactTo::Comment(target.comment)).await?;
        let job = Job::Command(Box::new(target));
        let new = NewJob { priority: COMMAND_PRIORITY, ..self.now_because(cause) };
        let enqueued = self.store.enqueue(&job, new).await?;
        Ok(handled(under_way(enqueued, job.unique_key())))
    }

    /// Whoever may not write to the repository is told so, once a conversation and verb, and nothing happens.
    async fn turned_away(
        &self,
        repo: &Repo,
        number: IssueNumber,
        by: &Sender,
        what: &str,
    ) -> Result<Option<Settled>, Error> {
        let Some(has) = self.lacks_write(repo, by).await? else { return Ok(None) };
        let about = About::Refusal { actor: by.id, verb: what.to_owned() };
        let asked = if what == LABEL { "Asking for work by a label".to_owned() } else { format!("/swarm {what}") };
        let reply = Reply::Refused { login: by.login.clone(), what: asked, has };
        match self.reply(repo, number, about, None, reply).await {
            Ok(()) => {}
            // A locked conversation stays silent.
            Err(Error::Publish(error)) if error.class() == crate::domain::Class::Discard => {
                tracing::warn!("a refusal could not be said: {error}");
            }
            Err(error) => return Err(error),
        }
        Ok(Some(ignored(format!("`{}` may not write to the repository", by.login))))
    }

    /// What GitHub says the account may, when that is not writing. By API and id: what the payload says of it proves nothing.
    pub(super) async fn lacks_write(&self, repo: &Repo, by: &Sender) -> Result<Option<String>, Error> {
        let role = repo.role_of(&by.login).await?;
        if role.user_id != by.id {
            return Ok(Some("none".to_owned()));
        }
        Ok((!role.writes).then_some(role.role))
    }

    /// "Seen": at once, before any work. A reaction that is refused does not stop the work.
    async fn acknowledge(&self, repo: &Repo, on: ReactTo) -> Result<(), Error> {
        match self.publisher.react(repo, on, Reaction::Eyes).await {
            Err(error) if error.class() == crate::domain::Class::Discard => {
                tracing::warn!("the reaction was refused: {error}");
                Ok(())
            }
            other => Ok(other?),
        }
    }

    pub(super) async fn reply(
        &self,
        repo: &Repo,
        number: IssueNumber,
        about: About,
        run: Option<crate::domain::RunId>,
        reply: Reply,
    ) -> Result<(), Error> {
        let intent = ReplyIntent { number, about, run, reply };
        self.publisher.reply(repo, self.identity().await?, &intent).await?;
        Ok(())
    }

    async fn installation(&self, event: &InstallationEvent) -> Result<Settled, Error> {
        let account = &event.account;
        Ok(match &event.action {
            InstallationAction::Deleted { repositories } => {
                let ended = self.store.cancel_installation(event.installation, "the App was uninstalled").await?;
                // The list may be cut, or empty where all were selected: the rows know the ones that we have.
                let mut all = self.store.repositories_of(event.installation).await?;
                all.extend(repositories.iter().filter(|id| !all.contains(id)).copied().collect::<Vec<_>>());
                let gone = self.purge(&all).await;
                handled(format!("uninstalled by {account}; {ended} jobs ended, {gone} mirrors removed"))
            }
            InstallationAction::Suspended => {
                let ended = self.store.cancel_installation(event.installation, "the App was suspended").await?;
                handled(format!("suspended by {account}; {ended} jobs ended"))
            }
            InstallationAction::Removed { repositories } => {
                let mut ended = 0;
                for repository in repositories {
                    ended += self.store.cancel_repository(*repository, "the App lost the repository").await?;
                }
                let gone = self.purge(repositories).await;
                handled(format!(
                    "{} of {account} taken away; {ended} jobs ended, {gone} mirrors removed",
                    repositories.len()
                ))
            }
            InstallationAction::Unsuspended => {
                self.wake.notify_one();
                handled(format!("{account} ended the suspension"))
            }
            InstallationAction::Created => handled(format!("installed by {account}")),
            InstallationAction::Added { repositories } => handled(format!("{} of {account} added", repositories.len())),
            InstallationAction::PermissionsAccepted => handled(format!("{account} accepted new permissions")),
        })
    }

    /// What others do not want us to have any more is not kept.
    async fn purge(&self, repositories: &[crate::domain::RepositoryId]) -> usize {
        let mut gone = 0;
        for repository in repositories {
            self.bench.purge(*repository).await;
            match self.mirrors.purge(*repository).await {
                Ok(()) => gone += 1,
                Err(error) => tracing::warn!(repository.id = %repository, "a mirror could not be removed: {error}"),
            }
        }
        gone
    }

    /// This head is what the pull request's last finished review was about. An older one that has come back is not:
    /// its threads may be resolved since.
    pub(super) async fn reviewed_last(&self, target: &ReviewTarget) -> Result<bool, Error> {
        let last = self.store.last_completed(&target.group()).await?;
        Ok(last.is_some_and(|job| job.unique_key == target.key()))
    }

    /// Due at once, caused by that delivery.
    pub(super) fn now_because(&self, cause: Option<&DeliveryId>) -> NewJob {
        NewJob { cause: cause.cloned(), ..NewJob::at(self.store.clock().now()) }
    }

    pub(super) fn repo(&self, place: &Place) -> Repo {
        self.github.repo(place.installation, place.repository, place.repo.clone())
    }

    /// The configuration on the default branch. One that cannot be read means defaults and a notice, never silence.
    pub(super) async fn configuration(&self, repo: &Repo, default_branch: Option<&str>) -> Result<Configured, Error> {
        let text = match repo.file(CONFIG_PATH, default_branch).await {
            Ok(text) => Ok(text.unwrap_or_default()),
            Err(error @ (github::Error::NotAFile { .. } | github::Error::TooLarge { .. })) => Err(error.to_string()),
            Err(error) => return Err(error.into()),
        };
        Ok(match text.and_then(|text| RepoConfig::parse(&text)) {
            Ok(config) => Configured { config, problem: None },
            Err(problem) => Configured { config: RepoConfig::default(), problem: Some(problem) },
        })
    }
}

fn ignored(reason: impl Into<String>) -> Settled {
    (DeliveryState::Ignored, reason.into())
}

fn handled(reason: impl Into<String>) -> Settled {
    (DeliveryState::Handled, reason.into())
}

pub(super) fn under_way(enqueued: Enqueued, key: String) -> String {
    match enqueued {
        Enqueued::New(_) => key,
        Enqueued::Existing(_) => format!("{key} is under way already"),
    }
}

/// What is gone has no state of its own any more.
pub(super) fn still_there<T>(asked: Result<T, github::Error>) -> Result<Option<T>, github::Error> {
    match asked {
        Ok(found) => Ok(Some(found)),
        Err(error) => match error.root() {
            github::Error::NotFound { .. } => Ok(None),
            _ => Err(error),
        },
    }
}

fn sender(event: &Event) -> &Sender {
    match event {
        Event::Pull(pull) => &pull.sender,
        Event::Rerequested { sender, .. } => sender,
        Event::Issue(issue) => &issue.sender,
        Event::Comment(comment) => &comment.sender,
        Event::Activity(activity) => &activity.sender,
        Event::Installation(installation) => &installation.sender,
    }
}
