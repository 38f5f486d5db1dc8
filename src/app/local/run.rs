//! A described feature, from the plan to the review, with a state of its own (S1.16, S1.17).

mod choice;
mod office;
mod state;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::obeyed::Obeyed;
use super::{Done, FileNote, Nothing, Where, local_facts, repository_name, run_checks};
use crate::agent::{self, Context, Contributing, Role, Scene, gate};
use crate::analysis::Engine;
use crate::app::reviewed::Record;
use crate::app::trial::Proposed;
use crate::app::{Error, change, contribute, review};
use crate::artifact::draft::CheckNote;
use crate::artifact::exchange::{AgentConfig, PipelineAgent, PipelineResult};
use crate::artifact::plan::{Plan, Task};
use crate::artifact::swarm::CodeChanges;
use crate::artifact::{AgentError, Document, ErrorCode, Planned, Proposal, ReviewReport, Shelf, Tested};
use crate::config::{CONFIG_PATH, RepoConfig};
use crate::domain::{Clock, RunId};
use crate::pipeline::review::REVIEW;
use crate::pipeline::run::RUN;
use crate::pipeline::{Journal, Part, RESULT, RunOptions, StepEnd};
use crate::stdx::file;
use crate::workspace::{self, Change, Edit, Tree};

use office::Office;

pub use choice::{Chosen, configs};
pub use watch::{End, Told};

const DIFF: &str = "change.diff";

/// How a run is done (S1.18).
pub struct Running {
    pub agents: Chosen,
    pub parallel: bool,
    pub fail_fast: bool,
    pub force: bool,
    pub configs: BTreeMap<Role, AgentConfig>,
    /// The state's folder; `.octoswarm` below the path without one.
    pub output_dir: Option<PathBuf>,
    /// The folder of messages; `messages` in the state's without one.
    pub message_dir: Option<PathBuf>,
    /// Agents that programs outside play.
    pub outside: Vec<String>,
    pub to: Where,
    /// The repository's own configuration holds.
    pub obey: bool,
    /// The repository's own checks run over the change.
    pub checks: bool,
}

/// What a run came to.
pub struct Ran {
    pub result: PipelineResult,
    /// Where its documents lie.
    pub folder: PathBuf,
    pub plan: Option<Box<Plan>>,
    pub change: Option<Done>,
    /// Why nothing was changed, where something was to be.
    pub unchanged: Option<Nothing>,
    /// What the tester says: whether tests are needed, and what was added.
    pub tests: Option<String>,
    pub review: Option<ReviewReport>,
    /// It was told to stop: what had ended is kept.
    pub cancelled: bool,
    /// What is wrong with the repository's configuration.
    pub warnings: Vec<String>,
}

/// Does what a text describes, or reviews the change that is there. The same call goes on where one that was interrupted
/// stopped. Nothing of the repository changes but what `to` names.
///
/// # Errors
/// There is no repository, the state's folder cannot be used or is in use, the change cannot be put where it should go, or the
/// disk failed. What an agent fails at is no error: it stands in the result.
pub async fn run(
    path: &Path,
    wish: &str,
    running: Running,
    cancel: CancellationToken,
    tell: impl Fn(Told) + Send + Sync + 'static,
) -> Result<Ran, Error> {
    if running.to != Where::Diff && !running.agents.has(PipelineAgent::Coder) {
        return Err(Error::Path("there is no change to keep: name `coder` among the agents".into()));
    }
    let outside = choice::outside(&running.outside)?;
    let clock = Clock::system();
    // Before anything is written: whether there is something to work on.
    workspace::local::head_tree(path).await?;
    let office = Office::open(path, &running, &outside, &clock).await?;
    // Not before: from here on the state's folder is none of the work tree's files.
    let ground = Ground::of(path, &running, clock.clone(), cancel).await?;
    let stop = CancellationToken::new();
    let _stopped_however_it_ends = stop.clone().drop_guard();
    let serving = tokio::spawn({
        let (crew, stop) = (office.crew.clone(), stop.clone());
        async move { crew.serve(stop).await }
    });
    let run = office.begin(&ground).await?;
    let names: Vec<&'static str> = outside.iter().map(|name| name.as_str()).collect();
    let watching = tokio::spawn(watch::watch(office.store.clone(), run, names, tell, stop.clone()));
    let worked = Work { path, wish, running: &running, ground: &ground, office: &office, run }.all().await;
    office.end(run, &ground, worked.as_ref()).await?;
    stop.cancel();
    for task in [serving, watching] {
        if let Err(panic) = task.await.map_err(tokio::task::JoinError::try_into_panic)
            && let Ok(panic) = panic
        {
            std::panic::resume_unwind(panic);
        }
    }
    worked
}

/// What is worked on.
struct Ground {
    engine: Arc<Engine>,
    clock: Clock,
    cancel: CancellationToken,
    repo: String,
    config: RepoConfig,
    warnings: Vec<String>,
    on: On,
}

enum On {
    /// A tree that is to be changed, or planned for.
    Tree(Tree),
    /// A change that is to be reviewed, and nothing else.
    Change(Change),
}

impl Ground {
    async fn of(path: &Path, running: &Running, clock: Clock, cancel: CancellationToken) -> Result<Self, Error> {
        let engine = Engine::embedded()?;
        let repo = format!("local/{}", repository_name(path));
        let (on, file, place) = if running.agents.makes() {
            let tree = match running.to {
                Where::Branch(_) => workspace::local::head_tree(path).await?,
                Where::Diff | Where::WorkTree => workspace::local::tree(path).await?,
            };
            let file = tree.read(CONFIG_PATH).await?;
            (On::Tree(tree), file, CONFIG_PATH.to_owned())
        } else {
            let change = workspace::local::change(path, None, None).await?;
            let place = format!("{CONFIG_PATH} at {}", change.base.short());
            let file = change.old_side(CONFIG_PATH).await?;
            (On::Change(change), file, place)
        };
        let Obeyed { config, warnings } = if running.obey { Obeyed::read(file, &place)? } else { Obeyed::default() };
        Ok(Self { engine, clock, cancel, repo, config, warnings, on })
    }

    fn head(&self) -> &crate::domain::Sha {
        match &self.on {
            On::Tree(tree) => tree.commit(),
            On::Change(change) => &change.head,
        }
    }

    fn context(&self, scene: Scene) -> Context {
        let Self { engine, clock, cancel, .. } = self;
        Context { engine: engine.clone(), cancel: cancel.clone(), clock: clock.clone(), scene }
    }
}

/// One run.
struct Work<'a> {
    path: &'a Path,
    wish: &'a str,
    running: &'a Running,
    ground: &'a Ground,
    office: &'a Office,
    run: RunId,
}

/// A change that passed the gate.
struct Made {
    tree: Tree,
    edits: Vec<Edit>,
    changes: CodeChanges,
    message: String,
    notes: Vec<String>,
    checks: Option<Vec<CheckNote>>,
}

impl Work<'_> {
    async fn all(&self) -> Result<Ran, Error> {
        let Self { running, ground, office, .. } = self;
        let shelf = Shelf::new(office.folder(self.run));
        let journal = Journal::kept(office.crew.clone(), office.store.clone(), self.run, shelf);
        let (mut parts, mut errors): (Vec<Part>, Vec<AgentError>) = (Vec::new(), Vec::new());
        let (mut made, mut unchanged, mut cx, mut record) = (None, None, None, None);
        if let On::Tree(tree) = &ground.on {
            let (context, part) = self.make(&journal, tree).await?;
            let (id, folder) = (|plan: &Plan| change::slug(&plan.title), office.folder(self.run));
            let kept = Record::keep(&folder, id, &part.outputs, tree, &ground.clock).await;
            record = contribute::shown_change(kept).flatten();
            if running.agents.has(PipelineAgent::Coder) && part.error.is_none() {
                match self.gated(&context, tree, &part, &journal).await? {
                    Ok(change) => made = Some(change),
                    Err((why, nothing)) => {
                        errors.extend(why);
                        unchanged = Some(nothing);
                    }
                }
            }
            // What ended the flow stands in the result already.
            if part.outputs.stopped.as_ref().is_none_or(|stopped| stopped.role != Role::Planner) {
                errors.extend(unplanned(&part));
            }
            parts.push(part);
            cx = Some(context);
        }
        let failed = !errors.is_empty() || parts.iter().any(|part| part.outputs.stopped.is_some());
        let halted = parts.iter().any(|part| part.error.is_some()) || running.fail_fast && failed;
        if running.agents.has(PipelineAgent::Reviewer) && !halted && !ground.cancel.is_cancelled() {
            let change = match (&ground.on, &made) {
                (On::Change(change), _) => Some(change.clone()),
                (On::Tree(_), Some(Made { tree, edits, .. })) => Some(tree.change(edits).await?),
                (On::Tree(_), None) if running.agents.has(PipelineAgent::Coder) => None,
                (On::Tree(_), None) => Some(workspace::local::change(self.path, None, None).await?),
            };
            if let Some(change) = change {
                let (context, part) = self.review(&journal, change).await?;
                if let (Some(record), Ok(report)) = (&record, part.outputs.get(Role::Master)) {
                    contribute::shown_change(record.review(&report).await);
                }
                parts.push(part);
                cx = Some(context);
            }
        }
        let Some(cx) = cx else { return Err(Error::Path("no agent had anything to do".into())) };
        let cancelled = ground.cancel.is_cancelled();
        if cancelled && errors.is_empty() && parts.iter().all(|part| part.error.is_none()) {
            // Between two steps nobody noticed.
            errors.push(agent::Error::Cancelled.report(Role::Manager));
        }
        let all: Vec<&Part> = parts.iter().collect();
        let result = journal.close(&cx, &all, errors).await?;
        let result = result.ok_or_else(|| Error::Path("the run was not kept".into()))?;
        self.leave(made.as_ref()).await?;
        let halted = cancelled || parts.iter().any(|part| part.error.is_some());
        let change = match made {
            Some(made) if !halted => Some(self.put(made).await?),
            Some(_) | None => None,
        };
        Ok(Ran {
            plan: document(&parts, Role::Planner).and_then(|planned| match planned {
                Planned::Plan(plan) => Some(plan),
                Planned::Unplanned(_) => None,
            }),
            tests: document::<Tested>(&parts, Role::Tester)
                .and_then(|tested| Some(tested.document.outcome.ok()?.reason)),
            review: document(&parts, Role::Master),
            change,
            unchanged,
            result,
            folder: office.folder(self.run),
            cancelled,
            warnings: ground.warnings.clone(),
        })
    }

    fn options(&self, only: Option<Vec<Role>>, task: Task) -> RunOptions {
        let Running { parallel, fail_fast, force, configs, .. } = self.running;
        let user_input = (!self.wish.is_empty()).then(|| self.wish.to_owned());
        let (parallel, fail_fast, force) = (*parallel, *fail_fast, *force);
        RunOptions { parallel, fail_fast, force, only, configs: configs.clone(), user_input, task: Some(task) }
    }

    /// Plans and changes, as far as that is chosen.
    async fn make(&self, journal: &Journal, tree: &Tree) -> Result<(Context, Part), Error> {
        let (ground, wish) = (self.ground, super::plan::titled(self.wish));
        let settings = contribute::settings(&ground.config);
        let mut facts = local_facts(self.path, &wish, tree, settings, &ground.clock);
        if let Some(at) = self.office.first_told(&facts).await? {
            facts.issue.created_at = at;
        }
        let (title, body) = super::parts(&wish);
        let task = Task::of("RUN", title, body, Vec::new());
        let scene = Contributing::new(tree.clone(), facts);
        let facts = scene.facts.clone();
        let cx = ground.context(Scene::Contribute(scene));
        let only = Some(RUN.with_needs(&self.running.agents.roles()));
        let part = RUN.part(&cx, journal, &*facts, &self.options(only, task)).await?;
        Ok((cx, part))
    }

    async fn review(&self, journal: &Journal, change: Change) -> Result<(Context, Part), Error> {
        let ground = self.ground;
        let scene = review::scene(change, ground.repo.clone(), Vec::new(), review::settings(&ground.config)).await?;
        let facts = scene.facts.clone();
        let touched = facts.files.iter().map(|file| file.path.clone()).collect();
        let wish = super::plan::titled(self.wish);
        let task = match super::parts(&wish) {
            ("", _) => Task::of("CHANGE", "Review the change of the work tree", "", touched),
            (title, body) => Task::of("RUN", title, body, touched),
        };
        let cx = ground.context(Scene::Review(scene));
        let part = REVIEW.part(&cx, journal, &*facts, &self.options(None, task)).await?;
        Ok((cx, part))
    }

    /// What the gate lets pass of a change, or why there is none.
    async fn gated(
        &self,
        cx: &Context,
        tree: &Tree,
        part: &Part,
        journal: &Journal,
    ) -> Result<Result<Made, (Vec<AgentError>, Nothing)>, Error> {
        let outputs = &part.outputs;
        let nothing = |why: Vec<String>| {
            let given = || Nothing { why: why.clone(), ..Nothing::default() };
            contribute::nothing(outputs, why.clone()).unwrap_or_else(|_| given())
        };
        if let Some(stopped) = &outputs.stopped {
            // The faults stand in the result already.
            let why = stopped.faults.iter().map(|fault| fault.message.clone()).collect();
            return Ok(Err((Vec::new(), nothing(why))));
        }
        let declined = |why: Vec<String>| {
            let error = AgentError {
                message: why.join("; "),
                code: "declined".to_owned(),
                agent_name: Role::Coder.name().to_owned(),
                recoverable: false,
            };
            Ok(Err((vec![error], nothing(why))))
        };
        let coder: Result<Document<CodeChanges>, _> = outputs.get(Role::Coder);
        let own = match coder {
            Err(_) => return Ok(Err((Vec::new(), nothing(not_reached(part, Role::Coder))))),
            Ok(document) => match document.outcome {
                Ok(changes) if changes.commit_ready => changes,
                Ok(changes) => return declined(changes.validation.errors),
                Err(faults) => return declined(faults.into_iter().map(|fault| fault.message).collect()),
            },
        };
        let Ok(Proposal { draft, commit }) = outputs.get(Role::Pr) else {
            return Ok(Err((Vec::new(), nothing(not_reached(part, Role::Pr)))));
        };
        let changes = commit.unwrap_or(own);
        let bounds = contribute::settings(&self.ground.config);
        match gate::check(&cx.engine, tree, &changes, &bounds).await.map_err(contribute::of_agent)? {
            Ok(gated) => {
                let proposed = Proposed { changes, gated, draft };
                let Ground { config, cancel, .. } = self.ground;
                let (proposed, checks) = match self.running.checks {
                    false => (proposed, None),
                    true => match run_checks(&cx.engine, tree, proposed, config, journal, cancel).await? {
                        Ok((proposed, notes)) => (proposed, Some(notes)),
                        Err(why) => return declined(why),
                    },
                };
                let Proposed { changes, gated, draft } = proposed;
                Ok(Ok(Made {
                    tree: tree.clone(),
                    edits: gated.edits,
                    changes,
                    message: draft.commit_message,
                    notes: draft.notes,
                    checks,
                }))
            }
            Err(reasons) => {
                let error = ErrorCode::GitRefused.error(Role::Coder.name(), reasons.join("; "));
                Ok(Err((vec![error], nothing(reasons))))
            }
        }
    }

    /// The result and the change where whoever asked looks first: on top of the state's folder.
    async fn leave(&self, made: Option<&Made>) -> Result<(), Error> {
        let (dir, folder) = (self.office.dir.clone(), self.office.folder(self.run));
        let diff: Option<String> =
            made.map(|made| made.changes.changes.iter().map(|change| change.diff.as_str()).collect());
        let work = move || {
            match &diff {
                Some(diff) => {
                    file::write_atomic(&folder.join(DIFF), diff.as_bytes())?;
                    file::write_atomic(&dir.join(DIFF), diff.as_bytes())?;
                }
                None => match std::fs::remove_file(dir.join(DIFF)) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                    Ok(()) | Err(_) => {}
                },
            }
            file::write_atomic(&dir.join(RESULT), &std::fs::read(folder.join(RESULT))?)
        };
        let written = tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other).flatten();
        written.map_err(|source| crate::store::Error::Io { path: self.office.dir.clone(), source }.into())
    }

    /// Puts a change where it should go.
    async fn put(&self, made: Made) -> Result<Done, Error> {
        let commit = match &self.running.to {
            Where::Diff => None,
            Where::Branch(name) => {
                let new = made.tree.with(&made.edits).await?;
                let who = workspace::local::identity(self.path).await;
                let at = self.ground.clock.now();
                let made = workspace::local::create_branch(self.path, name, &new, &made.message, who.as_ref(), at);
                Some(made.await?.to_string())
            }
            Where::WorkTree => {
                workspace::local::apply(self.path, &made.tree, &made.edits).await?;
                None
            }
        };
        let diff = made.changes.changes.iter().map(|change| change.diff.as_str()).collect();
        let files = made.changes.changes.into_iter().map(FileNote::of).collect();
        Ok(Done { diff, files, commit, notes: made.notes, checks: made.checks })
    }
}

/// A role's result in whichever part has it.
fn document<T: serde::de::DeserializeOwned>(parts: &[Part], role: Role) -> Option<T> {
    parts.iter().find_map(|part| part.outputs.get(role).ok())
}

/// Why there is no plan, if there is none for want of words.
fn unplanned(part: &Part) -> Vec<AgentError> {
    part.outputs.get(Role::Planner).ok().and_then(|result| Role::Planner.shortfall(&result)).unwrap_or_default()
}

/// How a step ended that left no output.
fn not_reached(part: &Part, role: Role) -> Vec<String> {
    match part.outputs.ends().get(&role) {
        Some(StepEnd::Failed(error)) => vec![error.message.clone()],
        Some(StepEnd::Skipped(why)) => vec![format!("the {} agent did not work: {why}", role.name())],
        Some(StepEnd::Done) | None => vec![format!("the {} agent was not reached", role.name())],
    }
}
