//! The four tools and their order: what each needs to be there, and what the change's state says afterwards.

use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::document::{Document, Head};
use super::folder::{Desk, PROPOSAL, REVIEW, STATE, Shelf, TASKS, Text, spec_name};
use super::review::{self, Review};
use super::state::{Counts, MAX_ITERATIONS, Phase, State};
use super::tasks::{self, TaskList};
use super::{Error, MAX_DOCUMENT, is_id, proposal, spec, standing};
use crate::artifact::agentd::{
    CreateProposal, CreateReview, CreateSpec, CreateTasks, IssueSeverity, MAX_SPECS, Verdict,
};
use crate::artifact::{Fault, Form, Typed};
use crate::domain::Millis;
use crate::stdx::text::{binary_size, iso8601, truncate_chars};

/// One of the four tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Proposal,
    Spec,
    Tasks,
    Review,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Proposal, Self::Spec, Self::Tasks, Self::Review];

    /// The tool's name.
    pub fn tool(self) -> &'static str {
        match self {
            Self::Proposal => "create_proposal",
            Self::Spec => "create_spec",
            Self::Tasks => "create_tasks",
            Self::Review => "create_review",
        }
    }

    /// What it takes.
    pub fn form(self) -> &'static Form {
        match self {
            Self::Proposal => Form::of::<CreateProposal>(),
            Self::Spec => Form::of::<CreateSpec>(),
            Self::Tasks => Form::of::<CreateTasks>(),
            Self::Review => Form::of::<CreateReview>(),
        }
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Made {
    /// What was done, in a sentence.
    pub message: String,
    /// The document, below the root.
    pub path: String,
    /// False: it said the same already, and nothing of it was written.
    pub changed: bool,
    pub warnings: Vec<String>,
    pub phase: Phase,
    /// What comes next, for instance `create_tasks`.
    pub next: String,
}

/// One change in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub id: String,
    pub phase: Option<Phase>,
    pub iteration: u32,
    /// ISO 8601, UTC.
    pub updated_at: Option<String>,
    /// What it is for: the beginning of the proposal's summary.
    pub summary: Option<String>,
    pub verdict: Option<Verdict>,
    /// Why it, or one of its documents, cannot be read.
    pub problem: Option<String>,
}

/// One change with all its documents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    pub id: String,
    /// Below the root.
    pub path: String,
    pub state: State,
    pub proposal: Option<Document<CreateProposal>>,
    /// By their ids.
    pub specs: Vec<Document<CreateSpec>>,
    pub tasks: Option<Document<TaskList>>,
    pub review: Option<Document<Review>>,
}

/// The changes below one root. Every method waits for the disk, and for other processes that hold the folder.
#[derive(Debug, Clone)]
pub struct Changes {
    root: PathBuf,
}

/// What is the same for every tool.
struct Call {
    kind: Kind,
    now: String,
    warnings: Vec<String>,
}

impl Changes {
    /// `root` is the folder that holds `agentd/changes`, or will. It has to be there before something is written.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Does what one of the tools is asked for. Repeated, it changes nothing.
    ///
    /// # Errors
    /// The input does not have its form, the call is not at its turn, a document in the way cannot be read, or the disk's.
    /// Nothing of the call was written then, but for a disk that failed in the middle; the same call mends that.
    pub fn create(&self, kind: Kind, input: &Value, now: Millis) -> Result<Made, Error> {
        let mut call = Call { kind, now: iso8601(now), warnings: Vec::new() };
        match kind {
            Kind::Proposal => self.proposal(proposal::normalize(call.read(input)?), call),
            Kind::Spec => self.spec(spec::normalize(call.read(input)?), call),
            Kind::Tasks => self.tasks(tasks::normalize(call.read(input)?), call),
            Kind::Review => self.review(review::normalize(call.read(input)?), call),
        }
    }

    /// Every change, by its id. One that cannot be read is listed with the reason.
    ///
    /// # Errors
    /// The folder's: a link or a file in its place, or the disk's.
    pub fn list(&self) -> Result<Vec<Summary>, Error> {
        let Some(shelf) = Shelf::open(&self.root, false)? else { return Ok(Vec::new()) };
        let ids = shelf.names()?.into_iter().filter(|name| is_id(name));
        Ok(ids.map(|id| standing::summary(&shelf, id)).collect())
    }

    /// One change.
    ///
    /// # Errors
    /// There is none of that id, or one of its documents cannot be read.
    pub fn read(&self, id: &str) -> Result<Change, Error> {
        let unknown = || Error::Unknown { id: truncate_chars(&crate::stdx::text::visible_line(id), 100) };
        if !is_id(id) {
            return Err(unknown());
        }
        let shelf = Shelf::open(&self.root, false)?.ok_or_else(unknown)?;
        let desk = shelf.change(id)?.ok_or_else(unknown)?;
        Ok(Change {
            id: id.to_owned(),
            path: desk.path(""),
            proposal: desk.proposal()?,
            specs: desk.specs.keys().filter_map(|id| desk.spec(id).transpose()).collect::<Result<_, _>>()?,
            tasks: desk.tasks()?,
            review: desk.review()?,
            state: desk.state_now()?,
        })
    }

    /// The change, which has to have a proposal.
    fn proposed(&self, id: &str, call: &Call) -> Result<(Shelf, Desk, Document<CreateProposal>), Error> {
        let unknown = || Error::Unknown { id: id.to_owned() };
        let shelf = Shelf::open(&self.root, true)?.ok_or_else(unknown)?;
        let desk = shelf.change(id)?.ok_or_else(unknown)?;
        match desk.proposal()? {
            Some(proposal) => Ok((shelf, desk, proposal)),
            None => Err(call.early(id, "it has no proposal".to_owned(), "create_proposal")),
        }
    }

    fn proposal(&self, input: CreateProposal, mut call: Call) -> Result<Made, Error> {
        // Written for its size alone: whether there is something to revise is not known yet.
        call.sized(&proposal::write(&input, &call.head(None))?)?;
        let shelf = Shelf::make(&self.root)?;
        let mut desk = match shelf.change(&input.change_id)? {
            Some(desk) => desk,
            None => shelf.make_change(&input.change_id)?,
        };
        let old = match desk.proposal() {
            Err(error @ Error::Unreadable { .. }) => {
                call.warnings.push(format!("{error}: it was written over"));
                None
            }
            old => old?,
        };
        if old.as_ref().is_some_and(|old| old.content == input) {
            return call.settle(desk, PROPOSAL, None, None);
        }
        call.before_tasks(&desk, "the proposal")?;
        let unlisted = desk.specs.keys().filter(|id| !input.impact.affected_specs.iter().any(|spec| spec.id == **id));
        let unlisted: Vec<&str> = unlisted.map(String::as_str).collect();
        if !unlisted.is_empty() && !input.impact.affected_specs.is_empty() {
            let message = format!("specs that the proposal does not list stay where they are: {}", unlisted.join(", "));
            call.warnings.push(message);
        }
        let text = Text::new(PROPOSAL, proposal::write(&input, &call.head(old.as_ref().map(|old| &old.head)))?);
        desk.proposal = Some(text.clone());
        call.settle(desk, &text.name, Some(&text.text), None)
    }

    fn spec(&self, input: CreateSpec, mut call: Call) -> Result<Made, Error> {
        call.sized(&spec::write(&input, &call.head(None))?)?;
        let (_shelf, mut desk, proposal) = self.proposed(&input.change_id, &call)?;
        let (id, name) = (input.spec_id.clone(), spec_name(&input.spec_id));
        let old = match desk.spec(&id) {
            Err(error @ Error::Unreadable { .. }) => {
                call.warnings.push(format!("{error}: it was written over"));
                None
            }
            old => old?,
        };
        if old.as_ref().is_some_and(|old| old.content == input) {
            return call.settle(desk, &name, None, None);
        }
        call.before_tasks(&desk, "a spec")?;
        let listed = &proposal.content.impact.affected_specs;
        match listed.iter().find(|spec| spec.id == id) {
            Some(spec) => {
                if let Some(missing) = spec.depends.iter().find(|id| !desk.has_spec(id)) {
                    let reason = format!("spec `{id}` builds on `{missing}`, which is missing or cannot be read");
                    return Err(call.early(&desk.id, reason, &format!("create_spec for `{missing}`")));
                }
            }
            None if listed.is_empty() => {}
            None => {
                let reason = format!("the proposal does not list the spec `{id}`");
                return Err(call.early(&desk.id, reason, "create_proposal with that spec, or a spec that it lists"));
            }
        }
        if old.is_none() && !desk.specs.contains_key(&id) && desk.specs.len() >= MAX_SPECS {
            let message = format!("is one more spec than the {MAX_SPECS} that a change may have");
            return Err(call.refused(vec![Fault::error("spec_id".to_owned(), message)]));
        }
        let text = Text::new(&name, spec::write(&input, &call.head(old.as_ref().map(|old| &old.head)))?);
        desk.specs.insert(id, text.clone());
        call.settle(desk, &text.name, Some(&text.text), None)
    }

    fn tasks(&self, input: CreateTasks, mut call: Call) -> Result<Made, Error> {
        call.sized(&tasks::write(&tasks::revised(input.clone(), None), &call.head(None))?)?;
        let (_shelf, mut desk, proposal) = self.proposed(&input.change_id, &call)?;
        let old = match desk.tasks() {
            Err(error @ Error::Unreadable { .. }) => {
                call.warnings.push(format!("{error}: it was written over"));
                None
            }
            old => old?,
        };
        if let Some(next) = desk.next_spec(&proposal.content) {
            let listed = proposal.content.impact.affected_specs.iter().map(|spec| spec.id.as_str());
            let missing: Vec<&str> = listed.filter(|id| !desk.has_spec(id)).collect();
            let reason = format!("specs that the proposal lists are missing or cannot be read: {}", missing.join(", "));
            return Err(call.early(&desk.id, reason, &format!("create_spec for `{next}`")));
        }
        let mut specs = Vec::new();
        for id in desk.specs.keys() {
            specs.extend(desk.spec(id)?);
        }
        let faults = dangling(&input, &specs);
        if !faults.is_empty() {
            return Err(call.refused(faults));
        }
        if old.as_ref().is_some_and(|old| old.content.list == input) {
            return call.settle(desk, TASKS, None, None);
        }
        call.open(&desk)?;
        let list = tasks::revised(input, old.as_ref().map(|old| &old.content));
        let text = Text::new(TASKS, tasks::write(&list, &call.head(old.as_ref().map(|old| &old.head)))?);
        desk.tasks = Some(text.clone());
        call.settle(desk, &text.name, Some(&text.text), None)
    }

    fn review(&self, input: CreateReview, mut call: Call) -> Result<Made, Error> {
        call.sized(&review::write(&Review { review: input.clone(), iteration: 0 }, &call.head(None))?)?;
        let (_shelf, mut desk, _) = self.proposed(&input.change_id, &call)?;
        let old = match desk.review() {
            Err(error @ Error::Unreadable { .. }) => {
                call.warnings.push(format!("{error}: it was written over"));
                None
            }
            old => old?,
        };
        if let Some(old) = old.as_ref().filter(|old| old.content.review == input) {
            let review = old.content.clone();
            return call.settle(desk, REVIEW, None, Some(review));
        }
        let begun = desk.state.as_ref().map_or(0, |state| state.iteration);
        let begun = begun.max(old.as_ref().map_or(0, |old| old.content.iteration));
        let iteration = match input.verdict {
            Verdict::NeedsFix if begun >= MAX_ITERATIONS => {
                call.warnings.push(format!("{MAX_ITERATIONS} rounds of mending did not do: a person has to decide"));
                begun
            }
            Verdict::NeedsFix => begun + 1,
            Verdict::Approved | Verdict::MajorIssues => begun,
        };
        let review = Review { review: input, iteration };
        let text = Text::new(REVIEW, review::write(&review, &call.head(old.as_ref().map(|old| &old.head)))?);
        desk.review = Some(text.clone());
        call.settle(desk, REVIEW, Some(&text.text), Some(review))
    }
}

/// What tasks say of specs that are not there.
fn dangling(input: &CreateTasks, specs: &[Document<CreateSpec>]) -> Vec<Fault> {
    let fault = |at: usize, message: String| Fault::error(format!("tasks[{at}].spec_ref"), message);
    let mut faults = Vec::new();
    for (at, said) in input.tasks.iter().enumerate().filter_map(|(at, task)| Some((at, task.spec_ref.as_ref()?))) {
        let (id, requirement) = said.split_once(':').map_or((said.as_str(), None), |(id, of)| (id, Some(of)));
        match (specs.iter().find(|spec| spec.content.spec_id == id), requirement) {
            (None, _) => faults.push(fault(at, format!("is `{said}`, but there is no spec `{id}`"))),
            (Some(spec), Some(named)) if !spec.content.requirements.iter().any(|one| one.id == named) => {
                faults.push(fault(at, format!("is `{said}`, but that spec has no requirement `{named}`")));
            }
            (Some(_), _) => {}
        }
    }
    faults
}

impl Call {
    /// The input, whole and valid. What can be told without looking at the disk is told here.
    fn read<T: Typed + DeserializeOwned>(&mut self, input: &Value) -> Result<T, Error> {
        self.sized(&input.to_string())?;
        let (faults, warnings): (Vec<_>, Vec<_>) =
            Form::of::<T>().check_own(input).into_iter().partition(Fault::is_error);
        self.warnings.extend(warnings.iter().map(ToString::to_string));
        if !faults.is_empty() {
            return Err(self.refused(faults));
        }
        T::deserialize(input).map_err(|error| self.refused(vec![Fault::error(String::new(), error.to_string())]))
    }

    fn refused(&self, faults: Vec<Fault>) -> Error {
        Error::Invalid { tool: self.kind.tool(), faults }
    }

    fn early(&self, change: &str, reason: String, next: &str) -> Error {
        Error::Sequence { tool: self.kind.tool(), change: change.to_owned(), reason, next: next.to_owned() }
    }

    fn sized(&self, text: &str) -> Result<(), Error> {
        if text.len() <= MAX_DOCUMENT {
            return Ok(());
        }
        let most = binary_size(MAX_DOCUMENT as u64);
        let message =
            format!("comes to {}, more than {most}: make several changes of it", binary_size(text.len() as u64));
        Err(self.refused(vec![Fault::error(String::new(), message)]))
    }

    /// The head of a document that replaces another one.
    fn head(&self, old: Option<&Head>) -> Head {
        let created_at = old.map(|old| old.created_at.clone()).filter(|at| !at.is_empty());
        Head {
            version: old.map_or(1, |old| old.version.saturating_add(1)),
            created_at: created_at.unwrap_or_else(|| self.now.clone()),
            updated_at: self.now.clone(),
        }
    }

    /// A change that is done or stopped takes no plans any more.
    fn open(&self, desk: &Desk) -> Result<(), Error> {
        match desk.state.as_ref().map(|state| state.phase).filter(|phase| phase.is_closed()) {
            None => Ok(()),
            Some(phase) => {
                let reason = format!("the change is `{}`", phase.word());
                Err(self.early(&desk.id, reason, "create_proposal of another change, or create_review of this one"))
            }
        }
    }

    fn before_tasks(&self, desk: &Desk, what: &str) -> Result<(), Error> {
        self.open(desk)?;
        match desk.tasks {
            None => Ok(()),
            Some(_) => {
                let reason = format!("{what} is not revised once tasks were made of it");
                let path = desk.path(TASKS);
                Err(self.early(&desk.id, reason, &format!("remove `{path}` to plan anew, or do the tasks")))
            }
        }
    }

    /// Writes the document where it is to change, then what the state says with it. Cut off in between, the same call finds the
    /// document as it should be, and mends the state.
    fn settle(self, desk: Desk, name: &str, text: Option<&str>, review: Option<Review>) -> Result<Made, Error> {
        // Heads and words of progress may have grown since its size was looked at first.
        text.map_or(Ok(()), |text| self.sized(text))?;
        let path = desk.path(name);
        let mut state = desk.state_now()?;
        let mut warnings = self.warnings;
        // A verdict that the state knows of has had its effect.
        let known =
            |state: &State, text: &Text| state.checksums.get(REVIEW).is_some_and(|known| known.hash == text.hash);
        let told = desk.state.as_ref().zip(desk.review.as_ref()).is_some_and(|(state, text)| known(state, text));
        if let Some(Review { review, iteration }) = review.as_ref().filter(|_| !told) {
            state.iteration = state.iteration.max(*iteration);
            state.phase = match (review.verdict, state.phase) {
                (_, phase @ (Phase::Merging | Phase::Archived)) => phase,
                (_, phase) if desk.tasks.is_none() => {
                    warnings.push(format!("there are no tasks yet: the change stays `{}`", phase.word()));
                    phase
                }
                (Verdict::Approved, _) => Phase::Implemented,
                (Verdict::NeedsFix, _) => Phase::Implementing,
                (Verdict::MajorIssues, _) => Phase::Rejected,
            };
        }
        desk.checksums(&mut state, &self.now);
        let settled = desk.state.as_ref().is_some_and(|before| {
            before.phase == state.phase && before.iteration == state.iteration && before.checksums == state.checksums
        });
        if let Some(text) = text {
            desk.write(name, text)?;
        }
        if text.is_some() || !settled {
            let counts = |severity| review.as_ref().map_or(0, |made| review::how_many(&made.review, severity));
            let low = if review.is_some() { counts(IssueSeverity::Low) } else { warnings.len() };
            let result =
                Counts { valid: true, high: counts(IssueSeverity::High), medium: counts(IssueSeverity::Medium), low };
            state.validated(self.kind.tool(), &self.now, result);
            state.last_action = format!("{} {name}", self.kind.tool());
            state.updated_at.clone_from(&self.now);
            desk.write(STATE, &state.write()?)?;
        }
        let changed = text.is_some();
        let message = if changed { format!("Written: {path}.") } else { format!("Unchanged: {path} says so already.") };
        Ok(Made { message, path, changed, warnings, phase: state.phase, next: desk.next(&state)? })
    }
}
