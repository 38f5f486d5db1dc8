//! The crew: who reads the change and says what is to be said of it.
//!
//! Promise: an agent's output passed its own validation, and depends on nothing but its input and the two trees.
//! Never: no credentials, no GitHub, no tables; whoever reads untrusted text holds no write power.

mod contribute;
mod pack;
mod registry;
mod review;

use std::future::Future;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::analysis::Engine;
use crate::artifact::ReviewFacts;
use crate::workspace::{self, Change};

pub use pack::{Pack, ReadFile};
pub use registry::find;
pub use review::MasterInput;

/// Who does a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::Manager => "manager",
            Self::Documentation => "documentation",
            Self::Debt => "debt",
            Self::Improvement => "improvement",
            Self::Critical => "critical",
            Self::Master => "master",
        }
    }
}

/// All that a role may touch.
#[derive(Clone)]
pub struct Context {
    /// The two sides, read from the object database.
    pub change: Change,
    pub engine: Arc<Engine>,
    pub facts: Arc<ReviewFacts>,
    /// The changed files, read and scanned once for all roles.
    pub pack: Arc<Pack>,
    pub cancel: CancellationToken,
}

/// One role. Typed where it is written, erased once by the registry.
pub trait Agent: Send + Sync + 'static {
    /// Part of every step key: raise it when the same input may give another output.
    const VERSION: &'static str;
    type Input: DeserializeOwned + Send;
    type Output: Serialize + Send;

    fn role(&self) -> Role;

    fn run(&self, cx: &Context, input: Self::Input) -> impl Future<Output = Result<Self::Output, Error>> + Send;

    /// What is wrong with an output; nothing when it may be used.
    fn faults(&self, _cx: &Context, _output: &Self::Output) -> Vec<String> {
        Vec::new()
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
    #[error("cancelled")]
    Cancelled,
}
