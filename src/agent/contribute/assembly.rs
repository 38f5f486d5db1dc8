//! The coder's change and what belongs beside it, as one change that the gate lets pass.

use std::collections::BTreeMap;

use crate::agent::{Context, Error, gate};
use crate::artifact::swarm::{ChangeSummary, CodeChanges, FileAction, FileChange, LinesChanged};
use crate::workspace::{Side, Tree, patch};

/// What goes into the commit.
pub(super) struct Assembled {
    pub(super) changes: CodeChanges,
    /// The edits beside the coder's change that are part of it.
    pub(super) kept: Vec<FileChange>,
    /// The others, with the reason, as sentences.
    pub(super) dropped: Vec<String>,
}

/// Adds edits to the coder's change, as far as the gate lets the whole pass: one that it refuses is dropped, and never the
/// change with it. What the gate says of the coder's change alone is left to whoever writes it.
///
/// # Errors
/// When the tree cannot be read, or a setting cannot be used.
pub(super) async fn assemble(cx: &Context, coder: &CodeChanges, beside: &[FileChange]) -> Result<Assembled, Error> {
    let alone = |dropped| Assembled { changes: coder.clone(), kept: Vec::new(), dropped };
    if beside.is_empty() || !coder.commit_ready {
        return Ok(alone(Vec::new()));
    }
    let tree = &cx.contributing()?.tree;
    let mut all = Some(coder.clone());
    for edit in beside {
        all = match all {
            Some(changes) => joined(tree, &changes, edit).await?.ok(),
            None => None,
        };
    }
    if let Some(changes) = all
        && refused(cx, &changes).await?.is_none()
    {
        return Ok(Assembled { changes, kept: beside.to_vec(), dropped: Vec::new() });
    }
    if refused(cx, coder).await?.is_some() {
        return Ok(alone(Vec::new()));
    }
    let mut assembled = alone(Vec::new());
    for edit in beside {
        let outcome = match joined(tree, &assembled.changes, edit).await? {
            Ok(changes) => match refused(cx, &changes).await? {
                None => Ok(changes),
                Some(why) => Err(why),
            },
            Err(why) => Err(why),
        };
        match outcome {
            Ok(changes) => {
                assembled.changes = changes;
                assembled.kept.push(edit.clone());
            }
            Err(why) => assembled.dropped.push(format!("`{}` was left as it is: {why}", edit.file)),
        }
    }
    Ok(assembled)
}

/// Why the gate refuses a change, if it does.
async fn refused(cx: &Context, changes: &CodeChanges) -> Result<Option<String>, Error> {
    let scene = cx.contributing()?;
    let checked = gate::check(&cx.engine, &scene.tree, changes, &scene.facts.settings).await?;
    Ok(checked.err().map(|reasons| reasons.join("; ")))
}

/// The change with one more edit, which may be to a file that the change touches already.
async fn joined(tree: &Tree, changes: &CodeChanges, edit: &FileChange) -> Result<Result<CodeChanges, String>, Error> {
    let mut all = changes.clone();
    match all.changes.iter_mut().find(|change| change.file == edit.file) {
        None => all.changes.push(edit.clone()),
        Some(change) => {
            let old = match (change.action, tree.read(&change.file).await?) {
                (FileAction::Created, _) => None,
                (FileAction::Modified, Side::Text(text)) => Some(text),
                (FileAction::Modified | FileAction::Deleted, _) => {
                    return Ok(Err("the change leaves no text of it".to_owned()));
                }
            };
            let applied = after(old.as_deref(), &change.diff).and_then(|middle| after(Some(&middle), &edit.diff));
            let new = match applied {
                Ok(new) => new,
                Err(why) => return Ok(Err(why)),
            };
            let description = format!("{} {}", change.description, edit.description);
            *change = file_change(&change.file, old.as_deref(), &new, description.trim().to_owned());
        }
    }
    all.summary = summary(&all.changes);
    Ok(Ok(all))
}

/// The change with other texts for some of the files that it writes.
///
/// # Errors
/// When the tree cannot be read.
pub async fn rewritten(
    tree: &Tree,
    changes: &CodeChanges,
    texts: &BTreeMap<String, String>,
) -> Result<CodeChanges, Error> {
    let mut all = changes.clone();
    for change in all.changes.iter_mut().filter(|change| change.action != FileAction::Deleted) {
        let Some(new) = texts.get(&change.file) else { continue };
        let old = match (change.action, tree.read(&change.file).await?) {
            (FileAction::Modified, Side::Text(text)) => Some(text),
            _ => None,
        };
        *change = file_change(&change.file, old.as_deref(), new, std::mem::take(&mut change.description));
    }
    all.summary = summary(&all.changes);
    Ok(all)
}

fn summary(changes: &[FileChange]) -> ChangeSummary {
    let mut summary = ChangeSummary::default();
    for change in changes {
        summary.total_files_changed += 1;
        summary.total_additions += change.lines_changed.added;
        summary.total_deletions += change.lines_changed.removed;
    }
    summary
}

/// A text after the diff of one file.
pub(super) fn after(old: Option<&str>, diff: &str) -> Result<String, String> {
    let mut patches = patch::parse(diff).map_err(|error| error.to_string())?;
    let (Some(patch), true) = (patches.pop(), patches.is_empty()) else {
        return Err("its diff is not one file's".to_owned());
    };
    patch::apply(old.unwrap_or_default(), &patch).map_err(|error| error.to_string())
}

/// A file that is written: its diff, counted.
pub(super) fn file_change(path: &str, old: Option<&str>, new: &str, description: String) -> FileChange {
    let diff = patch::diff(old.map(|_| path), Some(path), old.unwrap_or_default(), new);
    let (added, removed) = patch::parse(&diff).ok().and_then(|files| Some(files.first()?.count())).unwrap_or_default();
    FileChange {
        file: path.to_owned(),
        action: if old.is_some() { FileAction::Modified } else { FileAction::Created },
        diff,
        lines_changed: LinesChanged { added: added as u64, removed: removed as u64 },
        description,
    }
}
