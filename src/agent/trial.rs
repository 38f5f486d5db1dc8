//! A tree's own checks, run in the sandbox: what passed, what failed, what did not run and why.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::checks::{Check, Counts, Kind, counts, unformatted};
use crate::artifact::draft::{CheckNote, CheckOutcome};
use crate::domain::Untrusted;
use crate::sandbox::{
    Cache, Command, Deps, Ecosystem, Ended, Entry, Key, Limits, Ran, Sandbox, Trust, Unavailable, Workplace,
};
use crate::stdx::text::{self, count};
use crate::workspace::{self, EntryKind, ExportLimits, Tree};

/// What a work tree may be made of.
const MOST: ExportLimits = ExportLimits { files: 200_000, bytes: 2 << 30 };
/// All checks of a trial together take no longer than so many times what one may take, nor than this: whoever waits for the
/// outcome has to hear it before its own attempt is over.
const TIMES: u32 = 3;
const MAX_TIME: Duration = Duration::from_secs(25 * 60);
/// As shells have it: the program is not there, or may not be run.
const NOT_THERE: [i32; 2] = [126, 127];
const MAX_NAMES: usize = 5;
const MAX_TAIL: usize = 4000;
const MAX_LINE: usize = 120;

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
    /// `owner/repo`, for the cache.
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
    let sandbox = match bench.sandbox {
        Ok(sandbox) => sandbox,
        Err(why) => return Ok(none(checks, &format!("there is no sandbox here ({})", why.why()))),
    };
    if checks.iter().all(|check| check.kind == Kind::Install) {
        return Ok(none(checks, "there is nothing to be checked with"));
    }
    let room =
        Room { sandbox, bench, cancel, until: Instant::now() + bench.limits.wall.saturating_mul(TIMES).min(MAX_TIME) };
    let after = room.furnish(subject, checks).await?;
    let mut before: Option<Furnished> = None;
    let mut tried = Vec::new();
    for check in checks.iter().filter(|check| check.kind != Kind::Install) {
        let mut outcome = room.run(&after, check).await?;
        if let (Outcome::Failed(failure), Some(base)) = (&mut outcome, subject.base) {
            if before.is_none() {
                before = Some(room.furnish(Subject { tree: base, base: None, ..subject }, checks).await?);
            }
            if let Some(before) = &before {
                let then = room.run(before, check).await?;
                failure.before = matches!(&then, Outcome::Failed(then) if same(then, failure));
            }
        }
        if let Some(told) = bench.told {
            // Whoever does not listen any more needs not hear it.
            told.send(format!("{}: {}", check.kind.name(), outcome.word())).ok();
        }
        tried.push(Tried { check: check.clone(), outcome });
    }
    Ok(tried)
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
    let all = checks.iter().filter(|check| check.kind != Kind::Install);
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
        let into = Arc::clone(&place);
        subject
            .tree
            .export(MOST, move |file| match file.kind {
                EntryKind::Link => into.put(file.path, Entry::Link(file.bytes)),
                kind => {
                    into.put(file.path, Entry::File { bytes: file.bytes, executable: kind == EntryKind::Executable })
                }
            })
            .await?;
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
        Ok(Key::new(subject.repository, subject.trust, named, &given))
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
        let ran = match self.sandbox.run(&at.place, command, self.cancel).await {
            Ok(ran) => ran,
            Err(error) => return Ok(Outcome::NotRun { why: broken(error)? }),
        };
        Ok(judge(check, &ran))
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

fn judge(check: &Check, ran: &Ran) -> Outcome {
    let said = ran.output.text.open();
    let counted = if check.kind == Kind::Test { counts(said) } else { None };
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
        (None, Kind::Format) => unformatted(said),
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
            format!(
                "`{}` cannot be started where octoswarm runs",
                install.line.split_whitespace().next().unwrap_or_default()
            )
        }
        Ended::Exit(code) => format!("`{}` ended with exit code {code}", install.line),
        Ended::Stopped(excess) => format!("`{}` was stopped: {excess}", install.line),
    };
    if !ran.refused.is_empty() {
        why.push_str(&format!("; it wanted to reach {}, which is not allowed", ran.refused.join(", ")));
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

/// For a pull request: a line each.
pub fn notes(tried: &[Tried]) -> Vec<CheckNote> {
    tried.iter().map(note).collect()
}

fn note(Tried { check, outcome }: &Tried) -> CheckNote {
    let at = if check.dir.is_empty() { String::new() } else { format!(" in `{}`", check.dir) };
    // A repository may write anything there.
    let line = text::visible_line(&check.line).replace('`', "'");
    let command = format!("`{}`{at}", text::truncate_chars(line.trim(), MAX_LINE));
    let (what, outcome) = match outcome {
        Outcome::Passed { counts, took } => {
            (format!("{command}{} ({})", numbers(counts.as_ref()), seconds(*took)), CheckOutcome::Passed)
        }
        Outcome::Failed(failure) => {
            let mut why = failure.why.clone();
            if let Some(first) = failure.names.first() {
                let more = failure.names.len().saturating_sub(MAX_NAMES);
                let named: Vec<&str> = failure.names.iter().take(MAX_NAMES).map(String::as_str).collect();
                let named = if more == 0 { named.join(", ") } else { format!("{} and {more} more", named.join(", ")) };
                why.push_str(if first.is_empty() { "" } else { ": " });
                why.push_str(&named);
            }
            if failure.before {
                why.push_str("; the same fails without the change");
            }
            let what = format!("{command}{} ({})", numbers(failure.counts.as_ref()), seconds(failure.took));
            (what, CheckOutcome::Failed { why })
        }
        Outcome::NotRun { why } => (command, CheckOutcome::NotRun { why: why.clone() }),
    };
    CheckNote { what, outcome }
}

/// `: 3 passed, 1 failed`; nothing where nobody counted.
pub fn numbers(counts: Option<&Counts>) -> String {
    let Some(counts) = counts else { return String::new() };
    let mut parts = vec![format!("{} passed", counts.passed)];
    if counts.failed > 0 {
        parts.push(format!("{} failed", counts.failed));
    }
    if counts.skipped > 0 {
        parts.push(format!("{} skipped", counts.skipped));
    }
    if counts.passed + counts.failed == 0 {
        return format!(": no test was run, {}", count(usize::try_from(counts.skipped).unwrap_or(usize::MAX), "skip"));
    }
    format!(": {}", parts.join(", "))
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}
