//! The tasks that a described feature comes to.

use std::path::Path;

use super::{Obeyed, Watch, local_facts};
use crate::agent::{self, Context, Contributing, Role, Scene};
use crate::analysis::Engine;
use crate::app::change::{self, Documents};
use crate::app::{Error, contribute};
use crate::artifact::exchange::ValidationResult;
use crate::artifact::plan::Plan;
use crate::artifact::swarm::IssueAnalysis;
use crate::artifact::{self, Document, Unplanned};
use crate::change::Made;
use crate::config::CONFIG_PATH;
use crate::domain::Clock;
use crate::pipeline;
use crate::workspace::{self, Tree};

/// What came of a described feature.
pub struct Planned {
    pub planning: Planning,
    /// What is wrong with the repository's configuration.
    pub warnings: Vec<String>,
}

pub enum Planning {
    Planned {
        plan: Box<Plan>,
        validation: ValidationResult,
        /// The same as the documents of a change.
        documents: Box<Documents>,
    },
    /// The text says too little; it has the questions.
    Unplanned(Unplanned),
}

/// Plans the work that a text describes. Nothing is written. With `obey`, as the configuration in the work tree says. The
/// change is called as `change_id` says, else after the plan's title.
///
/// # Errors
/// When there is no repository, git cannot be read, or the id is none.
pub async fn plan(
    path: &Path,
    text: &str,
    obey: bool,
    change_id: Option<&str>,
    watch: &Watch,
) -> Result<Planned, Error> {
    if let Some(id) = change_id.filter(|id| !crate::change::is_id(id)) {
        let shown = crate::stdx::text::visible_line(id);
        let form = "lower-case words and numbers joined by single hyphens, at most 64 characters";
        return Err(Error::Path(format!("`{shown}` is no id of a change, which is {form}")));
    }
    let (engine, clock) = (Engine::embedded()?, Clock::system());
    let tree = workspace::local::tree(path).await?;
    let Obeyed { config, warnings } =
        if obey { Obeyed::read(tree.read(CONFIG_PATH).await?, CONFIG_PATH)? } else { Obeyed::default() };
    let mut settings = contribute::settings(&config);
    // What was planned before is no place for what is planned now.
    settings.ignore.push(change::DOCUMENTS.to_owned());
    let facts = local_facts(path, &titled(text), &tree, settings, &clock);
    let scene = Scene::Contribute(Contributing::new(tree.clone(), facts));
    let cx = Context { engine, cancel: watch.cancel.clone(), clock, scene };
    Ok(Planned { planning: planning(&cx, &tree, change_id, watch).await?, warnings })
}

/// Keeps a plan as the documents of a change, below the root of the repository around the path. What is there and says the
/// same stays as it is.
///
/// # Errors
/// The change is there with other documents, something is in the way, or the disk's.
pub async fn keep(path: &Path, documents: Documents) -> Result<Vec<Made>, Error> {
    let nowhere = || Error::Path(format!("`{}` is in no work tree that documents could be kept in", path.display()));
    let root = workspace::local::work_tree(path).ok_or_else(nowhere)?;
    let now = Clock::system().now();
    let work = move || change::write(&root, &documents, now);
    Ok(tokio::task::spawn_blocking(work).await.map_err(Error::died("the writer of documents"))??)
}

async fn planning(cx: &Context, tree: &Tree, change_id: Option<&str>, watch: &Watch) -> Result<Planning, Error> {
    let outputs = pipeline::plan::run(cx, &super::journal().telling(watch.tell())).await?;
    if let Some(stopped) = outputs.stopped {
        let clarifications = stopped.faults.iter().map(|fault| fault.message.clone()).collect();
        return Ok(Planning::Unplanned(Unplanned { errors: stopped.faults, clarifications }));
    }
    let document = match outputs.get(Role::Planner)? {
        artifact::Planned::Plan(plan) => plan,
        artifact::Planned::Unplanned(unplanned) => return Ok(Planning::Unplanned(unplanned)),
    };
    let value = serde_json::to_value(&document)
        .map_err(|source| pipeline::Error::Document { role: Role::Planner.name(), source })?;
    let checked = agent::check_plan(&value);
    Ok(match checked.plan {
        Ok(plan) => {
            let analysis: Option<Document<IssueAnalysis>> = outputs.get(Role::Analyst).ok();
            let analysis = analysis.and_then(|document| document.outcome.ok());
            let id = change_id.map_or_else(|| change::slug(&plan.title), str::to_owned);
            let documents = Box::new(change::of_plan(&id, &plan, analysis.as_ref(), tree).await?);
            Planning::Planned { plan: Box::new(plan), validation: checked.validation, documents }
        }
        Err(error) => {
            Planning::Unplanned(Unplanned { clarifications: vec![error.message.clone()], errors: vec![error] })
        }
    })
}

/// The text with a title on its first line: its first sentence.
pub(super) fn titled(text: &str) -> String {
    let text = text.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let is_item = |line: &str| {
        let line = line.trim_start();
        let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
        line.starts_with(['-', '*', '+', '•']) || number.len() < line.len() && number.starts_with(['.', ')'])
    };
    if is_item(first) && rest.lines().any(is_item) {
        return format!("Several changes\n{text}");
    }
    // A full stop ends a sentence where a word of some length stands before it and another sentence after it.
    let ends = first.match_indices(['.', '!', '?']).find(|(at, mark)| {
        let word = first[..*at].rsplit(char::is_whitespace).next().unwrap_or_default();
        first[at + mark.len()..].starts_with(' ') && (word.len() > 2 && !word.contains('.') || *mark != ".")
    });
    match ends {
        Some((at, mark)) => {
            let (title, more) = first.split_at(at + mark.len());
            format!("{}\n{}\n{rest}", title.trim(), more.trim())
        }
        None => text.to_owned(),
    }
}
