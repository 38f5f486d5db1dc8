//! The master over a whole codebase (S0.1 to S0.3): documentation, debt, improvement, critical, in this order, each
//! validated before it counts. Who fails leaves their part empty and says why under `errors` (A0.3).
//!
//! Error codes: `ERR_001` is the sender's (400), every other is ours (500). Nothing here asks a model or the network, so a
//! failure would be the same again: nothing is retried.

use std::panic::AssertUnwindSafe;

use super::documentation;
use super::items::{self, Reading};
use crate::analysis::Engine;
use crate::artifact::server::{
    AdviceItem, Aggregate, ChecklistInput, CodeFile, Codebase, CriticalItem, DebtItem, DocumentationInput,
    DocumentationMap, ImprovementItem, ReviewRequest,
};
use crate::artifact::{AgentError, ErrorCode};
use crate::domain::Category;

pub use super::checklist::{Question, checklist, questions};

const MASTER: &str = "master";

/// Reviews a codebase by the built-in checklists.
///
/// # Errors
/// `ERR_001` when the request itself is not valid. What one agent cannot do stands in the aggregate.
pub fn review(engine: &Engine, request: &ReviewRequest, codebase: Codebase) -> Result<Aggregate, AgentError> {
    if request.id.trim().is_empty() {
        items::invalid(MASTER, vec!["id: empty".to_owned()])?;
    }
    let input = DocumentationInput { codebase };
    let mut aggregate = Aggregate {
        documentation: DocumentationMap::new(),
        debt: Vec::new(),
        improvement: Vec::new(),
        critical: Vec::new(),
        errors: std::collections::BTreeMap::new(),
    };
    let mut failed = |error: AgentError| {
        tracing::warn!(agent = error.agent_name, code = error.code, "an agent of the review failed: {}", error.message);
        aggregate.errors.insert(error.agent_name.clone(), error);
    };
    match document(&input) {
        Ok(map) => aggregate.documentation = map,
        Err(error) => failed(error),
    }
    let files = input.codebase.files;
    let reading = attempt(MASTER, || Ok(Reading::of(engine, &files)), |_| Vec::new());
    let read = |agent: Category| {
        reading.as_ref().map_err(|error| AgentError { agent_name: agent.name().to_owned(), ..error.clone() })
    };
    let mut asked = ChecklistInput { files, checklist: checklist(Category::Debt) };
    match read(Category::Debt).and_then(|reading| debt_of(reading, &asked)) {
        Ok(items) => aggregate.debt = items,
        Err(error) => failed(error),
    }
    asked.checklist = checklist(Category::Improvement);
    match read(Category::Improvement).and_then(|reading| improvement_of(reading, &asked)) {
        Ok(items) => aggregate.improvement = items,
        Err(error) => failed(error),
    }
    asked.checklist = checklist(Category::Critical);
    match read(Category::Critical).and_then(|reading| critical_of(reading, &asked)) {
        Ok(items) => aggregate.critical = items,
        Err(error) => failed(error),
    }
    Ok(aggregate)
}

/// The documentation agent (S0.5, S0.6).
///
/// # Errors
/// `ERR_001` with every fault of the input; `REVIEW_001` when it stopped unexpectedly.
pub fn document(input: &DocumentationInput) -> Result<DocumentationMap, AgentError> {
    let work = || {
        items::invalid(documentation::AGENT, items::files(&input.codebase.files))?;
        Ok(documentation::document(input))
    };
    attempt(documentation::AGENT, work, documentation::faults)
}

/// The debt agent (S0.9, S0.10).
///
/// # Errors
/// `ERR_001` with every fault of the input; `REVIEW_001` when it stopped unexpectedly.
pub fn debt(engine: &Engine, input: &ChecklistInput) -> Result<Vec<DebtItem>, AgentError> {
    debt_of(&reading(engine, Category::Debt, &input.files)?, input)
}

/// The improvement agent (S0.9, S0.11).
///
/// # Errors
/// `ERR_001` with every fault of the input; `REVIEW_001` when it stopped unexpectedly.
pub fn improvement(engine: &Engine, input: &ChecklistInput) -> Result<Vec<ImprovementItem>, AgentError> {
    improvement_of(&reading(engine, Category::Improvement, &input.files)?, input)
}

/// The critical agent (S0.9, S0.12).
///
/// # Errors
/// `ERR_001` with every fault of the input; `REVIEW_001` when it stopped unexpectedly.
pub fn critical(engine: &Engine, input: &ChecklistInput) -> Result<Vec<CriticalItem>, AgentError> {
    critical_of(&reading(engine, Category::Critical, &input.files)?, input)
}

/// The HTTP status that an error stands for (S0.3, S0.13).
pub fn status(error: &AgentError) -> u16 {
    if error.code == ErrorCode::InvalidInput.as_str() { 400 } else { 500 }
}

fn reading(engine: &Engine, agent: Category, files: &[CodeFile]) -> Result<Reading, AgentError> {
    attempt(agent.name(), || Ok(Reading::of(engine, files)), |_| Vec::new())
}

fn debt_of(reading: &Reading, input: &ChecklistInput) -> Result<Vec<DebtItem>, AgentError> {
    attempt("debt", || items::debt(reading, input), |found| faults(input, found.iter().map(said)))
}

fn improvement_of(reading: &Reading, input: &ChecklistInput) -> Result<Vec<ImprovementItem>, AgentError> {
    attempt("improvement", || items::improvement(reading, input), |found| faults(input, found.iter().map(said)))
}

fn said<T>(item: &AdviceItem<T>) -> (String, u32, String, String) {
    (item.file.clone(), item.line, item.description.clone(), item.suggestion.clone())
}

fn critical_of(reading: &Reading, input: &ChecklistInput) -> Result<Vec<CriticalItem>, AgentError> {
    let said = |item: &CriticalItem| (item.file.clone(), item.line, item.description.clone(), item.remediation.clone());
    attempt("critical", || items::critical(reading, input), |found| faults(input, found.iter().map(said)))
}

fn faults(input: &ChecklistInput, said: impl Iterator<Item = (String, u32, String, String)>) -> Vec<String> {
    let said: Vec<_> = said.collect();
    items::faults(
        &input.files,
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
