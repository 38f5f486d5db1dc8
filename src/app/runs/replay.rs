//! A run that is over, once more: from what was recorded, without GitHub, and nothing is kept or posted.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::super::{Error, review};
use super::archive::{Archive, Problem};
use super::ground::Ground;
use crate::pipeline::{self, Beginning, FACTS, Flow, Now, Replayed};
use crate::stdx::difference::{Difference, differences};
use crate::stdx::text::parse_iso8601;
use crate::store::{RunRow, RunState, StepRow, StepState};

/// What came of running a run's agents again.
#[derive(Debug)]
pub struct Replay {
    pub run: RunRow,
    /// In the order of the flow.
    pub steps: Vec<StepReplay>,
}

#[derive(Debug)]
pub struct StepReplay {
    /// A local run may have several.
    pub flow: &'static str,
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

/// Runs the agents of a run again, each on what it was given then, and compares what they make. A local run was made in the
/// repository around `path`; without one, in the folder that its state lies in.
///
/// # Errors
/// It is not over, was recorded before its facts were, its trees are gone, or the rows cannot be read.
pub async fn replay(
    archive: &Archive,
    run: RunRow,
    path: Option<&Path>,
    cancel: &CancellationToken,
) -> Result<Replay, Error> {
    let not = |why: String, hint| Problem::NotReplayable { run: run.id, why, hint };
    if run.state == RunState::Running {
        return Err(not("it goes on".to_owned(), "`octoswarm runs watch` follows it to its end").into());
    }
    if Flow::named(&run.kind).is_none() {
        let why = format!("there is no flow of the kind `{}`", run.kind);
        return Err(not(why, "replay it with the version that made it").into());
    }
    let steps = archive.store.steps(run.id).await?;
    let began = steps.iter().any(|step| step.name != FACTS);
    let parts = if run.repository.is_some() { whole(&run, steps) } else { apart(&run, steps) };
    if parts.is_empty() {
        let (why, hint) = match began {
            true => (
                "it was recorded before a run's facts were kept, or they were larger than 1 MiB",
                "`octoswarm runs show` tells what is kept of it",
            ),
            false => ("it ended before its first agent began", "`octoswarm runs show` tells why"),
        };
        return Err(not(why.to_owned(), hint).into());
    }
    let engine = review::engine().await?;
    let ground = Ground { run: run.id, engine, clock: archive.store.clock().clone(), cancel: cancel.clone() };
    let mut done = Vec::new();
    match run.repository {
        Some(repository) => {
            let mirrors = archive.state.join("mirrors");
            for Part { began, steps } in parts {
                let cx = ground.mirrored(&mirrors, repository, began.flow, &began.facts).await?;
                let replayed = pipeline::replay(&cx, &began, steps).await;
                done.extend(replayed.into_iter().map(|step| judged(began.flow, step)));
            }
        }
        None => {
            let state = std::path::absolute(&archive.state).unwrap_or_else(|_| archive.state.clone());
            let path = path.or_else(|| state.parent()).unwrap_or(&state);
            let (mut made, mut found) = (None, false);
            for Part { began, steps } in parts {
                let Some(cx) = ground.local(path, &began, made.as_ref()).await? else {
                    done.extend(steps.iter().filter_map(|step| without_trees(began.flow, step)));
                    continue;
                };
                found = true;
                made = ground.made(&cx, &steps).await?;
                let replayed = pipeline::replay(&cx, &began, steps).await;
                done.extend(replayed.into_iter().map(|step| judged(began.flow, step)));
            }
            if !found {
                let why = format!("the files around `{}` are not those that it worked on any more", path.display());
                let hint =
                    "bring the work tree back to what it was, or name the path that the run was given with `--path`";
                return Err(not(why, hint).into());
            }
        }
    }
    Ok(Replay { steps: done, run })
}

/// A flow of a run, and the steps that it began.
struct Part {
    began: Beginning,
    steps: Vec<StepRow>,
}

/// The one flow of a server's run.
fn whole(run: &RunRow, mut steps: Vec<StepRow>) -> Vec<Part> {
    let kept = |step: &&StepRow| step.name == FACTS && step.state == StepState::Done;
    let began = steps.iter().rev().find(kept).and_then(|row| Beginning::of(row, &run.kind));
    steps.retain(|step| step.name != FACTS);
    began.map(|began| Part { began, steps }).into_iter().collect()
}

/// The flows of a local run, each from its own facts: what is planned and changed, and its review. Steps of a flow whose facts
/// were not kept are left out.
fn apart(run: &RunRow, steps: Vec<StepRow>) -> Vec<Part> {
    let mut parts: Vec<Option<Part>> = Vec::new();
    for step in steps {
        if step.name == FACTS {
            parts.push(Beginning::of(&step, &run.kind).map(|began| Part { began, steps: Vec::new() }));
        } else if let Some(Some(part)) = parts.last_mut() {
            part.steps.push(step);
        }
    }
    parts.into_iter().flatten().collect()
}

fn without_trees(flow: &'static Flow, step: &StepRow) -> Option<StepReplay> {
    let name = flow.steps.iter().map(|known| known.role.name()).find(|name| *name == step.name)?;
    let why = "the files that it worked on are not there any more".to_owned();
    Some(StepReplay { flow: flow.name, name, verdict: Verdict::NotCompared(why), other_maker: false })
}

fn judged(flow: &Flow, step: Replayed) -> StepReplay {
    let flow = flow.name;
    let Replayed { role, recorded, now } = step;
    let failed = (recorded.state == StepState::Failed).then(|| recorded.detail.clone().unwrap_or_default());
    let (made, error, other_maker) = match now {
        Now::Made { result, other_maker } => (Some(result), None, other_maker),
        Now::Failed { error, other_maker } => (None, Some(crate::stdx::error::chain(&error)), other_maker),
        Now::Unreached { needs } => {
            let verdict =
                Verdict::NotCompared(format!("what it needs of {needs} is neither kept nor could it be made"));
            return StepReplay { flow, name: role.name(), verdict, other_maker: false };
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
    StepReplay { flow, name: role.name(), verdict, other_maker }
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
            flow: &'a str,
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
        let flow = self.flow;
        Told { flow, name: self.name, verdict, other_maker: self.other_maker, differences, more, why }
            .serialize(serializer)
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
