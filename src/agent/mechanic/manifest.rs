//! What the manifests of a repository say: authors, licence, commands.

use std::collections::{BTreeMap, BTreeSet};

use super::work::File;

/// Names of people, in the order of the manifests, each once.
pub(super) fn authors(files: &[File]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for file in files {
        let named: Vec<String> = match name(file) {
            "package.json" => json(file)
                .map(|v| [v.get("author").cloned().unwrap_or_default()].iter().filter_map(person).collect())
                .unwrap_or_default(),
            "Cargo.toml" => strings(toml(file).as_ref(), &["package", "authors"])
                .or_else(|| strings(toml(file).as_ref(), &["workspace", "package", "authors"]))
                .unwrap_or_default(),
            "pyproject.toml" => {
                let manifest = toml(file);
                let listed = at(manifest.as_ref(), &["project", "authors"]).and_then(toml::Value::as_array);
                let listed =
                    listed.map(|all| all.iter().filter_map(|a| a.get("name")?.as_str().map(str::to_owned)).collect());
                listed.or_else(|| strings(manifest.as_ref(), &["tool", "poetry", "authors"])).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        for name in named.iter().map(|name| without_address(name)).filter(|name| is_a_name(name)) {
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

/// The licences that the manifests declare.
pub(super) fn licences(files: &[File]) -> BTreeSet<String> {
    let declared = files.iter().filter_map(|file| match name(file) {
        "package.json" => json(file)?.get("license")?.as_str().map(str::to_owned),
        "Cargo.toml" => {
            let manifest = toml(file);
            let own = at(manifest.as_ref(), &["package", "license"]).and_then(toml::Value::as_str);
            own.or_else(|| at(manifest.as_ref(), &["workspace", "package", "license"])?.as_str()).map(str::to_owned)
        }
        "pyproject.toml" => {
            let manifest = toml(file);
            let declared = at(manifest.as_ref(), &["project", "license"])?;
            declared.as_str().or_else(|| declared.get("text")?.as_str()).map(str::to_owned)
        }
        _ => None,
    });
    declared.filter(|id| id != "UNLICENSED").collect()
}

/// The commands that build and test, by folder; only what the manifests really say.
pub(super) fn commands(files: &[File], paths: &BTreeSet<String>) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let beside =
            |name: &str| paths.contains(&if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") });
        let commands: Vec<String> = match name(file) {
            "Cargo.toml" => vec!["cargo build".to_owned(), "cargo test".to_owned()],
            "go.mod" => vec!["go build ./...".to_owned(), "go test ./...".to_owned()],
            "pom.xml" => vec!["mvn verify".to_owned()],
            "build.gradle" | "build.gradle.kts" if beside("gradlew") => vec!["./gradlew build".to_owned()],
            "package.json" => scripts(
                file,
                if beside("yarn.lock") {
                    "yarn"
                } else if beside("pnpm-lock.yaml") {
                    "pnpm"
                } else {
                    "npm"
                },
            ),
            "pyproject.toml" => {
                let pytest = file.text.contains("pytest");
                let test = pytest.then(|| "python -m pytest".to_owned());
                std::iter::once("python -m pip install -e .".to_owned()).chain(test).collect()
            }
            _ => Vec::new(),
        };
        if !commands.is_empty() {
            all.entry(folder.to_owned()).or_default().extend(commands);
        }
    }
    // The root of a workspace speaks for its members.
    let root: Vec<String> = all.get("").cloned().unwrap_or_default();
    all.retain(|folder, commands| folder.is_empty() || commands.iter().any(|command| !root.contains(command)));
    all
}

fn scripts(file: &File, tool: &str) -> Vec<String> {
    let mut commands = vec![format!("{tool} install")];
    let scripts = json(file).and_then(|manifest| manifest.get("scripts").cloned()).unwrap_or_default();
    for script in ["lint", "build", "test"] {
        if scripts.get(script).is_some() {
            commands.push(format!("{tool} run {script}"));
        }
    }
    commands
}

fn name(file: &File) -> &str {
    file.path.rsplit('/').next().unwrap_or_default()
}

fn json(file: &File) -> Option<serde_json::Value> {
    serde_json::from_str(&file.text).ok()
}

fn toml(file: &File) -> Option<toml::Value> {
    file.text.parse::<toml::Table>().ok().map(toml::Value::Table)
}

fn at<'v>(value: Option<&'v toml::Value>, keys: &[&str]) -> Option<&'v toml::Value> {
    keys.iter().try_fold(value?, |value, key| value.get(key))
}

fn strings(value: Option<&toml::Value>, keys: &[&str]) -> Option<Vec<String>> {
    Some(at(value, keys)?.as_array()?.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect())
}

fn person(author: &serde_json::Value) -> Option<String> {
    author.as_str().or_else(|| author.get("name")?.as_str()).map(str::to_owned)
}

fn without_address(name: &str) -> String {
    name.split(['<', '(']).next().unwrap_or_default().trim().to_owned()
}

/// A name goes into a legal text: one line of ordinary signs.
fn is_a_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().count() <= 80
        && name.chars().all(|c| c.is_alphanumeric() || " .,'’&-_".contains(c))
}
