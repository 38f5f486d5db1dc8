//! The master over a whole codebase (S0.1 to S0.3): documentation, debt, improvement, critical, in this order, each
//! validated before it counts. Who fails leaves their part empty and says why under `errors` (A0.3).
//!
//! Error codes: `ERR_001` is the sender's (400), every other is ours (500). Nothing here asks a model or the network, so a
//! failure would be the same again: nothing is retried.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::documentation;
use super::items::{self, Asked, Reading};
use crate::analysis::Engine;
use crate::artifact::server::{
    AdviceItem, Aggregate, ChecklistInput, CodeFile, Codebase, CriticalItem, DebtItem, DocumentationInput,
    DocumentationMap, ImprovementItem, ReviewRequest,
};
use crate::artifact::{AgentError, ErrorCode};
use crate::domain::Category;

pub use super::checklist::{Question, checklist, questions};

const MASTER: &str = "master";

/// The agents in their order.
pub const ORDER: [Category; 4] = [Category::Documentation, Category::Debt, Category::Improvement, Category::Critical];

/// What one agent answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Documentation(DocumentationMap),
    Debt(Vec<DebtItem>),
    Improvement(Vec<ImprovementItem>),
    Critical(Vec<CriticalItem>),
}

impl Part {
    /// How many documents or items it is.
    pub fn count(&self) -> usize {
        match self {
            Self::Documentation(map) => map.len(),
            Self::Debt(items) => items.len(),
            Self::Improvement(items) => items.len(),
            Self::Critical(items) => items.len(),
        }
    }

    /// As it is stored.
    ///
    /// # Errors
    /// It cannot be written as JSON, which no part of ours is.
    pub fn to_value(&self) -> serde_json::Result<Value> {
        match self {
            Self::Documentation(map) => serde_json::to_value(map),
            Self::Debt(items) => serde_json::to_value(items),
            Self::Improvement(items) => serde_json::to_value(items),
            Self::Critical(items) => serde_json::to_value(items),
        }
    }

    /// What was stored of an agent.
    ///
    /// # Errors
    /// It is not what this agent answers.
    pub fn from_value(agent: Category, value: &Value) -> serde_json::Result<Self> {
        Ok(match agent {
            Category::Documentation => Self::Documentation(DocumentationMap::deserialize(value)?),
            Category::Debt => Self::Debt(Vec::deserialize(value)?),
            Category::Improvement => Self::Improvement(Vec::deserialize(value)?),
            Category::Critical => Self::Critical(Vec::deserialize(value)?),
        })
    }
}

impl Aggregate {
    /// Nothing yet.
    pub fn begin() -> Self {
        Self {
            documentation: DocumentationMap::new(),
            debt: Vec::new(),
            improvement: Vec::new(),
            critical: Vec::new(),
            errors: BTreeMap::new(),
        }
    }

    /// Takes in what an agent came to.
    pub fn take(&mut self, part: Result<Part, AgentError>) {
        match part {
            Ok(Part::Documentation(map)) => self.documentation = map,
            Ok(Part::Debt(items)) => self.debt = items,
            Ok(Part::Improvement(items)) => self.improvement = items,
            Ok(Part::Critical(items)) => self.critical = items,
            Err(error) => {
                self.errors.insert(error.agent_name.clone(), error);
            }
        }
    }
}

/// One codebase under review: each agent is asked for its part, on whatever thread, and the files are read once for all.
pub struct Auditing {
    engine: Arc<Engine>,
    codebase: Codebase,
    reading: OnceLock<Result<Reading, AgentError>>,
    stop: CancellationToken,
}

impl Auditing {
    /// # Errors
    /// `ERR_001` when the request itself is not valid.
    pub fn new(
        engine: Arc<Engine>,
        request: &ReviewRequest,
        codebase: Codebase,
        stop: CancellationToken,
    ) -> Result<Self, AgentError> {
        if request.id.trim().is_empty() {
            items::invalid(MASTER, vec!["id: empty".to_owned()])?;
        }
        Ok(Self { engine, codebase, reading: OnceLock::new(), stop })
    }

    /// How many files there are to review.
    pub fn files(&self) -> usize {
        self.codebase.files.len()
    }

    /// What an agent answers, validated. It may take minutes of a thread; told to stop it ends soon, with nothing of use.
    ///
    /// # Errors
    /// Why it has no part in the review, as the aggregate says it.
    pub fn part(&self, agent: Category) -> Result<Part, AgentError> {
        match agent {
            Category::Documentation => documented(&self.codebase).map(Part::Documentation),
            Category::Debt => self.asked(agent, debt_of).map(Part::Debt),
            Category::Improvement => self.asked(agent, improvement_of).map(Part::Improvement),
            Category::Critical => self.asked(agent, critical_of).map(Part::Critical),
        }
    }

    /// Every part, in the order of the agents; `begins` hears whose turn it is.
    pub fn all(&self, begins: impl Fn(Category)) -> Aggregate {
        let mut aggregate = Aggregate::begin();
        for agent in ORDER {
            begins(agent);
            aggregate.take(self.part(agent).inspect_err(|error| {
                let (agent, code) = (error.agent_name.as_str(), error.code.as_str());
                tracing::warn!(agent, code, "an agent of the review failed: {}", error.message);
            }));
        }
        aggregate
    }

    fn asked<T>(
        &self,
        agent: Category,
        answer: impl FnOnce(&Reading, Asked<'_>) -> Result<T, AgentError>,
    ) -> Result<T, AgentError> {
        let files = &self.codebase.files;
        let read = || attempt(MASTER, || Ok(Reading::of(&self.engine, files, &self.stop)), |_| Vec::new());
        let reading = self.reading.get_or_init(read).as_ref();
        if self.stop.is_cancelled() {
            return Err(ErrorCode::ReviewAnalysisFailed.error(agent.name(), "it was told to stop"));
        }
        let reading = reading.map_err(|error| AgentError { agent_name: agent.name().to_owned(), ..error.clone() })?;
        answer(reading, Asked { files, checklist: &checklist(agent) })
    }
}

/// Reviews a codebase by the built-in checklists.
///
/// # Errors
/// `ERR_001` when the request itself is not valid. What one agent cannot do stands in the aggregate.
pub fn review(engine: &Arc<Engine>, request: &ReviewRequest, codebase: Codebase) -> Result<Aggregate, AgentError> {
    Ok(Auditing::new(Arc::clone(engine), request, codebase, CancellationToken::new())?.all(|_| {}))
}

/// The documentation agent (S0.5, S0.6).
///
/// # Errors
/// `ERR_001` with every fault of the input; `REVIEW_001` when it stopped unexpectedly.
pub fn document(input: &DocumentationInput) -> Result<DocumentationMap, AgentError> {
    documented(&input.codebase)
}

fn documented(codebase: &Codebase) -> Result<DocumentationMap, AgentError> {
    let work = || {
        items::invalid(documentation::AGENT, items::files(&codebase.files))?;
        Ok(documentation::document(codebase))
    };
    attempt(documentation::AGENT, work, documentation::faults)
}

/// The debt agent (S0.9, S0.10).
///
/// # Errors
/// `ERR_001` with every fault of the input; `REVIEW_001` when it stopped unexpectedly.
pub fn debt(engine: &Engine, input: &ChecklistInput) -> Result<Vec<DebtItem>, AgentError> {
    debt_of(&reading(engine, Category::Debt, &input.files)?, input.into())
}

/// The improvement agent (S0.9, S0.11).
///
/// # Errors
/// `ERR_001` with every fault of the input; `REVIEW_001` when it stopped unexpectedly.
pub fn improvement(engine: &Engine, input: &ChecklistInput) -> Result<Vec<ImprovementItem>, AgentError> {
    improvement_of(&reading(engine, Category::Improvement, &input.files)?, input.into())
}

/// The critical agent (S0.9, S0.12).
///
/// # Errors
/// `ERR_001` with every fault of the input; `REVIEW_001` when it stopped unexpectedly.
pub fn critical(engine: &Engine, input: &ChecklistInput) -> Result<Vec<CriticalItem>, AgentError> {
    critical_of(&reading(engine, Category::Critical, &input.files)?, input.into())
}

/// The HTTP status that an error stands for (S0.3, S0.13).
pub fn status(error: &AgentError) -> u16 {
    if error.code == ErrorCode::InvalidInput.as_str() { 400 } else { 500 }
}

fn reading(engine: &Engine, agent: Category, files: &[CodeFile]) -> Result<Reading, AgentError> {
    attempt(agent.name(), || Ok(Reading::of(engine, files, &CancellationToken::new())), |_| Vec::new())
}

fn debt_of(reading: &Reading, input: Asked<'_>) -> Result<Vec<DebtItem>, AgentError> {
    attempt("debt", || items::debt(reading, input), |found| faults(input, found.iter().map(said)))
}

fn improvement_of(reading: &Reading, input: Asked<'_>) -> Result<Vec<ImprovementItem>, AgentError> {
    attempt("improvement", || items::improvement(reading, input), |found| faults(input, found.iter().map(said)))
}

fn said<T>(item: &AdviceItem<T>) -> (String, u32, String, String) {
    (item.file.clone(), item.line, item.description.clone(), item.suggestion.clone())
}

fn critical_of(reading: &Reading, input: Asked<'_>) -> Result<Vec<CriticalItem>, AgentError> {
    let said = |item: &CriticalItem| (item.file.clone(), item.line, item.description.clone(), item.remediation.clone());
    attempt("critical", || items::critical(reading, input), |found| faults(input, found.iter().map(said)))
}

fn faults(input: Asked<'_>, said: impl Iterator<Item = (String, u32, String, String)>) -> Vec<String> {
    let said: Vec<_> = said.collect();
    items::faults(
        input.files,
        said.iter().map(|(file, line, what, advice)| (file.as_str(), *line, what.as_str(), advice.as_str())),
    )
}

/// Runs an agent; its output counts when it has no faults. One that panics has failed, and nobody else with it.
fn attempt<T>(
    agent: &str,
    work: impl FnOnce() -> Result<T, AgentError>,
    faults: impl FnOnce(&T) -> Vec<String>,
) -> Result<T, AgentError> {
    let done = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let output = work()?;
        let faults = faults(&output);
        Ok((output, faults))
    }));
    match done {
        Err(_) => {
            Err(ErrorCode::ReviewAnalysisFailed.error(agent, "it stopped unexpectedly; the other agents went on"))
        }
        Ok(Err(error)) => Err(error),
        Ok(Ok((output, faults))) if faults.is_empty() => Ok(output),
        Ok(Ok((_, faults))) => {
            Err(ErrorCode::OutputValidationFailed
                .error(agent, format!("its output is not valid: {}", faults.join("; "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s0_13_an_agent_that_fails_inside_is_a_500_and_its_output_counts_only_without_faults() {
        let none = |_: &u8| Vec::new();
        assert_eq!(attempt("debt", || Ok(7), none).unwrap(), 7);
        let stopped = attempt::<u8>("debt", || panic!("a defect of ours"), none).unwrap_err();
        assert_eq!((stopped.code.as_str(), status(&stopped), stopped.agent_name.as_str()), ("REVIEW_001", 500, "debt"));
        let faulty = attempt("debt", || Ok(7), |_| vec!["line 0".to_owned()]).unwrap_err();
        assert_eq!((faulty.code.as_str(), status(&faulty)), ("ERR_002", 500));
        assert!(faulty.message.contains("line 0"), "{}", faulty.message);
    }

    #[test]
    fn every_rule_and_measure_answers_one_question_and_every_answer_exists() {
        let engine = Engine::embedded().unwrap();
        let all = [Category::Debt, Category::Improvement, Category::Critical];
        let questions: Vec<_> =
            all.into_iter().flat_map(|category| questions(category).iter().map(move |q| (category, q))).collect();
        assert_eq!(questions.len(), 15 + 11 + 10);
        let mut wrong = Vec::new();
        for rule in engine.rules() {
            let id = rule.id.0.as_str();
            let by: Vec<_> = questions.iter().filter(|(_, question)| question.rules.contains(&id)).collect();
            let fits = |(category, _): &&(Category, &Question)| {
                *category == rule.category || rule.category == Category::Documentation
            };
            if by.len() != 1 || !by.iter().all(fits) {
                wrong.push(format!("{id} ({}): {:?}", rule.category, by.iter().map(|(_, q)| q.id).collect::<Vec<_>>()));
            }
        }
        let known: Vec<&str> = engine.rules().iter().map(|rule| rule.id.0.as_str()).collect();
        for (_, question) in &questions {
            wrong.extend(question.rules.iter().filter(|id| !known.contains(id)).map(|id| format!("{id}: no rule")));
        }
        for (id, category) in super::super::measure::ALL {
            let by: Vec<_> = questions.iter().filter(|(_, question)| question.measures.contains(&id)).collect();
            if by.len() != 1 || by[0].0 != category {
                wrong.push(format!("{id}: measured for {} questions", by.len()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let open: Vec<&str> = questions.iter().filter(|(_, q)| !q.is_answered()).map(|(_, q)| q.id).collect();
        assert_eq!(
            open,
            [
                "DEBT-02", "DEBT-03", "DEBT-04", "DEBT-05", "DEBT-06", "DEBT-08", "DEBT-09", "DEBT-14", "IMPR-02",
                "IMPR-05", "IMPR-09", "IMPR-10", "CRIT-04", "CRIT-10"
            ],
            "what is not answered without a model"
        );
    }
}
