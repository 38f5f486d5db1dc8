//! Whole files and folders, changed or not.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use globset::GlobSet;

use super::{Checked, Obeyed, Watch};
use crate::agent;
use crate::analysis::{self, Engine};
use crate::app::{Error, contribute};
use crate::config::{CONFIG_PATH, RepoConfig};
use crate::domain::{Coverage, Finding, Reading, Severity};
use crate::workspace::{self, Found, Limits, Side};

/// After so many files it is told how far a scan is.
const TOLD_EVERY: usize = 200;

/// What is scanned, and how.
#[derive(Debug, Default)]
pub struct Scanning {
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// As the configuration in the work tree around each path says.
    pub obey: bool,
    /// The folder that the names of files count from; without one they are as the scan was given them.
    pub below: Option<PathBuf>,
    pub watch: Watch,
}

/// Scans files and folders whole, changed or not.
///
/// # Errors
/// When a path does not exist or cannot be read at all, or the scan was stopped.
pub async fn scan(asked: Scanning) -> Result<Checked, Error> {
    let engine = Engine::embedded()?;
    tokio::task::spawn_blocking(move || scan_blocking(&engine, &asked)).await.map_err(Error::died("the scan"))?
}

/// Scans one text as if it were the file of that name, which need not be there. With `obey`, as the configuration in the
/// work tree around that name says.
///
/// # Errors
/// The text cannot be read.
pub fn scan_text(name: &Path, mut text: impl Read, obey: bool) -> Result<Checked, Error> {
    let engine = Engine::embedded()?;
    let unreadable = |error: std::io::Error| Error::Path(error.to_string());
    let (folder, real) = placed(name).map_err(unreadable)?;
    let file = Found {
        path: name.strip_prefix(".").unwrap_or(name).to_string_lossy().into_owned(),
        real,
        content: workspace::read_text(&mut text, &Limits::default()).map_err(unreadable)?,
    };
    let configured = if obey { Configured::around(&[folder])? } else { Configured::default() };
    let mut part = Part::default();
    part.scan(&engine, &configured.trees, &file);
    Ok(part.checked(configured))
}

/// The nearest folder that is there, and the path of a file that may not be: whatever links lead there.
fn placed(name: &Path) -> std::io::Result<(PathBuf, PathBuf)> {
    let absolute = std::path::absolute(name)?;
    for folder in absolute.ancestors().skip(1) {
        if let Ok(real) = folder.canonicalize() {
            let rest = absolute.strip_prefix(folder).unwrap_or(&absolute);
            return Ok((real.clone(), real.join(rest)));
        }
    }
    Ok((absolute.clone(), absolute))
}

fn scan_blocking(engine: &Engine, asked: &Scanning) -> Result<Checked, Error> {
    let Scanning { paths, obey, below, watch } = asked;
    let files = Mutex::new(workspace::walk(paths, &Limits::default())?);
    let configured = if *obey { Configured::around(paths)? } else { Configured::default() };
    let read = AtomicUsize::new(0);
    let trees = &configured.trees;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    // No more texts are held than there are threads: a tree may be larger than the memory.
    let next = || files.lock().unwrap_or_else(PoisonError::into_inner).next();
    let parts: Vec<Part> = std::thread::scope(|scope| {
        let work = || {
            let mut part = Part::default();
            while let Some(listed) = next().filter(|_| !watch.cancel.is_cancelled()) {
                let Some(mut file) = listed.read() else { continue };
                if let Some(inner) = below.as_ref().and_then(|root| file.real.strip_prefix(root).ok()) {
                    file.path = inner.to_string_lossy().into_owned();
                }
                part.scan(engine, trees, &file);
                let so_far = read.fetch_add(1, Ordering::Relaxed) + 1;
                if so_far.is_multiple_of(TOLD_EVERY) {
                    watch.say(&format!("{so_far} files scanned"));
                }
            }
            part
        };
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    if watch.cancel.is_cancelled() {
        return Err(Error::Overtaken("the scan was stopped before its end".to_owned()));
    }
    Ok(parts.into_iter().fold(Part::default(), Part::join).checked(configured))
}

/// What the repositories around the paths say.
struct Configured {
    trees: Vec<WorkTree>,
    /// The lowest bar of all.
    fail_on: Option<Severity>,
    warnings: Vec<String>,
}

struct WorkTree {
    root: PathBuf,
    config: RepoConfig,
    ignored: GlobSet,
}

impl Default for Configured {
    fn default() -> Self {
        Self { trees: Vec::new(), fail_on: RepoConfig::default().fail_on.severity(), warnings: Vec::new() }
    }
}

impl Configured {
    fn around(paths: &[PathBuf]) -> Result<Self, Error> {
        let roots: BTreeSet<PathBuf> = paths.iter().filter_map(|path| workspace::local::work_tree(path)).collect();
        let mut all = Self::default();
        for root in roots {
            let Obeyed { config, warnings } = Obeyed::read(workspace::local::file(&root, CONFIG_PATH), CONFIG_PATH)?;
            let ignored = agent::globs(&config.ignore).map_err(contribute::of_agent)?;
            all.warnings.extend(warnings);
            all.trees.push(WorkTree { root, config, ignored });
        }
        let bars = all.trees.iter().map(|tree| tree.config.fail_on.severity());
        if let Some(strictest) = bars.min_by_key(|bar| (bar.is_none(), *bar)) {
            all.fail_on = strictest;
        }
        Ok(all)
    }
}

/// The innermost of the work trees that a file lies in, and its path from that root.
fn around<'a, 'f>(trees: &'a [WorkTree], file: &'f Path) -> Option<(&'a WorkTree, &'f Path)> {
    let within = trees.iter().filter_map(|tree| Some((tree, file.strip_prefix(&tree.root).ok()?)));
    within.min_by_key(|(_, path)| path.components().count())
}

/// What one thread found.
#[derive(Default)]
struct Part {
    findings: Vec<Finding>,
    coverage: Coverage,
    sources: BTreeMap<String, Arc<str>>,
}

impl Part {
    fn scan(&mut self, engine: &Engine, trees: &[WorkTree], file: &Found) {
        let reading = self.findings_of(engine, around(trees, &file.real), file);
        self.coverage.add(&file.path, reading);
    }

    /// Adds the file's findings; tells how far it was read.
    fn findings_of(&mut self, engine: &Engine, within: Option<(&WorkTree, &Path)>, file: &Found) -> Reading {
        if within.is_some_and(|(tree, path)| tree.ignored.is_match(path)) {
            return Reading::LeftOut(agent::IGNORED.to_owned());
        }
        let text = match &file.content {
            Side::Text(text) => text,
            Side::NotRead(reason) => return analysis::unread(&file.path, reason.clone()),
            Side::Absent => return analysis::unread(&file.path, "gone while it was being read".to_owned()),
        };
        let mut scan = engine.scan(&file.path, text);
        if let Some((WorkTree { config, .. }, _)) = within {
            let wanted =
                |found: &Finding| found.severity >= config.min_severity && !config.disable.contains(&found.rule.0);
            scan.findings.retain(wanted);
        }
        if !scan.findings.is_empty() {
            self.sources.insert(file.path.clone(), text.as_str().into());
            self.findings.extend(scan.findings);
        }
        if scan.syntax_errors {
            self.coverage.syntax_errors.push(file.path.clone());
        }
        scan.reading
    }

    /// In order, whichever thread came first.
    fn checked(self, configured: Configured) -> Checked {
        let Self { mut findings, mut coverage, sources } = self;
        findings.sort_by(|a, b| (&a.path, a.span, &a.rule).cmp(&(&b.path, b.span, &b.rule)));
        coverage.text_only.sort();
        coverage.not_read.sort_by(|a, b| a.path.cmp(&b.path));
        coverage.syntax_errors.sort();
        let outcome = coverage.outcome(findings.len());
        let Configured { fail_on, warnings, .. } = configured;
        Checked { compared: None, findings, coverage, outcome, sources, fail_on, warnings }
    }

    fn join(mut self, other: Self) -> Self {
        self.findings.extend(other.findings);
        self.coverage.read += other.coverage.read;
        self.coverage.total += other.coverage.total;
        self.coverage.text_only.extend(other.coverage.text_only);
        self.coverage.not_read.extend(other.coverage.not_read);
        self.coverage.syntax_errors.extend(other.coverage.syntax_errors);
        self.sources.extend(other.sources);
        self
    }
}
