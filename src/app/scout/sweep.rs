//! The scheduled sweep: repositories that say so in their own configuration are searched for issues to work on, within what
//! they allow. Nobody asks for what a sweep takes up, so it opens drafts and otherwise keeps silent.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{listed, ranked};
use crate::agent::rank::{self, Ranked};
use crate::app::event::still_there;
use crate::app::reconcile::issue_of;
use crate::app::{App, Error, Served};
use crate::artifact::PullIntent;
use crate::artifact::facts::{LinkedPull, Swept};
use crate::config::{RepoConfig, Scouting};
use crate::domain::{
    Asker, ContributeTarget, InstallationId, IssueNumber, Job, Millis, Place, RepositoryId, contribution_key,
    issue_group,
};
use crate::github::{IssueInfo, IssuePage, Repo, RepoInfo};
use crate::queue::Leased;
use crate::stdx::hash;
use crate::store::{NewJob, Taken, Turn};

/// Of each label, pages of a hundred, the newest issues first: what is older than 60 days is left out anyway.
const PAGES: usize = 5;
/// Questions about linked pull requests that one repository costs a sweep.
const ASKED: usize = 50;
const DAY: Millis = 24 * 3_600_000;
/// Longer than any issue may be old, so that none is taken up twice.
const KEPT: Millis = 90 * DAY;
/// People's work comes first.
const PRIORITY: i32 = 5;
/// When the last sweep began: milliseconds since the epoch.
const CURSOR: &str = "scout/swept-at";
/// Servers that start together do not ask together.
const JITTER: Duration = Duration::from_secs(10 * 60);

impl App {
    /// Sweeps at every interval since the last sweep, whichever life of the server made it, until told to stop.
    pub(in crate::app) async fn scout_on_schedule(&self, shutdown: CancellationToken) {
        let Some(every) = self.scout_every else { return };
        let mut jitter = self.jitter(every);
        loop {
            let wait = match self.store.get_cursor(CURSOR).await {
                Ok(last) => until(last.and_then(|at| at.parse().ok()), self.store.clock().now(), every),
                Err(error) => {
                    tracing::warn!("when the scout swept last could not be read: {error}");
                    every
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait.max(jitter)) => {}
                () = shutdown.cancelled() => return,
            }
            jitter = Duration::ZERO;
            // Somebody else may have swept meanwhile.
            let last = self.store.get_cursor(CURSOR).await.ok().flatten().and_then(|at| at.parse().ok());
            if !until(last, self.store.clock().now(), every).is_zero() {
                continue;
            }
            tokio::select! {
                swept = self.scout_all() => match swept {
                    Ok(0) => {}
                    Ok(taken) => tracing::info!(taken, "the scout took up issues"),
                    Err(error) => tracing::warn!("the scout could not search every repository: {}", error.chain()),
                },
                () = shutdown.cancelled() => return,
            }
        }
    }

    fn jitter(&self, every: Duration) -> Duration {
        let seed = hash::sha256(format!("{}/{}", self.store.node(), self.started_at).as_bytes());
        let most = u64::try_from(JITTER.min(every).as_millis()).unwrap_or(0).max(1);
        Duration::from_millis(u64::from_str_radix(&seed[..8], 16).unwrap_or(0) % most)
    }

    /// One sweep over every repository that wants it. Says how many issues were taken up.
    ///
    /// # Errors
    /// GitHub's or the store's, of the first repository that could not be searched; the others are searched all the same.
    pub async fn scout_all(&self) -> Result<usize, Error> {
        // A sweep that fails or dies is not begun again at once.
        self.store.set_cursor(CURSOR, &self.store.clock().now().to_string()).await?;
        let Served { repositories, unlisted } = self.served().await?;
        let mut failed = unlisted.into_iter().map(|(_, error)| error).next();
        let mut taken = 0;
        for (installation, info) in repositories {
            match self.scout_repository(installation, &info).await {
                Ok(count) => taken += count,
                Err(error) => {
                    tracing::warn!("{} could not be searched for issues: {}", info.name, error.chain());
                    failed = failed.or(Some(error));
                }
            }
        }
        failed.map_or(Ok(taken), Err)
    }

    async fn scout_repository(&self, installation: InstallationId, info: &RepoInfo) -> Result<usize, Error> {
        // Two sweeps at once could open more than is allowed.
        let _one_at_a_time = self.scouting.lock().await;
        let place = Place {
            installation,
            repository: info.id,
            repo: info.name.clone(),
            default_branch: info.default_branch.clone(),
        };
        let repo = self.repo(&place);
        let config = match self.configuration(&repo, Some(&place.default_branch)).await?.for_changes() {
            Ok(config) => config,
            Err(why) => {
                tracing::debug!("{} is not searched for issues: {why}", place.repo);
                return Ok(0);
            }
        };
        let room = if config.scout.enabled { self.room(&repo, &config.scout).await? } else { 0 };
        if room == 0 {
            return Ok(0);
        }
        let page = repo.issues_open(&config.scout.labels, PAGES).await?;
        let mut ranked = self.survey(&page, &config.scout.labels).await?;
        let (mut taken, mut asked) = (0, 0);
        while taken < room {
            let Some(best) = ranked.first().filter(|best| best.is_eligible()) else { break };
            let number = best.issue.number;
            let known = best.issue.linked.is_some();
            let Some(issue) = page.issues.iter().find(|issue| issue.number.0 == number) else { break };
            if let Some(why) = self.not_for_a_sweep(&repo, &config, issue).await? {
                rank::left_out(&mut ranked, number, "not-for-a-sweep", why.to_owned());
            } else if !known && asked == ASKED {
                break;
            } else if !known {
                asked += 1;
                rank::learned(&mut ranked, number, self.linked(&repo, issue.number).await?);
            } else {
                let why = match self.take_up(&place, &config.scout, issue).await? {
                    Taken::New(_) => {
                        tracing::info!("the scout takes up {}#{number}", place.repo);
                        taken += 1;
                        "taken up"
                    }
                    Taken::Before => "it was tried, and has not changed since",
                    Taken::Busy => "it is being worked on",
                    Taken::Full => break,
                };
                rank::left_out(&mut ranked, number, "not-for-a-sweep", why.to_owned());
            }
        }
        Ok(taken)
    }

    /// How many issues may be taken up now: what the day has left, and what may stand open beside what stands open.
    async fn room(&self, repo: &Repo, scout: &Scouting) -> Result<usize, Error> {
        let now = self.store.clock().now();
        let had = self.store.turns_since(&series(repo.id()), now - DAY).await?;
        let today = scout.daily.saturating_sub(had);
        if today == 0 {
            return Ok(0);
        }
        let bot = &self.identity().await?.bot_login;
        let open = repo.pulls_open().await?.iter().filter(|pull| pull.author.bot && pull.author.login == *bot).count();
        let jobs = self.store.unfinished_jobs().await?;
        let coming = jobs.iter().filter(|row| match &row.job {
            Some(Job::Contribute(target)) => target.place.repository == repo.id() && target.by.is_sweep(),
            _ => false,
        });
        let left = scout.open.saturating_sub((open + coming.count()) as u64);
        Ok(usize::try_from(today.min(left)).unwrap_or(0))
    }

    /// The open issues in their order, read off the server's other work.
    async fn survey(&self, page: &IssuePage, labels: &[String]) -> Result<Vec<Ranked>, Error> {
        if page.more {
            tracing::info!(read = page.issues.len(), "there are older issues than the scout read");
        }
        let issues = page.issues.iter().map(listed).collect();
        ranked(issues, labels.to_vec(), self.store.clock().now()).await
    }

    pub(in crate::app) async fn linked(&self, repo: &Repo, number: IssueNumber) -> Result<Vec<LinkedPull>, Error> {
        Ok(repo.linked_pulls(number).await?.into_iter().map(super::linked).collect())
    }

    /// Why a sweep leaves an issue alone that would be eligible.
    async fn not_for_a_sweep(
        &self,
        repo: &Repo,
        config: &RepoConfig,
        issue: &IssueInfo,
    ) -> Result<Option<&'static str>, Error> {
        if issue.has_label(&config.label) {
            return Ok(Some("its label asks for work"));
        }
        let (id, item) = (repo.id(), issue.number.to_string());
        let looked = self.store.turn_taken(&series(id), &item).await?;
        if looked.as_deref() == Some(looks(issue).as_str()) {
            return Ok(Some("it was tried, and has not changed since"));
        }
        let key = contribution_key(id, issue.number);
        // Somebody closed it.
        if self.store.effect(&PullIntent::effect_key(&key)).await?.is_some() {
            return Ok(Some("a pull request was opened for it before"));
        }
        let said = format!("contribution/{id}/{}", issue.number);
        if self.asked_by_a_person(id, issue.number).await? || self.store.effect(&said).await?.is_some() {
            return Ok(Some("a person asked for it before"));
        }
        Ok(None)
    }

    /// A person asked for work on that issue, as far as rows still tell.
    pub(in crate::app) async fn asked_by_a_person(
        &self,
        repository: RepositoryId,
        issue: IssueNumber,
    ) -> Result<bool, Error> {
        let jobs = self.store.group_jobs(&issue_group(repository, issue), 50).await?;
        Ok(jobs.iter().any(|row| !matches!(&row.job, Some(Job::Contribute(target)) if target.by.is_sweep())))
    }

    async fn take_up(&self, place: &Place, scout: &Scouting, issue: &IssueInfo) -> Result<Taken, Error> {
        let now = self.store.clock().now();
        let target = ContributeTarget {
            place: place.clone(),
            issue: issue_of(issue),
            by: Asker::Sweep { swept_at: now },
            comment: None,
        };
        let turn = Turn {
            series: series(place.repository),
            item: issue.number.to_string(),
            looks: looks(issue),
            most: scout.daily,
            within: DAY,
            kept: KEPT,
        };
        let job = Job::Contribute(Box::new(target));
        Ok(self.store.take_turn(&job, NewJob { priority: PRIORITY, ..NewJob::at(now) }, &turn).await?)
    }

    /// Ends a sweep's job that nobody wants any more, before anything is done: the server's switch, the configuration on the
    /// default branch and the issue are looked at again. What was not done is not counted.
    pub(in crate::app) async fn still_wanted(&self, target: &ContributeTarget, leased: &Leased) -> Result<(), Error> {
        if !target.by.is_sweep() || leased.cancel.is_cancelled() {
            return Ok(());
        }
        let Some(why) = self.unwanted(target).await? else { return Ok(()) };
        if leased.attempt <= 1 {
            let number = target.issue.number.to_string();
            self.store.give_turn_back(&series(target.place.repository), &number, leased.id).await?;
        }
        Err(Error::Overtaken(why))
    }

    async fn unwanted(&self, target: &ContributeTarget) -> Result<Option<String>, Error> {
        if self.scout_every.is_none() {
            return Ok(Some("this server sweeps no more (`scout_sweep`)".to_owned()));
        }
        let repo = self.repo_now(&target.place).await?;
        let scout = match self.configuration(&repo, None).await?.for_changes() {
            Ok(config) => config.scout,
            Err(why) => return Ok(Some(why)),
        };
        if !scout.enabled {
            return Ok(Some("the repository's configuration has sweeps off".to_owned()));
        }
        let Some(issue) = still_there(repo.issue(target.issue.number).await)?.filter(|issue| issue.open) else {
            return Ok(Some("the issue is closed or gone".to_owned()));
        };
        if !scout.labels.iter().any(|label| issue.has_label(label)) {
            return Ok(Some("the issue carries none of the labels any more".to_owned()));
        }
        let same = issue.title == target.issue.title.open() && issue.body == target.issue.body.open();
        Ok((!same).then(|| "the issue was edited since the scout chose it".to_owned()))
    }

    /// What the scout tells of the search that chose this issue, as it comes out now; `None` when a person asked.
    pub(in crate::app) async fn swept(
        &self,
        repo: &Repo,
        config: &RepoConfig,
        target: &ContributeTarget,
    ) -> Result<Option<Swept>, Error> {
        if !target.by.is_sweep() {
            return Ok(None);
        }
        let page = repo.issues_open(&config.scout.labels, PAGES).await?;
        let ranked = self.survey(&page, &config.scout.labels).await?;
        Ok(Some(rank::swept(&ranked, target.issue.number.0)))
    }

    /// Whoever asks is owed an answer, which a sweep's work would not give: it makes way.
    pub(in crate::app) async fn make_way(&self, job: &Job) -> Result<(), Error> {
        let Job::Contribute(wanted) = job else { return Ok(()) };
        let group = wanted.group();
        for row in self.store.group_jobs(&group, 5).await? {
            let swept = matches!(&row.job, Some(Job::Contribute(target)) if target.by.is_sweep());
            if swept && row.finished_at.is_none() && row.cancel_requested_at.is_none() {
                self.store.cancel_group(&group, None, "a person asks for it now").await?;
            }
        }
        Ok(())
    }
}

/// Under which a repository's turns are counted.
fn series(repository: RepositoryId) -> String {
    format!("scout/{repository}")
}

/// What an issue looks like to a sweep that failed: edited, or talked about, it may be tried again. Labels and other marks
/// that bots set do not count.
fn looks(issue: &IssueInfo) -> String {
    hash::sha256(format!("{}\0{}\0{}", issue.title, issue.body, issue.comments).as_bytes())
}

/// How long until the next sweep is due.
fn until(last: Option<Millis>, now: Millis, every: Duration) -> Duration {
    let every_ms = Millis::try_from(every.as_millis()).unwrap_or(Millis::MAX);
    let wait = last.map_or(0, |last| last.saturating_add(every_ms).saturating_sub(now));
    // A clock that was set back must not silence it.
    Duration::from_millis(u64::try_from(wait.clamp(0, every_ms)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_neither_hastens_nor_delays_the_next_sweep() {
        let hour = Duration::from_secs(3_600);
        assert_eq!(until(None, 5, hour), Duration::ZERO);
        assert_eq!(until(Some(0), 600_000, hour), Duration::from_secs(3_000));
        assert_eq!(until(Some(0), 9_000_000, hour), Duration::ZERO);
        assert_eq!(until(Some(9_000_000), 0, hour), hour, "the clock was set back");
    }
}
