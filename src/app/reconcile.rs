//! What a missed webhook lost is found again: the App's delivery log is read back to where it was read last, and open
//! pull requests and labelled issues are compared with the rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{App, Error, HANDLED, Served};
use crate::artifact::reply::About;
use crate::artifact::{PullIntent, Reply};
use crate::domain::{
    Action, Class, DeliveryId, Event, InstallationId, Issue, IssueAction, IssueEvent, Millis, Place, PullEvent,
    RepositoryId, ReviewTarget, Sender, Untrusted, contribution_key,
};
use crate::github::{self, DeliveryInfo, IssueInfo, Pull, Repo, RepoInfo, User};
use crate::store::{Accepted, NewDelivery, Target};

/// Where the log was read to: milliseconds since the epoch.
const CURSOR: &str = "deliveries/read-to";
/// GitHub keeps the log at least this long: 3 days on github.com, 7 on an Enterprise Server.
const WINDOW: Millis = 3 * 24 * 3_600_000;
/// Deliveries are listed late, and answered late: what is younger than the cursor by this much is looked at again.
const OVERLAP: Millis = 10 * 60_000;
/// Somebody who tries the App from a laptop may have acted before the server ran.
const FIRST_POLL: Millis = 3_600_000;
/// Pages of a hundred that one pass reads.
const PAGES: usize = 2_000;
/// How often pull requests and labels are compared with the rows.
const SWEEP_EVERY: Duration = Duration::from_secs(3_600);

/// What one pass over the log found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaughtUp {
    /// Asked GitHub to deliver again.
    pub redelivered: usize,
    /// Taken from the log itself.
    pub taken: usize,
}

impl App {
    /// At start, then every `reconcile` interval, until told to stop.
    pub(super) async fn reconcile(&self, shutdown: CancellationToken) {
        let Some(every) = self.reconcile_every else { return };
        let mut passes = tokio::time::interval(every);
        passes.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut swept: Option<tokio::time::Instant> = None;
        let mut postponed = false;
        loop {
            tokio::select! {
                _ = passes.tick() => {}
                () = self.wake.notified() => swept = None,
                () = shutdown.cancelled() => return,
            }
            let pass = async {
                let caught_up = self.catch_up().await.inspect_err(|error| {
                    tracing::warn!(
                        "the delivery log could not be read; the next pass goes on from the same place: {}",
                        error.chain()
                    );
                })?;
                let due = swept.is_none_or(|at| at.elapsed() >= SWEEP_EVERY);
                // What is on its way from the log shows things as they were then, and comes first.
                if due && caught_up != CaughtUp::default() && !postponed {
                    postponed = true;
                } else if due {
                    postponed = false;
                    self.sweep().await.inspect_err(|error| {
                        tracing::warn!("open pull requests and issues could not all be compared: {}", error.chain());
                    })?;
                    swept = Some(tokio::time::Instant::now());
                }
                Ok::<_, Error>(())
            };
            tokio::select! {
                _told = pass => {}
                () = shutdown.cancelled() => return,
            }
        }
    }

    /// Reads the log back to the cursor. The cursor moves only when all of it was dealt with.
    ///
    /// # Errors
    /// GitHub's or the store's; nothing is skipped by them.
    pub async fn catch_up(&self) -> Result<CaughtUp, Error> {
        let ended = self.read_log().await;
        self.store.meter().caught_up_pass(ended.is_ok(), self.store.clock().now());
        ended
    }

    async fn read_log(&self) -> Result<CaughtUp, Error> {
        let now = self.store.clock().now();
        let cursor = self.store.get_cursor(CURSOR).await?.and_then(|text| text.parse::<Millis>().ok());
        if let Some(last) = cursor.filter(|last| now.saturating_sub(*last) > WINDOW) {
            tracing::warn!(
                hours = now.saturating_sub(last) / 3_600_000,
                "the server was away for longer than GitHub keeps its delivery log: events may be lost; \
                 open pull requests and labelled issues are compared instead"
            );
        }
        let first = if self.poll { FIRST_POLL } else { WINDOW };
        // However long ago that is: the log itself knows how far back it goes.
        let since = cursor.map_or(now - first, |last| last - OVERLAP);
        let log = self.log_since(since).await?;
        // What has not settled yet is looked at again by the next pass.
        let read_to = log.iter().map(|entry| entry.delivered_at).max().unwrap_or(now).min(now - self.on_its_way);
        let done = self.deal_with(log, now).await?;
        self.store.set_cursor(CURSOR, &read_to.max(cursor.unwrap_or(0)).to_string()).await?;
        if done != CaughtUp::default() {
            tracing::info!(redelivered = done.redelivered, taken = done.taken, "caught up with the delivery log");
        }
        Ok(done)
    }

    /// Newest first.
    async fn log_since(&self, since: Millis) -> Result<Vec<DeliveryInfo>, Error> {
        let (mut log, mut cursor): (Vec<DeliveryInfo>, Option<String>) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page = self.github.deliveries(cursor.as_deref()).await?;
            let reached = page.deliveries.iter().any(|entry| entry.delivered_at < since);
            log.extend(page.deliveries.into_iter().filter(|entry| entry.delivered_at >= since));
            cursor = page.next;
            if reached || cursor.is_none() {
                return Ok(log);
            }
        }
        tracing::warn!(pages = PAGES, "the delivery log is longer than one pass reads; older entries are left");
        Ok(log)
    }

    async fn deal_with(&self, log: Vec<DeliveryInfo>, now: Millis) -> Result<CaughtUp, Error> {
        let mut by_guid: BTreeMap<DeliveryId, Vec<DeliveryInfo>> = BTreeMap::new();
        for entry in log {
            by_guid.entry(entry.guid.clone()).or_default().push(entry);
        }
        // In the order in which things happened.
        let mut missed: Vec<(DeliveryId, Vec<DeliveryInfo>)> = Vec::new();
        for (guid, entries) in by_guid {
            let delivered = entries.iter().any(|entry| entry.ok) && !self.poll;
            let on_its_way = entries.iter().any(|entry| now.saturating_sub(entry.delivered_at) < self.on_its_way);
            if delivered || (on_its_way && !self.poll && !self.missed_at_start(&entries)) {
                continue;
            }
            if !self.store.has_delivery(&guid).await? {
                missed.push((guid, entries));
            }
        }
        // What the log does not show any more is not met again.
        self.known_as_lost().retain(|lost| missed.iter().any(|(guid, _)| guid == lost));
        missed.sort_by_key(|(_, entries)| entries.iter().map(|entry| (entry.delivered_at, entry.id)).min());
        let mut done = CaughtUp::default();
        for (guid, entries) in missed {
            let Some(latest) = entries.iter().max_by_key(|entry| (entry.delivered_at, entry.id)) else { continue };
            // Asked once already and failed again: GitHub cannot reach us, so the log itself is taken.
            let unreachable = self.poll || entries.iter().any(|entry| entry.redelivery);
            if !unreachable {
                match self.github.redeliver(latest.id).await {
                    Ok(()) => {
                        self.store.meter().caught_up("redelivered", 1);
                        done.redelivered += 1;
                        continue;
                    }
                    // Too old, or too large: the log may have it all the same.
                    Err(error) if is_of_one(&error) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            match self.take(&guid, latest).await {
                Ok(_) => {
                    self.store.meter().caught_up("taken", 1);
                    done.taken += 1;
                }
                // One that nobody can bring any more must not keep us from all that came after it.
                Err(Error::Github(error)) if is_of_one(&error) => {
                    // The next passes look at the same part of the log again.
                    if self.known_as_lost().insert(guid.clone()) {
                        self.store.meter().caught_up("lost", 1);
                        tracing::warn!(delivery.id = %guid, event = latest.event, "a delivery is lost: {error}");
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn known_as_lost(&self) -> MutexGuard<'_, BTreeSet<DeliveryId>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Failed before this process could have answered it.
    fn missed_at_start(&self, entries: &[DeliveryInfo]) -> bool {
        entries.iter().all(|entry| entry.delivered_at < self.started_at)
    }

    /// Stores a delivery from the log as if GitHub had brought it: the App's key vouches for it as the secret does.
    async fn take(&self, guid: &DeliveryId, entry: &DeliveryInfo) -> Result<Accepted, Error> {
        let content = self.github.delivery(entry.id).await?;
        let new = NewDelivery {
            guid: guid.clone(),
            event: entry.event.clone(),
            body: content.payload,
            target: Target::default(),
            received_at: self.store.clock().now(),
        };
        Ok(if HANDLED.contains(&entry.event.as_str()) {
            self.store.accept(new).await?
        } else {
            let reason = format!("the event `{}` is not one that this App acts on", entry.event);
            self.store.accept_ignored(new, &reason).await?
        })
    }

    /// Compares what is open on GitHub with the rows. Only what changed since the last sweep of a repository counts: the
    /// first one, after an installation, just marks the time.
    ///
    /// # Errors
    /// GitHub's or the store's, of the first repository that could not be compared; the others are compared all the same.
    /// What GitHub refuses for good is only logged: asked again at once, it would be refused again.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let Served { repositories, unlisted } = self.served().await?;
        let (mut found, mut failed) = (0, None);
        for (account, error) in unlisted {
            failed = failed.or(worth_another_try(error, &account));
        }
        for (installation, info) in repositories {
            match self.sweep_repository(installation, &info).await {
                Ok(count) => found += count,
                Err(error) => failed = failed.or(worth_another_try(error, &info.name.to_string())),
            }
        }
        failed.map_or(Ok(found), Err)
    }

    async fn sweep_repository(&self, installation: InstallationId, info: &RepoInfo) -> Result<usize, Error> {
        let cursor = format!("sweep/{}", info.id);
        let began = self.store.clock().now();
        let last = self.store.get_cursor(&cursor).await?.and_then(|text| text.parse::<Millis>().ok());
        let mut found = 0;
        if let Some(last) = last {
            let place = Place {
                installation,
                repository: info.id,
                repo: info.name.clone(),
                default_branch: info.default_branch.clone(),
            };
            let repo = self.repo(&place);
            found += self.sweep_pulls(&repo, &place, last - OVERLAP).await?;
            found += self.sweep_issues(&repo, &place, last - OVERLAP).await?;
            found += self.sweep_watched(&repo, &place).await?;
        }
        self.store.set_cursor(&cursor, &began.to_string()).await?;
        Ok(found)
    }

    async fn sweep_pulls(&self, repo: &Repo, place: &Place, since: Millis) -> Result<usize, Error> {
        let mut found = 0;
        for pull in repo.pulls_open().await?.into_iter().filter(|pull| pull.updated_at >= since) {
            let event = opened(place, &pull);
            let target = ReviewTarget {
                installation: place.installation,
                repository: place.repository,
                repo: place.repo.clone(),
                number: pull.number,
                head: pull.head_sha.clone(),
                base_ref: pull.base_ref.clone(),
                forced: false,
            };
            if self.store.knows_job(&target.key()).await? {
                continue;
            }
            let (state, reason) = self.routed(None, &Event::Pull(event)).await?;
            if state == crate::store::DeliveryState::Handled {
                tracing::info!("no webhook told of {}#{}: {reason}", place.repo, pull.number);
                found += 1;
            }
        }
        Ok(found)
    }

    async fn sweep_issues(&self, repo: &Repo, place: &Place, since: Millis) -> Result<usize, Error> {
        let config = self.configuration(repo, Some(&place.default_branch)).await?.config;
        let label = config.label;
        let mut found = 0;
        for issue in repo.issues_labeled(&label).await? {
            let changed = crate::stdx::text::parse_iso8601(&issue.updated_at).unwrap_or(0) >= since;
            if !changed || self.worked_on(place.repository, &issue).await? {
                continue;
            }
            let Some(actor) = repo.label_actor(issue.number, &label).await? else { continue };
            if config.contribute && self.ask_to_look_again(repo, &issue, &actor).await? {
                continue;
            }
            let event = labelled(place, &issue, &actor, &label);
            let (state, reason) = self.event(None, &Event::Issue(event)).await?;
            if state == crate::store::DeliveryState::Handled {
                tracing::info!("no webhook told of {}#{}: {reason}", place.repo, issue.number);
                found += 1;
            }
        }
        Ok(found)
    }

    /// No payload shows the text that whoever set the label saw. If its author may not ask for work themselves, it may have
    /// been changed since to ask for something else: the label is to be set again.
    async fn ask_to_look_again(&self, repo: &Repo, issue: &IssueInfo, actor: &User) -> Result<bool, Error> {
        let (by, author) = (sender(actor), sender(&issue.author));
        if by.bot
            || by.id == author.id
            || self.lacks_write(repo, &author).await?.is_none()
            || self.lacks_write(repo, &by).await?.is_some()
        {
            return Ok(false);
        }
        let why = "nothing told octoswarm when the label was set, and the text may have been edited since: look at it, \
                   take the label off and set it again";
        match self.reply(repo, issue.number, About::Contribution, None, Reply::Declined { why: why.to_owned() }).await {
            // A locked conversation stays silent.
            Err(error) if error.class() != Class::Discard => Err(error),
            _ => Ok(true),
        }
    }

    /// A row tells of work on the issue; rows of jobs go after a while, those of what was said stay.
    async fn worked_on(&self, repository: RepositoryId, issue: &IssueInfo) -> Result<bool, Error> {
        let key = contribution_key(repository, issue.number);
        let said = format!("contribution/{repository}/{}", issue.number);
        // What a sweep tried without success is no answer to a label.
        Ok(self.asked_by_a_person(repository, issue.number).await?
            || self.store.effect(&PullIntent::effect_key(&key)).await?.is_some()
            || self.store.effect(&said).await?.is_some())
    }
}

/// GitHub's answer is about this one thing, and no later one will be another.
fn is_of_one(error: &github::Error) -> bool {
    use github::Error as No;
    matches!(error.root(), No::NotFound { .. } | No::Validation { .. } | No::TooLarge { .. })
}

/// `None` when a repeat would be refused as well.
fn worth_another_try(error: Error, place: &str) -> Option<Error> {
    if error.class() != Class::Discard {
        return Some(error);
    }
    tracing::warn!("{place} could not be compared: {}", error.chain());
    None
}

fn opened(place: &Place, pull: &Pull) -> PullEvent {
    let author = sender(&pull.author);
    PullEvent {
        action: Action::Opened,
        installation: place.installation,
        repository: place.repository,
        repo: place.repo.clone(),
        default_branch: place.default_branch.clone(),
        number: pull.number,
        head: pull.head_sha.clone(),
        base_ref: pull.base_ref.clone(),
        draft: pull.draft,
        sender: author.clone(),
        author,
    }
}

fn labelled(place: &Place, issue: &IssueInfo, actor: &User, label: &str) -> IssueEvent {
    IssueEvent {
        action: IssueAction::Labeled { label: label.to_owned() },
        place: place.clone(),
        issue: issue_of(issue),
        sender: sender(actor),
    }
}

/// An issue as it stands now, where no payload shows it.
pub(super) fn issue_of(issue: &IssueInfo) -> Issue {
    Issue {
        number: issue.number,
        title: Untrusted::new(issue.title.clone()),
        body: Untrusted::new(issue.body.clone()),
        labels: issue.labels.clone(),
        author: sender(&issue.author),
        created_at: issue.created_at.clone(),
        comments: issue.comments,
        open: issue.open,
        locked: issue.locked,
        pull: issue.pull,
        url: issue.url.clone(),
    }
}

fn sender(user: &User) -> Sender {
    Sender { id: user.id, login: user.login.clone(), bot: user.bot }
}
