//! What a contribution needs to know of GitHub, fetched once.

use crate::artifact::ContributeFacts;
use crate::artifact::facts::{Candidate, ContributeSettings, IssueFacts, RepositoryFacts};
use crate::config::RepoConfig;
use crate::domain::{ContributeTarget, Place, Sha, Untrusted};
use crate::github::{IssueInfo, Repo, RepoInfo};

use super::{App, Error};

/// Other issues that are looked at beside the one that was asked for.
const CANDIDATES: usize = 50;

impl App {
    /// The repository under the name that it has now: it may have been renamed since the event.
    pub(super) async fn repo_now(&self, place: &Place) -> Result<Repo, Error> {
        self.renamed(&self.repo(place)).await
    }

    pub(super) async fn renamed(&self, repo: &Repo) -> Result<Repo, Error> {
        let info = repo.info().await?;
        Ok(self.github.repo(repo.installation(), repo.id(), info.name))
    }

    /// The issue's text is the one that the asker saw; what can change meanwhile is asked for now.
    pub(super) async fn contribute_facts(
        &self,
        repo: &Repo,
        info: &RepoInfo,
        target: &ContributeTarget,
        now: &IssueInfo,
        base: &Sha,
        settings: ContributeSettings,
    ) -> Result<ContributeFacts, Error> {
        let config: RepoConfig = self.configuration(repo, None).await?.config;
        let number = target.issue.number;
        let linked = self.linked(repo, number).await?;
        let swept = self.swept(repo, &config, target).await?;
        // A sweep has looked at its own.
        let candidates = if swept.is_some() { Vec::new() } else { repo.issues_labeled(&config.label).await? };
        Ok(ContributeFacts {
            repository: repository_facts(info),
            base: base.clone(),
            issue: IssueFacts {
                number: number.0,
                url: target.issue.url.clone(),
                title: target.issue.title.clone(),
                body: target.issue.body.clone(),
                labels: now.labels.clone(),
                author: target.issue.author.login.clone(),
                created_at: target.issue.created_at.clone(),
                comments: now.comments,
                locked: now.locked,
                is_pull: now.pull,
            },
            asked_by: target.by.person().map(|by| by.login.clone()),
            swept,
            candidates: candidates
                .into_iter()
                .filter(|issue| issue.number != number)
                .take(CANDIDATES)
                .map(|issue| Candidate {
                    number: issue.number.0,
                    url: issue.url,
                    title: Untrusted::new(issue.title),
                    labels: issue.labels,
                    created_at: issue.created_at,
                    comments: issue.comments,
                })
                .collect(),
            linked,
            settings,
            warnings: Vec::new(),
        })
    }
}

/// What the agents are told of a repository.
pub(super) fn repository_facts(info: &RepoInfo) -> RepositoryFacts {
    RepositoryFacts {
        owner: info.name.owner().to_owned(),
        name: info.name.name().to_owned(),
        url: info.html_url.clone(),
        default_branch: info.default_branch.clone(),
        language: info.language.clone(),
        stars: info.stars,
        license: info.license.clone(),
        work_tree: None,
    }
}
