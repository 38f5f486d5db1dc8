//! A codebase, read once for every page that is made of it.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::agent::contribute::{Class, Manifests, Project, Survey, is_minor, project};
use crate::agent::review::parallel;
use crate::analysis::{Outline, skip_reason};
use crate::artifact::server::Codebase;

pub(super) struct Source<'a> {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) version: Option<String>,
    pub(super) licence: Option<String>,
    pub(super) repo_url: Option<&'a str>,
    /// In the order of their paths.
    pub(super) files: Vec<File<'a>>,
    pub(super) survey: Survey,
    pub(super) project: Project,
}

pub(super) struct File<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) class: Class,
    pub(super) language: Option<&'static str>,
    pub(super) lines: usize,
    /// None for what is no code of a language that can be parsed.
    pub(super) outline: Option<Outline>,
}

impl<'a> Source<'a> {
    pub(super) fn read(codebase: &'a Codebase) -> Self {
        let survey = Survey::new(codebase.files.iter().map(|file| file.path.clone()).collect());
        let texts: HashMap<&str, &str> =
            codebase.files.iter().map(|file| (file.path.as_str(), file.content.as_str())).collect();
        let known: HashMap<&str, (Class, Option<&'static str>)> =
            survey.files.iter().map(|file| (file.path.as_str(), (file.class, file.language))).collect();
        let mut files: Vec<File<'a>> = parallel::map(&codebase.files, |file| {
            let (class, language) = known.get(file.path.as_str()).copied().unwrap_or((Class::Other, None));
            let worth = class != Class::Foreign && skip_reason(&file.path, file.content.as_bytes()).is_none();
            File {
                path: &file.path,
                text: &file.content,
                class,
                language,
                lines: file.content.lines().count(),
                outline: Some(()).filter(|()| worth).and_then(|()| Outline::read(&file.path, &file.content)),
            }
        });
        files.sort_by_key(|file| file.path);
        let manifests = Manifests::of(&survey, |path| texts.get(path).copied());
        let project = project(&manifests, main_language(&files).unwrap_or_default());
        let said = Said::read(&manifests);
        let given = |key: &str| codebase.metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        let repo_url = codebase.repo_url.as_deref();
        let named = repo_url.and_then(|url| url.trim_end_matches('/').rsplit('/').next());
        let named = named.map(|name| name.trim_end_matches(".git").to_owned());
        let name = said.name.or_else(|| given("name")).or(named).filter(|name| !name.trim().is_empty());
        Self {
            name: name.unwrap_or_else(|| "codebase".to_owned()),
            description: said.description.or_else(|| given("description")),
            version: said.version.or_else(|| given("version")),
            licence: said.licence.or_else(|| given("license")),
            repo_url,
            files,
            survey,

            project,
        }
    }

    /// Files and lines of each language, the most lines first. Tests count, other people's files do not.
    pub(super) fn languages(&self) -> Vec<(&'static str, usize, usize)> {
        languages(&self.files)
    }

    pub(super) fn of(&self, class: Class) -> impl Iterator<Item = &File<'a>> {
        self.files.iter().filter(move |file| file.class == class)
    }

    /// Paths whose names say what kind of document they are, nearest to the root first.
    pub(super) fn document(&self, stems: &[&str]) -> Option<&'a str> {
        let mut found: Vec<&'a str> = self
            .files
            .iter()
            .map(|file| file.path)
            .filter(|path| {
                let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
                let stem = name.split('.').next().unwrap_or(&name);
                let text = ["", "md", "rst", "txt", "adoc", "markdown"];
                stems.contains(&stem) && text.contains(&name.split_once('.').map_or("", |(_, end)| end))
            })
            .collect();
        found.retain(|path| path.matches('/').count() <= 1);
        found.sort_by_key(|path| (path.matches('/').count(), *path));
        found.first().copied()
    }
}

fn languages(files: &[File<'_>]) -> Vec<(&'static str, usize, usize)> {
    let mut sums: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
    for file in files.iter().filter(|file| file.class != Class::Foreign) {
        if let Some(language) = file.language {
            let sum = sums.entry(language).or_default();
            *sum = (sum.0 + 1, sum.1 + file.lines);
        }
    }
    let mut found: Vec<_> = sums.into_iter().map(|(language, (files, lines))| (language, files, lines)).collect();
    found.sort_by_key(|(language, _, lines)| (std::cmp::Reverse(*lines), *language));
    found
}

fn main_language(files: &[File<'_>]) -> Option<&'static str> {
    let all = languages(files);
    all.iter().find(|(language, ..)| !is_minor(language)).or(all.first()).map(|(language, ..)| *language)
}

/// What the manifests at the root say about the project itself.
#[derive(Default)]
struct Said {
    name: Option<String>,
    description: Option<String>,
    version: Option<String>,
    licence: Option<String>,
}

impl Said {
    fn read(m: &Manifests) -> Self {
        let of_toml = |table: &toml::Value| {
            let text = |key: &str| table.get(key).and_then(toml::Value::as_str).map(str::to_owned);
            let licence = table.get("license").and_then(|license| license.get("text")).and_then(toml::Value::as_str);
            Self {
                name: text("name"),
                description: text("description"),
                version: text("version"),
                licence: text("license").or_else(|| licence.map(str::to_owned)),
            }
        };
        let cargo = m.toml("", "Cargo.toml").and_then(|table| {
            let package = table.get("package").map(of_toml).unwrap_or_default();
            // A member may leave these to the workspace.
            let shared = table.get("workspace").and_then(|all| all.get("package")).map(of_toml).unwrap_or_default();
            Some(package.or(shared)).filter(|said| said.name.is_some() || said.version.is_some())
        });
        let python = || {
            let table = m.toml("", "pyproject.toml")?;
            let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
            Some(of_toml(table.get("project").or(poetry)?))
        };
        let node = || {
            let package = m.json("", "package.json")?;
            let text = |key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
            let (name, description) = (text("name"), text("description"));
            Some(Self { name, description, version: text("version"), licence: text("license") })
        };
        let go = || {
            let module = m.text("", "go.mod")?.lines().find_map(|line| line.trim().strip_prefix("module "))?;
            Some(Self { name: module.trim().rsplit('/').next().map(str::to_owned), ..Self::default() })
        };
        cargo.or_else(python).or_else(node).or_else(go).unwrap_or_default()
    }

    fn or(self, other: Self) -> Self {
        Self {
            name: self.name,
            description: self.description.or(other.description),
            version: self.version.or(other.version),
            licence: self.licence.or(other.licence),
        }
    }
}
