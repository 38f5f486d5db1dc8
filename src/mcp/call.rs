//! One call of a tool: what it may ask of its caller, and what it answers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Host;
use crate::app::local::Watch;
use crate::app::{self, Desk, desk};
use crate::artifact::Fault;
use crate::stdx::text::visible_line;

/// Two notices of progress are at least so far apart.
const PACE: Duration = Duration::from_millis(100);
/// Lines of progress that wait to be sent; what is beyond them is not worth waiting for.
const WAITING: usize = 64;

/// What a tool is given beside its arguments.
pub(super) struct Call {
    pub(super) host: Host,
    /// Fired when the caller wants no answer any more.
    pub(super) cancel: CancellationToken,
    progress: Option<Progress>,
}

/// Lines on their way to the caller. None is sent once the call is over.
struct Progress {
    lines: mpsc::Sender<String>,
    sending: JoinHandle<()>,
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.sending.abort();
    }
}

impl Call {
    /// Progress is sent to callers that have asked for it.
    pub(super) fn new(host: Host, context: &RequestContext<RoleServer>) -> Self {
        let progress = context.meta.get_progress_token().map(|token| {
            let (lines, mut said) = mpsc::channel::<String>(WAITING);
            let peer = context.peer.clone();
            let sending = tokio::spawn(async move {
                let mut step = 0_u32;
                while let Some(line) = said.recv().await {
                    step += 1;
                    let notice = ProgressNotificationParam::new(token.clone(), f64::from(step)).with_message(line);
                    // A caller that went away needs no progress.
                    if peer.notify_progress(notice).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(PACE).await;
                }
            });
            Progress { lines, sending }
        });
        Self { host, cancel: context.ct.clone(), progress }
    }

    pub(super) fn watch(&self) -> Watch {
        let lines = self.progress.as_ref().map(|progress| progress.lines.clone());
        Watch::new(self.cancel.clone(), move |line| {
            if let Some(lines) = &lines {
                let _nobody_waits = lines.try_send(line.to_owned());
            }
        })
    }

    /// A turn to work.
    ///
    /// # Errors
    /// The caller went away meanwhile.
    pub(super) async fn turn(&self) -> Result<tokio::sync::SemaphorePermit<'_>, Trouble> {
        let stopped = || Trouble::new("the call was cancelled before it began");
        tokio::select! {
            turn = self.host.0.slots.acquire() => turn.map_err(|_| stopped()),
            () = self.cancel.cancelled() => Err(stopped()),
        }
    }

    /// Where relative paths begin.
    ///
    /// # Errors
    /// No folder may be read.
    pub(super) fn first_root(&self) -> Result<&Path, Trouble> {
        self.host.0.roots.first()
    }

    /// The folder of the server whose runs are shown.
    pub(super) fn state(&self) -> &Path {
        &self.host.0.state
    }

    /// Where codebases come in.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) async fn desk(&self) -> Result<&Desk, Trouble> {
        self.host.desk().await
    }

    pub(super) fn resolve(&self, named: Option<&str>) -> Result<PathBuf, Trouble> {
        self.host.0.roots.resolve(named.unwrap_or("."))
    }

    pub(super) fn repository(&self, named: Option<&str>) -> Result<(PathBuf, Option<PathBuf>), Trouble> {
        self.host.0.roots.repository(named.unwrap_or("."))
    }
}

/// What a tool answers.
pub(super) struct Answer {
    structured: Value,
    /// Markdown for whoever reads along, and for hosts that know no structured content.
    text: String,
}

impl Answer {
    /// # Errors
    /// What is structured cannot be written as JSON, which a test of each tool rules out.
    pub(super) fn new(structured: &impl Serialize, text: impl Into<String>) -> Result<Self, Trouble> {
        let structured = serde_json::to_value(structured).map_err(|error| Trouble::new(error.to_string()))?;
        Ok(Self { structured, text: text.into() })
    }
}

impl From<Answer> for CallToolResult {
    fn from(answer: Answer) -> Self {
        let mut result = Self::success(vec![ContentBlock::text(answer.text)]);
        result.structured_content = Some(answer.structured);
        result
    }
}

/// Why a tool did not do what it was asked: what happened, why, what to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    text: String,
    faults: Vec<String>,
    hint: Option<String>,
}

impl Trouble {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), faults: Vec::new(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Everything that is wrong with a call's arguments.
    pub(super) fn arguments(faults: &[Fault]) -> Self {
        // They quote what was given.
        let fault = |fault: &Fault| visible_line(&fault.to_string().replacen("the document: ", "", 1));
        let faults = faults.iter().map(fault).collect();
        Self { text: "the arguments are not valid; nothing was done".to_owned(), faults, hint: None }
    }

    pub(super) fn text(&self) -> String {
        let mut text = sentence(&self.text);
        for fault in &self.faults {
            text.push_str("\n- ");
            text.push_str(fault);
        }
        if let Some(hint) = &self.hint {
            text.push_str("\n\n");
            text.push_str(&sentence(hint));
        }
        text
    }
}

impl From<desk::Problem> for Trouble {
    fn from(problem: desk::Problem) -> Self {
        let hint = match &problem {
            desk::Problem::NoCodebase(_) => Some("upload it again with upload_codebase".to_owned()),
            desk::Problem::Busy => Some("try again in a moment".to_owned()),
            desk::Problem::Failed(error) => error.hint(),
            _ => None,
        };
        Self { hint, ..Self::new(crate::stdx::error::chain(&problem)) }
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let text: String = first.chain(letters).collect();
    format!("{}.", text.trim_end_matches('.'))
}

impl From<app::Error> for Trouble {
    fn from(error: app::Error) -> Self {
        let hint = error.hint();
        Self { hint, ..Self::new(error.chain()) }
    }
}

impl From<Trouble> for CallToolResult {
    fn from(trouble: Trouble) -> Self {
        Self::error(vec![ContentBlock::text(trouble.text())])
    }
}
