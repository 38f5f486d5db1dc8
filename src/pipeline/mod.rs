//! Flows: which agents run in which order, the crew that does their steps, and every step kept so that a retry does not do
//! it again.
//!
//! Promise: a step whose key is known is not run twice; no step begins on an output that was not validated; a cancelled flow
//! stops at the next step.
//! Never: no GitHub and no git of its own; a flow starts from facts and ends in documents.

pub mod contribute;
mod crew;
pub mod fix;
mod flow;
mod journal;
pub mod monitor;
pub mod plan;
mod replay;
mod result;
pub mod review;
pub mod run;
mod swarm;
mod watch;

pub use crew::{AgentSettings, Asked, Crew, Lines, Occasion, Order, Progress, Settings};
pub use flow::{Flow, Outputs, Part, RunOptions, Step, StepEnd, Stopped};
pub use journal::{FACTS, Journal, RESULT, Tell};
pub use replay::{Beginning, Now, Replayed, replay};
pub use swarm::{Cycle, Swarms};
pub use watch::Watched;

/// Every flow there is.
pub const FLOWS: &[Flow] = &[review::REVIEW, fix::FIX, contribute::CONTRIBUTE, plan::PLAN, run::RUN, monitor::MONITOR];

use crate::{agent, artifact, store};

/// Why a flow did not end in a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the {role} step failed")]
    Agent { role: &'static str, source: agent::Error },
    #[error("the {role} step's document does not have its form")]
    Document { role: &'static str, source: serde_json::Error },
    #[error("the flow ended before the {role} step")]
    NotReached { role: &'static str },
    #[error("the step could not be kept")]
    Store(#[from] store::Error),
    #[error("a document could not be written to the run's folder")]
    Shelf(#[from] artifact::shelf::Error),
}

impl Error {
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Agent { source: agent::Error::Cancelled, .. })
    }
}
