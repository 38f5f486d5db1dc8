//! Plans the reading: which changed files are worth a reviewer's eyes, and why the others are not.

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use crate::agent::{Agent, Context, Error, Role};
use crate::analysis::Language;
use crate::artifact::review::PlannedFile;
use crate::artifact::{FilePlan, ReviewFacts};
use crate::domain::{ChangeKind, FileDiff, NotRead};
use crate::stdx::text::count;

/// Why a file that the repository's `ignore` names is not read.
pub const IGNORED: &str = "ignored by this repository's configuration";

pub struct Manager;

#[derive(Debug, Deserialize)]
pub struct ManagerInput {
    facts: ReviewFacts,
}

impl Agent for Manager {
    const VERSION: &'static str = "2";
    type Input = ManagerInput;
    type Output = FilePlan;

    fn role(&self) -> Role {
        Role::Manager
    }

    async fn run(&self, cx: &Context, ManagerInput { facts }: ManagerInput) -> Result<FilePlan, Error> {
        let ignored = globs(&facts.settings.ignore)?;
        let mut plan = FilePlan { not_read: facts.not_read, ..FilePlan::default() };
        // What lies beyond the limits of a whole change is no single file's matter, whatever its language.
        for unread in plan.not_read.iter_mut().filter(|unread| facts.files.iter().any(|file| file.path == unread.path))
        {
            unread.left_out = Language::of_path(&unread.path).is_none();
        }
        for file in &facts.files {
            if !has_new_text(file) || plan.not_read.iter().any(|n| n.path == file.path) {
                continue;
            }
            match reason_to_skip(cx, file, &ignored).await? {
                Some((reason, left_out)) => {
                    plan.not_read.push(NotRead { path: file.path.clone(), reason, left_out });
                }
                None => plan.read.push(PlannedFile {
                    path: file.path.clone(),
                    old_path: match file.kind {
                        ChangeKind::Added => None,
                        _ => Some(file.old_path.clone().unwrap_or_else(|| file.path.clone())),
                    },
                    language: Language::of_path(&file.path).map(|language| language.name().to_owned()),
                }),
            }
        }
        plan.watched = facts
            .watched
            .into_iter()
            .filter(|path| !plan.read.iter().any(|file| file.path == *path))
            .filter(|path| !plan.not_read.iter().any(|file| file.path == *path))
            .collect();
        Ok(plan)
    }

    fn line(&self, plan: &FilePlan) -> Option<String> {
        let total = count(plan.read.len() + plan.not_read.len(), "changed file");
        Some(format!("reading {} of {total}", plan.read.len()))
    }
}

/// Removed files, pure renames and mode changes leave nothing new to read.
fn has_new_text(file: &FileDiff) -> bool {
    match file.kind {
        ChangeKind::Added | ChangeKind::Modified => true,
        ChangeKind::Renamed => file.binary || !file.hunks.is_empty(),
        ChangeKind::Removed | ChangeKind::Mode => false,
        ChangeKind::Submodule => true,
    }
}

/// Why a file is not read, and whether that is as it should be.
async fn reason_to_skip(cx: &Context, file: &FileDiff, ignored: &GlobSet) -> Result<Option<(String, bool)>, Error> {
    if file.kind == ChangeKind::Submodule {
        return Ok(Some(("submodule".into(), true)));
    }
    if ignored.is_match(&file.path) {
        return Ok(Some((IGNORED.into(), true)));
    }
    if cx.reviewing()?.change.is_generated(&file.path).await? {
        return Ok(Some(("marked as generated in .gitattributes".into(), true)));
    }
    if file.binary {
        return Ok(Some(("binary".into(), Language::of_path(&file.path).is_none())));
    }
    Ok(None)
}

/// The patterns of `ignore` as one.
///
/// # Errors
/// When one of them is no glob.
pub fn globs(patterns: &[String]) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(Glob::new(pattern).map_err(|e| Error::Setting(e.to_string()))?);
    }
    set.build().map_err(|e| Error::Setting(e.to_string()))
}
