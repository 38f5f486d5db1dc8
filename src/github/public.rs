//! What GitHub shows of public repositories to anybody, without an App or a token.

use super::error::Error;
use super::issue::{IssuePage, listings};
use super::repository::{RepoInfo, RepoWire};
use super::{Options, client, endpoint};
use crate::domain::{Clock, RepoName, Secret};

/// A stranger on one GitHub: it reads what is public, sixty times an hour (GitHub's limit for an address).
pub struct Public {
    client: client::Client,
    nobody: Secret,
}

impl Public {
    /// Opens no connection. Must be called within a tokio runtime, which carries the requests.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn new(api_base: &str, clock: &Clock) -> Result<Self, Error> {
        let nobody = Secret::new(String::new());
        let options =
            Options { api_base: api_base.to_owned(), clock: clock.clone(), ..Options::new(0, nobody.clone()) };
        Ok(Self { client: client::Client::new(&options)?, nobody })
    }

    /// # Errors
    /// `NotFound` also when it is private; else as [`Error`] says.
    pub async fn info(&self, name: &RepoName) -> Result<RepoInfo, Error> {
        let call = self.client.call(&endpoint::GET_PUBLIC_REPOSITORY, &[name.owner(), name.name()]);
        let wire: RepoWire = client::decode(&call, &self.send(call.clone()).await?.body)?;
        Ok(wire.into())
    }

    /// As [`Repo::issues_open`](super::Repo::issues_open).
    ///
    /// # Errors
    /// `NotFound` also when the repository is private or its issues are switched off; else as [`Error`] says.
    pub async fn issues_open(&self, name: &RepoName, labels: &[String], pages: usize) -> Result<IssuePage, Error> {
        let mut all = IssuePage { issues: Vec::new(), more: false };
        let call = self.client.call(&endpoint::LIST_PUBLIC_ISSUES, &[name.owner(), name.name()]);
        for call in listings(&call, labels) {
            all.add(self.client.first_pages(call, pages, |call| self.send(call)).await?);
        }
        Ok(all)
    }

    async fn send(&self, call: client::Call) -> Result<client::Answer, Error> {
        self.client.send(0, &self.nobody, &call).await
    }
}
