//! The pull requests that would close an issue. Only GraphQL tells them.

use serde::Deserialize;
use serde_json::json;

use super::client::PAGE_CAP;
use super::error::Error;
use super::graphql::{AuthorWire, Page, next};
use super::{Repo, endpoint};
use crate::domain::{IssueNumber, PullNumber, RepositoryId};

/// An open pull request that says it closes the issue. It may live in another repository, under another number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedPullInfo {
    pub number: PullNumber,
    pub url: String,
    /// As GraphQL spells it: an App's login comes without `[bot]`.
    pub author_login: String,
    /// The author is an App (GraphQL type `Bot`).
    pub author_bot: bool,
    /// Where the pull request lives.
    pub repository: RepositoryId,
    pub body: String,
    /// Its branch, without the owner.
    pub head_ref: String,
}

/// Where pull requests of repositories that we may not see turn up, too.
pub(super) const FIELD: &str = "closedByPullRequestsReferences";

pub(super) const LINKED: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    issue(number: $number) {
      closedByPullRequestsReferences(first: 100, after: $after, includeClosedPrs: false) {
        pageInfo { hasNextPage endCursor }
        nodes {
          number url state body headRefName
          author { __typename login }
          repository { databaseId }
        }
      }
    }
  }
}";

#[derive(Deserialize)]
struct LinkedData {
    repository: Option<RepositoryData>,
}

#[derive(Deserialize)]
struct RepositoryData {
    issue: Option<IssueData>,
}

#[derive(Deserialize)]
struct IssueData {
    #[serde(rename = "closedByPullRequestsReferences")]
    linked: Option<Page<LinkedWire>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LinkedWire {
    number: PullNumber,
    url: String,
    state: String,
    body: String,
    head_ref_name: String,
    author: Option<AuthorWire>,
    repository: HomeWire,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HomeWire {
    database_id: Option<RepositoryId>,
}

impl LinkedWire {
    fn open(self) -> Option<LinkedPullInfo> {
        let (author_login, author_bot) = match self.author {
            Some(author) => (author.login, author.kind == "Bot"),
            None => ("ghost".to_owned(), false),
        };
        (self.state == "OPEN").then_some(LinkedPullInfo {
            number: self.number,
            url: self.url,
            author_login,
            author_bot,
            repository: self.repository.database_id?,
            body: self.body,
            head_ref: self.head_ref_name,
        })
    }
}

impl Repo {
    /// The open pull requests that would close the issue. Those in places that we may not see are left out.
    ///
    /// # Errors
    /// `NotFound` when there is no such issue, also when the number is a pull request's; else as [`Error`] says.
    pub async fn linked_pulls(&self, number: IssueNumber) -> Result<Vec<LinkedPullInfo>, Error> {
        let mut pulls = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..PAGE_CAP {
            let variables = json!({
                "owner": self.name.owner(), "name": self.name.name(), "number": number, "after": after,
            });
            let data: LinkedData = self.graphql(&endpoint::LIST_LINKED_PULLS, LINKED, variables).await?;
            let issue = data
                .repository
                .and_then(|repository| repository.issue)
                .ok_or_else(|| Error::NotFound { call: format!("issue {}#{number}", self.name) })?;
            let Some(page) = issue.linked else { return Ok(pulls) };
            pulls.extend(page.nodes.into_iter().flatten().filter_map(LinkedWire::open));
            match next(page.page_info) {
                Some(cursor) => after = Some(cursor),
                None => return Ok(pulls),
            }
        }
        Err(Error::TooLarge { what: "the list of linked pull requests".to_owned(), limit: format!("{PAGE_CAP} pages") })
    }
}
