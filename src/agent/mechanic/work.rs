//! Asks, one after the other, on the files of a tree: what is done, what is left, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Ask, Scope, Understanding, rule};
use crate::agent::{Error, gate};
use crate::analysis::{Engine, Language, skip_reason};
use crate::artifact::ContributeFacts;
use crate::artifact::facts::ContributeSettings;
use crate::domain::Millis;
use crate::workspace::{Side, Tree};

/// What was done about an issue, and what was not.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// By path; only files that differ in the end.
    pub files: BTreeMap<String, Done>,
    /// The asks that were carried out, as sentences.
    pub done: Vec<String>,
    /// What was asked for and not done, and why; and what else the reader should know.
    pub left: Vec<String>,
    /// Conventional subject lines, in order of the asks.
    pub subjects: Vec<String>,
}

/// One file before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// None: the file is new.
    pub old: Option<String>,
    /// None: the file is deleted.
    pub new: Option<String>,
    /// What was done, without a full stop, each once.
    pub descriptions: Vec<String>,
}

/// A text file that people wrote.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) language: Option<Language>,
    /// Why no change may touch it, if so.
    pub(super) protected: Option<&'static str>,
}

impl File {
    /// "`a.yml` is protected: why", if it is.
    pub(super) fn barred(&self) -> Option<String> {
        self.protected.map(|why| format!("`{}` is protected: {why}", self.path))
    }
}

/// What a new file has to know about the repository.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) owner: String,
    pub(super) name: String,
    pub(super) url: String,
    pub(super) year: i32,
    /// The issue names a licence whose text is not carried here.
    pub(super) other_licence_named: bool,
}

/// What one ask comes to.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) files: BTreeMap<String, Write>,
    pub(super) left: Vec<String>,
    pub(super) said: Said,
}

#[derive(Debug)]
pub(super) struct Write {
    /// None deletes.
    pub(super) text: Option<String>,
    pub(super) description: String,
}

/// For the subject line of a commit.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) kind: &'static str,
    pub(super) subject: String,
}

impl Step {
    pub(super) fn write(&mut self, path: &str, text: String, description: String) {
        self.files.insert(path.to_owned(), Write { text: Some(text), description });
    }

    pub(super) fn delete(&mut self, path: &str, description: String) {
        self.files.insert(path.to_owned(), Write { text: None, description });
    }
}

/// Does what the text asks for on the files of the tree, as far as it is clear; nothing is written anywhere.
///
/// # Errors
/// When the tree cannot be read, or the work was cancelled.
pub async fn carry_out(
    engine: &Arc<Engine>,
    tree: &Tree,
    facts: &ContributeFacts,
    now: Millis,
    understanding: &Understanding,
    cancel: &CancellationToken,
) -> Result<Work, Error> {
    if let Some(refusal) = &understanding.refusal {
        return Ok(Work { left: vec![refusal.clone()], ..Work::default() });
    }
    let (files, paths) = load(tree, &facts.settings, cancel).await?;
    let known = Facts {
        owner: facts.repository.owner.clone(),
        name: facts.repository.name.clone(),
        url: facts.repository.url.clone(),
        year: chrono::Datelike::year(&chrono::DateTime::from_timestamp_millis(now).unwrap_or_default()),
        other_licence_named: names_other_licence(facts.issue.title.open())
            || names_other_licence(facts.issue.body.open()),
    };
    let (engine, understanding, cancel) = (Arc::clone(engine), understanding.clone(), cancel.clone());
    let disabled = facts.settings.disable.clone();
    tokio::task::spawn_blocking(move || all(&engine, files, paths, &known, &disabled, &understanding, &cancel))
        .await
        .map_err(|_| Error::Scanner { path: "(the repository)".to_owned() })?
}

/// The files that a change may be about, and every path.
async fn load(
    tree: &Tree,
    settings: &ContributeSettings,
    cancel: &CancellationToken,
) -> Result<(Vec<File>, BTreeSet<String>), Error> {
    /// Bytes of all texts together that are held at once.
    const MOST_BYTES: u64 = 256 << 20;
    /// Files that are read before somebody may cancel.
    const BATCH: usize = 1_000;
    let ignored = gate::globs(&settings.ignore)?;
    let protected = gate::globs(&settings.protected)?;
    let mut files = Vec::new();
    let mut paths = BTreeSet::new();
    let mut bytes = 0;
    let mut wanted = Vec::new();
    for entry in tree.files().await? {
        let unwanted = ignored.is_match(&entry.path) || entry.size > 1 << 20 || skip_reason(&entry.path, b"").is_some();
        if !unwanted && bytes <= MOST_BYTES {
            bytes += entry.size;
            wanted.push(entry.path.clone());
        }
        paths.insert(entry.path);
    }
    for batch in wanted.chunks(BATCH) {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        for (path, side) in tree.texts(batch.to_vec()).await? {
            let Side::Text(text) = side else { continue };
            if skip_reason(&path, text.as_bytes()).is_none() {
                let protected = gate::protection(&path, &protected);
                files.push(File { language: Language::of_path(&path), protected, path, text });
            }
        }
    }
    Ok((files, paths))
}

fn all(
    engine: &Engine,
    mut files: Vec<File>,
    mut paths: BTreeSet<String>,
    facts: &Facts,
    disabled: &[String],
    understanding: &Understanding,
    cancel: &CancellationToken,
) -> Result<Work, Error> {
    let before: BTreeMap<String, String> = files.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
    let mut work = Work { left: understanding.unclear.clone(), ..Work::default() };
    let present: BTreeSet<Language> = files.iter().filter_map(|file| file.language).collect();
    let asks = one_by_one(engine, &present, &understanding.asks);
    for ask in &asks {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match step(engine, &files, &paths, facts, disabled, &present, ask) {
            Err(why) => work.left.push(match ask {
                // What was to be done about it is just what is not known.
                Ask::Repair(defect) => format!("\"{}\": {why}", defect.in_short()),
                Ask::Patch(_) | Ask::Replace(_) | Ask::Add(_) => format!("{}: {why}", ask.describe()),
            }),
            Ok(step) => {
                work.done.push(ask.describe());
                work.left.extend(step.left.iter().cloned());
                work.subjects.push(format!("{}: {}", step.said.kind, step.said.subject));
                take_over(step, &mut files, &mut paths, &before, &mut work);
            }
        }
    }
    work.files.retain(|_, done| done.old != done.new);
    Ok(work)
}

/// A text whose whole describes no defect that a rule knows may still do so in its single tasks.
fn one_by_one(engine: &Engine, present: &BTreeSet<Language>, asks: &[Ask]) -> Vec<Ask> {
    let single = |ask: &Ask| match ask {
        Ask::Repair(whole) if !whole.tasks.is_empty() && rule::find(engine, whole, present).is_err() => {
            whole.tasks.iter().cloned().map(Ask::Repair).collect()
        }
        Ask::Patch(_) | Ask::Replace(_) | Ask::Repair(_) | Ask::Add(_) => vec![ask.clone()],
    };
    asks.iter().flat_map(single).collect()
}

fn step(
    engine: &Engine,
    files: &[File],
    paths: &BTreeSet<String>,
    facts: &Facts,
    disabled: &[String],
    present: &BTreeSet<Language>,
    ask: &Ask,
) -> Result<Step, String> {
    let every: Vec<String> = paths.iter().cloned().collect();
    let there = |scope: &super::Scope| match scope.missing(&every).first() {
        Some(missing) => Err(format!("there is no `{missing}` in the repository")),
        None => Ok(()),
    };
    match ask {
        Ask::Patch(pasted) => pasted.apply(files),
        Ask::Replace(replacement) => {
            there(&replacement.scope)?;
            let scope = &replacement.scope;
            match rule::that_replaces(engine, &replacement.from, &replacement.to) {
                Some(known) if !disabled.contains(&known.0) && rule::speaks(engine, known, scope, files) => {
                    rule::apply(engine, known, scope, files)
                }
                Some(_) | None => replacement.apply(files),
            }
        }
        Ask::Add(standard) => standard.apply(files, paths, facts),
        Ask::Repair(defect) => {
            let found = rule::find(engine, defect, present)?;
            if disabled.contains(&found.rule.0) {
                return Err(format!(
                    "the issue seems to describe `{}`, which this repository has switched off",
                    found.rule
                ));
            }
            rule::is_tied_to_code(engine, &found, defect, files)?;
            let mut step = rule::apply(engine, &found.rule, &defect.scope, files)?;
            if !step.files.keys().any(|path| defect.seen_in.covers(path)) {
                let barred = rule::barred(engine, &found.rule, &defect.seen_in, files);
                let nothing =
                    format!("`{}` finds nothing{} that could be repaired", found.rule, defect.seen_in.describe());
                return Err([vec![nothing], barred].concat().join("; "));
            }
            // Who tells of one place may not know of the others, and has not asked for them.
            if !Scope::says_more(&format!("{}\n{}", defect.title, defect.body)) {
                let (named, elsewhere): (BTreeMap<_, _>, BTreeMap<_, _>) =
                    std::mem::take(&mut step.files).into_iter().partition(|(path, _)| defect.seen_in.covers(path));
                let others = elsewhere.into_keys();
                step.left.extend(others.map(|path| format!("`{path}` has the same, and the issue does not name it")));
                step.files = named;
            }
            Ok(step)
        }
    }
}

fn take_over(
    step: Step,
    files: &mut Vec<File>,
    paths: &mut BTreeSet<String>,
    before: &BTreeMap<String, String>,
    work: &mut Work,
) {
    for (path, write) in step.files {
        let old = before.get(&path).cloned();
        let done = work.files.entry(path.clone()).or_insert(Done { old, new: None, descriptions: Vec::new() });
        done.new.clone_from(&write.text);
        if !done.descriptions.contains(&write.description) {
            done.descriptions.push(write.description);
        }
        match (write.text, files.iter().position(|file| file.path == path)) {
            (Some(text), Some(at)) => files[at].text = text,
            (Some(text), None) => {
                let language = Language::of_path(&path);
                paths.insert(path.clone());
                files.push(File { path, text, language, protected: None });
            }
            (None, at) => {
                paths.remove(&path);
                at.map(|at| files.remove(at));
            }
        }
    }
}

/// A licence whose text is too long to be carried, or is nobody's here.
fn names_other_licence(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["apache", "gpl", "mpl", "mozilla", "creative commons", "cc0", "cc-by", "eclipse", "epl", "proprietary"]
        .iter()
        .any(|name| lower.contains(name))
}
