//! The monitor flow: the reviews agent alone. It follows a pull request of ours until it is merged or closed.

use super::flow::{Flow, RunOptions, Step};
use super::{Error, Journal};
use crate::agent::{Context, Role};
use crate::artifact::Monitored;

pub const MONITOR: Flow = Flow { name: "monitor", steps: &[Step::new(Role::Reviews, &[])] };

/// Runs the flow over the facts in `cx`.
///
/// # Errors
/// The step's, the store's or the disk's.
pub async fn run(cx: &Context, journal: &Journal) -> Result<Monitored, Error> {
    let facts = &cx.monitoring().map_err(|source| Error::Agent { role: MONITOR.name, source })?.facts;
    MONITOR.run(cx, journal, &**facts, &RunOptions::default()).await?.reached(Role::Reviews)?.get(Role::Reviews)
}
