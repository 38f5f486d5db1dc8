//! A plan as the documents of a change: what is asked for as the proposal, a milestone as a spec, its tasks as tasks.
//!
//! Nothing is made up: where the text says nothing of what a document has to say, the document says that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::artifact::agentd::{
    AffectedSpec, CreateProposal, CreateSpec, CreateTasks, FileAction, Impact, Layer, LayerTask, MAX_ENTRIES, MAX_ID,
    MAX_LINE, MAX_SPECS, MAX_TASKS, MAX_TEXT, Requirement, Scenario, Scope, TaskFile,
};
use crate::artifact::plan::{Milestone, Plan, Task, TaskKind};
use crate::artifact::project::Level;
use crate::artifact::swarm::{IssueAnalysis, Kind as Asked};
use crate::change::{self, Changes, Kind, Made};
use crate::domain::Millis;
use crate::stdx::text::{count, truncate_chars};
use crate::workspace::Tree;

use super::Error;

/// Paths of the documents below a root, for whoever has to leave them out.
pub(super) const DOCUMENTS: &str = "agentd/changes/**";
/// Characters of a slug, which leaves room for what stands before it.
const SLUG: usize = 48;

/// What a plan comes to, and which of the files that it names are there. No link is followed to look.
///
/// # Errors
/// When git cannot be read.
pub(super) async fn of_plan(
    change_id: &str,
    plan: &Plan,
    analysis: Option<&IssueAnalysis>,
    tree: &Tree,
) -> Result<Documents, Error> {
    let tasks = plan.milestones.iter().flat_map(|milestone| &milestone.tasks);
    let named: BTreeSet<&String> =
        tasks.flat_map(|task| task.affected_modules.iter().chain(&task.target_module)).collect();
    let mut there = BTreeSet::new();
    for path in named {
        if tree.entry(path).await?.is_some() {
            there.insert(path.as_str());
        }
    }
    Ok(documents(change_id, plan, analysis, |path| there.contains(path)))
}

/// What the three tools are given, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Documents {
    pub proposal: CreateProposal,
    /// In an order in which each comes after those that it builds on.
    pub specs: Vec<CreateSpec>,
    /// None where no task of the plan names a file.
    pub tasks: Option<CreateTasks>,
    /// What of the plan the documents do not hold, and why.
    pub left_out: Vec<String>,
}

/// An id of a title: its words in lower case, joined by hyphens. Letters that an id may not have end a word.
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for word in title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let hyphen = usize::from(!slug.is_empty());
        if slug.len() + hyphen + word.len() > SLUG {
            break;
        }
        slug.push_str(&"-"[..hyphen]);
        slug.push_str(&word.to_ascii_lowercase());
    }
    if slug.is_empty() { "change".to_owned() } else { slug }
}

/// `issue-7-load-yaml-safely` (A4.6).
pub(super) fn of_issue(number: u64, title: &str) -> String {
    format!("issue-{number}-{}", truncated(&slug(title), MAX_ID - "issue--".len() - 20))
}

fn truncated(slug: &str, most: usize) -> &str {
    slug.get(..most).unwrap_or(slug).trim_end_matches('-')
}

/// The inputs that say what a plan says. `exists` tells which files are there already.
pub fn documents(
    change_id: &str,
    plan: &Plan,
    analysis: Option<&IssueAnalysis>,
    exists: impl Fn(&str) -> bool,
) -> Documents {
    let mut left_out = Vec::new();
    let milestones: &[Milestone] = plan.milestones.get(..MAX_SPECS).unwrap_or(&plan.milestones);
    if milestones.len() < plan.milestones.len() {
        left_out
            .push(format!("{} after the {MAX_SPECS}th", count(plan.milestones.len() - milestones.len(), "milestone")));
    }
    let ids = spec_ids(milestones);
    let places: BTreeMap<&str, usize> = milestones
        .iter()
        .enumerate()
        .flat_map(|(at, milestone)| milestone.tasks.iter().map(move |task| (task.id.as_str(), at)))
        .collect();
    // Only on those before: what is worked on later cannot hold up what is worked on first.
    let depends = |at: usize| -> Vec<String> {
        let before = milestones[at].tasks.iter().flat_map(|task| &task.input_dependencies);
        let before: BTreeSet<usize> =
            before.filter_map(|id| places.get(id.as_str()).copied()).filter(|of| *of < at).collect();
        before.into_iter().map(|of| ids[of].clone()).collect()
    };
    let specs: Vec<CreateSpec> =
        milestones.iter().zip(&ids).map(|(milestone, id)| spec(change_id, id, milestone, &mut left_out)).collect();
    let affected =
        ids.iter().enumerate().map(|(at, id)| AffectedSpec { id: id.clone(), depends: depends(at) }).collect();
    let proposal = proposal(change_id, plan, milestones, analysis, affected, &exists);
    let tasks = tasks(milestones, &ids, &exists, &mut left_out);
    let tasks = (!tasks.is_empty()).then(|| CreateTasks { change_id: change_id.to_owned(), tasks });
    Documents { proposal, specs, tasks, left_out }
}

/// Writes what is not there yet, and refuses to write over what says something else: that is another plan.
///
/// # Errors
/// The change is there already with other documents, or as [`Changes::create`].
pub fn write(root: &Path, documents: &Documents, now: Millis) -> Result<Vec<Made>, Written> {
    let changes = Changes::new(root.to_owned());
    let id = &documents.proposal.change_id;
    match changes.read(id) {
        Err(change::Error::Unknown { .. }) => {}
        found => {
            let found = found?;
            let other = found.proposal.is_some_and(|old| old.content != documents.proposal)
                || found.specs.iter().any(|old| !documents.specs.contains(&old.content))
                || found.tasks.is_some_and(|old| Some(&old.content.list) != documents.tasks.as_ref());
            if other {
                return Err(Written::Other { id: id.clone() });
            }
        }
    }
    let value =
        |input: serde_json::Result<serde_json::Value>| input.map_err(|error| change::Error::Yaml(error.to_string()));
    let mut made = vec![changes.create(Kind::Proposal, &value(serde_json::to_value(&documents.proposal))?, now)?];
    for spec in &documents.specs {
        made.push(changes.create(Kind::Spec, &value(serde_json::to_value(spec))?, now)?);
    }
    if let Some(tasks) = &documents.tasks {
        made.push(changes.create(Kind::Tasks, &value(serde_json::to_value(tasks))?, now)?);
    }
    Ok(made)
}

/// Why a plan was not written.
#[derive(Debug, thiserror::Error)]
pub enum Written {
    #[error("the change `{id}` is there already, and its documents say something else than this plan")]
    Other { id: String },
    #[error(transparent)]
    Change(#[from] change::Error),
}

impl Written {
    /// Another id, or a folder in order, would do.
    pub(super) fn is_usage(&self) -> bool {
        match self {
            Self::Other { .. } => true,
            Self::Change(error) => !matches!(error, change::Error::Disk { .. } | change::Error::Yaml(_)),
        }
    }

    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::Other { .. } => {
                Some("name another with `--change-id`, or print the plan alone with `--dry-run`".to_owned())
            }
            Self::Change(_) => None,
        }
    }
}

fn proposal(
    change_id: &str,
    plan: &Plan,
    milestones: &[Milestone],
    analysis: Option<&IssueAnalysis>,
    affected_specs: Vec<AffectedSpec>,
    exists: &impl Fn(&str) -> bool,
) -> CreateProposal {
    let all: Vec<&Task> = milestones.iter().flat_map(|milestone| &milestone.tasks).collect();
    let what = format!("{} in {}.", count(all.len(), "task"), count(milestones.len(), "milestone"));
    let summary = least(text(&plan.title), 10, &format!("Planned as {what}"));
    let mut said = vec![text(&plan.description)];
    said.extend(analysis.iter().flat_map(|it| &it.analysis.requirements).map(|wanted| format!("- {}", text(wanted))));
    said.retain(|line| line.len() > 2);
    let why = least(said.join("\n"), 50, "The text that asks for this does not say more about why it is wanted.");
    let mut what_changes: Vec<String> = all.iter().take(MAX_ENTRIES).map(|task| line(&task.title, &task.id)).collect();
    if all.len() > MAX_ENTRIES {
        what_changes.truncate(MAX_ENTRIES - 1);
        what_changes.push(format!("And {}", count(all.len() - what_changes.len(), "more task")));
    }
    let files: BTreeSet<&str> =
        all.iter().flat_map(|task| &task.affected_modules).map(String::as_str).filter(|path| is_path(path)).collect();
    let whole = |many: usize| u32::try_from(many).unwrap_or(u32::MAX);
    let feature = all.iter().any(|task| task.kind == TaskKind::Feature);
    let scope = match analysis.map(|it| &it.analysis) {
        Some(asked) if asked.breaking_change => Scope::Major,
        Some(asked) if matches!(asked.kind, Asked::Feature) => Scope::Minor,
        None if feature => Scope::Minor,
        Some(_) | None => Scope::Patch,
    };
    let breaks = analysis.filter(|it| it.analysis.breaking_change);
    CreateProposal {
        change_id: change_id.to_owned(),
        summary,
        why,
        what_changes,
        impact: Impact {
            scope,
            affected_files: whole(files.len()).max(1),
            new_files: whole(files.iter().filter(|path| !exists(path)).count()),
            affected_specs,
            affected_code: files.iter().take(MAX_ENTRIES).map(|path| (*path).to_owned()).collect(),
            breaking_changes: breaks.map(|_| {
                "The text that asks for this reads as if something that works now will not work as before; it was not \
                 looked into what."
                    .to_owned()
            }),
        },
    }
}

fn spec(change_id: &str, spec_id: &str, milestone: &Milestone, left_out: &mut Vec<String>) -> CreateSpec {
    let overview = least(
        text(&milestone.description),
        50,
        &format!("{}: {}.", line(&milestone.title, spec_id), {
            let tasks: Vec<String> = milestone.tasks.iter().take(5).map(|task| line(&task.title, &task.id)).collect();
            let more = milestone.tasks.len().saturating_sub(tasks.len());
            let rest = if more > 0 { format!(", and {}", count(more, "more task")) } else { String::new() };
            format!("{}{rest}", tasks.join("; "))
        }),
    );
    // One word may be all that there is to say.
    let overview = least(overview, 50, "The text that asks for this does not say more about it.");
    let told = milestone.tasks.get(..MAX_ENTRIES).unwrap_or(&milestone.tasks);
    if told.len() < milestone.tasks.len() {
        let more = count(milestone.tasks.len() - told.len(), "task");
        left_out.push(format!("{more} of the milestone `{}`, beyond {MAX_ENTRIES}", line(&milestone.title, spec_id)));
    }
    let requirement = |(at, task): (usize, &Task)| Requirement {
        id: format!("R{}", at + 1),
        title: line(&task.title, &task.id),
        description: or(text(&task.description), || line(&task.title, &task.id)),
        // The text tells what is wanted, not how much.
        priority: Level::Medium,
    };
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut names = BTreeSet::new();
    for (at, task) in told.iter().enumerate() {
        let title = line(&task.title, &task.id);
        let mut holds: Vec<String> =
            task.acceptance_criteria.iter().map(|it| text(it)).filter(|it| !it.is_empty()).collect();
        if holds.is_empty() {
            holds.push(format!("what R{} says holds; the text that asks for it names no criterion", at + 1));
        }
        for (nth, then) in holds.into_iter().enumerate() {
            let name = match nth {
                0 => truncate_chars(&title, MAX_LINE - 8),
                nth => format!("{} ({})", truncate_chars(&title, MAX_LINE - 8), nth + 1),
            };
            let name = if names.contains(&name) {
                format!("R{}: {}", at + 1, truncate_chars(&name, MAX_LINE - 8))
            } else {
                name
            };
            if scenarios.len() < MAX_ENTRIES && names.insert(name.clone()) {
                scenarios.push(Scenario { name, given: None, when: format!("R{} is done", at + 1), then });
            }
        }
    }
    CreateSpec {
        change_id: change_id.to_owned(),
        spec_id: spec_id.to_owned(),
        title: line(&milestone.title, spec_id),
        overview,
        requirements: told.iter().enumerate().map(requirement).collect(),
        scenarios,
        flow_diagram: None,
        data_model: None,
    }
}

fn tasks(
    milestones: &[Milestone],
    ids: &[String],
    exists: &impl Fn(&str) -> bool,
    left_out: &mut Vec<String>,
) -> Vec<LayerTask> {
    let mut numbers: BTreeMap<Layer, u32> = BTreeMap::new();
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    let mut made: Vec<(LayerTask, &Task)> = Vec::new();
    for (milestone, spec) in milestones.iter().zip(ids) {
        for (at, task) in milestone.tasks.iter().enumerate() {
            let title = line(&task.title, &task.id);
            let Some(path) = task.affected_modules.iter().chain(&task.target_module).find(|path| is_path(path)) else {
                left_out.push(format!("the task {} `{title}`: it names no file", task.id));
                continue;
            };
            if made.len() == MAX_TASKS || at >= MAX_ENTRIES {
                left_out.push(format!("the task {} `{title}`: there are too many", task.id));
                continue;
            }
            let layer = layer(task.kind, path);
            let number = numbers.entry(layer).or_default();
            *number += 1;
            let more: Vec<&str> = task
                .affected_modules
                .iter()
                .map(String::as_str)
                .filter(|other| *other != path && is_path(other))
                .collect();
            let mut description = or(text(&task.description), || title.clone());
            if !more.is_empty() {
                description = truncate_chars(&format!("{description}\n\nAlso in: {}", more.join(", ")), MAX_TEXT);
            }
            let made_of = LayerTask {
                layer,
                number: *number,
                title,
                file: TaskFile {
                    path: path.clone(),
                    action: if exists(path) { FileAction::Modify } else { FileAction::Create },
                },
                spec_ref: Some(format!("{spec}:R{}", at + 1)),
                description,
                depends: Vec::new(),
            };
            known.insert(&task.id, made_of.id());
            made.push((made_of, task));
        }
    }
    for (task, of) in &mut made {
        task.depends =
            of.input_dependencies.iter().filter_map(|id| known.get(id.as_str()).cloned()).take(MAX_ENTRIES).collect();
    }
    let mut tasks: Vec<LayerTask> = made.into_iter().map(|(task, _)| task).collect();
    tasks.sort_by_key(|task| (task.layer, task.number));
    tasks
}

/// What the kind of work says, and for code where it lies.
fn layer(kind: TaskKind, path: &str) -> Layer {
    const OF_DATA: [&str; 7] = ["migration", "migrations", "model", "models", "schema", "schemas", "entities"];
    match kind {
        TaskKind::Test | TaskKind::Documentation => Layer::Testing,
        TaskKind::Infrastructure => Layer::Integration,
        TaskKind::Feature | TaskKind::Refactor | TaskKind::Bugfix => {
            let mut parts = path.split('/').map(|part| part.split('.').next().unwrap_or(part));
            let data = path.ends_with(".sql") || parts.any(|part| OF_DATA.contains(&part));
            if data { Layer::Data } else { Layer::Logic }
        }
    }
}

/// An id for each milestone, told from the others by a number where their titles are alike.
fn spec_ids(milestones: &[Milestone]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    let mut taken = BTreeSet::new();
    for milestone in milestones {
        let slug = slug(&milestone.title);
        let mut free = (1..).map(|nth| if nth == 1 { slug.clone() } else { format!("{slug}-{nth}") });
        let id = free.find(|id| !taken.contains(id)).unwrap_or(slug);
        taken.insert(id.clone());
        ids.push(id);
    }
    ids
}

/// A text of others as a document may hold it: without characters that steer, and not too long.
fn text(from: &str) -> String {
    let lines = from.replace("\r\n", "\n").replace('\r', "\n");
    let kept: String = lines.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
    truncate_chars(kept.trim(), MAX_TEXT / 2).trim().to_owned()
}

/// The same on one line; what is nothing then is called `name`.
fn line(from: &str, name: &str) -> String {
    let kept: String = from.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = truncate_chars(kept.trim(), MAX_LINE / 2).trim().to_owned();
    if line.is_empty() { format!("Task {name}") } else { line }
}

/// A text that is long enough, or says with `more` why it is not.
fn least(text: String, least: usize, more: &str) -> String {
    if text.chars().count() >= least {
        return text;
    }
    if text.is_empty() { more.to_owned() } else { format!("{text}\n\n{more}") }
}

fn or(text: String, other: impl FnOnce() -> String) -> String {
    if text.is_empty() { other() } else { text }
}

/// Whether a document may name it. Names of files may hold anything; those that few tools can take are left out.
fn is_path(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain = !path.contains(|c: char| c.is_control() || c == '\\') && path.trim() == path;
    let inside = !path.starts_with('/') && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    plain && inside && !drive && path.chars().count() <= MAX_LINE
}
