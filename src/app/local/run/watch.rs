//! What a run is doing, told while it does it.

use std::collections::BTreeSet;

use tokio_util::sync::CancellationToken;

use crate::agent::{Registry, Role};
use crate::domain::RunId;
use crate::pipeline::FACTS;
use crate::store::{StepRow, StepState, Store};

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A program outside has been asked; how long it takes is its own.
    Asked { agent: String },
    /// A step ended.
    Ended { agent: String, end: End, took_ms: u64, line: Option<String> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Done,
    /// An earlier run did it already.
    Known,
    Failed,
    Cancelled,
}

/// Tells of every step until told to stop, and then of what has ended meanwhile.
pub(super) async fn watch(
    store: Store,
    run: RunId,
    outside: Vec<&'static str>,
    tell: impl Fn(Told),
    stop: CancellationToken,
) {
    let mut ear = store.bell().progress();
    let (mut asked, mut ended) = (BTreeSet::new(), BTreeSet::new());
    let registry = Registry::builtin();
    loop {
        let last = stop.is_cancelled();
        // Rows that cannot be read now are read at the next ring; the run itself meets the error.
        for step in store.steps(run).await.unwrap_or_default() {
            if step.name == FACTS || ended.contains(&step.id) {
                continue;
            }
            match end(step.state) {
                Some(end) => {
                    ended.insert(step.id);
                    tell(told(&registry, &step, end));
                }
                None if outside.contains(&step.name.as_str()) && asked.insert(step.id) => {
                    tell(Told::Asked { agent: step.name });
                }
                None => {}
            }
        }
        if last {
            return;
        }
        tokio::select! {
            () = ear.heard() => {}
            () = stop.cancelled() => {}
        }
    }
}

fn end(state: StepState) -> Option<End> {
    match state {
        StepState::Running => None,
        StepState::Done => Some(End::Done),
        StepState::Skipped => Some(End::Known),
        StepState::Failed => Some(End::Failed),
        StepState::Cancelled => Some(End::Cancelled),
    }
}

fn told(registry: &Registry, step: &StepRow, end: End) -> Told {
    let of_agent = || registry.get(Role::parse(&step.name)?).line(step.artifact.as_ref()?);
    let line = match end {
        End::Failed | End::Cancelled => step.detail.clone(),
        End::Done | End::Known => of_agent(),
    };
    let took = step.finished_at.unwrap_or(step.started_at).saturating_sub(step.started_at);
    Told::Ended { agent: step.name.clone(), end, took_ms: u64::try_from(took).unwrap_or_default(), line }
}
