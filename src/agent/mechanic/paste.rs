//! A patch in the text, applied where its lines stand now, or not at all.

use super::work::{File, Said, Step};
use crate::analysis::fix;
use crate::workspace::patch::{self, FilePatch};

/// A unified diff that somebody pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pasted {
    files: Vec<FilePatch>,
}

impl Pasted {
    /// # Errors
    /// Why it is no patch that could be applied.
    pub(super) fn read(diff: &str) -> Result<Self, String> {
        let files = patch::parse(diff).map_err(|error| error.to_string())?;
        if files.is_empty() || files.iter().any(|file| file.hunks.is_empty()) {
            return Err("it changes no lines".to_owned());
        }
        for file in &files {
            let plain = |mode: Option<u32>| mode.is_none_or(|mode| mode == 0o100_644 || mode == 0o100_755);
            if file.binary || file.copy || !plain(file.old_mode) || !plain(file.new_mode) {
                return Err(format!("what it does to `{}` is more than a change of text", file.path()));
            }
            if file.old_mode.is_some() && file.new_mode.is_some() && file.old_mode != file.new_mode {
                return Err(format!("it changes the mode of `{}`", file.path()));
            }
        }
        Ok(Self { files })
    }

    /// The files that it names.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(FilePatch::path)
    }

    pub(super) fn describe(&self) -> String {
        let paths: Vec<String> = self.paths().map(|path| format!("`{path}`")).collect();
        format!("Apply the patch in the issue to {}", paths.join(", "))
    }

    /// # Errors
    /// Why it does not apply as a whole; half a patch is none.
    pub(super) fn apply(&self, files: &[File]) -> Result<Step, String> {
        let mut step = Step::default();
        for file in &self.files {
            let new_path = file.new_path.as_deref();
            let old = match file.old_path.as_deref() {
                Some(path) => Some(find(files, path)?),
                None => None,
            };
            // A patch made in a folder of the repository names paths below it.
            let below = |path: &str| match (old, file.old_path.as_deref()) {
                (Some(old), Some(named)) => format!("{}{path}", old.path.strip_suffix(named).unwrap_or_default()),
                _ => path.to_owned(),
            };
            let target = new_path.map(below);
            let moved = target.as_deref().filter(|target| old.is_none_or(|old| old.path != *target));
            if let Some(target) = moved.filter(|target| files.iter().any(|file| file.path == *target)) {
                return Err(format!("it creates `{target}`, which is there already"));
            }
            if let Some(barred) = old.and_then(File::barred) {
                return Err(format!("it changes what no change may touch: {barred}"));
            }
            let text = old.map_or("", |old| old.text.as_str());
            let new = patch::apply(text, file).map_err(|error| error.to_string())?;
            let path = target.as_deref().or(old.map(|old| old.path.as_str())).unwrap_or_default();
            if target.is_some() && fix::syntax_errors(path, &new) > fix::syntax_errors(path, text) {
                return Err(format!("after it, `{path}` could no longer be parsed"));
            }
            if let Some(old) = old.filter(|old| target.as_deref() != Some(old.path.as_str())) {
                step.delete(&old.path, "removed, as the patch in the issue says".to_owned());
            }
            if let Some(target) = target {
                if old.is_some_and(|old| old.path == target && old.text == new) {
                    return Err(format!("it changes nothing in `{target}`"));
                }
                step.write(&target, new, "changed as the patch in the issue says".to_owned());
            }
        }
        let subject = match self.files.as_slice() {
            [one] => format!("apply the patch to {}", one.path()),
            several => format!("apply the patch to {} files", several.len()),
        };
        let documentation = self.paths().all(super::scope::is_documentation);
        step.said = Said { kind: if documentation { "docs" } else { "fix" }, subject };
        Ok(step)
    }
}

/// The file of that path, or the only one whose path ends in it.
fn find<'f>(files: &'f [File], path: &str) -> Result<&'f File, String> {
    if let Some(file) = files.iter().find(|file| file.path == path) {
        return Ok(file);
    }
    let mut ends = files.iter().filter(|file| file.path.ends_with(&format!("/{path}")));
    match (ends.next(), ends.next()) {
        (Some(file), None) => Ok(file),
        (Some(_), Some(_)) => Err(format!("several files are called `{path}`")),
        (None, _) => Err(format!("it changes `{path}`, which is no text file of the repository that people wrote")),
    }
}
