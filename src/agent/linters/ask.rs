//! Asks linters over the new side of a change, in the sandbox.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::call::{ANSWER, broke, calls, put, said, words};
use super::choose::{self, Wanted};
use super::formats::{Answer, From};
use super::gather::{self, Looks, Set, Texts};
use crate::agent::checks::{Check, Kind};
use crate::agent::trial::{Bench, Error, Furnished, Room, Subject};
use crate::analysis::fix::apply;
use crate::analysis::skip_reason;
use crate::analysis::told::Grounded;
use crate::artifact::facts::{Linted, ReviewFacts};
use crate::domain::{ChangeKind, Fix, LinterRun, Linters, RuleId};
use crate::sandbox::{Command, Ended, Ran, WORK};
use crate::stdx::nofollow::Found;
use crate::workspace::{self, Change, Side, Tree};

/// All that read data alone take no longer together, nor do those that build what they read: a review is waited for.
const DATA_TIME: Duration = Duration::from_secs(120);
const CODE_TIME: Duration = Duration::from_secs(600);
/// As shells have it: the program is not there, or may not be run.
const NOT_THERE: [i32; 2] = [126, 127];

/// What is asked about.
pub struct Asking<'a> {
    pub change: &'a Change,
    pub facts: &'a ReviewFacts,
    pub bench: Bench<'a>,
    pub subject: Subject<'a>,
    /// The repository's own checks as the old side has them: which projects there are, and how each gets its dependencies.
    pub checks: &'a [Check],
}

/// The linters that are to be asked about a change.
pub struct Wish {
    texts: Texts,
    wanted: Vec<Wanted>,
    /// Those that are not, and why.
    unasked: Vec<Set>,
}

impl Wish {
    /// Which of the chosen ones have something to read and may do so: `own` says whether the new side is a branch of the
    /// repository's own, whose code may be run, and `finds` whether a program is on this machine.
    ///
    /// # Errors
    /// The trees cannot be read.
    pub async fn of(
        chosen: &Linters,
        (change, facts): (&Change, &ReviewFacts),
        own: bool,
        finds: impl Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let mut wish = Self { texts: Texts::new(), wanted: Vec::new(), unasked: Vec::new() };
        if *chosen == Linters::Off {
            return Ok(wish);
        }
        wish.texts = texts(&change.head_tree(), facts).await?;
        for one in choose::wanted(chosen, &wish.texts, &change.base_tree()?).await? {
            match why_not(&one, own, &finds) {
                None => wish.wanted.push(one),
                Some(why) => wish.unasked.push(unasked(&one, why)),
            }
        }
        Ok(wish)
    }

    /// Nobody is to be asked.
    pub fn is_idle(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Somebody is to be asked who runs the repository's code.
    pub fn runs_code(&self) -> bool {
        self.wanted.iter().any(|one| one.linter.runs_code)
    }

    /// What is known without asking anybody.
    pub fn unasked(self, facts: &ReviewFacts) -> Linted {
        gather::gather(self.unasked, facts)
    }

    /// Asks them all and gathers what is news. One that breaks is told of and costs nothing else.
    ///
    /// # Errors
    /// The trees cannot be read, the disk's, or the work was cancelled.
    pub async fn ask(self, asking: Asking<'_>, cancel: &CancellationToken) -> Result<Linted, Error> {
        let (texts, mut sets) = (self.texts, self.unasked);
        // Those that are quick come first, whatever the others take.
        let (code, data): (Vec<_>, Vec<_>) = self.wanted.into_iter().partition(|one| one.linter.runs_code);
        for (some, time) in [(data, DATA_TIME), (code, CODE_TIME)] {
            let until = Instant::now() + time;
            for one in some {
                let look = Look { asking: &asking, texts: &texts, wanted: &one, cancel, until };
                sets.push(match look.set().await {
                    // Neither a full disk nor a tree beyond all limits is a reason to have no review.
                    Err(error @ (Error::Disk(_) | Error::Workspace(workspace::Error::TooLarge { .. }))) => {
                        unasked(&one, Why::Broke(crate::stdx::error::chain(&error)))
                    }
                    set => set?,
                });
            }
        }
        Ok(gather::gather(sets, asking.facts))
    }
}

/// The new text of every file that may be spoken of.
///
/// # Errors
/// The tree cannot be read.
pub async fn texts(new: &Tree, facts: &ReviewFacts) -> Result<BTreeMap<String, Arc<str>>, Error> {
    // A setting that cannot be used is told of by whoever plans the review.
    let ignored = crate::agent::globs(&facts.settings.ignore).unwrap_or_default();
    let changed = facts.files.iter().filter(|file| {
        matches!(file.kind, ChangeKind::Added | ChangeKind::Modified | ChangeKind::Renamed) && !file.binary
    });
    let mut paths: Vec<String> = changed.map(|file| file.path.clone()).chain(facts.watched.iter().cloned()).collect();
    paths.retain(|path| !ignored.is_match(path));
    paths.sort();
    paths.dedup();
    let mut texts = Texts::new();
    for path in paths {
        // One by one: the change is small, and the tree may be larger than anybody walks.
        if let Side::Text(text) = new.read(&path).await?
            && skip_reason(&path, text.as_bytes()).is_none()
            && !new.is_generated(&path).await?
        {
            texts.insert(path, text.into());
        }
    }
    Ok(texts)
}

/// Why a linter is not asked.
enum Why {
    Stranger,
    NoSettings(&'static str),
    NotHere,
    NoSandbox(String),
    /// In words of ours.
    Broke(String),
}

impl Why {
    fn words(&self, one: &Wanted) -> String {
        match self {
            Self::Stranger => "it runs the repository's code, and this change comes from a fork".to_owned(),
            Self::NoSettings(why) => (*why).to_owned(),
            Self::NotHere => format!("`{}` is not installed where octoswarm runs", one.linter.program),
            Self::NoSandbox(why) => format!("there is no sandbox here ({why})"),
            Self::Broke(why) => why.clone(),
        }
    }
}

fn why_not(one: &Wanted, own: bool, finds: impl Fn(&str) -> bool) -> Option<Why> {
    let linter = one.linter;
    if linter.runs_code && !own {
        return Some(Why::Stranger);
    }
    if let Some(why) = linter.needs_settings.filter(|_| !one.shown) {
        return Some(Why::NoSettings(why));
    }
    // What lies in the work tree is there when it is installed.
    (!linter.program.contains('/') && !finds(linter.program)).then_some(Why::NotHere)
}

fn empty(one: &Wanted) -> Set {
    let run = LinterRun { name: one.linter.name.to_owned(), not_run: None, left_out: Vec::new() };
    Set { run, spoken: true, silent: false, all: Vec::new(), before: BTreeMap::new() }
}

/// What it said before may still hold.
fn unasked(one: &Wanted, why: Why) -> Set {
    let mut set = Set { silent: true, ..empty(one) };
    // Nobody named it, and it is not here: nobody has to hear of that.
    set.spoken = one.named || !matches!(why, Why::NotHere);
    set.run.not_run = Some(why.words(one));
    set
}

/// One linter over one change.
struct Look<'a> {
    asking: &'a Asking<'a>,
    texts: &'a Texts,
    wanted: &'a Wanted,
    cancel: &'a CancellationToken,
    until: Instant,
}

impl Look<'_> {
    async fn set(&self) -> Result<Set, Error> {
        let (wanted, mut set) = (self.wanted, empty(self.wanted));
        let at = match self.furnish().await? {
            Ok(at) => at,
            Err(why) => return Ok(unasked(wanted, why)),
        };
        match self.answer(&at).await? {
            Ok(answer) => {
                set.run.left_out = answer.left_out;
                set.silent = answer.failed.is_some() || !set.run.left_out.is_empty();
                set.run.not_run = answer.failed.map(|why| format!("it did not finish: {}", words(&why)));
                set.all = gather::set(Some(wanted.linter), answer.told, self.texts);
            }
            Err(why) => return Ok(unasked(wanted, why)),
        }
        set.before = self.before(&at, &set).await?;
        self.prove(&at, &mut set).await?;
        Ok(set)
    }

    /// A work tree: of what reads data alone only that data, else the whole tree with its dependencies.
    async fn furnish(&self) -> Result<Result<Furnished, Why>, Error> {
        let (asking, linter) = (self.asking, self.wanted.linter);
        let sandbox = match asking.bench.sandbox {
            Ok(sandbox) => sandbox,
            Err(why) => return Ok(Err(Why::NoSandbox(why.why()))),
        };
        if !linter.runs_code {
            let place = Arc::new(sandbox.workplace().map_err(Error::Disk)?);
            let at = Furnished { place, deps: None, missing: Vec::new() };
            let files = self
                .wanted
                .files
                .iter()
                .filter_map(|path| Some((path.clone(), Some(self.texts.get(path)?.to_string()))));
            // Settings come last: those of the change do not count before it is merged.
            let settings = self.wanted.settings.iter().map(|(path, text)| (path.clone(), Some(text.clone())));
            put(&at, files.chain(settings).collect()).await?;
            return Ok(Ok(at));
        }
        let installs = asking.checks.iter().filter(|check| check.kind == Kind::Install);
        let installs: Vec<Check> = installs
            .filter(|one| Some(one.ecosystem.as_str()) == linter.ecosystem || one.configured)
            .cloned()
            .collect();
        let room = Room { sandbox, bench: asking.bench, cancel: self.cancel, until: self.until };
        let at = room.furnish(asking.subject, &installs).await?;
        if let Some((_, _, why)) = at.missing.first() {
            return Ok(Err(Why::Broke(format!("its dependencies are not there: {why}"))));
        }
        let settings = self.wanted.settings.iter().map(|(path, text)| (path.clone(), Some(text.clone())));
        put(&at, settings.collect()).await?;
        Ok(Ok(at))
    }

    /// What it says of what lies in the work tree now.
    async fn answer(&self, at: &Furnished) -> Result<Result<Answer, Why>, Error> {
        let linter = self.wanted.linter;
        let way = match linter.version {
            None => linter.ways.first(),
            Some(version) => {
                let asked = version.iter().map(|word| (*word).to_owned()).collect();
                match self.run(at, asked, "").await? {
                    Ok(ran) => linter.ways.iter().find(|way| ran.output.text.open().contains(way.mark)),
                    Err(why) => return Ok(Err(why)),
                }
            }
        };
        let Some(way) = way else { return Ok(Err(Why::Broke("nobody knows how to ask it".to_owned()))) };
        let mut all = Answer::default();
        for (dir, files) in self.projects() {
            for command in calls(linter, way, &self.wanted.settings, &dir, &files) {
                let ran = match self.run(at, command, &dir).await? {
                    Ok(ran) => ran,
                    Err(why) => return Ok(Err(why)),
                };
                let text = match said(at).await? {
                    Found::File { bytes, .. } => String::from_utf8_lossy(&bytes).into_owned(),
                    Found::TooLarge => return Ok(Err(Why::Broke("its answer is too large".to_owned()))),
                    Found::Link(_) | Found::Other | Found::Missing => String::new(),
                };
                let Ended::Exit(code) = ran.ended else { continue };
                if !linter.answers.contains(&code) {
                    return Ok(Err(Why::Broke(broke(code, &ran))));
                }
                match linter.format.read(&text, From { root: WORK, dir: &dir }) {
                    Ok(answer) => {
                        all.told.extend(answer.told);
                        all.left_out.extend(answer.left_out);
                        all.failed = all.failed.or(answer.failed);
                    }
                    // A program that ends with the code of a finding and gives none has broken.
                    Err(why) if code == 0 => return Ok(Err(Why::Broke(words(&why)))),
                    Err(_) => return Ok(Err(Why::Broke(broke(code, &ran)))),
                }
            }
        }
        Ok(Ok(all))
    }

    /// Runs a command, its answer into a file of its own.
    async fn run(&self, at: &Furnished, argv: Vec<String>, dir: &str) -> Result<Result<Ran, Why>, Error> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Err(Why::Broke("the linters before it took all the time there is".to_owned())));
        }
        let sandbox = match self.asking.bench.sandbox {
            Ok(sandbox) => sandbox,
            Err(why) => return Ok(Err(Why::NoSandbox(why.why()))),
        };
        at.place.remove(ANSWER).map_err(Error::Disk)?;
        let is_version = self.wanted.linter.version.is_some_and(|version| version.iter().eq(argv.iter()));
        let into = if is_version { "/dev/stdout".to_owned() } else { format!("{WORK}/{ANSWER}") };
        let mut line = ["/bin/sh", "-c", "into=$1; shift; exec \"$@\" > \"$into\"", "sh"].map(str::to_owned).to_vec();
        line.push(into);
        line.extend(argv);
        let mut command = Command::new(line);
        dir.clone_into(&mut command.dir);
        let env = self.wanted.linter.env.iter();
        command.env = env.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        command.limits = self.asking.bench.limits.clone();
        command.limits.wall = command.limits.wall.min(left);
        let command = match &at.deps {
            Some(deps) => command.using(deps),
            None => command,
        };
        match sandbox.run(&at.place, command, self.cancel).await {
            Ok(ran) => Ok(match ran.ended {
                Ended::Exit(code) if NOT_THERE.contains(&code) => Err(Why::NotHere),
                Ended::Exit(_) => Ok(ran),
                Ended::Stopped(excess) => Err(Why::Broke(format!("it was stopped: {excess}"))),
            }),
            Err(crate::sandbox::Error::Cancelled) => Err(Error::Cancelled),
            Err(error) => Ok(Err(Why::Broke(crate::stdx::error::chain(&error)))),
        }
    }

    /// The folders in which it is asked, with the files that belong to each: the outermost projects, or the root.
    fn projects(&self) -> BTreeMap<String, Vec<String>> {
        let own = |check: &&Check| Some(check.ecosystem.as_str()) == self.wanted.linter.ecosystem;
        let folders: Vec<&str> = self.asking.checks.iter().filter(own).map(|check| check.dir.as_str()).collect();
        let mut projects: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in &self.wanted.files {
            let mut above = std::iter::once("").chain(path.match_indices('/').map(|(at, _)| &path[..at]));
            let dir = above.find(|folder| folders.contains(folder)).unwrap_or_default();
            projects.entry(dir.to_owned()).or_default().push(path.clone());
        }
        projects
    }

    /// What it says of the old texts, under their new names, so that a rename is no news. Where it says nothing, all is news.
    async fn before(&self, at: &Furnished, set: &Set) -> Result<BTreeMap<String, Looks>, Error> {
        let spoken = gather::fresh(set, &self.asking.facts.files);
        let mut old = Vec::new();
        for file in &self.asking.facts.files {
            let known = file.kind != ChangeKind::Added && self.texts.contains_key(&file.path);
            if !known || !spoken.iter().any(|one| one.finding.path == file.path) {
                continue;
            }
            let path = file.old_path.as_deref().unwrap_or(&file.path);
            if let Side::Text(text) = self.asking.change.old_side(path).await? {
                old.push((file.path.clone(), Some(text)));
            }
        }
        if old.is_empty() {
            return Ok(BTreeMap::new());
        }
        let texts: Texts =
            old.iter().filter_map(|(path, text)| Some((path.clone(), text.as_deref()?.into()))).collect();
        put(at, old).await?;
        let answer = self.answer(at).await?;
        self.restore(at, texts.keys()).await?;
        Ok(match answer {
            Ok(answer) => gather::looks(&gather::set(Some(self.wanted.linter), answer.told, &texts)),
            Err(_) => BTreeMap::new(),
        })
    }

    async fn restore(&self, at: &Furnished, paths: impl Iterator<Item = &String>) -> Result<(), Error> {
        put(at, paths.filter_map(|path| Some((path.clone(), Some(self.texts.get(path)?.to_string())))).collect()).await
    }

    /// Takes away every change after which the linter does not say less, or says something new.
    async fn prove(&self, at: &Furnished, set: &mut Set) -> Result<(), Error> {
        let news: Vec<_> = gather::fresh(set, &self.asking.facts.files)
            .into_iter()
            .filter(|one| one.finding.fix.is_some())
            .map(|one| one.finding.fingerprint.clone())
            .collect();
        let mut tried: BTreeMap<String, (Vec<Fix>, Vec<RuleId>)> = BTreeMap::new();
        for one in &mut set.all {
            let Some(fix) = one.finding.fix.take() else { continue };
            let (fixes, rules) = tried.entry(one.finding.path.clone()).or_default();
            let free = fixes.iter().all(|other| other.end_line < fix.start_line || fix.end_line < other.start_line);
            if free && news.contains(&one.finding.fingerprint) {
                fixes.push(fix.clone());
                rules.push(one.finding.rule.clone());
                one.finding.fix = Some(fix);
            }
        }
        tried.retain(|_, (fixes, _)| !fixes.is_empty());
        let mut fixed = Texts::new();
        for (path, (fixes, _)) in &tried {
            let whole = self.texts.get(path).and_then(|text| apply(text, &fixes.iter().collect::<Vec<_>>()).ok());
            fixed.extend(whole.map(|text| (path.clone(), text.into())));
        }
        if fixed.is_empty() {
            return Ok(());
        }
        put(at, fixed.iter().map(|(path, text)| (path.clone(), Some(text.to_string()))).collect()).await?;
        let after = match self.answer(at).await? {
            Ok(answer) if answer.failed.is_none() => Some(gather::set(Some(self.wanted.linter), answer.told, &fixed)),
            _ => None,
        };
        let holds = |path: &String| {
            let (Some(after), true, Some((_, rules))) = (&after, fixed.contains_key(path), tried.get(path)) else {
                return false;
            };
            let (was, is) = (tally(&set.all, path), tally(after, path));
            let gone = |rule: &RuleId| rules.iter().filter(|one| *one == rule).count();
            is.iter().all(|(rule, count)| count + gone(rule) <= was.get(rule).copied().unwrap_or(0))
        };
        let held: Vec<String> = tried.keys().filter(|path| holds(path)).cloned().collect();
        for one in &mut set.all {
            if !held.contains(&one.finding.path) {
                one.finding.fix = None;
            }
        }
        Ok(())
    }
}

fn tally(all: &[Grounded], path: &str) -> BTreeMap<RuleId, usize> {
    let mut tally = BTreeMap::new();
    for one in all.iter().filter(|one| one.finding.path == path) {
        *tally.entry(one.finding.rule.clone()).or_insert(0) += 1;
    }
    tally
}
