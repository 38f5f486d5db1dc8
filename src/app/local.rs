//! Work without GitHub: the same flow over any local repository, and a scan of whole trees. Both obey the repository's own
//! `.github/octoswarm.yml`, as the server does.

mod audit;
mod checks;
mod mend;
mod obeyed;
mod plan;
mod run;
mod scan;
mod watch;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::bench::Bench;
use super::trial::{Checked as RanOver, Checking, Proposed};
use super::{Error, contribute, lint, review};
use crate::agent::mechanic::{self, Ask};
use crate::agent::trial;
use crate::agent::{Context, Contributing, Registry, Role, Scene, gate, linters};
use crate::analysis::{self, Engine};
use crate::artifact::draft::CheckNote;
use crate::artifact::facts::{ContributeSettings, IssueFacts, Linted, RepositoryFacts};
use crate::artifact::swarm::{CodeChanges, FileChange};
use crate::artifact::{ContributeFacts, Document, Proposal, ReviewFacts, ReviewReport};
use crate::config::{CONFIG_PATH, RepoConfig, Sandboxing, sandbox_of_server};
use crate::domain::{Clock, Coverage, Finding, Linters, Outcome, Severity, Subject, Untrusted};
use crate::pipeline::{self, Crew, Journal};
use crate::sandbox::Trust;
use crate::stdx::text::{count, iso8601};
use crate::workspace::Tree;
use crate::{publish, workspace};

use obeyed::Obeyed;

pub use crate::agent::linters::Given;
pub use crate::analysis::RuleInfo;
pub use crate::artifact::draft::CheckOutcome;
pub use crate::publish::render::{kind_name, plan as plan_markdown};
pub use crate::workspace::local::Home;
pub(super) use audit::read;
pub use audit::{Audited, audit, unanswered, write};
pub use checks::{Check, Commands, Kind, TestedCheck, TestedOutcome};
pub use mend::{Fixes, Mended, Mending, Repaired, mend};
pub use obeyed::rule_ids;
pub use plan::{Planned, Planning, keep, plan};
pub use run::{Chosen, End, Ran, Running, Told, configs, run};
pub use scan::{Scanning, scan, scan_text};
pub use watch::Watch;

/// What a review or a scan found, with the sources that a terminal shows beside it.
pub struct Checked {
    /// A scan has none.
    pub compared: Option<Compared>,
    pub findings: Vec<Finding>,
    pub coverage: Coverage,
    pub outcome: Outcome,
    /// Text of each file that has findings.
    pub sources: BTreeMap<String, Arc<str>>,
    /// The repository's own bar (`fail_on`); `None` is never.
    pub fail_on: Option<Severity>,
    /// What is wrong with the repository's configuration.
    pub warnings: Vec<String>,
}

/// The two sides of a review.
pub struct Compared {
    /// Full ids of the merge base and of the head commit.
    pub base: String,
    pub head: String,
    /// The new side is the work tree above the head commit.
    pub work_tree: bool,
    /// What the base was called: a branch, a tag, an id.
    pub since: String,
    /// There is no difference at all.
    pub nothing: bool,
}

impl Checked {
    pub fn subject(&self) -> Subject {
        if self.compared.is_some() { Subject::Change } else { Subject::Files }
    }
}

/// What to do about a file that is no log.
pub const HOW_TO_WRITE_A_LOG: &str =
    "write it with the tool's SARIF option, for instance `ruff check --output-format sarif --output-file ruff.sarif`";

/// How a review is to be done.
#[derive(Default)]
pub struct Reviewing<'a> {
    /// Revisions: the default branch, and the work tree, where none are named.
    pub base: Option<&'a str>,
    pub head: Option<&'a str>,
    /// The repository's own configuration holds, as the base side has it: a change cannot switch off its own review.
    pub obey: bool,
    /// SARIF logs of other tools.
    pub logs: &'a [Given<'a>],
    /// How linters are run.
    pub sandbox: Sandboxing,
    pub watch: Watch,
}

/// Reviews the change between two revisions of the repository around `path`.
///
/// # Errors
/// When there is no repository, a revision is unknown, git cannot be read, or a log is none.
pub async fn review(path: &Path, asked: Reviewing<'_>) -> Result<Checked, Error> {
    let Reviewing { base, head, obey, logs, sandbox, watch } = asked;
    let engine = Engine::embedded()?;
    let change = workspace::local::change(path, base, head).await?;
    let since = match base {
        Some(named) => named.to_owned(),
        None => workspace::local::default_base(path).await?,
    };
    let Obeyed { config, warnings } = if obey {
        let place = format!("{CONFIG_PATH} at {}", change.base.short());
        Obeyed::read(change.old_side(CONFIG_PATH).await?, &place)?
    } else {
        // Whoever does not want the repository's word wants none of its linters either.
        let config = RepoConfig { linters: Linters::Off, ..RepoConfig::default() };
        Obeyed { config, warnings: Vec::new() }
    };
    let mut compared = Compared {
        base: change.base.to_string(),
        head: change.head.to_string(),
        work_tree: change.work_tree,
        since,
        nothing: false,
    };
    let name = path.file_name().map_or_else(|| "repository".into(), |name| name.to_string_lossy().into_owned());
    let mut scene = review::scene(change, format!("local/{name}"), Vec::new(), review::settings(&config)).await?;
    compared.nothing = scene.facts.files.is_empty() && scene.facts.not_read.is_empty();
    watch.say(&format!("{} to review", count(scene.facts.files.len(), "changed file")));
    let linted = linted(path, &scene, &config, sandbox, logs, &watch.cancel).await?;
    scene.facts = Arc::new(ReviewFacts { linted, ..(*scene.facts).clone() });
    let pack = Arc::clone(&scene.pack);
    let cx = Context { engine, cancel: watch.cancel.clone(), clock: Clock::system(), scene: Scene::Review(scene) };
    let report = pipeline::review::run(&cx, &journal().telling(watch.tell())).await?;
    let ReviewReport { findings, coverage, outcome, .. } = report;
    let sources = findings.iter().filter_map(|f| Some((f.path.clone(), pack.text(&f.path)?))).collect();
    let fail_on = config.fail_on.severity();
    Ok(Checked { compared: Some(compared), findings, coverage, outcome, sources, fail_on, warnings })
}

/// What other tools say of the change: the linters that are configured, and the logs that were given.
async fn linted(
    path: &Path,
    scene: &crate::agent::Reviewing,
    config: &RepoConfig,
    sandbox: Sandboxing,
    logs: &[Given<'_>],
    cancel: &CancellationToken,
) -> Result<Linted, Error> {
    let bench = Bench::passing(&sandbox).map_err(trial::Error::Disk)?;
    // One's own work tree is one's own, whoever has written it.
    let whose = (scene.facts.repo.as_str(), Trust::Default);
    let asked = lint::linted(&bench, whose, scene, config, cancel).await?;
    if logs.is_empty() {
        return Ok(asked);
    }
    let root = workspace::local::work_tree(path).unwrap_or_else(|| path.to_owned());
    let texts = linters::texts(&scene.change.head_tree(), &scene.facts).await?;
    let given = linters::given(logs, &root.to_string_lossy(), &texts, &scene.facts)
        .map_err(|why| Error::Path(format!("{why}; {HOW_TO_WRITE_A_LOG}")))?;
    Ok(linters::with(asked, given))
}

/// Where a change goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    /// Nowhere: it is only shown.
    Diff,
    /// A new branch on HEAD; neither work tree nor index are touched.
    Branch(String),
    WorkTree,
}

/// What came of an issue.
pub struct Fixed {
    pub fixing: Fixing,
    /// What is wrong with the repository's configuration.
    pub warnings: Vec<String>,
}

pub enum Fixing {
    Done(Done),
    /// No mechanic solves it.
    Nothing(Nothing),
}

/// A change that was made.
pub struct Done {
    pub diff: String,
    pub files: Vec<FileNote>,
    /// The commit on the new branch.
    pub commit: Option<String>,
    /// What the reader should know before keeping it.
    pub notes: Vec<String>,
    /// What came of the repository's own checks; `None` where nobody wanted them to run.
    pub checks: Option<Vec<CheckNote>>,
}

#[derive(Debug)]
pub struct FileNote {
    pub path: String,
    pub added: u64,
    pub removed: u64,
    pub description: String,
}

impl FileNote {
    fn of(change: FileChange) -> Self {
        let FileChange { file, lines_changed, description, .. } = change;
        Self { path: file, added: lines_changed.added, removed: lines_changed.removed, description }
    }
}

/// Why there is no change, and what was understood.
#[derive(Default)]
pub struct Nothing {
    pub understood: Vec<String>,
    pub plan: Vec<String>,
    pub files: Vec<String>,
    pub why: Vec<String>,
    /// The forms that the issue has already: they need no advice.
    pub given: Vec<Form>,
}

/// What a mechanic can carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Patch,
    Replacement,
    Rule,
    StandardFile,
}

impl Form {
    /// Of what an issue asks for. A defect that is described may still lack the name of its rule.
    fn of(ask: &Ask) -> Option<Self> {
        match ask {
            Ask::Patch(_) => Some(Self::Patch),
            Ask::Replace(_) => Some(Self::Replacement),
            Ask::Add(_) => Some(Self::StandardFile),
            Ask::Repair(_) => None,
        }
    }
}

/// Makes the change that an issue asks for. `issue` has its title on the first line. With `obey`, within what the
/// configuration allows that lies in the tree which the change is made on. With `checked`, the repository's own checks run over it.
///
/// # Errors
/// When there is no repository, the branch exists, the work tree changed meanwhile, or git cannot be read.
pub async fn fix(path: &Path, issue: &str, to: Where, obey: bool, checked: bool) -> Result<Fixed, Error> {
    let tree = match to {
        Where::Branch(_) => workspace::local::head_tree(path).await?,
        Where::Diff | Where::WorkTree => workspace::local::tree(path).await?,
    };
    let obeyed = if obey { Obeyed::read(tree.read(CONFIG_PATH).await?, CONFIG_PATH)? } else { Obeyed::default() };
    let mut fixing = fix_in(path, issue, to, tree, &obeyed.config, checked).await?;
    if let Fixing::Nothing(nothing) = &mut fixing {
        let (title, body) = parts(issue);
        nothing.given = mechanic::understand(title, body).asks.iter().filter_map(Form::of).collect();
    }
    Ok(Fixed { fixing, warnings: obeyed.warnings })
}

async fn fix_in(
    path: &Path,
    issue: &str,
    to: Where,
    tree: Tree,
    config: &RepoConfig,
    checked: bool,
) -> Result<Fixing, Error> {
    let settings = contribute::settings(config);
    let (engine, clock) = (Engine::embedded()?, Clock::system());
    let facts = local_facts(path, issue, &tree, settings.clone(), &clock);
    let scene = Scene::Contribute(Contributing::new(tree.clone(), facts));
    let cx = Context { engine: Arc::clone(&engine), cancel: CancellationToken::new(), clock: clock.clone(), scene };
    let outputs = pipeline::contribute::run(&cx, &journal()).await?;
    if let Some(stopped) = outputs.stopped {
        let why = stopped.faults.into_iter().map(|fault| fault.message).collect();
        return Ok(Fixing::Nothing(Nothing { why, ..Nothing::default() }));
    }
    let changes: Document<CodeChanges> = outputs.get(Role::Coder)?;
    let changes = match changes.outcome {
        Ok(changes) if changes.commit_ready => changes,
        Ok(changes) => return contribute::nothing(&outputs, changes.validation.errors).map(Fixing::Nothing),
        Err(faults) => {
            let why = faults.into_iter().map(|fault| fault.message).collect();
            return contribute::nothing(&outputs, why).map(Fixing::Nothing);
        }
    };
    let Proposal { draft, commit } = outputs.get(Role::Pr)?;
    let changes = commit.unwrap_or(changes);
    let gated = match gate::check(&engine, &tree, &changes, &settings).await.map_err(contribute::of_agent)? {
        Ok(gated) => gated,
        Err(reasons) => return contribute::nothing(&outputs, reasons).map(Fixing::Nothing),
    };
    let proposed = Proposed { changes, gated, draft };
    let (proposed, checks) = match checked {
        false => (proposed, None),
        true => match run_checks(&engine, &tree, proposed, config, &journal(), &cx.cancel).await? {
            Ok((proposed, notes)) => (proposed, Some(notes)),
            Err(why) => return contribute::nothing(&outputs, why).map(Fixing::Nothing),
        },
    };
    let Proposed { changes, gated, draft } = proposed;
    let commit = match to {
        Where::Diff => None,
        Where::Branch(name) => {
            let new = tree.with(&gated.edits).await?;
            let who = workspace::local::identity(path).await;
            let message = &draft.commit_message;
            let commit = workspace::local::create_branch(path, &name, &new, message, who.as_ref(), clock.now()).await?;
            Some(commit.to_string())
        }
        Where::WorkTree => {
            workspace::local::apply(path, &tree, &gated.edits).await?;
            None
        }
    };
    Ok(Fixing::Done(Done {
        diff: changes.changes.iter().map(|change| change.diff.as_str()).collect(),
        files: changes.changes.into_iter().map(FileNote::of).collect(),
        commit,
        notes: draft.notes,
        checks,
    }))
}

/// The change after the repository's own checks, with what they say; or why it is not to be made.
async fn run_checks(
    engine: &Arc<Engine>,
    tree: &Tree,
    proposed: Proposed,
    config: &RepoConfig,
    journal: &Journal,
    cancel: &CancellationToken,
) -> Result<Result<(Proposed, Vec<CheckNote>), Vec<String>>, Error> {
    let sandbox = sandbox_of_server(None)?;
    let bench = &Bench::passing(&sandbox).map_err(trial::Error::Disk)?;
    let checking = Checking { bench, engine, repository: "local", config, journal, cancel };
    let RanOver { mut proposed, notes, formatted, against, .. } = checking.of(tree, proposed).await?;
    if !against.is_empty() {
        return Ok(Err(against));
    }
    proposed.draft.notes.extend(formatted);
    Ok(Ok((proposed, notes)))
}

/// The repository around a path.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn home(path: &Path) -> Result<Home, Error> {
    Ok(workspace::local::home(path)?)
}

/// Agents are called in place, and nothing is kept.
fn journal() -> Journal {
    Journal::unkept(Crew::direct(Registry::builtin()))
}

/// Title and text.
fn parts(issue: &str) -> (&str, &str) {
    let (title, body) = issue.trim_start().split_once('\n').unwrap_or((issue.trim(), ""));
    (title.trim().trim_start_matches('#').trim(), body)
}

/// What the folder of the repository around a path is called.
fn repository_name(path: &Path) -> String {
    let root = workspace::local::work_tree(path).or_else(|| path.canonicalize().ok());
    let name = root.and_then(|root| Some(root.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| "repository".into())
}

fn local_facts(path: &Path, issue: &str, tree: &Tree, settings: ContributeSettings, clock: &Clock) -> ContributeFacts {
    let (title, body) = parts(issue);
    let work_tree = workspace::local::work_tree(path);
    ContributeFacts {
        repository: RepositoryFacts {
            owner: "local".into(),
            name: repository_name(path),
            url: String::new(),
            default_branch: workspace::local::default_branch(path).unwrap_or_else(|| "HEAD".into()),
            language: None,
            stars: 0,
            license: None,
            work_tree: work_tree.map(|root| root.to_string_lossy().into_owned()),
        },
        base: tree.commit().clone(),
        issue: IssueFacts {
            number: 0,
            url: String::new(),
            title: Untrusted::new(title),
            body: Untrusted::new(body),
            labels: Vec::new(),
            author: "local".into(),
            created_at: iso8601(clock.now()),
            comments: 0,
            locked: false,
            is_pull: false,
        },
        asked_by: Some("local".into()),
        swept: None,
        candidates: Vec::new(),
        linked: Vec::new(),
        settings,
        warnings: Vec::new(),
    }
}

/// The report as a SARIF 2.1.0 log.
///
/// # Errors
/// When the embedded rules do not load, which a test rules out.
pub fn sarif(checked: &Checked) -> Result<serde_json::Value, Error> {
    let Checked { findings, coverage, outcome, .. } = checked;
    Ok(analysis::sarif::log(findings, coverage, outcome, &rules()?, env!("CARGO_PKG_VERSION")))
}

/// The report as Markdown, by the same renderer that writes pull request comments.
pub fn markdown(checked: &Checked) -> String {
    let Checked { findings, coverage, outcome, .. } = checked;
    publish::render::report(findings, coverage, outcome, checked.subject())
}

/// All static rules.
///
/// # Errors
/// When the embedded rules do not load, which a test rules out.
pub fn rules() -> Result<Vec<RuleInfo>, Error> {
    Ok(Engine::embedded()?.rules().to_vec())
}
