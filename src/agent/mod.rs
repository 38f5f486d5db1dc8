//! The crew: who reads the change and says what is to be said of it.
//!
//! Promise: an agent's output passed its own validation, and depends on nothing but its input and the two trees.
//! Never: no credentials, no GitHub, no tables; whoever reads untrusted text holds no write power.

mod contribute;
pub mod gate;
pub mod mechanic;
mod monitor;
mod pack;
mod registry;
mod review;

use std::future::Future;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::analysis::Engine;
use crate::artifact::activity::ReviewActivity;
use crate::artifact::swarm::{CodeChanges, CodebaseMap, CurrentIssue, DocsChanges, IssueAnalysis, TestChanges};
use crate::artifact::{Content, ContributeFacts, MonitorFacts, ReviewFacts};
use crate::domain::Clock;
use crate::workspace::{self, Change, Tree};

pub use contribute::{IGNORED, globs};
pub use pack::{Pack, ReadFile};
pub use registry::find;
pub use review::audit;

/// Who does a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Decides which changed files are read, and says why the others are not.
    Manager,
    /// What the documentation says against what is there.
    Documentation,
    Debt,
    Improvement,
    Critical,
    /// Merges the four reviewers, ranks, proves every fix.
    Master,
    /// Decides whether an issue may be worked on.
    Scout,
    /// What the issue asks for, and how it could be done.
    Analyst,
    /// Where in the repository.
    Explorer,
    /// Makes the change, as diffs.
    Coder,
    /// The tests that belong to the change.
    Tester,
    /// The documentation that belongs to the change.
    Docs,
    /// Writes the pull request.
    Pr,
    /// What has become of it since.
    Reviews,
}

impl Role {
    pub const ALL: &'static [Self] = &[
        Self::Manager,
        Self::Documentation,
        Self::Debt,
        Self::Improvement,
        Self::Critical,
        Self::Master,
        Self::Scout,
        Self::Analyst,
        Self::Explorer,
        Self::Coder,
        Self::Tester,
        Self::Docs,
        Self::Pr,
        Self::Reviews,
    ];

    /// Its key in `swarm-status.json`, for those that have one.
    pub fn swarm_key(self) -> Option<&'static str> {
        match self {
            Self::Scout => Some("1-scout"),
            Self::Analyst => Some("2-analyst"),
            Self::Explorer => Some("3-explorer"),
            Self::Coder => Some("4-coder"),
            Self::Tester => Some("5-tester"),
            Self::Docs => Some("6-docs"),
            Self::Pr => Some("7-pr"),
            Self::Reviews => Some("8-reviews"),
            Self::Manager | Self::Documentation | Self::Debt | Self::Improvement | Self::Critical | Self::Master => {
                None
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Manager => "manager",
            Self::Documentation => "documentation",
            Self::Debt => "debt",
            Self::Improvement => "improvement",
            Self::Critical => "critical",
            Self::Master => "master",
            Self::Scout => "scout",
            Self::Analyst => "analyst",
            Self::Explorer => "explorer",
            Self::Coder => "coder",
            Self::Tester => "tester",
            Self::Docs => "docs",
            Self::Pr => "pr",
            Self::Reviews => "reviews",
        }
    }

    /// The name of its document in a run's folder, for those that leave one. The pr agent's is written when there is a
    /// pull request to tell of.
    pub fn file(self) -> Option<&'static str> {
        match self {
            Self::Scout => Some(CurrentIssue::FILE),
            Self::Analyst => Some(IssueAnalysis::FILE),
            Self::Explorer => Some(CodebaseMap::FILE),
            Self::Coder => Some(CodeChanges::FILE),
            Self::Tester => Some(TestChanges::FILE),
            Self::Docs => Some(DocsChanges::FILE),
            Self::Reviews => Some(ReviewActivity::FILE),
            Self::Manager
            | Self::Documentation
            | Self::Debt
            | Self::Improvement
            | Self::Critical
            | Self::Master
            | Self::Pr => None,
        }
    }

    /// What of a role's output is that document: all of it, but for those that hand on more beside it.
    pub fn document(self, output: &serde_json::Value) -> &serde_json::Value {
        match self {
            Self::Tester | Self::Docs | Self::Reviews => output.get("document").unwrap_or(output),
            Self::Manager
            | Self::Documentation
            | Self::Debt
            | Self::Improvement
            | Self::Critical
            | Self::Master
            | Self::Scout
            | Self::Analyst
            | Self::Explorer
            | Self::Coder
            | Self::Pr => output,
        }
    }
}

/// All that a role may touch.
#[derive(Clone)]
pub struct Context {
    pub engine: Arc<Engine>,
    pub cancel: CancellationToken,
    pub clock: Clock,
    pub scene: Scene,
}

/// What the work is about.
#[derive(Clone)]
pub enum Scene {
    Review(Reviewing),
    Contribute(Contributing),
    Monitor(Monitoring),
}

#[derive(Clone)]
pub struct Reviewing {
    /// The two sides, read from the object database.
    pub change: Change,
    pub facts: Arc<ReviewFacts>,
    /// The changed files, read and scanned once for all roles.
    pub pack: Arc<Pack>,
}

#[derive(Clone)]
pub struct Contributing {
    /// The repository as it is at the commit that the work is based on.
    pub tree: Tree,
    pub facts: Arc<ContributeFacts>,
}

#[derive(Clone)]
pub struct Monitoring {
    pub facts: Arc<MonitorFacts>,
}

impl Context {
    /// # Errors
    /// The role reviews, and this is no review.
    pub fn reviewing(&self) -> Result<&Reviewing, Error> {
        match &self.scene {
            Scene::Review(scene) => Ok(scene),
            Scene::Contribute(_) | Scene::Monitor(_) => Err(Error::Scene("a review")),
        }
    }

    /// # Errors
    /// The role contributes, and this is no contribution.
    pub fn contributing(&self) -> Result<&Contributing, Error> {
        match &self.scene {
            Scene::Contribute(scene) => Ok(scene),
            Scene::Review(_) | Scene::Monitor(_) => Err(Error::Scene("a contribution")),
        }
    }

    /// # Errors
    /// The role follows a pull request, and there is none.
    pub fn monitoring(&self) -> Result<&Monitoring, Error> {
        match &self.scene {
            Scene::Monitor(scene) => Ok(scene),
            Scene::Review(_) | Scene::Contribute(_) => Err(Error::Scene("the monitoring of a pull request")),
        }
    }

    /// The trees that the work depends on, for step keys.
    pub fn trees(&self) -> [&str; 2] {
        match &self.scene {
            // A work tree has no commit of its own, but it has a tree.
            Scene::Review(scene) => [scene.facts.base.as_str(), scene.change.tree.as_str()],
            Scene::Contribute(scene) => [scene.facts.base.as_str(), scene.tree.id().as_str()],
            // Nothing of the repository is read.
            Scene::Monitor(scene) => ["", scene.facts.pull.head.as_str()],
        }
    }

    /// ISO 8601 with seconds, UTC, for documents.
    pub fn timestamp(&self) -> String {
        crate::stdx::text::iso8601(self.clock.now())
    }
}

/// One role. Typed where it is written, erased once by the registry.
pub trait Agent: Send + Sync + 'static {
    /// Part of every step key: raise it when the same input may give another output.
    const VERSION: &'static str;
    /// An object with the flow's `facts` and, under the name of its role, the output of each step that this one needs.
    type Input: DeserializeOwned + Send;
    type Output: Serialize + DeserializeOwned + Send;

    fn role(&self) -> Role;

    fn run(&self, cx: &Context, input: Self::Input) -> impl Future<Output = Result<Self::Output, Error>> + Send;

    /// What is wrong with an output; nothing when it may be used.
    fn faults(&self, _cx: &Context, _output: &Self::Output) -> Vec<String> {
        Vec::new()
    }

    /// One line for whoever watches.
    fn line(&self, _output: &Self::Output) -> Option<String> {
        None
    }
}

/// An agent as the pipeline sees it: JSON in, JSON out.
pub trait DynAgent: Send + Sync {
    fn role(&self) -> Role;
    fn version(&self) -> &'static str;
    fn execute<'a>(
        &'a self,
        cx: &'a Context,
        input: serde_json::Value,
    ) -> BoxFuture<'a, Result<serde_json::Value, Error>>;
    /// One line about an output, for whoever watches.
    fn line(&self, output: &serde_json::Value) -> Option<String>;
}

impl<A: Agent> DynAgent for A {
    fn role(&self) -> Role {
        Agent::role(self)
    }

    fn version(&self) -> &'static str {
        A::VERSION
    }

    fn execute<'a>(
        &'a self,
        cx: &'a Context,
        input: serde_json::Value,
    ) -> BoxFuture<'a, Result<serde_json::Value, Error>> {
        Box::pin(async move {
            let role = Agent::role(self);
            let input = serde_json::from_value(input).map_err(|source| Error::Input { role: role.name(), source })?;
            if cx.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let output = self.run(cx, input).await?;
            let faults = self.faults(cx, &output);
            if !faults.is_empty() {
                return Err(Error::Invalid { role: role.name(), faults: faults.join("; ") });
            }
            serde_json::to_value(output).map_err(|source| Error::Input { role: role.name(), source })
        })
    }

    fn line(&self, output: &serde_json::Value) -> Option<String> {
        Agent::line(self, &A::Output::deserialize(output).ok()?)
    }
}

/// Why a step gave no output.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the {role} agent's document does not have its form")]
    Input { role: &'static str, source: serde_json::Error },
    #[error("the {role} agent's output is not valid: {faults}")]
    Invalid { role: &'static str, faults: String },
    #[error("the change could not be read")]
    Workspace(#[from] workspace::Error),
    #[error("a setting cannot be used: {0}")]
    Setting(String),
    #[error("the scanner stopped unexpectedly on `{path}`")]
    Scanner { path: String },
    #[error("the agent was called outside {0}")]
    Scene(&'static str),
    #[error("cancelled")]
    Cancelled,
}
