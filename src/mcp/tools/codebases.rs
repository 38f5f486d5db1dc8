//! `upload_codebase`, `trigger_review` and `get_results`: the three calls of the HTTP API, as tools.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout_at};

use crate::app::desk::{Review, Said};
use crate::artifact::server::Aggregate;
use crate::domain::{CodebaseId, ReviewId};
use crate::mcp::call::{Answer, Call, Trouble};
use crate::mcp::roots::shown;
use crate::mcp::table::{Effect, Tool};
use crate::stdx::text::count;

pub(in crate::mcp) struct Upload;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct What {
    /// A folder, or a zip, tar or tar.gz archive, below the roots. Give this or `id`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    path: Option<String>,
    /// Of a codebase that was uploaded over HTTP (`POST /upload_codebase`). Give this or `path`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    id: Option<String>,
}

/// A codebase that is there for a day.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Uploaded {
    /// `uploaded`.
    status: &'static str,
    /// What `trigger_review` takes: `cb_` and 32 digits.
    id: String,
}

impl Tool for Upload {
    const NAME: &'static str = "upload_codebase";
    const TITLE: &'static str = "Take in a codebase";
    const ABOUT: &'static str = "Takes a copy of a folder or of an archive below the roots, or names one that was uploaded over HTTP, so that \
        trigger_review can review it as it is now. The copy is kept for a day; over standard input, until the server ends. Links are not \
        followed. For a review that is wanted at once, review_repository takes one call.";
    const EFFECT: Effect = Effect::AddsAgain;
    type Input = What;
    type Output = Uploaded;

    async fn run(input: What, call: &Call) -> Result<Answer, Trouble> {
        let id = match (&input.path, &input.id) {
            (Some(path), None) => {
                let path = call.resolve(Some(path))?;
                let _turn = call.turn().await?;
                call.desk().await?.take(&path).await?.id
            }
            (None, Some(id)) => {
                let id = codebase(id)?;
                if !call.desk().await?.has(&id).await? {
                    return Err(crate::app::desk::Problem::NoCodebase(id).into());
                }
                id
            }
            (None, None) => return Err(Trouble::new("nothing was named: give `path` or `id`")),
            (Some(_), Some(_)) => return Err(Trouble::new("give `path` or `id`, not both")),
        };
        let uploaded = Uploaded { status: "uploaded", id: id.to_string() };
        let text = format!("The codebase is there as {}.", uploaded.id);
        Answer::new(&uploaded, text)
    }
}

fn codebase(id: &str) -> Result<CodebaseId, Trouble> {
    CodebaseId::parse(id).ok_or_else(|| {
        Trouble::new(format!("`{}` is no id of a codebase", shown(id)))
            .hint("upload_codebase answers one: `cb_` and 32 digits")
    })
}

fn review(id: &str) -> Result<ReviewId, Trouble> {
    ReviewId::parse(id).ok_or_else(|| {
        Trouble::new(format!("`{}` is no id of a review", shown(id)))
            .hint("trigger_review answers one: `rv_` and 32 digits")
    })
}

pub(in crate::mcp) struct Trigger;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Of {
    /// Of the codebase, as `upload_codebase` answers it.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

/// A review that was begun.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Triggered {
    /// `review_started`.
    status: &'static str,
    /// What `get_results` takes: `rv_` and 32 digits.
    id: String,
}

impl Tool for Trigger {
    const NAME: &'static str = "trigger_review";
    const TITLE: &'static str = "Review a codebase";
    const ABOUT: &'static str = "Begins the review of a codebase that upload_codebase took in: documentation, debt, improvement and critical agents, in \
        this order. It goes on by itself; get_results tells what came of it.";
    const EFFECT: Effect = Effect::AddsAgain;
    type Input = Of;
    type Output = Triggered;

    async fn run(input: Of, call: &Call) -> Result<Answer, Trouble> {
        let review = call.desk().await?.trigger(&codebase(&input.id)?).await?;
        let triggered = Triggered { status: "review_started", id: review.to_string() };
        let text = format!("The review has begun as {}.", triggered.id);
        Answer::new(&triggered, text)
    }
}

pub(in crate::mcp) struct Results;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Asked {
    /// Of the review, as `trigger_review` answers it.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// Seconds to wait for the end of a review that goes on; 0 answers at once.
    #[serde(default)]
    #[schemars(range(max = 600))]
    wait_seconds: u32,
}

/// What a review came to.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Outcome {
    /// `review_running` or `review_done`.
    status: &'static str,
    id: String,
    /// What the four agents say, once it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<Aggregate>,
}

impl Tool for Results {
    const NAME: &'static str = "get_results";
    const TITLE: &'static str = "Fetch a review";
    const ABOUT: &'static str = "Tells what came of a review that trigger_review began: that it goes on, or one aggregate of documentation, debt, \
        improvement and critical. With wait_seconds it waits for the end and tells progress meanwhile.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Asked;
    type Output = Outcome;

    async fn run(input: Asked, call: &Call) -> Result<Answer, Trouble> {
        let id = review(&input.id)?;
        let desk = call.desk().await?;
        let none = || Trouble::from(crate::app::desk::Problem::NoReview(id.clone()));
        let mut state = desk.result(&id).await?.ok_or_else(none)?;
        if matches!(state, Review::Running) && input.wait_seconds > 0 {
            let until = Instant::now() + Duration::from_secs(input.wait_seconds.into());
            let (mut said, tell) = (desk.watch(&id, 0).await?, call.watch());
            while let Ok(said) = timeout_at(until, said.next()).await {
                match said? {
                    Some(Said::Progress { text, .. }) => tell.say(&text),
                    Some(Said::Ended(end)) => state = end,
                    None => break,
                }
            }
        }
        match state {
            Review::Running => {
                let running = Outcome { status: "review_running", id: id.to_string(), results: None };
                Answer::new(&running, "The review goes on: ask again, or with wait_seconds.")
            }
            Review::Done(aggregate) => {
                let text = format!(
                    "{}, {}, {} of debt, {}.",
                    count(aggregate.critical.len(), "critical issue"),
                    count(aggregate.improvement.len(), "improvement"),
                    count(aggregate.debt.len(), "item"),
                    count(aggregate.documentation.len(), "document"),
                );
                let failed = aggregate
                    .errors
                    .values()
                    .map(|error| format!("\nThe {} agent failed: {}", error.agent_name, error.message));
                let text = text + &failed.collect::<String>();
                Answer::new(&Outcome { status: "review_done", id: id.to_string(), results: Some(*aggregate) }, text)
            }
            Review::Failed(error) => Err(Trouble::new(format!("the review failed: {}", error.message))),
            Review::Cancelled => Err(Trouble::new("the review was cancelled")),
        }
    }
}
