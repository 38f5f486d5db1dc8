//! GitHub, as far as we need it: who we are there, what its webhooks say, and the calls we make.
//!
//! Promise: every request goes through one layer that knows its permission, paces writes, obeys limits and keeps tokens at home.
//! Never: no agents, jobs or tables; nothing here decides what to write. Only `publish` calls what writes.
mod app;
mod auth;
mod branch;
mod check;
mod client;
mod comment;
mod commit;
mod content;
mod delivery;
mod endpoint;
mod error;
mod graphql;
mod installation;
mod issue;
mod label;
mod limits;
mod linked;
pub mod listing;
pub mod manifest;
mod measure;
pub mod payload;
mod probe;
mod public;
mod pull;
mod registration;
mod repository;
mod review;
mod role;
mod thread;
mod user;

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

pub use app::AppInfo;
pub use check::{
    ANNOTATIONS_PER_REQUEST, Annotation, AnnotationLevel, AnyCheck, CheckRun, CheckRunId, CheckRunUpdate, CheckStatus,
    Conclusion, NewCheckRun, Output,
};
pub use comment::{Comment, Reaction};
pub use commit::{CommitInfo, TreeEntry};
pub use content::CONTENT_CAP;
pub use delivery::{DeliveryContent, DeliveryInfo, DeliveryPage, Undelivered};
pub use endpoint::{Access, ENDPOINTS, Effect, Endpoint, Level, Permission, needed_permissions};
pub use error::{Error, Unreached};
pub use graphql::DOCUMENTS;
pub use installation::InstallationInfo;
pub use issue::{IssueInfo, IssuePage};
pub use linked::LinkedPullInfo;
pub use payload::Parsed;
pub use probe::{HookConfig, Meeting, Rate};
pub use public::Public;
pub use pull::{NewPull, Pull, PullCommit, PullFile, PullState, PullUpdate};
pub use registration::{NewApp, create_app};
pub use repository::RepoInfo;
pub use review::{NewComment, NewReview, Review, Side};
pub use role::Role;
pub use thread::{Thread, ThreadComment};
pub use user::User;

use auth::{Auth, Key, Token};
use client::{Answer, Call};

use crate::domain::{Clock, Credential, InstallationId, RepoName, RepositoryId, Secret};
use crate::meter::Meter;

/// Where GitHub is and who we are there.
#[derive(Debug, Clone)]
pub struct Options {
    /// `https://api.github.com`, or `https://HOST/api/v3`.
    pub api_base: String,
    /// Where git and the pages live: `https://github.com`, or `https://HOST`.
    pub web_base: String,
    pub app_id: u64,
    /// The App's private key as PEM, PKCS#1 or PKCS#8.
    pub private_key: Secret,
    /// Least time between two writes of one installation. GitHub asks for a second.
    pub write_pace: Duration,
    pub clock: Clock,
    /// Where requests and limits are counted.
    pub meter: Arc<Meter>,
    pub user_agent: String,
    /// For one request, from connecting to the last byte of the answer.
    pub timeout: Duration,
    /// The largest answer that is read, in bytes.
    pub answer_cap: usize,
}

impl Options {
    /// github.com with the defaults.
    pub fn new(app_id: u64, private_key: Secret) -> Self {
        Self {
            api_base: "https://api.github.com".to_owned(),
            web_base: "https://github.com".to_owned(),
            app_id,
            private_key,
            write_pace: Duration::from_secs(1),
            clock: Clock::system(),
            meter: Arc::default(),
            user_agent: concat!("octoswarm/", env!("CARGO_PKG_VERSION")).to_owned(),
            timeout: Duration::from_secs(30),
            answer_cap: 32 << 20,
        }
    }
}

/// The App on one GitHub. Cheap to clone; clones share tokens, pace and limits.
#[derive(Clone)]
pub struct Github {
    client: client::Shared,
    auth: Arc<Auth>,
    bot_id: Arc<OnceCell<u64>>,
    web_origin: String,
    web_base: String,
}

/// One repository through one installation.
#[derive(Clone)]
pub struct Repo {
    github: Github,
    installation: InstallationId,
    repository: RepositoryId,
    name: RepoName,
}

impl Github {
    /// Opens no connection. Must be called within a tokio runtime, which carries the requests.
    ///
    /// # Errors
    /// A key or an address that cannot be used.
    pub fn new(options: Options) -> Result<Self, Error> {
        let (web_origin, web_path) = client::split_base(&options.web_base)?;
        Ok(Self {
            client: Arc::new(client::Client::new(&options)?),
            auth: Arc::new(Auth::new(options.app_id, &options.private_key, options.clock)?),
            bot_id: Arc::default(),
            web_base: format!("{web_origin}{web_path}"),
            web_origin,
        })
    }

    pub fn repo(&self, installation: InstallationId, repository: RepositoryId, name: RepoName) -> Repo {
        Repo { github: self.clone(), installation, repository, name }
    }

    /// What git needs to fetch this repository and nothing else.
    ///
    /// # Errors
    /// When the token cannot be minted.
    pub async fn credential(
        &self,
        installation: InstallationId,
        repository: RepositoryId,
    ) -> Result<Credential, Error> {
        self.git_credential(installation, repository, endpoint::GIT_FETCH.access).await
    }

    async fn git_credential(
        &self,
        installation: InstallationId,
        repository: RepositoryId,
        access: Access,
    ) -> Result<Credential, Error> {
        let token = self.auth.token(&self.client, Key { installation, repository: Some(repository), access }).await?;
        Ok(Credential {
            origin: self.web_origin.clone(),
            user: "x-access-token".to_owned(),
            token: token.secret.clone(),
        })
    }

    /// Sends with the token of that key; after a 401 once more with a new one.
    async fn send(&self, key: Key, call: &Call) -> Result<Answer, Error> {
        let (client, auth) = (&self.client, &self.auth);
        let token: Arc<Token> = auth.token(client, key).await?;
        match client.send(key.installation.0, &token.secret, call).await {
            Err(Error::Unauthorized { .. }) => {
                auth.forget(key, &token).await;
                let token = auth.token(client, key).await?;
                client.send(key.installation.0, &token.secret, call).await
            }
            result => result,
        }
    }

    /// A call as the App itself.
    async fn as_app<T: DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        client::decode(&call, &self.send_as_app(&call).await?.body)
    }

    async fn send_as_app(&self, call: &Call) -> Result<Answer, Error> {
        self.client.send(0, &self.auth.jwt()?, call).await
    }
}

impl Repo {
    pub fn name(&self) -> &RepoName {
        &self.name
    }

    pub fn id(&self) -> RepositoryId {
        self.repository
    }

    pub fn installation(&self) -> InstallationId {
        self.installation
    }

    pub fn github(&self) -> &Github {
        &self.github
    }

    /// Where git finds it.
    pub fn clone_url(&self) -> String {
        format!("{}/{}.git", self.github.web_base, self.name)
    }

    /// Where people find it.
    pub fn web_url(&self) -> String {
        format!("{}/{}", self.github.web_base, self.name)
    }

    /// The credential for [`Repo::clone_url`].
    ///
    /// # Errors
    /// When the token cannot be minted.
    pub async fn credential(&self) -> Result<Credential, Error> {
        self.github.credential(self.installation, self.repository).await
    }

    /// The credential for pushing to [`Repo::clone_url`]; it reaches this repository alone, and no workflow file.
    ///
    /// # Errors
    /// When the token cannot be minted; `Forbidden` when the App lacks `contents: write`.
    pub async fn push_credential(&self) -> Result<Credential, Error> {
        self.github.git_credential(self.installation, self.repository, endpoint::GIT_PUSH.access).await
    }

    /// A call on this repository; `rest` fills the template's places after owner and name.
    fn call(&self, endpoint: &'static Endpoint, rest: &[&str]) -> Call {
        let mut parts = vec![self.name.owner(), self.name.name()];
        parts.extend(rest);
        self.github.client.call(endpoint, &parts).about(self.repository)
    }

    /// Sends with the token that the endpoint's access asks for.
    async fn send(&self, call: &Call) -> Result<Answer, Error> {
        let (installation, repository) = (self.installation, Some(self.repository));
        self.github.send(Key { installation, repository, access: call.endpoint.access }, call).await
    }

    /// As [`Repo::send`], but what GitHub does not know is `None`.
    async fn find(&self, call: &Call) -> Result<Option<Answer>, Error> {
        match self.send(call).await {
            Ok(answer) => Ok(Some(answer)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn json<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Error> {
        let answer = self.send(call).await?;
        client::decode(call, &answer.body)
    }

    async fn all<P: DeserializeOwned, T>(&self, first: Call, take: fn(P) -> Vec<T>) -> Result<Vec<T>, Error> {
        self.github.client.pages(first, take, |call| async move { self.send(&call).await }).await
    }
}
