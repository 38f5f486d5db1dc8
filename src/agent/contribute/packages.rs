//! Every manifest's direct dependencies, and the packages that the repository itself is made of.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::survey::{self, Class, Survey, name};
use super::words;
use crate::agent::Error;
use crate::workspace::Tree;

/// Manifests that are read, those nearest to the root first.
const MAX_MANIFESTS: usize = 200;
const MAX_TEXT: usize = 256 * 1024;
const MAX_NAMES: usize = 500;

/// What the manifests say.
#[derive(Debug, Default)]
pub(super) struct Packages {
    /// Names of direct dependencies that are not the repository's own.
    pub(super) dependencies: Vec<String>,
    /// Packages of the repository.
    pub(super) own: Vec<Package>,
    /// What the first manifest that says so calls the project.
    pub(super) description: Option<String>,
    /// Manifests that were too many to be read.
    pub(super) left: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) kind: PackageKind,
    pub(super) name: String,
    /// Empty for the root.
    pub(super) folder: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PackageKind {
    Cargo,
    Node,
    /// The name is the module's path.
    Go,
}

/// Reads them.
///
/// # Errors
/// When git cannot be read.
pub(super) async fn read(tree: &Tree, survey: &Survey) -> Result<Packages, Error> {
    read_from(tree, survey, usize::MAX).await
}

/// Those of the root alone: a handful of files.
///
/// # Errors
/// When git cannot be read.
pub(super) async fn read_root(tree: &Tree, survey: &Survey) -> Result<Packages, Error> {
    read_from(tree, survey, 0).await
}

async fn read_from(tree: &Tree, survey: &Survey, depth: usize) -> Result<Packages, Error> {
    let slashes = |path: &str| path.matches('/').count();
    let mut paths: Vec<&str> = survey
        .files
        .iter()
        .filter(|file| !matches!(file.class, Class::Foreign | Class::Test | Class::Docs) && is_manifest(&file.path))
        .map(|file| file.path.as_str())
        .filter(|path| slashes(path) <= depth)
        .collect();
    // Lists of requirements look like documentation.
    let lists = survey.files.iter().filter(|file| file.class == Class::Docs && is_manifest(&file.path));
    paths.extend(lists.map(|file| file.path.as_str()).filter(|path| slashes(path) <= depth));
    paths.sort_by_key(|path| (slashes(path), *path));
    let left = paths.len().saturating_sub(MAX_MANIFESTS);
    paths.truncate(MAX_MANIFESTS);
    let (mut all, mut packages) = (BTreeSet::new(), Packages { left, ..Packages::default() });
    for path in paths {
        if let Some(text) = survey::text(tree, path).await?.filter(|text| text.len() <= MAX_TEXT) {
            take(path, &text, &mut all, &mut packages);
        }
    }
    let own: BTreeSet<&str> = packages.own.iter().map(|package| package.name.as_str()).collect();
    let foreign = all.into_iter().filter(|name| !own.contains(name.as_str()) && is_name(name));
    packages.dependencies = foreign.take(MAX_NAMES).collect();
    Ok(packages)
}

fn is_manifest(path: &str) -> bool {
    let name = name(path);
    matches!(
        name,
        "Cargo.toml"
            | "package.json"
            | "pyproject.toml"
            | "setup.cfg"
            | "setup.py"
            | "Pipfile"
            | "go.mod"
            | "pom.xml"
            | "build.gradle"
            | "build.gradle.kts"
            | "Gemfile"
            | "composer.json"
            | "pubspec.yaml"
            | "mix.exs"
    ) || name.ends_with(".csproj")
        || name.starts_with("requirements") && name.ends_with(".txt")
}

/// Letters, digits and what stands between the parts of a package's name.
fn is_name(name: &str) -> bool {
    (1..=200).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@' || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/@:+~".contains(c))
}

fn take(path: &str, text: &str, all: &mut BTreeSet<String>, packages: &mut Packages) {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let mut own = |kind: PackageKind, name: &str, description: Option<&str>| {
        packages.own.push(Package { kind, name: name.to_owned(), folder: folder.clone() });
        if packages.description.is_none() && folder.is_empty() {
            packages.description = description.map(|text| words::line(text, 400)).filter(|text| !text.is_empty());
        }
    };
    match name(path) {
        "Cargo.toml" => {
            let Ok(table) = text.parse::<toml::Table>() else { return };
            let package = table.get("package");
            let said = |key: &str| package.and_then(|package| package.get(key)).and_then(toml::Value::as_str);
            if let Some(name) = said("name") {
                own(PackageKind::Cargo, name, said("description"));
            }
            cargo(&table, all);
        }
        "package.json" => {
            let Ok(json) = serde_json::from_str::<Value>(text) else { return };
            let said = |key: &str| json.get(key).and_then(Value::as_str);
            if let Some(name) = said("name") {
                own(PackageKind::Node, name, said("description"));
            }
            for kind in ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"] {
                let listed = json.get(kind).and_then(Value::as_object);
                all.extend(listed.into_iter().flatten().map(|(name, _)| name.clone()));
            }
        }
        "go.mod" => {
            for line in text.lines().map(str::trim) {
                if let Some(module) = line.strip_prefix("module ") {
                    own(PackageKind::Go, module.trim().trim_matches('"'), None);
                }
            }
            all.extend(go(text));
        }
        "pyproject.toml" => {
            let Ok(table) = text.parse::<toml::Table>() else { return };
            let project = table.get("project").or_else(|| table.get("tool")?.get("poetry"));
            let description = project.and_then(|p| p.get("description")).and_then(toml::Value::as_str);
            if packages.description.is_none() && folder.is_empty() {
                packages.description = description.map(|text| words::line(text, 400));
            }
            pyproject(&table, all);
        }
        "composer.json" => {
            let json: Value = serde_json::from_str(text).unwrap_or_default();
            for kind in ["require", "require-dev"] {
                let listed = json.get(kind).and_then(Value::as_object);
                all.extend(
                    listed.into_iter().flatten().map(|(name, _)| name.clone()).filter(|name| name.contains('/')),
                );
            }
        }
        other => all.extend(by_lines(other, text)),
    }
}

fn cargo(table: &toml::Table, all: &mut BTreeSet<String>) {
    let mut take = |of: Option<&toml::Value>| {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let listed = of.and_then(|of| of.get(kind)).and_then(toml::Value::as_table);
            for (name, value) in listed.into_iter().flatten() {
                let path = value.get("path").is_some();
                let renamed = value.get("package").and_then(toml::Value::as_str);
                if !path {
                    all.insert(renamed.unwrap_or(name).to_owned());
                }
            }
        }
    };
    let whole = toml::Value::Table(table.clone());
    take(Some(&whole));
    take(whole.get("workspace"));
    for (_, target) in whole.get("target").and_then(toml::Value::as_table).into_iter().flatten() {
        take(Some(target));
    }
}

fn go(text: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("require (") {
            inside = true;
        } else if line == ")" {
            inside = false;
        } else if !line.contains("// indirect") {
            let bare = line.strip_prefix("require ").or(inside.then_some(line));
            found.extend(bare.and_then(|bare| bare.split_whitespace().next()).map(str::to_owned));
        }
    }
    found
}

fn pyproject(table: &toml::Table, all: &mut BTreeSet<String>) {
    let mut required = |value: Option<&toml::Value>| {
        let list = value.and_then(toml::Value::as_array).into_iter().flatten();
        all.extend(list.filter_map(toml::Value::as_str).filter_map(required_name));
    };
    let project = table.get("project");
    required(project.and_then(|project| project.get("dependencies")));
    let extras = project.and_then(|project| project.get("optional-dependencies")).and_then(toml::Value::as_table);
    extras.into_iter().flatten().for_each(|(_, list)| required(Some(list)));
    let groups = table.get("dependency-groups").and_then(toml::Value::as_table);
    groups.into_iter().flatten().for_each(|(_, list)| required(Some(list)));
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    let mut named = |value: Option<&toml::Value>| {
        let listed = value.and_then(toml::Value::as_table).into_iter().flatten();
        all.extend(listed.map(|(name, _)| name.to_lowercase()).filter(|name| name != "python"));
    };
    named(poetry.and_then(|poetry| poetry.get("dependencies")));
    named(poetry.and_then(|poetry| poetry.get("dev-dependencies")));
    let groups = poetry.and_then(|poetry| poetry.get("group")).and_then(toml::Value::as_table);
    groups.into_iter().flatten().for_each(|(_, group)| named(group.get("dependencies")));
}

/// The name at the beginning of `Flask[async]>=2; python_version > "3"`, in lower case.
fn required_name(requirement: &str) -> Option<String> {
    let bare = requirement.trim();
    let end = bare.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-')).unwrap_or(bare.len());
    let rest = bare[end..].trim_start();
    let ends = rest.is_empty() || rest.starts_with(['[', '=', '<', '>', '~', '!', ';', '@', '#', ',', '(']);
    (end > 0 && ends && bare.starts_with(|c: char| c.is_ascii_alphanumeric())).then(|| bare[..end].to_lowercase())
}

/// Manifests that no parser of ours reads: by how a dependency looks in them.
fn by_lines(name: &str, text: &str) -> BTreeSet<String> {
    static POM: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(r"(?s)<dependency>\s*.*?<artifactId>\s*([A-Za-z0-9._-]+)\s*</artifactId>.*?</dependency>")
    });
    static GRADLE: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r#"(?m)^\s*(?:[a-z]+)?(?:[iI]mplementation|[aA]pi|[cC]ompileOnly|[rR]untimeOnly|kapt|ksp|compile)\s*\(?\s*['"]([A-Za-z0-9._-]+:[A-Za-z0-9._-]+)"#,
        )
    });
    static GEM: LazyLock<Regex> = LazyLock::new(|| words::regex(r#"(?m)^\s*gem\s+['"]([A-Za-z0-9._-]+)['"]"#));
    static MIX: LazyLock<Regex> = LazyLock::new(|| words::regex(r"\{:([a-z0-9_]+),\s*[\x22~\[]"));
    static DOTNET: LazyLock<Regex> =
        LazyLock::new(|| words::regex(r#"<PackageReference\s+[^>]*Include\s*=\s*"([A-Za-z0-9._-]+)""#));
    static SETUP: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(r"(?s)(?:install_requires|extras_require|tests_require)\s*=\s*(\[.*?\]|\{.*?\})")
    });
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| words::regex(r#"['"]([^'"\n]+)['"]"#));
    let all = |regex: &Regex| regex.captures_iter(text).map(|found| found[1].to_owned()).collect();
    match name {
        "pom.xml" => all(&POM),
        "build.gradle" | "build.gradle.kts" => all(&GRADLE),
        "Gemfile" => all(&GEM),
        "mix.exs" => all(&MIX),
        "setup.py" => {
            let lists = SETUP.captures_iter(text).filter_map(|found| found.get(1)).map(|list| list.as_str());
            lists
                .flat_map(|list| {
                    QUOTED.captures_iter(list).filter_map(|found| required_name(&found[1])).collect::<Vec<_>>()
                })
                .collect()
        }
        "setup.cfg" => {
            let after = text.lines().skip_while(|line| !line.trim_start().starts_with("install_requires"));
            let listed = after.skip(1).take_while(|line| line.starts_with([' ', '\t']));
            listed.filter_map(required_name).collect()
        }
        "Pipfile" => {
            let table: toml::Table = text.parse().unwrap_or_default();
            let listed = ["packages", "dev-packages"].into_iter().filter_map(|kind| table.get(kind)?.as_table());
            listed.flatten().map(|(name, _)| name.to_lowercase()).collect()
        }
        "pubspec.yaml" => {
            let mut inside = false;
            let mut found = BTreeSet::new();
            for line in text.lines() {
                if !line.starts_with([' ', '#']) && !line.is_empty() {
                    inside = matches!(line.trim_end(), "dependencies:" | "dev_dependencies:");
                } else if let Some(entry) = line.strip_prefix("  ").filter(|rest| inside && !rest.starts_with(' ')) {
                    found.extend(entry.split_once(':').map(|(name, _)| name.trim().to_owned()));
                }
            }
            found
        }
        other if other.ends_with(".csproj") => all(&DOTNET),
        // requirements*.txt
        _ => text.lines().filter(|line| !line.trim_start().starts_with(['-', '#'])).filter_map(required_name).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, want: &[&str]) {
        let (mut all, mut packages) = (BTreeSet::new(), Packages::default());
        take(path, text, &mut all, &mut packages);
        assert_eq!(all.iter().map(String::as_str).collect::<Vec<_>>(), want, "{path}");
    }

    #[test]
    fn direct_dependencies_are_read_from_every_kind_of_manifest() {
        check(
            "Cargo.toml",
            "[package]\nname = \"a\"\n[dependencies]\nserde = \"1\"\nown = { path = \"own\" }\n[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n[workspace.dependencies]\nlog = \"0.4\"\n",
            &["libc", "log", "serde"],
        );
        check(
            "w/package.json",
            r#"{"name":"w","dependencies":{"react":"18"},"devDependencies":{"vite":"5"}}"#,
            &["react", "vite"],
        );
        check(
            "go.mod",
            "module m\n\nrequire a.b/c v1\nrequire (\n\td.e/f v2\n\tg.h/i v3 // indirect\n)\n",
            &["a.b/c", "d.e/f"],
        );
        check(
            "pyproject.toml",
            "[project]\ndependencies = [\"Flask[async]>=2\", \"click\"]\n[tool.poetry.dependencies]\npython = \"3\"\nattrs = \"*\"\n",
            &["attrs", "click", "flask"],
        );
        check("requirements-dev.txt", "# tools\n-r requirements.txt\npytest==8\n", &["pytest"]);
        check("setup.py", "setup(install_requires=['six>=1', \"idna\"])\n", &["idna", "six"]);
        check("setup.cfg", "[options]\ninstall_requires =\n    yaml\nzip_safe = no\n", &["yaml"]);
        check(
            "pom.xml",
            "<project><artifactId>me</artifactId><dependencies><dependency><groupId>g</groupId><artifactId>junit</artifactId></dependency></dependencies></project>",
            &["junit"],
        );
        check(
            "build.gradle",
            "dependencies {\n  implementation 'a.b:c:1'\n  testImplementation(\"d:e:2\")\n}\n",
            &["a.b:c", "d:e"],
        );
        check("Gemfile", "gem 'rails'\n", &["rails"]);
        check("a.csproj", "<PackageReference Include=\"Serilog\" Version=\"2\" />", &["Serilog"]);
        check(
            "pubspec.yaml",
            "name: a\ndependencies:\n  http: ^1\n  x:\n    sdk: y\nflutter:\n  uses: z\n",
            &["http", "x"],
        );
        check("Cargo.toml", "not toml", &[]);
    }
}
