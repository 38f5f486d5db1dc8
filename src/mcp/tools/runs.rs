//! `run_status` and `cancel_run`: the runs of the server's state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::begins;
use crate::app::runs::{self, Archive, Cancelled, Detail, Run, RunFilter};
use crate::domain::Millis;
use crate::mcp::call::{Answer, Call, Trouble};
use crate::mcp::roots::shown;
use crate::mcp::table::{Effect, Tool};
use crate::stdx::text::{count, iso8601};

/// Lines of progress in an answer: the last ones.
const LINES: usize = 50;

pub(in crate::mcp) struct RunStatus;

fn runs_on_a_page() -> u32 {
    20
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// A run's id, the beginning of one, or `latest`; the newest runs are listed where none is named.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    run: Option<String>,
    /// Runs on a page of the list.
    #[serde(default = "runs_on_a_page")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
    /// `next_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

/// One run, or a page of them.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Status {
    /// Newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: Vec<Listed>,
    /// Give it as `cursor` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Shown>,
}

/// A run in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Listed {
    pub(in crate::mcp) id: String,
    /// The flow, such as `review` or `contribute`.
    kind: String,
    /// `owner/name`.
    repository: String,
    /// Of the pull request or issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    /// `running`, `finished`, `failed` or `cancelled`.
    state: String,
    /// What it came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
}

/// A run with what it left.
#[derive(Debug, Serialize, JsonSchema)]
struct Shown {
    #[serde(flatten)]
    run: Listed,
    steps: Vec<Step>,
    /// The last lines that it said.
    progress: Vec<String>,
    /// Its documents: read them as resources, `octoswarm://runs/<id>/<file>`.
    documents: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Step {
    agent: String,
    /// `running`, `done`, `failed`, `skipped` or `cancelled`.
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    milliseconds: Option<Millis>,
}

impl From<&Run> for Listed {
    fn from(run: &Run) -> Self {
        let outcome = run.outcome.as_ref().and_then(|outcome| outcome.get("outcome")?.as_str().map(str::to_owned));
        Self {
            id: run.id.to_string(),
            kind: run.kind.clone(),
            repository: run.repo.to_string(),
            number: run.number.map(|number| number.0),
            state: run.state.as_str().to_owned(),
            outcome,
            detail: run.detail.clone(),
            started_at: iso8601(run.started_at),
            finished_at: run.finished_at.map(iso8601),
        }
    }
}

impl Listed {
    pub(in crate::mcp) fn text(&self) -> String {
        let number = self.number.map(|number| format!("#{number}")).unwrap_or_default();
        let what = self
            .outcome
            .as_deref()
            .or(self.detail.as_deref())
            .map(|text| format!(": {}", shown(text)))
            .unwrap_or_default();
        format!(
            "{} {} of {}{number} {}{what} (began {})",
            self.id,
            self.kind,
            shown(&self.repository),
            self.state,
            self.started_at
        )
    }
}

/// The runs that are kept.
///
/// # Errors
/// There is no state, or it cannot be read.
pub(in crate::mcp) async fn archive(call: &Call) -> Result<Archive, Trouble> {
    Ok(Archive::open(call.state()).await?)
}

/// A run with all that is kept of it.
///
/// # Errors
/// There is none, or it cannot be read.
pub(in crate::mcp) async fn detail(call: &Call, typed: &str) -> Result<Detail, Trouble> {
    let archive = archive(call).await?;
    let run = archive.find(typed).await?;
    Ok(archive.detail(run, None).await?)
}

impl Tool for RunStatus {
    const NAME: &'static str = "run_status";
    const TITLE: &'static str = "Look at runs";
    const ABOUT: &'static str = "Lists what the octoswarm server of this machine is doing and did (reviews, contributions, plans), newest first, or \
        shows one run: its steps, what it said, its documents.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Status;

    async fn run(input: Input, call: &Call) -> Result<Answer, Trouble> {
        if let Some(typed) = &input.run {
            let detail = detail(call, typed).await?;
            let listed = Listed::from(&detail.run);
            let steps: Vec<Step> = detail
                .steps
                .iter()
                .map(|step| Step {
                    agent: step.name.clone(),
                    state: step.state.as_str().to_owned(),
                    detail: step.detail.clone(),
                    milliseconds: step.finished_at.map(|end| end.saturating_sub(step.started_at)),
                })
                .collect();
            let said = detail.progress.len().saturating_sub(LINES);
            let progress: Vec<String> = detail.progress.into_iter().skip(said).map(|line| line.text).collect();
            let documents: Vec<String> = detail.documents.into_iter().map(|document| document.file).collect();
            let mut text = format!("{}\n", listed.text());
            steps.iter().for_each(|step| text.push_str(&format!("\n- {}: {}", step.agent, step.state)));
            progress.iter().for_each(|line| text.push_str(&format!("\n> {}", shown(line))));
            let run = Some(Shown { run: listed, steps, progress, documents });
            return Answer::new(&Status { runs: Vec::new(), next_cursor: None, run }, text);
        }
        let from = begins(input.cursor.as_deref())?;
        let most = input.limit as usize;
        let archive = archive(call).await?;
        let mut rows = archive.list(&RunFilter::default(), from.saturating_add(most).saturating_add(1)).await?;
        let more = rows.len() > from.saturating_add(most);
        rows.truncate(from.saturating_add(most));
        let runs: Vec<Listed> = rows.iter().skip(from).map(Listed::from).collect();
        let mut text =
            if runs.is_empty() { "There are no runs.".to_owned() } else { format!("{}:", count(runs.len(), "run")) };
        runs.iter().for_each(|run| text.push_str(&format!("\n- {}", run.text())));
        let next_cursor = more.then(|| (from + most).to_string());
        Answer::new(&Status { runs, next_cursor, run: None }, text)
    }
}

pub(in crate::mcp) struct CancelRun;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Which {
    /// The run's id, or the beginning of one.
    #[schemars(length(min = 4, max = 64))]
    run: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Stopped {
    /// The run's whole id.
    run: String,
    /// `asked`: it stops within seconds, or when a server starts again; `gone`: nothing of it had begun; `already`: it was asked
    /// before; `over`: there is nothing to cancel.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Tool for CancelRun {
    const NAME: &'static str = "cancel_run";
    const TITLE: &'static str = "Cancel a run";
    const ABOUT: &'static str = "Asks a run of the octoswarm server to stop, durably. What it has posted stays.";
    const EFFECT: Effect = Effect::Changes;
    type Input = Which;
    type Output = Stopped;

    async fn run(input: Which, call: &Call) -> Result<Answer, Trouble> {
        let (run, outcome, why, text) = match runs::cancel(call.state(), &input.run).await? {
            Cancelled::Asked { run, served: true, .. } => {
                (run, "asked", None, "It was asked to stop, and does so within seconds.")
            }
            Cancelled::Asked { run, .. } => (
                run,
                "asked",
                None,
                "It was asked to stop; no server is running, so that takes effect at the next start.",
            ),
            Cancelled::Gone { run, .. } => (run, "gone", None, "It is cancelled: nothing of it had begun."),
            Cancelled::Already { run, .. } => (run, "already", None, "It was asked to stop before."),
            Cancelled::Over { run, why } => (run, "over", Some(why), "There is nothing to cancel."),
        };
        let text = match &why {
            Some(why) => format!("{text} {}.", shown(why)),
            None => text.to_owned(),
        };
        Answer::new(&Stopped { run: run.id.to_string(), outcome, why }, text)
    }
}
