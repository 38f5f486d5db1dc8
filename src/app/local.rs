//! Work without GitHub: the same flow over any local repository, and a scan of whole trees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

use super::{Error, review};
use crate::agent::{Context, Scene};
use crate::analysis::{self, Engine};
use crate::artifact::ReviewReport;
use crate::artifact::facts::ReviewSettings;
use crate::domain::{Clock, Coverage, Finding, NotRead, Outcome};
use crate::pipeline::{self, Journal};
use crate::workspace::{Found, Limits, Side};
use crate::{publish, workspace};

pub use crate::analysis::RuleInfo;

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
    let files: Vec<Found> = workspace::walk(paths, &Limits::default())?.collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let parts: Vec<Part> = std::thread::scope(|scope| {
        let work = || {
            let mut part = Part::default();
            while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                part.scan(engine, file);
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
