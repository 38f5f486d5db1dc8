//! The contributing agents, through the registry's door, over real repositories.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use octoswarm::agent::{self, Context, Contributing, Role, Scene};
use octoswarm::analysis::Engine;
use octoswarm::artifact::ContributeFacts;
use octoswarm::domain::Clock;
use octoswarm::workspace::{Tree, local};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::agents::play;
use crate::support::git_server::git;

mod adopting;
mod beside;
mod drafting;
mod exploring;
mod managing;
mod planning;
mod scouting;
mod understanding;

/// A repository with one commit, and an issue about it.
struct Bench {
    dir: TempDir,
    tree: Tree,
    facts: Value,
}

impl Bench {
    async fn new<P: AsRef<str>, T: AsRef<[u8]>>(files: &[(P, T)]) -> Self {
        let dir = TempDir::new().unwrap();
        git(dir.path(), &["init", "-q", "-b", "main"]);
        for (path, text) in files {
            let path = dir.path().join(path.as_ref());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.as_ref()).unwrap();
        }
        git(dir.path(), &["add", "-A"]);
        git(dir.path(), &["commit", "-q", "--allow-empty", "-m", "all"]);
        let tree = tree(dir.path(), "HEAD").await;
        let facts = facts(&tree);
        Self { dir, tree, facts }
    }

    fn issue(mut self, title: &str, body: &str) -> Self {
        self.facts["issue"]["title"] = title.into();
        self.facts["issue"]["body"] = body.into();
        self
    }

    fn tree_dir(&self) -> &Path {
        self.dir.path()
    }

    fn context(&self) -> Context {
        let facts: ContributeFacts = serde_json::from_value(self.facts.clone()).unwrap();
        Context {
            engine: Engine::embedded().unwrap(),
            cancel: CancellationToken::new(),
            clock: Clock::manual(1_795_255_200_000),
            scene: Scene::Contribute(Contributing::new(self.tree.clone(), facts)),
        }
    }

    async fn ask(&self, role: Role, known: &BTreeMap<&str, Value>) -> Result<Value, agent::Error> {
        let mut input = json!({ "facts": self.facts });
        for (name, document) in known {
            input[*name] = document.clone();
        }
        play(role, &self.context(), input).await
    }

    /// The documents of scout, analyst and explorer.
    async fn documents(&self) -> BTreeMap<&'static str, Value> {
        let mut known = BTreeMap::new();
        for role in [Role::Scout, Role::Analyst, Role::Explorer] {
            let document = self.ask(role, &known).await.unwrap();
            assert_eq!(document["status"], "completed", "{document:#}");
            known.insert(role.name(), document);
        }
        known
    }

    async fn document(&self, role: Role) -> Value {
        match role {
            Role::Scout => self.ask(role, &BTreeMap::new()).await.unwrap(),
            _ => self.documents().await.remove(role.name()).unwrap(),
        }
    }
}

async fn tree(dir: &Path, revision: &str) -> Tree {
    local::change(dir, Some(revision), Some(revision)).await.unwrap().head_tree()
}

fn facts(tree: &Tree) -> Value {
    json!({
        "repository": {
            "owner": "o", "name": "r", "url": "https://github.com/o/r", "default_branch": "main",
            "language": null, "stars": 3, "license": "MIT"
        },
        "base": tree.commit(),
        "issue": {
            "number": 7, "url": "https://github.com/o/r/issues/7", "title": "Something", "body": "", "labels": ["swarm"],
            "author": "ada", "created_at": "2026-11-01T10:00:00Z", "comments": 1, "locked": false, "is_pull": false
        },
        "asked_by": "ada", "candidates": [], "linked": [],
        "settings": { "max_files": 10, "max_lines": 300, "protected": [], "ignore": [], "disable": [] },
        "warnings": []
    })
}

/// The strings of an array under a pointer, or of one field of its objects.
fn strings(document: &Value, pointer: &str) -> Vec<String> {
    let array =
        document.pointer(pointer).and_then(Value::as_array).unwrap_or_else(|| panic!("{pointer}: {document:#}"));
    array.iter().map(|v| v.as_str().or_else(|| v["path"].as_str()).unwrap().to_owned()).collect()
}
