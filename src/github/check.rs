//! Check runs of a commit.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::Error;
use super::{Repo, endpoint};
use crate::domain::{Millis, Sha};

/// GitHub takes no more in one request; further ones are appended by updates.
pub const ANNOTATIONS_PER_REQUEST: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckRunId(pub u64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRun {
    pub id: CheckRunId,
    pub name: String,
    pub external_id: Option<String>,
    pub status: CheckStatus,
    /// As GitHub spells it, absent until completed.
    pub conclusion: Option<String>,
    pub app_id: Option<u64>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: usize,
}

/// The newest run of one name and App on a commit, whoever's it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnyCheck {
    /// As its App chose it.
    pub name: String,
    pub app_id: Option<u64>,
    pub status: CheckStatus,
    /// As GitHub spells it, absent until completed.
    pub conclusion: Option<String>,
    pub completed_at: Option<Millis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Queued,
    InProgress,
    Completed,
    /// `waiting`, `requested`, `pending`: only GitHub Actions sets these.
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    Success,
    Failure,
    Neutral,
    ActionRequired,
    Cancelled,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewCheckRun {
    pub name: String,
    pub head_sha: Sha,
    pub external_id: String,
    pub status: CheckStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckRunUpdate {
    pub status: CheckStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Conclusion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

/// Title, summary and text replace what was there; annotations are appended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Output {
    pub title: String,
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// At most [`ANNOTATIONS_PER_REQUEST`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<Annotation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    pub annotation_level: AnnotationLevel,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnnotationLevel {
    Notice,
    Warning,
    Failure,
}

#[derive(Deserialize)]
struct CheckRunsWire {
    check_runs: Vec<CheckRunWire>,
}

#[derive(Deserialize)]
struct CheckRunWire {
    id: CheckRunId,
    name: String,
    external_id: Option<String>,
    status: CheckStatus,
    conclusion: Option<String>,
    app: Option<AppWire>,
    output: Option<OutputWire>,
    completed_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct AppWire {
    id: u64,
}

#[derive(Deserialize)]
struct OutputWire {
    title: Option<String>,
    summary: Option<String>,
    text: Option<String>,
    #[serde(default)]
    annotations_count: usize,
}

impl From<CheckRunWire> for AnyCheck {
    fn from(wire: CheckRunWire) -> Self {
        Self {
            name: wire.name,
            app_id: wire.app.map(|app| app.id),
            status: wire.status,
            conclusion: wire.conclusion,
            completed_at: wire.completed_at.map(|at| at.timestamp_millis()),
        }
    }
}

impl From<CheckRunWire> for CheckRun {
    fn from(wire: CheckRunWire) -> Self {
        let output = wire.output.unwrap_or(OutputWire { title: None, summary: None, text: None, annotations_count: 0 });
        Self {
            id: wire.id,
            name: wire.name,
            external_id: wire.external_id,
            status: wire.status,
            conclusion: wire.conclusion,
            app_id: wire.app.map(|app| app.id),
            title: output.title,
            summary: output.summary,
            text: output.text,
            annotations: output.annotations_count,
        }
    }
}

impl Repo {
    /// This App's check runs of that name on the commit, older attempts too.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn check_runs(&self, head: &Sha, app_id: u64, name: &str) -> Result<Vec<CheckRun>, Error> {
        let call = self
            .call(&endpoint::LIST_CHECK_RUNS, &[head.as_str()])
            .query("check_name", name)
            .query("app_id", &app_id.to_string())
            .query("filter", "all");
        let runs: Vec<CheckRun> =
            self.all(call, |page: CheckRunsWire| page.check_runs.into_iter().map(CheckRun::from).collect()).await?;
        // A server that ignores a filter must not make us take somebody else's run for ours.
        Ok(runs.into_iter().filter(|run| run.app_id == Some(app_id) && run.name == name).collect())
    }

    /// The newest check run of each name and App on the commit. Commit statuses, which older services write, are none.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn all_checks(&self, head: &Sha) -> Result<Vec<AnyCheck>, Error> {
        let call = self.call(&endpoint::LIST_CHECK_RUNS, &[head.as_str()]).query("filter", "latest");
        self.all(call, |page: CheckRunsWire| page.check_runs.into_iter().map(AnyCheck::from).collect()).await
    }

    /// # Errors
    /// As [`Error`] says.
    pub async fn annotations(&self, run: CheckRunId) -> Result<Vec<Annotation>, Error> {
        let call = self.call(&endpoint::LIST_ANNOTATIONS, &[&run.0.to_string()]);
        self.all(call, |page: Vec<Annotation>| page).await
    }

    /// Sent once; after an error that leaves its fate open, look before calling again.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn create_check_run(&self, run: &NewCheckRun) -> Result<CheckRun, Error> {
        let call = self.call(&endpoint::CREATE_CHECK_RUN, &[]).body(json!(run));
        self.json::<CheckRunWire>(&call).await.map(CheckRun::from)
    }

    /// # Errors
    /// As [`Error`] says.
    pub async fn update_check_run(&self, run: CheckRunId, update: &CheckRunUpdate) -> Result<CheckRun, Error> {
        let body: Value = json!(update);
        let call = self.call(&endpoint::UPDATE_CHECK_RUN, &[&run.0.to_string()]).body(body);
        self.json::<CheckRunWire>(&call).await.map(CheckRun::from)
    }
}
