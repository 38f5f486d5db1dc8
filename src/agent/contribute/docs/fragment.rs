//! Changelogs that are made from something else: which tool makes them, and the fragment that two of them ask for.

use std::sync::LazyLock;

use regex::Regex;

use super::changelog::Group;
use crate::agent::Error;
use crate::agent::contribute::changed::Changed;
use crate::agent::contribute::survey::{self, Class};
use crate::agent::contribute::words;

/// A file that the tool will take up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) path: String,
    pub(super) text: String,
}

/// What makes a repository's changelog.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Maker {
    /// People do.
    Hands,
    /// A tool does, from commits or from fragments whose form is not certain; its name.
    Tool(&'static str),
    Changesets,
    /// The folder of the fragments.
    Towncrier(String),
}

/// Files that say so by being there.
const MARKS: &[(&str, &str)] = &[
    ("release-please-config.json", "release-please"),
    (".release-please-manifest.json", "release-please"),
    (".releaserc", "semantic-release"),
    (".releaserc.json", "semantic-release"),
    (".releaserc.yml", "semantic-release"),
    (".releaserc.yaml", "semantic-release"),
    (".releaserc.js", "semantic-release"),
    (".releaserc.cjs", "semantic-release"),
    ("release.config.js", "semantic-release"),
    ("release.config.cjs", "semantic-release"),
    ("release.config.mjs", "semantic-release"),
    ("cliff.toml", "git-cliff"),
    (".cliff.toml", "git-cliff"),
    ("cog.toml", "cocogitto"),
    (".versionrc", "standard-version"),
    (".versionrc.json", "standard-version"),
    (".versionrc.js", "standard-version"),
    (".auto-changelog", "auto-changelog"),
    (".release-it.json", "release-it"),
    (".github/release-drafter.yml", "release-drafter"),
    ("reno.yaml", "reno"),
    (".changie.yaml", "changie"),
];

/// Which it is.
///
/// # Errors
/// When the tree cannot be read.
pub(super) async fn maker(changed: &Changed) -> Result<Maker, Error> {
    if changed.survey.has(".changeset/config.json") {
        return Ok(Maker::Changesets);
    }
    if let Some((_, tool)) = MARKS.iter().find(|(path, _)| changed.survey.has(path)) {
        return Ok(Maker::Tool(tool));
    }
    if let Some(table) = changed.text("towncrier.toml").await?.and_then(|text| text.parse::<toml::Table>().ok()) {
        return Ok(towncrier(&table));
    }
    if let Some(table) = changed.text("pyproject.toml").await?.and_then(|text| text.parse::<toml::Table>().ok()) {
        let tool = table.get("tool").and_then(toml::Value::as_table);
        let has = |name: &str| tool.is_some_and(|tool| tool.contains_key(name));
        if has("towncrier") {
            return Ok(tool.map_or(Maker::Tool("towncrier"), towncrier));
        }
        for name in ["scriv", "semantic_release", "git-cliff"] {
            if has(name) {
                return Ok(Maker::Tool(name));
            }
        }
    }
    if let Some(text) = changed.text("package.json").await? {
        for name in [
            "semantic-release",
            "standard-version",
            "auto-changelog",
            "release-it",
            "conventional-changelog-cli",
            "changelogen",
        ] {
            if text.contains(&format!("\"{name}\"")) {
                return Ok(Maker::Tool(name));
            }
        }
    }
    Ok(Maker::Hands)
}

/// `table` holds the table `towncrier`, or `tool.towncrier` of its own file.
fn towncrier(table: &toml::Table) -> Maker {
    let own = table.get("towncrier").or_else(|| table.get("tool")?.get("towncrier"));
    let text = |name: &str| own.and_then(|own| own.get(name)).and_then(toml::Value::as_str);
    // Types of the repository's own, or fragments in each package, are beyond what is certain.
    let usual = own.is_some_and(|own| own.get("type").is_none() && own.get("section").is_none());
    match text("directory").map(|folder| folder.trim_matches('/').to_owned()) {
        Some(folder) if usual && survey::is_inside(&folder) => Maker::Towncrier(folder),
        _ => Maker::Tool("towncrier"),
    }
}

/// The fragment that the tool asks for.
///
/// # Errors
/// Why its form is not certain, as a clause; or, inside, when the tree cannot be read.
pub(super) async fn write(
    maker: &Maker,
    changed: &Changed,
    number: u64,
    group: Group,
    entry: &str,
) -> Result<Result<Fragment, String>, Error> {
    if number == 0 {
        return Ok(Err("a fragment is named after an issue's number, and there is none".to_owned()));
    }
    Ok(match maker {
        Maker::Hands | Maker::Tool(_) => Err("there are no fragments".to_owned()),
        Maker::Towncrier(folder) => news(changed, folder, number, group, entry),
        Maker::Changesets => changeset(changed, number, group, entry).await?,
    })
}

/// `newsfragments/7.bugfix.md`, with the ending that the others have.
fn news(changed: &Changed, folder: &str, number: u64, group: Group, entry: &str) -> Result<Fragment, String> {
    static NAME: LazyLock<Regex> =
        LazyLock::new(|| words::regex(r"^\+?[\w-]+\.(?:feature|bugfix|doc|removal|misc)\.(md|rst)$"));
    let prefix = format!("{folder}/");
    let own = changed.survey.files.iter().filter_map(|file| file.path.strip_prefix(&prefix));
    let mut endings: Vec<String> =
        own.filter_map(|name| NAME.captures(name)).map(|found| found[1].to_owned()).collect();
    endings.sort();
    endings.dedup();
    let [ending] = endings.as_slice() else {
        return Err(format!("`{folder}` holds no fragment whose form could be followed"));
    };
    let kind = match group {
        Group::Added => "feature",
        Group::Fixed | Group::Security => "bugfix",
        Group::Removed | Group::Deprecated => "removal",
        Group::Changed => "misc",
    };
    let path = format!("{folder}/{number}.{kind}.{ending}");
    if changed.survey.has(&path) {
        return Err(format!("`{path}` is there already"));
    }
    let entry = if ending == "rst" { entry.replace('`', "``") } else { entry.to_owned() };
    Ok(Fragment { path, text: format!("{}.\n", capital(&entry)) })
}

/// `.changeset/issue-7.md`, for the one package that everything changed lies in.
async fn changeset(
    changed: &Changed,
    number: u64,
    group: Group,
    entry: &str,
) -> Result<Result<Fragment, String>, Error> {
    let mut package: Option<String> = None;
    for file in changed.of_class(Class::Source) {
        let mut folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let manifest = loop {
            let path = if folder.is_empty() { "package.json".to_owned() } else { format!("{folder}/package.json") };
            if changed.survey.has(&path) || folder.is_empty() {
                break path;
            }
            folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        };
        if package.as_ref().is_some_and(|known| *known != manifest) {
            return Ok(Err("several packages are changed".to_owned()));
        }
        package = Some(manifest);
    }
    let Some(manifest) = package else { return Ok(Err("no package is changed".to_owned())) };
    let json = |text: Option<String>| text.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    let Some(own) = json(changed.text(&manifest).await?) else {
        return Ok(Err(format!("`{manifest}` cannot be read")));
    };
    let config = json(changed.text(".changeset/config.json").await?).unwrap_or_default();
    static NAME: LazyLock<Regex> = LazyLock::new(|| words::regex(r"^(?:@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$"));
    let Some(name) = own["name"].as_str().filter(|name| NAME.is_match(name)) else {
        return Ok(Err(format!("`{manifest}` names no package")));
    };
    let left_out = config["ignore"].as_array().is_some_and(|list| !list.is_empty());
    if own["private"] == true && manifest == "package.json" && own.get("workspaces").is_some() || left_out {
        return Ok(Err(format!("whether `{name}` is released is not certain")));
    }
    let bump = match group {
        Group::Added | Group::Deprecated => "minor",
        Group::Fixed | Group::Security => "patch",
        Group::Changed | Group::Removed => {
            return Ok(Err("whether it breaks something is for people to say".to_owned()));
        }
    };
    let path = format!(".changeset/issue-{number}.md");
    if changed.survey.has(&path) {
        return Ok(Err(format!("`{path}` is there already")));
    }
    Ok(Ok(Fragment { path, text: format!("---\n\"{name}\": {bump}\n---\n\n{}\n", capital(entry)) }))
}

pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
