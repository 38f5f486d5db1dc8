//! A contribution's documents beside its run, and what our own reviewers say of its result before anybody sees it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::change::{self, Documents, Written};
use super::contribute::{of_agent, settings, shown_change};
use super::trial::Proposed;
use super::{Error, review};
use crate::agent::{Context, Registry, Role, Scene, gate, rewritten};
use crate::analysis::{Engine, fix};
use crate::artifact::agentd::Verdict;
use crate::artifact::draft::{CheckNote, CheckOutcome};
use crate::artifact::plan::Plan;
use crate::artifact::swarm::IssueAnalysis;
use crate::artifact::{Document, Planned, ReviewReport};
use crate::change::{CHANGES, Changes, Kind, MAX_ITERATIONS};
use crate::config::RepoConfig;
use crate::domain::{Class, Clock, Finding, Fix};
use crate::pipeline::{self, Crew, Journal, Outputs};
use crate::stdx::text::count;
use crate::workspace::{Side, Tree};

/// What the pull request calls it.
const REVIEWED: &str = "octoswarm's own reviewers read the change";

/// The documents of one contribution.
pub(super) struct Record {
    root: PathBuf,
    id: String,
    clock: Clock,
}

impl Record {
    /// Keeps a plan below `root`, if there is one. What an earlier attempt planned otherwise gives way.
    ///
    /// # Errors
    /// When git cannot be read, or the documents cannot be written.
    pub(super) async fn keep(
        root: &Path,
        id: impl FnOnce(&Plan) -> String,
        outputs: &Outputs,
        tree: &Tree,
        clock: &Clock,
    ) -> Result<Option<Self>, Error> {
        let Ok(Planned::Plan(plan)) = outputs.get(Role::Planner) else { return Ok(None) };
        let analysis: Option<Document<IssueAnalysis>> = outputs.get(Role::Analyst).ok();
        let analysis = analysis.and_then(|document| document.outcome.ok());
        let id = id(&plan);
        let documents = change::of_plan(&id, &plan, analysis.as_ref(), tree).await?;
        let (folder, now) = (root.to_owned(), clock.now());
        let written = tokio::task::spawn_blocking(move || renewed(&folder, &documents, now));
        written.await.map_err(Error::died("the writer of documents"))??;
        Ok(Some(Self { root: root.to_owned(), id, clock: clock.clone() }))
    }

    /// Keeps what a review came to.
    ///
    /// # Errors
    /// When the document cannot be written.
    pub(super) async fn review(&self, report: &ReviewReport) -> Result<(), Error> {
        let judged = change::judged(&self.id, report);
        let (changes, now) = (Changes::new(self.root.clone()), self.clock.now());
        let work = move || {
            let input = serde_json::to_value(&judged).map_err(|error| crate::change::Error::Yaml(error.to_string()))?;
            changes.create(Kind::Review, &input, now)
        };
        let written = tokio::task::spawn_blocking(work).await.map_err(Error::died("the writer of documents"))?;
        written.map(drop).map_err(|error| Error::Change(error.into()))
    }
}

/// These documents are ours alone: an attempt that planned something else left them, and its plan is over.
fn renewed(root: &Path, documents: &Documents, now: crate::domain::Millis) -> Result<(), Written> {
    match change::write(root, documents, now) {
        Err(Written::Other { id }) => {
            let path = root.join(CHANGES).join(&id);
            let removed = std::fs::remove_dir_all(&path);
            removed.map_err(|source| crate::change::Error::Disk { path: format!("{CHANGES}/{id}"), source })?;
            change::write(root, documents, now).map(drop)
        }
        written => written.map(drop),
    }
}

/// Where and how a change of ours is reviewed.
pub(super) struct Reviewing<'a> {
    pub(super) engine: &'a Arc<Engine>,
    pub(super) clock: &'a Clock,
    pub(super) repo: &'a str,
    pub(super) config: &'a RepoConfig,
    pub(super) journal: &'a Journal,
    pub(super) cancel: &'a CancellationToken,
    /// None where there was no plan.
    pub(super) record: Option<&'a Record>,
}

impl Reviewing<'_> {
    /// Reviews the change from `base` on. What has a proven fix is mended, if the gate lets that pass, and reviewed again, at
    /// most twice (S4.5). What is left stands in the draft.
    pub(super) async fn of(&self, base: &Tree, mut proposed: Proposed) -> Result<Proposed, Error> {
        let mut round = 0;
        let mended_by = |round: u32| match round {
            0 => String::new(),
            rounds => format!(" after {} of mending", count(rounds as usize, "round")),
        };
        loop {
            let report = match self.report(base, &proposed).await {
                Err(error) if error.class() == Class::Cancelled => return Err(error),
                // No reason to lose a change that the gate let pass: whoever merges it learns that nobody read it.
                Err(error) => {
                    let what = REVIEWED.to_owned();
                    let why = error.chain();
                    proposed.draft.checks.push(CheckNote { what, outcome: CheckOutcome::NotRun { why } });
                    proposed.draft.draft = true;
                    return Ok(proposed);
                }
                report => report?,
            };
            let verdict = change::verdict(&report);
            if let Some(record) = self.record {
                shown_change(record.review(&report).await);
            }
            let mended = match verdict {
                Verdict::NeedsFix if round < MAX_ITERATIONS => self.mended(base, &proposed, &report).await?,
                Verdict::NeedsFix | Verdict::Approved | Verdict::MajorIssues => None,
            };
            match mended {
                Some(better) => {
                    proposed = better;
                    round += 1;
                }
                None => {
                    let said = format!("reviewed{}: {}", mended_by(round), verdict.word());
                    self.journal.say(&said).await?;
                    proposed.draft.checks.push(note(&report, verdict, &mended_by(round)));
                    proposed.draft.notes.extend(change::left(&report, verdict));
                    proposed.draft.draft |= verdict != Verdict::Approved;
                    return Ok(proposed);
                }
            }
        }
    }

    async fn report(&self, base: &Tree, proposed: &Proposed) -> Result<ReviewReport, Error> {
        let change = base.change(&proposed.gated.edits).await?;
        let scene = review::scene(change, self.repo.to_owned(), Vec::new(), review::settings(self.config)).await?;
        let (engine, cancel, clock) = (self.engine.clone(), self.cancel.clone(), self.clock.clone());
        let cx = Context { engine, cancel, clock, scene: Scene::Review(scene) };
        // In place: a pure function of two trees, which a second attempt makes again.
        let journal = Journal::unkept(Crew::direct(Registry::builtin()));
        Ok(pipeline::review::run(&cx, &journal).await?)
    }

    /// The change with every fix that can be made, or nothing where none can or the gate refuses what came of it.
    async fn mended(&self, base: &Tree, proposed: &Proposed, report: &ReviewReport) -> Result<Option<Proposed>, Error> {
        let new = base.with(&proposed.gated.edits).await?;
        let mut fixes: BTreeMap<&str, Vec<&Fix>> = BTreeMap::new();
        for Finding { path, fix, .. } in &report.findings {
            if let Some(fix) = fix {
                fixes.entry(path).or_default().push(fix);
            }
        }
        let mut texts = BTreeMap::new();
        for (path, fixes) in fixes {
            let Side::Text(text) = new.read(path).await? else { continue };
            // Two that touch the same line: the first alone, the other one's turn is the next round.
            let made = fix::apply(&text, &fixes).or_else(|_| fix::apply(&text, &fixes[..1]));
            if let Some(made) = made.ok().filter(|made| *made != text) {
                texts.insert(path.to_owned(), made);
            }
        }
        if texts.is_empty() {
            return Ok(None);
        }
        let changes = rewritten(base, &proposed.changes, &texts).await.map_err(of_agent)?;
        let gated = gate::check(self.engine, base, &changes, &settings(self.config)).await.map_err(of_agent)?;
        Ok(gated.ok().map(|gated| Proposed { changes, gated, draft: proposed.draft.clone() }))
    }
}

/// The line of the pull request that tells of it.
fn note(report: &ReviewReport, verdict: Verdict, mended: &str) -> CheckNote {
    let what = format!("{REVIEWED}{mended}: {}", verdict.word());
    let outcome = match verdict {
        Verdict::Approved => CheckOutcome::Passed,
        Verdict::NeedsFix | Verdict::MajorIssues => {
            CheckOutcome::Failed { why: change::judged("change", report).summary }
        }
    };
    CheckNote { what, outcome }
}
