//! `tasks.md`: a section for each layer, a task below each heading, and how far each is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Error;
use super::document::{Head, front, missing, normal, read_front, same, valid};
use super::markdown::{Section, beneath, each, fields, read_span, sections, span, split, text};
use crate::artifact::Fault;
use crate::artifact::agentd::{CreateTasks, FileAction, Layer, LayerTask, TaskFile};

/// How far a task is. Whoever works on it says so in the document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    #[default]
    Pending,
    InProgress,
    Blocked,
    Completed,
}

impl Progress {
    const ALL: [Self; 4] = [Self::Pending, Self::InProgress, Self::Blocked, Self::Completed];

    fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Blocked => "blocked",
            Self::Completed => "completed",
        }
    }
}

/// The tasks, and how far each is, in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskList {
    #[serde(flatten)]
    pub list: CreateTasks,
    pub progress: Vec<Progress>,
}

#[derive(Serialize)]
struct Front<'a> {
    id: &'a str,
    change_id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    head: &'a Head,
    proposal_ref: &'a str,
    summary: Summary,
    layers: BTreeMap<&'static str, Counted>,
}

#[derive(Serialize)]
struct Summary {
    total: usize,
    completed: usize,
    in_progress: usize,
    blocked: usize,
    pending: usize,
}

#[derive(Serialize)]
struct Counted {
    task_count: usize,
    estimated_files: usize,
}

/// Either name of the id will do.
#[derive(Deserialize)]
struct FrontWire {
    id: Option<String>,
    change_id: Option<String>,
}

/// In the order of layers and numbers, which is that of the document.
pub(super) fn normalize(mut input: CreateTasks) -> CreateTasks {
    for task in &mut input.tasks {
        [&mut task.title, &mut task.description, &mut task.file.path].into_iter().for_each(normal);
    }
    input.tasks.sort_by_key(|task| (task.layer, task.number));
    input
}

/// New tasks; those that were there just so are as far as they were.
pub(super) fn revised(list: CreateTasks, old: Option<&TaskList>) -> TaskList {
    let known: BTreeMap<String, (&LayerTask, Progress)> = old
        .into_iter()
        .flat_map(|old| old.list.tasks.iter().zip(&old.progress).map(|(task, at)| (task.id(), (task, *at))))
        .collect();
    let far = |task: &LayerTask| known.get(&task.id()).filter(|(old, _)| *old == task).map(|(_, at)| *at);
    let progress = list.tasks.iter().map(|task| far(task).unwrap_or_default()).collect();
    TaskList { list, progress }
}

pub(super) fn write(TaskList { list, progress }: &TaskList, head: &Head) -> Result<String, Error> {
    let how_many = |wanted: Progress| progress.iter().filter(|at| **at == wanted).count();
    let of = |layer: Layer| list.tasks.iter().zip(progress).filter(move |(task, _)| task.layer == layer);
    let used = || Layer::ALL.into_iter().filter(|layer| of(*layer).next().is_some());
    let mut layers = BTreeMap::new();
    for layer in used() {
        let mut files: Vec<&str> = of(layer).map(|(task, _)| task.file.path.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        layers.insert(layer.name(), Counted { task_count: of(layer).count(), estimated_files: files.len() });
    }
    let mut out = front(&Front {
        id: &list.change_id,
        change_id: &list.change_id,
        kind: "tasks",
        head,
        proposal_ref: &list.change_id,
        summary: Summary {
            total: list.tasks.len(),
            completed: how_many(Progress::Completed),
            in_progress: how_many(Progress::InProgress),
            blocked: how_many(Progress::Blocked),
            pending: how_many(Progress::Pending),
        },
        layers,
    })?;
    out.push_str(&format!("\n# Tasks: {}\n", list.change_id));
    for layer in used() {
        let name = match layer {
            Layer::Data => "Data",
            Layer::Logic => "Logic",
            Layer::Integration => "Integration",
            Layer::Testing => "Testing",
        };
        out.push_str(&format!("\n## {}. {name}\n", layer.number()));
        for (task, at) in of(layer) {
            let action = match task.file.action {
                FileAction::Create => "CREATE",
                FileAction::Modify => "MODIFY",
                FileAction::Delete => "DELETE",
            };
            out.push_str(&format!("\n### {} {}\n\n", task.id(), task.title));
            out.push_str(&format!("- File: {} ({action})\n", span(&task.file.path)));
            if let Some(spec) = &task.spec_ref {
                out.push_str(&format!("- Spec: {spec}\n"));
            }
            if !task.depends.is_empty() {
                out.push_str(&format!("- Depends: {}\n", task.depends.join(", ")));
            }
            out.push_str(&format!("- Status: {}\n\n{}\n", at.word(), text(&task.description)));
        }
    }
    Ok(out)
}

/// Without frontmatter the headings tell enough.
pub(super) fn read(document: &str, change_id: &str) -> Result<(TaskList, Head), Vec<Fault>> {
    let (front, body) = split(document);
    let mut head = Head { version: 1, created_at: String::new(), updated_at: String::new() };
    if let Some(yaml) = front {
        let (fields, read): (FrontWire, Head) = read_front(yaml)?;
        head = read;
        for (field, said) in [("change_id", &fields.change_id), ("id", &fields.id)] {
            said.as_ref().map_or(Ok(()), |said| same(field, said, change_id))?;
        }
        if fields.id.is_none() && fields.change_id.is_none() {
            return Err(missing("has neither `change_id` nor `id` in its frontmatter"));
        }
    }
    let (mut tasks, mut progress) = (Vec::new(), Vec::new());
    let sections = sections(body);
    for layer in each(&sections, 2) {
        let heading = layer[0].title;
        let Some((number, _)) = heading.split_once('.') else { continue };
        let known = Layer::ALL.into_iter().find(|layer| number.trim() == layer.number().to_string());
        let known = known.ok_or_else(|| wrong(heading, "is no layer: expected 1 to 4"))?;
        for section in each(layer, 3) {
            let (task, at) = task(section, known)?;
            tasks.push(task);
            progress.push(at);
        }
    }
    // Somebody may have put them in another order.
    let mut both: Vec<_> = tasks.into_iter().zip(progress).collect();
    both.sort_by_key(|(task, _)| (task.layer, task.number));
    let (tasks, progress) = both.into_iter().unzip();
    let list = valid(CreateTasks { change_id: change_id.to_owned(), tasks })?;
    Ok((TaskList { list, progress }, head))
}

fn task(section: &[Section<'_>], layer: Layer) -> Result<(LayerTask, Progress), Vec<Fault>> {
    let heading = section[0].title;
    let named = heading.split_once(char::is_whitespace).and_then(|(id, title)| {
        let (first, number) = id.trim_end_matches(':').split_once('.')?;
        (first == layer.number().to_string()).then(|| Some((number.parse().ok()?, title.trim().to_owned())))?
    });
    let (number, title) = named.ok_or_else(|| wrong(heading, &format!("expected `### {}.1 title`", layer.number())))?;
    let ([file, spec, depends, status], taken) = fields(&section[0].lines, ["File", "Spec", "Depends", "Status"]);
    let (path, action) = read_span(file.ok_or_else(|| wrong(heading, "has no line `- File: path (MODIFY)`"))?);
    let action = match action.trim_matches(['(', ')']) {
        "CREATE" => FileAction::Create,
        "MODIFY" => FileAction::Modify,
        "DELETE" => FileAction::Delete,
        _ => return Err(wrong(heading, "its file is neither `(CREATE)`, `(MODIFY)` nor `(DELETE)`")),
    };
    let progress = match status {
        None => Progress::default(),
        Some(word) => Progress::ALL.into_iter().find(|known| known.word() == word).ok_or_else(|| {
            wrong(heading, "its status is none of `pending`, `in_progress`, `blocked` and `completed`")
        })?,
    };
    let ids = depends.filter(|ids| !ids.eq_ignore_ascii_case("none")).into_iter().flat_map(|ids| ids.split(','));
    let task = LayerTask {
        layer,
        number,
        title,
        file: TaskFile { path: path.to_owned(), action },
        spec_ref: spec.map(|spec| read_span(spec).0.to_owned()),
        description: beneath(section, taken),
        depends: ids.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()).collect(),
    };
    Ok((task, progress))
}

fn wrong(heading: &str, what: &str) -> Vec<Fault> {
    let shown = crate::stdx::text::truncate_chars(&crate::stdx::text::visible_line(heading), 60);
    missing(&format!("the heading `{shown}`: {what}"))
}
