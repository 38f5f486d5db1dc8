//! From a tree and the repository's word to commands.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Check, Kind};
use crate::agent::Error;
use crate::agent::contribute::{Class, Found, Manifests, Survey, projects};
use crate::domain::Commands;
use crate::workspace::Tree;

/// Projects of one repository that are checked: those with the most sources.
const MAX_PROJECTS: usize = 8;

/// What programs read everywhere: nobody is there to be asked, and colours help nobody.
const COMMON: [(&str, &str); 2] = [("CI", "true"), ("NO_COLOR", "1")];

/// The commands of a tree, in the order in which they are run: by kind, and of each kind the project with the most
/// sources first. What `settings` name stands in place of what the tree's files show. Take them from the side of the
/// change that people have accepted: a change must not choose what it is checked with.
///
/// # Errors
/// When git cannot be read, or the tree is beyond the limits.
pub async fn checks(tree: &Tree, settings: &Commands) -> Result<Vec<Check>, Error> {
    let paths = tree.files().await?.into_iter().map(|file| file.path).collect();
    let survey = Survey::new(paths);
    let manifests = Manifests::read_wide(tree, &survey).await?;
    Ok(of(&manifests, &survey, settings))
}

/// The same for manifests that were read.
pub(super) fn of(manifests: &Manifests, survey: &Survey, settings: &Commands) -> Vec<Check> {
    let found = projects(manifests);
    let sources = sources(&found, survey);
    let mut found: Vec<(usize, Found)> = sources.into_iter().zip(found).collect();
    // What lies at the root counts as the largest: it speaks for the whole.
    found.sort_by_key(|(sources, one)| (!one.folder.is_empty(), Reverse(*sources)));
    let found: Vec<Found> = found.into_iter().take(MAX_PROJECTS).map(|(_, one)| one).collect();
    Kind::ALL.into_iter().flat_map(|kind| of_kind(kind, &found, settings)).collect()
}

fn of_kind(kind: Kind, found: &[Found], settings: &Commands) -> Vec<Check> {
    let configured = match kind {
        Kind::Install => &settings.install,
        Kind::Format => &settings.format,
        Kind::Reformat => &reformat(settings),
        Kind::Lint => &settings.lint,
        Kind::Build => &settings.build,
        Kind::Test => &settings.test,
    };
    if let Some(lines) = configured {
        let said = lines.iter().map(|line| Check {
            kind,
            line: line.clone(),
            dir: String::new(),
            ecosystem: "repository".to_owned(),
            // Whatever the line calls finds what it would find if it had been detected.
            env: env(kind, found),
            configured: true,
        });
        return said.collect();
    }
    let shown = found.iter().flat_map(|one| {
        one.project.runs.iter().filter(|run| run.kind == kind).map(|run| Check {
            kind,
            line: run.line.clone(),
            dir: one.folder.clone(),
            ecosystem: one.ecosystem.to_owned(),
            env: env(kind, std::slice::from_ref(one)),
            configured: false,
        })
    });
    shown.collect()
}

/// Whoever says how the format is checked and not how files get it is not given another formatter's.
fn reformat(settings: &Commands) -> Option<Vec<String>> {
    settings.reformat.clone().or_else(|| settings.format.is_some().then(Vec::new))
}

fn env(kind: Kind, found: &[Found]) -> BTreeMap<String, String> {
    let offline = found.iter().filter(|_| !kind.needs_network()).flat_map(|one| one.offline);
    let all = COMMON.iter().chain(found.iter().flat_map(|one| one.always)).chain(offline);
    all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// How many source files each project has that lie in no other's folder below it.
fn sources(found: &[Found], survey: &Survey) -> Vec<usize> {
    let mut folders: BTreeMap<&str, usize> = found.iter().map(|one| (one.folder.as_str(), 0)).collect();
    for file in survey.files.iter().filter(|file| file.class == Class::Source) {
        let above = file.path.rmatch_indices('/').map(|(at, _)| &file.path[..at]).chain([""]);
        let nearest = above.take(64).find(|folder| folders.contains_key(folder));
        if let Some(count) = nearest.and_then(|folder| folders.get_mut(folder)) {
            *count += 1;
        }
    }
    found.iter().map(|one| folders.get(one.folder.as_str()).copied().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests;
