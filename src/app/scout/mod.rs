//! Which issues of a repository to work on: asked for on a command line, or by the scheduled sweep.

mod sweep;

use crate::agent::rank::{self, Listed};
use crate::analysis::Engine;
use crate::artifact::Document;
use crate::artifact::facts::{LinkedPull, RepositoryFacts};
use crate::artifact::swarm::CurrentIssue;
use crate::config::{ServerConfig, Start};
use crate::domain::{Clock, IssueNumber, RepoName, Untrusted};
use crate::github::listing::{self, Entry};
use crate::github::{self, Github, IssueInfo, IssuePage, LinkedPullInfo, Public, Repo, RepoInfo};
use crate::stdx::text::iso8601;

use super::Error;
use super::facts::repository_facts;

pub use crate::agent::Point;
pub use crate::agent::rank::{Chance, MOST_ALTERNATIVES, Obstacle, Ranked};
pub use crate::github::listing::GH_FIELDS;

/// Of each label, pages of a hundred.
const PAGES: usize = 10;

/// What a search is limited to.
#[derive(Debug, Clone)]
pub struct Search {
    /// An issue has to carry one of them; none asks for none.
    pub labels: Vec<String>,
    /// How many issues are shown; as many alternatives stand in the document, and as many are looked at closely.
    pub most: usize,
}

/// What a search found.
pub struct Scouted {
    /// `owner/name`.
    pub repository: String,
    /// Everything that was looked at, the best first.
    pub ranked: Vec<Ranked>,
    pub document: Document<CurrentIssue>,
    /// What was not looked at, in sentences.
    pub notes: Vec<String>,
}

impl Scouted {
    /// The reasons that leave issues out, with how many each holds back; the most frequent first.
    pub fn left_out(&self) -> Vec<(&'static str, u64)> {
        rank::tally(&self.ranked)
    }

    async fn of(
        repository: &RepositoryFacts,
        issues: Vec<Listed>,
        search: &Search,
        clock: &Clock,
    ) -> Result<Self, Error> {
        let ranked = ranked(issues, search.labels.clone(), clock.now()).await?;
        Ok(Self {
            repository: format!("{}/{}", repository.owner, repository.name),
            document: rank::document(&ranked, repository, iso8601(clock.now()), search.most),
            ranked,
            notes: Vec::new(),
        })
    }
}

/// Ranks what a file lists; nobody is asked anything.
///
/// # Errors
/// The file does not have its form; told with the place in it.
pub async fn listing(bytes: &[u8], search: &Search) -> Result<Scouted, Error> {
    let listing = listing::parse(bytes).map_err(|fault| Error::Path(fault.to_string()))?;
    let (name, url) = match &listing.repository {
        Some((name, url)) => ((name.owner().to_owned(), name.name().to_owned()), url.clone()),
        None => (("unknown".to_owned(), "unknown".to_owned()), String::new()),
    };
    let repository = RepositoryFacts {
        owner: name.0,
        name: name.1,
        url,
        default_branch: String::new(),
        language: None,
        stars: 0,
        license: None,
        work_tree: None,
    };
    let locked_unknown = listing.entries.iter().any(|entry| entry.locked.is_none());
    let issues = listing.entries.into_iter().map(of_entry).collect();
    let mut scouted = Scouted::of(&repository, issues, search, &Clock::system()).await?;
    scouted.notes.push(match locked_unknown {
        true => "not known from a file: whether an issue is locked, and whether a pull request addresses it".to_owned(),
        false => "not known from a file: whether a pull request addresses an issue".to_owned(),
    });
    Ok(scouted)
}

/// Ranks a repository's open issues: as the App where it is configured and installed there, else as anybody may read them.
///
/// # Errors
/// GitHub's.
pub async fn repository(name: &RepoName, search: &Search, start: &Start) -> Result<Scouted, Error> {
    let clock = Clock::system();
    let as_app = match start {
        Start::Configured(config) => as_app(name, config, &clock).await?,
        Start::SetUp(_) => None,
    };
    match as_app {
        Some(repo) => through_app(&repo, search, &clock).await,
        None => openly(name, search, start, &clock).await,
    }
}

/// What to do about an error of [`repository`], for whoever waits for the answer.
pub fn advice(error: &Error) -> Option<String> {
    let Error::Github(github) = error else { return error.hint() };
    match github.root() {
        github::Error::RateLimited { .. } => Some(
            "without an App GitHub answers 60 requests an hour from one address; with one that is installed there, thousands"
                .to_owned(),
        ),
        github::Error::NotFound { .. } => Some(
            "without an App that is installed there only public repositories can be read; check the name, and that its issues \
             are switched on"
                .to_owned(),
        ),
        github::Error::Server { .. } | github::Error::Network { .. } | github::Error::Timeout { .. } => {
            Some("try again; if it lasts, see https://www.githubstatus.com and the proxy between here and GitHub".to_owned())
        }
        _ => github.hint(),
    }
}

/// The repository through the App's installation there, if it has one that this server serves.
async fn as_app(name: &RepoName, config: &ServerConfig, clock: &Clock) -> Result<Option<(Repo, RepoInfo)>, Error> {
    let github = Github::new(github::Options {
        api_base: config.api_url.clone(),
        web_base: config.web_url.clone(),
        clock: clock.clone(),
        ..github::Options::new(config.app_id, config.private_key.clone())
    })?;
    let same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    for installation in github.installations().await? {
        if installation.suspended || !config.serves(&installation.account) || !same(&installation.account, name.owner())
        {
            continue;
        }
        let found = github.repositories(installation.id).await?;
        if let Some(info) = found.into_iter().find(|info| same(&info.name.to_string(), &name.to_string())) {
            return Ok(Some((github.repo(installation.id, info.id, info.name.clone()), info)));
        }
    }
    Ok(None)
}

async fn through_app((repo, info): &(Repo, RepoInfo), search: &Search, clock: &Clock) -> Result<Scouted, Error> {
    let page = repo.issues_open(&search.labels, PAGES).await?;
    let facts = repository_facts(info);
    let mut scouted = Scouted::of(&facts, page.issues.iter().map(listed).collect(), search, clock).await?;
    // What a listing does not tell is asked of those alone that would be shown.
    for _ in 0..search.most {
        let unknown = |one: &&Ranked| one.is_eligible() && one.issue.linked.is_none();
        let Some(next) = scouted.ranked.iter().take(search.most).find(unknown) else { break };
        let number = next.issue.number;
        let pulls = repo.linked_pulls(IssueNumber(number)).await?;
        rank::learned(&mut scouted.ranked, number, pulls.into_iter().map(linked).collect());
    }
    scouted.document = rank::document(&scouted.ranked, &facts, iso8601(clock.now()), search.most);
    if scouted.ranked.iter().any(|one| one.is_eligible() && one.issue.linked.is_none()) {
        scouted.notes.push("of the lower places it was not asked whether a pull request addresses them".to_owned());
    }
    scouted.notes.extend(unread(&page));
    Ok(scouted)
}

async fn openly(name: &RepoName, search: &Search, start: &Start, clock: &Clock) -> Result<Scouted, Error> {
    let api_url = match start {
        Start::Configured(config) => config.api_url.as_str(),
        Start::SetUp(config) => config.api_url.as_deref().unwrap_or("https://api.github.com"),
    };
    let public = Public::new(api_url, clock)?;
    let info = public.info(name).await?;
    let page = public.issues_open(name, &search.labels, PAGES).await?;
    let mut scouted =
        Scouted::of(&repository_facts(&info), page.issues.iter().map(listed).collect(), search, clock).await?;
    if let Start::Configured(_) = start {
        scouted.notes.push(format!("the App is not installed on {name}: it was read as anybody may read it"));
    }
    scouted.notes.push("not asked without an App: whether a pull request addresses an issue".to_owned());
    scouted.notes.extend(unread(&page));
    Ok(scouted)
}

fn unread(page: &IssuePage) -> Option<String> {
    let read = page.issues.len();
    page.more.then(|| format!("only the newest {read} entries of the list were read; older ones were not"))
}

/// In their order. Reading many texts takes a while, which nobody else should wait for.
async fn ranked(issues: Vec<Listed>, labels: Vec<String>, now: i64) -> Result<Vec<Ranked>, Error> {
    let engine = Engine::embedded()?;
    let ranking = tokio::task::spawn_blocking(move || rank::rank(&engine, issues, &labels, now));
    ranking.await.map_err(Error::died("ranking the issues"))
}

fn listed(issue: &IssueInfo) -> Listed {
    Listed {
        number: issue.number.0,
        url: issue.url.clone(),
        title: Untrusted::new(issue.title.clone()),
        body: Untrusted::new(issue.body.clone()),
        labels: issue.labels.clone(),
        created_at: issue.created_at.clone(),
        comments: issue.comments,
        assignees: issue.assignees.clone(),
        open: issue.open,
        is_pull: issue.pull,
        locked: Some(issue.locked),
        linked: None,
    }
}

fn of_entry(entry: Entry) -> Listed {
    Listed {
        number: entry.number,
        url: entry.url,
        title: Untrusted::new(entry.title),
        body: Untrusted::new(entry.body),
        labels: entry.labels,
        created_at: entry.created_at,
        comments: entry.comments,
        assignees: entry.assignees,
        open: entry.open,
        is_pull: entry.pull,
        locked: entry.locked,
        linked: None,
    }
}

fn linked(pull: LinkedPullInfo) -> LinkedPull {
    LinkedPull { number: pull.number.0, url: pull.url, author: pull.author_login, ours: false }
}
