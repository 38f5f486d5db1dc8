//! What the repository is: the snapshot that every other agent starts from. In a review also the plan of the reading: which
//! changed files are worth a reviewer's eyes, and why the others are not.

use std::borrow::Cow;
use std::collections::BTreeMap;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use serde_json::Value;

use super::brief::Brief;
use super::manifest::{self, Manifests};
use super::model::{self, Learned};
use super::packages::{self, Packages};
use super::survey::{Class, Survey};
use super::{customs, style, words};
use crate::agent::{Agent, Context, Contributing, Error, Reviewing, Role, Scene};
use crate::analysis::Language;
use crate::artifact::exchange::{AgentInput, AgentOutput};
use crate::artifact::project::{ProjectAnalysis, ProjectContext, ProjectIdentity};
use crate::artifact::review::PlannedFile;
use crate::artifact::swarm::CurrentIssue;
use crate::artifact::{ContributeFacts, Document, FilePlan, ReviewFacts, Snapshot};
use crate::domain::{ChangeKind, FileDiff, NotRead};
use crate::stdx::text::count;
use crate::workspace;

/// Why a file that the repository's `ignore` names is not read.
pub const IGNORED: &str = "ignored by this repository's configuration";

pub struct Manager;

#[derive(Debug, Deserialize)]
pub struct ManagerInput {
    facts: Value,
    /// Absent in a review.
    scout: Option<Document<CurrentIssue>>,
}

impl Agent for Manager {
    const VERSION: &'static str = "3";
    type Input = ManagerInput;
    type Output = Snapshot;

    fn role(&self) -> Role {
        Role::Manager
    }

    async fn run(&self, cx: &Context, input: ManagerInput) -> Result<Snapshot, Error> {
        let wrong = |source| Error::Input { role: Role::Manager.name(), source };
        match &cx.scene {
            Scene::Review(scene) => {
                let facts: ReviewFacts = serde_json::from_value(input.facts).map_err(wrong)?;
                let context = glance(cx, scene, &facts).await?;
                Ok(Snapshot { context, reading: Some(reading(cx, facts).await?) })
            }
            Scene::Contribute(scene) => {
                let facts: ContributeFacts = serde_json::from_value(input.facts).map_err(wrong)?;
                let brief = match input.scout.map(|scout| scout.outcome) {
                    Some(Ok(CurrentIssue { selected_issue: issue, .. })) => Brief::read(&issue.title, &issue.body),
                    Some(Err(_)) | None => Brief::read(facts.issue.title.open(), facts.issue.body.open()),
                };
                Ok(Snapshot { context: whole(cx, scene, &facts, &brief).await?, reading: None })
            }
            Scene::Monitor(_) => Err(Error::Scene("a review or a contribution")),
        }
    }

    async fn present(&self, _cx: &Context, _input: &AgentInput, output: &AgentOutput) -> Result<Value, Error> {
        Ok(Role::Manager.document(&output.result).map(Cow::into_owned).unwrap_or_default())
    }

    fn line(&self, snapshot: &Snapshot) -> Option<String> {
        Some(match &snapshot.reading {
            Some(plan) => {
                let total = count(plan.read.len() + plan.not_read.len(), "changed file");
                format!("reading {} of {total}", plan.read.len())
            }
            None => {
                let analysis = &snapshot.context.analysis;
                let files = count(usize::try_from(analysis.file_count).unwrap_or(usize::MAX), "file");
                match analysis.languages.first() {
                    Some(language) => format!("{files}, mostly {language}"),
                    None => files,
                }
            }
        })
    }
}

/// The snapshot at a glance: from the list of files and the manifests of the root, whatever the size of the repository.
async fn glance(cx: &Context, scene: &Reviewing, facts: &ReviewFacts) -> Result<ProjectContext, Error> {
    let name = facts.repo.rsplit('/').next().unwrap_or_default();
    let tree = scene.change.head_tree();
    let survey = match Survey::of(&tree).await {
        Ok(survey) => survey,
        Err(Error::Workspace(workspace::Error::TooLarge { .. })) => {
            let analysis = ProjectAnalysis::default();
            let told = Some("a repository with too many files to list".to_owned());
            return Ok(snapshot(cx, name, &facts.repo, told, analysis));
        }
        Err(error) => return Err(error),
    };
    let manifests = Manifests::read_root(&tree, &survey).await?;
    let packages = packages::read_root(&tree, &survey).await?;
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    for file in survey.files.iter().filter(|file| file.class != Class::Foreign && file.size != u64::MAX) {
        if let Some(language) = file.language {
            *bytes.entry(language).or_default() += file.size;
        }
    }
    let languages = model::largest_first(bytes);
    let description = packages.description.clone();
    let analysis = analysis(languages, None, &survey, packages.dependencies, &manifests);
    Ok(snapshot(cx, name, &facts.repo, description, analysis))
}

/// The snapshot with the whole model in it.
async fn whole(
    cx: &Context,
    scene: &Contributing,
    facts: &ContributeFacts,
    brief: &Brief,
) -> Result<ProjectContext, Error> {
    let Contributing { tree, library, .. } = scene;
    let reading = library.read(cx, brief).await?;
    let manifests = Manifests::read(tree, &reading.survey).await?;
    let (languages, lines) = model::languages(reading);
    let Packages { dependencies, description, .. } = &reading.packages;
    let analysis = analysis(languages, Some(lines), &reading.survey, dependencies.clone(), &manifests);
    let repository = &facts.repository;
    let remote = || format!("{}/{}", words::line(&repository.owner, 100), words::line(&repository.name, 200));
    let root = repository.work_tree.clone().unwrap_or_else(remote);
    let mut context = snapshot(cx, &words::line(&repository.name, 200), &root, description.clone(), analysis);
    let main = reading.language().unwrap_or_default();
    let habits = reading.habits.get(main.as_str()).cloned().unwrap_or_default();
    let learned = Learned {
        context: &context,
        customs: &customs::context(tree, &reading.survey).await?,
        style: &style::style(&habits, &manifests, &main),
        commands: &manifest::project(&manifests, &main).commands,
    };
    context.model = Some(model::project(reading, &learned));
    Ok(context)
}

fn analysis(
    languages: Vec<String>,
    total_loc: Option<u64>,
    survey: &Survey,
    dependencies: Vec<String>,
    manifests: &Manifests,
) -> ProjectAnalysis {
    let frameworks = Some(manifest::frameworks(manifests)).filter(|found| !found.is_empty());
    ProjectAnalysis {
        languages,
        file_count: survey.files.len() as u64,
        total_loc,
        dependencies,
        frameworks,
        goals: None,
    }
}

fn snapshot(
    cx: &Context,
    name: &str,
    root: &str,
    description: Option<String>,
    analysis: ProjectAnalysis,
) -> ProjectContext {
    let project = ProjectIdentity { name: name.to_owned(), root_path: root.to_owned(), description };
    ProjectContext { project, analysis, generated_at: cx.timestamp(), model: None }
}

/// Which changed files are read.
async fn reading(cx: &Context, facts: ReviewFacts) -> Result<FilePlan, Error> {
    let ignored = globs(&facts.settings.ignore)?;
    let mut plan = FilePlan { not_read: facts.not_read, ..FilePlan::default() };
    // What lies beyond the limits of a whole change is no single file's matter, whatever its language.
    for unread in plan.not_read.iter_mut().filter(|unread| facts.files.iter().any(|file| file.path == unread.path)) {
        unread.left_out = Language::of_path(&unread.path).is_none();
    }
    for file in &facts.files {
        if !has_new_text(file) || plan.not_read.iter().any(|n| n.path == file.path) {
            continue;
        }
        match reason_to_skip(cx, file, &ignored).await? {
            Some((reason, left_out)) => plan.not_read.push(NotRead { path: file.path.clone(), reason, left_out }),
            None => plan.read.push(PlannedFile {
                path: file.path.clone(),
                old_path: match file.kind {
                    ChangeKind::Added => None,
                    _ => Some(file.old_path.clone().unwrap_or_else(|| file.path.clone())),
                },
                language: Language::of_path(&file.path).map(|language| language.name().to_owned()),
            }),
        }
    }
    plan.watched = facts
        .watched
        .into_iter()
        .filter(|path| !plan.read.iter().any(|file| file.path == *path))
        .filter(|path| !plan.not_read.iter().any(|file| file.path == *path))
        .collect();
    Ok(plan)
}

/// Removed files, pure renames and mode changes leave nothing new to read.
fn has_new_text(file: &FileDiff) -> bool {
    match file.kind {
        ChangeKind::Added | ChangeKind::Modified => true,
        ChangeKind::Renamed => file.binary || !file.hunks.is_empty(),
        ChangeKind::Removed | ChangeKind::Mode => false,
        ChangeKind::Submodule => true,
    }
}

/// Why a file is not read, and whether that is as it should be.
async fn reason_to_skip(cx: &Context, file: &FileDiff, ignored: &GlobSet) -> Result<Option<(String, bool)>, Error> {
    if file.kind == ChangeKind::Submodule {
        return Ok(Some(("submodule".into(), true)));
    }
    if ignored.is_match(&file.path) {
        return Ok(Some((IGNORED.into(), true)));
    }
    if cx.reviewing()?.change.is_generated(&file.path).await? {
        return Ok(Some(("marked as generated in .gitattributes".into(), true)));
    }
    if file.binary {
        return Ok(Some(("binary".into(), Language::of_path(&file.path).is_none())));
    }
    Ok(None)
}

/// The patterns of `ignore` as one.
///
/// # Errors
/// When one of them is no glob.
pub fn globs(patterns: &[String]) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(Glob::new(pattern).map_err(|e| Error::Setting(e.to_string()))?);
    }
    set.build().map_err(|e| Error::Setting(e.to_string()))
}
