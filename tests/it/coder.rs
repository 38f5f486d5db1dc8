//! Issues in people's own words, from the text to the gate, over real git repositories.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use octoswarm::agent::{Context, Contributing, Role, Scene, gate};
use octoswarm::analysis::Engine;
use octoswarm::artifact::facts::{ContributeSettings, IssueFacts, RepositoryFacts};
use octoswarm::artifact::swarm::{CodeChanges, FileAction, FileChange, LinesChanged};
use octoswarm::artifact::{ContributeFacts, Document};
use octoswarm::domain::{Clock, Untrusted};
use octoswarm::workspace::{Edit, Side, Tree, local, patch};
use serde::Deserialize;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::agents::play;
use crate::support::git_server::git;

mod fixes;
mod gates;
mod properties;
mod strangers;
mod unseen;

/// 2026-11-21.
const NOW: i64 = 1_795_258_800_000;

const SOLVABLE: [&str; 10] = [
    "batch-without-parcels",
    "clearer-name",
    "config-upload-takeover",
    "docs-wrong-port",
    "express-zone-never-matches",
    "floors-are-nan",
    "gateway-freezes",
    "housekeeping-list",
    "spelling-in-readme",
    "which-licence",
];

const UNSOLVABLE: [&str; 10] = [
    "log-with-orders",
    "name-of-nothing",
    "name-taken",
    "runner-image",
    "several-documents",
    "stale-patch",
    "two-minds",
    "typo-somewhere",
    "undo-equals",
    "why-the-warning",
];

/// What a fixture says has to come out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Expected {
    /// Removed and added lines by file, in order.
    changes: BTreeMap<String, Vec<String>>,
    /// Lines that a new file has to hold.
    created: BTreeMap<String, Vec<String>>,
    /// Words that have to stand in what is said to be left.
    left: Vec<String>,
}

/// A repository with one commit.
struct Bench {
    dir: TempDir,
    engine: Arc<Engine>,
    settings: ContributeSettings,
}

/// What came out of the chain.
struct Outcome {
    changes: CodeChanges,
    /// Why the gate refused, if it was asked.
    refused: Vec<String>,
    before: BTreeMap<String, String>,
    after: BTreeMap<String, String>,
}

impl Bench {
    /// The shared tree.
    fn depot() -> Self {
        let bench = Self::of(&[]);
        copy(&fixture("depot"), bench.dir.path());
        bench.commit();
        bench
    }

    fn of(files: &[(&str, &str)]) -> Self {
        let bench = Self {
            dir: TempDir::new().unwrap(),
            engine: Engine::embedded().unwrap(),
            settings: ContributeSettings::default(),
        };
        git(bench.dir.path(), &["init", "-q", "-b", "main"]);
        for (path, text) in files {
            bench.write(path, text);
        }
        bench.commit();
        bench
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn commit(&self) {
        git(self.dir.path(), &["add", "-A"]);
        git(self.dir.path(), &["commit", "-q", "--allow-empty", "-m", "change"]);
    }

    async fn tree(&self) -> Tree {
        local::change(self.dir.path(), None, None).await.unwrap().head_tree()
    }

    /// From the text to the tree that would be pushed.
    async fn solve(&self, title: &str, body: &str) -> Outcome {
        let tree = self.tree().await;
        let facts = facts(&tree, &self.settings, title, body);
        let cx = Context {
            engine: Arc::clone(&self.engine),
            cancel: CancellationToken::new(),
            clock: Clock::manual(NOW),
            scene: Scene::Contribute(Contributing::new(tree.clone(), facts.clone())),
        };
        let output = play(Role::Coder, &cx, input(&facts)).await.unwrap();
        let document: Document<CodeChanges> = serde_json::from_value(output).unwrap();
        let changes = document.outcome.unwrap();
        let before = texts(&tree).await;
        if !changes.commit_ready {
            assert!(!changes.validation.errors.is_empty(), "declined without a reason");
            return Outcome { changes, refused: Vec::new(), after: before.clone(), before };
        }
        match gate::check(&self.engine, &tree, &changes, &self.settings).await.unwrap() {
            Err(refused) => Outcome { changes, refused, after: before.clone(), before },
            Ok(gated) => {
                let after = texts(&tree.with(&gated.edits).await.unwrap()).await;
                Outcome { changes, refused: Vec::new(), before, after }
            }
        }
    }

    async fn gate(&self, changes: &CodeChanges) -> Result<gate::Gated, Vec<String>> {
        gate::check(&self.engine, &self.tree().await, changes, &self.settings).await.unwrap()
    }
}

impl Outcome {
    /// `-old` and `+new` lines of every file that differs.
    fn lines(&self) -> BTreeMap<String, Vec<String>> {
        let mut all = BTreeMap::new();
        for path in self.before.keys().chain(self.after.keys()) {
            let (old, new) = (self.before.get(path), self.after.get(path));
            if old == new {
                continue;
            }
            let side = |text: Option<&String>| text.map(|_| path.as_str());
            let diff = patch::diff(side(old), side(new), old.map_or("", |t| t), new.map_or("", |t| t));
            let body = diff.lines().skip_while(|line| !line.starts_with("@@"));
            let changed = body.filter(|line| line.starts_with(['-', '+'])).map(str::to_owned);
            all.insert(path.clone(), changed.collect());
        }
        all
    }

    fn is_untouched(&self) -> bool {
        self.before == self.after
    }

    /// What is wrong with it.
    fn faults(&self, engine: &Engine, expected: &Expected) -> Vec<String> {
        let mut faults = self.refused.clone();
        let mut lines = self.lines();
        for (path, wanted) in &expected.created {
            let got = lines.remove(path).unwrap_or_default();
            let there = |line: &&String| !got.contains(&format!("+{line}"));
            faults.extend(wanted.iter().filter(there).map(|line| format!("{path} does not hold {line:?}: {got:#?}")));
        }
        if lines != expected.changes {
            faults.push(format!("wanted {:#?}, got {lines:#?}", expected.changes));
        }
        let said = self.changes.validation.errors.join("\n");
        faults.extend(expected.left.iter().filter(|w| !said.contains(*w)).map(|w| format!("{w:?} is not in {said:?}")));
        for path in self.lines().keys() {
            let scan = |texts: &BTreeMap<String, String>| {
                texts.get(path).map(|text| engine.scan(path, text)).unwrap_or_default()
            };
            let (old, new) = (scan(&self.before), scan(&self.after));
            if new.findings.len() > old.findings.len() || new.syntax_errors && !old.syntax_errors {
                faults.push(format!("{path} is worse than before"));
            }
        }
        faults
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/issues").join(name)
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Title and body of a fixture.
fn issue(name: &str) -> (String, String) {
    let text = fs::read_to_string(fixture(name).join("issue.md")).unwrap();
    let (title, body) = text.split_once('\n').unwrap();
    (title.to_owned(), body.trim_start().to_owned())
}

fn expected(name: &str) -> Expected {
    serde_saphyr::from_str(&fs::read_to_string(fixture(name).join("expected.yml")).unwrap()).unwrap()
}

async fn texts(tree: &Tree) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for file in tree.files().await.unwrap() {
        if let Side::Text(text) = tree.read(&file.path).await.unwrap() {
            all.insert(file.path, text);
        }
    }
    all
}

fn facts(tree: &Tree, settings: &ContributeSettings, title: &str, body: &str) -> ContributeFacts {
    ContributeFacts {
        repository: RepositoryFacts {
            owner: "harbour".into(),
            name: "depot".into(),
            url: "https://git.example/harbour/depot".into(),
            default_branch: "main".into(),
            language: Some("Python".into()),
            stars: 1,
            license: None,
            work_tree: None,
        },
        base: tree.commit().clone(),
        issue: IssueFacts {
            number: 7,
            url: "https://git.example/harbour/depot/issues/7".into(),
            title: Untrusted::new(title),
            body: Untrusted::new(body),
            labels: vec!["swarm".into()],
            author: "reporter".into(),
            created_at: "2026-11-20T08:00:00Z".into(),
            comments: 0,
            locked: false,
            is_pull: false,
        },
        asked_by: Some("maintainer".into()),
        swept: None,
        candidates: Vec::new(),
        linked: Vec::new(),
        settings: settings.clone(),
        warnings: Vec::new(),
    }
}

/// The documents of the steps before, as the flow hands them on.
fn input(facts: &ContributeFacts) -> serde_json::Value {
    let (title, body) = (facts.issue.title.open(), facts.issue.body.open());
    let frame = |agent: &str, mut content: serde_json::Value| {
        let fields = content.as_object_mut().unwrap();
        fields.insert("agent".into(), agent.into());
        fields.insert("timestamp".into(), "2026-11-21T08:00:00Z".into());
        fields.insert("status".into(), "completed".into());
        content
    };
    let url = &facts.issue.url;
    let repository = serde_json::json!({"owner": "harbour", "name": "depot", "url": "", "language": "Python", "stars": 1, "license": ""});
    let scout = serde_json::json!({
        "selected_issue": {"url": url, "title": title, "body": body, "labels": [], "repository": repository, "comments_count": 0,
            "created_at": "", "difficulty_estimate": "easy", "type": "bug-fix"},
        "alternatives": [], "search_stats": {"total_searched": 1, "filtered_out": 0, "candidates_found": 1},
    });
    let analyst = serde_json::json!({
        "issue_url": url,
        "analysis": {"summary": "", "type": "bug-fix", "complexity": "easy", "estimated_loc_change": 1, "breaking_change": false,
            "requirements": [], "files_to_modify": [], "tests_required": false, "docs_update_required": false},
        "repository_context": {"contributing_guidelines": "", "pr_template_exists": false, "code_style": "", "branch_naming": "", "commit_convention": ""},
        "implementation_plan": {"steps": [], "estimated_time": "", "risk_level": "low"}, "warnings": [], "blockers": [],
    });
    let explorer = serde_json::json!({
        "repository": {"owner": "harbour", "name": "depot", "local_path": "", "branch": "fix/issue-7-x", "default_branch": "main"},
        "structure": {"framework": "", "language": "", "package_manager": "", "monorepo": false, "source_dir": "", "test_dir": "", "docs_dir": ""},
        "relevant_files": {"to_modify": [], "to_reference": [], "tests": [], "docs": []},
        "code_style": {"indent": "", "quotes": "double", "semicolons": false, "trailing_comma": "", "line_length": 100, "formatter": "", "linter": ""},
        "build_commands": {"install": "", "build": "", "test": "", "lint": ""}, "insights": {"patterns_observed": [], "potential_gotchas": []},
    });
    serde_json::json!({
        "facts": facts, "scout": frame("agent-1-scout", scout), "analyst": frame("agent-2-analyst", analyst),
        "explorer": frame("agent-3-explorer", explorer),
    })
}

#[tokio::test]
async fn what_people_ask_for_in_their_own_words_is_done_exactly() {
    let bench = Bench::depot();
    let mut wrong = Vec::new();
    for name in SOLVABLE {
        let (title, body) = issue(name);
        let outcome = bench.solve(&title, &body).await;
        let faults = outcome.faults(&bench.engine, &expected(name));
        if !faults.is_empty() {
            wrong.push(format!("{name}: {}\nsaid: {:#?}", faults.join("\n"), outcome.changes.validation.errors));
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong\n{}", wrong.len(), SOLVABLE.len(), wrong.join("\n\n"));
}

#[tokio::test]
async fn what_only_looks_like_a_request_changes_nothing() {
    let bench = Bench::depot();
    let mut wrong = Vec::new();
    for name in UNSOLVABLE {
        let (title, body) = issue(name);
        assert!(expected(name).changes.is_empty());
        let outcome = bench.solve(&title, &body).await;
        if !outcome.is_untouched() {
            wrong.push(format!("{name}: {:#?}", outcome.lines()));
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong\n{}", wrong.len(), UNSOLVABLE.len(), wrong.join("\n\n"));
}

#[tokio::test]
async fn a_change_is_told_in_sentences_and_committed_with_a_conventional_message() {
    let bench = Bench::depot();
    let told = async |name: &str| {
        let (title, body) = issue(name);
        let changes = bench.solve(&title, &body).await.changes;
        let files: Vec<String> = changes.changes.iter().map(|c| format!("{}: {}", c.file, c.description)).collect();
        let word = changes.suggested_commit_message.split(':').next().unwrap();
        assert_eq!(changes.branch, format!("{word}/issue-7-x"));
        assert!(!changes.validation.tests_passed);
        assert!(changes.validation.errors.iter().any(|line| line.starts_with("not run: tests")));
        (changes.suggested_commit_message, files)
    };
    let (message, files) = told("config-upload-takeover").await;
    assert_eq!(message, "fix: use yaml.safe_load instead of yaml.load");
    assert_eq!(files[0], "api/imports.py: 1 use of `yaml.load` is now `yaml.safe_load`.");
    let (message, files) = told("clearer-name").await;
    assert_eq!(message, "refactor: rename calc_route to order_stops");
    assert_eq!(files[2], "api/server.py: `calc_route` is now called `order_stops`, in 3 places.");
    let (message, _) = told("spelling-in-readme").await;
    assert_eq!(message, "docs: correct the spelling of receive");
    let (message, files) = told("which-licence").await;
    assert_eq!(message, "docs: add LICENSE");
    assert_eq!(files, ["LICENSE: A new file with the text of the MIT licence, held by Mara Lindqvist."]);
    let (message, _) = told("housekeeping-list").await;
    assert!(message.starts_with("fix: make 2 changes that the issue asks for\n\n- add .editorconfig\n"), "{message}");
}
