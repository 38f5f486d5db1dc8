//! Which tasks a text comes to, in which order, where, and how much work they are: measured and deduced, nothing invented.

mod check;
mod draft;
mod effort;
mod order;
mod place;
mod wish;

use globset::GlobSet;
use serde::Deserialize;

use self::draft::Draft;
use self::wish::Wishes;
use super::brief::Brief;
use super::library::Reading;
use super::words;
use crate::agent::{Agent, Context, Contributing, Error, Role, Told, gate};
use crate::artifact::exchange::MoreMetadata;
use crate::artifact::plan::{Milestone, Plan, TaskKind};
use crate::artifact::swarm::{ChangeType, CodebaseMap, CurrentIssue, IssueAnalysis};
use crate::artifact::{ContributeFacts, Document, ErrorCode, Planned, Snapshot, Unplanned};
use crate::stdx::text::count;

pub use check::{CheckedPlan, check_plan};

const MAX_QUESTIONS: usize = 10;

pub struct Planner;

#[derive(Debug, Deserialize)]
pub struct PlannerInput {
    facts: ContributeFacts,
    scout: Document<CurrentIssue>,
    manager: Snapshot,
    analyst: Document<IssueAnalysis>,
    explorer: Document<CodebaseMap>,
}

/// All that a plan is made of.
struct Sources<'s> {
    reading: &'s Reading,
    brief: &'s Brief,
    analysis: &'s IssueAnalysis,
    map: &'s CodebaseMap,
    cycles: Vec<Vec<usize>>,
    /// Files that no change of ours may touch.
    protected: GlobSet,
}

impl Agent for Planner {
    const VERSION: &'static str = "1";
    type Input = PlannerInput;
    type Output = Planned;

    fn role(&self) -> Role {
        Role::Planner
    }

    async fn run(&self, cx: &Context, input: PlannerInput) -> Result<Planned, Error> {
        let (Ok(issue), Ok(analysis), Ok(map)) = (input.scout.outcome, input.analyst.outcome, input.explorer.outcome)
        else {
            return Ok(unplanned(vec!["What is to be planned? The text was not understood.".to_owned()]));
        };
        let Contributing { library, .. } = cx.contributing()?;
        let issue = issue.selected_issue;
        let brief = Brief::read(&issue.title, &issue.body);
        let reading = library.read(cx, &brief).await?;
        let cycles = reading.graph.cycles();
        let protected = gate::globs(&input.facts.settings.protected)?;
        let sources = Sources { reading, brief: &brief, analysis: &analysis, map: &map, cycles, protected };
        Ok(match drafts(&sources) {
            Ok((drafts, questions)) => {
                let number = input.facts.issue.number.max(1);
                Planned::Plan(Box::new(plan(&sources, number, input.manager, drafts, questions)))
            }
            Err(questions) => unplanned(questions),
        })
    }

    fn faults(&self, _cx: &Context, planned: &Planned) -> Vec<String> {
        match planned {
            Planned::Plan(plan) => match serde_json::to_value(plan) {
                Ok(document) => check_plan(&document).plan.err().map(|error| error.message).into_iter().collect(),
                Err(error) => vec![error.to_string()],
            },
            Planned::Unplanned(unplanned) if unplanned.clarifications.is_empty() => {
                vec!["neither a plan nor a question".to_owned()]
            }
            Planned::Unplanned(_) => Vec::new(),
        }
    }

    fn told(&self, planned: &Planned) -> Told {
        let (errors, asked) = match planned {
            Planned::Plan(plan) => (Vec::new(), plan.clarifications.as_ref().is_some_and(|asked| !asked.is_empty())),
            Planned::Unplanned(unplanned) => (unplanned.errors.clone(), true),
        };
        let more = MoreMetadata { iterations: Some(1), asked_clarifications: Some(asked), ..MoreMetadata::default() };
        Told { partial: !errors.is_empty(), errors, more, ..Told::default() }
    }

    fn line(&self, planned: &Planned) -> Option<String> {
        Some(match planned {
            Planned::Plan(plan) => {
                let tasks = plan.milestones.iter().map(|milestone| milestone.tasks.len()).sum();
                format!("{} in {}", count(tasks, "task"), count(plan.milestones.len(), "milestone"))
            }
            Planned::Unplanned(unplanned) => {
                format!("too little to plan from: {}", count(unplanned.clarifications.len(), "question"))
            }
        })
    }
}

/// PLAN_003 with what is missing.
fn unplanned(mut questions: Vec<String>) -> Planned {
    questions.truncate(MAX_QUESTIONS);
    let message = "the text says too little to plan from; answer the questions and ask again";
    Planned::Unplanned(Unplanned {
        errors: vec![ErrorCode::PlanInsufficientContext.error(Role::Planner.name(), message)],
        clarifications: questions,
    })
}

/// A task for each wish that can be placed, with tests and documentation after them, and the questions that stay open; or
/// only questions.
fn drafts(sources: &Sources<'_>) -> Result<(Vec<Draft>, Vec<String>), Vec<String>> {
    let Wishes { wishes, mut questions } = wish::read(sources.brief, sources.analysis.analysis.kind);
    let title = words::stems(&sources.brief.title).count() + words::stems(&sources.brief.body).count();
    if title == 0 || wishes.is_empty() {
        return Err(vec!["What should change? The text says too little to tell.".to_owned()]);
    }
    if super::demand::is_question(sources.brief) {
        return Err(questions);
    }
    let files = &sources.analysis.analysis.files_to_modify;
    let created = files.iter().filter(|file| file.change_type == ChangeType::Create);
    let to_be_made: Vec<String> = created.map(|file| file.path.clone()).collect();
    let mut drafts: Vec<Draft> = Vec::new();
    let mut placeless = Vec::new();
    for wish in wishes {
        let objects = wish::objects(&wish.text);
        let named = sources.brief.paths.iter().any(|(path, _)| wish.text.contains(path.as_str()));
        if objects.is_empty() && !named && wish.criteria.iter().all(|text| wish::objects(text).is_empty()) {
            questions.push(format!("What exactly is meant by \"{}\": which part, and what should it do?", wish.text));
            continue;
        }
        let found = place::find(sources.reading, &wish.text, wish.kind, &to_be_made).or_else(|| {
            let all = std::iter::once(&wish.text).chain(&wish.criteria).cloned().collect::<Vec<_>>().join(". ");
            place::find(sources.reading, &all, wish.kind, &to_be_made).filter(|_| !wish.criteria.is_empty())
        });
        match found {
            Some(place) => drafts.push(Draft::of(sources, wish, place)),
            None => placeless.push((wish, objects)),
        }
    }
    // Where only a part of the text leads somewhere, the rest is about the same place.
    let named: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let home = drafts.iter().find(|draft| draft.is_code()).map(|draft| draft.place.clone());
    let home = home.or_else(|| place::of_whole(sources.reading, &named).filter(|_| !placeless.is_empty()));
    for (wish, objects) in placeless {
        let shown: Vec<String> = objects.iter().take(4).map(|word| format!("\"{word}\"")).collect();
        match &home {
            Some(home) if wish.kind != TaskKind::Documentation && wish.kind != TaskKind::Infrastructure => {
                questions.push(format!(
                    "Where does \"{}\" belong? No file speaks of {}; the plan puts it where the rest of the text leads.",
                    wish.text,
                    shown.join(", ")
                ));
                drafts.push(Draft::of(sources, wish, home.clone()));
            }
            _ => questions.push(format!(
                "Which part of the repository is \"{}\" about? No file speaks of {}: name a file, a module or a function.",
                wish.text,
                if shown.is_empty() { "it".to_owned() } else { shown.join(", ") }
            )),
        }
    }
    if drafts.is_empty() {
        questions
            .push("How can one tell that it is done: what should be possible then, or no longer happen?".to_owned());
        return Err(questions);
    }
    draft::accompany(sources, &mut drafts);
    Ok((drafts, questions))
}

fn plan(sources: &Sources<'_>, number: u64, manager: Snapshot, drafts: Vec<Draft>, mut questions: Vec<String>) -> Plan {
    let milestones: Vec<Milestone> = order::milestones(sources, drafts);
    questions.extend(sources.analysis.blockers.iter().cloned());
    let mut seen = std::collections::BTreeSet::new();
    questions.retain(|question| seen.insert(question.clone()));
    questions.truncate(MAX_QUESTIONS);
    let mut context = manager.context;
    context.model = None;
    let title = sources.brief.title.trim_end_matches(['.', ' ']);
    Plan {
        id: format!("P-{number}"),
        title: words::line(if title.is_empty() { &sources.analysis.analysis.summary } else { title }, 200),
        description: sources.analysis.analysis.summary.clone(),
        milestones,
        clarifications: Some(questions).filter(|questions| !questions.is_empty()),
        project_context: Some(context),
    }
}
