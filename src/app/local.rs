//! Work without GitHub: the same flow over any local repository, and a scan of whole trees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::{Error, review};
use crate::agent::{self, Context, Contributing, Role, Scene, gate};
use crate::analysis::{self, Engine};
use crate::artifact::exchange::ValidationResult;
use crate::artifact::facts::{ContributeSettings, IssueFacts, RepositoryFacts, ReviewSettings};
use crate::artifact::plan::Plan;
use crate::artifact::swarm::CodeChanges;
use crate::artifact::{ContributeFacts, Document, Planned, PullDraft, ReviewReport, Unplanned};
use crate::domain::{Clock, Coverage, Finding, NotRead, Outcome, Untrusted};
use crate::pipeline::{self, Journal};
use crate::stdx::text::iso8601;
use crate::workspace::{Found, Limits, Side, Tree};
use crate::{publish, workspace};

pub use crate::analysis::RuleInfo;
pub use crate::publish::render::{kind_name, plan as plan_markdown};

/// What a review or a scan found, with the sources that a terminal shows beside it.
pub struct Checked {
    /// Old and new side of a review; a scan has none.
    pub base: Option<String>,
    pub head: Option<String>,
    pub findings: Vec<Finding>,
    pub coverage: Coverage,
    pub outcome: Outcome,
    /// Text of each file that has findings.
    pub sources: BTreeMap<String, Arc<str>>,
}

/// Reviews the change between two revisions of the repository around `path`.
///
/// # Errors
/// When there is no repository, a revision is unknown, or git cannot be read.
pub async fn review(path: &Path, base: Option<&str>, head: Option<&str>) -> Result<Checked, Error> {
    let engine = Engine::embedded()?;
    let change = workspace::local::change(path, base, head).await?;
    let (base, head) = (change.base.to_string(), change.head.to_string());
    let name = path.file_name().map_or_else(|| "repository".into(), |name| name.to_string_lossy().into_owned());
    let scene = review::scene(change, format!("local/{name}"), Vec::new(), ReviewSettings::default()).await?;
    let pack = Arc::clone(&scene.pack);
    let cx = Context { engine, cancel: CancellationToken::new(), clock: Clock::system(), scene: Scene::Review(scene) };
    let report = pipeline::review::run(&cx, &Journal::Unkept).await?;
    let ReviewReport { findings, coverage, outcome, .. } = report;
    let sources = findings.iter().filter_map(|f| Some((f.path.clone(), pack.text(&f.path)?))).collect();
    Ok(Checked { base: Some(base), head: Some(head), findings, coverage, outcome, sources })
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
}

pub struct FileNote {
    pub path: String,
    pub added: u64,
    pub removed: u64,
    pub description: String,
}

/// Why there is no change, and what was understood.
pub struct Nothing {
    pub understood: Vec<String>,
    pub plan: Vec<String>,
    pub files: Vec<String>,
    pub why: Vec<String>,
}

/// Makes the change that an issue asks for. `issue` has its title on the first line.
///
/// # Errors
/// When there is no repository, the branch exists, the work tree changed meanwhile, or git cannot be read.
pub async fn fix(path: &Path, issue: &str, to: Where) -> Result<Fixing, Error> {
    let (engine, clock) = (Engine::embedded()?, Clock::system());
    let tree = match to {
        Where::Branch(_) => workspace::local::head_tree(path).await?,
        Where::Diff | Where::WorkTree => workspace::local::tree(path).await?,
    };
    let settings = ContributeSettings::default();
    let facts = local_facts(path, issue, &tree, settings.clone(), &clock);
    let scene = Scene::Contribute(Contributing::new(tree.clone(), facts));
    let cx = Context { engine: Arc::clone(&engine), cancel: CancellationToken::new(), clock: clock.clone(), scene };
    let outputs = pipeline::contribute::run(&cx, &Journal::Unkept).await?;
    if let Some(stopped) = outputs.stopped {
        let why = stopped.faults.into_iter().map(|fault| fault.message).collect();
        return Ok(Fixing::Nothing(Nothing { understood: Vec::new(), plan: Vec::new(), files: Vec::new(), why }));
    }
    let changes: Document<CodeChanges> = outputs.get(Role::Coder)?;
    let changes = match changes.outcome {
        Ok(changes) if changes.commit_ready => changes,
        Ok(changes) => return super::contribute::nothing(&outputs, changes.validation.errors).map(Fixing::Nothing),
        Err(faults) => {
            let why = faults.into_iter().map(|fault| fault.message).collect();
            return super::contribute::nothing(&outputs, why).map(Fixing::Nothing);
        }
    };
    let gated = match gate::check(&engine, &tree, &changes, &settings).await.map_err(super::contribute::of_agent)? {
        Ok(gated) => gated,
        Err(reasons) => return super::contribute::nothing(&outputs, reasons).map(Fixing::Nothing),
    };
    let draft: PullDraft = outputs.get(Role::Pr)?;
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
        files: changes
            .changes
            .into_iter()
            .map(|change| FileNote {
                path: change.file,
                added: change.lines_changed.added,
                removed: change.lines_changed.removed,
                description: change.description,
            })
            .collect(),
        commit,
        notes: draft.notes,
    }))
}

/// What a described feature came to.
pub enum Planning {
    Planned {
        plan: Box<Plan>,
        validation: ValidationResult,
    },
    /// The text says too little; it has the questions.
    Unplanned(Unplanned),
}

/// Plans the work that a text describes. Nothing is written.
///
/// # Errors
/// When there is no repository, or git cannot be read.
pub async fn plan(path: &Path, text: &str) -> Result<Planning, Error> {
    let (engine, clock) = (Engine::embedded()?, Clock::system());
    let tree = workspace::local::tree(path).await?;
    let facts = local_facts(path, &titled(text), &tree, ContributeSettings::default(), &clock);
    let scene = Scene::Contribute(Contributing::new(tree, facts));
    let cx = Context { engine, cancel: CancellationToken::new(), clock, scene };
    let outputs = pipeline::plan::run(&cx, &Journal::Unkept).await?;
    if let Some(stopped) = outputs.stopped {
        let clarifications = stopped.faults.iter().map(|fault| fault.message.clone()).collect();
        return Ok(Planning::Unplanned(Unplanned { errors: stopped.faults, clarifications }));
    }
    let mut document = match outputs.get(Role::Planner)? {
        Planned::Plan(plan) => plan,
        Planned::Unplanned(unplanned) => return Ok(Planning::Unplanned(unplanned)),
    };
    if let (Some(context), Ok(root)) = (&mut document.project_context, path.canonicalize()) {
        context.project.root_path = root.to_string_lossy().into_owned();
    }
    let value = serde_json::to_value(&document)
        .map_err(|source| pipeline::Error::Document { role: Role::Planner.name(), source })?;
    let checked = agent::check_plan(&value);
    match checked.plan {
        Ok(plan) => Ok(Planning::Planned { plan: Box::new(plan), validation: checked.validation }),
        Err(error) => {
            Ok(Planning::Unplanned(Unplanned { clarifications: vec![error.message.clone()], errors: vec![error] }))
        }
    }
}

/// The text with a title on its first line: its first sentence.
fn titled(text: &str) -> String {
    let text = text.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let is_item = |line: &str| {
        let line = line.trim_start();
        let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
        line.starts_with(['-', '*', '+', '•']) || number.len() < line.len() && number.starts_with(['.', ')'])
    };
    if is_item(first) && rest.lines().any(is_item) {
        return format!("Several changes\n{text}");
    }
    // A full stop ends a sentence where a word of some length stands before it and another sentence after it.
    let ends = first.match_indices(['.', '!', '?']).find(|(at, mark)| {
        let word = first[..*at].rsplit(char::is_whitespace).next().unwrap_or_default();
        first[at + mark.len()..].starts_with(' ') && (word.len() > 2 && !word.contains('.') || *mark != ".")
    });
    match ends {
        Some((at, mark)) => {
            let (title, more) = first.split_at(at + mark.len());
            format!("{}\n{}\n{rest}", title.trim(), more.trim())
        }
        None => text.to_owned(),
    }
}

fn local_facts(path: &Path, issue: &str, tree: &Tree, settings: ContributeSettings, clock: &Clock) -> ContributeFacts {
    let (title, body) = issue.trim_start().split_once('\n').unwrap_or((issue.trim(), ""));
    let name = path.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    ContributeFacts {
        repository: RepositoryFacts {
            owner: "local".into(),
            name: name.unwrap_or_else(|| "repository".into()),
            url: String::new(),
            default_branch: "HEAD".into(),
            language: None,
            stars: 0,
            license: None,
        },
        base: tree.commit().clone(),
        issue: IssueFacts {
            number: 0,
            url: String::new(),
            title: Untrusted::new(title.trim().trim_start_matches('#').trim()),
            body: Untrusted::new(body),
            labels: Vec::new(),
            author: "local".into(),
            created_at: iso8601(clock.now()),
            comments: 0,
            locked: false,
            is_pull: false,
        },
        asked_by: "local".into(),
        candidates: Vec::new(),
        linked: Vec::new(),
        settings,
        warnings: Vec::new(),
    }
}

/// Scans files and folders whole, changed or not.
///
/// # Errors
/// When a path does not exist or cannot be read at all.
pub async fn scan(paths: Vec<PathBuf>) -> Result<Checked, Error> {
    let engine = Engine::embedded()?;
    tokio::task::spawn_blocking(move || scan_blocking(&engine, &paths))
        .await
        .map_err(|_| Error::Path("the scanner stopped unexpectedly".into()))?
}

fn scan_blocking(engine: &Engine, paths: &[PathBuf]) -> Result<Checked, Error> {
    let files = Mutex::new(workspace::walk(paths, &Limits::default())?);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    // No more texts are held than there are threads: a tree may be larger than the memory.
    let next = || files.lock().unwrap_or_else(PoisonError::into_inner).next();
    let parts: Vec<Part> = std::thread::scope(|scope| {
        let work = || {
            let mut part = Part::default();
            while let Some(listed) = next() {
                if let Some(file) = listed.read() {
                    part.scan(engine, &file);
                }
            }
            part
        };
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let Part { mut findings, mut coverage, sources } = parts.into_iter().fold(Part::default(), Part::join);
    findings.sort_by(|a, b| (&a.path, a.span, &a.rule).cmp(&(&b.path, b.span, &b.rule)));
    coverage.not_read.sort_by(|a, b| a.path.cmp(&b.path));
    let outcome = match (findings.len(), coverage.read) {
        (0, 0) if coverage.total > 0 => {
            Outcome::CouldNotReview { reason: "no file of a language that octoswarm knows was found".into() }
        }
        (0, _) => Outcome::Clean,
        (count, _) => Outcome::Findings { count },
    };
    Ok(Checked { base: None, head: None, findings, coverage, outcome, sources })
}

/// What one thread found.
#[derive(Default)]
struct Part {
    findings: Vec<Finding>,
    coverage: Coverage,
    sources: BTreeMap<String, Arc<str>>,
}

impl Part {
    fn scan(&mut self, engine: &Engine, file: &Found) {
        self.coverage.total += 1;
        match self.findings_of(engine, file) {
            None => self.coverage.read += 1,
            Some(reason) => self.coverage.not_read.push(NotRead { path: file.path.clone(), reason }),
        }
    }

    /// Adds the file's findings; tells why it was not read, if it was not.
    fn findings_of(&mut self, engine: &Engine, file: &Found) -> Option<String> {
        let text = match &file.content {
            Side::Text(text) => text,
            Side::NotRead(reason) => return Some(reason.clone()),
            Side::Absent => return Some("gone while it was being read".into()),
        };
        let scan = engine.scan(&file.path, text);
        if !scan.findings.is_empty() {
            self.sources.insert(file.path.clone(), text.as_str().into());
            self.findings.extend(scan.findings);
        }
        scan.not_read
    }

    fn join(mut self, other: Self) -> Self {
        self.findings.extend(other.findings);
        self.coverage.read += other.coverage.read;
        self.coverage.total += other.coverage.total;
        self.coverage.not_read.extend(other.coverage.not_read);
        self.sources.extend(other.sources);
        self
    }
}

/// The report as a SARIF 2.1.0 log.
///
/// # Errors
/// When the embedded rules do not load, which a test rules out.
pub fn sarif(findings: &[Finding]) -> Result<serde_json::Value, Error> {
    Ok(analysis::sarif::log(findings, &rules()?, env!("CARGO_PKG_VERSION")))
}

/// The report as Markdown, by the same renderer that writes pull request comments.
pub fn markdown(findings: &[Finding], coverage: &Coverage, outcome: &Outcome) -> String {
    publish::render::report(findings, coverage, outcome)
}

/// All static rules.
///
/// # Errors
/// When the embedded rules do not load, which a test rules out.
pub fn rules() -> Result<Vec<RuleInfo>, Error> {
    Ok(Engine::embedded()?.rules().to_vec())
}
