//! Which branch may move where: protection, required signatures, workflow files, rewriting.

use std::collections::BTreeSet;

use git2::{DiffOptions, Oid, Repository};
use globset::GlobBuilder;
use serde_json::json;

use super::{Level, Permissions, World};
use crate::demo::refusal::Refusal;
use crate::demo::repo;

/// A ref that somebody wants to create, move or delete.
#[derive(Debug, Clone)]
pub struct RefChange {
    /// `refs/heads/…`.
    pub name: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl RefChange {
    pub fn branch(&self) -> Option<&str> {
        self.name.strip_prefix("refs/heads/")
    }
}

/// Why a ref stays where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decline {
    /// A commit creates or changes this workflow file, and the token lacks `workflows`.
    Workflow(String),
    Protected,
    /// These commits carry no signature.
    Unsigned(Vec<String>),
    /// The App rewrites a branch, and nobody allowed it to.
    Rewrite,
}

impl Decline {
    /// What stands behind `[remote rejected]`.
    pub fn reason(&self) -> String {
        match self {
            Self::Workflow(path) => workflow_refusal(path),
            Self::Protected => "protected branch hook declined".to_owned(),
            Self::Unsigned(_) => "push declined due to repository rule violations".to_owned(),
            Self::Rewrite => "non-fast-forward".to_owned(),
        }
    }

    /// What git shows behind `remote:`, line by line.
    pub fn remote(&self, repository_url: &str, name: &str) -> Vec<String> {
        match self {
            Self::Workflow(_) | Self::Rewrite => Vec::new(),
            Self::Protected => vec![
                format!("error: GH006: Protected branch update failed for {name}."),
                "error: Changes must be made through a pull request.".to_owned(),
            ],
            Self::Unsigned(commits) => {
                let mut lines = vec![
                    format!("error: GH013: Repository rule violations found for {name}."),
                    format!("Review all repository rules at {repository_url}/rules?ref={}", name.replace('/', "%2F")),
                    String::new(),
                    "- Commits must have verified signatures.".to_owned(),
                    format!("  Found {} violation{}:", commits.len(), if commits.len() == 1 { "" } else { "s" }),
                    String::new(),
                ];
                lines.extend(commits.iter().map(|sha| format!("  {sha}")));
                lines
            }
        }
    }

    /// The same for a call to the git data API.
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Workflow(path) => Refusal::new(403, workflow_refusal(path)),
            Self::Protected => Refusal::new(422, "Cannot update this protected branch."),
            Self::Unsigned(_) => {
                Refusal::new(422, "Repository rule violations found\n\nCommits must have verified signatures.\n\n")
            }
            Self::Rewrite => Refusal::new(422, "Update is not a fast forward"),
        }
    }
}

pub fn workflow_refusal(path: &str) -> String {
    format!("refusing to allow a GitHub App to create or update workflow `{path}` without `workflows` permission")
}

impl World {
    /// Whether this change may take effect. `git` sees the new commits, `token` is the App's; people have none.
    pub fn verdict(
        &self,
        repo: u64,
        git: &Repository,
        change: &RefChange,
        token: Option<&Permissions>,
    ) -> Result<Option<Decline>, Refusal> {
        let r = self.repo(repo)?;
        if change.branch().is_some_and(|branch| matches_any(&r.protected, branch, &r.default_branch)) {
            return Ok(Some(Decline::Protected));
        }
        let Some(after) = &change.after else { return Ok(None) };
        let after = Oid::from_str(after)?;
        if token.is_some()
            && !r.force_pushes
            && let Some(before) = &change.before
            && change.branch().is_some()
        {
            let before = Oid::from_str(before)?;
            if before != after && !git.graph_descendant_of(after, before)? {
                return Ok(Some(Decline::Rewrite));
            }
        }
        let new = self.new_commits(repo, git, after)?;
        if token.is_some_and(|held| held.get("workflows") < Some(&Level::Write)) {
            for commit in &new {
                if let Some(path) = workflow_of(git, *commit)? {
                    return Ok(Some(Decline::Workflow(path)));
                }
            }
        }
        if change.branch().is_some_and(|branch| self.needs_signatures(repo, branch)) {
            let unsigned: Vec<String> =
                new.iter().map(Oid::to_string).filter(|sha| !self.signed.contains(sha)).collect();
            if !unsigned.is_empty() {
                return Ok(Some(Decline::Unsigned(unsigned)));
            }
        }
        Ok(None)
    }

    pub fn is_protected(&self, repo: u64, branch: &str) -> bool {
        self.repos.get(&repo).is_some_and(|r| matches_any(&r.protected, branch, &r.default_branch))
    }

    pub fn needs_signatures(&self, repo: u64, branch: &str) -> bool {
        self.repos.get(&repo).is_some_and(|r| matches_any(&r.signatures, branch, &r.default_branch))
    }

    /// Commits behind `after` that no ref of the repository holds yet.
    fn new_commits(&self, repo: u64, git: &Repository, after: Oid) -> Result<Vec<Oid>, Refusal> {
        let mut walk = git.revwalk()?;
        // A tag may point elsewhere than at a commit: nothing new to look at then.
        let Ok(commit) = git.find_object(after, None).and_then(|object| object.peel_to_commit()) else {
            return Ok(Vec::new());
        };
        walk.push(commit.id())?;
        for known in repo::tips(&self.git(repo)?)? {
            walk.hide(known)?;
        }
        Ok(walk.collect::<Result<Vec<_>, _>>()?)
    }

    /// As `GET /repos/…/rules/branches/…` lists them.
    pub fn branch_rules(&self, repo: u64, branch: &str) -> Result<Vec<serde_json::Value>, Refusal> {
        let r = self.repo(repo)?;
        let rule = |kind: &str| {
            json!({
                "type": kind,
                "ruleset_source_type": "Repository",
                "ruleset_source": r.full_name(),
                "ruleset_id": 42,
            })
        };
        Ok(self.needs_signatures(repo, branch).then(|| rule("required_signatures")).into_iter().collect())
    }
}

/// The first workflow file that a commit touches.
fn workflow_of(git: &Repository, commit: Oid) -> Result<Option<String>, git2::Error> {
    let commit = git.find_commit(commit)?;
    let parent = commit.parents().next().map(|parent| parent.tree()).transpose()?;
    let mut options = DiffOptions::new();
    options.pathspec(".github/workflows/").disable_pathspec_match(true);
    let diff = git.diff_tree_to_tree(parent.as_ref(), Some(&commit.tree()?), Some(&mut options))?;
    let paths: BTreeSet<String> = diff
        .deltas()
        .filter(|delta| delta.status() != git2::Delta::Deleted)
        .filter_map(|delta| delta.new_file().path().map(|path| path.to_string_lossy().into_owned()))
        .collect();
    Ok(paths.into_iter().next())
}

/// `*` stops at a slash; `~ALL` and `~DEFAULT_BRANCH` are what rulesets offer besides patterns.
fn matches_any(patterns: &[String], branch: &str, default: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.as_str() {
        "~ALL" => true,
        "~DEFAULT_BRANCH" => branch == default,
        pattern => GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .is_ok_and(|glob| glob.compile_matcher().is_match(branch)),
    })
}
