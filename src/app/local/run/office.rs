//! The state of runs: its rows, its folders, and who works there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Ground, Ran, Running, state};
use crate::agent::{Registry, Role};
use crate::app::Error;
use crate::artifact::{ContributeFacts, Shelf};
use crate::domain::{Clock, RepoName, RunId};
use crate::mailbox::{self, AgentName, Bus};
use crate::pipeline::run::RUN;
use crate::pipeline::{AgentSettings, Beginning, Crew, FACTS, Settings};
use crate::store::{Lock, NewRun, RunState, Store};

/// The folder of a state, below the path that is worked on.
const STATE: &str = ".octoswarm";
/// The kind of its rows.
const KIND: &str = RUN.name;
/// What the row of a run says that did not come to its end.
const CUT_OFF: &str =
    "`octoswarm run` was killed or cut off in the middle of it; what had ended is taken by the next one";
/// Earlier runs that are looked through for the same wish.
const LOOKED_THROUGH: usize = 50;

/// The state of runs, and who works in them.
pub(super) struct Office {
    pub(super) dir: PathBuf,
    pub(super) store: Store,
    pub(super) crew: Crew,
    _messages: Option<Lock>,
}

impl Office {
    pub(super) async fn open(
        path: &Path,
        running: &Running,
        outside: &[AgentName],
        clock: &Clock,
    ) -> Result<Self, Error> {
        let dir = running.output_dir.clone().unwrap_or_else(|| path.join(STATE));
        let lock = state::prepare(&dir, running.message_dir.as_deref())?;
        // What programs outside are told of lies where they look for it, wherever they were started.
        let dir = dir.canonicalize().map_err(|source| crate::store::Error::Io { path: dir.clone(), source })?;
        let store = Store::open(&dir, clock.clone()).await?;
        for run in store.interrupted_runs().await? {
            // Litter is no reason not to start.
            if let Err(error) = Shelf::new(dir.join("runs").join(run.to_string())).remove_unfinished() {
                tracing::warn!("what run {run} left unfinished could not be removed: {error}");
            }
        }
        store.end_interrupted_runs(CUT_OFF).await?;
        let messages = running.message_dir.clone().unwrap_or_else(|| dir.join(state::MESSAGES));
        let options = mailbox::Options { poll: Duration::from_millis(50), ..mailbox::Options::default() };
        let bus = Bus::open(messages, clock.clone(), options)?;
        let seat = |name: &AgentName| (*name, AgentSettings { outside: true, ..AgentSettings::default() });
        let mut settings = Settings { agents: outside.iter().map(seat).collect(), ..Settings::default() };
        // It decides how often the reviewers are asked again, who are told their own settings only.
        if let Some(config) = running.configs.get(&Role::Master) {
            settings.agents.entry(AgentName::Master).or_default().config = config.clone();
        }
        let crew = Crew::over(bus, Registry::builtin(), settings, dir.join("inputs"));
        Ok(Self { dir, store, crew, _messages: lock })
    }

    pub(super) async fn begin(&self, ground: &Ground) -> Result<RunId, Error> {
        let whole = ground.repo.parse::<RepoName>().ok();
        let repo = whole.or_else(|| RepoName::new("local", "repository"));
        let repo = repo.ok_or_else(|| Error::Path(format!("`{}` is no name for a repository", ground.repo)))?;
        let head = Some(ground.head().clone());
        let new = NewRun { kind: KIND.to_owned(), repository: None, repo, number: None, head, job: None };
        Ok(self.store.start_run(new).await?)
    }

    pub(super) async fn end(&self, run: RunId, ground: &Ground, worked: Result<&Ran, &Error>) -> Result<(), Error> {
        let said = |text: &str| json!({ "outcome": text });
        let (state, outcome, detail) = match worked {
            Ok(ran) if ran.cancelled => (RunState::Cancelled, None, Some("it was told to stop".to_owned())),
            Ok(ran) if ran.result.success => (RunState::Finished, Some(said("done")), None),
            Ok(ran) => {
                let first = ran.result.errors.first().map(ToString::to_string);
                (RunState::Finished, Some(said("not all of it")), first)
            }
            Err(_) if ground.cancel.is_cancelled() => (RunState::Cancelled, None, None),
            Err(error) => (RunState::Failed, None, Some(error.chain())),
        };
        Ok(self.store.finish_run(run, state, outcome.as_ref(), detail.as_deref()).await?)
    }

    pub(super) fn folder(&self, run: RunId) -> PathBuf {
        self.dir.join("runs").join(run.to_string())
    }

    /// When the same wish was first told here: what was made of it then depends on that.
    pub(super) async fn first_told(&self, facts: &ContributeFacts) -> Result<Option<String>, Error> {
        let told = serde_json::to_value(facts).unwrap_or_default();
        for run in self.store.runs(LOOKED_THROUGH).await?.into_iter().filter(|run| run.kind == KIND) {
            let steps = self.store.steps(run.id).await?;
            let before = steps.iter().find(|step| step.name == FACTS && step.detail.as_deref() == Some(RUN.name));
            let Some(mut before) = before.and_then(|step| Beginning::of(step, KIND)).map(|began| began.facts) else {
                continue;
            };
            let Some(at) = before.pointer("/issue/created_at").and_then(Value::as_str).map(str::to_owned) else {
                continue;
            };
            before["issue"]["created_at"] = told["issue"]["created_at"].clone();
            if before == told {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}
