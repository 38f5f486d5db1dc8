//! One run with all that is kept of it.

use std::io::{self, Read};
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::Error;
use super::archive::Archive;
use crate::pipeline::FACTS;
use crate::stdx::file;
use crate::store::{EffectRow, JobRow, ProgressRow, RunRow, StepRow};

/// Lines of progress that are read at most; a run says some dozens.
const LINES: usize = 10_000;
/// A document is far smaller; what is larger was not written by a run.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A run and what it left.
#[derive(Debug, Serialize)]
pub struct Detail {
    pub run: RunRow,
    /// Absent once it was pruned.
    pub job: Option<JobRow>,
    /// The agents' steps, in the order they began.
    pub steps: Vec<StepRow>,
    /// What the flow started from is kept: the run can be replayed.
    pub facts: bool,
    pub progress: Vec<ProgressRow>,
    /// What lies in the run's folder, by name.
    pub documents: Vec<Document>,
    /// What was posted on GitHub.
    pub effects: Vec<Posted>,
    /// What could not be read.
    pub errors: Vec<Unreadable>,
}

/// One document of the run's folder.
#[derive(Debug, Serialize)]
pub struct Document {
    pub file: String,
    pub bytes: u64,
    /// As it stands on the disk, byte for byte; absent where `errors` tells why.
    pub content: Option<Box<RawValue>>,
}

#[derive(Debug, Serialize)]
pub struct Posted {
    #[serde(flatten)]
    pub effect: EffectRow,
    /// Where it stands, when that is known.
    pub link: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Unreadable {
    pub file: String,
    pub why: String,
}

impl Archive {
    /// All that is kept of a run. `web_url` is where GitHub's pages are, for links.
    ///
    /// # Errors
    /// The rows cannot be read. What lies in the folder and cannot be read is told in [`Detail::errors`].
    pub async fn detail(&self, run: RunRow, web_url: Option<&str>) -> Result<Detail, Error> {
        let id = run.id;
        let mut steps = self.store.steps(id).await?;
        let all = steps.len();
        steps.retain(|step| step.name != FACTS);
        let (facts, page) =
            (steps.len() < all, web_url.map(|url| format!("{}/{}", url.trim_end_matches('/'), run.repo)));
        let effects = self.store.effects(id).await?.into_iter();
        let effects = effects.map(|effect| Posted { link: link(page.as_deref(), &run, &effect), effect }).collect();
        let job = match run.job {
            Some(job) => self.store.job(job).await?,
            None => None,
        };
        let progress = self.store.progress_since(id, 0, LINES).await?;
        let folder = self.state.join("runs").join(id.to_string());
        let read = tokio::task::spawn_blocking(move || documents(&folder)).await;
        let (documents, errors) = read.map_err(|error| Error::Path(error.to_string()))?;
        Ok(Detail { run, job, steps, facts, progress, documents, effects, errors })
    }
}

fn documents(folder: &Path) -> (Vec<Document>, Vec<Unreadable>) {
    let (mut documents, mut errors) = (Vec::new(), Vec::new());
    let mut names: Vec<String> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect(),
        // A run that left no document has no folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            errors.push(Unreadable { file: String::new(), why: error.to_string() });
            Vec::new()
        }
    };
    names.sort();
    for file in names {
        let path = folder.join(&file);
        let bytes = path.symlink_metadata().map_or(0, |meta| meta.len());
        let content = content(&path).map_err(|why| errors.push(Unreadable { file: file.clone(), why })).ok();
        documents.push(Document { file, bytes, content });
    }
    (documents, errors)
}

fn content(path: &Path) -> Result<Box<RawValue>, String> {
    let mut text = Vec::new();
    // Neither a link nor anything that is no file: what a run writes is none of these.
    let opened = file::open_plain(path).map_err(|error| error.to_string())?;
    opened.take(LARGEST + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > LARGEST {
        return Err(format!("larger than {LARGEST} bytes"));
    }
    let text = String::from_utf8(text).map_err(|_| "not UTF-8".to_owned())?;
    serde_json::from_str(&text).map_err(|error| format!("not JSON: {error}"))
}

/// Where on GitHub an effect can be looked at, by what proves it.
fn link(page: Option<&str>, run: &RunRow, effect: &EffectRow) -> Option<String> {
    let proof = effect.proof.as_ref()?;
    if let Some(url) = proof.get("url").and_then(Value::as_str) {
        return Some(url.to_owned());
    }
    let (page, id) = (page?, |name: &str| proof.get(name).and_then(Value::as_u64));
    if let Some(head) = proof.get("head").and_then(Value::as_str) {
        return Some(format!("{page}/commit/{head}"));
    }
    if let Some(pull) = id("pull") {
        return Some(format!("{page}/pull/{pull}"));
    }
    if let Some(check) = id("check_run") {
        return Some(format!("{page}/runs/{check}"));
    }
    let number = run.number?;
    if let Some(review) = id("review") {
        return Some(format!("{page}/pull/{number}#pullrequestreview-{review}"));
    }
    id("comment").map(|comment| format!("{page}/issues/{number}#issuecomment-{comment}"))
}
