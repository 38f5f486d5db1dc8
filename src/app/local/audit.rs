//! The review server's crew over a folder: what it says, and its documents written down.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::Watch;
use crate::agent::audit::{self, Auditing};
use crate::analysis::{Engine, skip_reason};
use crate::app::Error;
use crate::artifact::server::{Aggregate, CodeFile, Codebase, ReviewRequest};
use crate::domain::{Category, Coverage, Reading};
use crate::stdx::text::{binary_size, count};
use crate::stdx::{file, hash};
use crate::workspace::{self, Limits, Side};

/// Text that is held at once, and files that it is of.
const MAX_BYTES: usize = 256 << 20;
const MAX_FILES: usize = 50_000;
/// Names what was written, so that it may be written again.
const RECORD: &str = ".octoswarm-audit.json";
const REVIEW: &str = "review.json";

/// What the crew says of a folder.
pub struct Audited {
    pub aggregate: Aggregate,
    pub coverage: Coverage,
}

/// Reviews a repository or a plain folder as it lies on the disk; what `.gitignore` names is left out, and so is what lies
/// below `output`.
///
/// # Errors
/// When the path is no folder, or cannot be read at all, or the audit was stopped.
pub async fn audit(path: PathBuf, output: Option<PathBuf>, watch: Watch) -> Result<Audited, Error> {
    let engine = Engine::embedded()?;
    let work = move || {
        let (codebase, coverage) = read(&path, output.as_deref())?;
        let request = ReviewRequest { id: codebase_name(&path), params: BTreeMap::new() };
        let auditing = Auditing::new(engine, &request, codebase, watch.cancel.clone());
        let auditing = auditing.map_err(|error| Error::Path(error.message))?;
        watch.say(&format!("{} to review", count(auditing.files(), "file")));
        let aggregate = auditing.all(|agent| watch.say(&format!("{agent} is at work")));
        if watch.cancel.is_cancelled() {
            return Err(Error::Overtaken("the audit was stopped before its end".to_owned()));
        }
        Ok(Audited { aggregate, coverage })
    };
    tokio::task::spawn_blocking(work).await.map_err(Error::died("the audit"))?
}

/// The questions of the checklists that nothing here looks for: their ids.
pub fn unanswered() -> Vec<&'static str> {
    let all = [Category::Debt, Category::Improvement, Category::Critical].into_iter().flat_map(audit::questions);
    all.filter(|question| !question.is_answered()).map(|question| question.id).collect()
}

fn codebase_name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.file_name().map_or_else(|| "codebase".into(), |name| name.to_string_lossy().into_owned())
}

/// A codebase as it lies on the disk, without what lies below `output`; what `.gitignore` names is left out.
///
/// # Errors
/// When the path is not there, or cannot be read at all.
pub(in crate::app) fn read(path: &Path, output: Option<&Path>) -> Result<(Codebase, Coverage), Error> {
    // Its own pages would be read as the codebase's next time.
    let own = output.and_then(|dir| {
        let inner = dir.canonicalize().ok()?.strip_prefix(path.canonicalize().ok()?).ok()?.to_owned();
        Some(inner).filter(|inner| !inner.as_os_str().is_empty())
    });
    let root = path.strip_prefix(".").unwrap_or(path);
    let (mut files, mut coverage, mut bytes) = (Vec::new(), Coverage::default(), 0);
    for found in workspace::walk(&[path.to_owned()], &Limits::default())?.filter_map(workspace::Listed::read) {
        let inner = Path::new(&found.path).strip_prefix(root).unwrap_or(Path::new(&found.path));
        if own.as_ref().is_some_and(|own| inner.starts_with(own)) {
            continue;
        }
        let name = inner.to_string_lossy().into_owned();
        let text = match found.content {
            Side::Text(text) => text,
            Side::NotRead(reason) => {
                coverage.add(&name, Reading::Failed(reason));
                continue;
            }
            Side::Absent => {
                coverage.add(&name, Reading::Failed("gone while it was being read".into()));
                continue;
            }
        };
        // Lock files hold licences; everything else that is skipped would say nothing.
        let skipped = skip_reason(&name, text.as_bytes()).filter(|reason| reason != "lock file");
        let reading = if files.len() >= MAX_FILES {
            Reading::Failed(format!("beyond the first {MAX_FILES} files"))
        } else if bytes + text.len() > MAX_BYTES {
            Reading::Failed(format!("beyond the first {} of text", binary_size(MAX_BYTES as u64)))
        } else {
            skipped.map_or(Reading::Whole, Reading::LeftOut)
        };
        let whole = matches!(reading, Reading::Whole);
        coverage.add(&name, reading);
        if whole {
            bytes += text.len();
            files.push(CodeFile { path: name, content: text });
        }
    }
    let metadata = BTreeMap::from([("name".to_owned(), codebase_name(path).into())]);
    Ok((Codebase { files, metadata, repo_url: None }, coverage))
}

/// What was written into a folder: file name to the hash of what was written there.
#[derive(Default, Serialize, Deserialize)]
struct Record {
    files: BTreeMap<String, String>,
}

/// Writes the documents and `review.json` into `dir`; tells the names. A file that is there already, and is not as an earlier
/// audit wrote it, is left alone and nothing is written, unless `force` is set. What an earlier audit wrote, and this one
/// has no more, is removed.
///
/// # Errors
/// A file that is not ours, a document that cannot be decoded, or the disk's refusal.
pub fn write(aggregate: &Aggregate, dir: &Path, force: bool) -> Result<Vec<String>, Error> {
    let said = |what: &str, name: &str, error: &dyn std::fmt::Display| {
        Error::Path(format!("`{}` cannot be {what}: {error}", dir.join(name).display()))
    };
    let mut contents: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (name, content) in &aggregate.documentation {
        let bytes = if name.ends_with(".png") {
            STANDARD.decode(content).map_err(|error| said("decoded", name, &error))?
        } else {
            content.clone().into_bytes()
        };
        contents.insert(name.clone(), bytes);
    }
    let mut review = serde_json::to_vec_pretty(aggregate).map_err(|error| said("made", REVIEW, &error))?;
    review.push(b'\n');
    contents.insert(REVIEW.to_owned(), review);
    let before: Record =
        std::fs::read(dir.join(RECORD)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let state =
        |name: &str| state(&dir.join(name), before.files.get(name)).map_err(|error| said("looked at", name, &error));
    let mut foreign = Vec::new();
    for name in contents.keys().map(String::as_str) {
        match state(name)? {
            State::Folder => return Err(said("written", name, &"a folder has this name")),
            State::Foreign if !force => foreign.push(format!("`{name}`")),
            State::Foreign | State::Ours | State::Absent => {}
        }
    }
    if !foreign.is_empty() {
        return Err(Error::Path(format!(
            "nothing was written: {} in `{}` did not come from an audit, or changed since; choose another folder, or \
             overwrite with --force",
            foreign.join(", "),
            dir.display()
        )));
    }
    let mut record = Record::default();
    for (name, bytes) in &contents {
        file::write_atomic(&dir.join(name), bytes).map_err(|error| said("written", name, &error))?;
        record.files.insert(name.clone(), hash::sha256(bytes));
    }
    // A name from the record is only trusted as far as a name of ours could go.
    let plain = |name: &str| !name.starts_with('.') && !name.contains(['/', '\\']);
    for name in before.files.keys().filter(|name| plain(name) && !contents.contains_key(*name)) {
        if matches!(state(name)?, State::Ours) {
            std::fs::remove_file(dir.join(name)).map_err(|error| said("removed", name, &error))?;
        }
    }
    let bytes = serde_json::to_vec_pretty(&record).map_err(|error| said("made", RECORD, &error))?;
    file::write_atomic(&dir.join(RECORD), &bytes).map_err(|error| said("written", RECORD, &error))?;
    Ok(contents.into_keys().collect())
}

enum State {
    Absent,
    /// As an earlier audit wrote it.
    Ours,
    Foreign,
    Folder,
}

fn state(path: &Path, written: Option<&String>) -> io::Result<State> {
    let meta = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::Absent),
        meta => meta?,
    };
    if meta.is_dir() {
        return Ok(State::Folder);
    }
    if !meta.is_file() {
        return Ok(State::Foreign);
    }
    let same = written.is_some_and(|hash| std::fs::read(path).is_ok_and(|bytes| hash::sha256(&bytes) == *hash));
    Ok(if same { State::Ours } else { State::Foreign })
}
