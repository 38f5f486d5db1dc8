//! The record of a run: its steps with their artifacts, and progress for whoever watches.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use super::crew::{Asked, Crew, Lines, Occasion, Order, Progress};
use super::flow::{Flow, Part, RunOptions};
use super::replay::Beginning;
use super::{Cycle, Error, result};
use crate::agent::{Context, Role};
use crate::artifact::code_review::CodeReview;
use crate::artifact::exchange::{AgentConfig, AgentInput, AgentOutput, OutputMetadata, OutputStatus, PipelineResult};
use crate::artifact::project::ProjectContext;
use crate::artifact::status::AgentState;
use crate::artifact::{AgentError, Shelf, shelf};
use crate::domain::{Millis, RunId};
use crate::mailbox::Priority;
use crate::stdx::hash;
use crate::stdx::text::{self, count};
use crate::store::{self, Left, MAX_ARTIFACT, StepId, StepRow, StepState, Store};

/// The name of the row that holds what a run started from.
pub const FACTS: &str = "facts";
/// The review of a run in the words of S1.15, in its folder.
pub(super) const REVIEW: &str = "code-review.json";
/// What a run came to, in its folder.
pub const RESULT: &str = "result.json";

/// Hears one line at a time of how far a run is.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Who does the steps of a run, and where they are kept. Work without GitHub keeps none: it is over before anything could be
/// lost.
#[derive(Clone)]
pub struct Journal {
    crew: Crew,
    occasion: Occasion,
    kept: Option<Kept>,
    tell: Option<Tell>,
}

#[derive(Clone)]
struct Kept {
    store: Store,
    run: RunId,
    shelf: Shelf,
    /// Where a contribution shows how far it is.
    cycle: Option<Arc<Cycle>>,
    began: Millis,
}

impl Journal {
    pub fn unkept(crew: Crew) -> Self {
        Self { crew, occasion: Occasion::default(), kept: None, tell: None }
    }

    /// Steps become rows of `run`, documents go onto the shelf.
    pub fn kept(crew: Crew, store: Store, run: RunId, shelf: Shelf) -> Self {
        let began = store.clock().now();
        let occasion = Occasion { run: Some(run), ..Occasion::default() };
        Self { crew, occasion, kept: Some(Kept { store, run, shelf, cycle: None, began }), tell: None }
    }

    /// Tells somebody else, too, what the run says.
    #[must_use]
    pub fn telling(mut self, tell: Tell) -> Self {
        self.tell = Some(tell);
        self
    }

    /// Shows in a repository's swarm how far the flow is.
    #[must_use]
    pub fn showing(mut self, swarm: &Arc<Cycle>) -> Self {
        if let Some(kept) = &mut self.kept {
            kept.cycle = Some(swarm.clone());
        }
        self
    }

    /// Says in messages what the run is about, `owner/repo#7`, and how urgent it is.
    #[must_use]
    pub fn about(mut self, focus: String, priority: Priority) -> Self {
        self.occasion = Occasion { focus: Some(focus), priority, ..self.occasion };
        self
    }

    pub fn crew(&self) -> &Crew {
        &self.crew
    }

    /// Keeps what the run starts from, and what it was asked to be: it can be done again from there.
    pub(super) async fn begin(
        &self,
        cx: &Context,
        flow: &Flow,
        facts: &Value,
        options: &RunOptions,
    ) -> Result<(), Error> {
        let Some(Kept { store, run, .. }) = &self.kept else { return Ok(()) };
        let step = store.start_step(*run, FACTS, &facts_key(cx, flow, facts)).await?;
        let artifact = Beginning::artifact(facts, options);
        store.finish_step(step, StepState::Done, kept(&artifact), Some(flow.name)).await?;
        self.crew.announce(cx, flow.name, &self.occasion).await;
        Ok(())
    }

    /// Writes down what the parts of a run came to together (S1.20), with what else went wrong; nothing for a run that is not
    /// kept.
    ///
    /// # Errors
    /// The disk's.
    pub async fn close(
        &self,
        cx: &Context,
        parts: &[&Part],
        more: Vec<AgentError>,
    ) -> Result<Option<PipelineResult>, Error> {
        let Some(Kept { shelf, began, .. }) = &self.kept else { return Ok(None) };
        let result = result::of(parts, more, *began, cx.clock.now(), shelf.folder());
        let (shelf, whole) = (shelf.clone(), result.clone());
        let written = tokio::task::spawn_blocking(move || {
            if let Some(review) = result::review(&whole).and_then(|review| CodeReview::deserialize(review).ok()) {
                shelf.write(REVIEW, &review)?;
            }
            shelf.write(RESULT, &whole)
        });
        match written.await.map_err(|error| shelf::Error::Disk(std::io::Error::other(error))).flatten() {
            // What was done stands in the rows; that it cannot be told of here is no reason to lose it.
            Err(error @ shelf::Error::Refused { .. }) => {
                tracing::warn!(%error, "what a run came to could not be written down");
                Ok(Some(result))
            }
            written => Ok(written.map(|()| Some(result))?),
        }
    }

    /// Has the role's agent work on `input`, or takes the result that the same agent made of the same input before.
    ///
    /// # Errors
    /// The agent's, the store's or the disk's; a failed step stays visible in the run.
    pub(super) async fn step(
        &self,
        cx: &Context,
        role: Role,
        mut input: AgentInput,
        config: AgentConfig,
        force: bool,
    ) -> Result<AgentOutput, Error> {
        let name = role.name();
        let failed = |source| Error::Agent { role: name, source };
        input.config = self.crew.told(role, &config);
        let order = |input, progress| {
            let (config, occasion) = (config.clone(), self.occasion.clone());
            Order { role, input, config, occasion, progress }
        };
        let Some(Kept { store, run, .. }) = &self.kept else {
            if let Some(tell) = &self.tell {
                tell(&format!("{name} is at work"));
            }
            let output = self.crew.ask(cx, order(input, Progress::default())).await.result.map_err(failed)?;
            if let Some(line) = self.crew.agent(role).line(&output.result) {
                self.say(&line).await?;
            }
            return Ok(output);
        };
        let key = step_key(cx, name, &self.crew.version(role), &input);
        let step = store.start_step(*run, name, &key).await?;
        let began = Instant::now();
        let known = if force { None } else { store.step_by_key(&key).await? };
        let known = known.and_then(|row| Some((row.told.as_ref().and_then(Told::read)?, row.artifact?)));
        self.show(role, AgentState::Running).await?;
        let output = match known {
            Some((told, result)) => {
                let output = known_output(cx, role, result, key, told);
                leave(store, step, StepState::Skipped, &output, &[]).await?;
                store.meter().step(name, "known", None);
                output
            }
            None => {
                let (progress, lines) = Progress::channel();
                let asked = self.crew.ask(cx, order(input, progress));
                let (Asked { result, failures }, ()) = tokio::join!(asked, self.relay(role, lines));
                store.meter().retries(name, failures.len() as u64);
                match result {
                    Ok(output) => {
                        // A document that says it failed is no answer for the next attempt.
                        let ended = output.status != OutputStatus::Failed;
                        let state = if ended { StepState::Done } else { StepState::Failed };
                        store.meter().step(name, if ended { "done" } else { "stopped" }, Some(began.elapsed()));
                        leave(store, step, state, &output, &failures).await?;
                        output
                    }
                    Err(source) => {
                        store.meter().step(name, "failed", Some(began.elapsed()));
                        let detail = detail(&failures, [source.to_string()].into_iter());
                        store.finish_step(step, StepState::Failed, None, detail.as_deref()).await?;
                        self.show(role, AgentState::Failed).await?;
                        return Err(failed(source));
                    }
                }
            }
        };
        let failed = output.status == OutputStatus::Failed;
        self.show(role, if failed { AgentState::Failed } else { AgentState::Completed }).await?;
        if let (Some(file), Some(document)) = (role.file(), role.document(&output.result))
            && !(role == Role::Manager && self.knows_more(file, &document))
        {
            self.shelve(file, &document).await?;
        }
        if let Some(line) = self.crew.agent(role).line(&output.result) {
            self.say(&line).await?;
        }
        Ok(output)
    }

    /// Tells of what whoever does the step says meanwhile, until nobody can say any more.
    async fn relay(&self, role: Role, mut lines: Lines) {
        while let Some(line) = lines.next().await {
            if let Err(error) = self.say(&format!("{}: {line}", role.name())).await {
                tracing::warn!(%error, agent = role.name(), "progress could not be kept");
            }
        }
    }

    /// Whether the folder has the whole snapshot already that an earlier part of the run made: the glance with which a review
    /// begins takes nothing away from it.
    fn knows_more(&self, file: &str, glance: &Value) -> bool {
        let Some(Kept { shelf, .. }) = &self.kept else { return false };
        let kept = || shelf.read::<ProjectContext>(file).ok().flatten();
        glance.get("model").is_none() && kept().is_some_and(|kept| kept.model.is_some())
    }

    /// Puts a document into the run's folder.
    ///
    /// # Errors
    /// The document does not have its form, or the disk's.
    pub async fn shelve(&self, file: &'static str, document: &Value) -> Result<(), Error> {
        let Some(Kept { shelf, cycle, .. }) = &self.kept else { return Ok(()) };
        let (shelf, cycle, document) = (shelf.clone(), cycle.clone(), document.clone());
        let written = tokio::task::spawn_blocking(move || {
            shelf.put(file, &document)?;
            cycle.map_or(Ok(()), |cycle| cycle.put(file, &document))
        });
        Ok(written.await.map_err(|error| shelf::Error::Disk(std::io::Error::other(error)))??)
    }

    /// Says in the swarm's status what a role is doing.
    pub(super) async fn show(&self, role: Role, state: AgentState) -> Result<(), Error> {
        let Some(Kept { cycle: Some(cycle), .. }) = &self.kept else { return Ok(()) };
        let cycle = cycle.clone();
        let written = tokio::task::spawn_blocking(move || cycle.set(role, state)).await;
        Ok(written.map_err(|error| shelf::Error::Disk(std::io::Error::other(error)))??)
    }

    /// One line of progress.
    ///
    /// # Errors
    /// The store's.
    pub async fn say(&self, line: &str) -> Result<(), Error> {
        if let Some(tell) = &self.tell {
            tell(line);
        }
        if let Some(Kept { store, run, .. }) = &self.kept {
            store.add_progress(*run, line).await?;
        }
        Ok(())
    }
}

/// What a step's row says of the attempts that failed and of how it ended (S0.15).
fn detail(failures: &[AgentError], end: impl Iterator<Item = String>) -> Option<String> {
    const MOST: usize = 2000;
    let mut said: Vec<String> = end.collect();
    if !failures.is_empty() {
        let why: Vec<String> = failures.iter().map(AgentError::to_string).collect();
        said.push(format!("after {}: {}", count(failures.len(), "failed attempt"), why.join("; ")));
    }
    (!said.is_empty()).then(|| text::truncate_chars(&said.join("; "), MOST))
}

/// What a row tells of an output beside its result: whoever takes the result later takes it as what it was.
#[derive(Serialize, Deserialize)]
pub(super) struct Told {
    status: OutputStatus,
    metadata: OutputMetadata,
}

impl Told {
    fn of(output: &AgentOutput) -> Self {
        Self { status: output.status, metadata: output.metadata.clone() }
    }

    fn read(told: &Value) -> Option<Self> {
        Self::deserialize(told).ok()
    }

    /// Of a row; one that an older version left is a success as far as anybody knows.
    pub(super) fn of_row(row: &StepRow) -> Self {
        let unknown = Self { status: OutputStatus::Success, metadata: OutputMetadata::default() };
        row.told.as_ref().and_then(Self::read).unwrap_or(unknown)
    }
}

/// Ends a step that left an output.
async fn leave(
    store: &Store,
    step: StepId,
    state: StepState,
    output: &AgentOutput,
    failures: &[AgentError],
) -> Result<(), store::Error> {
    // What is a success has nothing to explain.
    let OutputMetadata { errors, warnings, .. } = &output.metadata;
    let own = errors.iter().flatten().map(|error| error.message.clone()).chain(warnings.iter().flatten().cloned());
    let detail = detail(failures, own.filter(|_| output.status != OutputStatus::Success));
    let told = serde_json::to_value(Told::of(output))?;
    let left = Left { artifact: kept(&output.result), told: kept(&told), detail: detail.as_deref() };
    store.end_step(step, state, left).await
}

/// A result that was made before. Making it took no time now.
pub(super) fn known_output(cx: &Context, role: Role, result: Value, key: String, told: Told) -> AgentOutput {
    let Told { status, metadata } = told;
    let metadata =
        OutputMetadata { duration_ms: 0, token_usage: None, cache_hit: Some(true), cache_key: Some(key), ..metadata };
    AgentOutput { agent_name: role.name().to_owned(), timestamp: cx.timestamp(), status, result, metadata }
}

/// An artifact beyond the limit is not kept: its step is done again when it is needed again.
fn kept(artifact: &Value) -> Option<&Value> {
    (artifact.to_string().len() <= MAX_ARTIFACT).then_some(artifact)
}

/// What a flow starts from: equal keys are equal facts about equal trees.
pub(super) fn facts_key(cx: &Context, flow: &Flow, facts: &Value) -> String {
    let [base, tree] = cx.trees();
    hash::sha256_parts([FACTS, flow.name, base, tree, &facts.to_string()])
}

/// Agent, version, rules, input and trees: whatever may change the output.
pub(super) fn step_key(cx: &Context, role: &str, version: &str, input: &AgentInput) -> String {
    let [base, tree] = cx.trees();
    hash::sha256_parts([role, version, cx.engine.digest(), base, tree, &Value::Object(input.fields()).to_string()])
}
