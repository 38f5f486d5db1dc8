//! The documents of a change: `create_proposal`, `create_spec`, `create_tasks`, `create_review`, `list_changes`, `read_change`.
//!
//! They lie in `agentd/changes/<change_id>/` below the first root (S4.6). The room `change` judges the arguments and the order of the
//! calls; nothing is written before both were found right.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::begins;
use crate::artifact::agentd::{CreateProposal, CreateReview, CreateSpec, CreateTasks};
use crate::artifact::form::{closed_input, closed_output};
use crate::change::{self, Changes, Kind, Made};
use crate::domain::Clock;
use crate::mcp::call::{Answer, Call, Trouble};
use crate::mcp::roots::shown;
use crate::mcp::table::{Effect, Judged, Tool};
use crate::stdx::text::count;

/// Characters of documents in one answer.
const LARGEST: usize = 2 << 20;

/// A document that was written, or was there already and said the same.
#[derive(Debug, Serialize, JsonSchema)]
struct Created {
    /// What was done.
    message: String,
    /// The document, from the first root.
    path: String,
    /// False: it said the same already.
    changed: bool,
    /// How far the change is, such as `drafting` or `tasks_generated`.
    phase: String,
    /// What comes next, such as `create_tasks`.
    next: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

macro_rules! create {
    ($kind:expr, $input:ty, $title:literal, $about:literal) => {
        Judged {
            name: match $kind {
                Kind::Proposal => "create_proposal",
                Kind::Spec => "create_spec",
                Kind::Tasks => "create_tasks",
                Kind::Review => "create_review",
            },
            title: $title,
            about: $about,
            // A later call replaces the document of an earlier one.
            effect: Effect::Changes,
            input: closed_input::<$input>,
            output: closed_output::<Created>,
            run: |arguments, call| Box::pin(create($kind, arguments, call)),
        }
    };
}

pub(in crate::mcp) const PROPOSAL: Judged = create!(
    Kind::Proposal,
    CreateProposal,
    "Propose a change",
    "Writes the proposal of a change, and with it the change: what is to be done, why, and its impact. The first of four documents: proposal, \
     specs, tasks, review. A proposal that lists specs under impact.affected_specs has them written next, in the order of their \
     dependencies. Every fault of the arguments is told with its path, and then nothing is written."
);
pub(in crate::mcp) const SPEC: Judged = create!(
    Kind::Spec,
    CreateSpec,
    "Specify a part of a change",
    "Writes one spec of a change: an overview of at least 50 characters, requirements, and scenarios that tell when they are met. The change needs a \
     proposal, and the specs that this one depends on."
);
pub(in crate::mcp) const TASKS: Judged = create!(
    Kind::Tasks,
    CreateTasks,
    "Break a change into tasks",
    "Writes the list of tasks of a change, by layer (data, logic, integration, testing), each with the file it concerns and the spec it serves. The \
     change needs its proposal and every spec that the proposal lists."
);
pub(in crate::mcp) const REVIEW: Judged = create!(
    Kind::Review,
    CreateReview,
    "Review a change",
    "Writes the review of a change as REVIEW.md: a verdict (APPROVED, NEEDS_FIX or MAJOR_ISSUES), a summary, and issues by severity. NEEDS_FIX asks \
     for another round, two at most; MAJOR_ISSUES leaves the change to a person."
);

async fn create(kind: Kind, arguments: Value, call: &Call) -> Result<Answer, Trouble> {
    let root = call.first_root()?.to_owned();
    let work = move || Changes::new(root).create(kind, &arguments, Clock::system().now());
    let Made { message, path, changed, warnings, phase, next } = waited(work).await?;
    let mut text = format!("{} ({path})", message.trim_end_matches('.'));
    for warning in &warnings {
        text.push_str(&format!("\nWarning: {}", shown(warning)));
    }
    text.push_str(&format!("\nThe change is {}; next: {next}.", phase.word()));
    Answer::new(&Created { message, path, changed, phase: phase.word().to_owned(), next, warnings }, text)
}

/// The change's documents wait for the disk, and for other processes.
async fn waited<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, change::Error> + Send + 'static,
) -> Result<T, Trouble> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Trouble::new("the work stopped unexpectedly"))?
        .map_err(Trouble::from)
}

impl From<change::Error> for Trouble {
    fn from(error: change::Error) -> Self {
        match error {
            change::Error::Invalid { faults, .. } => Self::arguments(&faults),
            error => Self::new(crate::stdx::error::chain(&error)),
        }
    }
}

pub(in crate::mcp) struct ListChanges;

fn changes_on_a_page() -> u32 {
    50
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Listing {
    /// Changes on a page.
    #[serde(default = "changes_on_a_page")]
    #[schemars(range(min = 1, max = 500))]
    limit: u32,
    /// `next_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Listed {
    /// All there are, on this page or not.
    total: usize,
    changes: Vec<Summary>,
    /// Give it as `cursor` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// One change in a list.
#[derive(Debug, Serialize, JsonSchema)]
struct Summary {
    id: String,
    /// How far it is, such as `drafting` or `tasks_generated`.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    /// Rounds of mending that reviews asked for.
    iteration: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
    /// The beginning of the proposal's summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Of its review.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Tool for ListChanges {
    const NAME: &'static str = "list_changes";
    const TITLE: &'static str = "List changes";
    const ABOUT: &'static str = "Lists the changes in agentd/changes below the first root: how far each is, what it is for, what its review says.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Listing;
    type Output = Listed;

    async fn run(input: Listing, call: &Call) -> Result<Answer, Trouble> {
        let from = begins(input.cursor.as_deref())?;
        let root = call.first_root()?.to_owned();
        let all = waited(move || Changes::new(root).list()).await?;
        let total = all.len();
        let page = all.into_iter().skip(from).take(input.limit as usize);
        let changes: Vec<Summary> = page
            .map(|one| Summary {
                id: one.id,
                phase: one.phase.map(|phase| phase.word().to_owned()),
                iteration: one.iteration,
                updated_at: one.updated_at,
                summary: one.summary,
                verdict: one.verdict.and_then(|verdict| Some(serde_json::to_value(verdict).ok()?.as_str()?.to_owned())),
                problem: one.problem,
            })
            .collect();
        let mut text =
            if total == 0 { "There are no changes.".to_owned() } else { format!("{}:", count(total, "change")) };
        for one in &changes {
            let said = one.problem.as_deref().or(one.summary.as_deref()).unwrap_or_default();
            text.push_str(&format!(
                "\n- {} ({}): {}",
                one.id,
                one.phase.as_deref().unwrap_or("unreadable"),
                shown(said)
            ));
        }
        let next = from.saturating_add(changes.len());
        let next_cursor = (next < total && !changes.is_empty()).then(|| next.to_string());
        Answer::new(&Listed { total, changes, next_cursor }, text)
    }
}

pub(in crate::mcp) struct ReadChange;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Which {
    /// The change's id.
    #[schemars(length(min = 1, max = 64))]
    change_id: String,
    /// The documents that are wanted, such as `proposal.md`, `specs/login.md`, `tasks.md`, `REVIEW.md`; all of them where none is named.
    #[serde(default)]
    #[schemars(length(max = 300), inner(length(min = 1, max = 200)))]
    documents: Vec<String>,
}

/// A change with its documents.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Read {
    id: String,
    /// Its folder, from the first root.
    path: String,
    phase: String,
    iteration: u32,
    last_action: String,
    created_at: String,
    updated_at: String,
    documents: Vec<Document>,
    /// Documents that are there and were left out: they were not asked for, or are too long for one answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Document {
    /// In the change's folder.
    name: String,
    updated_at: String,
    /// As it stands on the disk, with its frontmatter.
    markdown: String,
}

impl Tool for ReadChange {
    const NAME: &'static str = "read_change";
    const TITLE: &'static str = "Read a change";
    const ABOUT: &'static str =
        "Reads a change: how far it is, and its documents as they stand on the disk (proposal, specs, tasks, review).";
    const EFFECT: Effect = Effect::Reads;
    type Input = Which;
    type Output = Read;

    async fn run(input: Which, call: &Call) -> Result<Answer, Trouble> {
        let root = call.first_root()?.to_owned();
        let id = input.change_id;
        let found = waited(move || Changes::new(root).read(&id)).await?;
        let folder = found.path.trim_end_matches('/').to_owned();
        let name = |path: &str| path.strip_prefix(&folder).unwrap_or(path).trim_start_matches('/').to_owned();
        let mut all: Vec<Document> = Vec::new();
        let mut add = |path: &str, updated_at: &str, markdown: &str| {
            all.push(Document { name: name(path), updated_at: updated_at.to_owned(), markdown: markdown.to_owned() });
        };
        if let Some(one) = &found.proposal {
            add(&one.path, &one.head.updated_at, &one.markdown);
        }
        found.specs.iter().for_each(|one| add(&one.path, &one.head.updated_at, &one.markdown));
        if let Some(one) = &found.tasks {
            add(&one.path, &one.head.updated_at, &one.markdown);
        }
        if let Some(one) = &found.review {
            add(&one.path, &one.head.updated_at, &one.markdown);
        }
        if let Some(missing) = input.documents.iter().find(|wanted| !all.iter().any(|one| one.name == **wanted)) {
            let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
            return Err(Trouble::new(format!("the change has no document `{}`", shown(missing)))
                .hint(format!("it has {}", names.join(", "))));
        }
        let (mut documents, mut left_out, mut length) = (Vec::new(), Vec::new(), 0);
        for one in all {
            let wanted = input.documents.is_empty() || input.documents.contains(&one.name);
            if wanted && length + one.markdown.len() <= LARGEST {
                length += one.markdown.len();
                documents.push(one);
            } else {
                left_out.push(one.name);
            }
        }
        let mut text = format!("{} is {} ({folder})", found.id, found.state.phase.word());
        for one in &documents {
            text.push_str(&format!("\n\n{}:\n\n{}", one.name, one.markdown));
        }
        if !left_out.is_empty() {
            text.push_str(&format!("\n\nLeft out: {}.", left_out.join(", ")));
        }
        let state = found.state;
        let read = Read {
            id: found.id,
            path: folder,
            phase: state.phase.word().to_owned(),
            iteration: state.iteration,
            last_action: state.last_action,
            created_at: state.created_at,
            updated_at: state.updated_at,
            documents,
            left_out,
        };
        Answer::new(&read, text)
    }
}
