//! The crew: who reads the change and says what is to be said of it.
//!
//! Promise: an agent's output passed its own validation, and depends on nothing but its input and the two trees.
//! Never: no credentials, no GitHub, no tables; whoever reads untrusted text holds no write power.

pub mod checks;
mod contract;
mod contribute;
pub mod gate;
pub mod linters;
pub mod mechanic;
mod monitor;
mod pack;
mod registry;
mod review;
mod role;
pub mod trial;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::analysis::Engine;
use crate::artifact::{AgentError, ContributeFacts, ErrorCode, MonitorFacts, ReviewFacts};
use crate::domain::Clock;
use crate::workspace::{self, Change, Tree};

pub use contract::{Agent, DynAgent, Told};
pub use contribute::{
    CheckedPlan, IGNORED, Library, Point, ProvedFixes, REPOSITORY_CHECKS, check_plan, fixes, globs, rank, rewritten,
};
pub use pack::{Pack, ReadFile};
pub use registry::Registry;
pub use review::{audit, rule_outside};
pub use role::{Retry, RetryPolicy, Role};

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
    /// The repository, read once for all roles.
    pub library: Arc<Library>,
}

impl Contributing {
    pub fn new(tree: Tree, facts: ContributeFacts) -> Self {
        Self { tree, facts: Arc::new(facts), library: Arc::default() }
    }
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
    #[error("the {role} agent gave no answer within {} s", seconds(*.after))]
    Late { role: &'static str, after: std::time::Duration },
    /// What an agent reported in its own words.
    #[error("{0}")]
    Reported(AgentError),
    #[error("cancelled")]
    Cancelled,
}

/// In seconds, to the millisecond: what is left of a deadline is seldom whole.
fn seconds(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

impl Error {
    /// The error as it goes on the wire (S1.10), with the code that fits.
    pub fn report(&self, role: Role) -> AgentError {
        let code = match self {
            Self::Reported(error) => return error.clone(),
            Self::Input { .. } | Self::Setting(_) | Self::Scene(_) => ErrorCode::InvalidInput,
            Self::Invalid { .. } => ErrorCode::OutputValidationFailed,
            Self::Workspace(_) => ErrorCode::GitFetch,
            Self::Scanner { .. } => ErrorCode::ReviewAnalysisFailed,
            Self::Late { .. } => ErrorCode::ApiTimeout,
            Self::Cancelled => {
                let agent_name = role.name().to_owned();
                return AgentError {
                    message: self.to_string(),
                    code: "cancelled".into(),
                    agent_name,
                    recoverable: false,
                };
            }
        };
        AgentError {
            recoverable: self.is_transient() || code.recoverable(),
            ..code.error(role.name(), self.to_string())
        }
    }

    /// It has nothing to do with the input: the same call may work in a moment.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Workspace(error) => error.is_transient(),
            Self::Late { .. } => true,
            Self::Reported(error) => {
                [ErrorCode::ApiTimeout, ErrorCode::ApiRateLimit].iter().any(|code| code.as_str() == error.code)
            }
            Self::Input { .. }
            | Self::Invalid { .. }
            | Self::Setting(_)
            | Self::Scanner { .. }
            | Self::Scene(_)
            | Self::Cancelled => false,
        }
    }
}
