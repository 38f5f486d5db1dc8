//! The proven fixes of what the static rules find in a work tree, put there or shown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{FileNote, Scanning, Watch, scan};
use crate::agent::{self, ProvedFixes, gate};
use crate::analysis::Engine;
use crate::app::{Error, contribute};
use crate::artifact::swarm::CodeChanges;
use crate::config::{CONFIG_PATH, RepoConfig};
use crate::domain::{Finding, Fingerprint, RuleId};
use crate::workspace;

use super::Obeyed;

/// Whose fixes are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fixes {
    /// Of these findings.
    Findings(BTreeSet<Fingerprint>),
    /// Of whatever these rules find.
    Rules(BTreeSet<RuleId>),
    All,
}

impl Fixes {
    fn want(&self, finding: &Finding) -> bool {
        match self {
            Self::Findings(wanted) => wanted.contains(&finding.fingerprint),
            Self::Rules(wanted) => wanted.contains(&finding.rule),
            Self::All => true,
        }
    }
}

/// What is to be repaired, and how.
#[derive(Debug)]
pub struct Mending {
    pub fixes: Fixes,
    /// Files and folders of the work tree that findings are looked for in; none: the whole of it.
    pub paths: Vec<PathBuf>,
    /// The files are written; else the change is only shown.
    pub write: bool,
    /// The repository's own configuration holds.
    pub obey: bool,
    pub watch: Watch,
}

/// One finding whose fix is part of the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    pub rule: RuleId,
    pub path: String,
    pub line: u32,
    pub fingerprint: Fingerprint,
}

/// What came of it. Without a file nothing was changed, and `left` says why.
#[derive(Debug, Default)]
pub struct Mended {
    /// Unified, of all files.
    pub diff: String,
    pub files: Vec<FileNote>,
    pub repaired: Vec<Repaired>,
    /// What was wanted and not done, with the reason, as sentences.
    pub left: Vec<String>,
    /// What is wrong with the repository's configuration.
    pub warnings: Vec<String>,
}

/// Looks for findings in the work tree around `path`, and applies the fixes that are wanted: each is proved anew, alone and
/// together with the others of its file, and the gate that every change passes judges the whole. All of it is written, or nothing.
///
/// # Errors
/// When there is no repository with a work tree, it changed meanwhile, it cannot be read or written, or the work was stopped.
pub async fn mend(path: &Path, asked: Mending) -> Result<Mended, Error> {
    let Mending { fixes, mut paths, write, obey, watch } = asked;
    let tree = workspace::local::tree(path).await?;
    let root = workspace::local::work_tree(path).ok_or_else(|| workspace::Error::Bare { path: path.to_owned() })?;
    let Obeyed { config, warnings } =
        if obey { Obeyed::read(tree.read(CONFIG_PATH).await?, CONFIG_PATH)? } else { Obeyed::default() };
    if paths.is_empty() {
        paths.push(root.clone());
    }
    let found = scan(Scanning { paths, obey, below: Some(root), watch: watch.clone() }).await?.findings;
    let wanted: Vec<Finding> = found.into_iter().filter(|finding| fixes.want(finding)).collect();
    let mut mended = Mended { warnings, left: missing(&fixes, &wanted), ..Mended::default() };
    let (fixable, rest): (Vec<Finding>, Vec<Finding>) = wanted.into_iter().partition(|finding| finding.fix.is_some());
    if fixes != Fixes::All {
        mended.left.extend(rest.iter().map(no_fix));
    }
    if fixable.is_empty() {
        return Ok(mended);
    }
    watch.say(&format!("{} fixes to prove together", fixable.len()));
    let engine = Engine::embedded()?;
    let proved = agent::fixes(&engine, &tree, &fixable, &watch.cancel).await.map_err(contribute::of_agent)?;
    let ProvedFixes { changes, findings } = proved;
    mended.left.extend(not_done(&changes));
    if !changes.commit_ready {
        return Ok(mended);
    }
    let gated = match gate::check(&engine, &tree, &changes, &settings(&config)).await.map_err(contribute::of_agent)? {
        Ok(gated) => gated,
        Err(reasons) => {
            mended.left.extend(reasons);
            return Ok(mended);
        }
    };
    mended.repaired = findings
        .into_iter()
        .map(|finding| Repaired {
            rule: finding.rule,
            path: finding.path,
            line: finding.span.start_line,
            fingerprint: finding.fingerprint,
        })
        .collect();
    if watch.cancel.is_cancelled() {
        return Err(Error::Overtaken("the work was stopped before anything was written".to_owned()));
    }
    if write {
        workspace::local::apply(path, &tree, &gated.edits).await?;
    }
    mended.diff = changes.changes.iter().map(|change| change.diff.as_str()).collect();
    mended.files = changes.changes.into_iter().map(FileNote::of).collect();
    Ok(mended)
}

/// Whoever asks for it here sees the change before they keep it: its size is theirs to judge.
fn settings(config: &RepoConfig) -> crate::artifact::facts::ContributeSettings {
    let mut settings = contribute::settings(config);
    settings.max_files = usize::MAX;
    settings.max_lines = usize::MAX;
    settings
}

/// Findings that were named, and are not there.
fn missing(fixes: &Fixes, found: &[Finding]) -> Vec<String> {
    let Fixes::Findings(named) = fixes else { return Vec::new() };
    let there: BTreeSet<&Fingerprint> = found.iter().map(|finding| &finding.fingerprint).collect();
    let gone = named.iter().filter(|name| !there.contains(name));
    gone.map(|name| format!("finding {} is not there (any more): scan again", name.as_str())).collect()
}

fn no_fix(finding: &Finding) -> String {
    format!("`{}`, line {}: `{}` has no mechanical fix", finding.path, finding.span.start_line, finding.rule)
}

/// What the coder left, without what it says of every change.
fn not_done(changes: &CodeChanges) -> Vec<String> {
    let errors = changes.validation.errors.iter();
    if !changes.commit_ready {
        return errors.cloned().collect();
    }
    errors.filter_map(|line| line.strip_prefix("not done: ")).map(str::to_owned).collect()
}
