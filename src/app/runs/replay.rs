//! A run that is over, once more: from what was recorded, without GitHub, and nothing is kept or posted.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::super::Error;
use super::archive::{Archive, Problem};
use crate::agent::{Context, Contributing, Pack, Reviewing, Scene};
use crate::analysis::Engine;
use crate::artifact::{ContributeFacts, ReviewFacts};
use crate::domain::{RepositoryId, RunId};
use crate::pipeline::contribute::CONTRIBUTE;
use crate::pipeline::fix::FIX;
use crate::pipeline::review::REVIEW;
use crate::pipeline::{self, FACTS, FLOWS, Flow, Now, Replayed};
use crate::stdx::difference::{Difference, differences};
use crate::stdx::text::parse_iso8601;
use crate::store::{RunRow, RunState, StepRow, StepState};
use crate::workspace;

/// What came of running a run's agents again.
#[derive(Debug)]
pub struct Replay {
    pub run: RunRow,
    /// In the order of the flow.
    pub steps: Vec<StepReplay>,
}

#[derive(Debug)]
pub struct StepReplay {
    pub name: &'static str,
    pub verdict: Verdict,
    /// Agent, rules or settings are not those of then.
    pub other_maker: bool,
}

#[derive(Debug, PartialEq)]
pub enum Verdict {
    Same,
    /// The result is another one, but for times and durations.
    Differs(Vec<Difference>),
    /// It failed on one side, or for another reason; as told then and now, `None` for a result.
    FailedOtherwise {
        then: Option<String>,
        now: Option<String>,
    },
    /// There is nothing to compare with, and why.
    NotCompared(String),
}

impl Replay {
    /// Nothing differs, in what could be compared.
    pub fn is_same(&self) -> bool {
        self.steps.iter().all(|step| matches!(step.verdict, Verdict::Same | Verdict::NotCompared(_)))
    }
}

/// Runs the agents of a run again, each on what it was given then, and compares what they make.
///
/// # Errors
/// It is not over, was recorded before its facts were, its trees are gone, or the rows cannot be read.
pub async fn replay(archive: &Archive, run: RunRow, cancel: &CancellationToken) -> Result<Replay, Error> {
    let not = |why: String, hint| Problem::NotReplayable { run: run.id, why, hint };
    if run.state == RunState::Running {
        return Err(not("it goes on".to_owned(), "`octoswarm runs watch` follows it to its end").into());
    }
    let repository = run.repository.ok_or_else(|| {
        let hint = "only runs of a server can be replayed; `octoswarm run` with `--force` does a local one again";
        not("it belongs to no repository on GitHub".to_owned(), hint)
    })?;
    let works = [REVIEW.name, FIX.name, CONTRIBUTE.name];
    let known = |flow: &&Flow| flow.name == run.kind && works.contains(&flow.name);
    let flow = FLOWS.iter().find(known).ok_or_else(|| {
        not(format!("there is no flow of the kind `{}` to replay", run.kind), "reviews, fixes and contributions can be")
    })?;
    let mut steps = archive.store.steps(run.id).await?;
    let kept = |step: &StepRow| step.name == FACTS && step.state == StepState::Done;
    let facts = steps.iter().rev().find(|step| kept(step)).and_then(|step| step.artifact.clone());
    let began = steps.iter().any(|step| step.name != FACTS);
    steps.retain(|step| step.name != FACTS);
    let facts = match facts {
        Some(facts) => facts,
        None if began => {
            let why = "it was recorded before a run's facts were kept, or they were larger than 1 MiB";
            return Err(not(why.to_owned(), "`octoswarm runs show` tells what is kept of it").into());
        }
        None => {
            let why = "it ended before its first agent began";
            return Err(not(why.to_owned(), "`octoswarm runs show` tells why").into());
        }
    };
    let mirrors = archive.state.join("mirrors");
    let scene = scene(flow, &mirrors, repository, run.id, &facts).await?;
    let engine = tokio::task::spawn_blocking(Engine::embedded).await;
    let engine = engine.map_err(|error| Error::Path(format!("the rules could not be loaded: {error}")))??;
    let cx = Context { engine, cancel: cancel.clone(), clock: archive.store.clock().clone(), scene };
    let replayed = pipeline::replay(flow, &cx, &facts, steps).await;
    Ok(Replay { steps: replayed.into_iter().map(judged).collect(), run })
}

/// What the flow works on: its facts, and the trees that they name, out of the mirror.
async fn scene(
    flow: &Flow,
    mirrors: &std::path::Path,
    repository: RepositoryId,
    run: RunId,
    facts: &Value,
) -> Result<Scene, Error> {
    if flow.name == CONTRIBUTE.name {
        let facts: ContributeFacts = typed(facts, run)?;
        let tree = workspace::recorded_tree(mirrors, repository, &facts.base).await?;
        return Ok(Scene::Contribute(Contributing::new(tree, facts)));
    }
    let facts: ReviewFacts = typed(facts, run)?;
    let change = workspace::recorded(mirrors, repository, &facts.base, &facts.head).await?;
    Ok(Scene::Review(Reviewing { change, facts: Arc::new(facts), pack: Arc::new(Pack::default()) }))
}

fn typed<T: DeserializeOwned>(facts: &Value, run: RunId) -> Result<T, Problem> {
    T::deserialize(facts).map_err(|error| Problem::NotReplayable {
        run,
        why: format!("this version cannot read its facts: {error}"),
        hint: "replay it with the version that made it",
    })
}

fn judged(step: Replayed) -> StepReplay {
    let Replayed { role, recorded, now } = step;
    let failed = (recorded.state == StepState::Failed).then(|| recorded.detail.clone().unwrap_or_default());
    let (made, error, other_maker) = match now {
        Now::Made { result, other_maker } => (Some(result), None, other_maker),
        Now::Failed { error, other_maker } => (None, Some(crate::stdx::error::chain(&error)), other_maker),
        Now::Unreached { needs } => {
            let verdict =
                Verdict::NotCompared(format!("what it needs of {needs} is neither kept nor could it be made"));
            return StepReplay { name: role.name(), verdict, other_maker: false };
        }
    };
    let verdict = match (recorded.artifact, made) {
        (Some(old), Some(new)) => {
            let found = differences(&old, &new, is_time);
            if found.is_empty() { Verdict::Same } else { Verdict::Differs(found) }
        }
        (Some(_), None) => Verdict::FailedOtherwise { then: None, now: error },
        (None, made) => match (recorded.state, failed) {
            // The row has the sentence alone, without what led to it.
            (_, Some(then)) if error.as_ref().is_some_and(|now| now.starts_with(&then)) => Verdict::Same,
            (_, Some(then)) => Verdict::FailedOtherwise { then: Some(then), now: error },
            (StepState::Done | StepState::Skipped, None) if made.is_some() => {
                Verdict::NotCompared("its result was larger than 1 MiB and was not kept".to_owned())
            }
            (StepState::Done | StepState::Skipped, None) => Verdict::FailedOtherwise { then: None, now: error },
            (state, None) => Verdict::NotCompared(format!("it did not come to its end: {state}")),
        },
    };
    StepReplay { name: role.name(), verdict, other_maker }
}

/// It tells when, or how long, on both sides.
fn is_time(difference: &Difference) -> bool {
    let (Some(old), Some(new)) = (&difference.old, &difference.new) else { return false };
    let field = difference.path.rsplit('/').next().unwrap_or_default();
    let tells = |value: &Value| value.is_number() || value.as_str().is_some_and(|text| parse_iso8601(text).is_some());
    tells_time(field) && tells(old) && tells(new)
}

/// As all documents name such fields: `timestamp`, `generatedAt`, `started_at`, `durationMs`.
fn tells_time(field: &str) -> bool {
    // What is estimated is no clock's.
    let ends = ["timestamp", "Timestamp", "At", "_at", "Ms", "_ms"];
    !field.starts_with("estimated") && ends.iter().any(|end| field.ends_with(end))
}

impl Serialize for StepReplay {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// Differences that one step is told of; the rest is counted.
        const TOLD: usize = 1_000;
        #[derive(Serialize)]
        struct Told<'a> {
            name: &'a str,
            verdict: &'a str,
            other_maker: bool,
            differences: Vec<Value>,
            more: usize,
            why: Option<String>,
        }
        let (mut differences, mut more, mut why) = (Vec::new(), 0, None);
        let verdict = match &self.verdict {
            Verdict::Same => "same",
            Verdict::Differs(found) => {
                more = found.len().saturating_sub(TOLD);
                differences.extend(found.iter().take(TOLD).map(told));
                "differs"
            }
            Verdict::FailedOtherwise { then, now } => {
                differences.push(serde_json::json!({ "path": null, "failed_then": then, "failed_now": now }));
                "failed-otherwise"
            }
            Verdict::NotCompared(reason) => {
                why = Some(reason.clone());
                "not-compared"
            }
        };
        Told { name: self.name, verdict, other_maker: self.other_maker, differences, more, why }.serialize(serializer)
    }
}

/// A side that is not there is left out: null is a value.
fn told(difference: &Difference) -> Value {
    let mut told = serde_json::Map::from_iter([("path".to_owned(), Value::from(difference.path.clone()))]);
    for (name, side) in [("recorded", &difference.old), ("now", &difference.new)] {
        if let Some(value) = side {
            told.insert(name.to_owned(), value.clone());
        }
    }
    Value::Object(told)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_and_durations_do_not_count_and_what_only_looks_like_one_does() {
        let old = json!({ "generatedAt": "2026-11-21T10:00:00Z", "durationMs": 5, "estimatedDurationMs": 1, "at": 1 });
        let new = json!({ "generatedAt": "2026-11-22T10:00:00Z", "durationMs": 9, "estimatedDurationMs": 2, "at": 2 });
        let found = differences(&old, &new, is_time);
        assert_eq!(found.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["/at", "/estimatedDurationMs"]);
        assert!(!differences(&old, &json!({}), is_time).is_empty(), "a time that is gone is a difference");
    }
}
