//! Programs that play an agent's role from outside: what they are given as a file, and what they give back, which is trusted
//! with nothing before it was checked.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::agent::{self, Context, DynAgent};
use crate::artifact::exchange::{AgentError, AgentInput, AgentOutput, OutputMetadata, OutputStatus};
use crate::artifact::{Fault, Form};
use crate::mailbox::MessageId;
use crate::mailbox::content::{Completion, ResearchResult};
use crate::stdx::{file, hash, text};

/// A result up to this size stands in its message, in bytes.
pub(super) const MAX_INLINE: usize = 256 * 1024;
/// No result is larger, in bytes.
const MAX_BODY: u64 = 64 * 1024 * 1024;

/// Why a result is no output.
pub(super) enum Unfit {
    /// What it says does not have the form, or names a file that cannot be taken.
    Form(Vec<String>),
    /// The agent says that it failed, or our own disk did.
    Agent(agent::Error),
}

/// The files of one task, removed when it has ended.
pub(super) struct Files {
    input: PathBuf,
    result: PathBuf,
}

impl Files {
    pub(super) fn of(folder: &Path, id: &MessageId) -> Self {
        Self { input: folder.join(format!("{id}.json")), result: result_file(folder, id) }
    }

    pub(super) fn input(&self) -> &Path {
        &self.input
    }

    pub(super) async fn write_input(&self, input: &AgentInput) -> io::Result<()> {
        let bytes = serde_json::to_vec_pretty(input)?;
        write(self.input.clone(), bytes).await
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in [&self.input, &self.result] {
            if let Err(error) = std::fs::remove_file(path)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(path = %path.display(), %error, "a task's file could not be removed");
            }
        }
    }
}

fn result_file(folder: &Path, id: &MessageId) -> PathBuf {
    folder.join(format!("{id}.result.json"))
}

async fn write(path: PathBuf, bytes: Vec<u8>) -> io::Result<()> {
    let work = move || {
        path.parent().map_or(Ok(()), file::private_dir)?;
        file::replace(&path, &bytes)
    };
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// Removes every plain file of a folder, if there is one.
pub(super) async fn clear(folder: PathBuf) -> io::Result<()> {
    let work = move || {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    };
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// What a program is given: the agent's input, and under `facts` all that its own agent would have read elsewhere.
pub(super) async fn input(cx: &Context, agent: &dyn DynAgent, input: &AgentInput) -> Result<AgentInput, agent::Error> {
    Ok(AgentInput { facts: agent.brief(cx, input).await?, ..input.clone() })
}

/// What a result's `raw_data` says of an output of ours: in it, or in a file beside.
pub(super) async fn raw_data(folder: &Path, task: &MessageId, output: &AgentOutput) -> io::Result<Map<String, Value>> {
    let body = serde_json::to_vec(output)?;
    let mut raw = Map::new();
    raw.insert("sha256".to_owned(), hash::sha256(&body).into());
    raw.insert("bytes".to_owned(), body.len().into());
    if body.len() <= MAX_INLINE {
        raw.insert("body".to_owned(), serde_json::to_value(output)?);
    } else {
        let path = result_file(folder, task);
        raw.insert("path".to_owned(), path.display().to_string().into());
        write(path, body).await?;
    }
    Ok(raw)
}

/// The JSON that a result carries, or that the file holds which it names.
pub(super) async fn body(folder: &Path, result: &ResearchResult) -> Result<Value, Unfit> {
    let raw = &result.raw_data;
    if let Some(body) = raw.get("body").filter(|body| !body.is_null()) {
        return Ok(body.clone());
    }
    let unfit = |what: &str| Unfit::Form(vec![what.to_owned()]);
    let word = |name: &str| raw.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(path) = word("path") else {
        return Err(unfit("raw_data: neither `body` nor `path` says what the result is"));
    };
    let Some(digest) = word("sha256") else { return Err(unfit("raw_data.sha256: is missing beside `path`")) };
    let bytes = raw.get("bytes").and_then(Value::as_u64);
    let Some(bytes) = bytes else { return Err(unfit("raw_data.bytes: is missing beside `path`")) };
    let folder = folder.to_owned();
    let work = move || taken(&folder, Path::new(&path), &digest, bytes).map_err(|why| format!("raw_data.path: {why}"));
    match tokio::task::spawn_blocking(work).await {
        Ok(read) => read.map_err(|why| Unfit::Form(vec![why])),
        Err(_) => Err(unfit("raw_data.path: the file could not be read")),
    }
}

/// A file that lies in the folder itself and is what the message says.
fn taken(folder: &Path, path: &Path, digest: &str, bytes: u64) -> Result<Value, String> {
    let shown = text::visible_line(&path.display().to_string());
    let path = folder.join(path);
    let real = |path: &Path| path.canonicalize().map_err(|error| format!("`{shown}` cannot be read: {error}"));
    let inside = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if real(parent)? == real(folder)? => real(parent)?.join(name),
        _ => return Err(format!("`{shown}` does not lie in {}", folder.display())),
    };
    let mut opened = file::open_plain(&inside).map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
    if bytes > MAX_BODY {
        return Err(format!("`{shown}` has {bytes} bytes, more than {MAX_BODY}"));
    }
    let mut content = Vec::new();
    let read = Read::by_ref(&mut opened).take(bytes + 1).read_to_end(&mut content);
    read.map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
    if content.len() as u64 != bytes {
        return Err(format!("`{shown}` does not have the {bytes} bytes that the message tells of"));
    }
    if !hash::sha256(&content).eq_ignore_ascii_case(digest) {
        return Err(format!("`{shown}` is not the file whose digest the message tells"));
    }
    serde_json::from_slice(&content).map_err(|error| format!("`{shown}` is not JSON: {error}"))
}

/// The output that our agent would have made of what a program answered: either a whole output or its document alone.
pub(super) async fn output(
    folder: &Path,
    cx: &Context,
    agent: &dyn DynAgent,
    input: &AgentInput,
    result: &ResearchResult,
) -> Result<AgentOutput, Unfit> {
    let role = agent.role();
    let told = match body(folder, result).await {
        Err(Unfit::Form(_)) if result.status == Completion::Failed && result.raw_data.is_empty() => {
            return Err(Unfit::Agent(agent::Error::Reported(failed(role.name(), &result.key_findings))));
        }
        body => body?,
    };
    let given = if is_output(&told) {
        // Its result may be a document of any agent; which one it has to be is seen by adopting it.
        let faults = Form::of::<AgentOutput>().check(&Value::Object(without_result(&told)));
        let errors: Vec<String> = faults.iter().filter(|fault| fault.is_error()).map(Fault::to_string).collect();
        if !errors.is_empty() {
            return Err(Unfit::Form(errors));
        }
        AgentOutput::deserialize(&told).map_err(|error| Unfit::Form(vec![error.to_string()]))?
    } else {
        AgentOutput {
            agent_name: role.name().to_owned(),
            timestamp: cx.timestamp(),
            status: match result.status {
                Completion::Completed => OutputStatus::Success,
                Completion::Partial => OutputStatus::Partial,
                Completion::Failed => OutputStatus::Failed,
            },
            result: told,
            metadata: OutputMetadata {
                duration_ms: (result.execution_time_minutes.get() * 60_000.0) as u64,
                warnings: (!result.warnings.is_empty()).then(|| result.warnings.clone()),
                ..OutputMetadata::default()
            },
        }
    };
    if agent::Role::parse(&given.agent_name) != Some(role) {
        let named = text::visible_line(&text::truncate_chars(&given.agent_name, 60));
        return Err(Unfit::Form(vec![format!("agentName: is `{named}`, expected `{}`", role.name())]));
    }
    if given.status == OutputStatus::Failed {
        let first = given.metadata.errors.iter().flatten().next().cloned();
        let error = first.unwrap_or_else(|| failed(role.name(), &result.key_findings));
        return Err(Unfit::Agent(agent::Error::Reported(AgentError { agent_name: role.name().to_owned(), ..error })));
    }
    agent.adopt(cx, input, given).await.map_err(|error| match error {
        agent::Error::Input { source, .. } => Unfit::Form(vec![source.to_string()]),
        agent::Error::Invalid { faults, .. } => Unfit::Form(vec![faults]),
        error => Unfit::Agent(error),
    })
}

fn is_output(told: &Value) -> bool {
    ["agentName", "status", "result", "metadata"].iter().all(|name| told.get(name).is_some())
}

/// Everything of an output but its document.
fn without_result(told: &Value) -> Map<String, Value> {
    let mut frame = told.as_object().cloned().unwrap_or_default();
    frame.insert("result".to_owned(), Value::Null);
    // Of a failed one the form asks for no document.
    if frame.get("status").and_then(Value::as_str).is_some_and(|status| ["success", "partial"].contains(&status)) {
        frame.insert("status".to_owned(), "failed".into());
    }
    frame
}

fn failed(agent: &str, why: &[String]) -> AgentError {
    let said = if why.is_empty() { "it did not say why".to_owned() } else { why.join("; ") };
    AgentError {
        message: text::truncate_chars(&text::visible_line(&said), 1000),
        code: "failed".to_owned(),
        agent_name: agent.to_owned(),
        recoverable: false,
    }
}
