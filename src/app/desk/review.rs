//! `Job::Audit`: the review server's agents over an upload, one after the other, each stored before the next begins (S0, 0b).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::arrival::FILES;
use super::{AGGREGATE, Desk, Error, put};
use crate::agent::audit::{self, Auditing, Part};
use crate::analysis::Engine;
use crate::app::local;
use crate::artifact::server::{Aggregate, ReviewRequest};
use crate::artifact::{AgentError, ErrorCode, Shelf};
use crate::domain::{AuditTarget, Category, Class, Coverage, NotRead, RepoName, RunId};
use crate::queue::Leased;
use crate::stdx::text::{binary_size, count};
use crate::store::{Left, MAX_ARTIFACT, NewRun, RunState, StepState};

/// The flow's name in rows.
const KIND: &str = "audit";
/// Reasons that a line of progress tells.
const REASONS: usize = 4;

impl Desk {
    pub(in crate::app) async fn review(&self, target: &AuditTarget, leased: &Leased) -> Result<(), Error> {
        if leased.cancel.is_cancelled() {
            return Err(Error::Overtaken("cancelled before it began".into()));
        }
        // The last attempt is one like the others: nobody waits for an answer but who asks for the result.
        let Ok(_turn) = self.0.reviewing.try_acquire() else { return Err(Error::Queued) };
        let repo = RepoName::new("upload", target.codebase.as_str());
        let repo = repo.ok_or_else(|| Error::Path(format!("`{}` is no name", target.codebase)))?;
        let new =
            NewRun { kind: KIND.to_owned(), repository: None, repo, number: None, head: None, job: Some(leased.id) };
        let run = self.0.store.start_run(new).await?;
        tracing::info!(run.id = %run, review.id = %target.review, codebase.id = %target.codebase, "reviewing an upload");
        let reviewed = self.reviewed(run, target, leased).await;
        match &reviewed {
            Ok(outcome) => {
                self.0.store.meter().run(KIND, outcome);
                let outcome = json!({ "outcome": outcome });
                self.0.store.finish_run(run, RunState::Finished, Some(&outcome), None).await?;
            }
            Err(error) => {
                let cancelled = error.class() == Class::Cancelled;
                let state = if cancelled { RunState::Cancelled } else { RunState::Failed };
                self.0.store.meter().run(KIND, state.as_str());
                self.0.store.finish_run(run, state, None, Some(&error.chain())).await?;
            }
        }
        reviewed.map(|_| ())
    }

    async fn reviewed(&self, run: RunId, target: &AuditTarget, leased: &Leased) -> Result<&'static str, Error> {
        let shelf = Shelf::new(self.0.runs.join(run.to_string()));
        let gone = || Error::Path(format!("the codebase `{}` is not kept any more: upload it again", target.codebase));
        let upload = match self.upload(&target.codebase).await {
            Ok(upload) => upload.ok_or_else(gone)?,
            Err(problem) => return Err(Error::Path(problem.to_string())),
        };
        self.say(run, "reading the codebase").await?;
        let root = self.0.uploads.join(target.codebase.as_str()).join(FILES);
        let read = move || {
            let (folder, top) = inner(&root);
            let (mut codebase, coverage) = local::read(&folder, None)?;
            let name = upload.name.or_else(|| top.clone()).unwrap_or_else(|| FILES.to_owned());
            codebase.metadata.insert("name".to_owned(), Value::from(name));
            Ok::<_, Error>((codebase, coverage, top))
        };
        let read = tokio::task::spawn_blocking(read).await.map_err(Error::died("reading a codebase"))?;
        let (codebase, coverage, top) = read?;
        if let Some(top) = top {
            self.say(run, &format!("paths are told below its only folder, `{top}`")).await?;
        }
        self.say(run, &told(&coverage)).await?;
        let empty = codebase.files.is_empty();
        let request = ReviewRequest { id: target.codebase.to_string(), params: BTreeMap::new() };
        let auditing = Auditing::new(Engine::embedded()?, &request, codebase, leased.cancel.child_token());
        let auditing = Arc::new(auditing.map_err(|error| Error::Path(error.message))?);
        let mut aggregate = Aggregate::begin();
        for agent in audit::ORDER {
            aggregate.take(self.part(run, target, leased, &auditing, &shelf, agent).await?);
        }
        if empty {
            // Nothing found in nothing read is not clean.
            let why = format!("no file of the codebase could be reviewed: {}", told(&coverage));
            let error = ErrorCode::InvalidInput.error("master", why);
            aggregate.errors.insert("master".to_owned(), error);
        }
        let outcome = match &aggregate {
            Aggregate { errors, .. } if !errors.is_empty() => "could-not-review",
            Aggregate { debt, improvement, critical, .. }
                if debt.is_empty() && improvement.is_empty() && critical.is_empty() =>
            {
                "clean"
            }
            _ => "findings",
        };
        put(&shelf, AGGREGATE.to_owned(), aggregate).await?;
        self.say(run, "the review is there").await?;
        Ok(outcome)
    }

    /// One agent's part: as an earlier attempt left it, or made now. It is a row, and a document, before the next one begins.
    async fn part(
        &self,
        run: RunId,
        target: &AuditTarget,
        leased: &Leased,
        auditing: &Arc<Auditing>,
        shelf: &Shelf,
        agent: Category,
    ) -> Result<Result<Part, AgentError>, Error> {
        let (store, name) = (&self.0.store, agent.name());
        let key = format!("{}/{name}@{}", target.key(), env!("CARGO_PKG_VERSION"));
        let known = store.step_by_key(&key).await?.and_then(|step| step.artifact);
        if let Some(part) = known.and_then(|value| Part::from_value(agent, &value).ok()) {
            let step = store.start_step(run, name, &key).await?;
            store.finish_step(step, StepState::Skipped, None, Some("an earlier attempt had made it")).await?;
            store.meter().step(name, "known", None);
            self.say(run, &format!("{name}: {}, from an earlier attempt", counted(&part))).await?;
            return Ok(Ok(self.shelved(shelf, part).await?));
        }
        self.say(run, &format!("{name}: begins")).await?;
        let (step, began) = (store.start_step(run, name, &key).await?, Instant::now());
        let asked = Arc::clone(auditing);
        let work = tokio::task::spawn_blocking(move || asked.part(agent));
        let limit = self.0.limits.agent;
        let made = tokio::select! {
            // Whoever cancels does not wait for the agent: its thread ends by itself, and nobody looks at what it made.
            () = leased.cancel.cancelled() => return Err(Error::Overtaken("it was told to stop".into())),
            made = timeout(limit, work) => made,
        };
        let made = match made {
            Ok(made) => made.map_err(Error::died("an agent"))?,
            Err(_) => {
                let why = format!("it took longer than {} s", limit.as_secs());
                Err(ErrorCode::ApiTimeout.error(name, why))
            }
        };
        // What an agent's own check lets pass may still not have its form.
        let made = match made {
            Ok(part) => match self.shelved(shelf, part).await {
                Ok(part) => Ok(part),
                Err(Error::Shelf(crate::artifact::shelf::Error::Refused { faults, .. })) => {
                    let first = faults.first().map(ToString::to_string).unwrap_or_default();
                    Err(ErrorCode::OutputValidationFailed.error(name, format!("its output is not valid: {first}")))
                }
                Err(error) => return Err(error),
            },
            Err(error) => Err(error),
        };
        let took = began.elapsed();
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match &made {
            Ok(part) => {
                let value = part.to_value().ok().filter(|value| value.to_string().len() <= MAX_ARTIFACT);
                let detail = match &value {
                    Some(_) => counted(part),
                    // Kept in the folder alone: another attempt makes it again.
                    None => format!("{}, more than {}", counted(part), binary_size(MAX_ARTIFACT as u64)),
                };
                let left = Left { artifact: value.as_ref(), told: None, detail: Some(&detail) };
                store.end_step(step, StepState::Done, left).await?;
                store.meter().step(name, "done", Some(took));
                let output = detail.as_str();
                tracing::info!(run.id = %run, agent = name, output, retries = 0, duration_ms, "an agent has answered");
                self.say(run, &format!("{name}: {detail}")).await?;
            }
            Err(error) => {
                let told = json!({ "errors": [error] });
                let left = Left { artifact: None, told: Some(&told), detail: Some(&error.message) };
                store.end_step(step, StepState::Failed, left).await?;
                store.meter().step(name, "failed", Some(took));
                let (code, message) = (error.code.as_str(), error.message.as_str());
                tracing::warn!(run.id = %run, agent = name, code, message, retries = 0, duration_ms, "an agent failed");
                self.say(run, &format!("{name}: failed ({code}), {message}")).await?;
            }
        }
        Ok(made)
    }

    /// The same part, with its document in the run's folder.
    async fn shelved(&self, shelf: &Shelf, part: Part) -> Result<Part, Error> {
        let file = |form: &str| format!("{form}.json");
        Ok(match part {
            Part::Documentation(map) => Part::Documentation(put(shelf, file("documentation-map"), map).await?),
            Part::Debt(items) => Part::Debt(put(shelf, file("debt"), items).await?),
            Part::Improvement(items) => Part::Improvement(put(shelf, file("improvement"), items).await?),
            Part::Critical(items) => Part::Critical(put(shelf, file("critical"), items).await?),
        })
    }

    async fn say(&self, run: RunId, text: &str) -> Result<(), Error> {
        self.0.store.add_progress(run, text).await?;
        Ok(())
    }
}

fn counted(part: &Part) -> String {
    let noun = if matches!(part, Part::Documentation(_)) { "document" } else { "item" };
    count(part.count(), noun)
}

/// Where a codebase begins: in its only folder, as archives of a repository have it, whose name is told too.
fn inner(root: &Path) -> (PathBuf, Option<String>) {
    let mut entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    match (entries.next(), entries.next()) {
        (Some(only), None) if only.file_type().is_ok_and(|kind| kind.is_dir()) => {
            (only.path(), Some(only.file_name().to_string_lossy().into_owned()))
        }
        _ => (root.to_owned(), None),
    }
}

/// `12 of 14 files read; not read: 1 (binary), 1 (larger than 1 MiB)`.
fn told(coverage: &Coverage) -> String {
    let mut text = format!("{} of {} read", coverage.read, count(coverage.total, "file"));
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for NotRead { reason, .. } in &coverage.not_read {
        *reasons.entry(reason).or_default() += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = reasons.len().saturating_sub(REASONS);
    let shown: Vec<String> = reasons.iter().take(REASONS).map(|(why, count)| format!("{count} ({why})")).collect();
    if !shown.is_empty() {
        text.push_str(&format!("; not read: {}", shown.join(", ")));
    }
    if more > 0 {
        text.push_str(&format!(", and for {} more", count(more, "reason")));
    }
    text
}
