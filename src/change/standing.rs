//! A change as its documents are now: what they say, whether they are valid, and how far the change is.

use super::document::{Document, Head};
use super::engine::Summary;
use super::folder::{Desk, PROPOSAL, REVIEW, Shelf, TASKS, Text};
use super::review::{self, Review};
use super::state::{Checksum, Phase, State};
use super::tasks::{self, TaskList};
use super::{Error, proposal, spec};
use crate::artifact::Fault;
use crate::artifact::agentd::{CreateProposal, CreateSpec};
use crate::stdx::text::truncate_chars;

/// Characters of a summary in a list.
const SHOWN: usize = 200;

impl Desk {
    fn parsed<T>(
        &self,
        text: Option<&Text>,
        read: impl Fn(&str) -> Result<(T, Head), Vec<Fault>>,
    ) -> Result<Option<Document<T>>, Error> {
        let Some(text) = text else { return Ok(None) };
        let path = self.path(&text.name);
        match read(&text.text) {
            Ok((content, head)) => Ok(Some(Document { path, head, content, markdown: text.text.clone() })),
            Err(faults) => Err(Error::Unreadable { path, faults }),
        }
    }

    pub(super) fn proposal(&self) -> Result<Option<Document<CreateProposal>>, Error> {
        self.parsed(self.proposal.as_ref(), |text| proposal::read(text, &self.id))
    }

    pub(super) fn spec(&self, id: &str) -> Result<Option<Document<CreateSpec>>, Error> {
        self.parsed(self.specs.get(id), |text| spec::read(text, &self.id, id))
    }

    pub(super) fn tasks(&self) -> Result<Option<Document<TaskList>>, Error> {
        self.parsed(self.tasks.as_ref(), |text| tasks::read(text, &self.id))
    }

    pub(super) fn review(&self) -> Result<Option<Document<Review>>, Error> {
        self.parsed(self.review.as_ref(), |text| review::read(text, &self.id))
    }

    /// Whether a document is as it was when it was found valid, or is valid as it is now.
    fn is_valid(&self, text: &Text) -> bool {
        let known = self.state.as_ref().and_then(|state| state.checksums.get(&text.name));
        known.is_some_and(|known| known.hash == text.hash)
            || match text.name.as_str() {
                PROPOSAL => proposal::read(&text.text, &self.id).is_ok(),
                TASKS => tasks::read(&text.text, &self.id).is_ok(),
                REVIEW => review::read(&text.text, &self.id).is_ok(),
                _ => self
                    .specs
                    .iter()
                    .any(|(id, spec)| spec.name == text.name && spec::read(&text.text, &self.id, id).is_ok()),
            }
    }

    pub(super) fn has_spec(&self, id: &str) -> bool {
        self.specs.get(id).is_some_and(|text| self.is_valid(text))
    }

    /// The spec to be written next: one that is missing and builds on none that is.
    pub(super) fn next_spec(&self, proposal: &CreateProposal) -> Option<String> {
        let mut missing = proposal.impact.affected_specs.iter().filter(|spec| !self.has_spec(&spec.id));
        missing.find(|spec| spec.depends.iter().all(|id| self.has_spec(id))).map(|spec| spec.id.clone())
    }

    /// What the state says, or would say without its file: the documents that are there decide up to the tasks.
    pub(super) fn state_now(&self) -> Result<State, Error> {
        let Some(proposal) = self.proposal()? else {
            let fresh = || State::new(&self.id, "");
            return Ok(self.state.clone().unwrap_or_else(fresh));
        };
        let mut state = self.state.clone().unwrap_or_else(|| State::new(&self.id, &proposal.head.created_at));
        let tasks = self.tasks.as_ref().is_some_and(|text| self.is_valid(text));
        let documented = match () {
            () if tasks => Phase::TasksGenerated,
            () if self.next_spec(&proposal.content).is_none() => Phase::SpecsGenerated,
            () => Phase::Drafting,
        };
        if !state.phase.is_closed() {
            state.phase = if tasks { state.phase.max(documented) } else { documented };
        }
        Ok(state)
    }

    /// Notes every document as it is now, where it is valid.
    pub(super) fn checksums(&self, state: &mut State, now: &str) {
        let mut noted = std::mem::take(&mut state.checksums);
        for text in self.texts() {
            let known = noted.remove(&text.name).filter(|known| known.hash == text.hash);
            let fresh = || Checksum { hash: text.hash.clone(), validated_at: now.to_owned() };
            if known.is_some() || self.is_valid(text) {
                state.checksums.insert(text.name.clone(), known.unwrap_or_else(fresh));
            }
        }
    }

    pub(super) fn next(&self, state: &State) -> Result<String, Error> {
        Ok(match state.phase {
            Phase::Clarifying => "create_proposal".to_owned(),
            Phase::Drafting => {
                let proposal = self.proposal()?;
                let spec = proposal.and_then(|proposal| self.next_spec(&proposal.content));
                spec.map_or_else(|| "create_tasks".to_owned(), |id| format!("create_spec for `{id}`"))
            }
            Phase::SpecsGenerated => "create_tasks".to_owned(),
            Phase::TasksGenerated | Phase::Planned | Phase::Testing | Phase::CodeReviewing => {
                "do the tasks, then create_review".to_owned()
            }
            Phase::Implementing if state.iteration == 0 => "do the tasks, then create_review".to_owned(),
            Phase::Implementing => "mend what the review names, then create_review".to_owned(),
            Phase::Implemented | Phase::Merging | Phase::Archived => "nothing: the change is done".to_owned(),
            Phase::Rejected => "a person decides; create_review tells what came of it".to_owned(),
        })
    }
}

/// One change as a list tells of it.
pub(super) fn summary(shelf: &Shelf, id: String) -> Summary {
    let read = || -> Result<Summary, Error> {
        let desk = shelf.change(&id)?.ok_or_else(|| Error::Unknown { id: id.clone() })?;
        let state = desk.state_now()?;
        let proposal = desk.proposal()?;
        let problem = proposal.is_none().then(|| "it has no proposal".to_owned());
        Ok(Summary {
            id: id.clone(),
            phase: proposal.as_ref().map(|_| state.phase),
            iteration: state.iteration,
            updated_at: Some(state.updated_at).filter(|at| !at.is_empty()),
            summary: proposal.map(|proposal| truncate_chars(&proposal.content.summary, SHOWN)),
            verdict: desk.review()?.map(|review| review.content.review.verdict),
            problem,
        })
    };
    read().unwrap_or_else(|error| Summary {
        id: id.clone(),
        phase: None,
        iteration: 0,
        updated_at: None,
        summary: None,
        verdict: None,
        problem: Some(crate::stdx::error::chain(&error)),
    })
}
