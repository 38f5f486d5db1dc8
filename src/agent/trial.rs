//! A tree's own checks, run in the sandbox: what passed, what failed, what did not run and why.

mod reformat;
mod reports;
mod told;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::checks::{Check, Counts, Kind, counts};
use crate::domain::Untrusted;
use crate::sandbox::{
    Cache, Command, Deps, Ecosystem, Ended, Entry, Key, Limits, Ran, Sandbox, Trust, Unavailable, Workplace,
};
use crate::stdx::text::{truncate_chars, visible_line};
use crate::workspace::{self, EntryKind, ExportLimits, Tree};

pub use reformat::Reformatted;
pub use told::{notes, numbers, shown};

/// What a work tree may be made of.
const MOST: ExportLimits = ExportLimits { files: 200_000, bytes: 2 << 30 };
/// All checks of a trial together take no longer than so many times what one may take, nor than this: whoever waits for the
/// outcome has to hear it before its own attempt is over.
const TIMES: u32 = 3;
const MAX_TIME: Duration = Duration::from_secs(25 * 60);
/// Characters of the last words of a program.
const MAX_WORDS: usize = 120;
/// As shells have it: the program is not there, or may not be run.
const NOT_THERE: [i32; 2] = [126, 127];
const MAX_TAIL: usize = 4000;

/// Where checks are run.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    pub sandbox: Result<&'a Sandbox, &'a Unavailable>,
    /// Of one command.
    pub limits: &'a Limits,
    /// Of dependencies; none is kept without.
    pub cache: Option<&'a Arc<Cache>>,
    /// Hears a line of ours about each check that is over.
    pub told: Option<&'a UnboundedSender<String>>,
}

/// What is tried.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Whatever names it for good, for the cache: GitHub's number of it.
    pub repository: &'a str,
    pub tree: &'a Tree,
    /// What it began as: a check that fails there too is not the change's fault.
    pub base: Option<&'a Tree>,
    pub trust: Trust,
}

/// One check and what came of it.
#[derive(Debug, Clone)]
pub struct Tried {
    pub check: Check,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Passed { counts: Option<Counts>, took: Duration },
    Failed(Failure),
    NotRun { why: String },
}

/// A check that did not pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// In words of ours.
    pub why: String,
    pub counts: Option<Counts>,
    /// Names out of the output: tests, or files that a formatter would change.
    pub names: Vec<String>,
    /// The end of what it printed.
    pub tail: Untrusted,
    /// The same check failed before the change.
    pub before: bool,
    pub took: Duration,
}

impl Outcome {
    pub fn is_passed(&self) -> bool {
        matches!(self, Self::Passed { .. })
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Passed { .. } => "passed",
            Self::Failed(_) => "failed",
            Self::NotRun { .. } => "not run",
        }
    }
}

/// The trial itself came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the work tree could not be read")]
    Workspace(#[from] workspace::Error),
    #[error("the work tree could not be written")]
    Disk(#[source] std::io::Error),
    #[error("cancelled")]
    Cancelled,
}

/// Runs the checks over a tree, one after the other, dependencies first.
///
/// # Errors
/// The tree cannot be read, the disk's, or the work was cancelled. What cannot be run is no error but an outcome.
pub async fn trial(
    bench: Bench<'_>,
    subject: Subject<'_>,
    checks: &[Check],
    cancel: &CancellationToken,
) -> Result<Vec<Tried>, Error> {
    Trial::begin(bench, subject, checks, cancel).await?.run(subject.tree).await
}

/// A tree that lies in the sandbox with its dependencies, to be checked.
pub struct Trial<'a> {
    subject: Subject<'a>,
    checks: &'a [Check],
    /// Or why nothing is run.
    ready: Result<Ready<'a>, String>,
}

struct Ready<'a> {
    room: Room<'a>,
    after: Furnished,
    before: Option<Furnished>,
    /// What came of those that ran already, by their place among the checks.
    known: BTreeMap<usize, Outcome>,
    /// A formatter was let loose on the tree, which is not the subject's any more.
    touched: bool,
}

impl<'a> Trial<'a> {
    /// Lays the tree out and installs what its checks need.
    ///
    /// # Errors
    /// As [`trial`].
    pub async fn begin(
        bench: Bench<'a>,
        subject: Subject<'a>,
        checks: &'a [Check],
        cancel: &'a CancellationToken,
    ) -> Result<Self, Error> {
        let sandbox = match bench.sandbox {
            Ok(sandbox) => sandbox,
            Err(why) => {
                let why = format!("there is no sandbox here ({})", why.why());
                return Ok(Self { subject, checks, ready: Err(why) });
            }
        };
        if !checks.iter().any(|check| check.kind.is_check()) {
            return Ok(Self { subject, checks, ready: Err("there is nothing to be checked with".to_owned()) });
        }
        let until = Instant::now() + bench.limits.wall.saturating_mul(TIMES).min(MAX_TIME);
        let room = Room { sandbox, bench, cancel, until };
        let after = room.furnish(subject, checks).await?;
        let ready = Ready { room, after, before: None, known: BTreeMap::new(), touched: false };
        Ok(Self { subject, checks, ready: Ok(ready) })
    }

    /// Runs all that did not run yet. `tree` is the subject's, or what was made of it by [`Trial::reformatted`].
    ///
    /// # Errors
    /// As [`trial`].
    pub async fn run(self, tree: &Tree) -> Result<Vec<Tried>, Error> {
        let Self { subject, checks, ready } = self;
        let mut ready = match ready {
            Ok(ready) => ready,
            Err(why) => return Ok(none(checks, &why)),
        };
        if ready.touched {
            ready.lay_out(Subject { tree, ..subject }, checks).await?;
        }
        let mut tried = Vec::new();
        for (at, check) in checks.iter().enumerate().filter(|(_, check)| check.kind.is_check()) {
            let outcome = match ready.known.remove(&at) {
                Some(outcome) => outcome,
                None => ready.outcome(subject, checks, check).await?.0,
            };
            if let Some(told) = ready.room.bench.told {
                // Whoever does not listen any more needs not hear it.
                told.send(format!("{}: {}", check.kind.name(), outcome.word())).ok();
            }
            tried.push(Tried { check: check.clone(), outcome });
        }
        Ok(tried)
    }
}

impl Ready<'_> {
    /// What comes of a check, and where it fails, how it failed without the change.
    async fn outcome(
        &mut self,
        subject: Subject<'_>,
        checks: &[Check],
        check: &Check,
    ) -> Result<(Outcome, Option<Failure>), Error> {
        let mut outcome = self.room.run(&self.after, check).await?;
        let mut then = None;
        if let (Outcome::Failed(failure), Some(base)) = (&mut outcome, subject.base) {
            let before = match self.before.take() {
                Some(before) => before,
                None => self.room.furnish(Subject { tree: base, base: None, ..subject }, checks).await?,
            };
            if let Outcome::Failed(known) = self.room.run(&before, check).await? {
                failure.before = same(&known, failure);
                then = Some(known);
            }
            self.before = Some(before);
        }
        Ok((outcome, then))
    }

    /// Puts a tree in place of the one that a formatter was at. What else commands left there stays, as it does between checks.
    async fn lay_out(&mut self, subject: Subject<'_>, checks: &[Check]) -> Result<(), Error> {
        self.touched = false;
        self.known.clear();
        if let Err(error) = fill(&self.after.place, subject.tree).await {
            tracing::debug!(%error, "the work tree is made anew");
            self.after = self.room.furnish(subject, checks).await?;
        }
        Ok(())
    }
}

async fn fill(place: &Arc<Workplace>, tree: &Tree) -> Result<(), Error> {
    let into = Arc::clone(place);
    let put = tree.export(MOST, move |file| match file.kind {
        EntryKind::Link => into.put(file.path, Entry::Link(file.bytes)),
        kind => into.put(file.path, Entry::File { bytes: file.bytes, executable: kind == EntryKind::Executable }),
    });
    put.await?;
    Ok(())
}

/// Nothing fails now that did not fail then.
fn same(then: &Failure, now: &Failure) -> bool {
    match (&then.counts, &now.counts) {
        (Some(then), Some(now)) => {
            now.failed <= then.failed && now.failing.iter().all(|name| then.failing.contains(name))
        }
        _ => now.names.iter().all(|name| then.names.contains(name)),
    }
}

fn none(checks: &[Check], why: &str) -> Vec<Tried> {
    let all = checks.iter().filter(|check| check.kind.is_check());
    all.map(|check| Tried { check: check.clone(), outcome: Outcome::NotRun { why: why.to_owned() } }).collect()
}

pub(super) struct Room<'a> {
    pub(super) sandbox: &'a Sandbox,
    pub(super) bench: Bench<'a>,
    pub(super) cancel: &'a CancellationToken,
    pub(super) until: Instant,
}

/// A work tree with its dependencies.
pub(super) struct Furnished {
    pub(super) place: Arc<Workplace>,
    pub(super) deps: Option<Deps>,
    /// Why dependencies are missing, by ecosystem and folder.
    pub(super) missing: Vec<(String, String, String)>,
}

impl Room<'_> {
    pub(super) async fn furnish(&self, subject: Subject<'_>, checks: &[Check]) -> Result<Furnished, Error> {
        let place = Arc::new(self.sandbox.workplace().map_err(Error::Disk)?);
        fill(&place, subject.tree).await?;
        let installs: Vec<&Check> = checks.iter().filter(|check| check.kind == Kind::Install).collect();
        if installs.is_empty() {
            return Ok(Furnished { place, deps: None, missing: Vec::new() });
        }
        let named: BTreeSet<Ecosystem> = installs.iter().filter_map(|check| ecosystem(&check.ecosystem)).collect();
        let named: Vec<Ecosystem> = match named.is_empty() {
            // What the repository's configuration says, it says of all of them.
            true => Ecosystem::ALL.to_vec(),
            false => named.into_iter().collect(),
        };
        let deps = self.sandbox.deps(&place, &named).map_err(Error::Disk)?;
        let key = self.key(subject, &named, checks).await?;
        let keep = self.bench.cache.cloned().zip(key);
        let cached = match &keep {
            Some((cache, key)) => loaded(cache, key, &deps).await,
            None => false,
        };
        let mut missing = Vec::new();
        for install in installs {
            let command = self.command(install);
            let command = if cached { command.installing_offline(&deps) } else { command.installing(&deps) };
            let why = match self.sandbox.run(&place, command, self.cancel).await {
                Ok(ran) if ran.ended.is_success() => continue,
                Ok(ran) => not_installed(install, &ran),
                Err(error) => broken(error)?,
            };
            missing.push((install.ecosystem.clone(), install.dir.clone(), why));
        }
        if let Some((cache, key)) = keep.filter(|_| !cached && missing.is_empty()) {
            save(cache, key, &deps).await;
        }
        Ok(Furnished { place, deps: Some(deps), missing })
    }

    /// By what is locked; nothing is kept of what is not.
    async fn key(&self, subject: Subject<'_>, named: &[Ecosystem], checks: &[Check]) -> Result<Option<Key>, Error> {
        const LOCKS: &[&str] = &[
            "Cargo.lock",
            "package-lock.json",
            "npm-shrinkwrap.json",
            "pnpm-lock.yaml",
            "yarn.lock",
            "bun.lock",
            "uv.lock",
            "poetry.lock",
            "pdm.lock",
            "Pipfile.lock",
            "requirements.txt",
            "go.sum",
            "Gemfile.lock",
            "composer.lock",
            "packages.lock.json",
            "mix.lock",
            "gradle.lockfile",
            "pom.xml",
        ];
        if self.bench.cache.is_none() {
            return Ok(None);
        }
        let dirs: BTreeSet<&str> = checks.iter().map(|check| check.dir.as_str()).chain([""]).collect();
        let mut locks: Vec<(String, Vec<u8>)> = Vec::new();
        for dir in dirs {
            for name in LOCKS {
                let path = crate::stdx::path::join(dir, name);
                if let workspace::Side::Text(text) = subject.tree.read(&path).await? {
                    locks.push((path, text.into_bytes()));
                }
            }
        }
        let given: Vec<(&str, &[u8])> = locks.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
        let toolchain = self.sandbox.toolchain(named);
        Ok(Key::new(subject.repository, subject.trust, named, &toolchain, &given))
    }

    fn command(&self, check: &Check) -> Command {
        let mut command = Command::shell(&check.line);
        command.dir.clone_from(&check.dir);
        command.env.clone_from(&check.env);
        command.limits = self.bench.limits.clone();
        command.limits.wall = command.limits.wall.min(self.until.saturating_duration_since(Instant::now()));
        command
    }

    async fn run(&self, at: &Furnished, check: &Check) -> Result<Outcome, Error> {
        let lacks = at.missing.iter().find(|(ecosystem, dir, _)| {
            *ecosystem == check.ecosystem && (check.dir == *dir || dir.is_empty()) || ecosystem == "repository"
        });
        if let Some((_, _, why)) = lacks {
            return Ok(Outcome::NotRun { why: format!("its dependencies are not there: {why}") });
        }
        if Instant::now() >= self.until {
            return Ok(Outcome::NotRun { why: "the checks before it took all the time there is".to_owned() });
        }
        let command = self.command(check);
        let command = match &at.deps {
            Some(deps) => command.using(deps),
            None => command,
        };
        let tests = check.kind == Kind::Test;
        let before = if tests { reports::before(&at.place).await } else { None };
        let ran = match self.sandbox.run(&at.place, command, self.cancel).await {
            Ok(ran) => ran,
            Err(error) => return Ok(Outcome::NotRun { why: broken(error)? }),
        };
        let told = if tests { counts(ran.output.text.open()) } else { None };
        let counted = match (told, before) {
            // What was stopped has not written all of them.
            (None, Some(before)) if matches!(ran.ended, Ended::Exit(_)) => {
                reports::since(before, &at.place, check).await
            }
            (told, _) => told,
        };
        Ok(judge(check, &ran, counted))
    }
}

/// Copies files: not where others wait.
async fn loaded(cache: &Arc<Cache>, key: &Key, deps: &Deps) -> bool {
    let (cache, key, deps) = (Arc::clone(cache), key.clone(), deps.clone());
    let loaded = tokio::task::spawn_blocking(move || cache.load(&key, &deps)).await;
    loaded.map_err(std::io::Error::other).and_then(|loaded| loaded).unwrap_or_else(|error| {
        tracing::warn!(%error, "kept dependencies cannot be used");
        false
    })
}

async fn save(cache: Arc<Cache>, key: Key, deps: &Deps) {
    let deps = deps.clone();
    match tokio::task::spawn_blocking(move || cache.save(&key, &deps)).await {
        Ok(Ok(saved)) => tracing::debug!(bytes = saved.bytes, evicted = saved.evicted, "dependencies are kept"),
        Ok(Err(why)) => tracing::info!(%why, "dependencies are not kept for the next time"),
        Err(error) => tracing::warn!(%error, "dependencies are not kept for the next time"),
    }
}

fn judge(check: &Check, ran: &Ran, counted: Option<Counts>) -> Outcome {
    let said = ran.output.text.open();
    let took = ran.wall;
    let why = match &ran.ended {
        Ended::Exit(0) => return Outcome::Passed { counts: counted, took },
        Ended::Exit(code) if NOT_THERE.contains(code) && counted.is_none() => {
            let program = check.line.split_whitespace().next().unwrap_or_default();
            return Outcome::NotRun { why: format!("`{program}` cannot be started where octoswarm runs") };
        }
        Ended::Exit(code) => format!("it ended with exit code {code}"),
        Ended::Stopped(excess) => format!("it was stopped: {excess}"),
    };
    let names = match (&counted, check.kind) {
        (Some(counts), _) => counts.failing.clone(),
        (None, Kind::Format) => reformat::named(check, said),
        (None, _) => Vec::new(),
    };
    let tail = Untrusted::new(text_tail(said));
    Outcome::Failed(Failure { why, counts: counted, names, tail, before: false, took })
}

/// Whole lines of the end.
fn text_tail(said: &str) -> String {
    let chars: Vec<(usize, char)> = said.char_indices().rev().take(MAX_TAIL).collect();
    match chars.last() {
        Some((at, _)) if *at > 0 => {
            let cut = &said[*at..];
            cut.split_once('\n').map_or(cut, |(_, rest)| rest).to_owned()
        }
        _ => said.to_owned(),
    }
}

fn ecosystem(name: &str) -> Option<Ecosystem> {
    match name {
        "cargo" => Some(Ecosystem::Cargo),
        "node" | "deno" | "npm" => Some(Ecosystem::Npm),
        "python" => Some(Ecosystem::Python),
        "go" => Some(Ecosystem::Go),
        "maven" => Some(Ecosystem::Maven),
        "gradle" => Some(Ecosystem::Gradle),
        "ruby" => Some(Ecosystem::Ruby),
        "composer" | "php" => Some(Ecosystem::Composer),
        "dotnet" => Some(Ecosystem::NuGet),
        "mix" => Some(Ecosystem::Hex),
        _ => None,
    }
}

fn not_installed(install: &Check, ran: &Ran) -> String {
    let mut why = match &ran.ended {
        Ended::Exit(code) if NOT_THERE.contains(code) => {
            let program = install.line.split_whitespace().next().unwrap_or_default();
            return format!("`{program}` cannot be started where octoswarm runs");
        }
        Ended::Exit(code) => format!("`{}` ended with exit code {code}", install.line),
        Ended::Stopped(excess) => format!("`{}` was stopped: {excess}", install.line),
    };
    if !ran.refused.is_empty() {
        why.push_str(&format!("; it wanted to reach {}, which is not allowed", ran.refused.join(", ")));
    }
    if let Some(last) = ran.output.text.open().lines().rev().map(visible_line).find(|line| !line.trim().is_empty()) {
        why.push_str(&format!("; it said: {}", truncate_chars(last.trim(), MAX_WORDS)));
    }
    why
}

/// A sandbox that could not be built says so in the outcome; the rest is the system's.
fn broken(error: crate::sandbox::Error) -> Result<String, Error> {
    match error {
        crate::sandbox::Error::Cancelled => Err(Error::Cancelled),
        error => Ok(crate::stdx::error::chain(&error)),
    }
}
