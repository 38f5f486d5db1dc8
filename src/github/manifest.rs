//! `app-manifest.yml`: what the App asks its owner for.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

pub use super::endpoint::needed_permissions;
pub use super::payload::EVENTS;

/// The part that must equal what the code uses.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Manifest {
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub public: bool,
    pub default_permissions: BTreeMap<String, String>,
    pub default_events: BTreeSet<String>,
}

/// The manifest that this binary was built with.
pub const EMBEDDED: &str = include_str!("../../app-manifest.yml");

/// # Errors
/// When the text is no manifest.
pub fn parse(yaml: &str) -> Result<Manifest, serde_saphyr::Error> {
    serde_saphyr::from_str(yaml)
}

/// Every difference between the manifest and the code, as sentences; empty when they agree.
pub fn differences(manifest: &Manifest) -> Vec<String> {
    let needed = needed_permissions();
    let mut out = Vec::new();
    for (name, level) in &needed {
        match manifest.default_permissions.get(*name) {
            Some(given) if given == level => {}
            Some(given) => out.push(format!("`{name}` is `{given}`, the code needs `{level}`")),
            None => out.push(format!("`{name}: {level}` is missing")),
        }
    }
    out.extend(
        manifest
            .default_permissions
            .keys()
            .filter(|name| !needed.contains_key(name.as_str()))
            .map(|name| format!("`{name}` is asked for and never used")),
    );
    let used: BTreeSet<String> = EVENTS.iter().map(|event| (*event).to_owned()).collect();
    out.extend(used.difference(&manifest.default_events).map(|event| format!("event `{event}` is missing")));
    out.extend(
        manifest.default_events.difference(&used).map(|event| format!("event `{event}` is subscribed and never used")),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_too_many_or_too_few_is_named() {
        let manifest = parse(
            "name: x\npublic: false\ndefault_permissions: {checks: read, contents: write, metadata: read, pull_requests: write, issues: write, actions: read}\ndefault_events: [check_run, issues, pull_request, push]",
        )
        .unwrap();
        assert_eq!(
            differences(&manifest),
            [
                "`checks` is `read`, the code needs `write`",
                "`actions` is asked for and never used",
                "event `check_suite` is missing",
                "event `issue_comment` is missing",
                "event `pull_request_review` is missing",
                "event `pull_request_review_comment` is missing",
                "event `pull_request_review_thread` is missing",
                "event `push` is subscribed and never used",
            ]
        );
    }
}
