//! `DEPENDENCIES.md`: what the project itself asks for, with versions, and licences where a lock file says them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::markdown::{code, failure, file, prose};
use super::source::Source;

/// Rows of one manifest that are shown.
const MAX_ROWS: usize = 300;

struct Dependency {
    name: String,
    version: String,
    /// `build`, `development` …; empty for what the program runs with.
    kind: &'static str,
}

pub(super) fn page(source: &Source<'_>) -> String {
    let licences = licences(source);
    let mut out = String::from("# Dependencies\n\nWhat the manifests of this codebase ask for directly.\n");
    let mut any = false;
    for manifest in &source.files {
        let (folder, name) = manifest.path.rsplit_once('/').unwrap_or(("", manifest.path));
        if folder.split('/').any(|part| matches!(part, "node_modules" | "vendor" | "fixtures" | "testdata")) {
            continue;
        }
        let Some(found) = read(name, manifest.text) else { continue };
        if found.is_empty() {
            continue;
        }
        any = true;
        out.push_str(&format!(
            "\n## {}\n\n| name | version | for | licence |\n| --- | --- | --- | --- |\n",
            file(manifest.path)
        ));
        for dependency in found.iter().take(MAX_ROWS) {
            let kind = if dependency.kind.is_empty() { "running" } else { dependency.kind };
            let licence = licences
                .get(dependency.name.as_str())
                .map_or_else(|| "not stated".to_owned(), |licence| prose(licence));
            let version = if dependency.version.is_empty() { "any".to_owned() } else { code(&dependency.version) };
            out.push_str(&format!("| {} | {version} | {kind} | {licence} |\n", code(&dependency.name)));
        }
        if found.len() > MAX_ROWS {
            out.push_str(&format!("\nand {} more.\n", found.len() - MAX_ROWS));
        }
    }
    if any {
        return out;
    }
    failure(
        "The list of dependencies",
        "no manifest that names dependencies was found, or none could be read.",
        "a manifest of a package manager at its usual place, for instance `Cargo.toml`, `package.json`, `pyproject.toml`, \
         `requirements.txt`, `go.mod` or `pom.xml`.",
    )
}

/// What one manifest asks for; none for another kind of file.
fn read(name: &str, text: &str) -> Option<Vec<Dependency>> {
    match name {
        "Cargo.toml" => Some(cargo(&text.parse().ok()?)),
        "package.json" => Some(node(&serde_json::from_str(text).ok()?)),
        "pyproject.toml" => Some(python(&text.parse().ok()?)),
        "go.mod" => Some(go(text)),
        "pom.xml" => Some(maven(text)),
        "composer.json" => Some(composer(&serde_json::from_str(text).ok()?)),
        name if name.starts_with("requirements") && name.ends_with(".txt") => {
            let kind = if name == "requirements.txt" { "" } else { "development" };
            Some(text.lines().filter_map(|line| requirement(line, kind)).collect())
        }
        _ => None,
    }
}

fn cargo(table: &toml::Table) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut take = |table: Option<&toml::Value>, kind| {
        for (name, value) in table.and_then(toml::Value::as_table).into_iter().flatten() {
            let written = value.as_str().or_else(|| value.get("version")?.as_str());
            let elsewhere =
                ["git", "path"].iter().find_map(|key| Some(format!("{key}: {}", value.get(key)?.as_str()?)));
            let shared = value.get("workspace").map(|_| "as in the workspace".to_owned());
            let version = written.map(str::to_owned).or(elsewhere).or(shared).unwrap_or_default();
            found.push(Dependency { name: name.clone(), version, kind });
        }
    };
    for (key, kind) in [("dependencies", ""), ("build-dependencies", "building"), ("dev-dependencies", "development")] {
        take(table.get(key), kind);
        for (_, target) in table.get("target").and_then(toml::Value::as_table).into_iter().flatten() {
            take(target.get(key), kind);
        }
    }
    take(table.get("workspace").and_then(|workspace| workspace.get("dependencies")), "");
    found
}

fn node(package: &Value) -> Vec<Dependency> {
    let kinds = [
        ("dependencies", ""),
        ("peerDependencies", "its users"),
        ("optionalDependencies", "running, optional"),
        ("devDependencies", "development"),
    ];
    pairs(package, &kinds)
}

fn composer(package: &Value) -> Vec<Dependency> {
    pairs(package, &[("require", ""), ("require-dev", "development")])
}

fn pairs(package: &Value, kinds: &[(&str, &'static str)]) -> Vec<Dependency> {
    let mut found = Vec::new();
    for (key, kind) in kinds {
        for (name, version) in package.get(key).and_then(Value::as_object).into_iter().flatten() {
            let version = version.as_str().unwrap_or_default().to_owned();
            found.push(Dependency { name: name.clone(), version, kind });
        }
    }
    found
}

fn python(table: &toml::Table) -> Vec<Dependency> {
    let mut found = Vec::new();
    let project = table.get("project");
    let list = |value: Option<&toml::Value>, kind: &'static str| -> Vec<Dependency> {
        let all = value.and_then(toml::Value::as_array).into_iter().flatten();
        all.filter_map(|one| requirement(one.as_str()?, kind)).collect()
    };
    found.extend(list(project.and_then(|project| project.get("dependencies")), ""));
    let optional = project.and_then(|project| project.get("optional-dependencies")).and_then(toml::Value::as_table);
    for (_, group) in optional.into_iter().flatten() {
        found.extend(list(Some(group), "optional"));
    }
    for (_, group) in table.get("dependency-groups").and_then(toml::Value::as_table).into_iter().flatten() {
        found.extend(list(Some(group), "development"));
    }
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    let mut take = |table: Option<&toml::Value>, kind| {
        for (name, value) in table.and_then(toml::Value::as_table).into_iter().flatten() {
            let version = value.as_str().or_else(|| value.get("version")?.as_str()).unwrap_or_default().to_owned();
            found.push(Dependency { name: name.clone(), version, kind });
        }
    };
    take(poetry.and_then(|poetry| poetry.get("dependencies")), "");
    take(poetry.and_then(|poetry| poetry.get("dev-dependencies")), "development");
    for (_, group) in
        poetry.and_then(|poetry| poetry.get("group")).and_then(toml::Value::as_table).into_iter().flatten()
    {
        take(group.get("dependencies"), "development");
    }
    found
}

/// `name[extra]>=1.0 ; marker  # comment`
fn requirement(line: &str, kind: &'static str) -> Option<Dependency> {
    let line = line.split(" #").next()?.split(';').next()?.trim();
    let end = line.find(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.')).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let version = rest.trim_start_matches('[').split_once(']').map_or(rest, |(_, after)| after).trim();
    name.starts_with(char::is_alphanumeric).then(|| Dependency {
        name: name.to_owned(),
        version: version.to_owned(),
        kind,
    })
}

fn go(text: &str) -> Vec<Dependency> {
    let mut block = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        let entry = match line {
            "require (" => {
                block = true;
                continue;
            }
            ")" => {
                block = false;
                continue;
            }
            line if block => line,
            line => match line.strip_prefix("require ") {
                Some(entry) => entry,
                None => continue,
            },
        };
        let direct = !entry.contains("// indirect");
        let mut words = entry.split_whitespace();
        if let (true, Some(name), Some(version)) = (direct && !entry.starts_with("//"), words.next(), words.next()) {
            found.push(Dependency { name: name.to_owned(), version: version.to_owned(), kind: "" });
        }
    }
    found
}

fn maven(text: &str) -> Vec<Dependency> {
    #[expect(clippy::expect_used, reason = "literal patterns; the tests of this room compile them")]
    static BLOCK: LazyLock<[Regex; 2]> = LazyLock::new(|| {
        [r"(?s)<dependency>(.*?)</dependency>", r"<(groupId|artifactId|version|scope)>\s*([^<]*?)\s*</"]
            .map(|pattern| Regex::new(pattern).expect("the pattern is valid"))
    });
    let [block, field] = &*BLOCK;
    block
        .captures_iter(text)
        .filter_map(|found| {
            let fields: BTreeMap<&str, &str> = field
                .captures_iter(found.get(1)?.as_str())
                .filter_map(|field| Some((field.get(1)?.as_str(), field.get(2)?.as_str())))
                .collect();
            let kind = match fields.get("scope").copied() {
                Some("test") => "tests",
                Some("provided") => "building",
                _ => "",
            };
            Some(Dependency {
                name: format!("{}:{}", fields.get("groupId")?, fields.get("artifactId")?),
                version: fields.get("version").copied().unwrap_or_default().to_owned(),
                kind,
            })
        })
        .collect()
}

/// Licences by the names of packages, as lock files that hold them say.
fn licences(source: &Source<'_>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for lock in source.files.iter().filter(|file| file.path.ends_with("package-lock.json")) {
        let Ok(lock) = serde_json::from_str::<Value>(lock.text) else { continue };
        for (path, package) in lock.get("packages").and_then(Value::as_object).into_iter().flatten() {
            let name = path.strip_prefix("node_modules/").filter(|name| !name.contains("node_modules/"));
            if let (Some(name), Some(licence)) = (name, package.get("license").and_then(Value::as_str)) {
                found.insert(name.to_owned(), licence.to_owned());
            }
        }
    }
    for lock in source.files.iter().filter(|file| file.path.ends_with("composer.lock")) {
        let Ok(lock) = serde_json::from_str::<Value>(lock.text) else { continue };
        for package in ["packages", "packages-dev"].iter().filter_map(|key| lock.get(key)?.as_array()).flatten() {
            let licence: Vec<&str> = package
                .get("license")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            if let Some(name) = package.get("name").and_then(Value::as_str).filter(|_| !licence.is_empty()) {
                found.insert(name.to_owned(), licence.join(" or "));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::read;

    #[track_caller]
    fn check(name: &str, text: &str, want: &[(&str, &str, &str)]) {
        let found = read(name, text).unwrap();
        let found: Vec<_> = found.iter().map(|d| (d.name.as_str(), d.version.as_str(), d.kind)).collect();
        assert_eq!(found, want, "{name}");
    }

    #[test]
    fn manifests_name_what_is_asked_for_directly() {
        check(
            "Cargo.toml",
            "[dependencies]\naxum = \"0.8\"\nown = { path = \"../own\" }\n[dev-dependencies]\ninsta = { version = \"1\" }\n",
            &[("axum", "0.8", ""), ("own", "path: ../own", ""), ("insta", "1", "development")],
        );
        check(
            "package.json",
            r#"{"dependencies": {"express": "^5.0.0"}, "devDependencies": {"jest": "30"}}"#,
            &[("express", "^5.0.0", ""), ("jest", "30", "development")],
        );
        check(
            "requirements.txt",
            "# what runs\nflask[async]>=3 ; python_version > '3'\n-r other.txt\nrequests == 2.1  # web\n",
            &[("flask", ">=3", ""), ("requests", "== 2.1", "")],
        );
        check(
            "go.mod",
            "module a.b/c\n\nrequire (\n\tgithub.com/x/y v1.2.3\n\tz.w/v v0.1.0 // indirect\n)\nrequire q.r/s v2.0.0\n",
            &[("github.com/x/y", "v1.2.3", ""), ("q.r/s", "v2.0.0", "")],
        );
        check(
            "pom.xml",
            "<dependencies><dependency><groupId>a</groupId><artifactId>b</artifactId><version>1</version>\
             <scope>test</scope></dependency></dependencies>",
            &[("a:b", "1", "tests")],
        );
        check(
            "pyproject.toml",
            "[project]\ndependencies = [\"click>=8\"]\n[tool.poetry.dependencies]\npython = \"^3.12\"\n",
            &[("click", ">=8", ""), ("python", "^3.12", "")],
        );
    }
}
