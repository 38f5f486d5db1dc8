//! What a repository's manifests say: how it is installed, built, tested and checked, and with which framework; as people
//! are told it, and as `agent::checks` takes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::ecosystem;
use super::survey::{self, Class, Survey, name};
use super::words;
use crate::agent::Error;
use crate::agent::checks::Kind;
use crate::artifact::swarm::BuildCommands;
use crate::stdx::path::join;
use crate::workspace::Tree;

/// Manifests and settings that are read, each where it lies nearest to the root.
const READ: &[&str] = &[
    ".clang-format",
    ".editorconfig",
    ".flake8",
    ".prettierrc",
    ".prettierrc.json",
    ".prettierrc.yaml",
    ".prettierrc.yml",
    "CMakeLists.txt",
    "Cargo.toml",
    "Gemfile",
    "GNUmakefile",
    "Makefile",
    "Package.swift",
    "Pipfile",
    "biome.json",
    "build.gradle",
    "build.gradle.kts",
    "composer.json",
    "deno.json",
    "deno.jsonc",
    "environment.yml",
    "go.mod",
    "justfile",
    "makefile",
    "meson.build",
    "mix.exs",
    "package.json",
    "pom.xml",
    "pubspec.yaml",
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "rustfmt.toml",
    ".rustfmt.toml",
    "settings.gradle",
    "settings.gradle.kts",
    "setup.cfg",
    "setup.py",
    "stack.yaml",
    "tox.ini",
];
/// As many of one name.
const MAX_SAME: usize = 2;
/// Folders above a manifest that is read.
const DEPTH: usize = 2;
const MAX_TEXT: usize = 256 * 1024;
/// Where more than a handful of projects is wanted: as many of one name, as many folders above.
const MAX_SAME_WIDE: usize = 24;
const DEPTH_WIDE: usize = 4;
/// Beside the workflows of GitHub, files in which people write down what they run.
const SHOWING: &[&str] = &[
    ".gitlab-ci.yml",
    ".golangci.toml",
    ".golangci.yaml",
    ".golangci.yml",
    ".pre-commit-config.yaml",
    "GNUmakefile",
    "Makefile",
    "justfile",
    "makefile",
];
const MAX_WORKFLOWS: usize = 16;
/// Folders with a manifest that are looked into, those nearest to the root.
const MAX_FOLDERS: usize = 200;

/// What the manifests come to.
#[derive(Debug, Default, Clone, PartialEq)]
pub(in crate::agent) struct Project {
    pub(in crate::agent) framework: String,
    pub(in crate::agent) manager: String,
    pub(in crate::agent) monorepo: bool,
    pub(in crate::agent) commands: BuildCommands,
    /// The commands as a shell runs them.
    pub(in crate::agent) runs: Vec<Run>,
    /// It speaks for the projects of its kind below it, though it does not name them.
    pub(in crate::agent) covers: bool,
}

/// A command for a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agent) struct Run {
    pub(in crate::agent) kind: Kind,
    pub(in crate::agent) line: String,
}

/// A project that was found, with what it is called after and what its programs read from their environment.
pub(in crate::agent) struct Found {
    pub(in crate::agent) folder: String,
    pub(in crate::agent) ecosystem: &'static str,
    pub(in crate::agent) always: &'static [(&'static str, &'static str)],
    pub(in crate::agent) offline: &'static [(&'static str, &'static str)],
    pub(in crate::agent) project: Project,
}

/// The manifests of a tree, read.
#[derive(Debug, Default)]
pub(in crate::agent) struct Manifests {
    texts: BTreeMap<String, String>,
    /// Every file at the root and two folders below it, or further where more was asked for, by path.
    near: BTreeSet<String>,
    /// What people write down that they run.
    shown: String,
    /// There are tests, as files of their own.
    pub(super) tests: bool,
}

impl Manifests {
    /// Reads them.
    ///
    /// # Errors
    /// When git cannot be read.
    pub(super) async fn read(tree: &Tree, survey: &Survey) -> Result<Self, Error> {
        Self::read_paths(tree, survey, &wanted(survey, DEPTH, MAX_SAME)).await
    }

    /// Those of the root alone: a handful of files.
    ///
    /// # Errors
    /// When git cannot be read.
    pub(super) async fn read_root(tree: &Tree, survey: &Survey) -> Result<Self, Error> {
        Self::read_paths(tree, survey, &wanted(survey, 0, MAX_SAME)).await
    }

    /// Those of many projects, with what the repository shows of what people run.
    ///
    /// # Errors
    /// When git cannot be read.
    pub(in crate::agent) async fn read_wide(tree: &Tree, survey: &Survey) -> Result<Self, Error> {
        let paths = [wanted(survey, DEPTH_WIDE, MAX_SAME_WIDE), showing(survey)].concat();
        Ok(Self::read_paths(tree, survey, &paths).await?.widened(survey))
    }

    async fn read_paths(tree: &Tree, survey: &Survey, paths: &[&str]) -> Result<Self, Error> {
        let mut texts = BTreeMap::new();
        for path in paths {
            if let Some(text) = survey::text(tree, path).await?.filter(|text| text.len() <= MAX_TEXT) {
                texts.insert((*path).to_owned(), text);
            }
        }
        Ok(Self::new(texts, survey))
    }

    /// Takes them from a codebase whose texts are at hand.
    pub(in crate::agent) fn of<'a>(survey: &Survey, text: impl Fn(&str) -> Option<&'a str>) -> Self {
        let texts = wanted(survey, DEPTH, MAX_SAME)
            .into_iter()
            .filter_map(|path| Some((path.to_owned(), text(path).filter(|text| text.len() <= MAX_TEXT)?.to_owned())));
        Self::new(texts.collect(), survey)
    }

    /// The same for many projects.
    #[cfg(test)]
    pub(in crate::agent) fn wide<'a>(survey: &Survey, text: impl Fn(&str) -> Option<&'a str>) -> Self {
        let paths = [wanted(survey, DEPTH_WIDE, MAX_SAME_WIDE), showing(survey)].concat();
        let texts = paths.into_iter().filter_map(|path| Some((path.to_owned(), text(path)?.to_owned()))).collect();
        Self::new(texts, survey).widened(survey)
    }

    fn new(texts: BTreeMap<String, String>, survey: &Survey) -> Self {
        let near = near(survey, DEPTH);
        let tests = survey.files.iter().any(|file| file.class == Class::Test && file.language.is_some());
        Self { texts, near, shown: String::new(), tests }
    }

    fn widened(mut self, survey: &Survey) -> Self {
        self.near = near(survey, DEPTH_WIDE + 1);
        self.shown = showing(survey)
            .iter()
            .filter_map(|path| self.texts.get(*path))
            .fold(String::new(), |all, text| all + text + "\n");
        self
    }

    /// Whether the repository's workflows, hooks or recipes speak of one of these.
    pub(super) fn shows(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.shown.contains(word))
    }

    /// The text of a manifest in a folder.
    pub(in crate::agent) fn text(&self, folder: &str, name: &str) -> Option<&str> {
        self.texts.get(&join(folder, name)).map(String::as_str)
    }

    pub(in crate::agent) fn json(&self, folder: &str, name: &str) -> Option<Value> {
        serde_json::from_str(self.text(folder, name)?).ok()
    }

    pub(in crate::agent) fn toml(&self, folder: &str, name: &str) -> Option<toml::Table> {
        self.text(folder, name)?.parse().ok()
    }

    /// Whether a folder has a file of one of these names.
    pub(super) fn has(&self, folder: &str, names: &[&str]) -> bool {
        names.iter().any(|name| self.near.contains(&join(folder, name)))
    }

    /// Files of a folder whose names end so.
    pub(super) fn ending(&self, folder: &str, end: &str) -> Option<&str> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let own = |path: &&String| path.ends_with(end) && !path[prefix.len()..].contains('/');
        let mut below = self.near.range(prefix.clone()..).take_while(|path| path.starts_with(&prefix));
        below.find(own).map(|path| name(path))
    }

    /// Whether a folder has a folder of this name.
    pub(super) fn folder(&self, folder: &str, name: &str) -> bool {
        let prefix = format!("{}/", join(folder, name));
        self.near.range(prefix.clone()..).next().is_some_and(|path| path.starts_with(&prefix))
    }
}

/// The files that lie at most so many folders deep.
fn near(survey: &Survey, depth: usize) -> BTreeSet<String> {
    let near = survey.files.iter().filter(|file| file.path.matches('/').count() <= depth);
    near.map(|file| file.path.clone()).collect()
}

/// The paths of the manifests that are read, as many folders deep and as many of a name.
fn wanted(survey: &Survey, depth: usize, same: usize) -> Vec<&str> {
    let mut paths = Vec::new();
    for name in READ {
        let mut found = survey.named(name);
        found.retain(|path| path.matches('/').count() <= depth && !path.contains("node_modules/"));
        paths.extend(found.into_iter().take(same));
    }
    let project = survey.files.iter().find(|file| file.path.ends_with(".csproj") && file.class == Class::Other);
    paths.extend(project.map(|file| file.path.as_str()));
    paths
}

/// The paths of the files in which people write down what they run.
fn showing(survey: &Survey) -> Vec<&str> {
    let yaml =
        |path: &&str| path.starts_with(".github/workflows/") && (path.ends_with(".yml") || path.ends_with(".yaml"));
    let workflows = survey.files.iter().map(|file| file.path.as_str()).filter(yaml).take(MAX_WORKFLOWS);
    SHOWING.iter().filter_map(|name| survey.get(name)).map(|file| file.path.as_str()).chain(workflows).collect()
}

/// Every project that a manifest shows, the root first, folders before what lies in them. A project that another one
/// speaks for keeps only the scripts that the other one lacks.
pub(in crate::agent) fn projects(manifests: &Manifests) -> Vec<Found> {
    let manifest = |path: &&String| {
        let name = name(path);
        READ.contains(&name)
            || matches!(name, "noxfile.py" | "configure" | "configure.ac")
            || [".csproj", ".fsproj", ".sln", ".slnx", ".cabal"].iter().any(|end| name.ends_with(end))
    };
    let folders: BTreeSet<(usize, &str)> = manifests
        .near
        .iter()
        .filter(manifest)
        .map(|path| path.rsplit_once('/').map_or("", |(folder, _)| folder))
        .filter(|folder| folder.is_empty() || !is_beside(folder))
        .map(|folder| (if folder.is_empty() { 0 } else { folder.matches('/').count() + 1 }, folder))
        .collect();
    let mut found: Vec<Found> = Vec::new();
    for (_, folder) in folders.into_iter().take(MAX_FOLDERS) {
        for ecosystem in ecosystem::ALL {
            let Some(mut project) = (ecosystem.read)(manifests, folder) else { continue };
            let twin =
                found.iter().any(|one| one.folder == folder && one.ecosystem == "maven" && ecosystem.name == "gradle");
            let above = found.iter().find(|one| {
                let below =
                    one.folder.is_empty() || folder.strip_prefix(&one.folder).is_some_and(|f| f.starts_with('/'));
                let speaks = one.project.monorepo || one.project.covers;
                one.ecosystem == ecosystem.name && one.folder != folder && below && speaks
            });
            match above {
                // A root of packages says what is done everywhere; what it does not say is theirs.
                Some(above) if ecosystem.name == "node" => {
                    let said = |kind: Kind| kind == Kind::Install || above.project.runs.iter().any(|r| r.kind == kind);
                    project.runs.retain(|run| !said(run.kind));
                }
                Some(_) => continue,
                None => {}
            }
            if !twin && !project.runs.is_empty() {
                let (always, offline) = (ecosystem.env.always, ecosystem.env.offline);
                let (folder, ecosystem) = (folder.to_owned(), ecosystem.name);
                found.push(Found { folder, ecosystem, always, offline, project });
            }
        }
    }
    let known: BTreeSet<Kind> = found
        .iter()
        .filter(|one| one.folder.is_empty())
        .flat_map(|one| &one.project.runs)
        .map(|run| run.kind)
        .collect();
    let mut made = Project::default();
    from_make(manifests, &mut made);
    let BuildCommands { install, build, test, lint } = made.commands;
    for (kind, line) in [(Kind::Install, install), (Kind::Lint, lint), (Kind::Build, build), (Kind::Test, test)] {
        // Whatever else there is at the root installs what it needs itself.
        let wanted = !line.is_empty() && !known.contains(&kind) && (kind != Kind::Install || known.is_empty());
        if wanted {
            made.runs.push(Run { kind, line });
        }
    }
    if !made.runs.is_empty() {
        let project = Project { commands: BuildCommands::default(), ..made };
        let program = if project.manager == "just" { "just" } else { "make" };
        found.push(Found { folder: String::new(), ecosystem: program, always: &[], offline: &[], project });
    }
    found
}

/// What they come to, for a project that is mostly written in `language`.
pub(in crate::agent) fn project(manifests: &Manifests, language: &str) -> Project {
    let folders: BTreeSet<(usize, &str)> = manifests
        .near
        .iter()
        .map(|path| path.rsplit_once('/').map_or("", |(folder, _)| folder))
        .filter(|folder| folder.is_empty() || !is_beside(folder))
        .map(|folder| (if folder.is_empty() { 0 } else { folder.matches('/').count() + 1 }, folder))
        .collect();
    // The root's manifest of the main language, then any of the root's, then the same one folder below.
    let mut best: Option<(bool, usize, &str, Project)> = None;
    for (depth, folder) in folders {
        for ecosystem in ecosystem::ALL {
            let Some(project) = (ecosystem.read)(manifests, folder) else { continue };
            let other = !ecosystem.languages.contains(&language);
            let better = best.as_ref().is_none_or(|(known, deep, ..)| (other, depth) < (*known, *deep));
            if better {
                best = Some((other, depth, folder, project));
            }
        }
    }
    let (folder, mut project) = best.map_or(("", Project::default()), |(_, _, folder, project)| (folder, project));
    if folder.is_empty() {
        from_make(manifests, &mut project);
    } else if is_plain(folder) {
        let commands = &mut project.commands;
        for command in [&mut commands.install, &mut commands.build, &mut commands.test, &mut commands.lint] {
            if !command.is_empty() {
                *command = format!("cd {folder} && {command}");
            }
        }
    } else {
        // A folder's name that a shell would read as more than a name is not put into a command.
        project.commands = BuildCommands::default();
    }
    project.monorepo |= manifests.has(
        "",
        &[
            "pnpm-workspace.yaml",
            "lerna.json",
            "nx.json",
            "turbo.json",
            "go.work",
            "rush.json",
            "WORKSPACE",
            "MODULE.bazel",
        ],
    );
    project
}

/// The frameworks of every manifest that was read, each once, in order.
pub(super) fn frameworks(manifests: &Manifests) -> Vec<String> {
    let folders = manifests.texts.keys().map(|path| path.rsplit_once('/').map_or("", |(folder, _)| folder));
    let folders: BTreeSet<&str> = folders.filter(|folder| folder.is_empty() || !is_beside(folder)).collect();
    let read = folders.iter().flat_map(|folder| ecosystem::ALL.iter().filter_map(|e| (e.read)(manifests, folder)));
    let found: BTreeSet<String> = read.map(|project| project.framework).filter(|name| !name.is_empty()).collect();
    found.into_iter().collect()
}

/// Targets of the Makefile or recipes of the justfile, where no other manifest knew a command.
fn from_make(manifests: &Manifests, project: &mut Project) {
    static TARGET: LazyLock<Regex> =
        LazyLock::new(|| words::regex(r"(?m)^([A-Za-z][A-Za-z0-9_-]*)[^\S\n]*[A-Za-z0-9_ ]*:(?:[^=]|$)"));
    let make = ["Makefile", "makefile", "GNUmakefile"].iter().find_map(|name| manifests.text("", name));
    let just = manifests.text("", "justfile");
    let (program, text) = match (make, just) {
        (Some(text), _) => ("make", text),
        (None, Some(text)) => ("just", text),
        (None, None) => return,
    };
    let targets: BTreeSet<&str> = TARGET.captures_iter(text).filter_map(|c| c.get(1)).map(|m| m.as_str()).collect();
    let target =
        |names: &[&str]| names.iter().find(|name| targets.contains(*name)).map(|name| format!("{program} {name}"));
    let commands = &mut project.commands;
    for (command, names) in [
        (&mut commands.install, &["deps", "setup", "bootstrap", "install-deps"][..]),
        (&mut commands.build, &["build", "all", "compile"]),
        (&mut commands.test, &["test", "tests", "check"]),
        (&mut commands.lint, &["lint", "fmt-check", "format-check", "style"]),
    ] {
        if command.is_empty() {
            *command = target(names).unwrap_or_default();
        }
    }
    if project.manager.is_empty() {
        project.manager = program.to_owned();
    }
}

/// Folders whose manifests are not the project's own.
fn is_beside(folder: &str) -> bool {
    folder.split('/').any(|part| {
        matches!(
            part,
            "examples"
                | "example"
                | "fixtures"
                | "tests"
                | "test"
                | "testdata"
                | "docs"
                | "website"
                | "vendor"
                | "node_modules"
                | "benchmarks"
        )
    })
}

/// Safe to stand in a command as it is.
fn is_plain(folder: &str) -> bool {
    !folder.starts_with('-')
        && folder.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/'))
}
